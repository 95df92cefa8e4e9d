/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lists a directory. An offset is valid only on the copy whose brick returned it, so a listing
 * stays with one copy. If that copy can't be read any more, the listing reads another one from the
 * beginning, and leaves out the names that it listed before, so no caller notices.
 *
 * An NFS server may begin a listing on one fd and continue it on a new one. So the first call on an
 * fd may have an offset. Such a call chooses the copy that the listing began with, unless a child
 * has come or gone since.
 */
#include "copies/copies.h"

#include <errno.h>

#define NAMES_MAX (1 << 20) /* names that a listing remembers; further names may appear twice */

struct dir_listing {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    bool with_attributes;
    fd_t *fd;       /* open directory, with a reference */
    dict_t *xdata;  /* xdata of the call, with a reference; or NULL */
    size_t size;
    off_t offset;
    int child;
    copies_t tried;
    bool refreshed;
    int error;         /* last errno of a copy or of the refresh, or 0 */
    struct lookup_start start;
    bool nothing_to_heal; /* whether all bricks have reported an empty index in the last second */
    gf_dirent_t *entries; /* entries of the answer */
};

static void
dir_listing_drop (void *local)
{
    struct dir_listing *listing = local;

    dirents_free (listing->entries);
    fd_unref (listing->fd);
    dict_unref (listing->xdata);
}

/* --- names that were listed ------------------------------------------------------------------- */

static guint64
name_hash (const char *name)
{
    return fnv64 (FNV64_START, name, strlen (name));
}

struct listed {
    guint64 hash;
    off_t next; /* offset at which the listing continues after this name */
};

/* Adds the names of the last answer to opened->names, up to the entry after which the caller
 * continues at `offset`. The caller may have used only a part of that answer. */
static void
listed_take (struct replicate_fd *opened, off_t offset)
{
    guint taken = 0;

    pthread_mutex_lock (&opened->lock);
    for (guint i = 0; opened->last && i < opened->last->len; i++)
        if (g_array_index (opened->last, struct listed, i).next == offset)
            taken = i + 1;
    for (guint i = 0; i < taken && opened->names->len < NAMES_MAX; i++)
        g_array_append_val (opened->names, g_array_index (opened->last, struct listed, i).hash);
    if (opened->last)
        g_array_set_size (opened->last, 0);
    pthread_mutex_unlock (&opened->lock);
}

static int
hashes_compare (const void *a, const void *b)
{
    const guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

    return (x > y) - (x < y);
}

/* Called when the listing changes to another copy. Sorts the names listed until now: from then on,
 * entries with one of these names are left out. */
static void
names_close_locked (struct replicate_fd *opened)
{
    g_array_sort (opened->names, hashes_compare);
    opened->sorted = opened->names->len;
}

static bool
name_is_new_locked (struct replicate_fd *opened, const gf_dirent_t *entry)
{
    const struct listed listed = { name_hash (entry->d_name), entry->d_off };

    if (opened->sorted > 0
        && bsearch (&listed.hash, opened->names->data, opened->sorted, sizeof listed.hash,
                    hashes_compare))
        return false;
    g_array_append_val (opened->last, listed);
    return true;
}

/* Removes from the answer the entries whose names were listed before. Returns the number of entries
 * left. */
static int
entries_filter (struct dir_listing *listing, struct replicate_fd *opened)
{
    int left = 0;

    pthread_mutex_lock (&opened->lock);
    for (gf_dirent_t **at = &listing->entries; *at;) {
        gf_dirent_t *entry = *at;

        if (name_is_new_locked (opened, entry)) {
            at = &entry->next;
            left++;
        } else {
            *at = entry->next;
            entry->next = NULL;
            dirents_free (entry);
        }
    }
    pthread_mutex_unlock (&opened->lock);
    return left;
}

/* Returns whether the dirty counter of the entry is zero. If a change was cut off, that counter
 * stays raised, but no pending counter accuses a copy. */
static bool
entry_is_clean (const replicate_t *priv, const gf_dirent_t *entry)
{
    struct copy copy = { 0 };

    copy_read_changelog (&copy, &priv->changelog, entry->dict);
    return counter_is_clear (&copy.dirty);
}

