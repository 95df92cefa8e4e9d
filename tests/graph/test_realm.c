/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* Realms: features/subdirectory above storage/posix shows the directory a/b; and a boundary of the
 * test's own alone, for what passes it. */
#include "core/realm/internal.h"
#include "posix_world.h"

#define SUBDIRECTORY                                                                               \
    "end-volume\nvolume sub\ntype features/subdirectory\noption path /a/b\nsubvolumes posix\n"

/* A world in which the directory exists, and has a file. */
static struct world
realm_world (void)
{
    struct world w = posix_world_begin (SUBDIRECTORY);
    g_autofree char *a = world_path (&w, "a"), *b = world_path (&w, "a/b"),
                    *file = world_path (&w, "a/b/file");

    ck_assert_int_eq (mkdir (a, 0755), 0);
    ck_assert_int_eq (mkdir (b, 0755), 0);
    ck_assert (g_file_set_contents (file, "text", 4, NULL));
    return w;
}

static struct realm *
realm_only (const struct world *w)
{
    ck_assert_uint_eq (w->graph->realms->len, 1);
    return w->graph->realms->pdata[0];
}

static size_t
realm_known (const struct realm *realm)
{
    size_t known, forgotten;

    itable_counts (realm->itable, &known, &forgotten);
    return known - forgotten;
}

static char *
realm_path_below (const struct world *w, inode_t *inode)
{
    inode_t *below = realm_below (w->graph->top, inode, 0);

    return below ? inode_path (below, NULL) : g_strdup ("none");
}

/* --- inodes ----------------------------------------------------------------------------------- */

START_TEST (the_gfid_passes_and_the_root_has_its_own)
{
    g_auto (world) w = realm_world ();
    struct iatt root = world_stat (&w, w.root);
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autofree char *root_path = realm_path_below (&w, w.root), *path = realm_path_below (&w, file);
    const inode_t *b = realm_below (w.graph->top, w.root, 0);

    ck_assert (gfid_equal (&root.ia_gfid, &gfid_root));
    ck_assert (!gfid_equal (&b->gfid, &gfid_root));
    ck_assert_str_eq (root_path, "/a/b");
    ck_assert_str_eq (path, "/a/b/file");
    ck_assert (gfid_equal (&realm_below (w.graph->top, file, 0)->gfid, &file->gfid));
    ck_assert_ptr_eq (realm_inode_of (w.graph->xlators->pdata[1], file),
                      realm_below (w.graph->top, file, 0));
}
END_TEST

START_TEST (the_way_up_from_the_root_is_the_root)
{
    g_auto (world) w = realm_world ();
    g_auto (loc_t) loc = { .name = "..", .parent = w.root };
    struct lookup_reply reply;
    fd_t *fd;
    struct readdirp_reply list;

    ck_assert_int_eq (sync_lookup (w.client, &loc, NULL, &reply), 0);
    ck_assert_ptr_eq (reply.inode, w.root);
    ck_assert (gfid_equal (&reply.buf.ia_gfid, &gfid_root));
    lookup_reply_drop (&reply);
    fd = world_open (&w, w.root, O_RDONLY);
    ck_assert_int_eq (sync_readdirp (w.client, fd, 4096, 0, NULL, &list), 3);
    for (const gf_dirent_t *entry = list.entries; entry; entry = entry->next)
        ck_assert_int_eq (entry->inode != NULL, strcmp (entry->d_name, "file") == 0);
    readdirp_reply_drop (&list);
    fd_unref (fd);
}
END_TEST

START_TEST (a_forget_above_lets_go_below)
{
    g_auto (world) w = realm_world ();
    struct realm *realm = realm_only (&w);
    g_autoptr (inode_t) below = NULL;
    inode_t *file = posix_world_look (&w, w.root, "file");
    const size_t before = realm_known (realm);

    below = inode_ref (realm_below (w.graph->top, file, 0));
    ck_assert_int_eq (below->refs, 2);
    inode_unlink (w.root, "file");
    inode_unref (file);
    ck_assert_int_eq (below->refs, 1);
    g_clear_pointer (&below, inode_unref);
    ck_assert_uint_eq (realm_known (realm), before - 1);
}
END_TEST

