/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Kernel passthrough: the answer to an open names a file that the kernel reads and writes itself.
 *
 * Rules of the kernel: either all opens of an inode share its pages in the kernel's cache, or all
 * use one and the same backing file. If an answer violates this, open(2) fails with EIO. The
 * backing file is written with the identity of the caller for whom it was registered. The decision
 * is therefore kept with the inode while the inode is open:
 *
 *   inode --files--> passed { cached }               for every open, whatever the graph allows
 *                    passed { backing id, as whom }  named in the answer to every open
 *
 * Some opens read and write through the daemon all the same, with FOPEN_DIRECT_IO: if the caller
 * may not write with the identity of the registrant (a user as root, or root as a user), if fcntl
 * could remove the flags (O_APPEND; O_DIRECT, where that makes a difference), or if a translator
 * has to see the file by now.
 *
 * The kernel opens the backing file anew for each open, with the flags of that open, so any
 * descriptor may be lent. For read(2) and write(2) these flags count, whatever fcntl(2) has made of
 * the caller's descriptor since; only an O_APPEND that was added is handed on (BACKING_IOCB_MASK).
 * io_submit(2) and io_uring use the caller's flags. The daemon can't change this. So:
 *
 * - A file opened with O_DIRECT stays direct when the flag is removed. tmpfs ignores O_DIRECT and
 *   btrfs does unaligned parts through its page cache, but ext4 and xfs answer EINVAL, as for the
 *   last bytes of dd oflag=direct. A file opened only for writing therefore isn't passed there: the
 *   daemon writes it, and can change its own descriptor. Databases and virtual machines open for
 *   reading and writing and keep O_DIRECT. These opens are passed (passthrough-direct=on): the
 *   daemon takes two to four times as long. The kernel holds the inode's lock while it writes to a
 *   backing file, so one write of a file is under way at a time.
 * - A program that opens with O_APPEND and removes the flag would still append if passed, and would
 *   write its bytes to the wrong place without an error. So passthrough-append is off by default.
 * - A descriptor that gets O_DIRECT later reads and writes through the page cache.
 * - The registrant is the caller without CAP_FSETID and CAP_SYS_RESOURCE, unless it is root.
 *   RLIMIT_FSIZE is the writer's own.
 */
#include "fuse/passthrough.h"

#include "core/base/process.h"
#include "core/realm/passthrough.h"
#include "fuse/init-flags.h"
#include "fuse/kernel-cache.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/fuse.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* From linux/fuse.h since Linux 6.9; defined here for older headers. */
struct backing_map {
    int32_t fd;
    uint32_t flags;
    uint64_t padding;
};

#define BACKING_OPEN _IOW (229, 1, struct backing_map)
#define BACKING_CLOSE _IOW (229, 2, uint32_t)

/* An open inode. */
struct passed {
    int id;         /* of the backing file; 0: the kernel caches the inode's pages */
    unsigned opens; /* at least as many as the kernel has */
    bool as_root;   /* the kernel writes as root, not as a user */
    bool mixed;     /* an open reads and writes through the daemon all the same */
    bool written;   /* the kernel writes the file for a current or former open */
};

#define SHARDS 16

struct passthrough {
    struct {
        pthread_mutex_t lock; /* storage takes its locks under it to lend a file */
        GHashTable *files;    /* inode_t to struct passed; lock */
    } shards[SHARDS];
    bool on;           /* the kernel agreed to passthrough. Set before the first request */
    const char *why;   /* the reason if passthrough is not used: the end of a message. Constant
                        * text, set before the first request */
    bool any;          /* a file was ever passed; atomic */
    bool any_mixed;    /* a file was ever opened in both ways at a time; atomic */
    bool said;         /* a refusal by the kernel was logged; atomic */
    unsigned refused;  /* number of refusals; atomic */
    uint64_t n_passed; /* opens that were passed; atomic */
};

struct passthrough *
passthrough_new (void)
{
    struct passthrough *all = g_new0 (struct passthrough, 1);

    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_init (&all->shards[i].lock, NULL);
        all->shards[i].files = g_hash_table_new_full (NULL, NULL, NULL, g_free);
    }
    return all;
}

void
passthrough_free (struct passthrough *all)
{
    for (unsigned i = 0; all && i < SHARDS; i++) {
        g_hash_table_unref (all->shards[i].files);
        pthread_mutex_destroy (&all->shards[i].lock);
    }
    g_free (all);
}

/* Nothing is ever written through a mount that is read-only (-o ro). */
static xlator_t *
bridge_sees (const struct bridge *bridge, inode_t *inode, const char **why, xlator_t **storage)
{
    return passthrough_in_the_way (bridge->graph->top, inode, !bridge->settings.read_only, why,
                                   storage);
}

