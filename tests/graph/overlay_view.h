/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A view of DIR/base, whose changes are in DIR/changes, with debug/power-cut and debug/fault over
 * both; its commands; and what the two sides and the view have, as a text. */
#ifndef TESTS_OVERLAY_VIEW_H
#define TESTS_OVERLAY_VIEW_H

#include "posix_world.h"

#include "core/base/log.h"
#include "core/edge/sync-names.h"
#include "core/work/job.h"

#define SIDE                                                                                       \
    "volume %1$s-posix\ntype storage/posix\noption directory %2$s/%1$s\nend-volume\n"              \
    "volume %1$s-cut\ntype debug/power-cut\nsubvolumes %1$s-posix\nend-volume\n"                   \
    "volume %1$s\ntype debug/fault\nsubvolumes %1$s-cut\nend-volume\n"
#define OVERLAY "volume overlay\ntype cluster/overlay\nsubvolumes changes base\nend-volume\n"

struct view {
    char *dir; /* has the directories "changes" and "base" */
    struct graph *graph;
    struct client *client;
};

/* --- the view --------------------------------------------------------------------------------- */

static G_GNUC_UNUSED void
view_mount (struct view *view)
{
    g_autofree char *changes = g_strdup_printf (SIDE, "changes", view->dir);
    g_autofree char *base = g_strdup_printf (SIDE, "base", view->dir);
    g_autofree char *text = g_strconcat (changes, base, OVERLAY, NULL);
    const struct graph_settings settings = { .inode_limit = 1000 };

    view->graph = graph_load (volfile_parse ("test.vol", text, strlen (text)), &settings);
    volfile_print_problems (view->graph->volfile);
    ck_assert (!volfile_has_errors (view->graph->volfile));
    ck_assert_int_eq (graph_activate (view->graph), 0);
    view->client = client_new (view->graph->top);
}

static G_GNUC_UNUSED void
view_unmount (struct view *view)
{
    client_free (view->client);
    graph_free (view->graph);
}

/* Gives a command that is answered at once. */
static G_GNUC_UNUSED int
view_order (struct view *view, const char *volume, const char *name, const char *input)
{
    xlator_t *xl = graph_find (view->graph, volume);
    const struct xlator_command *at = xl->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    g_autoptr (GString) answer = g_string_new (NULL);

    while (strcmp (at->name, name) != 0)
        at++;
    return at->run (xl, &(struct xlator_asked){ .input = bytes }, answer);
}

/* Gives a command that is a job, with its words, each of which ends with a NUL. Returns the result
 * of the job, and its message. */
static G_GNUC_UNUSED int
view_job (struct view *view, const char *command, const char *words, size_t size,
          char **ret_error)
{
    xlator_t *xl = graph_find (view->graph, "overlay");
    const struct xlator_command *at = xl->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (words, size);
    g_autoptr (GString) answer = g_string_new (NULL), text = g_string_new (NULL);
    struct job_read read = { 0 };
    unsigned number;

    while (strcmp (at->name, command) != 0)
        at++;
    ck_assert_int_eq (at->run (xl, &(struct xlator_asked){ .input = bytes }, answer), 0);
    number = (unsigned) atoi (answer->str);
    while (!read.ended) {
        ck_assert_int_eq (job_read (number, 0, 4096, text, &read), 0);
        if (!read.ended)
            g_usleep (200);
    }
    *ret_error = read.error;
    return read.result;
}

/* Applies or commits everything. */
static G_GNUC_UNUSED int
view_apply_all (struct view *view, const char *command, bool force, char **ret_error)
{
    static const char words[] = "--force\0--\0/"; /* a commit takes no path */
    const size_t skipped = force ? 0 : sizeof "--force";
    const size_t size = strcmp (command, "apply") == 0 ? sizeof words : strlen ("--force") + 4;

    return view_job (view, command, words + skipped, size - skipped, ret_error);
}

