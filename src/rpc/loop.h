/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The event loop of the process: one thread, "network", that waits until a socket can be read or
 * written, and calls the socket's watch. It may not block (thread_may_not_block).
 *
 * A watch is added, changed and removed on any thread, and called on the loop's thread alone. After
 * loop_remove, on the loop's thread, it isn't called again.
 */
#ifndef WINDLASS_RPC_LOOP_H
#define WINDLASS_RPC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_watch {
    void (*ready) (struct loop_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP ... */
    int fd;
};

/* Register and unregister a user of the loop. The first loop_use starts the thread; the last
 * loop_leave ends it, after all posted tasks. 0, or a negative errno, which is logged. */
int loop_use (void);
void loop_leave (void);

/* 0, or a negative errno. */
int loop_add (struct loop_watch *watch, uint32_t events);
void loop_change (struct loop_watch *watch, uint32_t events);
void loop_remove (struct loop_watch *watch);

/* Embedded in the data that run needs. run owns that memory from the call on. */
struct loop_task {
    void (*run) (struct loop_task *task);
    struct loop_task *next;
};

/* Has the loop's thread call task->run once, in the order of the calls, without a lock. Between
 * loop_use and loop_leave, on any thread, under any lock. */
void loop_post (struct loop_task *task);

/* A socket may have become ready, whose other end is in this process, too. Under a scheduler the
 * loop's thread waits for this, not in the kernel, where it would keep the baton. */
void loop_stir (void);

#endif
