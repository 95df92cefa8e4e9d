/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls from above, and their priority. */
#include "io-threads.h"

#include <fcntl.h>
#include <sys/file.h>

#define BIT(name) OPSET_OF (FOP_##name)

/* As in GlusterFS: lookups and other queries first, then names and attributes, then data. */
#define LOOKING                                                                                    \
    (BIT (lookup) | BIT (stat) | BIT (fstat) | BIT (open) | BIT (access) | BIT (readlink)          \
     | BIT (opendir) | BIT (statfs) | BIT (readdir) | BIT (readdirp))
#define BYTES (OPS_CHANGE_DATA | BIT (readv) | BIT (seek) | BIT (fsync) | BIT (fsyncdir))

static enum iot_priority
priority_of (enum fop op)
{
    return opset_has (LOOKING, op) ? IOT_HIGH : opset_has (BYTES, op) ? IOT_LOW : IOT_NORMAL;
}

/* A lock that waits may need another request, an unlock, before it returns. So it does not count
 * against the limit that the unlock needs. */
static bool
waits_for_others (const struct call *call)
{
    if (call->op == FOP_lk)
        return ((const struct lk_call *) call->args)->cmd == F_SETLKW;
    return call->op == FOP_flock
        && !(((const struct flock_call *) call->args)->operation & (LOCK_NB | LOCK_UN));
}

/* GlusterFS's internal clients, whose pid is negative and which no kernel sends; or a process in
 * the idle I/O class. */
static bool
is_least (const iot_private_t *priv, const call_stack_t *root)
{
    return __atomic_load_n (&priv->least, __ATOMIC_RELAXED)
           && (root->pid < 0 || process_is_idle_class (root->pid, root->begin));
}

void
iot_any_fop (const struct call *call)
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
