/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The order of calls on the data of a file. A server executes many calls at a time, and may execute
 * an earlier write after a later one. Each call that reads or writes data therefore claims its
 * range of bytes (core/data/byte-claims.h), and is sent only after each earlier call with a
 * conflicting claim has its reply. */
#include "client.h"

#include <errno.h>
#include <sys/stat.h>

/* --- contexts of inodes ----------------------------------------------------------------------- */

static void *
client_inode_new (xlator_t *this, inode_t *inode)
{
    struct client_inode *kept = g_new0 (struct client_inode, 1);

    pthread_mutex_init (&kept->lock, NULL);
    byte_claims_init (&kept->claims);
    g_queue_init (&kept->files);
    return kept;
}

static void
client_inode_free (void *data)
{
    struct client_inode *kept = data;

    pthread_mutex_destroy (&kept->lock);
    g_free (kept);
}

struct client_inode *
client_inode_of (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, client_inode_new, client_inode_free);
}

void
client_forget (xlator_t *this, inode_t *inode)
{
    struct client_inode *kept = inode_ctx_get (inode, this);

    if (kept)
        client_inode_free (kept);
}

/* Returns whether the attributes look like those of a linkto of cluster/distribute: an empty
 * regular file with only the sticky bit set. A linkto has the gfid of an object on another brick,
 * and that object may be of any type, so a linkto's type may differ from that of the gfid's
 * inode. */
static bool
iatt_is_linkto (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && buf->ia_prot == S_ISVTX && buf->ia_size == 0;
}

inode_t *
client_inode_of_iatt (inode_t *given, const struct iatt *buf)
{
    g_autoptr (inode_t) known = NULL;

    if (gfid_is_null (&buf->ia_gfid) || buf->ia_type == IA_INVAL)
        return NULL;
    known = gfid_equal (&given->gfid, &buf->ia_gfid) ? inode_ref (given)
                                                     : inode_find (given->table, &buf->ia_gfid);
    if (!known)
        return gfid_is_null (&given->gfid) ? inode_ref (given) : inode_new (given->table);
    return known->ia_type == buf->ia_type || iatt_is_linkto (buf) ? g_steal_pointer (&known) : NULL;
}

/* --- claims ----------------------------------------------------------------------------------- */

void
client_claim (struct client_call *call, const struct client_range *range, bool writes)
{
    if (!call->inode)
        call->inode = inode_ref (range->inode); /* keeps client_inode.lock in memory */
    call->claimed = client_inode_of (call->this, range->inode);
    call->claim = byte_claim_of (range->offset, range->size, writes, call);
}

/* Adds a call whose claim has to wait to client_private_t.held, where client_waits_for finds it. */
static void
call_hold (struct client_call *call)
{
    client_private_t *priv = call->this->private;

    call->held.data = call;
    pthread_mutex_lock (&priv->held_lock);
    call->held_since = clock_now ();
    g_queue_push_tail_link (&priv->held, &call->held);
    pthread_mutex_unlock (&priv->held_lock);
}

static void
call_let_go (struct client_call *call)
{
    client_private_t *priv = call->this->private;

    pthread_mutex_lock (&priv->held_lock);
    g_queue_unlink (&priv->held, &call->held);
    pthread_mutex_unlock (&priv->held_lock);
}

bool
client_claim_enter (struct client_call *call)
{
    struct client_inode *kept = call->claimed;
    bool may_go;

    pthread_mutex_lock (&kept->lock);
    byte_claim_add (&kept->claims, &call->claim);
    may_go = byte_claim_start (&kept->claims, &call->claim);
    if (!may_go)
        call_hold (call);
    pthread_mutex_unlock (&kept->lock);
    return may_go;
}

/* Finds the first waiting call that no longer conflicts with an earlier one, marks its claim as
 * started, and returns the call, for the caller to send. Returns NULL if there is no such call. */
static struct client_call *
claim_next_locked (struct client_inode *kept)
{
    struct byte_claim *claim = byte_claims_start_next (&kept->claims);

    if (!claim)
        return NULL;
    call_let_go (claim->owner);
    return claim->owner;
}

void
client_claim_leave (struct client_call *call)
{
    struct client_inode *kept = call->claimed;
    struct client_call *next;

    pthread_mutex_lock (&kept->lock);
    byte_claim_remove (&kept->claims, &call->claim);
    next = claim_next_locked (kept);
    pthread_mutex_unlock (&kept->lock);
    while (next) {
        client_send_now (next);
        pthread_mutex_lock (&kept->lock);
        next = claim_next_locked (kept);
        pthread_mutex_unlock (&kept->lock);
    }
}
