/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of debug/error-gen share. */
#ifndef ERRORGEN_H
#define ERRORGEN_H

#include "xlator.h"

/* errors.c: an error that the operation may really have, one of them for each number. */
int errorgen_likely (enum fop op, uint64_t number);

#endif
