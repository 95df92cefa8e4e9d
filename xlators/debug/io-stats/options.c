/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GlusterFS's options. Many of them configure the process, through the translator that is on top of
 * all its graphs. Here the command line does that, and those options have no effect. log-level
 * exists for every translator. */
#include "io-stats.h"

static const char *const formats[] = { "json", "text", "dict", "samples", NULL };
static const char *const levels[] = { "DEBUG",    "WARNING", "ERROR", "INFO",
                                      "CRITICAL", "NONE",    "TRACE", NULL };
static const char *const loggers[] = { "gluster-log", "syslog", NULL };
static const char *const log_formats[] = { "no-msg-id", "with-msg-id", NULL };

#define INERT_ENUM(key_, values_) \
    { \
        .key = { key_ }, .type = OPTION_ENUM, .values = values_, .inert = true, .help = INERT_LOG \
    }
#define INERT_INT(key_, min_, max_, help_) \
    { \
        .key = { key_ }, .type = OPTION_INT, .min = min_, .max = max_, .inert = true, \
        .help = help_ \
    }
#define INERT_TIME(key_) \
    { \
        .key = { key_ }, .type = OPTION_TIME, .min = 30, .max = 300, .inert = true, \
        .help = INERT_LOG \
    }
#define INERT_LOG "does nothing here: the command line sets how the process logs"
#define INERT_THREADS \
    "does nothing here: --reader-thread-count sets how many threads serve the mount"

const struct xlator_option io_stats_options[] = {
    {
        .key = { "latency-measurement" },
        .type = OPTION_BOOL,
        OPTION_FIELD (io_stats_private_t, measure),
        .value = "off",
        .online = true,
        .help = "measure how long each request takes, and how fast files are read and written",
    },
    {
        .key = { "count-fop-hits" },
        .type = OPTION_BOOL,
        OPTION_FIELD (io_stats_private_t, count),
        .value = "on",
        .online = true,
        .help = "count requests by operation and by file",
    },
    {
        .key = { "allow-passthrough" },
        .type = OPTION_BOOL,
        OPTION_FIELD (io_stats_private_t, allow_passthrough),
        .value = "off",
        .online = true,
        .help = "let the kernel itself read and write files (passthrough); the translator then "
                "counts only the opens of such files, also as PASSTHROUGH",
    },
    {
        .key = { "dump-fd-stats" },
        .type = OPTION_BOOL,
        OPTION_FIELD (io_stats_private_t, dump_fds),
        .value = "off",
        .online = true,
        .help = "when a file is closed, log how much was read and written through it",
    },
    {
        .key = { "ios-dump-interval" },
        .type = OPTION_INT,
        OPTION_FIELD (io_stats_private_t, dump_interval),
        .value = "0",
        .min = 0,
        .max = 3600,
        .online = true,
        .help = "seconds between two dumps; 0: the translator writes no dumps",
    },
    {
        .key = { "ios-dump-format" },
        .type = OPTION_ENUM,
        OPTION_FIELD (io_stats_private_t, format),
        .value = "json",
        .values = formats,
        .online = true,
        .help = "the format of the dumps: json; text; dict: one key=value on each line; samples: "
                "only single requests",
    },
    {
        .key = { "ios-sample-interval" },
        .type = OPTION_INT,
        OPTION_FIELD (io_stats_private_t, sample_interval),
        .value = "0",
        .min = 0,
        .max = 65535,
        .online = true,
        .help = "keep one of this number of requests for the next dump, with its time, latency and "
                "caller; 0: keep none",
    },
    {
        .key = { "ios-sample-buf-size" },
        .type = OPTION_INT,
        OPTION_FIELD (io_stats_private_t, sample_size),
        .value = "65535",
        .min = 1024,
        .max = 1048576,
        .online = true,
        .help = "the maximum number of requests that are kept",
    },
    {
        .key = { "unique-id" },
        .type = OPTION_STRING,
        OPTION_FIELD (io_stats_private_t, unique_id),
        .help = "the end of the name of each dump; by default the name of the volume",
    },
    {
        .key = { "volume-id" },
        .type = OPTION_STRING,
        OPTION_FIELD (io_stats_private_t, volume_id),
        .from_server = SERVER_MAY,
        .help = "text that each JSON dump contains, for the program that collects dumps",
    },
    INERT_INT ("ios-dnscache-ttl-sec", 1, 259200, "does nothing here: there are no host names"),
    INERT_ENUM ("client-log-level", levels),
    INERT_ENUM ("brick-log-level", levels),
    INERT_ENUM ("sys-log-level", levels),
    INERT_ENUM ("logger", loggers),
    INERT_ENUM ("client-logger", loggers),
    INERT_ENUM ("brick-logger", loggers),
    INERT_ENUM ("log-format", log_formats),
    INERT_ENUM ("client-log-format", log_formats),
    INERT_ENUM ("brick-log-format", log_formats),
    INERT_INT ("log-buf-size", 0, 20, INERT_LOG),
    INERT_INT ("client-log-buf-size", 0, 20, INERT_LOG),
    INERT_INT ("brick-log-buf-size", 0, 20, INERT_LOG),
    INERT_TIME ("log-flush-timeout"),
    INERT_TIME ("client-log-flush-timeout"),
    INERT_TIME ("brick-log-flush-timeout"),
    INERT_INT ("threads", 1, 128, INERT_THREADS),
    INERT_INT ("client-threads", 1, 128, INERT_THREADS),
    INERT_INT ("brick-threads", 1, 128, INERT_THREADS),
    { .key = { "global-threading" }, .type = OPTION_BOOL, .inert = true, .help = INERT_THREADS },
    {},
};
