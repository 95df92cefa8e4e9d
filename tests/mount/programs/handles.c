/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * handles DIR FILE...: does the same as an NFS server. Takes a file handle of each FILE below DIR,
 * makes the kernel forget inodes, renames each file, and opens the file by its handle. Prints the
 * first line of each file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct file_handle *
handle_of (int dir, const char *name)
{
    struct file_handle *handle = calloc (1, sizeof *handle + MAX_HANDLE_SZ);
    int mount_id;

    handle->handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at (dir, name, handle, &mount_id, 0) < 0) {
        printf ("no handle of %s: %s\n", name, strerrorname_np (errno));
        exit (1);
    }
    return handle;
}

static void
drop_caches (void)
{
    int fd = open ("/proc/sys/vm/drop_caches", O_WRONLY);

    if (fd < 0 || write (fd, "2", 1) != 1)
        printf ("can't drop caches: %s\n", strerrorname_np (errno));
    if (fd >= 0)
        close (fd);
}

static void
show (int dir, struct file_handle *handle, const char *name)
{
    char text[32] = "";
    int fd = open_by_handle_at (dir, handle, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read (fd, text, sizeof text - 1);

    text[strcspn (text, "\n")] = '\0';
    printf ("%s: %s\n", name, n < 0 ? strerrorname_np (errno) : text);
    if (fd >= 0)
        close (fd);
}

int
main (int argc, char **argv)
{
    struct file_handle *handles[64];
    int dir = argc > 2 && argc < 64 ? open (argv[1], O_RDONLY | O_DIRECTORY) : -1;
    char to[300];

    if (dir < 0)
        return 2;
    for (int i = 2; i < argc; i++)
        handles[i] = handle_of (dir, argv[i]);
    drop_caches ();
    for (int i = 2; i < argc; i++) {
        snprintf (to, sizeof to, "%s.renamed", argv[i]);
        if (renameat (dir, argv[i], dir, to) < 0)
            printf ("can't rename %s: %s\n", argv[i], strerrorname_np (errno));
        drop_caches ();
        show (dir, handles[i], argv[i]);
        free (handles[i]);
    }
    close (dir);
    return 0;
}