/* An inode that came into the table of the mount otherwise, as from another graph. */
START_TEST (an_inode_of_another_graph_is_found_if_that_showed_the_same_root)
{
    g_auto (world) w = realm_world ();
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file"), other = NULL;
    g_autoptr (inode_t) below = inode_ref (realm_below (w.graph->top, file, 0));
    struct iatt iatt = { .ia_type = IA_IFREG, .ia_gfid = below->gfid };

    inode_unlink (w.root, "file");
    g_clear_pointer (&file, inode_unref);
    other = inode_new (w.graph->itable);
    ck_assert_ptr_null (realm_below (w.graph->top, other, 0));
    ck_assert_ptr_eq (inode_link (other, w.root, "file", &iatt), other);
    ck_assert_ptr_null (realm_below (w.graph->top, other, 0));
    realm_slot_of (w.graph->top, 0)->same_root = true;
    ck_assert_ptr_eq (realm_below (w.graph->top, other, 0), below);
    inode_unref (other);
}
END_TEST

START_TEST (a_directory_that_is_unkept_below_is_so_above)
{
    g_auto (world) w = realm_world ();
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "dir", 0755), again = NULL;

    ck_assert (!inode_is_unkept (dir));
    inode_set_unkept (realm_below (w.graph->top, dir, 0));
    again = posix_world_look (&w, w.root, "dir");
    ck_assert_ptr_eq (again, dir);
    ck_assert (inode_is_unkept (dir));
}
END_TEST

/* --- names ------------------------------------------------------------------------------------ */

START_TEST (names_below_follow_the_operations)
{
    g_auto (world) w = realm_world ();
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "dir", 0755);
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file"), gone = NULL;
    inode_t *b = realm_below (w.graph->top, w.root, 0);
    g_autofree char *moved = NULL;

    ck_assert_int_eq (world_rename (&w, w.root, "file", dir, "moved", 0), 0);
    moved = realm_path_below (&w, file);
    ck_assert_str_eq (moved, "/a/b/dir/moved");
    gone = inode_grep (b, "file");
    ck_assert_ptr_null (gone);
    ck_assert_int_eq (world_unlink (&w, dir, "moved"), 0);
    gone = inode_grep (realm_below (w.graph->top, dir, 0), "moved");
    ck_assert_ptr_null (gone);
}
END_TEST

START_TEST (a_name_that_is_gone_is_gone_below)
{
    g_auto (world) w = realm_world ();
    G_GNUC_UNUSED g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autoptr (inode_t) known = NULL, again = NULL;
    g_autofree char *path = world_path (&w, "a/b/file");
    inode_t *b = realm_below (w.graph->top, w.root, 0);

    known = inode_grep (b, "file");
    ck_assert_ptr_nonnull (known);
    g_clear_pointer (&known, inode_unref);
    ck_assert_int_eq (unlink (path), 0);
    again = posix_world_look (&w, w.root, "file");
    ck_assert_int_eq (w.r, -ENOENT);
    known = inode_grep (b, "file");
    ck_assert_ptr_null (known);
}
END_TEST

START_TEST (a_path_that_leads_nowhere_fails_calls_until_it_leads_somewhere)
{
    g_auto (world) w = posix_world_begin (SUBDIRECTORY);
    g_autofree char *a = world_path (&w, "a"), *b = world_path (&w, "a/b");
    g_auto (loc_t) loc = { .inode = w.root };

    ck_assert_int_eq (sync_stat (w.client, &loc, NULL, NULL), -ENOENT);
    ck_assert_int_eq (mkdir (a, 0755), 0);
    ck_assert_int_eq (symlink ("..", b), 0);
    ck_assert_int_eq (sync_stat (w.client, &loc, NULL, NULL), -ENOTDIR);
    ck_assert_int_eq (unlink (b), 0);
    ck_assert_int_eq (mkdir (b, 0700), 0);
    ck_assert_int_eq (sync_stat (w.client, &loc, NULL, NULL), 0);
}
END_TEST

/* --- answers ---------------------------------------------------------------------------------- */

/* Storage answers a create with an inode that is not linked yet. A lookup of another name of the
 * file, which was linked meanwhile, has brought its inode into the table. */
