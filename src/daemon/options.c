/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line of a mount. */
#include "daemon/daemon.h"

#include "cli/cli.h"
#include "core/base/arguments.h"
#include "core/base/printable.h"
#include "core/base/rundir.h"
#include "core/base/suggest.h"
#include "folders.h"
#include "rpc/volfile/volfile-server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Further results of the parser. */
struct parsed {
    struct program_options *options;
    char **mount_words; /* of -o */
    char **rest;
    char **servers, *volume; /* -s, --volfile-id */
    GPtrArray *names; /* of all options */
    char *needless;   /* a message on a value that an option does not take, or NULL */
    gboolean version, dump_config, print_xlatordir, print_logdir, print_statedumpdir;
};

/* --attribute-timeout=2, and all other rows of the bridge. */
static gboolean
parse_row (const char *name, const char *value, void *data, GError **error)
{
    struct parsed *parsed = data;
    g_autofree char *text = NULL;

    if (options_add_bridge (parsed->options, name + strspn (name, "-"), value, &text) == 0)
        return TRUE;
    g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, "%s", text ? text : name);
    return FALSE;
}

/* The rows of the bridge's options. g_free it. */
static GOptionEntry *
bridge_entries (void)
{
    GArray *entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));

    for (const struct xlator_option *row = bridge_options; row->key[0]; row++) {
        bool flag = option_is_flag (row);
        GOptionEntry entry = {
            .long_name = row->key[0],
            .flags = (flag ? G_OPTION_FLAG_OPTIONAL_ARG : 0) | G_OPTION_FLAG_FILENAME
                     | (row->inert ? G_OPTION_FLAG_HIDDEN : 0),
            .arg = G_OPTION_ARG_CALLBACK,
            .arg_data = (gpointer) parse_row,
            .description = row->help,
            .arg_description = option_values_shown (row),
        };
        g_array_append_val (entries, entry);
    }
    return (GOptionEntry *) g_array_free (entries, FALSE);
}

/* The subcommands, for --help. */
static char *
other_uses (void)
{
    GString *out = g_string_new ("Commands, 'windlass COMMAND --help' tells more of each:\n");

    for (const struct cli_command *command = cli_commands; command->name; command++)
        g_string_append_printf (out, "  %-12s %s\n", command->name, command->about);
    g_string_append (out, "\nSee windlass(1), windlass-commands(1), windlass-options(1).\n");
    return g_string_free (out, FALSE);
}

/* The rows of the program's own options, which store into parsed. g_free it. */
static GOptionEntry *
program_entries (struct parsed *parsed)
{
    struct program_options *o = parsed->options;
    const GOptionEntry entries[] = {
        { "volfile", 'f', 0, G_OPTION_ARG_FILENAME, &o->volfile,
          "the volfile; '-' is the standard input, SERVER:/VOLUME that of a GlusterFS volume",
          "VOLFILE" },
        { "volfile-server", 's', 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed->servers,
          "with --volfile-id: a server of the volume; others are tried if it is gone", "SERVER" },
        { "volfile-id", 0, 0, G_OPTION_ARG_FILENAME, &parsed->volume,
          "the GlusterFS volume to mount", "VOLUME" },
        { "options", 'o', 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed->mount_words, "mount options",
          "OPTION,..." },
        { "fuse-mountopts", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME_ARRAY,
          &parsed->mount_words, "", "" },
        { "no-daemon", 'N', 0, G_OPTION_ARG_NONE, &o->no_daemon,
          "stay in the foreground; closing the terminal does not end it", NULL },
        { "debug", 0, 0, G_OPTION_ARG_NONE, &o->debug,
          "the same as -N -L DEBUG -l -; another -L or -l counts instead", NULL },
        { "log-file", 'l', 0, G_OPTION_ARG_FILENAME, &o->log_file, "the log; '-' is the terminal",
          "FILE" },
        { "log-level", 'L', 0, G_OPTION_ARG_FILENAME, &o->log_level, LOG_LEVEL_NAMES, "LEVEL" },
        { "pid-file", 'p', 0, G_OPTION_ARG_FILENAME, &o->pid_file,
          "write the process id to this file", "FILE" },
        { "volume-name", 0, 0, G_OPTION_ARG_FILENAME, &o->volume_name,
          "the volume at the top of the graph", "VOLUME" },
        { "xlator-option", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->xlator_options,
          "set an option of a volume", "VOLUME.KEY=VALUE" },
        { "xlator-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &o->xlator_dirs,
          "look for translators in this directory first", "DIR" },
        { "oom-score-adj", 0, 0, G_OPTION_ARG_FILENAME, &o->oom_score,
          "how likely the kernel ends the daemon when memory runs out", "-1000...1000" },
        { "confine", 0, 0, G_OPTION_ARG_FILENAME, &o->confine_text,
          "auto: give up capabilities and system calls that a mount does not need; off: keep them",
          "auto|off" },
        { "captive", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_FILENAME, &o->captive_text, "", "" },
        { "print-xlatordir", 0, 0, G_OPTION_ARG_NONE, &parsed->print_xlatordir,
          "print the directory of the translators", NULL },
        { "print-logdir", 0, 0, G_OPTION_ARG_NONE, &parsed->print_logdir,
          "print the directory of the logs", NULL },
        { "print-statedumpdir", 0, 0, G_OPTION_ARG_NONE, &parsed->print_statedumpdir,
          "print the directory of the state dumps", NULL },
        { "dump-config", 0, 0, G_OPTION_ARG_NONE, &parsed->dump_config,
          "print what was built and where it is installed, as KEY=VALUE", NULL },
        { "version", 'V', 0, G_OPTION_ARG_NONE, &parsed->version, "print the version", NULL },
        { G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &parsed->rest, NULL, NULL },
        { 0 },
    };

    return g_memdup2 (entries, sizeof entries);
}

