/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of the trash, from stages. For each name in a stage: the information file is made with
 * O_EXCL, written and synced, and then the name is renamed to files/. If the daemon ends in
 * between, the information file has no file beside it, and the next daemon takes it over.
 */
#include "../trash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY_TRIES 10000 /* numbers that are tried behind a name */

/* The trash of a user: the folders that entries are made in. */
struct bin {
    struct trash_who who;
    inode_t *info, *files; /* with references */
};

struct making {
    xlator_t *this;
    struct trash_work *work;
    struct client *daemon; /* of work */
    struct client *owner;  /* acts as the user */
    struct bin bin;
    struct trash_stage *stage;
    int64_t until; /* clock_now when the work ends */
};

/* --- callers who know the trash --------------------------------------------------------------- */

struct notice {
    struct trash_task task;
    inode_t *directory; /* with a reference */
    GPtrArray *names;   /* texts, to be freed */
};

static void
notice_send (xlator_t *this, struct trash_task *task)
{
    struct notice *notice = (struct notice *) task;
    struct invalidation changed = { .inode = notice->directory,
                                    .what = INVALIDATE_NAMES | INVALIDATE_ATTRIBUTES };
    trash_private_t *priv = this->private;
    bool ending = false;

    for (guint i = 0; i < notice->names->len && !ending; i++) {
        pthread_mutex_lock (&priv->lock);
        ending = priv->ending;
        pthread_mutex_unlock (&priv->lock);
        changed.name = notice->names->pdata[i];
        if (!ending)
            xlator_pass_on (this, XLATOR_INVALIDATE, &changed);
    }
    inode_unref (notice->directory);
    g_ptr_array_unref (notice->names);
    g_free (notice);
}

void
trash_notices (xlator_t *this, inode_t *directory, GPtrArray *names)
{
    struct notice *notice = g_new (struct notice, 1);

    *notice = (struct notice){ { notice_send, .background = true }, inode_ref (directory), names };
    trash_line_add (&trash_priv (this)->notices, &notice->task);
}

void
trash_notice (xlator_t *this, inode_t *directory, const char *name)
{
    GPtrArray *names;

    if (inode_is_unkept (directory))
        return;
    names = g_ptr_array_new_with_free_func (g_free);
    g_ptr_array_add (names, g_strdup (name));
    trash_notices (this, directory, names);
}

/* --- the folders of a trash ------------------------------------------------------------------- */

/* Returns whether a folder can be one of the user's trash: his own directory, in which he may make
 * names. Another's, or a link, could lead anywhere. */
static bool
bin_is_usable (const struct iatt *buf, uid_t uid)
{
    const uint32_t needs = uid == 0 ? 0 : S_IWUSR | S_IXUSR;

    return buf->ia_type == IA_IFDIR && buf->ia_uid == uid && (buf->ia_prot & needs) == needs;
}

/* Looks a folder up, and makes it if it isn't there. -EACCES: what is there can't be used. */
static int
bin_folder (struct making *making, struct client *as, inode_t *directory, const char *name,
            inode_t **ret_inode)
{
    struct iatt buf;
    int r = sync_name_look (making->daemon, directory, name, ret_inode, &buf);

    if (r == -ENOENT) {
        r = trash_folder_make (as, directory, name, 0700, &making->bin.who, ret_inode);
        if (r == 0)
            trash_notice (making->this, directory, name);
        if (r != -EEXIST)
            return r;
        r = sync_name_look (making->daemon, directory, name, ret_inode, &buf);
    }
    if (r == 0 && !bin_is_usable (&buf, making->bin.who.uid)) {
        g_clear_pointer (ret_inode, inode_unref);
        r = -EACCES;
    }
    return r;
}

/* Another user's could be renamed, with all trashes in it. */
inode_t *
trash_shared (struct client *client, inode_t *root)
{
    inode_t *inode = NULL;
    struct iatt buf, above;

    if (sync_name_look (client, root, TRASH_SHARED, &inode, &buf) < 0)
        return NULL;
    if (buf.ia_type == IA_IFDIR && buf.ia_prot & S_ISVTX
        && (buf.ia_uid == 0 || buf.ia_uid == geteuid ()
            || (sync_name_stat (client, root, &above) == 0 && buf.ia_uid == above.ia_uid)))
        return inode;
    inode_unref (inode);
    return NULL;
}

