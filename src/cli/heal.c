/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass heal: has the copies of a file or directory brought up to date now. Each
 * cluster/replicate of the mount heals what it has of the path; the daemon does the work, and this
 * program asks how far it is.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/printable.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HEALER ": type cluster/replicate"

/* Sends a command to a volume. Returns the answer (freed with g_free), or NULL after a message. */
static char *
heal_ask (const struct cli_command *command, const char *mountpoint, const char *volume,
          const char *what, const char *input)
{
    g_autoptr (GBytes) bytes = input ? g_bytes_new (input, strlen (input)) : NULL;
    GString *answer = g_string_new (NULL);
    g_autofree char *error = NULL;

    if (control_call (mountpoint, volume, what, bytes, answer, &error) == 0)
        return g_string_free (answer, FALSE);
    g_string_free (answer, TRUE);
    say_line (stderr, "windlass %s: %s%s%s", command->name, volume ? volume : "",
                 volume ? ": " : "", error);
    return NULL;
}

/* Returns the names of volumes that can heal; NULL after a message. */
static GPtrArray *
find_healers (const struct cli_command *command, const char *mountpoint)
{
    g_autofree char *all = heal_ask (command, mountpoint, NULL, "commands", NULL);
    g_auto (GStrv) lines = NULL;
    GPtrArray *names;

    if (!all)
        return NULL;
    names = g_ptr_array_new_with_free_func (g_free);
    lines = g_strsplit (all, "\n", 0);
    for (char **line = lines; *line; line++)
        if (g_str_has_suffix (*line, HEALER))
            g_ptr_array_add (names, g_strndup (*line, strlen (*line) - strlen (HEALER)));
    return names;
}

/* The heal of one volume, while its job runs. */
struct healing {
    const struct cli_command *command;
    const char *mountpoint, *volume;
    GString *report;
    gint64 since; /* for cli_say_waiting */
};

static int
report_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    struct healing *healing = data;

    g_string_append_len (healing->report, bytes, (gssize) size);
    return 0;
}

static void
show_progress (uint64_t done, uint64_t total, const char *unit, void *data)
{
    struct healing *healing = data;
    g_autoptr (GString) name = g_string_new (NULL);

    cli_say_waiting (healing->command, healing->mountpoint, &healing->since);
    line_append (name, healing->volume, NAME_MAX);
    if (isatty (STDERR_FILENO) && total > 0)
        fprintf (stderr, "\r%s: %llu of %llu MB ", name->str, (unsigned long long) done >> 20,
                 (unsigned long long) total >> 20);
}

/* Each line names the volume if there are several. */
static void
print_report (const char *volume, const char *report)
{
    g_auto (GStrv) lines = g_strsplit (report, "\n", 0);

    for (char **line = lines; *line; line++) {
        g_autofree char *text = g_strdup_printf ("%s%s%s\n", volume ? volume : "",
                                                 volume ? ": " : "", *line);

        if (**line)
            cli_print_safely (stdout, text);
    }
}

enum result { HEALED, FAILED, MISSING };

/* Begins a heal and waits for its end. Returns 0 or a negative errno, which has been reported if
 * there is no *ret_error: -ESHUTDOWN or -ESRCH if the mount has moved to another graph meanwhile,
 * and the job has ended with the old one. */
static int
heal_once (struct healing *healing, const char *path, char **ret_error)
{
    g_autofree char *number = heal_ask (healing->command, healing->mountpoint, healing->volume,
                                        "heal", path);

    return number ? control_call_job (healing->mountpoint, g_strchomp (number), false, report_take,
                                      show_progress, healing, ret_error)
                  : -EIO;
}

static enum result
heal_on (const struct cli_command *command, const char *mountpoint, const char *volume,
         bool several, const char *path)
{
    g_autofree char *error = NULL;
    g_autoptr (GString) report = g_string_new (NULL);
    struct healing healing = { command, mountpoint, volume, report, 0 };
    int r;

    do {
        g_clear_pointer (&error, g_free);
        g_string_truncate (report, 0);
        r = heal_once (&healing, path, &error);
    } while (r == -ESHUTDOWN || r == -ESRCH);
    if (r == -ENOENT)
        return MISSING;
    print_report (several ? volume : NULL, report->str);
    if (error && r != -EIO)
        say_line (stderr, "windlass %s: %s: %s", command->name, volume, error);
    return r == 0 ? HEALED : FAILED;
}

/* A file of a distributed volume is in one of its sets of copies, a directory in all. */
static int
heal_all (const struct cli_command *command, const char *mountpoint, const GPtrArray *healers,
          const char *path)
{
    unsigned missing = 0, failed = 0;

    for (guint i = 0; i < healers->len; i++) {
        const enum result result = heal_on (command, mountpoint, healers->pdata[i],
                                            healers->len > 1, path);

        failed += result == FAILED;
        missing += result == MISSING;
    }
    if (missing == healers->len) {
        g_autofree char *text = g_strdup_printf ("'%s': no copy has a file of that name", path);

        fprintf (stderr, "windlass %s: ", command->name);
        cli_print_safely (stderr, text);
    }
    return failed || missing == healers->len ? CLI_FAILED : CLI_OK;
}

int
cli_heal (const struct cli_command *command, int argc, char **argv)
{
    g_autofree char *error = NULL, *mountpoint = NULL, *rest = NULL, *path = NULL;
    g_autoptr (GPtrArray) healers = NULL;

    if (!cli_parse (command, &argc, argv, NULL, NULL))
        return CLI_USAGE;
    if (argc != 2 && argc != 3)
        return cli_usage (command, "a mount point and a path in it are wanted");
    mountpoint = mount_around (argv[1], &rest, &error);
    if (!mountpoint) {
        fprintf (stderr, "windlass %s: ", command->name);
        cli_print_safely (stderr, error);
        return CLI_FAILED;
    }
    path = g_canonicalize_filename (argc == 3 ? argv[2] + strspn (argv[2], "/")
                                              : rest + strspn (rest, "/"), "/");
    healers = find_healers (command, mountpoint);
    if (healers && healers->len == 0)
        fprintf (stderr, "windlass %s: '%s' has no volume of type cluster/replicate, so there are "
                         "no copies to heal\n",
                 command->name, mountpoint);
    if (!healers || healers->len == 0)
        return CLI_FAILED;
    return heal_all (command, mountpoint, healers, path);
}