void
options_describe (void (*seen) (const GOptionEntry *entries))
{
    struct program_options options = { 0 };
    struct parsed parsed = { .options = &options };
    g_autofree GOptionEntry *entries = program_entries (&parsed), *rows = bridge_entries ();

    seen (entries);
    seen (rows);
}

static GOptionContext *
context_new (struct parsed *parsed, char **words)
{
    g_autofree GOptionEntry *entries = program_entries (parsed), *rows = bridge_entries ();
    GOptionContext *context = g_option_context_new (
        "-f VOLFILE MOUNTPOINT\n"
        "  windlass COMMAND [ARGUMENT\u2026]\n"
        "\n"
        "The first mounts a graph of translators. The commands are listed at the end, and\n"
        "'windlass help' lists them with all translators.");
    GOptionGroup *group = g_option_group_new ("windlass", "", "", parsed, NULL);
    g_autofree char *uses = other_uses ();

    parsed->needless = arguments_needless_value (entries, words);
    g_option_group_add_entries (group, entries);
    suggest_add_options (parsed->names, entries);
    g_option_group_add_entries (group, rows);
    suggest_add_options (parsed->names, rows);
    g_option_context_set_main_group (context, group);
    g_option_context_set_description (context, uses);
    return context;
}

static bool
usage (const char *text, int *ret_status)
{
    say_line (stderr, "windlass: %s", text);
    fputs ("Try 'windlass --help'.\n", stderr);
    *ret_status = EXIT_USAGE;
    return false;
}

/* What other programs call a command of ours. */
static const struct {
    const char *word, *meant;
} other_words[] = {
    { "mount", "windlass -f VOLFILE MOUNTPOINT" },
    { "unmount", "windlass umount" },
    { "ls", "windlass list" },
    { "mounts", "windlass list" },
    { "ps", "windlass list" },
    { "status", "windlass list" },
    { "info", "windlass counts" },
    { "version", "windlass --version" },
};

/* VOLFILE MOUNTPOINT without -f, perhaps after the word mount. Freed with g_free; NULL: it is
 * something else. */
static char *
mount_meant (char **words)
{
    const int at = words[0] && strcmp (words[0], "mount") == 0;

    return g_strv_length (words) == (guint) at + 2
                && g_file_test (words[at], G_FILE_TEST_IS_REGULAR)
             ? g_strdup_printf ("windlass -f %s %s", words[at], words[at + 1])
             : NULL;
}

/* If the first word is not an option, it may be a misspelt subcommand. */
static char *
command_meant (char **argv)
{
    const char *word = argv[0] && argv[1] && *argv[1] != '-' ? argv[1] : "";
    g_autofree char *mount = *word ? mount_meant (argv + 1) : NULL;
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    if (mount)
        return suggest_text (mount);
    for (size_t i = 0; i < G_N_ELEMENTS (other_words); i++)
        if (strcmp (word, other_words[i].word) == 0)
            return suggest_text (other_words[i].meant);
    for (const struct cli_command *command = cli_commands; command->name; command++)
        g_ptr_array_add (names, (char *) command->name);
    return suggest_text (*word ? suggest_near (word, names) : NULL);
}

