/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What windlass trash list, restore and empty share: the entries of a user, and those that were
 * asked for. */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INFO_MAX (64 << 10)     /* bytes of an information file that are read */
#define PATHS_MAX (256 << 20)   /* bytes of the paths of a trash; those of one text, as of a file
                                 * with many names, count once */
#define CONTENT_KEY "glusterfs.content" /* xdata of a lookup: storage/posix answers with the file */
#define WAIT_STEP 10000         /* microseconds between two looks at what is waited for */
#define SETTLE_STEPS 300        /* steps for which nothing becomes an entry, since a user goes on
                                 * removing, or storage is slow */
#define SETTLE_ROUNDS 1200      /* times that more entries are made: 500 ms each, at most */
#define NOTICE_STEPS 500        /* steps for which the kernel may take its time */

/* --- identities ------------------------------------------------------------------------------- */

/* Returns the top of the graph, or the child of a realm's boundary, if this volume alone is below
 * it; else this volume. */
static xlator_t *
entrance_of (xlator_t *this)
{
    xlator_t *top = this;

    if (xlator_is_one_of_several (this))
        return this;
    while (top->number > 0 && !top->parents->xlator->api->realms)
        top = top->parents->xlator;
    return top;
}

static void
client_become (struct client *client, const struct trash_order *order, uid_t uid)
{
    const gid_t no_group = trash_priv (order->this)->no_group;

    client->checked = false;
    client->pid = order->pid;
    if (geteuid () != 0)
        return;
    client->uid = uid;
    client->gid = uid == order->uid ? order->gid : uid == 0 ? 0 : no_group;
    client->ngroups = uid == order->uid ? order->ngroups : 0;
    client->groups = uid == order->uid ? order->groups : NULL;
}

/* inside: for the refuges of users, which are hidden from callers. */
static struct client *
client_of_user (struct visit *visit, uid_t uid, bool inside)
{
    xlator_t *this = visit->this;
    struct client *client = inside ? client_new_internal (this, FIRST_CHILD (this))
                                   : client_new (entrance_of (this));

    client_become (client, visit->order, uid);
    g_ptr_array_add (visit->clients, client);
    return client;
}

/* --- trashes ---------------------------------------------------------------------------------- */

static void
bin_seen_free (gpointer data)
{
    struct bin_seen *bin = data;

    inode_unref (bin->info);
    inode_unref (bin->files);
    g_free (bin);
}

/* Looks a user's own directory up. */
static inode_t *
folder_of (struct client *client, inode_t *directory, const char *name, uid_t uid)
{
    inode_t *inode = NULL;
    struct iatt buf;

    if (sync_name_look (client, directory, name, &inode, &buf) < 0)
        return NULL;
    if (buf.ia_type == IA_IFDIR && buf.ia_uid == uid)
        return inode;
    inode_unref (inode);
    return NULL;
}

static void
bin_add (struct visit *visit, inode_t *directory, const char *name, uid_t uid,
         struct client *client, struct client *outside)
{
    g_autoptr (inode_t) top = folder_of (client, directory, name, uid);
    inode_t *info = top ? folder_of (client, top, "info", uid) : NULL;
    inode_t *files = info ? folder_of (client, top, "files", uid) : NULL;
    struct bin_seen *bin;

    if (!files) {
        inode_unref (info);
        return;
    }
    bin = g_new (struct bin_seen, 1);
    *bin = (struct bin_seen){ uid, info, files, client, outside, 0 };
    g_ptr_array_add (visit->bins, bin);
}

/* A user may have three trashes. */
static void
bins_of_user (struct visit *visit, uid_t uid)
{
    struct client *outside = client_of_user (visit, uid, false);
    struct client *inside = client_of_user (visit, uid, true);
    g_autoptr (inode_t) shared = trash_shared (outside, visit->root);
    g_autoptr (inode_t) refuges = trash_refuges (inside, visit->root,
                                                trash_priv (visit->this)->top_name);
    g_autofree char *name = g_strdup_printf ("%u", uid);
    g_autofree char *own = g_strdup_printf (TRASH_OWN "%u", uid);

    if (shared)
        bin_add (visit, shared, name, uid, outside, outside);
    bin_add (visit, visit->root, own, uid, outside, outside);
    if (refuges)
        bin_add (visit, refuges, name, uid, inside, outside);
}

/* Adds the users of trashes in a directory to a set. In a directory that all may write, anybody can
 * make the name of each user's trash. */
