/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Steps of an operation on a file that a rebalance moves, or has moved, while the file is in use.
 * The answer to the operation shows the move (files.c). Before the answer is passed on, the table
 * of steps at the end of this source file is run:
 *
 *   the rebalance copies the file   the operation is done on the copy, too; or the client makes the
 *                                   rebalance abandon the move, and waits for the end of the move
 *   the file has moved              the client looks the file up, and repeats the operation on its
 *                                   new subvolume
 *
 * file->todo is the set of steps to run; the judge of a step sets the next ones. At the end the
 * call is wound again, or the kept answer is passed on.
 */
#include "file-op.h"

#include <fcntl.h>
#include <string.h>

#define MARKS (S_ISVTX | S_ISGID)

bool
iatt_is_moving (const struct iatt *buf)
{
    return buf->ia_type == IA_IFREG && (buf->ia_prot & MARKS) == MARKS;
}

void
marks_strip (struct iatt *buf)
{
    if (iatt_is_moving (buf))
        buf->ia_prot &= ~(uint32_t) MARKS;
}

/* Defines the function name_, the `when` of a step: the step runs if file->todo has one of the
 * flags todo_. */
#define TODO(name_, todo_)                                                                         \
    static bool name_ (void *local)                                                                \
    {                                                                                              \
        return ((const struct file_op *) local)->todo & (todo_);                                   \
    }

/* --- ask target: find the subvolume to which the file is being copied ------------------------- */

TODO (file_asks, FILE_ASK_FOR_BOTH | FILE_ASK_FOR_END | FILE_ASK_FOR_MARK)

static void
file_ask_target (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    AS_SELF (op, (unsigned) file->child, getxattr, &loc, op->priv->linkto_key, NULL);
    loc_wipe_path (&loc);
}

/* Reads the target of the move, the subvolume to which the file is being copied, from the
 * answer: while the file is being copied, its linkto attribute has the target's name. Returns 0
 * or an errno: ENODATA if the file isn't being copied (any more), ENOENT or ESTALE if it has
 * moved. */
static int
file_read_target (struct file_op *file)
{
    const struct op *op = &file->op;
    const struct getxattr_reply *reply = &op->seq.fan.answers[file->child].getxattr;
    size_t size = 0;
    const char *name = reply->op_ret < 0 ? NULL
                                         : dict_get (reply->dict, op->priv->linkto_key, &size);

    file->target = name ? xlator_child_number (op->this, name, strnlen (name, size)) : NO_CHILD;
    if (file->target == file->child)
        file->target = NO_CHILD;
    inode_set_target (op->this, file->inode, file->target);
    if (reply->op_ret < 0)
        return reply->op_errno;
    return file->target == NO_CHILD ? ENODATA : 0;
}

static void
file_go_to (struct file_op *file, int child)
{
    file->child = child;
    file->todo = FILE_GO;
}

static void
file_look_for (struct file_op *file, int op_errno)
{
    file->op.tries++;
    file->op.op_errno = op_errno;
    file->both = false;
    file->todo = FILE_FIND;
}

/* Sets the next step of an operation that has to be done on the file and on its copy. error is
 * the result of file_read_target. If the rebalance is copying the file, the operation is done on
 * the copy next. If the file has moved, the client looks it up. If there is no copy, the kept
 * answer is passed on. */
static int
file_target_of_both (struct file_op *file, int error)
{
    if (is_missing (error)) {
        file_look_for (file, error);
        return 0;
    }
    if (error)
        return STEP_END;
    file->both = true;
    file_go_to (file, file->target);
    return 0;
}

/* Sets the next steps of an operation that has to wait for the end of the move. error is the
 * result of file_read_target. With ENODATA the file has no target: the rebalance has abandoned
 * the move, or a user has set the mode bits that mark a move. The kept answer is passed on then.
 * But another move may be beginning, so a truncate and a change of owner, group or mode wait
 * nevertheless. */
static int
file_target_of_copy (struct file_op *file, int error)
{
    if (error == ENODATA && !op_truncates (call_stub_op (file->call)) && !file->rights)
        return STEP_END;
    file->todo = error ? FILE_WAIT : FILE_PROTECT | FILE_WAIT;
    return 0;
}

static int
file_target_told (void *local)
{
    struct file_op *file = local;
    const int error = file_read_target (file);

    if (file->todo == FILE_ASK_FOR_BOTH)
        return file_target_of_both (file, error);
    if (file->todo == FILE_ASK_FOR_END)
        return file_target_of_copy (file, error);
    /* On error there may be no move: a user may have set the mode bits that mark one. */
    file->todo = error ? FILE_WAIT : FILE_MARK;
    return 0;
}

