/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Calls from the server to this client. A brick with features/upcall in its graph (the volume
 * option cache-invalidation) sends an upcall for each inode that another client has changed; the
 * translators above and the kernel then drop the inode from their caches. A brick with
 * features/locks reports that another client waits for a lock that this client holds. glusterd
 * requests a state dump.
 *
 * A thread of core/work passes the invalidations on to the translators above. The event loop's
 * thread must not: the kernel may block an invalidation until a request is answered, and the answer
 * may need a reply that only the event loop's thread can receive. Until the thread of core/work
 * runs, several upcalls for the same inode are merged into one. When PENDING_MAX inodes wait, a
 * further upcall makes the thread invalidate all inodes.
 */
#include "client.h"

#include <limits.h>
#include <string.h>

enum {
    UPCALL_INVALIDATE = 5,
    UPCALL_DUMP = 9,
    UPCALL_INODELK = 10,
    UPCALL_ENTRYLK = 11,
};

/* Flags of an upcall, as in GlusterFS 10.3. Each flag but UP_FORGET names a change that another
 * client has made to the inode or its directory. */
enum {
    UP_NLINK = 1 << 0,
    UP_MODE = 1 << 1,
    UP_OWNER = 1 << 2,
    UP_SIZE = 1 << 3,
    UP_TIMES = 1 << 4,
    UP_ATIME = 1 << 5,
    UP_PERMISSIONS = 1 << 6,
    UP_RENAME = 1 << 7,
    UP_FORGET = 1 << 8,
    UP_PARENT_TIMES = 1 << 9,
    UP_XATTR = 1 << 10,
    UP_XATTR_REMOVED = 1 << 11,
};

#define PENDING_MAX 1024

void
client_upcalls_init (xlator_t *this)
{
    struct client_upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_init (&upcalls->lock, NULL);
    thread_cond_init (&upcalls->idle);
    upcalls->pending = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    upcalls->this = this;
}

void
client_upcalls_fini (xlator_t *this)
{
    struct client_upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    g_hash_table_unref (upcalls->pending);
    pthread_cond_destroy (&upcalls->idle);
    pthread_mutex_destroy (&upcalls->lock);
}

/* --- passing upcalls on, on a thread of core/work --------------------------------------------- */

/* Returns the kinds of cached data (INVALIDATE_*) that an upcall with these flags makes invalid for
 * the inode. UP_FORGET means that the brick has dropped the inode from its memory and will send no
 * more upcalls for it, so everything cached for the inode becomes invalid. The brick sends
 * UP_FORGET also for each file that this client itself removes. */
static unsigned
upcall_changes_of (const inode_t *inode, uint32_t flags)
{
    const bool directory = inode->ia_type == IA_IFDIR;
    unsigned what = INVALIDATE_ATTRIBUTES;

    if (flags & UP_FORGET)
        return directory ? INVALIDATE_ALL : INVALIDATE_ALL & ~INVALIDATE_NAMES;
    if (flags & (UP_SIZE | UP_TIMES) && !directory)
        what |= INVALIDATE_DATA;
    if (flags & (UP_TIMES | UP_PARENT_TIMES | UP_RENAME | UP_NLINK) && directory)
        what |= INVALIDATE_NAMES;
    if (flags & (UP_XATTR | UP_XATTR_REMOVED | UP_MODE | UP_PERMISSIONS))
        what |= INVALIDATE_XATTRS; /* a change of the mode may change an ACL */
    return what;
}

static void
tell_one (struct client_upcalls *upcalls, const gfid_t *gfid, uint32_t flags)
{
    struct itable *table = __atomic_load_n (&upcalls->table, __ATOMIC_ACQUIRE);
    g_autoptr (inode_t) inode = table ? inode_find (table, gfid) : NULL;
    struct invalidation changed = { .inode = inode };

    if (!inode)
        return;
    changed.what = upcall_changes_of (inode, flags);
    xlator_pass_on (upcalls->this, XLATOR_INVALIDATE, &changed);
}