static void
users_add (struct visit *visit, struct client *client, inode_t *directory, const char *prefix,
           GHashTable *users)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    guint64 uid;

    if (directory)
        sync_names_list (client, visit->this->fd_maker, directory, names);
    for (guint i = 0; i < names->len && job_next (visit->job); i++) {
        g_autoptr (inode_t) top = NULL;

        if (g_str_has_prefix (names->pdata[i], prefix)
            && g_ascii_string_to_unsigned ((char *) names->pdata[i] + strlen (prefix), 10, 0,
                                           G_MAXUINT32 - 1, &uid, NULL))
            top = folder_of (client, directory, names->pdata[i], (uid_t) uid);
        if (top)
            g_hash_table_add (users, GUINT_TO_POINTER ((guint) uid));
    }
}

/* Root alone asks for all. */
static void
bins_of_all (struct visit *visit)
{
    struct client *client = client_of_user (visit, visit->order->uid, true);
    g_autoptr (inode_t) shared = trash_shared (client, visit->root);
    g_autoptr (inode_t) refuges = trash_refuges (client, visit->root,
                                                trash_priv (visit->this)->top_name);
    g_autoptr (GHashTable) users = g_hash_table_new (NULL, NULL);
    GHashTableIter at;
    gpointer uid;

    users_add (visit, client, visit->root, TRASH_OWN, users);
    users_add (visit, client, shared, "", users);
    users_add (visit, client, refuges, "", users);
    g_hash_table_iter_init (&at, users);
    while (g_hash_table_iter_next (&at, &uid, NULL))
        bins_of_user (visit, GPOINTER_TO_UINT (uid));
}

/* --- waiting for a line ----------------------------------------------------------------------- */

/* Shared by the visit and the line. */
struct awaited {
    struct trash_task task; /* first */
    int64_t whose;
    int refs;  /* atomic */
    bool done; /* atomic */
};

static void
awaited_unref (struct awaited *awaited)
{
    if (__atomic_sub_fetch (&awaited->refs, 1, __ATOMIC_ACQ_REL) == 0)
        g_free (awaited);
}

static void
awaited_run (xlator_t *this, struct trash_task *task)
{
    struct awaited *awaited = (struct awaited *) task;

    __atomic_store_n (&awaited->done, true, __ATOMIC_RELEASE);
    awaited_unref (awaited);
}

static void
settling_run (xlator_t *this, struct trash_task *task)
{
    const int64_t whose = ((struct awaited *) task)->whose;

    trash_entries_make (this, TRASH_ASKED, whose, clock_now () + TRASH_SLICE);
    awaited_run (this, task);
}

/* Waits without a request of its own, so that a hold goes on meanwhile. */
static int
visit_wait (struct visit *visit, unsigned *steps)
{
    ++*steps;
    g_usleep (WAIT_STEP);
    return job_next (visit->job) ? 0 : -EINTR;
}

/* Has a task run in a line, and waits for it, for some steps at most. user: as in a task. */
static int
line_await (struct visit *visit, struct trash_line *line,
            void (*run) (xlator_t *this, struct trash_task *task), int64_t user, unsigned *steps,
            unsigned most)
{
    struct awaited *awaited = g_new0 (struct awaited, 1);
    int r = 0;

    awaited->task = (struct trash_task){ run, .background = true, .user = user };
    awaited->whose = visit->order->whose;
    awaited->refs = 2;
    trash_line_add (line, &awaited->task);
    while (r == 0 && !__atomic_load_n (&awaited->done, __ATOMIC_ACQUIRE) && *steps < most)
        r = visit_wait (visit, steps);
    awaited_unref (awaited);
    return r;
}

/* A user who has just removed something asks for it. What others remove, or can't have made into
 * entries, is not waited for. */
static int
visit_settle (struct visit *visit)
{
    trash_private_t *priv = trash_priv (visit->this);
    const int64_t whose = visit->order->whose, user = 1 + (int64_t) visit->order->uid;
    const uint64_t first = __atomic_load_n (&priv->made, __ATOMIC_RELAXED);
    uint64_t made = first, before;
    unsigned steps = 0, rounds = 0;
    int r = 0;

    while (r == 0 && trash_stages_wait (visit->this, whose) && steps < SETTLE_STEPS) {
        before = made;
        made = __atomic_load_n (&priv->made, __ATOMIC_RELAXED);
        if (made != before && ++rounds < SETTLE_ROUNDS)
            steps = 0;
        job_progress (visit->job, made - first, 0);
        r = line_await (visit, &priv->entries, settling_run, user, &steps, SETTLE_STEPS);
        if (r == 0 && trash_stages_wait (visit->this, whose))
            r = visit_wait (visit, &steps);
    }
    visit->unsettled = trash_stages_wait (visit->this, whose);
    return r;
}

