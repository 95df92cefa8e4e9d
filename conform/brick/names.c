/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on names. The table of inodes keeps each name, by which storage finds the file of a
 * gfid. */
#include "conform/brick/request.h"

#include "core/data/dirent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define NEW_GFID_KEY "gfid-req"

/* --- places ----------------------------------------------------------------------------------- */

/* A name in a directory. */
typedef struct place {
    inode_t *parent, *inode; /* with references; inode: of the file that the name is to get */
    char *name;
    loc_t loc;
} place_t;

static void
place_clear (place_t *place)
{
    inode_unref (place->parent);
    inode_unref (place->inode);
    g_free (place->name);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (place_t, place_clear)

/* Returns 0, or -ESTALE: there is no such directory. */
static int
place_settle (struct request *q, place_t *place)
{
    place->name = xdr_get_string (&q->in, WIRE_NAME_MAX);
    place->loc = (loc_t){ .name = place->name, .parent = place->parent, .inode = place->inode };
    return place->parent && place->name ? 0 : -ESTALE;
}

/* The file gets the gfid that the call chooses. */
static void
choose_gfid (struct request *q, const struct iatt *made, dict_t *xdata)
{
    size_t size;
    const void *wire = dict_get (xdata, NEW_GFID_KEY, &size);

    if (wire && size == sizeof (gfid_t))
        gfid_choose (q->brick, &made->ia_gfid, wire);
}

static void
place_link (const place_t *place, inode_t *inode, const struct iatt *buf)
{
    inode_unref (inode_link (inode, place->parent, place->name, buf));
}

/* --- lookup ----------------------------------------------------------------------------------- */

static int
lookup_name (struct request *q, place_t *place, struct lookup_reply *reply)
{
    int r = place->parent ? 0 : -ESTALE;

    place->inode = inode_new (q->brick->graph->itable);
    place->loc.inode = place->inode;
    if (r == 0)
        r = sync_lookup (q->client, &place->loc, NULL, reply);
    if (r >= 0)
        place_link (place, reply->inode, &reply->buf);
    return r;
}

void
serve_lookup (struct request *q)
{
    static const struct iatt none;
    g_autoptr (inode_t) inode = get_inode (q);
    g_auto (place_t) place = { .parent = get_inode (q) };
    g_autoptr (dict_t) asked = NULL, told = NULL;
    struct lookup_reply reply = { 0 };
    loc_t loc = { .inode = inode };
    int r = -ENOENT;

    xdr_get_u32 (&q->in);
    place_settle (q, &place);
    asked = get_dict (&q->in);
    if (place.name && *place.name)
        r = lookup_name (q, &place, &reply);
    else if (inode)
        r = sync_lookup (q->client, &loc, NULL, &reply);
    if (r >= 0)
        told = lookup_told (q, &reply, place.parent, place.name, asked);
    put_result (q, r, told);
    put_buf (q, &reply.buf);
    put_buf (q, &none);
    lookup_reply_drop (&reply);
}

/* --- new files -------------------------------------------------------------------------------- */

static void
put_made (struct request *q, int r, const struct iatt *buf, const struct iatt *preparent,
          const struct iatt *postparent)
{
    put_result (q, r, NULL);
    put_buf (q, buf);
    put_buf (q, preparent);
    put_buf (q, postparent);
}

/* What a new name and its answer need, whatever was made. */
#define MADE(name_, r_, reply_)                                                                    \
    do {                                                                                           \
        g_autoptr (dict_t) xdata_ = get_dict (&q->in);                                             \
                                                                                                   \
        if (r_ >= 0) {                                                                             \
            choose_gfid (q, &reply_.buf, xdata_);                                                  \
            place_link (&place, reply_.inode, &reply_.buf);                                        \
            xattrs_make (q, place.inode, xdata_);                                                  \
        }                                                                                          \
        put_made (q, r_, &reply_.buf, &reply_.preparent, &reply_.postparent);                      \
        name_##_reply_drop (&reply_);                                                              \
    } while (0)

static void
place_begin (struct request *q, place_t *place)
{
    place->parent = get_inode (q);
    place->inode = inode_new (q->brick->graph->itable);
}

void
serve_mknod (struct request *q)
{
    g_auto (place_t) place = { 0 };
    struct mknod_reply reply = { 0 };
    uint32_t mode, umask;
    uint64_t rdev;
    int r;

    place_begin (q, &place);
    rdev = xdr_get_u64 (&q->in);
    mode = xdr_get_u32 (&q->in);
    umask = xdr_get_u32 (&q->in);
    r = place_settle (q, &place);
    if (r == 0)
        r = sync_mknod (q->client, &place.loc, mode, rdev, umask, NULL, &reply);
    MADE (mknod, r, reply);
}

void
serve_mkdir (struct request *q)
{
    g_auto (place_t) place = { 0 };
    struct mkdir_reply reply = { 0 };
    uint32_t mode, umask;
    int r;

    place_begin (q, &place);
    mode = xdr_get_u32 (&q->in);
    umask = xdr_get_u32 (&q->in);
    r = place_settle (q, &place);
    if (r == 0)
        r = sync_mkdir (q->client, &place.loc, mode, umask, NULL, &reply);
    MADE (mkdir, r, reply);
}

void
serve_symlink (struct request *q)
{
    g_auto (place_t) place = { 0 };
    g_autofree char *target = NULL;
    struct symlink_reply reply = { 0 };
    uint32_t umask;
    int r;

    place_begin (q, &place);
    r = place_settle (q, &place);
    umask = xdr_get_u32 (&q->in);
    target = xdr_get_string (&q->in, WIRE_VALUE_MAX);
    if (r == 0)
        r = sync_symlink (q->client, target, &place.loc, umask, NULL, &reply);
    MADE (symlink, r, reply);
}

void
serve_link (struct request *q)
{
    g_autoptr (inode_t) old = get_inode (q);
    g_auto (place_t) place = { .parent = get_inode (q), .inode = inode_ref (old) };
    struct link_reply reply = { 0 };
    loc_t oldloc = { .inode = old };
    int r = place_settle (q, &place);

    if (r == 0)
        r = old ? sync_link (q->client, &oldloc, &place.loc, NULL, &reply) : -ENOENT;
    MADE (link, r, reply);
}

void
serve_create (struct request *q)
{
    g_auto (place_t) place = { 0 };
    struct create_reply reply = { 0 };
    uint32_t flags, mode, umask;
    g_autoptr (fd_t) fd = NULL;
    g_autoptr (dict_t) xdata = NULL;
    int r;

    place_begin (q, &place);
    flags = get_open_flags (q);
    mode = xdr_get_u32 (&q->in);
    umask = xdr_get_u32 (&q->in);
    r = place_settle (q, &place);
    xdata = get_dict (&q->in);
    fd = fd_new (&q->brick->graph->fd_maker, NULL, flags, q->client->pid);
    if (r == 0)
        r = sync_create (q->client, &place.loc, flags, mode, umask, fd, NULL, &reply);
    if (r >= 0) {
        choose_gfid (q, &reply.buf, xdata);
        place_link (&place, reply.inode, &reply.buf);
    }
    put_result (q, r, NULL);
    put_buf (q, &reply.buf);
    xdr_put_u64 (&q->out, r < 0 ? 0 : fd_number (q, fd));
    put_buf (q, &reply.preparent);
    put_buf (q, &reply.postparent);
    create_reply_drop (&reply);
}

/* --- names that go ---------------------------------------------------------------------------- */

static void
put_gone (struct request *q, int r, const place_t *place, const struct iatt *preparent,
          const struct iatt *postparent)
{
    if (r >= 0)
        inode_unlink (place->parent, place->name);
    put_result (q, r, NULL);
    put_buf (q, preparent);
    put_buf (q, postparent);
}

#define ONLY_LINKTO "unlink-only-if-dht-linkto-file"
#define LINKTO_KEY "trusted.glusterfs.dht.linkto"

static int
refuse_file (struct request *q, place_t *place)
{
    struct lookup_reply reply = { 0 };
    g_autoptr (dict_t) asked = dict_new (), told = NULL;
    int r = lookup_name (q, place, &reply);

    dict_set_u64 (asked, LINKTO_KEY, 256);
    if (r >= 0)
        told = xattrs_told (q, reply.inode, asked);
    if (r >= 0 && (reply.buf.ia_prot != S_ISVTX || !dict_has (told, LINKTO_KEY)))
        r = -EBUSY;
    lookup_reply_drop (&reply);
    return r;
}

void
serve_unlink (struct request *q)
{
    g_auto (place_t) place = { .parent = get_inode (q) };
    g_autoptr (dict_t) xdata = NULL;
    struct unlink_reply reply = { 0 };
    int r = place_settle (q, &place);

    xdr_get_u32 (&q->in);
    xdata = get_dict (&q->in);
    if (r == 0 && dict_has (xdata, ONLY_LINKTO))
        r = refuse_file (q, &place);
    if (r >= 0)
        r = sync_unlink (q->client, &place.loc, 0, NULL, &reply);
    put_gone (q, r, &place, &reply.preparent, &reply.postparent);
    unlink_reply_drop (&reply);
}

void
serve_rmdir (struct request *q)
{
    g_auto (place_t) place = { .parent = get_inode (q) };
    struct rmdir_reply reply = { 0 };
    int r;

    xdr_get_u32 (&q->in);
    r = place_settle (q, &place);
    if (r == 0)
        r = sync_rmdir (q->client, &place.loc, 0, NULL, &reply);
    put_gone (q, r, &place, &reply.preparent, &reply.postparent);
    rmdir_reply_drop (&reply);
}

void
serve_rename (struct request *q)
{
    g_auto (place_t) old = { .parent = get_inode (q) }, new = { .parent = get_inode (q) };
    struct rename_reply reply = { 0 };
    int r = place_settle (q, &old), r_new = place_settle (q, &new);

    if (r == 0)
        r = r_new;
    if (r == 0)
        r = sync_rename (q->client, &old.loc, &new.loc, 0, NULL, &reply);
    if (r >= 0)
        inode_rename (old.parent, old.name, new.parent, new.name, false);
    put_result (q, r, NULL);
    put_buf (q, &reply.buf);
    put_buf (q, &reply.preoldparent);
    put_buf (q, &reply.postoldparent);
    put_buf (q, &reply.prenewparent);
    put_buf (q, &reply.postnewparent);
    rename_reply_drop (&reply);
}

/* --- listings --------------------------------------------------------------------------------- */

static void
put_entry (struct request *q, const gf_dirent_t *entry)
{
    const size_t size = strlen (entry->d_name);

    xdr_put_u32 (&q->out, 1);
    xdr_put_u64 (&q->out, entry->d_ino);
    xdr_put_u64 (&q->out, (uint64_t) entry->d_off);
    xdr_put_u32 (&q->out, (uint32_t) size);
    xdr_put_u32 (&q->out, entry->d_type);
    xdr_put_string (&q->out, entry->d_name);
}

/* Entries are found by their gfids from then on. */
static void
put_entry_attributes (struct request *q, const gf_dirent_t *entry, inode_t *dir, dict_t *asked)
{
    const bool dots = strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0;
    g_autoptr (dict_t) told = NULL;

    if (!dots && entry->inode && entry->d_stat.ia_type != IA_INVAL) {
        inode_unref (inode_link (entry->inode, dir, entry->d_name, &entry->d_stat));
        told = xattrs_told (q, entry->inode, asked);
    }
    put_entry (q, entry);
    put_buf (q, &entry->d_stat);
    put_dict (&q->out, told);
}

void
serve_readdirp (struct request *q)
{
    struct readdirp_reply reply = { 0 };
    g_autoptr (dict_t) asked = NULL;
    uint64_t offset;
    uint32_t size;
    int r;
    g_autoptr (fd_t) fd = get_fd (q, &r);

    offset = xdr_get_u64 (&q->in);
    size = xdr_get_u32 (&q->in);
    asked = get_dict (&q->in);
    if (fd)
        r = sync_readdirp (q->client, fd, size, (off_t) offset, NULL, &reply);
    put_result (q, r, NULL);
    for (const gf_dirent_t *entry = r < 0 ? NULL : reply.entries; entry; entry = entry->next)
        put_entry_attributes (q, entry, fd->inode, asked);
    xdr_put_u32 (&q->out, 0);
    readdirp_reply_drop (&reply);
}
