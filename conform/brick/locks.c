/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Locks of the file system's own parts, which belong to a connection and an owner. A call that
 * waits for one is parked again when a lock goes. */
#include "conform/brick/request.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { WIRE_SETLK = 1, WIRE_SETLKW = 2 };
enum { WIRE_WRLCK = 1, WIRE_UNLCK = 2 };

struct lock {
    const struct peer *peer;
    uint64_t owner;
    gfid_t gfid;
    char *domain;
    bool of_entry, writes;
    char *name;     /* of_entry: NULL: all names */
    off_t from, to; /* else; to: the first byte behind it */
};

void
lock_free (void *data)
{
    struct lock *lock = data;

    g_free (lock->domain);
    g_free (lock->name);
    g_free (lock);
}

static bool
lock_is_beside (const struct lock *a, const struct lock *b)
{
    return a->of_entry == b->of_entry && gfid_equal (&a->gfid, &b->gfid)
        && strcmp (a->domain, b->domain) == 0;
}

static bool
lock_has_owner_of (const struct lock *a, const struct lock *b)
{
    return a->peer == b->peer && a->owner == b->owner;
}

static bool
lock_conflicts (const struct lock *a, const struct lock *b)
{
    if (!lock_is_beside (a, b) || lock_has_owner_of (a, b) || !(a->writes || b->writes))
        return false;
    return a->of_entry ? !a->name || !b->name || strcmp (a->name, b->name) == 0
                       : a->from < b->to && b->from < a->to;
}

static bool
lock_is_same (const struct lock *a, const struct lock *b)
{
    return lock_is_beside (a, b) && lock_has_owner_of (a, b)
        && g_strcmp0 (a->name, b->name) == 0 && a->from == b->from && a->to == b->to;
}

static int
lock_take (struct request *q, struct lock *lock, bool waits)
{
    GPtrArray *locks = q->brick->locks;

    for (guint i = 0; i < locks->len; i++)
        if (lock_conflicts (locks->pdata[i], lock)) {
            q->waits = waits;
            lock_free (lock);
            return -EAGAIN;
        }
    g_ptr_array_add (locks, lock);
    return 0;
}

static int
lock_drop (struct request *q, struct lock *lock)
{
    GPtrArray *locks = q->brick->locks;
    int r = -EINVAL;

    for (guint i = 0; r < 0 && i < locks->len; i++)
        if (lock_is_same (locks->pdata[i], lock)) {
            g_ptr_array_remove_index (locks, i);
            q->brick->unlocked = true;
            r = 0;
        }
    lock_free (lock);
    return r;
}

/* --- calls ------------------------------------------------------------------------------------ */

static struct lock *
lock_new (struct request *q, bool of_entry, bool by_fd)
{
    struct lock *lock = g_new0 (struct lock, 1);

    lock->peer = q->peer;
    lock->owner = q->client->lk_owner;
    lock->gfid = get_gfid (q);
    lock->of_entry = of_entry;
    if (by_fd)
        xdr_get_u64 (&q->in);
    return lock;
}

static void
inodelk (struct request *q, bool by_fd)
{
    struct lock *lock = lock_new (q, false, by_fd);
    const uint32_t cmd = xdr_get_u32 (&q->in), type = xdr_get_u32 (&q->in);
    struct gf_flock range;

    get_flock (&q->in, &range);
    lock->domain = xdr_get_string (&q->in, PATH_MAX);
    lock->writes = type == WIRE_WRLCK;
    lock->from = range.l_start;
    lock->to = range.l_len > 0 ? range.l_start + range.l_len : INT64_MAX;
    put_result (q, type == WIRE_UNLCK ? lock_drop (q, lock)
                                      : lock_take (q, lock, cmd == WIRE_SETLKW), NULL);
}

void
serve_inodelk (struct request *q)
{
    inodelk (q, false);
}

void
serve_finodelk (struct request *q)
{
    inodelk (q, true);
}

static void
entrylk (struct request *q, bool by_fd)
{
    struct lock *lock = lock_new (q, true, by_fd);
    const uint32_t cmd = xdr_get_u32 (&q->in), type = xdr_get_u32 (&q->in);
    const bool named = xdr_get_u64 (&q->in) > 0;
    char *name = xdr_get_string (&q->in, WIRE_NAME_MAX);

    lock->name = named ? g_steal_pointer (&name) : NULL;
    g_free (name);
    lock->domain = xdr_get_string (&q->in, PATH_MAX);
    lock->writes = type == ENTRYLK_WRLCK;
    put_result (q, cmd == ENTRYLK_UNLOCK ? lock_drop (q, lock)
                                         : lock_take (q, lock, cmd == ENTRYLK_LOCK), NULL);
}

void
serve_entrylk (struct request *q)
{
    entrylk (q, false);
}

void
serve_fentrylk (struct request *q)
{
    entrylk (q, true);
}

/* --- state ------------------------------------------------------------------------------------ */

unsigned
locks_of_inode (const struct brick *brick, const gfid_t *gfid, const char *domain)
{
    unsigned n = 0;

    for (guint i = 0; i < brick->locks->len; i++) {
        const struct lock *lock = brick->locks->pdata[i];
        n += !lock->of_entry && gfid_equal (&lock->gfid, gfid)
          && strcmp (lock->domain, domain) == 0;
    }
    return n;
}

bool
name_is_locked (const struct brick *brick, const gfid_t *parent, const char *name)
{
    bool found = false;

    for (guint i = 0; i < brick->locks->len; i++) {
        const struct lock *lock = brick->locks->pdata[i];
        found |= lock->of_entry && gfid_equal (&lock->gfid, parent)
              && (!lock->name || strcmp (lock->name, name) == 0);
    }
    return found;
}

void
locks_drop (struct brick *brick, const struct peer *peer)
{
    for (guint i = brick->locks->len; i-- > 0;)
        if (((struct lock *) brick->locks->pdata[i])->peer == peer) {
            g_ptr_array_remove_index (brick->locks, i);
            brick->unlocked = true;
        }
}
