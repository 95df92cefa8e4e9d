/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * encryption/rot-13: rotates written data by 13 letters on the way down, and rotates read data back
 * on the way up.
 *
 * It protects nothing. It is the smallest translator that changes data, and a good one to learn
 * from. It changes bytes, but never their number or offset. So sizes, holes and all other
 * operations pass unchanged.
 */
#include "rot13.h"
#include "xlator.h"

#include <errno.h>

typedef struct {
    bool encrypt_write;
    bool decrypt_read;
} rot13_private_t;

static const struct xlator_option rot13_options[] = {
    { OPTION ("encrypt-write", BOOL, rot13_private_t, encrypt_write, "on"),
      .help = "rotate written data" },
    { OPTION ("decrypt-read", BOOL, rot13_private_t, decrypt_read, "on"),
      .help = "rotate read data" },
    {},
};

/* --- bytes ------------------------------------------------------------------------------------ */

static void
rot13_iovec (const struct iovec *vector, int count)
{
    for (int i = 0; i < count; i++)
        rot13_bytes (vector[i].iov_base, vector[i].iov_len);
}

/* Rotates the bytes of a vector whose buffers iobref holds: in place if the caller has the only
 * reference, else in a copy. ret_vector has room for count elements, at least one. *ret_copy holds
 * the copy, which the caller unrefs. It is NULL if the bytes were changed in place: an extra
 * reference would keep the next translator from changing them in place too. Returns 0 or
 * -ENOMEM. */
static int
rot13_rotate (const struct iovec *vector, int count, struct iobref *iobref,
              struct iovec *ret_vector, int *ret_count, struct iobref **ret_copy)
{
    struct iobref *held = NULL;
    const int r = iov_writable (vector, count, iobref, ret_vector, ret_count, &held);

    if (r < 0)
        return r;
    if (held == iobref) {
        iobref_unref (held);
        held = NULL;
    }
    rot13_iovec (ret_vector, *ret_count);
    *ret_copy = held;
    return 0;
}

/* --- operations ------------------------------------------------------------------------------- */

static readv_cbk rot13_readv_cbk;

static void
rot13_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             uint32_t flags, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;

    if (!priv->decrypt_read) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        return;
    }
    STACK_WIND (frame, rot13_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
rot13_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iovec *vector, int32_t count, struct iatt *stbuf,
                 struct iobref *iobref, dict_t *xdata)
{
    struct iovec plain[MAX (count, 1)];
    struct iobref *copy = NULL;
    int plain_count = 0;

    if (op_ret <= 0) {
        STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
        return;
    }
    if (rot13_rotate (vector, count, iobref, plain, &plain_count, &copy) < 0) {
        STACK_UNWIND (readv, frame, -1, ENOMEM, NULL, 0, NULL, NULL, NULL);
        return;
    }
    STACK_UNWIND (readv, frame, op_ret, op_errno, plain, plain_count, stbuf, copy ? copy : iobref,
                  xdata);
    iobref_unref (copy);
}

static writev_cbk rot13_writev_cbk;

static void
rot13_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
              off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;
    struct iovec rotated[MAX (count, 1)];
    struct iobref *copy = NULL;
    int rotated_count = 0;

    if (!priv->encrypt_write) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), writev, fd, vector, count, offset, flags,
                         iobref, xdata);
        return;
    }
    if (rot13_rotate (vector, count, iobref, rotated, &rotated_count, &copy) < 0) {
        STACK_UNWIND (writev, frame, -1, ENOMEM, NULL, NULL, NULL);
        return;
    }
    STACK_WIND (frame, rot13_writev_cbk, FIRST_CHILD (this), writev, fd, rotated, rotated_count,
                offset, flags, copy ? copy : iobref, xdata);
    iobref_unref (copy);
}

static void
rot13_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

/* EOPNOTSUPP makes the kernel, or cp, copy by reading and writing. A copy made below this
 * translator keeps the rotation of the source. That is right only if a read and a write would also
 * keep it. */
static void
rot13_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in, fd_t *fd_out,
                       off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;

    if (priv->encrypt_write != priv->decrypt_read) {
        STACK_UNWIND (copy_file_range, frame, -1, EOPNOTSUPP, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), copy_file_range, fd_in, off_in, fd_out, off_out,
                     len, flags, xdata);
}

static void
rot13_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const rot13_private_t *priv = this->private;

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it rotates what is in files\n");
        return;
    }
    g_string_append_printf (out, "%s (encrypt-write)\n",
                            priv->encrypt_write ? "rotates what is written to it by 13 letters"
                                                : "leaves what is written as it is");
    g_string_append_printf (out, "%s (decrypt-read)\n",
                            priv->decrypt_read ? "rotates what is read from it back"
                                               : "leaves what is read as it is");
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "encryption/rot-13",
    .about = "rotates the letters of written data by 13 places, and those of read data back",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_DATA,
    .priv_size = sizeof (rot13_private_t),
    .options = rot13_options,
    .fops = {
        .readv = rot13_readv,
        .writev = rot13_writev,
        .copy_file_range = rot13_copy_file_range,
    },
    .dumpops = { .explain = rot13_explain },
    .passthrough = { .why = "rotates the file's bytes" },
};
