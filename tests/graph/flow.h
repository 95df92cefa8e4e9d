/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests in a stack above a fresh directory: many at a time, each answered by any thread. */
#ifndef TESTS_FLOW_H
#define TESTS_FLOW_H

#include "core/time/clock.h"
#include "core/work/limit.h"
#include "core/base/log.h"
#include "core/edge/stack.h"
#include "core/edge/stub.h"
#include "core/time/thread.h"
#include "posix_world.h"

#define IOT(options) \
    "end-volume\nvolume iot\ntype performance/io-threads\n" options "subvolumes slow\n"
/* Each readv occupies its thread for this number of microseconds. */
#define BLOCKING(duration)                                                                         \
    "end-volume\nvolume slow\ntype debug/delay-gen\noption delay-percentage 100\n"              \
    "option block on\n"                                                                           \
    "option delay-duration " duration "\noption enable readv\nsubvolumes posix\n"
/* Until let_go. */
#define HELD BLOCKING ("3600000000")
#define MS INT64_C (1000000)

/* --- requests on the way --------------------------------------------------------------------- */

/* A request and its result. In a flow, the caller makes the next request after the answer. */
struct flow_asked {
    struct flow *flow;
    pid_t pid;
    int r;         /* flow->lock */
    unsigned turn; /* flow->lock: the position of the answer, from 1; 0: no answer yet */
    bool here;     /* flow->lock: the answer came on the sending thread */
    char by[16];   /* flow->lock: the name of the answering thread */
    call_stack_t *root;
    uint64_t unique; /* its number */
};

struct flow {
    struct world w;
    fd_t *fd;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned sent, answered, twice; /* lock; twice: unexpected answers */
    pthread_t sender;
};

static int flow_number (struct flow *flow, const char *key);

/* The answering thread reports the answer before it ends the call. A caller that counts pending
 * calls starts after the end of the call. */
static G_GNUC_UNUSED struct flow *
flow_begin (const char *options)
{
    struct flow *flow = g_new0 (struct flow, 1);

    flow->w = posix_world_begin (options);
    flow->fd = world_create (&flow->w, flow->w.root, "f", O_RDWR, 0644);
    ck_assert_int_eq (world_write (&flow->w, flow->fd, "0123456789", 0), 10);
    pthread_mutex_init (&flow->lock, NULL);
    thread_cond_init (&flow->changed);
    flow->sender = pthread_self ();
    while (flow_number (flow, "current_low_priority_threads") > 0)
        g_usleep (100);
    thread_may_not_block = true; /* so that it can make many requests that block */
    return flow;
}

static G_GNUC_UNUSED void
flow_wait (struct flow *flow, unsigned left)
{
    pthread_mutex_lock (&flow->lock);
    while (flow->sent - flow->answered > left)
        pthread_cond_wait (&flow->changed, &flow->lock);
    pthread_mutex_unlock (&flow->lock);
}

/* Releases the held calls, and no longer holds later calls. */
static G_GNUC_UNUSED void
let_go (struct flow *flow)
{
    xlator_notify (flow->w.graph->top, XLATOR_ENDING, NULL);
}

static G_GNUC_UNUSED void
flow_end (struct flow *flow)
{
    flow_wait (flow, 0);
    thread_may_not_block = false;
    fd_unref (flow->fd);
    posix_world_end (&flow->w);
    ck_assert_uint_eq (flow->twice, 0);
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count_kept (), 0);
    pthread_mutex_destroy (&flow->lock);
    pthread_cond_destroy (&flow->changed);
    g_free (flow);
}

static G_GNUC_UNUSED void
flow_note_answer (call_frame_t *frame, struct flow_asked *asked, int32_t op_ret, int32_t op_errno)
{
    struct flow *flow = asked->flow;

    pthread_mutex_lock (&flow->lock);
    flow->twice += asked->turn > 0;
    asked->turn = ++flow->answered;
    asked->r = op_ret < 0 ? -op_errno : op_ret;
    asked->here = pthread_equal (pthread_self (), flow->sender);
    pthread_getname_np (pthread_self (), asked->by, sizeof asked->by);
    pthread_cond_broadcast (&flow->changed);
    pthread_mutex_unlock (&flow->lock);
    stack_done (frame->root);
}

static G_GNUC_UNUSED void
read_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
          struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
          dict_t *xdata)
{
    flow_note_answer (frame, cookie, op_ret, op_errno);
}

