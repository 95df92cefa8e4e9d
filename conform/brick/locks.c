/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The procedures inodelk and entrylk. A lock belongs to a connection and an owner. A call that has
 * to wait for a lock is kept in brick.waiting. When any lock is released, all these calls move back
 * to brick.parcels, and each of them is tried again when it is delivered again. */
#include "conform/brick/request.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Values of the fields `cmd` and `type` in the call inodelk. */
enum { COMMAND_SETLKW = 2 };
enum { TYPE_WRLCK = 1, TYPE_UNLCK = 2 };

struct brick_lock {
    const struct brick_peer *peer;
    uint64_t owner;
    gfid_t gfid;
    char *domain;
    bool of_entry, writes;
    char *name;     /* of an entrylk: the name; NULL: all names of the directory */
    off_t from, to; /* of an inodelk: offsets of the first locked byte and of the byte behind the
                     * last */
};

void
brick_lock_free (void *data)
{
    struct brick_lock *lock = data;

    g_free (lock->domain);
    g_free (lock->name);
    g_free (lock);
}

static bool
brick_lock_is_beside (const struct brick_lock *a, const struct brick_lock *b)
{
    return a->of_entry == b->of_entry && gfid_equal (&a->gfid, &b->gfid)
        && strcmp (a->domain, b->domain) == 0;
}

static bool
brick_lock_has_owner_of (const struct brick_lock *a, const struct brick_lock *b)
{
    return a->peer == b->peer && a->owner == b->owner;
}

static bool
brick_lock_conflicts (const struct brick_lock *a, const struct brick_lock *b)
{
    if (!brick_lock_is_beside (a, b) || brick_lock_has_owner_of (a, b) || !(a->writes || b->writes))
        return false;
    return a->of_entry ? !a->name || !b->name || strcmp (a->name, b->name) == 0
                       : a->from < b->to && b->from < a->to;
}

static bool
brick_lock_is_same (const struct brick_lock *a, const struct brick_lock *b)
{
    return brick_lock_is_beside (a, b) && brick_lock_has_owner_of (a, b)
        && g_strcmp0 (a->name, b->name) == 0 && a->from == b->from && a->to == b->to;
}

static int
brick_lock_take (struct brick_request *q, struct brick_lock *lock, bool waits)
{
    GPtrArray *locks = q->brick->locks;

    for (guint i = 0; i < locks->len; i++)
        if (brick_lock_conflicts (locks->pdata[i], lock)) {
            q->waits = waits;
            brick_lock_free (lock);
            return -EAGAIN;
        }
    g_ptr_array_add (locks, lock);
    return 0;
}

static int
brick_lock_drop (struct brick_request *q, struct brick_lock *lock)
{
    GPtrArray *locks = q->brick->locks;
    int r = -EINVAL;

    for (guint i = 0; r < 0 && i < locks->len; i++)
        if (brick_lock_is_same (locks->pdata[i], lock)) {
            g_ptr_array_remove_index (locks, i);
            q->brick->unlocked = true;
            r = 0;
        }
    brick_lock_free (lock);
    return r;
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct brick_lock *
brick_lock_new (struct brick_request *q, const gfid_t *wire, const char *domain)
{
    struct brick_lock *lock = g_new0 (struct brick_lock, 1);

    lock->peer = q->peer;
    lock->owner = q->client->lk_owner;
    lock->gfid = brick_gfid_of_wire (q->brick, wire);
    lock->domain = g_strdup (domain);
    return lock;
}

static int
brick_inodelk (struct brick_request *q, struct brick_lock *lock, uint32_t cmd, uint32_t type,
               const struct gf_flock *range)
{
    lock->writes = type == TYPE_WRLCK;
    lock->from = range->l_start;
    lock->to = range->l_len > 0 ? range->l_start + range->l_len : INT64_MAX;
    return type == TYPE_UNLCK ? brick_lock_drop (q, lock)
                              : brick_lock_take (q, lock, cmd == COMMAND_SETLKW);
}

int
brick_do_inodelk (struct brick_request *q, const struct wire_inodelk *call,
                  struct wire_inodelk_reply *reply)
{
    return brick_inodelk (q, brick_lock_new (q, &call->loc, call->volume), call->cmd, call->type,
                          &call->lock);
}

int
brick_do_finodelk (struct brick_request *q, const struct wire_finodelk *call,
                   struct wire_finodelk_reply *reply)
{
    return brick_inodelk (q, brick_lock_new (q, &call->fd.gfid, call->volume), call->cmd,
                          call->type, &call->lock);
}

static int
brick_entrylk (struct brick_request *q, struct brick_lock *lock, uint32_t cmd, uint32_t type,
               const char *name)
{
    lock->of_entry = true;
    lock->name = g_strdup (name);
    lock->writes = type == ENTRYLK_WRLCK;
    return cmd == ENTRYLK_UNLOCK ? brick_lock_drop (q, lock)
                                 : brick_lock_take (q, lock, cmd == ENTRYLK_LOCK);
}

int
brick_do_entrylk (struct brick_request *q, const struct wire_entrylk *call,
                  struct wire_entrylk_reply *reply)
{
    return brick_entrylk (q, brick_lock_new (q, &call->loc, call->volume), call->cmd, call->type,
                          call->basename);
}

int
brick_do_fentrylk (struct brick_request *q, const struct wire_fentrylk *call,
                   struct wire_fentrylk_reply *reply)
{
    return brick_entrylk (q, brick_lock_new (q, &call->fd.gfid, call->volume), call->cmd,
                          call->type, call->basename);
}

/* --- state ------------------------------------------------------------------------------------ */

unsigned
brick_locks_of_inode (const struct brick *brick, const gfid_t *gfid, const char *domain)
{
    unsigned n = 0;

    for (guint i = 0; i < brick->locks->len; i++) {
        const struct brick_lock *lock = brick->locks->pdata[i];
        n += !lock->of_entry && gfid_equal (&lock->gfid, gfid)
          && strcmp (lock->domain, domain) == 0;
    }
    return n;
}

bool
brick_name_is_locked (const struct brick *brick, const gfid_t *parent, const char *name)
{
    bool found = false;

    for (guint i = 0; i < brick->locks->len; i++) {
        const struct brick_lock *lock = brick->locks->pdata[i];
        found |= lock->of_entry && gfid_equal (&lock->gfid, parent)
              && (!lock->name || strcmp (lock->name, name) == 0);
    }
    return found;
}

void
brick_locks_drop (struct brick *brick, const struct brick_peer *peer)
{
    for (guint i = brick->locks->len; i-- > 0;)
        if (((struct brick_lock *) brick->locks->pdata[i])->peer == peer) {
            g_ptr_array_remove_index (brick->locks, i);
            brick->unlocked = true;
        }
}
