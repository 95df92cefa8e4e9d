/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* longer */
/*
 * windlass overlay commit of a view with renamed directories and hard links, in two layers, that is
 * hindered at its requests, one after the other: by one error, by a full disk, by a kill and by a
 * power cut. ./check takes some of the requests, and ./check --long each third one. The view shows
 * the same afterwards, and the command that is given again ends with all changes in the base.
 */
#include "overlay_view.h"

#include "core/time/thread.h"

#define REQUESTS_MAX 900 /* of a commit, on one side */
#define CHANGING                                                                                   \
    "mknod,mkdir,symlink,link,unlink,rmdir,rename,setattr,setxattr,removexattr,writev,ftruncate,"  \
    "fallocate,copy_file_range,fsync,fsyncdir"
#define WRITING "mknod,mkdir,symlink,link,rename,setxattr,writev,copy_file_range"

enum hindrance { HINDER_CUT, HINDER_KILL, HINDER_ERROR, HINDER_FULL, HINDRANCES };

static const char *const hindrance_rules[HINDRANCES] = {
    [HINDER_CUT] = CHANGING " after %u -> error EIO\n",
    [HINDER_KILL] = CHANGING " after %u -> error EIO\n",
    [HINDER_ERROR] = CHANGING " nth %u -> error EIO\n",
    [HINDER_FULL] = WRITING " after %u -> error ENOSPC\n",
};

struct hindered {
    const char *side;
    enum hindrance how;
    unsigned stride;  /* of ./check; ./check --long takes each request */
};

/* --- the view --------------------------------------------------------------------------------- */

static void
renames_base (struct view *view)
{
    static const char *const folders[] = { "x", "x/y", "x/y/z", "one", "two", "gone", "old" };
    static const char *const files[] = { "x/f", "x/y/g", "x/y/z/h", "one/1", "two/2", "gone/c",
                                         "old/a", "file" };

    for (size_t i = 0; i < G_N_ELEMENTS (folders); i++)
        base_mkdir (view, folders[i]);
    for (size_t i = 0; i < G_N_ELEMENTS (files); i++)
        base_write (view, files[i], files[i]);
    base_link (view, "file", "x/y/linked");
    base_link (view, "file", "gone/linked");
    base_write (view, "single", "single");
}

/* Walks a path of the view. */
static inode_t *
renames_walk (struct view *view, const char *path)
{
    g_auto (GStrv) names = g_strsplit (path, "/", -1);
    inode_t *at = inode_ref (itable_root (view->graph->itable));

    for (char **name = names; *name; name++) {
        inode_t *next = **name ? view_look (view, at, *name) : inode_ref (at);

        inode_unref (at);
        at = next;
    }
    return at;
}

static void
renames_move (struct view *view, const char *from, const char *to)
{
    g_autofree char *above = g_path_get_dirname (from), *below = g_path_get_dirname (to);
    g_autofree char *name = g_path_get_basename (from), *newname = g_path_get_basename (to);
    g_autoptr (inode_t) directory = renames_walk (view, above);
    g_autoptr (inode_t) inode = renames_walk (view, from), target = renames_walk (view, below);
    const int r = sync_name_rename (view->client, inode, directory, name, target, newname, 0);

    ck_assert_msg (r == 0, "'%s' to '%s': %s", from, to, g_strerror (-r));
}

/* A file of the base gets a further name. */
static void
renames_link (struct view *view, inode_t *directory)
{
    g_autoptr (inode_t) single = view_look (view, itable_root (view->graph->itable), "single");

    ck_assert_int_eq (sync_name_link (view->client, single, directory, "single"), 0);
}

static void
renames_first (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) p = NULL, x = NULL;

    renames_move (view, "/x", "/p");
    renames_move (view, "/p/y/z", "/z");
    renames_move (view, "/one", "/tmp");
    renames_move (view, "/two", "/one");
    renames_move (view, "/tmp", "/two");
    view_remove (view, root, "gone");
    renames_move (view, "/old", "/gone");
    p = view_look (view, root, "p");
    view_overwrite (view, p, "f", "CHANGED");
    view_write (view, p, "new", "new");
    view_overwrite (view, root, "file", "ONCE");
    renames_link (view, p);
    ck_assert_int_eq (sync_name_mkdir (view->client, root, "x", 0755, &x), 0);
    view_write (view, x, "f", "another");
}

