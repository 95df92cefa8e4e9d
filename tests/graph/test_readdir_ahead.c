/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* performance/readdir-ahead above debug/fault: what is read ahead, what is dropped, and what is
 * omitted. */
#include "posix_world.h"

#include "core/time/thread.h"

#define OVER_FAULT(options) \
    "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\nend-volume\n" \
    "volume rda\ntype performance/readdir-ahead\noption rda-cache-timeout 600\n" options \
    "subvolumes fault\n"
#define FILES 300
#define ONE_CALL (1 << 20)

/* --- a directory with files, and telling ------------------------------------------------------ */

static void
rda_tell (struct world *w, const char *command, const char *input)
{
    xlator_t *fault = FIRST_CHILD (w->graph->top);
    const struct xlator_command *one = fault->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    g_autoptr (GString) answer = g_string_new (NULL);

    while (strcmp (one->name, command) != 0)
        one++;
    ck_assert_int_eq (one->run (fault, &(struct xlator_asked){ .input = bytes }, answer), 0);
}

static int
rda_dumped (struct world *w, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    w->graph->top->api->dumpops.priv (w->graph->top, out);
    at = strstr (out->str, line);
    return at ? atoi (at + strlen (line)) : -1;
}

/* Without the temporary name, the allocation and the rename of g_file_set_contents: with them, the
 * files of the cases took most of the test's time. */
static void
rda_make_file (const struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);
    const int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    ck_assert_int_ge (fd, 0);
    ck_assert_int_eq (write (fd, "text", 4), 4);
    close (fd);
}

static struct world
begin_with (const char *options, const char *rules, int files)
{
    struct world w = posix_world_begin (options);

    for (int i = 0; i < files; i++) {
        g_autofree char *name = g_strdup_printf ("file-%03d", i);
        rda_make_file (&w, name);
    }
    rda_tell (&w, "rules", rules);
    return w;
}

static struct world
rda_begin (const char *options, const char *rules)
{
    return begin_with (options, rules, FILES);
}

/* Where only a directory below the root is listed. */
static struct world
begin_small (void)
{
    return begin_with (OVER_FAULT (""), "", 10);
}

/* --- listing ---------------------------------------------------------------------------------- */

struct listing {
    GHashTable *names;  /* name -> number of occurrences */
    GHashTable *bare;   /* those without attributes */
    GArray *offsets;    /* off_t of the last entry of each call */
    unsigned calls;
};

static struct listing
listing_new (void)
{
    return (struct listing){ g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                             g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                             g_array_new (FALSE, FALSE, sizeof (off_t)), 0 };
}

static void
rda_listing_drop (struct listing *l)
{
    g_hash_table_destroy (l->names);
    g_hash_table_destroy (l->bare);
    g_array_free (l->offsets, TRUE);
}

/* Makes a call at *offset, and sets *offset to the next position. Returns the number of entries, or
 * a negative errno. */
static int
list_some (struct world *w, fd_t *fd, size_t size, bool plus, off_t *offset, struct listing *l)
{
    struct readdirp_reply p = { 0 };
    struct readdir_reply s = { 0 };
    const int r = plus ? sync_readdirp (w->client, fd, size, *offset, NULL, &p)
                       : sync_readdir (w->client, fd, size, *offset, NULL, &s);

    for (const gf_dirent_t *entry = plus ? p.entries : s.entries; entry; entry = entry->next) {
        const int n = GPOINTER_TO_INT (g_hash_table_lookup (l->names, entry->d_name));
        g_hash_table_replace (l->names, g_strdup (entry->d_name), GINT_TO_POINTER (n + 1));
        if (!entry->inode)
            g_hash_table_add (l->bare, g_strdup (entry->d_name));
        *offset = (off_t) entry->d_off;
    }
    g_array_append_val (l->offsets, *offset);
    l->calls++;
    readdirp_reply_drop (&p);
    readdir_reply_drop (&s);
    return r;
}

static int
rda_list_all (struct world *w, fd_t *fd, size_t size, bool plus, off_t offset, struct listing *l)
{
    int r;

    while ((r = list_some (w, fd, size, plus, &offset, l)) > 0)
        ;
    return r;
}

