/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* longer */
/*
 * windlass overlay apply and commit, with a power cut after each of their requests (each third or
 * fifth one, but for ./check --long): nothing of the view is lost, and the command that is given
 * again ends with all changes in the base.
 */
#include "posix_world.h"

#include "core/base/log.h"
#include "core/edge/sync-names.h"
#include "core/work/job.h"

#define SIDE                                                                                       \
    "volume %1$s-posix\ntype storage/posix\noption directory %2$s/%1$s\nend-volume\n"              \
    "volume %1$s-cut\ntype debug/power-cut\nsubvolumes %1$s-posix\nend-volume\n"                   \
    "volume %1$s\ntype debug/fault\nsubvolumes %1$s-cut\nend-volume\n"
#define OVERLAY "volume overlay\ntype cluster/overlay\nsubvolumes changes base\nend-volume\n"
#define STEPS_MAX 500

struct view {
    char *dir; /* has the directories "changes" and "base" */
    struct graph *graph;
    struct client *client;
};

/* --- the view --------------------------------------------------------------------------------- */

static void
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

static void
view_unmount (struct view *view)
{
    client_free (view->client);
    graph_free (view->graph);
}

/* Gives a command that is answered at once. */
static int
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
static int
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
static int
view_apply_all (struct view *view, const char *command, bool force, char **ret_error)
{
    static const char words[] = "--force\0--\0/"; /* a commit takes no path */
    const size_t skipped = force ? 0 : sizeof "--force";
    const size_t size = strcmp (command, "apply") == 0 ? sizeof words : strlen ("--force") + 4;

    return view_job (view, command, words + skipped, size - skipped, ret_error);
}

/* --- changes ---------------------------------------------------------------------------------- */

static char *
side_path (const struct view *view, const char *side, const char *name)
{
    return g_build_filename (view->dir, side, name, NULL);
}

static void
base_write (const struct view *view, const char *name, const char *text)
{
    g_autofree char *path = side_path (view, "base", name);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
}

static void
base_link (const struct view *view, const char *name, const char *other)
{
    g_autofree char *from = side_path (view, "base", name);
    g_autofree char *to = side_path (view, "base", other);

    ck_assert_int_eq (link (from, to), 0);
}

static void
assert_base_links (const struct view *view, const char *name, const char *other, unsigned n)
{
    g_autofree char *from = side_path (view, "base", name);
    g_autofree char *to = side_path (view, "base", other);
    struct stat one, two;

    ck_assert_int_eq (lstat (from, &one), 0);
    ck_assert_int_eq (lstat (to, &two), 0);
    ck_assert_msg (one.st_ino == two.st_ino, "request %u: the names of a file are two files", n);
}

static void
base_mkdir (const struct view *view, const char *name)
{
    g_autofree char *path = side_path (view, "base", name);

    ck_assert_int_eq (g_mkdir (path, 0755), 0);
}

static inode_t *
view_look (struct view *view, inode_t *directory, const char *name)
{
    inode_t *inode = NULL;
    struct iatt buf;

    ck_assert_int_eq (sync_name_look (view->client, directory, name, &inode, &buf), 0);
    return inode;
}

static void
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

static void
view_overwrite (struct view *view, inode_t *directory, const char *name, const char *text)
{
    g_autoptr (inode_t) inode = view_look (view, directory, name);
    g_autoptr (fd_t) fd = NULL;
    struct iovec iov = { (void *) text, strlen (text) };

    ck_assert_int_eq (sync_name_open (view->client, &view->graph->fd_maker, inode, O_RDWR, &fd), 0);
    ck_assert_int_eq (sync_writev (view->client, fd, &iov, 1, 0, 0, NULL, NULL, NULL),
                      (int) iov.iov_len);
}

static void
view_remove (struct view *view, inode_t *directory, const char *name)
{
    G_GNUC_UNUSED g_autoptr (inode_t) inode = view_look (view, directory, name);

    ck_assert_int_eq (sync_name_remove_tree (view->client, &view->graph->fd_maker, directory,
                                             name), 0);
}

static void
view_change_names (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) again = NULL;

    view_overwrite (view, root, "file", "CHANGED");
    view_remove (view, root, "gone");
    view_remove (view, root, "again");
    ck_assert_int_eq (sync_name_mkdir (view->client, root, "again", 0755, &again), 0);
    view_write (view, again, "in", "in");
}

static void
view_change_others (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) fresh = NULL, dir = view_look (view, root, "dir");
    g_autoptr (inode_t) moves = view_look (view, root, "moves");
    g_auto (loc_t) loc = { .inode = dir };
    struct iatt mode = { .ia_prot = 0700 };

    ck_assert_int_eq (sync_name_mkdir (view->client, root, "fresh", 0755, &fresh), 0);
    view_write (view, fresh, "a", "a");
    view_write (view, fresh, "b", "b");
    ck_assert_int_eq (sync_name_rename (view->client, moves, root, "moves", dir, "moved", 0), 0);
    ck_assert_int_eq (sync_setattr (view->client, &loc, &mode, IATT_MODE, NULL, NULL), 0);
    view_remove (view, root, "type");
    view_write (view, root, "type", "a file now");
}

/* For a commit, in two layers, and without a change of hard links, which no layer can have yet. */
static void
view_change (struct view *view, const char *command)
{
    const bool layers = strcmp (command, "commit") == 0;
    inode_t *root = itable_root (view->graph->itable);
    g_autofree char *error = NULL;

    view_change_names (view);
    if (layers)
        ck_assert_int_eq (view_job (view, "freeze", "", 0, &error), 0);
    view_overwrite (view, root, layers ? "file" : "linked", layers ? "AGAIN" : "CHANGED");
    view_change_others (view);
}

