/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bridge's options. Names and meaning are those of GlusterFS's mount/fuse. */
#include "fuse/internal.h"


/* The spellings of a boolean, and auto. */
static const char *const choice_values[] = { "auto", "on",  "yes", "true",  "enable",
                                             "1",    "off", "no",  "false", "disable",
                                             "0",    NULL };

enum choice
choice_of (int value)
{
    return value == 0 ? CHOICE_AUTO : value <= 5 ? CHOICE_ON : CHOICE_OFF;
}

/* The spellings of a boolean, and translator. */
static const char *const acl_values[] = { "on", "yes",   "true",    "enable", "1",          "off",
                                          "no", "false", "disable", "0",      "translator", NULL };

static const char *const passthrough_values[] = { "auto", "off", "required",
                                                  NULL }; /* in the order of enum
                                                           * passthrough_choice */

enum decides
acl_of (int value)
{
    return value < 5 ? DECIDES_KERNEL : value < 10 ? DECIDES_KERNEL_BY_MODE : DECIDES_TRANSLATOR;
}

static const char *const transport_values[] = { "tcp", "socket", NULL };
static const char *const io_uring_values[] = { "auto", "off", "required", NULL };

#define META_DIR_NAME "meta-dir-name"
#define EXCLUSIVE "exclusive"

#define FIELD(field_) OPTION_FIELD (struct bridge_settings, field_)
#define LIMIT(key_, class_, what_) \
    { \
        .key = { key_ }, .type = OPTION_INT, FIELD (limits[class_]), .value = "0", .min = 0, \
        .max = LIMIT_MOST, \
        .help = "how many " what_ " may run at a time, not counting those that began more than " \
                "half a millisecond ago; 0: two for each processor" \
    }
#define INERT(key_, type_, help_) { .key = { key_ }, .type = type_, .inert = true, .help = help_ }