static int
times_seen (const struct listing *l, const char *name)
{
    return GPOINTER_TO_INT (g_hash_table_lookup (l->names, name));
}

/* Each file that existed the whole time appears once. */
static void
expect_all (const struct listing *l, const char *but)
{
    for (int i = 0; i < FILES; i++) {
        g_autofree char *name = g_strdup_printf ("file-%03d", i);
        if (strcmp (name, but) != 0)
            ck_assert_msg (times_seen (l, name) == 1, "%s: %d times", name, times_seen (l, name));
    }
}

/* --- cases ------------------------------------------------------------------------------------ */

START_TEST (a_listing_is_answered_from_what_was_read_ahead)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();

    ck_assert_int_eq (rda_list_all (&w, fd, 4096, _i, 0, &l), 0);
    expect_all (&l, "");
    ck_assert_int_eq (rda_dumped (&w, "misses"), 0);
    ck_assert_uint_eq (rda_dumped (&w, "hits"), l.calls);
    ck_assert_int_le (rda_dumped (&w, "read_ahead"), 4);
    if (_i)
        ck_assert_uint_eq (g_hash_table_size (l.bare), 2); /* "." and ".." */
    fd_unref (fd);
    ck_assert_int_eq (rda_dumped (&w, "bytes"), 0);
    ck_assert_int_eq (rda_dumped (&w, "directories"), 0);
    rda_listing_drop (&l);
}
END_TEST

START_TEST (an_error_in_the_middle_comes_in_its_place)
{
    g_auto (world)
        w = rda_begin (OVER_FAULT ("option rda-request-size 8192\n"),
                       "readdirp nth 3 -> error EIO");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();
    off_t at;

    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &l), -EIO);
    ck_assert_uint_gt (g_hash_table_size (l.names), 50);
    ck_assert_uint_lt (g_hash_table_size (l.names), FILES);
    at = g_array_index (l.offsets, off_t, l.offsets->len - 1);
    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, at, &l), 0);
    expect_all (&l, "");
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

/* Changes names after the first few entries were returned: removes or renames the last file, or
 * removes it and creates another name. */
static void
change_names (struct world *w, int how)
{
    G_GNUC_UNUSED g_autoptr (inode_t) inode = posix_world_look (w, w->root, "file-299");
    G_GNUC_UNUSED g_autoptr (inode_t) made = NULL;
    fd_t *fd;

    if (how == 0) {
        ck_assert_int_eq (world_unlink (w, w->root, "file-299"), 0);
    } else if (how == 1) {
        ck_assert_int_eq (world_rename (w, w->root, "file-299", w->root, "other", 0), 0);
    } else {
        ck_assert_int_eq (world_unlink (w, w->root, "file-299"), 0);
        made = how == 2 ? world_mkdir (w, w->root, "new", 0755) : NULL;
        fd = how == 3 ? world_create (w, w->root, "new", O_RDWR, 0644) : NULL;
        fd_unref (fd);
    }
}

/* Most file systems do not list names in order, so choose a file that was not returned yet. */
START_TEST (names_that_come_and_go_drop_what_was_read_ahead)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();
    off_t at = 0;
    bool given;

    list_some (&w, fd, 4096, true, &at, &l);
    given = times_seen (&l, "file-299");
    change_names (&w, _i);
    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, at, &l), 0);
    expect_all (&l, "file-299");
    ck_assert_int_eq (times_seen (&l, "file-299"), given);
    ck_assert_int_eq (rda_dumped (&w, "invalidations"), 1);
    ck_assert_int_gt (rda_dumped (&w, "misses"), 0);
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

