/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Operations that read. Each goes to one good copy, and if that fails to the next good copy, but
 * never to an accused one. The call is kept, and resumed for each copy.
 */
#include "copies/copies.h"

#include <errno.h>

struct read {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    call_stub_t *stub; /* kept call, to resume for the next copy; or NULL */
    inode_t *inode;    /* object to read, with a reference */
    fd_t *fd;          /* open file of the call, with a reference; or NULL */
    copies_t tried;    /* copies that were asked */
    bool refreshed, opened; /* whether a refresh, and a reopen of `fd`, were done for this read */
    int error;         /* last errno of a copy or of the refresh, or 0 */
    int64_t begin;     /* time when the last copy was asked, by clock_now */
    bool without_rights; /* whether owner and mode on the last copy asked are not good */
    struct fan_out fan;  /* answers to a stat that goes to two copies (stat_of_two) */
    int two[2];          /* numbers of these copies: one with good data, one with good attributes */
};

static void
read_drop (void *local)
{
    struct read *read = local;

    if (read->stub)
        call_stub_destroy (read->stub);
    fan_clear (&read->fan);
    inode_unref (read->inode);
    fd_unref (read->fd);
}

static struct read *
reading_new (const struct call *call)
{
    struct read *read = frame_local_new (call->frame, sizeof *read);

    read->head.drop = read_drop;
    read->this = call->this;
    read->frame = call->frame;
    read->inode = inode_ref (call->fd ? call->fd->inode : call->loc->inode);
    read->fd = fd_ref (call->fd);
    return read;
}

/* --- choosing --------------------------------------------------------------------------------- */

/* Returns the good copies that can be asked. A read of attributes needs a copy with good data, too,
 * since size and times change with the data. */
static copies_t
read_good (const struct read *read, const struct call *call, const struct readable *readable)
{
    copies_t good = readable->data & readable->metadata;

    if (call->op == FOP_access || call->op == FOP_getxattr || call->op == FOP_fgetxattr)
        good = readable->metadata;
    else if (!good)
        good = readable->data;
    return good & children_up (read->this->private) & ~read->tried;
}

/* --- preparing -------------------------------------------------------------------------------- */

static void
read_resume (void *data)
{
    struct read *read = data;

    call_resume (g_steal_pointer (&read->stub));
}

static void
read_refreshed (void *data, int error)
{
    struct read *read = data;

    read->refreshed = true;
    if (error)
        read->error = error;
    read_resume (data);
}

/* Returns true if the read can go to a copy. Otherwise keeps the call, and resumes it after a
 * refresh or a reopen. */
static bool
read_is_prepared (struct read *read, const struct call *call, bool fresh)
{
    const bool open = read->fd && !read->opened
        && children_up (read->this->private) & ~fd_opened (read->this, read->fd);

    if ((fresh || read->refreshed) && !open)
        return true;
    read->stub = call_keep (call);
    if (!read->stub) {
        call_fail (call, ENOMEM);
    } else if (!fresh && !read->refreshed) {
        inode_refresh (read->this, read->inode, read_refreshed, read);
    } else {
        read->opened = true;
        fd_prepare (read->this, read->fd, read_resume, read);
    }
    return false;
}

/* --- asking ----------------------------------------------------------------------------------- */

static int
reading_error (const struct read *read, const struct readable *readable)
{
    if (readable->found && (!readable->data || !readable->metadata))
        return EIO;
    return read->error ? read->error : ENOTCONN;
}

static void
read_ask (struct read *read, const struct call *call, int child)
{
    replicate_t *priv = read->this->private;

    read->tried |= COPY (child);
    read->begin = clock_now ();
    read->stub = call_keep (call);
    __atomic_add_fetch (&priv->pending_reads[child], 1, __ATOMIC_RELAXED);
    call_wind (call, priv->children[child], GINT_TO_POINTER (child));
}

/* Handles the failure of a copy in stat_of_two. If the error concerns one copy only, asks another
 * copy in its place; else fails the call. */
