/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Look-ups that fail without telling whether the name exists: storage is away, or has no
 * descriptors left. The kernel drops a name whose look-up fails with any error but EINTR and
 * ENOMEM, and unmounts what is mounted there or below (fuse_dentry_revalidate, d_invalidate).
 * Programs would then write to the directory below the mount.
 *
 * So the bridge answers with the inode that the kernel has under that name. The kernel asks again
 * at each use, and a caller that uses more than the name gets storage's error from the next
 * request: the kernel is told no attributes, and needs them to check rights. The kernel ignores the
 * attributes of the answer, since an invalidation came after its question (fuse_change_attributes
 * compares attr_version); so neither the size nor the pages of a file change.
 */
#include "fuse/ops/ops.h"

#include "fuse/kernel-cache.h"

struct unknown_name {
    struct work_item work; /* first */
    call_frame_t *frame;
    int error; /* storage's errno */
};

/* Returns whether the errno says that storage could not be asked. EIO does not: storage may have
 * found that copies contradict each other, and then must keep callers from them. */
static bool
leaves_open (int error)
{
    switch (error) {
    case ENOTCONN:
    case ETIMEDOUT:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return true;
    default:
        return false;
    }
}

/* If the kernel evicted the inode just now, it makes a new one with the attributes of the answer. A
 * directory's are asked for before any use, and so are a file's if the kernel checks rights; but
 * with the writeback cache the kernel would keep the size. */
static bool
may_be_kept (const struct bridge *bridge, const inode_t *inode)
{
    return inode->ia_type == IA_IFDIR
        || (inode->ia_type == IA_IFREG && bridge->terms.checked && !bridge->terms.writeback);
}

bool
unknown_name_is (const call_frame_t *frame, int error)
{
    const struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    return local->name && !request_is_hidden (frame) && leaves_open (error)
        && !gfid_is_null (&local->inode->gfid) && may_be_kept (bridge, local->inode);
}

static void
answer_unchanged (call_frame_t *frame, inode_t *inode)
{
    const struct bridge *bridge = frame->this->private;
    const struct fuse_entry_param entry = {
        .ino = inode_nodeid (inode),
        .generation = bridge->generation,
        .attr = { .st_ino = kernel_ino (bridge, inode_nodeid (inode)),
                  .st_mode = inode->ia_type == IA_IFDIR ? S_IFDIR : S_IFREG },
    };

    inode_lookup (inode);
    if (fuse_reply_entry (request_answer (frame), &entry) < 0)
        inode_forget (inode, 1);
    stack_done (frame->root);
}

static void
unknown_name_run (struct work_item *work)
{
    g_autofree struct unknown_name *unknown = (struct unknown_name *) work;
    call_frame_t *frame = unknown->frame;
    const struct fuse_local *local = frame->local;
    const struct bridge *bridge = frame->this->private;

    stack_taken (frame->root);
    if (fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (local->inode), -1, 0) < 0)
        request_err (frame, -1, unknown->error); /* the kernel has no such inode to lose */
    else
        answer_unchanged (frame, local->inode);
}

/* On core/work: the kernel may wait for an inode that it is just evicting, and so for requests. */
void
unknown_name_answer (call_frame_t *frame, int error)
{
    struct unknown_name *unknown = g_new (struct unknown_name, 1);

    *unknown = (struct unknown_name){ { .run = unknown_name_run }, frame, error };
    work_put (&unknown->work);
}
