/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries of the trash, from stages. For each name in a stage: the information file is made with
 * O_EXCL, written and synced, and then the name is renamed to files/. If the daemon ends in
 * between, the information file has no file beside it, and the next daemon takes it over, if it has
 * the name itself or one of the first numbers behind it. One with a random number stays without a
 * file: no command lists it, and `empty` of all removes it once it is an hour old.
 *
 * A sync of each file waits for the disk. So if there are many names, the information files of a
 * batch of them are made, then one sync of the file system does for all (batch_sync_once), and then
 * the names are renamed. The rule is the same: no file gets into files/ before its information file
 * is durable.
 */
#include "making.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY_TRIES 200    /* numbers that are tried behind a name */
#define ENTRY_IN_ORDER 100 /* of these, the first */

/* --- one entry -------------------------------------------------------------------------------- */

/* The owner of a directory may have taken his right to write in it away; without that right nobody
 * but root moves it to another directory. */
static int
entry_move (struct entries_making *making, inode_t *inode, const char *name, const char *to)
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
entry_is_there (struct entries_making *making, const char *to)
{
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;

    return sync_name_look (making->daemon, making->bin.files, to, &there, &buf) == 0;
}

/* An entry on its way. */
struct entry {
    const char *name; /* in the stage */
    inode_t *inode;   /* of the name; with a reference, as the next one */
    char *to, *info;  /* the names in files/ and info/ */
    inode_t *of_info; /* the information file, once it is made */
    fd_t *fd;         /* the same while it is not synced; with a reference */
    bool adopts;      /* a daemon that ended had made it */
};

static void
entry_drop_info (struct entry *entry)
{
    g_clear_pointer (&entry->to, g_free);
    g_clear_pointer (&entry->info, g_free);
    g_clear_pointer (&entry->of_info, inode_unref);
    g_clear_pointer (&entry->fd, fd_unref);
}

static void
entry_free (gpointer data)
{
    struct entry *entry = data;

    entry_drop_info (entry);
    inode_unref (entry->inode);
    g_free (entry);
}

/* Makes the information file with a number in its name. later: it is synced later. -EEXIST:
 * the name is taken. */
static int
entry_inform (struct entries_making *making, struct entry *entry, const char *text, unsigned number,
              bool later)
{
    int r;

    entry_drop_info (entry);
    entry->to = trash_entry_name (entry->name, number);
    entry->info = g_strconcat (entry->to, TRASH_INFO_SUFFIX, NULL);
    r = trash_info_make (making->this, making->owner, making->bin.info, entry->info, text,
                         later ? &entry->fd : NULL, &entry->of_info);
    entry->adopts = r == -EEXIST && making->stage->born == 0;
    if (entry->adopts)
        r = trash_info_adopt (making->this, making->work, making->owner, making->bin.info,
                              entry->info, text, making->bin.files, &entry->of_info);
    return r;
}

static void
entry_take_back (struct entries_making *making, struct entry *entry)
{
    sync_name_remove (making->owner, making->bin.info, entry->info, entry->of_info);
}

/* Renames the file, once its information file is synced. -EEXIST: another file has the name. */
static int
entry_finish (struct entries_making *making, struct entry *entry)
{
    const int r = entry_move (making, entry->inode, entry->name, entry->to);

    if (r < 0 && !((r == -ENOENT || entry->adopts) && entry_is_there (making, entry->to)))
        entry_take_back (making, entry);
    return r;
}

static bool
error_is_of_space (int r)
{
    return r == -ENOSPC || r == -EDQUOT;
}

/* Returns whether an error, or the end of the time, ends the work in a stage: other names would
 * fail, too. */
static bool
error_ends (int r)
{
    return r == -EAGAIN || r == -EINTR || error_is_of_space (r);
}

/* Returns whether no later try can do better. */
static bool
error_is_for_ever (int r)
{
    return r == -EXDEV || r == -ENAMETOOLONG;
}

/* Removes a name that can never become an entry. */
static int
entry_for_good (struct entries_making *making, const char *name, int r)
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
    struct entries_making *making;
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
entry_is_dropped (struct entries_making *making, inode_t *inode, const char *name)
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

/* Looks a name up that an entry is to be made of. Returns 0 with NULL if there is nothing to make:
 * an empty directory alone becomes no entry, as nothing is lost with it. *ret_text: what its
 * information file will say; g_free it. */
static int
entry_begin (struct entries_making *making, const char *name, struct entry **ret_entry,
             char **ret_text)
{
    struct trash_stage *stage = making->stage;
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = sync_name_look (making->daemon, stage->folder, name, &inode, &buf);

    *ret_entry = NULL;
    if (r == 0 && trash_is_dropped (making->this, &buf)
        && entry_is_dropped (making, inode, name))
        return 0;
    if (r < 0 || (buf.ia_type == IA_IFDIR
                  && sync_name_remove (making->daemon, stage->folder, name, inode) == 0))
        return r;
    *ret_entry = g_new0 (struct entry, 1);
    (*ret_entry)->name = name;
    (*ret_entry)->inode = g_steal_pointer (&inode);
    *ret_text = trash_record (stage, name, buf.ia_ctime);
    return 0;
}