static void
stat_of_two_failed (struct read *read)
{
    replicate_t *priv = read->this->private;
    const copies_t before = read->tried;

    for (unsigned i = 0; i < 2; i++) {
        const struct fan_answer *at = &read->fan.answers[i];

        if (at->op_ret < 0 && error_is_of_copy (at->op_errno))
            read->tried |= COPY (read->two[i]);
    }
    read->error = copies_error (&read->fan);
    if (read->tried == before || !read->stub) {
        frame_fail (read->frame, read->error);
        return;
    }
    __atomic_add_fetch (&priv->numbers.failovers, 1, __ATOMIC_RELAXED);
    fan_clear (&read->fan);
    read_resume (read);
}

static void
stat_of_two_done (call_frame_t *frame)
{
    struct read *read = frame->local;
    struct fan_answer *answers = read->fan.answers;
    struct iatt buf;

    if (fan_successes (&read->fan) < 2) {
        stat_of_two_failed (read);
    } else if (read->fd) {
        buf = answers[0].fstat.buf;
        iatt_take_rights (&buf, &answers[1].fstat.buf);
        STACK_UNWIND (fstat, frame, 0, 0, &buf, answers[0].fstat.xdata);
    } else {
        buf = answers[0].stat.buf;
        iatt_take_rights (&buf, &answers[1].stat.buf);
        STACK_UNWIND (stat, frame, 0, 0, &buf, answers[0].stat.xdata);
    }
}

/* Asks two copies for a stat, since no copy has both good data and good attributes. Copy `data`
 * gives size and times, copy `metadata` gives owner and mode. */
static void
stat_of_two (struct read *read, const struct call *call, int data, int metadata)
{
    replicate_t *priv = read->this->private;
    xlator_t *const two[2] = { priv->children[data], priv->children[metadata] };

    read->two[0] = data;
    read->two[1] = metadata;
    read->stub = call_keep (call);
    fan_init (&read->fan, read->frame, 2);
    fan_begin (&read->fan, stat_of_two_done);
    for (unsigned i = 0; i < 2; i++)
        if (read->fd)
            FAN_WIND (&read->fan, i, two[i], fstat, read->fd, call->xdata);
        else
            FAN_WIND (&read->fan, i, two[i], stat, call->loc, call->xdata);
    fan_end (&read->fan);
}

/* Sends the call to `child`, a copy with good data. If its attributes are not good, a stat also
 * needs owner and mode from a copy with good attributes, and fails if all of those have failed. */
static void
read_from (struct read *read, const struct call *call, const struct readable *readable, int child)
{
    replicate_t *priv = read->this->private;
    const copies_t metadata = readable->metadata & children_up (priv) & ~read->tried
                            & (read->fd ? fd_opened (read->this, read->fd) : copies_all (priv->n));
    const bool stat = call->op == FOP_stat || call->op == FOP_fstat;

    read->without_rights = !(readable->metadata & COPY (child));
    if (stat && read->without_rights && metadata)
        stat_of_two (read, call, child, choose_copy (priv, metadata, read->inode));
    else if (stat && read->without_rights && readable->metadata & read->tried)
        call_fail (call, reading_error (read, readable));
    else
        read_ask (read, call, child);
}

void
read_any_fop (const struct call *call)
{
    replicate_t *priv = call->this->private;
    struct read *read = call->frame->local;
    struct readable readable;
    copies_t candidates;
    bool fresh;
    int child;

    if (!read)
        read = reading_new (call);
    if (!children_quorum (priv, children_up (priv))) {
        call_fail (call, ENOTCONN);
        return;
    }
    /* If no good copy can be read, a refresh is needed, too, since it may find others. For example,
     * a lookup during a write found only one good copy, and its child has gone down since. */
    fresh = inode_is_fresh (call->this, read->inode, &readable)
         && read_good (read, call, &readable) != 0;
    if (!read_is_prepared (read, call, fresh))
        return;
    candidates = read_good (read, call, &readable);
    if (read->fd)
        candidates &= fd_opened (call->this, read->fd);
    child = candidates ? choose_copy (priv, candidates, read->inode) : -1;
    if (child >= 0)
        read_from (read, call, &readable, child);
    else
        call_fail (call, reading_error (read, &readable));
}