/* --- what is there ---------------------------------------------------------------------------- */

static void tree_append (GString *out, const char *path, const char *name);

static gint
tree_order (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
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

static void
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

static char *
base_tree (const struct view *view)
{
    g_autofree char *path = side_path (view, "base", ".");
    GString *out = g_string_new (NULL);

    tree_append (out, path, "");
    return g_string_free (out, FALSE);
}

static void
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

        if (!g_str_has_prefix (names->pdata[i], ".windlass-apply."))
            view_tree_append (view, below, shown, out);
    }
}

static char *
view_tree (struct view *view)
{
    GString *out = g_string_new (NULL);

    view_tree_append (view, itable_root (view->graph->itable), "", out);
    return g_string_free (out, FALSE);
}

/* --- power cuts ------------------------------------------------------------------------------- */

static void
cut_view_begin (struct view *view, const char *command)
{
    g_autofree char *changes = NULL;

    view->dir = g_build_filename (g_get_tmp_dir (), "windlass-apply-XXXXXX", NULL);
    ck_assert_ptr_nonnull (g_mkdtemp (view->dir));
    changes = side_path (view, "changes", ".");
    ck_assert_int_eq (g_mkdir_with_parents (changes, 0755), 0);
    base_mkdir (view, "");
    base_mkdir (view, "dir");
    base_mkdir (view, "gone");
    base_mkdir (view, "again");
    base_mkdir (view, "type");
    base_write (view, "file", "content");
    base_write (view, "moves", "moves");
    base_write (view, "gone/x", "x");
    base_write (view, "gone/y", "y");
    base_write (view, "again/old", "old");
    base_write (view, "type/in", "in");
    base_write (view, "linked", "linked");
    base_link (view, "linked", "dir/linked");
    base_link (view, "linked", "dir/third");
    view_mount (view);
    view_change (view, command);
    ck_assert_int_eq (view_order (view, "changes-cut", "sync", ""), 0);
    ck_assert_int_eq (view_order (view, "base-cut", "sync", ""), 0);
}

static void
cut_view_end (struct view *view)
{
    g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", view->dir);

    view_unmount (view);
    ck_assert_int_eq (system (remove), 0);
    g_free (view->dir);
}

struct cut_case {
    const char *command, *side;
};

/* debug/power-cut puts a removed file back by a link, which changes its ctime: that looks like a
 * change of the base. */
static void
view_apply_again (struct view *view, const struct cut_case *one, unsigned n)
{
    g_autofree char *error = NULL, *by_force = NULL;
    int r = view_apply_all (view, one->command, false, &error);

    if (r < 0 && error && strstr (error, "was changed below the view"))
        r = view_apply_all (view, one->command, true, &by_force);
    ck_assert_msg (r == 0 || (error && strstr (error, "nothing at")), "%s, request %u: %s",
                   one->side, n, error);
}

/* From the n-th changing request on one side on, each fails; then the power is cut. Returns whether
 * there were fewer. */
static bool
cut_apply_after (const struct cut_case *one, unsigned n, const char *wanted)
{
    const char *side = one->side;
    g_autofree char *rules = g_strdup_printf (
        "mknod,mkdir,symlink,link,unlink,rmdir,rename,setattr,setxattr,removexattr,writev,"
        "ftruncate,fallocate,copy_file_range,fsync,fsyncdir after %u -> error EIO\n", n);
    g_autofree char *error = NULL, *shown = NULL, *again = NULL, *applied = NULL;
    struct view view;
    bool all;

    cut_view_begin (&view, one->command);
    ck_assert_int_eq (view_order (&view, side, "rules", rules), 0);
    all = view_apply_all (&view, one->command, false, &error) == 0;
    (void) view_order (&view, "base-cut", "cut", "");
    (void) view_order (&view, "changes-cut", "cut", "");
    view_unmount (&view);

    view_mount (&view);
    shown = view_tree (&view);
    ck_assert_msg (strcmp (shown, wanted) == 0, "%s, request %u: the view shows\n%s\nand not\n%s",
                   side, n, shown, wanted);
    view_apply_again (&view, one, n);
    applied = base_tree (&view);
    ck_assert_msg (strcmp (applied, wanted) == 0, "%s, request %u: the base has\n%s\nand not\n%s",
                   side, n, applied, wanted);
    assert_base_links (&view, "linked", "dir/linked", n);
    assert_base_links (&view, "linked", "dir/third", n);
    again = view_tree (&view);
    ck_assert_str_eq (again, wanted);
    cut_view_end (&view);
    return all;
}

static const struct cut_case cut_cases[] = {
    { "apply", "base" }, { "apply", "changes" }, { "commit", "base" }, { "commit", "changes" },
};

START_TEST (a_power_cut_after_each_request)
{
    g_autofree char *wanted = NULL;
    struct view view;
    unsigned n = 1; /* a rule counts from 1 on */

    cut_view_begin (&view, cut_cases[_i].command);
    wanted = view_tree (&view);
    cut_view_end (&view);
    while (!cut_apply_after (&cut_cases[_i], n, wanted)) {
        n += test_amount (strcmp (cut_cases[_i].command, "commit") == 0 ? 5 : 3, 1);
        ck_assert_uint_lt (n, STEPS_MAX);
    }
    ck_assert_uint_gt (n, 10);
}
END_TEST

TEST_PROGRAM (test_overlay_apply)
{
    Suite *suite = suite_create ("overlay apply");
    TCase *tcase = tcase_create ("overlay apply");

    if (geteuid () != 0) {
        printf ("an overlay of an ordinary user is tested through mounts\n");
        return 77;
    }
    log_set_level (GF_LOG_NONE);
    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, a_power_cut_after_each_request, 0, G_N_ELEMENTS (cut_cases));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
