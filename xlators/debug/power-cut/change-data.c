/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of data, sizes and attributes, and the operations that make them durable. */
#include "power-cut.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>

/* --- bytes --- */

static int
prepare_writev (xlator_t *this, const struct call *call, struct cut_change *change)
{
    struct iatt buf;
    int r;

    change->node = cut_node_get (this, call->fd->inode);
    change->offset = (uint64_t) call->offset;
    change->size = call->size;
    if (call->fd->flags & O_APPEND) {
        r = cut_stat (this, change->node->inode, call->fd, &buf);
        if (r < 0)
            return r;
        change->offset = buf.ia_size;
    }
    if ((off_t) change->offset < 0 || call->size == 0)
        return 0; /* the child refuses it */
    if (!((call->fd->flags | call->flags) & O_DSYNC)) /* O_DSYNC is part of O_SYNC */
        return cut_data_touch (this, change->node, call->fd, change->offset,
                               change->offset + call->size, true);
    if (change->node->data) {
        change->bytes = g_try_malloc (call->size);
        if (!change->bytes)
            return -ENOMEM;
        iov_unload (change->bytes, call->size, call->vector, call->count);
    }
    return 0;
}

static void
commit_writev (xlator_t *this, struct cut_change *change)
{
    if (change->bytes)
        cut_data_durable_range (this, change->node, change->offset, change->bytes,
                                MIN ((size_t) change->op_ret, change->size));
}

static int
prepare_cut_off (xlator_t *this, const struct call *call, struct cut_change *change)
{
    if (call->offset < 0)
        return 0;
    change->node = cut_node_get (this, call->fd ? call->fd->inode : call->loc->inode);
    return cut_data_touch (this, change->node, call->fd, (uint64_t) call->offset, UINT64_MAX,
                           false);
}

static int
prepare_range (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct fallocate_call *args = call->args;
    const bool moves = call->op == FOP_fallocate
                    && args->mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
    uint64_t end = (uint64_t) call->offset + call->size;

    if (call->offset < 0 || end < call->size)
        return 0;
    change->node = cut_node_get (this, call->fd->inode);
    return cut_data_touch (this, change->node, call->fd, (uint64_t) call->offset,
                           moves ? UINT64_MAX : end, false);
}

static int
prepare_copy (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct copy_file_range_call *args = call->args;
    struct iatt from;
    uint64_t size;
    int r = cut_stat (this, call->fd->inode, call->fd, &from);

    if (r < 0 || args->off_in < 0 || args->off_out < 0 || (uint64_t) args->off_in >= from.ia_size)
        return error_or_0 (r);
    size = MIN (args->len, from.ia_size - (uint64_t) args->off_in);
    change->node = cut_node_get (this, args->fd_out->inode);
    return cut_data_touch (this, change->node, NULL, (uint64_t) args->off_out,
                           (uint64_t) args->off_out + size, true);
}

/* Only with O_TRUNC; another open changes nothing. */
static int
prepare_open (xlator_t *this, const struct call *call, struct cut_change *change)
{
    change->node = cut_node_get (this, call->loc->inode);
    return cut_data_touch (this, change->node, NULL, 0, UINT64_MAX, false);
}

/* --- attributes --- */

static int
prepare_setattr (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct setattr_call *by_loc = call->args;
    const struct fsetattr_call *by_fd = call->args;
    const uint32_t valid = call->op == FOP_setattr ? by_loc->valid : by_fd->valid;
    unsigned what = 0;

    if (valid & (IATT_MODE | IATT_KILL_PRIV))
        what |= CUT_META_MODE;
    if (valid & (IATT_UID | IATT_GID))
        what |= CUT_META_OWNER | CUT_META_MODE; /* a change of owner clears setuid */
    if (valid & (IATT_ATIME | IATT_MTIME | IATT_CTIME | IATT_ATIME_NOW | IATT_MTIME_NOW))
        what |= CUT_META_TIMES;
    change->node = cut_node_get (this, call->fd ? call->fd->inode : call->loc->inode);
    return what ? cut_meta_touch (this, change->node, call->fd, what) : 0;
}

static int
prepare_setxattr (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct setxattr_call *by_loc = call->args;
    const struct fsetxattr_call *by_fd = call->args;
    const dict_t *dict = call->op == FOP_setxattr ? by_loc->dict : by_fd->dict;
    int r = 0;

    change->node = cut_node_get (this, call->fd ? call->fd->inode : call->loc->inode);
    for (size_t i = 0; r == 0 && i < dict_count (dict); i++) {
        const void *value;
        const char *name;
        size_t size;

        dict_nth (dict, i, &name, &value, &size);
        r = cut_meta_touch_xattr (this, change->node, name);
    }
    return r;
}

static int
prepare_removexattr (xlator_t *this, const struct call *call, struct cut_change *change)
{
    change->node = cut_node_get (this, call->fd ? call->fd->inode : call->loc->inode);
    return cut_meta_touch_xattr (this, change->node, call->name);
}

/* --- durability --- */

static int
prepare_fsync (xlator_t *this, const struct call *call, struct cut_change *change)
{
    const struct fsync_call *file = call->args;
    const struct fsyncdir_call *dir = call->args;

    change->node = cut_node_get (this, call->fd->inode);
    change->flags = call->op == FOP_fsync ? file->datasync : dir->datasync;
    return 0;
}

static void
commit_fsync (xlator_t *this, struct cut_change *change)
{
    const struct cut_rules *rules = &cut_priv (this)->rules;
    struct cut_node *node = change->node;

    if (change->synced_all)
        cut_log_clear (this);
    cut_data_durable (this, node);
    if (!change->flags)
        cut_meta_durable (this, node, ~0u);
    if (node->nameless) /* it may still get a name, and has to stay in the log for that */
        cut_data_touch (this, node, NULL, 0, 0, false);
    if (rules->names == CUT_NAMES_ORDERED)
        cut_journal_commit (this);
    else if (rules->fsync == CUT_FSYNC_FILE_AND_NAMES)
        cut_names_durable_of (this, node);
}

static void
commit_fsyncdir (xlator_t *this, struct cut_change *change)
{
    cut_meta_durable (this, change->node, change->flags ? 0 : ~0u);
    if (cut_priv (this)->rules.names == CUT_NAMES_ORDERED)
        cut_journal_commit (this);
    else
        cut_names_durable_in (this, change->node);
}

const struct cut_op cut_data_ops[FOP_MAX] = {
    [FOP_writev] = { prepare_writev, commit_writev, NULL },
    [FOP_truncate] = { prepare_cut_off, NULL, NULL },
    [FOP_ftruncate] = { prepare_cut_off, NULL, NULL },
    [FOP_fallocate] = { prepare_range, NULL, NULL },
    [FOP_discard] = { prepare_range, NULL, NULL },
    [FOP_zerofill] = { prepare_range, NULL, NULL },
    [FOP_copy_file_range] = { prepare_copy, NULL, NULL },
    [FOP_open] = { prepare_open, NULL, NULL },
    [FOP_setattr] = { prepare_setattr, NULL, NULL },
    [FOP_fsetattr] = { prepare_setattr, NULL, NULL },
    [FOP_setxattr] = { prepare_setxattr, NULL, NULL },
    [FOP_fsetxattr] = { prepare_setxattr, NULL, NULL },
    [FOP_removexattr] = { prepare_removexattr, NULL, NULL },
    [FOP_fremovexattr] = { prepare_removexattr, NULL, NULL },
    [FOP_fsync] = { prepare_fsync, commit_fsync, NULL },
    [FOP_fsyncdir] = { prepare_fsync, commit_fsyncdir, NULL },
};
