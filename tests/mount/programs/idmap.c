/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idmap FROM TO ID HOST-ID COUNT: mounts the directory FROM also on TO. There the COUNT ids from ID
 * on are mapped to those from HOST-ID on. Exit status 77 with a message if this is not possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDMAP 0x00100000 /* MOUNT_ATTR_IDMAP */
#define EMPTY_PATH 0x1000

struct attr {
    unsigned long long set, clear, propagation, userns_fd;
};

static int
give_up (const char *what)
{
    printf ("needs %s: %s\n", what, strerror (errno));
    return 77;
}

static void
write_map (pid_t pid, const char *name, char **ids)
{
    char path[64], text[128];
    int fd, size;

    snprintf (path, sizeof path, "/proc/%d/%s", pid, name);
    size = snprintf (text, sizeof text, "%s %s %s\n", ids[0], ids[1], ids[2]);
    fd = open (path, O_WRONLY);
    if (fd < 0 || write (fd, text, size) != size)
        exit (give_up ("a map of ids for another user namespace"));
    close (fd);
}

/* Returns a descriptor of a user namespace with these ids. */
static int
namespace_with (char **ids)
{
    char path[64];
    int ends[2], fd;
    char byte;
    pid_t child;

    if (pipe (ends) < 0)
        exit (give_up ("a pipe"));
    child = fork ();
    if (child == 0) {
        if (unshare (CLONE_NEWUSER) < 0)
            _exit (1);
        if (write (ends[1], "", 1) == 1)
            pause ();
        _exit (1);
    }
    close (ends[1]);
    errno = EPERM; /* the errno of unshare(2) if it is not allowed; that of the child is lost */
    if (read (ends[0], &byte, 1) != 1)
        exit (give_up ("user namespaces"));
    write_map (child, "uid_map", ids);
    write_map (child, "gid_map", ids);
    snprintf (path, sizeof path, "/proc/%d/ns/user", child);
    fd = open (path, O_RDONLY | O_CLOEXEC);
    kill (child, SIGKILL);
    waitpid (child, NULL, 0);
    return fd;
}

int
main (int argc, char **argv)
{
    struct attr attr = { .set = IDMAP };
    int tree;

    if (argc != 6)
        return 2;
    tree = (int) syscall (SYS_open_tree, AT_FDCWD, argv[1], 1 /* OPEN_TREE_CLONE */ | O_CLOEXEC);
    if (tree < 0)
        return give_up ("open_tree");
    attr.userns_fd = namespace_with (argv + 3);
    if (syscall (SYS_mount_setattr, tree, "", EMPTY_PATH, &attr, sizeof attr) < 0)
        return give_up ("idmapped mounts of FUSE, of Linux 6.12");
    if (syscall (SYS_move_mount, tree, "", AT_FDCWD, argv[2], 4 /* MOVE_MOUNT_F_EMPTY_PATH */) < 0)
        return give_up ("move_mount");
    return 0;
}