static G_GNUC_UNUSED void
stat_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             struct iatt *buf, dict_t *xdata)
{
    flow_note_answer (frame, cookie, op_ret, op_errno);
}

static G_GNUC_UNUSED void
flush_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              dict_t *xdata)
{
    flow_note_answer (frame, cookie, op_ret, op_errno);
}

static G_GNUC_UNUSED void
flow_lk_answer (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct gf_flock *lock, dict_t *xdata)
{
    flow_note_answer (frame, cookie, op_ret, op_errno);
}

static G_GNUC_UNUSED call_frame_t *
ask_begin (struct flow *flow, struct flow_asked *asked, pid_t pid, enum fop op)
{
    call_stack_t *root = stack_new (&flow->w.client->xlator);

    *asked = (struct flow_asked){ .flow = flow, .pid = pid, .root = root, .unique = root->unique };
    root->op = op;
    root->uid = geteuid ();
    root->gid = getegid ();
    root->pid = pid;
    pthread_mutex_lock (&flow->lock);
    flow->sent++;
    pthread_cond_broadcast (&flow->changed);
    pthread_mutex_unlock (&flow->lock);
    return &root->frames[0];
}

static G_GNUC_UNUSED void
ask_read (struct flow *flow, struct flow_asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_readv);

    STACK_WIND_COOKIE (frame, read_cbk, asked, flow->w.graph->top, readv, flow->fd, 4, 0, 0, NULL);
}

static G_GNUC_UNUSED void
flow_ask_stat (struct flow *flow, struct flow_asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_stat);
    loc_t loc = { .inode = flow->w.root };

    STACK_WIND_COOKIE (frame, stat_answer, asked, flow->w.graph->top, stat, &loc, NULL);
}

static G_GNUC_UNUSED void
flow_ask_flush (struct flow *flow, struct flow_asked *asked, pid_t pid)
{
    call_frame_t *frame = ask_begin (flow, asked, pid, FOP_flush);

    STACK_WIND_COOKIE (frame, flush_answer, asked, flow->w.graph->top, flush, flow->fd, NULL);
}

static G_GNUC_UNUSED void
ask_lk (struct flow *flow, struct flow_asked *asked, int cmd, short type)
{
    call_frame_t *frame = ask_begin (flow, asked, 0, FOP_lk);
    struct gf_flock lock = { .l_type = type };

    STACK_WIND_COOKIE (frame, flow_lk_answer, asked, flow->w.graph->top, lk, flow->fd, cmd, &lock,
                       NULL);
}

/* A thread: interrupts all of 400 requests while other threads answer them. A request number is
 * never reused, so no interrupt hits a request that took the memory of another. */
static G_GNUC_UNUSED void *
cancel_all (void *data)
{
    struct flow_asked *asked = data;

    for (unsigned i = 0; i < 400; i++)
        (void) limit_cancel (asked[i].unique);
    return NULL;
}

/* --- asking the translator at the top --------------------------------------------------------- */

static G_GNUC_UNUSED char *
flow_dumped (struct flow *flow, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    if (flow->w.graph->top->api->dumpops.priv)
        flow->w.graph->top->api->dumpops.priv (flow->w.graph->top, out);
    at = strstr (out->str, line);
    return g_strndup (at ? at + strlen (line) : "", at ? strcspn (at + strlen (line), "\n") : 0);
}

static G_GNUC_UNUSED int
flow_number (struct flow *flow, const char *key)
{
    g_autofree char *text = flow_dumped (flow, key);

    return *text ? atoi (text) : -1;
}

static G_GNUC_UNUSED void
flow_wait_for (struct flow *flow, const char *key, int value)
{
    const int64_t end = clock_now () + 20000 * MS;

    while (flow_number (flow, key) != value && clock_now () < end)
        g_usleep (1000);
    ck_assert_int_eq (flow_number (flow, key), value);
}

/* Delays as seen by the translator below. */
static G_GNUC_UNUSED int
went_down (struct flow *flow)
{
    xlator_t *slow = FIRST_CHILD (flow->w.graph->top);
    g_autoptr (GString) out = g_string_new (NULL);

    slow->api->dumpops.priv (slow, out);
    return atoi (strstr (out->str, "delayed=") + strlen ("delayed="));
}

#endif
