/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who asked may lose patience while his call waits for a thread: he was killed, or has a signal to handle. Then he is answered EINTR at once,
 * and nothing is done. What tells of a timer's tick ends no call, and neither is one ended that a dying process owes (call_stub_is_owed).
 *
 *   one = g_new0 (struct waiting, 1);                 struct waiting { struct patience patience; ... }, patience first
 *   patience_begin (&one->patience, stub, take_back); then it is put where it waits
 *   if (patience_end (&one->patience)) g_free (one);  by the thread that goes on with it, when it was taken out; then call_resume (stub)
 */
#ifndef WINDLASS_CORE_PATIENCE_H
#define WINDLASS_CORE_PATIENCE_H

#include "core/frame.h"
#include "core/stub.h"
#include "core/timer.h"

struct patience {
    pthread_mutex_t lock; /* under it: what take_back takes */
    core_timer_t *timer;  /* lock; NULL: none, or it is being called */
    bool over;            /* lock */
    call_stub_t *stub;    /* constant */
    bool (*take_back) (struct patience *one); /* constant */
    struct interrupt_watch watch;
};

/* For a call that isn't where it waits yet. take_back takes it out of there; false: it isn't there (yet, or any more). The memory may be gone
 * as soon as it can be taken. */
void patience_begin (struct patience *one, call_stub_t *stub, bool (*take_back) (struct patience *one));

/* The call was taken out, and goes on. Whether the memory is the caller's; else it is freed (g_free) later. */
bool patience_end (struct patience *one);

#endif