/* --- negotiation ------------------------------------------------------------------------------ */

/* The kernel takes backing files from whoever has CAP_SYS_ADMIN in the first user namespace. */
static bool
is_privileged (void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2] = { 0 };

    return process_has_first_user_namespace () && syscall (SYS_capget, &head, caps) == 0
        && caps[0].effective & 1u << CAP_SYS_ADMIN;
}

/* Returns the reason against passthrough that is known before the mount, or NULL. */
static const char *
lack_of_ours (const struct bridge *bridge)
{
    if (bridge->settings.passthrough == PASSTHROUGH_OFF)
        return "it is off (passthrough)";
    if (bridge->settings.writeback)
        return "the kernel can't collect writes and do them itself as well "
               "(kernel-writeback-cache)";
    if (bridge->settings.direct_io == SWITCH_ON)
        return "reads and writes are to go past the page cache (direct-io-mode)";
    if (bridge->settings.idmapped) /* With mapped ids, setuid is removed when the kernel hands a
                                    * write on. A write by the kernel itself, as the daemon, would
                                    * not remove it */
        return "writes that take rights away have to come here where ids are mapped "
               "(idmapped-mounts)";
    if (!is_privileged ())
        return "the kernel takes backing files from root alone (CAP_SYS_ADMIN), and not in a user "
               "namespace";
    return NULL;
}

/* libfuse knows passthrough since 3.17; for older versions init-flags.c asks for it. */
static bool
ask_for_it (struct bridge *bridge, struct fuse_conn_info *conn)
{
    bool offered = bridge->terms.init.offered & FLAG_PASSTHROUGH;

#ifdef FUSE_CAP_PASSTHROUGH
    if (conn->capable & FUSE_CAP_PASSTHROUGH) {
        offered = true;
        conn->want |= FUSE_CAP_PASSTHROUGH;
        conn->max_backing_stack_depth = PASSTHROUGH_DEPTH;
    }
#endif
    bridge->terms.init.wanted |= FLAG_PASSTHROUGH;
    return offered;
}

void
passthrough_negotiate (struct bridge *bridge, struct fuse_conn_info *conn)
{
    struct passthrough *all = bridge->passthrough;

    all->why = lack_of_ours (bridge);
    if (!all->why && !ask_for_it (bridge, conn))
        all->why =
            "the kernel doesn't offer it: that takes Linux 6.9, built with CONFIG_FUSE_PASSTHROUGH";
    all->on = !all->why;
    if (!all->on)
        gf_log (&bridge->xlator, GF_LOG_DEBUG, "kernel passthrough is not used: %s", all->why);
}

int
bridge_passthrough_check (struct bridge *bridge, char **ret_error)
{
    const struct passthrough *all = bridge->passthrough;
    xlator_t *storage, *seer;
    const char *why;

    if (bridge->settings.passthrough != PASSTHROUGH_REQUIRED)
        return 0;
    seer = all->on ? bridge_sees (bridge, NULL, &why, &storage) : NULL;
    if (seer)
        *ret_error = g_strdup_printf (
            "kernel passthrough is required (passthrough), but volume '%s' (%s:%d) %s",
            seer->name, bridge->graph->volfile->path, seer->line, why);
    else if (!all->on)
        *ret_error = g_strdup_printf ("kernel passthrough is required (passthrough), but %s",
                                      all->why);
    return *ret_error ? -ENOTSUP : 0;
}

/* --- backing files ---------------------------------------------------------------------------- */

static int
backing_open (int descriptor, void *data)
{
    const struct bridge *bridge = data;
    struct backing_map map = { .fd = descriptor };
    const int id = ioctl (fuse_session_fd (bridge->session), BACKING_OPEN, &map);

    return id < 0 ? -errno : id;
}

static void
backing_close (const struct bridge *bridge, int id)
{
    uint32_t number = id;

    if (ioctl (fuse_session_fd (bridge->session), BACKING_CLOSE, &number) < 0 && errno != ENODEV)
        gf_log (&bridge->xlator, GF_LOG_WARNING, "the kernel keeps backing file %d: %s", id,
                g_strerror (errno));
}

static const char *
passthrough_refusal (int r)
{
    switch (r) {
    case -ELOOP:
        return "its file system stands on another one already, as overlayfs does, and the kernel "
               "stacks no more";
    case -EPERM:
        return "the daemon has no CAP_SYS_ADMIN outside its user namespace, or a filter of system "
               "calls forbids it";
    case -EXDEV:
        return "reading changes no access time here (ro, noatime), and the kernel would change it";
    case -EOPNOTSUPP: return "its file system can't";
    default: return g_strerror (-r);
    }
}