const struct xlator_option bridge_options[] = {
    { .key = { "attribute-timeout" },
      .type = OPTION_DOUBLE,
      FIELD (attribute_timeout),
      .value = "1.0",
      .min = 0,
      .max = 4294967295.0,
      .help = "seconds for which the kernel caches attributes; 0: the kernel asks the daemon each "
              "time" },
    { .key = { "entry-timeout" },
      .type = OPTION_DOUBLE,
      FIELD (entry_timeout),
      .value = "1.0",
      .min = 0,
      .max = 4294967295.0,
      .help = "seconds for which the kernel caches a name; 0: the kernel asks the daemon each "
              "time" },
    { .key = { "negative-timeout" },
      .type = OPTION_DOUBLE,
      FIELD (negative_timeout),
      .value = "0.0",
      .min = 0,
      .max = 4294967295.0,
      .help = "seconds for which the kernel remembers that a name does not exist; 0: the kernel "
              "asks the daemon each time" },
    { .key = { "direct-io-mode" },
      .type = OPTION_ENUM,
      FIELD (direct_io),
      .value = "auto",
      .values = choice_values,
      .help = "whether reads and writes bypass the kernel's page cache; auto: off" },
    { .key = { "read-only" },
      .type = OPTION_BOOL,
      FIELD (read_only),
      .value = "off",
      .help = "refuse every request that would change a file or a directory" },
    { .key = { "fopen-keep-cache" },
      .type = OPTION_ENUM,
      FIELD (keep_cache),
      .value = "auto",
      .values = choice_values,
      .help = "whether the kernel keeps the cached pages of a file when the file is opened again; "
              "auto: on if the kernel itself drops the pages of a changed file" },
    { .key = { "auto-invalidation" },
      .type = OPTION_BOOL,
      FIELD (auto_invalidation),
      .value = "on",
      .help =
          "have the kernel drop a file's cached pages when its size or modification time changes" },
    { .key = { "kernel-writeback-cache" },
      .type = OPTION_BOOL,
      FIELD (writeback),
      .value = "off",
      .help = "let the kernel collect writes and send them to the daemon later; meanwhile no other "
              "program may change the files in the directory" },
    { .key = { "attr-times-granularity" },
      .type = OPTION_INT,
      FIELD (time_granularity),
      .value = "0",
      .min = 0,
      .max = 1000000000,
      .help = "resolution of file times in nanoseconds, for kernel-writeback-cache; 0 means 1" },
    { .key = { EXCLUSIVE },
      .type = OPTION_BOOL,
      FIELD (exclusive),
      .value = "off",
      .help = "promise that no other program changes the directory: the kernel then caches names, "
              "including names that do not exist, attributes, listings and data for a day; a "
              "change behind the mount is not visible, and may be overwritten" },
    { .key = { "use-readdirp" },
      .type = OPTION_BOOL,
      FIELD (readdirp),
      .value = "yes",
      .help = "return attributes along with the names of a directory when the kernel asks for "
              "them, unless it still has those of a listing less than half a second ago" },
    { .key = { "enable-ino32" },
      .type = OPTION_BOOL,
      FIELD (short_numbers),
      .value = "off",
      .help = "give all callers inode numbers of 32 bits and directory offsets of 31, for 32-bit "
              "programs, which cannot list a directory or stat a file whose numbers are larger" },
    { .key = { "acl" },
      .type = OPTION_ENUM,
      FIELD (acl),
      .value = "on",
      .values = acl_values,
      .help = "on: the kernel checks POSIX ACLs; off: the kernel checks only mode bits; "
              "translator: the kernel checks nothing; system/posix-acl decides, and must be in the "
              "graph" },
    { .key = { "selinux" },
      .type = OPTION_BOOL,
      FIELD (selinux),
      .value = "off",
      .help = "on: a file without a security label is said to have none (ENODATA), as on any "
              "machine that runs SELinux; off: labels are said to be unsupported (EOPNOTSUPP) for "
              "such a file, so that ls -l asks for no further one" },
    { .key = { "passthrough" },
      .type = OPTION_ENUM,
      FIELD (passthrough),
      .value = "auto",
      .values = passthrough_values,
      .help = "let the kernel itself read and write the files of storage if no translator has to "
              "see the data (Linux 6.9, root); required: refuse to mount if this is not possible" },
    { .key = { "passthrough-direct" },
      .type = OPTION_ENUM,
      FIELD (passthrough_direct),
      .value = "on",
      .values = choice_values,
      .help = "use passthrough also for files that are opened with O_DIRECT, except files that are "
              "opened only for writing; on file systems that require aligned direct I/O (ext4, "
              "xfs), reads and writes must stay aligned even after fcntl removes O_DIRECT; auto: "
              "only on file systems without this requirement (tmpfs, btrfs)" },
    { .key = { "passthrough-append" },
      .type = OPTION_BOOL,
      FIELD (passthrough_append),
      .value = "off",
      .help = "use passthrough also for files that are opened with O_APPEND: small appends are "
              "eight times as fast, but a program that removes O_APPEND with fcntl, or writes with "
              "RWF_NOAPPEND, still appends, and gets no error" },
    { .key = { "idmapped-mounts" },
      .type = OPTION_BOOL,
      FIELD (idmapped),
      .value = "off",
      .help = "let root make idmapped mounts of this mount, with other user and group ids; then "
              "only the kernel checks permissions, possibly against cached attributes" },
    { .key = { "lock-forwarding" },
      .type = OPTION_ENUM,
      FIELD (lock_forwarding),
      .value = "auto",
      .values = choice_values,
      .help = "send the record locks and flocks of callers to storage, which locks the files "
              "themselves, where their other users see the locks; off: the kernel keeps the locks, "
              "and only processes on this mount see them; auto: on if storage is a server" },
    { .key = { "gid-timeout" },
      .type = OPTION_TIME,
      FIELD (gid_timeout),
      .value = "1",
      .help = "how long the daemon caches the supplementary groups of a process; a dropped group "
              "stays effective for this time" },
    { .key = { "lru-limit" },
      .type = OPTION_INT,
      FIELD (lru_limit),
      .value = "1024",
      .min = 0,
      .max = 1e12,
      .help = "how many inodes the daemon keeps after the kernel has forgotten them; 0: none; file "
              "handles of other forgotten inodes are stale" },
    { .key = { "stuck-after" },
      .type = OPTION_TIME,
      FIELD (stuck_after),
      .value = "30",
      .min = 0,
      .max = 86400,
      .help = "time without an answer after which the daemon logs a request, once, with the "
              "translator that has the request; 0: never" },
    { .key = { "latency-measurement", "measure-latency" },
      .type = OPTION_BOOL,
      FIELD (measure),
      .value = "off",
      .help = "count and time the calls to translators from the start, as windlass stats "
              "MOUNTPOINT --on does" },
    { .key = { "read-ahead" },
      .type = OPTION_SIZE,
      FIELD (read_ahead),
      .value = "1MB",
      .min = 0,
      .max = 1 << 30,
      .help = "how far the kernel reads ahead, if the daemon may set this; 0: the kernel keeps its "
              "own value" },
    { .key = { META_DIR_NAME },
      .type = OPTION_STRING,
      FIELD (meta_dir_name),
      .value = ".meta",
      .check = option_check_name,
      .help = "the name of the directory in the root of the mount that shows the state of the "
              "daemon to the owner of the mount and to root; see windlass-meta(7); empty: no "
              "directory" },
    { .key = { "background-qlen" },
      .type = OPTION_INT,
      FIELD (background_qlen),
      .value = "64",
      .min = 16,
      .max = 65535,
      .help = "how many requests that no caller waits for, such as read-ahead, the kernel may send "
              "at once" },
    { .key = { "congestion-threshold" },
      .type = OPTION_INT,
      FIELD (congestion_threshold),
      .value = "48",
      .min = 12,
      .max = 65535,
      .help = "number of requests that no caller waits for at which the kernel treats the mount as "
              "congested" },
    { .key = { "reader-thread-count" },
      .type = OPTION_INT,
      FIELD (reader_threads),
      .value = "0",
      .min = 0,
      .max = READERS_MAX - 1,
      .help = "how many threads wait for requests while other threads serve requests; the daemon "
              "starts more threads when needed; 0: three" },
    LIMIT ("data-limit", LIMIT_DATA, "reads, writes and the like"),
    LIMIT ("name-limit", LIMIT_NAMES, "operations on names, attributes and locks"),
    LIMIT ("sync-limit", LIMIT_SYNC, "fsyncs"),
    { .key = { "follow-callers" },
      .type = OPTION_BOOL,
      FIELD (follow_callers),
      .value = "off",
      .help = "bind the thread that handles a request to the caller's processor if no other "
              "thread has to wake up first; the daemon must see callers in /proc" },
    { .key = { "io-uring" },
      .type = OPTION_ENUM,
      FIELD (io_uring),
      .value = "auto",
      .values = io_uring_values,
      .help = "receive requests through io_uring if the kernel supports it; off: receive requests "
              "from /dev/fuse; required: refuse to mount without io_uring" },
    { .key = { "io-uring-queue-depth" },
      .type = OPTION_INT,
      FIELD (io_uring_depth),
      .value = "1024",
      .min = 2,
      .max = 4096,
      .help = "how many requests of one processor's callers may be in flight through io_uring; "
              "only requests in flight take memory" },
    { .key = { "io-uring-pinned" },
      .type = OPTION_BOOL,
      FIELD (io_uring_pinned),
      .value = "on",
      .help = "bind each thread that takes requests from an io_uring to the processor of the "
              "callers" },
    { .key = { "io-uring-haste" },
      .type = OPTION_INT,
      FIELD (io_uring_haste),
      .value = "10",
      .min = 0,
      .max = 39,
      .help = "amount by which the daemon lowers the nice value of the threads that take requests "
              "from an io_uring, so that they run before other threads; needs CAP_SYS_NICE; 0: "
              "unchanged" },
    INERT ("strict-volfile-check", OPTION_BOOL, "for management servers only"),
    INERT ("client-pid", OPTION_INT, "for management servers only"),
    INERT ("uid-map-root", OPTION_INT, "has no effect"),
    INERT ("sync-to-mount", OPTION_BOOL, "has no effect: the program always waits for the mount"),
    INERT ("resolve-gids", OPTION_BOOL,
           "has no effect: the groups of a request are always those of the calling process"),
    INERT ("no-root-squash", OPTION_BOOL,
           "has no effect: only a volume's servers squash root (server.root-squash)"),
    INERT ("root-squash", OPTION_BOOL,
           "has no effect: only a volume's servers squash root (server.root-squash)"),
    INERT ("capability", OPTION_BOOL, "has no effect: file capabilities always work"),
    INERT ("event-history", OPTION_BOOL, "has no effect"),
    INERT ("thin-client", OPTION_BOOL, "has no effect: the bricks themselves are asked"),
    { .key = { "flush-handle-interrupt", "fuse-flush-handle-interrupt" },
      .type = OPTION_BOOL,
      .inert = true,
      .help = "has no effect: every request can be interrupted" },
    { .key = { "transport" },
      .type = OPTION_ENUM,
      .values = transport_values,
      .inert = true,
      .help = "has no effect: servers are always reached by TCP" },
    INERT ("fetch-attempts", OPTION_INT,
           "has no effect: each server is asked for the volfile once before the mount works"),
    INERT ("volfile-check", OPTION_BOOL, "has no effect: a volfile is always checked"),
    INERT ("process-name", OPTION_STRING, "has no effect: the process is named windlass"),
    INERT ("mem-accounting", OPTION_BOOL, "has no effect"),
    INERT ("global-threading", OPTION_BOOL,
           "has no effect: all parts share their threads in any case"),
    INERT ("io-engine", OPTION_STRING, "has no effect: see io-uring"),
    INERT ("localtime-logging", OPTION_BOOL, "has no effect: times in the log are of UTC"),
    INERT ("halo-max-latency", OPTION_INT, "has no effect: all bricks of a replica count"),
    INERT ("halo-max-replicas", OPTION_INT, "has no effect: all bricks of a replica count"),
    INERT ("halo-min-replicas", OPTION_INT, "has no effect: all bricks of a replica count"),
    INERT ("invalidate-limit", OPTION_INT,
           "has no effect: only the kernel decides which inodes it forgets"),
    INERT ("fuse-dev-eperm-ratelimit-ns", OPTION_INT, "has no effect"),
    { .key = { NULL } },
};

static struct option_setting *
setting_find (struct bridge *bridge, const char *key)
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
option_note (struct bridge *bridge, const char *pair, char **ret_error)
{
    g_auto (GStrv) words = g_strsplit (pair, "=", 2);
    struct option_setting *setting = words[0] ? setting_find (bridge, words[0]) : NULL;

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
option_store (struct bridge *bridge, const struct option_setting *setting, char **ret_error)
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
    struct option_setting *setting = setting_find (bridge, META_DIR_NAME);

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
        struct option_setting *setting = setting_find (bridge, values[i][0]);

        if (setting->by != SET_BY_DEFAULT)
            continue;
        g_free (setting->text);
        setting->text = g_strdup (values[i][1]);
        r = option_store (bridge, setting, ret_error);
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
        r = option_note (bridge, options[i], ret_error);
    meta_name_from_graph (bridge);
    for (guint i = 0; r == 0 && i < settings->len; i++)
        r = option_store (bridge, settings->pdata[i], ret_error);
    return r == 0 && bridge->settings.exclusive ? options_for_exclusive (bridge, ret_error) : r;
}
