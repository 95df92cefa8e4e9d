/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The translator's interface to the core: options, operations, statedump. */
#include "posix.h"

static const struct option_choice gfid_modes[] = {
    { "derived", GFID_DERIVED }, { "xattr", GFID_XATTR }, {},
};
static const struct option_choice watch_modes[] = {
    { "off", WATCH_OFF }, { "auto", WATCH_AUTO }, { "filesystem", WATCH_FILESYSTEM },
    { "inodes", WATCH_INODES }, {},
};
static const struct option_choice handles_modes[] = {
    { "auto", HANDLES_AUTO }, { "file-handle", HANDLES_FILE_HANDLE },
    { "descriptor", HANDLES_DESCRIPTOR }, {},
};

static const struct xlator_option options[] = {
    { OPTION ("directory", PATH, posix_private_t, directory, NULL), .required = true, .root = true,
      .help = "the directory whose files the mount shows; it must exist, and nothing is added to "
              "it" },
    { OPTION ("gfid", ENUM, posix_private_t, gfid_mode, "derived"), .values = gfid_modes,
      .help = "the source of a file's identity; derived: file system, inode number and generation; "
              "xattr: the extended attribute trusted.gfid, which is stored with each file, needs "
              "root, and survives a copy" },
    { OPTION ("handles", ENUM, posix_private_t, handles, "auto"), .values = handles_modes,
      .help = "how the translator finds a file again; file-handle: by file handle, which needs "
              "root; descriptor: by open descriptors and names; auto: by file handle if this "
              "works" },
    { OPTION ("descriptor-cache", INT, posix_private_t, descriptor_cache, "0"), .min = 0,
      .max = G_MAXINT,
      .help = "number of descriptors that are kept open in addition to those of open files; 0: "
              "half of the limit of the process, at most 8192" },
    { OPTION ("watch", ENUM, posix_private_t, watch_mode, "off"), .values = watch_modes,
      .help = "how the translator notices changes by other programs in the directory at once, so "
              "that no cache above keeps outdated data; filesystem: by watching the complete file "
              "system, which needs root; inodes: by watching each known file and directory; auto: "
              "the first of these that works" },
    { OPTION ("o-direct", BOOL, posix_private_t, o_direct, "off"),
      .help = "bypass the page cache when reading and writing (O_DIRECT); unaligned requests still "
              "use it" },
    { OPTION ("export-statfs-size", BOOL, posix_private_t, export_statfs_size, "on"),
      .help = "show the size and free space of the file system; off: show zeros" },
    { OPTION ("reserve", PERCENT_OR_SIZE, posix_private_t, reserve_option, "0"), .online = true,
      .help = "space to keep free: with less free space, requests that need more fail with ENOSPC. "
              "The default is 1 in GlusterFS, but 0 here, since the directory belongs to the "
              "user" },
    { OPTION ("brick-uid", INT, posix_private_t, brick_uid, "-1"), .min = -1, .max = 4294967294.0,
      .help = "make this user the owner of the directory at the start; -1: no change" },
    { OPTION ("brick-gid", INT, posix_private_t, brick_gid, "-1"), .min = -1, .max = 4294967294.0,
      .help = "make this group the group of the directory at the start; -1: no change" },
    { OPTION ("force-create-mode", INT, posix_private_t, force_create_mode, "0000"), .min = 0,
      .max = 0777, .online = true,
      .help = "permissions that every new file gets, regardless of the umask" },
    { OPTION ("force-directory-mode", INT, posix_private_t, force_directory_mode, "0000"), .min = 0,
      .max = 0777, .online = true,
      .help = "permissions that every new directory gets, regardless of the umask" },
    { OPTION ("create-mask", INT, posix_private_t, create_mask, "0777"), .min = 0, .max = 0777,
      .online = true, .help = "permissions that a new file may have; others are removed" },
    { OPTION ("create-directory-mask", INT, posix_private_t, create_directory_mask, "0777"),
      .min = 0, .max = 0777, .online = true,
      .help = "permissions that a new directory may have; others are removed" },
    { OPTION ("max-hardlinks", INT, posix_private_t, max_hardlinks, "0"), .min = 0,
      .max = G_MAXUINT32, .online = true,
      .help = "maximum number of names of a file; 0: the limit of the file system. 100 in "
              "GlusterFS, which reserves space for its own names" },
    { OPTION_INERT ("hostname", STRING, "the brick's host; there are no bricks") },
    { OPTION_INERT ("mandate-attribute", BOOL,
                    "require extended attributes; storage/posix needs none") },
    { OPTION_INERT ("background-unlink", BOOL, "free large files in the background") },
    { OPTION_INERT ("janitor-sleep-duration", INT,
                    "how often the landfill directory is emptied; there is no such directory") },
    { OPTION_INERT ("volume-id", STRING, "the volume's id; the directory isn't marked with one") },
    { OPTION_INERT ("glusterd-uuid", STRING, "the management daemon's id; there is none") },
    { OPTION_INERT ("linux-aio", BOOL, "read and write by libaio") },
    { OPTION_INERT ("linux-io_uring", BOOL, "read and write by io_uring") },
    { OPTION_INERT ("node-uuid-pathinfo", BOOL,
                    "show the node's id in virtual attributes; there are none") },
    { OPTION_INERT ("health-check-interval", INT,
                    "seconds between writes of a test file; there is no such file") },
    { OPTION_INERT ("health-check-timeout", INT,
                    "maximum seconds for such a write; there is no such file") },
    { OPTION_INERT ("batch-fsync-mode", STRING,
                    "how fsyncs are combined; each fsync is executed at once") },
    { OPTION_INERT ("batch-fsync-delay-usec", INT,
                    "how long an fsync waits for others; no fsync waits") },
    { OPTION_INERT ("update-link-count-parent", BOOL,
                    "count links per directory in extended attributes") },
    { OPTION_INERT ("gfid2path", BOOL, "store the name with each file; no name is stored") },
    { OPTION_INERT ("gfid2path-separator", STRING,
                    "the separator of such names; no name is stored") },
    { OPTION_INERT ("shared-brick-count", INT,
                    "how many bricks share the file system; sizes are always those of the file "
                    "system") },
    { OPTION_INERT ("disable-landfill-purge", BOOL,
                    "keep the landfill directory; there is no such directory") },
    { OPTION_INERT ("fips-mode-rchecksum", BOOL,
                    "the checksum type of rchecksum; there is no such operation") },
    { OPTION_INERT ("ctime", BOOL,
                    "store times in extended attributes; times are always those of the file") },
    {},
};