static void
tell_all (struct client_upcalls *upcalls)
{
    struct invalidation changed = { .what = INVALIDATE_ALL };

    xlator_pass_on (upcalls->this, XLATOR_INVALIDATE, &changed);
}

/* Takes all pending upcalls out of `upcalls`, and returns them. If there are none, returns NULL and
 * sets `running` to false; the thread that passes upcalls on then has to end. Sets *ret_any to
 * whether all inodes have to be invalidated. */
static GHashTable *
pending_take (struct client_upcalls *upcalls, bool *ret_any)
{
    GHashTable *pending = NULL;

    pthread_mutex_lock (&upcalls->lock);
    *ret_any = upcalls->any;
    if (upcalls->any || g_hash_table_size (upcalls->pending) > 0) {
        pending = upcalls->pending;
        upcalls->pending = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    }
    upcalls->any = false;
    upcalls->running = pending != NULL;
    if (!pending)
        thread_cond_broadcast (&upcalls->idle);
    pthread_mutex_unlock (&upcalls->lock);
    return pending;
}

static void
upcalls_run (struct work_item *work)
{
    struct client_upcalls *upcalls =
        (struct client_upcalls *) ((char *) work - offsetof (struct client_upcalls, work));
    GHashTable *pending;
    GHashTableIter at;
    gpointer gfid, flags;
    bool any;

    while ((pending = pending_take (upcalls, &any))) {
        g_hash_table_iter_init (&at, pending);
        while (!any && g_hash_table_iter_next (&at, &gfid, &flags))
            tell_one (upcalls, gfid, GPOINTER_TO_UINT (flags));
        if (any)
            tell_all (upcalls);
        g_hash_table_unref (pending);
    }
}

/* --- calls of the server, on the loop's thread ------------------------------------------------ */

/* Adds an upcall for the inode with this gfid, or for all inodes if gfid is NULL. Starts a thread
 * of core/work to pass the upcalls on, unless one is running or the mount ends. */
static void
upcalls_add (struct client_upcalls *upcalls, const gfid_t *gfid, uint32_t flags)
{
    bool start;

    pthread_mutex_lock (&upcalls->lock);
    if (!gfid || g_hash_table_size (upcalls->pending) >= PENDING_MAX)
        upcalls->any = true;
    else
        g_hash_table_insert (
            upcalls->pending, g_memdup2 (gfid, sizeof *gfid),
            GUINT_TO_POINTER (
                flags | GPOINTER_TO_UINT (g_hash_table_lookup (upcalls->pending, gfid))));
    start = !upcalls->running && !upcalls->quiet;
    upcalls->running |= start;
    pthread_mutex_unlock (&upcalls->lock);
    if (start) {
        upcalls->work.run = upcalls_run;
        work_put (&upcalls->work);
    }
}

#define OLD_IATT_SIZE 100 /* number of bytes of a file's attributes in the format of GlusterFS 3;
                           * the gfid comes first */

/* Adds an upcall for each directory of a name that was removed or renamed. The server's upcall
 * gives only the gfid of the file that had the name, but contains the attributes of its directory,
 * or of both directories of a rename. */
static void
names_heard (struct client_upcalls *upcalls, struct xdr_in *in)
{
    xdr_get_u32 (in); /* skips the server's cache-invalidation-timeout, in seconds */
    xdr_get_fixed (in, OLD_IATT_SIZE);
    for (int i = 0; i < 2; i++) {
        const gfid_t *directory = xdr_get_fixed (in, OLD_IATT_SIZE);

        if (directory && !gfid_is_null (directory))
            upcalls_add (upcalls, directory, UP_PARENT_TIMES);
    }
}

/* Receives an upcall for an inode that another client has changed. The inode may be any of the
 * brick; if it is not in the table of inodes when the upcall is passed on, nothing is cached for
 * it, and the upcall is ignored. */
