/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the operations on names share. */
#ifndef WINDLASS_OVERLAY_NAMES_H
#define WINDLASS_OVERLAY_NAMES_H

#include "../overlay.h"

/* Returns the inode above of a name, with a reference: known if that isn't NULL. */
int overlay_look_above (struct overlay_act *act, inode_t *parent, const char *name, inode_t *known,
                        inode_t **ret_inode);

/* An operation on names looks objects up before it takes the turns. Once it has them, it asks
 * whether a name still stands for what it has found (NULL: nothing). If not, it begins again; after
 * OVERLAY_TRIES it fails with ESTALE, since somebody changes the layers behind the view. */
bool overlay_name_is (xlator_t *this, const struct overlay_name *name, inode_t *above);
/* Finds a name of an inode above that the layers have: the table may know one that has gone, as the
 * answer to a lookup may come after a rename. If they have none, a name under which they have
 * another object, which somebody may have put there. Returns 1, with a reference in *ret_parent and
 * a name that is to be freed with g_free; 0: the inode has no name; or a negative errno. */
int overlay_name_of (xlator_t *this, inode_t *inode, inode_t **ret_parent, char **ret_name);
#define OVERLAY_OTHER 1
#define OVERLAY_TRIES 100

/* Records whether the directory is removed. It is so before its whiteouts go, or the names of its
 * lowers would show again. */
void overlay_die (xlator_t *this, inode_t *directory, bool dead);

/* Attributes of a directory before and after, if a translator above asks for them. */
struct overlay_parent {
    inode_t *inode;
    struct iatt pre, post;
    bool has_pre, has_post;
};
void overlay_parent_before (struct overlay_act *act, inode_t *parent, struct overlay_parent *ret);
void overlay_parent_after (struct overlay_act *act, struct overlay_parent *parent);

/* A rename in the upper, as the daemon. victim may be NULL. */
struct overlay_move {
    inode_t *directory; /* all below */
    const char *name;
    inode_t *inode;
    inode_t *newdirectory;
    const char *newname;
    inode_t *victim;
};
int overlay_move (struct overlay_act *act, const struct overlay_move *move, uint32_t flags,
                  struct iatt *ret_buf);

#endif
