/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/hidden.h"
#include "core/table/fops-rows.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/itable.h"
#include "core/data/loc.h"
#include "core/edge/call-fields.h"
#include "core/edge/stack.h"

bool
xlator_hides (xlator_t *this, const call_stack_t *root, inode_t *directory, const char *name)
{
    return directory && name && root->internal != this->name
        && this->api->hides (this, directory, name);
}

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define SEE(kind, name) SEE_##kind##_##name (&call)
#define TAIL(...) STACK_WIND_TAIL (__VA_ARGS__)

/* hidden_behind_FOP calls what stands behind: the function of the translator, or of the next one
 * below that has the operation. */
#define BEHIND(fop)                                                                                \
    static void hidden_behind_##fop (call_frame_t *frame, xlator_t *this                           \
                                     FOP_ARGS_##fop (DECLARE))                                     \
    {                                                                                              \
        fop##_fop *const own = xlator_plain_##fop (this);                                          \
        if (own)                                                                                   \
            own (frame, this FOP_ARGS_##fop (NAME));                                               \
        else                                                                                       \
            TAIL (frame, FIRST_CHILD (this), fop FOP_ARGS_##fop (NAME));                           \
    }

/* --- operations on names ---------------------------------------------------------------------- */

/* The operations that meet names. */
#define NAMED(X)                                                                                   \
    X (lookup) X (mknod) X (mkdir) X (unlink) X (rmdir) X (symlink) X (rename) X (link) X (create)

#define OF_NAMES(fop) | OPSET_OF (FOP_##fop)
_Static_assert ((0 NAMED (OF_NAMES)) == (OPS_CHANGE_NAMES | OPSET_OF (FOP_lookup)),
                "NAMED lists each operation that makes, removes or looks up a name");

static bool
loc_is_hidden (const struct call *call, const loc_t *loc)
{
    return loc && xlator_hides (call->this, call->frame->root, loc->parent, loc->name);
}

/* Returns the errno of a call that names something hidden, or 0. */
static int
call_error (const struct call *call)
{
    if (!loc_is_hidden (call, call->loc) && !loc_is_hidden (call, call->newloc))
        return 0;
    return call->op == FOP_lookup ? ENOENT : EPERM;
}

/* --- link counts ------------------------------------------------------------------------------ */

/* Attributes of the root as callers see them, in copy; others as they are. */
static struct iatt *
iatt_seen (xlator_t *this, struct iatt *buf, struct iatt *copy)
{
    if (!buf || !gfid_equal (&buf->ia_gfid, &gfid_root))
        return buf;
    *copy = *buf;
    this->api->uncount (this, copy);
    return copy;
}

static inline bool
inode_is_root (const inode_t *inode)
{
    return inode->slot == ROOT_SLOT;
}

static bool
loc_is_of_root (const loc_t *loc)
{
    return loc && ((loc->parent && inode_is_root (loc->parent))
                   || (loc->inode && inode_is_root (loc->inode)));
}

/* Returns whether the answer to an operation on names may have attributes of the root that the
 * translator has to correct. */
static bool
call_is_counted (const struct call *call)
{
    return call->this->api->uncount && call->frame->root->internal != call->this->name
        && (loc_is_of_root (call->loc) || loc_is_of_root (call->newloc));
}

#define SEEN(kind, name) SEEN_##kind (name)
#define SEEN_IATT(name) name = iatt_seen (this, name, &copies[n++]);
#define SEEN_INODE(name)
#define SEEN_FD(name)
#define SEEN_DICT(name)
#define UNWIND(...) STACK_UNWIND (__VA_ARGS__)

/* The translator gets a frame of its own, below the one of the caller's call. */
#define COUNT(fop)                                                                                 \
    static void counted_##fop##_cbk (call_frame_t *frame, void *cookie, xlator_t *this,            \
                                     int32_t op_ret, int32_t op_errno FOP_RETS_##fop (DECLARE))    \
    {                                                                                              \
        struct iatt copies[5];                                                                     \
        unsigned n = 0;                                                                            \
        FOP_RETS_##fop (SEEN)                                                                      \
        UNWIND (fop, frame, op_ret, op_errno FOP_RETS_##fop (NAME));                               \
    }                                                                                              \
    static void counted_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))       \
    {                                                                                              \
        call_frame_t *const own = FRAME_TAKE (frame);                                              \
        FRAME_FILL (own, this, counted_##fop##_cbk, NULL, FOP_##fop, CALL_SITE);                   \
        hidden_behind_##fop (own, own->this FOP_ARGS_##fop (NAME));                                \
    }

#define COUNT_BEHIND(fop) BEHIND (fop) COUNT (fop)

/* Operations without names whose answers have attributes of a directory. */
#define UNNAMED(X) X (stat) X (fstat) X (setattr) X (fsetattr)

#define ROOTED(kind, name) ROOTED_##kind (name)
#define ROOTED_LOC(loc) inode_is_root (loc->inode)
#define ROOTED_FD(fd) inode_is_root (fd->inode)
#define ROOTED_IATT(name)
#define ROOTED_FLAGS(name)
#define ROOTED_DICT(name)

/* STACK_WIND_TAIL for a frame that was just filled: it has no local. */
#define PASS(...) PASS_AT (__VA_ARGS__)
#define PASS_AT(frame_, this_, fop_, ...)                                                          \
    do {                                                                                           \
        const __auto_type route_ = &FIRST_CHILD (this_)->routes.fop_;                              \
        (frame_)->this = route_->to;                                                               \
        __atomic_load_n (&route_->call, __ATOMIC_RELAXED) (frame_, (frame_)->this, __VA_ARGS__);   \
    } while (0)

/* Every stat of a file passes here. So a translator that does not implement the operation gets a
 * function that does not ask for that (hidden_passed_FOP), and an inode that is not the root costs
 * three instructions. */
#define GUARD_ROOT(guard, fop, behind)                                                             \
    static void guard##_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))       \
    {                                                                                              \
        if (G_UNLIKELY (FOP_ARGS_##fop (ROOTED)) && frame->root->internal != this->name)           \
            counted_##fop (frame, this FOP_ARGS_##fop (NAME));                                     \
        else                                                                                       \
            behind;                                                                                \
    }
#define GUARD_COUNT(fop)                                                                           \
    COUNT_BEHIND (fop)                                                                             \
    GUARD_ROOT (hidden, fop, hidden_behind_##fop (frame, this FOP_ARGS_##fop (NAME)))              \
    GUARD_ROOT (hidden_passed, fop, PASS (frame, this, fop FOP_ARGS_##fop (NAME)))
UNNAMED (GUARD_COUNT)

#define GUARD(fop)                                                                                 \
    COUNT_BEHIND (fop)                                                                             \
    static void hidden_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))        \
    {                                                                                              \
        struct call call = { .op = FOP_##fop, .frame = frame, .this = this };                      \
        int error;                                                                                 \
        FOP_ARGS_##fop (SEE)                                                                       \
        error = call_error (&call);                                                                \
        if (error)                                                                                 \
            frame_fail (frame, error);                                                             \
        else if (call_is_counted (&call))                                                          \
            counted_##fop (frame, this FOP_ARGS_##fop (NAME));                                     \
        else                                                                                       \
            hidden_behind_##fop (frame, this FOP_ARGS_##fop (NAME));                               \
    }
NAMED (GUARD)

/* --- listings --------------------------------------------------------------------------------- */

/* A listing whose next page may have to be read. It lives as long as the request. */
struct hidden_listing {
    fd_t *fd; /* with a reference until the answer */
    size_t size;
    dict_t *xdata; /* the same; or NULL */
};

/* Returns a copy of a page without its hidden names, and with the link counts that callers see. */
static gf_dirent_t *
page_seen (xlator_t *this, const call_stack_t *root, inode_t *directory,
           const gf_dirent_t *entries, int *ret_left)
{
    gf_dirent_t *copy = dirents_copy (entries), **at = &copy, *entry;

    for (*ret_left = 0; (entry = *at);) {
        if (!xlator_hides (this, root, directory, entry->d_name)) {
            if (this->api->uncount && entry->d_stat.ia_type != IA_INVAL)
                this->api->uncount (this, &entry->d_stat);
            at = &entry->next;
            (*ret_left)++;
            continue;
        }
        *at = entry->next;
        entry->next = NULL;
        dirents_free (entry);
    }
    return copy;
}

static off_t
page_end (const gf_dirent_t *entries)
{
    while (entries->next)
        entries = entries->next;
    return entries->d_off;
}

static struct hidden_listing *
listing_begin (call_frame_t *frame, fd_t *fd, size_t size, dict_t *xdata)
{
    struct hidden_listing *listing = stack_alloc (frame->root, sizeof *listing, NULL);

    *listing = (struct hidden_listing){ fd_ref (fd), size, dict_ref (xdata) };
    return listing;
}

static void
listing_end (struct hidden_listing *listing)
{
    fd_unref (listing->fd);
    dict_unref (listing->xdata);
}

/* The two operations differ only in their names. The translator gets a frame of its own for each
 * page, below the one of the caller's call. */
#define LIST(fop)                                                                                  \
    BEHIND (fop)                                                                                   \
    static fop##_cbk hidden_##fop##_cbk;                                                           \
    static void list_##fop (call_frame_t *frame, struct hidden_listing *listing, off_t offset)     \
    {                                                                                              \
        call_frame_t *const page = FRAME_TAKE (frame);                                             \
        FRAME_FILL (page, frame->this, hidden_##fop##_cbk, listing, FOP_##fop, CALL_SITE);         \
        hidden_behind_##fop (page, page->this, listing->fd, listing->size, offset,                 \
                             listing->xdata);                                                      \
    }                                                                                              \
    static void hidden_##fop (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size,          \
                              off_t offset, dict_t *xdata)                                         \
    {                                                                                              \
        list_##fop (frame, listing_begin (frame, fd, size, xdata), offset);                        \
    }                                                                                              \
    static void hidden_##fop##_cbk (call_frame_t *frame, void *cookie, xlator_t *this,             \
                                    int32_t op_ret, int32_t op_errno, gf_dirent_t *entries,        \
                                    dict_t *xdata)                                                 \
    {                                                                                              \
        struct hidden_listing *listing = cookie;                                                   \
        gf_dirent_t *seen = NULL;                                                                  \
        int left = op_ret;                                                                         \
        if (op_ret > 0)                                                                            \
            seen = page_seen (this, frame->root, listing->fd->inode, entries, &left);              \
        if (op_ret > 0 && left == 0) {                                                             \
            list_##fop (frame, listing, page_end (entries));                                       \
            return;                                                                                \
        }                                                                                          \
        listing_end (listing);                                                                     \
        STACK_UNWIND (fop, frame, left, op_errno, seen, xdata);                                    \
        dirents_free (seen);                                                                       \
    }

LIST (readdir)
LIST (readdirp)

#define ROW(fop) .fop = hidden_##fop,
const struct xlator_fops hidden_fops = { NAMED (ROW) ROW (readdir) ROW (readdirp) };
const struct xlator_fops hidden_counted_fops = { UNNAMED (ROW) };
#define PASSED_ROW(fop) .fop = hidden_passed_##fop,
const struct xlator_fops hidden_passed_fops = { UNNAMED (PASSED_ROW) };
