/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listing of a directory: distribute lists one subvolume after the other, and leaves out linktos. A
 * subdirectory is on all subvolumes, and only the entry on its hashed subvolume is listed, so that
 * each name comes once.
 *
 * The offset of an entry has the number of the subvolume in its lowest bits, and above them the
 * entry's offset on that subvolume. It depends on no open fd: it stays valid for any fd of the
 * directory, also in another graph with more subvolumes. A large offset on the subvolume, such as a
 * hash of ext4, is rounded down, since the number takes the place of its lowest bits. A reader that
 * continued at the rounded offset would get an entry twice if the offsets of two entries differed
 * in the lost bits alone. So the context of the fd keeps the exact offset of the last entry of the
 * last answer. A reader that continues after that entry continues at the exact offset. That is also
 * the offset that a translator of the subvolume expects if it has read the directory ahead.
 */
#include "../distribute.h"

#include <dirent.h>
#include <string.h>

#define OFFSET_BITS 62 /* bits of an offset below the bit LARGE; the sign bit is always 0 */
#define LARGE ((uint64_t) 1 << OFFSET_BITS)
#define CHILD_BITS 10U /* minimum of bits that a subvolume's number takes in an offset */

struct list_place {
    unsigned child;
    uint64_t offset;
};

struct list_op {
    struct op op;
    bool with_attributes; /* the call is a readdirp, not a readdir */
    fd_t *fd;
    size_t size, used; /* maximum and current size of the entries in the answer, in bytes */
    struct list_place at, last; /* place where the next readdirp begins; place of the last entry */
    dict_t *wanted;
    struct layout *layout;
    gf_dirent_t *entries, **end;
    int n;
};

static void
listing_clear (struct op *op)
{
    struct list_op *listing = (struct list_op *) op;

    fd_unref (listing->fd);
    dict_unref (listing->wanted);
    layout_unref (listing->layout);
    dirents_free (listing->entries);
}

/* --- offsets ---------------------------------------------------------------------------------- */

static unsigned
child_bits (const struct list_op *listing)
{
    return MAX (CHILD_BITS, g_bit_storage (listing->op.priv->n - 1));
}

static uint64_t
offset_of_place (const struct list_op *listing, struct list_place place)
{
    const unsigned bits = child_bits (listing);

    if (place.offset >> (OFFSET_BITS - bits) == 0)
        return place.offset << bits | place.child;
    return LARGE | place.offset >> (bits + 1) << bits | place.child;
}

static struct list_place
place_of_offset (const struct list_op *listing, uint64_t offset)
{
    const unsigned bits = child_bits (listing);
    const uint64_t there = (offset & ~LARGE) >> bits;

    return (struct list_place){ .child = offset & ((1U << bits) - 1),
                           .offset = fd_place (listing->op.this, listing->fd, offset,
                                               offset & LARGE ? there << (bits + 1) : there) };
}

/* --- which entries ---------------------------------------------------------------------------- */

/* All subvolumes list a subdirectory `name`. Returns whether the caller gets the entry that
 * subvolume `child` lists. The caller gets that of the hashed subvolume; if this subvolume is down,
 * that of the first subvolume on which the fd is open. */
static bool
lists_directory (const struct list_op *listing, unsigned child, const char *name)
{
    const struct op *op = &listing->op;
    const int hashed = listing->layout
        ? layout_search (listing->layout, hash_name (&op->priv->rules, name))
        : NO_CHILD;
    const bool there = hashed != NO_CHILD && fd_is_open_on (op->this, listing->fd, hashed)
                    && child_is_up (op->priv, (unsigned) hashed);

    if (there)
        return (int) child == hashed;
    for (unsigned i = 0; i < child; i++)
        if (fd_is_open_on (op->this, listing->fd, (int) i))
            return false;
    return true;
}

/* Returns whether the entry is a linkto. The entry may have the type IA_INVAL with valid mode bits:
 * cluster/replicate answers so if the entry's attributes may be old. */
static bool
entry_is_linkto (const dht_private_t *priv, const gf_dirent_t *entry)
{
    return (iatt_may_be_linkto (&entry->d_stat)
            || (entry->d_stat.ia_type == IA_INVAL && entry->d_stat.ia_prot == S_ISVTX))
        && dict_has (entry->dict, priv->linkto_key);
}

static bool
lists (const struct list_op *listing, const gf_dirent_t *entry)
{
    const dht_private_t *priv = listing->op.priv;
    const unsigned child = listing->at.child;

    if (name_is_dots (entry->d_name)) {
        for (unsigned i = 0; i < child; i++)
            if (fd_is_open_on (listing->op.this, listing->fd, (int) i))
                return false;
        return true;
    }
    if (entry->d_stat.ia_type == IA_IFDIR || entry->d_type == DT_DIR)
        return lists_directory (listing, child, entry->d_name);
    return !entry_is_linkto (priv, entry);
}

/* Adds a copy of the entry to the answer. The entry of a subdirectory gets no inode: so the caller
 * must look the subdirectory up before it uses it, and that lookup reads the layout. */
