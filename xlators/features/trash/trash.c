/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* features/trash: options, init and fini, and looks at the trash. */
#include "copies/copy.h"
#include "gluster/gluster.h"

#include <errno.h>
#include <string.h>

static const struct option_choice trash_kinds[] = {
    { "", 0 }, { "deleted", 0 }, { "overwritten", TRASH_OVERWRITTEN },
    { "truncated", TRASH_TRUNCATED }, {},
};

bool
trash_keep_parse (const char *text, unsigned *ret_kinds)
{
    g_auto (GStrv) words = g_strsplit_set (text, ", ", -1);

    *ret_kinds = 0;
    for (char **one = words; *one; one++) {
        const struct option_choice *kind = trash_kinds;

        while (kind->name && strcmp (kind->name, *one) != 0)
            kind++;
        if (!kind->name)
            return false;
        *ret_kinds |= (unsigned) kind->number;
    }
    return true;
}

static int
keep_check (const char *text, char **ret_allowed)
{
    unsigned kinds;

    if (trash_keep_parse (text, &kinds))
        return 0;
    *ret_allowed = g_strdup ("must be 'deleted', and behind it, after a comma each, 'overwritten' "
                             "or 'truncated' or both");
    return -EINVAL;
}

static int
directory_check (const char *text, char **ret_allowed)
{
    if (*text && !strchr (text, '/') && strcmp (text, ".") != 0 && strcmp (text, "..") != 0
        && !trash_name_is_top (text) && !g_str_has_prefix (text, ".Trash"))
        return 0;
    *ret_allowed = g_strdup ("must be the name of a directory in the root, without a slash, and "
                             "none of the other layout's: .trashcan");
    return -EINVAL;
}

static const struct option_choice trash_layouts[] = {
    { "freedesktop", TRASH_FREEDESKTOP }, { "gluster", TRASH_GLUSTER }, {},
};

static const struct option_choice trash_lacks[] = {
    { "remove", TRASH_LACK_REMOVE }, { "refuse", TRASH_LACK_REFUSE }, {},
};

static const struct xlator_option trash_options[] = {
    { OPTION ("trash", ENUM, trash_private_t, wanted, "auto"), .values = option_switches,
      .online = true,
      .help = "keep removed files; auto: on with layout freedesktop, off with layout gluster" },
    { OPTION ("layout", ENUM, trash_private_t, layout, "freedesktop"), .values = trash_layouts,
      .help = "where removed files go: freedesktop: to the trash of the user who removes them; "
              "gluster: to one directory for all, as GlusterFS puts them" },
    { OPTION ("no-trash", ENUM, trash_private_t, no_trash, "remove"), .values = trash_lacks,
      .online = true,
      .help = "what happens where the daemon has no right to make a trash in the root of the "
              "mount: remove: files are removed for good; refuse: removals fail" },
    { OPTION ("trash-dir", STRING, trash_private_t, directory, ".trashcan"),
      .check = directory_check, .from_server = SERVER_MAY,
      .help = "with layout gluster: the name of that directory, in the root" },
    { OPTION_INERT ("trash-internal-op", BOOL,
                    "has no effect: servers of GlusterFS keep what heals and rebalances remove") },
    { OPTION_INERT ("brick-path", STRING, "has no effect: the modes are asked of the storage") },
    { OPTION ("keep", STRING, trash_private_t, keep_text, "deleted"), .online = true,
      .check = keep_check, .from_server = SERVER_MAY,
      .help = "keep what is deleted; overwritten: also files that a rename replaces, at the cost "
              "of two more operations for each; truncated: also what a file had before it was cut "
              "or opened for writing, if storage can share blocks between files (a reflink)" },
    { OPTION ("copy", BOOL, trash_private_t, copy, "off"), .online = true,
      .help = "with keep truncated: copy the bytes of files up to max-filesize where storage "
              "can't share blocks; the open or truncation waits" },
    { OPTION ("eliminate", STRING, trash_private_t, eliminate_text, NULL),
      .key[1] = "trash-eliminate-path", .from_server = SERVER_MAY,
      .help = "patterns, separated by commas, of what is removed for good: of names (*.o), or, "
              "with a slash, of paths from the root of the mount (/build), which count for all "
              "below" },
    { OPTION ("rules", PATH, trash_private_t, rules_file, NULL), .check = trash_rules_check,
      .online = true,
      .help = "the file with the rules that choose what is removed for good, by path, process, "
              "user, size and more: features-trash(7)" },
    { OPTION ("temporaries", TIME, trash_private_t, temporaries, "1m"), .online = true,
      .help = "remove a file for good if the process that removes it has made it less than this "
              "time ago: lock files, journals and the like; 0: only while it has the file open" },
    { OPTION ("max-filesize", SIZE, trash_private_t, max_filesize, "0"), .online = true,
      .key[1] = "trash-max-filesize",
      .help = "remove larger files for good; 0: keep files of any size" },
    { OPTION ("max-total", SIZE, trash_private_t, max_total, "0"), .online = true,
      .help = "keep at most so much in each trash: the oldest entries are removed first; 0: no "
              "limit" },
    { OPTION ("max-age", TIME, trash_private_t, max_age, "0"), .online = true,
      .help = "remove entries that are older; 0: never" },
    { OPTION ("min-free", SIZE, trash_private_t, min_free, "0"), .online = true,
      .help = "remove the oldest entries while less space than this is free, or a smaller share of "
              "the inodes than this is of the space; 0: never" },
    { OPTION ("settle", TIME, trash_private_t, settle, "1s"), .online = true,
      .min = 0.01, .max = 3600,
      .help = "make an entry of the trash from what a user has removed once the user has removed "
              "nothing for this time, so that rm -r makes one entry" },
    {},
};

