/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line: tasks that run one after the other, in a job that begins with the first of them and ends
 * when none is left. */
#include "trash.h"

static struct trash_task *
line_next (struct trash_line *line)
{
    struct trash_task *task;

    pthread_mutex_lock (&line->lock);
    task = g_queue_pop_head (&line->tasks);
    if (!task) {
        line->number = 0;
        line->work.job = NULL;
    }
    pthread_mutex_unlock (&line->lock);
    return task;
}

/* A task for which a request has waited is gone. */
static void
line_owes_less (struct trash_line *line)
{
    pthread_mutex_lock (&line->lock);
    if (--line->owed == 0)
        job_owe (line->number, false);
    pthread_mutex_unlock (&line->lock);
}

/* Runs all tasks, also if the job must stop, since requests wait for them. A long task stops by
 * itself: trash_work_next. */
static void
line_empty (struct trash_line *line)
{
    xlator_t *this = line->this;
    struct trash_task *task;

    while ((task = line_next (line))) {
        const bool owed = !task->background;

        task->run (this, task);
        if (owed)
            line_owes_less (line);
        trash_work_next (&line->work);
    }
}

static int
line_run (struct job *job, void *data)
{
    struct trash_line *line = data;

    line->work.done = line->work.total = 0;
    line->work.job = job;
    line_empty (line);
    return 0;
}

/* Returns whether a job empties the line. If not, no request comes any more, and the caller has to
 * do that. */
static bool
line_begin_locked (struct trash_line *line)
{
    const int r = job_begin (line->this, &(struct job_plan){ .name = line->name,
                                                             .about = line->about,
                                                             .unit = line->unit, .run = line_run,
                                                             .data = line, .pace = line->pace,
                                                             .owed = line->owed > 0,
                                                             .lasts = true });

    line->number = r < 0 ? 0 : (unsigned) r;
    return r > 0;
}

void
trash_line_init (xlator_t *this, struct trash_line *line)
{
    line->this = this;
    line->client = line->work.client = client_new_internal (this, FIRST_CHILD (this));
    line->client->checked = true;
    pthread_mutex_init (&line->lock, NULL);
    g_queue_init (&line->tasks);
}

void
trash_line_fini (struct trash_line *line)
{
    if (!line->client)
        return;
    client_free (line->client);
    pthread_mutex_destroy (&line->lock);
}

void
trash_line_add (struct trash_line *line, struct trash_task *task)
{
    bool begun = true;

    pthread_mutex_lock (&line->lock);
    g_queue_push_tail (&line->tasks, task);
    if (!task->background)
        line->owed++;
    if (line->number == 0)
        begun = line_begin_locked (line);
    else if (!task->background && line->owed == 1)
        job_owe (line->number, true);
    pthread_mutex_unlock (&line->lock);
    if (!begun)
        line_empty (line);
}

/* --- work that a job does --------------------------------------------------------------------- */

bool
trash_work_next (struct trash_work *work)
{
    return !work->job || job_next (work->job);
}

void
trash_work_progress (struct trash_work *work, unsigned done, unsigned more)
{
    work->done += done;
    work->total += more;
    if (work->job)
        job_progress (work->job, work->done, work->total);
}

/* --- requests --------------------------------------------------------------------------------- */

struct resumption {
    struct trash_task task;
    call_stub_t *stub;
};

static void
resumption_run (xlator_t *this, struct trash_task *task)
{
    g_autofree struct resumption *resumption = (struct resumption *) task;

    call_resume (resumption->stub);
}

void
trash_line_resume (struct trash_line *line, call_stub_t *stub)
{
    struct resumption *resumption = g_new (struct resumption, 1);

    *resumption = (struct resumption){ { .run = resumption_run }, stub };
    trash_line_add (line, &resumption->task);
}
