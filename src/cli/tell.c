/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands to a running daemon, through its control socket.
 *
 *   windlass reload MOUNTPOINT
 *   windlass counts MOUNTPOINT
 *   windlass tell MOUNTPOINT [TARGET COMMAND [FILE]]     all commands
 *   windlass tell --all TARGET COMMAND [FILE]            to all mounts of the user
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TELL_AFTER 5000000 /* microseconds */

/* --- shared by all -------------------------------------------------------------------------- */

/* Another user's daemon must not send control characters to the terminal. */
void
cli_print_safely (FILE *file, const char *text)
{
    for (const char *at = text; *at;) {
        bool plain;
        const char *end = at + printable_next (at, &plain);

        if (plain || *at == '\n' || *at == '\t')
            fwrite (at, 1, end - at, file);
        else
            for (const char *p = at; p < end; p++)
                fprintf (file, "\\x%02x", (unsigned char) *p);
        at = end;
    }
    if (*text && !g_str_has_suffix (text, "\n"))
        fputc ('\n', file);
}

int
cli_call (const struct cli_command *command, const char *mountpoint, const char *target,
          const char *what, GBytes *input)
{
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;

    if (control_call (mountpoint, target, what, input, answer, &error) < 0) {
        fprintf (stderr, "windlass %s: ", command->name);
        cli_print_safely (stderr, error);
        return CLI_FAILED;
    }
    cli_print_safely (stdout, answer->str);
    return CLI_OK;
}

/* Returns the user that a mount belongs to, or -1. */
static gint64
mount_owner (const char *mountpoint)
{
    g_autofree char *mountinfo = NULL, *path = NULL, *error = NULL;
    struct mount mount = { .user_id = -1 };

    if (g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        path = mount_path (mountinfo, mountpoint, &error);
    if (path && mount_find (mountinfo, path, &mount))
        mount_clear (&mount);
    return mount.user_id;
}

void
cli_say_waiting (const struct cli_command *command, const char *mountpoint, gint64 *since)
{
    g_autofree char *text = NULL;

    if (*since == 0)
        *since = g_get_monotonic_time ();
    if (*since < 0 || g_get_monotonic_time () - *since < TELL_AFTER)
        return;
    *since = -1;
    text = g_strdup_printf ("windlass %s: still waiting for the daemon of '%s', which belongs to "
                            "user %" G_GINT64_FORMAT "; Ctrl-C ends this command",
                            command->name, mountpoint, mount_owner (mountpoint));
    cli_print_safely (stderr, text);
}

/* For the pieces, which may never end. */
struct tell_pieces {
    const struct cli_command *command;
    const char *mountpoint;
    control_piece_fn *take;
    void *data;
    gint64 since;
};

static int
pieces_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    struct tell_pieces *pieces = data;

    cli_say_waiting (pieces->command, pieces->mountpoint, &pieces->since);
    return pieces->take (bytes, size, pieces->data, ret_error);
}

int
cli_call_pieces (const struct cli_command *command, const char *mountpoint, const char *target,
                 const char *what, GBytes *input, control_piece_fn *take, void *data)
{
    struct tell_pieces pieces = { command, mountpoint, take, data, 0 };
    g_autofree char *error = NULL;

    if (control_call_pieces (mountpoint, target, what, input, pieces_take, &pieces, &error) == 0)
        return CLI_OK;
    fprintf (stderr, "windlass %s: ", command->name);
    cli_print_safely (stderr, error);
    return CLI_FAILED;
}

GBytes *
cli_read (const struct cli_command *command, const char *path)
{
    FILE *file = strcmp (path, "-") == 0 ? stdin : fopen (path, "re");
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    guint8 part[16384];
    size_t n;
    int error = file ? 0 : errno;

    while (!error && (n = fread (part, 1, sizeof part, file)) > 0) {
        g_byte_array_append (bytes, part, n);
        if (bytes->len > CONTROL_REQUEST_MAX)
            error = EFBIG;
    }
    if (!error && ferror (file))
        error = errno;
    if (file && file != stdin)
        fclose (file);
    if (error) {
        fprintf (stderr, "windlass %s: '%s' can't be read: %s\n", command->name, path,
                 error == EFBIG ? "it is larger than 1MB" : g_strerror (error));
        return NULL;
    }
    return g_byte_array_free_to_bytes (g_steal_pointer (&bytes));
}

