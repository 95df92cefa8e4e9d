/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/work/job.h"
#include "core/edge/frame.h"
#include "core/edge/sync.h"
#include "core/time/clock.h"
#include "core/work/job-internal.h"
#include "core/work/limit.h"
#include "core/work/work.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define BUSY_PACE 10 /* most percent of the time that a job works while callers wait at a limit */
#define REST_MAX INT64_C (10000000000)  /* longest rest, in nanoseconds */
#define QUIET_MAX INT64_C (60000000000) /* time for which a client may read nothing, nanoseconds */
#define UNREAD_MAX (1 << 20)            /* bytes of unread text with which a job goes on */
#define JOB_PAUSED "is paused by a move to another graph"
#define ASKED_MAX 64  /* jobs that commands have begun: running, or with unread text */
#define USERS_MAX 4   /* those of an ordinary user */

struct all_jobs all_jobs = { .lock = PTHREAD_MUTEX_INITIALIZER, .list = G_QUEUE_INIT };

static void __attribute__ ((constructor))
job_lists_init (void)
{
    thread_cond_init (&all_jobs.changed);
}

static void
job_free (struct job *job)
{
    g_free ((char *) job->plan.about);
    g_string_free (job->text, TRUE);
    g_free (job->error);
    g_free (job);
}

static void
job_drop_locked (struct job *job)
{
    g_queue_remove (&all_jobs.list, job);
    job_free (job);
}

/* --- the thread of a job ---------------------------------------------------------------------- */

bool
job_must_stop (const struct job *job)
{
    return __atomic_load_n (&job->stop, __ATOMIC_ACQUIRE);
}

/* Returns until when a job rests after a piece of work that has ended now. */
static int64_t
job_rests_until (const struct job *job)
{
    const int64_t now = clock_now (), worked = now - job->piece_began;
    unsigned pace = job->plan.pace;

    if (pace > BUSY_PACE && limit_count_waiting () > 0)
        pace = BUSY_PACE;
    if (pace == 0 || pace >= 100)
        return now;
    return now + MIN (worked * (100 - pace) / pace, REST_MAX);
}

/* The client of a command has read nothing for a while: its job stops, and the text is dropped. */
static void
job_unheard_locked (struct job *job)
{
    __atomic_store_n (&job->stop, true, __ATOMIC_RELEASE);
    g_string_truncate (job->text, 0);
}

/* Waits once, for the first reason that applies. Returns false if no reason applies any more: the
 * job continues, or must stop. */
static bool
job_wait_locked (struct job *job, int64_t rests_until)
{
    const int64_t now = clock_now ();
    int64_t until = rests_until;

    job->waits = NULL;
    if (job_must_stop (job))
        return false;
    if (all_jobs.paused && !job->owed) {
        job->waits = JOB_PAUSED;
        thread_cond_wait (&all_jobs.changed, &all_jobs.lock);
        return true;
    }
    if (job->text->len > UNREAD_MAX) {
        job->waits = "waits for the reader of its answer";
        until = job->quiet_since + QUIET_MAX;
        if (now >= until)
            job_unheard_locked (job);
    } else if (job->owed) {
        until = now;
    } else if (now < until) {
        job->waits = "rests";
    }
    if (now < until)
        (void) thread_cond_wait_until (&all_jobs.changed, &all_jobs.lock, until);
    return job->waits != NULL;
}

/* While a job works it counts as kept, so that a hold waits for it (stack_keep). It becomes kept
 * under the lock, after it has found that no hold pauses jobs: jobs_pause takes the same lock. */
bool
job_next (struct job *job)
{
    const int64_t rests_until = job_rests_until (job);

    stack_keep (NULL, -1);
    pthread_mutex_lock (&all_jobs.lock);
    while (job_wait_locked (job, rests_until))
        continue;
    stack_keep (NULL, 1);
    pthread_mutex_unlock (&all_jobs.lock);
    job->piece_began = clock_now ();
    return !job_must_stop (job);
}

