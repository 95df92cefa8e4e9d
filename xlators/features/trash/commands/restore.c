/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass trash restore: renames entries to their former places, and removes their information
 * files. All of it happens with the user's rights. Nothing is replaced. A directory above the
 * former place that is missing is made, for the user alone; a symbolic link there is not followed.
 * A part of an entry is renamed out of the tree in the trash, and the rest stays an entry.
 */
#include "commands.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct restoring {
    struct visit *visit;
    /* The directory of the last place, since the next one is often there, too. */
    char *folder;     /* its path; NULL: none yet */
    inode_t *inode;   /* with a reference */
    unsigned done, parts, failed; /* done: whole entries */
    GPtrArray *told; /* names in that directory, to tell of; NULL: none */
};

/* What is moved: the object of an entry, or of a part of one. */
struct restored {
    const struct entry_seen *entry;
    inode_t *directory, *inode; /* where it lies, and itself; with references */
    const char *name;           /* in directory */
    struct iatt buf;
};

#define RESTORE_TOLD 100 /* entries that are told of together */

static void G_GNUC_PRINTF (3, 4)
restore_tell (struct restoring *restoring, const char *path, const char *format, ...)
{
    g_autofree char *shown = visit_shown (path), *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    job_print (restoring->visit->job, "'%s' %s\n", shown, text);
}

/* --- what others are told --------------------------------------------------------------------- */

static void
told_flush (struct restoring *restoring)
{
    if (restoring->told)
        trash_notices (restoring->visit->this, restoring->inode,
                       g_steal_pointer (&restoring->told));
}

static void
told_add (struct restoring *restoring, const char *name)
{
    if (restoring->told && restoring->told->len >= RESTORE_TOLD)
        told_flush (restoring);
    if (!restoring->told)
        restoring->told = g_ptr_array_new_with_free_func (g_free);
    g_ptr_array_add (restoring->told, g_strdup (name));
}

/* --- the former place ------------------------------------------------------------------------- */

static int
folder_make (struct restoring *restoring, struct client *client, inode_t *above, const char *name,
             const char *path, inode_t **ret_inode)
{
    int r = sync_name_mkdir (client, above, name, S_IRWXU, ret_inode);

    if (r == 0) {
        restore_tell (restoring, path, "was missing: made the directory, for its user alone");
        trash_notice (restoring->visit->this, above, name);
    }
    return r;
}

/* Looks one directory of a path up, or makes it. */
static int
folder_step (struct restoring *restoring, struct client *client, inode_t *above, const char *name,
             const char *path, inode_t **ret_inode)
{
    struct iatt buf;
    int r = sync_name_look (client, above, name, ret_inode, &buf);

    if (r == -ENOENT) {
        r = folder_make (restoring, client, above, name, path, ret_inode);
        if (r != -EEXIST)
            return r;
        r = sync_name_look (client, above, name, ret_inode, &buf);
    }
    if (r == 0 && buf.ia_type != IA_IFDIR) {
        g_clear_pointer (ret_inode, inode_unref);
        r = -ENOTDIR;
    }
    return r;
}

static int
folder_walk (struct restoring *restoring, struct client *client, const char *folder)
{
    g_auto (GStrv) parts = g_strsplit (folder, "/", -1);
    g_autoptr (GString) path = g_string_new (NULL);
    inode_t *at = inode_ref (restoring->visit->root), *next;
    int r = 0;

    for (char **part = parts; r == 0 && *part; part++) {
        g_string_append_printf (path, "%s%s", path->len ? "/" : "", *part);
        next = NULL;
        r = job_next (restoring->visit->job)
                ? folder_step (restoring, client, at, *part, path->str, &next) : -EINTR;
        inode_unref (at);
        at = next;
    }
    if (r == 0)
        restoring->inode = at;
    return r;
}