static int
posix_reconfigure (xlator_t *this, const void *new_private)
{
    posix_private_t *priv = posix_priv (this);
    const posix_private_t *new = new_private;

    __atomic_store_n (&priv->force_create_mode, new->force_create_mode, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->force_directory_mode, new->force_directory_mode, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->create_mask, new->create_mask, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->create_directory_mask, new->create_directory_mask, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->max_hardlinks, new->max_hardlinks, __ATOMIC_RELAXED);
    posix_reserve_set (priv, new->reserve_option);
    return 0;
}

/* A thread that waits for a lock must not outlive the graph. */
static void
posix_notify (xlator_t *this, enum xlator_event event, void *data)
{
    posix_private_t *priv = posix_priv (this);

    if (priv->watch && event == XLATOR_PARENT_UP)
        posix_watch_start (priv->watch);
    if (priv->watch && (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN))
        posix_watch_stop (priv->watch);
    if (event == XLATOR_PARENT_DOWN)
        posix_waiters_down (&priv->waiters);
    xlator_pass_on (this, event, data);
}

static void
posix_dump_priv (xlator_t *this, GString *out)
{
    posix_private_t *priv = posix_priv (this);
    unsigned cached, waiting;

    pthread_mutex_lock (&priv->cache.lock);
    cached = priv->cache.ring->len;
    pthread_mutex_unlock (&priv->cache.lock);
    pthread_mutex_lock (&priv->waiters.lock);
    waiting = priv->waiters.count;
    pthread_mutex_unlock (&priv->waiters.lock);
    g_string_append_printf (out, "directory=%s\nunder-the-mount=%s\n", priv->directory,
                            priv->where->hidden ? "yes" : "no");
    g_string_append_printf (
        out, "handles=%s\n",
        option_choice_name (handles_modes,
                            priv->by_handle ? HANDLES_FILE_HANDLE : HANDLES_DESCRIPTOR));
    g_string_append_printf (out, "gfid=%s\n", option_choice_name (gfid_modes, priv->gfid_mode));
    g_string_append_printf (out, "acts-as-caller=%s\n", priv->acts_as_caller ? "yes" : "no");
    g_string_append_printf (out, "descriptors-cached=%u\ndescriptor-limit=%u\n", cached,
                            priv->cache.limit);
    g_string_append_printf (out, "descriptor-hits=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&priv->cache.hits, __ATOMIC_RELAXED));
    g_string_append_printf (out, "descriptor-misses=%" G_GUINT64_FORMAT "\n",
                            __atomic_load_n (&priv->cache.misses, __ATOMIC_RELAXED));
    posix_descriptors_dump (priv, out);
    g_string_append_printf (out, "waiting-for-locks=%u\n", waiting);
    posix_watch_dump (priv, out);
}

static void
posix_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    const struct posix_inode *pi = posix_inode_get (this, inode);

    if (pi)
        g_string_append_printf (
            out,
            "dev=%" G_GUINT64_FORMAT "\nino=%" G_GUINT64_FORMAT "\ndescriptor=%s\nhas-locks=%s\n",
            file_system_dev (pi->fs), pi->ino,
            __atomic_load_n (&pi->state, __ATOMIC_RELAXED) < 0 ? "closed" : "open",
            __atomic_load_n (&pi->locks, __ATOMIC_RELAXED) ? "yes" : "no");
}