/* --- mark, restore linkto: set mode bits that a setattr has removed --------------------------- */

static void
file_set_mode (struct file_op *file, uint32_t prot)
{
    struct iatt mode = { .ia_type = IA_IFREG, .ia_prot = prot };
    loc_t loc = { .inode = file->inode };

    AS_SELF (&file->op, (unsigned) file->child, setattr, &loc, &mode, IATT_MODE, NULL);
    loc_wipe_path (&loc);
}

TODO (file_marks, FILE_MARK)

static void
file_mark (void *local)
{
    struct file_op *file = local;

    file_set_mode (file, file->changed.ia_prot | MARKS);
}

static int
file_marked (void *local)
{
    struct file_op *file = local;
    const struct setattr_reply *reply = &file->op.seq.fan.answers[file->child].setattr;
    const bool has_moved = reply->op_ret >= 0 && iatt_may_be_linkto (&reply->statpre);

    file->todo = has_moved ? FILE_RESTORE : FILE_PROTECT | FILE_WAIT;
    return 0;
}

TODO (file_restores, FILE_RESTORE)

static void
file_restore_linkto (void *local)
{
    file_set_mode (local, S_ISVTX);
}

static int
file_restored (void *local)
{
    file_look_for (local, ESTALE);
    return 0;
}

/* --- protect the copy, and wait for the end of the move --------------------------------------- */

/* Name of an attribute that this client sets on the copy. While the copy has it, the brick
 * refuses the rebalance's writes to the copy, so the rebalance abandons the move. A finished
 * move could lose the operation's change: the rebalance may have read the file's data before the
 * change. */
#define PROTECT "trusted.glusterfs.protect.writes"

TODO (file_protects, FILE_PROTECT)

static void
file_protect (void *local)
{
    struct file_op *file = local;
    g_autoptr (dict_t) mark = dict_new ();
    loc_t loc = { .inode = file->inode };

    dict_set_str (mark, PROTECT, "1");
    AS_SELF (&file->op, (unsigned) file->target, setxattr, &loc, mark, 0, NULL);
    loc_wipe_path (&loc);
}

static bool
file_follows_copy (void *local)
{
    return file_protects (local) && ((const struct file_op *) local)->fd;
}

/* Opens the fds of the file on the copy, too: they stay usable even if another client removes
 * the file as soon as the move has ended. */
static void
file_follow_copy (void *local)
{
    struct file_op *file = local;

    follow_run (&file->op, file->inode, file->fd, (unsigned) file->target);
}

TODO (file_waits, FILE_WAIT)

static void
file_lock (void *local)
{
    struct file_op *file = local;

    locks_clear (&file->op);
    lock_data (&file->op, (unsigned) file->child, file->inode, true);
    locks_run (local);
}

static bool
file_unprotects (void *local)
{
    return file_waits (local) && ((const struct file_op *) local)->target != NO_CHILD;
}

/* Removes the attribute PROTECT from the copy. That is safe, since this client holds the data
 * lock: no rebalance moves the file. It is needed, since the copy may have become the file: no
 * rebalance could ever move a file with that attribute again. */
static void
file_unprotect (void *local)
{
    struct file_op *file = local;
    loc_t loc = { .inode = file->inode };

    AS_SELF (&file->op, (unsigned) file->target, removexattr, &loc, PROTECT, NULL);
    loc_wipe_path (&loc);
}

static int
file_unlocked (void *local)
{
    struct file_op *file = local;

    file->settled = true;
    file->todo = FILE_CHECK;
    return 0;
}

/* --- check: see whether the file had moved before the operation ------------------------------- */

TODO (file_checks, FILE_CHECK)

static void
file_stat (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    if (file->fd)
        AS_SELF (op, (unsigned) file->child, fstat, file->fd, NULL);
    else
        AS_SELF (op, (unsigned) file->child, stat, &loc, NULL);
    loc_wipe_path (&loc);
}

static const struct iatt *
answer_stat (const struct fan_answer *answer)
{
    return answer->op == FOP_fstat ? &answer->fstat.buf : &answer->stat.buf;
}

/* Returns whether owner, group or mode of the file are not those that the call has set. Either a
 * rebalance that abandoned the move has set the values that it had read before the call, or this
 * client has set the marks of the move after the rebalance had removed them. */
static bool
rights_differ (const struct file_op *file, const struct iatt *buf)
{
    const struct iatt *changed = &file->changed;

    return !iatt_may_be_linkto (buf)
        && ((file->rights & IATT_MODE && buf->ia_prot != changed->ia_prot)
            || (file->rights & IATT_UID && buf->ia_uid != changed->ia_uid)
            || (file->rights & IATT_GID && buf->ia_gid != changed->ia_gid));
}

