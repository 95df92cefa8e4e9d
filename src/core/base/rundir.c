/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/rundir.h"
#include "core/base/name.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_RUN "/run/windlass"
#define DIR_TMP "/tmp"
#define MADE_MAX 4 /* folders of run_dir_make that are looked into */

/* --- the folders that there may be --- */

static void
run_dirs_add (GPtrArray *dirs, char *dir)
{
    if (g_ptr_array_find_with_equal_func (dirs, dir, g_str_equal, NULL))
        g_free (dir);
    else
        g_ptr_array_add (dirs, dir);
}

/* The folder of the session is this user's, or for all as /tmp is. After su it may be of the user
 * before. So is a link to it: whoever owns that could lead it elsewhere. */
static bool
run_dirs_session_is_ours (const char *session)
{
    struct stat st, link;

    return session && *session == '/' && stat (session, &st) == 0 && lstat (session, &link) == 0
        && (st.st_uid == geteuid () || st.st_uid == 0)
        && (link.st_uid == geteuid () || link.st_uid == 0);
}

/* As fstatat, but the kernel answers from what it knows: anybody may mount a file system that never
 * answers on a folder of these names. */
static int
run_dir_stat (int at, const char *path, int flags, struct stat *ret_st)
{
    struct statx st;

    if (statx (at, path, flags | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st) < 0)
        return -1;
    *ret_st = (struct stat){ .st_mode = st.stx_mode,
                             .st_uid = st.stx_uid,
                             .st_ctim = { st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec } };
    return 0;
}

/* A folder of the user and of nobody else. */
static bool
run_dir_is_of (const struct stat *st, uid_t user)
{
    return S_ISDIR (st->st_mode) && st->st_uid == user && (st->st_mode & 077) == 0;
}

struct made {
    char *path;
    gint64 changed;
};

static gint
by_change (gconstpointer a, gconstpointer b)
{
    const struct made *first = a, *second = b;

    return (first->changed < second->changed) - (first->changed > second->changed);
}

/* Adds what run_dir_make has made, the newest first, and only a few, since `user` can make any
 * number. Any user can create a folder of this name; only one that belongs to `user` with mode 0700
 * counts. */
static void
run_dirs_add_made (GPtrArray *dirs, uid_t user)
{
    g_autofree char *prefix = g_strdup_printf ("windlass-%u.", user);
    g_autoptr (GDir) tmp = g_dir_open (DIR_TMP, 0, NULL);
    g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (struct made));
    const char *name;

    while (tmp && (name = g_dir_read_name (tmp))) {
        struct made made = { .path = g_build_filename (DIR_TMP, name, NULL) };
        struct stat st;

        if (g_str_has_prefix (name, prefix)
            && run_dir_stat (AT_FDCWD, made.path, AT_SYMLINK_NOFOLLOW, &st) == 0
            && run_dir_is_of (&st, user)) {
            made.changed = st.st_ctim.tv_sec * INT64_C (1000000000) + st.st_ctim.tv_nsec;
            g_array_append_val (all, made);
        } else {
            g_free (made.path);
        }
    }
    g_array_sort (all, by_change);
    for (guint i = 0; i < all->len; i++) {
        char *path = g_array_index (all, struct made, i).path;

        if (i < MADE_MAX)
            run_dirs_add (dirs, path);
        else
            g_free (path);
    }
}

/* A daemon may run without the variable of its user's session, and root's value differs. */
char **
run_dirs (uid_t user)
{
    GPtrArray *dirs = g_ptr_array_new ();
    const char *session = g_getenv ("XDG_RUNTIME_DIR");

    if (user == 0)
        run_dirs_add (dirs, g_strdup (DIR_RUN));
    else if (user == geteuid () && run_dirs_session_is_ours (session))
        run_dirs_add (dirs, g_build_filename (session, "windlass", NULL));
    if (user != 0)
        run_dirs_add (dirs, g_strdup_printf ("/run/user/%u/windlass", user));
    run_dirs_add (dirs, g_strdup_printf (DIR_TMP "/windlass-%u", user));
    run_dirs_add_made (dirs, user);
    g_ptr_array_add (dirs, NULL);
    return (char **) g_ptr_array_free (dirs, FALSE);
}

