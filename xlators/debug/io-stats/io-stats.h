/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/io-stats, in pieces:
 *
 *   io-stats.c   what is noted of each call and answer; beginning and end
 *   options.c    their table
 *   counters.c   how many, how long, how large: a shard for each processor, summed when somebody
 *                looks
 *   files.c      the files that were opened, read, written most
 *   samples.c    every n-th request, kept one by one
 *   report.c     all of it at one moment, and since the last dump
 *   text.c       a report as GlusterFS writes it; also one key=value in a line
 *   json.c       the same as JSON
 *   dump.c       the thread that writes reports to files: because somebody asked, or from time to
 *                time
 *
 * Reasons:
 *
 * - Shards are one for a processor, not for a thread: they are few, and need no return when a
 *   thread ends.
 * - The counts since the last dump are differences of sums; only the least and largest latency are
 *   kept twice, by turns. So reading resets nothing, and a dump needs no moment without counting.
 * - A dump is written by a thread of its own. A thread that serves requests has the file system ids
 *   of its last caller, so the file would be that caller's, and it can't start the writer either,
 *   since a thread begins with the ids of its maker. A timer may not wait for a disk.
 * - core/base/rundir.h says where it writes: a translator knows no daemon.
 * - user.io-stats-dump is equal to trusted.io-stats-dump: the kernel passes the second only for
 *   root.
 * - count-fop-hits is on: this translator is there to give numbers. FORGET isn't counted, since
 *   only inodes with a context are told of.
 * - log-level is every translator's own here; in GlusterFS it is the process's.
 */
#ifndef WINDLASS_DEBUG_IO_STATS_H
#define WINDLASS_DEBUG_IO_STATS_H

#include "xlator.h"

#define SIZES 48 /* of blocks: 0, 1, 2 to 3, 4 to 7, ... */

/* --- counters.c ------------------------------------------------------------------------------- */

/* What is counted; a direction is one of the two. */
enum direction { READ, WRITTEN, DIRECTIONS };

/* Operations, and what else ends a file. */
enum { COUNT_RELEASE = FOP_MAX, COUNT_RELEASEDIR, COUNT_PASSTHROUGH, COUNT_MAX };

struct counters;

struct counters *counters_new (void);
void counters_free (struct counters *counters);

/* Any thread. what: an operation or COUNT_*. ns: how long it took, or -1 when that wasn't
 * measured. */
void counters_call (struct counters *counters, unsigned what, bool failed, int64_t ns);
void counters_bytes (struct counters *counters, enum direction direction, uint64_t bytes);

/* Which of SIZES a number of bytes is in. */
static inline unsigned
size_index (uint64_t bytes)
{
    return bytes ? MIN (64 - (unsigned) __builtin_clzll (bytes), SIZES - 1) : 0;
}

/* All of them at one moment, or the difference of two moments. */
struct numbers {
    int64_t time; /* clock_now; of a difference how long */
    struct {
        uint64_t calls, errors;
        uint64_t timed, sum, min, max; /* how many of them were measured, and nanoseconds */
        uint64_t half, most;           /* half of them, and 99 of 100, took no longer; not in a
                                          difference */
    } calls[COUNT_MAX];
    struct {
        uint64_t bytes, sizes[SIZES];
    } data[DIRECTIONS];
};

void counters_sum (struct counters *counters, struct numbers *ret_numbers);

/* The least and the largest since the last counters_next_interval, in place of those of ever. */
void counters_interval (struct counters *counters, struct numbers *numbers);
void counters_next_interval (struct counters *counters);

/* --- files.c ---------------------------------------------------------------------------------- */

enum top {
    TOP_OPEN,
    TOP_READ,
    TOP_WRITE,
    TOP_OPENDIR,
    TOP_READDIRP,
    TOP_READ_THROUGHPUT, /* bytes a second, the most of one request */
    TOP_WRITE_THROUGHPUT,
    TOPS
};

#define TOP_SIZE 100 /* files in a list */

struct file;  /* what is known of one, kept with its inode */
struct files; /* the lists */

struct files *files_new (void);
void files_free (struct files *files);

