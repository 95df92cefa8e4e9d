/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* cluster/overlay: callers whose names are out of date, as those of two clients are, and what a
 * lookup asks the upper for. */
#include "overlay_world.h"

#include "core/time/thread.h"

/* The caller takes it that the new name is another name of the file: it was renamed since. */
START_TEST (a_rename_onto_a_name_that_has_gone_is_made)
{
    struct world w = overlay_world_new ();
    g_autofree char *text = NULL;
    loc_t from = { .name = "new" }, to = { .name = "old" };

    overlay_put (&w, "lower/old", "text");
    overlay_world_start (&w, &(struct overlay_graph){ 0 });
    from.inode = posix_world_look (&w, w.root, "old");
    ck_assert_int_ge (world_rename (&w, w.root, "old", w.root, "new", 0), 0);
    from.parent = to.parent = w.root;
    to.inode = from.inode;
    ck_assert_int_ge (sync_rename (w.client, &from, &to, 0, NULL, NULL), 0);
    loc_wipe_path (&from);
    loc_wipe_path (&to);
    inode_unref (from.inode);
    text = overlay_got (&w, "changes/layers/0/old");
    ck_assert_str_eq (text, "text");
    overlay_world_end (&w);
}
END_TEST

/* A file of the upper that is no copy costs no question for its marks. */
START_TEST (marks_of_files_are_read_only_in_directories_with_copies)
{
    struct world w = overlay_world_new ();
    inode_t *made, *file;
    fd_t *fd;

    overlay_put (&w, "lower/copied", "text");
    overlay_world_start (&w, &overlay_faulty);
    made = world_mkdir (&w, w.root, "made", 0755);
    fd_unref (world_create (&w, made, "file", O_WRONLY, 0644));
    inode_unref (made);
    file = posix_world_look (&w, w.root, "copied");
    fd = world_open (&w, file, O_WRONLY);
    ck_assert_int_eq (world_write (&w, fd, "T", 0), 1);
    fd_unref (fd);
    inode_unref (file);
    overlay_world_stop (&w);

    overlay_world_start (&w, &overlay_faulty);
    g_free (overlay_tell (&w, "fault", "rules", "getxattr type file -> error EIO\n"));
    made = posix_world_look (&w, w.root, "made");
    inode_unref (posix_world_look (&w, made, "file"));
    ck_assert_int_ge (w.r, 0);
    inode_unref (made);
    ck_assert_ptr_null (posix_world_look (&w, w.root, "copied"));
    ck_assert_int_eq (w.r, -EIO);
    overlay_world_end (&w);
}
END_TEST

/* --- two callers at a time -------------------------------------------------------------------- */

/* A caller of its own: renames a name of the root, or looks a name up. */
struct names_caller {
    struct world w;
    inode_t *directory;
    const char *name, *newname; /* newname NULL: a lookup in directory */
    inode_t *found;             /* by the lookup, with a reference; or NULL */
    pthread_t thread;
    bool done; /* atomic */
};

static void *
names_call (void *data)
{
    struct names_caller *caller = data;

    caller->w.client = client_new (caller->w.graph->top);
    if (caller->newname)
        world_rename (&caller->w, caller->directory, caller->name, caller->directory,
                      caller->newname, 0);
    else
        caller->found = posix_world_look (&caller->w, caller->directory, caller->name);
    client_free (caller->w.client);
    __atomic_store_n (&caller->done, true, __ATOMIC_RELEASE);
    return NULL;
}

static void
names_start (struct names_caller *caller, const struct world *w)
{
    caller->w = *w;
    ck_assert_int_eq (thread_new (&caller->thread, "caller", names_call, caller), 0);
}

static void
names_end (struct names_caller *caller)
{
    pthread_join (caller->thread, NULL);
    inode_unref (caller->found);
}

/* Starts a lookup whose answer does not come before overlay_release: the upper has the object. */
static void
names_start_late (struct names_caller *caller, const struct world *w)
{
    overlay_rules (w, "getxattr times 1 -> hang");
    names_start (caller, w);
    OVERLAY_UNTIL (overlay_hangs (w));
}

