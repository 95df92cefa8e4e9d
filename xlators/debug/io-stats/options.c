/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* GlusterFS's options. Many of them configure the process, through the translator that is on top of
 * all its graphs. Here the command line does that, and those options have no effect. log-level
 * exists for every translator. */
#include "io-stats.h"

static const struct option_choice formats[] = {
    { "json", FORMAT_JSON }, { "text", FORMAT_TEXT }, { "dict", FORMAT_DICT },
    { "samples", FORMAT_SAMPLES }, {},
};
static const struct option_choice io_stats_levels[] = {
    { "DEBUG", 0 }, { "WARNING", 0 }, { "ERROR", 0 }, { "INFO", 0 }, { "CRITICAL", 0 },
    { "NONE", 0 }, { "TRACE", 0 }, {},
};
static const struct option_choice loggers[] = { { "gluster-log", 0 }, { "syslog", 0 }, {} };
static const struct option_choice log_formats[] = { { "no-msg-id", 0 }, { "with-msg-id", 0 }, {} };

#define INERT_LOG "does nothing here: the command line sets how the process logs"
#define INERT_THREADS \
    "does nothing here: --reader-thread-count sets how many threads serve the mount"

#define INERT_ENUM(key_, values_) { OPTION_INERT (key_, ENUM, INERT_LOG), .values = values_ }
#define INERT_INT(key_, min_, max_, help_)                                                         \
    { OPTION_INERT (key_, INT, help_), .min = min_, .max = max_ }
#define INERT_TIME(key_) { OPTION_INERT (key_, TIME, INERT_LOG), .min = 30, .max = 300 }

const struct xlator_option io_stats_options[] = {
    { OPTION ("latency-measurement", BOOL, io_stats_private_t, measure, "off"), .online = true,
      .help = "measure how long each request takes, and how fast files are read and written" },
    { OPTION ("count-fop-hits", BOOL, io_stats_private_t, count, "on"), .online = true,
      .help = "count requests by operation and by file" },
    { OPTION ("allow-passthrough", BOOL, io_stats_private_t, allow_passthrough, "off"),
      .online = true,
      .help = "let the kernel itself read and write files (passthrough); the translator then "
              "counts only the opens of such files, also as PASSTHROUGH" },
    { OPTION ("dump-fd-stats", BOOL, io_stats_private_t, dump_fds, "off"), .online = true,
      .help = "when a file is closed, log how much was read and written through it" },
    { OPTION ("ios-dump-interval", INT, io_stats_private_t, dump_interval, "0"), .min = 0,
      .max = 3600, .online = true,
      .help = "seconds between two dumps; 0: the translator writes no dumps" },
    { OPTION ("ios-dump-format", ENUM, io_stats_private_t, format, "json"), .values = formats,
      .online = true,
      .help = "the format of the dumps: json; text; dict: one key=value on each line; samples: "
              "only single requests" },
    { OPTION ("ios-sample-interval", INT, io_stats_private_t, sample_interval, "0"), .min = 0,
      .max = 65535, .online = true,
      .help = "keep one of this number of requests for the next dump, with its time, latency and "
              "caller; 0: keep none" },
    { OPTION ("ios-sample-buf-size", INT, io_stats_private_t, sample_size, "65535"), .min = 1024,
      .max = 1048576, .online = true, .help = "the maximum number of requests that are kept" },
    { OPTION ("unique-id", STRING, io_stats_private_t, unique_id, NULL),
      .help = "the end of the name of each dump; by default the name of the volume" },
    { OPTION ("volume-id", STRING, io_stats_private_t, volume_id, NULL), .from_server = SERVER_MAY,
      .help = "text that each JSON dump contains, for the program that collects dumps" },
    INERT_INT ("ios-dnscache-ttl-sec", 1, 259200, "does nothing here: there are no host names"),
    INERT_ENUM ("client-log-level", io_stats_levels),
    INERT_ENUM ("brick-log-level", io_stats_levels),
    INERT_ENUM ("sys-log-level", io_stats_levels),
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
    { OPTION_INERT ("global-threading", BOOL, INERT_THREADS) },
    {},
};