/* What is no path can only have been meant as a command. */
static char *
no_volfile (char **argv)
{
    const char *word = argv[0] && argv[1] ? argv[1] : "-";

    if (*word == '-' || strchr (word, '/') || g_file_test (word, G_FILE_TEST_EXISTS))
        return g_strdup ("no volfile: -f FILE names it");
    return g_strdup_printf ("there is no command '%s' ('windlass help' lists them), and no "
                            "volfile: -f FILE names it",
                            word);
}

static bool
usage_no_volfile (char **argv, int *ret_status)
{
    g_autofree char *command = command_meant (argv),
                    *error = *command ? g_strdup_printf ("there is no command '%s'%s", argv[1],
                                                         command)
                                      : no_volfile (argv);

    if (argv[0] && argv[1])
        return usage (error, ret_status);
    return usage ("no volfile and no mount point; 'windlass -f VOLFILE MOUNTPOINT' mounts, and "
                  "'windlass help' lists the other commands",
                  ret_status);
}

static bool
usage_parse (const struct parsed *parsed, const GError *error, char **argv, int *ret_status)
{
    g_autofree char *option = suggest_option (error, parsed->names),
                    *command = command_meant (argv);
    g_autofree char *text = g_strconcat (error->message, *option ? option : command, NULL);

    return usage (text, ret_status);
}

/* Handles options that only print. Returns true if there was one. */
static bool
print_and_go (const struct parsed *parsed)
{
    g_autofree char *log = path_log_dir (), *run = run_dir ();

    if (parsed->version)
        version_print ();
    if (parsed->dump_config)
        dump_config ();
    if (parsed->print_xlatordir)
        printf ("%s\n", XLATORDIR);
    if (parsed->print_logdir)
        printf ("%s\n", log);
    if (parsed->print_statedumpdir)
        printf ("%s\n", run);
    return parsed->version || parsed->dump_config || parsed->print_xlatordir || parsed->print_logdir
        || parsed->print_statedumpdir;
}

static void
set_default (char **text, const char *value)
{
    if (!*text)
        *text = g_strdup (value);
}

/* Names the volfile by -s SERVER --volfile-id=VOLUME, or by SERVER:/VOLUME before the mount
 * point. */
static int
volfile_from_words (struct parsed *parsed, char **ret_error)
{
    struct program_options *options = parsed->options;
    char **rest = parsed->rest;
    g_autofree char *servers = parsed->servers ? g_strjoinv (",", parsed->servers) : NULL;

    if (!servers != !parsed->volume || (servers && options->volfile)) {
        *ret_error = g_strdup (options->volfile && servers
                                   ? "-f FILE and -s SERVER exclude each other"
                                   : "-s SERVER and --volfile-id=VOLUME belong together");
        return -EINVAL;
    }
    if (servers)
        options->volfile = g_strdup_printf ("%s:/%s", servers,
                                            parsed->volume + (*parsed->volume == '/'));
    else if (!options->volfile && rest && rest[1] && !rest[2] && volfile_colon (rest[0])) {
        options->volfile = rest[0];
        rest[0] = rest[1];
        rest[1] = NULL;
    }
    return 0;
}

/* "B:C" or "B:[ADDRESS]:C", as GlusterFS has them, to "B,C". */
static char *
servers_listed (const char *text)
{
    GString *out = g_string_new (NULL);
    bool bracket = false;

    for (; *text; text++)
        if (*text == '[' || *text == ']')
            bracket = *text == '[';
        else
            g_string_append_c (out, *text == ':' && !bracket ? ',' : *text);
    return g_string_free (out, FALSE);
}

/* -o backup-volfile-servers=B:C makes A,B,C:/VOLUME of A:/VOLUME. */
static int
volfile_add_backups (struct program_options *options, char **ret_error)
{
    const char *name = options->volfile ? options->volfile : "no volfile",
               *colon = volfile_colon (name);
    g_autofree char *more = NULL, *whole = NULL;

    if (!options->backup_servers)
        return 0;
    if (!volfile_is_on_server (name)) {
        *ret_error = g_strdup_printf (
            "option 'backup-volfile-servers' is for SERVER:/VOLUME, got '%s'", name);
        return -EINVAL;
    }
    more = servers_listed (options->backup_servers);
    whole = g_strdup_printf ("%.*s,%s%s", (int) (colon - name), name, more, colon);
    g_free (options->volfile);
    options->volfile = g_steal_pointer (&whole);
    return 0;
}