/* folder: "" is the root of the mount. */
static int
folder_find (struct restoring *restoring, struct client *client, const char *folder)
{
    int r;

    if (restoring->folder && strcmp (restoring->folder, folder) == 0)
        return 0;
    told_flush (restoring);
    g_clear_pointer (&restoring->folder, g_free);
    g_clear_pointer (&restoring->inode, inode_unref);
    r = folder_walk (restoring, client, folder);
    if (r == 0)
        restoring->folder = g_strdup (folder);
    return r;
}

/* --- one entry -------------------------------------------------------------------------------- */

static int
move_once (struct restoring *restoring, const struct restored *from, const char *name)
{
    return sync_name_move (from->entry->bin->client, from->inode, from->directory, from->name,
                           restoring->inode, name, NULL);
}

/* Nobody but root moves a directory in which he may not write to another directory: its owner gets
 * that right for the moment. */
static int
rename_back (struct restoring *restoring, const struct restored *from, const char *name)
{
    const uint32_t missing = (S_IWUSR | S_IXUSR) & ~from->buf.ia_prot;
    struct client *client = from->entry->bin->client;
    int r = move_once (restoring, from, name);

    if (r != -EACCES || from->buf.ia_type != IA_IFDIR || missing == 0
        || !trash_folder_permit (client, from->inode, &from->buf, missing))
        return r;
    r = move_once (restoring, from, name);
    trash_folder_permit (client, from->inode, &from->buf, 0);
    return r;
}

/* of_info: the information file, as it was before the rename. Between the two a younger entry can't
 * have come under that name, which is taken. That of a part stays, as its entry does. */
static void
entry_gone (struct restoring *restoring, const struct restored *from, inode_t *of_info,
            const char *name)
{
    const struct entry_seen *entry = from->entry;
    g_autofree char *info = g_strconcat (entry->name, TRASH_INFO_SUFFIX, NULL);

    if (entry->part)
        trash_notice (restoring->visit->this, from->directory, from->name);
    else
        sync_name_remove (entry->bin->client, entry->bin->info, info, of_info);
    told_add (restoring, name);
}

/* Where a restore failed. */
enum restore_step { RESTORE_ENTRY, RESTORE_PATH, RESTORE_FOLDER, RESTORE_RENAME };

/* Returns -ESTALE if the name is another entry's by now. */
static int
entry_is_same (const struct entry_seen *entry, inode_t **ret_info)
{
    g_autofree char *info = g_strconcat (entry->name, TRASH_INFO_SUFFIX, NULL);

    return trash_info_look (entry->bin->client, entry->bin->info, info, &entry->info, ret_info);
}

static int
entry_move_back (struct restoring *restoring, struct restored *from, enum restore_step *ret_step)
{
    const struct entry_seen *entry = from->entry;
    const char *slash = entry->path ? strrchr (entry->path, '/') : NULL;
    const char *name = slash ? slash + 1 : entry->path;
    g_autofree char *folder = slash ? g_strndup (entry->path, slash - entry->path) : g_strdup ("");
    g_autoptr (inode_t) info = NULL;
    int r = entry_is_same (entry, &info);

    if (r < 0)
        return r;
    *ret_step = RESTORE_PATH;
    if (!entry->path)
        return -EINVAL;
    *ret_step = RESTORE_FOLDER;
    r = folder_find (restoring, entry->bin->outside, folder);
    if (r < 0)
        return r;
    *ret_step = RESTORE_RENAME;
    r = rename_back (restoring, from, name);
    if (r == 0)
        entry_gone (restoring, from, info, name);
    return r;
}

static int
entry_restore (struct restoring *restoring, const struct entry_seen *entry,
               enum restore_step *ret_step)
{
    struct restored from = { .entry = entry };
    int r;

    *ret_step = RESTORE_ENTRY;
    r = visit_find (entry, &from.directory, &from.name, &from.inode, &from.buf);
    if (r == 0)
        r = entry_move_back (restoring, &from, ret_step);
    inode_unref (from.directory);
    inode_unref (from.inode);
    return r;
}

