/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/safe-open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_ours (const struct stat *st)
{
    if (S_ISCHR (st->st_mode))
        return true;
    return (st->st_uid == 0 || st->st_uid == geteuid ())
        && (!S_ISREG (st->st_mode) || st->st_nlink <= 1);
}

int
open_ours (const char *path, int flags, mode_t mode)
{
    struct stat st;
    const bool there = lstat (path, &st) == 0, link = there && S_ISLNK (st.st_mode);
    int fd;

    if (there && !is_ours (&st))
        return -EPERM;
    fd = open (path, flags | (link ? 0 : O_NOFOLLOW), mode);
    if (fd < 0)
        return -errno;
    if (link || (fstat (fd, &st) == 0 && is_ours (&st)))
        return fd;
    close (fd);
    return -EPERM;
}