static int
file_checked (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    const struct fan_answer *answer = &op->seq.fan.answers[file->child];
    const struct iatt *buf = answer_stat (answer);
    const bool locks = op_locks (call_stub_op (file->call));

    if (answer->op_ret >= 0 && file->settled && rights_differ (file, buf) && op->tries < TRIES) {
        op->tries++;
        file_go_to (file, file->child);
    } else if (answer->op_ret >= 0 && iatt_is_moving (buf) && !locks && !file->settled) {
        file->todo = FILE_ASK_FOR_BOTH;
        return STEP_AGAIN (EBUSY);
    } else if (answer->op_ret >= 0 && !iatt_may_be_linkto (buf)) {
        return STEP_END;
    } else {
        file_look_for (file, ESTALE);
        file->todo |= locks ? FILE_UNLOCK : 0;
    }
    return 0;
}

TODO (file_unlocks, FILE_UNLOCK)

/* Releases the record locks that the lock owner has on the linkto. The file had moved before the
 * call took its lock there; other clients lock the file on its new subvolume, so a lock on the
 * linkto keeps nobody away. */
static void
file_unlock (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    const uint64_t owner = op->frame->root->lk_owner;
    struct gf_flock all = { .l_type = F_UNLCK, .l_owner = owner };

    op_own (op)->root->lk_owner = owner;
    AS_SELF (op, (unsigned) file->child, lk, file->fd, F_SETLK, &all, NULL);
}

/* --- find: look the file up, to find its subvolume -------------------------------------------- */

TODO (file_finds, FILE_FIND)

static void
file_look (void *local)
{
    struct file_op *file = local;
    loc_t loc = { .inode = file->inode };

    op_look (&file->op, &loc);
    loc_wipe_path (&loc);
}

/* Is called after a lookup did not find the file. Returns whether the fd is open on the
 * subvolume to which the file had moved: the file was removed there, but the fd can still be
 * used. */
static bool
file_lives_on (const struct file_op *file)
{
    return file->fd && file->target != NO_CHILD && file->target != file->answered
        && fd_is_open_on (file->op.this, file->fd, file->target);
}

/* Judges the lookup of a file that may have moved. If the lookup fails, the operation fails,
 * too, even if the first subvolume reported success. The change on the first subvolume is lost:
 * it went to a linkto, or to the old file after the rebalance had copied it. */
static int
file_found (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    const struct lookup_reply *reply = &op->seq.fan.answers[SELF (op)].lookup;
    const int cached = inode_cached (op->this, file->inode);

    inode_set_target (op->this, file->inode, NO_CHILD);
    if (reply->op_ret < 0 && file_lives_on (file)) {
        inode_set_cached (op->this, file->inode, file->target);
        file_go_to (file, file->target);
        return 0;
    }
    if (reply->op_ret < 0)
        return is_missing (reply->op_errno) ? -op->op_errno : -reply->op_errno;
    if (cached == NO_CHILD || cached == file->answered)
        return STEP_END;
    file_go_to (file, cached);
    file->todo |= file->dirty ? FILE_EMPTY : 0;
    file->dirty = false;
    return 0;
}

/* --- empty the linkto on the old subvolume, if the call has written data to it ---------------- */

TODO (file_empties, FILE_EMPTY)

/* Reads the attributes of the linkto that the move has left on `answered`. If the call has an
 * fd, reads them through the fd, since the linkto may have no name any more. */
static void
file_look_at_remains (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    const unsigned answered = (unsigned) file->answered;
    xlator_t *child = op->priv->children[answered];
    loc_t loc = { .inode = file->inode };

    if (file->fd) {
        AS_SELF (op, answered, fgetxattr, file->fd, op->priv->linkto_key, NULL);
        AS_SELF_AT (op, SELF (op), child, fstat, file->fd, NULL);
    } else {
        AS_SELF (op, answered, getxattr, &loc, op->priv->linkto_key, NULL);
        AS_SELF_AT (op, SELF (op), child, stat, &loc, NULL);
    }
    loc_wipe_path (&loc);
}

/* Skips the truncate unless `answered` still has a linkto: a truncate of the file itself would
 * lose its data. */
static int
file_remains_told (void *local)
{
    struct file_op *file = local;
    const struct op *op = &file->op;
    const struct fan_answer *target = &op->seq.fan.answers[file->answered];
    const struct fan_answer *mode = &op->seq.fan.answers[SELF (op)];

    if (target->op_ret < 0 || mode->op_ret < 0 || !iatt_may_be_linkto (answer_stat (mode)))
        file->todo &= ~(unsigned) FILE_EMPTY;
    return 0;
}

