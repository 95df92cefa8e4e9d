/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass doctor [VOLFILE|MOUNTPOINT]: the command, and what it prints. */
#include "cli/doctor/doctor.h"

#include "cli/cli.h"
#include "core/base/json.h"
#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WIDTH_LEAST 60

static const char *const state_names[] = {
    [DOCTOR_OK] = "ok",
    [DOCTOR_NOTE] = "note",
    [DOCTOR_PROBLEM] = "problem",
};

/* --- printing --------------------------------------------------------------------------------- */

/* The columns of a terminal; a file gets whole lines, for grep. */
static int
doctor_width (void)
{
    struct winsize size;

    if (!isatty (STDOUT_FILENO))
        return G_MAXINT;
    return ioctl (STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= WIDTH_LEAST ? size.ws_col
                                                                                       : 80;
}

/* Prints text behind what stands already in a line, with later lines at the same column. */
static void
doctor_print_wrapped (const char *text, int column, int width)
{
    g_auto (GStrv) words = g_strsplit (text, " ", -1);
    int at = column;

    for (char **word = words; *word; word++) {
        const int size = (int) g_utf8_strlen (*word, -1);

        if (at > column && at + 1 + size > width) {
            printf ("\n%*s", column, "");
            at = column;
        } else if (at > column) {
            putchar (' ');
            at++;
        }
        fputs (*word, stdout);
        at += size;
    }
    putchar ('\n');
}

static void
doctor_print_part (const char *label, const char *text, int column, int width)
{
    g_autoptr (GString) safe = g_string_new (label);

    line_append (safe, text, 4000);
    printf ("%*s", column, "");
    doctor_print_wrapped (safe->str, column, width);
}

static void
doctor_print (const GPtrArray *findings)
{
    const int width = doctor_width ();
    int names = 0, column;

    for (guint i = 0; i < findings->len; i++) {
        const struct doctor_finding *finding = findings->pdata[i];

        names = MAX (names, (int) strlen (finding->name));
    }
    column = (int) strlen ("problem  ") + names + 2;
    for (guint i = 0; i < findings->len; i++) {
        const struct doctor_finding *finding = findings->pdata[i];
        g_autoptr (GString) found = g_string_new (NULL);

        line_append (found, finding->found, 4000);
        printf ("%-7s  %-*s  ", state_names[finding->state], names, finding->name);
        doctor_print_wrapped (found->str, column, width);
        if (finding->costs)
            doctor_print_part ("costs: ", finding->costs, column, width);
        if (finding->mend)
            doctor_print_part ("mend:  ", finding->mend, column, width);
    }
}

static unsigned
doctor_count (const GPtrArray *findings, enum doctor_state state)
{
    unsigned n = 0;

    for (guint i = 0; i < findings->len; i++)
        n += ((const struct doctor_finding *) findings->pdata[i])->state == state;
    return n;
}

static void
doctor_print_sum (const GPtrArray *findings)
{
    const unsigned problems = doctor_count (findings, DOCTOR_PROBLEM),
                   notes = doctor_count (findings, DOCTOR_NOTE);

    printf ("\n%u problem%s, %u note%s%s\n", problems, problems == 1 ? "" : "s", notes,
            notes == 1 ? "" : "s", problems ? "" : ": nothing keeps a mount from working");
}

static void
doctor_print_json (const GPtrArray *findings)
{
    struct json json = { .out = g_string_new (NULL) };

    json_open (&json, NULL, '{');
    json_number (&json, "format", 1);
    json_bool (&json, "works", doctor_count (findings, DOCTOR_PROBLEM) == 0);
    json_open (&json, "checks", '[');
    for (guint i = 0; i < findings->len; i++) {
        const struct doctor_finding *finding = findings->pdata[i];

        json_open (&json, NULL, '{');
        json_string (&json, "name", finding->name);
        json_string (&json, "state", state_names[finding->state]);
        json_string (&json, "found", finding->found);
        json_string (&json, "costs", finding->costs);
        json_string (&json, "mend", finding->mend);
        json_close (&json, '}');
    }
    json_close (&json, ']');
    json_close (&json, '}');
    puts (json.out->str);
    g_string_free (json.out, TRUE);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Without an access to the path. */
static bool
doctor_is_mount (const char *path, struct mount *ret_mount)
{
    g_autofree char *mountinfo = NULL, *real = NULL, *error = NULL;

    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        return false;
    real = mount_path (mountinfo, path, &error);
    if (!real || !mount_find (mountinfo, real, ret_mount))
        return false;
    if (mount_is_windlass (ret_mount))
        return true;
    mount_clear (ret_mount);
    return false;
}

/* A volfile is read twice here, and from a pipe only after another program has written into it. */
static bool
doctor_may_be_volfile (const char *path)
{
    struct stat st;

    return strcmp (path, "-") == 0 || stat (path, &st) < 0 || S_ISREG (st.st_mode);
}

static void
doctor_machine (const struct doctor *doctor, bool no_mount, GPtrArray *findings)
{
    doctor_check_all (doctor, findings);
    doctor_mounts (findings);
    if (no_mount)
        doctor_find (findings, "a mount", DOCTOR_OK, "not tried (--no-mount)");
    else
        doctor_attempt (findings);
}

int
cli_doctor (const struct cli_command *command, int argc, char **argv)
{
    gboolean json = FALSE, no_mount = FALSE;
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { "no-mount", 0, 0, G_OPTION_ARG_NONE, &no_mount, "do not try a mount", NULL },
        { 0 },
    };
    g_autoptr (GPtrArray) findings = doctor_findings_new ();
    struct mount mount;
    struct doctor doctor;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc > 2)
        return cli_usage (command, "one volfile or mount point is wanted");
    doctor_init (&doctor, "");
    if (argc == 1) {
        doctor_machine (&doctor, no_mount, findings);
    } else if (doctor_is_mount (argv[1], &mount)) {
        doctor_mount (&mount, findings);
        mount_clear (&mount);
    } else if (doctor_may_be_volfile (argv[1])) {
        doctor_volfile (argv[1], !no_mount, findings);
    } else {
        return cli_usage (command,
                          "'%s' is neither a file nor a mount point of Windlass; '-' reads a "
                          "volfile from a pipe",
                          argv[1]);
    }
    if (json) {
        doctor_print_json (findings);
    } else {
        doctor_print (findings);
        doctor_print_sum (findings);
    }
    return doctor_count (findings, DOCTOR_PROBLEM) ? CLI_FAILED : CLI_OK;
}