/* Returns whether the copy that the listing reads is a good copy of the entry's object, too. */
static bool
entry_is_good (const struct dir_listing *listing, const gf_dirent_t *entry)
{
    xlator_t *this = listing->this;
    struct readable readable;

    if (!inode_ctx_get (entry->inode, this) || !inode_is_fresh (this, entry->inode, &readable)) {
        if (!listing->nothing_to_heal || !entry_is_clean (this->private, entry))
            return false;
        inode_assume_good (this, entry->inode, entry->d_stat.ia_type, &listing->start);
    }
    return inode_is_fresh (this, entry->inode, &readable)
        && readable.data & readable.metadata & COPY (listing->child);
}

/* Removes inode and type from each entry whose object may not be good on this copy, so that callers
 * look the name up on all copies. The mode stays, since cluster/distribute recognises its linktos
 * by it. */
static void
entries_check (const struct dir_listing *listing)
{
    for (gf_dirent_t *at = listing->entries; at; at = at->next) {
        if (!at->inode || at->d_stat.ia_type == IA_INVAL || entry_is_good (listing, at))
            continue;
        g_clear_pointer (&at->inode, inode_unref);
        at->d_stat.ia_type = IA_INVAL;
    }
}

/* --- asking a copy ---------------------------------------------------------------------------- */

static readdir_cbk listing_readdir_cbk;
static readdirp_cbk listing_readdirp_cbk;

static void
dir_listing_wind (struct dir_listing *listing)
{
    replicate_t *priv = listing->this->private;
    xlator_t *child = priv->children[listing->child];

    listing->start = lookup_started (priv);
    listing->nothing_to_heal = index_is_empty (priv);
    if (listing->with_attributes)
        STACK_WIND (listing->frame, listing_readdirp_cbk, child, readdirp, listing->fd,
                    listing->size, listing->offset, listing->xdata);
    else
        STACK_WIND (listing->frame, listing_readdir_cbk, child, readdir, listing->fd,
                    listing->size, listing->offset, listing->xdata);
}

static copies_t
dir_listing_candidates (const struct dir_listing *listing, struct readable *ret_readable)
{
    inode_is_fresh (listing->this, listing->fd->inode, ret_readable);
    return ret_readable->data & fd_opened (listing->this, listing->fd)
         & children_up (listing->this->private) & ~listing->tried;
}

static void
reader_choose_locked (struct dir_listing *listing, struct replicate_fd *opened, copies_t candidates)
{
    replicate_t *priv = listing->this->private;
    const bool begins = listing->offset == 0 && !listing->tried, goes_on = opened->reader < 0;

    if (!begins && opened->reader >= 0 && candidates & COPY (opened->reader))
        return;
    opened->reader = choose_copy (priv, candidates, listing->fd->inode);
    if (!goes_on)
        listing->offset = 0;
    if (!opened->names) {
        opened->names = g_array_new (FALSE, FALSE, sizeof (guint64));
        opened->last = g_array_new (FALSE, FALSE, sizeof (struct listed));
    }
    if (begins)
        g_array_set_size (opened->names, 0);
    names_close_locked (opened);
}

static void dir_listing_refresh (struct dir_listing *listing);

/* Called if no good copy can be asked. Does a refresh, which may find another good copy; if it did
 * not, fails the call. */
static void
dir_listing_lacks_copy (struct dir_listing *listing, const struct readable *readable)
{
    if (!listing->refreshed)
        dir_listing_refresh (listing);
    else if (readable->found && !readable->data)
        frame_fail (listing->frame, EIO);
    else
        frame_fail (listing->frame, listing->error ? listing->error : ENOTCONN);
}

static void
dir_listing_ask (void *data)
{
    struct dir_listing *listing = data;
    struct replicate_fd *opened = replicate_fd_of (listing->this, listing->fd);
    struct readable readable = { 0 };
    const copies_t candidates = opened ? dir_listing_candidates (listing, &readable) : 0;

    if (!candidates) {
        dir_listing_lacks_copy (listing, &readable);
        return;
    }
    pthread_mutex_lock (&opened->lock);
    reader_choose_locked (listing, opened, candidates);
    listing->child = opened->reader;
    pthread_mutex_unlock (&opened->lock);
    dir_listing_wind (listing);
}