START_TEST (a_file_that_was_opened_gets_the_inode_that_the_table_has)
{
    g_auto (world) w = realm_world ();
    xlator_t *sub = w.graph->top;
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autoptr (inode_t) fresh = inode_new (w.graph->itable);
    g_autoptr (inode_t) late = inode_new (realm_only (&w)->itable);
    inode_t *known = realm_below (sub, file, 0);
    struct iatt buf = { .ia_type = IA_IFREG, .ia_gfid = known->gfid };
    const loc_t loc = { .name = "link", .parent = realm_below (sub, w.root, 0), .inode = late };
    g_autoptr (fd_t) opens = fd_new (&w.graph->fd_maker, fresh, O_RDWR, 1);
    g_autoptr (fd_t) opened = fd_new (&realm_only (&w)->fd_maker, late, O_RDWR, 1);
    struct realm_asked asked = { .above = inode_ref (fresh), .opens = fd_ref (opens),
                                 .opened = fd_ref (opened) };
    const struct create_answer rets = { .fd = opened, .inode = late, .buf = &buf };
    const struct answer answer = { .op = FOP_create, .cookie = &asked, .this = sub, .inode = late,
                                   .fd = opened, .buf = &buf, .rets = &rets };
    struct realm_answered above;

    loc_copy (&asked.places[0], &loc);
    realm_answered (&answer, &above);
    ck_assert_ptr_ne (late, known);
    ck_assert_ptr_eq (opened->inode, known);
    ck_assert_ptr_eq (above.inode, file);
    ck_assert_ptr_eq (above.fd, opens);
    ck_assert_ptr_eq (realm_fd (sub, opens, 0), opened);
    inode_unref (above.inode);
    fd_unref (above.fd);
}
END_TEST

START_TEST (a_name_without_attributes_brings_no_inode)
{
    g_auto (world) w = realm_world ();
    xlator_t *sub = w.graph->top;
    struct iatt root = world_stat (&w, w.root);
    gf_dirent_t *entry = dirent_new ("file", 4);
    struct realm_asked asked = { .directory = inode_ref (realm_below (sub, w.root, 0)) };
    const struct readdirp_answer rets = { .entries = entry };
    const struct answer answer = { .op = FOP_readdirp, .op_ret = 1, .cookie = &asked, .this = sub,
                                   .entries = entry, .rets = &rets };
    g_autoptr (inode_t) known = NULL;
    struct realm_answered above;

    ck_assert_int_eq (root.ia_type, IA_IFDIR);
    entry->inode = inode_new (realm_only (&w)->itable);
    realm_answered (&answer, &above);
    ck_assert_str_eq (above.answer.entries->d_name, "file");
    ck_assert_ptr_null (above.answer.entries->inode);
    known = inode_grep (realm_below (sub, w.root, 0), "file");
    ck_assert_ptr_null (known);
    dirents_free (above.answer.entries);
    dirents_free (entry);
}
END_TEST

START_TEST (who_holds_an_open_file_below_is_seen)
{
    g_auto (world) w = realm_world ();
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    g_autoptr (fd_t) fd = world_open (&w, file, O_RDWR);
    fd_t *below = realm_fd (w.graph->top, fd, 0);

    ck_assert (!graph_holds_below (w.graph, fd));
    fd_ref (below);
    ck_assert (graph_holds_below (w.graph, fd));
    fd_unref (below);
    ck_assert (!graph_holds_below (w.graph, fd));
}
END_TEST

/* --- interrupts ------------------------------------------------------------------------------- */

/* A translator on each edge, of which the one above storage sets a lookup aside until it is
 * interrupted, and then fails it. */
static struct {
    bool on;
    call_frame_t *frame; /* of the lookup. Atomic */
    struct interrupt_watch watch;
    bool interrupted;    /* atomic */
} realm_hung;

static void
realm_hung_interrupt (void *data)
{
    __atomic_store_n (&realm_hung.interrupted, true, __ATOMIC_RELEASE);
}

static void
realm_hang_any_fop (const struct call *call)
{
    if (!realm_hung.on || call->op != FOP_lookup || call->this->realm == NULL) {
        call_wind (call, FIRST_CHILD (call->this), NULL);
        return;
    }
    realm_hung.watch = (struct interrupt_watch){ .fn = realm_hung_interrupt };
    stack_on_interrupt (call->frame->root, &realm_hung.watch);
    __atomic_store_n (&realm_hung.frame, call->frame, __ATOMIC_RELEASE);
}

static void
realm_hang_any_fop_cbk (const struct answer *answer)
{
    answer_pass (answer);
}

static const struct xlator_api realm_hang_api = {
    .type = "test/hang",
    .any_fop = realm_hang_any_fop,
    .any_fop_cbk = realm_hang_any_fop_cbk,
};