/* -o server-port=PORT makes A:PORT:/VOLUME of A:/VOLUME. */
static int
volfile_add_port (struct program_options *options, char **ret_error)
{
    const char *name = options->volfile ? options->volfile : "no volfile";
    guint64 port;
    char *whole;

    if (!options->server_port)
        return 0;
    if (!g_ascii_string_to_unsigned (options->server_port, 10, 1, UINT16_MAX, &port, NULL)) {
        *ret_error = g_strdup_printf ("option 'server-port' must be 1 to 65535, got '%s'",
                                      options->server_port);
        return -EINVAL;
    }
    if (!volfile_is_on_server (name)) {
        *ret_error = g_strdup_printf ("option 'server-port' is for SERVER:/VOLUME, got '%s'", name);
        return -EINVAL;
    }
    whole = volfile_with_port (name, (unsigned) port);
    g_free (options->volfile);
    options->volfile = whole;
    return 0;
}

/* -o subdir-mount=DIR makes A:/VOLUME/DIR of A:/VOLUME. */
static int
volfile_add_subdir (struct program_options *options, char **ret_error)
{
    const char *name = options->volfile ? options->volfile : "no volfile";
    char *whole;

    if (!options->subdir)
        return 0;
    if (!volfile_is_on_server (name) || volfile_name_directory (name)) {
        *ret_error = g_strdup_printf (
            "option 'subdir-mount' is for SERVER:/VOLUME without a directory, got '%s'", name);
        return -EINVAL;
    }
    whole = g_build_path ("/", name, options->subdir, NULL);
    g_free (options->volfile);
    options->volfile = whole;
    return 0;
}

/* The log, 'windlass list' and 'windlass explain' show the volfile to users in other folders. */
static void
volfile_make_absolute (struct program_options *options)
{
    char *absolute;

    if (!options->volfile || strcmp (options->volfile, "-") == 0
        || volfile_is_on_server (options->volfile))
        return;
    absolute = path_absolute (options->volfile);
    g_free (options->volfile);
    options->volfile = absolute;
}

/* Names the volfile, from all options that say something of it. A snapshot is mounted to be read
 * only, as by GlusterFS's clients. */
static int
volfile_name (struct parsed *parsed, char **ret_error)
{
    struct program_options *options = parsed->options;

    if (volfile_from_words (parsed, ret_error) < 0 || volfile_add_backups (options, ret_error) < 0
        || volfile_add_port (options, ret_error) < 0 || volfile_add_subdir (options, ret_error) < 0)
        return -EINVAL;
    volfile_make_absolute (options);
    return options->volfile && volfile_is_snapshot (options->volfile)
               ? options_add_bridge (options, "read-only", NULL, ret_error)
               : 0;
}

/* Checks that the options are consistent. */
static bool
options_finish (struct parsed *parsed, char **argv, int *ret_status)
{
    struct program_options *options = parsed->options;
    g_autofree char *error = NULL;

    for (char **words = parsed->mount_words; words && *words; words++)
        if (mount_options_add (options, *words, &error) < 0)
            return usage (error, ret_status);
    if (volfile_name (parsed, &error) < 0)
        return usage (error, ret_status);
    g_ptr_array_add (options->bridge, NULL);
    if (options->debug) {
        options->no_daemon = TRUE;
        set_default (&options->log_level, "DEBUG");
        set_default (&options->log_file, "-");
    }
    if (options->log_level && log_level_parse (options->log_level, &options->level) < 0) {
        error = g_strdup_printf ("log level must be " LOG_LEVEL_NAMES ", got '%s'",
                                 options->log_level);
        return usage (error, ret_status);
    }
    options->confine = !options->confine_text || strcmp (options->confine_text, "off") != 0;
    if (options->confine && options->confine_text && strcmp (options->confine_text, "auto") != 0) {
        error = g_strdup_printf ("option 'confine' must be auto or off, got '%s'",
                                 options->confine_text);
        return usage (error, ret_status);
    }
    if (options->oom_score && oom_score_check (options->oom_score, &error) < 0)
        return usage (error, ret_status);
    if (!options->volfile)
        return usage_no_volfile (argv, ret_status);
    if (module_check_dirs ((const char *const *) options->xlator_dirs, &error) < 0)
        return usage (error, ret_status);
    if (!parsed->rest)
        return usage ("no mount point", ret_status);
    if (parsed->rest[1]) {
        error = g_strdup_printf ("one mount point too many: '%s'", parsed->rest[1]);
        return usage (error, ret_status);
    }
    options->mountpoint = g_strdup (parsed->rest[0]);
    return true;
}

