/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One object in a layer: its marks, and whether it equals another one. */
#include "diff.h"
#include "../formats/wh.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PIECE (1 << 20) /* bytes of a read */

static const char *const mark_prefixes[] = { "trusted.overlay.", "user.overlay." };

/* --- marks ------------------------------------------------------------------------------------ */

/* Returns 0 and the dict, or a negative errno. name NULL: all names. */
static int
object_xattr (const struct diff_object *object, const char *name, dict_t **ret_dict)
{
    loc_t loc = { .inode = object->inode };
    struct getxattr_reply reply;
    const int r = sync_getxattr (object->layer->client, &loc, name, NULL, &reply);

    if (r >= 0)
        *ret_dict = dict_ref (reply.dict);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static bool
error_is_no_mark (int r)
{
    return r == -ENODATA || r == -EOPNOTSUPP || r == -EPERM || r == -EACCES;
}

/* Puts the value of a mark into *ret_value, NULL if there is none; g_free it. Returns 0 or a
 * negative errno. */
static int
object_mark (const struct diff_object *object, const char *mark, char **ret_value)
{
    *ret_value = NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS (mark_prefixes) && !*ret_value; i++) {
        g_autofree char *name = g_strconcat (mark_prefixes[i], mark, NULL);
        g_autoptr (dict_t) dict = NULL;
        const int r = object_xattr (object, name, &dict);
        size_t size;
        const char *value = r == 0 ? dict_get (dict, name, &size) : NULL;

        if (value)
            *ret_value = g_strndup (value, size);
        else if (r < 0 && !error_is_no_mark (r))
            return r;
    }
    return 0;
}

/* An empty file with a mark is a whiteout, too, where a layer has been made without devices. */
int
diff_is_whiteout (const struct diff_object *object)
{
    g_autofree char *mark = NULL;
    int r;

    if (object->buf.ia_type == IA_IFCHR)
        return object->buf.ia_rdev == 0;
    if (object->buf.ia_type != IA_IFREG || object->buf.ia_size > 0)
        return 0;
    r = object_mark (object, "whiteout", &mark);
    return r < 0 ? r : mark != NULL;
}

int
diff_is_opaque (const struct diff_object *object)
{
    g_autofree char *mark = NULL;
    const int r = object_mark (object, "opaque", &mark);

    if (r < 0 || g_strcmp0 (mark, "y") == 0)
        return r < 0 ? r : 1;
    return overlay_wh_hides (object->layer->client, object->layer->wh, object->inode, NULL);
}

int
diff_redirect (const struct diff_object *object, char **ret_redirect)
{
    return object_mark (object, "redirect", ret_redirect);
}

/* --- extended attributes ---------------------------------------------------------------------- */

static bool
xattr_is_mark (const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (mark_prefixes); i++)
        if (g_str_has_prefix (name, mark_prefixes[i]))
            return true;
    return false;
}

/* Adds the values of all names but marks. One that vanishes meanwhile is left out. */
static int
object_xattrs (const struct diff_object *object, dict_t *all)
{
    g_autoptr (dict_t) names = NULL;
    int r = object_xattr (object, NULL, &names);

    for (size_t i = 0; r == 0 && i < dict_count (names); i++) {
        g_autoptr (dict_t) one = NULL;
        const void *value;
        const char *name;
        size_t size;

        dict_nth (names, i, &name, &value, &size);
        if (xattr_is_mark (name))
            continue;
        r = object_xattr (object, name, &one);
        value = r == 0 ? dict_get (one, name, &size) : NULL;
        if (value)
            dict_set (all, name, value, size);
        r = r == -ENODATA ? 0 : r;
    }
    return r == -EOPNOTSUPP ? 0 : r;
}

static int
xattrs_compare (const struct diff_object *before, const struct diff_object *after,
                unsigned *what)
{
    g_autoptr (dict_t) one = dict_new (), other = dict_new ();
    int r = object_xattrs (before, one);

    if (r == 0)
        r = object_xattrs (after, other);
    if (r == 0 && !dict_equal (one, other))
        *what |= DIFF_XATTRS;
    return r;
}

/* --- content ---------------------------------------------------------------------------------- */

struct object_reader {
    const struct diff_object *object;
    fd_t *fd;
    off_t offset;
};

static int
reader_open (struct object_reader *reader, const struct diff_object *object)
{
    *reader = (struct object_reader){ .object = object };
    return sync_name_open (object->layer->client, object->layer->fds, object->inode, O_RDONLY,
                           &reader->fd);
}

/* Appends PIECE bytes, or less at the end of the file. Returns 0 or a negative errno. */
static int
reader_next (struct object_reader *reader, GByteArray *bytes)
{
    const guint end = bytes->len + PIECE;
    int r = 1;

    while (r > 0 && bytes->len < end) {
        struct readv_reply reply;

        r = sync_readv (reader->object->layer->client, reader->fd, end - bytes->len,
                        reader->offset, 0, NULL, &reply);
        for (int32_t i = 0; r > 0 && i < reply.count; i++)
            g_byte_array_append (bytes, reply.vector[i].iov_base,
                                 (guint) reply.vector[i].iov_len);
        reader->offset += MAX (r, 0);
        readv_reply_drop (&reply);
    }
    return error_or_0 (r);
}