/* Looks up a folder that only daemons change. */
static int
folder_of_daemons (struct client *client, inode_t *directory, const char *name,
                   inode_t **ret_inode)
{
    struct iatt buf;
    int r = sync_name_look (client, directory, name, ret_inode, &buf);

    if (r == 0 && !trash_folder_is_own (&buf, geteuid ())) {
        g_clear_pointer (ret_inode, inode_unref);
        r = -EACCES;
    }
    return r;
}

inode_t *
trash_refuges (struct client *client, inode_t *root, const char *name)
{
    g_autoptr (inode_t) top = NULL;
    inode_t *refuges = NULL;

    if (folder_of_daemons (client, root, name, &top) == 0)
        folder_of_daemons (client, top, TRASH_REFUGES, &refuges);
    return refuges;
}

static int
bin_refuges (struct making *making, inode_t *root, inode_t **ret_inode)
{
    g_autoptr (inode_t) top = NULL;
    const char *name = trash_priv (making->this)->top_name;
    int r = folder_of_daemons (making->daemon, root, name, &top);

    if (r == 0)
        r = trash_folder_make (making->daemon, top, TRASH_REFUGES, 0711, NULL, ret_inode);
    return r == -EEXIST ? folder_of_daemons (making->daemon, top, TRASH_REFUGES, ret_inode) : r;
}

/* Opens the trash `name` in a directory: its folders. */
static int
bin_open_in (struct making *making, inode_t *directory, const char *name)
{
    g_autoptr (inode_t) top = NULL;
    int r = bin_folder (making, making->daemon, directory, name, &top);

    if (r == 0)
        r = bin_folder (making, making->owner, top, "info", &making->bin.info);
    if (r == 0)
        r = bin_folder (making, making->owner, top, "files", &making->bin.files);
    if (r < 0)
        g_clear_pointer (&making->bin.info, inode_unref);
    return r;
}

static void
bin_tell_refuge (struct making *making, const char *own)
{
    trash_private_t *priv = trash_priv (making->this);

    if (!__atomic_exchange_n (&priv->refuge_is_told, true, __ATOMIC_RELAXED))
        gf_log (making->this, GF_LOG_WARNING,
                "'/%s' can't be the trash of user %u, as it, or 'info' or 'files' in it, is not a "
                "directory of that user, or he may not write in it; what he removes goes to a "
                "place that only 'windlass trash' shows",
                own, making->bin.who.uid);
}

/* As the specification has it: a user's folder in /.Trash; else /.Trash-UID. If something else has
 * these names, no program would look for his entries anywhere. They then go to his refuge. */
static int
bin_open (struct making *making)
{
    inode_t *root = itable_root (making->stage->folder->table);
    g_autoptr (inode_t) shared = trash_shared (making->daemon, root), refuges = NULL;
    g_autofree char *name = g_strdup_printf ("%u", making->bin.who.uid);
    g_autofree char *own = g_strdup_printf (TRASH_OWN "%u", making->bin.who.uid);
    int r = shared ? bin_open_in (making, shared, name) : -ENOENT;

    if (r < 0)
        r = bin_open_in (making, root, own);
    if (r != -EACCES && r != -EEXIST && r != -ENOTDIR)
        return r;
    bin_tell_refuge (making, own);
    r = bin_refuges (making, root, &refuges);
    return r == 0 ? bin_open_in (making, refuges, name) : r;
}

/* --- one entry -------------------------------------------------------------------------------- */

/* The owner of a directory may have taken his right to write in it away; without that right nobody
 * but root moves it to another directory. */
static int
entry_move (struct making *making, inode_t *inode, const char *name, const char *to)
{
    struct trash_stage *stage = making->stage;
    const uint32_t flags = trash_rename_flags (making->this);
    g_autoptr (inode_t) other = NULL;
    struct iatt buf;
    int r;

    if (flags == 0
        && sync_name_look (making->daemon, making->bin.files, to, &other, &buf) != -ENOENT)
        return -EEXIST;
    r = sync_name_rename (making->daemon, inode, stage->folder, name, making->bin.files, to, flags);
    if (r != -EACCES)
        return r;
    trash_folder_stat (making->daemon, inode, &buf);
    if (!trash_folder_permit (making->daemon, inode, &buf, S_IWUSR | S_IXUSR))
        return r;
    r = sync_name_rename (making->daemon, inode, stage->folder, name, making->bin.files, to, flags);
    trash_folder_permit (making->daemon, inode, &buf, 0);
    return r;
}

