/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An operation that changes something: the checks before its transaction, and the result from the
 * answers of the copies. */
#include "changes.h"

#include <errno.h>

/* The least time between two messages about failed changes on one copy, in nanoseconds. */
#define FAILURE_LOGGED_EVERY ((int64_t) 60 * 1000000000)

/* --- making ----------------------------------------------------------------------------------- */

static void
changing_drop (void *local)
{
    struct changing *op = local;

    if (op->stub)
        call_stub_destroy (op->stub);
    fan_clear (&op->fan);
    for (int i = 0; i < 2; i++) {
        inode_unref (op->subject[i]);
        g_free (op->entry[i]);
    }
    for (unsigned i = 0; i < op->n_locks; i++) {
        inode_unref (op->locks[i].inode);
        g_free (op->locks[i].name);
    }
    inode_unref (op->object);
    inode_unref (op->emptied);
    fd_unref (op->fd);
}

struct changing *
changing_new (call_frame_t *frame, xlator_t *this, enum fop fop, enum counter_kind kind,
              inode_t *inode)
{
    struct changing *op = frame_local_new (frame, sizeof *op);

    op->head.drop = changing_drop;
    op->this = this;
    op->frame = frame;
    op->fop = fop;
    op->kind = kind;
    op->subject[0] = inode_ref (inode);
    fan_init (&op->fan, frame, ((replicate_t *) this->private)->n);
    return op;
}

void
changing_lock (struct changing *op, inode_t *inode, bool entry, const char *name)
{
    g_assert (op->n_locks < LOCKS_MAX);
    op->locks[op->n_locks++] = (struct lockee){ inode_ref (inode), entry, g_strdup (name), 0 };
}

void
changing_empties (struct changing *op, inode_t *directory)
{
    op->emptied = inode_ref (directory);
    changing_lock (op, directory, true, NULL);
}

/* --- before the transaction ------------------------------------------------------------------- */

static inode_t *
changing_to_check (const struct changing *op, unsigned i)
{
    return i < 2 ? op->subject[i] : op->emptied;
}

static void changing_check (struct changing *op);

static void
changing_refreshed (void *data, int error)
{
    struct changing *op = data;

    if (error && op->checked < 2) {
        changing_fail (op, error);
        return;
    }
    op->checked++;
    changing_check (op);
}

static void
changing_opened (void *data)
{
    struct changing *op = data;

    if (op->kind == COUNTER_DATA)
        eager_begin (op);
    else
        txn_begin (txn_new (op->this, op));
}

/* Returns 0 if each subject has a good copy whose child is up, else an errno. A change that reaches
 * only accused copies would make a split brain. */
static int
changing_copies_error (struct changing *op)
{
    const copies_t up = children_up (op->this->private);
    struct readable readable;

    for (int i = 0; i < 2 && op->subject[i]; i++) {
        copies_t good;

        inode_good (op->this, op->subject[i], &readable);
        good = copies_with_data (op->this->private, op->kind == COUNTER_METADATA
                                                        ? readable.metadata
                                                        : readable.data);
        if (i == 0)
            op->readable = readable;
        if (!good && readable.found)
            return EIO;
        if (!(good & up))
            return ENOTCONN;
    }
    return 0;
}

static void
changing_check (struct changing *op)
{
    struct readable readable;
    int error;

    for (; op->checked < 3; op->checked++) {
        inode_t *inode = changing_to_check (op, op->checked);

        if (inode && !inode_is_fresh (op->this, inode, &readable)) {
            inode_refresh (op->this, inode, changing_refreshed, op);
            return;
        }
    }
    error = changing_copies_error (op);
    if (error)
        changing_fail (op, error);
    else if (op->fd)
        fd_prepare (op->this, op->fd, changing_opened, op);
    else
        changing_opened (op);
}

void
changing_begin (struct changing *op, call_stub_t *stub)
{
    replicate_t *priv = op->this->private;

    op->stub = stub;
    op->generation = children_generation (priv);
    if (!stub)
        changing_fail (op, ENOMEM);
    else if (!children_quorum (priv, children_up (priv)))
        changing_fail (op, ENOTCONN);
    else
        changing_check (op);
}

