/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reading a value without a lock or a reference, while another thread may replace it.
 *
 *   reader      read_section_begin; value = load the pointer; use *value; read_section_end
 *   replacer    store the new pointer; read_section_wait; free the old value
 *
 * A section costs a few instructions, and no atomic operation: the replacer pays for the order with
 * thread_barrier. So it is for values that every request reads, and a person replaces. A section is
 * short: the thread waits for nothing in it but short locks, winds nothing, and begins no second
 * section. To keep the value for longer, a reader takes a reference to it in the section.
 */
#ifndef WINDLASS_CORE_TIME_READ_SECTION_H
#define WINDLASS_CORE_TIME_READ_SECTION_H

#include "core/time/thread.h"

/* A thread that has had a section. Never freed: the next thread takes the place of one that has
 * ended. */
struct section_reader {
    uint32_t sections; /* begun and ended; odd while the thread is in one. Atomic */
    bool taken;        /* by a thread that lives; lock of read-section.c */
    struct section_reader *next; /* constant */
};

extern __thread struct section_reader *section_reader;

/* For read_section_begin: gives the thread its struct. */
struct section_reader *section_reader_new (void);

static inline void
read_section_begin (void)
{
    struct section_reader *reader = section_reader ? section_reader : section_reader_new ();

    __atomic_store_n (&reader->sections, reader->sections + 1, __ATOMIC_RELAXED);
    thread_keep_order ();
}

static inline void
read_section_end (void)
{
    __atomic_store_n (&section_reader->sections, section_reader->sections + 1, __ATOMIC_RELEASE);
}

/* Waits until all sections have ended that began before the call. Not to be called in a section,
 * nor with a lock that one may take. */
void read_section_wait (void);

#endif
