/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A name of a lower where the mount itself is. Storage does not enter it, since it would wait for
 * its own answer: it fails the lookup with ELOOP (core/edge/root.h), which a lookup of a name
 * otherwise never does. The view shows an empty directory there that nothing can be made in, and
 * asks no layer about it. Its inode above has none below.
 */
#include "lookup.h"

#include <sys/stat.h>

#define OWN_MOUNT_LINKS 2

static gfid_t
own_mount_gfid (const loc_t *loc)
{
    g_autofree char *text = g_strconcat ("own mount/", loc->name, NULL);
    g_autoptr (GByteArray) bytes = g_byte_array_new ();

    g_byte_array_append (bytes, loc->parent->gfid.b, sizeof loc->parent->gfid.b);
    g_byte_array_append (bytes, (const guint8 *) text, (guint) strlen (text));
    return gfid_of_bytes (bytes->data, bytes->len);
}

static void
own_mount_iatt (xlator_t *this, const gfid_t *gfid, struct iatt *ret_buf)
{
    uint64_t number;

    memcpy (&number, gfid->b, sizeof number);
    *ret_buf = (struct iatt){
        .ia_gfid = *gfid,
        .ia_dev = overlay_priv (this)->layers[OVERLAY_UPPER].dev,
        .ia_ino = OVERLAY_HASHED | (number & (OVERLAY_HASHED - 1)),
        .ia_type = IA_IFDIR,
        .ia_prot = 0555,
        .ia_nlink = OWN_MOUNT_LINKS,
        .ia_blksize = 4096,
    };
}

/* --- the lookup ------------------------------------------------------------------------------- */

bool
overlay_own_mount_when (void *data)
{
    return ((const struct overlay_local *) data)->look.own_mount;
}

bool
overlay_own_mount_unless (void *data)
{
    return !overlay_own_mount_when (data);
}

int
overlay_own_mount_judge (void *data)
{
    struct overlay_local *local = data;
    const struct overlay_look *look = &local->look;
    xlator_t *this = local->sequence.frame->this;
    const gfid_t gfid = own_mount_gfid (&look->loc);
    g_autoptr (inode_t) above = overlay_above (look->loc.inode, look->loc.parent->table, &gfid);

    own_mount_iatt (this, &gfid, &local->buf);
    local->inode = gfid_is_null (&above->gfid) ? inode_link (above, NULL, NULL, &local->buf)
                                               : inode_ref (above);
    __atomic_store_n (&overlay_inode_get (this, local->inode)->own_mount, true, __ATOMIC_RELEASE);
    return 0;
}

/* --- other operations ------------------------------------------------------------------------- */

bool
overlay_is_own_mount (xlator_t *this, inode_t *inode)
{
    const struct overlay_inode *state = inode ? inode_ctx_get (inode, this) : NULL;

    return state && __atomic_load_n (&state->own_mount, __ATOMIC_ACQUIRE);
}

uint64_t
overlay_own_mount_number (xlator_t *this, inode_t *inode)
{
    struct iatt buf;

    own_mount_iatt (this, &inode->gfid, &buf);
    return buf.ia_ino;
}

static void
own_mount_xattr (const struct call *call)
{
    g_autoptr (dict_t) none = dict_new ();

    if (call->name)
        call_fail (call, ENODATA);
    else if (call->op == FOP_getxattr)
        STACK_UNWIND (getxattr, call->frame, 0, 0, none, NULL);
    else
        STACK_UNWIND (fgetxattr, call->frame, 0, 0, none, NULL);
}

static void
own_mount_access (const struct call *call)
{
    if (((const struct access_call *) call->args)->mask & W_OK)
        call_fail (call, EROFS);
    else
        STACK_UNWIND (access, call->frame, 0, 0, NULL);
}

void
overlay_own_mount (const struct call *call, inode_t *inode)
{
    struct iatt buf;

    own_mount_iatt (call->this, &inode->gfid, &buf);
    if (call->op == FOP_lookup && call->loc->parent == inode)
        call_fail (call, ENOENT);
    else if (call->op == FOP_lookup)
        STACK_UNWIND (lookup, call->frame, 0, 0, inode, &buf, NULL, NULL);
    else if (call->op == FOP_stat)
        STACK_UNWIND (stat, call->frame, 0, 0, &buf, NULL);
    else if (call->op == FOP_fstat)
        STACK_UNWIND (fstat, call->frame, 0, 0, &buf, NULL);
    else if (call->op == FOP_opendir)
        STACK_UNWIND (opendir, call->frame, 0, 0, call->fd, NULL);
    else if (call->op == FOP_fsyncdir)
        STACK_UNWIND (fsyncdir, call->frame, 0, 0, NULL);
    else if (call->op == FOP_access)
        own_mount_access (call);
    else if (call->op == FOP_getxattr || call->op == FOP_fgetxattr)
        own_mount_xattr (call);
    else
        call_fail (call, EBUSY);
}

/* A call about such a directory, or about a name in one. */
inode_t *
overlay_own_mount_of (const struct call *call)
{
    const loc_t *loc = call->loc, *newloc = call->newloc;
    inode_t *const inodes[] = {
        loc ? loc->inode : NULL,
        loc ? loc->parent : NULL,
        newloc ? newloc->parent : NULL,
        newloc ? newloc->inode : NULL,
        call->fd ? call->fd->inode : NULL,
    };

    for (size_t i = 0; i < G_N_ELEMENTS (inodes); i++)
        if (overlay_is_own_mount (call->this, inodes[i]))
            return inodes[i];
    return NULL;
}
