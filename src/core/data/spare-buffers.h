/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The buffers of iobuf.c that nobody uses. Not for translators. */
#ifndef WINDLASS_CORE_DATA_SPARE_BUFFERS_H
#define WINDLASS_CORE_DATA_SPARE_BUFFERS_H

/* Gives their memory back: of those that this thread keeps, and of those that no thread does. */
void iobuf_trim (void);

#endif
