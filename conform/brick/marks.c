/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What cluster/replicate asks of a brick besides: numbers in attributes, and facts that come along
 * with an answer. */
#include "conform/brick/request.h"

#include <errno.h>
#include <string.h>

#define NUMBERS_MAX 256 /* bytes */

#define LOCKS_ASKED "glusterfs.inodelk-dom-count"
#define LOCKS_TOLD "glusterfs.inodelk-count"
#define APPENDED "glusterfs.write-is-append"
#define NAME_LOCKED "glusterfs.parent-entrylk"

/* --- xattrop ---------------------------------------------------------------------------------- */

/* Returns the size of the attribute's value. 0: there is none. */
static size_t
value_read (struct request *q, inode_t *inode, const char *name, uint8_t *to)
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
combine (uint32_t flags, uint32_t old, uint32_t change)
{
    switch (flags) {
    case XATTROP_ADD_ARRAY: return old + change;
    case XATTROP_OR_ARRAY: return old | change;
    case XATTROP_AND_ARRAY: return old & change;
    default: return change;
    }
}

/* Puts the new value in `value`. */
static int
xattrop_one (struct request *q, inode_t *inode, uint32_t flags, const char *name,
             const uint8_t *change, size_t size, uint8_t *value)
{
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = inode };
    uint32_t a, b;

    memset (value, 0, NUMBERS_MAX);
    value_read (q, inode, name, value);
    for (size_t i = 0; i + sizeof a <= size; i += sizeof a) {
        memcpy (&a, value + i, sizeof a);
        memcpy (&b, change + i, sizeof b);
        a = GUINT32_TO_BE (combine (flags, GUINT32_FROM_BE (a), GUINT32_FROM_BE (b)));
        memcpy (value + i, &a, sizeof a);
    }
    dict_set (dict, name, value, size);
    return sync_setxattr (q->client, &loc, dict, 0, NULL, NULL);
}

static void
xattrop (struct request *q, inode_t *inode)
{
    const uint32_t flags = xdr_get_u32 (&q->in);
    g_autoptr (dict_t) changes = get_dict (&q->in);
    g_autoptr (dict_t) result = dict_new ();
    uint8_t value[NUMBERS_MAX];
    const char *name;
    const void *change;
    size_t size;
    int r = inode ? 0 : -ENOENT;

    for (size_t i = 0; r >= 0 && i < dict_count (changes); i++) {
        dict_nth (changes, i, &name, &change, &size);
        r = size <= NUMBERS_MAX && flags != XATTROP_ADD_ARRAY64
              ? xattrop_one (q, inode, flags, name, change, size, value)
              : -EINVAL;
        if (r >= 0)
            dict_set (result, name, value, size);
    }
    put_result (q, r, NULL);
    put_dict (&q->out, result);
}

void
serve_xattrop (struct request *q)
{
    g_autoptr (inode_t) inode = get_inode (q);

    xattrop (q, inode);
}

void
serve_fxattrop (struct request *q)
{
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    xattrop (q, fd ? fd->inode : NULL);
}

/* --- facts along with an answer --------------------------------------------------------------- */

static void
tell_locks (struct request *q, const gfid_t *gfid, dict_t *asked, dict_t *told)
{
    const char *domain = dict_get_str (asked, LOCKS_ASKED);

    if (domain)
        dict_set_u64 (told, LOCKS_TOLD, locks_of_inode (q->brick, gfid, domain));
}

dict_t *
xattrs_told (struct request *q, inode_t *inode, dict_t *asked)
{
    dict_t *told = dict_new ();
    uint8_t value[NUMBERS_MAX];
    const char *name;
    const void *unused;
    size_t size;

    for (size_t i = 0; i < dict_count (asked); i++) {
        dict_nth (asked, i, &name, &unused, &size);
        size = g_str_has_prefix (name, "trusted.") ? value_read (q, inode, name, value) : 0;
        if (size > 0)
            dict_set (told, name, value, size);
    }
    return told;
}

#define GUARD "glusterfs.preop.parent.key" /* names the one that is of the directory */

void
xattrs_make (struct request *q, inode_t *inode, dict_t *xdata)
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
lookup_told (struct request *q, const struct lookup_reply *reply, const inode_t *parent,
             const char *name_in_parent, dict_t *asked)
{
    dict_t *told = xattrs_told (q, reply->inode, asked);

    tell_locks (q, &reply->buf.ia_gfid, asked, told);
    if (parent && dict_has (asked, NAME_LOCKED))
        dict_set_u64 (told, NAME_LOCKED, name_is_locked (q->brick, &parent->gfid, name_in_parent));
    return told;
}

dict_t *
write_told (struct request *q, const inode_t *inode, bool appended, dict_t *asked)
{
    dict_t *told = dict_new ();

    tell_locks (q, &inode->gfid, asked, told);
    if (dict_has (asked, APPENDED))
        dict_set_u64 (told, APPENDED, appended);
    return told;
}
