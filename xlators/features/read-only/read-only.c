/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/read-only: a change fails with EROFS, and so does an open for writing.
 *
 * - GlusterFS's own processes, such as its rebalance, have negative process ids. They may change
 *   files.
 * - Locks and the counters of cluster/replicate (xattrop) change nothing that programs see.
 */
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>

typedef struct {
    bool on; /* the option read-only; atomic */
} read_only_private_t;

static const struct xlator_option read_only_options[] = {
    { OPTION ("read-only", BOOL, read_only_private_t, on, "on"), .online = true,
      .help = "refuse changes with EROFS" },
    {},
};

static bool
read_only_is_on (const xlator_t *this)
{
    const read_only_private_t *priv = this->private;

    return __atomic_load_n (&priv->on, __ATOMIC_RELAXED);
}

static int
read_only_reconfigure (xlator_t *this, const void *new_private)
{
    read_only_private_t *priv = this->private;
    const read_only_private_t *new = new_private;

    __atomic_store_n (&priv->on, new->on, __ATOMIC_RELAXED);
    return 0;
}

/* While the option is on, no program can open a file for writing, so the kernel has none to write
 * by itself. */
static enum data_view
read_only_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    *ret_why = "refuses the file's writes once its option read-only is on";
    return read_only_is_on (this) ? DATA_UNSEEN : DATA_SEEN;
}

static void
read_only_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    g_string_append_printf (out, "%s (read-only)\n", read_only_is_on (this)
                                                         ? "refuses every change with EROFS"
                                                         : "lets changes pass");
}

static bool
read_only_refuses (const struct call *call)
{
    const bool opens_to_write = call->op == FOP_open && (call->flags & O_ACCMODE) != O_RDONLY;
    const bool is_of_program = call->frame->root->pid >= 0;

    return read_only_is_on (call->this) && is_of_program
        && (opens_to_write || call_changes (call));
}

static void
read_only_any_fop (const struct call *call)
{
    if (read_only_refuses (call))
        call_fail (call, EROFS);
    else
        call_pass (call);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "features/read-only",
    .about = "refuses every change with EROFS",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_ERRORS,
    .priv_size = sizeof (read_only_private_t),
    .options = read_only_options,
    .reconfigure = read_only_reconfigure,
    .any_fop = read_only_any_fop,
    .any_fop_ops = OPS_CHANGE,
    .dumpops = { .explain = read_only_explain },
    .passthrough = { .view = read_only_view },
};
