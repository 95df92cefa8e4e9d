/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The virtual attribute trusted.glusterfs.pathinfo: which bricks have a file or a directory, and
 * where. Each brick tells its own part; a translator with several children puts their parts
 * together. */
#ifndef WINDLASS_CORE_EDGE_PATHINFO_H
#define WINDLASS_CORE_EDGE_PATHINFO_H

#include "core/edge/fan-out.h"

/* Returns whether name, which may be NULL, is that of the attribute. */
bool pathinfo_is_name (const char *name);

/* After a step of getxattr of this name: appends a blank and the part of each child that has
 * answered with one. Returns the number of parts. */
unsigned pathinfo_append (const struct fan_out *fan, const char *name, GString *out);

#endif
