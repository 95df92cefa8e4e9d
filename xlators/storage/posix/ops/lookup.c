/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* lookup: finds the object of a name. It is opened first, and all queries use that descriptor, so
 * that no race can mix two objects. */
#include "../posix.h"

#include <limits.h>

int
posix_check_name (const char *name)
{
    if (!name || name[0] == '\0' || name_is_dots (name) || strchr (name, '/'))
        return -EINVAL;
    return strlen (name) > NAME_MAX ? -ENAMETOOLONG : 0;
}

static int
lookup_adopt (xlator_t *this, int fd, struct itable *table, inode_t *given,
              struct posix_found *found)
{
    struct posix_ident ident;
    int r = posix_identify (this, fd, &ident, &found->buf);

    if (r < 0) {
        close (fd);
        return r;
    }
    return posix_adopt (this, table, given, fd, &ident, found);
}

int
posix_look (xlator_t *this, int dirfd, const char *name, struct itable *table, inode_t *given,
            struct posix_found *found)
{
    int fd = posix_open_name (this, dirfd, name);

    return fd < 0 ? fd : lookup_adopt (this, fd, table, given, found);
}

/* Looks up an inode without a name again. */
static int
lookup_inode (xlator_t *this, inode_t *inode, struct posix_found *found)
{
    int r = posix_pin (this, inode, &found->pin);

    if (r < 0)
        return r;
    found->inode = inode_ref (inode);
    return posix_iatt (this, found->pin.fd, &found->pin.pi->gfid, &found->buf);
}

/* The root is always open, so no other object has its number. */
static bool
lookup_is_root (xlator_t *this, const struct stat *st)
{
    const struct posix_inode *root = posix_priv (this)->root;

    return st->st_dev == file_system_dev (root->fs) && st->st_ino == root->ino;
}

/* Returns true if the root is above fd's object. A directory may have been moved out of the root
 * behind the mount. */
static bool
lookup_below_root (xlator_t *this, int fd)
{
    struct stat st, last = { 0 };
    int at = posix_openat (this, fd, ".", O_PATH | O_DIRECTORY, 0), up;
    bool found = false;

    while (at >= 0 && fstat (at, &st) == 0
           && (st.st_ino != last.st_ino || st.st_dev != last.st_dev)) {
        found = lookup_is_root (this, &st);
        if (found)
            break;
        last = st;
        up = posix_open_up (this, at);
        close (at);
        at = up;
    }
    if (at >= 0)
        close (at);
    return found;
}

/* "..": the directory above, by the table or else by the system. Never above the root. */
static int
lookup_parent (call_frame_t *frame, xlator_t *this, inode_t *dir, struct posix_found *found)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;
    g_auto (posix_pin_t) pin = { 0 };
    struct stat st;
    int fd, r;

    if (posix_inode_get (this, dir) == posix_priv (this)->root)
        return lookup_inode (this, dir, found);
    if (inode_a_name (dir, &parent, &name))
        return lookup_inode (this, parent, found);
    r = posix_pin (this, dir, &pin);
    if (r < 0)
        return r;
    r = posix_act_as (posix_priv (this), frame);
    if (r < 0)
        return r;
    fd = posix_open_up (this, pin.fd);
    if (fd < 0)
        return fd;
    posix_act_as_root (posix_priv (this));
    if (fstat (fd, &st) == 0 && lookup_is_root (this, &st)) {
        close (fd);
        return lookup_inode (this, itable_root (dir->table), found);
    }
    if (lookup_below_root (this, fd))
        return lookup_adopt (this, fd, dir->table, NULL, found);
    close (fd);
    return -ESTALE;
}

/* --- where the root lies ---------------------------------------------------------------------- */

/* The last name of the path by which the kernel knows the root. */
static int
root_place_name (const struct root *where, struct root_place *place)
{
    g_autofree char *path = g_file_read_link (posix_path_of (where->fd).text, NULL);
    const char *slash = path ? strrchr (path, '/') : NULL;

    if (!slash || !slash[1])
        return -ENODATA;
    g_strlcpy (place->name, slash + 1, sizeof place->name);
    return 0;
}

int
posix_root_place (xlator_t *this, struct root_place *ret_place)
{
    const struct root *where = posix_priv (this)->where;
    struct posix_ident ident;
    struct iatt buf;
    struct stat st;
    int r = root_place_name (where, ret_place);
    const int fd = r < 0 ? r : posix_open_up (this, where->fd);

    if (fd < 0)
        return fd;
    r = fstat (fd, &st) < 0 ? -errno : 0;
    if (r == 0 && lookup_is_root (this, &st))
        r = -ENODATA;
    if (r == 0)
        r = posix_identify (this, fd, &ident, &buf);
    close (fd);
    if (r < 0)
        return r;
    ret_place->directory = ident.gfid;
    ret_place->dev = st.st_dev;
    ret_place->ino = st.st_ino;
    return 0;
}