static bool
jobs_are_paused (void)
{
    bool paused;

    pthread_mutex_lock (&all_jobs.lock);
    paused = all_jobs.paused > 0;
    pthread_mutex_unlock (&all_jobs.lock);
    return paused;
}

/* The waits are counted before the job is not kept any more, and until it is kept again: a hold
 * that sees them looks at jobs first (stacks_ended). */
void
job_rest (struct job *job, const struct job_rests *rests)
{
    if (!jobs_are_paused () || !rests->begin (rests->data))
        return;
    stack_keep (NULL, -1);
    pthread_mutex_lock (&all_jobs.lock);
    job->waits = JOB_PAUSED;
    while (all_jobs.paused)
        thread_cond_wait (&all_jobs.changed, &all_jobs.lock);
    stack_keep (NULL, 1);
    job->waits = NULL;
    pthread_mutex_unlock (&all_jobs.lock);
    rests->end (rests->data);
}

void
job_step_aside (struct job *job, const char *waits)
{
    pthread_mutex_lock (&all_jobs.lock);
    job->waits = waits;
    pthread_mutex_unlock (&all_jobs.lock);
    stack_keep (NULL, -1);
}

void
job_step_back (struct job *job)
{
    pthread_mutex_lock (&all_jobs.lock);
    while (all_jobs.paused && !job_must_stop (job))
        thread_cond_wait (&all_jobs.changed, &all_jobs.lock);
    stack_keep (NULL, 1);
    job->waits = NULL;
    pthread_mutex_unlock (&all_jobs.lock);
}

void
job_progress (struct job *job, uint64_t done, uint64_t total)
{
    pthread_mutex_lock (&all_jobs.lock);
    job->done = done;
    job->total = total;
    pthread_mutex_unlock (&all_jobs.lock);
}

void
job_print (struct job *job, const char *format, ...)
{
    va_list args;

    if (!job->asked)
        return;
    pthread_mutex_lock (&all_jobs.lock);
    va_start (args, format);
    g_string_append_vprintf (job->text, format, args);
    va_end (args);
    pthread_mutex_unlock (&all_jobs.lock);
}

void
job_refuse (struct job *job, const char *format, ...)
{
    char *error;
    va_list args;

    va_start (args, format);
    error = g_strdup_vprintf (format, args);
    va_end (args);
    pthread_mutex_lock (&all_jobs.lock);
    g_free (job->error);
    job->error = error;
    pthread_mutex_unlock (&all_jobs.lock);
}

/* When `running` becomes 0, jobs_wait returns and the translator may be freed: the thread lowers it
 * last, and does not use the translator afterwards. */
static void
job_end (struct job *job, int result)
{
    xlator_t *this = job->this;

    if (job->plan.free)
        job->plan.free (job->plan.data);
    stack_keep (NULL, -1);
    pthread_mutex_lock (&all_jobs.lock);
    job->ended = true;
    job->result = result == -EINTR && this->jobs.ended ? -ESHUTDOWN : result;
    if (result == -EINTR && !job->error)
        job->error = g_strdup (this->jobs.ended ? "the graph ends" : "the job was stopped");
    job->quiet_since = clock_now ();
    job->waits = NULL;
    if (!job->asked)
        job_drop_locked (job);
    this->jobs.running--;
    thread_cond_broadcast (&all_jobs.changed);
    pthread_mutex_unlock (&all_jobs.lock);
}