/* Logs a refusal; the file is then used without passthrough. The first one is a warning. Later
 * ones, which may be many, are logged at level DEBUG. */
static void
say_refused (struct bridge *bridge, inode_t *inode, int r)
{
    struct passthrough *all = bridge->passthrough;
    const bool said = __atomic_exchange_n (&all->said, true, __ATOMIC_RELAXED);
    const gf_loglevel_t level = said ? GF_LOG_DEBUG : GF_LOG_WARNING;
    g_autofree char *path = NULL;

    __atomic_add_fetch (&all->refused, 1, __ATOMIC_RELAXED);
    if (!log_wants (&bridge->xlator, level))
        return;
    path = inode_path (inode, NULL);
    gf_log (&bridge->xlator, level,
            "kernel passthrough was refused for '%s': %s; it is read and written by the daemon%s",
            path, passthrough_refusal (r),
            said ? "" : ", and so are others of which the log tells at level DEBUG alone");
}

/* --- opens ------------------------------------------------------------------------------------ */

static unsigned
passthrough_shard_of (const inode_t *inode)
{
    return ((uintptr_t) inode >> 6) % SHARDS;
}

static void
log_decision (const struct bridge *bridge, inode_t *inode, const char *what, const xlator_t *who)
{
    g_autofree char *path = NULL;

    if (!log_wants (&bridge->xlator, GF_LOG_DEBUG))
        return;
    path = inode_path (inode, NULL);
    gf_log (&bridge->xlator, GF_LOG_DEBUG, "kernel passthrough of '%s': %s%s%s%s", path,
            who ? "no, volume '" : "", who ? who->name : "", who ? "' " : "", what);
}

static bool
appends_here (const struct bridge *bridge, int flags)
{
    return flags & O_APPEND && !bridge->settings.passthrough_append;
}

/* Decides for an inode that isn't open yet. A caller that opens for reading and appending is served
 * by the daemon, see must_come_here. Pages that it splices from the file would stay in the kernel's
 * page cache, where writes by the kernel itself wouldn't change them. So such an open doesn't start
 * passthrough. */
static struct passed
decide_first (struct bridge *bridge, call_frame_t *frame, inode_t *inode, int flags)
{
    struct passed passed = { .as_root = frame->root->uid == 0 };
    xlator_t *storage, *seer;
    const char *why;
    int r;

    if ((flags & O_ACCMODE) == O_RDWR && appends_here (bridge, flags)) {
        log_decision (bridge, inode, "no, it is opened to read and to append", NULL);
        return passed;
    }
    seer = bridge_sees (bridge, inode, &why, &storage);
    if (seer) {
        log_decision (bridge, inode, why, seer);
        return passed;
    }
    r = storage->api->passthrough.lend (storage, frame, realm_inode_of (storage, inode),
                                          backing_open, bridge);
    if (r <= 0) {
        say_refused (bridge, inode, r < 0 ? r : -EINVAL);
        return passed;
    }
    log_decision (bridge, inode, "yes", NULL);
    passed.id = r;
    return passed;
}

/* Returns whether the file system accepts direct reads and writes of any offset, length and
 * address. tmpfs keeps all in memory, and btrfs does unaligned ones through its page cache. Other
 * file systems refuse them. */
