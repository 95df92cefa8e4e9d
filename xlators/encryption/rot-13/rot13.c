/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * encryption/rot-13: what is written goes down rotated by 13 letters, what is read comes up rotated back.
 *
 * It protects nothing. It is the smallest translator that changes data, and the one to learn from.
 * Only bytes change, never how many or where, so sizes, holes and every other operation pass by.
 */
#include "xlator.h"

#include <errno.h>

typedef struct {
    bool encrypt_write;
    bool decrypt_read;
} rot13_private_t;

static const struct xlator_option rot13_options[] = {
    {
        .key = { "encrypt-write" },
        .type = OPTION_BOOL,
        OPTION_FIELD (rot13_private_t, encrypt_write),
        .value = "on",
        .help = "rotate what is written",
    },
    {
        .key = { "decrypt-read" },
        .type = OPTION_BOOL,
        OPTION_FIELD (rot13_private_t, decrypt_read),
        .value = "on",
        .help = "rotate what is read",
    },
    {},
};

/* -O2 alone leaves the loop at a byte a turn. */
#if defined __OPTIMIZE__ && !defined __clang__
#define ROT13_VECTORISED __attribute__ ((optimize ("O3")))
#else
#define ROT13_VECTORISED
#endif

/* Without a branch, so that it goes as many bytes at a time as the processor's registers have: a letter's place in the
 * alphabet is below 26 in either case, any other byte's isn't. */
static inline __attribute__ ((always_inline)) ROT13_VECTORISED void
rot13_loop (unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char place = (bytes[i] | 0x20) - 'a';
        const unsigned char up = place < 13 ? 13 : 0;
        const unsigned char down = place >= 13 && place < 26 ? 13 : 0;

        bytes[i] += up - down;
    }
}

static ROT13_VECTORISED void
rot13_any (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

#if defined __x86_64__ && defined __OPTIMIZE__ && !defined __clang__

/* Every x86-64 has registers of 16 bytes; these have 32 and 64. */
static ROT13_VECTORISED __attribute__ ((target ("avx2"))) void
rot13_avx2 (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

static ROT13_VECTORISED __attribute__ ((target ("avx512bw,prefer-vector-width=512"))) void
rot13_avx512 (unsigned char *bytes, size_t size)
{
    rot13_loop (bytes, size);
}

static void
rot13_bytes (unsigned char *bytes, size_t size)
{
    if (__builtin_cpu_supports ("avx512bw"))
        rot13_avx512 (bytes, size);
    else if (__builtin_cpu_supports ("avx2"))
        rot13_avx2 (bytes, size);
    else
        rot13_any (bytes, size);
}

#else

static void
rot13_bytes (unsigned char *bytes, size_t size)
{
    rot13_any (bytes, size);
}

#endif

static void
rot13_iovec (const struct iovec *vector, int count)
{
    for (int i = 0; i < count; i++)
        rot13_bytes (vector[i].iov_base, vector[i].iov_len);
}

/* The same bytes where they may be changed. *ret_copy holds them, or is NULL when they were ours alone to begin with: then
 * no reference is taken, so that the next translator may change them in place, too. */
static int
rot13_writable (const struct iovec *vector, int count, struct iobref *iobref, struct iovec *ret_vector,
                int *ret_count, struct iobref **ret_copy)
{
    struct iobref *held = NULL;
    const int r = iov_writable (vector, count, iobref, ret_vector, ret_count, &held);

    if (r < 0)
        return r;
    if (held == iobref) {
        iobref_unref (held);
        held = NULL;
    }
    *ret_copy = held;
    return 0;
}

static readv_cbk rot13_readv_cbk;

static void
rot13_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
             dict_t *xdata)
{
    const rot13_private_t *priv = this->private;

    if (!priv->decrypt_read) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        return;
    }
    STACK_WIND (frame, rot13_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
rot13_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                 struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref, dict_t *xdata)
{
    struct iovec plain[MAX (count, 1)];
    struct iobref *copy = NULL;
    int plain_count = 0;

    if (op_ret <= 0) {
        STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
        return;
    }
    if (rot13_writable (vector, count, iobref, plain, &plain_count, &copy) < 0) {
        STACK_UNWIND (readv, frame, -1, ENOMEM, NULL, 0, NULL, NULL, NULL);
        return;
    }
    rot13_iovec (plain, plain_count);
    STACK_UNWIND (readv, frame, op_ret, op_errno, plain, plain_count, stbuf, copy ? copy : iobref, xdata);
    iobref_unref (copy);
}

static writev_cbk rot13_writev_cbk;

static void
rot13_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count, off_t offset,
              uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;
    struct iovec rotated[MAX (count, 1)];
    struct iobref *copy = NULL;
    int rotated_count = 0;

    if (!priv->encrypt_write) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), writev, fd, vector, count, offset, flags, iobref, xdata);
        return;
    }
    if (rot13_writable (vector, count, iobref, rotated, &rotated_count, &copy) < 0) {
        STACK_UNWIND (writev, frame, -1, ENOMEM, NULL, NULL, NULL);
        return;
    }
    rot13_iovec (rotated, rotated_count);
    STACK_WIND (frame, rot13_writev_cbk, FIRST_CHILD (this), writev, fd, rotated, rotated_count, offset, flags,
                copy ? copy : iobref, xdata);
    iobref_unref (copy);
}

static void
rot13_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                  struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf, postbuf, xdata);
}

/* A copy made below us keeps the rotation, which is right only if reading and then writing would keep it. EOPNOTSUPP has
 * the kernel, or cp, copy by reading and writing. */
static void
rot13_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in, fd_t *fd_out,
                       off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    const rot13_private_t *priv = this->private;

    if (priv->encrypt_write != priv->decrypt_read) {
        STACK_UNWIND (copy_file_range, frame, -1, EOPNOTSUPP, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), copy_file_range, fd_in, off_in, fd_out, off_out, len, flags,
                     xdata);
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
                            priv->encrypt_write ? "rotates what is written to it by 13 letters" : "leaves what is written as it is");
    g_string_append_printf (out, "%s (decrypt-read)\n",
                            priv->decrypt_read ? "rotates what is read from it back" : "leaves what is read as it is");
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "encryption/rot-13",
    .about = "rotates what is written by 13 letters, and what is read back again",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_DATA,
    .priv_size = sizeof (rot13_private_t),
    .options = rot13_options,
    .fops = {
        .readv = rot13_readv,
        .writev = rot13_writev,
        .copy_file_range = rot13_copy_file_range,
    },
    .dumpops = { .explain = rot13_explain },
    .passthrough = { .why = "rotates its bytes" },
};