/* --- running ---------------------------------------------------------------------------------- */

static void
changing_finish (struct changing *op)
{
    if (op->kind == COUNTER_DATA)
        eager_op_done (op);
    else
        txn_op_done (op->txn, op);
}

/* Returns the copies to which an operation goes. An operation that removes or replaces a directory
 * goes only to the copies that have all its names, if they are a quorum. A copy that lacks names
 * might remove the directory although the others refuse, since it isn't empty there. A directory
 * that is later made under that name would be another object on that copy. The healer removes the
 * directory from such a copy instead. */
static copies_t
changing_able (const struct changing *op, copies_t children)
{
    struct readable readable;

    if (!op->emptied)
        return children;
    inode_is_fresh (op->this, op->emptied, &readable);
    return children_quorum (op->this->private, children & readable.data)
             ? children & readable.data
             : children;
}

/* Resumes the call, which goes to the copies in `children`. A copy on which the file is not open
 * counts as failed. */
void
changing_run (struct changing *op, copies_t children)
{
    replicate_t *priv = op->this->private;
    const copies_t opened = op->fd ? fd_opened (op->this, op->fd) : changing_able (op, children);

    op->children = children & opened;
    op->failed = children & ~opened;
    if (children_quorum (priv, op->children)) {
        call_resume (g_steal_pointer (&op->stub));
        return;
    }
    op->failed = 0;
    op->op_ret = -1;
    op->op_errno = ENOTCONN;
    changing_finish (op);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns whether copies i and j have made, opened or renamed different objects. This happens if
 * one of them needs a heal, and has an old object under the name. */
static bool
objects_differ (const struct changing *op, unsigned i, unsigned j)
{
    return (op->makes || op->fop == FOP_rename)
        && !gfid_equal (&fan_seen (&op->fan, i).buf->ia_gfid,
                        &fan_seen (&op->fan, j).buf->ia_gfid);
}

static copies_t
changing_good (const struct changing *op)
{
    return op->kind == COUNTER_METADATA ? op->readable.metadata : op->readable.data;
}

/* Returns the copies that succeeded and changed the same object. If copies changed different
 * objects, returns those of the object that most good copies changed. */
static copies_t
changing_agreed (const struct changing *op)
{
    const copies_t good = changing_good (op);
    copies_t agreed = 0;

    for (unsigned i = 0; i < op->fan.n; i++) {
        copies_t same = 0;

        for (unsigned j = 0; op->succeeded & COPY (i) && j < op->fan.n; j++)
            if (op->succeeded & COPY (j) && !objects_differ (op, i, j))
                same |= COPY (j);
        if (!agreed || copies_count (same & good) > copies_count (agreed & good))
            agreed = same;
    }
    return agreed;
}

/* Moves copies from `succeeded` to `failed` that wrote fewer bytes than another copy, or changed
 * another object than the best copy. The arbiter's number of bytes is ignored, since it gets only
 * one byte of each write. */
static void
changing_compare (struct changing *op)
{
    const replicate_t *priv = op->this->private;
    int32_t most = 0;

    for (unsigned i = 0; i < op->fan.n; i++)
        if (op->succeeded & COPY (i) && (int) i != priv->arbiter)
            most = MAX (most, op->fan.answers[i].op_ret);
    for (unsigned i = 0; i < op->fan.n; i++) {
        if (!(op->succeeded & COPY (i)))
            continue;
        if ((op->fop == FOP_writev && (int) i != priv->arbiter
             && op->fan.answers[i].op_ret < most)
            || objects_differ (op, i, (unsigned) op->best)) {
            op->succeeded &= ~COPY (i);
            op->failed |= COPY (i);
        }
    }
    op->op_ret = op->fan.answers[op->best].op_ret;
}

/* Returns whether all good copies refused the operation, so that no good copy has changed. The
 * answer of an accused copy is ignored, even a success: its names may be old, and it needs a heal.
 * The errnos of the copies may differ, unless one of them is EIO: a copy may fail with EIO after it
 * has done a part of the change. */
static bool
changing_is_refused (const struct changing *op)
{
    const copies_t good = changing_good (op) & op->children, asked = good ? good : op->children;
    int error = 0;

    for (unsigned i = 0; i < op->fan.n; i++) {
        const struct fan_answer *at = &op->fan.answers[i];

        if (!(asked & COPY (i)))
            continue;
        if (at->op_ret >= 0 || at->op_errno == ENOTCONN || at->op_errno == ETIMEDOUT
            || (error && at->op_errno != error && (at->op_errno == EIO || error == EIO)))
            return false;
        error = at->op_errno;
    }
    return true;
}

/* Returns the best copy in the set `good`. Prefers copies with good data and good metadata, since
 * the answer contains attributes of both kinds. */
static int
changing_choose (const struct changing *op, copies_t good)
{
    const copies_t whole = good & op->readable.data & op->readable.metadata;

    return choose_copy (op->this->private, whole ? whole : good, op->subject[0]);
}

/* Returns the errno of an operation that all good copies refused. */
static int
changing_refusal (const struct changing *op)
{
    const copies_t good = changing_good (op) & op->children;

    return good ? op->fan.answers[copies_first (good)].op_errno : copies_error (&op->fan);
}

/* Returns whether a quorum of good copies lacks the object. This happens if another client removes
 * it at the same time: that client locks only its name, not the object. */
static bool
changing_is_gone (const struct changing *op)
{
    copies_t gone = 0;

    for (unsigned i = 0; i < op->fan.n; i++)
        if (op->failed & changing_good (op) & COPY (i)
            && (op->fan.answers[i].op_errno == ENOENT || op->fan.answers[i].op_errno == ESTALE))
            gone |= COPY (i);
    return children_quorum (op->this->private, gone);
}

/* Returns the errno of an operation that succeeded on too few copies. If it succeeded on a copy,
 * the object exists, and copies that fail with ENOENT need a heal; so ENOTCONN takes the place of
 * ENOENT. If a quorum of good copies lacks the object, it has been removed, and ENOENT stays. */
static int
changing_error (const struct changing *op)
{
    const int error = op->failed ? copies_error (&op->fan) : EIO;

    if (op->succeeded && (error == ENOENT || error == ESTALE) && !changing_is_gone (op))
        return ENOTCONN;
    return error;
}

/* Sets succeeded, failed, best, op_ret and op_errno of the operation from the answers. */
static void
changing_judge (struct changing *op)
{
    replicate_t *priv = op->this->private;
    copies_t good;

    op->op_ret = -1;
    if (changing_is_refused (op)) {
        op->failed = 0;
        op->op_errno = changing_refusal (op);
        return;
    }
    op->succeeded = fan_succeeded (&op->fan);
    op->failed |= op->children & ~op->succeeded;
    good = changing_agreed (op) & changing_good (op);
    if (good)
        op->best = changing_choose (op, good);
    else
        op->best = copies_first (changing_agreed (op));
    if (op->succeeded)
        changing_compare (op);
    if (!good || !children_quorum (priv, op->succeeded)) {
        op->op_ret = -1;
        op->op_errno = changing_error (op);
    }
}

/* Returns whether an error shows a fault of the brick, which must be logged. Other errors come from
 * changes that the copy missed earlier, and the changelog records those. */
static bool
error_is_of_disk (int error)
{
    return error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO;
}

static bool
failure_must_be_logged (const struct changing *op, unsigned i)
{
    replicate_t *priv = op->this->private;
    const struct fan_answer *answer = &op->fan.answers[i];
    const int64_t now = clock_now ();
    int64_t last = __atomic_load_n (&priv->failure_logged[i], __ATOMIC_RELAXED);

    return op->failed & COPY (i) && answer->op_ret < 0 && error_is_of_disk (answer->op_errno)
        && (!last || now - last >= FAILURE_LOGGED_EVERY)
        && __atomic_compare_exchange_n (&priv->failure_logged[i], &last, now, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void
changing_log_failures (const struct changing *op)
{
    const replicate_t *priv = op->this->private;

    for (unsigned i = 0; op->succeeded && i < op->fan.n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];
        g_autofree char *path = NULL;

        if (!failure_must_be_logged (op, i))
            continue;
        path = inode_path (op->subject[0], NULL);
        gf_log (op->this, GF_LOG_WARNING,
                "%s in '%s' failed on %s: %s; other copies have the change, and accuse this one: "
                "correct the cause on the brick, then run 'windlass heal MOUNTPOINT PATH' for each "
                "path that changed (this is logged once a minute)",
                fop_name (op->fop), path, priv->names[i], g_strerror (answer->op_errno));
    }
}

/* Records which copies have a new object. If some lack it, links its inode into the table of
 * inodes: the transaction addresses the object by its gfid to change its changelog. */
static void
changing_note_made (struct changing *op)
{
    const replicate_t *priv = op->this->private;
    struct answer made;

    if (!op->makes || op->op_ret < 0)
        return;
    made = fan_seen (&op->fan, (unsigned) op->best);
    inode_made (op->this, made.inode, made.buf->ia_type, op->succeeded, op->generation);
    if (op->succeeded == copies_all (priv->n))
        return;
    op->txn->made = inode_link (made.inode, NULL, NULL, made.buf);
    op->txn->made_type = made.buf->ia_type;
    op->txn->made_on = op->succeeded;
}

static void
changing_note (struct changing *op)
{
    replicate_t *priv = op->this->private;

    for (int i = 0; i < 2 && op->subject[i] && op->failed; i++)
        inode_missed (op->this, op->subject[i], op->kind, op->failed, &op->txn->missed[i]);
    if (op->failed) {
        __atomic_add_fetch (&priv->numbers.accusations, 1, __ATOMIC_RELAXED);
        changing_log_failures (op);
    }
    changing_note_made (op);
}

/* Returns the attributes that the object has after the operation, from the answer of a copy in the
 * set; that copy is the best one if the set has it. NULL: answers of this operation have none. */
static struct iatt *
changing_post (const struct changing *op, copies_t copies)
{
    const int copy = copies & COPY (op->best) ? op->best : copies_first (copies);
    const struct answer seen = fan_seen (&op->fan, (unsigned) copy);

    return seen.post ? seen.post : seen.buf;
}

/* Corrects the attributes in the answer of the best copy, if its data or metadata are not good.
 * They are then taken from a copy where both are good. If there is none, size and times are those
 * of a copy with good data, and owner and mode are those of a copy with good metadata. */
static void
changing_complete (struct changing *op)
{
    struct readable readable = op->readable;
    const struct iatt *size, *rights;
    copies_t data, metadata, both;

    if (op->op_ret < 0 || op->makes
        || (op->object && !inode_is_fresh (op->this, op->object, &readable)))
        return;
    data = op->succeeded & readable.data;
    metadata = op->succeeded & readable.metadata;
    both = data & metadata;
    if (!data || !metadata || both & COPY (op->best))
        return;
    size = changing_post (op, both ? both : data);
    rights = changing_post (op, both ? both : metadata);
    if (size && rights) {
        struct iatt whole = *size;

        iatt_take_rights (&whole, rights);
        *changing_post (op, COPY (op->best)) = whole;
    }
}

void
changing_done (call_frame_t *frame)
{
    struct changing *op = frame->local;

    changing_judge (op);
    changing_complete (op);
    changing_note (op);
    changing_finish (op);
}

void
changing_fail (struct changing *op, int error)
{
    op->op_ret = -1;
    op->op_errno = error;
    changing_answer (op);
}

void
changing_answer (struct changing *op)
{
    if (op->op_ret < 0)
        frame_fail (op->frame, op->op_errno > 0 ? op->op_errno : EIO);
    else if (op->answer)
        op->answer (op);
    else
        fan_pass (&op->fan, (unsigned) op->best);
}
