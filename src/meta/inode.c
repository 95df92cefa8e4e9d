/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inodes of .meta, and access to them. */
#include "meta/internal.h"

#include <unistd.h>

/* The same as in GlusterFS: ba926388-bb9c-4eec-ad60-79dba4cc083a. */
static const gfid_t meta_gfid = {

    { 0xba, 0x92, 0x63, 0x88, 0xbb, 0x9c, 0x4e, 0xec, 0xad, 0x60, 0x79, 0xdb, 0xa4, 0xcc, 0x08,
      0x3a },
};

struct meta_inode *
meta_inode_get (xlator_t *this, inode_t *inode)
{
    return inode_ctx_get (inode, this);
}

/* Derived from the path, so that it is the same again after the kernel has forgotten the inode. */
gfid_t
meta_child_gfid (const gfid_t *parent, const char *name)
{
    g_autoptr (GByteArray) bytes = g_byte_array_new ();

    if (gfid_equal (parent, &gfid_root))
        return meta_gfid;
    g_byte_array_append (bytes, parent->b, sizeof parent->b);
    g_byte_array_append (bytes, (const guint8 *) name, strlen (name));
    return gfid_of_bytes (bytes->data, bytes->len);
}

/* Inode numbers on disk rarely have the highest bit. */
uint64_t
meta_ino (const gfid_t *gfid)
{
    uint64_t ino;

    memcpy (&ino, gfid->b, sizeof ino);
    return ino | (uint64_t) 1 << 63;
}

xlator_t *
meta_xl (const struct meta *meta, const struct meta_node *node)
{
    xlator_t *xl;

    if (!node->volume || node->api == meta->of.bridge->api)
        return node->volume ? meta->of.bridge : NULL;
    xl = graph_find (meta->of.graph, node->volume);
    return xl && xl->api == node->api ? xl : NULL;
}

bool
meta_is_gone (const struct meta *meta, const struct meta_node *node)
{
    return node->volume && !meta_xl (meta, node);
}

static size_t
link_size (const struct meta *meta, const struct meta_node *node)
{
    g_autoptr (GString) target = g_string_new (NULL);

    if (node->kind->type == IA_IFLNK && !meta_is_gone (meta, node))
        node->kind->show (meta, node, target);
    return target->len;
}

/* Makes inode the entry of parent, unless it is that already. */
void
meta_inode_become (xlator_t *this, inode_t *inode, const struct meta_inode *parent,
                   const struct meta_entry *entry)
{
    struct meta_inode *mi;

    if (meta_inode_get (this, inode))
        return;
    mi = g_new (struct meta_inode, 1);
    *mi = (struct meta_inode){ entry->node, meta_child_gfid (&parent->gfid, entry->name),
                               link_size (meta_of (this), &entry->node) };
    if (inode_ctx_set (inode, this, mi) != mi)
        g_free (mi);
}

void
meta_forget (xlator_t *this, inode_t *inode)
{
    g_free (meta_inode_get (this, inode));
}

static uint32_t
mode_of (const struct meta_kind *kind)
{
    if (kind->type == IA_IFLNK)
        return 0777;
    if (kind->type == IA_IFDIR)
        return 0500;
    return kind->set ? 0600 : 0400;
}

struct iatt
meta_iatt (xlator_t *this, const struct meta_inode *mi)
{
    const struct meta *meta = meta_of (this);

    return (struct iatt){
        .ia_gfid = mi->gfid,
        .ia_ino = meta_ino (&mi->gfid),
        .ia_size = mi->size,
        .ia_blksize = 4096,
        .ia_nlink = 1,
        .ia_uid = meta->uid,
        .ia_gid = meta->gid,
        .ia_type = mi->node.kind->type,
        .ia_prot = mode_of (mi->node.kind),
        .ia_atime = meta->born.tv_sec,
        .ia_mtime = meta->born.tv_sec,
        .ia_ctime = meta->born.tv_sec,
        .ia_atime_nsec = meta->born.tv_nsec,
        .ia_mtime_nsec = meta->born.tv_nsec,
        .ia_ctime_nsec = meta->born.tv_nsec,
    };
}

/* The kernel checks modes only with default_permissions, so access is checked here too. Root need
 * not have root's capabilities. */
bool
meta_may_look (const call_frame_t *frame)
{
    return frame->root->uid == 0 || frame->root->uid == meta_of (frame->this)->uid;
}

/* Returns 0, or the errno for a caller without access; .meta itself may be seen by all. */
int
meta_refused (const call_frame_t *frame, const struct meta_inode *mi)
{
    if (!mi || mi->node.kind == &meta_outside)
        return ESTALE;
    if (meta_is_gone (meta_of (frame->this), &mi->node))
        return ESTALE;
    return meta_may_look (frame) || gfid_equal (&mi->gfid, &meta_gfid) ? 0 : EACCES;
}

/* Tells whether the caller may read (R_OK), write or execute; returns 0 or an errno. */
int
meta_access_error (const call_frame_t *frame, const struct meta_inode *mi, int mask)
{
    int error = meta_refused (frame, mi);

    if (error)
        return error;
    if (mask && !meta_may_look (frame))
        return EACCES;
    if (mask & W_OK && !mi->node.kind->set)
        return EACCES;
    return mask & X_OK && mi->node.kind->type == IA_IFREG ? EACCES : 0;
}
