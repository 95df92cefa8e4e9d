/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the log is: in a directory outside of the mount, or where the predecessor has it. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
audit_is_same (int one, int other)
{
    struct stat a, b;

    return fstat (one, &a) == 0 && fstat (other, &b) == 0 && a.st_dev == b.st_dev
        && a.st_ino == b.st_ino;
}

/* Returns whether the directory is the other one, or below it. */
static bool
audit_is_below (int directory, int other)
{
    int at = openat (directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC), up;
    bool found = false;

    while (at >= 0 && !(found = audit_is_same (at, other))) {
        up = openat (at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (up >= 0 && audit_is_same (up, at)) {
            close (up);
            up = -1;
        }
        close (at);
        at = up;
    }
    if (at >= 0)
        close (at);
    return found;
}

/* Returns the storage below that works on a directory with the log in it, or NULL. */
static const xlator_t *
audit_storage_around (const xlator_t *xl, int directory)
{
    const xlator_t *found = NULL;

    for (guint i = 0; !xl->children && xl->settings && i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];
        const struct root *root =
            setting->option->root ? xlator_root (xl, setting->option->key[0]) : NULL;

        if (root && root->fd >= 0 && audit_is_below (directory, root->fd))
            return xl;
    }
    for (const xlator_list_t *child = xl->children; child && !found; child = child->next)
        found = audit_storage_around (child->xlator, directory);
    return found;
}

/* Returns the log's directory, or -1 after a message. */
static int
audit_directory (xlator_t *this)
{
    const struct root *root = xlator_root (this, "log-directory");
    const xlator_t *around;

    if (!root) {
        gf_log (this, GF_LOG_ERROR,
                "option 'log-directory' is missing: where are the records to go? Or set 'option "
                "target journal'");
        return -1;
    }
    if (root->fd < 0) {
        option_refuse (this, "log-directory", "can't be opened: %s", g_strerror (-root->fd));
        return -1;
    }
    if (root->covered || root->hidden || root_is_own_mount (root, root->fd)) {
        option_refuse (this, "log-directory",
                       "is in the mount: each record would be an operation to record");
        return -1;
    }
    around = audit_storage_around (FIRST_CHILD (this), root->fd);
    if (around) {
        option_refuse (this, "log-directory",
                       "is in the directory of volume '%s', so in the mount: who is recorded could "
                       "change the records",
                       around->name);
        return -1;
    }
    return root->fd;
}

/* Returns the predecessor's log, with a reference, if this one has the same; or NULL. */
static struct audit_log *
audit_log_before (const xlator_t *this, const xlator_t *predecessor)
{
    const audit_private_t *priv = this->private, *old = predecessor ? predecessor->private : NULL;

    if (!old || old->target != priv->target
        || (priv->target == AUDIT_FILE
            && (strcmp (old->name, priv->name) != 0
                || xlator_root (this, "log-directory")
                       != xlator_root (predecessor, "log-directory"))))
        return NULL;
    return audit_log_ref (old->log);
}

int
audit_take_over_prepare (xlator_t *this, xlator_t *predecessor)
{
    audit_private_t *priv = this->private;
    const int directory = priv->target == AUDIT_FILE ? audit_directory (this) : -1;
    int r;

    if (directory < 0 && priv->target == AUDIT_FILE)
        return -EINVAL;
    priv->log = audit_log_before (this, predecessor);
    if (!priv->log)
        priv->log = audit_log_open (priv->target, directory, priv->name);
    r = priv->log ? 0 : -errno;
    if (r < 0)
        gf_log (this, GF_LOG_ERROR, "the log '%s' can't be opened: %s", priv->name,
                r == -EPERM   ? "it is no plain file of ours, or others may write to it"
                : r == -EBUSY ? "another volume or daemon writes to it"
                              : g_strerror (-r));
    return r;
}
