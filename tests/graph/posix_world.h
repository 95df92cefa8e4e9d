/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph of storage/posix alone above a fresh directory, with the steps of the bridge around each
 * call. */
#ifndef TESTS_POSIX_WORLD_H
#define TESTS_POSIX_WORLD_H

#include "core/data/dirent.h"
#include "core/data/dict.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"
#include "core/edge/sync.h"
#include "graph/graph.h"

#include "../program.h"
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each test runs in all of these; the last two need root. */
static const char *const world_modes[] = {
    "",
    "option handles descriptor\noption descriptor-cache 3\n",
    "option handles file-handle\noption descriptor-cache 3\n",
    "option gfid xattr\n",
};

#define WORLD_MODES (geteuid () == 0 ? 4 : 2)

struct world {
    char *dir;
    struct graph *graph;
    struct client *client;
    inode_t *root;
    bool by_name; /* files are found again by their names */
    int r;        /* of the last call */
};

static struct graph *
posix_world_load (const char *dir, const char *options)
{
    g_autofree char *text = g_strdup_printf (
        "volume posix\ntype storage/posix\noption directory %s\n%send-volume\n", dir, options);
    const struct graph_settings settings = { .inode_limit = 10 };
    struct graph *graph = graph_load (volfile_parse ("test.vol", text, strlen (text)), &settings);

    volfile_print_problems (graph->volfile);
    ck_assert (!volfile_has_errors (graph->volfile));
    graph->top->wants_above = WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES;
    return graph;
}

static G_GNUC_UNUSED struct world
posix_world_begin (const char *options)
{
    struct world w = { .dir = g_build_filename (g_get_tmp_dir (), "windlass-posix-XXXXXX", NULL) };

    ck_assert_ptr_nonnull (g_mkdtemp_full (w.dir, 0755));
    w.graph = posix_world_load (w.dir, options);
    w.r = graph_activate (w.graph);
    if (w.r == -EOPNOTSUPP) { /* this file system has no file handles, as overlayfs */
        graph_free (w.graph);
        options = world_modes[1];
        w.graph = posix_world_load (w.dir, options);
        w.r = graph_activate (w.graph);
    }
    ck_assert_int_eq (w.r, 0);
    w.by_name = options == world_modes[1];
    w.client = client_new (w.graph->top);
    w.client->umask = 022;
    w.client->lk_owner = 1;
    w.root = itable_root (w.graph->itable);
    return w;
}

static void
posix_world_end (struct world *w)
{
    g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", w->dir);

    client_free (w->client);
    graph_free (w->graph);
    ck_assert_int_eq (system (remove), 0);
    g_free (w->dir);
}

/* Frees the loc, with a path that a translator has requested. */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (loc_t, loc_wipe_path)

/* A world that ends after the variables declared below it, such as references to its inodes:
 * `g_auto (world) w = posix_world_begin (...)`. */
typedef struct world world;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (world, posix_world_end)

/* The path in the directory itself. g_free it. */
static G_GNUC_UNUSED char *
world_path (const struct world *w, const char *name)
{
    return g_build_filename (w->dir, name, NULL);
}

/* Returns the inode of a name as the bridge finds it: linked, with a reference; or NULL, with w->r
 * set. */
static G_GNUC_UNUSED inode_t *
posix_world_look (struct world *w, inode_t *dir, const char *name)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable);
    g_autoptr (inode_t) known = inode_grep (dir, name);
    g_auto (loc_t) loc = { .name = name, .parent = dir, .inode = known ? known : fresh };
    const uint64_t asked = names_now ();
    struct lookup_reply reply;
    inode_t *inode = NULL;

    w->r = sync_lookup (w->client, &loc, NULL, &reply);
    if (w->r >= 0) {
        ck_assert (!gfid_is_null (&reply.buf.ia_gfid));
        inode = inode_link_asked (reply.inode, dir, name, &reply.buf, asked);
    }
    lookup_reply_drop (&reply);
    return inode;
}

static G_GNUC_UNUSED inode_t *
world_mkdir (struct world *w, inode_t *dir, const char *name, mode_t mode)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable);
    g_auto (loc_t) loc = { .name = name, .parent = dir, .inode = fresh };
    struct mkdir_reply reply;
    inode_t *inode = NULL;

    w->r = sync_mkdir (w->client, &loc, mode, w->client->umask, NULL, &reply);
    if (w->r >= 0)
        inode = inode_link (reply.inode, dir, name, &reply.buf);
    mkdir_reply_drop (&reply);
    return inode;
}

