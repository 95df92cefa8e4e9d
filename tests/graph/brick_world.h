/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A translator of xlators/cluster above bricks in this process (conform/brick), under a scheduler:
 * time stands still while a test looks at the bricks. The calls are those of posix_world.h. */
#ifndef TESTS_BRICK_WORLD_H
#define TESTS_BRICK_WORLD_H

#include "../../conform/brick/brick.h"
#include "core/time/scheduler.h"

#include "posix_world.h"
#include <sys/xattr.h>

#define BRICKS_MAX 3

struct brick_world {
    struct world w;
    unsigned n; /* number of bricks */
    struct brick *bricks[BRICKS_MAX];
};

/* Lets this time pass, in nanoseconds, with all that happens meanwhile. */
static G_GNUC_UNUSED void
bricks_pass (int64_t time)
{
    const int64_t end = scheduler_now () + time;

    while (scheduler_now () < end && scheduler_step ())
        ;
}

/* Appends the volume of a brick, which the world's directory has as brick-N. */
static void
world_add_brick (struct brick_world *b, GString *volfile)
{
    g_autofree char *name = g_strdup_printf ("brick-%u", b->n),
                    *directory = g_build_filename (b->w.dir, name, NULL),
                    *socket = g_strdup_printf ("%s.socket", directory);
    struct brick *brick;

    ck_assert_int_eq (mkdir (directory, 0755), 0);
    brick = b->bricks[b->n++] = brick_new (name, directory, socket, 1);
    ck_assert (brick && brick_begin (brick));
    brick_calm (brick, true);
    g_string_append_printf (volfile,
                            "volume %s\ntype protocol/client\noption transport-type unix\n"
                            "option transport.socket.connect-path %s\n"
                            "option remote-subvolume /\noption frame-timeout 0\n"
                            "option ping-timeout 0\nend-volume\n",
                            name, socket);
}

/* top: the type and the options of the translator above the bricks, as lines of a volfile. */
static struct brick_world
bricks_begin (unsigned bricks, const char *top)
{
    const struct graph_settings settings = { .inode_limit = 100 };
    struct brick_world b = { 0 };
    g_autoptr (GString) volfile = g_string_new (NULL);

    b.w.dir = g_build_filename (g_get_tmp_dir (), "windlass-bricks-XXXXXX", NULL);
    ck_assert_ptr_nonnull (g_mkdtemp_full (b.w.dir, 0755));
    scheduler_begin (1);
    while (b.n < bricks)
        world_add_brick (&b, volfile);
    g_string_append_printf (volfile, "volume top\n%s\nsubvolumes", top);
    for (unsigned i = 0; i < bricks; i++)
        g_string_append_printf (volfile, " brick-%u", i);
    g_string_append (volfile, "\nend-volume\n");
    b.w.graph = graph_load (volfile_parse ("test.vol", volfile->str, volfile->len), &settings);
    volfile_print_problems (b.w.graph->volfile);
    ck_assert (!volfile_has_errors (b.w.graph->volfile));
    ck_assert_int_eq (graph_activate (b.w.graph), 0);
    b.w.client = client_new (b.w.graph->top);
    b.w.client->umask = 022;
    b.w.client->lk_owner = 1;
    b.w.root = itable_root (b.w.graph->itable);
    return b;
}

static void
bricks_end (struct brick_world *b)
{
    graph_deactivate (b->w.graph);
    posix_world_end (&b->w);
    bricks_pass (INT64_C (2000000000)); /* a timer has a reference to each connection */
    for (unsigned i = 0; i < b->n; i++)
        brick_free (b->bricks[i]);
    scheduler_end ();
}

typedef struct brick_world brick_world;
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (brick_world, bricks_end)

/* Kills a brick, and lets protocol/client see it. */
static G_GNUC_UNUSED void
bricks_kill (struct brick_world *b, unsigned brick)
{
    brick_kill (b->bricks[brick]);
    bricks_pass (1000000);
}

/* The path of a name in a brick's directory. g_free it. */
static G_GNUC_UNUSED char *
bricks_path (const struct brick_world *b, unsigned brick, const char *name)
{
    return g_build_filename (b->bricks[brick]->directory, name, NULL);
}

/* Returns whether the brick has the name, and its attributes. */
static G_GNUC_UNUSED bool
bricks_stat (const struct brick_world *b, unsigned brick, const char *name, struct stat *ret_stat)
{
    g_autofree char *path = bricks_path (b, brick, name);

    return lstat (path, ret_stat) == 0;
}

/* Returns the size of an attribute's value on a brick; -1: there is none. */
static G_GNUC_UNUSED ssize_t
bricks_xattr (const struct brick_world *b, unsigned brick, const char *name, const char *key,
              void *value, size_t size)
{
    g_autofree char *path = bricks_path (b, brick, name);

    return lgetxattr (path, key, value, size);
}

#endif
