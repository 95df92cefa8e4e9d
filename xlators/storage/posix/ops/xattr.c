/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Extended attributes, of all namespaces, POSIX ACLs among them. */
#include "../posix.h"

#include <linux/limits.h>
#include <linux/xattr.h>
#include <sys/xattr.h>

#define XATTR_FIRST 1024   /* bytes that are asked for at first */
#define XATTR_ATTEMPTS 16 /* an attribute may grow between the query of its length and the read */

/* The target of an operation: the descriptor of an open file if there is one, else a path, since
 * symbolic links have attributes too and no other call reaches them. The descriptor takes a quarter
 * of the path's time, and a new file has one: the kernel asks for its security.capability when it
 * is first written. */
struct xattr_target {
    struct posix_pin pin;
    int fd;   /* negative: none */
    int copy; /* fd, if it has to be closed; else negative */
    struct posix_path path;
};

#define NO_TARGET { .fd = -1, .copy = -1 }

static void
xattr_target_clear (struct xattr_target *target)
{
    posix_unpin (&target->pin);
    if (target->copy >= 0)
        close (target->copy);
}

typedef struct xattr_target xattr_target_t;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (xattr_target_t, xattr_target_clear)

static int
xattr_find (xlator_t *this, inode_t *inode, fd_t *fd, struct xattr_target *target)
{
    struct posix_inode *pi = posix_inode_get (this, inode);
    int r;

    target->fd = fd ? posix_fd_lasting (posix_fd_get (this, fd)) : -1;
    if (target->fd >= 0)
        return 0;
    if (pi)
        target->fd = target->copy = posix_cache_copy_open (&posix_priv (this)->cache, pi);
    if (target->fd >= 0)
        return 0;
    r = posix_pin (this, inode, &target->pin);
    target->path = posix_path_of (target->pin.fd);
    return r;
}

/* If fd is NULL or has no descriptor here, the target is the inode. */
static int
xattr_begin (call_frame_t *frame, xlator_t *this, inode_t *inode, fd_t *fd,
             struct xattr_target *target)
{
    int r = xattr_find (this, inode, fd, target);

    return r < 0 ? r : posix_act_as (posix_priv (this), frame);
}

/* getxattr or, without a name, listxattr. */
static ssize_t
xattr_query (const struct xattr_target *target, const char *name, char *buf, size_t size)
{
    if (target->fd >= 0)
        return name ? fgetxattr (target->fd, name, buf, size) : flistxattr (target->fd, buf, size);
    return name ? getxattr (target->path.text, name, buf, size)
                : listxattr (target->path.text, buf, size);
}

static int
xattr_put (const struct xattr_target *target, const char *name, const void *value, size_t size,
           int flags)
{
    return target->fd >= 0 ? fsetxattr (target->fd, name, value, size, flags)
                           : setxattr (target->path.text, name, value, size, flags);
}

static int
xattr_take (const struct xattr_target *target, const char *name)
{
    return target->fd >= 0 ? fremovexattr (target->fd, name)
                           : removexattr (target->path.text, name);
}

/* Returns true if the caller may not know of the attribute. Acting as a caller changes the uid, but
 * does not remove the privilege that the trusted namespace requires. */
static bool
xattr_is_hidden (xlator_t *this, const call_frame_t *frame, const char *name)
{
    const posix_private_t *priv = posix_priv (this);

    if (priv->gfid_mode == GFID_XATTR && strcmp (name, POSIX_GFID_XATTR) == 0)
        return true;
    return priv->acts_as_caller && frame->root->uid != 0
        && g_str_has_prefix (name, XATTR_TRUSTED_PREFIX);
}

static int
xattr_set (call_frame_t *frame, xlator_t *this, inode_t *inode, fd_t *fd, const dict_t *dict,
           uint32_t flags)
{
    g_auto (xattr_target_t) target = NO_TARGET;
    const char *name;
    const void *value;
    size_t size;
    int r = xattr_begin (frame, this, inode, fd, &target);

    for (size_t i = 0; r == 0 && i < dict_count (dict); i++) {
        dict_nth (dict, i, &name, &value, &size);
        if (xattr_is_hidden (this, frame, name))
            r = -EPERM;
        else
            r = posix_result (xattr_put (&target, name, value, size, (int) flags));
    }
    return r;
}

/* Reads what does not fit into the first buffer. */
static ssize_t
xattr_read_long (const struct xattr_target *target, const char *name, char **ret_bytes)
{
    ssize_t n;

    for (int i = 0; i < XATTR_ATTEMPTS; i++) {
        g_autofree char *bytes = NULL;

        n = xattr_query (target, name, NULL, 0);
        if (n < 0)
            return -errno;
        if (n > XATTR_SIZE_MAX)
            return -E2BIG;
        bytes = g_malloc ((size_t) n + 1);
        n = xattr_query (target, name, bytes, (size_t) n);
        if (n >= 0) {
            bytes[n] = '\0';
            *ret_bytes = g_steal_pointer (&bytes);
            return n;
        }
        if (errno != ERANGE)
            return -errno;
    }
    return -ERANGE;
}

/* Reads an attribute or, without a name, the list of names. Returns the length, and *ret_bytes, to
 * be freed with g_free. Most are short, and then one system call is enough. */
