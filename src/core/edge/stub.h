/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A call set aside, to be resumed later or by another thread. Its arguments are kept until then. */
#ifndef WINDLASS_CORE_EDGE_STUB_H
#define WINDLASS_CORE_EDGE_STUB_H

#include "core/table/fops.h"

typedef struct call_stub call_stub_t;

/* fop_writev_stub (frame, fn, fd, vector, ...): a call of fn, which is usually the translator's own
 * or a helper that winds. NULL when memory is out. */
#define FOP(name) call_stub_t *fop_##name##_stub (call_frame_t *frame, name##_fop *fn
#define ARG(kind, name) , C_##kind name
#define REPLY(name) );
#include "fops.def"

/* Calls it and frees it. */
void call_resume (call_stub_t *stub);

/* Frees it without calling; the frame is still to be answered. */
void call_stub_destroy (call_stub_t *stub);

call_frame_t *call_stub_frame (const call_stub_t *stub);
enum fop call_stub_op (const call_stub_t *stub);

/* It is done also when whoever asked is being killed: what the kernel asks for when he closes his
 * files, and times that it kept. It tells of the same signal then. Locks have to go, and times have
 * to stay. */
bool call_stub_is_owed (const call_stub_t *stub);

#endif
