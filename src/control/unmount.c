/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

const char *
unmount_mtab_missing (void)
{
    if (geteuid () == 0 || access ("/etc/mtab", R_OK) == 0)
        return NULL;
    return "/etc/mtab is not there, where fusermount3 looks for what a user may unmount (as root, "
           "'ln -s /proc/self/mounts /etc/mtab')";
}

/* --- a daemon that was killed --------------------------------------------------------------- */

int
unmount_abort_file (const struct mount *mount)
{
    char path[64];

    snprintf (path, sizeof path, "/sys/fs/fuse/connections/%u/abort", mount->minor);
    return open (path, O_WRONLY | O_CLOEXEC);
}

/* For a user, whose file it is. */
static void
abort_connection (const struct mount *mount)
{
    const int fd = unmount_abort_file (mount);

    if (fd < 0 || write (fd, "1", 1) < 0)
        fprintf (stderr,
                 "windlass: warning: can't abort the connection of a daemon that was killed "
                 "(/sys/fs/fuse/connections/%u/abort): %s\n",
                 mount->minor, g_strerror (errno));
    if (fd >= 0)
        close (fd);
}

/* --- as an ordinary user ---------------------------------------------------------------------- */

/* fusermount3 tells errors by words alone: in English, since it sets no locale. This program sets
 * one, in which strerror may have other words. */
static int
unmount_by_fusermount (const char *path, bool lazy, char **ret_text)
{
    const char *argv[] = { "fusermount3", "-u", "--", path, NULL, NULL };
    g_autofree char *said = NULL;
    int status;

    if (lazy) {
        argv[2] = "-z";
        argv[3] = "--";
        argv[4] = path;
    }
    if (!g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL,
                       NULL, NULL, NULL, &said, &status, NULL)) {
        *ret_text = g_strdup ("the program fusermount3 can't be started");
        return -EPERM;
    }
    if (g_spawn_check_wait_status (status, NULL))
        return 0;
    *ret_text = g_strdup (g_strchomp (said));
    return strstr (said, "Device or resource busy") ? -EBUSY : -EPERM;
}

/* --- the mount that is meant ---------------------------------------------------------------- */

/* The number in mountinfo of the mount that a descriptor is in, or 0. Asks no file system. */
static unsigned
mount_id_of (int fd)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/fdinfo/%d", fd), *text = NULL;
    const char *line = g_file_get_contents (path, &text, NULL, NULL) ? strstr (text, "mnt_id:")
                                                                     : NULL;

    return line ? (unsigned) g_ascii_strtoull (line + strlen ("mnt_id:"), NULL, 10) : 0;
}

/* While the descriptor is open, no other mount gets its number. */
static bool
mount_is_open (const struct mount *mount, int fd)
{
    g_autoptr (GPtrArray) mounts = mounts_now ();
    const struct mount *open = mount_with_id (mounts, mount->id);

    return mount_id_of (fd) == mount->id && open && mount_is_same (open, mount);
}

/* Checks what is mounted at a name in a folder; a symbolic link there is not followed. */
static int
mount_check_at (const struct mount *mount, int folder, const char *name, char **ret_text)
{
    const int fd = openat (folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is;

    if (fd < 0)
        return -errno;
    is = mount_is_open (mount, fd);
    close (fd);
    if (is)
        return 0;
    *ret_text = g_strdup ("something else was put there meanwhile");
    return -ESTALE;
}

/* --- unmounting ----------------------------------------------------------------------------- */

/* The owner of a folder on the way may have replaced it by a symbolic link since the mount was
 * found, so that its path leads to another mount, which root may unmount as well. So the folder of
 * the mount point is opened once; the check and umount2 both begin there, and follow no link.
 * Between the two, the name itself can be moved only from another mount namespace, where it is no
 * mount point, and another mount comes to be there only if the same user owns the folder of its
 * mount point. umount2 of a descriptor of the mount itself would exclude that, but is EBUSY: the
 * descriptor counts as a user. MNT_FORCE aborts the connection as well. Returns 0 or a negative
 * errno. */
static int
unmount_by_kernel (const struct mount *mount, unsigned flags, char **ret_text)
{
    g_autofree char *dir = g_path_get_dirname (mount->path),
                    *base = g_path_get_basename (mount->path), *path = NULL;
    const char *name = strcmp (base, "/") == 0 ? "." : base;
    const int folder = open (dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r;

    if (folder < 0)
        return -errno;
    path = g_strdup_printf ("/proc/self/fd/%d/%s", folder, name);
    r = mount_check_at (mount, folder, name, ret_text);
    if (r == 0 && umount2 (path, UMOUNT_NOFOLLOW | flags) < 0)
        r = -errno;
    close (folder);
    return r;
}

int
unmount_path (const struct mount *mount, unsigned flags, char **ret_text)
{
    const bool force = flags & UNMOUNT_FORCE, lazy = flags & UNMOUNT_LAZY;
    const int r = unmount_by_kernel (mount, (lazy ? MNT_DETACH : 0) | (force ? MNT_FORCE : 0),
                                     ret_text);

    if (r != -EPERM)
        return r;
    if (force)
        abort_connection (mount);
    return unmount_by_fusermount (mount->path, lazy, ret_text);
}