/* --- looks at the trash ----------------------------------------------------------------------- */

/* A look of a user has the user's own entries made, and those of others who go on removing are not
 * split; root looks at all. */
static void
trash_look_makes (xlator_t *this, const call_stack_t *root)
{
    const uid_t uid = trash_user (root);

    trash_entries_make (this, TRASH_PAUSED, uid == 0 ? ALL_USERS : uid, clock_now () + TRASH_SLICE);
}

static bool
is_awaited (const xlator_t *this, const call_stack_t *root)
{
    return __atomic_load_n (&trash_priv (this)->count, __ATOMIC_RELAXED) > 0 && !root->internal;
}

static void
trash_lookup_made (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    trash_look_makes (this, frame->root);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
trash_begin (xlator_t *this, inode_t *root)
{
    trash_private_t *priv = this->private;

    __atomic_store_n (&priv->root, root, __ATOMIC_RELEASE);
    if (__atomic_exchange_n (&priv->began, true, __ATOMIC_RELEASE))
        return;
    trash_recover (this);
    trash_gluster_begin (this);
    trash_lack_begin (this);
}

static void
trash_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    call_stub_t *stub = NULL;
    inode_t *known = loc->inode ? loc->inode : loc->parent;

    if (G_UNLIKELY (known && !__atomic_load_n (&trash_priv (this)->began, __ATOMIC_RELAXED)))
        trash_begin (this, itable_root (known->table));
    if (loc->name && loc->parent && g_str_has_prefix (loc->name, ".Trash")
        && is_awaited (this, frame->root) && gfid_equal (&loc->parent->gfid, &gfid_root))
        stub = fop_lookup_stub (frame, trash_lookup_made, loc, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->entries, 1 + (int64_t) trash_user (frame->root),
                           stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), lookup, loc, xdata);
}

static void
trash_opendir_made (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    trash_look_makes (this, frame->root);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), opendir, loc, fd, xdata);
}

static void
trash_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    call_stub_t *stub = NULL;

    if (is_awaited (this, frame->root) && loc->inode && trash_has_inode (loc->inode))
        stub = fop_opendir_stub (frame, trash_opendir_made, loc, fd, xdata);
    if (stub)
        trash_line_resume (&trash_priv (this)->entries, 1 + (int64_t) trash_user (frame->root),
                           stub);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), opendir, loc, fd, xdata);
}

struct trash_file *
trash_file_make (xlator_t *this, fd_t *fd)
{
    struct trash_file *file = fd_ctx_get (fd, this);

    if (!file) {
        file = g_new0 (struct trash_file, 1);
        fd_ctx_set (fd, this, file);
    }
    return file;
}

static void
trash_release (xlator_t *this, fd_t *fd)
{
    trash_temporary_release (this, fd);
    trash_version_release (this, fd);
    g_free (fd_ctx_get (fd, this));
}

