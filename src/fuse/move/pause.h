/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* XLATOR_PAUSE: a translator changes something while no request of the kernel is under way. */
#ifndef WINDLASS_FUSE_MOVE_PAUSE_H
#define WINDLASS_FUSE_MOVE_PAUSE_H

#include "core/work/pause.h"
#include "fuse/state.h"

/* Answers XLATOR_PAUSE (core/work/pause.h), on the thread of the translator that asks. entrance:
 * the bridge as the top's parent in the graph of that translator. */
void bridge_pause (xlator_t *entrance, struct pause *pause);

#endif
