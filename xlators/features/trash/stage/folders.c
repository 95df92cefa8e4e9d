/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The folders of stages, made when they are needed, and removed at the end. All of it runs in the
 * line `maker`, or when that has nothing to do any more. */
#include "../trash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_ACL "system.posix_acl_default"
#define INSTANCE_TRIES 5   /* instances that are made, if other daemons take them for left behind */
#define FOLDER_TRIES 4     /* times that a folder is made, if another daemon removes those above */
#define LINKS_TRIES 100    /* tries for the lock of links, a millisecond apart */

/* --- making ----------------------------------------------------------------------------------- */

/* The mode is set again, since a default ACL may have changed it. inherits: the folder keeps what
 * such a list has given it. */
static int
folder_own (struct client *client, inode_t *inode, mode_t mode, const struct trash_who *owner,
            bool inherits)
{
    loc_t loc = { .inode = inode };
    struct iatt to = { .ia_prot = mode };
    uint32_t valid = IATT_MODE;
    int r;

    if (owner && client->uid == 0) {
        to.ia_uid = owner->uid;
        to.ia_gid = owner->gid;
        valid |= IATT_UID | IATT_GID;
    }
    if (!inherits)
        sync_removexattr (client, &loc, DEFAULT_ACL, NULL, NULL); /* fails if there is none */
    r = sync_setattr (client, &loc, &to, valid, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static int
folder_make_own (struct client *client, inode_t *directory, const char *name, mode_t mode,
                 const struct trash_who *owner, bool inherits, inode_t **ret_inode)
{
    inode_t *inode = NULL;
    int r = sync_name_mkdir (client, directory, name, mode, &inode);

    if (r < 0)
        return r;
    r = folder_own (client, inode, mode, owner, inherits);
    if (r == 0) {
        *ret_inode = inode;
        return 0;
    }
    sync_name_remove (client, directory, name, inode);
    inode_unref (inode);
    return r;
}

int
trash_folder_make (struct client *client, inode_t *directory, const char *name, mode_t mode,
                   const struct trash_who *owner, inode_t **ret_inode)
{
    return folder_make_own (client, directory, name, mode, owner, false, ret_inode);
}

int
trash_folder_like (struct client *client, inode_t *directory, const char *name,
                   const struct iatt *like, inode_t **ret_inode)
{
    const struct trash_who owner = { .uid = like->ia_uid, .gid = like->ia_gid };

    return folder_make_own (client, directory, name, like->ia_prot & 01777, &owner, true,
                            ret_inode);
}

bool
trash_folder_is_own (const struct iatt *buf, uid_t owner)
{
    return buf->ia_type == IA_IFDIR && buf->ia_uid == owner
        && (buf->ia_prot & (S_IWGRP | S_IWOTH)) == 0;
}

bool
trash_name_is_top (const char *name)
{
    const size_t length = strlen (TRASH_STAGES);

    if (strncmp (name, TRASH_STAGES, length) != 0)
        return false;
    name += length;
    return !*name
        || (*name == '-' && name[1] && strspn (name + 1, "0123456789") == strlen (name + 1));
}

int
trash_top_is_taken (xlator_t *this)
{
    trash_private_t *priv = this->private;

    if (!__atomic_exchange_n (&priv->top_is_told, true, __ATOMIC_RELAXED))
        gf_log (this, GF_LOG_WARNING,
                "'/%s' is not used, so what is removed is removed for good: it must be a directory "
                "of user %u in which no other user may write; remove it, or give it to that user",
                priv->top_name, geteuid ());
    return -EACCES;
}

/* Another daemon over the same storage may make the folder, or remove it: then the count is wrong
 * until this one looks. */
void
trash_top_is_there (xlator_t *this, bool is_there)
{
    trash_private_t *priv = this->private;

    if (__atomic_exchange_n (&priv->top_is_there, is_there, __ATOMIC_RELAXED) != is_there)
        trash_notice (this, priv->root, priv->top_name);
}

/* Some file systems do not count the folders of a directory: then it has one link. */
void
trash_uncount (xlator_t *this, struct iatt *buf)
{
    if (__atomic_load_n (&trash_priv (this)->top_is_there, __ATOMIC_RELAXED) && buf->ia_nlink > 2
        && buf->ia_type == IA_IFDIR && gfid_equal (&buf->ia_gfid, &gfid_root))
        buf->ia_nlink--;
}

/* Finds or makes the folder of all stages, which another daemon may have made. A folder that
 * another user has made under its name is not used: he could exchange what lies in it. */
static int
folder_top (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;
    struct iatt buf;
    int r;

    if (priv->top)
        return 0;
    __atomic_store_n (&priv->root, root, __ATOMIC_RELEASE); /* a removal may come before a lookup */
    r = trash_folder_make (priv->maker.client, root, priv->top_name, 0711, NULL, &priv->top);
    if (r == 0)
        trash_top_is_there (this, true);
    if (r != -EEXIST)
        return r;
    r = sync_name_look (priv->maker.client, root, priv->top_name, &priv->top, &buf);
    if (r == 0)
        trash_top_is_there (this, buf.ia_type == IA_IFDIR);
    if (r == 0 && !trash_folder_is_own (&buf, geteuid ())) {
        g_clear_pointer (&priv->top, inode_unref);
        r = trash_top_is_taken (this);
    }
    return r;
}

/* The daemon of an instance makes its lock, and takes the instance for lost if the lock is there
 * already: another daemon that looks for stages has found the instance before it was locked. That
 * one makes a lock that is missing, so that only one of the two gets the instance. */
int
trash_instance_lock (xlator_t *this, struct client *client, inode_t *instance, bool own,
                     fd_t **ret_fd)
{
    g_autoptr (fd_t) fd = NULL;
    int r = sync_lock_make (client, instance, TRASH_LOCK);

    if (r == -EEXIST)
        r = own ? -EAGAIN : 0;
    if (r == 0)
        r = sync_lock_open (client, this->fd_maker, instance, TRASH_LOCK, &fd);
    if (r == 0)
        r = sync_lock_set (client, fd, F_WRLCK, 0, 0);
    if (r == 0 && !sync_lock_counts (client, instance, TRASH_LOCK, fd))
        r = -ENOENT;
    if (r == 0)
        *ret_fd = g_steal_pointer (&fd);
    return r;
}

static void
instance_name_new (trash_private_t *priv)
{
    struct random_source source = { random_seed () };
    char *old, *name = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", random_next (&source));

    pthread_mutex_lock (&priv->lock);
    old = priv->instance_name;
    priv->instance_name = name;
    pthread_mutex_unlock (&priv->lock);
    g_free (old);
}

bool
trash_instance_is_own (trash_private_t *priv, const char *name)
{
    bool own;

    pthread_mutex_lock (&priv->lock);
    own = strcmp (priv->instance_name, name) == 0;
    pthread_mutex_unlock (&priv->lock);
    return own;
}

/* -ENOENT: the folder of all stages is gone, which a daemon or graph that has ended has removed. */
static int
folder_instance (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;
    int r = folder_top (this, root);

    if (r < 0 || priv->instance)
        return r;
    r = -EAGAIN;
    for (int try = 0; (r == -EAGAIN || r == -EEXIST) && try < INSTANCE_TRIES; try++) {
        if (try > 0)
            instance_name_new (priv);
        r = trash_folder_make (priv->maker.client, priv->top, priv->instance_name, 0711, NULL,
                               &priv->instance);
        if (r < 0)
            continue;
        r = trash_instance_lock (this, priv->maker.client, priv->instance, true, &priv->mine);
        if (r < 0)
            g_clear_pointer (&priv->instance, inode_unref);
        if (r == -ENOENT)
            r = -EAGAIN; /* removed in between, by a daemon that took it for left behind */
    }
    return r;
}

static int
folder_of_user (xlator_t *this, inode_t *root, const struct trash_who *who, inode_t **ret_folder)
{
    trash_private_t *priv = this->private;
    g_autofree char *name = g_strdup_printf ("%u", who->uid);
    int r;

    *ret_folder = g_hash_table_lookup (priv->users, GUINT_TO_POINTER (who->uid));
    if (*ret_folder)
        return 0;
    r = folder_instance (this, root);
    if (r == 0)
        r = trash_folder_make (priv->maker.client, priv->instance, name, 0700, who, ret_folder);
    if (r == 0)
        g_hash_table_insert (priv->users, GUINT_TO_POINTER (who->uid), *ret_folder);
    return r;
}

/* Somebody has removed folders that this has made: it makes others. */
static void
folders_forget (trash_private_t *priv)
{
    g_hash_table_remove_all (priv->users);
    g_clear_pointer (&priv->mine, fd_unref);
    g_clear_pointer (&priv->links, fd_unref);
    g_clear_pointer (&priv->instance, inode_unref);
    g_clear_pointer (&priv->top, inode_unref);
}

static int
folder_of_stage (xlator_t *this, inode_t *root, const struct trash_who *who, const char *name,
                 inode_t **ret_folder)
{
    trash_private_t *priv = this->private;
    inode_t *user;
    int r = 0;

    for (int try = 0; try < FOLDER_TRIES; try++) {
        r = folder_of_user (this, root, who, &user);
        if (r == 0)
            r = trash_folder_make (priv->maker.client, user, name, 0700, who, ret_folder);
        if (r != -ENOENT && r != -ESTALE)
            break;
        folders_forget (priv);
    }
    return r;
}

/* --- the lock of links ------------------------------------------------------------------------ */

static int
links_open (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct client *client = priv->maker.client;
    int r = priv->links ? 0 : folder_top (this, __atomic_load_n (&priv->root, __ATOMIC_ACQUIRE));

    if (r < 0 || priv->links)
        return r;
    r = sync_lock_make (client, priv->top, TRASH_LINKS);
    return r == 0 || r == -EEXIST
             ? sync_lock_open (client, this->fd_maker, priv->top, TRASH_LINKS, &priv->links)
             : r;
}

static int
links_try (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct client *client = priv->maker.client;
    int r = links_open (this);

    if (r == 0)
        r = sync_lock_set (client, priv->links, F_WRLCK, 0, 0);
    if (r == 0 && !sync_lock_counts (client, priv->top, TRASH_LINKS, priv->links)) {
        g_clear_pointer (&priv->links, fd_unref);
        r = -EAGAIN;
    }
    return r;
}

bool
trash_links_lock (xlator_t *this)
{
    int r = -EAGAIN;

    for (int try = 0; r == -EAGAIN && try < LINKS_TRIES; try++) {
        if (try > 1)
            g_usleep (1000);
        r = links_try (this);
    }
    return r == 0;
}

void
trash_links_unlock (xlator_t *this)
{
    trash_private_t *priv = this->private;

    sync_lock_set (priv->maker.client, priv->links, F_UNLCK, 0, 0);
}

void
trash_folder_stat (struct client *client, inode_t *inode, struct iatt *ret_buf)
{
    if (sync_name_stat (client, inode, ret_buf) < 0)
        *ret_buf = (struct iatt){ .ia_type = IA_INVAL };
}

bool
trash_folder_permit (struct client *client, inode_t *inode, const struct iatt *buf, uint32_t added)
{
    loc_t loc = { .inode = inode };
    struct iatt to = { .ia_prot = buf->ia_prot | added };
    const int r = sync_setattr (client, &loc, &to, IATT_MODE, NULL, NULL);

    loc_wipe_path (&loc);
    return r >= 0;
}

/* Makes a stage under a name that begins with `prefix`. */
static struct trash_stage *
stage_make (xlator_t *this, inode_t *directory, const struct trash_who *who, const char *prefix,
            int *ret_error)
{
    trash_private_t *priv = this->private;
    const uint64_t named = names_now ();
    g_autofree char *path = inode_path (directory, NULL);
    g_autofree char *name = g_strdup_printf ("%s%" G_GUINT64_FORMAT, prefix,
                                              ++priv->stage_number);
    struct trash_stage *stage;
    inode_t *folder = NULL;

    *ret_error = *path == '/' ? folder_of_stage (this, itable_root (directory->table), who, name,
                                                 &folder)
                              : -ENAMETOOLONG; /* more levels than inode_path follows */
    if (*ret_error < 0)
        return NULL;
    stage = g_new0 (struct trash_stage, 1);
    stage->refs = 1;
    stage->directory = directory->gfid;
    trash_stage_begin (stage, who);
    stage->named = named;
    stage->path = g_steal_pointer (&path);
    stage->folder = folder;
    stage->before.ia_type = IA_INVAL;
    trash_stage_place (priv->maker.client, stage, false);
    stage->born = clock_now ();
    return stage;
}

struct trash_stage *
trash_folder_apart (xlator_t *this, inode_t *directory, const struct trash_who *who,
                    int *ret_error)
{
    return stage_make (this, directory, who, TRASH_UNFINISHED, ret_error);
}

int
trash_folder_finish (xlator_t *this, struct client *client, struct trash_stage *stage)
{
    g_autoptr (inode_t) user = NULL;
    g_autofree char *name = NULL;
    int r = inode_a_name (stage->folder, &user, &name) ? 0 : -ENOENT;

    if (r == 0)
        r = sync_name_rename (client, stage->folder, user, name, user,
                              name + strlen (TRASH_UNFINISHED), trash_rename_flags (this));
    return r == 0 ? sync_name_fsyncdir (client, this->fd_maker, user) : r;
}

struct trash_stage *
trash_folder_enter (xlator_t *this, inode_t *directory, const struct trash_who *who, bool fresh,
                    const struct iatt *before, int *ret_error)
{
    struct trash_stage *stage = fresh ? NULL : trash_stage_enter (this, directory, who->uid);
    struct iatt now;

    if (stage) {
        trash_stage_admit (this, stage, who->pid);
        return stage;
    }
    if (!before)
        trash_folder_stat (trash_priv (this)->maker.client, directory, &now);
    stage = stage_make (this, directory, who, "", ret_error);
    if (!stage)
        return NULL;
    stage->refs = 2;
    stage->users = 1;
    stage->before = before ? *before : now;
    trash_stage_add (this, stage);
    return stage;
}

void
trash_folder_drop (xlator_t *this, struct client *client, struct trash_stage *stage)
{
    g_autoptr (inode_t) user = NULL;
    g_autofree char *name = NULL;

    if (inode_a_name (stage->folder, &user, &name))
        sync_name_remove (client, user, name, stage->folder);
    trash_stage_unref (this, stage);
}

/* --- leaving ---------------------------------------------------------------------------------- */

static void
links_leave (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct client *client = priv->maker.client;
    g_autoptr (inode_t) there = NULL;
    struct iatt buf;

    if (sync_name_look (client, priv->top, TRASH_LINKS, &there, &buf) == 0 && links_try (this) == 0)
        sync_name_remove (client, priv->top, TRASH_LINKS, priv->links->inode);
}

void
trash_folders_leave (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct client *client = priv->maker.client;
    GHashTableIter at;
    gpointer uid, folder;
    int r;

    if (!priv->top)
        return;
    g_hash_table_iter_init (&at, priv->users);
    while (g_hash_table_iter_next (&at, &uid, &folder)) {
        g_autofree char *name = g_strdup_printf ("%u", GPOINTER_TO_UINT (uid));

        sync_name_remove (client, priv->instance, name, folder);
    }
    if (priv->mine && priv->mine->inode)
        sync_name_remove (client, priv->instance, TRASH_LOCK, priv->mine->inode);
    if (priv->instance)
        sync_name_remove (client, priv->top, priv->instance_name, priv->instance);
    links_leave (this);
    r = sync_name_remove (client, itable_root (priv->top->table), priv->top_name, priv->top);
    trash_top_is_there (this, r < 0 && r != -ENOENT);
    folders_forget (priv);
}

static void
folders_tidy (xlator_t *this, struct trash_task *task)
{
    trash_private_t *priv = this->private;

    g_free (task);
    if (!priv->instance && folder_top (this, priv->root) == 0)
        trash_folders_leave (this);
}

void
trash_folders_tidy (xlator_t *this)
{
    struct trash_task *task = g_new (struct trash_task, 1);

    *task = (struct trash_task){ folders_tidy, .background = true };
    trash_line_add (&trash_priv (this)->maker, task);
}
