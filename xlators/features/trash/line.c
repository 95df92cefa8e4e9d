/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line of work: tasks that run one after the other, on one thread at a time. */
#include "trash.h"

static struct trash_task *
line_next (struct trash_line *line)
{
    struct trash_task *task;

    pthread_mutex_lock (&line->lock);
    task = g_queue_pop_head (&line->tasks);
    if (!task) {
        line->runs = false;
        thread_cond_broadcast (&line->idle);
    }
    pthread_mutex_unlock (&line->lock);
    return task;
}

static void
line_run (struct work_item *work)
{
    struct trash_line *line = (struct trash_line *) work;
    xlator_t *this = line->this;
    struct trash_task *task;

    while ((task = line_next (line)))
        task->run (this, task);
}

void
trash_line_init (xlator_t *this, struct trash_line *line)
{
    line->work.run = line_run;
    line->this = this;
    line->client = client_new_internal (this, FIRST_CHILD (this));
    line->client->checked = true;
    pthread_mutex_init (&line->lock, NULL);
    thread_cond_init (&line->idle);
    g_queue_init (&line->tasks);
}

void
trash_line_wait (struct trash_line *line)
{
    pthread_mutex_lock (&line->lock);
    while (line->runs)
        thread_cond_wait (&line->idle, &line->lock);
    pthread_mutex_unlock (&line->lock);
}

void
trash_line_fini (struct trash_line *line)
{
    if (!line->client)
        return;
    trash_line_wait (line);
    client_free (line->client);
    pthread_cond_destroy (&line->idle);
    pthread_mutex_destroy (&line->lock);
}

void
trash_line_add (struct trash_line *line, struct trash_task *task)
{
    pthread_mutex_lock (&line->lock);
    g_queue_push_tail (&line->tasks, task);
    if (!line->runs) {
        line->runs = true;
        work_put (&line->work);
    }
    pthread_mutex_unlock (&line->lock);
}

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

    *resumption = (struct resumption){ { resumption_run }, stub };
    trash_line_add (line, &resumption->task);
}
