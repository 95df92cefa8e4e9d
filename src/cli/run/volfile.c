/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A volfile from a preset, a place, and words OPTION=VALUE and --FLAG.
 *
 * The values are checked as those of --xlator-option are, so a message names the option and not a
 * line of a file that the user has not written. Then they are written into the text of the preset,
 * whose comments stay: the volfile is for people.
 */
#include "cli/run/run.h"

#include "core/base/arguments.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "rpc/volfile/volfile-server.h"

#include <string.h>
#include <unistd.h>

#define INODE_LIMIT 1024 /* for a graph that never gets a request */

/* One value for one option of one volume. */
struct volfile_setting {
    char *volume, *key, *value;
    const struct xlator_option *row;
};

struct making {
    const struct cli_command *command;
    const struct preset *preset;
    struct graph *graph; /* of the preset's text, for its rows of options */
    GPtrArray *settings; /* struct volfile_setting */
    GPtrArray *mount;    /* char * */
};

static void
volfile_setting_free (gpointer data)
{
    struct volfile_setting *setting = data;

    g_free (setting->volume);
    g_free (setting->key);
    g_free (setting->value);
    g_free (setting);
}

/* --- the place ------------------------------------------------------------------------------ */

/* Returns the word as it must be written in a volfile, or NULL if it has a newline. */
static char *
volfile_quoted (const char *word)
{
    return strchr (word, '\n') ? NULL : volfile_word (word);
}

/* The replacement is not looked at again: it may contain any text. */
static char *
text_replace (const char *text, const char *mark, const char *with)
{
    g_auto (GStrv) parts = g_strsplit (text, mark, -1);

    return g_strjoinv (with, parts);
}

/* HOST may be an address in brackets. */
static char *
text_with_host (const char *text, const char *place)
{
    const char *colon = volfile_colon (place);
    g_autofree char *host = g_strndup (place, colon - place), *quoted = NULL, *path = NULL;
    g_auto (GStrv) parts = g_strsplit (text, "@PATH@", -1);

    if (*host == '[' && host[strlen (host) - 1] == ']') {
        memmove (host, host + 1, strlen (host));
        host[strlen (host) - 1] = '\0';
    }
    quoted = volfile_quoted (host);
    path = volfile_quoted (colon + 1);
    if (!quoted || !path)
        return NULL;
    for (char **part = parts; *part; part++) {
        char *with_host = text_replace (*part, "@HOST@", quoted);

        g_free (*part);
        *part = with_host;
    }
    return g_strjoinv (path, parts);
}

/* Replaces the first mark. The text that takes its place may contain the others, so those are
 * replaced in the parts around it alone. Frees text. */
static char *
text_with_marks (char *text, const char *const (*marks)[2])
{
    g_auto (GStrv) parts = g_strsplit (text, (*marks)[0], -1);

    g_free (text);
    for (char **part = parts; *part && marks[1][0]; part++)
        *part = text_with_marks (*part, marks + 1);
    return g_strjoinv ((*marks)[1], parts);
}

static char *
text_with_directory (const char *text, const struct view_place *place, const char *state)
{
    g_autofree char *beside = g_path_get_dirname (state), *quoted_beside = volfile_quoted (beside);
    g_autofree char *quoted = volfile_quoted (place->directory);
    g_autofree char *quoted_state = volfile_quoted (state);
    g_autofree char *logs = volfile_quoted (place->logs ? place->logs : "");
    g_autofree char *log = volfile_quoted (place->log ? place->log : "");
    const char *const marks[][2] = {
        { "@DIR@", quoted }, { "@STATE@", quoted_state }, { "@BESIDE@", quoted_beside },
        { "@LOGS@", logs }, { "@LOG@", log }, {},
    };

    if (!quoted || !quoted_state || !quoted_beside || !logs || !log)
        return NULL;
    return text_with_marks (g_strdup (text), marks);
}

