/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass list: the mounts that this process sees in /proc/self/mountinfo, with their daemons; and
 * the user's views, which it does not see.
 *
 * Each mount is asked by a process of its own, all at the same time, since one that hangs never
 * answers. The process takes the ids of the mount's user, if it may: the kernel lets nobody else
 * ask.
 */
#include "cli/cli.h"
#include "control/control.h"
#include "core/base/json.h"
#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/base/process.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE 2000 /* milliseconds for all answers together */
#define OLD 1000000000 /* nanoseconds; less than PATIENCE */
#define COLUMNS 6

struct listed {
    const struct mount *mount;
    struct path_question question;
    struct path_question who; /* which process the daemon is; its socket may keep one waiting */
    pid_t pid;         /* of the daemon; 0: not known */
    const char *state; /* static */
};

/* --- the state of a mount ------------------------------------------------------------------- */

/* Returns whether this question waits for the daemon already. A process that asks a mount that
 * hangs stays until it is answered, even when it is killed: each mount has one of them at most. */
static bool
list_statfs_is_pending (const char *path)
{
    const char input[] = "json\nolder=" G_STRINGIFY (OLD);
    g_autoptr (GBytes) bytes = g_bytes_new_static (input, sizeof input - 1);
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;

    return control_call (path, NULL, "inflight", bytes, answer, &error) == 0
        && strstr (answer->str, "\"statfs\"");
}

/* In the other process. Attributes may be cached; this question is not. */
static void
list_ask (const char *path, const void *data, struct path_answer *answer)
{
    g_autofree char *mountinfo = NULL;
    struct mount mount;
    struct statvfs buf;

    if (list_statfs_is_pending (path))
        answer->error = ETIMEDOUT;
    else if (geteuid () == 0 && g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        && mount_find (mountinfo, path, &mount) && mount.user_id > 0
        && (setresgid (mount.group_id, mount.group_id, mount.group_id) < 0
            || setresuid (mount.user_id, mount.user_id, mount.user_id) < 0))
        answer->error = EPERM;
    else if (statvfs (path, &buf) < 0)
        answer->error = errno;
}

/* In another process: answers with the daemon's number. data: struct mount. */
static void
list_ask_who (const char *path, const void *data, struct path_answer *answer)
{
    g_snprintf (answer->text, sizeof answer->text, "%d", (int) control_daemon_pid (data));
}

static bool
list_may_ask (const struct mount *mount)
{
    return mount->allow_other || geteuid () == 0 || mount->user_id == geteuid ();
}

static void
list_begin (struct listed *listed, const GPtrArray *mounts, const struct mount *mount)
{
    *listed = (struct listed){ .mount = mount, .question = { .fd = -1 } };
    path_question_begin (&listed->who, list_ask_who, mount->path, mount);
    if (mount_is_covered (mounts, mount))
        listed->state = "covered";
    else if (!list_may_ask (mount))
        listed->state = "private";
    else
        path_question_begin (&listed->question, list_ask, mount->path, NULL);
}

/* One that only the processes of a windlass run can enter. */
static void
list_begin_view (struct listed *listed, const struct mount *mount)
{
    *listed = (struct listed){ .mount = mount, .question = { .fd = -1 }, .state = "view" };
    path_question_begin (&listed->who, list_ask_who, mount->path, mount);
}

static const char *
list_state_of (const struct listed *listed, bool answered, int error)
{
    if (process_was_killed (listed->pid))
        return "dead";
    if (!answered || error == ETIMEDOUT)
        return "stuck";
    if (error == ENOTCONN || error == ECONNABORTED || error == ECANCELED)
        return "dead";
    return error == EACCES || error == EPERM ? "private" : error ? "unknown" : "answers";
}

/* Milliseconds. */
static int
list_left (gint64 until)
{
    return (int) (MAX (until - g_get_monotonic_time (), 0) / 1000);
}

static void
list_end (struct listed *listed, gint64 until)
{
    struct path_answer answer;
    bool answered = path_question_wait (&listed->who, list_left (until), &answer);

    listed->pid = answered ? (pid_t) g_ascii_strtoll (answer.text, NULL, 10) : 0;
    path_question_end (&listed->who);
    if (listed->state)
        return;
    answered = path_question_wait (&listed->question, list_left (until), &answer);
    path_question_end (&listed->question);
    listed->state = list_state_of (listed, answered, answered ? answer.error : 0);
}

const char *
cli_mount_state (const struct mount *mount, pid_t *ret_pid)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();
    const struct mount *same = mount_with_id (mounts, mount->id);
    struct listed listed;

    list_begin (&listed, mounts, same ? same : mount);
    list_end (&listed, g_get_monotonic_time () + PATIENCE * INT64_C (1000));
    *ret_pid = listed.pid;
    return listed.state;
}

/* --- what is printed ------------------------------------------------------------------------ */

/* "windlass:my.vol", unless the user chose another name. */
static const char *
list_volume (const struct mount *mount)
{
    const char *own = "windlass:";

    return mount->source + (g_str_has_prefix (mount->source, own) ? strlen (own) : 0);
}

/* Freed with g_free. */
static char *
list_user (const struct mount *mount)
{
    const struct passwd *user = getpwuid (mount->user_id);

    return user ? g_strdup (user->pw_name)
                : g_strdup_printf ("%" G_GINT64_FORMAT, mount->user_id);
}

