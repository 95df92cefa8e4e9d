/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes down, and which way each goes. */
#include "io-threads.h"

#include <fcntl.h>
#include <sys/file.h>

const char *const iot_priority_names[IOT_PRIORITIES] = { "high", "normal", "low", "least" };

/* As in GlusterFS: looking first, then names and attributes, then bytes. */
enum iot_priority
iot_priority_of (enum fop op)
{
    switch (op) {
    case FOP_lookup: case FOP_stat: case FOP_fstat: case FOP_open: case FOP_access: case FOP_readlink: case FOP_opendir:
    case FOP_statfs: case FOP_readdir: case FOP_readdirp: case FOP_poll:
        return IOT_HIGH;
    case FOP_readv: case FOP_writev: case FOP_fsync: case FOP_fsyncdir: case FOP_truncate: case FOP_ftruncate:
    case FOP_fallocate: case FOP_discard: case FOP_zerofill: case FOP_seek: case FOP_copy_file_range:
        return IOT_LOW;
    default:
        return IOT_NORMAL;
    }
}

/* It may not return before another request came. */
static bool
waits_for_others (const struct call *call)
{
    if (call->op == FOP_lk)
        return ((const struct lk_call *) call->args)->cmd == F_SETLKW;
    return call->op == FOP_flock && !(((const struct flock_call *) call->args)->operation & (LOCK_NB | LOCK_UN));
}

/* Of GlusterFS's own helpers, which no kernel sends; or of a process that asked to come last. */
static bool
is_least (const iot_private_t *priv, const call_stack_t *root)
{
    return __atomic_load_n (&priv->least, __ATOMIC_RELAXED)
           && (root->pid < 0 || process_is_idle_class (root->pid, root->begin));
}

/* Who asked has lost patience. */
static bool
iot_take_back (struct patience *patience)
{
    struct iot_call *call = (struct iot_call *) patience;
    iot_private_t *priv = call->this->private;

    pthread_mutex_lock (&priv->lock);
    const bool waits = call->client;
    if (waits) {
        iot_remove_locked (priv, call);
        __atomic_add_fetch (&priv->cancelled, 1, __ATOMIC_RELAXED);
        priv->set_aside--;
        thread_cond_broadcast (&priv->changed);
    }
    pthread_mutex_unlock (&priv->lock);
    return waits;
}

/* False: nobody works any more. */
static bool
iot_enqueue (struct iot_call *one, pid_t process)
{
    xlator_t *this = one->this;
    iot_private_t *priv = this->private;
    struct iot_worker *fresh = NULL;

    pthread_mutex_lock (&priv->lock);
    const bool works = !priv->stopping;
    if (works) {
        iot_put_locked (priv, one, process);
        priv->set_aside++;
        iot_watch_locked (this);
        fresh = iot_call_thread_locked (this);
    }
    pthread_mutex_unlock (&priv->lock);
    if (fresh)
        iot_start (fresh);
    return works;
}

/* While nobody waits it doesn't matter whose it is. */
static pid_t
turn_of (const iot_private_t *priv, const call_stack_t *root, enum iot_priority priority)
{
    if (priority != IOT_LEAST && __atomic_load_n (&priv->waiting, __ATOMIC_RELAXED) == 0)
        return root->pid;
    return process_of_thread (root->pid, root->begin);
}

void
iot_resume (struct iot_call *call)
{
    call_stub_t *stub = call->stub;

    if (patience_end (&call->patience))
        g_free (call);
    call_resume (stub);
}

static void
iot_set_aside (const struct call *call, enum iot_priority priority)
{
    call_stub_t *stub = call_keep_to_pass (call);
    struct iot_call *one;

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    one = g_new (struct iot_call, 1);
    *one = (struct iot_call){ .this = call->this, .stub = stub, .op = call->op, .priority = priority, .since = clock_now () };
    patience_begin (&one->patience, stub, iot_take_back);
    if (!iot_enqueue (one, turn_of (call->this->private, call->frame->root, priority)))
        iot_resume (one);
}

static void
iot_decide (const struct call *call)
{
    iot_private_t *priv = call->this->private;

    if (iot_answers_sizes (call))
        return;
    if (waits_for_others (call)) {
        call_stub_t *stub = call_keep_to_pass (call);

        if (stub)
            iot_wait_for_lock (call->this, stub);
        else
            call_fail (call, ENOMEM);
        return;
    }
    if (is_least (priv, call->frame->root))
        iot_set_aside (call, IOT_LEAST);
    else if (iot_may_stay (priv, call->op))
        iot_go_on_in_place (call);
    else
        iot_set_aside (call, iot_priority_of (call->op));
}

void
iot_every (const struct call *call)
{
    const iot_private_t *priv = call->this->private;

    if (G_LIKELY (opset_has (__atomic_load_n (&priv->at_once, __ATOMIC_RELAXED), call->op)
                  && __atomic_load_n (&priv->waiting, __ATOMIC_RELAXED) == 0))
        iot_go_on_in_place (call);
    else
        iot_decide (call);
}
