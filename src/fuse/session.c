/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The session with the kernel: negotiation, and the mount. */
#include "core/base/process.h"
#include "core/edge/sync.h"
#include "core/report/watchdog.h"
#include "fuse/groups.h"
#include "fuse/init-flags.h"
#include "fuse/kernel-cache.h"
#include "fuse/move/pause.h"
#include "fuse/ops/ops.h"
#include "fuse/notices.h"
#include "fuse/passthrough.h"
#include "fuse/reports.h"
#include "fuse/request.h"
#include "fuse/ring/transport.h"
#include "fuse/short-numbers.h"
#include "fuse/state.h"
#include "fuse/trim.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The table then has up to 27 MB. */
#define SHORT_OFFSETS (256 << 10)

/* Handles events from below. If storage is gone for good, ends the mount. An invalidation makes the
 * kernel drop cached state. Before the start there are neither. */
static void
bridge_notify (xlator_t *this, enum xlator_event event, void *data)
{
    struct bridge *bridge = this->private;

    if (event == XLATOR_INVALIDATE)
        bridge_invalidate (this, data);
    if (event == XLATOR_PAUSE)
        bridge_pause (this, data);
    if (!bridge->hooks)
        return;
    if (event == XLATOR_DUMP_ASKED)
        bridge->hooks->dump_asked ();
    if (event != XLATOR_GONE)
        return;
    gf_log (this, GF_LOG_WARNING, "what '%s' stands on is gone: unmounting it", bridge->mountpoint);
    bridge->hooks->gone ();
}

static const struct xlator_api bridge_api = {
    .abi = XLATOR_ABI,
    .type = "mount/fuse",
    .about = "connects a mount to the kernel, and sends the kernel's requests down the graph",
    .children = { .min = 1, .max = 1 },
    .top_only = true,
    .once = true,
    .options = bridge_options,
    .notify = bridge_notify,
    .local_drop = request_local_drop,
    .dumpops = { .priv = bridge_dump, .path = bridge_path, .explain = bridge_explain },
};

/* --- negotiation --- */

static void
session_want (struct fuse_conn_info *conn, unsigned cap, bool on)
{
    if (on)
        conn->want |= conn->capable & cap;
    else
        conn->want &= ~cap;
}

static void
want_locks (struct bridge *bridge, struct fuse_conn_info *conn)
{
    const enum option_switch choice = bridge->settings.lock_forwarding;

    bridge->terms.remote = xlator_is_remote (bridge->graph->top);
    bridge->terms.locks = choice == SWITCH_ON
                       || (choice == SWITCH_AUTO && bridge->terms.remote);
    session_want (conn, FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS, bridge->terms.locks);
}

/* Has the kernel leave the removal of setuid, setgid and file capabilities to storage, which writes
 * as the caller and so removes them. */
static void
want_killpriv (struct bridge *bridge, struct fuse_conn_info *conn)
{
    session_want (conn, FUSE_CAP_HANDLE_KILLPRIV, false);
    if (bridge->terms.idmapped)
        return;
    if (bridge->terms.remote) {
        /* The kernel truncates itself, and removes them. */
        session_want (conn, FUSE_CAP_ATOMIC_O_TRUNC, false);
        return;
    }
#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2
    session_want (conn, FUSE_CAP_HANDLE_KILLPRIV_V2, true);
#endif
    bridge->terms.init.wanted |= FUSE_HANDLE_KILLPRIV_V2;
}

#define FLAG_ALLOW_IDMAP (1ULL << 40) /* since kernel 6.12 */

/* With idmapped mounts, requests carry the caller's ids only if they create an inode, on every
 * mount. All other requests run as the daemon. The kernel removes setuid and file capabilities
 * itself, since writes of root would leave them. */
static void
want_idmap (struct bridge *bridge, struct fuse_conn_info *conn)
{
    bridge->terms.idmapped = bridge->settings.idmapped
                          && bridge->terms.init.offered & FLAG_ALLOW_IDMAP;
    if (bridge->settings.idmapped && !bridge->terms.idmapped)
        gf_log (&bridge->xlator, GF_LOG_WARNING,
                "option 'idmapped-mounts' does nothing: it needs Linux 6.12");
    if (!bridge->terms.idmapped)
        return;
    bridge->terms.init.wanted |= FLAG_ALLOW_IDMAP;
    session_want (conn, FUSE_CAP_ATOMIC_O_TRUNC, false);
}

#define FLAG_CREATE_SUPP_GROUP (1ULL << 34) /* since kernel 6.3: groups.c */