/* The entry was made, or r is the reason why not. */
static int
entry_end (struct entries_making *making, const char *name, int r)
{
    if (r == 0)
        __atomic_add_fetch (&trash_priv (making->this)->made, 1, __ATOMIC_RELAXED);
    return error_is_for_ever (r) ? entry_for_good (making, name, r) : r;
}

/* Where the first numbers are taken, many entries have the name: a try of each would take long. */
static unsigned
entry_number (unsigned try)
{
    struct random_source source = { random_seed () };

    return try <= ENTRY_IN_ORDER ? try : try + (unsigned) random_below (&source, INT32_MAX);
}

/* Makes the entry of a name. With a batch, makes only the information file, and adds the entry to
 * the batch. */
static int
entry_of_name (struct entries_making *making, const char *name, GPtrArray *batch)
{
    struct entry *entry;
    g_autofree char *text = NULL;
    int r = entry_begin (making, name, &entry, &text);

    if (r < 0 || !entry)
        return r;
    r = -EEXIST;
    for (unsigned try = 1; r == -EEXIST && try <= ENTRY_TRIES; try++) {
        r = entry_inform (making, entry, text, entry_number (try), batch);
        if (r == 0 && !batch)
            r = entry_finish (making, entry);
    }
    if (r == 0 && batch) {
        g_ptr_array_add (batch, entry);
        return 0;
    }
    entry_free (entry);
    return entry_end (making, name, r);
}

/* Returns 0; -EINTR: the job was stopped; -EAGAIN: the time is over. */
static int
entry_is_due (struct entries_making *making)
{
    if (!trash_work_next (making->work))
        return -EINTR;
    return clock_now () < making->until ? 0 : -EAGAIN;
}

static int
entry_alone (struct entries_making *making, const char *name)
{
    const int r = entry_is_due (making);

    return r < 0 ? r : entry_of_name (making, name, NULL);
}

/* --- many entries ----------------------------------------------------------------------------- */

#define BATCH_MIN 16 /* names for which a sync of the file system, which may have others' data to
                      * write, is better than a sync of each file */
#define BATCH_MAX 64 /* entries of a batch, whose information files are open */
#define BATCH_SLOW G_GINT64_CONSTANT (1000000000)        /* nanoseconds that such a sync may take */
#define BATCH_ALONE (60 * G_GINT64_CONSTANT (1000000000)) /* nanoseconds for which none follows one
                                                           * that took longer, or was refused */

/* Whether one answer may speak for all files of a trash: one storage is below, and what it was told
 * to write is there by then. */
static bool
batch_is_possible (const xlator_t *this)
{
    const xlator_t *xl = FIRST_CHILD (this);

    while (xl->children && !xl->children->next && !xl->api->realms
           && !(xl->api->touches & TOUCHES_ANSWERS))
        xl = FIRST_CHILD (xl);
    return !xl->children && !xl->api->remote;
}

/* Returns how many of so many names make a batch: 1 if each information file is synced alone. */
static guint
batch_size (const struct entries_making *making, guint names)
{
    const trash_private_t *priv = trash_priv (making->this);

    if (names < BATCH_MIN || clock_now () < __atomic_load_n (&priv->sync_alone, __ATOMIC_RELAXED)
        || !batch_is_possible (making->this))
        return 1;
    return MIN (names, BATCH_MAX);
}

/* Syncs the file system of the information files. Returns whether that was done. */
static bool
batch_sync_once (struct entries_making *making, struct entry *entry)
{
    trash_private_t *priv = trash_priv (making->this);
    g_autoptr (dict_t) asked = dict_new ();
    const int64_t begin = clock_now ();
    struct fsync_reply reply;
    bool done;
    size_t size;

    dict_set_u64 (asked, XDATA_SYNC_ALL, 1);
    done = sync_fsync (making->owner, entry->fd, 0, asked, &reply) >= 0
        && dict_get (reply.xdata, XDATA_SYNC_ALL, &size) != NULL;
    fsync_reply_drop (&reply);
    if (!done || clock_now () - begin > BATCH_SLOW)
        __atomic_store_n (&priv->sync_alone, clock_now () + BATCH_ALONE, __ATOMIC_RELAXED);
    return done;
}

/* Syncs the information files of a batch. Those of which that fails are removed, and their entries
 * are taken out of the batch. Returns 0 or the last negative errno. */