static void *
realm_stat_root (void *data)
{
    struct world *w = data;

    world_stat (w, w->root);
    return NULL;
}

static void
realm_interrupt_stat (const call_stack_t *root, void *data)
{
    if (root->op == FOP_stat)
        stack_interrupt ((call_stack_t *) root);
}

START_TEST (the_look_up_of_a_root_is_interrupted_with_its_caller)
{
    g_auto (world) w = { .dir = g_dir_make_tmp ("windlass-realm-XXXXXX", NULL) };
    GThread *thread;

    ck_assert_ptr_nonnull (w.dir);
    w.graph = posix_world_load (w.dir, "end-volume\nvolume sub\ntype features/subdirectory\n"
                                       "option path /\nsubvolumes posix\n");
    graph_splice (w.graph, &realm_hang_api);
    ck_assert_int_eq (graph_activate (w.graph), 0);
    w.client = client_new (w.graph->top);
    w.root = itable_root (w.graph->itable);
    realm_hung.on = true;
    thread = g_thread_new ("stat", realm_stat_root, &w);
    while (!__atomic_load_n (&realm_hung.frame, __ATOMIC_ACQUIRE))
        g_usleep (100);
    ck_assert (!__atomic_load_n (&realm_hung.interrupted, __ATOMIC_ACQUIRE));
    stack_foreach (realm_interrupt_stat, NULL);
    ck_assert (__atomic_load_n (&realm_hung.interrupted, __ATOMIC_ACQUIRE));
    stack_off_interrupt (realm_hung.frame->root, &realm_hung.watch);
    realm_hung.on = false;
    frame_fail (realm_hung.frame, EINTR);
    g_thread_join (thread);
    ck_assert_int_eq (w.r, -EINTR);
    world_stat (&w, w.root);
    ck_assert_int_eq (w.r, 0);
}
END_TEST

/* --- events ----------------------------------------------------------------------------------- */

START_TEST (an_invalidation_goes_up_for_what_is_known_above)
{
    g_auto (world) w = realm_world ();
    g_autoptr (inode_t) file = posix_world_look (&w, w.root, "file");
    xlator_t *sub = w.graph->top;
    struct realm *realm = realm_only (&w);
    g_autoptr (inode_t) a = inode_grep (itable_root (realm->itable), "a");
    struct invalidation gone = { .inode = realm_below (sub, file, 0), .what = INVALIDATE_FILE };
    struct invalidation names = { .inode = realm_below (sub, w.root, 0),
                                  .what = INVALIDATE_NAMES, .name = "file" }, above;

    ck_assert (realm_up (sub, &gone, &above));
    ck_assert_ptr_eq (above.inode, file);
    inode_unref (above.inode);
    ck_assert (realm_up (sub, &names, &above));
    ck_assert_ptr_eq (above.inode, w.root);
    ck_assert_str_eq (above.name, "file");
    inode_unref (above.inode);
    gone.inode = a; /* above the directory that is shown */
    ck_assert (!realm_up (sub, &gone, &above));
    gone.inode = itable_root (realm->itable);
    ck_assert (!realm_up (sub, &gone, &above));
    gone.inode = NULL; /* any */
    ck_assert (realm_up (sub, &gone, &above));
    ck_assert_ptr_null (above.inode);
}
END_TEST

/* --- keys, paths, volfiles -------------------------------------------------------------------- */

START_TEST (keys_pass_if_they_are_listed)
{
    static const char *const keys[] = { "user.one", "windlass.*", NULL };
    const struct xlator_api api = { .realms = true, .realm_keys = keys };
    const struct xlator_api closed = { .realms = true };
    xlator_t boundary = xlator_init ("boundary", &api, NULL, NULL);
    g_autoptr (dict_t) dict = dict_new (), passed = NULL, same = NULL;

    dict_set_str (dict, "windlass.a", "1");
    same = realm_keys_filter (&boundary, dict);
    ck_assert_ptr_eq (same, dict);
    dict_set_str (dict, "user.one", "1");
    dict_set_str (dict, "user.one.more", "1");
    dict_set_str (dict, "trusted.path", "/a/b");
    passed = realm_keys_filter (&boundary, dict);
    ck_assert_uint_eq (dict_count (passed), 2);
    ck_assert (dict_has (passed, "windlass.a") && dict_has (passed, "user.one"));
    ck_assert_uint_eq (dict_count (dict), 4);
    g_clear_pointer (&passed, dict_unref);
    boundary.api = &closed;
    passed = realm_keys_filter (&boundary, dict);
    ck_assert_uint_eq (dict_count (passed), 0);
    ck_assert_ptr_null (realm_keys_filter (&boundary, NULL));
}
END_TEST

