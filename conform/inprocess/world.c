/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A graph over a scratch directory, and the tree for a case, made through the graph itself, or
 * below a translator that refuses changes by design:
 *
 *   wN/   file (9000 bytes, user.known)   other (10 bytes)   dir/   full/{a,b,sub/}   link -> file
 *          fifo
 *
 * and a file and a directory without names, whose inodes are still known.
 */
#include "conform/inprocess/inprocess.h"

#include "core/data/dict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PATIENCE 3000000000 /* nanoseconds, for an answer */

/* --- the graph ------------------------------------------------------------------------------ */

/* Gives each storage a directory of its own, in place of the one in the volfile. *ret_lower is the
 * first one that is a lower; or NULL. */
static GPtrArray *
world_options (const struct conform_options *options, const struct volfile *volfile,
               const char *dir, char **ret_lower)
{
    GPtrArray *all = g_ptr_array_new_with_free_func (g_free);

    for (const char *const *option = options->options; option && *option; option++)
        g_ptr_array_add (all, g_strdup (*option));
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];
        g_autofree char *path = g_strdup_printf ("%s/%u", dir, i), *shown = NULL;

        if (g_strcmp0 (volume->type, "storage/posix") != 0)
            continue;
        g_ptr_array_add (all, g_strdup_printf ("%s.directory=%s", volume->name, path));
        shown = conform_storage_make (volfile, path);
        if (options->lowers && !*ret_lower && conform_is_lower (volfile, volume->name))
            *ret_lower = g_strdup (path);
    }
    g_ptr_array_add (all, NULL);
    return all;
}

static struct graph *
world_load (const struct conform_options *options, const char *dir, bool reference,
            char **ret_lower)
{
    g_autofree char *error = NULL;
    struct volfile *volfile;

    if (reference) {
        static const char text[] =
            "volume bare\ntype storage/posix\noption directory /nowhere\nend-volume\n";
        volfile = volfile_parse ("bare", text, strlen (text));
    } else {
        volfile = volfile_read (options->volfile, &error);
    }
    if (!volfile) {
        fprintf (stderr, "windlass conform: %s\n", error);
        return NULL;
    }
    const struct conform_options bare = { 0 };
    g_autoptr (GPtrArray) all = world_options (reference ? &bare : options, volfile, dir,
                                                   ret_lower);
    const struct graph_settings settings = { .volume_name = reference ? NULL : options->volume_name,
                                             .options = (const char *const *) all->pdata,
                                             .xlator_dirs = options->xlator_dirs };
    struct graph *graph = graph_load (volfile, &settings);
    if (!volfile_has_errors (graph->volfile))
        return graph;
    volfile_print_problems (graph->volfile);
    graph_free (graph);
    return NULL;
}

static void
world_inspect (struct graph *graph)
{
    places_learn (graph);
    locks_watch (graph);
    statics_mark (graph);
    graph_splice (graph, &inspect_api);
}

/* Sets who makes calls. checked: there is no kernel whose rights would count. */
static void
world_identify (struct client *client)
{
    client->patience = PATIENCE;
    client->umask = 022;
    client->checked = true;
    client->lk_owner = 1;
}

/* As a mount does at its start: some translators get ready for it. If it fails, so do the cases. */
static void
world_look_root (struct kit_world *world)
{
    loc_t loc = { .inode = itable_root (world->graph->itable) };

    sync_lookup (world->client, &loc, NULL, NULL);
    loc_wipe_path (&loc);
}

struct kit_world *
world_new (const struct conform_options *options, const char *dir)
{
    const bool reference = g_str_has_suffix (dir, "/bare");
    struct kit_world *world = g_new0 (struct kit_world, 1);
    struct graph *graph = world_load (options, dir, reference, &world->lower);
    xlator_t *below = NULL;

    if (!graph)
        return NULL;
    if (!reference)
        world_inspect (graph);
    if (graph_activate (graph) < 0) {
        fprintf (stderr, "windlass conform: the graph of '%s' didn't start\n",
                 graph->volfile->path);
        return NULL;
    }
    world->graph = graph;
    world->options = options;
    world->inspected = !reference;
    world->client = client_new (graph->top);
    world->maker = world->client;
    if (!reference && !conform_below (options, graph, &below))
        return NULL;
    if (below)
        world->maker = client_new (below);
    world_identify (world->client);
    world_identify (world->maker);
    world_look_root (world);
    return world;
}

unsigned
world_wanted (const struct kit_world *world)
{
    unsigned wants = 0;

    for (guint i = 0; i < world->graph->xlators->len; i++)
        wants |= ((xlator_t *) world->graph->xlators->pdata[i])->api->wants;
    return wants & WANTS_ATTRIBUTES;
}

void
world_wants (struct kit_world *world, unsigned above)
{
    for (guint i = 0; i < world->graph->xlators->len; i++) {
        xlator_t *xl = world->graph->xlators->pdata[i];
        unsigned wants = 0;

        for (const xlator_list_t *up = xl->parents; up; up = up->next)
            wants |= up->xlator->api->wants | up->xlator->wants_above;
        xl->wants_above = wants | above;
    }
}