/* Returns the text of the preset with the place in it; NULL after a message. */
static char *
text_of_place (const struct making *making, const struct view_place *place)
{
    const struct preset *preset = making->preset;
    const char *directory = place->directory;
    g_autofree char *beside = g_strconcat (directory, ".overlay", NULL);
    const bool of_host = preset_is_of_host (preset);
    const char *colon = of_host ? volfile_colon (directory) : NULL;
    char *text;

    if (of_host && (!colon || colon == directory || colon[1] != '/')) {
        run_refuse (making->command, "preset '%s' takes HOST:/PATH, got '%s'", preset->name,
                    directory);
        return NULL;
    }
    text = of_host ? text_with_host (preset->text, directory)
                   : text_with_directory (preset->text, place,
                                          place->state ? place->state : beside);
    if (!text)
        run_refuse (making->command,
                    "a volfile can't name '%s': it has a newline; a bind mount or a symbolic link "
                    "can give it another name",
                    directory);
    return text;
}

/* --- the words ------------------------------------------------------------------------------ */

static void
making_set (struct making *making, const char *volume, const struct xlator_option *row,
            const char *value)
{
    struct volfile_setting *setting;

    for (guint i = 0; i < making->settings->len; i++) {
        setting = making->settings->pdata[i];
        if (setting->row == row && strcmp (setting->volume, volume) == 0) {
            g_free (setting->value);
            setting->value = g_strdup (value);
            return;
        }
    }
    setting = g_new (struct volfile_setting, 1);
    *setting = (struct volfile_setting){ g_strdup (volume), g_strdup (row->key[0]),
                                         g_strdup (value), row };
    g_ptr_array_add (making->settings, setting);
}

static const struct xlator_option *
row_of_volume (const xlator_t *xl, const char *key)
{
    const struct xlator_option *row = option_find (xl->api->options, key);

    return row ? row : option_find (common_options, key);
}

/* All options of the preset's volumes, for messages: "VOLUME.OPTION", but for those that every
 * translator has. */
static GPtrArray *
making_names (const struct making *making)
{
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

    for (guint i = 0; i < making->graph->xlators->len; i++) {
        const xlator_t *xl = making->graph->xlators->pdata[i];

        for (const struct xlator_option *row = xl->api->options; row && row->key[0]; row++)
            if (!row->inert)
                g_ptr_array_add (names, g_strdup_printf ("%s.%s", xl->name, row->key[0]));
    }
    return names;
}

static int
refuse_unknown (const struct making *making, const char *key)
{
    g_autoptr (GPtrArray) names = making_names (making), keys = g_ptr_array_new ();
    g_autofree char *suggestion = NULL, *all = NULL;

    for (guint i = 0; i < names->len; i++)
        g_ptr_array_add (keys, strchr (names->pdata[i], '.') + 1);
    suggestion = suggest_text (suggest_near (key, strchr (key, '.') ? names : keys));
    g_ptr_array_add (names, NULL);
    all = g_strjoinv (", ", (char **) names->pdata);
    run_refuse (making->command, "no volume of preset '%s' has an option '%s'%s; there are: %s",
                making->preset->name, key, suggestion, *all ? all : "none");
    return -EINVAL;
}

/* The volumes that have an option of that name. */
static GPtrArray *
volumes_with (const struct making *making, const char *key)
{
    GPtrArray *with = g_ptr_array_new ();

    for (guint i = 0; i < making->graph->xlators->len; i++) {
        xlator_t *xl = making->graph->xlators->pdata[i];

        if (row_of_volume (xl, key))
            g_ptr_array_add (with, xl);
    }
    return with;
}

static int
refuse_several (const struct making *making, const GPtrArray *volumes, const char *key)
{
    g_autoptr (GString) all = g_string_new (NULL);

    for (guint i = 0; i < volumes->len; i++) {
        const xlator_t *xl = volumes->pdata[i];

        g_string_append_printf (all, "%s%s.%s", i ? ", " : "", xl->name, key);
    }
    run_refuse (making->command,
                "several volumes of preset '%s' have an option '%s'; say which: %s",
                making->preset->name, key, all->str);
    return -EINVAL;
}

