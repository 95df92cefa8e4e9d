/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bridge's options. Names and meaning are those of GlusterFS's mount/fuse. */
#include "fuse/settings.h"

#include "fuse/state.h"

static const struct option_choice acl_choices[] = {
    OPTION_NAMES_ON (DECIDES_KERNEL), OPTION_NAMES_OFF (DECIDES_KERNEL_BY_MODE),
    { "translator", DECIDES_TRANSLATOR }, {},
};
static const struct option_choice passthrough_choices[] = {
    { "auto", PASSTHROUGH_AUTO }, { "off", PASSTHROUGH_OFF }, { "required", PASSTHROUGH_REQUIRED },
    {},
};
static const struct option_choice io_uring_choices[] = {
    { "auto", IO_URING_AUTO }, { "off", IO_URING_OFF }, { "required", IO_URING_REQUIRED }, {},
};
static const struct option_choice transport_choices[] = { { "tcp", 0 }, { "socket", 0 }, {} };

#define META_DIR_NAME "meta-dir-name"
#define EXCLUSIVE "exclusive"

#define LIMIT(key_, class_, what_)                                                                 \
    { OPTION (key_, INT, struct bridge_settings, limits[class_], "0"), .min = 0,                   \
      .max = LIMIT_MOST,                                                                           \
      .help = "how many " what_ " may run at a time, not counting those that began more than "     \
              "half a millisecond ago; 0: two for each processor" }