void
visit_wait_noticed (struct visit *visit)
{
    unsigned steps = 0;

    line_await (visit, &trash_priv (visit->this)->notices, awaited_run, 0, &steps, NOTICE_STEPS);
}

/* --- entries ---------------------------------------------------------------------------------- */

static void
entry_seen_free (gpointer data)
{
    struct entry_seen *entry = data;

    g_free (entry->name);
    g_free (entry->part);
    g_free (entry);
}

/* Returns a path that lives as long as the visit; takes over text, which may be NULL. Entries of
 * one text share it: a user may have made thousands of names of one information file. bin: which
 * it counts for, or NULL. */
static const char *
path_keep (const struct visit *visit, char *text, struct bin_seen *bin)
{
    const char *known = text ? g_hash_table_lookup (visit->paths, text) : NULL;

    if (!text || known) {
        g_free (text);
        return known;
    }
    if (bin)
        bin->paths += strlen (text);
    g_hash_table_add (visit->paths, text);
    return text;
}

/* Reads a file whose content did not come with its lookup. */
static char *
info_read (struct visit *visit, const struct bin_seen *bin, inode_t *inode)
{
    g_autoptr (fd_t) fd = NULL;
    GString *text = g_string_new (NULL);
    struct readv_reply reply;

    if (sync_name_open (bin->client, visit->this->fd_maker, inode, O_RDONLY, &fd) == 0) {
        if (sync_readv (bin->client, fd, INFO_MAX, 0, 0, NULL, &reply) > 0)
            for (int i = 0; i < reply.count; i++)
                g_string_append_len (text, reply.vector[i].iov_base,
                                     (gssize) reply.vector[i].iov_len);
        readv_reply_drop (&reply);
    }
    return g_string_free (text, FALSE);
}

/* Looks an information file up, with its content if that can be had. */
static int
info_look (struct visit *visit, const struct bin_seen *bin, const char *name, inode_t **ret_inode,
           struct iatt *ret_buf, char **ret_text)
{
    g_autoptr (inode_t) fresh = inode_new (bin->info->table);
    g_autoptr (dict_t) wanted = dict_new ();
    loc_t loc = { .name = name, .parent = bin->info, .inode = fresh };
    const uint64_t asked = names_now ();
    struct lookup_reply reply;
    const void *text;
    size_t size;
    int r;

    dict_set_u64 (wanted, CONTENT_KEY, INFO_MAX);
    r = error_or_0 (sync_lookup (bin->client, &loc, wanted, &reply));
    if (r == 0) {
        *ret_inode = inode_link_asked (reply.inode, bin->info, name, &reply.buf, asked);
        *ret_buf = reply.buf;
        text = dict_get (reply.xdata, CONTENT_KEY, &size);
        *ret_text = text ? g_strndup (text, size) : NULL;
    }
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r;
}

static void
visit_add_entry (struct visit *visit, struct bin_seen *bin, const char *info)
{
    g_autofree char *text = NULL;
    g_autoptr (inode_t) inode = NULL;
    struct entry_seen *entry;
    struct iatt buf;

    if (!g_str_has_suffix (info, TRASH_INFO_SUFFIX) || !info[strlen (TRASH_INFO_SUFFIX)]
        || info_look (visit, bin, info, &inode, &buf, &text) < 0)
        return;
    if (buf.ia_type == IA_IFREG && !text)
        text = info_read (visit, bin, inode);
    entry = g_new0 (struct entry_seen, 1);
    entry->bin = bin;
    trash_info_note (&entry->info, &buf);
    entry->name = g_strndup (info, strlen (info) - strlen (TRASH_INFO_SUFFIX));
    entry->path = path_keep (visit, trash_record_read (text ? text : "", buf.ia_mtime,
                                                       &entry->when), bin);
    g_ptr_array_add (visit->entries, entry);
}

/* By path, then the newest first. */
static gint
entries_compare (gconstpointer a, gconstpointer b)
{
    const struct entry_seen *one = *(struct entry_seen *const *) a;
    const struct entry_seen *other = *(struct entry_seen *const *) b;
    const int by_path = g_strcmp0 (one->path, other->path);
    int by_age;

    if (!one->path != !other->path)
        return one->path ? -1 : 1;
    if (by_path != 0)
        return by_path;
    if (one->when != other->when)
        return one->when < other->when ? 1 : -1;
    by_age = trash_info_age (&other->info, &one->info);
    return by_age != 0 ? by_age : strcmp (one->name, other->name);
}