/* --- the tree ------------------------------------------------------------------------------- */

inode_t *
world_look (struct kit_world *world, inode_t *dir, const char *name, struct iatt *ret_buf)
{
    inode_t *fresh = inode_new (world->graph->itable), *known = inode_grep (dir, name),
            *inode = NULL;
    loc_t loc = { .name = name, .parent = dir, .inode = known ? known : fresh };
    struct lookup_reply reply;

    if (sync_lookup (world->client, &loc, NULL, &reply) >= 0 && reply.inode
        && !gfid_is_null (&reply.buf.ia_gfid))
        inode = inode_link (reply.inode, dir, name, &reply.buf);
    if (ret_buf)
        *ret_buf = reply.buf;
    lookup_reply_drop (&reply);
    inode_unref (known);
    inode_unref (fresh);
    return inode;
}

/* Returns the path of a name in the lower; g_free it. */
static char *
lower_path (const struct kit_world *world, inode_t *dir, const char *name)
{
    g_autofree char *path = inode_path (dir, name);

    return g_build_filename (world->lower, path, NULL);
}

static int
tree_mkdir (struct kit_world *world, inode_t *dir, const char *name, inode_t **ret_inode)
{
    inode_t *fresh = inode_new (world->graph->itable);
    loc_t loc = { .name = name, .parent = dir, .inode = fresh };
    g_autofree char *path = world->lower ? lower_path (world, dir, name) : NULL;
    int r = path ? (mkdir (path, 0755) < 0 ? -errno : 0)
                 : sync_mkdir (world->maker, &loc, 0755, 022, NULL, NULL);

    inode_unref (fresh);
    *ret_inode = r >= 0 ? world_look (world, dir, name, NULL) : NULL;
    return r < 0 ? r : *ret_inode ? 0 : -ENOENT;
}

static char *
tree_text (size_t size)
{
    char *text = g_malloc (size + 1);

    for (size_t i = 0; i < size; i++)
        text[i] = "Pack my box with five dozen liquor jugs! "[i % 41];
    return text;
}

static int
tree_write (struct kit_world *world, fd_t *fd, size_t size)
{
    g_autofree char *text = tree_text (size);
    struct iovec iov = { text, size };

    return sync_writev (world->maker, fd, &iov, 1, 0, 0, NULL, NULL, NULL);
}

static int
tree_lower_file (struct kit_world *world, inode_t *dir, const char *name, size_t size,
                 inode_t **ret_inode)
{
    g_autofree char *path = lower_path (world, dir, name), *text = tree_text (size);

    if (!g_file_set_contents (path, text, (gssize) size, NULL) || chmod (path, 0644) < 0)
        return -EIO;
    *ret_inode = world_look (world, dir, name, NULL);
    return *ret_inode ? 0 : -ENOENT;
}

static int
tree_file (struct kit_world *world, inode_t *dir, const char *name, size_t size,
           inode_t **ret_inode)
{
    if (world->lower)
        return tree_lower_file (world, dir, name, size, ret_inode);
    inode_t *fresh = inode_new (world->graph->itable);
    loc_t loc = { .name = name, .parent = dir, .inode = fresh };
    fd_t *fd = fd_new (&world->graph->fd_maker, fresh, O_RDWR, 1);
    int r = sync_create (world->maker, &loc, O_RDWR | O_EXCL, 0644, 022, fd, NULL, NULL);

    if (r >= 0 && size > 0)
        r = tree_write (world, fd, size);
    fd_unref (fd);
    inode_unref (fresh);
    *ret_inode = r >= 0 ? world_look (world, dir, name, NULL) : NULL;
    return r < 0 ? r : *ret_inode ? 0 : -ENOENT;
}

static int
tree_lower_special (struct kit_world *world)
{
    g_autofree char *link = lower_path (world, world->top, "link"),
                    *fifo = lower_path (world, world->top, "fifo");

    return symlink ("file", link) < 0 || mkfifo (fifo, 0644) < 0 ? -errno : 0;
}

static int
tree_special_made (struct kit_world *world)
{
    inode_t *link = inode_new (world->graph->itable), *fifo = inode_new (world->graph->itable);
    loc_t link_loc = { .name = "link", .parent = world->top, .inode = link };
    loc_t fifo_loc = { .name = "fifo", .parent = world->top, .inode = fifo };
    int r = sync_symlink (world->maker, "file", &link_loc, 022, NULL, NULL);

    if (r >= 0)
        r = sync_mknod (world->maker, &fifo_loc, S_IFIFO | 0644, 0, 022, NULL, NULL);
    inode_unref (link);
    inode_unref (fifo);
    return r;
}

static int
tree_special (struct kit_world *world)
{
    const int r = world->lower ? tree_lower_special (world) : tree_special_made (world);

    world->link = world_look (world, world->top, "link", NULL);
    world->fifo = world_look (world, world->top, "fifo", NULL);
    return r;
}

