/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths of the other programs of Windlass. */
#ifndef WINDLASS_CORE_BASE_SIBLING_H
#define WINDLASS_CORE_BASE_SIBLING_H

/* Returns the path of a program: beside the running one if it exists there, as in a build tree,
 * else in the folder where it is installed. g_free it. */
char *sibling_program (const char *name, const char *folder);

#endif