/* Both files have the same size. */
static int
pieces_compare (struct object_reader *one, struct object_reader *other, unsigned *what)
{
    int r = 0;

    while (r == 0) {
        g_autoptr (GByteArray) bytes = g_byte_array_new (), others = g_byte_array_new ();

        r = reader_next (one, bytes);
        if (r == 0)
            r = reader_next (other, others);
        if (r < 0)
            break;
        if (bytes->len != others->len
            || (bytes->len > 0 && memcmp (bytes->data, others->data, bytes->len) != 0)) {
            *what |= DIFF_CONTENT;
            return 0;
        }
        if (bytes->len == 0)
            return 0;
    }
    return r;
}

static int
files_compare (const struct diff_object *before, const struct diff_object *after, unsigned *what)
{
    struct object_reader one, other = { 0 };
    int r;

    if (before->buf.ia_size != after->buf.ia_size) {
        *what |= DIFF_CONTENT;
        return 0;
    }
    if (before->buf.ia_size == 0)
        return 0;
    r = reader_open (&one, before);
    if (r == 0)
        r = reader_open (&other, after);
    if (r == 0)
        r = pieces_compare (&one, &other, what);
    fd_unref (one.fd);
    fd_unref (other.fd);
    return r;
}

static int
object_target (const struct diff_object *object, char **ret_target)
{
    loc_t loc = { .inode = object->inode };
    struct readlink_reply reply;
    const int r = sync_readlink (object->layer->client, &loc, PATH_MAX, NULL, &reply);

    if (r >= 0)
        *ret_target = g_strdup (reply.path);
    readlink_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

static int
targets_compare (const struct diff_object *before, const struct diff_object *after, unsigned *what)
{
    g_autofree char *one = NULL, *other = NULL;
    int r = object_target (before, &one);

    if (r == 0)
        r = object_target (after, &other);
    if (r == 0 && strcmp (one, other) != 0)
        *what |= DIFF_CONTENT;
    return r;
}

static int
content_compare (const struct diff_object *before, const struct diff_object *after, unsigned *what)
{
    switch (after->buf.ia_type) {
    case IA_IFREG:
        return files_compare (before, after, what);
    case IA_IFLNK:
        return targets_compare (before, after, what);
    case IA_IFBLK: case IA_IFCHR:
        *what |= before->buf.ia_rdev != after->buf.ia_rdev ? DIFF_CONTENT : 0;
        return 0;
    default:
        return 0;
    }
}

/* A file system that keeps whole seconds has cut off the rest when it got the copy. */
bool
diff_times_differ (const struct iatt *before, const struct iatt *after)
{
    return before->ia_mtime != after->ia_mtime
        || (before->ia_mtime_nsec != after->ia_mtime_nsec && before->ia_mtime_nsec != 0
            && after->ia_mtime_nsec != 0);
}

int
diff_compare (const struct diff_object *before, const struct diff_object *after,
              unsigned *ret_what)
{
    unsigned what = 0;
    int r;

    if (before->buf.ia_prot != after->buf.ia_prot && after->buf.ia_type != IA_IFLNK)
        what |= DIFF_MODE;
    if (before->buf.ia_uid != after->buf.ia_uid || before->buf.ia_gid != after->buf.ia_gid)
        what |= DIFF_OWNER;
    r = xattrs_compare (before, after, &what);
    if (r == 0)
        r = content_compare (before, after, &what);
    if (after->buf.ia_type != IA_IFDIR && !(what & DIFF_CONTENT)
        && diff_times_differ (&before->buf, &after->buf))
        what |= DIFF_TIMES;
    if (r == 0)
        *ret_what = what;
    return r;
}

int
diff_read_all (const struct diff_object *object, gsize max, char **ret_bytes, gsize *ret_size)
{
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    struct object_reader reader;
    guint before;
    int r;

    if (object->buf.ia_type == IA_IFLNK) {
        r = object_target (object, ret_bytes);
        *ret_size = r == 0 ? strlen (*ret_bytes) : 0;
        return r;
    }
    r = reader_open (&reader, object);
    do {
        before = bytes->len;
        r = r == 0 ? reader_next (&reader, bytes) : r;
    } while (r == 0 && bytes->len > before && bytes->len <= max);
    fd_unref (reader.fd);
    if (r == 0 && bytes->len > max)
        r = -EFBIG;
    if (r == 0) {
        *ret_size = bytes->len;
        *ret_bytes = (char *) g_byte_array_free (g_steal_pointer (&bytes), FALSE);
    }
    return r;
}
