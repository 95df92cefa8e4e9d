/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the translator that prevents kernel passthrough. Reads and writes may take different routes
 * down the graph: both are walked. */
#include "core/realm/passthrough.h"

#include "core/realm/realm.h"

/* Watched by `windlass trace` and the like, which must see every call while they run. */
static bool
passthrough_is_watched (const xlator_t *xl)
{
    return __atomic_load_n (&xl->watchers, __ATOMIC_RELAXED) != 0;
}

/* Returns the next translator from xl down that implements op and doesn't merely forward it, or
 * storage. */
static xlator_t *
taking_part (xlator_t *xl, enum fop op)
{
    for (;;) {
        xlator_t *to = op == FOP_readv ? xl->routes.readv.to : xl->routes.writev.to;

        if (!to->children || !opset_has (to->api->forwards, op) || passthrough_is_watched (to))
            return to;
        xl = FIRST_CHILD (to);
    }
}

/* Returns the child of xl that has the file; NULL: that is not known. inode: as the realm of top
 * has it. */
static xlator_t *
passthrough_child (const xlator_t *top, xlator_t *xl, inode_t *inode)
{
    inode_t *below;

    if (xl->api->passthrough.follow)
        return xl->api->passthrough.follow (xl, realm_inode_from (top, xl, inode), &below);
    return xl->api->realms && xl->children->next ? NULL : FIRST_CHILD (xl);
}

/* inode: as the realm of top has it. */
static enum data_view
passthrough_view_from (const xlator_t *top, xlator_t *xl, inode_t *inode, const char **ret_why)
{
    const struct xlator_passthrough *says = &xl->api->passthrough;

    *ret_why = says->why ? says->why : "has to see the file's reads and writes";
    if (xl->api->touches & TOUCHES_DATA) {
        *ret_why = says->why ? says->why : "may change its data";
        return DATA_SEEN;
    }
    if (passthrough_is_watched (xl)) {
        *ret_why = "is looked at, by windlass trace, stats or the like";
        return DATA_SEEN;
    }
    if (xl->children && !passthrough_child (top, xl, inode)) {
        *ret_why = "finds the file in one of several subvolumes";
        return DATA_SEEN;
    }
    if (says->view)
        return says->view (xl, realm_inode_from (top, xl, inode), ret_why);
    return says->lend ? DATA_UNSEEN : DATA_SEEN;
}

xlator_t *
passthrough_lender (xlator_t *top, inode_t *inode, enum fop op)
{
    xlator_t *at = taking_part (top, op);
    const char *why;

    while (passthrough_view_from (top, at, inode, &why) == DATA_UNSEEN) {
        if (!at->children)
            return at->api->passthrough.lend ? at : NULL;
        at = taking_part (passthrough_child (top, at, inode), op);
    }
    return NULL;
}

/* Returns whether a change may move the file to another child of a boundary. */
static bool
passthrough_moves (const xlator_t *xl, const char **ret_why)
{
    const struct xlator_passthrough *says = &xl->api->passthrough;

    *ret_why = says->why ? says->why : "may have the file in another subvolume after a change";
    return says->follow;
}

static xlator_t *
in_the_way_of (enum fop op, xlator_t *top, inode_t *inode, bool changes, const char **ret_why,
               xlator_t **ret_storage)
{
    xlator_t *at = taking_part (top, op);

    while (passthrough_view_from (top, at, inode, ret_why) < DATA_SEEN) {
        if (changes && passthrough_moves (at, ret_why))
            return at;
        if (!at->children) {
            *ret_storage = at;
            return at->api->passthrough.lend ? NULL : at;
        }
        at = taking_part (passthrough_child (top, at, inode), op);
    }
    return at;
}

xlator_t *
passthrough_in_the_way (xlator_t *top, inode_t *inode, bool changes, const char **ret_why,
                        xlator_t **ret_storage)
{
    xlator_t *reads = NULL, *writes = NULL;
    xlator_t *found = in_the_way_of (FOP_readv, top, inode, changes, ret_why, &reads);

    if (!found && changes)
        found = in_the_way_of (FOP_writev, top, inode, changes, ret_why, &writes);
    if (!found && changes && reads != writes) {
        *ret_why = "writes what another one reads";
        found = writes;
    }
    if (!found)
        *ret_storage = reads;
    return found;
}

bool
passthrough_sees_each (xlator_t *top, inode_t *inode)
{
    const char *why;

    if (!top->pass_through && top->api->passthrough.view
        && top->api->passthrough.view (top, realm_inode_of (top, inode), &why) == DATA_EACH)
        return true;
    for (const xlator_list_t *child = top->children; child; child = child->next)
        if (passthrough_sees_each (child->xlator, inode))
            return true;
    return false;
}

bool
passthrough_sees_names (xlator_t *top)
{
    if (!top->pass_through && top->api->passthrough.sees_names
        && top->api->passthrough.sees_names (top))
        return true;
    for (const xlator_list_t *child = top->children; child; child = child->next)
        if (passthrough_sees_names (child->xlator))
            return true;
    return false;
}

bool
passthrough_sees_flush (xlator_t *top, inode_t *inode)
{
    if (!top->pass_through && top->api->passthrough.sees_flush
        && top->api->passthrough.sees_flush (top, realm_inode_of (top, inode)))
        return true;
    for (const xlator_list_t *child = top->children; child; child = child->next)
        if (passthrough_sees_flush (child->xlator, inode))
            return true;
    return false;
}

static void
tell_on (enum fop op, xlator_t *top, fd_t *fd)
{
    xlator_t *at = top, *child = top;
    const char *why;

    while (child && (at = taking_part (child, op))->children) {
        /* A translator that implements readv was told on the route of reads. */
        const bool told = op == FOP_writev && (at->api->any_fop || at->api->fops.readv);

        if (!told && at->api->passthrough.past
            && passthrough_view_from (top, at, fd->inode, &why) == DATA_COUNTED)
            at->api->passthrough.past (at, realm_fd_of (at, fd));
        child = passthrough_child (top, at, fd->inode);
    }
}

void
passthrough_tell (xlator_t *top, fd_t *fd)
{
    tell_on (FOP_readv, top, fd);
    tell_on (FOP_writev, top, fd);
}
