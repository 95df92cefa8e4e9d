/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The locations of sockets. Only the owner may create files there, and only root and the owner read
 * it. */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void
add (GPtrArray *paths, char *dir, const struct mount *mount)
{
    g_ptr_array_add (paths, g_strdup_printf ("%s/%u:%u.sock", dir, mount->major, mount->minor));
    g_free (dir);
}

/* A daemon may run without the variable of its user's session, and root's value differs. */
GPtrArray *
control_paths (const struct mount *mount)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);
    const char *session = g_getenv ("XDG_RUNTIME_DIR");
    const int uid = (int) mount->user_id;

    if (uid == 0) {
        add (paths, g_strdup ("/run/windlass"), mount);
        return paths;
    }
    if (session && *session == '/' && mount->user_id == geteuid ())
        add (paths, g_strdup_printf ("%s/windlass", session), mount);
    else
        add (paths, g_strdup_printf ("/tmp/windlass-%d", uid), mount);
    if (geteuid () == 0 || mount->user_id == geteuid ()) {
        add (paths, g_strdup_printf ("/run/user/%d/windlass", uid), mount);
        add (paths, g_strdup_printf ("/tmp/windlass-%d", uid), mount);
    }
    return paths;
}

static int
dir_check (int fd, const char *dir, char **ret_error)
{
    struct stat st;

    if (fstat (fd, &st) < 0)
        return -errno;
    if (st.st_uid == geteuid () && (st.st_mode & 077) == 0)
        return 0;
    *ret_error = g_strdup_printf ("the folder '%s' must belong to user %u and be open to nobody "
                                  "else, mode 0700; it belongs to user "
                                  "%u and has mode %04o",
                                  dir, geteuid (), st.st_uid, st.st_mode & 07777);
    return -EPERM;
}

/* The checks are made on the opened descriptor, so a change of the name does not matter. */
int
control_open_dir (const char *path, char **ret_error)
{
    g_autofree char *dir = g_path_get_dirname (path);
    int fd = mkdir (dir, 0700) < 0 && errno != EEXIST
               ? -1
               : open (dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int r = fd < 0 ? -errno : dir_check (fd, dir, ret_error);

    if (r == 0 && flock (fd, LOCK_EX) < 0)
        r = -errno;
    if (r == 0)
        return fd;
    if (fd >= 0)
        close (fd);
    if (!*ret_error)
        *ret_error = g_strdup_printf ("the folder '%s' is of no use: %s", dir, g_strerror (-r));
    return r;
}
