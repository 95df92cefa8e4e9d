/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass help --complete -- WORD...: what the last word of a command line may become, one line
 * for each: the whole word, a tab, and a sentence about it. The shells' scripts in completion/ only
 * show these lines. Instead of words a line may be
 *
 *   :file  :directory  :volfile     names of files, which the shell completes
 *   :command                        names of programs
 *
 * A word that ends in = or , can be continued, so no blank follows it. Nothing here asks the file
 * system of a mount, which may be stuck, and a daemon has a second to answer.
 */
#include "cli/describe.h"
#include "cli/run/run.h"
#include "control/control.h"
#include "core/base/printable.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 1 /* seconds */

struct completion {
    const char *const *dirs; /* of translators */
    const struct cli_command *command; /* NULL: the command line of a mount */
    const struct cli_description *description;
    GPtrArray *given;   /* the arguments before the word */
    const char *word;   /* the part that is being completed, after lead */
    char *lead;         /* what stands before it in the same word: "--fop=lookup," */
    unsigned offered;
    unsigned after_dashes; /* words after "--", with that itself; 0: there is none */
};

/* --- offers ----------------------------------------------------------------------------------- */

/* A name is inserted into a command line as it is, so one from a daemon has to be plain. */
static bool
complete_is_plain (const char *word)
{
    for (; *word; word++)
        if (!g_ascii_isalnum (*word) && !strchr ("_./+-", *word))
            return false;
    return true;
}

/* Mounts of other users have any names, and the shell shows them on the terminal: one with bytes
 * that a terminal may not show is left out. */
static void
complete_offer (struct completion *completion, const char *word, const char *about)
{
    g_autoptr (GString) safe_word = g_string_new (NULL), safe_about = g_string_new (NULL);

    line_append (safe_word, word, G_MAXINT);
    if (!g_str_has_prefix (word, completion->word) || strcmp (safe_word->str, word) != 0)
        return;
    line_append (safe_about, about ? about : "", G_MAXINT);
    printf ("%s%s\t%s\n", completion->lead, word, safe_about->str);
    completion->offered++;
}

static void
complete_offer_all (struct completion *completion, const char *const *words)
{
    for (; *words; words++)
        complete_offer (completion, *words, NULL);
}

static void
complete_by_shell (struct completion *completion, const char *what)
{
    printf (":%s\n", what);
    completion->offered++;
}

/* --- what a mount has, which its daemon says -------------------------------------------------- */

static void
complete_give_up (int signal)
{
    _exit (0);
}

/* Returns the answer of the daemon of the mount on the command line, or "". g_free it. */
static char *
complete_ask (const struct completion *completion, const char *what)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;

    fflush (stdout); /* the rest may be all */
    signal (SIGALRM, complete_give_up);
    alarm (PATIENCE);
    for (guint i = 0; i < completion->given->len && answer->len == 0; i++) {
        g_clear_pointer (&error, g_free);
        if (control_call (completion->given->pdata[i], NULL, what, NULL, answer, &error) < 0)
            g_string_truncate (answer, 0);
    }
    alarm (0);
    return g_strdup (answer->str);
}

static void
complete_volumes (struct completion *completion)
{
    g_autofree char *graph = complete_ask (completion, "graph");
    g_auto (GStrv) lines = g_strsplit (graph, "\n", -1);

    for (char **line = lines; *line; line++) {
        const char *name = *line + strspn (*line, " 0123456789:");

        if (g_str_has_prefix (name, "volume ") && complete_is_plain (name + strlen ("volume ")))
            complete_offer (completion, name + strlen ("volume "), NULL);
    }
}

/* Offers targets; or, if target is not NULL, the commands of that target. A target is a line
 * "NAME: ABOUT", and each of its commands an indented line "  NAME   ABOUT". */
