/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lookups, and changes of names. */
#include "nl-cache.h"

static lookup_cbk nlc_lookup_cbk;

#define REAL_FILENAME "glusterfs.get_real_filename:"

void
nlc_local_drop (xlator_t *this, void *data)
{
    struct nlc_local *local = data;

    inode_unref (local->parent);
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* Nothing is kept of the names in an unkept directory. */
static bool
is_name (const loc_t *loc)
{
    const char *name = loc->name;

    return name && loc->parent && name[0] && !inode_is_unkept (loc->parent)
        && !(name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])));
}

/* Only a caller that may search the directory may learn whether the name exists: storage refuses
 * others. */
void
nlc_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    nlc_private_t *priv = this->private;
    struct nlc_local *local;
    size_t size;

    if (!is_name (loc)) {
        nlc_count (&priv->count.nameless);
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, loc, xdata);
        return;
    }
    if (frame->root->checked && nlc_is_absent (this, loc->parent, loc->name)) {
        nlc_count (&priv->count.hit);
        STACK_UNWIND (lookup, frame, -1, ENOENT, NULL, NULL, NULL, NULL);
        return;
    }
    size = strlen (loc->name) + 1;
    local = frame_local_new (frame, sizeof *local + size);
    local->at = nlc_now (this);
    local->name = memcpy (local + 1, loc->name, size);
    local->parent = inode_ref (loc->parent);
    STACK_WIND (frame, nlc_lookup_cbk, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
nlc_lookup_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, dict_t *xdata, struct iatt *postparent)
{
    const struct nlc_local *local = frame->local;

    if (op_ret < 0 && op_errno == ENOENT)
        nlc_count (&nlc_priv (this)->count.miss);
    if (op_ret >= 0 || op_errno == ENOENT)
        nlc_keep (this, local->parent, local->name, op_ret >= 0 ? NLC_PRESENT : NLC_ABSENT,
                  local->at);
    STACK_UNWIND (lookup, frame, op_ret, op_errno, inode, buf, xdata, postparent);
}

/* --- real spelling of a name ------------------------------------------------------------------ */

void
nlc_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    nlc_private_t *priv = this->private;
    g_autoptr (dict_t) dict = NULL;
    bool absent = false;
    char *real = NULL;

    if (!name || !frame->root->checked || !NLC_OPTION (this, positive)
        || inode_is_unkept (loc->inode)
        || g_ascii_strncasecmp (name, REAL_FILENAME, strlen (REAL_FILENAME))) {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), getxattr, loc, name, xdata);
        return;
    }
    real = nlc_real_name (this, loc->inode, name + strlen (REAL_FILENAME), &absent);
    nlc_count (real || absent ? &priv->count.real_hit : &priv->count.real_miss);
    if (real) {
        dict = dict_new ();
        dict_set (dict, name, real, strlen (real) + 1);
        g_free (real);
        STACK_UNWIND (getxattr, frame, 0, 0, dict, NULL);
    } else if (absent) {
        STACK_UNWIND (getxattr, frame, -1, ENOENT, NULL, NULL);
    } else {
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), getxattr, loc, name, xdata);
    }
}

/* --- changes ---------------------------------------------------------------------------------- */

/* The bracket's data for a name that changes. */
struct own {
    struct nlc_asked at;
    uint64_t begun;
    bool absent; /* the name was known not to exist before */
    bool makes;  /* the name may exist afterwards; else it may go */
    bool known;  /* of a rename's new name: the state of the old name afterwards is known */
};

_Static_assert (sizeof (struct own) <= sizeof ((struct change *) 0)->own, "there is room");

static struct own *
nlc_own_of (struct change *change)
{
    return (struct own *) change->own;
}

/* A rename leaves no file under the old name, unless it exchanges or makes a whiteout. */
static bool
nlc_may_make (const struct call *call, const struct change *change)
{
    if (call->op == FOP_rename && change->number == 0)
        return call->flags & (RENAME_EXCHANGE | RENAME_WHITEOUT);
    return call->op != FOP_unlink && call->op != FOP_rmdir;
}

static void
nlc_bracket_begin (const struct call *call, struct change *change)
{
    struct own *own = nlc_own_of (change);

    own->at = nlc_now (call->this);
    own->makes = nlc_may_make (call, change);
    own->begun =
        nlc_change_begin (call->this, change->parent, change->name, own->makes, &own->absent);
    own->known = own->absent
              || call->flags & (RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT);
}

/* Returns true if the answer tells the state of the name now. A rename between two names of one
 * file does nothing. */
static bool
nlc_is_known (const struct answer *answer, struct change *change)
{
    if (answer->op == FOP_rename && change->number == 0)
        return answer->op_ret >= 0 && nlc_own_of (change + 1)->known;
    if (answer->op == FOP_unlink || answer->op == FOP_rmdir)
        return answer->op_ret >= 0 || answer->op_errno == ENOENT;
    return answer->op_ret >= 0;
}

static void
nlc_bracket_end (const struct answer *answer, struct change *change)
{
    const struct own *own = nlc_own_of (change);

    if (answer->op == FOP_mkdir && answer->op_ret >= 0)
        nlc_keep_whole (answer->this, &answer->buf->ia_gfid, own->at);
    nlc_change_end (answer->this, change->parent, change->name, own->begun, own->makes,
                    nlc_is_known (answer, change), own->makes ? NLC_PRESENT : NLC_ABSENT);
}

static const struct change_bracket nlc_bracket = {
    CHANGES_NAMES, nlc_bracket_begin, nlc_bracket_end
};

void
nlc_any_fop (const struct call *call)
{
    change_bracket_call (&nlc_bracket, call);
}

void
nlc_any_fop_cbk (const struct answer *answer)
{
    change_bracket_answer (&nlc_bracket, answer);
}