static void
change_file (struct world *w, inode_t *inode, int how)
{
    loc_t loc = { .inode = inode }, newloc = { .name = "link", .parent = w->root, .inode = inode };
    struct iatt iatt = { .ia_prot = 0600, .ia_mtime = 1 };
    g_autoptr (dict_t) dict = dict_new ();
    fd_t *fd = world_open (w, inode, O_RDWR | (how == 8 ? O_TRUNC : 0));
    static const char user[] = "user.x";

    dict_set (dict, user, "y", 1);
    switch (how) {
    case 0: world_write (w, fd, "more than that", 0); break;
    case 1: sync_truncate (w->client, &loc, 1, NULL, NULL); break;
    case 2: sync_ftruncate (w->client, fd, 1, NULL, NULL); break;
    case 3: sync_setattr (w->client, &loc, &iatt, IATT_MODE, NULL, NULL); break;
    case 4: sync_fsetattr (w->client, fd, &iatt, IATT_MTIME, NULL, NULL); break;
    case 5: sync_setxattr (w->client, &loc, dict, 0, NULL, NULL); break;
    case 6: sync_fallocate (w->client, fd, 0, 0, 10000, NULL, NULL); break;
    case 7: sync_copy_file_range (w->client, fd, 0, fd, 100, 4, 0, NULL, NULL); break;
    case 9:
        xlator_notify (w->graph->top, XLATOR_INVALIDATE,
                       &(struct invalidation){ inode, INVALIDATE_ATTRIBUTES, NULL });
        break;
    case 10: sync_zerofill (w->client, fd, 0, 10, NULL, NULL); break;
    case 11: sync_discard (w->client, fd, 0, 10, NULL, NULL); break;
    case 12: sync_link (w->client, &loc, &newloc, NULL, NULL); break;
    default: break;
    }
    fd_unref (fd);
}

/* The change is in another directory, so the names are kept: only the attributes of the changed
 * file are omitted. */
START_TEST (attributes_that_changed_are_left_out)
{
    g_auto (world) w = begin_small ();
    g_autofree char *sub = world_path (&w, "sub"), *to = world_path (&w, "sub/twin"),
                    *from = world_path (&w, "file-007");
    g_autoptr (inode_t) dir = NULL, inode = NULL;
    struct listing l = listing_new ();
    fd_t *fd;

    ck_assert (g_mkdir (sub, 0755) == 0 && link (from, to) == 0);
    rda_make_file (&w, "sub/other");
    dir = posix_world_look (&w, w.root, "sub");
    inode = posix_world_look (&w, w.root, "file-007");
    fd = world_open (&w, dir, O_RDONLY);
    change_file (&w, inode, _i);
    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &l), 0);
    ck_assert_int_eq (times_seen (&l, "twin"), 1);
    ck_assert_int_eq (rda_dumped (&w, "misses"), 0);
    ck_assert (g_hash_table_contains (l.bare, "twin"));
    ck_assert (!g_hash_table_contains (l.bare, "other"));
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

/* A name is removed whose inode is unknown: any file with several names may have lost a name. */
START_TEST (a_name_goes_and_nobody_knows_of_what)
{
    g_auto (world) w = begin_small ();
    g_autofree char *sub = world_path (&w, "sub"), *to = world_path (&w, "sub/twin"),
                    *from = world_path (&w, "file-007");
    g_autoptr (inode_t) dir = NULL;
    struct listing l = listing_new ();
    fd_t *fd;

    ck_assert (g_mkdir (sub, 0755) == 0 && link (from, to) == 0);
    rda_make_file (&w, "sub/other");
    dir = posix_world_look (&w, w.root, "sub");
    fd = world_open (&w, dir, O_RDONLY);
    if (_i == 0)
        ck_assert_int_eq (world_unlink (&w, w.root, "file-007"), 0);
    else
        ck_assert_int_eq (world_rename (&w, w.root, "file-008", w.root, "file-007", 0), 0);
    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &l), 0);
    ck_assert (g_hash_table_contains (l.bare, "twin"));
    ck_assert (!g_hash_table_contains (l.bare, "other"));
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

START_TEST (from_any_offset_the_rest_comes)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing first = listing_new ();
    int fills;

    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &first), 0);
    for (guint i = 0; i < first.offsets->len; i++) {
        struct listing l = listing_new ();
        const guint jump = (i * 7 + 3) % first.offsets->len;
        off_t at = g_array_index (first.offsets, off_t, i),
              other = g_array_index (first.offsets, off_t, jump);

        list_some (&w, fd, 4096, true, &other, &l); /* seek to another place first */
        g_hash_table_remove_all (l.names);
        ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, at, &l), 0);
        ck_assert_int_eq (rda_list_all (&w, fd, 4096, i % 2, 0, &l), 0);
        for (int k = 0; k < FILES; k++) {
            g_autofree char *name = g_strdup_printf ("file-%03d", k);
            ck_assert_int_ge (times_seen (&l, name), 1);
            ck_assert_int_le (times_seen (&l, name), 2);
        }
        rda_listing_drop (&l);
    }
    /* A sequential caller gets read-ahead again. */
    fills = rda_dumped (&w, "read_ahead");
    ck_assert_int_eq (
        rda_list_all (&w, fd, 4096, true, g_array_index (first.offsets, off_t, 1), &first), 0);
    ck_assert_int_gt (rda_dumped (&w, "read_ahead"), fills);
    rda_listing_drop (&first);
    fd_unref (fd);
}
END_TEST