#define FLAG_HAS_EXPIRE_ONLY (1ULL << 35) /* since kernel 6.5, and in later 6.2 to 6.4 */

#define FLAG_DIRECT_IO_ALLOW_MMAP (1ULL << 36) /* since kernel 6.6: mmap works with direct I/O
                                                * too */

static void
session_negotiate (void *userdata, struct fuse_conn_info *conn)
{
    struct bridge *bridge = userdata;
    const struct bridge_settings *settings = &bridge->settings;
    enum option_switch keep = settings->keep_cache;

    /* No splice: answers come from memory, and requests go to the buffers that are wound, so a pipe
     * in between has no use. */
    session_want (conn, FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE, false);
    session_want (conn,
                  FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_ATOMIC_O_TRUNC
                      | FUSE_CAP_EXPORT_SUPPORT,
                  true);
    want_locks (bridge, conn);
    session_want (conn, FUSE_CAP_ASYNC_DIO | FUSE_CAP_IOCTL_DIR, true);
    session_want (conn, FUSE_CAP_CACHE_SYMLINKS, true);
    /* Requests carry the umask, so that a default ACL can replace it. */
    session_want (conn, FUSE_CAP_DONT_MASK, true);
    /* With this flag the kernel always checks rights. */
    session_want (conn, FUSE_CAP_POSIX_ACL,
                  bridge->terms.checked && settings->acl == DECIDES_KERNEL);
    session_want (conn, FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO, settings->readdirp);
    session_want (conn, FUSE_CAP_AUTO_INVAL_DATA, settings->auto_invalidation);
    session_want (conn, FUSE_CAP_WRITEBACK_CACHE, settings->writeback);
    want_idmap (bridge, conn);
    want_killpriv (bridge, conn);
    bridge->terms.init.wanted |= FUSE_PARALLEL_DIROPS | FLAG_CREATE_SUPP_GROUP;
    passthrough_negotiate (bridge, conn);
    conn->max_write = MIN (conn->max_write, MAX_PAYLOAD);
    conn->max_background = settings->background_qlen;
    conn->congestion_threshold = settings->congestion_threshold;
    conn->time_gran = MAX (settings->time_granularity, 1);
    bridge->terms.proto_minor = MIN (conn->proto_minor, FUSE_KERNEL_MINOR_VERSION);
    bridge->terms.writeback = conn->want & FUSE_CAP_WRITEBACK_CACHE;
    bridge->terms.checks_all = bridge->terms.checked && conn->want & FUSE_CAP_POSIX_ACL;
    /* In a user namespace, storage does refuse root: what belongs to ids that aren't mapped. */
    bridge->terms.is_root = geteuid () == 0 && process_has_first_user_namespace ();
    bridge->terms.labels = settings->selinux || access ("/sys/fs/selinux/enforce", F_OK) == 0;
    bridge->terms.expires = bridge->terms.init.offered & FLAG_HAS_EXPIRE_ONLY;
    bridge->terms.direct_io = settings->direct_io == SWITCH_ON;
    bridge->terms.direct_opens = !bridge->terms.writeback
                              && bridge->terms.init.offered & FLAG_DIRECT_IO_ALLOW_MMAP;
    if (bridge->terms.direct_io || bridge->terms.direct_opens)
        bridge->terms.init.wanted |= FLAG_DIRECT_IO_ALLOW_MMAP;
    bridge->terms.keep_cache = keep == SWITCH_ON
                      || (keep == SWITCH_AUTO && conn->want & FUSE_CAP_AUTO_INVAL_DATA);
}

/* --- creation --- */

/* Escapes commas and backslashes, which have a meaning in a list of mount options. */
static char *
escape (const char *text)
{
    GString *out = g_string_new (NULL);

    for (; *text; text++) {
        if (*text == ',' || *text == '\\')
            g_string_append_c (out, '\\');
        g_string_append_c (out, *text);
    }
    return g_string_free (out, FALSE);
}

char **
bridge_split_options (const char *options)
{
    GPtrArray *words = g_ptr_array_new ();
    const char *begin = options, *p = options;

    for (; p && *p; p++) {
        if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == ',') {
            g_ptr_array_add (words, g_strndup (begin, p - begin));
            begin = p + 1;
        }
    }
    if (p > begin)
        g_ptr_array_add (words, g_strndup (begin, p - begin));
    g_ptr_array_add (words, NULL);
    return (char **) g_ptr_array_free (words, FALSE);
}

static bool
options_have (const char *options, const char *name)
{
    g_auto (GStrv) words = bridge_split_options (options);
    size_t len = strlen (name);

    for (char **word = words; *word; word++)
        if (strncmp (*word, name, len) == 0 && ((*word)[len] == '\0' || (*word)[len] == '='))
            return true;
    return false;
}

