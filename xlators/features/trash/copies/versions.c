/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layout freedesktop, `keep truncated`: copies of files that are cut or opened for writing. */
#include "copy.h"

#include <errno.h>

#define VERSION_COMPARED (64 << 20) /* bytes of a file up to which it is compared with its copy */
#define VERSION_RACY G_GINT64_CONSTANT (100000000) /* nanoseconds: two changes that are nearer to
                                                      each other may have the same ctime */

/* --- what is kept ----------------------------------------------------------------------------- */

static void
version_count_lost (xlator_t *this, int error, const char *name)
{
    trash_private_t *priv = this->private;

    if (__atomic_exchange_n (&priv->uncopied_error, error, __ATOMIC_RELAXED) != error)
        gf_log (this, GF_LOG_WARNING,
                "what '%s' had before it was cut or opened for writing is not kept: %s%s; further "
                "files are counted (windlass explain)",
                name, g_strerror (error),
                error == EOPNOTSUPP ? ", since storage can't share blocks between files; 'option "
                                      "copy on' copies files up to max-filesize" : "");
    __atomic_add_fetch (&priv->uncopied, 1, __ATOMIC_RELAXED);
    if (error == ENOSPC || error == EDQUOT)
        trash_limits_soon (this);
}

/* Storage that says once that it has no reflinks is not asked again. If there are several below,
 * each file's may be another one. */
static bool
version_lacks_reflink (xlator_t *this)
{
    return xlator_is_remote (FIRST_CHILD (this))
        || __atomic_load_n (&trash_priv (this)->no_reflink, __ATOMIC_RELAXED);
}

static void
version_note_lack (xlator_t *this, int r)
{
    const xlator_t *below = FIRST_CHILD (this);

    while (below->children && !below->children->next)
        below = below->children->xlator;
    if (r == -EOPNOTSUPP && !below->children)
        __atomic_store_n (&trash_priv (this)->no_reflink, true, __ATOMIC_RELAXED);
}

static bool
version_fits (xlator_t *this, const struct iatt *buf, off_t size)
{
    const uint64_t most = __atomic_load_n (&trash_priv (this)->max_filesize, __ATOMIC_RELAXED);

    return buf->ia_type == IA_IFREG && buf->ia_size > (uint64_t) size
        && (most == 0 || buf->ia_size <= most);
}

static bool
version_is_racy (const struct iatt *buf)
{
    const struct timespec now = clock_today ();
    const int64_t changed = trash_nanoseconds (buf->ia_ctime, buf->ia_ctime_nsec);

    return trash_nanoseconds (now.tv_sec, (uint32_t) now.tv_nsec) - changed < VERSION_RACY;
}

/* Fills in what the copy will be of, and where. */
static bool
version_is_due (xlator_t *this, const call_stack_t *root, inode_t *inode, off_t size,
                struct trash_version *version, inode_t **ret_parent)
{
    struct client *client = trash_priv (this)->maker.client;
    const enum fop op = version->why == TRASH_OPEN_TO_WRITE ? FOP_open : FOP_truncate;
    loc_t loc = { .inode = inode };

    if (!inode_a_name (inode, ret_parent, &version->copy.name))
        return false;
    loc.parent = *ret_parent;
    loc.name = version->copy.name;
    if (trash_has_inode (*ret_parent) || !trash_keeps (this, root, &loc))
        return false;
    trash_folder_stat (client, inode, &version->copy.before);
    version->racy = version_is_racy (&version->copy.before);
    return version_fits (this, &version->copy.before, size)
        && !trash_is_eliminated (this, root, op, &loc, &version->copy.before);
}

/* --- making ----------------------------------------------------------------------------------- */

static void
version_leave (xlator_t *this, struct client *client, struct trash_version *version, bool kept)
{
    struct trash_stage *stage = g_steal_pointer (&version->stage);

    if (stage && kept)
        trash_stage_add_loose (this, stage);
    else if (stage)
        trash_folder_drop (this, client, stage);
}

static void
version_clear (struct trash_version *version)
{
    trash_copy_clear (&version->copy);
    g_clear_pointer (&version->file, inode_unref);
}

/* Begins the copy, in a stage of its own. */
static int
version_begin (xlator_t *this, struct trash_version *version, inode_t *directory,
               const struct trash_who *who)
{
    struct client *client = trash_priv (this)->maker.client;
    int r;

    version->stage = trash_folder_apart (this, directory, who, &r);
    if (!version->stage)
        return r;
    version->copy.folder = inode_ref (version->stage->folder);
    return trash_copy_begin (this, client, &version->copy, version->file);
}

/* The copy is durable before the file loses its content. */
static int
version_finish (xlator_t *this, struct client *client, struct trash_version *version)
{
    loc_t loc = { .inode = version->file };
    dict_t *xattrs = trash_xattrs (client, &loc);
    int r;

    trash_copy_end (client, &version->copy, xattrs);
    r = error_or_0 (sync_fsync (client, version->copy.to, 0, NULL, NULL));
    trash_copy_close (&version->copy);
    if (r == 0)
        r = trash_folder_finish (this, client, version->stage);
    dict_unref (xattrs);
    loc_wipe_path (&loc);
    return r;
}

static void
version_fail (xlator_t *this, struct trash_version *version, int r)
{
    version_count_lost (this, -r, version->copy.name);
    trash_version_drop (this, version);
}