static ssize_t
xattr_read (const struct xattr_target *target, const char *name, char **ret_bytes)
{
    char bytes[XATTR_FIRST + 1];
    const ssize_t n = xattr_query (target, name, bytes, XATTR_FIRST);

    if (n < 0)
        return errno == ERANGE ? xattr_read_long (target, name, ret_bytes) : -errno;
    bytes[n] = '\0';
    *ret_bytes = g_memdup2 (bytes, (size_t) n + 1);
    return n;
}

static void
xattr_add_names (call_frame_t *frame, xlator_t *this, const char *names, size_t size, dict_t *dict)
{
    for (const char *name = names; name < names + size; name += strlen (name) + 1)
        if (!xattr_is_hidden (this, frame, name))
            dict_set (dict, name, "", 0);
}

/* The virtual attribute: no system call, and the caller's rights play no part, as with
 * name_to_handle_at(2). */
static int
xattr_get_origin (xlator_t *this, inode_t *inode, dict_t **ret_dict)
{
    const struct posix_inode *pi = posix_inode_get (this, inode);
    unsigned char bytes[ORIGIN_MAX];
    size_t size;

    if (!pi)
        return -ESTALE;
    if (!posix_origin (pi, bytes, &size))
        return -ENODATA;
    *ret_dict = dict_new ();
    dict_set (*ret_dict, XDATA_ORIGIN, bytes, size);
    return 0;
}

/* Where the root lies, for a translator that has to leave it out of another storage's listings: no
 * caller learns it. */
static int
xattr_get_root_place (xlator_t *this, inode_t *inode, dict_t **ret_dict)
{
    struct root_place place;
    int r;

    if (posix_inode_get (this, inode) != posix_priv (this)->root)
        return -ENODATA;
    r = posix_root_place (this, &place);
    if (r < 0)
        return r;
    *ret_dict = dict_new ();
    dict_set (*ret_dict, XDATA_ROOT_PLACE, &place,
              offsetof (struct root_place, name) + strlen (place.name) + 1);
    return 0;
}

static int
xattr_get_root_way (xlator_t *this, inode_t *inode, dict_t **ret_dict)
{
    g_autoptr (GArray) way = g_array_new (FALSE, FALSE, sizeof (struct root_above));

    if (posix_inode_get (this, inode) != posix_priv (this)->root)
        return -ENODATA;
    posix_root_way (this, way);
    *ret_dict = dict_new ();
    dict_set (*ret_dict, XDATA_ROOT_WAY, way->data, way->len * sizeof (struct root_above));
    return 0;
}

static int
xattr_get (call_frame_t *frame, xlator_t *this, inode_t *inode, fd_t *fd, const char *name,
           dict_t **ret_dict)
{
    g_auto (xattr_target_t) target = NO_TARGET;
    g_autofree char *bytes = NULL;
    ssize_t n;

    if (name && strcmp (name, XDATA_ORIGIN) == 0)
        return xattr_get_origin (this, inode, ret_dict);
    if (name && strcmp (name, XDATA_ROOT_PLACE) == 0 && frame->root->internal)
        return xattr_get_root_place (this, inode, ret_dict);
    if (name && strcmp (name, XDATA_ROOT_WAY) == 0 && frame->root->internal)
        return xattr_get_root_way (this, inode, ret_dict);
    n = xattr_begin (frame, this, inode, fd, &target);
    if (n == 0 && name && xattr_is_hidden (this, frame, name))
        n = -ENODATA;
    if (n == 0)
        n = xattr_read (&target, name, &bytes);
    if (n < 0)
        return (int) n;
    *ret_dict = dict_new ();
    if (name)
        dict_set (*ret_dict, name, bytes, (size_t) n);
    else
        xattr_add_names (frame, this, bytes, (size_t) n, *ret_dict);
    return 0;
}

static int
xattr_remove (call_frame_t *frame, xlator_t *this, inode_t *inode, fd_t *fd, const char *name)
{
    g_auto (xattr_target_t) target = NO_TARGET;
    int r = name ? xattr_begin (frame, this, inode, fd, &target) : -EINVAL;

    if (r == 0)
        r = xattr_is_hidden (this, frame, name)
              ? -EPERM
              : posix_result (xattr_take (&target, name));
    return r;
}

void
posix_setxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *dict, uint32_t flags,
                dict_t *xdata)
{
    int r = xattr_set (frame, this, loc->inode, NULL, dict, flags);

    STACK_UNWIND (setxattr, frame, POSIX_RET (r), NULL);
}

void
posix_fsetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *dict, uint32_t flags,
                 dict_t *xdata)
{
    int r = xattr_set (frame, this, fd->inode, fd, dict, flags);

    STACK_UNWIND (fsetxattr, frame, POSIX_RET (r), NULL);
}

void
posix_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    dict_t *dict = NULL;
    int r = xattr_get (frame, this, loc->inode, NULL, name, &dict);

    STACK_UNWIND (getxattr, frame, POSIX_RET (r), dict, NULL);
    dict_unref (dict);
}

void
posix_fgetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    dict_t *dict = NULL;
    int r = xattr_get (frame, this, fd->inode, fd, name, &dict);

    STACK_UNWIND (fgetxattr, frame, POSIX_RET (r), dict, NULL);
    dict_unref (dict);
}

void
posix_removexattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    int r = xattr_remove (frame, this, loc->inode, NULL, name);

    STACK_UNWIND (removexattr, frame, POSIX_RET (r), NULL);
}

void
posix_fremovexattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    int r = xattr_remove (frame, this, fd->inode, fd, name);

    STACK_UNWIND (fremovexattr, frame, POSIX_RET (r), NULL);
}