/* Another daemon may have taken the stage for left behind, and the information file over with it:
 * then the file has gone there. Or this one has taken a file over that another daemon needed. */
static bool
entry_is_there (struct making *making, const char *to)
{
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;

    return sync_name_look (making->daemon, making->bin.files, to, &there, &buf) == 0;
}

static int
entry_try (struct making *making, inode_t *inode, const char *name, const char *text, unsigned try)
{
    g_autofree char *to = trash_entry_name (name, try);
    g_autofree char *info = g_strconcat (to, TRASH_INFO_SUFFIX, NULL);
    g_autoptr (inode_t) of_info = NULL;
    int r = trash_info_make (making->this, making->owner, making->bin.info, info, text, &of_info);
    const bool adopts = r == -EEXIST && making->stage->born == 0;

    if (adopts)
        r = trash_info_adopt (making->this, making->owner, making->bin.info, info, text,
                              making->bin.files, &of_info);
    if (r < 0)
        return r;
    r = entry_move (making, inode, name, to);
    if (r < 0 && !((r == -ENOENT || adopts) && entry_is_there (making, to)))
        sync_name_remove (making->owner, making->bin.info, info, of_info);
    return r;
}

static bool
error_is_of_space (int r)
{
    return r == -ENOSPC || r == -EDQUOT;
}

/* Returns whether no later try can do better. */
static bool
error_is_for_ever (int r)
{
    return r == -EXDEV || r == -ENAMETOOLONG;
}

/* Removes a name that can never become an entry. */
static int
entry_for_good (struct making *making, const char *name, int r)
{
    const int removed = sync_name_remove_tree (making->daemon, making->this->fd_maker,
                                               making->stage->folder, name);

    if (removed == 0)
        trash_count_for_good (making->this, -r, name);
    return removed;
}

/* A question for the line `maker`, which alone drops names for their links. */
struct drop_question {
    struct trash_task task;
    struct making *making;
    inode_t *inode;
    const char *name;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool answered; /* lock */
};

static void
drop_answer (xlator_t *this, struct trash_task *task)
{
    struct drop_question *question = (struct drop_question *) task;

    trash_drop_again (this, question->making->stage->folder, question->name, question->inode);
    pthread_mutex_lock (&question->lock);
    question->answered = true;
    thread_cond_broadcast (&question->changed);
    pthread_mutex_unlock (&question->lock);
}

/* A daemon that was killed may have left names that it would have dropped, and an open file may
 * have got another name since it was removed. Returns whether the name is gone now. Not called in
 * the line `maker`. */
static bool
entry_is_dropped (struct making *making, inode_t *inode, const char *name)
{
    struct drop_question question = { .task = { .run = drop_answer }, .making = making,
                                      .inode = inode, .name = name };
    g_autoptr (inode_t) left = NULL;
    struct iatt buf;

    pthread_mutex_init (&question.lock, NULL);
    thread_cond_init (&question.changed);
    trash_line_add (&trash_priv (making->this)->maker, &question.task);
    pthread_mutex_lock (&question.lock);
    while (!question.answered)
        thread_cond_wait (&question.changed, &question.lock);
    pthread_mutex_unlock (&question.lock);
    pthread_cond_destroy (&question.changed);
    pthread_mutex_destroy (&question.lock);
    return sync_name_look (making->daemon, making->stage->folder, name, &left, &buf) == -ENOENT;
}

/* Makes the entry of a name. An empty directory alone becomes none: nothing is lost with it. */
static int
entry_of_name (struct making *making, const char *name)
{
    struct trash_stage *stage = making->stage;
    g_autoptr (inode_t) inode = NULL;
    g_autofree char *text = NULL;
    struct iatt buf;
    int r = sync_name_look (making->daemon, stage->folder, name, &inode, &buf);

    if (r == 0 && trash_is_dropped (making->this, &buf)
        && entry_is_dropped (making, inode, name))
        return 0;
    if (r < 0 || (buf.ia_type == IA_IFDIR
                  && sync_name_remove (making->daemon, stage->folder, name, inode) == 0))
        return r;
    text = trash_record (stage, name, buf.ia_ctime);
    r = -EEXIST;
    for (unsigned try = 1; r == -EEXIST && try < ENTRY_TRIES; try++)
        r = entry_try (making, inode, name, text, try);
    if (r == 0)
        __atomic_add_fetch (&trash_priv (making->this)->made, 1, __ATOMIC_RELAXED);
    else if (error_is_for_ever (r))
        r = entry_for_good (making, name, r);
    return r;
}

