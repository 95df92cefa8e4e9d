/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which programs have changed the paths of a view, from the log of a features/audit above it
 * (features-audit(7)). An open for writing counts as a change.
 */
#ifndef WINDLASS_OVERLAY_WHO_H
#define WINDLASS_OVERLAY_WHO_H

#include "xlator.h"

struct changers;

/* Reads the log of the nearest features/audit above, which may be written meanwhile. job: stops the
 * reading; or NULL. Returns 0, with NULL in *ret_changers if none has a log in files; or a negative
 * errno: as record_files_read, or -EINTR. */
int changers_read (const xlator_t *this, struct job *job, struct changers **ret_changers);
void changers_free (struct changers *changers); /* takes NULL */

/* Returns the names of the programs that have changed a path since it got what it is, each once,
 * the first one first; or of the one that removed it. They belong to changers, and end with NULL.
 * NULL: none is known. */
const char *const *changers_of (const struct changers *changers, const char *path);

#endif