static void
names_end_late (struct names_caller *caller, const struct world *w)
{
    OVERLAY_UNTIL (overlay_release (w));
    pthread_join (caller->thread, NULL);
    ck_assert_ptr_nonnull (caller->found);
    inode_unref (caller->found);
}

static inode_t *
names_mkdir (struct world *w, inode_t *directory, const char *name)
{
    inode_t *made = world_mkdir (w, directory, name, 0755);

    ck_assert_ptr_nonnull (made);
    return made;
}

/* --- a directory that is replaced ------------------------------------------------------------- */

/* "gone" has a lower, and is empty in the view. */
static struct world
names_emptied (void)
{
    struct world w = overlay_world_new ();
    g_autofree char *path = world_path (&w, "lower/gone");
    g_autoptr (inode_t) gone = NULL, file = NULL;

    ck_assert_int_eq (mkdir (path, 0755), 0);
    overlay_put (&w, "lower/gone/a", "text");
    overlay_put (&w, "lower/gone/b", "text");
    overlay_world_start (&w, &overlay_faulty);
    gone = posix_world_look (&w, w.root, "gone");
    inode_unref (posix_world_look (&w, gone, "a"));
    inode_unref (posix_world_look (&w, gone, "b"));
    ck_assert_int_ge (world_unlink (&w, gone, "a"), 0);
    ck_assert_int_ge (world_unlink (&w, gone, "b"), 0);
    inode_unref (names_mkdir (&w, w.root, "new"));
    return w;
}

static void
assert_gone_is_there (struct world *w, unsigned n)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) gone = posix_world_look (w, w->root, "gone");
    unsigned found = 0;

    ck_assert_msg (gone, "before request %u: a lookup fails with %d", n, w->r);
    ck_assert_int_eq (sync_names_list (w->client, &w->graph->fd_maker, w->root, names), 0);
    for (guint i = 0; i < names->len; i++)
        found += strcmp (names->pdata[i], "gone") == 0;
    ck_assert_msg (found == 1, "before request %u: %u names in the listing", n, found);
}

START_TEST (a_directory_that_is_replaced_is_there_before_each_request)
{
    bool hung = true;
    unsigned n = 0;

    while (hung) {
        struct world w = names_emptied ();
        struct names_caller caller = { .directory = w.root, .name = "new", .newname = "gone" };
        g_autofree char *rule = g_strdup_printf ("write-ops, sync-ops nth %u -> hang", ++n);

        overlay_rules (&w, rule);
        names_start (&caller, &w);
        OVERLAY_UNTIL (overlay_hangs (&w) || __atomic_load_n (&caller.done, __ATOMIC_ACQUIRE));
        hung = overlay_hangs (&w);
        assert_gone_is_there (&w, n);
        if (hung)
            OVERLAY_UNTIL (overlay_release (&w));
        names_end (&caller);
        overlay_rules (&w, "");
        ck_assert_int_ge (caller.w.r, 0);
        assert_gone_is_there (&w, 0);
        overlay_world_end (&w);
    }
    ck_assert_uint_gt (n, 4); /* mark, sync, two whiteouts, rename */
}
END_TEST

/* The lookup has found the directory that is replaced then, and asks for its marks. */
START_TEST (a_lookup_of_what_was_replaced_finds_the_other_directory)
{
    struct world w = names_emptied ();
    struct names_caller caller = { .directory = w.root, .name = "gone" };
    g_autoptr (inode_t) new = posix_world_look (&w, w.root, "new");

    overlay_rules (&w, "getxattr times 1 -> hang then error ESTALE");
    names_start (&caller, &w);
    OVERLAY_UNTIL (overlay_hangs (&w));
    ck_assert_int_ge (world_rename (&w, w.root, "new", w.root, "gone", 0), 0);
    OVERLAY_UNTIL (overlay_release (&w));
    pthread_join (caller.thread, NULL);
    ck_assert_int_ge (caller.w.r, 0);
    ck_assert_ptr_eq (caller.found, new);
    inode_unref (caller.found);
    g_clear_pointer (&new, inode_unref);
    overlay_world_end (&w);
}
END_TEST