int
run_dir_look (const char *dir, uid_t user)
{
    const int fd = open (dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return errno == ELOOP || errno == ENOTDIR ? -ENOENT : -errno;
    if (run_dir_stat (fd, "", AT_EMPTY_PATH, &st) == 0 && run_dir_is_of (&st, user))
        return fd;
    close (fd);
    return -ENOENT;
}

/* --- the folder of this process --- */

/* The checks are made on the opened descriptor, so a change of the name does not matter. */
static int
run_dir_check (int fd, const char *dir, char **ret_error)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return -errno;
    if (run_dir_is_of (&st, geteuid ()))
        return 0;
    *ret_error = g_strdup_printf ("the folder '%s' must belong to user %u and be open to nobody "
                                  "else, mode 0700; it belongs to user "
                                  "%u and has mode %04o",
                                  dir, geteuid (), st.st_uid, st.st_mode & 07777);
    return -EPERM;
}

int
run_dir_open (const char *dir, char **ret_error)
{
    int fd = mkdir (dir, 0700) < 0 && errno != EEXIST
               ? -1
               : open (dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? -errno : run_dir_check (fd, dir, ret_error);

    if (r == 0)
        return fd;
    if (fd >= 0)
        close (fd);
    if (!*ret_error)
        *ret_error = g_strdup_printf ("the folder '%s' is of no use: %s", dir, g_strerror (-r));
    return r;
}

char *
run_dir_make (char **ret_error)
{
    char *dir = g_strdup_printf (DIR_TMP "/windlass-%u.XXXXXX", geteuid ());

    if (mkdtemp (dir))
        return dir;
    *ret_error = g_strdup_printf ("no folder '%s' can be made: %s", dir, g_strerror (errno));
    g_free (dir);
    return NULL;
}

int
run_dir_take (char **ret_dir, char **ret_error)
{
    g_auto (GStrv) dirs = run_dirs (geteuid ());
    g_autofree char *made = NULL;
    int fd = -ENOENT;

    for (char **dir = dirs; *dir && fd < 0; dir++) {
        g_clear_pointer (ret_error, g_free);
        fd = run_dir_open (*dir, ret_error);
        if (fd >= 0)
            *ret_dir = g_strdup (*dir);
    }
    if (fd >= 0)
        return fd;
    g_clear_pointer (ret_error, g_free);
    made = run_dir_make (ret_error);
    fd = made ? run_dir_open (made, ret_error) : -EACCES;
    if (fd >= 0)
        *ret_dir = g_steal_pointer (&made);
    return fd;
}

static bool
run_dir_can_be_taken (const char *dir)
{
    g_autofree char *above = g_path_get_dirname (dir);
    struct stat st;

    return lstat (dir, &st) < 0 ? errno == ENOENT && access (above, W_OK | X_OK) == 0
                                : run_dir_is_of (&st, geteuid ());
}

char *
run_dir (void)
{
    g_auto (GStrv) dirs = run_dirs (geteuid ());

    for (char **dir = dirs; *dir; dir++)
        if (run_dir_can_be_taken (*dir))
            return g_strdup (*dir);
    return g_strdup_printf (DIR_TMP "/windlass-%u.XXXXXX", geteuid ());
}

/* --- files in it --- */

static int
write_all (int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t n = write (fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        bytes += n;
        size -= n;
    }
    return 0;
}

/* Refuses to replace a socket or a folder. */
static int
may_replace (int dir, const char *name)
{
    struct stat st;

    if (fstatat (dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    return S_ISREG (st.st_mode) ? 0 : -EPERM;
}

static int
write_beside (int dir, const char *name, const char *bytes, size_t size)
{
    static unsigned count; /* atomic: makes the names of concurrent calls differ */
    char beside[64];
    int fd, r;

    snprintf (beside, sizeof beside, ".new.%d.%u", (int) getpid (),
              __atomic_add_fetch (&count, 1, __ATOMIC_RELAXED));
    fd = openat (dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = write_all (fd, bytes, size);
    if (close (fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat (dir, beside, dir, name) < 0)
        r = -errno;
    if (r < 0)
        unlinkat (dir, beside, 0);
    return r;
}

int
run_dir_write (const char *name, const char *bytes, size_t size, char **ret_path)
{
    g_autofree char *path = NULL, *error = NULL;
    int dir, r;

    if (!*name || strchr (name, '/') || name_is_dots (name))
        return -EINVAL;
    dir = run_dir_take (&path, &error);
    if (dir < 0)
        return dir;
    r = may_replace (dir, name);
    if (r == 0)
        r = write_beside (dir, name, bytes, size);
    close (dir);
    if (r == 0 && ret_path)
        *ret_path = g_build_filename (path, name, NULL);
    return r;
}

char *
state_dir (void)
{
    const char *state = g_get_user_state_dir ();

    return g_path_is_absolute (state)
             ? g_build_filename (state, "windlass", NULL)
             : g_build_filename (g_get_home_dir (), ".local", "state", "windlass", NULL);
}
