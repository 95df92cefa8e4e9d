/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel passthrough: a file whose reads and writes no translator has to see can be read and
 * written by the kernel itself, in the file of storage that it is. Everything else that is done
 * with it still comes down the graph.
 *
 * Whoever takes part in a read or a write has to see it, unless it only forwards it or says
 * otherwise (xlator_passthrough.view). So a translator that knows nothing of all this is never
 * passed by.
 */
#ifndef WINDLASS_CORE_EDGE_PASSTHROUGH_H
#define WINDLASS_CORE_EDGE_PASSTHROUGH_H

#include "core/edge/translator.h"

/* Who has to see reads and writes of the file (inode NULL: of any file), and why: the end of a
 * sentence about it, constant. NULL: nobody from top down, and *ret_storage is who lends the
 * file. */
xlator_t *passthrough_in_the_way (xlator_t *top, const inode_t *inode, const char **ret_why,
                                  xlator_t **ret_storage);

/* Tells those who want to know that what is done with fd goes past them. */
void passthrough_tell (xlator_t *top, fd_t *fd);

#endif