const struct xlator_option bridge_options[] = {
    { OPTION ("attribute-timeout", DOUBLE, struct bridge_settings, attribute_timeout, "1.0"),
      .min = 0, .max = 4294967295.0,
      .help = "seconds for which the kernel caches attributes; 0: the kernel asks the daemon each "
              "time" },
    { OPTION ("entry-timeout", DOUBLE, struct bridge_settings, entry_timeout, "1.0"), .min = 0,
      .max = 4294967295.0,
      .help = "seconds for which the kernel caches a name; 0: the kernel asks the daemon each "
              "time" },
    { OPTION ("negative-timeout", DOUBLE, struct bridge_settings, negative_timeout, "0.0"),
      .min = 0, .max = 4294967295.0,
      .help = "seconds for which the kernel remembers that a name does not exist; 0: the kernel "
              "asks the daemon each time" },
    { OPTION ("direct-io-mode", ENUM, struct bridge_settings, direct_io, "auto"),
      .values = option_switches,
      .help = "whether reads and writes bypass the kernel's page cache; auto: off" },
    { OPTION ("read-only", BOOL, struct bridge_settings, read_only, "off"),
      .help = "refuse every request that would change a file or a directory" },
    { OPTION ("fopen-keep-cache", ENUM, struct bridge_settings, keep_cache, "auto"),
      .values = option_switches,
      .help = "whether the kernel keeps the cached pages of a file when the file is opened again; "
              "auto: on if the kernel itself drops the pages of a changed file" },
    { OPTION ("auto-invalidation", BOOL, struct bridge_settings, auto_invalidation, "on"),
      .help = "have the kernel drop a file's cached pages when its size or modification time "
              "changes" },
    { OPTION ("kernel-writeback-cache", BOOL, struct bridge_settings, writeback, "off"),
      .help = "let the kernel collect writes and send them to the daemon later; meanwhile no other "
              "program may change the files in the directory" },
    { OPTION ("attr-times-granularity", INT, struct bridge_settings, time_granularity, "0"),
      .min = 0, .max = 1000000000,
      .help = "resolution of file times in nanoseconds, for kernel-writeback-cache; 0 means 1" },
    { OPTION (EXCLUSIVE, BOOL, struct bridge_settings, exclusive, "off"),
      .help = "promise that no other program changes the directory: the kernel then caches names, "
              "including names that do not exist, attributes, listings and data for a day; a "
              "change behind the mount is not visible, and may be overwritten" },
    { OPTION ("use-readdirp", BOOL, struct bridge_settings, readdirp, "yes"),
      .help = "return attributes along with the names of a directory when the kernel asks for "
              "them, unless it still has those of a listing less than half a second ago" },
    { OPTION ("enable-ino32", BOOL, struct bridge_settings, short_numbers, "off"),
      .help = "give all callers inode numbers of 32 bits and directory offsets of 31, for 32-bit "
              "programs, which cannot list a directory or stat a file whose numbers are larger" },
    { OPTION ("acl", ENUM, struct bridge_settings, acl, "on"), .values = acl_choices,
      .help = "on: the kernel checks POSIX ACLs; off: the kernel checks only mode bits; "
              "translator: the kernel checks nothing; system/posix-acl decides, and must be in the "
              "graph" },
    { OPTION ("selinux", BOOL, struct bridge_settings, selinux, "off"),
      .help = "on: a file without a security label is said to have none (ENODATA), as on any "
              "machine that runs SELinux; off: labels are said to be unsupported (EOPNOTSUPP) for "
              "such a file, so that ls -l asks for no further one" },
    { OPTION ("passthrough", ENUM, struct bridge_settings, passthrough, "auto"),
      .values = passthrough_choices,
      .help = "let the kernel itself read and write the files of storage if no translator has to "
              "see the data (Linux 6.9, root); required: refuse to mount if this is not possible" },
    { OPTION ("passthrough-direct", ENUM, struct bridge_settings, passthrough_direct, "on"),
      .values = option_switches,
      .help = "use passthrough also for files that are opened with O_DIRECT, except files that are "
              "opened only for writing; on file systems that require aligned direct I/O (ext4, "
              "xfs), reads and writes must stay aligned even after fcntl removes O_DIRECT; auto: "
              "only on file systems without this requirement (tmpfs, btrfs)" },
    { OPTION ("passthrough-append", BOOL, struct bridge_settings, passthrough_append, "off"),
      .help = "use passthrough also for files that are opened with O_APPEND: small appends are "
              "eight times as fast, but a program that removes O_APPEND with fcntl, or writes with "
              "RWF_NOAPPEND, still appends, and gets no error" },
    { OPTION ("idmapped-mounts", BOOL, struct bridge_settings, idmapped, "off"),
      .help = "let root make idmapped mounts of this mount, with other user and group ids; then "
              "only the kernel checks permissions, possibly against cached attributes" },
    { OPTION ("lock-forwarding", ENUM, struct bridge_settings, lock_forwarding, "auto"),
      .values = option_switches,
      .help = "send the record locks and flocks of callers to storage, which locks the files "
              "themselves, where their other users see the locks; off: the kernel keeps the locks, "
              "and only processes on this mount see them; auto: on if storage is a server" },
    { OPTION ("gid-timeout", TIME, struct bridge_settings, gid_timeout, "1"),
      .help = "how long the daemon caches the supplementary groups of a process; a dropped group "
              "stays effective for this time" },
    { OPTION ("lru-limit", INT, struct bridge_settings, lru_limit, "1024"), .min = 0, .max = 1e12,
      .help = "how many inodes the daemon keeps after the kernel has forgotten them; 0: none; file "
              "handles of other forgotten inodes are stale" },
    { OPTION ("stuck-after", TIME, struct bridge_settings, stuck_after, "30"), .min = 0,
      .max = 86400,
      .help = "time without an answer after which the daemon logs a request, once, with the "
              "translator that has the request; 0: never" },
    { OPTION ("latency-measurement", BOOL, struct bridge_settings, measure, "off"),
      .key[1] = "measure-latency",
      .help = "count and time the calls to translators from the start, as windlass stats "
              "MOUNTPOINT --on does" },
    { OPTION ("read-ahead", SIZE, struct bridge_settings, read_ahead, "1MB"), .min = 0,
      .max = 1 << 30,
      .help = "how far the kernel reads ahead, if the daemon may set this; 0: the kernel keeps its "
              "own value" },
    { OPTION (META_DIR_NAME, STRING, struct bridge_settings, meta_dir_name, ".meta"),
      .check = option_check_name,
      .help = "the name of the directory in the root of the mount that shows the state of the "
              "daemon to the owner of the mount and to root; see windlass-meta(7); empty: no "
              "directory" },
    { OPTION ("background-qlen", INT, struct bridge_settings, background_qlen, "64"), .min = 16,
      .max = 65535,
      .help = "how many requests that no caller waits for, such as read-ahead, the kernel may send "
              "at once" },
    { OPTION ("congestion-threshold", INT, struct bridge_settings, congestion_threshold, "48"),
      .min = 12, .max = 65535,
      .help = "number of requests that no caller waits for at which the kernel treats the mount as "
              "congested" },
    { OPTION ("reader-thread-count", INT, struct bridge_settings, reader_threads, "0"), .min = 0,
      .max = READERS_MAX - 1,
      .help = "how many threads wait for requests while other threads serve requests; the daemon "
              "starts more threads when needed; 0: three" },
    LIMIT ("data-limit", LIMIT_DATA, "reads, writes and the like"),
    LIMIT ("name-limit", LIMIT_NAMES, "operations on names, attributes and locks"),
    LIMIT ("sync-limit", LIMIT_SYNC, "fsyncs"),
    { OPTION ("follow-callers", BOOL, struct bridge_settings, follow_callers, "off"),
      .help = "bind the thread that handles a request to the caller's processor if no other thread "
              "has to wake up first; the daemon must see callers in /proc" },
    { OPTION ("io-uring", ENUM, struct bridge_settings, io_uring, "auto"),
      .values = io_uring_choices,
      .help = "receive requests through io_uring if the kernel supports it; off: receive requests "
              "from /dev/fuse; required: refuse to mount without io_uring" },
    { OPTION ("io-uring-queue-depth", INT, struct bridge_settings, io_uring_depth, "1024"),
      .min = 2, .max = 4096,
      .help = "how many requests of one processor's callers may be in flight through io_uring; "
              "only requests in flight take memory" },
    { OPTION ("io-uring-pinned", BOOL, struct bridge_settings, io_uring_pinned, "on"),
      .help = "bind each thread that takes requests from an io_uring to the processor of the "
              "callers" },
    { OPTION ("io-uring-haste", INT, struct bridge_settings, io_uring_haste, "10"), .min = 0,
      .max = 39,
      .help = "amount by which the daemon lowers the nice value of the threads that take requests "
              "from an io_uring, so that they run before other threads; needs CAP_SYS_NICE; 0: "
              "unchanged" },
    { OPTION_INERT ("strict-volfile-check", BOOL, "for management servers only") },
    { OPTION_INERT ("client-pid", INT, "for management servers only") },
    { OPTION_INERT ("uid-map-root", INT, "has no effect") },
    { OPTION_INERT ("sync-to-mount", BOOL,
                    "has no effect: the program always waits for the mount") },
    { OPTION_INERT ("resolve-gids", BOOL,
                    "has no effect: the groups of a request are always those of the calling "
                    "process") },
    { OPTION_INERT ("no-root-squash", BOOL,
                    "has no effect: only a volume's servers squash root (server.root-squash)") },
    { OPTION_INERT ("root-squash", BOOL,
                    "has no effect: only a volume's servers squash root (server.root-squash)") },
    { OPTION_INERT ("capability", BOOL, "has no effect: file capabilities always work") },
    { OPTION_INERT ("event-history", BOOL, "has no effect") },
    { OPTION_INERT ("thin-client", BOOL, "has no effect: the bricks themselves are asked") },
    { OPTION_INERT ("flush-handle-interrupt", BOOL,
                    "has no effect: every request can be "
                    "interrupted"), .key[1] = "fuse-flush-handle-interrupt" },
    { OPTION_INERT ("transport", ENUM,
                    "has no effect: servers are always reached by "
                    "TCP"), .values = transport_choices },
    { OPTION_INERT ("fetch-attempts", INT,
                    "has no effect: each server is asked for the volfile once before the mount "
                    "works") },
    { OPTION_INERT ("volfile-check", BOOL, "has no effect: a volfile is always checked") },
    { OPTION_INERT ("process-name", STRING, "has no effect: the process is named windlass") },
    { OPTION_INERT ("mem-accounting", BOOL, "has no effect") },
    { OPTION_INERT ("global-threading", BOOL,
                    "has no effect: all parts share their threads in any case") },
    { OPTION_INERT ("io-engine", STRING, "has no effect: see io-uring") },
    { OPTION_INERT ("localtime-logging", BOOL, "has no effect: times in the log are of UTC") },
    { OPTION_INERT ("halo-max-latency", INT, "has no effect: all bricks of a replica count") },
    { OPTION_INERT ("halo-max-replicas", INT, "has no effect: all bricks of a replica count") },
    { OPTION_INERT ("halo-min-replicas", INT, "has no effect: all bricks of a replica count") },
    { OPTION_INERT ("invalidate-limit", INT,
                    "has no effect: only the kernel decides which inodes it forgets") },
    { OPTION_INERT ("fuse-dev-eperm-ratelimit-ns", INT, "has no effect") },
    {},
};