static void
complete_told (struct completion *completion, const char *target)
{
    g_autofree char *commands = complete_ask (completion, "commands"), *now = g_strdup ("");
    g_auto (GStrv) lines = g_strsplit (commands, "\n", -1);

    for (char **line = lines; *line; line++) {
        const bool is_target = **line && **line != ' ';
        char *name = g_strstrip (*line), *about = strchr (name, is_target ? ':' : ' ');

        if (!about)
            continue;
        *about++ = '\0';
        if (is_target) {
            g_free (now);
            now = g_strdup (name);
        }
        if (complete_is_plain (name) && is_target == !target
            && (is_target || strcmp (now, target) == 0))
            complete_offer (completion, name, g_strstrip (about));
    }
}

static void
complete_mounts (struct completion *completion)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        if (mount_is_windlass (mount))
            complete_offer (completion, mount->path, mount->source);
    }
}

/* --- kinds of words --------------------------------------------------------------------------- */

/* Only the modules whose names begin like the word are loaded. */
static void
complete_translator_commands (struct completion *completion)
{
    g_autoptr (GPtrArray) all = cli_translator_commands (completion->word, completion->dirs);

    for (guint i = 0; i < all->len; i++) {
        const struct cli_command *command = all->pdata[i];

        complete_offer (completion, command->name, command->about);
    }
}

static void
complete_commands (struct completion *completion)
{
    if (completion->command && completion->given->len >= 2) { /* of a daemon: windlass tell */
        complete_told (completion, completion->given->pdata[completion->given->len - 1]);
        return;
    }
    for (const struct cli_command *command = cli_commands; command->name; command++)
        complete_offer (completion, command->name, command->about);
    if (*completion->word)
        complete_translator_commands (completion);
}

static void
complete_own_type (const struct cli_type *type, void *data)
{
    complete_offer (data, type->type, type->about);
}

/* Modules are not loaded for a word about each: that takes as long as a mount. */
static void
complete_types (struct completion *completion)
{
    g_autoptr (GPtrArray) types = module_types (completion->dirs);

    cli_types_foreach (complete_own_type, completion);
    for (guint i = 0; i < types->len; i++)
        complete_offer (completion, types->pdata[i], NULL);
}

static void
complete_operations (struct completion *completion)
{
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
        complete_offer (completion, fop_name (op), NULL);
}

/* Has the rest of the word completed, after what ends with its last `end`. */
static void
complete_after (struct completion *completion, char end)
{
    const char *at = strrchr (completion->word, end);
    char *lead;

    if (!at)
        return;
    lead = g_strdup_printf ("%s%.*s", completion->lead, (int) (at + 1 - completion->word),
                            completion->word);
    g_free (completion->lead);
    completion->lead = lead;
    completion->word = at + 1;
}

/* VOLUME, or VOLUME.OPERATION. */
static void
complete_translators (struct completion *completion)
{
    const bool operation = strchr (completion->word, '.');

    complete_after (completion, '.');
    if (operation)
        complete_operations (completion);
    else
        complete_volumes (completion);
}

static void
complete_levels (struct completion *completion)
{
    for (gf_loglevel_t level = GF_LOG_NONE; level <= GF_LOG_TRACE; level++)
        complete_offer (completion, log_level_name (level), NULL);
}

static void complete_value (struct completion *completion, const char *text);

/* The word of -o before an =, and its value, once it is found. */
struct complete_setting {
    struct completion *completion;
    char *key;
    char *value;
};

static void
complete_mount_word (const char *word, const char *value, void *data)
{
    struct complete_setting *setting = data;
    g_autofree char *shown = g_strconcat (word, value ? "=" : NULL, NULL);

    if (!setting->key)
        complete_offer (setting->completion, shown, NULL);
    else if (strcmp (setting->key, word) == 0 && value && !setting->value)
        setting->value = g_strdup (value);
}

/* A word of -o. */
static void
complete_mount_option (struct completion *completion)
{
    const char *equals = strchr (completion->word, '=');
    struct complete_setting setting = { .completion = completion };

    if (!cli_mount || completion->command)
        return; /* that of a preset, for example */
    if (equals)
        setting.key = g_strndup (completion->word, equals - completion->word);
    cli_mount->words (complete_mount_word, &setting);
    if (setting.value) {
        complete_after (completion, '=');
        complete_value (completion, setting.value);
    }
    g_free (setting.key);
    g_free (setting.value);
}