static int
batch_sync (struct entries_making *making, GPtrArray *batch)
{
    bool done = false;
    int r = 0;

    for (guint i = 0; i < batch->len && !done; i++) {
        struct entry *entry = batch->pdata[i];

        if (entry->fd) /* what is adopted is synced */
            done = batch_sync_once (making, entry);
        if (entry->fd)
            break;
    }
    for (guint i = batch->len; i-- > 0 && !done;) {
        struct entry *entry = batch->pdata[i];
        const int one = entry->fd ? sync_fsync (making->owner, entry->fd, 0, NULL, NULL) : 0;

        if (one >= 0)
            continue;
        r = one;
        entry_take_back (making, entry);
        g_ptr_array_remove_index (batch, i);
    }
    return r;
}

/* Another file may have the name in files/: then the entry is made again, with another name. */
static int
batch_finish_one (struct entries_making *making, struct entry *entry)
{
    const int r = entry_finish (making, entry);

    return r == -EEXIST ? entry_of_name (making, entry->name, NULL)
                        : entry_end (making, entry->name, r);
}

static void
batch_note (int *failed, int r)
{
    if (r < 0 && r != -ENOENT && !error_ends (*failed))
        *failed = r;
}

/* Makes the information files for names, as long as files can be opened. Returns how many names
 * were dealt with. */
static guint
batch_begin (struct entries_making *making, GPtrArray *batch, char *const *names, guint count,
             int *failed)
{
    guint i;

    for (i = 0; i < count && !error_ends (*failed); i++) {
        int r = entry_is_due (making);

        if (r == 0)
            r = entry_of_name (making, names[i], batch);
        if (r == -EMFILE || r == -ENFILE)
            return i;
        batch_note (failed, r);
    }
    return i;
}

/* Makes the entries of `count` names. What could not be made stays in the stage. Returns 0, or the
 * negative errno of a name; of one that ends the work, if there was one. */
static int
batch_make (struct entries_making *making, char *const *names, guint count)
{
    g_autoptr (GPtrArray) batch = g_ptr_array_new_with_free_func (entry_free);
    int failed = 0;
    guint i = batch_begin (making, batch, names, count, &failed);

    batch_note (&failed, batch_sync (making, batch));
    for (guint made = 0; made < batch->len; made++)
        batch_note (&failed, batch_finish_one (making, batch->pdata[made]));
    g_ptr_array_set_size (batch, 0);
    for (; i < count && !error_ends (failed); i++)
        batch_note (&failed, entry_alone (making, names[i]));
    return failed;
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
names_order (struct entries_making *making, GPtrArray *names)
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
            staged[i].since = trash_nanoseconds (buf.ia_ctime, buf.ia_ctime_nsec);
    }
    qsort (staged, names->len, sizeof *staged, staged_compare);
    for (guint i = 0; i < names->len; i++)
        names->pdata[i] = staged[i].name;
}

/* Makes the entries of a stage, and removes its folder. What can't become an entry stays there, and
 * is tried again. */
static int
stage_empty (struct entries_making *making)
{
    struct trash_stage *stage = making->stage;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) user = NULL;
    g_autofree char *name = NULL;
    int r = sync_names_list (making->daemon, making->this->fd_maker, stage->folder, names);
    int failed = 0;

    if (r == 0 && names->len > 0)
        r = trash_bin_open (making);
    names_order (making, names);
    trash_work_progress (making->work, 0, names->len);
    for (guint i = 0, count; r == 0 && i < names->len && !error_ends (failed); i += count) {
        int one;

        count = batch_size (making, names->len - i);
        one = count > 1 ? batch_make (making, (char **) names->pdata + i, count)
                        : entry_alone (making, names->pdata[i]);
        if (one < 0 && one != -ENOENT)
            failed = one;
        if (!error_ends (one))
            trash_work_progress (making->work, count, 0);
    }
    if (r == 0 && !failed && inode_a_name (stage->folder, &user, &name))
        r = sync_name_remove (making->daemon, user, name, stage->folder);
    return r == 0 || r == -ENOENT ? failed : r;
}

int
trash_entries_of (xlator_t *this, struct trash_work *work, struct trash_stage *stage, int64_t until)
{
    struct entries_making making = { .this = this, .work = work, .daemon = work->client,
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
trash_entries_make (xlator_t *this, enum trash_quiet quiet, int64_t whose, int64_t until)
{
    struct trash_stage *stage;
    int r = 0;

    while (r != -EAGAIN && r != -EINTR && (stage = trash_stage_next (this, quiet, whose))) {
        r = trash_entries_of (this, &trash_priv (this)->entries.work, stage, until);
        if (r < 0 && quiet != TRASH_ALL)
            trash_stage_again (this, stage, r == -EAGAIN ? 0 : TRASH_OLDEST);
        trash_stage_done (this, stage);
    }
    return r == -EAGAIN;
}
