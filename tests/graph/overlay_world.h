/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Graphs of cluster/overlay over two directories, DIR/changes and DIR/lower, used as those of
 * posix_world.h; and what a view shows, as a text. */
#ifndef TESTS_OVERLAY_WORLD_H
#define TESTS_OVERLAY_WORLD_H

#include "posix_world.h"

#include "core/edge/sync-names.h"
#include "core/work/job.h"

#include <sys/xattr.h>

/* above: volumes over the first child, the last of which is named by top. options: of the
 * overlay. */
struct overlay_graph {
    const char *above, *top, *options;
};

static struct graph *
overlay_graph_load (const char *dir, const struct overlay_graph *with)
{
    g_autofree char *text = g_strdup_printf (
        "volume changes\ntype storage/posix\noption directory %s/changes\nend-volume\n%s"
        "volume lower\ntype storage/posix\noption directory %s/lower\nend-volume\n"
        "volume overlay\ntype cluster/overlay\n%ssubvolumes %s lower\nend-volume\n",
        dir, with->above ? with->above : "", dir, with->options ? with->options : "",
        with->top ? with->top : "changes");
    const struct graph_settings settings = { .inode_limit = 100 };
    struct graph *graph = graph_load (volfile_parse ("test.vol", text, strlen (text)), &settings);

    volfile_print_problems (graph->volfile);
    ck_assert (!volfile_has_errors (graph->volfile));
    return graph;
}

/* Makes the directories, without a graph. */
static G_GNUC_UNUSED struct world
overlay_world_new (void)
{
    struct world w = { .dir = g_build_filename (g_get_tmp_dir (), "windlass-XXXXXX", NULL) };
    g_autofree char *changes = NULL, *lower = NULL;

    ck_assert_ptr_nonnull (g_mkdtemp_full (w.dir, 0755));
    changes = world_path (&w, "changes");
    lower = world_path (&w, "lower");
    ck_assert_int_eq (mkdir (changes, 0755), 0);
    ck_assert_int_eq (mkdir (lower, 0755), 0);
    return w;
}

/* Starts a graph over the directories. w->r has the result. */
static G_GNUC_UNUSED void
overlay_world_start (struct world *w, const struct overlay_graph *with)
{
    w->graph = overlay_graph_load (w->dir, with);
    w->r = graph_activate (w->graph);
    if (w->r < 0)
        return;
    w->client = client_new (w->graph->top);
    w->client->umask = 022;
    w->client->lk_owner = 1;
    w->root = itable_root (w->graph->itable);
}

static G_GNUC_UNUSED void
overlay_world_stop (struct world *w)
{
    if (w->client)
        client_free (g_steal_pointer (&w->client));
    graph_free (g_steal_pointer (&w->graph));
}

static G_GNUC_UNUSED void
overlay_world_end (struct world *w)
{
    g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", w->dir);

    overlay_world_stop (w);
    ck_assert_int_eq (system (remove), 0);
    g_free (w->dir);
}

/* Writes a file of the directories, such as "lower/file". */
static G_GNUC_UNUSED void
overlay_put (const struct world *w, const char *name, const char *text)
{
    g_autofree char *path = world_path (w, name);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
}

/* Returns what a file of the directories holds; NULL: there is none. g_free it. */
static G_GNUC_UNUSED char *
overlay_got (const struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);
    char *text = NULL;

    g_file_get_contents (path, &text, NULL, NULL);
    return text;
}

/* A file of the lower that is from before OVERLAY_OLD, and another name of one. */
static G_GNUC_UNUSED void
overlay_put_old (const struct world *w, const char *name, mode_t mode)
{
    const struct timespec times[] = { { .tv_sec = 900000000 }, { .tv_sec = 900000001 } };
    g_autofree char *path = world_path (w, name), *text = g_strnfill (5000, 'a');

    overlay_put (w, name, text);
    ck_assert_int_eq (chmod (path, mode), 0);
    (void) setxattr (path, "user.test", "value", 5, 0);
    ck_assert_int_eq (utimensat (AT_FDCWD, path, times, 0), 0);
}

static G_GNUC_UNUSED void
overlay_link_old (const struct world *w, const char *name, const char *other)
{
    g_autofree char *from = world_path (w, name), *to = world_path (w, other);

    ck_assert_int_eq (link (from, to), 0);
}

/* Bytes and times of all that is in the lower. */
static G_GNUC_UNUSED char *
overlay_lower_state (const struct world *w)
{
    g_autofree char *command = g_strdup_printf (
        "cd '%s/lower' && find . -printf '%%p %%m %%u %%s %%T@ %%C@\\n' | sort && "
        "find . -type f -exec md5sum {} +", w->dir);
    char *text = NULL;

    ck_assert_int_eq (g_spawn_sync (NULL, (char *[]){ "sh", "-c", command, NULL }, NULL,
                                    G_SPAWN_SEARCH_PATH, NULL, NULL, &text, NULL, NULL, NULL), 1);
    return text;
}

/* Sends a command to a translator, and returns the answer. g_free it. */
static G_GNUC_UNUSED char *
overlay_tell (const struct world *w, const char *volume, const char *command, const char *input)
{
    xlator_t *xl = graph_find (w->graph, volume);
    const struct xlator_command *one = xl->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    GString *answer = g_string_new (NULL);

    while (strcmp (one->name, command) != 0)
        one++;
    ck_assert_int_eq (one->run (xl, &(struct xlator_asked){ .input = bytes }, answer), 0);
    return g_string_free (answer, FALSE);
}