bool
error_is_of_copy (int error)
{
    return error == ENOTCONN || error == EIO || error == ESTALE || error == ENOENT
        || error == EBADFD || error == EBADF || error == ETIMEDOUT;
}

static void
read_measure (replicate_t *priv, int child, int64_t took)
{
    const uint64_t before = __atomic_load_n (&priv->latency[child], __ATOMIC_RELAXED);

    __atomic_sub_fetch (&priv->pending_reads[child], 1, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->latency[child], before - before / 8 + (uint64_t) took / 8,
                      __ATOMIC_RELAXED);
}

/* Answers a readv or readlink without the attributes of the file, since the owner and mode of this
 * copy are not good. */
static void
answer_bytes (const struct answer *answer)
{
    const struct readlink_answer *link = answer->rets;

    if (answer->op == FOP_readv)
        STACK_UNWIND (readv, answer->frame, answer->op_ret, answer->op_errno, answer->vector,
                      answer->count, NULL, answer->iobref, answer->xdata);
    else
        STACK_UNWIND (readlink, answer->frame, answer->op_ret, answer->op_errno, link->path, NULL,
                      answer->xdata);
}

void
read_any_fop_cbk (const struct answer *answer)
{
    replicate_t *priv = answer->this->private;
    struct read *read = answer->frame->local;
    const int child = GPOINTER_TO_INT (answer->cookie);

    read_measure (priv, child, clock_now () - read->begin);
    if (answer->op_ret < 0 && error_is_of_copy (answer->op_errno) && read->stub) {
        __atomic_add_fetch (&priv->numbers.failovers, 1, __ATOMIC_RELAXED);
        read->error = answer->op_errno;
        read_resume (read);
        return;
    }
    if (read->without_rights && answer->op_ret >= 0
        && (answer->op == FOP_readv || answer->op == FOP_readlink))
        answer_bytes (answer);
    else
        answer_pass (answer);
}

/* --- statfs ----------------------------------------------------------------------------------- */

struct statfs_all {
    struct replicate_local head;
    struct fan_out fan;
};

static void
statfs_drop (void *local)
{
    fan_clear (&((struct statfs_all *) local)->fan);
}

/* Answers a statfs with the values of the copy that has the least free space: each copy must store
 * everything. */
static void
statfs_done (call_frame_t *frame)
{
    struct statfs_all *all = frame->local;
    const struct fan_answer *least = NULL;

    for (unsigned i = 0; i < all->fan.n; i++) {
        const struct fan_answer *at = &all->fan.answers[i];

        if (at->op == FOP_NONE || at->op_ret < 0)
            continue;
        if (!least
            || (__uint128_t) at->statfs.buf.f_bavail * at->statfs.buf.f_frsize
                   < (__uint128_t) least->statfs.buf.f_bavail * least->statfs.buf.f_frsize)
            least = at;
    }
    if (least)
        STACK_UNWIND (statfs, frame, 0, 0, (struct statvfs *) &least->statfs.buf,
                      least->statfs.xdata);
    else
        frame_fail (frame, copies_error (&all->fan));
}

void
replicate_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    replicate_t *priv = this->private;
    copies_t up = children_up (priv);
    struct statfs_all *all;

    if (!children_quorum (priv, up)) {
        frame_fail (frame, ENOTCONN);
        return;
    }
    if (copies_with_data (priv, up))
        up = copies_with_data (priv, up);
    all = frame_local_new (frame, sizeof *all);
    all->head.drop = statfs_drop;
    fan_init (&all->fan, frame, priv->n);
    fan_begin (&all->fan, statfs_done);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&all->fan, i, priv->children[i], statfs, loc, xdata);
    fan_end (&all->fan);
}
