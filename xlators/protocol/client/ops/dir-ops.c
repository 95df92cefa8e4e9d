/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* readdir and readdirp. */
#include "../client.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX (128 << 10) /* bytes to ask for: the server counts about as many */
#define ENTRIES_MAX 65536    /* more do not fit in an answer */

/* Names of a server: what could not be a name in a directory ends the connection. */
static bool
name_is_sound (const char *name, size_t size)
{
    return size > 0 && size <= WIRE_NAME_MAX && !memchr (name, '/', size)
        && !memchr (name, '\0', size);
}

static bool
name_is_dots (const gf_dirent_t *entry)
{
    return strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0;
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

/* A file of this mode may be what cluster/distribute leaves in place of one of any type. */
static bool
may_be_linkto (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && buf->ia_prot == S_ISVTX;
}

/* Attributes without an identity mean that the entry was gone when the server looked. Those of an
 * inode of another type are not believed: a lookup tells of it. */
static void
get_entry_attributes (struct xdr_in *in, gf_dirent_t *entry, struct itable *table)
{
    struct iatt buf;

    get_iatt (in, &buf);
    entry->dict = get_dict (in);
    if (in->failed || name_is_dots (entry) || gfid_is_null (&buf.ia_gfid)
        || buf.ia_type == IA_INVAL)
        return;
    entry->inode = inode_find (table, &buf.ia_gfid);
    if (entry->inode && entry->inode->ia_type != buf.ia_type && !may_be_linkto (&buf)) {
        g_clear_pointer (&entry->inode, inode_unref);
        return;
    }
    if (!entry->inode)
        entry->inode = inode_new (table);
    entry->d_stat = buf;
    entry->d_ino = buf.ia_ino;
}

/* table: NULL without attributes. Returns the number of entries. */
static int
get_entries (struct xdr_in *in, struct itable *table, gf_dirent_t **ret_entries)
{
    gf_dirent_t **last = ret_entries, *entry;
    int n = 0;

    *ret_entries = NULL;
    while (xdr_get_u32 (in) != 0 && n < ENTRIES_MAX && (entry = get_entry (in))) {
        *last = entry;
        last = &entry->next;
        if (table)
            get_entry_attributes (in, entry, table);
        n++;
    }
    return n;
}

/* A server says ENOENT with the last entries. */
static int
end_of (int32_t op_errno)
{
    return wire_errno (op_errno) == ENOENT ? ENOENT : 0;
}

static void
note_end (const struct client_call *call, int32_t op_errno, const gf_dirent_t *entries)
{
    struct client_file *file = fd_ctx_get (call->fd, call->this);
    int64_t end = -1;

    for (; end_of (op_errno) && entries; entries = entries->next)
        end = entries->d_off;
    if (file)
        __atomic_store_n (&file->end, end, __ATOMIC_RELAXED);
}

#define REPLY_ENTRIES(name_, table_)                                                               \
    static void name_##_reply (struct client_call *call, struct rpc_reply *reply)                  \
    {                                                                                              \
        g_auto (client_answer_t) answer;                                                           \
        gf_dirent_t *entries;                                                                      \
        int n;                                                                                     \
                                                                                                   \
        if (!client_answer_begin (call, reply, &answer))                                           \
            return;                                                                                \
        n = get_entries (&reply->results, table_, &entries);                                       \
        note_end (call, answer.op_errno, entries);                                                 \
        if (client_answer_is_whole (call, reply))                                                  \
            STACK_UNWIND (name_, call->frame, n, end_of (answer.op_errno), entries,                \
                          answer.xdata);                                                           \
        dirents_free (entries);                                                                    \
    }

REPLY_ENTRIES (readdir, NULL)
REPLY_ENTRIES (readdirp, call->fd->inode->table)

/* Whatever lists a directory asks for more after its last entry. */
static bool
is_at_end (xlator_t *this, fd_t *fd, off_t offset)
{
    const struct client_file *file = fd_ctx_get (fd, this);

    return offset > 0 && file && __atomic_load_n (&file->end, __ATOMIC_RELAXED) == offset;
}

static void
entries_ask (call_frame_t *frame, xlator_t *this, fd_t *fd, enum procedure procedure, size_t size,
             off_t offset, dict_t *xdata, client_reply_fn *reply)
{
    struct client_call *call = client_begin_fd (frame, this, fd, procedure, 0, reply);

    if (!call)
        return;
    call->fd = fd_ref (fd);
    xdr_put_u64 (&call->rpc.out, (uint64_t) offset);
    xdr_put_u32 (&call->rpc.out, (uint32_t) CLAMP (size, 4096, LIST_MAX));
    put_dict (&call->rpc.out, xdata);
    client_send (call);
}

void
client_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                dict_t *xdata)
{
    if (is_at_end (this, fd, offset))
        STACK_UNWIND (readdir, frame, 0, 0, NULL, NULL);
    else
        entries_ask (frame, this, fd, WIRE_READDIR, size, offset, xdata, readdir_reply);
}

void
client_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                 dict_t *xdata)
{
    if (is_at_end (this, fd, offset))
        STACK_UNWIND (readdirp, frame, 0, 0, NULL, NULL);
    else
        entries_ask (frame, this, fd, WIRE_READDIRP, size, offset, xdata, readdirp_reply);
}
