/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths in /proc, for system calls that take no descriptor. */
#include "../posix.h"

struct posix_path
posix_path_of (int fd)
{
    static const char prefix[] = "/proc/self/fd/";
    struct posix_path path;
    char digits[12], *to = path.text + sizeof prefix - 1;
    int n = 0;

    memcpy (path.text, prefix, sizeof prefix - 1);
    do
        digits[n++] = (char) ('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n > 0)
        *to++ = digits[--n];
    *to = '\0';
    return path;
}
