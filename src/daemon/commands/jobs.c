/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commands of windlass jobs, and the answers of jobs. */
#include "daemon/daemon.h"

#include "core/work/job.h"

#include <errno.h>
#include <string.h>

int
command_jobs (void *data, GBytes *input, GString *answer)
{
    g_auto (GStrv) words = command_words (input);

    if (*words && strcmp (*words, "json") != 0)
        return command_refuse_word (*words, "json", answer);
    if (*words) {
        g_string_append (answer, "{\"jobs\": ");
        jobs_list_json (answer);
        g_string_append (answer, "}\n");
    } else {
        jobs_list (answer);
    }
    return 0;
}

/* Reads the number of a job. Returns false after a message. */
static bool
number_read (GBytes *input, unsigned *ret_number, GString *answer)
{
    g_auto (GStrv) words = command_words (input);
    char *end = NULL;
    const guint64 number = *words ? g_ascii_strtoull (*words, &end, 10) : 0;

    if (!*words || words[1] || *end || number == 0 || number > UINT_MAX) {
        command_refuse_word (*words ? *words : "", "numbers of jobs", answer);
        return false;
    }
    *ret_number = (unsigned) number;
    return true;
}

int
command_job_stop (void *data, GBytes *input, GString *answer)
{
    unsigned number;
    int r;

    if (!number_read (input, &number, answer))
        return -EINVAL;
    r = job_stop (number);
    if (r == -ENOENT)
        g_string_append_printf (answer, "there is no job %u", number);
    else if (r == -EBUSY)
        g_string_append_printf (answer, "programs wait for job %u: a signal to them ends their "
                                        "wait; then try again", number);
    return r;
}

/* Only root and the daemon's own user have this socket, and both may read every answer. */
int
command_job_answer (void *data, GBytes *input, GString *answer)
{
    return control_job_answer (input, 0, answer);
}