static int
takes_any_direct (int descriptor, void *data)
{
    struct statfs fs;

    return fstatfs (descriptor, &fs) == 0
        && (fs.f_type == TMPFS_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

/* Returns whether the kernel may continue with direct reads and writes after the caller has removed
 * O_DIRECT with fcntl(2). Where any alignment is accepted, that makes no difference. Elsewhere
 * unaligned ones fail then: a program that opens only for writing removes the flag for the rest at
 * the end, as dd does. */
static bool
passes_direct (const struct bridge *bridge, call_frame_t *frame, inode_t *inode, int flags,
               xlator_t *storage)
{
    const enum option_switch choice = bridge->settings.passthrough_direct;

    if (choice == SWITCH_OFF)
        return false;
    if (choice == SWITCH_ON && (flags & O_ACCMODE) != O_WRONLY)
        return true;
    return storage->api->passthrough.lend (storage, frame, realm_inode_of (storage, inode),
                                           takes_any_direct, NULL) > 0;
}

/* Returns the reason why an open must use the daemon, or NULL. The kernel writes with the identity
 * of the first open, which affects setuid and reserved space. */
static const char *
must_come_here (const struct bridge *bridge, const struct passed *passed, call_frame_t *frame,
                const fd_t *fd, int flags, xlator_t **ret_who)
{
    const char *why = NULL;
    xlator_t *storage;

    *ret_who = NULL;
    if (appends_here (bridge, flags))
        return "by the daemon, as it may be told later not to append (passthrough-append)";
    if ((flags & O_ACCMODE) != O_RDONLY && kernel_knows_privileges (fd->inode))
        return "by the daemon, as a write takes setuid away";
    if ((flags & O_ACCMODE) != O_RDONLY && passed->as_root != (frame->root->uid == 0))
        return passed->as_root ? "by the daemon, as root had it opened first"
                               : "by the daemon, as a user had it opened before root";
    if (passed->opens > 1 || flags & O_DIRECT)
        *ret_who = bridge_sees (bridge, fd->inode, &why, &storage);
    if (*ret_who)
        return why;
    return flags & O_DIRECT && !passes_direct (bridge, frame, fd->inode, flags, storage)
               ? "by the daemon, as it may be told later to use the page cache (passthrough-direct)"
               : NULL;
}

/* Fills in fi, and returns whether reads and writes come to the daemon all the same. */
static bool
answer_passed (struct bridge *bridge, const struct passed *passed, call_frame_t *frame, fd_t *fd,
               struct fuse_file_info *fi)
{
    xlator_t *who;
    const char *why = must_come_here (bridge, passed, frame, fd, fi->flags, &who);

    init_flags_backing (fi, passed->id);
    fi->direct_io = why != NULL;
    fi->keep_cache = 0;
    if (why) {
        log_decision (bridge, fd->inode, why, who);
        return true;
    }
    __atomic_store_n (&bridge->passthrough->any, true, __ATOMIC_RELAXED);
    __atomic_add_fetch (&bridge->passthrough->n_passed, 1, __ATOMIC_RELAXED);
    passthrough_tell (bridge->graph->top, fd);
    return false;
}

static struct passed
passthrough_note_open (struct bridge *bridge, call_frame_t *frame, fd_t *fd, int flags)
{
    struct passthrough *all = bridge->passthrough;
    const unsigned shard = passthrough_shard_of (fd->inode);
    struct passed *known, now;

    pthread_mutex_lock (&all->shards[shard].lock);
    known = g_hash_table_lookup (all->shards[shard].files, fd->inode);
    if (!known) {
        now = decide_first (bridge, frame, fd->inode, flags);
        known = g_memdup2 (&now, sizeof now);
        g_hash_table_insert (all->shards[shard].files, fd->inode, known);
    }
    known->opens++;
    now = *known;
    pthread_mutex_unlock (&all->shards[shard].lock);
    return now;
}

/* The entry exists, since passthrough_open holds the file open. */
static void
note_way (struct passthrough *all, const fd_t *fd, bool mixed, bool written)
{
    const unsigned shard = passthrough_shard_of (fd->inode);
    struct passed *known;

    if (mixed)
        __atomic_store_n (&all->any_mixed, true, __ATOMIC_RELAXED);
    pthread_mutex_lock (&all->shards[shard].lock);
    known = g_hash_table_lookup (all->shards[shard].files, fd->inode);
    known->mixed |= mixed;
    known->written |= written;
    pthread_mutex_unlock (&all->shards[shard].lock);
}

/* Returns whether a file opened with these flags can be stored to through a mapping. */
static bool
may_be_stored_to (int flags)
{
    return (flags & O_ACCMODE) == O_RDWR;
}

void
passthrough_open (struct bridge *bridge, call_frame_t *frame, fd_t *fd, struct fuse_file_info *fi)
{
    struct passthrough *all = bridge->passthrough;
    struct passed now;

    if (!all->on || fd->inode->ia_type != IA_IFREG)
        return;
    now = passthrough_note_open (bridge, frame, fd, fi->flags);
    if (!now.id) {
        if (__atomic_load_n (&all->any, __ATOMIC_RELAXED))
            fi->keep_cache = 0; /* the file may have been written past the cached pages */
    } else if (answer_passed (bridge, &now, frame, fd, fi)) {
        note_way (all, fd, true, false);
    } else if ((fi->flags & O_ACCMODE) != O_RDONLY) {
        note_way (all, fd, false, true);
        fi->noflush &= !may_be_stored_to (fi->flags); /* passthrough_forget_times */
    }
}

void
passthrough_forget_times (struct bridge *bridge, const fd_t *fd)
{
    if (bridge->passthrough->on && may_be_stored_to (fd->flags)
        && passthrough_has (bridge, fd->inode))
        fuse_lowlevel_notify_inval_inode (bridge->session, inode_nodeid (fd->inode), -1, 0);
}

void
passthrough_release (struct bridge *bridge, const fd_t *fd)
{
    struct passthrough *all = bridge->passthrough;
    const unsigned shard = passthrough_shard_of (fd->inode);
    struct passed *known;
    int id = 0;

    if (!all->on || fd->inode->ia_type != IA_IFREG)
        return;
    passthrough_forget_times (bridge, fd);
    pthread_mutex_lock (&all->shards[shard].lock);
    known = g_hash_table_lookup (all->shards[shard].files, fd->inode);
    if (known && --known->opens == 0) {
        id = known->id;
        g_hash_table_remove (all->shards[shard].files, fd->inode);
    }
    pthread_mutex_unlock (&all->shards[shard].lock);
    if (id)
        backing_close (bridge, id);
}

/* Returns a copy of what is known of the inode; all 0 if it isn't open. */
static struct passed
passed_of (const struct bridge *bridge, const inode_t *inode)
{
    struct passthrough *all = bridge->passthrough;
    const unsigned shard = passthrough_shard_of (inode);
    const struct passed *known;
    struct passed passed = { 0 };

    pthread_mutex_lock (&all->shards[shard].lock);
    known = g_hash_table_lookup (all->shards[shard].files, inode);
    if (known)
        passed = *known;
    pthread_mutex_unlock (&all->shards[shard].lock);
    return passed;
}

bool
passthrough_writes (struct bridge *bridge, const inode_t *inode)
{
    return passed_of (bridge, inode).written;
}

bool
passthrough_has (struct bridge *bridge, const inode_t *inode)
{
    return passed_of (bridge, inode).id != 0;
}

/* --- opens of both kinds at a time ------------------------------------------------------------ */

/* A read without a lock owner fills the kernel's page cache: sendfile and splice use it even for a
 * descriptor with direct I/O. */
bool
passthrough_is_stale_soon (struct bridge *bridge, const fd_t *fd, const struct fuse_file_info *fi)
{
    if (G_LIKELY (fi->lock_owner
                  || !__atomic_load_n (&bridge->passthrough->any_mixed, __ATOMIC_RELAXED)))
        return false;
    return passed_of (bridge, fd->inode).mixed;
}

/* --- reports ---------------------------------------------------------------------------------- */

void
passthrough_dump (const struct bridge *bridge, GString *out)
{
    const struct passthrough *all = bridge->passthrough;

    g_string_append_printf (out, "kernel_passthrough=%s\n", all->on ? "on" : "off");
    if (!all->on)
        return;
    g_string_append_printf (out,
                            "passthrough_opens=%" G_GUINT64_FORMAT "\npassthrough_refused=%u\n",
                            __atomic_load_n (&all->n_passed, __ATOMIC_RELAXED),
                            __atomic_load_n (&all->refused, __ATOMIC_RELAXED));
}

/* Appends how an open file is used. Returns false if the file isn't open. */
static bool
explain_open (const struct bridge *bridge, inode_t *inode, GString *out)
{
    const struct passed known = passed_of (bridge, inode);
    g_autofree char *times = known.opens == 1 ? g_strdup ("once")
                                              : g_strdup_printf ("%u times", known.opens);

    if (known.opens == 0)
        return false;
    if (known.id)
        g_string_append_printf (
            out, "yes, open %s by passthrough until its last close, with the rights of %s", times,
            known.as_root ? "root" : "a user");
    else
        g_string_append_printf (out, "no, open %s through the page cache until its last close",
                                times);
    g_string_append (out, "; later opens: ");
    return true;
}

void
bridge_explain_passthrough (struct bridge *bridge, inode_t *inode, GString *out)
{
    const struct passthrough *all = bridge->passthrough;
    xlator_t *storage, *seer;
    const char *why;
    bool is_open;

    g_string_append (out, "kernel passthrough: ");
    if (!all->on) {
        g_string_append_printf (out, "no, %s\n", all->why);
        return;
    }
    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "no, it is for files\n");
        return;
    }
    is_open = inode && explain_open (bridge, inode, out);
    seer = bridge_sees (bridge, inode, &why, &storage);
    if (seer)
        g_string_append_printf (out, "no, volume '%s' %s\n", seer->name, why);
    else
        g_string_append_printf (
            out, "yes%s: no translator has to see what is read and written (passthrough)\n",
            is_open ? "" : ", when it is opened");
    if (__atomic_load_n (&all->refused, __ATOMIC_RELAXED))
        g_string_append_printf (
            out, "kernel passthrough: the kernel refused it %u times; the log says why\n",
            __atomic_load_n (&all->refused, __ATOMIC_RELAXED));
}
