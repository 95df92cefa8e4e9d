/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Everything below a directory, as text: names, attributes, bytes, extended attributes. */
#include "conform/inprocess/inprocess.h"
#include "core/base/name.h"

#include "core/data/dict.h"
#include "core/data/dirent.h"

#include <fcntl.h>
#include <string.h>

#define DUMP_BYTES (256 << 10) /* bytes at the beginning and at the end of a file */

void
dump_iatt (GString *out, const char *name, const struct iatt *iatt)
{
    g_string_append_printf (out, "  %s:", name);
    if (iatt->ia_type == IA_INVAL) {
        g_string_append (out, " none\n");
        return;
    }
    g_string_append_printf (out, " type %d mode %04o owner %u:%u", iatt->ia_type, iatt->ia_prot,
                            iatt->ia_uid, iatt->ia_gid);
    if (iatt->ia_type != IA_IFDIR)
        g_string_append_printf (out, " links %u size %" G_GUINT64_FORMAT, iatt->ia_nlink,
                                iatt->ia_size);
    g_string_append_c (out, '\n');
}

static void
dump_bytes (struct kit_world *world, fd_t *fd, off_t offset, GString *out)
{
    struct readv_reply reply;
    int r = sync_readv (world->client, fd, DUMP_BYTES, offset, 0, NULL, &reply);

    if (r >= 0) {
        g_autofree guchar *bytes = g_malloc (MAX (r, 1));
        const size_t size = iov_unload (bytes, (size_t) r, reply.vector, reply.count);
        g_autofree char *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, bytes, size);
        g_string_append_printf (out, "  from %ld: %d bytes, sum %.12s\n", (long) offset, r, sum);
    } else {
        g_string_append_printf (out, "  can't be read: %s\n", g_strerror (-r));
    }
    readv_reply_drop (&reply);
}

static void
dump_file (struct kit_world *world, inode_t *inode, const struct iatt *buf, GString *out)
{
    fd_t *fd = fd_new (&world->graph->fd_maker, inode, O_RDONLY, 1);
    loc_t loc = { .inode = inode };
    int r = sync_open (world->client, &loc, O_RDONLY, fd, NULL, NULL);

    if (r < 0)
        g_string_append_printf (out, "  can't be opened: %s\n", g_strerror (-r));
    else
        dump_bytes (world, fd, 0, out);
    if (r >= 0 && buf->ia_size > DUMP_BYTES)
        dump_bytes (world, fd, (off_t) buf->ia_size - DUMP_BYTES, out);
    fd_unref (fd);
}

static void
dump_xattrs (struct kit_world *world, inode_t *inode, GString *out)
{
    struct getxattr_reply reply;
    loc_t loc = { .inode = inode };
    int r = sync_getxattr (world->client, &loc, "user.new", NULL, &reply);

    if (r >= 0)
        g_string_append (out, "  has user.new\n");
    getxattr_reply_drop (&reply);
}

/* Names of a directory, read a few at a time, so that the listing has to continue from an
 * offset. */
static GPtrArray *
dump_names (struct kit_world *world, inode_t *dir, GString *out)
{
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
    fd_t *fd = fd_new (&world->graph->fd_maker, dir, O_RDONLY, 1);
    loc_t loc = { .inode = dir };
    off_t offset = 0;
    int r = sync_opendir (world->client, &loc, fd, NULL, NULL);

    for (int turn = 0; r >= 0 && turn < 200; turn++) {
        struct readdir_reply reply;
        r = sync_readdir (world->client, fd, 200, offset, NULL, &reply);
        for (gf_dirent_t *entry = reply.entries; r > 0 && entry; entry = entry->next) {
            g_ptr_array_add (names, g_strdup (entry->d_name));
            offset = entry->d_off;
        }
        readdir_reply_drop (&reply);
        if (r == 0)
            break;
    }
    if (r < 0)
        g_string_append_printf (out, "  can't be listed: %s\n", g_strerror (-r));
    fd_unref (fd);
    g_ptr_array_sort (names, conform_by_text);
    return names;
}

static void
dump_name (struct kit_world *world, inode_t *dir, const char *path, const char *name, GString *out)
{
    struct iatt buf;
    inode_t *inode = world_look (world, dir, name, &buf);
    g_autofree char *below = g_strconcat (path, "/", name, NULL);

    g_string_append_printf (out, "%s\n", below);
    if (!inode) {
        g_string_append (out, "  can't be found\n");
        return;
    }
    dump_iatt (out, "is", &buf);
    dump_xattrs (world, inode, out);
    if (buf.ia_type == IA_IFREG)
        dump_file (world, inode, &buf, out);
    if (buf.ia_type == IA_IFDIR)
        dump_tree (world, inode, below, out);
    inode_unref (inode);
}

void
dump_tree (struct kit_world *world, inode_t *dir, const char *path, GString *out)
{
    g_autoptr (GPtrArray) names = dump_names (world, dir, out);

    for (guint i = 0; i < names->len; i++)
        if (!name_is_dots (names->pdata[i]))
            dump_name (world, dir, path, names->pdata[i], out);
}
