/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The space of subvolumes, and statfs. A new file whose hashed subvolume is nearly full goes to the
 * subvolume with the most free space. In the layout of a new directory the sizes of the ranges
 * follow the sizes of the disks. */
#include "distribute.h"

#include <string.h>
#include <sys/statvfs.h>

#define ASK_AGAIN (10 * 1000000000LL) /* minimum time between two winds of statfs to the
                                       * subvolumes, in nanoseconds */
#define CHUNK (1 << 20)               /* unit of subvolume_space.chunks, in bytes */

void
space_init (xlator_t *this)
{
    dht_private_t *priv = this->private;
    struct space *space = &priv->space;

    pthread_mutex_init (&space->lock, NULL);
    space->of = g_new0 (struct subvolume_space, priv->n);
    space->told_short = g_new0 (bool, priv->n);
    space->told_full = g_new0 (bool, priv->n);
    space->min_free_disk = priv->min_free_disk;
    space->min_free_inodes = priv->min_free_inodes;
}

void
space_fini (dht_private_t *priv)
{
    if (!priv->space.of)
        return;
    pthread_mutex_destroy (&priv->space.lock);
    g_free (priv->space.of);
    g_free (priv->space.told_short);
    g_free (priv->space.told_full);
}

/* --- asking ----------------------------------------------------------------------------------- */

static double
space_percent (uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double) part / (double) whole : 100.0;
}

static struct subvolume_space
space_of_statvfs (const struct statvfs *buf)
{
    const double size = (double) buf->f_blocks * (double) buf->f_frsize;

    return (struct subvolume_space){
        .known = true,
        .free = (double) buf->f_bavail * (double) buf->f_frsize,
        .free_percent = space_percent (buf->f_bavail, buf->f_blocks),
        .free_inodes = space_percent (buf->f_ffree, buf->f_files),
        .chunks = (uint32_t) MIN (size / CHUNK + 1, (double) UINT32_MAX),
    };
}

/* Returns whether a subvolume has less free space, or fewer free inodes, than the options demand.
 * The caller holds space->lock. */
static bool
space_is_short_locked (const struct space *space, unsigned child)
{
    const struct subvolume_space *of = &space->of[child];
    const struct option_share *least = &space->min_free_disk;

    return of->known
        && ((least->percent ? of->free_percent : of->free) < least->amount
            || of->free_inodes < space->min_free_inodes);
}

static void
space_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    struct space *space = &op->priv->space;

    pthread_mutex_lock (&space->lock);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->fan.answers[i].op_ret >= 0) {
            space->of[i] = space_of_statvfs (&op->fan.answers[i].statfs.buf);
            space->told_full[i] &= space_is_short_locked (space, i);
        }
    pthread_mutex_unlock (&space->lock);
    stack_done (frame->root);
}

/* Winds a statfs to all subvolumes, in a request of its own, so that the operation `cause` does not
 * wait for the answers. With "ignore-deem-statfs" a brick answers with the space of its disk, even
 * if the volume has a quota. */
void
space_refresh (struct op *cause)
{
    struct space *space = &cause->priv->space;
    const int64_t now = clock_now ();
    g_autoptr (dict_t) disks = NULL;
    call_frame_t *frame;
    struct op *op;
    loc_t root;
    bool ask;

    pthread_mutex_lock (&space->lock);
    ask = space->asked == 0 || now - space->asked > ASK_AGAIN;
    if (ask)
        space->asked = now;
    pthread_mutex_unlock (&space->lock);
    if (!ask)
        return;
    frame = &stack_new_like (cause->this, cause->frame)->frames[0];
    root = (loc_t){ .inode = itable_root (cause->loc.parent->table) };
    op = op_new (frame, cause->this, sizeof *op, &root, NULL, NULL);
    disks = dict_new ();
    dict_set_u64 (disks, "ignore-deem-statfs", 1);
    step_begin (op, space_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, statfs, &op->loc, disks);
    step_end (op);
}

/* --- deciding --------------------------------------------------------------------------------- */

bool
space_is_short (xlator_t *this, unsigned child)
{
    dht_private_t *priv = this->private;
    struct space *space = &priv->space;
    bool is_short, tell;

    pthread_mutex_lock (&space->lock);
    is_short = space_is_short_locked (space, child);
    tell = is_short && !space->told_short[child];
    space->told_short[child] = is_short;
    pthread_mutex_unlock (&space->lock);
    if (tell)
        gf_log (this, GF_LOG_WARNING,
                "subvolume %s has less free space than min-free-disk, or fewer free inodes than "
                "min-free-inodes: new files go to others",
                priv->children[child]->name);
    return is_short;
}

/* Returns whether subvolume a has more free space than subvolume b, in the unit of min-free-disk:
 * bytes or percent. */
static bool
space_is_larger (const struct space *space, const struct subvolume_space *a,
                 const struct subvolume_space *b)
{
    return space->min_free_disk.percent ? a->free_percent > b->free_percent : a->free > b->free;
}

/* Returns the subvolume for a new file whose hashed subvolume is `child`. If no subvolume has
 * enough space, returns `child`. */