/* Returns the time at which the process began, or "". Freed with g_free. */
static char *
list_since (pid_t pid)
{
    const gint64 since = process_began (pid);
    g_autoptr (GDateTime) time = since ? g_date_time_new_from_unix_local (since) : NULL;

    return time ? g_date_time_format (time, "%Y-%m-%d %H:%M:%S") : g_strdup ("");
}

/* Fills a row of the table; freed with g_strfreev. */
static char **
list_row (const struct listed *listed)
{
    g_autoptr (GString) path = g_string_new (NULL), volume = g_string_new (NULL);
    g_autofree char *since = list_since (listed->pid);
    char **row = g_new0 (char *, COLUMNS + 1);

    line_append (path, listed->mount->path, PATH_MAX);
    line_append (volume, list_volume (listed->mount), PATH_MAX);
    row[0] = g_string_free (g_steal_pointer (&path), FALSE);
    row[1] = g_string_free (g_steal_pointer (&volume), FALSE);
    row[2] = listed->pid ? g_strdup_printf ("%d", (int) listed->pid) : g_strdup ("-");
    row[3] = list_user (listed->mount);
    row[4] = g_strdup (listed->state);
    row[5] = g_strdup (*since ? since : "-");
    return row;
}

static void
list_print_row (char **row, const long *widths)
{
    for (int i = 0; i < COLUMNS - 1; i++)
        printf ("%s%*s  ", row[i], (int) (widths[i] - g_utf8_strlen (row[i], -1)), "");
    printf ("%s\n", row[COLUMNS - 1]);
}

static void
list_print (const struct listed *listed, guint n)
{
    char *titles[] = { "MOUNT POINT", "VOLUME", "PID", "USER", "STATE", "SINCE", NULL };
    g_autoptr (GPtrArray) rows = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
    long widths[COLUMNS];

    for (int i = 0; i < COLUMNS; i++)
        widths[i] = g_utf8_strlen (titles[i], -1);
    for (guint i = 0; i < n; i++) {
        char **row = list_row (&listed[i]);

        for (int column = 0; column < COLUMNS; column++)
            widths[column] = MAX (widths[column], g_utf8_strlen (row[column], -1));
        g_ptr_array_add (rows, row);
    }
    list_print_row (titles, widths);
    for (guint i = 0; i < n; i++)
        list_print_row (rows->pdata[i], widths);
}

static void
list_append_json (GString *out, const struct listed *listed)
{
    g_autofree char *user = list_user (listed->mount), *since = list_since (listed->pid);

    g_string_append (out, "{\"mountpoint\": ");
    json_append_string (out, listed->mount->path);
    g_string_append (out, ", \"volume\": ");
    json_append_string (out, list_volume (listed->mount));
    g_string_append_printf (out, ", \"pid\": ");
    if (listed->pid)
        g_string_append_printf (out, "%d", (int) listed->pid);
    else
        g_string_append (out, "null");
    g_string_append (out, ", \"user\": ");
    json_append_string (out, user);
    g_string_append_printf (out, ", \"uid\": %" G_GINT64_FORMAT ", \"state\": \"%s\", \"since\": ",
                            listed->mount->user_id, listed->state);
    json_append_string (out, *since ? since : NULL);
    g_string_append (out, "}");
}

static void
list_print_json (const struct listed *listed, guint n)
{
    g_autoptr (GString) out = g_string_new ("[");

    for (guint i = 0; i < n; i++) {
        g_string_append (out, i ? ",\n " : "");
        list_append_json (out, &listed[i]);
    }
    printf ("%s]\n", out->str);
}

/* --- the command ---------------------------------------------------------------------------- */

static void
list_mounts (const char *mountinfo, bool json)
{
    g_autoptr (GPtrArray) mounts = mounts_all (mountinfo);
    g_autoptr (GPtrArray) views = views_all (mountinfo);
    g_autofree struct listed *listed = g_new0 (struct listed, mounts->len + views->len);
    gint64 until;
    guint n = 0;

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        if (mount_is_windlass (mount))
            list_begin (&listed[n++], mounts, mount);
    }
    for (guint i = 0; i < views->len; i++)
        list_begin_view (&listed[n++], views->pdata[i]);
    until = g_get_monotonic_time () + PATIENCE * INT64_C (1000);
    for (guint i = 0; i < n; i++)
        list_end (&listed[i], until);
    if (json)
        list_print_json (listed, n);
    else if (n)
        list_print (listed, n);
    else
        fprintf (stderr, "windlass list: nothing is mounted by Windlass here\n");
}

int
cli_list (const struct cli_command *command, int argc, char **argv)
{
    gboolean json = FALSE;
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &json, "print JSON", NULL },
        { 0 },
    };
    g_autofree char *mountinfo = NULL;
    g_autoptr (GError) error = NULL;

    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    if (argc > 1)
        return cli_usage (command, "no argument is wanted, got '%s'", argv[1]);
    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, &error)) {
        fprintf (stderr, "windlass list: %s\n", error->message);
        return CLI_FAILED;
    }
    list_mounts (mountinfo, json);
    return CLI_OK;
}