static void
entry_add (struct list_op *listing, const gf_dirent_t *from)
{
    struct op *op = &listing->op;
    const struct list_place place = { listing->at.child, (uint64_t) from->d_off };
    gf_dirent_t *entry = g_memdup2 (from, sizeof *from + from->d_len + 1);

    entry->next = NULL;
    entry->d_off = (off_t) offset_of_place (listing, place);
    inode_ref (entry->inode);
    dict_ref (entry->dict);
    if (!listing->with_attributes || entry->d_stat.ia_type == IA_IFDIR) {
        entry->d_stat.ia_type = IA_INVAL;
        inode_unref (entry->inode);
        entry->inode = NULL;
    } else if (entry->inode) {
        inode_set_cached (op->this, entry->inode, (int) listing->at.child);
        if (iatt_is_moving (&entry->d_stat) && dict_has (entry->dict, op->priv->linkto_key))
            marks_strip (&entry->d_stat);
    }
    *listing->end = entry;
    listing->end = &entry->next;
    listing->used += sizeof *entry + entry->d_len;
    listing->n++;
    listing->last = place;
}

/* --- reading ---------------------------------------------------------------------------------- */

static void list_wind (struct list_op *listing);

static void
list_answer (struct op *op)
{
    struct list_op *listing = (struct list_op *) op;
    const int error = listing->at.child < op->priv->n ? 0 : ENOENT;

    if (listing->n > 0)
        fd_note_place (op->this, listing->fd, offset_of_place (listing, listing->last),
                       listing->last.offset);
    if (listing->with_attributes)
        STACK_UNWIND (readdirp, op->frame, listing->n, error, listing->entries, NULL);
    else
        STACK_UNWIND (readdir, op->frame, listing->n, error, listing->entries, NULL);
}

/* Adds the entries in one subvolume's answer to the answer for the caller. While the caller's
 * answer has no entry, winds the next readdirp, since an answer without entries would mean the end
 * of the directory. At the end of a subvolume's listing, winds a readdirp to the next subvolume if
 * at least half of the caller's size is left: in a small directory each subvolume has few
 * entries. */
static void
list_answered (call_frame_t *frame)
{
    struct list_op *listing = OP_OF (frame);
    struct op *op = &listing->op;
    const struct readdirp_reply *reply = &op->fan.answers[listing->at.child].readdirp;
    uint64_t last = listing->at.offset;
    bool at_end;

    if (reply->op_ret < 0) {
        if (listing->n > 0) /* the caller's next readdir winds the failed call again */
            list_answer (op);
        else
            op_fail (op, reply->op_errno);
        return;
    }
    for (const gf_dirent_t *entry = reply->entries; entry; entry = entry->next) {
        last = (uint64_t) entry->d_off;
        if (lists (listing, entry))
            entry_add (listing, entry);
    }
    at_end = reply->op_ret == 0 || reply->op_errno == ENOENT || last == listing->at.offset;
    listing->at = at_end ? (struct list_place){ listing->at.child + 1, 0 }
                         : (struct list_place){ listing->at.child, last };
    if (listing->n > 0 && (!at_end || listing->used > listing->size / 2))
        list_answer (op);
    else
        list_wind (listing);
}

static void
list_wind (struct list_op *listing)
{
    struct op *op = &listing->op;

    while (listing->at.child < op->priv->n
           && !fd_is_open_on (op->this, listing->fd, (int) listing->at.child))
        listing->at = (struct list_place){ listing->at.child + 1, 0 };
    if (listing->at.child >= op->priv->n)
        list_answer (op);
    else
        ASK_ONE (op, list_answered, listing->at.child, readdirp, listing->fd, listing->size,
                 (off_t) listing->at.offset, listing->wanted);
}

static void
list_start (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               bool with_attributes, dict_t *xdata)
{
    struct list_op *listing = op_new (frame, this, sizeof *listing, NULL, NULL, xdata);

    listing->op.clear = listing_clear;
    listing->with_attributes = with_attributes;
    listing->fd = fd_ref (fd);
    listing->size = size;
    listing->end = &listing->entries;
    listing->layout = inode_layout (this, fd->inode);
    listing->wanted = dict_copy (xdata);
    dict_set_u64 (listing->wanted, listing->op.priv->linkto_key, 256);
    listing->at = place_of_offset (listing, (uint64_t) offset);
    list_wind (listing);
}

void
dht_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    list_start (frame, this, fd, size, offset, false, xdata);
}

void
dht_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              dict_t *xdata)
{
    list_start (frame, this, fd, size, offset, true, xdata);
}

/* --- opendir ---------------------------------------------------------------------------------- */

struct list_opening {
    struct op op;
    fd_t *fd;
};

static void
opening_clear (struct op *op)
{
    fd_unref (((struct list_opening *) op)->fd);
}

/* If a subvolume is down or lacks the directory at the opendir, all listings of this fd leave it
 * out. Any other error of a subvolume fails the opendir. */
static void
opening_answered (call_frame_t *frame)
{
    struct list_opening *opening = OP_OF (frame);
    struct op *op = &opening->op;
    unsigned n = 0;
    int error = 0;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];

        if (answer->op_ret >= 0) {
            fd_set_open_on (op->this, opening->fd, (int) i);
            n++;
        } else if (error == 0 || error == ENOTCONN || is_missing (error)) {
            error = answer->op_errno;
        }
    }
    if (n > 0 && (error == 0 || error == ENOTCONN || is_missing (error)))
        STACK_UNWIND (opendir, frame, 0, 0, opening->fd, NULL);
    else
        op_fail (op, error);
}

void
dht_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    struct list_opening *opening = op_new (frame, this, sizeof *opening, loc, NULL, xdata);
    struct op *op = &opening->op;

    op->clear = opening_clear;
    opening->fd = fd_ref (fd);
    step_begin (op, opening_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, opendir, &op->loc, fd, xdata);
    step_end (op);
}