static void
change_heard (xlator_t *this, struct xdr_in *in)
{
    client_private_t *priv = this->private;
    g_autofree char *text = xdr_get_string (in, GFID_TEXT_SIZE);
    uint32_t flags;
    gfid_t gfid;

    xdr_get_u32 (in); /* skips the kind of event, which is always a change */
    flags = xdr_get_u32 (in);
    if (in->failed || gfid_parse (text, &gfid) < 0)
        return;
    gf_log (this, GF_LOG_DEBUG, "another client has changed gfid %s (flags 0x%x)", text, flags);
    upcalls_add (&priv->upcalls, &gfid, flags);
    if (flags & (UP_PARENT_TIMES | UP_RENAME))
        names_heard (&priv->upcalls, in);
}

/* Receives the report that another client waits for an inodelk which this client holds. The fields
 * of the report are gfid, lock, pid and lock domain. */
static void
inodelk_heard (xlator_t *this, struct xdr_in *in)
{
    const void *gfid = xdr_get_fixed (in, sizeof (gfid_t));
    struct lock_contention wanted = { 0 };
    g_autofree char *volume = NULL;
    struct gf_flock lock;

    wire_get_flock (in, &lock);
    xdr_get_u32 (in);
    volume = xdr_get_string (in, PATH_MAX);
    if (in->failed)
        return;
    memcpy (&wanted.gfid, gfid, sizeof wanted.gfid);
    wanted.volume = volume;
    xlator_pass_on (this, XLATOR_LOCK_CONTENDED, &wanted);
}

/* Receives the report that another client waits for an entrylk which this client holds. The fields
 * of the report are gfid, type, pid, name and lock domain. */
static void
entrylk_heard (xlator_t *this, struct xdr_in *in)
{
    const void *gfid = xdr_get_fixed (in, sizeof (gfid_t));
    struct lock_contention wanted = { .of_entry = true };
    g_autofree char *name = NULL, *volume = NULL;

    xdr_get_u32 (in);
    xdr_get_u32 (in);
    name = xdr_get_string (in, WIRE_NAME_MAX);
    volume = xdr_get_string (in, PATH_MAX);
    if (in->failed)
        return;
    memcpy (&wanted.gfid, gfid, sizeof wanted.gfid);
    wanted.name = *name ? name : NULL;
    wanted.volume = volume;
    xlator_pass_on (this, XLATOR_LOCK_CONTENDED, &wanted);
}

/* Least time between two state dumps, in nanoseconds. A request for a dump that comes earlier is
 * ignored, so that a hostile server cannot fill the disk with dumps. */
#define DUMP_PAUSE 10000000000LL

static void
dump_heard (xlator_t *this)
{
    client_private_t *priv = this->private;
    const int64_t now = clock_now ();

    if (priv->upcalls.dumped && now - priv->upcalls.dumped < DUMP_PAUSE)
        return;
    priv->upcalls.dumped = now;
    gf_log (this, GF_LOG_INFO, "the server asks for a state dump");
    xlator_pass_on (this, XLATOR_DUMP_ASKED, NULL);
}

void
client_upcall_heard (xlator_t *this, uint32_t program, uint32_t procedure, struct xdr_in *in)
{
    switch (program == RPC_CALLBACK ? procedure : 0) {
    case UPCALL_INVALIDATE:
        change_heard (this, in);
        break;
    case UPCALL_DUMP:
        dump_heard (this);
        break;
    case UPCALL_INODELK:
        inodelk_heard (this, in);
        break;
    case UPCALL_ENTRYLK:
        entrylk_heard (this, in);
        break;
    default:
        gf_log (this, GF_LOG_DEBUG, "the server called procedure %u of program %u; ignored",
                procedure, program);
    }
}

void
client_upcalls_missed (xlator_t *this)
{
    upcalls_add (&((client_private_t *) this->private)->upcalls, NULL, 0);
}

void
client_upcalls_end (xlator_t *this)
{
    struct client_upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_lock (&upcalls->lock);
    upcalls->quiet = true;
    pthread_mutex_unlock (&upcalls->lock);
}

void
client_upcalls_wait (xlator_t *this)
{
    struct client_upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_lock (&upcalls->lock);
    while (upcalls->running)
        thread_cond_wait (&upcalls->idle, &upcalls->lock);
    pthread_mutex_unlock (&upcalls->lock);
}
