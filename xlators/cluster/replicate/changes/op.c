/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A changing operation: what is checked before its transaction, and what comes of its answers. */
#include "changes.h"

#include <errno.h>

#define FAILURE_TOLD_EVERY ((int64_t) 60 * 1000000000) /* nanoseconds, for each copy */

/* --- making ----------------------------------------------------------------------------------- */

static void
op_drop (void *local)
{
    struct op *op = local;

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

struct op *
op_new (call_frame_t *frame, xlator_t *this, enum fop fop, enum counter_kind kind, inode_t *inode)
{
    struct op *op = frame_local_new (frame, sizeof *op);

    op->head.drop = op_drop;
    op->this = this;
    op->frame = frame;
    op->fop = fop;
    op->kind = kind;
    op->subject[0] = inode_ref (inode);
    fan_init (&op->fan, frame, ((replicate_t *) this->private)->n);
    return op;
}

void
op_lock (struct op *op, inode_t *inode, bool entry, const char *name)
{
    g_assert (op->n_locks < LOCKS_MAX);
    op->locks[op->n_locks++] = (struct lockee){ inode_ref (inode), entry, g_strdup (name), 0 };
}

void
op_empties (struct op *op, inode_t *directory)
{
    op->emptied = inode_ref (directory);
    op_lock (op, directory, true, NULL);
}

/* --- before the transaction ------------------------------------------------------------------- */

static inode_t *
op_to_check (const struct op *op, unsigned i)
{
    return i < 2 ? op->subject[i] : op->emptied;
}

static void op_check (struct op *op);

static void
op_refreshed (void *data, int error)
{
    struct op *op = data;

    if (error && op->checked < 2) {
        op_fail (op, error);
        return;
    }
    op->checked++;
    op_check (op);
}

static void
op_opened (void *data)
{
    struct op *op = data;

    if (op->kind == COUNTER_DATA)
        eager_begin (op);
    else
        txn_begin (txn_new (op->this, op));
}

/* Returns whether a good copy of each subject is there: a change that reaches only copies that
 * others accuse would make a split brain. */
static int
op_copies_error (struct op *op)
{
    const copies_t up = children_up (op->this->private);
    struct readable readable;

    for (int i = 0; i < 2 && op->subject[i]; i++) {
        copies_t good;

        inode_good (op->this, op->subject[i], &readable);
        good = copies_with_data (op->this->private, op->kind == COUNTER_METADATA ? readable.metadata
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
op_check (struct op *op)
{
    struct readable readable;
    int error;

    for (; op->checked < 3; op->checked++) {
        inode_t *inode = op_to_check (op, op->checked);

        if (inode && !inode_is_fresh (op->this, inode, &readable)) {
            inode_refresh (op->this, inode, op_refreshed, op);
            return;
        }
    }
    error = op_copies_error (op);
    if (error)
        op_fail (op, error);
    else if (op->fd)
        fd_prepare (op->this, op->fd, op_opened, op);
    else
        op_opened (op);
}

void
op_begin (struct op *op, call_stub_t *stub)
{
    replicate_t *priv = op->this->private;

    op->stub = stub;
    op->generation = children_generation (priv);
    if (!stub)
        op_fail (op, ENOMEM);
    else if (!children_quorum (priv, children_up (priv)))
        op_fail (op, ENOTCONN);
    else
        op_check (op);
}

/* --- running ---------------------------------------------------------------------------------- */

static void
op_finish (struct op *op)
{
    if (op->kind == COUNTER_DATA)
        eager_op_done (op);
    else
        txn_op_done (op->txn, op);
}

/* A copy that misses names of a directory would remove it where the others find it full, and the
 * next directory of that name would be another object there. So it is left to the healer. */
static copies_t
op_able (const struct op *op, copies_t children)
{
    struct readable readable;

    if (!op->emptied)
        return children;
    inode_is_fresh (op->this, op->emptied, &readable);
    return children_quorum (op->this->private, children & readable.data)
             ? children & readable.data
             : children;
}

/* A copy on which the file could not be opened misses the change. */
void
op_run (struct op *op, copies_t children)
{
    replicate_t *priv = op->this->private;
    const copies_t opened = op->fd ? fd_opened (op->this, op->fd) : op_able (op, children);

    op->children = children & opened;
    op->failed = children & ~opened;
    if (children_quorum (priv, op->children)) {
        call_resume (g_steal_pointer (&op->stub));
        return;
    }
    op->failed = 0;
    op->op_ret = -1;
    op->op_errno = ENOTCONN;
    op_finish (op);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns whether two copies made, opened or renamed different objects: a copy that needs a heal
 * has old names. */
static bool
objects_differ (const struct op *op, unsigned i, unsigned j)
{
    return (op->makes || op->fop == FOP_rename)
        && !gfid_equal (&fan_seen (&op->fan, i).buf->ia_gfid,
                        &fan_seen (&op->fan, j).buf->ia_gfid);
}

static copies_t
op_good (const struct op *op)
{
    return op->kind == COUNTER_METADATA ? op->readable.metadata : op->readable.data;
}

/* Returns the copies that did it to the object that most good copies have. */
static copies_t
op_agreed (const struct op *op)
{
    copies_t agreed = 0;

    for (unsigned i = 0; i < op->fan.n; i++) {
        copies_t same = 0;

        for (unsigned j = 0; op->succeeded & COPY (i) && j < op->fan.n; j++)
            if (op->succeeded & COPY (j) && !objects_differ (op, i, j))
                same |= COPY (j);
        if (!agreed || copies_count (same & op_good (op)) > copies_count (agreed & op_good (op)))
            agreed = same;
    }
    return agreed;
}

/* A copy that did less than the others has failed: one that wrote fewer bytes, or did it to another
 * object. The arbiter gets one byte of a write. */
static void
op_compare (struct op *op)
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

static void
op_collect (struct op *op)
{
    for (unsigned i = 0; i < op->fan.n; i++) {
        if (!(op->children & COPY (i)))
            continue;
        if (op->fan.answers[i].op_ret >= 0)
            op->succeeded |= COPY (i);
        else
            op->failed |= COPY (i);
    }
}

/* Returns whether all good copies refused, so that nothing changed. What a copy says that missed a
 * change does not count, even a success: it has other names, and is to be healed. The reasons may
 * differ; but EIO may have come half way. */
static bool
op_is_refused (const struct op *op)
{
    const copies_t good = op_good (op) & op->children, asked = good ? good : op->children;
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

/* Of the good copies, prefers one that is good in each respect: the answer has the attributes of
 * both data and metadata. */
static int
op_choose (const struct op *op, copies_t good)
{
    const copies_t whole = good & op->readable.data & op->readable.metadata;

    return choose_copy (op->this->private, whole ? whole : good, op->subject[0]);
}

/* Returns why all refused: a good copy knows. */
static int
refusal (const struct op *op)
{
    const copies_t good = op_good (op) & op->children;

    return good ? op->fan.answers[copies_first (good)].op_errno : fan_error (&op->fan);
}

/* Returns whether enough good copies say that the object is not there: another client, which locks
 * the name but not the object, is removing it. */
static bool
op_is_gone (const struct op *op)
{
    copies_t gone = 0;

    for (unsigned i = 0; i < op->fan.n; i++)
        if (op->failed & op_good (op) & COPY (i)
            && (op->fan.answers[i].op_errno == ENOENT || op->fan.answers[i].op_errno == ESTALE))
            gone |= COPY (i);
    return children_quorum (op->this->private, gone);
}

/* Returns the errno of an operation that too few copies did. Where one did it, there is such a
 * file, unless enough others know better: copies without it lack what they missed, and are to be
 * healed. */
static int
op_error (const struct op *op)
{
    const int error = op->failed ? fan_error (&op->fan) : EIO;

    return op->succeeded && (error == ENOENT || error == ESTALE) && !op_is_gone (op) ? ENOTCONN
                                                                                      : error;
}

/* Judges the answers: succeeded, failed, best, op_ret and op_errno. */
static void
op_judge (struct op *op)
{
    replicate_t *priv = op->this->private;
    copies_t good;

    op->op_ret = -1;
    if (op_is_refused (op)) {
        op->failed = 0;
        op->op_errno = refusal (op);
        return;
    }
    op_collect (op);
    good = op_agreed (op) & op_good (op);
    if (good)
        op->best = op_choose (op, good);
    else
        op->best = copies_first (op_agreed (op));
    if (op->succeeded)
        op_compare (op);
    if (!good || !children_quorum (priv, op->succeeded)) {
        op->op_ret = -1;
        op->op_errno = op_error (op);
    }
}

/* The brick is in trouble. Other errors come of what the copy missed, which marks tell. */
static bool
error_is_of_disk (int error)
{
    return error == ENOSPC || error == EDQUOT || error == EROFS || error == EIO;
}

static bool
failure_is_to_tell (const struct op *op, unsigned i)
{
    replicate_t *priv = op->this->private;
    const struct fan_answer *answer = &op->fan.answers[i];
    const int64_t now = clock_now ();
    int64_t told = __atomic_load_n (&priv->failure_told[i], __ATOMIC_RELAXED);

    return op->failed & COPY (i) && answer->op_ret < 0 && error_is_of_disk (answer->op_errno)
        && (!told || now - told >= FAILURE_TOLD_EVERY)
        && __atomic_compare_exchange_n (&priv->failure_told[i], &told, now, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void
op_tell_failures (const struct op *op)
{
    const replicate_t *priv = op->this->private;

    for (unsigned i = 0; op->succeeded && i < op->fan.n; i++) {
        const struct fan_answer *answer = &op->fan.answers[i];
        g_autofree char *path = NULL;

        if (!failure_is_to_tell (op, i))
            continue;
        path = inode_path (op->subject[0], NULL);
        gf_log (op->this, GF_LOG_WARNING,
                "%s in '%s' failed on %s: %s; other copies have the change, and accuse this one: "
                "correct the cause on the brick, then run 'windlass heal MOUNTPOINT PATH' for each "
                "path that changed (this is told once a minute)",
                fop_name (op->fop), path, priv->names[i], g_strerror (answer->op_errno));
    }
}

/* The changelog of the new object is changed by its gfid, so the table of inodes must have it. */
static void
op_note_made (struct op *op)
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
op_note (struct op *op)
{
    replicate_t *priv = op->this->private;

    for (int i = 0; i < 2 && op->subject[i] && op->failed; i++)
        inode_missed (op->this, op->subject[i], op->kind, op->failed, &op->txn->missed[i]);
    if (op->failed) {
        __atomic_add_fetch (&priv->numbers.accusations, 1, __ATOMIC_RELAXED);
        op_tell_failures (op);
    }
    op_note_made (op);
}

/* Returns the attributes of the object after the operation, in the answer of a copy of the set: of
 * the best copy if the set has it. NULL: this operation's answer has none. */
static struct iatt *
op_post (const struct op *op, copies_t copies)
{
    const int copy = copies & COPY (op->best) ? op->best : copies_first (copies);
    const struct answer seen = fan_seen (&op->fan, (unsigned) copy);

    return seen.post ? seen.post : seen.buf;
}

/* The attributes in the answer are those of a copy whose data and metadata are good. If no copy has
 * both, size and times are of a copy with good data, owner and mode of one with good metadata. */
static void
op_complete (struct op *op)
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
    size = op_post (op, both ? both : data);
    rights = op_post (op, both ? both : metadata);
    if (size && rights) {
        struct iatt whole = *size;

        iatt_take_rights (&whole, rights);
        *op_post (op, COPY (op->best)) = whole;
    }
}

void
op_done (call_frame_t *frame)
{
    struct op *op = frame->local;

    op_judge (op);
    op_complete (op);
    op_note (op);
    op_finish (op);
}

void
op_fail (struct op *op, int error)
{
    op->op_ret = -1;
    op->op_errno = error;
    op_answer (op);
}

void
op_answer (struct op *op)
{
    if (op->op_ret < 0)
        frame_fail (op->frame, op->op_errno > 0 ? op->op_errno : EIO);
    else if (op->answer)
        op->answer (op);
    else
        fan_pass (&op->fan, (unsigned) op->best);
}