void
posix_root_way (xlator_t *this, GArray *way)
{
    int fd = posix_open_up (this, posix_priv (this)->where->fd), up;
    struct root_above above, last = { 0 };
    struct stat st;

    while (fd >= 0 && fstat (fd, &st) == 0 && (st.st_dev != last.dev || st.st_ino != last.ino)) {
        last = above = (struct root_above){ st.st_dev, st.st_ino };
        g_array_append_val (way, above);
        up = posix_open_up (this, fd);
        close (fd);
        fd = up;
    }
    if (fd >= 0)
        close (fd);
}

/* --- by origin -------------------------------------------------------------------------------- */

bool
posix_origin (const struct posix_inode *pi, unsigned char bytes[ORIGIN_MAX], size_t *ret_size)
{
    struct origin origin = { .type = pi->handle_type, .size = pi->handle_size };

    if (!pi->fs->has_uuid || origin.size == 0 || origin.size > sizeof origin.handle)
        return false;
    memcpy (origin.uuid, pi->fs->uuid, sizeof origin.uuid);
    memcpy (origin.handle, pi->handle, origin.size);
    *ret_size = origin_encode (&origin, bytes);
    return *ret_size > 0;
}

/* Said once, by the first call. */
static void
lookup_say_no_handles (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);

    if (!__atomic_exchange_n (&priv->said_no_handles, true, __ATOMIC_RELAXED))
        gf_log (this, GF_LOG_WARNING,
                "files of '%s' can't be found by the origins that overlays record: that takes root "
                "(CAP_DAC_READ_SEARCH), a file system that has file handles, and 'handles' must "
                "not be 'descriptor'; this is said once",
                priv->directory);
}

/* Opens the object that the handle stands for, as the daemon. */
static int
lookup_open_origin (xlator_t *this, const struct origin *origin)
{
    const struct file_system *fs = posix_priv (this)->root->fs;
    struct posix_ident ident = { .handle_type = origin->type, .handle_size = origin->size };
    struct posix_inode *wanted;
    int fd;

    if (!fs->has_uuid || memcmp (fs->uuid, origin->uuid, sizeof fs->uuid) != 0)
        return -EXDEV;
    ident.fs = fs;
    memcpy (ident.handle, origin->handle, origin->size);
    wanted = posix_inode_new (&ident);
    fd = posix_handle_open (this, wanted, O_PATH);
    g_free (wanted);
    return fd == -EINVAL ? -ESTALE : fd; /* a handle that the file system can't read */
}

/* A handle leads to any file of the file system. Only of a directory it can be told whether it is
 * in the root. */
static int
lookup_origin (xlator_t *this, inode_t *given, const void *bytes, size_t size,
               struct posix_found *found)
{
    struct origin origin;
    struct stat st;
    int r = origin_decode (bytes, size, &origin), fd;

    if (r < 0)
        return -EINVAL;
    if (!posix_priv (this)->by_handle) {
        lookup_say_no_handles (this);
        return -EOPNOTSUPP;
    }
    fd = lookup_open_origin (this, &origin);
    if (fd < 0)
        return fd;
    r = fstat (fd, &st) == 0 ? 0 : -ESTALE;
    if (r == 0 && lookup_is_root (this, &st)) {
        close (fd);
        return lookup_inode (this, itable_root (given->table), found);
    }
    if (r == 0 && S_ISDIR (st.st_mode) && !lookup_below_root (this, fd))
        r = -ESTALE;
    if (r < 0) {
        close (fd);
        return r;
    }
    return lookup_adopt (this, fd, given->table, given, found);
}

/* --- by name ---------------------------------------------------------------------------------- */

static int
lookup_name (call_frame_t *frame, xlator_t *this, loc_t *loc, struct posix_found *found)
{
    g_auto (posix_pin_t) pin = { 0 };
    int r = posix_check_name (loc->name);

    if (r == 0)
        r = posix_pin (this, loc->parent, &pin);
    if (r == 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r == 0)
        r = posix_look (this, pin.fd, loc->name, loc->parent->table, loc->inode, found);
    return r;
}

static int
lookup_any (call_frame_t *frame, xlator_t *this, loc_t *loc, const dict_t *xdata,
            struct posix_found *found)
{
    size_t size;
    const void *origin = xdata ? dict_get (xdata, XDATA_ORIGIN, &size) : NULL;

    if (origin && !loc->name && loc->inode)
        return lookup_origin (this, loc->inode, origin, size, found);
    if (!loc->name || !loc->parent)
        return lookup_inode (this, loc->inode, found);
    if (strcmp (loc->name, ".") == 0)
        return lookup_inode (this, loc->parent, found);
    if (strcmp (loc->name, "..") == 0)
        return lookup_parent (frame, this, loc->parent, found);
    return lookup_name (frame, this, loc, found);
}

void
posix_lookup (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    g_auto (posix_found_t) found = { 0 };
    int r = lookup_any (frame, this, loc, xdata, &found);
    g_autoptr (dict_t) content = r == 0 ? posix_content (frame, this, &found, xdata) : NULL;

    STACK_UNWIND (lookup, frame, POSIX_RET (r), r < 0 ? NULL : found.inode,
                  r < 0 ? NULL : &found.buf, content, NULL);
}
