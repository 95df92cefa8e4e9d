/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The copy of a lower's object to the upper, before its first change. One thread copies, others
 * that need the object wait; reads go on below. The copy is made in the work directory, gets the
 * bytes, owner, mode, extended attributes and times, is synced, and then gets its name; its
 * directory keeps its times. A file that has lost its name in the view gets a copy without one.
 */
#include "records.h"

#include <linux/stat.h>
#include <sys/stat.h>

/* A copy. */
struct overlay_copy {
    struct overlay_act *act;
    inode_t *inode;    /* above */
    inode_t *parent;   /* above, with a reference; NULL: the object has no name */
    char *name;        /* in parent; owned */
    unsigned slot;     /* of the lower */
    inode_t *from;     /* below in it */
    struct iatt buf;   /* of it */
    char *work_name;   /* owned */
    inode_t *made;     /* the copy, with a reference */
};

static int
overlay_copy_stat (struct overlay_copy *copy, struct iatt *ret_buf)
{
    loc_t loc = { .inode = copy->from };
    struct stat_reply reply;
    int r = sync_stat (overlay_daemon (copy->act, copy->slot), &loc, NULL, &reply);

    *ret_buf = reply.buf;
    stat_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* --- making ----------------------------------------------------------------------------------- */

static int
overlay_copy_target (struct overlay_copy *copy, char **ret_target)
{
    loc_t loc = { .inode = copy->from };
    struct readlink_reply reply;
    int r = sync_readlink (overlay_daemon (copy->act, copy->slot), &loc, PATH_MAX, NULL, &reply);

    if (r >= 0)
        *ret_target = g_strdup (reply.path);
    readlink_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static int
overlay_copy_make_link (struct overlay_copy *copy, loc_t *loc)
{
    struct client *client = overlay_daemon (copy->act, OVERLAY_UPPER);
    g_autofree char *target = NULL;
    struct symlink_reply reply = { 0 };
    int r = overlay_copy_target (copy, &target);

    if (r == 0)
        r = sync_symlink (client, target, loc, 0, NULL, &reply);
    if (r >= 0)
        copy->made = inode_link (reply.inode, loc->parent, loc->name, &reply.buf);
    symlink_reply_drop (&reply);
    return error_or_0 (r);
}

static int
overlay_copy_make_node (struct overlay_copy *copy, loc_t *loc)
{
    struct client *client = overlay_daemon (copy->act, OVERLAY_UPPER);
    const mode_t mode = (mode_of_iatt (&copy->buf) & S_IFMT) | 0600;
    struct mknod_reply reply;
    int r = sync_mknod (client, loc, mode, copy->buf.ia_rdev, 0, NULL, &reply);

    if (r >= 0)
        copy->made = inode_link (reply.inode, loc->parent, loc->name, &reply.buf);
    mknod_reply_drop (&reply);
    return error_or_0 (r);
}

static int
overlay_copy_make (struct overlay_copy *copy)
{
    inode_t *work = overlay_work (copy->act);
    g_autoptr (inode_t) fresh = inode_new (work->table);
    loc_t loc = { .name = copy->work_name, .parent = work, .inode = fresh };
    int r;

    if (copy->buf.ia_type == IA_IFDIR)
        r = sync_name_mkdir (overlay_daemon (copy->act, OVERLAY_UPPER), work, copy->work_name, 0700,
                             &copy->made);
    else if (copy->buf.ia_type == IA_IFLNK)
        r = overlay_copy_make_link (copy, &loc);
    else
        r = overlay_copy_make_node (copy, &loc);
    loc_wipe_path (&loc);
    return r;
}

/* A lower that changes while it is copied is not copied. */
static int
overlay_copy_is_same (struct overlay_copy *copy)
{
    struct iatt now;
    int r = overlay_copy_stat (copy, &now);

    if (r < 0)
        return r;
    return now.ia_size == copy->buf.ia_size && now.ia_mtime == copy->buf.ia_mtime
                   && now.ia_mtime_nsec == copy->buf.ia_mtime_nsec
                   && now.ia_ctime == copy->buf.ia_ctime
                   && now.ia_ctime_nsec == copy->buf.ia_ctime_nsec
               ? 0 : -EBUSY;
}

static int
overlay_copy_fill (struct overlay_copy *copy)
{
    struct overlay_inode *ctx = overlay_inode_get (copy->act->this, copy->inode);
    const uint64_t number =
        ctx->number ? ctx->number : overlay_number (copy->act->this, copy->slot, copy->buf.ia_ino);
    int r = 0;

    __atomic_store_n (&ctx->number, number, __ATOMIC_RELAXED);
    __atomic_store_n (&ctx->copied, true, __ATOMIC_RELAXED);
    if (copy->buf.ia_type == IA_IFREG)
        r = overlay_copy_data (copy->act, copy->slot, copy->from, copy->made, copy->buf.ia_size);
    if (r == 0)
        r = overlay_origin_set (copy->act, copy->slot, copy->from, copy->made, &copy->inode->gfid,
                                number);
    if (r == 0)
        r = overlay_copy_attributes (copy->act, copy->slot, copy->from, &copy->buf, copy->made);
    return r == 0 && copy->buf.ia_type == IA_IFREG ? overlay_copy_is_same (copy) : r;
}

/* --- the name --------------------------------------------------------------------------------- */

static int
overlay_copy_rename (struct overlay_copy *copy)
{
    struct client *client = overlay_daemon (copy->act, OVERLAY_UPPER);
    inode_t *directory = realm_below (copy->act->this, copy->parent, OVERLAY_UPPER);
    loc_t loc = { .inode = directory };
    struct iatt times;
    int r = overlay_stat_upper (copy->act, copy->parent, &times);

    if (r == 0)
        r = sync_name_rename (client, copy->made, overlay_work (copy->act), copy->work_name,
                              directory, copy->name, RENAME_NOREPLACE);
    if (r == 0)
        r = sync_setattr (client, &loc, &times, IATT_ATIME | IATT_MTIME, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* A copy without a name: what is written goes with the last descriptor. */
static int
overlay_copy_unname (struct overlay_copy *copy)
{
    return copy->buf.ia_type == IA_IFDIR
               ? -ENOENT
               : sync_name_remove (overlay_daemon (copy->act, OVERLAY_UPPER),
                                   overlay_work (copy->act), copy->work_name, copy->made);
}

/* Somebody may have removed or replaced the name while the object was copied. */
static int
overlay_copy_publish (struct overlay_copy *copy)
{
    xlator_t *this = copy->act->this;
    int r = -EEXIST;

    if (copy->parent) {
        overlay_turns_take (this, copy->parent, NULL);
        r = overlay_impure_set (copy->act, copy->parent);
        if (r == 0)
            r = overlay_copy_rename (copy);
        if (r == 0)
            realm_join (this, copy->inode, OVERLAY_UPPER, copy->made);
        overlay_turns_give (this, copy->parent, NULL);
    }
    if (r != -EEXIST)
        return r;
    r = overlay_copy_unname (copy);
    if (r == 0)
        realm_join (this, copy->inode, OVERLAY_UPPER, copy->made);
    return r;
}

/* --- the copy --------------------------------------------------------------------------------- */

static int
overlay_copy_object (struct overlay_copy *copy)
{
    xlator_t *this = copy->act->this;
    int r;

    copy->slot = overlay_slot (this, copy->inode);
    if (copy->slot == overlay_priv (this)->n)
        return -ESTALE;
    copy->from = realm_below (this, copy->inode, copy->slot);
    copy->work_name = overlay_work_name (this);
    r = overlay_copy_stat (copy, &copy->buf);
    if (r == 0 && copy->buf.ia_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND))
        r = -EPERM;
    if (r == 0)
        r = overlay_copy_make (copy);
    if (r < 0)
        return r;
    r = overlay_copy_fill (copy);
    if (r == 0 && copy->parent)
        r = overlay_record_copy (copy->act, copy->parent, copy->name, copy->slot, &copy->buf);
    if (r == 0)
        r = overlay_copy_publish (copy);
    if (r < 0)
        sync_name_remove (overlay_daemon (copy->act, OVERLAY_UPPER), overlay_work (copy->act),
                          copy->work_name, copy->made);
    return r;
}

static int
overlay_copy_now (xlator_t *this, inode_t *inode, inode_t *parent, char *name)
{
    struct overlay_act act;
    struct overlay_copy copy = { .act = &act, .inode = inode, .parent = parent, .name = name };
    int r;

    overlay_act_begin (&act, this, NULL, inode);
    r = overlay_copy_object (&copy);
    overlay_act_end (&act);
    g_free (copy.work_name);
    inode_unref (copy.made);
    return r;
}

/* Returns whether the caller has to copy: no other thread has done so. */
static bool
overlay_copy_begin (xlator_t *this, inode_t *inode)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_inode *ctx = overlay_inode_get (this, inode);
    bool mine;

    pthread_mutex_lock (&priv->lock);
    while (ctx->copying)
        thread_cond_wait (&priv->changed, &priv->lock);
    mine = ctx->copying = !realm_below (this, inode, OVERLAY_UPPER);
    pthread_mutex_unlock (&priv->lock);
    return mine;
}

static void
overlay_copy_end (xlator_t *this, inode_t *inode)
{
    overlay_private_t *priv = overlay_priv (this);

    pthread_mutex_lock (&priv->lock);
    overlay_inode_get (this, inode)->copying = false;
    thread_cond_broadcast (&priv->changed);
    pthread_mutex_unlock (&priv->lock);
}

int
overlay_copy_up (xlator_t *this, inode_t *inode)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    int r = 0;

    if (realm_below (this, inode, OVERLAY_UPPER))
        return 0;
    if (inode_a_name (inode, &parent, &name))
        r = overlay_copy_up (this, parent);
    if (r < 0 || !overlay_copy_begin (this, inode))
        return r;
    r = overlay_copy_now (this, inode, parent, name);
    overlay_copy_end (this, inode);
    return r;
}

/* --- calls that wait -------------------------------------------------------------------------- */

struct overlay_copy_task {
    struct work_item work;
    xlator_t *this;
    inode_t *inode; /* with a reference */
};

static void
overlay_copy_run (struct work_item *work)
{
    struct overlay_copy_task *task = (struct overlay_copy_task *) work;
    xlator_t *this = task->this;
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_inode *ctx = overlay_inode_get (this, task->inode);
    const int r = overlay_copy_up (this, task->inode);
    GQueue waiters = G_QUEUE_INIT;
    call_stub_t *stub;

    pthread_mutex_lock (&priv->lock);
    while ((stub = g_queue_pop_head (&ctx->waiters)))
        g_queue_push_tail (&waiters, stub);
    ctx->queued = false;
    pthread_mutex_unlock (&priv->lock);
    while ((stub = g_queue_pop_head (&waiters)))
        call_resume_or_fail (stub, r < 0 ? -r : 0);
    inode_unref (task->inode);
    g_free (task);
    overlay_task_end (this);
}

static void
overlay_copy_put (xlator_t *this, inode_t *inode)
{
    struct overlay_copy_task *task = g_new0 (struct overlay_copy_task, 1);

    task->work.run = overlay_copy_run;
    task->this = this;
    task->inode = inode_ref (inode);
    overlay_task_begin (this);
    work_put (&task->work);
}

void
overlay_copy_up_wait (const struct call *call, inode_t *inode)
{
    overlay_private_t *priv = overlay_priv (call->this);
    struct overlay_inode *ctx = overlay_inode_get (call->this, inode);
    call_stub_t *stub = call_keep (call);
    xlator_t *this = call->this;
    g_autoptr (inode_t) kept = inode_ref (inode);
    bool first;

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    pthread_mutex_lock (&priv->lock);
    g_queue_push_tail (&ctx->waiters, stub);
    first = !ctx->queued;
    ctx->queued = true;
    pthread_mutex_unlock (&priv->lock);
    if (first)
        overlay_copy_put (this, kept);
}
