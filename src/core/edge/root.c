/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/root.h"

#include "core/base/name.h"
#include "core/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

struct roots {
    unsigned refs;
    GPtrArray *all; /* struct root */
    char *mountpoint;
    struct stat mountpoint_st; /* of the directory that the mount is over */
    dev_t device;              /* of the mount; 0: not mounted. Atomic */
    bool read_only;            /* the mount is; constant from init on */
};

/* --- the set --------------------------------------------------------------------------------- */

static void
root_free (gpointer data)
{
    struct root *root = data;

    if (root->fd >= 0)
        close (root->fd);
    if (root->quiet_fd >= 0)
        close (root->quiet_fd);
    g_free (root->path);
    g_free (root);
}

struct roots *
roots_new (void)
{
    struct roots *roots = g_new0 (struct roots, 1);

    roots->refs = 1;
    roots->all = g_ptr_array_new_with_free_func (root_free);
    return roots;
}

struct roots *
roots_ref (struct roots *roots)
{
    roots->refs++;
    return roots;
}

void
roots_unref (struct roots *roots)
{
    if (!roots || --roots->refs > 0)
        return;
    g_ptr_array_unref (roots->all);
    g_free (roots->mountpoint);
    g_free (roots);
}

void
roots_set_mountpoint (struct roots *roots, const char *mountpoint)
{
    g_assert (roots->all->len == 0);
    roots->mountpoint = g_strdup (mountpoint);
    if (stat (mountpoint, &roots->mountpoint_st) < 0)
        roots->mountpoint_st = (struct stat){ 0 };
}

void
roots_set_device (struct roots *roots, dev_t device)
{
    __atomic_store_n (&roots->device, device, __ATOMIC_RELAXED);
}

/* --- a root ---------------------------------------------------------------------------------- */

/* The device of fd's file system, without a request to it: that is a question for nothing but what
 * the kernel knows. 0 on error. */
static dev_t
device_of (int fd)
{
    struct statx stx;

    return statx (fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stx) < 0
             ? 0
             : makedev (stx.stx_dev_major, stx.stx_dev_minor);
}

static bool
roots_own (const struct roots *roots, int fd)
{
    const dev_t device = __atomic_load_n (&roots->device, __ATOMIC_RELAXED);

    return device != 0 && device_of (fd) == device;
}

bool
root_is_own_mount (const struct root *root, int fd)
{
    return roots_own (root->roots, fd);
}

bool
root_is_mounted (const struct root *root)
{
    return __atomic_load_n (&root->roots->device, __ATOMIC_RELAXED) != 0;
}

