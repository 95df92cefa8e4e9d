/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the server tells by itself. With features/upcall in the brick's graph (the volume option
 * cache-invalidation) it says which inodes other clients have changed. All caches above drop them,
 * and the kernel. With features/locks it says which locks of this client others wait for. And it
 * asks for state dumps.
 *
 * Requests wait for the loop's thread, and the kernel for requests, so a thread of core/work sends
 * the events. Meanwhile those of one inode become one; if there are too many, any inode counts as
 * changed.
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

/* Flags of GlusterFS's upcall. */
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
upcalls_init (xlator_t *this)
{
    struct upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_init (&upcalls->lock, NULL);
    thread_cond_init (&upcalls->idle);
    upcalls->pending = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    upcalls->this = this;
}

void
upcalls_fini (xlator_t *this)
{
    struct upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    g_hash_table_unref (upcalls->pending);
    pthread_cond_destroy (&upcalls->idle);
    pthread_mutex_destroy (&upcalls->lock);
}

/* --- telling, on a thread of core/work -------------------------------------------------------- */

/* The brick also sends UP_FORGET: it has dropped its inode and does not report later changes of the
 * file. It does so for each file that this client itself removes. */
static unsigned
changes_of (const inode_t *inode, uint32_t flags)
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
        what |= INVALIDATE_XATTRS; /* a mode may be an ACL's */
    return what;
}

static void
tell_one (struct upcalls *upcalls, const gfid_t *gfid, uint32_t flags)
{
    struct itable *table = __atomic_load_n (&upcalls->table, __ATOMIC_ACQUIRE);
    g_autoptr (inode_t) inode = table ? inode_find (table, gfid) : NULL;
    struct invalidation changed = { .inode = inode };

    if (!inode)
        return;
    changed.what = changes_of (inode, flags);
    xlator_pass_on (upcalls->this, XLATOR_INVALIDATE, &changed);
}

static void
tell_all (struct upcalls *upcalls)
{
    struct invalidation changed = { .what = INVALIDATE_ALL };

    xlator_pass_on (upcalls->this, XLATOR_INVALIDATE, &changed);
}

/* Returns the pending upcalls, or NULL and the end of the work if there are none. */
static GHashTable *
pending_take (struct upcalls *upcalls, bool *ret_any)
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
    struct upcalls *upcalls =
        (struct upcalls *) ((char *) work - offsetof (struct upcalls, work));
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

/* --- hearing, on the loop's thread ------------------------------------------------------------ */

/* gfid NULL: any inode. */
static void
upcalls_add (struct upcalls *upcalls, const gfid_t *gfid, uint32_t flags)
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

#define OLD_IATT_SIZE 100 /* attributes in the format of GlusterFS 3; the gfid comes first */

/* A name that is removed or renamed is told of its inode alone, with the attributes of that and of
 * its directory, or both directories. */
static void
names_heard (struct upcalls *upcalls, struct xdr_in *in)
{
    xdr_get_u32 (in); /* how long the server expects caches to keep what they have */
    xdr_get_fixed (in, OLD_IATT_SIZE);
    for (int i = 0; i < 2; i++) {
        const gfid_t *directory = xdr_get_fixed (in, OLD_IATT_SIZE);

        if (directory && !gfid_is_null (directory))
            upcalls_add (upcalls, directory, UP_PARENT_TIMES);
    }
}

/* The server may tell of any gfid. One that the table doesn't know is ignored. */
static void
change_heard (xlator_t *this, struct xdr_in *in)
{
    client_private_t *priv = this->private;
    g_autofree char *text = xdr_get_string (in, GFID_TEXT_SIZE);
    uint32_t flags;
    gfid_t gfid;

    xdr_get_u32 (in); /* the kind of event: a change */
    flags = xdr_get_u32 (in);
    if (in->failed || gfid_parse (text, &gfid) < 0)
        return;
    gf_log (this, GF_LOG_DEBUG, "another client has changed gfid %s (flags 0x%x)", text, flags);
    upcalls_add (&priv->upcalls, &gfid, flags);
    if (flags & (UP_PARENT_TIMES | UP_RENAME))
        names_heard (&priv->upcalls, in);
}

/* gfid, lock, pid, domain */
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

/* gfid, type, pid, name, domain */
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

#define DUMP_PAUSE 10000000000LL /* nanoseconds: a server must not fill a disk with dumps */

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
upcall_heard (xlator_t *this, uint32_t program, uint32_t procedure, struct xdr_in *in)
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
upcalls_missed (xlator_t *this)
{
    upcalls_add (&((client_private_t *) this->private)->upcalls, NULL, 0);
}

void
upcalls_end (xlator_t *this)
{
    struct upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_lock (&upcalls->lock);
    upcalls->quiet = true;
    pthread_mutex_unlock (&upcalls->lock);
}

void
upcalls_wait (xlator_t *this)
{
    struct upcalls *upcalls = &((client_private_t *) this->private)->upcalls;

    pthread_mutex_lock (&upcalls->lock);
    while (upcalls->running)
        thread_cond_wait (&upcalls->idle, &upcalls->lock);
    pthread_mutex_unlock (&upcalls->lock);
}
