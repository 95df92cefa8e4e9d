/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_RUN "/run/windlass"

char *
run_dir (void)
{
    return geteuid () == 0 ? g_strdup (DIR_RUN)
                           : g_build_filename (g_get_user_runtime_dir (), "windlass", NULL);
}

/* Opens the folder and then checks it, so that later changes of the path don't matter. */
static int
run_dir_open (const char *path)
{
    struct stat st;
    int fd;

    if (g_mkdir_with_parents (path, 0700) < 0)
        return -errno;
    fd = open (path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat (fd, &st) == 0 && st.st_uid == geteuid () && !(st.st_mode & 022))
        return fd;
    close (fd);
    return -EPERM;
}

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
    g_autofree char *path = run_dir ();
    int dir, r;

    if (!*name || strchr (name, '/') || strcmp (name, ".") == 0 || strcmp (name, "..") == 0)
        return -EINVAL;
    dir = run_dir_open (path);
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
