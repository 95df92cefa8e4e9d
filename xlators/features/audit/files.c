/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a log. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAIL_SIZE (256 << 10) /* bytes at the end of a file that are searched for a number */

int
audit_file_open (int directory, const char *name, uint64_t *ret_size)
{
    const int fd = openat (directory, name,
                           O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                               | O_NOCTTY,
                           0600);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET }; /* not to be had by readers */
    struct stat st;

    if (fd < 0)
        return -errno;
    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode) || st.st_nlink != 1
        || (st.st_uid != geteuid () && st.st_uid != 0) || st.st_mode & (S_IWGRP | S_IWOTH)) {
        close (fd);
        return -EPERM;
    }
    if (fcntl (fd, F_OFD_SETLK, &lock) < 0) {
        close (fd);
        return -EBUSY;
    }
    *ret_size = (uint64_t) st.st_size;
    return fd;
}

int
audit_files_shift (int directory, const char *name, int keep)
{
    int r;

    if (keep == 0)
        return unlinkat (directory, name, 0) < 0 && errno != ENOENT ? -errno : 0;
    for (int i = keep; i > 0; i--) {
        g_autofree char *from = i > 1 ? g_strdup_printf ("%s.%d", name, i - 1) : g_strdup (name);
        g_autofree char *to = g_strdup_printf ("%s.%d", name, i);

        r = renameat (directory, from, directory, to) < 0 ? -errno : 0;
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}

/* Returns the end of a file as text, or NULL. g_free it. */
static char *
audit_file_tail (int directory, const char *name)
{
    const int fd = openat (directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    char *text = NULL;
    ssize_t n = -1;

    if (fd >= 0 && fstat (fd, &st) == 0 && S_ISREG (st.st_mode)) {
        const off_t begin = MAX (st.st_size - TAIL_SIZE, 0);

        text = g_malloc0 (TAIL_SIZE + 1);
        n = pread (fd, text, TAIL_SIZE, begin);
    }
    if (fd >= 0)
        close (fd);
    if (n < 0)
        g_clear_pointer (&text, g_free);
    return text;
}

/* Paths and names are quoted, so this text is in no value. */
static uint64_t
audit_text_last_number (const char *text)
{
    static const char *const keys[] = { "\n{\"unwind\":", "\"last\":" };
    uint64_t highest = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (keys); i++)
        for (const char *at = text; (at = strstr (at, keys[i])); at++)
            highest = MAX (highest, g_ascii_strtoull (at + strlen (keys[i]), NULL, 10));
    return highest;
}

uint64_t
audit_file_last_number (int directory, const char *name)
{
    g_autofree char *older = g_strdup_printf ("%s.1", name);
    const char *const names[] = { name, older };
    uint64_t number = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (names) && number == 0; i++) {
        g_autofree char *tail = audit_file_tail (directory, names[i]);
        g_autofree char *lines = g_strconcat ("\n", tail, NULL);

        number = audit_text_last_number (lines);
    }
    return number;
}

bool
audit_file_is_it (int directory, const char *name, int fd)
{
    struct stat named, open;

    return fstatat (directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat (fd, &open) == 0
        && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

bool
audit_file_is_whole (int directory, const char *name)
{
    g_autofree char *tail = audit_file_tail (directory, name);

    return !tail || !*tail || tail[strlen (tail) - 1] == '\n';
}