static void
renames_second (struct view *view)
{
    inode_t *root = itable_root (view->graph->itable);
    g_autoptr (inode_t) r = NULL, q = NULL;
    g_auto (loc_t) loc = { 0 };
    struct iatt mode = { .ia_prot = 0700 };

    ck_assert_int_eq (sync_name_mkdir (view->client, root, "r", 0755, &r), 0);
    renames_move (view, "/p", "/r/q");
    renames_move (view, "/x", "/p");
    renames_move (view, "/z", "/r/q/y/Z");
    view_overwrite (view, root, "file", "CHANGED");
    q = renames_walk (view, "/r/q");
    view_overwrite (view, q, "f", "AGAIN");
    view_remove (view, q, "new");
    loc.inode = q;
    ck_assert_int_eq (sync_setattr (view->client, &loc, &mode, IATT_MODE, NULL, NULL), 0);
}

static void
renames_begin (struct view *view)
{
    g_autofree char *error = NULL;

    view_make (view);
    renames_base (view);
    view_mount (view);
    renames_first (view);
    ck_assert_int_eq (view_job (view, "freeze", "", 0, &error), 0);
    renames_second (view);
    ck_assert_int_eq (view_order (view, "changes-cut", "sync", ""), 0);
    ck_assert_int_eq (view_order (view, "base-cut", "sync", ""), 0);
}

/* --- what hinders ----------------------------------------------------------------------------- */

static void
hindered_assert_view (struct view *view, const struct hindered *one, unsigned n,
                      const char *wanted, const char *error)
{
    g_autofree char *shown = view_tree (view);

    ck_assert_msg (strcmp (shown, wanted) == 0, "%s, %d, request %u (%s): the view shows\n%s\nand "
                   "not\n%s", one->side, one->how, n, error, shown, wanted);
}

static void
hindered_go_on (struct view *view, const struct hindered *one)
{
    ck_assert_int_eq (view_order (view, one->side, "rules", ""), 0);
    if (one->how == HINDER_CUT) {
        (void) view_order (view, "base-cut", "cut", "");
        (void) view_order (view, "changes-cut", "cut", "");
    }
    if (one->how == HINDER_CUT || one->how == HINDER_KILL) {
        view_unmount (view);
        view_mount (view);
    }
}

/* debug/power-cut puts a removed file back by a link, which changes its ctime: that looks like a
 * change of the base. */
static void
hindered_commit_again (struct view *view, const struct hindered *one, unsigned n)
{
    g_autofree char *error = NULL, *by_force = NULL;
    int r = view_apply_all (view, "commit", false, &error);

    if (r < 0 && one->how == HINDER_CUT && error && strstr (error, "was changed below the view"))
        r = view_apply_all (view, "commit", true, &by_force);
    ck_assert_msg (r == 0, "%s, %d, request %u: %s", one->side, one->how, n, error);
}

/* Whether a request was hindered. */
static bool
hindered_fired (struct view *view, const struct hindered *one)
{
    xlator_t *fault = graph_find (view->graph, one->side);
    const struct xlator_command *show = fault->api->commands;
    g_autoptr (GString) text = g_string_new (NULL);
    const char *fired;

    while (strcmp (show->name, "show") != 0)
        show++;
    (void) show->run (fault, &(struct xlator_asked){ 0 }, text);
    fired = strstr (text->str, "fired ");
    ck_assert_ptr_nonnull (fired);
    return atoi (fired + strlen ("fired ")) > 0;
}

/* An error that says so has left the base as it was. */
static void
hindered_assert_truth (const struct view *view, const char *error, const char *before, unsigned n)
{
    g_autofree char *base = base_tree (view);

    if (error && strstr (error, "nothing was committed") && !strstr (error, "temporary names"))
        ck_assert_msg (strcmp (base, before) == 0, "request %u: '%s', and the base has\n%s\nwhere "
                       "it had\n%s", n, error, base, before);
}

