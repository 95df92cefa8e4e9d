/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The unused buffers of iobuf.c. Not for translators. */
#ifndef WINDLASS_CORE_DATA_SPARE_BUFFERS_H
#define WINDLASS_CORE_DATA_SPARE_BUFFERS_H

/* Frees the unused buffers of this thread's cache and of the depot. */
void iobuf_trim (void);

#endif
