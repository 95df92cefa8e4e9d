/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Requests that change a file or a name. While one is under way, the attributes and names that it
 * changes are not served from the cache, and answers that arrive meanwhile are not kept. The
 * change's own answer is kept if no other operation changed the same.
 */
#include "md-cache.h"

#include <stdio.h>

/* The bracket's data for a change. */
struct own {
    uint64_t name, name_begun;  /* the hash of the name, 0: none; when its change began, or ended */
    uint64_t file_begun, parent_begun;
    inode_t *file; /* with a reference: the inode that changes, or that a create truncates; NULL */
    inode_t *read; /* with a reference: the inode that copy_file_range reads; else NULL */
    struct mdc_asked at;
    int64_t bare_since; /* of setattr: the file was known by then to have no capabilities, and gets
                           none; 0: not known */
    unsigned flags; /* of the first change: flags for the whole operation */
};

/* Flags for all changes of an operation. */
enum {
    PAUSED = 1 << 0, /* the changed file is not known: the cache is not used meanwhile */
    FORGET = 1 << 1, /* nor is its content used afterwards, since the answer does not name the file
                        either */
    LEAVES = 1 << 2, /* a rename leaves another file under the old name */
    EXCHANGED = 1 << 3, /* namely the file of the new name */
    MADE = 1 << 4, /* if the operation succeeds, its file is new */
};

_Static_assert (sizeof (struct own) <= sizeof ((struct change *) 0)->own, "there is room");

static struct own *
mdc_own_of (struct change *change)
{
    return (struct own *) change->own;
}

static unsigned *
flags_of (struct change *change)
{
    return &mdc_own_of (change - change->number)->flags;
}

/* --- begin ------------------------------------------------------------------------------------ */

static void
unsure (xlator_t *this, struct change *change, unsigned forget)
{
    if (!(*flags_of (change) & PAUSED))
        mdc_pause (this);
    *flags_of (change) |= PAUSED | forget;
}

/* Returns true if the name is known to stand for the table's inode, or for no file. */
static bool
name_begin (xlator_t *this, struct change *change)
{
    struct own *own = mdc_own_of (change);
    uint64_t asked;
    bool sure, absent, known;

    own->name = mdc_name_hash (this, change->parent, change->name);
    known = own->file && !inode_is_unkept (change->parent)
         && mdc_is_known_by (this, own->file, own->name, &asked);
    own->name_begun = mdc_name_begin (this, own->name, known, known ? asked : 0, &sure, &absent);
    if (absent)
        own->flags |= MADE;
    return sure;
}

/* A create may truncate an existing file. A rename that replaces no file leaves existing attributes
 * as they are. */
static void
names_begin (const struct call *call, struct change *change)
{
    const bool sure = name_begin (call->this, change),
               keeps = call->op == FOP_rename && change->number == 1
                    && call->flags & RENAME_NOREPLACE;

    if (!sure && call->op == FOP_create && change->what & CHANGES_DATA)
        unsure (call->this, change, 0);
    else if (!sure && call->op != FOP_create && change->what & CHANGES_ATTRIBUTES && !keeps)
        unsure (call->this, change, FORGET);
}

/* Both names of a rename may be in one directory. */
static bool
is_same_parent (const struct change *change)
{
    return change->number == 1 && change[-1].parent == change->parent;
}

static bool
sets_attributes (enum fop op)
{
    return op == FOP_setattr || op == FOP_fsetattr;
}

static void
mdc_bracket_begin (const struct call *call, struct change *change)
{
    xlator_t *this = call->this;
    struct own *own = mdc_own_of (change);

    own->at = mdc_now (this);
    own->file = call->op == FOP_create && change->what & CHANGES_DATA
                  ? inode_grep (change->parent, change->name)
                  : inode_ref (change->inode);
    if (call->op == FOP_copy_file_range)
        own->read = inode_ref (call->fd->inode);
    if (call->op == FOP_rename && call->flags & (RENAME_EXCHANGE | RENAME_WHITEOUT))
        *flags_of (change) |= LEAVES | (call->flags & RENAME_EXCHANGE ? EXCHANGED : 0);
    if (change->parent)
        names_begin (call, change);
    if (call->op == FOP_mknod || call->op == FOP_tmpfile
        || (call->op == FOP_create && call->flags & O_EXCL))
        own->flags |= MADE;
    if (own->file)
        own->file_begun = mdc_change_begin (this, own->file, change->what & CHANGES_XATTRS,
                                            sets_attributes (call->op) ? &own->bare_since : NULL);
    if (change->parent && !is_same_parent (change))
        own->parent_begun = mdc_change_begin (this, change->parent, false, NULL);
}

/* --- end -------------------------------------------------------------------------------------- */

/* The attributes of the file in the answer. Not those of a file that a rename replaces. */
static const struct iatt *
post_of (const struct answer *answer, const struct change *change)
{
    if (answer->op_ret < 0 || (answer->op == FOP_rename && change->number == 1))
        return NULL;
    return answer->op == FOP_link || answer->op == FOP_rename || answer->op == FOP_create
             ? answer->buf
             : answer->post;
}

