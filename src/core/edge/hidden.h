/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hidden names: names that a translator adds to the tree for itself, such as a folder for what it
 * keeps, and that requests from above must not meet. A translator declares them:
 *
 *   static bool
 *   keep_hides (xlator_t *this, inode_t *directory, const char *name)
 *   {
 *       return gfid_equal (&directory->gfid, &gfid_root) && strcmp (name, ".keep") == 0;
 *   }
 *
 *   const struct xlator_api xlator_api = { ..., .hides = keep_hides };
 *
 * and core does the rest, in front of the translator's own functions:
 *
 *   - a lookup of a hidden name fails with ENOENT;
 *   - an operation that makes, removes or moves a name fails with EPERM if one of its names is
 *     hidden;
 *   - a listing leaves hidden names out. The other entries keep their offsets. If a page has hidden
 *     names alone, core reads the next page, since an answer without entries means the end.
 *
 * hides is called for each name of such an operation and for each entry of a listing, on any
 * thread, so it compares and waits for nothing.
 *
 * .uncount takes hidden names out of a link count: folders out of that of the root, and links to
 * files that are visible, too. Core calls it for the entries of a listing with attributes, and for
 * the attributes in other answers about the root, or names in it. So stat, lookup and what caches
 * learn of a change agree. The translator corrects other answers about files itself.
 *
 * A request that the translator made for itself (call_stack.internal names it) meets its hidden
 * names. So do its requests that come back to it from above, but not those of other translators.
 */
#ifndef WINDLASS_CORE_EDGE_HIDDEN_H
#define WINDLASS_CORE_EDGE_HIDDEN_H

#include "core/edge/frame.h"

/* Returns whether `this` hides the name from this request. directory and name may be NULL, as those
 * of a loc without a name. */
bool xlator_hides (xlator_t *this, const call_stack_t *root, inode_t *directory, const char *name);

#endif
