/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A pause: a translator that must change what stands below it, such as the layers of an overlay,
 * has a function of its own called while no request is under way.
 *
 *   static int
 *   layers_swap (struct pause *pause, void *data)
 *   {
 *       struct layers *layers = data;
 *
 *       ... changes the layers ...
 *       pause_detach (pause, inode);
 *       pause_invalidate (pause, &(struct invalidation){ .inode = directory, .name = name,
 *                                                        .what = INVALIDATE_NAMES });
 *       return 0;
 *   }
 *
 *   struct pause pause = { .run = layers_swap, .data = layers, .job = job };
 *   int r = pause_run (this, &pause);
 *   ...
 *   pause_clear (&pause);
 *
 * What happens in pause_run, on the calling thread:
 *
 *   1. The kernel writes back the files that are open for writing, while requests go on. A program
 *      may change the pages of a mapped file again between this step and the next.
 *   2. New requests are held back (src/fuse/move/hold.h), and those under way are awaited. Each
 *      graph of the mount gets XLATOR_HOLDING. Four kinds of requests are not awaited, and stay as
 *      they are during the pause: waits for a caller's lock, calls that the asking translator has
 *      set aside as stubs before it wound them, requests about an inode for which others wait for a
 *      job that rests during the pause (stack_rest_waits), and the job that asks. The asking
 *      translator resumes no call from XLATOR_HOLDING to the end of pause_run.
 *   3. The data that translators keep of those files is flushed down the graph. An error goes to
 *      the next close or fsync of the file.
 *   4. run is called. It may make calls down the graph: with a client of client_new_internal, or
 *      any other. It must be short, as every caller waits: a millisecond, with no wait for a disk.
 *   5. Requests go on; each graph gets XLATOR_HOLD_OVER. Then the invalidations that run has asked
 *      for go upwards, and on to the kernel. They never do so during the hold, since the kernel may
 *      first take the lock of a directory that a request which is held back has locked.
 *
 * A hold tries for 10 ms, then for 20, 40 ms ..., for ten seconds in all. Between two tries
 * requests go on. If no try succeeds, run is not called, and pause.hindrance names the oldest
 * request.
 *
 * A graph without a bridge, in the conformance kit, in a history or below a client of
 * core/edge/sync.h, is paused as well: whoever makes requests is held by sync_hold. There is one
 * try, and nobody knows which files are open, so steps 1 and 3 are left out: a translator whose run
 * relies on step 3 flushes what it knows.
 *
 * Only one pause, or one move to another graph, is under way in a mount at a time; a second one
 * waits for the first. tests/mount/live/pause.sh prints how long requests are held.
 */
#ifndef WINDLASS_CORE_WORK_PAUSE_H
#define WINDLASS_CORE_WORK_PAUSE_H

#include "core/edge/translator.h"
#include "core/work/job.h"

struct pause {
    /* --- set by the caller --- */

    /* Runs while no request is under way. Returns 0, or a negative errno, which pause_run
     * returns. */
    int (*run) (struct pause *pause, void *data);
    void *data;
    struct job *job;  /* the job on whose thread pause_run is called; NULL: it is another thread of
                       * core/work, which no hold waits for */
    int64_t patience; /* maximum nanoseconds of all tries; 0: ten seconds */

    /* --- results --- */

    int written;      /* of step 1: 0, or a negative errno. -ETIMEDOUT: the kernel still wrote */
    int64_t held;     /* nanoseconds for which requests were held back in the try that succeeded */
    char *hindrance;  /* after -EAGAIN and -ESHUTDOWN: why, as a sentence for a user without a full
                       * stop; else NULL */

    /* --- for pause_run and whoever answers XLATOR_PAUSE --- */

    xlator_t *asker;
    bool only_asks;   /* pause_old_file: nothing is held, and hindrance gets its result */
    bool answered;    /* the event has reached somebody who makes requests */
    int result;
    GArray *told;     /* of struct invalidation, with a reference and a copy of the name */
};

/* Pauses the graph of this. Called on a thread of core/work that XLATOR_PARENT_DOWN of this waits
 * for, without a lock. Returns what run returns; -EAGAIN if requests were under way for too long;
 * -ESHUTDOWN if the mount ends; run was not called then. */
int pause_run (xlator_t *this, struct pause *pause);

/* Returns which open file keeps an old graph of the mount in use, one that the mount has left by a
 * reload, and which program has it open, for a command that is refused meanwhile: "the file
 * '/file', which vim (4711) has open". NULL: no file does. g_free it. Called on a thread of
 * core/work, without a lock. */
char *pause_old_file (xlator_t *this);

/* For run: detaches an inode (inode_detach) of the realm of the translator that asks, and with it
 * those of the realms above. */
void pause_detach (struct pause *pause, inode_t *inode);

/* For run: has an invalidation go upwards from this when the pause is over. Copies it. */
void pause_invalidate (struct pause *pause, const struct invalidation *gone);

/* Frees the results. */
void pause_clear (struct pause *pause);

/* For whoever answers XLATOR_PAUSE: calls run, while requests are held back since that time of
 * clock_now. */
void pause_call (struct pause *pause, int64_t since);

#endif