/* Truncates the linkto that a move has left on a brick while the file was open there, since the
 * operation has written data to that linkto. When a client later gives the file a name that
 * hashes to this brick, the linkto of that name is a hard link to the same inode, and the next
 * move to this brick would find the old data in it. The truncate is done under the data lock,
 * which keeps every rebalance from moving the file: a move writes to the linkto on its target. */
static void
file_empty (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    loc_t loc = { .inode = file->inode };

    if (file->fd)
        AS_SELF (op, (unsigned) file->answered, ftruncate, file->fd, 0, NULL);
    else
        AS_SELF (op, (unsigned) file->answered, truncate, &loc, 0, NULL);
    loc_wipe_path (&loc);
}

/* --- follow: open the fds on the subvolume that has the file now ------------------------------ */

static bool
file_follows (void *local)
{
    const struct file_op *file = local;

    return file->todo & FILE_GO && file->fd;
}

static void
file_follow (void *local)
{
    struct file_op *file = local;

    follow_run (&file->op, file->inode, file->fd, (unsigned) file->child);
}

/* Judges the answers to the opens of the fds on `child`. If the file is missing there, it has
 * moved again, or the rebalance has abandoned the copy: the client looks the file up again. */
static int
file_followed (void *local)
{
    struct file_op *file = local;
    struct op *op = &file->op;
    const int r = follow_judge (local);

    if (r != 0 || fd_is_open_on (op->this, file->fd, file->child))
        return r;
    if (!is_missing (op->op_errno) || op->tries >= TRIES)
        return -op->op_errno;
    file_look_for (file, op->op_errno);
    return STEP_AGAIN (op->op_errno);
}

/* --- the end ---------------------------------------------------------------------------------- */

static void
file_resume (struct file_op *file)
{
    struct call_stub *call = g_steal_pointer (&file->call);

    if (!file->both && file->answer)
        answer_stub_destroy (g_steal_pointer (&file->answer));
    file->chosen = true;
    call_resume (call);
}

/* Ends the operation: passes on the answer that was kept, or fails with op_errno if none was. */
static void
file_keep_answer (struct file_op *file)
{
    struct answer_stub *answer = g_steal_pointer (&file->answer);

    if (file->call)
        call_stub_destroy (g_steal_pointer (&file->call));
    if (answer)
        answer_resume (answer);
    else
        frame_fail (file->op.frame, file->op.op_errno);
}

static void
file_go_on (void *local)
{
    struct file_op *file = local;

    if (file->todo & FILE_GO)
        file_resume (file);
    else
        file_keep_answer (file);
}

static const struct step file_steps[] = {
    STEP ("ask target", file_ask_target, file_target_told, .when = file_asks),
    STEP ("mark", file_mark, file_marked, .when = file_marks),
    STEP ("restore linkto", file_restore_linkto, file_restored, .when = file_restores),
    STEP ("protect copy", file_protect, step_ignore, .when = file_protects),
    STEP ("follow copy", file_follow_copy, follow_judge, .when = file_follows_copy),
    STEP ("lock", file_lock, locks_judge, .undo = locks_undo, .always = true, .when = file_waits),
    STEP ("unprotect copy", file_unprotect, step_ignore, .when = file_unprotects),
    STEP ("unlock", locks_undo, file_unlocked, .when = file_waits),
    STEP ("check", file_stat, file_checked, .again = "ask target", .when = file_checks),
    STEP ("unlock range", file_unlock, step_ignore, .when = file_unlocks),
    STEP ("find", file_look, file_found, .when = file_finds),
    STEP ("lock remains", file_lock, locks_judge, .undo = locks_undo, .always = true,
          .when = file_empties),
    STEP ("look at remains", file_look_at_remains, file_remains_told, .when = file_empties),
    STEP ("empty remains", file_empty, step_ignore, .when = file_empties),
    STEP ("unlock remains", locks_undo, step_ignore),
    STEP ("follow", file_follow, file_followed, .again = "find", .when = file_follows),
    {},
};

void
file_do (struct file_op *file, unsigned todo)
{
    struct op *op = &file->op;

    file->todo = todo;
    sequence_start (&op->seq, op->frame, file_steps, op_slots (op), file->inode, file_go_on);
}

void
file_go (struct file_op *file, int child)
{
    file->child = child;
    file_do (file, FILE_GO);
}

void
file_find (struct file_op *file, int op_errno)
{
    file_look_for (file, op_errno);
    file_do (file, FILE_FIND);
}