/* --- changes ---------------------------------------------------------------------------------- */

static G_GNUC_UNUSED char *
side_path (const struct view *view, const char *side, const char *name)
{
    return g_build_filename (view->dir, side, name, NULL);
}

static G_GNUC_UNUSED void
base_write (const struct view *view, const char *name, const char *text)
{
    g_autofree char *path = side_path (view, "base", name);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
}

static G_GNUC_UNUSED void
base_mkdir (const struct view *view, const char *name)
{
    g_autofree char *path = side_path (view, "base", name);

    ck_assert_int_eq (g_mkdir (path, 0755), 0);
}

static G_GNUC_UNUSED void
base_link (const struct view *view, const char *name, const char *other)
{
    g_autofree char *from = side_path (view, "base", name);
    g_autofree char *to = side_path (view, "base", other);

    ck_assert_int_eq (link (from, to), 0);
}

/* n: of the request that was hindered. */
static G_GNUC_UNUSED void
assert_base_links (const struct view *view, const char *name, const char *other, unsigned n)
{
    g_autofree char *from = side_path (view, "base", name);
    g_autofree char *to = side_path (view, "base", other);
    struct stat one, two;

    ck_assert_int_eq (lstat (from, &one), 0);
    ck_assert_int_eq (lstat (to, &two), 0);
    ck_assert_msg (one.st_ino == two.st_ino, "request %u: '%s' and '%s' are two files", n, name,
                   other);
}

static G_GNUC_UNUSED inode_t *
view_look (struct view *view, inode_t *directory, const char *name)
{
    inode_t *inode = NULL;
    struct iatt buf;

    ck_assert_int_eq (sync_name_look (view->client, directory, name, &inode, &buf), 0);
    return inode;
}

static G_GNUC_UNUSED void
view_write (struct view *view, inode_t *directory, const char *name, const char *text)
{
    g_autoptr (inode_t) fresh = inode_new (directory->table), linked = NULL;
    g_autoptr (fd_t) fd = fd_new (&view->graph->fd_maker, fresh, O_RDWR, 1);
    g_auto (loc_t) loc = { .name = name, .parent = directory, .inode = fresh };
    struct iovec iov = { (void *) text, strlen (text) };
    struct create_reply reply;

    ck_assert_int_ge (sync_create (view->client, &loc, O_RDWR, 0644, 0, fd, NULL, &reply), 0);
    linked = inode_link (reply.inode, directory, name, &reply.buf);
    fd_adopt (fd, linked);
    create_reply_drop (&reply);
    ck_assert_int_eq (sync_writev (view->client, fd, &iov, 1, 0, 0, NULL, NULL, NULL),
                      (int) iov.iov_len);
}

static G_GNUC_UNUSED void
view_overwrite (struct view *view, inode_t *directory, const char *name, const char *text)
{
    g_autoptr (inode_t) inode = view_look (view, directory, name);
    g_autoptr (fd_t) fd = NULL;
    struct iovec iov = { (void *) text, strlen (text) };

    ck_assert_int_eq (sync_name_open (view->client, &view->graph->fd_maker, inode, O_RDWR, &fd), 0);
    ck_assert_int_eq (sync_writev (view->client, fd, &iov, 1, 0, 0, NULL, NULL, NULL),
                      (int) iov.iov_len);
}

static G_GNUC_UNUSED void
view_remove (struct view *view, inode_t *directory, const char *name)
{
    G_GNUC_UNUSED g_autoptr (inode_t) inode = view_look (view, directory, name);

    ck_assert_int_eq (sync_name_remove_tree (view->client, &view->graph->fd_maker, directory,
                                             name), 0);
}

/* --- what is there ---------------------------------------------------------------------------- */

static void tree_append (GString *out, const char *path, const char *name);

