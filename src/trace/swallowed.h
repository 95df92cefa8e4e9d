/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failures that a translator turned into success: nobody above it ever hears of them, so somebody
 * has to listen. */
#ifndef WINDLASS_TRACE_SWALLOWED_H
#define WINDLASS_TRACE_SWALLOWED_H

#include "core/edge/translator.h"

/* Notes them (core/report/failures.h) for all translators of a graph, or no longer. Any time. */
void swallowed_set (GPtrArray *xlators, bool on);
bool swallowed_is_on (GPtrArray *xlators);

#endif
