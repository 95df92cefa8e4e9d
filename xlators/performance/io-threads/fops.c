/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What comes down, and its priority. */
#include "io-threads.h"

#include <fcntl.h>
#include <sys/file.h>

const char *const iot_priority_names[IOT_PRIORITIES] = { "high", "normal", "low", "least" };

/* As in GlusterFS: looking, then names and attributes, then bytes. */
static enum iot_priority
priority_of (enum fop op)
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

/* It may not return before another request came, an unlock: so it takes no place that this would need. */
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

void
iot_every (const struct call *call)
{
    const iot_private_t *priv = call->this->private;
    struct limit_turn turn;
    struct limit *limit;

    if (G_UNLIKELY (iot_answers_sizes (call)))
        return;
    if (G_UNLIKELY (waits_for_others (call))) {
        call_pass (call);
        return;
    }
    limit = priv->of[is_least (priv, call->frame->root) ? IOT_LEAST : priority_of (call->op)];
    if (G_LIKELY (limit_enter (limit, &turn))) {
        call_pass (call);
        limit_leave (&turn);
    } else {
        limit_wait (limit, call->frame, call_keep_to_pass (call));
    }
}
