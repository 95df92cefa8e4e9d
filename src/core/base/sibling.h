/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Windlass is more than one program; where the others are. */
#ifndef WINDLASS_CORE_BASE_SIBLING_H
#define WINDLASS_CORE_BASE_SIBLING_H

/* The path of the program of that name: beside the running one, as in a build tree, if it is there,
 * else in the folder where it is installed. g_free it. */
char *sibling_program (const char *name, const char *folder);

#endif