/* Returns what a failure means at a step, or NULL: the error tells it. */
static const char *
reason_at (enum restore_step step, int r)
{
    static const struct {
        enum restore_step step;
        int error;
        const char *reason;
    } reasons[] = {
        { RESTORE_PATH, EINVAL, "its information file names no place below the root of the mount" },
        { RESTORE_ENTRY, ENOENT, "the entry has no file, or has just gone" },
        { RESTORE_ENTRY, ESTALE, "a younger entry has its name by now" },
        { RESTORE_FOLDER, EACCES, "you may not enter the directories above it, or make those that "
                                  "are missing" },
        { RESTORE_FOLDER, ENOTDIR, "a name above it is no directory now; symbolic links are not "
                                   "followed" },
        { RESTORE_FOLDER, ENOENT, "a directory above it has just gone" },
        { RESTORE_RENAME, EEXIST, "exists again: move that away, or move the entry out of the "
                                  "trash" },
        { RESTORE_RENAME, EACCES, "you may not make it there: permission denied" },
        { RESTORE_RENAME, ENOENT, "the entry, or the directory of its former place, has just "
                                  "gone" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (reasons); i++)
        if (reasons[i].step == step && reasons[i].error == -r)
            return reasons[i].reason;
    return NULL;
}

/* An information file that lacks its file is no entry, so that is an error only for one that was
 * asked for by its own path or name. */
static void
entry_restore_told (struct restoring *restoring, const struct entry_seen *entry)
{
    enum restore_step step;
    const int r = entry_restore (restoring, entry, &step);
    const char *reason = reason_at (step, r);

    if (r == 0) {
        *(entry->part ? &restoring->parts : &restoring->done) += 1;
        return;
    }
    if (step == RESTORE_ENTRY && r == -ENOENT && !entry->named)
        return;
    restoring->failed++;
    restore_tell (restoring, entry->path ? entry->path : entry->name, "is not restored: %s",
                  reason ? reason : g_strerror (-r));
}

/* --- the command ------------------------------------------------------------------------------ */

static int
restore_all (struct restoring *restoring)
{
    struct visit *visit = restoring->visit;
    int r = 0;

    for (guint i = 0; r == 0 && i < visit->chosen->len; i++) {
        job_progress (visit->job, i, visit->chosen->len);
        if (job_next (visit->job))
            entry_restore_told (restoring, visit->chosen->pdata[i]);
        else
            r = -EINTR;
    }
    told_flush (restoring);
    if (r == 0)
        visit_wait_noticed (visit);
    return r;
}

static int
restore_result (struct restoring *restoring, int r)
{
    struct visit *visit = restoring->visit;
    const unsigned failed = restoring->failed + visit->unknown;
    const unsigned done = restoring->done + restoring->parts;

    if (r == 0 && restoring->done > 0)
        job_print (visit->job, "restored %u %s\n", restoring->done,
                   restoring->done == 1 ? "entry" : "entries");
    if (r == 0 && restoring->parts > 0)
        job_print (visit->job, "restored %u part%s of entries; the rest stays in the trash\n",
                   restoring->parts, restoring->parts == 1 ? "" : "s");
    if (r == 0 && failed + done == 0)
        job_print (visit->job, "the trash has no entry to restore\n");
    if (r < 0 || failed == 0)
        return r;
    job_refuse (visit->job, "%u of %u not restored", failed, failed + done);
    return -ENOENT;
}

int
trash_restore (struct job *job, struct trash_order *order)
{
    struct visit visit;
    struct restoring restoring = { .visit = &visit };
    int r = visit_begin (&visit, order, job);

    if (r == 0)
        r = visit_choose (&visit, true);
    if (r == 0)
        r = restore_all (&restoring);
    r = restore_result (&restoring, r);
    g_free (restoring.folder);
    inode_unref (restoring.inode);
    return visit_end (&visit, r);
}