/* --- one stage -------------------------------------------------------------------------------- */

struct client *
trash_owner_new (xlator_t *this, const struct client *daemon, const struct trash_who *who)
{
    struct client *client = client_new_internal (this, FIRST_CHILD (this));

    client->checked = true;
    if (daemon->uid == 0) {
        client->uid = who->uid;
        client->gid = who->gid;
    }
    return client;
}

static int
entry_in_time (struct making *making, const char *name)
{
    if (!trash_work_next (making->work))
        return -EINTR;
    return clock_now () < making->until ? entry_of_name (making, name) : -EAGAIN;
}

#define ORDERED_NAMES 1000 /* of more names, which cost a lookup each, the order does not count */

struct staged {
    char *name;
    int64_t since; /* when it was removed: nanoseconds since 1970 */
};

static int
staged_compare (const void *a, const void *b)
{
    const struct staged *one = a, *other = b;

    return (one->since > other->since) - (one->since < other->since);
}

/* Puts the oldest first: its information file is the oldest then, too. */
static void
names_order (struct making *making, GPtrArray *names)
{
    g_autofree struct staged *staged = NULL;

    if (names->len < 2 || names->len > ORDERED_NAMES)
        return;
    staged = g_new0 (struct staged, names->len);
    for (guint i = 0; i < names->len; i++) {
        g_autoptr (inode_t) inode = NULL;
        struct iatt buf;

        staged[i].name = names->pdata[i];
        if (sync_name_look (making->daemon, making->stage->folder, names->pdata[i], &inode, &buf)
            == 0)
            staged[i].since = buf.ia_ctime * 1000000000 + buf.ia_ctime_nsec;
    }
    qsort (staged, names->len, sizeof *staged, staged_compare);
    for (guint i = 0; i < names->len; i++)
        names->pdata[i] = staged[i].name;
}

/* Makes the entries of a stage, and removes its folder. What can't become an entry stays there, and
 * is tried again. */
static int
stage_empty (struct making *making)
{
    struct trash_stage *stage = making->stage;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) user = NULL;
    g_autofree char *name = NULL;
    int r = sync_names_list (making->daemon, making->this->fd_maker, stage->folder, names);
    int failed = 0;

    if (r == 0 && names->len > 0)
        r = bin_open (making);
    names_order (making, names);
    trash_work_progress (making->work, 0, names->len);
    for (guint i = 0; r == 0 && i < names->len; i++) {
        int one = entry_in_time (making, names->pdata[i]);

        if (one < 0 && one != -ENOENT)
            failed = one;
        if (one == -EAGAIN || one == -EINTR || error_is_of_space (one))
            break; /* the others would fail, too */
        trash_work_progress (making->work, 1, 0);
    }
    if (r == 0 && !failed && inode_a_name (stage->folder, &user, &name))
        r = sync_name_remove (making->daemon, user, name, stage->folder);
    return r == 0 || r == -ENOENT ? failed : r;
}

int
trash_entries_of (xlator_t *this, struct trash_work *work, struct trash_stage *stage, int64_t until)
{
    struct making making = { .this = this, .work = work, .daemon = work->client,
                             .stage = stage, .until = until, .bin = { .who = stage->who } };
    int r;

    making.owner = trash_owner_new (this, making.daemon, &stage->who);
    r = stage_empty (&making);
    if (r < 0 && r != -EAGAIN && r != -EINTR && stage->not_before == 0)
        gf_log (this, GF_LOG_WARNING,
                "what was removed from '%s' stays in '/%s', since it can't go to the trash of user "
                "%u: %s",
                stage->path, trash_priv (this)->top_name, stage->who.uid, g_strerror (-r));
    inode_unref (making.bin.info);
    inode_unref (making.bin.files);
    client_free (making.owner);
    return r;
}

bool
trash_entries_make (xlator_t *this, enum trash_quiet quiet, int64_t until)
{
    struct trash_stage *stage;
    int r = 0;

    while (r != -EAGAIN && r != -EINTR && (stage = trash_stage_next (this, quiet))) {
        r = trash_entries_of (this, &trash_priv (this)->entries.work, stage, until);
        if (r < 0 && quiet != TRASH_ALL)
            trash_stage_again (this, stage, r == -EAGAIN ? 0 : TRASH_OLDEST);
        trash_stage_done (this, stage);
    }
    return r == -EAGAIN;
}