/* Gives the overlay a command that is a job, and waits for its end. Returns its result. */
static G_GNUC_UNUSED int
overlay_job (const struct world *w, const char *command, const char *input)
{
    g_autofree char *number = overlay_tell (w, "overlay", command, input);
    g_autoptr (GString) said = g_string_new (NULL);
    struct job_read read = { 0 };
    int r = 0;

    while (r == 0 && !read.ended) {
        r = job_read ((unsigned) strtoul (number, NULL, 10), 0, 1000, said, &read);
        g_free (read.error);
        g_usleep (100);
    }
    return r < 0 ? r : read.result;
}

/* --- requests of the first child that hang ---------------------------------------------------- */

/* With debug/fault, as "fault", over the first child. */
static G_GNUC_UNUSED const struct overlay_graph overlay_faulty = {
    .above = "volume fault\ntype debug/fault\noption seed 1\nsubvolumes changes\nend-volume\n",
    .top = "fault",
};

#define OVERLAY_UNTIL(condition_)                                                                  \
    for (unsigned tries_ = 0; !(condition_); tries_++) {                                           \
        ck_assert_msg (tries_ < 30000, "waited in vain for " #condition_);                         \
        g_usleep (1000);                                                                           \
    }

static G_GNUC_UNUSED void
overlay_rules (const struct world *w, const char *rules)
{
    g_free (overlay_tell (w, "fault", "rules", rules));
}

/* Whether a request hangs by the rule, which is for one request. */
static G_GNUC_UNUSED bool
overlay_hangs (const struct world *w)
{
    g_autofree char *shown = overlay_tell (w, "fault", "show", "");

    return strstr (shown, "fired 1") != NULL;
}

/* Returns whether a request was released: one that hangs by a rule is held a moment after the rule
 * has counted it. */
static G_GNUC_UNUSED bool
overlay_release (const struct world *w)
{
    g_autofree char *said = overlay_tell (w, "fault", "release", "");

    return strcmp (said, "released 1") == 0;
}

/* --- what a view shows ------------------------------------------------------------------------ */

#define OVERLAY_OLD 1000000000 /* files of the lower are from before this second */

static void
overlay_show_content (struct world *w, inode_t *inode, GString *out)
{
    g_autoptr (fd_t) fd = world_open (w, inode, O_RDONLY);
    g_autofree char *text = fd ? world_read (w, fd, 1 << 20, 0) : NULL, *sum = NULL;

    if (!text) {
        g_string_append_printf (out, " UNREADABLE(%d)", w->r);
        return;
    }
    sum = g_compute_checksum_for_string (G_CHECKSUM_MD5, text, -1);
    g_string_append_printf (out, " %.8s", sum);
}

static void
overlay_show_xattr (struct world *w, inode_t *inode, GString *out)
{
    g_auto (loc_t) loc = { .inode = inode };
    struct getxattr_reply reply;

    if (sync_getxattr (w->client, &loc, "user.test", NULL, &reply) >= 0)
        g_string_append_printf (out, " xattr=%s", dict_get_str (reply.dict, "user.test"));
    getxattr_reply_drop (&reply);
}

static int
overlay_show_one (const struct sync_tree *tree, inode_t *directory, const char *name,
                  inode_t *inode, const struct iatt *buf)
{
    void **const both = tree->data;
    struct world *w = both[0];
    g_autofree char *path = inode_path (directory, name);
    g_autoptr (GString) line = g_string_new (path);

    g_string_append_printf (line, " %d %o %u", (int) buf->ia_type, (unsigned) buf->ia_prot,
                            buf->ia_uid);
    if (buf->ia_type == IA_IFREG) {
        g_string_append_printf (line, " %" G_GUINT64_FORMAT " %s", buf->ia_size,
                                buf->ia_mtime < OVERLAY_OLD ? "old" : "new");
        overlay_show_content (w, inode, line);
        overlay_show_xattr (w, inode, line);
    }
    g_ptr_array_add (both[1], g_string_free (g_steal_pointer (&line), FALSE));
    return 0;
}

static gint
overlay_show_order (gconstpointer a, gconstpointer b)
{
    return strcmp (*(char *const *) a, *(char *const *) b);
}

/* A line for each name: path, type, mode, owner; of files also size, whether the mtime is the
 * lower's, a sum of the bytes, and the attribute user.test. g_free it. */
static G_GNUC_UNUSED char *
overlay_show (struct world *w)
{
    g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    void *both[] = { w, lines };
    const struct sync_tree tree = { .client = w->client, .fds = &w->graph->fd_maker,
                                    .fn = overlay_show_one, .data = both };
    int r = sync_names_list (w->client, &w->graph->fd_maker, w->root, names);

    for (guint i = 0; r == 0 && i < names->len; i++)
        r = sync_tree_each (&tree, w->root, names->pdata[i]);
    if (r < 0)
        return g_strdup_printf ("can't be listed: %s\n", g_strerror (-r));
    g_ptr_array_sort (lines, overlay_show_order);
    g_ptr_array_add (lines, NULL);
    return g_strjoinv ("\n", (char **) lines->pdata);
}

#endif
