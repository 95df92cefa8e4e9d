/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The event loop of the process: one thread, "network", that waits until a socket can be read or
 * written, and calls the socket's watch. The thread may not block (thread_may_not_block).
 *
 * Any thread may add, change and remove a watch; only the event loop's thread calls it. After a
 * loop_remove on the event loop's thread, the watch isn't called again.
 */
#ifndef WINDLASS_RPC_LOOP_H
#define WINDLASS_RPC_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct loop_watch {
    void (*ready) (struct loop_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, EPOLLHUP ... */
    int fd;
};

/* Register and unregister a user of the event loop. The first loop_use starts the thread; the last
 * loop_leave lets it finish all posted tasks and ends it. loop_use returns 0, or a negative errno
 * after it has logged the error. */
int loop_use (void);
void loop_leave (void);

/* Adds a watch. Returns 0, or a negative errno. */
int loop_add (struct loop_watch *watch, uint32_t events);
void loop_change (struct loop_watch *watch, uint32_t events);
void loop_remove (struct loop_watch *watch);

/* A function to call on the event loop's thread, embedded in a struct with its data. Once called,
 * `run` owns that struct, and may free it. */
struct loop_task {
    void (*run) (struct loop_task *task);
    struct loop_task *next;
};

/* Queues a task: the event loop's thread calls task->run once, in the order of the queue, and holds
 * no lock. Any thread may post between loop_use and loop_leave, under any lock. */
void loop_post (struct loop_task *task);

/* Wakes the event loop's thread under a scheduler of core/time, which lets one thread run at a
 * time. There the thread can't wait in epoll_wait(2), since no other thread would run meanwhile; so
 * every function that may make a socket ready, if this process has the other end, calls this. */
void loop_stir (void);

#endif
