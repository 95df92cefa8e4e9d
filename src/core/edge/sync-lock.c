/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/sync-lock.h"
#include "core/base/errors.h"
#include "core/data/loc.h"
#include "core/edge/sync-names.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_TEXT_MAX 256 /* bytes of the text in a lock file */

int
sync_lock_make (struct client *client, inode_t *directory, const char *name)
{
    g_autoptr (inode_t) made = NULL;

    return sync_name_mknod (client, directory, name, S_IFREG | 0600, 0, &made);
}

int
sync_lock_open (struct client *client, const struct fd_maker *fds, inode_t *directory,
                const char *name, fd_t **ret_fd)
{
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = sync_name_look (client, directory, name, &inode, &buf);

    if (r == 0 && buf.ia_type != IA_IFREG)
        r = -EINVAL;
    return r == 0 ? sync_name_open (client, fds, inode, O_RDWR, ret_fd) : r;
}

int
sync_lock_set (struct client *client, fd_t *fd, short type, off_t offset, off_t size)
{
    struct gf_flock lock = { .l_type = type, .l_start = offset, .l_len = size };
    const int r = error_or_0 (sync_lk (client, fd, F_SETLK, &lock, NULL, NULL));

    return r == -EACCES ? -EAGAIN : r;
}

bool
sync_lock_counts (struct client *client, inode_t *directory, const char *name, const fd_t *fd)
{
    g_autoptr (inode_t) now = NULL;
    struct iatt buf;

    return sync_name_look (client, directory, name, &now, &buf) == 0
        && gfid_equal (&buf.ia_gfid, &fd->inode->gfid);
}

/* --- the holder ------------------------------------------------------------------------------- */

void
sync_lock_sign (struct client *client, fd_t *fd)
{
    g_autofree char *text = g_strdup_printf ("process %d on '%s'\n", (int) getpid (),
                                             g_get_host_name ());
    struct iovec iov = { text, MIN (strlen (text), LOCK_TEXT_MAX) };

    if (sync_ftruncate (client, fd, 0, NULL, NULL) >= 0)
        (void) sync_writev (client, fd, &iov, 1, 0, 0, NULL, NULL, NULL);
}

/* What the file holds may come from another machine: only printable text of one line is used. */
char *
sync_lock_holder (struct client *client, fd_t *fd)
{
    struct readv_reply reply;
    const int r = sync_readv (client, fd, LOCK_TEXT_MAX, 0, 0, NULL, &reply);
    g_autofree char *text = r > 0 ? g_strndup (reply.vector->iov_base, reply.vector->iov_len)
                                  : g_strdup ("");
    char *end = text;

    readv_reply_drop (&reply);
    while (g_ascii_isprint (*end))
        end++;
    *end = '\0';
    return *text ? g_steal_pointer (&text) : g_strdup ("another process");
}