/* Returns whether all users may use the mount, and not only the mounting user, or root. */
static bool
is_for_all (const char *options)
{
    return options_have (options, "allow_other")
        || (geteuid () == 0 && !options_have (options, "allow_root")
            && !options_have (options, "no_allow_other"));
}

/* Returns the options of -o, completed. */
static char *
session_options (struct bridge *bridge, const char *given)
{
    const char *path = bridge->graph->volfile->path;
    GString *out = g_string_new (given);

    if (!options_have (given, "fsname")) {
        /* Not the path alone: df (1) takes a source that names a file for that file, and shows the
         * file's mount instead. */
        g_autofree char *source = escape (strcmp (path, "-") == 0 ? "stdin" : path);
        g_string_append_printf (out, ",fsname=windlass:%s", source);
    }
    if (!options_have (given, "subtype"))
        g_string_append (out, ",subtype=windlass");
    if (is_for_all (given) && !options_have (given, "allow_other"))
        g_string_append (out, ",allow_other");
    if (bridge->settings.read_only && !options_have (given, "ro"))
        g_string_append (out, ",ro");
    /* As in libfuse by default: the kernel checks the caller's rights before it sends a request. */
    if (bridge->terms.checked && !options_have (given, "default_permissions"))
        g_string_append (out, ",default_permissions");
    if (out->str[0] == ',')
        g_string_erase (out, 0, 1);
    return g_string_free (out, FALSE);
}

/* Removes the words that only the bridge knows. */
static char *
without_ours (const char *options)
{
    g_auto (GStrv) words = bridge_split_options (options);
    GString *out = g_string_new (NULL);

    for (char **word = words; *word; word++)
        if (strcmp (*word, "no_default_permissions") != 0 && strcmp (*word, "no_allow_other") != 0)
            g_string_append_printf (out, "%s%s", out->len ? "," : "", *word);
    return g_string_free (out, FALSE);
}

static __thread struct bridge *speaking; /* the bridge whose call into libfuse runs on this
                                          * thread */

/* Logs a message of libfuse, unless an error is going to contain it. */
static void
session_log (enum fuse_log_level level, const char *format, va_list args)
{
    g_autofree char *text = g_strdup_vprintf (format, args);

    g_strchomp (text);
    if (speaking && level <= FUSE_LOG_WARNING)
        g_string_append_printf (speaking->libfuse_says, "%s%s",
                                speaking->libfuse_says->len ? "; " : "", text);
    gf_log (speaking ? &speaking->xlator : NULL,
            level <= FUSE_LOG_ERR && !speaking ? GF_LOG_ERROR : GF_LOG_DEBUG, "libfuse: %s", text);
}

static int
session_make (struct bridge *bridge, const char *options, char **ret_error)
{
    g_autofree char *ours = without_ours (options);
    char *argv[] = { "windlass", "-o", ours, NULL };
    struct fuse_args args = FUSE_ARGS_INIT (3, argv);
    struct fuse_lowlevel_ops ops = { .init = session_negotiate };

    entry_handlers (&ops);
    names_handlers (&ops);
    attr_handlers (&ops);
    open_handlers (&ops);
    file_handlers (&ops);
    write_handlers (&ops);
    dir_handlers (&ops);
    xattr_handlers (&ops);
    lock_handlers (&ops);
    ioctl_handlers (&ops);
    fuse_set_log_func (session_log);
    speaking = bridge;
    bridge->session = fuse_session_new (&args, &ops, sizeof ops, bridge);
    speaking = NULL;
    fuse_opt_free_args (&args);
    if (bridge->session)
        return 0;
    *ret_error = g_strdup_printf ("can't mount: %s (mount options '%s')", bridge->libfuse_says->str,
                                  options);
    return -EINVAL;
}

