/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* setflags FILE: makes FILE immutable, with the native command and with that of a 32-bit program,
 * and prints both results. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

int
main (int argc, char **argv)
{
    static const unsigned long commands[] = { FS_IOC_SETFLAGS, FS_IOC32_SETFLAGS };
    int fd = argc == 2 ? open (argv[1], O_RDONLY) : -1;

    if (fd < 0)
        return 2;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        long flags = FS_IMMUTABLE_FL;
        printf ("%s\n", ioctl (fd, commands[i], &flags) < 0 ? strerrorname_np (errno) : "done");
    }
    return 0;
}
