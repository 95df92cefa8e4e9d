/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a daemon runs what is on the disk. An upgrade replaces files by rename(2), and the kernel
 * shows a mapped file without a name as "PATH (deleted)". A file that was written in place is not
 * noticed.
 */
#include "cli/doctor/doctor.h"

#include "core/base/path-question.h"
#include "core/base/printable.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESTART                                                                                    \
    "unmount it, and mount it again; for a view of windlass run, end its command, and run it again"

#define GONE " (deleted)"
#define PATIENCE 5000 /* milliseconds for the daemons of all mounts to say who they are */

/* Returns the path in a line of /proc/PID/maps, or NULL, and whether it is gone. Lent from the
 * line, which is changed. */
static char *
running_path (char *line, bool *ret_gone)
{
    char *path = strchr (line, '/');

    *ret_gone = path && g_str_has_suffix (path, GONE);
    if (*ret_gone)
        path[strlen (path) - strlen (GONE)] = '\0';
    return path;
}

/* Returns the paths of the modules of translators (modules), or of libraries, that are gone; commas
 * in between. g_free it. */
static char *
running_gone_files (const char *maps, bool modules)
{
    g_auto (GStrv) lines = g_strsplit (maps, "\n", -1);
    g_autoptr (GString) out = g_string_new (NULL);
    g_autoptr (GHashTable) gone = g_hash_table_new (g_str_hash, g_str_equal);
    g_autoptr (GPtrArray) paths = g_ptr_array_new ();

    for (char **line = lines; *line; line++) {
        bool is_gone;
        char *path = running_path (*line, &is_gone);
        const char *name = path ? strrchr (path, '/') + 1 : NULL;

        /* Shared memory and the like have no name that ends so; libNAME.so.N is a library. */
        if (!path || !strstr (name, ".so") || modules == g_str_has_prefix (name, "lib"))
            continue;
        if (!g_hash_table_contains (gone, path))
            g_ptr_array_add (paths, path);
        /* A module stays in memory when a reload has loaded the new one. */
        if (!is_gone || !g_hash_table_contains (gone, path))
            g_hash_table_insert (gone, path, GINT_TO_POINTER (is_gone));
    }
    for (guint i = 0; i < paths->len; i++)
        if (g_hash_table_lookup (gone, paths->pdata[i])) {
            g_string_append (out, out->len ? ", " : "");
            line_append (out, paths->pdata[i], 200);
        }
    return g_strdup (out->str);
}

/* Returns whether the program was replaced. */
static bool
running_program (const char *root, pid_t pid, GPtrArray *findings)
{
    g_autofree char *link = g_strdup_printf ("%s/proc/%d/exe", root, (int) pid),
                    *path = g_file_read_link (link, NULL);
    struct doctor_finding *finding;
    g_autoptr (GString) shown = g_string_new (NULL);

    if (!path) {
        doctor_find (findings, "program", DOCTOR_OK,
                     "process %d; what it runs is not shown to this user", (int) pid);
        return false;
    }
    line_append (shown, path, 400);
    if (!g_str_has_suffix (path, GONE)) {
        doctor_find (findings, "program", DOCTOR_OK, "process %d runs %s", (int) pid, shown->str);
        return false;
    }
    finding = doctor_find (findings, "program", DOCTOR_NOTE,
                           "needs restart: process %d runs %.*s as it was before it was replaced",
                           (int) pid, (int) (shown->len - strlen (GONE)), shown->str);
    finding->costs = g_strdup ("it goes on, with the faults that the new version mends");
    finding->mend = g_strdup (RESTART);
    return true;
}

void
doctor_running (const char *root, pid_t pid, const char *mountpoint, GPtrArray *findings)
{
    g_autofree char *path = g_strdup_printf ("%s/proc/%d/maps", root, (int) pid), *maps = NULL,
                    *modules = NULL, *libraries = NULL;
    const bool upgraded = running_program (root, pid, findings);
    struct doctor_finding *finding;

    if (!g_file_get_contents (path, &maps, NULL, NULL))
        return;
    libraries = running_gone_files (maps, false);
    modules = running_gone_files (maps, true);
    if (*libraries) {
        finding = doctor_find (findings, "libraries", DOCTOR_NOTE, "needs restart: replaced: %s",
                               libraries);
        finding->costs = g_strdup ("it goes on with those before");
        finding->mend = g_strdup (RESTART);
    }
    if (*modules && !upgraded) { /* else a reload leaves them */
        finding = doctor_find (findings, "translators", DOCTOR_NOTE, "replaced: %s", modules);
        finding->costs = g_strdup ("it goes on with those before");
        finding->mend = doctor_command ("windlass reload %s", mountpoint);
    }
}

/* --- all mounts ------------------------------------------------------------------------------- */

/* In another process, since a daemon may keep whoever asks it waiting. The text: how many mounts
 * there are, and the paths of those whose program was replaced. */
static void
running_ask (const char *path, const void *data, struct path_answer *answer)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();
    g_autoptr (GString) old = g_string_new (NULL);
    unsigned n = 0;

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];
        const pid_t pid = mount_is_windlass (mount) ? control_daemon_pid (mount) : 0;
        g_autofree char *link = g_strdup_printf ("/proc/%d/exe", (int) pid),
                        *program = pid > 0 ? g_file_read_link (link, NULL) : NULL;

        n += mount_is_windlass (mount);
        if (!program || !g_str_has_suffix (program, GONE) || old->len > 2000)
            continue;
        g_string_append (old, " ");
        line_append (old, mount->path, 400);
    }
    g_snprintf (answer->text, sizeof answer->text, "%u%s", n, old->str);
}

void
doctor_mounts (GPtrArray *findings)
{
    struct path_answer answer;
    struct doctor_finding *finding;
    char *old;
    guint64 n;

    n = path_ask (running_ask, "", NULL, PATIENCE, &answer)
          ? g_ascii_strtoull (answer.text, &old, 10) : 0;
    if (n == 0)
        return;
    if (*old == '\0') {
        doctor_find (findings, "mounts", DOCTOR_OK,
                     "%u; none needs a restart, as far as this user can see", (unsigned) n);
        return;
    }
    finding = doctor_find (findings, "mounts", DOCTOR_NOTE, "needs restart:%s", old);
    finding->costs = g_strdup ("they go on with the program before the upgrade");
    finding->mend = g_strdup ("unmount each, and mount it again");
}
