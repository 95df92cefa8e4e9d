/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Caches the last read and the last fstat until a file changes. The option `ignores` names an
 * operation whose changes are ignored. The option `late` names readv or fstat, whose answer is
 * cached even if a file changed while the answer was in flight. Takes no lock: for histories only,
 * in which one operation happens at a time. */
#include "xlator.h"

#include <fcntl.h>
#include <string.h>

typedef struct {
    char *ignores; /* the names of operations */
    char *late;
    /* The last read. fd NULL: none. */
    fd_t *fd;
    size_t size;
    off_t offset;
    struct iobuf *bytes;
    int32_t count;
    /* The attributes. known NULL: none. */
    fd_t *known;
    struct iatt iatt;
    unsigned changes;   /* calls that may change a file: so far, and in flight */
    unsigned under_way;
} cache_private_t;

static readv_cbk cache_readv_cbk;
static fstat_cbk cache_fstat_cbk;

/* A request, and the number of changes before it. */
struct cache_local {
    fd_t *fd;
    size_t size;
    off_t offset;
    unsigned changes;
};

static void
cache_forget (cache_private_t *priv)
{
    if (priv->fd)
        iobuf_unref (priv->bytes);
    g_clear_pointer (&priv->fd, fd_unref);
    g_clear_pointer (&priv->known, fd_unref);
}

/* Returns whether an answer may be cached that was requested after this number of changes. */
static bool
cache_may_keep (const cache_private_t *priv, enum fop op, unsigned changes)
{
    return (changes == priv->changes && !priv->under_way)
        || strcmp (priv->late, fop_name (op)) == 0;
}

static void
cache_answer (call_frame_t *frame, const cache_private_t *priv)
{
    struct iobref *iobref = iobref_new ();
    struct iovec vector = { priv->bytes->ptr, priv->count };

    iobref_add (iobref, priv->bytes);
    STACK_UNWIND (readv, frame, priv->count, 0, &vector, 1, NULL, iobref, NULL);
    iobref_unref (iobref);
}

static void
cache_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
             uint32_t flags, dict_t *xdata)
{
    cache_private_t *priv = this->private;
    struct cache_local *local;

    if (priv->fd == fd && priv->size == size && priv->offset == offset && !priv->under_way) {
        cache_answer (frame, priv);
        return;
    }
    local = frame->local = frame_local_new (frame, sizeof *local);
    *local = (struct cache_local){ fd, size, offset, priv->changes };
    STACK_WIND (frame, cache_readv_cbk, FIRST_CHILD (this), readv, fd, size, offset, flags, xdata);
}

static void
cache_keep (cache_private_t *priv, const struct cache_local *local, const struct iovec *vector,
            int32_t count)
{
    if (priv->fd)
        iobuf_unref (priv->bytes);
    fd_unref (priv->fd);
    priv->fd = fd_ref (local->fd);
    priv->size = local->size;
    priv->offset = local->offset;
    priv->bytes = iobuf_new (MAX (local->size, 1));
    priv->count = (int32_t) iov_unload (priv->bytes->ptr, local->size, vector, count);
}

static void
cache_readv_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iovec *vector, int32_t count, struct iatt *stbuf,
                 struct iobref *iobref, dict_t *xdata)
{
    cache_private_t *priv = this->private;
    const struct cache_local *local = frame->local;

    if (op_ret >= 0 && cache_may_keep (priv, FOP_readv, local->changes))
        cache_keep (priv, local, vector, count);
    STACK_UNWIND (readv, frame, op_ret, op_errno, vector, count, stbuf, iobref, xdata);
}

static void
cache_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    cache_private_t *priv = this->private;
    struct cache_local *local;

    if (priv->known == fd && !priv->under_way) {
        STACK_UNWIND (fstat, frame, 0, 0, &priv->iatt, NULL);
        return;
    }
    local = frame->local = frame_local_new (frame, sizeof *local);
    *local = (struct cache_local){ .fd = fd, .changes = priv->changes };
    STACK_WIND (frame, cache_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
}

static void
cache_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    cache_private_t *priv = this->private;
    const struct cache_local *local = frame->local;

    if (op_ret >= 0 && cache_may_keep (priv, FOP_fstat, local->changes)) {
        fd_unref (priv->known);
        priv->known = fd_ref (local->fd);
        priv->iatt = *buf;
    }
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

/* Operations that cannot change a file, and the operation of the option unless it uses the fd that
 * was read. */
static bool
cache_ignores (const cache_private_t *priv, const struct call *call)
{
    switch (call->op) {
    case FOP_open:
    case FOP_create:
        return !(call->flags & O_TRUNC);
    case FOP_writev:
    case FOP_truncate:
    case FOP_ftruncate:
    case FOP_fallocate:
    case FOP_discard:
    case FOP_zerofill:
    case FOP_copy_file_range:
    case FOP_setattr:
    case FOP_fsetattr:
    case FOP_link:
    case FOP_unlink:
    case FOP_rename:
        return strcmp (priv->ignores, fop_name (call->op)) == 0
            && (!call->fd || call->fd != priv->fd);
    default:
        return true;
    }
}

static void
cache_any_fop (const struct call *call)
{
    cache_private_t *priv = call->this->private;
    const bool ignored = cache_ignores (priv, call);

    if (!ignored) {
        cache_forget (priv);
        priv->changes++;
        priv->under_way++;
    }
    call_wind (call, FIRST_CHILD (call->this), GINT_TO_POINTER (ignored));
}

static void
cache_any_fop_cbk (const struct answer *answer)
{
    cache_private_t *priv = answer->this->private;

    if (!answer->cookie)
        priv->under_way--;
    answer_pass (answer);
}

/* An fd must be released before the inodes, which is before fini. */
static void
cache_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_PARENT_DOWN)
        cache_forget (this->private);
    xlator_pass_on (this, event, data);
}

static const struct xlator_option cache_options[] = {
    { OPTION ("ignores", STRING, cache_private_t, ignores, "nothing"),
      .help = "an operation that changes files without its notice" },
    { OPTION ("late", STRING, cache_private_t, late, "nothing"),
      .help = "readv or fstat: its answer is kept also when something changed while it was on its "
              "way" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/cache",
    .about = "remembers the last read, at times too long",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (cache_private_t),
    .options = cache_options,
    .notify = cache_notify,
    .fops = { .readv = cache_readv, .fstat = cache_fstat },
    .any_fop = cache_any_fop,
    .any_fop_cbk = cache_any_fop_cbk,
};
