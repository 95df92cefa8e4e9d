/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Jobs: work of a translator that takes long, in the background, such as a heal. A job is a
 * straight function on a thread of core/work. It makes calls and waits for each answer
 * (core/edge/sync.h), and calls job_next between two pieces of its work:
 *
 *   static int
 *   sweep_run (struct job *job, void *data)
 *   {
 *       struct sweep *sweep = data;
 *
 *       for (unsigned i = 0; i < sweep->n; i++) {
 *           job_progress (job, i, sweep->n);
 *           if (!job_next (job))
 *               return -EINTR;
 *           sweep_one (sweep, i);
 *       }
 *       return 0;
 *   }
 *
 *   job_begin (this, &(struct job_plan){ .name = "sweep", .unit = "files", .run = sweep_run,
 *                                        .free = g_free, .data = sweep, .pace = priv->pace });
 *
 * job_next is where a job rests, is paused, and ends:
 *
 *   * A job with a pace of 10 % rests nine times as long as the last piece took, ten seconds at
 *     most. While callers wait at a limit (core/work/limit.h), every paced job has a pace of 10 %
 *     at most, so that a busy mount slows a job, and never stops it.
 *   * A hold pauses a job, which goes on where it was when the hold is over. Between two calls of
 *     job_next a hold waits for the job, so a piece should take milliseconds, and a job calls
 *     job_next without a lock that a caller may wait for.
 *   * `windlass jobs stop` and the end of the graph stop a job: job_next returns false, and the job
 *     returns soon.
 *
 * A translator with jobs calls jobs_init in init, jobs_end at XLATOR_ENDING, jobs_wait at
 * XLATOR_PARENT_DOWN, and jobs_fini in fini.
 *
 * `windlass jobs list`, inflight, top, state dumps and .meta show all jobs of the process. A job
 * that a command has begun (asked) also keeps what it prints until the command's client has read
 * it: job_read. That may be after the translator, and its graph, have ended.
 */
#ifndef WINDLASS_CORE_WORK_JOB_H
#define WINDLASS_CORE_WORK_JOB_H

#include "core/edge/translator.h"

struct job;

/* The parts of a new job. job_begin copies the struct and `about`; name and unit are constant. */
struct job_plan {
    const char *name;  /* verb, such as "heal" */
    const char *about; /* object of the verb, such as a path; or NULL */
    const char *unit;  /* plural of what job_progress counts, such as "bytes"; NULL: no progress */

    /* Does the work. Returns 0, or a negative errno, which becomes the status of the command that
     * has begun the job: -EINTR if job_next has returned false. That status is -ESHUTDOWN if the
     * reason is the end of the graph. */
    int (*run) (struct job *job, void *data);
    void (*free) (void *data); /* frees data after run, or if the job does not begin; or NULL */
    void *data;

    unsigned pace; /* percent of the time for which the job may work, 1 to 100; 0: somebody waits
                    * for the job, so callers at a limit do not slow it either */
    bool owed;     /* a request waits for the job: a hold lets the job run, and it does not rest;
                    * job_owe changes that */
    bool lasts;    /* requests rely on the job until none comes any more: it begins after jobs_end,
                    * too, as a job that must stop, until jobs_wait; and run is called although the
                    * job was stopped before it began */
    const struct xlator_asked *asked; /* command that begins the job, lent for job_begin. NULL:
                                       * none, and what the job prints is dropped */
};

/* --- for translators -------------------------------------------------------------------------- */

void jobs_init (xlator_t *this);
void jobs_end (xlator_t *this);  /* stops all jobs of this; from now on none begins */
void jobs_wait (xlator_t *this); /* does jobs_end, and waits until no job of this runs */
void jobs_fini (xlator_t *this); /* does jobs_wait; also after a failed init */

/* Begins a job. Returns its number, from 1, unique in the process; or a negative errno: -ESHUTDOWN
 * after jobs_end, or jobs_wait if plan->lasts; -EAGAIN if the user who asks has too many jobs, or
 * commands have begun too many. May be called under a lock of the translator that plan->free does
 * not take. */
int job_begin (xlator_t *this, const struct job_plan *plan);

