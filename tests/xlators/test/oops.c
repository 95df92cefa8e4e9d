/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Crashes at a mkdir with one of these names:
 *   oops     a write to NULL
 *   far      a write to an address that is not canonical on x86-64
 *   caller   the same as oops, while the thread acts as the caller
 *   deep     the stack of a thread that thread_new started overflows */
#include "xlator.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static mkdir_cbk oops_mkdir_cbk;

/* volatile, and used after the call: the compiler must keep each frame. */
static unsigned
oops_descend (unsigned depth)
{
    volatile char frame[4096];

    frame[0] = (char) depth;
    return depth == UINT32_MAX ? 0 : oops_descend (depth + 1) + (unsigned) frame[0];
}

static void *
oops_deep (void *data)
{
    oops_descend (0);
    return NULL;
}

static void
oops_crash (call_frame_t *frame, const char *name)
{
    volatile int *nowhere = NULL;
    pthread_t thread;

    if (strcmp (name, "caller") == 0)
        syscall (SYS_setfsuid, frame->root->uid);
    if (strcmp (name, "far") == 0)
        nowhere = (volatile int *) (uintptr_t) UINT64_C (0x1234567812345678);
    if (strcmp (name, "deep") == 0)
        (void) thread_new (&thread, "deep", oops_deep, NULL);
    else if (strcmp (name, "oops") == 0 || strcmp (name, "caller") == 0 || nowhere)
        *nowhere = 1;
}

static void
oops_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
            dict_t *xdata)
{
    oops_crash (frame, loc->name);
    STACK_WIND (frame, oops_mkdir_cbk, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

static void
oops_mkdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
                dict_t *xdata)
{
    STACK_UNWIND (mkdir, frame, op_ret, op_errno, inode, buf, preparent, postparent, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/oops",
    .about = "crashes on mkdir of oops, and of other names",
    .children = { .min = 1, .max = 1 },
    .fops = { .mkdir = oops_mkdir },
};
