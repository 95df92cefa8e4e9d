/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/sync.h"
#include "core/base/audit.h"
#include "core/time/clock.h"
#include "core/table/fops-rows.h"
#include "core/edge/stack.h"
#include "core/time/thread.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A call and its answer. The calling thread and the callback share it; the last of the two frees
 * it. */
struct sync_waiter {
    struct client *client; /* a reference; constant */
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t answered;
    bool done, abandoned; /* lock */
    int op_ret, op_errno; /* lock */
    void *reply;          /* the caller's memory, or NULL: constant. Not written once abandoned */
    const void *asker;    /* the place of the call, for an audit: constant */
};

struct client *
client_new (xlator_t *top)
{
    static const struct xlator_api api = { .abi = XLATOR_ABI,
                                           .type = "client",
                                           .about = "makes calls and waits for the answers" };
    struct client *client = g_new0 (struct client, 1);
    xlator_list_t *child = g_new0 (xlator_list_t, 1);

    child->xlator = top;
    client->xlator = xlator_init ("client", &api, top->graph, NULL);
    client->xlator.children = child;
    client->refs = 1;
    client->uid = geteuid ();
    client->gid = getegid ();
    client->pid = getpid ();
    return client;
}

struct client *
client_new_internal (const xlator_t *maker, xlator_t *top)
{
    struct client *client = client_new (top);

    client->internal = maker->name;
    return client;
}

struct client *
client_new_as (xlator_t *top, call_stack_t *root)
{
    struct client *client = client_new (top);

    client->uid = root->uid;
    client->gid = root->gid;
    client->pid = root->pid;
    client->umask = root->umask;
    client->lk_owner = root->lk_owner;
    client->internal = root->internal;
    client->checked = root->checked;
    client->serves = true;
    if (root->uid != 0)
        client->ngroups = MAX (stack_groups (root, &client->groups), 0);
    return client;
}

