/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A write-behind that answers a write before it is executed, and then executes the last write
 * first. All other operations wait for pending writes, which also go down after an hour of rest.
 * Takes no lock: for histories only, in which one operation happens at a time. */
#include "xlator.h"

#include <errno.h>

#define HOUR (3600 * INT64_C (1000000000))

typedef struct {
    GQueue writes;  /* of call_stub_t, in requests of their own */
    GQueue waiting; /* of call_stub_t: for the writes */
    unsigned under_way;
    core_timer_t *timer;
    bool reorders; /* option */
} early_private_t;

static writev_cbk early_written;

static void
early_write (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    STACK_WIND (frame, early_written, FIRST_CHILD (this), writev, fd, vector, count, offset, flags,
                iobref, xdata);
}

/* Executes all pending writes, or one. They are counted first, since answers may arrive at once. */
static void
early_flush (early_private_t *priv)
{
    GQueue writes = G_QUEUE_INIT;
    call_stub_t *stub;

    if (priv->under_way || !priv->writes.length)
        return;
    do {
        priv->under_way++;
        g_queue_push_head (&writes, g_queue_pop_head (&priv->writes));
    } while (priv->reorders && priv->writes.length);
    while ((stub = g_queue_pop_head (&writes)))
        call_resume (stub);
}

static void
early_written (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    early_private_t *priv = this->private;
    call_stub_t *stub;

    stack_done (frame->root);
    priv->under_way--;
    early_flush (priv);
    while (!priv->under_way && !priv->writes.length && (stub = g_queue_pop_head (&priv->waiting)))
        call_resume (stub);
}

static void
early_rested (void *data)
{
    early_private_t *priv = data;

    priv->timer = NULL;
    early_flush (priv);
}

static void
early_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
              off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    early_private_t *priv = this->private;
    call_stack_t *own = stack_new_like (this, frame);

    g_queue_push_tail (&priv->writes, fop_writev_stub (&own->frames[0], early_write, fd, vector,
                                                       count, offset, flags, iobref, xdata));
    if (!priv->timer)
        priv->timer = timer_after (HOUR, early_rested, priv);
    STACK_UNWIND (writev, frame, (int32_t) iov_length (vector, count), 0, NULL, NULL, NULL);
}

static void
early_any_fop (const struct call *call)
{
    early_private_t *priv = call->this->private;

    if (!priv->writes.length && !priv->under_way) {
        call_pass (call);
        return;
    }
    g_queue_push_tail (&priv->waiting, call_keep_to_pass (call));
    early_flush (priv);
}

static const struct xlator_option early_options[] = {
    { OPTION ("reorders", BOOL, early_private_t, reorders, "on"), .help = "write the last first" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/early",
    .about = "answers writes early, and reorders them",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (early_private_t),
    .options = early_options,
    .fops = { .writev = early_writev },
    .any_fop = early_any_fop,
};