static void
posix_dump_fd (xlator_t *this, fd_t *fd, GString *out)
{
    const struct posix_fd *pfd = posix_fd_get (this, fd);

    if (!pfd)
        return;
    if (posix_fd_lasting (pfd) >= 0)
        g_string_append_printf (out, "descriptor=%d\n", posix_fd_lasting (pfd));
    else
        g_string_append (out, "descriptor=none\n");
    g_string_append_printf (out, "flags=0%o\n", pfd->flags);
}

static void
posix_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const posix_private_t *priv = posix_priv (this);
    const struct posix_inode *pi = inode ? posix_inode_get (this, inode) : NULL;

    g_string_append_printf (out, "it is '%s%s'%s\n", priv->directory,
                            strcmp (path, "/") == 0 ? "" : path,
                            priv->where->hidden ? " under the mount, to which that path leads now"
                                                : "");
    if (pi)
        g_string_append_printf (out, "found again by %s (handles)\n",
                                pi->by_handle ? "its file handle" : "its descriptor or its names");
    g_string_append_printf (out, "its gfid %s (gfid)\n",
                            priv->gfid_mode == GFID_XATTR ? "is stored with it"
                                                          : "is made of what the file system says");
    if (pi && !posix_number_is_own (priv, pi->fs))
        g_string_append_printf (out,
                                "on another file system than the directory: its inode number there "
                                "is %" G_GUINT64_FORMAT ", here %" G_GUINT64_FORMAT "\n",
                                pi->ino, posix_number_of (this, pi->fs, pi->ino));
    g_string_append_printf (out, "%s (o-direct)\n",
                            priv->o_direct
                                ? "reads and writes it past the page cache, where they are aligned"
                                : "reads and writes it through the page cache");
    g_string_append_printf (out, "acts as %s\n",
                            priv->acts_as_caller ? "the caller" : "the daemon's user");
    posix_descriptors_explain (priv, out);
    posix_watch_explain (priv, out);
}

