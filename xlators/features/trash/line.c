/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A line: tasks that run one after the other, in a job that begins with the first of them and ends
 * when none is left. Users take turns: the next task is that of the user whose last one was begun
 * the longest ago, so that many looks of one do not hold up another. The tasks of one user keep
 * their order, and so do those of no user. */
#include "trash.h"

static bool
task_is_awaited (const struct trash_task *task)
{
    return !task->background || task->user > 0;
}

static size_t
line_turn_locked (const struct trash_line *line, const struct trash_task *task)
{
    return GPOINTER_TO_SIZE (g_hash_table_lookup (line->turns, GSIZE_TO_POINTER (task->user)));
}

/* awaited: only a task that somebody waits for. */
static GList *
line_find_locked (const struct trash_line *line, bool awaited)
{
    GList *best = NULL;

    for (GList *at = line->tasks.head; at; at = at->next) {
        if (awaited && !task_is_awaited (at->data))
            continue;
        if (!best || line_turn_locked (line, at->data) < line_turn_locked (line, best->data))
            best = at;
        if (line->of_users == 0)
            break;
    }
    return best;
}

static struct trash_task *
line_take_locked (struct trash_line *line, bool awaited)
{
    GList *const best = line_find_locked (line, awaited);
    struct trash_task *task = best ? best->data : NULL;

    if (!task)
        return NULL;
    g_queue_delete_link (&line->tasks, best);
    line->of_users -= task->user > 0;
    g_hash_table_insert (line->turns, GSIZE_TO_POINTER (task->user),
                         GSIZE_TO_POINTER (++line->turn));
    return task;
}

static struct trash_task *
line_next (struct trash_line *line)
{
    struct trash_task *task;

    pthread_mutex_lock (&line->lock);
    task = line_take_locked (line, false);
    if (!task) {
        line->number = 0;
        line->work.job = NULL;
        g_hash_table_remove_all (line->turns);
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

static void
line_do (struct trash_line *line, struct trash_task *task)
{
    const bool owed = !task->background;

    task->run (line->this, task);
    if (owed)
        line_owes_less (line);
}

void
trash_line_others (struct trash_line *line)
{
    const int64_t begin = clock_now ();
    struct trash_task *task;

    if (begin < line->others_after)
        return;
    pthread_mutex_lock (&line->lock);
    task = line_take_locked (line, true);
    pthread_mutex_unlock (&line->lock);
    if (!task)
        return;
    line_do (line, task);
    line->others_after = 2 * clock_now () - begin;
}

/* Runs all tasks, also if the job must stop, since requests wait for them. A long task stops by
 * itself: trash_work_next. */
static void
line_empty (struct trash_line *line)
{
    struct trash_task *task;

    while ((task = line_next (line))) {
        line_do (line, task);
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
    line->turns = g_hash_table_new (NULL, NULL);
}

void
trash_line_fini (struct trash_line *line)
{
    if (!line->client)
        return;
    client_free (line->client);
    g_hash_table_unref (line->turns);
    pthread_mutex_destroy (&line->lock);
}

void
trash_line_add (struct trash_line *line, struct trash_task *task)
{
    bool begun = true;

    pthread_mutex_lock (&line->lock);
    g_queue_push_tail (&line->tasks, task);
    line->of_users += task->user > 0;
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
trash_line_resume (struct trash_line *line, int64_t user, call_stub_t *stub)
{
    struct resumption *resumption = g_new (struct resumption, 1);

    *resumption = (struct resumption){ { .run = resumption_run, .user = user }, stub };
    trash_line_add (line, &resumption->task);
}
