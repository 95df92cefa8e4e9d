/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The transport of io_uring: what the bridge sees of ring/ring.h. */
#ifndef WINDLASS_FUSE_RING_TRANSPORT_H
#define WINDLASS_FUSE_RING_TRANSPORT_H

#include "fuse/transport.h"

extern const struct transport ring_transport;

/* After the mount, before the first thread starts: sets bridge->transports[1] if options, kernel
 * and privileges allow a ring, else bridge->why_device. Returns 0; or a negative errno and a
 * message in *ret_error, if a ring is required and not to be had. */
int ring_prepare (struct bridge *bridge, char **ret_error);
/* Frees the ring, whose threads have ended. */
void ring_end (struct bridge *bridge);

#endif