static const struct {
    const char *path;
    int r;
} realm_paths[] = { { "/", 0 },       { "/a/b", 0 },         { "//a//b/", 0 },   { "/a..b", 0 },
                    { "", -EINVAL },  { "a/b", -EINVAL },    { ".", -EINVAL },   { "/..", -EINVAL },
                    { "/a/./b", -EINVAL }, { "/a/../b", -EINVAL } };

START_TEST (a_path_is_absolute_and_has_no_dots)
{
    g_autofree char *allowed = NULL;

    ck_assert_int_eq (realm_root_check (realm_paths[_i].path, &allowed), realm_paths[_i].r);
    ck_assert_int_eq (allowed != NULL, realm_paths[_i].r < 0);
}
END_TEST

#define POSIX "volume posix type storage/posix option directory /tmp end-volume\n"
#define SUB(name, below)                                                                           \
    "volume " name " type features/subdirectory option path /a subvolumes " below " end-volume\n"
#define TWO(name, below) "volume " name " type defects/two subvolumes " below " end-volume\n"

static const struct {
    const char *text, *part; /* part NULL: it is accepted */
} realm_volfiles[] = {
    { POSIX SUB ("one", "posix") SUB ("other", "one"), NULL },
    { POSIX "volume pass type debug/io-stats subvolumes posix end-volume\n" SUB ("one", "pass")
          TWO ("two", "one posix"),
      "test.vol:1:8: error: volume 'posix': can't be a subvolume of both" },
    { POSIX SUB ("one", "posix") SUB ("other", "posix") TWO ("two", "one other"),
      "test.vol:1:8: error: volume 'posix': can't be a subvolume of both" },
    { POSIX "volume again type storage/posix option directory /tmp end-volume\n"
          SUB ("one", "posix") SUB ("other", "again") TWO ("two", "one other"), NULL },
};

START_TEST (a_translator_is_in_one_realm)
{
    const char *text = realm_volfiles[_i].text, *part = realm_volfiles[_i].part;
    const struct graph_settings settings = { .inode_limit = 10 };
    struct graph *graph = graph_load (volfile_parse ("test.vol", text, strlen (text)), &settings);
    g_autoptr (GString) problems = g_string_new (NULL);

    volfile_append_problems (graph->volfile, problems);
    ck_assert_int_eq (volfile_has_errors (graph->volfile), part != NULL);
    ck_assert_msg (!part || strstr (problems->str, part), "%s", problems->str);
    graph_free (graph);
}
END_TEST

TEST_PROGRAM (test_realm)
{
    Suite *suite = suite_create ("realm");
    TCase *tcase = tcase_create ("realm");

    tcase_add_test (tcase, the_gfid_passes_and_the_root_has_its_own);
    tcase_add_test (tcase, the_way_up_from_the_root_is_the_root);
    tcase_add_test (tcase, a_forget_above_lets_go_below);
    tcase_add_test (tcase, an_inode_of_another_graph_is_found_if_that_showed_the_same_root);
    tcase_add_test (tcase, a_directory_that_is_unkept_below_is_so_above);
    tcase_add_test (tcase, names_below_follow_the_operations);
    tcase_add_test (tcase, a_name_that_is_gone_is_gone_below);
    tcase_add_test (tcase, a_path_that_leads_nowhere_fails_calls_until_it_leads_somewhere);
    tcase_add_test (tcase, a_file_that_was_opened_gets_the_inode_that_the_table_has);
    tcase_add_test (tcase, a_name_without_attributes_brings_no_inode);
    tcase_add_test (tcase, who_holds_an_open_file_below_is_seen);
    tcase_add_test (tcase, the_look_up_of_a_root_is_interrupted_with_its_caller);
    tcase_add_test (tcase, an_invalidation_goes_up_for_what_is_known_above);
    tcase_add_test (tcase, keys_pass_if_they_are_listed);
    tcase_add_loop_test (tcase, a_path_is_absolute_and_has_no_dots, 0, G_N_ELEMENTS (realm_paths));
    tcase_add_loop_test (tcase, a_translator_is_in_one_realm, 0, G_N_ELEMENTS (realm_volfiles));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