static const struct iatt *
post_of_parent (const struct answer *answer, const struct change *change)
{
    if (answer->op_ret < 0)
        return NULL;
    if (answer->op == FOP_rename && change->number == 1)
        return ((const struct rename_answer *) answer->rets)->postnewparent;
    return answer->postparent;
}

/* Returns true if the name does not exist afterwards. A rename between two names of one file does
 * nothing. If the new name's file was not known, this may have been such a rename. */
static bool
is_gone (const struct answer *answer, struct change *change)
{
    if (answer->op_ret < 0)
        return false;
    if (answer->op == FOP_rename)
        return change->number == 0 && !(*flags_of (change) & (LEAVES | FORGET))
            && mdc_own_of (change)->file != mdc_own_of (change + 1)->file;
    return answer->op == FOP_unlink || answer->op == FOP_rmdir;
}

/* The inode that the name stands for now; NULL if the answer does not tell. */
static inode_t *
named_now (const struct answer *answer, struct change *change)
{
    const bool exchanged = *flags_of (change) & EXCHANGED;
    inode_t *moved;

    if (answer->op_ret < 0 || (answer->op != FOP_link && answer->op != FOP_rename))
        return NULL;
    if (answer->op == FOP_link)
        return mdc_own_of (change - 1)->file;
    if (change->number == 0)
        return exchanged && !(*flags_of (change) & FORGET) ? mdc_own_of (change + 1)->file : NULL;
    moved = mdc_own_of (change - 1)->file;
    return moved && answer->buf && gfid_equal (&answer->buf->ia_gfid, &moved->gfid) ? moved : NULL;
}

/* The inode of a name is known only if no other operation changed the name at the same time, and
 * not in an unkept directory. */
static void
name_end (const struct answer *answer, struct change *change)
{
    struct own *own = mdc_own_of (change);
    inode_t *inode = named_now (answer, change);
    const bool kept = !inode_is_unkept (change->parent);

    own->name_begun =
        mdc_name_end (answer->this, own->name, own->name_begun, kept && is_gone (answer, change));
    if (!kept)
        own->name_begun = 0;
    if (own->name_begun && inode)
        mdc_keep_name (answer->this, inode, own->name,
                       (struct mdc_asked){ own->name_begun, clock_roughly () });
}

/* A new file, or an existing one that a create opened. */
static void
made_end (const struct answer *answer, struct change *change)
{
    xlator_t *this = answer->this;
    const struct own *own = mdc_own_of (change);
    g_autoptr (inode_t) other = NULL;
    inode_t *known;

    if (own->flags & PAUSED && !(own->flags & FORGET)) { /* it may have been truncated */
        if (change->inode)
            mdc_changed (this, change->inode, true, false);
        else
            mdc_changed_gfid (this, &answer->buf->ia_gfid);
        return;
    }
    known = mdc_keep (this, answer->inode, answer->buf, own->at, &other);
    if (known && own->flags & MADE)
        mdc_keep_no_capability (this, known, own->at);
    if (known && own->name && own->name_begun)
        mdc_keep_name (this, known, own->name,
                       (struct mdc_asked){ own->name_begun, own->at.time });
}

static bool
makes (enum fop op)
{
    return op == FOP_mknod || op == FOP_mkdir || op == FOP_symlink || op == FOP_create
        || op == FOP_tmpfile;
}

/* The first change ends last. */
static void
operation_end (const struct answer *answer, struct change *change)
{
    const struct own *own = mdc_own_of (change);

    if (answer->op_ret >= 0 && makes (answer->op))
        made_end (answer, change);
    if (own->read)
        mdc_was_read (answer->this, own->read);
    if (own->flags & PAUSED)
        mdc_resume (answer->this, own->flags & FORGET);
}

static void
mdc_file_end (const struct answer *answer, struct change *change)
{
    struct own *own = mdc_own_of (change);
    const uint64_t alone =
        mdc_change_end (answer->this, own->file, change->what & CHANGES_XATTRS, own->file_begun,
                        post_of (answer, change));

    if (alone && own->bare_since && mdc_none_changed_since (answer->this, own->file_begun))
        mdc_keep_no_capability (answer->this, own->file,
                                (struct mdc_asked){ alone, own->bare_since });
}

static void
own_clear (struct own *own)
{
    inode_unref (own->file);
    inode_unref (own->read);
}

static void
mdc_bracket_end (const struct answer *answer, struct change *change)
{
    xlator_t *this = answer->this;
    struct own *own = mdc_own_of (change);

    if (own->name)
        name_end (answer, change);
    if (own->file)
        mdc_file_end (answer, change);
    if (change->parent && !is_same_parent (change))
        mdc_change_end (this, change->parent, false, own->parent_begun,
                        post_of_parent (answer, change));
    if (change->number > 0)
        return;
    operation_end (answer, change);
    own_clear (own);
    if (answer->op == FOP_rename || answer->op == FOP_link)
        own_clear (mdc_own_of (change + 1));
}

static const struct change_bracket mdc_bracket = {
    CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS | CHANGES_NAMES, mdc_bracket_begin,
    mdc_bracket_end
};

void
mdc_any_fop (const struct call *call)
{
    change_bracket_call (&mdc_bracket, call);
}

void
mdc_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&mdc_bracket, answer);
}
