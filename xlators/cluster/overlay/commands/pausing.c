/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pauses of the commands, and what a table knows of a path. */
#include "commands.h"

#define PATIENCE INT64_C (10000000000) /* nanoseconds for which tasks may go on */
#define SLICE INT64_C (100000000)      /* nanoseconds between two looks whether the job must stop */

struct pausing {
    struct overlay_pause *wanted;
    xlator_t *this;
    bool began; /* fn was called */
};

/* While a task runs, of this graph or of an old one, it may copy to the upper, or answer a call
 * that is set aside for it: the pause does not wait for those, so it comes again later. */
static int
pausing_run (struct pause *pause, void *data)
{
    struct pausing *pausing = data;

    if (overlay_all_tasks (pausing->this) > 0)
        return -EBUSY;
    pausing->began = true;
    return pausing->wanted->fn (pause, pausing->wanted->data);
}

static void
pausing_refuse (const struct overlay_pause *wanted)
{
    g_autoptr (GString) text = g_string_new ("files were copied to the upper all the time; ");

    if (jobs_append_owed (text))
        g_string_append (text, ": try again when that has ended; ");
    job_refuse (wanted->job, "%s%s", text->str, wanted->outcome);
}

/* A reload does not wait for this. */
static void
pausing_wait (xlator_t *this, struct job *job, int64_t until)
{
    job_step_aside (job, "waits for copies to the upper");
    while (overlay_all_tasks (this) > 0 && clock_now () < until && !job_must_stop (job))
        overlay_all_tasks_wait (this, MIN (until, clock_now () + SLICE));
    job_step_back (job);
}

int
overlay_pause_run (xlator_t *this, struct overlay_pause *wanted)
{
    const int64_t until = clock_now () + PATIENCE;
    struct pausing pausing = { wanted, this, false };
    struct pause pause = { .run = pausing_run, .data = &pausing, .job = wanted->job };
    int r;

    while ((r = pause_run (this, &pause)) == -EBUSY && !pausing.began && clock_now () < until
           && !job_must_stop (wanted->job))
        pausing_wait (this, wanted->job, until);
    if (pause.hindrance)
        job_refuse (wanted->job, "%s; %s", pause.hindrance, wanted->outcome);
    else if (!pausing.began && job_must_stop (wanted->job))
        r = -EINTR;
    else if (!pausing.began)
        pausing_refuse (wanted);
    wanted->held = pause.held;
    wanted->written = pause.written;
    pause_clear (&pause);
    return r;
}

inode_t *
overlay_known_inode (inode_t *root, const char *path, inode_t **ret_parent)
{
    g_auto (GStrv) names = g_strsplit (path + 1, "/", -1);
    inode_t *at = inode_ref (root);

    *ret_parent = NULL;
    for (char **name = names; at && *name; name++) {
        inode_t *next = inode_grep (at, *name);

        inode_unref (*ret_parent);
        *ret_parent = at;
        at = next;
        if (!at && name[1])
            g_clear_pointer (ret_parent, inode_unref);
    }
    return at;
}
