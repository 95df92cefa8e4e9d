/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All numbers at one moment. Reading changes nothing; only a dump ends an interval. */
#include "io-stats.h"

const char *const top_names[TOPS] = {
    [TOP_OPEN] = "open",
    [TOP_READ] = "read",
    [TOP_WRITE] = "write",
    [TOP_OPENDIR] = "opendir",
    [TOP_READDIRP] = "readdirp",
    [TOP_READ_THROUGHPUT] = "read-throughput",
    [TOP_WRITE_THROUGHPUT] = "write-throughput",
};

const char *
report_name (unsigned what, char text[32])
{
    static const char *const others[] = { "release", "releasedir", "passthrough" };
    const char *name = what >= COUNT_RELEASE ? others[what - COUNT_RELEASE] : fop_name (what);

    if (what == FOP_readv || what == FOP_writev)
        name = what == FOP_readv ? "read" : "write";
    for (unsigned i = 0; i < 32; i++) {
        text[i] = i == 31 ? '\0' : g_ascii_toupper (name[i]);
        if (!text[i])
            break;
    }
    return text;
}

/* Subtracts earlier numbers. min and max are requested separately: a difference has none. */
static void
subtract (struct io_stats_numbers *from, const struct io_stats_numbers *before)
{
    from->time -= before->time;
    for (unsigned what = 0; what < COUNT_MAX; what++) {
        from->calls[what].calls -= before->calls[what].calls;
        from->calls[what].errors -= before->calls[what].errors;
        from->calls[what].timed -= before->calls[what].timed;
        from->calls[what].sum -= before->calls[what].sum;
        from->calls[what].half = from->calls[what].most = 0;
    }
    for (unsigned direction = 0; direction < DIRECTIONS; direction++) {
        from->data[direction].bytes -= before->data[direction].bytes;
        for (unsigned size = 0; size < SIZES; size++)
            from->data[direction].sizes[size] -= before->data[direction].sizes[size];
    }
}

static void
take_numbers (struct io_stats_sums *sums, struct io_stats_report *report, bool dumped)
{
    pthread_mutex_lock (&sums->interval_lock);
    counters_sum (sums->counters, &report->all);
    report->since = report->all;
    subtract (&report->since, &sums->last);
    counters_interval (sums->counters, &report->since);
    report->interval = sums->interval;
    if (dumped) {
        counters_next_interval (sums->counters);
        sums->last = report->all;
        sums->interval++;
    }
    pthread_mutex_unlock (&sums->interval_lock);
}

struct io_stats_report *
report_new (xlator_t *this, bool dumped)
{
    const io_stats_private_t *priv = this->private;
    struct io_stats_sums *sums = priv->sums;
    struct io_stats_report *report = g_new0 (struct io_stats_report, 1);

    report->name = this->name;
    report->type = this->type;
    report->volume_id = priv->volume_id;
    report->now = clock_today ();
    take_numbers (sums, report, dumped);
    report->all.time -= sums->begin;
    report->open = __atomic_load_n (&sums->open, __ATOMIC_RELAXED);
    report->most_open = __atomic_load_n (&sums->most_open, __ATOMIC_RELAXED);
    report->most_open_at = __atomic_load_n (&sums->most_open_at, __ATOMIC_RELAXED);
    for (unsigned top = 0; top < TOPS; top++)
        report->tops[top] = files_top (sums->files, top);
    return report;
}

void
report_free (struct io_stats_report *report)
{
    for (unsigned top = 0; top < TOPS; top++)
        g_array_unref (report->tops[top]);
    g_free (report);
}
