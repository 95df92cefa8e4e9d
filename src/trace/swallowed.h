/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Failures that a translator turned into success, so that the translators above do not see them. */
#ifndef WINDLASS_TRACE_SWALLOWED_H
#define WINDLASS_TRACE_SWALLOWED_H

#include "core/edge/translator.h"

/* Starts or stops noting them (core/report/failures.h) for all translators of a graph. May be
 * called at any time. */
void swallowed_set (GPtrArray *xlators, bool on);
bool swallowed_is_on (GPtrArray *xlators);

#endif
