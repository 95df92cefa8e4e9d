/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Refuses every change with EROFS, as a translator that refuses by design does. With `opens` it
 * permits opening for writing, so that the writes themselves are refused. */
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <unistd.h>

typedef struct {
    bool opens, forgets;
} readonly_private_t;

static const struct xlator_option readonly_options[] = {
    { .key = { "opens" },
      .type = OPTION_BOOL,
      OPTION_FIELD (readonly_private_t, opens),
      .value = "off",
      .help = "files may be opened for writing" },
    { .key = { "forgets" },
      .type = OPTION_BOOL,
      OPTION_FIELD (readonly_private_t, forgets),
      .value = "off",
      .help = "a mistake: mkdir makes the directory and refuses all the same" },
    { .key = { NULL } },
};

static bool
readonly_refuses (const struct call *call)
{
    const readonly_private_t *priv = call->this->private;

    if (call->op == FOP_open)
        return (call->flags & O_TRUNC)
            || (!priv->opens && (call->flags & O_ACCMODE) != O_RDONLY);
    if (call->op == FOP_ioctl)
        return ((const struct ioctl_call *) call->args)->cmd == (int32_t) FS_IOC_SETFLAGS;
    if (call->op == FOP_access)
        return ((const struct access_call *) call->args)->mask & W_OK;
    return true;
}

static void
readonly_any_fop (const struct call *call)
{
    const readonly_private_t *priv = call->this->private;

    if (call->op == FOP_mkdir && priv->forgets)
        call_wind (call, FIRST_CHILD (call->this), NULL);
    else if (readonly_refuses (call))
        call_fail (call, EROFS);
    else
        call_pass (call);
}

static void
readonly_any_fop_cbk (const struct answer *answer)
{
    answer_fail (answer, EROFS);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/readonly",
    .about = "refuses every change",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_ERRORS,
    .priv_size = sizeof (readonly_private_t),
    .options = readonly_options,
    .any_fop = readonly_any_fop,
    .any_fop_ops = OPS_CHANGE | OPSET_OF (FOP_access),
    .any_fop_cbk = readonly_any_fop_cbk,
};