/* --- answers that come after a rename --------------------------------------------------------- */

/* The directory is no longer below "p", so that may move into it. */
START_TEST (a_late_answer_does_not_bring_a_directory_back)
{
    struct world w = overlay_world_new ();
    inode_t *p, *q, *d;

    overlay_world_start (&w, &overlay_faulty);
    p = names_mkdir (&w, w.root, "p");
    q = names_mkdir (&w, w.root, "q");
    d = names_mkdir (&w, p, "d");
    struct names_caller caller = { .directory = p, .name = "d" };
    names_start_late (&caller, &w);
    ck_assert_int_ge (world_rename (&w, p, "d", q, "d", 0), 0);
    names_end_late (&caller, &w);
    g_autofree char *path = inode_path (d, NULL);
    ck_assert_str_eq (path, "/q/d");
    ck_assert_int_ge (world_rename (&w, w.root, "p", d, "p", 0), 0);
    inode_unref (p);
    inode_unref (q);
    inode_unref (d);
    overlay_world_end (&w);
}
END_TEST

/* The frozen layer knows "s" below "q": a redirect through "p" would lead nowhere. */
START_TEST (a_redirect_has_no_name_that_a_late_answer_tells)
{
    struct world w = overlay_world_new ();
    struct names_caller caller = { .directory = NULL, .name = "p" };
    g_autofree char *p_path = world_path (&w, "lower/p"), *s_path = world_path (&w, "lower/p/s");
    struct iatt set = { .ia_prot = 0700 };
    inode_t *p, *s, *r;

    ck_assert_int_eq (mkdir (p_path, 0755), 0);
    ck_assert_int_eq (mkdir (s_path, 0755), 0);
    overlay_put (&w, "lower/p/s/file", "text");
    overlay_world_start (&w, &overlay_faulty);
    p = posix_world_look (&w, w.root, "p");
    loc_t loc = { .inode = p };
    ck_assert_int_ge (sync_setattr (w.client, &loc, &set, IATT_MODE, NULL, NULL), 0);
    loc_wipe_path (&loc);
    caller.directory = w.root;
    names_start_late (&caller, &w);
    ck_assert_int_ge (world_rename (&w, w.root, "p", w.root, "q", 0), 0);
    names_end_late (&caller, &w);
    overlay_rules (&w, "");
    ck_assert_int_eq (overlay_job (&w, "freeze", ""), 0);
    s = posix_world_look (&w, p, "s");
    ck_assert_int_ge (world_rename (&w, p, "s", w.root, "r", 0), 0);
    inode_unref (s);
    inode_unref (p);
    overlay_world_stop (&w);

    overlay_world_start (&w, &overlay_faulty);
    r = posix_world_look (&w, w.root, "r");
    inode_unref (posix_world_look (&w, r, "file"));
    ck_assert_int_ge (w.r, 0);
    inode_unref (r);
    overlay_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_overlay_names)
{
    Suite *suite = suite_create ("overlay names");
    TCase *tcase = tcase_create ("names");

    if (geteuid () != 0)
        return 77;
    tcase_add_test (tcase, a_rename_onto_a_name_that_has_gone_is_made);
    tcase_add_test (tcase, marks_of_files_are_read_only_in_directories_with_copies);
    tcase_add_test (tcase, a_directory_that_is_replaced_is_there_before_each_request);
    tcase_add_test (tcase, a_lookup_of_what_was_replaced_finds_the_other_directory);
    tcase_add_test (tcase, a_late_answer_does_not_bring_a_directory_back);
    tcase_add_test (tcase, a_redirect_has_no_name_that_a_late_answer_tells);
    tcase_set_timeout (tcase, 120);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
