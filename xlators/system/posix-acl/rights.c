/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Queries of rules: whether the caller owns an inode, and which access it has. In the order of the
 * kernel's inode_permission. */
#include "posix-acl.h"

static int
needs (struct acl_look *look, int ask, inode_t *inode)
{
    look->ask = ask;
    look->about = inode;
    return ACL_ASK;
}

/* Data that this request asked for take precedence, so that it sees one state of an inode; else the
 * kept data. */
static void
acl_look_at (struct acl_look *look, inode_t *inode, struct acl_view *ret_view)
{
    for (unsigned i = 0; look->local && i < ACL_SEEN && look->local->seen[i].inode; i++)
        if (look->local->seen[i].inode == inode) {
            *ret_view = look->local->seen[i].view;
            acl_ref (ret_view->acl);
            return;
        }
    acl_keep_see (look->this, inode, look->caller.root->begin, ret_view);
}

int
acl_see (struct acl_look *look, inode_t *inode, struct acl_view *ret_view)
{
    acl_look_at (look, inode, ret_view);
    return ret_view->known ? 0 : needs (look, ASK_ATTRIBUTES, inode);
}

/* By the mode alone, for a caller that is not the owner. */
static unsigned
rights_by_mode (const struct acl_look *look, const struct acl_view *view)
{
    const unsigned group = view->mode >> 3 & 7, others = view->mode & 7;

    if (group == others)
        return others;
    return acl_caller_has_group (&look->caller, view->gid) ? group : others;
}

int
acl_may (struct acl_look *look, inode_t *inode, unsigned want)
{
    g_auto (acl_view_t) view = { 0 };
    int r = acl_see (look, inode, &view);

    if (r != 0)
        return r;
    if (look->caller.uid == view.uid)
        return (view.mode >> 6 & want) == want ? 0 : -EACCES;
    if (view.mode & 070) { /* the mask of an ACL: if it is 0, named entries give nothing, and the
                              mode decides */
        if (view.state == ACL_UNKNOWN)
            return needs (look, ASK_ACL, inode);
        if (view.state == ACL_BAD)
            return -EACCES;
        if (view.state == ACL_THERE)
            return acl_permits (view.acl, &look->caller, view.gid, want, NULL, NULL) ? 0 : -EACCES;
    }
    return (rights_by_mode (look, &view) & want) == want ? 0 : -EACCES;
}

int
acl_owns (struct acl_look *look, inode_t *inode)
{
    g_auto (acl_view_t) view = { 0 };
    int r = acl_see (look, inode, &view);

    if (r == 0 && view.uid != look->caller.uid)
        r = -EPERM;
    return r;
}

int
acl_find (struct acl_look *look, inode_t *parent, const char *name, inode_t **ret_inode)
{
    for (unsigned i = 0;
         look->local && i < G_N_ELEMENTS (look->local->named) && look->local->named[i].parent;
         i++) {
        const struct acl_named *named = &look->local->named[i];

        if (named->parent == parent && strcmp (named->name, name) == 0) {
            *ret_inode = named->inode;
            return 0;
        }
    }
    look->name = name;
    return needs (look, ASK_NAME, parent);
}
