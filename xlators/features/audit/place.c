/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where the log is: in a directory outside of the mount. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

/* Returns whether the directory is the other one, or a way up leads there. */
static bool
audit_way_up_leads_to (int directory, int other)
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

/* --- places in a file system ------------------------------------------------------------------ */

/* Where a directory lies in its file system, whatever mount leads there. */
typedef struct audit_place {
    char *device; /* "major:minor" */
    char *path;   /* from the root of the file system */
} audit_place_t;

static void
audit_place_clear (struct audit_place *place)
{
    g_free (place->device);
    g_free (place->path);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (audit_place_t, audit_place_clear)

/* The number of the mount that a descriptor was opened in, as in mountinfo; NULL: not known. */
static char *
audit_mount_of (int fd)
{
    g_autofree char *name = g_strdup_printf ("/proc/self/fdinfo/%d", fd), *text = NULL;
    const char *line;

    if (!g_file_get_contents (name, &text, NULL, NULL) || !(line = strstr (text, "mnt_id:")))
        return NULL;
    line += strlen ("mnt_id:");
    return g_strdup_printf ("%d", atoi (line));
}

/* fields: of the line of the mount in mountinfo: id, parent, major:minor, root, mount point. */
static bool
audit_place_in_mount (char *const *fields, const char *path, struct audit_place *ret_place)
{
    g_autofree char *root = g_strcompress (fields[3]), *point = g_strcompress (fields[4]);
    const char *rest = strcmp (point, "/") == 0 ? path : path + strlen (point);

    if (!g_str_has_prefix (path, point) || (*rest && *rest != '/'))
        return false;
    ret_place->device = g_strdup (fields[2]);
    ret_place->path = g_strconcat (strcmp (root, "/") == 0 ? "" : root, rest, NULL);
    return true;
}

static bool
audit_find_place (int fd, struct audit_place *ret_place)
{
    g_autofree char *name = g_strdup_printf ("/proc/self/fd/%d", fd), *mountinfo = NULL,
                    *path = g_file_read_link (name, NULL), *id = audit_mount_of (fd);
    g_auto (GStrv) lines = NULL;

    if (!path || !id || !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        return false;
    lines = g_strsplit (mountinfo, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_auto (GStrv) fields = g_strsplit (*line, " ", 6);

        if (g_strv_length (fields) == 6 && strcmp (fields[0], id) == 0)
            return audit_place_in_mount (fields, path, ret_place);
    }
    return false;
}

/* Returns whether the directory is the other one, or below it, also by a bind mount: there no way
 * up leads from the one to the other. */
static bool
audit_is_below (int directory, int other)
{
    g_auto (audit_place_t) place = { 0 }, around = { 0 };
    size_t size;

    if (audit_way_up_leads_to (directory, other))
        return true;
    if (!audit_find_place (directory, &place) || !audit_find_place (other, &around))
        return false;
    size = strlen (around.path);
    while (size > 0 && around.path[size - 1] == '/')
        size--;
    return strcmp (place.device, around.device) == 0
        && strncmp (place.path, around.path, size) == 0
        && (place.path[size] == '/' || place.path[size] == '\0');
}

/* --- the directory of the log ----------------------------------------------------------------- */

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

static void
audit_tell_log (xlator_t *this, int directory, const char *name, int r)
{
    g_autofree char *problem = record_file_problem (directory, name, r);

    gf_log (this, GF_LOG_ERROR, "the log '%s' can't be opened: %s%s", name, problem,
            directory >= 0 ? "; the options log-name and log-directory can name another" : "");
}

int
audit_open_log (xlator_t *this)
{
    audit_private_t *priv = this->private;
    const bool to_file = priv->target == RECORDS_TO_FILE;
    const int directory = to_file ? audit_directory (this) : -1;
    const char *name = to_file ? priv->name : "windlass-audit";
    int r;

    if (directory < 0 && to_file)
        return -EINVAL;
    priv->log = record_log_open (priv->target, directory, name);
    r = priv->log ? 0 : -errno;
    if (r < 0)
        audit_tell_log (this, directory, name, r);
    return r;
}