bool
options_parse (struct program_options *ret_options, char **argv, int *ret_status)
{
    const struct xlator_option *lru_limit = option_find (bridge_options, "lru-limit");
    struct parsed parsed = { .options = ret_options };
    g_autoptr (GOptionContext) context = NULL;
    g_autoptr (GError) error = NULL;
    g_auto (GStrv) words = options_with_values (argv);
    bool go_on = false;

    *ret_options = (struct program_options){ .level = GF_LOG_INFO };
    option_parse (lru_limit, lru_limit->value, &ret_options->inode_limit, NULL);
    parsed.names = g_ptr_array_new ();
    ret_options->bridge = g_ptr_array_new_with_free_func (g_free);
    ret_options->kernel = g_string_new (NULL);
    *ret_status = 0;
    context = context_new (&parsed, words);
    if (parsed.needless)
        usage (parsed.needless, ret_status);
    else if (!g_option_context_parse_strv (context, &words, &error))
        usage_parse (&parsed, error, argv, ret_status);
    else if (!print_and_go (&parsed))
        go_on = options_finish (&parsed, argv, ret_status);
    g_ptr_array_unref (parsed.names);
    g_strfreev (parsed.mount_words);
    g_strfreev (parsed.rest);
    g_strfreev (parsed.servers);
    g_free (parsed.volume);
    g_free (parsed.needless);
    return go_on;
}

void
options_clear (struct program_options *options)
{
    g_free (options->volfile);
    g_free (options->backup_servers);
    g_free (options->server_port);
    g_free (options->subdir);
    g_free (options->oom_score);
    g_free (options->volfile_again);
    g_free (options->volfile_below);
    g_free (options->mountpoint);
    g_free (options->log_file);
    g_free (options->log_level);
    g_free (options->pid_file);
    g_free (options->volume_name);
    g_free (options->confine_text);
    g_free (options->captive_text);
    g_strfreev (options->xlator_options);
    g_strfreev (options->xlator_dirs);
    g_ptr_array_unref (options->bridge);
    g_string_free (options->kernel, TRUE);
}

static void
make_absolute (char **paths)
{
    for (; paths && *paths; paths++) {
        char *absolute = path_absolute (*paths);

        g_free (*paths);
        *paths = absolute;
    }
}

/* Makes paths in environment variables absolute. */
static void
resolve_environment (void)
{
    const char *text = g_getenv ("WINDLASS_XLATOR_PATH");
    g_auto (GStrv) paths = text ? g_strsplit (text, ":", -1) : NULL;
    g_autofree char *all = NULL;

    if (!paths)
        return;
    for (char **path = paths; *path; path++) {
        char *absolute = **path ? path_absolute (*path) : g_strdup ("");

        g_free (*path);
        *path = absolute;
    }
    all = g_strjoinv (":", paths);
    g_setenv ("WINDLASS_XLATOR_PATH", all, TRUE);
}

/* A pipe can be read only once; and a number in /dev/fd or /proc is another file later. */
void
options_resolve (struct program_options *options)
{
    const char *path = options->volfile;
    const bool passing = strcmp (path, "-") == 0 || g_str_has_prefix (path, "/dev/")
                      || g_str_has_prefix (path, "/proc/");

    make_absolute (options->xlator_dirs);
    resolve_environment ();
    options->volfile_on_server = volfile_is_on_server (path);
    if (options->volfile_on_server || (!passing && g_file_test (path, G_FILE_TEST_IS_REGULAR)))
        options->volfile_again = g_strdup (path);
}

struct graph_settings
options_of_graph (const struct program_options *options)
{
    return (struct graph_settings){
        .volume_name = options->volume_name,
        .options = (const char *const *) options->xlator_options,
        .xlator_dirs = (const char *const *) options->xlator_dirs,
        .inode_limit = options->inode_limit,
    };
}
