/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A copy of encryption/rot-13 with a single mistake: the option `defect`. */
#include "xlator.h"

#include <errno.h>

enum defect {
    NONE,
    IN_PLACE_DOWN,
    IN_PLACE_UP,
    READ_FORGOTTEN,
    COPY_LEAK,
    COPY_DROPPED,
    FAILS_WITH_BYTES
};

typedef struct {
    int defect;
} rot_private_t;

static const struct option_choice rot_defects[] = {
    { "none", NONE }, { "in-place-down", IN_PLACE_DOWN }, { "in-place-up", IN_PLACE_UP },
    { "read-forgotten", READ_FORGOTTEN }, { "copy-leak", COPY_LEAK },
    { "copy-dropped", COPY_DROPPED }, { "fails-with-bytes", FAILS_WITH_BYTES }, {},
};

static const struct xlator_option rot_options[] = {
    { OPTION ("defect", ENUM, rot_private_t, defect, "none"), .values = rot_defects,
      .help = "the mistake" },
    {},
};

static bool
has (xlator_t *this, enum defect defect)
{
    return ((rot_private_t *) this->private)->defect == (int) defect;
}

static void
rot_iovec (const struct iovec *vector, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned char *bytes = vector[i].iov_base;
        for (size_t j = 0; j < vector[i].iov_len; j++) {
            const unsigned char place = (bytes[j] | 0x20) - 'a';
            bytes[j] += (place < 13 ? 13 : 0) - (place >= 13 && place < 26 ? 13 : 0);
        }
    }
}

static readv_cbk rot_readv_cbk;

static void
rot_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
           dict_t *xdata)
{
    STACK_WIND (frame, rot_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
rot_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
               dict_t *xdata)
{
    struct iovec plain[MAX (count, 1)];
    struct iobref *held = NULL;
    int n = 0;

    if (op_ret > 0 && has (this, FAILS_WITH_BYTES)) {
        STACK_UNWIND (readv, frame, -1, EIO, vector, count, stbuf, iobref, xdata);
        return;
    }
    if (op_ret <= 0 || has (this, READ_FORGOTTEN)) {
        STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
        return;
    }
    if (has (this, IN_PLACE_UP)) {
        rot_iovec (vector, count);
        STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
        return;
    }
    if (iov_writable (vector, count, iobref, plain, &n, &held) < 0) {
        STACK_UNWIND (readv, frame, -1, ENOMEM, NULL, 0, NULL, NULL, NULL);
        return;
    }
    rot_iovec (plain, n);
    STACK_UNWIND (readv, frame, op_ret, op_errno, plain, n, stbuf, held, xdata);
    iobref_unref (held);
}

static writev_cbk rot_writev_cbk;

static void
rot_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
            off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    struct iovec rotated[MAX (count, 1)];
    struct iobref *held = NULL;
    int n = 0;

    if (has (this, IN_PLACE_DOWN)) {
        rot_iovec (vector, count);
        STACK_WIND (frame, rot_writev_cbk, FIRST_CHILD (this), writev, fd, vector, count, offset,
                    flags, iobref, xdata);
        return;
    }
    if (iov_writable (vector, count, iobref, rotated, &n, &held) < 0) {
        STACK_UNWIND (writev, frame, -1, ENOMEM, NULL, NULL, NULL);
        return;
    }
    rot_iovec (rotated, n);
    if (has (this, COPY_DROPPED))
        iobref_unref (iobref_ref (iobref)), iobref_unref (iobref);
    STACK_WIND (frame, rot_writev_cbk, FIRST_CHILD (this), writev, fd, rotated, n, offset, flags,
                held, xdata);
    if (!has (this, COPY_LEAK))
        iobref_unref (held);
}

static void
rot_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "defects/rot",
    .about = "rotates bytes, with a mistake",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_DATA,
    .priv_size = sizeof (rot_private_t),
    .options = rot_options,
    .fops = { .readv = rot_readv, .writev = rot_writev },
};
