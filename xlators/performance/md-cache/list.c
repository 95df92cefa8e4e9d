/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Directories that are listed: keeps the attributes of their entries. */
#include "md-cache.h"

static readdir_cbk mdc_readdir_cbk;
static readdirp_cbk mdc_readdir_forced_cbk;
static readdirp_cbk mdc_readdirp_cbk;

/* link: no translator above takes the inodes, and an inode that the table does not know would be
 * gone at once. An entry is only linked if its name still stands for it, since other translators
 * use the table's names. */
static void
entry_keep (xlator_t *this, const struct mdc_local *local, const gf_dirent_t *entry, bool link)
{
    const uint64_t name = mdc_name_hash (this, local->inode, entry->d_name);
    g_autoptr (inode_t) linked = NULL;
    g_autoptr (inode_t) other = NULL;
    inode_t *inode = entry->inode;

    if (link && !(mdc_name_holds (this, name, local->at.asked)
                  && change_view_holds (&mdc_priv (this)->all, local->at.asked)))
        return;
    if (link)
        inode = linked = inode_link_asked (inode, local->inode, entry->d_name, &entry->d_stat,
                                           local->names_at);
    inode = mdc_keep (this, inode, &entry->d_stat, local->at, &other);
    if (!inode)
        return;
    if (!inode_is_unkept (local->inode))
        mdc_keep_name (this, inode, name, local->at);
    mdc_xattrs_take (this, inode, entry->dict, local->at);
}

void
mdc_entries_keep (xlator_t *this, const struct mdc_local *local, const gf_dirent_t *entries,
                  bool link)
{
    for (; entries; entries = entries->next)
        if (entries->inode && entries->d_stat.ia_type != IA_INVAL
            && !name_is_dots (entries->d_name))
            entry_keep (this, local, entries, link);
    mdc_was_read (this, local->inode);
}

void
mdc_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              dict_t *xdata)
{
    g_autoptr (dict_t) asked = mdc_xattrs_ask (this, xdata);

    mdc_ask (frame, this, fd->inode);
    STACK_WIND (frame, mdc_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset, asked);
}

static void
mdc_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    if (op_ret >= 0)
        mdc_entries_keep (this, frame->local, entries, false);
    STACK_UNWIND (readdirp, frame, op_ret, op_errno, entries, xdata);
}

/* --- readdir by readdirp ---------------------------------------------------------------------- */

/* A server sends attributes at the cost of names. On local storage each entry costs several system
 * calls, and a program that seeks in a large directory would pay them for a whole piece at each
 * seek.
 *
 * The part of the requested size that an entry takes is smaller without attributes. So a larger
 * size is requested, and entries that would not have fitted are left out. */
#define ENTRY_SIZE 24
#define TIMES_LARGER 5
#define SIZE_MAX_ASKED (1 << 20)

void
mdc_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             dict_t *xdata)
{
    struct mdc_local *local = mdc_ask (frame, this, fd->inode);
    g_autoptr (dict_t) asked = NULL;

    local->size = size;
    asked = mdc_xattrs_ask (this, xdata);
    if (mdc_priv (this)->along && MDC_OPTION (this, force_readdirp)
        && size <= SIZE_MAX_ASKED / TIMES_LARGER)
        STACK_WIND (frame, mdc_readdir_forced_cbk, FIRST_CHILD (this), readdirp, fd,
                    size * TIMES_LARGER, offset, asked);
    else
        STACK_WIND (frame, mdc_readdir_cbk, FIRST_CHILD (this), readdir, fd, size, offset, xdata);
}

/* The names without attributes, as many as fit. */
static gf_dirent_t *
names_of (const gf_dirent_t *entries, size_t size, int *ret_n)
{
    gf_dirent_t *names = NULL, **end = &names;
    size_t room = 0, need;

    for (*ret_n = 0; entries; entries = entries->next, ++*ret_n) {
        need = ENTRY_SIZE + ((entries->d_len + 7) & ~(size_t) 7);
        if (*ret_n > 0 && room + need > size)
            break;
        room += need;
        *end = dirent_new (entries->d_name, entries->d_len);
        (*end)->d_ino = entries->d_ino;
        (*end)->d_off = entries->d_off;
        (*end)->d_type = entries->d_type;
        end = &(*end)->next;
    }
    return names;
}

static void
mdc_readdir_forced_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                        int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    const struct mdc_local *local = frame->local;
    gf_dirent_t *names = NULL;
    int n = op_ret;

    if (op_ret >= 0) {
        mdc_entries_keep (this, local, entries, true);
        names = names_of (entries, local->size, &n);
    }
    STACK_UNWIND (readdir, frame, n, n < op_ret ? 0 : op_errno, names, xdata);
    dirents_free (names);
}

static void
mdc_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    const struct mdc_local *local = frame->local;

    if (op_ret >= 0)
        mdc_was_read (this, local->inode);
    STACK_UNWIND (readdir, frame, op_ret, op_errno, entries, xdata);
}