/* --- with a call on its way ------------------------------------------------------------------- */

struct rda_reader {
    struct world *w;
    struct client *client;
    fd_t *fd;
    struct listing l;
    int r;
};

static void *
rda_read_all (void *data)
{
    struct rda_reader *reader = data;
    struct world w = *reader->w;

    w.client = reader->client;
    reader->r = rda_list_all (&w, reader->fd, 4096, true, 0, &reader->l);
    return NULL;
}

static struct rda_reader
reader_start (struct world *w, fd_t *fd)
{
    return (struct rda_reader){
        .w = w, .client = client_new (w->graph->top), .fd = fd, .l = listing_new ()
    };
}

static void
until (struct world *w, const char *key, int number)
{
    for (int i = 0; i < 2000 && rda_dumped (w, key) != number; i++)
        g_usleep (5000);
    ck_assert_int_eq (rda_dumped (w, key), number);
}

/* The second call shows whether a listing reads attributes. Until then, no more files are looked up
 * than the first call would return. */
START_TEST (no_more_is_looked_at_than_the_first_call_gets)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "");
    struct listing l = listing_new ();
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    off_t offset = 0;
    int n;

    ck_assert_int_eq (rda_dumped (&w, "read_ahead"), 1);
    n = list_some (&w, fd, 32 << 10, true, &offset, &l);
    ck_assert (n > 100 && n < FILES);
    ck_assert_int_eq (rda_dumped (&w, "hits"), 1);
    ck_assert_int_eq (rda_dumped (&w, "read_ahead"), 1);
    while (n > 0)
        n = list_some (&w, fd, 32 << 10, false, &offset, &l);
    ck_assert_int_eq (n, 0);
    ck_assert_int_eq (rda_dumped (&w, "misses"), 1);
    expect_all (&l, "");
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

START_TEST (a_reader_waits_for_what_is_on_its_way)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "readdirp times 1 -> hang name r");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct rda_reader reader = reader_start (&w, fd);
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "reader", rda_read_all, &reader), 0);
    until (&w, "readers_waiting", 1);
    rda_tell (&w, "release", "r");
    thread_join (thread);
    ck_assert_int_eq (reader.r, 0);
    expect_all (&reader.l, "");
    ck_assert_int_eq (rda_dumped (&w, "misses"), 0);
    client_free (reader.client);
    rda_listing_drop (&reader.l);
    fd_unref (fd);
}
END_TEST

/* Each reader is at its own place, and needs entries that the other one has dropped. */
START_TEST (two_may_read_by_one_descriptor)
{
    g_auto (world) w = rda_begin (OVER_FAULT ("option rda-request-size 8KB\n"), "");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct rda_reader readers[2] = { reader_start (&w, fd), reader_start (&w, fd) };
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        ck_assert_int_eq (thread_new (&threads[i], "reader", rda_read_all, &readers[i]), 0);
    for (int i = 0; i < 2; i++) {
        thread_join (threads[i]);
        ck_assert_int_eq (readers[i].r, 0);
        expect_all (&readers[i].l, "");
        client_free (readers[i].client);
        rda_listing_drop (&readers[i].l);
    }
    fd_unref (fd);
}
END_TEST

/* The directory is closed, or another place is read, while our call hangs: nothing waits for the
 * call. */