static void
bridge_fill (struct bridge *bridge, struct graph *graph, const char *mountpoint)
{
    struct timespec now = clock_today ();

    bridge->graph = graph;
    bridge->itable = graph->itable;
    bridge->mountpoint = g_strdup (mountpoint);
    bridge->child.xlator = graph->top;
    bridge->parent.xlator = &bridge->xlator;
    graph->top->parents = &bridge->parent; /* lets events reach the bridge; reset in bridge_free */
    bridge->xlator = xlator_init ("fuse", &bridge_api, graph, bridge);
    bridge->xlator.children = &bridge->child;
    bridge->xlator.ready = true;
    bridge->xlator.settings = g_ptr_array_new_with_free_func ((GDestroyNotify) setting_free);
    bridge->entrances[0] = bridge->entrances[1] = &bridge->xlator;
    bridge->generation = (uint32_t) (now.tv_sec * 16 + now.tv_nsec / 62500000);
    bridge->libfuse_says = g_string_new (NULL);
    pthread_mutex_init (&bridge->lock, NULL);
    thread_cond_init (&bridge->changed);
    thread_cond_init (&bridge->quiet);
    thread_cond_init (&bridge->device.needed);
    bridge->transport = bridge->transports[0] = &device_transport;
    notices_begin (bridge);
    pthread_mutex_init (&bridge->fds_lock, NULL);
    pthread_mutex_init (&bridge->hold_turn, NULL);
    bridge->fds = g_hash_table_new (NULL, NULL);
    trim_begin (bridge);
    bridge->passthrough = passthrough_new ();
}

bool
bridge_is_read_only (const char *const *options, const char *mount_options)
{
    static const char read_only[] = "read-only=";
    struct bridge_settings settings = { 0 };
    const struct xlator_option *row = bridge_options;
    g_autofree char *allowed = NULL;

    while (strncmp (row->key[0], read_only, strlen (row->key[0])) != 0)
        row++;
    for (; options && *options; options++)
        if (g_str_has_prefix (*options, read_only)) {
            g_clear_pointer (&allowed, g_free);
            option_parse (row, *options + strlen (read_only), (char *) &settings + row->offset,
                          &allowed);
        }
    return settings.read_only || options_have (mount_options, "ro");
}

struct bridge *
bridge_new (struct graph *graph, const char *mountpoint, const char *const *options,
            const char *mount_options, char **ret_error)
{
    struct bridge *bridge = g_new0 (struct bridge, 1);
    g_autofree char *all = NULL;
    int r;

    bridge_fill (bridge, graph, mountpoint);
    r = bridge_options_read (bridge, options, ret_error);
    if (r == 0) {
        bridge->terms.checked = !options_have (mount_options, "no_default_permissions");
        bridge->terms.for_others = options_have (mount_options, "allow_other")
                          || options_have (mount_options, "allow_root");
        if (bridge->settings.acl == DECIDES_TRANSLATOR)
            r = bridge_leave_to_translator (bridge,
                                            options_have (mount_options, "default_permissions"),
                                            ret_error);
    }
    if (r == 0 && !bridge->terms.checked && is_for_all (mount_options))
        r = bridge_remember_no_names (bridge, ret_error);
    if (r == 0) {
        if (bridge->settings.idmapped && !bridge->terms.checked) {
            *ret_error = g_strdup ("option 'idmapped-mounts' needs default_permissions: the kernel "
                                   "has to check rights");
            r = -EINVAL;
        }
    }
    if (r == 0) {
        bridge->groups = groups_cache_new (bridge->settings.gid_timeout);
        if (bridge->settings.short_numbers)
            bridge->short_numbers = short_numbers_new (SHORT_OFFSETS);
        limits_begin (bridge);
        all = session_options (bridge, mount_options);
        bridge->terms.times = options_have (all, "ro") || options_have (all, "noatime")
                                ? TIMES_NOT_OF_READING
                                : 0;
        r = session_make (bridge, all, ret_error);
    }
    if (r < 0)
        g_clear_pointer (&bridge, bridge_free);
    return bridge;
}

/* --- the hidden graph --- */

xlator_t *
bridge_xlator (struct bridge *bridge)
{
    return &bridge->xlator;
}

const char *
bridge_hidden_name (const struct bridge *bridge)
{
    return *bridge->settings.meta_dir_name ? bridge->settings.meta_dir_name : NULL;
}

void
bridge_hide (struct bridge *bridge, struct graph *graph)
{
    bridge->hidden_child.xlator = graph->top;
    bridge->hidden = xlator_init ("fuse", &bridge_api, graph, bridge);
    bridge->hidden.children = &bridge->hidden_child;
    bridge->hidden.ready = true;
    bridge->entrances[1] = &bridge->hidden;
}

/* --- mount --- */

