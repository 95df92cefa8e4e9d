/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks whether the mount is possible at that mount point, before any change. */
#include "daemon/daemon.h"

#include "control/control.h"
#include "core/base/name.h"
#include "core/base/path-question.h"
#include "core/base/printable.h"
#include "core/realm/realm.h"
#include "core/time/attempt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static bool
mount_at (const char *path, struct mount *ret_mount)
{
    g_autofree char *text = NULL;

    return g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL)
        && mount_find (text, path, ret_mount);
}

/* Refuses a mount point with a Windlass mount; a mount of another type may be covered. */
static int
check_not_mounted (const char *path, char **ret_error)
{
    struct mount mount;
    int r = 0;

    if (!mount_at (path, &mount))
        return 0;
    if (mount_is_windlass (&mount)) {
        *ret_error = g_strdup_printf ("mount point '%s' is already mounted (%s)", path,
                                      mount.source);
        r = -EBUSY;
    }
    mount_clear (&mount);
    return r;
}

/* The real path of a directory. */
static void
mountpoint_ask (const char *path, const void *data, struct path_answer *answer)
{
    struct stat st;

    if (!realpath (path, answer->text) || stat (answer->text, &st) < 0)
        answer->error = errno;
    else if (!S_ISDIR (st.st_mode))
        answer->error = ENOTDIR;
}

static char *
answer_error (const char *path, const struct path_question *question, int error)
{
    g_autofree char *reason = attempt_reason (error);

    if (question->error)
        return g_strdup_printf ("can't start a process to look at mount point '%s': %s", path,
                                reason);
    if (error == ENOENT)
        return g_strdup_printf ("mount point '%s' does not exist", path);
    if (error == ENOTDIR)
        return g_strdup_printf ("mount point '%s' must be a directory", path);
    return g_strdup_printf ("mount point '%s': %s", path, reason);
}

/* A caller whose current folder is a mount that is dead can still name it with ".": until it is
 * unmounted, its path is known. */
