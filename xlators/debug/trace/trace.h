/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/trace:
 *
 *   trace.c     options, and the handling of each call and answer
 *   lines.c     a call or an answer as a line of text
 *   history.c   the last calls and answers as records, which become text when they are printed
 *
 * Reasons:
 *
 * - Lines are made by core/edge/any-fop.h's call_each, which gives each argument with its kind: one
 *   function serves all operations. The format is GlusterFS's; paths, errno's text and fractions of
 *   times follow it.
 * - A line is written as soon as log-file is on, at INFO or force-log-level, past the level of the
 *   process. GlusterFS raises the level of the whole process, which also prints all other debug
 *   lines.
 * - With both log- options off there is the history; in GlusterFS there is nothing.
 * - A record of the history is 168 bytes of numbers, and gfids become paths when it is read.
 *   GlusterFS's ring points at memory that may be freed meanwhile.
 * - It requests attributes before and after (xlator_api.wants), so that a line says what a write
 *   did. That is the only thing it changes.
 */
#ifndef WINDLASS_DEBUG_TRACE_H
#define WINDLASS_DEBUG_TRACE_H

#include "xlator.h"

/* --- history.c -------------------------------------------------------------------------------- */

struct history;

struct history *history_new (size_t size); /* size: number of records */
void history_free (struct history *history);

/* May be called on any thread; takes no lock and no memory. */
void history_add_call (struct history *history, const struct call *call);
void history_add_answer (struct history *history, const struct answer *answer);
void history_add_release (struct history *history, fd_t *fd);

/* Appends a line for each record, the oldest first. Records may be added meanwhile. */
void history_print (struct history *history, GString *out);

/* Number of records added, and of those lost because two threads met at one slot. */
void history_counts (struct history *history, uint64_t *ret_added, uint64_t *ret_lost);

/* --- lines.c ---------------------------------------------------------------------------------- */

/* Appends "14: gfid=... fd=0x..., count=1, offset=3, ..." and "14: (op_ret=5, *prebuf = {...},
 * ...)". */
void line_of_call (const struct call *call, GString *out);
void line_of_answer (const struct answer *answer, GString *out);

/* "op_ret=-1, op_errno=2 (No such file or directory)" */
void line_of_result (int32_t op_ret, int32_t op_errno, GString *out);

/* Appends seconds and nanoseconds as "2026-11-20 11:38:36.620765000". */
void line_of_time (int64_t seconds, uint32_t nanoseconds, GString *out);

#endif