static void
client_unref (struct client *client)
{
    if (__atomic_sub_fetch (&client->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    xlators_wait_unpinned ();
    g_free (client->xlator.children);
    g_free (client);
}

void
client_free (struct client *client)
{
    client_unref (client);
}

/* --- pauses ----------------------------------------------------------------------------------- */

__thread bool sync_unheld;

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t over;
    unsigned holds;       /* atomic; changed under lock */
} sync_gate = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void __attribute__ ((constructor))
sync_gate_init (void)
{
    thread_cond_init (&sync_gate.over);
}

static void
sync_gate_add (int by)
{
    pthread_mutex_lock (&sync_gate.lock);
    __atomic_add_fetch (&sync_gate.holds, (unsigned) by, __ATOMIC_SEQ_CST);
    thread_cond_broadcast (&sync_gate.over);
    pthread_mutex_unlock (&sync_gate.lock);
}

void
sync_hold (void)
{
    sync_gate_add (1);
}

void
sync_go_on (void)
{
    sync_gate_add (-1);
}

bool
sync_is_held (void)
{
    return __atomic_load_n (&sync_gate.holds, __ATOMIC_ACQUIRE) > 0;
}

/* Calls below the top belong to a request, or are made by a translator for itself: a pause waits
 * for those, and must not hold them up. */
static bool
client_is_held (const struct client *client)
{
    return !client->internal && !client->serves && !sync_unheld
        && !FIRST_CHILD (&client->xlator)->parents;
}

/* Returns a new request, which a pause waits for from now on. The request is in use before the gate
 * is read: whoever holds calls passes a barrier, and then looks for requests in use. */
static call_stack_t *
stack_new_past_gate (struct client *client)
{
    call_stack_t *root = stack_new (&client->xlator);

    thread_keep_order ();
    while (G_UNLIKELY (sync_is_held ()) && client_is_held (client)) {
        stack_done (root);
        pthread_mutex_lock (&sync_gate.lock);
        while (sync_is_held ())
            thread_cond_wait (&sync_gate.over, &sync_gate.lock);
        pthread_mutex_unlock (&sync_gate.lock);
        root = stack_new (&client->xlator);
        thread_keep_order ();
    }
    return root;
}

/* --- calls ------------------------------------------------------------------------------------ */

static int
client_groups (call_stack_t *root)
{
    return root->ngroups;
}

call_stack_t *
client_stack_new (struct client *client, enum fop op)
{
    call_stack_t *root = stack_new_past_gate (client);

    root->op = op;
    root->uid = client->uid;
    root->gid = client->gid;
    root->pid = client->pid;
    root->umask = client->umask;
    root->checked = client->checked;
    root->internal = client->internal;
    root->lk_owner = client->lk_owner;
    root->ngroups = client->ngroups;
    root->groups = (gid_t *) client->groups;
    root->find_groups = client_groups;
    return root;
}

static struct sync_waiter *
client_begin (struct client *client, enum fop op, void *reply, call_stack_t **ret_root)
{
    struct sync_waiter *waiter = g_new0 (struct sync_waiter, 1);

    pthread_mutex_init (&waiter->lock, NULL);
    thread_cond_init (&waiter->answered);
    waiter->reply = reply;
    if (G_UNLIKELY (audit))
        waiter->asker = audit->worker (__builtin_return_address (0));
    waiter->client = client;
    __atomic_add_fetch (&client->refs, 1, __ATOMIC_RELAXED);
    *ret_root = client_stack_new (client, op);
    (*ret_root)->maker.asked = waiter;
    return waiter;
}

static void
waiter_free (struct sync_waiter *waiter)
{
    pthread_mutex_destroy (&waiter->lock);
    pthread_cond_destroy (&waiter->answered);
    g_free (waiter);
}

/* Records the answer, and wakes the caller. Returns whether the caller's memory took the reply. */
static bool
waiter_answer (struct sync_waiter *waiter, int op_ret, int op_errno, const void *reply, size_t size)
{
    bool abandoned, taken;

    pthread_mutex_lock (&waiter->lock);
    abandoned = waiter->abandoned;
    taken = !abandoned && waiter->reply;
    if (taken)
        memcpy (waiter->reply, reply, size);
    waiter->done = true;
    waiter->op_ret = op_ret;
    waiter->op_errno = op_errno;
    thread_cond_signal (&waiter->answered);
    pthread_mutex_unlock (&waiter->lock);
    if (abandoned)
        waiter_free (waiter);
    return taken;
}

static bool
waiter_wait_locked (struct sync_waiter *waiter, int64_t patience)
{
    int64_t end = clock_now () + patience;
    int r = 0;

    while (!waiter->done && r == 0)
        if (patience)
            r = thread_cond_wait_until (&waiter->answered, &waiter->lock, end);
        else
            thread_cond_wait (&waiter->answered, &waiter->lock);
    return waiter->done;
}

/* Logs where the abandoned request is. It may be answered meanwhile, so its translators could be
 * freed but for the pin. */
static void
client_report (const struct client *client, const call_stack_t *root)
{
    g_autofree char *where = NULL;

    xlators_pin ();
    where = stack_describe (root);
    xlators_unpin ();
    gf_log (&client->xlator, GF_LOG_CRITICAL, "no answer after %.3f s: %s", client->patience / 1e9,
            where);
}

static int
client_wait (struct client *client, struct sync_waiter *waiter, call_stack_t *root)
{
    int r;

    pthread_mutex_lock (&waiter->lock);
    if (!waiter_wait_locked (waiter, client->patience)) {
        waiter->abandoned = true;
        pthread_mutex_unlock (&waiter->lock);
        client_report (client, root);
        return -ETIMEDOUT;
    }
    r = waiter->op_ret < 0 ? -waiter->op_errno : waiter->op_ret;
    pthread_mutex_unlock (&waiter->lock);
    waiter_free (waiter);
    return r;
}

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name

/* Expands the arguments of a fop before STACK_WIND counts them. */
#define WIND(...) STACK_WIND (__VA_ARGS__)

#define SYNC(fop)                                                                                  \
    static void sync_##fop##_cbk (call_frame_t *frame, void *cookie, xlator_t *this,               \
                                  int32_t op_ret,                                                  \
                                  int32_t op_errno FOP_RETS_##fop (DECLARE))                       \
    {                                                                                              \
        struct sync_waiter *waiter = frame->root->maker.asked;                                     \
        struct fop##_reply reply = { .op_ret = op_ret, .op_errno = op_errno };                     \
        audit_for = waiter->asker;                                                                 \
        if (waiter->reply)                                                                         \
            fop##_reply_keep (&reply, op_ret, op_errno FOP_RETS_##fop (NAME));                     \
        audit_for = NULL;                                                                          \
        stack_done (frame->root);                                                                  \
        client_unref (waiter->client);                                                             \
        if (!waiter_answer (waiter, reply.op_ret, reply.op_errno, &reply, sizeof reply))           \
            fop##_reply_drop (&reply);                                                             \
    }                                                                                              \
                                                                                                   \
    int sync_##fop (struct client *client FOP_ARGS_##fop (DECLARE), struct fop##_reply *ret_reply) \
    {                                                                                              \
        call_stack_t *root;                                                                        \
        struct sync_waiter *waiter;                                                                \
        if (ret_reply)                                                                             \
            *ret_reply = (struct fop##_reply){ 0 };                                                \
        waiter = client_begin (client, FOP_##fop, ret_reply, &root);                               \
        WIND (&root->frames[0], sync_##fop##_cbk, FIRST_CHILD (&client->xlator),                   \
              fop FOP_ARGS_##fop (NAME));                                                          \
        return client_wait (client, waiter, root);                                                 \
    }
FOP_LIST (SYNC)