/* windlass run refuses a preset of a host. */
static void
complete_presets (struct completion *completion)
{
    g_autoptr (GPtrArray) names = preset_names ();
    const bool run = completion->command && completion->command->run == cli_run;

    for (guint i = 0; i < names->len; i++) {
        g_autofree char *error = NULL;
        g_autoptr (preset_t) preset = preset_read (names->pdata[i], &error);

        if (!run || !preset || !preset_is_of_host (preset))
            complete_offer (completion, names->pdata[i], preset ? preset->summary : NULL);
    }
}

static void
complete_target (struct completion *completion)
{
    complete_told (completion, NULL);
}

static void
complete_file (struct completion *completion)
{
    complete_by_shell (completion, "file");
}

static void
complete_directory (struct completion *completion)
{
    complete_by_shell (completion, "directory");
}

static void
complete_volfile (struct completion *completion)
{
    complete_by_shell (completion, "volfile");
}

static void
complete_mountpoint (struct completion *completion)
{
    if (completion->command)
        complete_mounts (completion);
    else
        complete_directory (completion);
}

/* Kinds without a row are not known. */
static const struct {
    const char *name;
    void (*complete) (struct completion *completion);
} kinds[] = {
    { "COMMAND", complete_commands },     { "DIR", complete_directory },
    { "FILE", complete_file },            { "FOP", complete_operations },
    { "LEVEL", complete_levels },         { "MOUNTPOINT", complete_mountpoint },
    { "OPERATION", complete_operations }, { "OPTION", complete_mount_option },
    { "PRESET", complete_presets },
    { "PATH", complete_file },            { "TARGET", complete_target },
    { "TRANSLATOR", complete_translators }, { "TYPE", complete_types },
    { "VOLFILE", complete_volfile },      { "VOLUME", complete_volumes },
};

/* text: the words "FILE|on|off" of an argument, or of a value. */
static void
complete_words (struct completion *completion, const char *text)
{
    g_auto (GStrv) values = cli_literal_words (text), names = cli_kind_words (text);

    complete_offer_all (completion, (const char *const *) values);
    for (char **name = names; *name; name++)
        for (size_t i = 0; i < G_N_ELEMENTS (kinds); i++)
            if (strcmp (kinds[i].name, *name) == 0)
                kinds[i].complete (completion);
}

static void
complete_value (struct completion *completion, const char *text)
{
    if (strstr (text, ",..."))
        complete_after (completion, ',');
    complete_words (completion, text);
}

/* --- the command line ------------------------------------------------------------------------- */

/* Returns the option that a word names, "--fop", "--fop=open" or "-o", or NULL. */
static const struct cli_option *
complete_option_of (const struct completion *completion, const char *word)
{
    const GPtrArray *options = completion->description->options;
    const bool is_long = g_str_has_prefix (word, "--");
    const size_t size = is_long ? strcspn (word + 2, "=") : 0;

    for (guint i = 0; *word == '-' && i < options->len; i++) {
        const struct cli_option *option = options->pdata[i];

        if (is_long ? strlen (option->name) == size && strncmp (option->name, word + 2, size) == 0
                    : option->letter && word[1] == option->letter)
            return option;
    }
    return NULL;
}

static void
complete_options (struct completion *completion)
{
    const GPtrArray *options = completion->description->options;

    for (guint i = 0; i < options->len; i++) {
        const struct cli_option *option = options->pdata[i];
        g_autofree char *name = g_strdup_printf ("--%s%s", option->name, option->value ? "=" : "");

        complete_offer (completion, name, option->about);
    }
}

/* The flags of the preset on the command line, for a command that takes them. */
static void
complete_flags (struct completion *completion)
{
    g_autofree char *error = NULL;
    const GPtrArray *arguments = completion->description->arguments;
    struct preset *preset = NULL;

    for (guint i = 0; i < arguments->len && completion->given->len > 0 && !preset; i++)
        if (strcmp (((const struct cli_argument *) arguments->pdata[i])->name, "FLAG") == 0)
            preset = preset_read (completion->given->pdata[0], &error);
    for (guint i = 0; preset && i < preset->flags->len; i++) {
        const struct preset_flag *flag = preset->flags->pdata[i];

        complete_offer (completion, flag->name, flag->help);
    }
    preset_free (preset);
}

