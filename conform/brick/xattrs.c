/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The procedure xattrop, and extended attributes in the xdata of other calls and of replies. The
 * translators cluster/replicate and cluster/distribute use both. */
#include "conform/brick/request.h"

#include <errno.h>
#include <string.h>

#define NUMBERS_MAX 256 /* most bytes of an attribute's value that the brick reads */

#define LOCKS_ASKED "glusterfs.inodelk-dom-count"
#define LOCKS_FOUND "glusterfs.inodelk-count"
#define APPENDED "glusterfs.write-is-append"
#define NAME_LOCKED "glusterfs.parent-entrylk"

/* --- xattrop ---------------------------------------------------------------------------------- */

/* Copies at most NUMBERS_MAX bytes of an attribute's value to `to`. Returns the number of bytes, or
 * 0 if the file has no such attribute. */
static size_t
brick_get_xattr (struct brick_request *q, inode_t *inode, const char *name, uint8_t *to)
{
    loc_t loc = { .inode = inode };
    struct getxattr_reply reply = { 0 };
    const void *value = NULL;
    size_t size = 0;

    if (sync_getxattr (q->client, &loc, name, NULL, &reply) >= 0)
        value = dict_get (reply.dict, name, &size);
    size = value ? MIN (size, NUMBERS_MAX) : 0;
    if (value)
        memcpy (to, value, size);
    getxattr_reply_drop (&reply);
    return size;
}

static uint32_t
brick_combine (uint32_t flags, uint32_t old, uint32_t change)
{
    switch (flags) {
    case XATTROP_ADD_ARRAY: return old + change;
    case XATTROP_OR_ARRAY: return old | change;
    case XATTROP_AND_ARRAY: return old & change;
    default: return change;
    }
}

/* Changes one attribute, whose value is an array of 32-bit numbers: combines each number with the
 * number at the same place in `change`, as `flags` says. Copies the new value to `value`. Returns a
 * negative errno on failure. */
static int
brick_xattrop_one (struct brick_request *q, inode_t *inode, uint32_t flags, const char *name,
             const uint8_t *change, size_t size, uint8_t *value)
{
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = inode };
    uint32_t a, b;

    memset (value, 0, NUMBERS_MAX);
    brick_get_xattr (q, inode, name, value);
    for (size_t i = 0; i + sizeof a <= size; i += sizeof a) {
        memcpy (&a, value + i, sizeof a);
        memcpy (&b, change + i, sizeof b);
        a = GUINT32_TO_BE (brick_combine (flags, GUINT32_FROM_BE (a), GUINT32_FROM_BE (b)));
        memcpy (value + i, &a, sizeof a);
    }
    dict_set (dict, name, value, size);
    return sync_setxattr (q->client, &loc, dict, 0, NULL, NULL);
}

/* Changes each attribute that is a key in `changes`, by the numbers in the key's value. Sets
 * *ret_result to a new dict with the new values. Returns a negative errno on failure. */
static int
brick_xattrop (struct brick_request *q, inode_t *inode, uint32_t flags, dict_t *changes,
               dict_t **ret_result)
{
    dict_t *result = *ret_result = dict_new ();
    uint8_t value[NUMBERS_MAX];
    const char *name;
    const void *change;
    size_t size;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < dict_count (changes); i++) {
        dict_nth (changes, i, &name, &change, &size);
        r = size <= NUMBERS_MAX && flags != XATTROP_ADD_ARRAY64
              ? brick_xattrop_one (q, inode, flags, name, change, size, value)
              : -EINVAL;
        if (r >= 0)
            dict_set (result, name, value, size);
    }
    return r;
}

int
brick_do_xattrop (struct brick_request *q, const struct wire_xattrop *call,
                  struct wire_xattrop_reply *reply)
{
    g_autoptr (inode_t) inode = brick_inode (q, &call->loc);

    return inode ? brick_xattrop (q, inode, call->flags, call->dict, &reply->dict) : -ENOENT;
}

int
brick_do_fxattrop (struct brick_request *q, const struct wire_fxattrop *call,
                   struct wire_fxattrop_reply *reply)
{
    int r;
    g_autoptr (fd_t) fd = brick_fd (q, &call->fd, &r);

    return fd ? brick_xattrop (q, fd->inode, call->flags, call->dict, &reply->dict) : r;
}

/* --- extended attributes in the xdata of calls and replies ------------------------------------ */

static void
brick_count_locks (struct brick_request *q, const gfid_t *gfid, dict_t *asked, dict_t *found)
{
    const char *domain = dict_get_str (asked, LOCKS_ASKED);

    if (domain)
        dict_set_u64 (found, LOCKS_FOUND, brick_locks_of_inode (q->brick, gfid, domain));
}

dict_t *
brick_asked_xattrs (struct brick_request *q, inode_t *inode, dict_t *asked)
{
    dict_t *found = dict_new ();
    uint8_t value[NUMBERS_MAX];
    const char *name;
    const void *unused;
    size_t size;

    for (size_t i = 0; i < dict_count (asked); i++) {
        dict_nth (asked, i, &name, &unused, &size);
        size = g_str_has_prefix (name, "trusted.") ? brick_get_xattr (q, inode, name, value) : 0;
        if (size > 0)
            dict_set (found, name, value, size);
    }
    return found;
}

/* Key in the xdata of a call that makes a file. Its value is the name of an attribute of the parent
 * directory. The xdata may also have that name as a key, with the value that the client expects the
 * parent to have; the new file must not get that attribute. */
#define GUARD "glusterfs.preop.parent.key"

void
brick_make_xattrs (struct brick_request *q, inode_t *inode, dict_t *xdata)
{
    const char *guard = dict_get_str (xdata, GUARD), *name;
    loc_t loc = { .inode = inode };
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (xdata); i++) {
        g_autoptr (dict_t) one = dict_new ();

        dict_nth (xdata, i, &name, &value, &size);
        if (!g_str_has_prefix (name, "trusted.") || g_strcmp0 (name, guard) == 0)
            continue;
        dict_set (one, name, value, size);
        sync_setxattr (q->client, &loc, one, 0, NULL, NULL);
    }
}

dict_t *
brick_asked_of_lookup (struct brick_request *q, const struct lookup_reply *reply, const loc_t *loc,
                       dict_t *asked)
{
    dict_t *found = brick_asked_xattrs (q, reply->inode, asked);

    brick_count_locks (q, &reply->buf.ia_gfid, asked, found);
    if (loc->parent && dict_has (asked, NAME_LOCKED))
        dict_set_u64 (found, NAME_LOCKED,
                      brick_name_is_locked (q->brick, &loc->parent->gfid, loc->name));
    return found;
}

dict_t *
brick_asked_of_write (struct brick_request *q, const inode_t *inode, bool appended, dict_t *asked)
{
    dict_t *found = dict_new ();

    brick_count_locks (q, &inode->gfid, asked, found);
    if (dict_has (asked, APPENDED))
        dict_set_u64 (found, APPENDED, appended);
    return found;
}