/* Leaving entries out would have an older one restored than the newest of a path. */
static int
bin_check (struct visit *visit, const struct bin_seen *bin)
{
    if (bin->paths <= PATHS_MAX)
        return 0;
    job_refuse (visit->job, "the former paths in a trash of user %u have more than %d MiB: remove "
                "information files with long paths from its folder 'info' first", bin->uid,
                PATHS_MAX >> 20);
    return -EFBIG;
}

static int
visit_read (struct visit *visit)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r = 0;

    for (guint i = 0; r == 0 && i < visit->bins->len; i++) {
        struct bin_seen *bin = visit->bins->pdata[i];

        g_ptr_array_set_size (names, 0);
        sync_names_list (bin->client, visit->this->fd_maker, bin->info, names);
        for (guint j = 0; r == 0 && j < names->len; j++) {
            if (!job_next (visit->job))
                return -EINTR;
            visit_add_entry (visit, bin, names->pdata[j]);
            r = bin_check (visit, bin);
        }
    }
    g_ptr_array_sort (visit->entries, entries_compare);
    return r;
}

int
visit_begin (struct visit *visit, struct trash_order *order, struct job *job)
{
    int r;

    *visit = (struct visit){ .order = order, .this = order->this, .job = job };
    visit->root = __atomic_load_n (&trash_priv (order->this)->root, __ATOMIC_ACQUIRE);
    visit->clients = g_ptr_array_new_with_free_func ((GDestroyNotify) client_free);
    visit->bins = g_ptr_array_new_with_free_func (bin_seen_free);
    visit->entries = g_ptr_array_new_with_free_func (entry_seen_free);
    visit->parts = g_ptr_array_new_with_free_func (entry_seen_free);
    visit->chosen = g_ptr_array_new ();
    visit->paths = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    r = visit->root ? visit_settle (visit) : -EAGAIN;
    if (r < 0)
        return r;
    if (order->whose == ALL_USERS)
        bins_of_all (visit);
    else
        bins_of_user (visit, (uid_t) order->whose);
    return job_must_stop (job) ? -EINTR : visit_read (visit);
}

int
visit_end (struct visit *visit, int r)
{
    g_ptr_array_unref (visit->chosen);
    g_ptr_array_unref (visit->parts);
    g_ptr_array_unref (visit->entries);
    g_hash_table_unref (visit->paths);
    g_ptr_array_unref (visit->bins);
    g_ptr_array_unref (visit->clients);
    if (r < 0 || !visit->unsettled)
        return r;
    job_refuse (visit->job, "what was removed last is not among the entries yet; they are made in "
                "the background: ask again in a moment");
    return -EAGAIN;
}

int
visit_look (const struct entry_seen *entry, inode_t **ret_inode, struct iatt *ret_buf)
{
    return sync_name_look (entry->bin->client, entry->bin->files, entry->name, ret_inode, ret_buf);
}

/* --- parts of entries ------------------------------------------------------------------------- */

int
visit_find (const struct entry_seen *entry, inode_t **ret_directory, const char **ret_name,
            inode_t **ret_inode, struct iatt *ret_buf)
{
    inode_t *at = inode_ref (entry->bin->files);
    g_autoptr (inode_t) inode = NULL;
    const char *name = entry->name, *rest = entry->part;
    int r = sync_name_look (entry->bin->client, at, name, &inode, ret_buf);

    for (; r == 0 && rest; rest = strchr (rest, '/')) {
        const char *const word = rest += *rest == '/';
        g_autofree char *one = g_strndup (word, strcspn (word, "/"));

        inode_unref (at);
        at = g_steal_pointer (&inode);
        name = word;
        r = ret_buf->ia_type == IA_IFDIR
                ? sync_name_look (entry->bin->client, at, one, &inode, ret_buf) : -ENOTDIR;
    }
    if (r == 0) {
        *ret_directory = g_steal_pointer (&at);
        *ret_inode = g_steal_pointer (&inode);
        *ret_name = name;
    }
    inode_unref (at);
    return r;
}

struct entry_seen *
visit_part (const struct visit *visit, const struct entry_seen *entry, const char *part)
{
    struct entry_seen *one = g_new (struct entry_seen, 1);
    g_autoptr (inode_t) directory = NULL, inode = NULL;
    const char *name;
    struct iatt buf;

    *one = *entry;
    one->name = g_strdup (entry->name);
    one->part = g_strdup (part);
    if (visit_find (one, &directory, &name, &inode, &buf) == 0) {
        one->path = path_keep (visit, g_build_filename (entry->path, part, NULL), NULL);
        return one;
    }
    entry_seen_free (one);
    return NULL;
}