static bool
trash_hides (xlator_t *this, inode_t *directory, const char *name)
{
    return *name == '.' && trash_name_is_top (name)
        && gfid_equal (&directory->gfid, &gfid_root);
}

/* Returns whether a name in a folder /.Trash, /.Trash/UID or /.Trash-UID may be one of a trash. A
 * directory in files/ of one of these names is unkept, too, which costs it look-ups. */
static bool
name_is_of_trash (const char *name)
{
    return strcmp (name, "info") == 0 || strcmp (name, "files") == 0
        || (*name && strspn (name, "0123456789") == strlen (name));
}

static bool
trash_unkept (xlator_t *this, inode_t *directory, const char *name)
{
    const trash_private_t *priv = this->private;
    const bool in_root = gfid_equal (&directory->gfid, &gfid_root);

    if (priv->layout == TRASH_GLUSTER)
        return inode_is_unkept (directory) || (in_root && strcmp (name, priv->directory) == 0);
    if (in_root)
        return strcmp (name, TRASH_SHARED) == 0 || g_str_has_prefix (name, TRASH_OWN);
    return inode_is_unkept (directory) && name_is_of_trash (name);
}

/* --- init, notify, fini ----------------------------------------------------------------------- */

/* While callers wait at a limit, entries are made with a lower pace. */
static void
lines_init (xlator_t *this, trash_private_t *priv)
{
    const uid_t user = geteuid ();
    g_autofree char *own = g_strdup_printf ("/" TRASH_STAGES "-%u", user);
    const char *about = g_intern_string (user == 0 ? "/" TRASH_STAGES : own);

    priv->top_name = about + 1;
    priv->maker = (struct trash_line){ .name = "stage" };
    priv->entries = (struct trash_line){ .name = "settle", .about = about,
                                         .unit = "names", .pace = 100 };
    priv->notices = (struct trash_line){ .name = "invalidate" };
    trash_line_init (this, &priv->maker);
    trash_line_init (this, &priv->entries);
    trash_line_init (this, &priv->notices);
}

#define OVERFLOW_GROUP "/proc/sys/kernel/overflowgid"
#define OVERFLOW_GROUP_USUAL 65534 /* the kernel's, unless an administrator has set another one */

static gid_t
group_of_none (void)
{
    g_autofree char *text = NULL;
    guint64 gid;

    return g_file_get_contents (OVERFLOW_GROUP, &text, NULL, NULL)
                && g_ascii_string_to_unsigned (g_strchomp (text), 10, 1, G_MAXUINT32 - 1, &gid,
                                               NULL)
             ? (gid_t) gid
             : OVERFLOW_GROUP_USUAL;
}

static int
trash_init (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct random_source source = { random_seed () };

    if (trash_gluster_options (this, priv) < 0 || trash_rules_begin (this, priv->rules_file) < 0)
        return -EINVAL;
    priv->no_group = group_of_none ();
    pthread_mutex_init (&priv->lock, NULL);
    priv->stages = g_hash_table_new (trash_stage_hash, trash_stage_same);
    priv->last_of = g_hash_table_new_full (NULL, NULL, NULL, g_free);
    priv->users = g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) inode_unref);
    g_queue_init (&priv->loose);
    trash_keep_parse (priv->keep_text, &priv->keep);
    if (priv->eliminate_text)
        priv->eliminated = g_strsplit_set (priv->eliminate_text, ", ", -1);
    priv->instance_name = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", random_next (&source));
    jobs_init (this);
    lines_init (this, priv);
    return 0;
}

static int
trash_reconfigure (xlator_t *this, const void *new_private)
{
    trash_private_t *priv = this->private;
    trash_private_t fresh = *(const trash_private_t *) new_private, *new = &fresh;
    unsigned kinds;

    new->layout = priv->layout;
    if (trash_gluster_options (this, new) < 0 || trash_rules_begin (this, new->rules_file) < 0)
        return -EINVAL;

    trash_keep_parse (new->keep_text, &kinds);
    __atomic_store_n (&priv->on, new->on, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->settle, new->settle, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->keep, kinds, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->no_trash, new->no_trash, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->copy, new->copy, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->no_reflink, false, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->temporaries, new->temporaries, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->max_filesize, new->max_filesize, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->max_total, new->max_total, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->max_age, new->max_age, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->min_free, new->min_free, __ATOMIC_RELAXED);
    trash_stages_watch (this);
    trash_limits_soon (this);
    return 0;
}