static char *
mountpoint_named (const char *path)
{
    g_autofree char *text = NULL, *whole = NULL, *error = NULL;
    struct mount mount = { 0 };
    bool mounted;

    if (g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
        whole = mount_path (text, path, &error);
    mounted = whole && mount_find (text, whole, &mount);
    mount_clear (&mount);
    return mounted ? g_steal_pointer (&whole) : g_strdup (path);
}

/* libfuse and this process open files by path before the first request can be answered; a path that
 * leads into the mount would wait for ever. For root, libfuse looks for utab, and runs mount(8) to
 * note the mount there. Returns what the directory has of these, or NULL. */
static const char *
mountpoint_needed (const char *dir)
{
    static const char *const needed[] = { "/proc", "/sys", "/run/mount/utab", "/bin/mount" };
    const size_t n = geteuid () == 0 ? G_N_ELEMENTS (needed) : 2;
    char real[PATH_MAX];

    for (size_t i = 0; i < n; i++)
        if (realpath (needed[i], real) && path_is_in (real, dir))
            return needed[i];
    return NULL;
}

char *
mountpoint_check (const char *given, char **ret_error)
{
    g_autofree char *path = mountpoint_named (given);
    struct path_question question;
    struct path_answer answer;
    const char *needed;
    bool answered;

    if (stale_clear (path, ret_error) < 0)
        return NULL;
    path_question_begin (&question, mountpoint_ask, path, NULL);
    answered = path_question_wait (&question, MOUNT_PATIENCE, &answer);
    path_question_end (&question);
    if (!answered)
        *ret_error = g_strdup_printf ("mount point '%s': the file system there does not answer",
                                      path);
    else if (answer.error)
        *ret_error = answer_error (path, &question, answer.error);
    else if (strcmp (answer.text, "/") == 0)
        *ret_error = g_strdup ("mount point '/': a path that begins with '/' does not lead into "
                               "a mount that is over '/'");
    else if ((needed = mountpoint_needed (answer.text)))
        *ret_error = g_strdup_printf ("mount point '%s' holds %s, which is needed while it is "
                                      "mounted; name a directory in it", answer.text, needed);
    if (*ret_error || check_not_mounted (answer.text, ret_error) < 0)
        return NULL;
    return g_strdup (answer.text);
}

dev_t
mountpoint_device (const char *path)
{
    struct mount mount;
    dev_t device = 0;

    if (mount_at (path, &mount)) {
        device = makedev (mount.major, mount.minor);
        mount_clear (&mount);
    }
    return device;
}

static bool
is_same_file (const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* Returns true if dir is path or one of the folders above it, under any name. */
static bool
holds (const struct stat *dir, const char *path)
{
    g_autofree char *at = g_strdup (path);
    struct stat st;

    for (;;) {
        if (stat (at, &st) == 0 && is_same_file (&st, dir))
            return true;
        if (strcmp (at, "/") == 0 || strcmp (at, ".") == 0)
            return false;
        char *up = g_path_get_dirname (at);
        g_free (at);
        at = up;
    }
}

/* Looks at the value of an option that is a path of this machine. */
typedef int path_look (const xlator_t *xl, const struct option_setting *setting,
                       const char *mountpoint, char **ret_error);

/* Calls look for each path in the graph's options, until one call returns an error. */
static int
paths_each (const struct graph *graph, path_look *look, const char *mountpoint, char **ret_error)
{
    int r = 0;

    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        for (guint j = 0; r == 0 && xl->settings && j < xl->settings->len; j++) {
            const struct option_setting *setting = xl->settings->pdata[j];
            if (setting->option->type == OPTION_PATH && !setting->option->inert && setting->text)
                r = look (xl, setting, mountpoint, ret_error);
        }
    }
    return r;
}

/* Is the path of a directory that is not open yet, while the mount runs, one of the mount? Nothing
 * is asked of the mount. */
static bool
leads_into (const char *dir, const char *mountpoint)
{
    g_autofree char *rest = NULL, *error = NULL, *around = mount_around (dir, &rest, &error);

    return g_strcmp0 (around, mountpoint) == 0;
}

/* A boundary of several children, such as cluster/overlay, shows an empty directory where one of
 * the further children does not enter the mount. */
static bool
may_hold_mount (const xlator_t *xl)
{
    const struct realm *realm = xl->realm;

    return realm && FIRST_CHILD (realm->boundary) != realm->child;
}

static int
check_root (const xlator_t *xl, const struct option_setting *setting, const char *mountpoint,
            char **ret_error)
{
    g_autofree char *above = g_path_get_dirname (mountpoint);
    const char *volfile = xl->graph->volfile->path, *dir = setting->text;
    struct stat st;

    if (!setting->option->root || roots_find (xl->graph->roots, dir))
        return 0;
    if (leads_into (dir, mountpoint)) {
        *ret_error = g_strdup_printf (
            "volume '%s': directory '%s' leads into this mount, '%s': what is under a mount can "
            "only be used by a volfile that names it when it is mounted (%s:%d)",
            xl->name, dir, mountpoint, volfile, xl->line);
        return -EINVAL;
    }
    if (xl->children || may_hold_mount (xl) || stat (dir, &st) < 0 || !holds (&st, above))
        return 0;
    *ret_error = g_strdup_printf (
        "volume '%s': directory '%s' must not hold its own mount point, '%s'; the mount point may "
        "be the directory itself, or be outside (%s:%d)",
        xl->name, dir, mountpoint, volfile, xl->line);
    return -EINVAL;
}

/* A storage that contains its own mount point would send a request to itself, and wait for its own
 * answer. It may be the mount point: no name in the directory leads to the mount then. A translator
 * with children looks at no folder below its directory. */
int
mountpoint_check_roots (const struct graph *graph, const char *mountpoint, char **ret_error)
{
    return paths_each (graph, check_root, mountpoint, ret_error);
}

static bool
is_empty (const char *path)
{
    g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);

    return !dir || !g_dir_read_name (dir);
}

static int
notice_path (const xlator_t *xl, const struct option_setting *setting, const char *mountpoint,
             char **ret_error)
{
    struct stat st, own;

    if (stat (mountpoint, &st) < 0 || stat (setting->text, &own) < 0 || is_same_file (&st, &own)
        || !holds (&st, setting->text))
        return 0;
    say_line (stderr,
              "windlass: notice: volume '%s': %s '%s' lies in the mount point: while it is "
              "mounted, that path shows the mount (%s:%d)",
              xl->name, setting->option->key[0], setting->text, xl->graph->volfile->path, xl->line);
    return 0;
}

/* Returns an error, without a message, if the graph shows the mount point itself. */
static int
find_shown (const xlator_t *xl, const struct option_setting *setting, const char *mountpoint,
            char **ret_error)
{
    struct stat st, own;
    const bool shown = setting->option->root && stat (mountpoint, &st) == 0
                    && stat (setting->text, &own) == 0 && is_same_file (&st, &own);

    return shown ? -EEXIST : 0;
}

void
mountpoint_notice (const struct graph *graph, const char *mountpoint)
{
    char *none = NULL;

    if (is_empty (mountpoint))
        return;
    if (paths_each (graph, find_shown, mountpoint, &none) == 0)
        say_line (stderr,
                  "windlass: notice: mount point '%s' is not empty; what is in it can't be seen "
                  "while it is mounted",
                  mountpoint);
    paths_each (graph, notice_path, mountpoint, &none);
}
