/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * readdir and readdirp. Both send READDIRP, because the reply to READDIR lacks the gfids of the
 * entries. It has only the inode numbers of the brick's file system, but users must see inode
 * numbers that are computed from the gfids.
 */
#include "../client.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX (128 << 10) /* most bytes of entries that a call requests; the reply may have
                              * more, since the server estimates the size of an entry */
#define ENTRIES_MAX 65536    /* most entries in a valid reply; no server of GlusterFS sends that
                              * many */

/* Returns whether these bytes from the server can be the name of a directory's entry. */
static bool
name_is_sound (const char *name, size_t size)
{
    return size > 0 && size <= WIRE_NAME_MAX && !memchr (name, '/', size)
        && !memchr (name, '\0', size);
}

static gf_dirent_t *
get_entry (struct xdr_in *in)
{
    const uint64_t ino = xdr_get_u64 (in), off = xdr_get_u64 (in);
    uint32_t type;
    const char *name;
    gf_dirent_t *entry;
    size_t size;

    xdr_get_u32 (in); /* length of the name */
    type = xdr_get_u32 (in);
    name = xdr_get_opaque (in, WIRE_NAME_MAX, &size);
    if (!name || !name_is_sound (name, size)) {
        in->failed = true;
        return NULL;
    }
    entry = dirent_new (name, size);
    entry->d_ino = ino;
    entry->d_off = (off_t) off;
    entry->d_type = type;
    return entry;
}

/* Returns whether the attributes may be those of a linkto of cluster/distribute: a regular file
 * with only the sticky bit set. A linkto has the gfid of an object on another brick, and that
 * object may be of any type, so a linkto's type may differ from that of the gfid's inode. */
static bool
may_be_linkto (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && buf->ia_prot == S_ISVTX;
}

/* Returns the inode number of the entry "." or ".." of the directory. gfid: the gfid that the
 * server sent for the entry. In the root of the volume, ".." is the root itself. */
static uint64_t
ino_of_dots (const gf_dirent_t *entry, const inode_t *directory, const gfid_t *gfid)
{
    const bool itself = !entry->d_name[1] || gfid_equal (&directory->gfid, &gfid_root);

    return wire_ino_of_gfid (itself ? &directory->gfid : gfid);
}

/* Reads the attributes and the dict of an entry, and sets its inode number. Returns whether the
 * attributes are valid and the entry is not "." or "..". The server sends a null gfid if the entry
 * was removed while the server listed the directory. */
static bool
get_entry_attributes (struct xdr_in *in, gf_dirent_t *entry, const inode_t *directory,
                      struct iatt *ret_buf)
{
    wire_get_iatt (in, ret_buf);
    entry->dict = wire_get_dict (in);
    if (in->failed)
        return false;
    if (name_is_dots (entry->d_name))
        entry->d_ino = ino_of_dots (entry, directory, &ret_buf->ia_gfid);
    else if (!gfid_is_null (&ret_buf->ia_gfid))
        entry->d_ino = ret_buf->ia_ino;
    return !name_is_dots (entry->d_name) && !gfid_is_null (&ret_buf->ia_gfid)
        && ret_buf->ia_type != IA_INVAL;
}

/* Sets entry->d_stat, and entry->inode to the inode of the entry's gfid or to a new inode. If the
 * gfid belongs to an inode of another type, the entry gets no inode, and the next lookup of the
 * name reports the error. */
static void
entry_find_inode (gf_dirent_t *entry, struct itable *table, const struct iatt *buf)
{
    entry->inode = inode_find (table, &buf->ia_gfid);
    if (entry->inode && entry->inode->ia_type != buf->ia_type && !may_be_linkto (buf)) {
        g_clear_pointer (&entry->inode, inode_unref);
        return;
    }
    if (!entry->inode)
        entry->inode = inode_new (table);
    entry->d_stat = *buf;
}

/* Reads the entries of a reply, and returns their number. If `inodes` is true, also sets the inode
 * and the attributes of each entry. */