static struct option_setting *
bridge_setting_find (struct bridge *bridge, const char *key)
{
    const struct xlator_option *row = option_find (bridge_options, key);
    GPtrArray *settings = bridge->xlator.settings;

    for (guint i = 0; row && i < settings->len; i++)
        if (((struct option_setting *) settings->pdata[i])->option == row)
            return settings->pdata[i];
    return NULL;
}

/* If an option is given twice, the last value counts. */
static int
bridge_option_note (struct bridge *bridge, const char *pair, char **ret_error)
{
    g_auto (GStrv) words = g_strsplit (pair, "=", 2);
    struct option_setting *setting = words[0] ? bridge_setting_find (bridge, words[0]) : NULL;

    if (!setting || !words[1]) {
        *ret_error = g_strdup_printf ("mount/fuse: there is no option '%s'", pair);
        return -EINVAL;
    }
    g_free (setting->text);
    setting->text = g_strdup (words[1]);
    setting->by = SET_BY_COMMAND_LINE;
    if (setting->option->inert)
        gf_log (&bridge->xlator, GF_LOG_WARNING, "option '%s' does nothing here: %s", words[0],
                setting->option->help);
    return 0;
}

static int
bridge_option_store (struct bridge *bridge, const struct option_setting *setting, char **ret_error)
{
    const struct xlator_option *row = setting->option;
    g_autofree char *allowed = NULL;

    if (!setting->text
        || option_parse (row, setting->text,
                         row->size ? (char *)&bridge->settings + row->offset : NULL, &allowed)
               == 0)
        return 0;
    *ret_error = g_strdup_printf ("mount/fuse: option '%s' %s, got '%s'", row->key[0], allowed,
                                  setting->text);
    return -EINVAL;
}

