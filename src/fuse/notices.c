/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/notices.h"

#include "core/table/opset.h"
#include "core/time/clock.h"
#include "core/time/timer.h"
#include "core/work/work.h"

#include <string.h>

/* In nanoseconds: the time between two looks at kept notices; for how long a notice of a name waits
 * for a moment in which no request uses the directory; the age of a request from which it may be
 * one that hangs. */
#define NOTICE_AGAIN INT64_C (10000000)
#define NOTICE_PATIENCE INT64_C (1000000000)
#define NOTICE_SLOW INT64_C (100000000)

struct notice {
    inode_t *inode; /* with a reference */
    char *name;     /* NULL: the data of inode */
    bool expires;
    int64_t since;  /* clock_now */
};

static void
notice_free (struct notice *notice)
{
    inode_unref (notice->inode);
    g_free (notice->name);
    g_free (notice);
}

/* --- requests under way ----------------------------------------------------------------------- */

/* A request whose caller has locks of the kernel. Inodes are only compared. */
struct locking {
    uint64_t about;
    const inode_t *lent[2];
    int64_t begin;
    bool data; /* locks of the pages of `about`; else the locks of directories */
};

/* Operations whose caller has the lock of a directory (fs/namei.c, fs/readdir.c, fs/xattr.c and
 * others of the kernel). */
#define OPS_LOCK_NAMES                                                                             \
    (OPS_CHANGE_NAMES | OPS_CHANGE_XATTRS | OPSET_OF (FOP_lookup) | OPSET_OF (FOP_readdir)         \
     | OPSET_OF (FOP_readdirp) | OPSET_OF (FOP_fsyncdir) | OPSET_OF (FOP_setattr))

/* Another thread may end the request meanwhile; then a notice waits for nothing, until the next
 * look. */
LOOKS_AT_RUNNING_REQUESTS static void
locking_note (const call_stack_t *root, void *data)
{
    GArray *found = data;
    const bool pages = root->op == FOP_readv || root->op == FOP_writev;
    const struct locking one = { root->about,
                                 { root->maker.lent_inodes[0], root->maker.lent_inodes[1] },
                                 root->begin, pages };

    if (root->about && !root->internal && !root->caused_by
        && (pages || opset_has (OPS_LOCK_NAMES, root->op)))
        g_array_append_val (found, one);
}

static GArray *
locking_find (void)
{
    GArray *found = g_array_new (FALSE, FALSE, sizeof (struct locking));

    stack_foreach (locking_note, found);
    return found;
}

static bool
locking_hinders (const struct locking *one, const struct notice *notice)
{
    const int64_t now = clock_now ();

    if (one->data == (notice->name != NULL)
        || (one->about != inode_nodeid (notice->inode)
            && (one->data || (one->lent[0] != notice->inode && one->lent[1] != notice->inode))))
        return false;
    return (!one->data && now - notice->since < NOTICE_PATIENCE) || now - one->begin >= NOTICE_SLOW;
}

static bool
notice_must_wait (const struct notice *notice, const GArray *under_way)
{
    for (guint i = 0; i < under_way->len; i++)
        if (locking_hinders (&g_array_index (under_way, struct locking, i), notice))
            return true;
    return false;
}

/* --- sending ---------------------------------------------------------------------------------- */

static int
notice_send_now (struct bridge *bridge, const struct notice *notice)
{
    const uint64_t nodeid = inode_nodeid (notice->inode);

    if (!notice->name)
        return fuse_lowlevel_notify_inval_inode (bridge->session, nodeid, 0, 0);
    if (!notice->expires)
        return fuse_lowlevel_notify_inval_entry (bridge->session, nodeid, notice->name,
                                                 strlen (notice->name));
    return fuse_lowlevel_notify_expire_entry (bridge->session, nodeid, notice->name,
                                              strlen (notice->name) EXPIRE_FLAGS);
}

/* Takes out the first notice that must not wait any more, or NULL. */
static struct notice *
notices_next (struct bridge *bridge)
{
    g_autoptr (GArray) under_way = locking_find ();
    struct notice *due = NULL;

    pthread_mutex_lock (&bridge->notices.lock);
    for (GList *at = bridge->notices.kept.head; at; at = at->next)
        if (!notice_must_wait (at->data, under_way)) {
            due = at->data;
            g_queue_delete_link (&bridge->notices.kept, at);
            break;
        }
    pthread_mutex_unlock (&bridge->notices.lock);
    return due;
}

static void notices_look (void *data);

/* Looks again later, if notices are left. Returns whether the bridge is still referred to. */
static bool
notices_go_on (struct bridge *bridge)
{
    bool left;

    pthread_mutex_lock (&bridge->notices.lock);
    if (__atomic_load_n (&bridge->ending, __ATOMIC_ACQUIRE))
        g_queue_clear_full (&bridge->notices.kept, (GDestroyNotify) notice_free);
    left = bridge->notices.kept.length > 0;
    bridge->notices.looks = left;
    pthread_mutex_unlock (&bridge->notices.lock);
    if (left)
        timer_after (NOTICE_AGAIN, notices_look, bridge);
    return left;
}

static struct bridge *
bridge_of_work (struct work_item *work)
{
    return (struct bridge *) ((char *) work - offsetof (struct bridge, notices.work));
}

/* On core/work, since the kernel may wait for a lock after all. */
static void
notices_run (struct work_item *work)
{
    struct bridge *bridge = bridge_of_work (work);
    struct notice *notice;

    while (!__atomic_load_n (&bridge->ending, __ATOMIC_ACQUIRE)
           && (notice = notices_next (bridge))) {
        notice_send_now (bridge, notice);
        notice_free (notice);
    }
    if (!notices_go_on (bridge))
        bridge_timer_ends (bridge);
}

/* On the timer's thread. */
static void
notices_look (void *data)
{
    struct bridge *bridge = data;

    bridge->notices.work = (struct work_item){ .run = notices_run };
    work_put (&bridge->notices.work);
}

static void
notice_keep (struct bridge *bridge, const struct notice *notice)
{
    struct notice *kept = g_memdup2 (notice, sizeof *notice);
    bool begins;

    inode_ref (kept->inode);
    kept->name = g_strdup (notice->name);
    pthread_mutex_lock (&bridge->notices.lock);
    g_queue_push_tail (&bridge->notices.kept, kept);
    begins = !bridge->notices.looks;
    bridge->notices.looks = true;
    pthread_mutex_unlock (&bridge->notices.lock);
    if (begins) {
        bridge_timer_begins (bridge);
        timer_after (NOTICE_AGAIN, notices_look, bridge);
    }
}

static int
notice_give (struct bridge *bridge, struct notice *notice)
{
    g_autoptr (GArray) under_way = locking_find ();

    notice->since = clock_now ();
    if (!notice_must_wait (notice, under_way))
        return notice_send_now (bridge, notice);
    notice_keep (bridge, notice);
    return 0;
}

/* --- for others ------------------------------------------------------------------------------- */

int
notice_name (struct bridge *bridge, inode_t *directory, const char *name, bool expires)
{
    return notice_give (bridge, &(struct notice){ directory, (char *) name, expires, 0 });
}

void
notice_data (struct bridge *bridge, inode_t *inode)
{
    notice_give (bridge, &(struct notice){ inode, NULL, false, 0 });
}

void
notices_begin (struct bridge *bridge)
{
    pthread_mutex_init (&bridge->notices.lock, NULL);
    g_queue_init (&bridge->notices.kept);
}

void
notices_free (struct bridge *bridge)
{
    pthread_mutex_destroy (&bridge->notices.lock);
}
