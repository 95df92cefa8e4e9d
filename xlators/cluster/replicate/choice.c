/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual extended attributes that root sets to end the split brain of a file. GlusterFS's clients
 * have the same. The attributes and their values:
 *
 *   replica.split-brain-choice           SUBVOLUME: callers may read this copy for some minutes;
 *                                        changes still fail with EIO. "none" ends the choice
 *   replica.split-brain-choice-timeout   MINUTES for which later choices are valid
 *   replica.split-brain-heal-finalize    SUBVOLUME: a heal makes the other copies equal to this one
 */
#include "copies/copies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHOICE "replica.split-brain-choice"
#define TIMEOUT "replica.split-brain-choice-timeout"
#define FINALIZE "replica.split-brain-heal-finalize"
#define MINUTE 60000000000ll /* a minute, in nanoseconds */
#define MINUTES_MAX (7 * 24 * 60)

struct choosing {
    struct replicate_local head;
    struct work_item work;
    xlator_t *this;
    call_frame_t *frame;
    inode_t *inode; /* file in the split brain, with a reference */
    int child;      /* number of the chosen copy; -1: the choice ends */
    bool finalize;  /* whether to heal from that copy (replica.split-brain-heal-finalize) */
};

static void
choosing_drop (void *local)
{
    inode_unref (((struct choosing *) local)->inode);
}

static void
choosing_answer (struct choosing *choosing, int error)
{
    if (error)
        frame_fail (choosing->frame, error);
    else
        STACK_UNWIND (setxattr, choosing->frame, 0, 0, NULL);
}

/* --- the choice ------------------------------------------------------------------------------- */

static void
choice_forget_name (inode_t *parent, const char *name, void *this)
{
    const replicate_t *priv = ((const xlator_t *) this)->private;
    struct invalidation gone = { .inode = parent, .what = INVALIDATE_NAMES, .name = name };

    if (!__atomic_load_n (&priv->ending, __ATOMIC_ACQUIRE))
        xlator_pass_on (this, XLATOR_INVALIDATE, &gone);
}

/* Sets or ends the choice, invalidates the kernel's cache, and answers the setxattr.
 *
 * The cache of the file is invalidated before the answer, so that the caller then reads no cached
 * byte of another copy. To invalidate it, the kernel waits for running reads and writes of the
 * file's pages. None of these waits for this setxattr, so there is no deadlock.
 *
 * When a choice ends, the names of the file are invalidated, too: a stat of the file fails from
 * then on, but the kernel only notices in a lookup. The names are invalidated after the answer,
 * since to do so earlier could be a deadlock. To forget a name, the kernel takes the lock of the
 * directory. A rename may hold this lock while it waits for the lock of the file, and the kernel
 * holds the lock of the file until this setxattr is answered. */
static void
choice_run (struct work_item *work)
{
    struct choosing *choosing =
        (struct choosing *) ((char *) work - offsetof (struct choosing, work));
    xlator_t *this = choosing->this;
    inode_t *inode = inode_ref (choosing->inode);
    struct invalidation file = { .inode = inode, .what = INVALIDATE_FILE };
    replicate_t *priv = this->private;
    const bool ends = choosing->child < 0;
    const int64_t lasts = __atomic_load_n (&priv->choice_lasts, __ATOMIC_RELAXED);

    inode_choose (this, inode, ends ? 0 : COPY (choosing->child), clock_now () + lasts);
    xlator_pass_on (this, XLATOR_INVALIDATE, &file);
    requests_add (this);
    stack_taken (choosing->frame->root);
    choosing_answer (choosing, 0);
    if (ends)
        inode_each_name (inode, choice_forget_name, this);
    inode_unref (inode);
    requests_drop (this);
}

static void
choice_refreshed (void *data, int error)
{
    struct choosing *choosing = data;
    const replicate_t *priv = choosing->this->private;
    struct readable readable;

    stack_taken (choosing->frame->root);
    if (!error) {
        readable = inode_reported (choosing->this, choosing->inode);
        if (readable.data && readable.metadata)
            error = EINVAL;
        else if (choosing->child >= 0 && !(readable.found & COPY (choosing->child)))
            error = children_up (priv) & COPY (choosing->child) ? ENOENT : ENOTCONN;
    }
    if (error) {
        choosing_answer (choosing, error);
        return;
    }
    choosing->work.run = choice_run;
    work_put (&choosing->work);
}

static void
choice_healed (void *data, bool failed)
{
    struct choosing *choosing = data;

    if (!failed)
        inode_choose (choosing->this, choosing->inode, 0, 0);
    stack_taken (choosing->frame->root);
    choosing_answer (choosing, failed ? EIO : 0);
}

static void
choice_begin (struct choosing *choosing)
{
    replicate_t *priv = choosing->this->private;

    if (!choosing->finalize)
        inode_refresh (choosing->this, choosing->inode, choice_refreshed, choosing);
    else if (!(children_up (priv) & COPY (choosing->child)))
        choosing_answer (choosing, ENOTCONN);
    else
        heal_from (choosing->this, choosing->inode, choosing->child, choice_healed, choosing);
}

/* --- the attributes --------------------------------------------------------------------------- */

static void
timeout_set (call_frame_t *frame, xlator_t *this, const char *minutes)
{
    replicate_t *priv = this->private;
    char *end;
    const unsigned long n = strtoul (minutes, &end, 10);

    if (!g_ascii_isdigit (*minutes) || *end || n == 0 || n > MINUTES_MAX) {
        frame_fail (frame, EINVAL);
        return;
    }
    __atomic_store_n (&priv->choice_lasts, (int64_t) n * MINUTE, __ATOMIC_RELAXED);
    STACK_UNWIND (setxattr, frame, 0, 0, NULL);
}

/* Returns whether the value of an attribute names a copy that can be chosen, or is "none" where
 * that is allowed. The arbiter can't be chosen, since its copy has no data. */
static bool
value_is_choice (const replicate_t *priv, const char *value, bool finalize, int *ret_child)
{
    *ret_child = child_of_name (priv, value);
    return *ret_child >= 0 ? *ret_child != priv->arbiter : !finalize && strcmp (value, "none") == 0;
}

bool
choice_takes (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict)
{
    const bool finalize = dict_has (dict, FINALIZE), timeout = dict_has (dict, TIMEOUT);
    const char *value = dict_get_str (dict, finalize ? FINALIZE : timeout ? TIMEOUT : CHOICE);
    struct choosing *choosing;
    int child;

    if (!finalize && !timeout && !dict_has (dict, CHOICE))
        return false;
    if (frame->root->uid != 0) {
        frame_fail (frame, EPERM);
    } else if (timeout && value) {
        timeout_set (frame, this, value);
    } else if (!value || loc->inode->ia_type == IA_IFDIR
               || !value_is_choice (this->private, value, finalize, &child)) {
        frame_fail (frame, EINVAL);
    } else {
        choosing = frame_local_new (frame, sizeof *choosing);
        choosing->head.drop = choosing_drop;
        choosing->this = this;
        choosing->frame = frame;
        choosing->inode = inode_ref (loc->inode);
        choosing->child = child;
        choosing->finalize = finalize;
        choice_begin (choosing);
    }
    return true;
}
