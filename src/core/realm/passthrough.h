/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel passthrough: if no translator has to see the reads and writes of a file, the kernel can do
 * them by itself, in the file of storage. All other operations still come down the graph.
 *
 * A translator that implements reads or writes has to see them, unless it only forwards them or
 * says otherwise (xlator_passthrough.view). A translator that doesn't know of passthrough is
 * therefore never bypassed.
 */
#ifndef WINDLASS_CORE_REALM_PASSTHROUGH_H
#define WINDLASS_CORE_REALM_PASSTHROUGH_H

#include "core/edge/translator.h"

/* Returns the translator that has to see reads and writes of the file (inode NULL: of any file),
 * and in *ret_why the reason: a constant text, the end of a sentence about that translator. Without
 * `changes` only reads can come, as the mount is read-only. Returns NULL if no translator below top
 * has to see them; *ret_storage is then the translator that lends the file, as the inode that
 * realm_inode_of returns for it. A boundary with several children is in the way unless its
 * xlator_passthrough.follow tells which one has the file, and no change can come that moves the
 * file to another one. */
xlator_t *passthrough_in_the_way (xlator_t *top, inode_t *inode, bool changes,
                                  const char **ret_why, xlator_t **ret_storage);

/* Returns the storage that lends the file for reads or writes (op is FOP_readv or FOP_writev) that
 * the daemon makes past the translators from top down, at once: a change may move the file to
 * another child of a boundary later. NULL: storage lends none, or a translator on the way changes,
 * counts, delays or keeps data. inode: as the realm of top has it. */
xlator_t *passthrough_lender (xlator_t *top, inode_t *inode, enum fop op);

/* Returns whether a translator from top on has to see each read and write of the file (DATA_EACH),
 * or each lookup and stat. */
bool passthrough_sees_each (xlator_t *top, inode_t *inode);
bool passthrough_sees_names (xlator_t *top);

/* Returns whether a translator from top down that is asked at each open must see the flushes of the
 * file: xlator_passthrough.sees_flush. */
bool passthrough_sees_flush (xlator_t *top, inode_t *inode);

/* Tells the translators with DATA_COUNTED that reads and writes of fd bypass them. */
void passthrough_tell (xlator_t *top, fd_t *fd);

#endif
