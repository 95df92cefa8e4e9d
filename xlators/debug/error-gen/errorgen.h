/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files of debug/error-gen. */
#ifndef ERRORGEN_H
#define ERRORGEN_H

#include "xlator.h"

/* errors.c: an error that the operation may return in practice; number selects one. */
int errorgen_likely (enum fop op, uint64_t number);

#endif