int
space_best (xlator_t *this, unsigned child)
{
    dht_private_t *priv = this->private;
    struct space *space = &priv->space;
    int best = NO_CHILD;

    if (!child_is_leaving (priv, child) && !space_is_short (this, child))
        return (int) child;
    pthread_mutex_lock (&space->lock);
    for (unsigned i = 0; i < priv->n; i++)
        if (!child_is_leaving (priv, i) && child_is_up (priv, i)
            && !space_is_short_locked (space, i)
            && (best == NO_CHILD || space_is_larger (space, &space->of[i], &space->of[best])))
            best = (int) i;
    pthread_mutex_unlock (&space->lock);
    return best == NO_CHILD ? (int) child : best;
}

void
name_no_room (xlator_t *this, loc_t *loc, unsigned child, int op_errno)
{
    dht_private_t *priv = this->private;
    struct space *space = &priv->space;
    bool tell;

    if (op_errno != ENOSPC && op_errno != EDQUOT)
        return;
    pthread_mutex_lock (&space->lock);
    tell = !space->told_full[child];
    space->told_full[child] = true;
    pthread_mutex_unlock (&space->lock);
    if (tell)
        gf_log (this, GF_LOG_WARNING,
                "'%s' can't be made on %s, which has the hash of its name: %s; names with other "
                "hashes can. Remove files there, add bricks, or raise min-free-disk and "
                "min-free-inodes", loc_path (loc), priv->children[child]->name,
                g_strerror (op_errno));
}

uint32_t
space_chunks (xlator_t *this, unsigned child)
{
    dht_private_t *priv = this->private;
    uint32_t chunks;

    pthread_mutex_lock (&priv->space.lock);
    chunks = priv->space.of[child].chunks;
    pthread_mutex_unlock (&priv->space.lock);
    return chunks;
}

/* --- statfs ----------------------------------------------------------------------------------- */

/* Adds the space of another subvolume, `from`, to the sum `to`, in the block size of `to`. */
static void
statvfs_add (struct statvfs *to, const struct statvfs *from)
{
    const double factor = to->f_frsize ? (double) from->f_frsize / (double) to->f_frsize : 1;

    to->f_blocks += (fsblkcnt_t) ((double) from->f_blocks * factor);
    to->f_bfree += (fsblkcnt_t) ((double) from->f_bfree * factor);
    to->f_bavail += (fsblkcnt_t) ((double) from->f_bavail * factor);
    to->f_files += from->f_files;
    to->f_ffree += from->f_ffree;
    to->f_favail += from->f_favail;
    to->f_namemax = MIN (to->f_namemax, from->f_namemax);
}

/* Returns whether a subvolume has answered with the limit and usage of a quota, in place of the
 * space of its disk. A quota is one limit for all subvolumes together, so the numbers of several
 * subvolumes must not be added up. */
static bool
answer_is_of_quota (const struct fan_answer *answer)
{
    uint64_t deemed = 0;

    return answer->op_ret >= 0
        && dict_get_u64 (answer->statfs.xdata, "quota-deem-statfs", &deemed) && deemed != 0;
}

static double
statvfs_used (const struct statvfs *buf)
{
    return ((double) buf->f_blocks - (double) buf->f_bfree) * (double) buf->f_frsize;
}

/* Returns the answer with the largest usage of a quota, or NULL if the volume has no quota. The
 * bricks update the usage at different times, and the largest usage is the newest, unless files
 * were removed. */
static const struct fan_answer *
quota_answer (const struct op *op)
{
    const struct fan_answer *most = NULL;

    for (unsigned i = 0; i < op->priv->n; i++) {
        const struct fan_answer *at = &op->fan.answers[i];

        if (answer_is_of_quota (at)
            && (!most || statvfs_used (&at->statfs.buf) > statvfs_used (&most->statfs.buf)))
            most = at;
    }
    return most;
}

static struct statvfs
statfs_sum (const struct op *op, const struct fan_answer *first)
{
    struct statvfs sum = first->statfs.buf;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (&op->fan.answers[i] != first && op->fan.answers[i].op_ret >= 0)
            statvfs_add (&sum, &op->fan.answers[i].statfs.buf);
    return sum;
}

static void
statfs_answered (call_frame_t *frame)
{
    struct op *op = OP_OF (frame);
    const struct fan_answer *of_quota = quota_answer (op);
    const struct fan_answer *first = of_quota ? of_quota : fan_success (&op->fan);
    struct statvfs buf;

    if (!first) {
        op_fail (op, op->fan.answers[0].op_errno);
        return;
    }
    buf = of_quota ? of_quota->statfs.buf : statfs_sum (op, first);
    STACK_UNWIND (statfs, frame, 0, 0, &buf, first->statfs.xdata);
}

/* Sums the answers of all subvolumes. A file exists on only one of them, so a statfs on a file is
 * wound for the root directory, as in GlusterFS. */
void
dht_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    const bool all_have_it = priv->n == 1 || loc->inode->ia_type == IA_IFDIR;
    loc_t root = { .inode = itable_root (loc->inode->table) };
    struct op *op = op_new (frame, this, sizeof *op, all_have_it ? loc : &root, NULL, xdata);

    step_begin (op, statfs_answered);
    for (unsigned i = 0; i < op->priv->n; i++)
        ASK (op, i, statfs, &op->loc, xdata);
    step_end (op);
}
