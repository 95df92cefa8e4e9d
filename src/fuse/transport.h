/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A way on which requests come from the kernel and answers go to it: threads that read the device
 * (threads/device.h), or an io_uring (ring/ring.h). Only the transport itself asks which one it is.
 *
 *   bridge->transports[0]   the device, which starts with the bridge
 *   bridge->transports[1]   another one, which starts when INIT is answered; or NULL
 *   bridge->transport       the one on which the kernel sends callers' requests
 *
 * A session begins on the device. While INIT is answered, the other transport starts, and the
 * kernel agrees to it or not. If it agrees, the device brings only forgets and interrupts from then
 * on.
 */
#ifndef WINDLASS_FUSE_TRANSPORT_H
#define WINDLASS_FUSE_TRANSPORT_H

#include <glib.h>
#include <stdint.h>
#include <sys/uio.h>

struct bridge;

struct transport {
    uint64_t init_flag; /* the flag of INIT by which the kernel offers it; 0: it needs none */

    /* Starts the threads. Returns 0, or a negative errno, and has logged a warning. */
    int (*start) (struct bridge *bridge);
    /* After start, for transports[1]: the kernel has agreed, or requests don't come this way, for
     * the reason that follows "no io_uring: ". NULL for the device. */
    void (*agreed) (struct bridge *bridge);
    void (*refused) (struct bridge *bridge, const char *why);

    /* bridge->stopping is set, and bridge->gone if the mount is gone: wakes the threads, so that
     * each sees it. May be called again and again, since a thread may miss it. Under
     * bridge->lock. */
    void (*signal_locked) (struct bridge *bridge);
    /* Joins the threads, which have ended. */
    void (*stop) (struct bridge *bridge);

    /* Sends an answer that libfuse has built, and returns as writev(2) does. fd: the device. */
    ssize_t (*answer) (struct bridge *bridge, int fd, const struct iovec *iov, int count);
    /* The device brought an interrupt, which names a request by the kernel's number. Replaces that
     * by the number under which libfuse knows the request. */
    void (*interrupt) (struct bridge *bridge, void *message, size_t size);

    /* Append a line for explain, and lines for a dump. */
    void (*describe) (const struct bridge *bridge, GString *out);
    void (*dump) (const struct bridge *bridge, GString *out);
};

#endif