/* word: "OPTION=VALUE" or "VOLUME.OPTION=VALUE". Names of options may have dots too. */
static int
making_set_word (struct making *making, const char *word)
{
    const char *equals = strchr (word, '=');
    g_autofree char *key = g_strndup (word, equals - word), *volume = NULL;
    g_autoptr (GPtrArray) with = volumes_with (making, key);
    const char *dot = strchr (key, '.');
    const xlator_t *xl = NULL;

    if (with->len > 1)
        return refuse_several (making, with, key);
    if (with->len == 1) {
        xl = with->pdata[0];
        making_set (making, xl->name, row_of_volume (xl, key), equals + 1);
        return 0;
    }
    volume = g_strndup (key, dot ? dot - key : 0);
    xl = dot ? graph_find (making->graph, volume) : NULL;
    if (!xl || !row_of_volume (xl, dot + 1))
        return refuse_unknown (making, key);
    making_set (making, xl->name, row_of_volume (xl, dot + 1), equals + 1);
    return 0;
}

static int
making_set_flag (struct making *making, const struct preset_flag *flag)
{
    int r = 0;

    for (char **setting = flag->settings; *setting && r == 0; setting++) {
        if (g_str_has_prefix (*setting, "--"))
            g_ptr_array_add (making->mount, g_strdup (*setting));
        else if (strchr (*setting, '='))
            r = making_set_word (making, *setting);
        else
            r = -EINVAL;
        if (r < 0)
            say_line (stderr, "%s: flag '%s' of preset '%s' can't set '%s' (%s)",
                      g_get_prgname (), flag->name, making->preset->name, *setting,
                      making->preset->path);
    }
    return r;
}

/* Flags first: what the user sets by name counts more. An ordinary user can't give a copy the owner
 * of another user's file. */
static int
making_set_words (struct making *making, char **words)
{
    int r = preset_has_state (making->preset) && geteuid () != 0
                ? making_set_word (making, "overlay.owner=daemon") : 0;

    for (char **word = words; *word && r == 0; word++)
        if (g_str_has_prefix (*word, "--"))
            r = making_set_flag (making, preset_flag_find (making->preset, *word));
    for (char **word = words; *word && r == 0; word++)
        if (!g_str_has_prefix (*word, "--"))
            r = making_set_word (making, *word);
    return r;
}

static void
hide_secrets (const struct making *making, char **words)
{
    for (guint i = 0; i < making->settings->len; i++) {
        const struct volfile_setting *setting = making->settings->pdata[i];

        for (char **word = words; setting->row->secret && *word; word++)
            if (g_str_has_suffix (*word, setting->value))
                arguments_hide (words, *word);
    }
}

/* --- checks --------------------------------------------------------------------------------- */

static struct graph *
load_text (const struct making *making, const char *text, const char *const *options,
           const struct cli_graph *given)
{
    const struct graph_settings settings = {
        .options = options,
        .xlator_dirs = (const char *const *) given->xlator_dirs,
        .inode_limit = INODE_LIMIT,
    };

    return graph_load (volfile_parse (making->preset->path, text, strlen (text)), &settings);
}

/* Checks the values as options of the command line. */
static int
check_values (const struct making *making, const char *text, const struct cli_graph *given)
{
    g_auto (GStrv) options = g_new0 (char *, making->settings->len + 1);
    struct graph *graph;
    bool bad;

    for (guint i = 0; i < making->settings->len; i++) {
        const struct volfile_setting *setting = making->settings->pdata[i];

        options[i] = g_strdup_printf ("%s.%s=%s", setting->volume, setting->key, setting->value);
    }
    graph = load_text (making, text, (const char *const *) options, given);
    volfile_print_problems (graph->volfile);
    bad = volfile_has_errors (graph->volfile);
    graph_free (graph);
    return bad ? -EINVAL : 0;
}

/* --- the text ------------------------------------------------------------------------------- */

/* The line of a volume's option in the text, or 0. */
static int
line_of_option (const struct volfile_volume *volume, const struct xlator_option *row)
{
    for (guint i = 0; i < volume->options->len; i++) {
        const struct volfile_option *option = volume->options->pdata[i];

        for (int key = 0; key < OPTION_KEYS && row->key[key]; key++)
            if (strcmp (row->key[key], option->key) == 0)
                return option->line;
    }
    return 0;
}

