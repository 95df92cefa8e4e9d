/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies of what a file has before it loses its content. The copy is the daemon's; it gets the
 * owner and the mode of the file. */
#include "copy.h"

#include <errno.h>
#include <fcntl.h>

#define COPY_REFLINK_KEY "windlass.reflink" /* xdata of copy_file_range, for storage/posix: share
                                             * the blocks of the whole file, or fail */

static int
copy_open_source (xlator_t *this, struct client *client, inode_t *inode, fd_t **ret_fd)
{
    const int r = sync_name_open (client, this->fd_maker, inode, O_RDONLY | O_NOATIME, ret_fd);

    /* not the owner, or a storage without the flag */
    return r < 0 ? sync_name_open (client, this->fd_maker, inode, O_RDONLY, ret_fd) : r;
}

int
trash_copy_begin (xlator_t *this, struct client *client, struct trash_copy *copy, inode_t *source)
{
    int r = copy->from ? 0 : copy_open_source (this, client, source, &copy->from);

    if (r == 0)
        r = sync_name_create (client, this->fd_maker, copy->folder, copy->name, 0600, &copy->inode,
                              &copy->to);
    return r;
}

int
trash_copy_reflink (struct client *client, struct trash_copy *copy)
{
    g_autoptr (dict_t) wanted = dict_new ();

    dict_set_u64 (wanted, COPY_REFLINK_KEY, 1);
    return error_or_0 (sync_copy_file_range (client, copy->from, 0, copy->to, 0,
                                             copy->before.ia_size, 0, wanted, NULL));
}

/* Bytes that are appended meanwhile don't belong to the old content. */
int
trash_copy_data (struct client *client, struct trash_copy *copy)
{
    struct copy_between between = { .reader = client, .writer = client, .from = copy->from,
                                    .to = copy->to, .size = copy->before.ia_size };
    int r = copy_between (&between);

    if (r == 0)
        r = sync_ftruncate (client, copy->to, (off_t) between.size, NULL, NULL);
    return error_or_0 (r);
}

/* --- comparing -------------------------------------------------------------------------------- */

#define COMPARE_STEP ((size_t) 1 << 20) /* bytes of one pair of reads */

/* Returns how many bytes at an offset are equal, 0 at the end; -EXDEV: they aren't; or another
 * negative errno. */
static int
compare_step (struct client *client, fd_t *one, fd_t *other, off_t offset)
{
    struct readv_reply of_one, of_other = { 0 };
    int r = sync_readv (client, one, COMPARE_STEP, offset, 0, NULL, &of_one), r2;

    if (r > 0) {
        r2 = sync_readv (client, other, COMPARE_STEP, offset, 0, NULL, &of_other);
        if (r2 < 0)
            r = r2;
        else if (!readv_reply_same (&of_one, &of_other))
            r = -EXDEV;
        readv_reply_drop (&of_other);
    }
    readv_reply_drop (&of_one);
    return r;
}

int
trash_copy_compare (xlator_t *this, struct trash_work *work, const struct trash_copy *copy,
                    inode_t *source)
{
    g_autoptr (fd_t) one = NULL, other = NULL;
    off_t offset = 0;
    int r = copy_open_source (this, work->client, source, &one);

    if (r == 0)
        r = copy_open_source (this, work->client, copy->inode, &other);
    if (r < 0)
        return r;
    do {
        r = trash_work_next (work) ? compare_step (work->client, one, other, offset) : -EINTR;
        offset += MAX (r, 0);
    } while (r > 0);
    return r == -EXDEV ? 1 : r;
}

/* --- its end ---------------------------------------------------------------------------------- */

/* A user's daemon can't give files away. */
void
trash_copy_end (struct client *client, struct trash_copy *copy, dict_t *xattrs)
{
    loc_t loc = { .inode = copy->inode };
    const uint32_t owner = client->uid == 0 ? IATT_UID | IATT_GID : 0;
    struct iatt to = copy->before;

    sync_setattr (client, &loc, &to, owner, NULL, NULL);
    if (xattrs)
        sync_setxattr (client, &loc, xattrs, 0, NULL, NULL);
    sync_setattr (client, &loc, &to, IATT_MODE | IATT_MTIME | IATT_ATIME, NULL, NULL);
    loc_wipe_path (&loc);
}

void
trash_copy_close (struct trash_copy *copy)
{
    g_clear_pointer (&copy->from, fd_unref);
    g_clear_pointer (&copy->to, fd_unref);
}

void
trash_copy_remove (struct client *client, struct trash_copy *copy)
{
    trash_copy_close (copy);
    if (copy->inode)
        sync_name_remove (client, copy->folder, copy->name, copy->inode);
    g_clear_pointer (&copy->inode, inode_unref);
}

void
trash_copy_clear (struct trash_copy *copy)
{
    trash_copy_close (copy);
    g_clear_pointer (&copy->folder, inode_unref);
    g_clear_pointer (&copy->inode, inode_unref);
    g_clear_pointer (&copy->name, g_free);
}
