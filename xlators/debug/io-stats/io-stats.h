/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/io-stats:
 *
 *   io-stats.c   notes each call and answer; init and fini
 *   options.c    the table of options
 *   counters.c   how many, how long, how large: a shard for each processor, summed on demand
 *   files.c      the files that were opened, read, written most
 *   samples.c    every n-th request, kept one by one
 *   report.c     all numbers at one moment, and those since the last dump
 *   text.c       a report as GlusterFS writes it; also one key=value per line
 *   json.c       a report as JSON
 *   dump.c       the thread that writes reports to files, on request or periodically
 *
 * Reasons:
 *
 * - There is a shard per processor, not per thread: processors are few, and a shard need not be
 *   merged when a thread ends.
 * - The counts since the last dump are differences of sums; only the least and largest latency are
 *   kept twice, by turns. So reading resets nothing, and a dump needs no pause in counting.
 * - A dump is written by a thread of its own. A thread that serves requests has the file system ids
 *   of its last caller, so the file would be that caller's. It can't start the writer either, since
 *   a thread begins with the ids of its maker. A timer may not wait for a disk.
 * - core/base/rundir.h gives the folder: a translator knows no daemon.
 * - user.io-stats-dump is equal to trusted.io-stats-dump: the kernel passes the second only for
 *   root.
 * - count-fop-hits is on: this translator is there to give numbers. FORGET is not counted, since
 *   only inodes with a context are reported.
 * - log-level is every translator's own here; in GlusterFS it is the process's.
 */
#ifndef WINDLASS_DEBUG_IO_STATS_H
#define WINDLASS_DEBUG_IO_STATS_H

#include "xlator.h"

#define SIZES 48 /* of blocks: 0, 1, 2 to 3, 4 to 7, ... */

/* --- counters.c ------------------------------------------------------------------------------- */

/* The two directions of data, as indices of arrays. */
enum direction { READ, WRITTEN, DIRECTIONS };

/* Counted beside operations: the end of files, and passthrough. */
enum { COUNT_RELEASE = FOP_MAX, COUNT_RELEASEDIR, COUNT_PASSTHROUGH, COUNT_MAX };

struct counters;

struct counters *counters_new (void);
void counters_free (struct counters *counters);

/* Called on any thread. what: an operation or COUNT_*. ns: its duration, or -1 if it was not
 * measured. */
void counters_call (struct counters *counters, unsigned what, bool failed, int64_t ns);
void counters_bytes (struct counters *counters, enum direction direction, uint64_t bytes);

/* The index of a number of bytes in SIZES. */
static inline unsigned
size_index (uint64_t bytes)
{
    return bytes ? MIN (64 - (unsigned) __builtin_clzll (bytes), SIZES - 1) : 0;
}

/* All counters at one moment, or the difference of two moments. */
struct io_stats_numbers {
    int64_t time; /* clock_now; in a difference the duration */
    struct {
        uint64_t calls, errors;
        uint64_t timed, sum, min, max; /* number of measured calls, and their nanoseconds */
        uint64_t half, most;           /* 50th and 99th percentile; not in a difference */
    } calls[COUNT_MAX];
    struct {
        uint64_t bytes, sizes[SIZES];
    } data[DIRECTIONS];
};

void counters_sum (struct counters *counters, struct io_stats_numbers *ret_numbers);

/* Sets min and max to those since the last counters_next_interval. */
void counters_interval (struct counters *counters, struct io_stats_numbers *numbers);
void counters_next_interval (struct counters *counters);

/* --- files.c ---------------------------------------------------------------------------------- */

enum io_stats_top {
    TOP_OPEN,
    TOP_READ,
    TOP_WRITE,
    TOP_OPENDIR,
    TOP_READDIRP,
    TOP_READ_THROUGHPUT, /* bytes per second, the maximum of a single request */
    TOP_WRITE_THROUGHPUT,
    TOPS
};

#define TOP_SIZE 100 /* files in a list */

struct file;  /* data of a file, kept with its inode */
struct files; /* the lists */

struct files *files_new (void);
void files_free (struct files *files);

/* The data kept with the inode, with a reference; NULL for an inode without a gfid. */
struct file *file_of (xlator_t *this, struct files *files, inode_t *inode);
struct file *file_ref (struct file *file);   /* takes NULL */
void file_unref (struct file *file);         /* takes NULL */
void file_forget (xlator_t *this, inode_t *inode);

/* Adds 1 to a counter; or notes a throughput, of which the maximum counts. inode: the same file, or
 * NULL if only the gfid is known. */