/* Answers the caller with n entries. op_errno ENOENT: the directory has no further ones. */
static void
dir_listing_answer (struct dir_listing *listing, int32_t n, int32_t op_errno, dict_t *xdata)
{
    if (listing->with_attributes)
        STACK_UNWIND (readdirp, listing->frame, n, op_errno, listing->entries, xdata);
    else
        STACK_UNWIND (readdir, listing->frame, n, op_errno, listing->entries, xdata);
}

/* Handles the answer of a copy. If all its entries were listed before, reads the next ones: the
 * caller would take an answer without entries for the end of the directory. */
static void
dir_listing_answered (struct dir_listing *listing, int32_t op_ret, int32_t op_errno,
                      gf_dirent_t *entries, dict_t *xdata)
{
    replicate_t *priv = listing->this->private;
    int left;

    if (op_ret < 0 && error_is_of_copy (op_errno)) {
        __atomic_add_fetch (&priv->numbers.failovers, 1, __ATOMIC_RELAXED);
        listing->tried |= COPY (listing->child);
        listing->error = op_errno;
        dir_listing_ask (listing);
        return;
    }
    if (op_ret < 0) {
        frame_fail (listing->frame, op_errno);
        return;
    }
    for (const gf_dirent_t *at = entries; at; at = at->next)
        listing->offset = at->d_off;
    listing->entries = dirents_copy (entries);
    left = entries_filter (listing, replicate_fd_of (listing->this, listing->fd));
    if (left == 0 && op_ret > 0) {
        dir_listing_wind (listing);
        return;
    }
    if (listing->with_attributes)
        entries_check (listing);
    dir_listing_answer (listing, left, op_errno, xdata);
}

static void
listing_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                     int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    dir_listing_answered (frame->local, op_ret, op_errno, entries, xdata);
}

static void
listing_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                      int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    dir_listing_answered (frame->local, op_ret, op_errno, entries, xdata);
}

/* --- the operations --------------------------------------------------------------------------- */

static void
dir_listing_refreshed (void *data, int error)
{
    struct dir_listing *listing = data;

    if (error)
        listing->error = error;
    fd_prepare (listing->this, listing->fd, dir_listing_ask, listing);
}

static void
dir_listing_refresh (struct dir_listing *listing)
{
    listing->refreshed = true;
    inode_refresh (listing->this, listing->fd->inode, dir_listing_refreshed, listing);
}

/* Returns xdata by which a brick is asked for the dirty counter of each entry, with a reference. */
static dict_t *
dirty_asked (const replicate_t *priv, dict_t *xdata)
{
    dict_t *asked = xdata ? dict_copy (xdata) : dict_new ();

    dict_set_u64 (asked, priv->dirty_name, COUNTER_SIZE);
    return asked;
}

static void
dir_listing_begin (call_frame_t *frame, xlator_t *this, bool with_attributes, fd_t *fd, size_t size,
                   off_t offset, dict_t *xdata)
{
    struct dir_listing *listing = frame_local_new (frame, sizeof *listing);
    struct readable readable;

    listing->head.drop = dir_listing_drop;
    listing->this = this;
    listing->frame = frame;
    listing->with_attributes = with_attributes;
    listing->fd = fd_ref (fd);
    listing->xdata = with_attributes ? dirty_asked (this->private, xdata) : dict_ref (xdata);
    listing->size = size;
    listing->offset = offset;
    if (offset != 0 && replicate_fd_of (this, fd))
        listed_take (replicate_fd_of (this, fd), offset);
    if (!children_quorum (this->private, children_up (this->private)))
        frame_fail (frame, ENOTCONN);
    else if (!inode_is_fresh (this, fd->inode, &readable)
             || !index_is_known (this->private))
        dir_listing_refresh (listing);
    else
        fd_prepare (this, fd, dir_listing_ask, listing);
}

void
replicate_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                   dict_t *xdata)
{
    dir_listing_begin (frame, this, false, fd, size, offset, xdata);
}

void
replicate_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                    dict_t *xdata)
{
    dir_listing_begin (frame, this, true, fd, size, offset, xdata);
}