/* A `type meta` at the top of the volfile may name the directory; the command line takes
 * precedence. */
static void
meta_name_from_graph (struct bridge *bridge)
{
    const xlator_t *top = bridge->graph->top;
    struct option_setting *setting = bridge_setting_find (bridge, META_DIR_NAME);

    if (strcmp (top->api->type, "meta/meta") != 0 || setting->by != SET_BY_DEFAULT)
        return;
    for (guint i = 0; i < top->settings->len; i++) {
        const struct option_setting *theirs = top->settings->pdata[i];

        if (strcmp (theirs->option->key[0], META_DIR_NAME) != 0)
            continue;
        g_free (setting->text);
        setting->text = g_strdup (theirs->text);
        setting->by = theirs->by;
    }
}

/* Changes the defaults of unset options to those that are best if no other client changes the
 * files. */
static int
options_for_exclusive (struct bridge *bridge, char **ret_error)
{
    static const char *const values[][2] = { { "attribute-timeout", "86400" },
                                             { "entry-timeout", "86400" },
                                             { "negative-timeout", "86400" },
                                             { "fopen-keep-cache", "on" },
                                             { "auto-invalidation", "off" } };
    int r = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (values) && r == 0; i++) {
        struct option_setting *setting = bridge_setting_find (bridge, values[i][0]);

        if (setting->by != SET_BY_DEFAULT)
            continue;
        g_free (setting->text);
        setting->text = g_strdup (values[i][1]);
        r = bridge_option_store (bridge, setting, ret_error);
    }
    return r;
}

int
bridge_options_read (struct bridge *bridge, const char *const *options, char **ret_error)
{
    GPtrArray *settings = bridge->xlator.settings;
    int r = 0;

    for (const struct xlator_option *row = bridge_options; row->key[0]; row++) {
        struct option_setting *setting = g_new0 (struct option_setting, 1);

        setting->option = row;
        setting->text = g_strdup (row->value);
        g_ptr_array_add (settings, setting);
    }
    for (size_t i = 0; r == 0 && options && options[i]; i++)
        r = bridge_option_note (bridge, options[i], ret_error);
    meta_name_from_graph (bridge);
    for (guint i = 0; r == 0 && i < settings->len; i++)
        r = bridge_option_store (bridge, settings->pdata[i], ret_error);
    return r == 0 && bridge->settings.exclusive ? options_for_exclusive (bridge, ret_error) : r;
}