static int
tree_open (struct kit_world *world, int which, inode_t *inode, uint32_t flags)
{
    fd_t *fd = fd_new (&world->graph->fd_maker, inode, world->only_readers ? O_RDONLY : flags, 1);
    loc_t loc = { .inode = inode };
    int r = which == FD_DIR ? sync_opendir (world->client, &loc, fd, NULL, NULL)
                            : sync_open (world->client, &loc, fd->flags, fd, NULL, NULL);

    if (fd->flags != O_RDONLY && conform_refused (world->options, "open", -r)) {
        fd_unref (fd);
        world->only_readers = true;
        return tree_open (world, which, inode, O_RDONLY);
    }
    world->fds[which] = fd;
    return r;
}

static int
tree_files (struct kit_world *world)
{
    inode_t *unlinked = NULL;
    loc_t loc = { .name = "unlinked", .parent = world->top };
    int r = tree_file (world, world->top, "unlinked", 9000, &unlinked);

    if (r >= 0)
        r = tree_open (world, FD_UNLINKED, unlinked, O_RDWR);
    loc.inode = unlinked;
    if (r >= 0)
        r = sync_unlink (world->maker, &loc, 0, NULL, NULL);
    inode_unlink (world->top, "unlinked");
    inode_unref (unlinked);
    static const struct { int which; uint32_t flags; } opens[] = {
        { FD_RO, O_RDONLY }, { FD_WO, O_WRONLY }, { FD_RW, O_RDWR },
        { FD_APPEND, O_WRONLY | O_APPEND },
    };
    for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS (opens); i++)
        r = tree_open (world, opens[i].which, world->file, opens[i].flags);
    if (r >= 0)
        r = tree_open (world, FD_OTHER, world->other, O_RDWR);
    return r < 0 ? r : tree_open (world, FD_DIR, world->full, O_RDONLY);
}

static int
tree_gone (struct kit_world *world)
{
    loc_t file = { .name = "gone", .parent = world->top },
          dir = { .name = "gone-dir", .parent = world->top };
    int r = tree_file (world, world->top, "gone", 1, &world->gone);

    if (r >= 0)
        r = tree_mkdir (world, world->top, "gone-dir", &world->gone_directory);
    file.inode = world->gone;
    dir.inode = world->gone_directory;
    if (r >= 0)
        r = sync_unlink (world->maker, &file, 0, NULL, NULL);
    if (r >= 0)
        r = sync_rmdir (world->maker, &dir, 0, NULL, NULL);
    inode_unlink (world->top, "gone");
    inode_unlink (world->top, "gone-dir");
    return r;
}

static int
tree_full (struct kit_world *world)
{
    static const char *const names[] = {
        "a", "b", "a file with a long name, so that one answer has no room for all"
    };
    inode_t *inode = NULL;
    int r = tree_mkdir (world, world->top, "full", &world->full);

    for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS (names); i++) {
        r = tree_file (world, world->full, names[i], i, &inode);
        g_clear_pointer (&inode, inode_unref);
    }
    if (r >= 0)
        r = tree_mkdir (world, world->full, "sub", &inode);
    inode_unref (inode);
    return r;
}

static void
tree_attribute (struct kit_world *world)
{
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = world->file };
    g_autofree char *path = world->lower ? lower_path (world, world->top, "file") : NULL;

    if (path) {
        setxattr (path, "user.known", "known", 5, 0);
        return;
    }
    dict_set_str (dict, "user.known", "known");
    sync_setxattr (world->maker, &loc, dict, 0, NULL, NULL); /* some file systems have no extended
                                                                 attributes */
}

static int
tree_make (struct kit_world *world)
{
    g_autofree char *name = g_strdup_printf ("w%u", ++world->number);
    int r = tree_mkdir (world, itable_root (world->graph->itable), name, &world->top);

    if (r >= 0)
        r = tree_file (world, world->top, "file", 9000, &world->file);
    if (r >= 0)
        r = tree_file (world, world->top, "other", 10, &world->other);
    if (r >= 0)
        r = tree_mkdir (world, world->top, "dir", &world->directory);
    if (r >= 0)
        r = tree_full (world);
    if (r >= 0)
        r = tree_special (world);
    if (r >= 0)
        r = tree_gone (world);
    if (r >= 0)
        r = tree_files (world);
    if (r >= 0)
        tree_attribute (world);
    return r;
}

int
world_ready (struct kit_world *world)
{
    int r;

    if (world->ready && !world->dirty)
        return 0;
    world_drop (world);
    r = tree_make (world);
    world->ready = r >= 0;
    world->dirty = false;
    return r;
}

void
world_drop (struct kit_world *world)
{
    inode_t **const inodes[] = { &world->top,       &world->file, &world->other,
                                 &world->directory, &world->full, &world->link,
                                 &world->fifo,      &world->gone, &world->gone_directory };

    for (int i = 0; i < FDS; i++)
        g_clear_pointer (&world->fds[i], fd_unref);
    for (size_t i = 0; i < G_N_ELEMENTS (inodes); i++)
        g_clear_pointer (inodes[i], inode_unref);
    world->ready = false;
}

void
world_free (struct kit_world *world)
{
    world_drop (world);
    if (world->maker != world->client)
        client_free (world->maker);
    client_free (world->client);
    graph_free (world->graph);
    g_free (world->lower);
    g_free (world);
}