/* What is kept with the inode, with a reference; NULL for one that has no gfid yet. */
struct file *file_of (xlator_t *this, struct files *files, inode_t *inode);
struct file *file_ref (struct file *file);   /* takes NULL */
void file_unref (struct file *file);         /* takes NULL */
void file_forget (xlator_t *this, inode_t *inode);

/* One more; or a throughput, of which the largest counts. inode: the same, or NULL when only the
 * gfid is known any more. */
void file_count (struct files *files, struct file *file, enum top top);
void
file_throughput (struct files *files, struct file *file, enum top top, uint64_t bytes_a_second);

/* A list at one moment, the largest first. */
struct top_entry {
    uint64_t value;
    struct timespec when; /* of a throughput */
    char *path;           /* as it is called now, or was */
};
GArray *files_top (struct files *files, enum top top); /* of struct top_entry; g_array_unref */

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
/* How many fit from now on; those that are there stay as far as they fit. */
void samples_resize (struct samples *samples, size_t size);
void samples_add (struct samples *samples, const struct sample *sample);
/* Appends them as lines of a table with commas, and forgets them. */
void samples_drain (struct samples *samples, GString *out);
/* Is there anything to drain? */
bool samples_any (struct samples *samples);

/* --- options.c -------------------------------------------------------------------------------- */

enum format { FORMAT_JSON, FORMAT_TEXT, FORMAT_DICT, FORMAT_SAMPLES };

/* One open file, when dump-fd-stats is on. */
struct open_file {
    int64_t since; /* clock_now */
    struct {
        uint64_t bytes, sizes[SIZES]; /* atomic */
    } data[DIRECTIONS];
};

struct dumper;

typedef struct {
    /* Of options: what is online is atomic, and read so. */
    bool count, measure, dump_fds, allow_passthrough;
    int dump_interval, format; /* dumper's once it runs */
    int sample_interval, sample_size;
    char *unique_id, *volume_id;

    struct counters *counters;
    struct files *files;
    struct samples *samples;
    struct dumper *dumper;
    uint64_t requests;              /* atomic: to take every n-th as a sample */
    int64_t open, most_open;        /* atomic */
    int64_t most_open_at;           /* atomic: seconds, time of day */
    struct open_file plain;         /* with an fd that is only counted; never written */

    pthread_mutex_t interval_lock;  /* a leaf: the next two, and that there is one dump at a time */
    int64_t begin;                  /* clock_now, constant */
    struct numbers last;            /* at the last dump */
    unsigned interval;              /* how many there were */
} io_stats_private_t;

extern const struct xlator_option io_stats_options[];

/* --- report.c --------------------------------------------------------------------------------- */

struct report {
    const char *name, *type, *volume_id;
    struct timespec now;
    struct numbers all, since; /* of ever; since the last dump */
    unsigned interval;         /* which this is: 0 is the first */
    int64_t open, most_open, most_open_at;
    GArray *tops[TOPS];
};

/* dumped: the interval ends with it. */
struct report *report_new (xlator_t *this, bool dumped);
void report_free (struct report *report);

/* "READ", as GlusterFS calls it. */
const char *report_name (unsigned what, char text[32]);
extern const char *const top_names[TOPS]; /* "open", ... "write-throughput" */

/* --- text.c, json.c --------------------------------------------------------------------------- */

void report_text (const struct report *report, GString *out);
void report_dict (const struct report *report, GString *out);
void report_json (const struct report *report, GString *out);
void open_file_text (const struct open_file *file, const char *path, int64_t now, GString *out);

/* --- dump.c ----------------------------------------------------------------------------------- */

struct dumper *dumper_new (xlator_t *this);
/* Ends the thread, after what it still has to do. */
void dumper_stop (struct dumper *dumper);
void dumper_free (struct dumper *dumper);

/* Starts the thread; on the main thread. Without it no dump is written. */
void dumper_start (struct dumper *dumper);

/* Every so many seconds, 0: never. */
void dumper_every (struct dumper *dumper, int seconds, enum format format);

/* A setxattr that asks for a dump: answers it, now or when it is done. false: it asks for something
 * else. */
bool dump_asked (const struct call *call);

#endif