/* No timer begins a task any more. */
static void
timer_end (trash_private_t *priv)
{
    core_timer_t *timer;

    pthread_mutex_lock (&priv->lock);
    priv->ending = true;
    timer = priv->timer;
    if (timer && timer_cancel (timer))
        priv->timer = NULL;
    while (priv->timer) {
        pthread_mutex_unlock (&priv->lock);
        sched_yield (); /* the timer's function is at the lock */
        pthread_mutex_lock (&priv->lock);
    }
    pthread_mutex_unlock (&priv->lock);
}

#define TRASH_LAST (30 * G_GINT64_CONSTANT (1000000000)) /* nanoseconds for entries at the end */

/* Drops the stages whose entries could not be made. They refer to inodes, which end before fini. */
static void
stages_drop (xlator_t *this)
{
    trash_private_t *priv = this->private;
    g_autoptr (GList) left = g_hash_table_get_keys (priv->stages);
    struct trash_stage *stage;

    g_hash_table_remove_all (priv->stages);
    for (GList *one = left; one; one = one->next)
        trash_stage_unref (this, one->data);
    while ((stage = g_queue_pop_head (&priv->loose)))
        trash_stage_unref (this, stage);
}

static bool
heir_makes_entries (const trash_private_t *priv)
{
    return priv->heir && __atomic_load_n (&trash_priv (priv->heir)->on, __ATOMIC_RELAXED);
}

/* No request comes any more. What lies in stages becomes entries while the child still answers. If
 * that takes too long, the rest is left to the next daemon. After a reload the trash of the next
 * graph makes all of them, unless it is off, so that the reload does not wait for them. */
static void
trash_settle_all (xlator_t *this)
{
    trash_private_t *priv = this->private;

    timer_end (priv);
    pthread_mutex_lock (&priv->lock);
    priv->settled = true;
    pthread_mutex_unlock (&priv->lock);
    jobs_wait (this);
    if (!heir_makes_entries (priv))
        trash_entries_make (this, TRASH_ALL, ALL_USERS, clock_now () + TRASH_LAST);
    trash_folders_leave (this);
    stages_drop (this);
    trash_hand_over (this);
}

static void
trash_notify (xlator_t *this, enum xlator_event event, void *data)
{
    trash_private_t *priv = this->private;

    if (event == XLATOR_ENDING) {
        pthread_mutex_lock (&priv->lock);
        priv->ending = true; /* no notice, no timer */
        pthread_mutex_unlock (&priv->lock);
        jobs_end (this);
    }
    if (event == XLATOR_NO_SPACE)
        trash_limits_soon (this);
    if (event == XLATOR_PARENT_DOWN)
        trash_settle_all (this);
    xlator_pass_on (this, event, data);
}

static void
trash_fini (xlator_t *this)
{
    trash_private_t *priv = this->private;

    if (!priv->stages)
        return;
    jobs_fini (this);
    trash_line_fini (&priv->maker);
    trash_line_fini (&priv->entries);
    trash_line_fini (&priv->notices);
    trash_rules_end (this);
    g_hash_table_unref (priv->users);
    g_hash_table_unref (priv->last_of);
    g_hash_table_unref (priv->stages);
    g_strfreev (priv->eliminated);
    g_free (priv->instance_name);
    pthread_mutex_destroy (&priv->lock);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "features/trash",
    .about = "keeps removed files in the trash of the user who removed them",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NAMES,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (trash_private_t),
    .options = trash_options,
    .init = trash_init,
    .fini = trash_fini,
    .take_over = trash_take_over,
    .reconfigure = trash_reconfigure,
    .notify = trash_notify,
    .fops = { .lookup = trash_lookup, .opendir = trash_opendir, .open = trash_open,
              .create = trash_create, .truncate = trash_truncate, .ftruncate = trash_ftruncate,
              .flush = trash_flush, .symlink = trash_symlink, .unlink = trash_unlink,
              .rmdir = trash_rmdir, .rename = trash_rename },
    .cbks = { .forget = rules_forget, .release = trash_release },
    .dumpops = { .priv = trash_dump, .explain = trash_explain },
    .commands = trash_commands,
    .hides = trash_hides,
    .unkept = trash_unkept,
    .rules = trash_rules,
    .uncount = trash_uncount,
};
