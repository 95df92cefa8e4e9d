/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fifos, sockets and devices work as such; and files are made by an open, or without a name. */
#include "conform/mount/themes/themes.h"

#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static void
write_fifo (void *data)
{
    const int fd = open ("fifo", O_WRONLY);

    TELL ("the child writes", write (fd, "through it", 10));
}

static void
run_fifo (const struct mount_case *c)
{
    char text[16] = "";
    ssize_t n;
    pid_t pid;
    int fd;

    make_tree ("p:fifo");
    TELL ("open to write, without a reader", open ("fifo", O_WRONLY | O_NONBLOCK));
    fd = TELL_FD ("open to read", open ("fifo", O_RDONLY | O_NONBLOCK));
    TELL ("read, without a writer", read (fd, text, sizeof text));
    close (fd);
    pid = child_start (write_fifo, NULL);
    fd = open ("fifo", O_RDONLY);
    n = read (fd, text, sizeof text);
    child_end (pid);
    observe ("read %zd: %s", n, text);
    TELL ("the end", read (fd, text, sizeof text));
    TELL ("lseek", lseek (fd, 0, SEEK_SET));
    TELL ("ftruncate", ftruncate (fd, 0));
    show ("fifo", "fifo");
    TELL ("rename", rename ("fifo", "other"));
    TELL_FD ("open both ways", open ("other", O_RDWR));
}

static void
run_socket (const struct mount_case *c)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
    const int server = socket (AF_UNIX, SOCK_STREAM, 0), client = socket (AF_UNIX, SOCK_STREAM, 0);
    char text[16] = "";
    int fd;

    TELL ("connect to nothing", connect (client, (struct sockaddr *) &address, sizeof address));
    TELL ("bind", bind (server, (struct sockaddr *) &address, sizeof address));
    show ("socket", "socket");
    TELL ("bind again", bind (client, (struct sockaddr *) &address, sizeof address));
    TELL ("connect before listen", connect (client, (struct sockaddr *) &address, sizeof address));
    TELL ("listen", listen (server, 1));
    TELL ("connect", connect (client, (struct sockaddr *) &address, sizeof address));
    fd = TELL_FD ("accept", accept (server, NULL, NULL));
    TELL ("write", write (client, "hello", 5));
    TELL ("read", read (fd, text, sizeof text));
    observe ("it said %s", text);
    TELL ("open it", open ("socket", O_RDONLY));
    TELL ("unlink", unlink ("socket"));
    TELL ("connect again",
          connect (socket (AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *) &address, sizeof address));
}

static void
run_device (const struct mount_case *c)
{
    static const struct {
        const char *name;
        unsigned major, minor;
    } rows[] = { { "null", 1, 3 },
                 { "zero", 1, 5 },
                 { "large", 4095, 1048575 },
                 { "nothing", 0, 0 },
                 { "of 256", 256, 256 } };
    char text[4] = "xyz";
    int fd;

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++) {
        TELL (rows[i].name,
              mknod (rows[i].name, S_IFCHR | 0666, makedev (rows[i].major, rows[i].minor)));
        show (rows[i].name, rows[i].name);
    }
    TELL ("a block device", mknod ("block", S_IFBLK | 0600, makedev (7, 255)));
    show ("block", "block");
    fd = TELL_FD ("open", open ("zero", O_RDWR));
    TELL ("read", read (fd, text, 3));
    observe ("it is %d", text[0]);
    TELL ("write", write (fd, "x", 1));
    TELL ("truncate", truncate ("null", 0));
}

/* --- making by open ------------------------------------------------------------------------- */

static void
run_create (const struct mount_case *c)
{
    int fd = TELL_FD ("create read-only, to write", open ("file", O_CREAT | O_EXCL | O_RDWR, 0444));

    TELL ("write", write (fd, "text", 4));
    show ("file", "file");
    TELL ("create again", open ("file", O_CREAT | O_EXCL | O_RDWR, 0444));
    close (fd);
    show_content ("file");
    fd = TELL_FD ("create with mode 0", open ("closed", O_CREAT | O_RDWR, 0));
    TELL ("write", write (fd, "text", 4));
    TELL ("open it again", open ("closed", O_RDWR) < 0);
    close (fd);
    TELL ("a link to it", symlink ("through", "link"));
    TELL_FD ("create through a link", open ("link", O_CREAT | O_WRONLY, 0600));
    TELL_FD ("not if it must be new", open ("link", O_CREAT | O_EXCL | O_WRONLY, 0600));
    show_tree (".");
}

static void
run_tmpfile (const struct mount_case *c)
{
    const int fd = TELL_FD ("a file without a name", open (".", O_TMPFILE | O_RDWR, 0640));
    g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", fd);
    struct stat st;

    if (fd < 0)
        return;
    NEED (fstat (fd, &st));
    show_stat ("it", &st);
    TELL ("write", write (fd, "text", 4));
    show_tree (".");
    TELL ("give it a name", linkat (AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    TELL ("write", write (fd, " more", 5));
    show_tree (".");
    show_content ("named");
}

void
special_cases (GPtrArray *list)
{
    case_add (list, run_fifo, 0, 0, 0, 0, "special/a fifo");
    case_add (list, run_socket, 0, 0, 0, 0, "special/a socket");
    case_add (list, run_device, 0, 0, 0, CASE_NEEDS_ROOT, "special/devices");
    case_add (list, run_create, 0, 0, 0, 0, "special/created by open");
    case_add (list, run_tmpfile, 0, 0, 0, 0, "special/a file without a name");
}