/* Adds what may stand at the place of the word. An argument that may be missing lets the next one
 * stand there. */
static void
complete_argument (struct completion *completion)
{
    const GPtrArray *arguments = completion->description->arguments;
    guint at = completion->given->len;
    const struct cli_argument *argument = NULL;

    if (at >= arguments->len && arguments->len > 0) {
        argument = arguments->pdata[arguments->len - 1];
        at = argument->repeats ? arguments->len - 1 : at;
    }
    for (; at < arguments->len; at++) {
        argument = arguments->pdata[at];
        if (argument->after_dashes)
            break;
        complete_value (completion, argument->name);
        if (!argument->optional || at + 1 >= arguments->len
            || ((const struct cli_argument *) arguments->pdata[at + 1])->optional)
            break;
    }
}

/* Reads the words before the last one. Returns the option whose value the last one is, or NULL. */
static const struct cli_option *
complete_read (struct completion *completion, char *const *words, guint n)
{
    const struct cli_option *wants = NULL;

    for (guint i = 0; i < n; i++) {
        const struct cli_option *option = wants ? NULL
                                                : complete_option_of (completion, words[i]);
        const bool is_long = g_str_has_prefix (words[i], "--");

        if (completion->after_dashes || (!wants && strcmp (words[i], "--") == 0)) {
            completion->after_dashes++;
            continue;
        }
        if (!wants && (*words[i] != '-' || !words[i][1]))
            g_ptr_array_add (completion->given, words[i]);
        wants = option && option->value && !option->value_optional
                     && (is_long ? !strchr (words[i], '=') : !words[i][2])
                  ? option
                  : NULL;
    }
    return wants;
}

/* What follows "--" is another program's command line, for commands that run one. */
static void
complete_after_dashes (struct completion *completion)
{
    const GPtrArray *arguments = completion->description->arguments;
    const struct cli_argument *last = arguments->len ? arguments->pdata[arguments->len - 1] : NULL;

    if (last && last->after_dashes && strcmp (last->name, "COMMAND") == 0)
        complete_by_shell (completion, completion->after_dashes == 1 ? "command" : "file");
}

static void
complete_line (struct completion *completion, char *const *words, guint n)
{
    const struct cli_option *option = complete_read (completion, words, n - 1);

    completion->word = words[n - 1];
    if (completion->after_dashes) {
        complete_after_dashes (completion);
        return;
    }
    if (option) {
        complete_value (completion, option->value);
        return;
    }
    option = complete_option_of (completion, completion->word);
    if (option && option->value && strchr (completion->word, '=')) {
        const size_t size = strcspn (completion->word, "=") + 1;

        g_free (completion->lead);
        completion->lead = g_strndup (completion->word, size);
        completion->word += size;
        complete_value (completion, option->value);
    } else if (*completion->word == '-') {
        complete_options (completion);
        complete_flags (completion);
    } else {
        complete_argument (completion);
    }
}

/* The first word is a subcommand, or, where none begins so, a mount point. */
static void
complete_first (struct completion *completion, char *const *words)
{
    completion->word = words[0];
    if (*words[0] != '-')
        complete_commands (completion);
    if (completion->offered == 0)
        complete_line (completion, words, 1);
}

int
cli_complete (char *const *words, const char *const *dirs)
{
    const guint n = g_strv_length ((char **) words);
    const struct cli_command *command = n > 1 ? cli_command_find (words[0]) : NULL;
    struct cli_description *description;
    struct completion completion = { .dirs = dirs,
                                     .given = g_ptr_array_new (),
                                     .lead = g_strdup ("") };

    if (!command && n > 1)
        command = cli_translator_find (words[0], dirs);
    description = cli_describe (command);
    completion.command = command;
    completion.description = description;

    if (n == 1)
        complete_first (&completion, words);
    else if (n > 1)
        complete_line (&completion, words + !!command, n - !!command);
    g_free (completion.lead);
    g_ptr_array_unref (completion.given);
    cli_description_free (description);
    return CLI_OK;
}
