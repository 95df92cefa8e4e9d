/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports of jobs: windlass jobs list, inflight, top, state dumps, .meta. */
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/time/clock.h"
#include "core/work/job-internal.h"

#define ABOUT_SHOWN 300 /* bytes of a job's object in a line */

static const char *
job_state_locked (const struct job *job)
{
    if (job->ended)
        return "has ended, and its answer was not read yet";
    return job_must_stop (job) ? "stops" : job->waits ? job->waits : "works";
}

/* The number, and what the job does. */
static void
job_words_locked (GString *out, const struct job *job, const char *between)
{
    g_string_append_printf (out, "job %u%s %s", job->number, between, job->plan.name);
    if (job->plan.about) {
        g_string_append (out, " '");
        line_append (out, job->plan.about, ABOUT_SHOWN);
        g_string_append_c (out, '\'');
    }
    g_string_append (out, " in '");
    line_append (out, job->volume, ABOUT_SHOWN);
    g_string_append_c (out, '\'');
}

static void
job_line_locked (GString *out, const struct job *job)
{
    job_words_locked (out, job, ":");
    g_string_append_printf (out, ", for %.1f s", (clock_now () - job->began) / 1e9);
    if (job->plan.unit && job->total)
        g_string_append_printf (out, ", %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s",
                                job->done, job->total, job->plan.unit);
    else if (job->plan.unit && job->done)
        g_string_append_printf (out, ", %" G_GUINT64_FORMAT " %s", job->done, job->plan.unit);
    if (job->plan.pace)
        g_string_append_printf (out, ", pace %u %%", job->plan.pace);
    g_string_append_printf (out, "; %s\n", job_state_locked (job));
}

void
jobs_list (GString *out)
{
    pthread_mutex_lock (&all_jobs.lock);
    for (const GList *at = all_jobs.list.head; at; at = at->next)
        job_line_locked (out, at->data);
    pthread_mutex_unlock (&all_jobs.lock);
}

static const struct job *
first_job_locked (bool (*is) (const struct job *job))
{
    for (const GList *at = all_jobs.list.head; at; at = at->next)
        if (is (at->data))
            return at->data;
    return NULL;
}

static bool
job_is_working (const struct job *job)
{
    return !job->ended && !job->waits;
}

bool
jobs_append_working (GString *out)
{
    const struct job *working;

    pthread_mutex_lock (&all_jobs.lock);
    working = first_job_locked (job_is_working);
    if (working)
        job_words_locked (out, working, ",");
    pthread_mutex_unlock (&all_jobs.lock);
    return working != NULL;
}

static bool
job_is_owed (const struct job *job)
{
    return !job->ended && job->owed;
}

bool
jobs_append_owed (GString *out)
{
    const struct job *owed;

    pthread_mutex_lock (&all_jobs.lock);
    owed = first_job_locked (job_is_owed);
    if (owed) {
        job_words_locked (out, owed, ",");
        g_string_append_printf (out, ", was at %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s",
                                owed->done, owed->total,
                                owed->plan.unit ? owed->plan.unit : "pieces");
    }
    pthread_mutex_unlock (&all_jobs.lock);
    return owed != NULL;
}

static void
job_json_locked (GString *out, const struct job *job)
{
    g_string_append_printf (out, "{\"number\": %u, \"name\": ", job->number);
    json_append_string (out, job->plan.name);
    g_string_append (out, ", \"about\": ");
    json_append_string (out, job->plan.about);
    g_string_append (out, ", \"translator\": ");
    json_append_string (out, job->volume);
    g_string_append_printf (out, ", \"age\": %.3f, \"pace\": %u, \"done\": %" G_GUINT64_FORMAT
                            ", \"total\": %" G_GUINT64_FORMAT ", \"unit\": ",
                            (clock_now () - job->began) / 1e9, job->plan.pace, job->done,
                            job->total);
    json_append_string (out, job->plan.unit);
    g_string_append (out, ", \"state\": ");
    json_append_string (out, job_state_locked (job));
    g_string_append_c (out, '}');
}

void
jobs_list_json (GString *out)
{
    g_string_append_c (out, '[');
    pthread_mutex_lock (&all_jobs.lock);
    for (const GList *at = all_jobs.list.head; at; at = at->next) {
        job_json_locked (out, at->data);
        if (at->next)
            g_string_append (out, ",\n");
    }
    pthread_mutex_unlock (&all_jobs.lock);
    g_string_append_c (out, ']');
}

unsigned
jobs_count (void)
{
    unsigned n = 0;

    pthread_mutex_lock (&all_jobs.lock);
    for (const GList *at = all_jobs.list.head; at; at = at->next)
        n += !((const struct job *) at->data)->ended;
    pthread_mutex_unlock (&all_jobs.lock);
    return n;
}