static enum data_view
posix_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    const posix_private_t *priv = posix_priv (this);

    if (priv->o_direct) {
        *ret_why = "reads and writes it past the page cache (o-direct)";
        return DATA_SEEN;
    }
    if (__atomic_load_n (&priv->has_reserve, __ATOMIC_RELAXED)) {
        *ret_why = "looks with each write whether the reserve is left (reserve)";
        return DATA_SEEN;
    }
    return DATA_UNSEEN;
}

/* Uses a descriptor of the inode, or a copy of an open file's while the inode has none: a file that
 * was just made; for a reader that may change no access time, one of its own, or none. As the
 * caller, with all groups: they decide over setuid and setgid, quotas and reserved space. */
static int
posix_lend (xlator_t *this, call_frame_t *frame, inode_t *inode,
            int (*use) (int descriptor, void *data), void *data)
{
    struct posix_inode *pi = posix_inode_get (this, inode);
    g_auto (posix_pin_t) pin = { 0 };
    int copy = -1, r = 0;

    if (pi && __atomic_load_n (&frame->root->times, __ATOMIC_RELAXED) & TIMES_NOT_OF_READING)
        r = copy = posix_handle_open_quiet (this, pi);
    else if (pi && __atomic_load_n (&pi->state, __ATOMIC_RELAXED) == POSIX_CLOSED)
        copy = posix_cache_copy_open (&posix_priv (this)->cache, pi);
    if (r == 0 && copy < 0)
        r = posix_pin (this, inode, &pin);
    if (r >= 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r >= 0)
        r = use (copy >= 0 ? copy : pin.fd, data);
    if (copy >= 0)
        close (copy);
    return r;
}

static const struct xlator_misfit posix_misfits[] = {
    { "cluster/replicate", "keeps marks and locks that only servers have: its subvolumes must be "
                           "of type 'protocol/client'" },
    { "cluster/distribute", "keeps layouts and locks that only servers have: its subvolumes must "
                            "be of type 'protocol/client'" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "storage/posix",
    .about = "stores files in a directory of the system, by system calls",
    .children = { .min = 0, .max = 0 },
    .passive = true,
    .not_below = posix_misfits,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (posix_private_t),
    .options = options,
    .init = posix_init,
    .fini = posix_fini,
    .reconfigure = posix_reconfigure,
    .notify = posix_notify,
    .fops = {
        .lookup = posix_lookup, .stat = posix_stat, .fstat = posix_fstat,
        .readlink = posix_readlink,
        .mknod = posix_mknod, .mkdir = posix_mkdir, .unlink = posix_unlink, .rmdir = posix_rmdir,
        .symlink = posix_symlink, .rename = posix_rename, .link = posix_link,
        .truncate = posix_truncate, .ftruncate = posix_ftruncate,
        .open = posix_open, .create = posix_create, .tmpfile = posix_tmpfile,
        .readv = posix_readv, .writev = posix_writev, .statfs = posix_statfs,
        .flush = posix_flush, .fsync = posix_fsync,
        .opendir = posix_opendir, .fsyncdir = posix_fsyncdir,
        .readdir = posix_readdir, .readdirp = posix_readdirp,
        .setxattr = posix_setxattr, .getxattr = posix_getxattr, .removexattr = posix_removexattr,
        .fsetxattr = posix_fsetxattr, .fgetxattr = posix_fgetxattr,
        .fremovexattr = posix_fremovexattr,
        .setattr = posix_setattr, .fsetattr = posix_fsetattr, .access = posix_access,
        .lk = posix_lk, .flock = posix_flock,
        .fallocate = posix_allocate, .discard = posix_discard, .zerofill = posix_zerofill,
        .seek = posix_seek, .copy_file_range = posix_copy_file_range,
        .ioctl = posix_ioctl,
    },
    .cbks = { .forget = posix_forget, .release = posix_release, .releasedir = posix_release },
    .dumpops = { .priv = posix_dump_priv, .inodectx = posix_dump_inode, .fdctx = posix_dump_fd,
                 .waits_for = posix_waits_for, .explain = posix_explain },
    .passthrough = { .view = posix_view, .lend = posix_lend },
};
