/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * layout gluster: what GlusterFS's features/trash does with removed files.
 *
 *   /.trashcan/a/b/NAME_2026-11-28_210133_+0000      the former /a/b/NAME
 *
 * A removal renames the file there at once, by the caller. There is no stage, no information file
 * and no trash of a user. A directory in the trash is made when it is first needed, with the mode
 * and the owner of the directory that it stands for: so who may remove a name may rename it there,
 * and who might not read it still may not. (GlusterFS copies the mode, and its storage asks for no
 * rights.)
 *
 * A file with further links, or a larger one than max-filesize, is not kept. As with the other
 * layout the name is dropped after the rename, by one thread, so that two removals of two links
 * don't both take the file for one that has another.
 *
 * A file that becomes shorter is copied there first. (GlusterFS 10.3 means to do so, but its own
 * storage refuses the name that it makes for the copy.)
 */
#ifndef WINDLASS_TRASH_GLUSTER_H
#define WINDLASS_TRASH_GLUSTER_H

#include "../trash.h"

/* Completes the options after they were read, and refuses those that the layout has no use for:
 * -EINVAL, with the reason in the log. */
int trash_gluster_options (xlator_t *this, trash_private_t *priv);
/* Makes the trash's directory in the background, once the root is known. */
void trash_gluster_begin (xlator_t *this);

/* Returns whether a path is the trash's directory, or is below it. */
bool trash_gluster_has (const trash_private_t *priv, const char *path);
/* Returns the directory of `eliminate` that has the path, or NULL. */
const char *trash_gluster_pattern (const trash_private_t *priv, const char *path);
/* Returns whether a name in a directory is the trash's directory, which a caller may not remove or
 * rename. */
bool trash_gluster_guards (xlator_t *this, const call_stack_t *root, const loc_t *loc);
/* Returns whether the layout keeps the file that this caller removes or cuts. */
bool trash_gluster_keeps (xlator_t *this, const call_stack_t *root, inode_t *directory,
                          const char *name);

/* Stores the directory in the trash that stands for `directory`, with a reference; makes those that
 * are missing. client: of the line whose task calls. */
int trash_gluster_folder (xlator_t *this, struct client *client, inode_t *directory,
                          inode_t **ret_folder);
/* Returns the name with the present time behind it, and, if `try` is over 1, a number that is
 * likely to be new in this second; shortened to a name's maximum. g_free it. */
char *trash_gluster_name (const char *name, unsigned try);
#define TRASH_GLUSTER_TRIES 20 /* names that are tried */

extern unlink_fop trash_gluster_unlink; /* remove.c */

#endif