int
cli_usage (const struct cli_command *command, const char *format, ...)
{
    g_autofree char *what = NULL;
    va_list args;

    va_start (args, format);
    what = g_strdup_vprintf (format, args);
    va_end (args);
    fprintf (stderr, "windlass %s: %s%s usage: windlass %s %s\n", command->name, what,
             g_str_has_suffix (what, "?") ? "" : ";", command->name, command->arguments);
    return CLI_USAGE;
}

int
cli_check_verb (const struct cli_command *command, const char *const *verbs, const char *all,
                const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;

    if (!word)
        return cli_usage (command, "%s?", all);
    if (g_strv_contains (verbs, word))
        return CLI_OK;
    for (const char *const *verb = verbs; *verb; verb++)
        g_ptr_array_add (names, (char *) *verb);
    suggestion = suggest_text (suggest_near (word, names));
    return cli_usage (command, "%s must come first, got '%s'%s", all, word, suggestion);
}

/* --- commands ------------------------------------------------------------------------------- */

/* Sends the daemon's command of the same name. */
int
cli_tell_daemon (const struct cli_command *command, int argc, char **argv)
{
    if (!cli_parse (command, &argc, argv, NULL, NULL))
        return CLI_USAGE;
    if (argc != 2)
        return cli_usage (command, argc < 2 ? "which mount point?" : "one mount point is wanted");
    return cli_call (command, argv[1], NULL, command->name, NULL);
}

/* Returns whether an earlier entry of the list shows the same file system. */
static bool
tell_had (const GPtrArray *mounts, guint at)
{
    for (guint i = 0; i < at; i++)
        if (mount_is_same (mounts->pdata[i], mounts->pdata[at]))
            return true;
    return false;
}

/* Names the mount before each line of its answer. */
static void
tell_print (FILE *file, const struct mount *mount, const char *text)
{
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

    for (char **line = lines; *line; line++)
        if (**line)
            say_line (file, "%s: %s", mount->path, *line);
}

/* To each daemon of this user whose mount can be seen; one that fails does not keep the others from
 * being asked. */
static int
tell_each_mount (const struct cli_command *command, const char *target, const char *what,
                 GBytes *input)
{
    g_autofree char *mountinfo = NULL;
    g_autoptr (GPtrArray) mounts = NULL;
    int status = CLI_OK;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)) {
        fprintf (stderr, "windlass %s: /proc/self/mountinfo can't be read\n", command->name);
        return CLI_FAILED;
    }
    mounts = mounts_all (mountinfo);
    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];
        g_autoptr (GString) answer = g_string_new (NULL);
        g_autofree char *error = NULL;

        if (!mount_is_windlass (mount) || mount->user_id != geteuid () || tell_had (mounts, i))
            continue;
        if (control_call_mount (mount, target, what, input, answer, &error) == 0) {
            tell_print (stdout, mount, answer->str);
            continue;
        }
        tell_print (stderr, mount, error);
        status = CLI_FAILED;
    }
    return status;
}

int
cli_tell (const struct cli_command *command, int argc, char **argv)
{
    gboolean all = FALSE;
    const GOptionEntry more[] = {
        { "all", 'a', 0, G_OPTION_ARG_NONE, &all,
          "to the daemons of all your mounts, without MOUNTPOINT", NULL },
        { 0 },
    };
    g_autoptr (GBytes) input = NULL;
    const char *target;
    char **words; /* TARGET COMMAND [FILE] */
    int n;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    words = argv + (all ? 1 : 2);
    n = argc - (all ? 1 : 2);
    if (n == 0 && !all)
        return cli_call (command, argv[1], NULL, "commands", NULL);
    if (n != 2 && n != 3)
        return cli_usage (command,
                          n < 0 ? "which mount point?" : "a target and a command are wanted");
    if (n == 3) {
        input = cli_read (command, words[2]);
        if (!input)
            return CLI_FAILED;
    }
    target = strcmp (words[0], "-") == 0 ? NULL : words[0];
    return all ? tell_each_mount (command, target, words[1], input)
               : cli_call (command, argv[1], target, words[1], input);
}