/* Creates and opens a file; its inode is linked. */
static G_GNUC_UNUSED fd_t *
world_create (struct world *w, inode_t *dir, const char *name, uint32_t flags, mode_t mode)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable), linked = NULL;
    g_auto (loc_t) loc = { .name = name, .parent = dir, .inode = fresh };
    fd_t *fd = fd_new (&w->graph->fd_maker, fresh, flags, getpid ());
    struct create_reply reply;

    w->r = sync_create (w->client, &loc, flags, mode, w->client->umask, fd, NULL, &reply);
    if (w->r >= 0) {
        linked = inode_link (reply.inode, dir, name, &reply.buf);
        if (linked != fd->inode) {
            inode_unref (fd->inode);
            fd->inode = inode_ref (linked);
        }
    }
    create_reply_drop (&reply);
    if (w->r < 0)
        g_clear_pointer (&fd, fd_unref);
    return fd;
}

static G_GNUC_UNUSED fd_t *
world_open (struct world *w, inode_t *inode, uint32_t flags)
{
    fd_t *fd = fd_new (&w->graph->fd_maker, inode, flags, getpid ());
    g_auto (loc_t) loc = { .inode = inode };

    w->r = inode->ia_type == IA_IFDIR ? sync_opendir (w->client, &loc, fd, NULL, NULL)
                                      : sync_open (w->client, &loc, flags, fd, NULL, NULL);
    if (w->r < 0)
        g_clear_pointer (&fd, fd_unref);
    return fd;
}

static G_GNUC_UNUSED int
world_write (struct world *w, fd_t *fd, const char *text, off_t offset)
{
    struct iovec iov = { (void *) text, strlen (text) };

    return w->r = sync_writev (w->client, fd, &iov, 1, offset, 0, NULL, NULL, NULL);
}

/* Returns at most size bytes from offset, as text. g_free it. */
static G_GNUC_UNUSED char *
world_read (struct world *w, fd_t *fd, size_t size, off_t offset)
{
    struct readv_reply reply;
    char *text = NULL;

    w->r = sync_readv (w->client, fd, size, offset, 0, NULL, &reply);
    if (w->r >= 0)
        text = g_strndup (reply.vector->iov_base, (gsize) w->r);
    readv_reply_drop (&reply);
    return text;
}

static G_GNUC_UNUSED struct iatt
world_stat (struct world *w, inode_t *inode)
{
    g_auto (loc_t) loc = { .inode = inode };
    struct stat_reply reply;
    struct iatt buf = { 0 };

    w->r = sync_stat (w->client, &loc, NULL, &reply);
    if (w->r >= 0)
        buf = reply.buf;
    stat_reply_drop (&reply);
    return buf;
}

static G_GNUC_UNUSED int
world_unlink (struct world *w, inode_t *dir, const char *name)
{
    g_autoptr (inode_t) inode = inode_grep (dir, name);
    g_auto (loc_t) loc = { .name = name, .parent = dir, .inode = inode };

    w->r = sync_unlink (w->client, &loc, 0, NULL, NULL);
    if (w->r >= 0)
        inode_unlink (dir, name);
    return w->r;
}

static G_GNUC_UNUSED int
world_rename (struct world *w, inode_t *dir, const char *from, inode_t *newdir, const char *to,
              uint32_t flags)
{
    g_autoptr (inode_t) inode = inode_grep (dir, from), victim = inode_grep (newdir, to);
    loc_t oldloc = { .name = from, .parent = dir, .inode = inode };
    loc_t newloc = { .name = to, .parent = newdir, .inode = victim };

    w->r = sync_rename (w->client, &oldloc, &newloc, flags, NULL, NULL);
    if (w->r >= 0)
        inode_rename (dir, from, newdir, to, flags & RENAME_EXCHANGE);
    return w->r;
}

/* Returns the number of descriptors of this process. */
static G_GNUC_UNUSED unsigned
world_descriptors (void)
{
    GDir *dir = g_dir_open ("/proc/self/fd", 0, NULL);
    unsigned n = 0;

    while (g_dir_read_name (dir))
        n++;
    g_dir_close (dir);
    return n;
}

#endif