void file_count (struct files *files, struct file *file, enum io_stats_top top);
void
file_throughput (struct files *files, struct file *file, enum io_stats_top top,
                 uint64_t bytes_a_second);

/* An entry of a list at one moment; the largest value comes first. */
struct top_entry {
    uint64_t value;
    struct timespec when; /* of a throughput */
    char *path;           /* current path, or the last one */
};
/* Of struct top_entry; g_array_unref it. */
GArray *files_top (struct files *files, enum io_stats_top top);

/* --- samples.c -------------------------------------------------------------------------------- */

struct sample {
    struct timespec when;
    enum fop op;
    int64_t ns;
    int32_t op_ret, op_errno;
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

struct samples;

struct samples *samples_new (void);
void samples_free (struct samples *samples);
/* Sets the number of samples; existing ones stay as far as they fit. */
void samples_resize (struct samples *samples, size_t size);
void samples_add (struct samples *samples, const struct sample *sample);
/* Appends the samples as comma-separated lines, and drops them. */
void samples_drain (struct samples *samples, GString *out);
/* Returns true if there are samples. */
bool samples_any (struct samples *samples);

/* --- options.c -------------------------------------------------------------------------------- */

enum format { FORMAT_JSON, FORMAT_TEXT, FORMAT_DICT, FORMAT_SAMPLES };

/* An open file, if dump-fd-stats is on. */
struct open_file {
    int64_t since; /* clock_now */
    struct {
        uint64_t bytes, sizes[SIZES]; /* atomic */
    } data[DIRECTIONS];
};

struct dumper;

/* What was counted. It goes on in the next graph (xlator_api.take_over). */
struct io_stats_sums {
    struct shared shared;
    struct counters *counters;
    struct files *files;
    struct samples *samples;
    uint64_t requests;              /* atomic: counts requests, for sampling */
    int64_t open, most_open;        /* atomic */
    int64_t most_open_at;           /* atomic: seconds, time of day */

    pthread_mutex_t interval_lock;  /* a leaf: guards last and interval; and permits one dump at a
                                       time */
    int64_t begin;                  /* clock_now, constant */
    struct io_stats_numbers last;            /* numbers at the last dump */
    unsigned interval;              /* number of dumps */
};

typedef struct {
    /* Options. Online ones are accessed atomically. */
    bool count, measure, dump_fds, allow_passthrough;
    int dump_interval, format; /* the dump thread's once it runs */
    int sample_interval, sample_size;
    char *unique_id, *volume_id;

    struct io_stats_sums *sums;     /* constant; with a reference */
    bool counts;                    /* from take_over on. Atomic */
    int64_t opened_before;          /* files opened before take_over. Atomic */
    struct dumper *dumper;
    struct open_file plain;         /* for an fd that is only counted; never written */
} io_stats_private_t;

extern const struct xlator_option io_stats_options[];

/* --- report.c --------------------------------------------------------------------------------- */

struct io_stats_report {
    const char *name, *type, *volume_id;
    struct timespec now;
    struct io_stats_numbers all, since; /* since the start; since the last dump */
    unsigned interval;         /* number of this interval, from 0 */
    int64_t open, most_open, most_open_at;
    GArray *tops[TOPS];
};

/* dumped: the report ends the interval. */
struct io_stats_report *report_new (xlator_t *this, bool dumped);
void report_free (struct io_stats_report *report);

/* The name in GlusterFS's reports, such as "READ". */
const char *report_name (unsigned what, char text[32]);
extern const char *const top_names[TOPS]; /* "open", ... "write-throughput" */

/* --- text.c, json.c --------------------------------------------------------------------------- */

void report_text (const struct io_stats_report *report, GString *out);
void report_dict (const struct io_stats_report *report, GString *out);
void report_json (const struct io_stats_report *report, GString *out);
void open_file_text (const struct open_file *file, const char *path, int64_t now, GString *out);

/* --- dump.c ----------------------------------------------------------------------------------- */

struct dumper *dumper_new (xlator_t *this);
/* Ends the thread after it has finished its jobs. */
void dumper_stop (struct dumper *dumper);
void dumper_free (struct dumper *dumper);

/* Starts the thread; call on the main thread. Without it no dump is written. */
void dumper_start (struct dumper *dumper);

/* Period of dumps in seconds, 0: none. */
void dumper_every (struct dumper *dumper, int seconds, enum format format);

/* Answers a setxattr that requests a dump, now or when it is done. Returns false for any other
 * setxattr. */
bool io_stats_dump_asked (const struct call *call);

#endif
