/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Procedures on names in directories. Each name that exists is linked in the table of inodes,
 * because the storage finds the file of a gfid by the names in that table. */
#include "conform/brick/request.h"
#include "core/base/name.h"

#include "core/data/dirent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NEW_GFID_KEY "gfid-req"

static void
brick_link (const loc_t *loc, inode_t *inode, const struct iatt *buf)
{
    inode_unref (inode_link (inode, loc->parent, loc->name, buf));
}

/* --- lookup ----------------------------------------------------------------------------------- */

/* Looks up the name of `place` in the storage, and links the inode that it finds into the table of
 * inodes. Sets place->loc.inode to a new inode for the lookup. Returns a negative errno on
 * failure. */
static int
brick_lookup_name (struct brick_request *q, brick_place_t *place, struct lookup_reply *got)
{
    int r;

    if (!place->loc.parent)
        return -ESTALE;
    place->loc.inode = inode_new (q->brick->graph->itable);
    r = sync_lookup (q->client, &place->loc, NULL, got);
    if (r >= 0)
        brick_link (&place->loc, got->inode, &got->buf);
    return r;
}

static int
brick_lookup_file (struct brick_request *q, const gfid_t *wire, struct lookup_reply *got)
{
    g_autoptr (inode_t) inode = brick_inode (q, wire);
    loc_t loc = { .inode = inode };

    return inode ? sync_lookup (q->client, &loc, NULL, got) : -ENOENT;
}

int
brick_do_lookup (struct brick_request *q, const struct wire_lookup *call,
                 struct wire_lookup_reply *reply)
{
    g_auto (brick_place_t) place = brick_place (q, &call->parent, call->name, NULL);
    struct lookup_reply got = { 0 };
    const int r = *call->name ? brick_lookup_name (q, &place, &got)
                              : brick_lookup_file (q, &call->file, &got);

    if (r >= 0)
        reply->xdata = brick_asked_of_lookup (q, &got, &place.loc, call->xdata);
    reply->buf = brick_iatt (q, &got.buf);
    lookup_reply_drop (&got);
    return r;
}

/* --- new names -------------------------------------------------------------------------------- */

/* Records the gfid that the client has sent in xdata for the new file, and links the file's inode
 * into the table of inodes by the name in loc. */
static void
brick_link_new (struct brick_request *q, const loc_t *loc, inode_t *inode, const struct iatt *buf,
                dict_t *xdata)
{
    size_t size;
    const void *wire = dict_get (xdata, NEW_GFID_KEY, &size);

    if (wire && size == sizeof (gfid_t))
        brick_gfid_choose (q->brick, &buf->ia_gfid, wire);
    brick_link (loc, inode, buf);
}

void
brick_made (struct brick_request *q, const loc_t *loc, inode_t *inode, const struct iatt *buf,
            dict_t *xdata)
{
    brick_link_new (q, loc, inode, buf, xdata);
    brick_make_xattrs (q, loc->inode, xdata);
}

int
brick_do_link (struct brick_request *q, const struct wire_link *call,
               struct wire_link_reply *reply)
{
    g_autoptr (inode_t) old = brick_inode (q, &call->oldloc);
    g_auto (brick_place_t) place =
        brick_place (q, &call->newloc_parent, call->newloc_name, inode_ref (old));
    struct link_reply got = { 0 };
    loc_t oldloc = { .inode = old };
    int r = !place.loc.parent ? -ESTALE : !old ? -ENOENT : 0;

    if (r == 0)
        r = sync_link (q->client, &oldloc, &place.loc, NULL, &got);
    if (r >= 0)
        brick_made (q, &place.loc, got.inode, &got.buf, call->xdata);
    reply->buf = brick_iatt (q, &got.buf);
    reply->preparent = brick_iatt (q, &got.preparent);
    reply->postparent = brick_iatt (q, &got.postparent);
    link_reply_drop (&got);
    return r;
}

int
brick_do_create (struct brick_request *q, const struct wire_create *call,
                 struct wire_create_reply *reply)
{
    const uint32_t flags = wire_to_open_flags (call->flags);
    g_auto (brick_place_t) place = brick_place (q, &call->loc_parent, call->loc_name,
                                                inode_new (q->brick->graph->itable));
    g_autoptr (fd_t) fd = fd_new (&q->brick->graph->fd_maker, NULL, flags, q->client->pid);
    struct create_reply got = { 0 };
    int r = place.loc.parent ? 0 : -ESTALE;

    if (r == 0)
        r = sync_create (q->client, &place.loc, flags, call->mode, call->umask, fd, NULL, &got);
    if (r >= 0) {
        brick_link_new (q, &place.loc, got.inode, &got.buf, call->xdata);
        reply->number = brick_keep_open (q, fd);
    }
    reply->buf = brick_iatt (q, &got.buf);
    reply->preparent = brick_iatt (q, &got.preparent);
    reply->postparent = brick_iatt (q, &got.postparent);
    create_reply_drop (&got);
    return r;
}

/* --- names that go ---------------------------------------------------------------------------- */

#define ONLY_LINKTO "unlink-only-if-dht-linkto-file"
#define LINKTO_KEY "trusted.glusterfs.dht.linkto"

/* Returns a negative errno unless the name is that of a linkto of cluster/distribute: -EBUSY if the
 * name is that of another file. */
