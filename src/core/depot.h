/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The buffers of iobuf.c that no thread keeps. Not for translators. */
#ifndef WINDLASS_CORE_DEPOT_H
#define WINDLASS_CORE_DEPOT_H

/* Gives their memory back. */
void iobuf_trim (void);

#endif