static G_GNUC_UNUSED gint
tree_order (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static G_GNUC_UNUSED void
tree_append_names (GString *out, const char *path, const char *name)
{
    g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const char *entry;

    while ((entry = g_dir_read_name (dir)))
        if (strcmp (entry, ".windlass-power-cut") != 0)
            g_ptr_array_add (names, g_strdup (entry));
    g_ptr_array_sort (names, tree_order);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *below = g_build_filename (path, names->pdata[i], NULL);
        g_autofree char *shown = g_build_filename (name, names->pdata[i], NULL);

        tree_append (out, below, shown);
    }
}

static G_GNUC_UNUSED void
tree_append (GString *out, const char *path, const char *name)
{
    g_autofree char *text = NULL;
    struct stat st;

    ck_assert_int_eq (lstat (path, &st), 0);
    g_string_append_printf (out, "%s %o", name, st.st_mode);
    if (S_ISREG (st.st_mode) && g_file_get_contents (path, &text, NULL, NULL))
        g_string_append_printf (out, " '%s'", text);
    g_string_append_c (out, '\n');
    if (S_ISDIR (st.st_mode))
        tree_append_names (out, path, name);
}

static G_GNUC_UNUSED char *
base_tree (const struct view *view)
{
    g_autofree char *path = side_path (view, "base", ".");
    GString *out = g_string_new (NULL);

    tree_append (out, path, "");
    return g_string_free (out, FALSE);
}

static G_GNUC_UNUSED void
view_tree_append (struct view *view, inode_t *inode, const char *name, GString *out)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (fd_t) fd = NULL;
    g_auto (loc_t) loc = { .inode = inode };
    struct stat_reply st;
    struct readv_reply reply;

    ck_assert_int_eq (sync_stat (view->client, &loc, NULL, &st), 0);
    g_string_append_printf (out, "%s %o", name, mode_of_iatt (&st.buf));
    stat_reply_drop (&st);
    if (inode->ia_type == IA_IFREG) {
        ck_assert_int_eq (sync_name_open (view->client, &view->graph->fd_maker, inode, O_RDONLY,
                                          &fd), 0);
        ck_assert_int_ge (sync_readv (view->client, fd, 4096, 0, 0, NULL, &reply), 0);
        g_string_append_printf (out, " '%.*s'", (int) reply.vector->iov_len,
                                (char *) reply.vector->iov_base);
        readv_reply_drop (&reply);
    }
    g_string_append_c (out, '\n');
    if (inode->ia_type != IA_IFDIR)
        return;
    ck_assert_int_eq (sync_names_list (view->client, &view->graph->fd_maker, inode, names), 0);
    g_ptr_array_sort (names, tree_order);
    for (guint i = 0; i < names->len; i++) {
        g_autoptr (inode_t) below = view_look (view, inode, names->pdata[i]);
        g_autofree char *shown = g_build_filename (name, names->pdata[i], NULL);

        view_tree_append (view, below, shown, out);
    }
}

static G_GNUC_UNUSED char *
view_tree (struct view *view)
{
    GString *out = g_string_new (NULL);

    view_tree_append (view, itable_root (view->graph->itable), "", out);
    return g_string_free (out, FALSE);
}

static G_GNUC_UNUSED void
view_remove_all (struct view *view)
{
    g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", view->dir);

    view_unmount (view);
    ck_assert_int_eq (system (remove), 0);
    g_free (view->dir);
}

/* Makes the two sides, empty. */
static G_GNUC_UNUSED void
view_make (struct view *view)
{
    g_autofree char *changes = NULL, *base = NULL;

    view->dir = g_build_filename (g_get_tmp_dir (), "windlass-apply-XXXXXX", NULL);
    ck_assert_ptr_nonnull (g_mkdtemp (view->dir));
    changes = side_path (view, "changes", "");
    base = side_path (view, "base", "");
    ck_assert_int_eq (g_mkdir (changes, 0755), 0);
    ck_assert_int_eq (g_mkdir (base, 0755), 0);
}

#endif