static int
brick_refuse_file (struct brick_request *q, brick_place_t *place)
{
    struct lookup_reply got = { 0 };
    g_autoptr (dict_t) asked = dict_new (), found = NULL;
    int r = brick_lookup_name (q, place, &got);

    dict_set_u64 (asked, LINKTO_KEY, 256);
    if (r >= 0)
        found = brick_asked_xattrs (q, got.inode, asked);
    if (r >= 0 && (got.buf.ia_prot != S_ISVTX || !dict_has (found, LINKTO_KEY)))
        r = -EBUSY;
    lookup_reply_drop (&got);
    return r;
}

int
brick_do_unlink (struct brick_request *q, const struct wire_unlink *call,
                 struct wire_unlink_reply *reply)
{
    g_auto (brick_place_t) place = brick_place (q, &call->loc_parent, call->loc_name, NULL);
    struct unlink_reply got = { 0 };
    int r = place.loc.parent ? 0 : -ESTALE;

    if (r == 0 && dict_has (call->xdata, ONLY_LINKTO))
        r = brick_refuse_file (q, &place);
    if (r >= 0)
        r = sync_unlink (q->client, &place.loc, 0, NULL, &got);
    if (r >= 0)
        inode_unlink (place.loc.parent, place.loc.name);
    reply->preparent = brick_iatt (q, &got.preparent);
    reply->postparent = brick_iatt (q, &got.postparent);
    unlink_reply_drop (&got);
    return r;
}

int
brick_do_rmdir (struct brick_request *q, const struct wire_rmdir *call,
                struct wire_rmdir_reply *reply)
{
    g_auto (brick_place_t) place = brick_place (q, &call->loc_parent, call->loc_name, NULL);
    struct rmdir_reply got = { 0 };
    int r = place.loc.parent ? 0 : -ESTALE;

    if (r == 0)
        r = sync_rmdir (q->client, &place.loc, 0, NULL, &got);
    if (r >= 0)
        inode_unlink (place.loc.parent, place.loc.name);
    reply->preparent = brick_iatt (q, &got.preparent);
    reply->postparent = brick_iatt (q, &got.postparent);
    rmdir_reply_drop (&got);
    return r;
}

int
brick_do_rename (struct brick_request *q, const struct wire_rename *call,
                 struct wire_rename_reply *reply)
{
    g_auto (brick_place_t) old = brick_place (q, &call->oldloc_parent, call->oldloc_name, NULL),
                           new = brick_place (q, &call->newloc_parent, call->newloc_name, NULL);
    struct rename_reply got = { 0 };
    int r = old.loc.parent && new.loc.parent ? 0 : -ESTALE;

    if (r == 0)
        r = sync_rename (q->client, &old.loc, &new.loc, 0, NULL, &got);
    if (r >= 0)
        inode_rename (old.loc.parent, old.loc.name, new.loc.parent, new.loc.name, false);
    reply->buf = brick_iatt (q, &got.buf);
    reply->preoldparent = brick_iatt (q, &got.preoldparent);
    reply->postoldparent = brick_iatt (q, &got.postoldparent);
    reply->prenewparent = brick_iatt (q, &got.prenewparent);
    reply->postnewparent = brick_iatt (q, &got.postnewparent);
    rename_reply_drop (&got);
    return r;
}

/* --- listings --------------------------------------------------------------------------------- */

static void
brick_put_entry (struct brick_request *q, const gf_dirent_t *entry, dict_t *found)
{
    const struct iatt buf = brick_iatt (q, &entry->d_stat);

    xdr_put_u32 (&q->tail, 1);
    xdr_put_u64 (&q->tail, entry->d_ino);
    xdr_put_u64 (&q->tail, (uint64_t) entry->d_off);
    xdr_put_u32 (&q->tail, (uint32_t) strlen (entry->d_name));
    xdr_put_u32 (&q->tail, entry->d_type);
    xdr_put_string (&q->tail, entry->d_name);
    wire_put_iatt (&q->tail, &buf);
    wire_put_dict (&q->tail, found);
}

/* Writes an entry of a directory to the reply, with the attributes that the call requests. Links
 * the entry's inode into the table of inodes, so that later calls can name the file by its gfid. */
static void
brick_list_entry (struct brick_request *q, const gf_dirent_t *entry, inode_t *dir, dict_t *asked)
{
    const bool dots = name_is_dots (entry->d_name);
    g_autoptr (dict_t) found = NULL;

    if (!dots && entry->inode && entry->d_stat.ia_type != IA_INVAL) {
        inode_unref (inode_link (entry->inode, dir, entry->d_name, &entry->d_stat));
        found = brick_asked_xattrs (q, entry->inode, asked);
    }
    brick_put_entry (q, entry, found);
}

int
brick_do_readdirp (struct brick_request *q, const struct wire_readdirp *call,
                   struct wire_readdirp_reply *reply)
{
    struct readdirp_reply got = { 0 };
    int r;
    g_autoptr (fd_t) fd = brick_fd (q, &call->fd, &r);

    if (fd)
        r = sync_readdirp (q->client, fd, call->size, (off_t) call->offset, NULL, &got);
    for (const gf_dirent_t *entry = r < 0 ? NULL : got.entries; entry; entry = entry->next)
        brick_list_entry (q, entry, fd->inode, call->xdata);
    xdr_put_u32 (&q->tail, 0);
    readdirp_reply_drop (&got);
    return r;
}