static void
job_work (struct work_item *work)
{
    struct job *job = (struct job *) ((char *) work - offsetof (struct job, work));

    pthread_mutex_lock (&all_jobs.lock);
    while (all_jobs.paused && !job->owed && !job_must_stop (job))
        thread_cond_wait (&all_jobs.changed, &all_jobs.lock);
    stack_keep (NULL, 1);
    pthread_mutex_unlock (&all_jobs.lock);
    job->piece_began = clock_now ();
    sync_unheld = true; /* a hold waits for the end of each piece of the job */
    job_end (job, job_must_stop (job) && !job->plan.lasts ? -EINTR
                                                          : job->plan.run (job, job->plan.data));
    sync_unheld = false;
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Drops ended jobs whose text no client has read within QUIET_MAX. */
static void
jobs_tidy_locked (void)
{
    for (GList *at = all_jobs.list.head, *next; at; at = next) {
        struct job *job = at->data;

        next = at->next;
        if (job->ended && clock_now () - job->quiet_since > QUIET_MAX)
            job_drop_locked (job);
    }
}

/* Returns whether a command of a user may begin a further job. Half of the room is for root and the
 * daemon's own user. */
static bool
jobs_have_room_locked (uid_t uid)
{
    unsigned all = 0, own = 0;

    jobs_tidy_locked ();
    for (const GList *at = all_jobs.list.head; at; at = at->next) {
        const struct job *job = at->data;

        all += job->asked;
        own += job->asked && job->uid == uid;
    }
    return uid == 0 || uid == geteuid () ? all < ASKED_MAX
                                         : all < ASKED_MAX / 2 && own < USERS_MAX;
}

static struct job *
job_new (xlator_t *this, const struct job_plan *plan)
{
    struct job *job = g_new0 (struct job, 1);

    job->work.run = job_work;
    job->plan = *plan;
    job->plan.name = g_intern_string (plan->name);
    job->plan.unit = g_intern_string (plan->unit);
    job->plan.about = g_strdup (plan->about);
    job->plan.asked = NULL;
    job->this = this;
    job->volume = this->name;
    job->owed = plan->owed;
    job->asked = plan->asked != NULL;
    job->uid = plan->asked ? plan->asked->uid : 0;
    job->text = g_string_new (NULL);
    job->began = clock_now ();
    job->quiet_since = job->began;
    return job;
}

int
job_begin (xlator_t *this, const struct job_plan *plan)
{
    struct job *job = job_new (this, plan);
    int r = 0;

    pthread_mutex_lock (&all_jobs.lock);
    if (plan->lasts ? this->jobs.over : this->jobs.ended)
        r = -ESHUTDOWN;
    else if (job->asked && !jobs_have_room_locked (job->uid))
        r = -EAGAIN;
    if (r == 0) {
        r = (int) (job->number = ++all_jobs.last);
        job->stop = this->jobs.ended;
        this->jobs.running++;
        g_queue_push_tail (&all_jobs.list, job);
    }
    pthread_mutex_unlock (&all_jobs.lock);
    if (r > 0) {
        work_put (&job->work);
        return r;
    }
    job_free (job);
    if (plan->free)
        plan->free (plan->data);
    return r;
}

int
job_answers (xlator_t *this, const struct job_plan *plan, GString *answer)
{
    const int r = job_begin (this, plan);

    if (r > 0)
        g_string_append_printf (answer, "%d\n", r);
    else
        g_string_append (answer, r == -ESHUTDOWN ? "the mount ends"
                                                 : "too many commands run already: try again when "
                                                   "one has ended");
    return r > 0 ? 0 : r;
}

void
jobs_init (xlator_t *this)
{
    this->jobs.used = true;
    work_use ();
}

void
jobs_end (xlator_t *this)
{
    pthread_mutex_lock (&all_jobs.lock);
    this->jobs.ended = true;
    for (GList *at = all_jobs.list.head; at; at = at->next)
        if (((struct job *) at->data)->this == this)
            __atomic_store_n (&((struct job *) at->data)->stop, true, __ATOMIC_RELEASE);
    thread_cond_broadcast (&all_jobs.changed);
    pthread_mutex_unlock (&all_jobs.lock);
}

void
jobs_wait (xlator_t *this)
{
    jobs_end (this);
    pthread_mutex_lock (&all_jobs.lock);
    while (this->jobs.running > 0)
        thread_cond_wait (&all_jobs.changed, &all_jobs.lock);
    this->jobs.over = true;
    pthread_mutex_unlock (&all_jobs.lock);
}

/* The text of an ended job outlives the translator: its reader learns how the job has ended. */
void
jobs_fini (xlator_t *this)
{
    if (!this->jobs.used)
        return;
    jobs_wait (this);
    pthread_mutex_lock (&all_jobs.lock);
    for (GList *at = all_jobs.list.head; at; at = at->next)
        if (((struct job *) at->data)->this == this)
            ((struct job *) at->data)->this = NULL;
    pthread_mutex_unlock (&all_jobs.lock);
    this->jobs.used = false;
    work_leave ();
}

/* --- holds ------------------------------------------------------------------------------------ */

static void
jobs_paused_add (int by)
{
    pthread_mutex_lock (&all_jobs.lock);
    all_jobs.paused += by;
    thread_cond_broadcast (&all_jobs.changed);
    pthread_mutex_unlock (&all_jobs.lock);
}

void
jobs_pause (void)
{
    jobs_paused_add (1);
}

void
jobs_go_on (void)
{
    jobs_paused_add (-1);
}

bool
jobs_are_owed (const struct graph *graph)
{
    bool owed = false;

    pthread_mutex_lock (&all_jobs.lock);
    for (const GList *at = all_jobs.list.head; at && !owed; at = at->next) {
        const struct job *job = at->data;

        owed = job->owed && !job->ended && job->this->graph == graph;
    }
    pthread_mutex_unlock (&all_jobs.lock);
    return owed;
}

/* --- commands --------------------------------------------------------------------------------- */

static struct job *
job_find_locked (unsigned number)
{
    for (GList *at = all_jobs.list.head; at; at = at->next)
        if (((struct job *) at->data)->number == number)
            return at->data;
    return NULL;
}

void
job_owe (unsigned number, bool owed)
{
    struct job *job;

    pthread_mutex_lock (&all_jobs.lock);
    job = job_find_locked (number);
    if (job)
        job->owed = owed;
    thread_cond_broadcast (&all_jobs.changed);
    pthread_mutex_unlock (&all_jobs.lock);
}

int
job_stop (unsigned number)
{
    struct job *job;
    int r = -ENOENT;

    pthread_mutex_lock (&all_jobs.lock);
    job = job_find_locked (number);
    if (job && !job->ended && job->plan.lasts && job->owed) {
        r = -EBUSY;
    } else if (job && !job->ended) {
        __atomic_store_n (&job->stop, true, __ATOMIC_RELEASE);
        thread_cond_broadcast (&all_jobs.changed);
        r = 0;
    }
    pthread_mutex_unlock (&all_jobs.lock);
    return r;
}

/* Moves text up to the end of a line, or `most` bytes if the line is longer. */
static void
job_text_move_locked (struct job *job, size_t most, GString *text)
{
    const char *end = NULL;
    size_t size = job->text->len;

    if (size > most) {
        end = g_strrstr_len (job->text->str, (gssize) most, "\n");
        size = end ? (size_t) (end + 1 - job->text->str) : most;
    }
    g_string_append_len (text, job->text->str, (gssize) size);
    g_string_erase (job->text, 0, (gssize) size);
}

static void
job_read_locked (struct job *job, size_t most, GString *text, struct job_read *ret_read)
{
    const size_t before = text->len;

    job_text_move_locked (job, most, text);
    job->quiet_since = clock_now ();
    *ret_read = (struct job_read){ .done = job->done,
                                   .total = job->total,
                                   .unit = job->plan.unit,
                                   .ended = job->ended && job->text->len == 0
                                         && (job->result >= 0 || text->len == before),
                                   .result = job->result };
    thread_cond_broadcast (&all_jobs.changed);
    if (!ret_read->ended)
        return;
    if (job->result < 0)
        ret_read->error = job->error ? g_steal_pointer (&job->error)
                                     : g_strdup (g_strerror (-job->result));
    job_drop_locked (job);
}

int
job_read (unsigned number, uid_t uid, size_t most, GString *text, struct job_read *ret_read)
{
    struct job *job;
    int r = -ENOENT;

    pthread_mutex_lock (&all_jobs.lock);
    job = job_find_locked (number);
    if (job && job->asked && (uid == 0 || uid == job->uid)) {
        job_read_locked (job, most, text, ret_read);
        r = 0;
    }
    pthread_mutex_unlock (&all_jobs.lock);
    return r;
}
