/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "leaf.h"

#include "core/data/dirent.h"
#include "core/table/fops-rows.h"
#include "core/edge/stub.h"

/* All parts of an answer. Only one answer exists at a time, until the next. */
struct fuzz_leaf_made {
    int32_t op_ret, op_errno;
    inode_t *inode;
    fd_t *fd;
    size_t size; /* the requested number */
    struct iatt iatt;
    dict_t *dict;
    struct iovec vector;
    struct iobref *iobref;
    char *name;
    struct statvfs statvfs;
    gf_dirent_t *entries;
    struct gf_flock lock;
    GBytes *bytes;
};

static struct {
    uint8_t how;
    struct input bytes;
    GQueue late; /* of call_stub_t */
    bool now;    /* no call is stored */
} leaf;

void
leaf_prepare (uint8_t how, struct input bytes)
{
    leaf.how = how;
    leaf.bytes = bytes;
}

bool
leaf_has_late (void)
{
    return leaf.late.length > 0;
}

void
leaf_answer_late (void)
{
    leaf.now = true;
    while (leaf.late.length > 0)
        call_resume (g_queue_pop_head (&leaf.late));
    leaf.now = false;
}

/* --- what is made of the bytes ---------------------------------------------------------------- */

static void
fuzz_leaf_fill (void *to, size_t size)
{
    if (leaf.bytes.left)
        memcpy (to, leaf.bytes.at, MIN (leaf.bytes.left, size));
}

/* Numbers are arbitrary; the type of a gfid is constant. */
static struct iatt
make_iatt (uint8_t how)
{
    const uint8_t number = how % LEAF_INODES;
    struct iatt iatt = { 0 };

    fuzz_leaf_fill (&iatt, sizeof iatt);
    iatt.ia_gfid = number ? (gfid_t){ { [0] = 7, [15] = number } } : gfid_root;
    iatt.ia_type = number ? IA_IFREG + number % IA_IFSOCK : IA_IFDIR;
    return iatt;
}

/* Each text is a key; the text after it is the value. */
static dict_t *
make_dict (const char *asked)
{
    dict_t *dict = dict_new ();
    struct input bytes = leaf.bytes;

    if (asked)
        dict_set (dict, asked, bytes.at, bytes.left);
    while (!asked && bytes.left > 0) {
        g_autofree char *key = input_line (&bytes);

        dict_set (dict, key, "", 0);
    }
    return dict;
}

/* A name for each line; every second name has attributes. */
static gf_dirent_t *
make_entries (inode_t *dir, uint8_t how, int32_t *ret_count)
{
    gf_dirent_t *first = NULL, **end = &first;
    struct input bytes = leaf.bytes;

    for (*ret_count = 0; bytes.left > 0; (*ret_count)++) {
        g_autofree char *name = input_line (&bytes);
        gf_dirent_t *entry = dirent_new (name, strlen (name));

        entry->d_ino = *ret_count;
        entry->d_off = *ret_count + 1;
        entry->d_type = how;
        if (*ret_count % 2 == 0) {
            entry->d_stat = make_iatt (how + *ret_count);
            entry->inode = inode_new (dir->table);
        }
        *end = entry;
        end = &entry->next;
    }
    return first;
}

static void
make_data (struct fuzz_leaf_made *made)
{
    const size_t size = MIN (made->size, leaf.bytes.left);
    struct iobuf *iobuf = iobuf_new (MAX (size, 1));

    made->iobref = iobref_new ();
    iobref_add (made->iobref, iobuf);
    made->vector = (struct iovec){ iobuf->ptr, size };
    if (size)
        memcpy (iobuf->ptr, leaf.bytes.at, size);
    iobuf_unref (iobuf);
    made->op_ret = (int32_t) size;
}

/* --- which call wants what -------------------------------------------------------------------- */

/* For the arguments. */
#define NOTE(kind, name) NOTE_##kind (name)
#define NOTE_LOC(loc_) made.inode = (loc_)->inode ? (loc_)->inode : made.inode;
#define NOTE_FD(fd_) made.fd = (fd_);
#define NOTE_SIZE(size_) made.size = (size_);
#define NOTE_NAME(name_) made.name = (char *) (name_);
#define NOTE_INODE(x_)
#define NOTE_IATT(x_)
#define NOTE_DICT(x_)
#define NOTE_VECTOR(vector_) made.vector = *(vector_);
#define NOTE_COUNT(x_)
#define NOTE_IOBREF(x_)
#define NOTE_OFFSET(x_)
#define NOTE_FLAGS(x_)
#define NOTE_INT(x_)
#define NOTE_MODE(x_)
#define NOTE_DEV(x_)
#define NOTE_LOCK(x_)
#define NOTE_BYTES(x_)

