/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Callers that no longer wait for their request. */
#ifndef WINDLASS_FUSE_THREADS_INTERRUPT_H
#define WINDLASS_FUSE_THREADS_INTERRUPT_H

#include "fuse/state.h"

/* The kernel tells that the caller of a request has got a signal: fuse_req_interrupt_func. data:
 * the request's call_stack. */
void interrupt_request (fuse_req_t req, void *data);

/* Returns whether an interrupt that was reported for a request still keeps an fd of the graph, a
 * little longer than the request. Called when no request uses the graph any more. */
bool interrupt_has_file (struct bridge *bridge, const struct graph *graph);

#endif
