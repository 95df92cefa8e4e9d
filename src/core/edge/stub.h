/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call set aside, to be resumed later or by another thread. The stub holds references to the
 * arguments until then. */
#ifndef WINDLASS_CORE_EDGE_STUB_H
#define WINDLASS_CORE_EDGE_STUB_H

#include "core/table/fops.h"

typedef struct call_stub call_stub_t;

/* fop_writev_stub (frame, fn, fd, vector, ...): a stub for a call of fn, usually the translator's
 * own fop or a helper that winds. NULL if there is no memory. */
#define FOP(name) call_stub_t *fop_##name##_stub (call_frame_t *frame, name##_fop *fn
#define ARG(kind, name) , C_##kind name
#define REPLY(name) );
#include "fops.def"

/* Calls the function and frees the stub. */
void call_resume (call_stub_t *stub);

/* The same if op_errno is 0; otherwise fails the call with it, and frees the stub. */
void call_resume_or_fail (call_stub_t *stub, int op_errno);

/* Frees the stub without the call. The frame must still be answered. */
void call_stub_destroy (call_stub_t *stub);

call_frame_t *call_stub_frame (const call_stub_t *stub);
enum fop call_stub_op (const call_stub_t *stub);

/* Returns whether the call must be done even if the calling process is being killed: flush, unlock,
 * and setting attributes. The kernel sends these when a process closes its files, or for times that
 * the kernel kept, and reports the same signal for them. Locks must be released and times must be
 * stored all the same. */
bool call_stub_is_owed (const call_stub_t *stub);

#endif