bool
trash_version_make (xlator_t *this, const call_stack_t *root, inode_t *inode, off_t size,
                    enum trash_cut why, struct trash_version *version)
{
    trash_private_t *priv = this->private;
    const struct trash_who who = { trash_user (root), root->gid, root->pid };
    const bool copies = __atomic_load_n (&priv->copy, __ATOMIC_RELAXED);
    const bool lacks = version_lacks_reflink (this);
    g_autoptr (inode_t) parent = NULL;
    int r;

    version->why = why;
    version->file = inode_ref (inode);
    if (!version_is_due (this, root, inode, size, version, &parent)) {
        version_clear (version);
        return false;
    }
    r = lacks && !copies ? -EOPNOTSUPP : version_begin (this, version, parent, &who);
    if (r == 0)
        r = lacks ? -EOPNOTSUPP : trash_copy_reflink (priv->maker.client, &version->copy);
    version_note_lack (this, r);
    if (r < 0 && version->copy.inode && copies)
        return true;
    if (r == 0)
        r = version_finish (this, priv->maker.client, version);
    if (r < 0)
        version_fail (this, version, r);
    return false;
}

void
trash_version_data (xlator_t *this, struct trash_version *version)
{
    struct client *client = trash_priv (this)->entries.client;
    int r = trash_copy_data (client, &version->copy);

    if (r == 0)
        r = version_finish (this, client, version);
    if (r == 0)
        return;
    version_count_lost (this, -r, version->copy.name);
    trash_copy_remove (client, &version->copy);
    version_leave (this, client, version, false);
    version_clear (version);
}

/* --- its end ---------------------------------------------------------------------------------- */

void
trash_version_keep (xlator_t *this, struct trash_version *version)
{
    version_leave (this, NULL, version, true);
    version_clear (version);
}

void
trash_version_drop (xlator_t *this, struct trash_version *version)
{
    struct client *client = trash_priv (this)->maker.client;

    trash_copy_remove (client, &version->copy);
    version_leave (this, client, version, false);
    version_clear (version);
}

/* --- files that are open ---------------------------------------------------------------------- */

struct version_task {
    struct trash_task task;
    struct trash_version version;
};

bool
trash_version_has (xlator_t *this, fd_t *fd)
{
    const struct trash_file *file = fd_ctx_get (fd, this);

    return file && file->is_copied;
}

void
trash_version_wait (xlator_t *this, fd_t *fd, struct trash_version *version)
{
    struct trash_file *file = trash_file_make (this, fd);

    file->is_copied = true;
    if (version->why == TRASH_OPEN_TO_WRITE) {
        file->version = g_memdup2 (version, sizeof *version);
        *version = (struct trash_version){ 0 };
    } else {
        trash_version_keep (this, version);
    }
}

enum verdict { VERSION_CHANGED, VERSION_SAME, VERSION_COMPARE };

static enum verdict
version_verdict (xlator_t *this, const struct trash_version *version)
{
    const struct iatt *before = &version->copy.before;
    struct iatt now;

    trash_folder_stat (trash_priv (this)->maker.client, version->file, &now);
    if (version->open || now.ia_type == IA_INVAL || now.ia_size != before->ia_size)
        return VERSION_CHANGED;
    if (!version->racy && now.ia_ctime == before->ia_ctime
        && now.ia_ctime_nsec == before->ia_ctime_nsec)
        return VERSION_SAME;
    return now.ia_size <= VERSION_COMPARED ? VERSION_COMPARE : VERSION_CHANGED;
}

/* A task of maker. */
static void
version_forget (xlator_t *this, struct trash_task *task)
{
    struct version_task *own = (struct version_task *) task;

    trash_version_drop (this, &own->version);
    g_free (own);
}

/* A task of entries, since it may take long. */
static void
version_compare (xlator_t *this, struct trash_task *task)
{
    struct version_task *own = (struct version_task *) task;
    trash_private_t *priv = this->private;
    const int r = trash_copy_compare (this, &priv->entries.work, &own->version.copy,
                                      own->version.file);

    if (r == 0) {
        own->task.run = version_forget;
        trash_line_add (&priv->maker, task);
        return;
    }
    trash_version_keep (this, &own->version);
    g_free (own);
}

/* A task of maker. */
static void
version_judge (xlator_t *this, struct trash_task *task)
{
    struct version_task *own = (struct version_task *) task;
    const enum verdict verdict = version_verdict (this, &own->version);

    if (verdict == VERSION_COMPARE) {
        own->task.run = version_compare;
        trash_line_add (&trash_priv (this)->entries, task);
        return;
    }
    if (verdict == VERSION_CHANGED)
        trash_version_keep (this, &own->version);
    else
        trash_version_drop (this, &own->version);
    g_free (own);
}

/* The daemon ends: what the stage has is left to the next one. */
static void
version_abandon (xlator_t *this, struct trash_version *version)
{
    if (version->stage)
        trash_stage_unref (this, version->stage);
    version_clear (version);
}

/* A file that is open in the next graph may still change: its copy is kept in any case. */
void
trash_version_release (xlator_t *this, fd_t *fd)
{
    trash_private_t *priv = this->private;
    struct trash_file *file = fd_ctx_get (fd, this);
    struct version_task *task;
    bool settled;

    if (!file || !file->version)
        return;
    task = g_new (struct version_task, 1);
    *task = (struct version_task){ { version_judge, .background = true }, *file->version };
    task->version.open = fd->moved != NULL;
    g_clear_pointer (&file->version, g_free);
    pthread_mutex_lock (&priv->lock);
    settled = priv->settled;
    if (!settled)
        trash_line_add (&priv->maker, &task->task);
    pthread_mutex_unlock (&priv->lock);
    if (settled) {
        version_abandon (this, &task->version);
        g_free (task);
    }
}
