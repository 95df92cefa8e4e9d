/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One daemon at a time uses an upper and a work directory. It locks two files: "lock" in the work
 * directory, and "NAME.lock" beside the upper NAME; so a daemon that shares only one of the two
 * with another is refused, too.
 *
 * At a reload the graph that comes claims the directories while the graph that goes has them. Both
 * stay locked as long as one of the graphs lives, as each has a byte of its own in the files: the
 * first graph locks the whole file, which fails if any other daemon has a byte, and keeps byte 0.
 * The graphs after it lock byte 1, 2, ...
 */
#include "../overlay.h"

#define CLAIM_TRIES 3 /* times for which a lock file may be replaced between open and lock */

/* gfid of a lock file -> uint64_t: the last byte that a graph of this process has locked. */
struct overlay_claims {
    struct shared shared;
    pthread_mutex_t lock;
    GHashTable *bytes;
};

static void
claims_free (void *value)
{
    struct overlay_claims *claims = value;

    g_hash_table_unref (claims->bytes);
    pthread_mutex_destroy (&claims->lock);
    g_free (claims);
}

struct shared *
overlay_claims_new (void)
{
    struct overlay_claims *claims = g_new0 (struct overlay_claims, 1);

    claims->shared = (struct shared){ 1, claims_free };
    pthread_mutex_init (&claims->lock, NULL);
    claims->bytes = g_hash_table_new_full (gfid_hash, gfid_same, g_free, g_free);
    return &claims->shared;
}

/* Returns the byte for a further graph of this process; 0: none has locked the file yet. */
static off_t
claims_next (struct overlay_claims *claims, const gfid_t *gfid)
{
    off_t next = 0;
    off_t *last;

    pthread_mutex_lock (&claims->lock);
    last = g_hash_table_lookup (claims->bytes, gfid);
    if (last)
        next = ++*last;
    pthread_mutex_unlock (&claims->lock);
    return next;
}

static void
claims_add (struct overlay_claims *claims, const gfid_t *gfid)
{
    pthread_mutex_lock (&claims->lock);
    g_hash_table_replace (claims->bytes, g_memdup2 (gfid, sizeof *gfid), g_new0 (off_t, 1));
    pthread_mutex_unlock (&claims->lock);
}

/* --- one file --------------------------------------------------------------------------------- */

static bool
claim_has_no_locks (int r)
{
    return r == -ENOSYS || r == -EOPNOTSUPP || r == -ENOLCK;
}

static int
claim_whole (struct overlay_act *act, fd_t *fd)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    int r = sync_lock_set (client, fd, F_WRLCK, 0, 0);

    if (r < 0)
        return r;
    claims_add ((struct overlay_claims *) overlay_priv (act->this)->claims, &fd->inode->gfid);
    if (!xlator_is_read_only (act->this))
        sync_lock_sign (client, fd);
    return sync_lock_set (client, fd, F_UNLCK, 1, 0);
}

/* Returns 0; or a negative errno: -EAGAIN and the holder if another daemon has the lock. */
static int
claim_open_file (struct overlay_act *act, const struct overlay_claim *claim, fd_t *fd,
                 char **ret_holder, bool *ret_first)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    struct overlay_claims *claims = (struct overlay_claims *) overlay_priv (act->this)->claims;
    const off_t byte = claims_next (claims, &fd->inode->gfid);
    int r = byte > 0 ? sync_lock_set (client, fd, F_WRLCK, byte, 1) : claim_whole (act, fd);

    *ret_first = byte == 0;
    if (r == -EAGAIN)
        *ret_holder = sync_lock_holder (client, fd);
    if (r == 0 && !sync_lock_counts (client, claim->directory, claim->name, fd))
        r = -ESTALE;
    return r;
}

int
overlay_claim (struct overlay_act *act, const struct overlay_claim *claim, fd_t **ret_fd,
               char **ret_holder, bool *ret_first)
{
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    const bool makes = !xlator_is_read_only (act->this);
    int r = -ESTALE;

    for (int try = 0; r == -ESTALE && try < CLAIM_TRIES; try++) {
        g_autoptr (fd_t) fd = NULL;

        r = makes ? sync_lock_make (client, claim->directory, claim->name) : 0;
        if (r == 0 || r == -EEXIST)
            r = sync_lock_open (client, overlay_fds (act, OVERLAY_UPPER), claim->directory,
                                claim->name, &fd);
        if (r == 0)
            r = claim_open_file (act, claim, fd, ret_holder, ret_first);
        if (r == 0)
            *ret_fd = g_steal_pointer (&fd);
    }
    if (!makes && (r == -ENOENT || r == -EROFS || r == -EACCES))
        return 0; /* no lock file, or none that this daemon may lock */
    if (!claim_has_no_locks (r))
        return r;
    gf_log (act->this, GF_LOG_WARNING,
            "volume '%s' has no locks (%s): nothing hinders another daemon from using the same "
            "upper", overlay_priv (act->this)->layers[OVERLAY_UPPER].xlator->name,
            g_strerror (-r));
    return 0;
}