/* Sets whether a request waits for a job, as plan.owed does; on any thread. Does nothing if the job
 * has ended. May be called under a lock of the translator. */
void job_owe (unsigned number, bool owed);

/* For a command of a translator (struct xlator_command) that is answered by a job: does job_begin,
 * and puts the number, or the reason for the failure, into answer. Returns 0 or a
 * negative errno. */
int job_answers (xlator_t *this, const struct job_plan *plan, GString *answer);

/* The functions below are for the thread of the job. */

/* Rests and pauses as the head of this file says. Returns false if the job must stop. */
bool job_next (struct job *job);

/* For an owed job that takes long: if a hold has begun, rests until the hold is over, although
 * requests wait for the job. begin is called before: it has stack_rest_waits count the calls that
 * wait, and keeps in mind that the job rests, for calls that come meanwhile; or it returns false,
 * and the job does not rest: a request waits for it that can't be counted. end is called
 * afterwards. A job that must stop rests as well. */
struct job_rests {
    bool (*begin) (void *data);
    void (*end) (void *data);
    void *data;
};
void job_rest (struct job *job, const struct job_rests *rests);

/* Around a wait of the thread of a job, also one for a pause that it asks for: a hold does not wait
 * for the job then. waits: what the job waits for, as the end of a sentence, constant.
 * job_step_back waits while a hold pauses jobs. */
void job_step_aside (struct job *job, const char *waits);
void job_step_back (struct job *job);

/* Returns whether the job must stop, without a wait. */
bool job_must_stop (const struct job *job);

/* Sets how much of the work is done, in plan.unit; total 0: unknown. */
void job_progress (struct job *job, uint64_t done, uint64_t total);

/* Appends text to the answer of the command that has begun the job; does nothing if none has. With
 * much unread text job_next waits for the client; if the client reads nothing for a minute, the
 * text is dropped and the job must stop. */
void job_print (struct job *job, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Sets the message of a job whose run is about to return a negative errno; the last call counts.
 * Without a call the message is that of the errno. */
void job_refuse (struct job *job, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* --- for the bridge --------------------------------------------------------------------------- */

/* A hold begins: jobs pause at their next job_next. Does not wait for them: stack_wait_for_end
 * does, since a job that works is kept (stack_keep). jobs_go_on ends the pause. Calls nest. */
void jobs_pause (void);
void jobs_go_on (void);

/* --- for commands and reports ----------------------------------------------------------------- */

/* Stops a job. Returns 0; -ENOENT if no such job runs; or -EBUSY if the job lasts, and a request
 * waits for it (plan.lasts, owed). */
int job_stop (unsigned number);

/* What job_read gives. */
struct job_read {
    bool ended;            /* the job has ended and all its text was read; the job is gone. A call
                            * that gives the end of a failure gives no text */
    int result;            /* of an ended job: 0 or a negative errno */
    char *error;           /* of an ended job that failed: the message (g_free it) */
    uint64_t done, total;  /* as in job_progress */
    const char *unit;      /* as in struct job_plan, or NULL */
};

/* Moves up to `most` bytes that a job has printed into text, whole lines if possible. uid: user who
 * asks. Returns 0, or -ENOENT if there is no such job of a command of that user; root may read all
 * of them. */
int job_read (unsigned number, uid_t uid, size_t most, GString *text, struct job_read *ret_read);

/* Append all jobs, the oldest first: a line each, or a JSON array. */
void jobs_list (GString *out);
void jobs_list_json (GString *out);

/* Appends the oldest job that works, as "job 3, heal '/file' in 'afr'". Returns whether one
 * does. */
bool jobs_append_working (GString *out);

/* Appends the oldest job for which requests wait (owed), and how far it is, as "job 3, copy '/file'
 * in 'overlay', was at 1 of 20 bytes". Returns whether there is one. */
bool jobs_append_owed (GString *out);

/* Returns how many jobs have not ended. */
unsigned jobs_count (void);

/* Returns whether a job runs in the graph for which requests wait (owed); they may be in another
 * graph. */
bool jobs_are_owed (const struct graph *graph);

#endif
