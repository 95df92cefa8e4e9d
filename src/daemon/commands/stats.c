/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The daemon's side of windlass counts; of windlass stats, top and graph, which send a word for the
 * numbers they want (src/cli/numbers.c); and of SIGUSR2.
 */
#include "daemon/daemon.h"

#include "core/base/process.h"
#include "core/base/rundir.h"
#include "core/edge/frame.h"
#include "core/work/job.h"
#include "core/work/limit.h"
#include "core/time/timer.h"
#include "trace/metrics/busy.h"
#include "trace/metrics/metrics.h"
#include "trace/metrics/numbers.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LEASE_MAX 60 /* seconds */
#define COMM_MAX 64  /* bytes of a process's name */

/* --- of the process --- */

/* A field of /proc/self/status: a number, without its unit. */
static guint64
stats_status_number (const char *status, const char *key)
{
    const char *at = strstr (status, key);

    return at ? g_ascii_strtoull (at + strlen (key), NULL, 10) : 0;
}

static unsigned
count_descriptors (void)
{
    g_autoptr (GDir) dir = g_dir_open ("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (dir && g_dir_read_name (dir))
        n++;
    return n ? n - 1 : 0; /* without the descriptor of the folder itself */
}

/* The names of these numbers in windlass counts. */
enum {
    REQUESTS,
    WAITING,
    INODES,
    REMEMBERED,
    OPEN,
    TIMERS,
    JOBS,
    DESCRIPTORS,
    IO_URING,
    THREADS,
    RSS,
    VALUES
};
static const char *const keys[VALUES] = { "requests", "waiting", "inodes",      "remembered",
                                          "open",     "timers",  "jobs",        "descriptors",
                                          "io_uring", "threads", "rss" };

static void
values_of (const struct running *running, struct metrics_value *ret_values)
{
    static const struct metrics_value rows[VALUES + 1] = {
        [REQUESTS] = { "requests_in_flight", NULL, "requests that were not answered yet", 0 },
        [WAITING] = { "requests_waiting", NULL,
                      "those of them that wait for their turn, as many run as a limit allows", 0 },
        [INODES] = { "inodes", NULL, "inodes in memory", 0 },
        [REMEMBERED] = { "inodes_remembered", NULL,
                         "remembered inodes that no request and no open file uses", 0 },
        [OPEN] = { "open_files", NULL, "files and directories that are open", 0 },
        [TIMERS] = { "timers", NULL, "calls that wait for their time", 0 },
        [JOBS] = { "jobs", NULL, "jobs that run in the background", 0 },
        [DESCRIPTORS] = { "descriptors", NULL, "descriptors that the daemon has open", 0 },
        [IO_URING] = { "io_uring", NULL,
                       "1 while requests come through io_uring, 0 while they are read from the "
                       "device",
                       0 },
        [THREADS] = { "threads", NULL, "threads of the daemon", 0 },
        [RSS] = { "resident_memory", "bytes", "memory of the daemon", 0 },
    };
    g_autofree char *status = NULL;
    size_t known, forgotten;

    memcpy (ret_values, rows, sizeof rows);
    itable_counts (running->graph->itable, &known, &forgotten);
    ret_values[REQUESTS].value = stack_count ();
    ret_values[WAITING].value = limit_count_waiting ();
    ret_values[INODES].value = known;
    ret_values[REMEMBERED].value = forgotten;
    ret_values[OPEN].value = bridge_count_open (running->bridge);
    ret_values[TIMERS].value = timer_count ();
    ret_values[JOBS].value = jobs_count ();
    ret_values[DESCRIPTORS].value = count_descriptors ();
    ret_values[IO_URING].value = bridge_uses_io_uring (running->bridge);
    if (!g_file_get_contents ("/proc/self/status", &status, NULL, NULL))
        return;
    ret_values[THREADS].value = stats_status_number (status, "\nThreads:\t");
    ret_values[RSS].value = stats_status_number (status, "\nVmRSS:\t") * 1024;
}

int
running_counts (void *data, GBytes *input, GString *answer)
{
    struct metrics_value values[VALUES + 1];

    values_of (data, values);
    for (int i = 0; i < VALUES && (i < THREADS || values[i].value); i++)
        g_string_append_printf (answer, "%s=%" G_GUINT64_FORMAT "\n", keys[i], values[i].value);
    g_string_append_printf (answer, "pid=%d\n", getpid ());
    return 0;
}

/* --- on and off ------------------------------------------------------------------------------- */

static int
set_measuring (const struct running *running, bool on, GString *answer)
{
    if (numbers_set_for (running->graph->xlators, NUMBERS_SET) == on) {
        g_string_append_printf (answer, "measuring is %s already", on ? "on" : "off");
        return -EALREADY;
    }
    numbers_set (running->graph->xlators, NUMBERS_SET, on);
    if (on) {
        say_command (running, "measuring is on; draw the times with", "stats", answer);
        say_command (running, " --histogram\nend it with", "stats", answer);
        g_string_append (answer, " --off\n");
    } else {
        g_string_append_printf (answer, "measuring is off%s\n",
                                numbers_on (running->graph->xlators)
                                    ? ", but for a windlass top that looks at the moment"
                                    : "; what was counted stays");
    }
    return 0;
}

void
running_measure (const struct running *running)
{
    const GPtrArray *settings = bridge_xlator (running->bridge)->settings;
    bool on = false;

    for (guint i = 0; settings && i < settings->len; i++) {
        const struct option_setting *setting = settings->pdata[i];
        g_autofree char *unused = NULL;

        if (strcmp (setting->option->key[0], "latency-measurement") == 0 && setting->text)
            option_parse (&(struct xlator_option){ .type = OPTION_BOOL, .size = sizeof on },
                          setting->text, &on, &unused);
    }
    if (on)
        numbers_set (running->graph->xlators, NUMBERS_SET, true);
}

/* A top that was killed does not renew the lease. */
static gboolean
lease_ended (gpointer data)
{
    struct running *running = data;

    running->lease = 0;
    numbers_set (running->graph->xlators, NUMBERS_LEASED, false);
    busy_set (running->graph->xlators, NULL, NULL, false);
    return G_SOURCE_REMOVE;
}

void
running_end_lease (struct running *running)
{
    if (running->lease) {
        g_source_remove (running->lease);
        lease_ended (running);
    }
}

static int
renew_lease (struct running *running, const char *seconds, GString *answer)
{
    char *end;
    const guint64 n = g_ascii_strtoull (seconds, &end, 10);

    if (!g_ascii_isdigit (*seconds) || *end || n < 1 || n > LEASE_MAX) {
        g_string_append_printf (answer, "a lease must be 1 to %d seconds, got '%s'", LEASE_MAX,
                                seconds);
        return -EINVAL;
    }
    if (running->lease)
        g_source_remove (running->lease);
    running->lease = g_timeout_add_seconds ((guint) n, lease_ended, running);
    numbers_set (running->graph->xlators, NUMBERS_LEASED, true);
    busy_set (running->graph->xlators, bridge_xlator (running->bridge), running->graph->itable,
              true);
    return 0;
}

/* --- busy files and processes ----------------------------------------------------------------- */

/* The path, or the process's name; for an object that is gone, its last name. */
static char *
stats_name_of (const struct running *running, enum busy_by by, const struct busy_row *row)
{
    const uint64_t key = row->key;
    g_autoptr (inode_t) inode = by == BUSY_PATH ? inode_get_nodeid (running->graph->itable, key)
                                                : NULL;
    g_autofree char *comm = by == BUSY_PATH ? NULL : process_comm ((pid_t) key);

    if (by == BUSY_PATH)
        return inode ? inode_path (inode, NULL) : g_strdup (*row->name ? row->name : "(forgotten)");
    if (key == 0)
        return g_strdup ("(kernel)");
    if (!comm)
        return g_strdup_printf ("%s%s" BUSY_ENDED, row->name, *row->name ? " " : "");
    return g_strndup (comm, COMM_MAX);
}

/* path|process KEY COUNT OVER FAILED BYTES SUM MAX NAME */
static void
stats_add_busy (const struct running *running, enum busy_by by, GString *answer)
{
    g_autofree struct busy_row *rows = g_new (struct busy_row, BUSY_ROWS);
    const size_t n = busy_read (by, rows);

    for (size_t i = 0; i < n; i++) {
        const struct busy_row *row = &rows[i];
        g_autofree char *name = stats_name_of (running, by, row);
        g_autofree char *escaped = g_strescape (name, NULL);
        const uint64_t values[] = { row->key,   row->count, row->over, row->failed,
                                    row->bytes, row->sum,   row->max };

        g_string_append (answer, by == BUSY_PATH ? "path" : "process");
        for (size_t j = 0; j < G_N_ELEMENTS (values); j++)
            g_string_append_printf (answer, " %" G_GUINT64_FORMAT, values[j]);
        g_string_append_printf (answer, " %s\n", escaped);
    }
}

/* --- the command ------------------------------------------------------------------------------ */

static int
top (struct running *running, const struct metrics_of *of, const char *seconds, GString *answer)
{
    int r = renew_lease (running, seconds, answer);

    if (r < 0)
        return r;
    metrics_lines (of, true, answer);
    stats_add_busy (running, BUSY_PATH, answer);
    stats_add_busy (running, BUSY_PROCESS, answer);
    return 0;
}

int
running_stats (void *data, GBytes *input, GString *answer)
{
    struct running *running = data;
    struct metrics_value values[VALUES + 1];
    const struct metrics_of of = { running->graph->xlators, running->mountpoint, PACKAGE_VERSION,
                                   values };
    g_autofree char *word = g_strndup (g_bytes_get_data (input, NULL), g_bytes_get_size (input));

    values_of (running, values);
    g_strchomp (word);
    if (strcmp (word, "on") == 0 || strcmp (word, "off") == 0)
        return set_measuring (running, strcmp (word, "on") == 0, answer);
    if (g_str_has_prefix (word, "top "))
        return top (running, &of, word + strlen ("top "), answer);
    if (strcmp (word, "top-ends") == 0)
        running_end_lease (running);
    else if (strcmp (word, "json") == 0)
        metrics_json (&of, answer);
    else if (strcmp (word, "lines") == 0)
        metrics_lines (&of, true, answer);
    else if (strcmp (word, "sums") == 0)
        metrics_lines (&of, false, answer);
    else if (*word == '\0' || strcmp (word, "openmetrics") == 0)
        metrics_openmetrics (&of, answer);
    else {
        g_string_append_printf (answer,
                                "stats can be told on, off, openmetrics, json, lines, sums, top "
                                "SECONDS and top-ends, not '%s'",
                                word);
        return -EINVAL;
    }
    return 0;
}

/* --- SIGUSR2 ---------------------------------------------------------------------------------- */

void
running_dump_metrics (const struct running *running)
{
    struct metrics_value values[VALUES + 1];
    const struct metrics_of of = { running->graph->xlators, running->mountpoint, PACKAGE_VERSION,
                                   values };
    g_autofree char *name = g_strdup_printf ("windlass.%d.metrics", getpid ()), *path = NULL;
    g_autoptr (GString) out = g_string_new (NULL), off = g_string_new (NULL);
    int r;

    if (!numbers_on (running->graph->xlators)) {
        say_command (running, "; measuring is off, numbers are from earlier; start with", "stats",
                     off);
        g_string_append (off, " --on");
    }
    values_of (running, values);
    metrics_openmetrics (&of, out);
    r = run_dir_write (name, out->str, out->len, &path);
    if (r == 0)
        gf_log (NULL, GF_LOG_INFO, "metrics written to '%s'%s", path, off->str);
    else
        gf_log (NULL, GF_LOG_ERROR, "can't write the metrics to '%s': %s", name, g_strerror (-r));
}
