/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * readv: served from kept content, or passed on and learnt from.
 *
 * Only a caller that could open the file is served. An answered open proves that only if opens are
 * answered after they are done. If a translator below may answer earlier (TOUCHES_OPENS, as
 * performance/open-behind has), there are two proofs. Either the caller was let in before, since
 * the file's ctime. Or the first read through the fd goes down and succeeds. Until then the fd's
 * slot holds the opener.
 */
#include "quick-read.h"

static open_cbk qr_open_cbk;
static readv_cbk qr_readv_cbk;

#define PROVED ((void *) 1) /* in an fd's slot: the opener is known to be permitted */

static bool
is_to_read (uint32_t flags)
{
    return (flags & O_ACCMODE) != O_WRONLY && !(flags & (O_DIRECT | O_PATH));
}

/* --- open ------------------------------------------------------------------------------------- */

void
qr_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    struct qr_inode *qri = qr_inode_get (this, loc->inode);
    struct qr_local *local;

    if (!(flags & O_TRUNC)
        && (!is_to_read (flags) || !loc->inode || loc->inode->ia_type != IA_IFREG)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
        return;
    }
    local = frame_local_new (frame, sizeof *local);
    local->inode = inode_ref (loc->inode);
    local->begun = flags & O_TRUNC;
    if (local->begun) {
        qr_change_begin (this, qr_inode_make (this, loc->inode));
    } else {
        local->caller = stack_caller_new (frame->root);
        local->may_read = qri && qr_reader_known (this, qri, local->caller);
    }
    local->stamp = qr_stamp_now (this);
    STACK_WIND (frame, qr_open_cbk, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
opened (xlator_t *this, struct qr_local *local, fd_t *fd)
{
    struct qr_inode *qri = qr_inode_get (this, local->inode);

    if (!local->may_read && qr_priv (this)->opens_lie) {
        fd_ctx_set (fd, this, g_steal_pointer (&local->caller));
        return;
    }
    fd_ctx_set (fd, this, PROVED);
    if (!local->may_read && qr_has_content (qri))
        qr_reader_add (this, qri, &local->stamp, g_steal_pointer (&local->caller));
}

static void
qr_open_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             fd_t *fd, dict_t *xdata)
{
    struct qr_local *local = frame->local;

    if (local->begun)
        qr_change_end (this, qr_inode_make (this, local->inode));
    else if (op_ret >= 0)
        opened (this, local, fd);
    STACK_UNWIND (open, frame, op_ret, op_errno, fd, xdata);
}

void
qr_release (xlator_t *this, fd_t *fd)
{
    void *opener = fd_ctx_get (fd, this);

    if (opener && opener != PROVED)
        g_free (opener);
    fd_ctx_set (fd, this, NULL);
}

/* --- serving ---------------------------------------------------------------------------------- */

/* Returns at most size bytes from offset on, in a buffer that stays unchanged; NULL if memory is
 * short. */
static struct iobref *
lend (const struct qr_content *content, size_t size, off_t offset, struct iovec *ret_vector)
{
    struct iobref *iobref;
    struct iobuf *iobuf = content->iobuf ? iobuf_ref (content->iobuf) : iobuf_new (MAX (size, 1));

    if (!iobuf)
        return NULL;
    if (!content->iobuf)
        memcpy (iobuf->ptr, content->bytes + offset, size);
    *ret_vector = (struct iovec){ (char *) iobuf->ptr + (content->iobuf ? offset : 0), size };
    iobref = iobref_new ();
    iobref_add (iobref, iobuf);
    iobuf_unref (iobuf);
    return iobref;
}

static bool
qr_serve (call_frame_t *frame, xlator_t *this, struct qr_inode *qri, size_t size, off_t offset)
{
    struct qr_content *content = qr_content_get (this, qri);
    struct iovec vector;
    struct iobref *iobref;

    if (!content)
        return false;
    offset = MIN (offset, (off_t) content->size);
    size = MIN (size, content->size - (size_t) offset);
    iobref = lend (content, size, offset, &vector);
    qr_content_unref (content);
    if (!iobref)
        return false;
    QR_COUNT (this, hits);
    STACK_UNWIND (readv, frame, (int32_t) size, 0, &vector, 1, NULL, iobref, NULL);
    iobref_unref (iobref);
    return true;
}

/* --- passing on ------------------------------------------------------------------------------- */

/* Returns true if the read may bring the whole file, validate the content, or prove that the fd is
 * open. */
static bool
is_to_learn (xlator_t *this, fd_t *fd, const struct qr_inode *qri, off_t offset)
{
    void *opener = fd_ctx_get (fd, this);

    return offset == 0 || qr_has_content (qri) || (opener && opener != PROVED);
}

void
qr_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset, uint32_t flags,
          dict_t *xdata)
{
    struct qr_inode *qri = qr_inode_get (this, fd->inode);
    const bool cached = is_to_read (fd->flags) && !(flags & O_DIRECT) && !xdata && offset >= 0;
    struct qr_local *local;

    if (cached && qr_has_content (qri) && fd_ctx_get (fd, this) == PROVED
        && qr_serve (frame, this, qri, size, offset))
        return;
    if (!cached || !is_to_learn (this, fd, qri, offset)) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
        return;
    }
    QR_COUNT (this, misses);
    local = frame_local_new (frame, sizeof *local);
    local->fd = fd_ref (fd);
    local->class = offset == 0 ? qr_class (this, fd->inode, NULL) : PRIORITY_UNCACHED;
    local->stamp = qr_stamp_now (this);
    STACK_WIND (frame, qr_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
qr_learn (xlator_t *this, const struct qr_local *local, int32_t size, const struct iovec *vector,
          int count, const struct iatt *buf)
{
    inode_t *inode = local->fd->inode;
    const bool whole = local->class != PRIORITY_UNCACHED && (uint64_t) size == buf->ia_size
                    && buf->ia_size <= qr_priv (this)->max_size;
    struct qr_inode *qri = whole ? qr_inode_make (this, inode) : qr_inode_get (this, inode);

    if (whole)
        qr_keep (this, qri, &local->stamp, buf, local->class, vector, count);
    else if (qri)
        qr_validate (this, qri, &local->stamp, buf);
}

/* The read succeeded, so the open did. Two concurrent reads may both get here. */
static void
prove (xlator_t *this, const struct qr_local *local)
{
    fd_t *fd = local->fd;
    void *opener = fd_ctx_get (fd, this);
    struct qr_inode *qri = qr_inode_get (this, fd->inode);

    if (!opener || opener == PROVED
        || !__atomic_compare_exchange_n (&fd->ctx[this->fd_slot], &opener, PROVED, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return;
    if (qr_has_content (qri))
        qr_reader_add (this, qri, &local->stamp, opener);
    else
        g_free (opener);
}

static void
qr_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
              dict_t *xdata)
{
    const struct qr_local *local = frame->local;

    if (op_ret >= 0 && stbuf)
        qr_learn (this, local, op_ret, vector, count, stbuf);
    if (op_ret >= 0)
        prove (this, local);
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
}
