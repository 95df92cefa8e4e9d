/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Returns the memory of forgotten inodes to the system. */
#ifndef WINDLASS_FUSE_TRIM_H
#define WINDLASS_FUSE_TRIM_H

struct bridge;

/* The kernel has forgotten so many more inodes. */
void trim_note (struct bridge *bridge, unsigned forgotten);
/* trim_begin is called when the bridge has its graph, trim_end before the graph is freed. */
void trim_begin (struct bridge *bridge);
void trim_end (struct bridge *bridge);

#endif