/* valgrind doesn't know the system calls. */
static int
root_open_quiet (int fd)
{
    struct mount_attr quiet = { .attr_set = MOUNT_ATTR_NOATIME, .attr_clr = MOUNT_ATTR__ATIME };
    int tree = -1, quiet_fd = -1;

    if (!process_is_under_valgrind ())
        tree = open_tree (fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return -1;
    if (mount_setattr (tree, "", AT_EMPTY_PATH, &quiet, sizeof quiet) == 0)
        quiet_fd = openat (tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close (tree);
    return quiet_fd;
}

/* The path by which the kernel knows the directory; NULL: none. g_free it. */
static char *
root_real (const struct root *root)
{
    g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", root->fd);

    return g_file_read_link (link, NULL);
}

/* Returns whether that path is below the mount point. */
static bool
root_is_below (const struct root *root, const char *mountpoint)
{
    g_autofree char *real = root_real (root);

    return real && path_is_in (real, mountpoint);
}

static void
root_place (struct root *root)
{
    const struct roots *roots = root->roots;
    struct stat st;

    if (root->fd < 0 || !roots->mountpoint)
        return;
    root->covered = fstat (root->fd, &st) == 0 && st.st_dev == roots->mountpoint_st.st_dev
                 && st.st_ino == roots->mountpoint_st.st_ino;
    root->hidden = root->covered || root_is_below (root, roots->mountpoint);
}

static struct root *
root_open (struct roots *roots, const char *path)
{
    struct root *root = g_new0 (struct root, 1);

    root->roots = roots;
    root->path = g_strdup (path);
    root->quiet_fd = -1;
    root->fd = open (path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root->fd < 0) {
        root->fd = -errno;
    } else if (roots_own (roots, root->fd)) {
        close (root->fd);
        root->fd = -ELOOP;
    }
    root_place (root);
    if (root->fd >= 0)
        root->quiet_fd = root_open_quiet (root->fd);
    g_ptr_array_add (roots->all, root);
    return root;
}

struct root *
roots_find (const struct roots *roots, const char *path)
{
    g_autofree char *plain = g_canonicalize_filename (path, "/");

    for (guint i = 0; i < roots->all->len; i++) {
        struct root *root = roots->all->pdata[i];

        if (strcmp (root->path, plain) == 0)
            return root;
    }
    return NULL;
}

struct root *
roots_use (struct roots *roots, const char *path)
{
    g_autofree char *plain = g_canonicalize_filename (path, "/");
    struct root *root = roots_find (roots, plain);

    if (!root)
        root = root_open (roots, plain);
    root->users++;
    return root;
}

void
root_leave (struct root *root)
{
    g_assert (root->users > 0);
    if (--root->users == 0 && !root->hidden)
        g_ptr_array_remove_fast (root->roots->all, root);
}

const struct root *
xlator_root (const xlator_t *this, const char *key)
{
    for (guint i = 0; this->settings && i < this->settings->len; i++) {
        const struct option_setting *setting = this->settings->pdata[i];

        if (strcmp (setting->option->key[0], key) == 0)
            return setting->text ? roots_find (this->roots, setting->text) : NULL;
    }
    return NULL;
}

void
roots_set_read_only (struct roots *roots)
{
    roots->read_only = true;
}

bool
xlator_is_read_only (const xlator_t *this)
{
    return this->roots && this->roots->read_only;
}

/* --- mounts inside ---------------------------------------------------------------------------- */

/* The number of the mount that the directory is in, as mountinfo has it; 0: not known. */
static int
root_mount_id (const struct root *root)
{
    g_autofree char *name = g_strdup_printf ("/proc/self/fdinfo/%d", root->fd), *text = NULL;
    const char *line;

    if (!g_file_get_contents (name, &text, NULL, NULL) || !(line = strstr (text, "mnt_id:")))
        return 0;
    return atoi (line + strlen ("mnt_id:"));
}

/* Looks at a line of mountinfo. inside: the mounts that are below the root, with the root's own. A
 * mount in the mount that this graph serves is none of them, though its path is below the root's.
 * Returns the mount point, or NULL: the line is of another mount. g_free it. */
static char *
root_look_at_mount (const char *line, const char *real, GHashTable *inside)
{
    g_auto (GStrv) fields = g_strsplit (line, " ", 6); /* id, parent, device, root, mount point */
    g_autofree char *point = g_strv_length (fields) == 6 ? g_strcompress (fields[4]) : NULL;

    if (!point || !g_hash_table_contains (inside, GINT_TO_POINTER (atoi (fields[1])))
        || strcmp (point, real) == 0 || !path_is_in (point, real))
        return NULL;
    g_hash_table_add (inside, GINT_TO_POINTER (atoi (fields[0])));
    return g_steal_pointer (&point);
}

char *
root_mount_inside (const struct root *root, const char *path)
{
    g_autofree char *real = root_real (root), *mountinfo = NULL, *whole = NULL, *found = NULL;
    g_autoptr (GHashTable) inside = g_hash_table_new (NULL, NULL);
    g_auto (GStrv) lines = NULL;

    const int own = root->fd >= 0 ? root_mount_id (root) : 0;

    if (own == 0 || !real || !g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL))
        return NULL;
    whole = g_build_filename (real, path, NULL);
    g_hash_table_add (inside, GINT_TO_POINTER (own));
    lines = g_strsplit (mountinfo, "\n", -1);
    for (char **line = lines; *line; line++) {
        g_autofree char *point = root_look_at_mount (*line, real, inside);

        if (point && path_is_in (whole, point)) {
            g_free (found);
            found = g_steal_pointer (&point);
        }
    }
    return g_steal_pointer (&found);
}