static int
get_entries (struct xdr_in *in, const inode_t *directory, bool inodes, gf_dirent_t **ret_entries)
{
    gf_dirent_t **last = ret_entries, *entry;
    struct iatt buf;
    int n = 0;

    *ret_entries = NULL;
    while (xdr_get_u32 (in) != 0 && n < ENTRIES_MAX && (entry = get_entry (in))) {
        *last = entry;
        last = &entry->next;
        if (get_entry_attributes (in, entry, directory, &buf) && inodes)
            entry_find_inode (entry, directory->table, &buf);
        n++;
    }
    return n;
}

/* Returns the op_errno for the answer to the caller. As in GlusterFS, ENOENT in a reply with
 * success means that its entries are the last ones of the directory, and is passed on; any other
 * op_errno becomes 0. */
static int
list_end_of (int32_t op_errno)
{
    return wire_errno (op_errno) == ENOENT ? ENOENT : 0;
}

static void
list_note_end (const struct client_call *call, int32_t op_errno, const gf_dirent_t *entries)
{
    struct client_file *file = fd_ctx_get (call->fd, call->this);
    int64_t end = -1;

    for (; list_end_of (op_errno) && entries; entries = entries->next)
        end = entries->d_off;
    if (file)
        __atomic_store_n (&file->end, end, __ATOMIC_RELAXED);
}

#define CLIENT_LIST_REPLY(op_, inodes_)                                                            \
    static void op_##_reply (struct client_call *call, struct rpc_reply *reply)                    \
    {                                                                                              \
        struct wire_readdirp_reply got = { 0 };                                                    \
        gf_dirent_t *entries;                                                                      \
        int n;                                                                                     \
                                                                                                   \
        if (!client_get (call, reply, WIRE_readdirp, &got))                                        \
            return;                                                                                \
        n = get_entries (&reply->results, call->fd->inode, inodes_, &entries);                     \
        list_note_end (call, got.head.op_errno, entries);                                          \
        if (reply->results.failed)                                                                 \
            client_answer_is_none (call, reply);                                                   \
        else                                                                                       \
            STACK_UNWIND (op_, call->frame, n, list_end_of (got.head.op_errno), entries,           \
                          got.xdata);                                                              \
        dirents_free (entries);                                                                    \
        wire_clear_reply (WIRE_readdirp, &got);                                                    \
    }

CLIENT_LIST_REPLY (readdir, false)
CLIENT_LIST_REPLY (readdirp, true)

/* Returns whether the client knows that the directory has no entry behind this offset. A program
 * that lists a directory reads until it gets no more entries; the client answers the last of these
 * reads without a call to the server. */
static bool
list_is_at_end (xlator_t *this, fd_t *fd, off_t offset)
{
    const struct client_file *file = fd_ctx_get (fd, this);

    return offset > 0 && file && __atomic_load_n (&file->end, __ATOMIC_RELAXED) == offset;
}

static void
client_list_ask (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                 dict_t *xdata, client_reply_fn *reply)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_readdirp, reply);
    const struct wire_readdirp put = { .offset = (uint64_t) offset,
                                       .size = (uint32_t) CLAMP (size, 4096, LIST_MAX),
                                       .xdata = xdata };

    if (call)
        call->fd = fd_ref (fd);
    client_ask (call, WIRE_readdirp, &put, NULL);
}

void
client_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                dict_t *xdata)
{
    if (list_is_at_end (this, fd, offset))
        STACK_UNWIND (readdir, frame, 0, 0, NULL, NULL);
    else
        client_list_ask (frame, this, fd, size, offset, xdata, readdir_reply);
}

void
client_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                 dict_t *xdata)
{
    if (list_is_at_end (this, fd, offset))
        STACK_UNWIND (readdirp, frame, 0, 0, NULL, NULL);
    else
        client_list_ask (frame, this, fd, size, offset, xdata, readdirp_reply);
}