/* For the answer. */
#define MADE(kind, name) , MADE_##kind
#define MADE_INODE (made.op_ret < 0 ? NULL : made.inode)
#define MADE_FD (made.op_ret < 0 ? NULL : made.fd)
#define MADE_IATT (made.op_ret < 0 ? NULL : &made.iatt)
#define MADE_DICT (made.op_ret < 0 ? NULL : made.dict)
#define MADE_VECTOR (made.op_ret < 0 ? NULL : &made.vector)
#define MADE_COUNT (made.op_ret < 0 ? 0 : 1)
#define MADE_IOBREF (made.op_ret < 0 ? NULL : made.iobref)
#define MADE_NAME (made.op_ret < 0 ? NULL : made.name)
#define MADE_STATVFS (made.op_ret < 0 ? NULL : &made.statvfs)
#define MADE_DIRENTS (made.op_ret < 0 ? NULL : made.entries)
#define MADE_LOCK (made.op_ret < 0 ? NULL : &made.lock)
#define MADE_BYTES (made.op_ret < 0 ? NULL : made.bytes)
#define MADE_OFFSET (made.op_ret < 0 ? 0 : (off_t) made.iatt.ia_size)
#define MADE_FLAGS (made.op_ret < 0 ? 0 : made.iatt.ia_uid)

static void
fuzz_leaf_make (struct fuzz_leaf_made *made, enum fop op, const call_stack_t *root)
{
    const uint8_t how = leaf.how;
    const gid_t *groups;

    if (how & 1)
        stack_groups ((call_stack_t *) root, &groups);
    made->iatt = make_iatt (how);
    fuzz_leaf_fill (&made->statvfs, sizeof made->statvfs);
    fuzz_leaf_fill (&made->lock, sizeof made->lock);
    made->bytes = g_bytes_new (leaf.bytes.at, leaf.bytes.left);
    made->dict = make_dict (made->name);
    made->name = leaf.bytes.left ? g_strndup ((const char *) leaf.bytes.at, leaf.bytes.left)
                                 : g_strdup ("");
    if (op == FOP_writev)
        made->op_ret = (int32_t) made->vector.iov_len;
    else if (op == FOP_readv)
        make_data (made);
    else if (op == FOP_readlink)
        made->op_ret = (int32_t) strlen (made->name);
    else if (op == FOP_readdir || op == FOP_readdirp)
        made->entries = make_entries (made->fd->inode, how, &made->op_ret);
    if (how >= LEAF_FAIL) {
        made->op_ret = -1;
        made->op_errno = how - LEAF_FAIL + 1;
    }
}

static void
fuzz_leaf_made_clear (struct fuzz_leaf_made *made)
{
    dict_unref (made->dict);
    iobref_unref (made->iobref);
    dirents_free (made->entries);
    g_bytes_unref (made->bytes);
    g_free (made->name);
}

#define DECLARE(kind, name) , C_##kind name
#define PASS(kind, name) , name

/* The answer is lent to the callback, and freed afterwards. */
#define LEAF(fop)                                                                                  \
    static void leaf_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))          \
    {                                                                                              \
        struct fuzz_leaf_made made = { 0 };                                                        \
        if (!leaf.now && leaf.how >= LEAF_LATE && leaf.how < LEAF_FAIL) {                          \
            g_queue_push_tail (&leaf.late,                                                         \
                               fop_##fop##_stub (frame, leaf_##fop FOP_ARGS_##fop (PASS)));        \
            return;                                                                                \
        }                                                                                          \
        FOP_ARGS_##fop (NOTE)                                                                      \
        fuzz_leaf_make (&made, FOP_##fop, frame->root);                                            \
        STACK_UNWIND (fop, frame, made.op_ret, made.op_errno FOP_RETS_##fop (MADE));               \
        fuzz_leaf_made_clear (&made);                                                              \
    }
FOP_LIST (LEAF)

#define SLOT(fop) .fop = leaf_##fop,

const struct xlator_api leaf_api = {
    .abi = XLATOR_ABI,
    .type = "test/leaf",
    .about = "makes its answers up",
    .fops = { FOP_LIST (SLOT) },
};