/* Returns whether there were fewer requests. */
static bool
commit_hindered_at (const struct hindered *one, unsigned n, const char *wanted)
{
    g_autofree char *rules = g_strdup_printf (hindrance_rules[one->how], n);
    g_autofree char *error = NULL, *applied = NULL, *before = NULL;
    struct view view;
    bool fired;
    int r;

    renames_begin (&view);
    before = base_tree (&view);
    ck_assert_int_eq (view_order (&view, one->side, "rules", rules), 0);
    r = view_apply_all (&view, "commit", false, &error);
    fired = hindered_fired (&view, one);
    ck_assert_msg (r == 0 || fired, "request %u: %s", n, error ? error : g_strerror (-r));
    if (one->how == HINDER_ERROR)
        hindered_assert_truth (&view, r < 0 ? error : NULL, before, n);
    if (one->how == HINDER_ERROR || one->how == HINDER_FULL)
        hindered_assert_view (&view, one, n, wanted, error);
    hindered_go_on (&view, one);
    hindered_assert_view (&view, one, n, wanted, error);
    hindered_commit_again (&view, one, n);
    applied = base_tree (&view);
    ck_assert_msg (strcmp (applied, wanted) == 0, "%s, %d, request %u: the base has\n%s\nand not\n"
                   "%s", one->side, one->how, n, applied, wanted);
    hindered_assert_view (&view, one, n, wanted, "");
    assert_base_links (&view, "file", "r/q/y/linked", n);
    assert_base_links (&view, "single", "r/q/single", n);
    view_remove_all (&view);
    return !fired;
}

static const struct hindered hindered_cases[] = {
    { "base", HINDER_CUT, 23 },     { "changes", HINDER_CUT, 23 }, { "base", HINDER_KILL, 37 },
    { "changes", HINDER_KILL, 37 }, { "base", HINDER_ERROR, 37 },  { "changes", HINDER_ERROR, 37 },
    { "base", HINDER_FULL, 47 },    { "changes", HINDER_FULL, 47 },
};

START_TEST (a_commit_is_hindered_at_each_request)
{
    const struct hindered *one = &hindered_cases[_i];
    g_autofree char *wanted = NULL;
    struct view view;
    unsigned n = 1; /* a rule counts from 1 on */
    bool all = false;

    renames_begin (&view);
    wanted = view_tree (&view);
    view_remove_all (&view);
    while (!all) {
        all = commit_hindered_at (one, n, wanted);
        n += test_amount (one->stride, 3);
        ck_assert_uint_lt (n, REQUESTS_MAX);
    }
    ck_assert_uint_gt (n, 20);
}
END_TEST

/* --- programs rename meanwhile ---------------------------------------------------------------- */

struct beside {
    struct view *view;
    pthread_t thread;
    char *error;
    int r;
    bool done; /* atomic */
};

static void *
beside_commit (void *data)
{
    struct beside *beside = data;

    beside->r = view_apply_all (beside->view, "commit", false, &beside->error);
    __atomic_store_n (&beside->done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void
beside_change (struct view *view)
{
    g_autoptr (inode_t) x = renames_walk (view, "/x");

    view_overwrite (view, x, "f", "CHANGED");
}

/* The look for renamed directories hangs at a file. It has passed the root by then, so it does not
 * find the directory that is renamed now, and the plan finds its old name missing. */
START_TEST (a_directory_that_is_renamed_while_a_commit_looks_hinders_nothing)
{
    const struct hindered changes = { .side = "changes" };
    struct view view;
    struct beside beside = { .view = &view };
    g_autofree char *wanted = NULL, *committed = NULL;

    view_make (&view);
    renames_base (&view);
    view_mount (&view);
    beside_change (&view);
    ck_assert_int_eq (view_order (&view, "changes", "rules",
                                  "lookup path \"*/x/f\" times 1 -> hang\n"), 0);
    ck_assert_int_eq (thread_new (&beside.thread, "commit", beside_commit, &beside), 0);
    while (!hindered_fired (&view, &changes))
        g_usleep (1000);
    renames_move (&view, "/one", "/uno");
    while (!__atomic_load_n (&beside.done, __ATOMIC_ACQUIRE)) {
        (void) view_order (&view, "changes", "release", "");
        g_usleep (1000);
    }
    pthread_join (beside.thread, NULL);
    ck_assert_msg (beside.r == 0, "%s", beside.error);
    wanted = view_tree (&view);
    committed = base_tree (&view);
    ck_assert_str_eq (committed, wanted);
    ck_assert_ptr_nonnull (strstr (committed, "uno/1"));
    view_remove_all (&view);
}
END_TEST

TEST_PROGRAM (test_overlay_commit)
{
    Suite *suite = suite_create ("overlay commit");
    TCase *tcase = tcase_create ("overlay commit");

    if (geteuid () != 0) {
        printf ("an overlay of an ordinary user is tested through mounts\n");
        return 77;
    }
    log_set_level (GF_LOG_NONE);
    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, a_directory_that_is_renamed_while_a_commit_looks_hinders_nothing);
    tcase_add_loop_test (tcase, a_commit_is_hindered_at_each_request, 0,
                         G_N_ELEMENTS (hindered_cases));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