/* At INIT the kernel limits the read-ahead. Root may set a larger one here. */
static void
session_read_ahead (struct bridge *bridge)
{
    char path[64], text[32];
    struct statx stx;
    int fd;

    if (bridge->settings.read_ahead == 0 || geteuid () != 0)
        return;
    /* This statx sends no request to the bridge. If the mount is gone already, the path may lead to
     * another file system; the checks detect that it is not the root of a mount. */
    if (statx (AT_FDCWD, bridge->mountpoint, AT_STATX_DONT_SYNC, 0, &stx) < 0
        || !(stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || stx.stx_dev_major != 0)
        return;
    snprintf (path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", stx.stx_dev_major,
              stx.stx_dev_minor);
    fd = open (path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    snprintf (text, sizeof text, "%" G_GUINT64_FORMAT, bridge->settings.read_ahead >> 10);
    if (write (fd, text, strlen (text)) < 0)
        gf_log (&bridge->xlator, GF_LOG_DEBUG, "can't write '%s' to '%s': %s", text, path,
                g_strerror (errno));
    close (fd);
}

/* Looks up the root: the table must have it before the kernel asks about it. */
static int
root_look_up (struct bridge *bridge, char **ret_error)
{
    struct client *client = client_new_internal (&bridge->xlator, bridge->graph->top);
    loc_t loc = { .inode = itable_root (bridge->graph->itable) };
    struct lookup_reply reply = { 0 };
    int r;

    client->patience = 30LL * 1000000000;
    r = sync_lookup (client, &loc, NULL, &reply);
    if (r >= 0 && reply.buf.ia_type != IA_IFDIR)
        r = -ENOTDIR;
    if (r >= 0)
        inode_unref (inode_link (loc.inode, NULL, NULL, &reply.buf));
    else
        *ret_error = g_strdup_printf ("can't look up the root of '%s': %s",
                                      bridge->graph->top->name, g_strerror (-r));
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    client_free (client);
    return r < 0 ? r : 0;
}

/* Warns if the user's directory has a file with the name of the hidden directory, which makes the
 * file unreachable. */
static void
hidden_look_up (struct bridge *bridge)
{
    const char *name = bridge->settings.meta_dir_name;
    struct client *client = client_new_internal (&bridge->xlator, bridge->graph->top);
    inode_t *root = itable_root (bridge->graph->itable);
    loc_t loc = { .parent = root, .name = name, .inode = inode_new (root->table) };
    struct lookup_reply reply = { 0 };

    client->patience = 30LL * 1000000000;
    if (sync_lookup (client, &loc, NULL, &reply) >= 0)
        gf_log (
            &bridge->xlator, GF_LOG_WARNING,
            "'%s' in the directory can't be reached in the mount: there the name is that of the "
            "daemon's own directory, which option 'meta-dir-name' can give another name, or none",
            name);
    lookup_reply_drop (&reply);
    inode_unref (loc.inode);
    loc_wipe_path (&loc);
    client_free (client);
}

static char *
mount_error (const struct bridge *bridge, int error)
{
    g_autofree char *cause = bridge_mount_cause (bridge, error);
    const char *says = bridge->libfuse_says->str;

    return g_strdup_printf ("can't mount '%s' on '%s'%s%s%s%s", bridge->graph->volfile->path,
                            bridge->mountpoint, *says ? ": " : "", says, cause ? "; " : "",
                            cause ? cause : "");
}

int
bridge_mount (struct bridge *bridge, char **ret_error)
{
    int r = root_look_up (bridge, ret_error);

    if (r < 0)
        return r;
    if (bridge->hidden.graph)
        hidden_look_up (bridge);
    speaking = bridge;
    g_string_truncate (bridge->libfuse_says, 0);
    errno = 0;
    r = fuse_session_mount (bridge->session, bridge->mountpoint);
    if (r == 0) {
        bridge->mounted = true;
        if (bridge->libfuse_says->len > 0)
            gf_log (&bridge->xlator, GF_LOG_WARNING, "libfuse: %s", bridge->libfuse_says->str);
        r = fuse_session_custom_io (bridge->session, &init_flags_io,
                                    fuse_session_fd (bridge->session));
    } else {
        r = errno > 0 ? -errno : -EIO;
    }
    speaking = NULL;
    if (r == 0)
        r = ring_prepare (bridge, ret_error);
    if (r < 0 && !*ret_error)
        *ret_error = mount_error (bridge, -r);
    return r;
}

/* --- start --- */

int
bridge_start (struct bridge *bridge, const struct bridge_hooks *hooks)
{
    int r;

    bridge->hooks = hooks;
    r = bridge->transports[0]->start (bridge);
    if (r == 0)
        watchdog_set (bridge->settings.stuck_after);
    return r;
}

int
bridge_wait_ready (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    while (bridge->state == BRIDGE_WAITING)
        pthread_cond_wait (&bridge->changed, &bridge->lock);
    pthread_mutex_unlock (&bridge->lock);
    /* The mount may have ended already, if it was unmounted quickly. */
    if (!__atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE))
        return -EIO;
    session_read_ahead (bridge);
    return 0;
}