/* A line "# option KEY ..." of the volume, which shows how the option is set; or 0. */
static int
line_of_example (char **lines, const struct volfile_volume *volume, const char *key)
{
    g_autofree char *begin = g_strdup_printf ("# option %s ", key);

    for (int line = volume->type_line; lines[line - 1]; line++) {
        const char *text = lines[line - 1] + strspn (lines[line - 1], " \t");

        if (g_str_has_prefix (text, "end-volume"))
            return 0;
        if (g_str_has_prefix (text, begin))
            return line;
    }
    return 0;
}

/* Puts a setting into lines: in place of a line that sets it or shows how, else after the type. */
static int
lines_set (char **lines, const struct volfile *volfile, const struct volfile_setting *setting)
{
    const struct volfile_volume *volume = volfile_find_volume (volfile, setting->volume);
    g_autofree char *value = volfile_quoted (setting->value), *line = NULL;
    int at = line_of_option (volume, setting->row), after = volume->type_line;

    if (!value)
        return -EINVAL;
    line = g_strdup_printf ("    option %s %s", setting->key, value);
    if (at == 0)
        at = line_of_example (lines, volume, setting->key);
    if (at > 0) {
        g_free (lines[at - 1]);
        lines[at - 1] = g_steal_pointer (&line);
    } else {
        char *both = g_strdup_printf ("%s\n%s", lines[after - 1], line);

        g_free (lines[after - 1]);
        lines[after - 1] = both;
    }
    return 0;
}

/* Returns the text with all settings; NULL after a message. */
static char *
text_set (const struct making *making, const char *text)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
    struct volfile *volfile = volfile_parse (making->preset->path, text, strlen (text));
    char *whole = NULL;
    int r = 0;

    for (guint i = 0; i < making->settings->len && r == 0; i++) {
        const struct volfile_setting *setting = making->settings->pdata[i];

        r = lines_set (lines, volfile, setting);
        if (r < 0)
            run_refuse (making->command,
                        "the value of option '%s' can't be written to a volfile: it has a newline",
                        setting->key);
    }
    if (r == 0)
        whole = g_strjoinv ("\n", lines);
    volfile_free (volfile);
    return whole;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int
making_finish (struct making *making, const char *text, const struct cli_graph *given,
               struct made_volfile *ret_made)
{
    char *whole = NULL;

    if (check_values (making, text, given) == 0)
        whole = text_set (making, text);
    if (!whole)
        return -EINVAL;
    for (guint i = 0; i < making->preset->mount->len; i++)
        g_ptr_array_insert (making->mount, (gint) i, g_strdup (making->preset->mount->pdata[i]));
    g_ptr_array_add (making->mount, NULL);
    ret_made->text = whole;
    ret_made->mount = g_strdupv ((char **) making->mount->pdata);
    return 0;
}

int
volfile_make (const struct cli_command *command, const struct preset *preset,
              const struct view_place *place, char **words, const struct cli_graph *options,
              struct made_volfile *ret_made)
{
    struct making making = { .command = command, .preset = preset };
    g_autofree char *text = text_of_place (&making, place);
    int r = -EINVAL;

    if (!text)
        return r;
    making.settings = g_ptr_array_new_with_free_func (volfile_setting_free);
    making.mount = g_ptr_array_new_with_free_func (g_free);
    making.graph = load_text (&making, text, NULL, options);
    if (volfile_has_errors (making.graph->volfile))
        volfile_print_problems (making.graph->volfile);
    else
        r = making_set_words (&making, words);
    if (r == 0) {
        hide_secrets (&making, words);
        r = making_finish (&making, text, options, ret_made);
    }
    graph_free (making.graph);
    g_ptr_array_unref (making.settings);
    g_ptr_array_unref (making.mount);
    return r;
}

void
made_volfile_clear (struct made_volfile *made)
{
    g_clear_pointer (&made->text, g_free);
    g_clear_pointer (&made->mount, g_strfreev);
}
