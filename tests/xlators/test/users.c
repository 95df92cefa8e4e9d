/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Commands that are open to users: who asks, what is asked, and a job that prints lines. All
 * requests pass. */
#include "xlator.h"

#include <errno.h>
#include <stdlib.h>

/* Prints "uid gid groups: arguments". */
static int
users_who (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    g_auto (GStrv) arguments = xlator_arguments (asked);

    g_string_append_printf (answer, "%u %u", asked->uid, asked->gid);
    for (unsigned i = 0; i < asked->ngroups; i++)
        g_string_append_printf (answer, " %u", asked->groups[i]);
    g_string_append_c (answer, ':');
    for (char **argument = arguments; *argument; argument++)
        g_string_append_printf (answer, " [%s]", *argument);
    g_string_append_c (answer, '\n');
    return 0;
}

static int
users_closed (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    g_string_append (answer, "for root\n");
    return 0;
}

static int
lines_run (struct job *job, void *data)
{
    const unsigned long n = strtoul (data, NULL, 10);

    for (unsigned long i = 0; i < n; i++) {
        job_progress (job, i, n);
        if (!job_next (job))
            return -EINTR;
        job_print (job, "line %lu\n", i);
    }
    if (n == 0)
        job_refuse (job, "no lines are wanted");
    return n == 0 ? -EINVAL : 0;
}

static int
users_lines (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    g_auto (GStrv) arguments = xlator_arguments (asked);
    const struct job_plan plan = { .name = "lines",
                                   .unit = "lines",
                                   .run = lines_run,
                                   .free = g_free,
                                   .data = g_strdup (*arguments ? *arguments : "0"),
                                   .asked = asked };

    return job_answers (this, &plan, answer);
}

static int
users_init (xlator_t *this)
{
    jobs_init (this);
    return 0;
}

static void
users_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_ENDING)
        jobs_end (this);
    if (event == XLATOR_PARENT_DOWN)
        jobs_wait (this);
    xlator_pass_on (this, event, data);
}

static const struct xlator_command users_commands[] = {
    { "who", "print who asks", .run = users_who, .arguments = "[PATH...]", .open = true },
    { "lines", "print so many lines", .run = users_lines, .arguments = "NUMBER", .job = true,
      .open = true },
    { "closed", "print a line for root", .run = users_closed, .arguments = "" },
    { "told", "the same for windlass tell alone", .run = users_closed },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/users",
    .about = "has commands that are open to users",
    .children = { .min = 1, .max = 1 },
    .init = users_init,
    .fini = jobs_fini,
    .notify = users_notify,
    .commands = users_commands,
};
