/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside jobs: the structs that job.c changes and job-report.c reads. Not for translators. */
#ifndef WINDLASS_CORE_WORK_JOB_INTERNAL_H
#define WINDLASS_CORE_WORK_JOB_INTERNAL_H

#include "core/time/thread.h"
#include "core/work/job.h"
#include "core/work/work.h"

struct all_jobs {
    pthread_mutex_t lock;   /* guards the members below, and xlator_t.jobs; no other lock is taken
                             * under it */
    pthread_cond_t changed; /* signalled when a member of a job, or `paused`, has changed */
    GQueue list;            /* of struct job, the oldest first */
    unsigned last;          /* number of the newest job */
    int paused;             /* number of holds that pause the jobs */
};

extern struct all_jobs all_jobs;

struct job {
    struct work_item work;
    struct job_plan plan; /* constant; name and unit are interned, as the module may go before the
                           * job; `about` is a copy, `asked` is NULL */
    xlator_t *this;       /* NULL: the job has ended, and so has the translator. all_jobs.lock, but
                           * not while the job runs */
    const char *volume;   /* name of `this`; interned, so valid after `this` is freed */
    unsigned number;
    bool asked;           /* whether a command has begun the job */
    uid_t uid;            /* user of that command */
    int64_t began;        /* time when the job began, by clock_now */
    int64_t piece_began;  /* time when the present piece of work began, by clock_now; used by the
                           * thread of the job alone */
    bool stop;            /* whether the job must stop; atomic, so readable without the lock */

    /* Members guarded by all_jobs.lock. */
    const char *waits;    /* why the job does not work, as the end of a sentence; NULL: it works */
    uint64_t done, total; /* progress in plan.unit */
    GString *text;        /* text that the job has printed, and that no client has read yet */
    char *error;          /* message of a failed job, or NULL */
    bool owed;            /* whether a request waits for the job */
    bool ended;           /* whether the job has ended, and its text is not read yet */
    int result;           /* result of an ended job: 0 or a negative errno */
    int64_t quiet_since;  /* time when a client last read text, or the job ended, by clock_now */
};

#endif