START_TEST (nobody_waits_for_what_he_does_not_want)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "readdirp times 1 -> hang name r");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();

    if (_i) {
        struct readdirp_reply reply;

        w.client->uid = 1; /* another user does not get the first user's entries */
        ck_assert_int_gt (sync_readdirp (w.client, fd, 4096, 0, NULL, &reply), 0);
        readdirp_reply_drop (&reply);
        w.client->uid = geteuid ();
    }
    fd_unref (fd);
    rda_tell (&w, "release", "r");
    until (&w, "directories", 0);
    ck_assert_int_le (rda_dumped (&w, "read_ahead"), 2);
    rda_listing_drop (&l);
}
END_TEST

/* The answer to our call was requested before a name was removed: the answer is dropped. */
START_TEST (an_answer_from_before_a_change_is_not_kept)
{
    g_auto (world) w = rda_begin (OVER_FAULT (""), "readdirp times 1 -> hang name r");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();
    G_GNUC_UNUSED g_autoptr (inode_t) inode = posix_world_look (&w, w.root, "file-100");

    ck_assert_int_eq (world_unlink (&w, w.root, "file-100"), 0);
    rda_tell (&w, "release", "r");
    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &l), 0);
    expect_all (&l, "file-100");
    ck_assert_int_eq (times_seen (&l, "file-100"), 0);
    ck_assert_int_eq (rda_dumped (&w, "invalidations"), 1);
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */

START_TEST (all_together_stay_within_the_limit)
{
    g_auto (world) w = rda_begin (OVER_FAULT ("option rda-cache-limit 64KB\n"
                                              "option rda-request-size 16KB\n"
                                              "option rda-high-wmark 1MB\n"),
                                  "");
    fd_t *fds[20];

    for (guint i = 0; i < G_N_ELEMENTS (fds); i++) {
        fds[i] = world_open (&w, w.root, O_RDONLY);
        ck_assert_int_le (rda_dumped (&w, "bytes"), 64 << 10);
    }
    ck_assert_int_gt (rda_dumped (&w, "bytes"), 0);
    for (guint i = 0; i < G_N_ELEMENTS (fds); i++) {
        struct listing l = listing_new ();
        ck_assert_int_eq (rda_list_all (&w, fds[i], 4096, true, 0, &l), 0);
        expect_all (&l, "");
        rda_listing_drop (&l);
        fd_unref (fds[i]);
    }
    ck_assert_int_eq (rda_dumped (&w, "bytes"), 0);
}
END_TEST

START_TEST (without_memory_nothing_is_read_ahead)
{
    g_auto (world) w = rda_begin (OVER_FAULT ("option rda-cache-limit 0\n"), "");
    fd_t *fd = world_open (&w, w.root, O_RDONLY);
    struct listing l = listing_new ();

    ck_assert_int_eq (rda_list_all (&w, fd, 4096, true, 0, &l), 0);
    expect_all (&l, "");
    ck_assert_int_eq (rda_dumped (&w, "read_ahead"), 0);
    rda_listing_drop (&l);
    fd_unref (fd);
}
END_TEST

TEST_PROGRAM (test_readdir_ahead)
{
    Suite *suite = suite_create ("readdir-ahead");
    TCase *tcase = tcase_create ("readdir-ahead");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, a_listing_is_answered_from_what_was_read_ahead, 0, 2);
    tcase_add_test (tcase, an_error_in_the_middle_comes_in_its_place);
    tcase_add_loop_test (tcase, names_that_come_and_go_drop_what_was_read_ahead, 0, 4);
    tcase_add_loop_test (tcase, attributes_that_changed_are_left_out, 0, 13);
    tcase_add_loop_test (tcase, a_name_goes_and_nobody_knows_of_what, 0, 2);
    tcase_add_test (tcase, from_any_offset_the_rest_comes);
    tcase_add_test (tcase, no_more_is_looked_at_than_the_first_call_gets);
    tcase_add_test (tcase, a_reader_waits_for_what_is_on_its_way);
    tcase_add_test (tcase, two_may_read_by_one_descriptor);
    tcase_add_loop_test (tcase, nobody_waits_for_what_he_does_not_want, 0, 2);
    tcase_add_test (tcase, an_answer_from_before_a_change_is_not_kept);
    tcase_add_test (tcase, all_together_stay_within_the_limit);
    tcase_add_test (tcase, without_memory_nothing_is_read_ahead);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
