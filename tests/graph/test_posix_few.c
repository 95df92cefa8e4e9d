/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: tsan debug */
/* storage/posix with more open files than the process has descriptors. */
#include "posix_world.h"

#include "core/time/thread.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/resource.h>

#define LIMIT 64
#define FILES 150

/* A world with few descriptors and FILES open files. Needs file handles; otherwise w.by_name. */
struct crowded {
    struct world w;
    fd_t *fds[FILES];
};

static struct crowded
crowded_begin (const char *options, uint32_t flags)
{
    const struct rlimit few = { LIMIT, LIMIT };
    struct crowded c = { 0 };

    ck_assert_int_eq (setrlimit (RLIMIT_NOFILE, &few), 0);
    c.w = posix_world_begin (options);
    for (int i = 0; i < FILES && !c.w.by_name; i++) {
        g_autofree char *name = g_strdup_printf ("f%d", i);
        c.fds[i] = world_create (&c.w, c.w.root, name, flags, 0600);
        ck_assert_int_eq (c.w.r, 0);
    }
    return c;
}

static void
crowded_end (struct crowded *c)
{
    for (int i = 0; i < FILES; i++)
        g_clear_pointer (&c->fds[i], fd_unref);
    posix_world_end (&c->w);
}

/* Returns a number from storage's part of a state dump. */
static int
few_dumped (struct world *w, const char *key)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autofree char *line = g_strconcat (key, "=", NULL);
    const char *found;

    w->graph->top->api->dumpops.priv (w->graph->top, out);
    found = strstr (out->str, line);
    ck_assert_ptr_nonnull (found);
    return atoi (found + strlen (line));
}

static bool
has_descriptor (struct world *w, fd_t *fd)
{
    g_autoptr (GString) out = g_string_new (NULL);

    w->graph->top->api->dumpops.fdctx (w->graph->top, fd, out);
    return !strstr (out->str, "descriptor=none\n");
}

/* Returns the first file without a descriptor. */
static fd_t *
without (struct crowded *c)
{
    for (int i = 0; i < FILES; i++)
        if (!has_descriptor (&c->w, c->fds[i]))
            return c->fds[i];
    ck_abort_msg ("all %d files have descriptors", FILES);
    return NULL;
}

static void
expect_text (struct world *w, fd_t *fd, const char *text)
{
    g_autofree char *got = world_read (w, fd, 100, 0);

    ck_assert_int_eq (w->r, (int) strlen (text));
    ck_assert_str_eq (got, text);
}

START_TEST (each_file_keeps_its_bytes)
{
    struct crowded c = crowded_begin (world_modes[_i], O_RDWR);

    if (!c.w.by_name) {
        ck_assert_int_gt (few_dumped (&c.w, "open-without-descriptor"), FILES - LIMIT);
        for (int i = 0; i < FILES; i++) {
            g_autofree char *text = g_strdup_printf ("file %d", i);
            ck_assert_int_eq (world_write (&c.w, c.fds[i], text, 0), (int) strlen (text));
        }
        for (int i = 0; i < FILES; i++) {
            g_autofree char *text = g_strdup_printf ("file %d", i);
            expect_text (&c.w, c.fds[i], text);
            ck_assert_int_eq (sync_fsync (c.w.client, c.fds[i], 0, NULL, NULL), 0);
            ck_assert_int_eq (sync_flush (c.w.client, c.fds[i], NULL, NULL), 0);
        }
        ck_assert_uint_lt (world_descriptors (), LIMIT);
    }
    crowded_end (&c);
}
END_TEST

/* Inodes leave an eighth of the descriptors free, however many are looked up. */
START_TEST (inodes_leave_room)
{
    struct crowded c = crowded_begin (world_modes[0], O_RDWR);

    if (!c.w.by_name) {
        for (int round = 0; round < 3; round++)
            for (int i = 0; i < FILES; i++) {
                world_stat (&c.w, c.fds[i]->inode);
                ck_assert_int_eq (c.w.r, 0);
            }
        /* 3: the descriptor that counts, and those of check */
        ck_assert_uint_le (world_descriptors (), LIMIT - LIMIT / 8 + 3);
    }
    crowded_end (&c);
}
END_TEST

/* A file keeps exactly the rights of its open, whatever the later mode and caller. */
START_TEST (rights_are_those_of_the_open)
{
    struct crowded c = crowded_begin (world_modes[0], O_RDONLY);

    if (!c.w.by_name) {
        struct iatt nothing = { .ia_prot = 0 };
        fd_t *reader = without (&c),
             *writer = world_open (&c.w, reader->inode, O_WRONLY | O_APPEND);
        loc_t loc = { .inode = reader->inode };
        ck_assert (!has_descriptor (&c.w, writer));
        ck_assert_int_eq (sync_setattr (c.w.client, &loc, &nothing, IATT_MODE, NULL, NULL), 0);
        c.w.client->uid = c.w.client->gid = 65534;
        ck_assert_int_eq (world_write (&c.w, reader, "x", 0), -EBADF);
        ck_assert_int_eq (world_write (&c.w, writer, "12", 7), 2);
        ck_assert_int_eq (world_write (&c.w, writer, "34", 0), 2); /* the write appends */
        ck_assert_ptr_null (world_read (&c.w, writer, 9, 0));
        ck_assert_int_eq (c.w.r, -EBADF);
        expect_text (&c.w, reader, "1234");
        ck_assert_int_eq (sync_ftruncate (c.w.client, reader, 1, NULL, NULL), -EINVAL);
        ck_assert_int_eq (sync_ftruncate (c.w.client, writer, 3, NULL, NULL), 0);
        ck_assert_ptr_null (world_open (&c.w, reader->inode, O_RDONLY));
        ck_assert_int_eq (c.w.r, -EACCES);
        c.w.client->uid = c.w.client->gid = 0;
        ck_assert (!has_descriptor (&c.w, writer) && !has_descriptor (&c.w, reader));
        fd_unref (writer);
        fd_t *cut = world_open (&c.w, reader->inode, O_RDWR | O_TRUNC);
        /* truncated once, not with each request */
        ck_assert_int_eq (world_write (&c.w, cut, "abc", 0), 3);
        ck_assert_int_eq (world_write (&c.w, cut, "def", 3), 3);
        expect_text (&c.w, reader, "abcdef");
        fd_unref (cut);
    }
    crowded_end (&c);
}
END_TEST

START_TEST (what_loses_its_name_lives_on)
{
    struct crowded c = crowded_begin (world_modes[_i], O_RDWR);

    if (!c.w.by_name) {
        for (int i = FILES - 6; i < FILES; i++) {
            g_autofree char *name = g_strdup_printf ("f%d", i), *path = world_path (&c.w, name);
            ck_assert (!has_descriptor (&c.w, c.fds[i]));
            ck_assert_int_eq (world_write (&c.w, c.fds[i], name, 0), (int) strlen (name));
            if (i < FILES - 4)
                ck_assert_int_eq (world_unlink (&c.w, c.w.root, name), 0);
            else if (i < FILES - 2)
                ck_assert_int_eq (
                    world_rename (&c.w, c.w.root, i % 2 ? "f0" : "f1", c.w.root, name, 0), 0);
            else
                ck_assert_int_eq (unlink (path), 0); /* behind the mount */
        }
        for (int i = 0; i < FILES - 6; i++) /* whichever file is closed meanwhile */
            ck_assert_int_eq (world_write (&c.w, c.fds[i], "x", 0), 1);
        for (int i = FILES - 6; i < FILES - 2; i++) {
            g_autofree char *name = g_strdup_printf ("f%d", i);
            expect_text (&c.w, c.fds[i], name);
            ck_assert_int_eq (sync_fstat (c.w.client, c.fds[i], NULL, NULL), 0);
        }
        ck_assert_ptr_null (world_read (&c.w, c.fds[FILES - 1], 9, 0));
        ck_assert_int_eq (c.w.r, -ESTALE);
    }
    crowded_end (&c);
}
END_TEST

static int
few_lock (struct world *w, fd_t *fd, uint64_t owner, int type)
{
    struct gf_flock range = { .l_type = (short) type, .l_whence = SEEK_SET, .l_len = 1 };

    w->client->lk_owner = owner;
    return sync_lk (w->client, fd, F_SETLK, &range, NULL, NULL);
}

START_TEST (locks_last)
{
    struct crowded c = crowded_begin (world_modes[0], O_RDWR);

    if (!c.w.by_name) {
        fd_t *fd = without (&c), *other = world_open (&c.w, fd->inode, O_RDWR);
        ck_assert_int_eq (few_lock (&c.w, fd, 1, F_WRLCK), 0);
        ck_assert_int_eq (few_lock (&c.w, other, 2, F_WRLCK), -EAGAIN);
        ck_assert_int_eq (sync_flock (c.w.client, fd, LOCK_EX | LOCK_NB, NULL, NULL), 0);
        ck_assert (has_descriptor (&c.w, fd));
        expect_text (&c.w, other, "");
        ck_assert_int_eq (world_write (&c.w, fd, "x", 0), 1);
        ck_assert_int_eq (sync_flock (c.w.client, other, LOCK_EX | LOCK_NB, NULL, NULL),
                          -EWOULDBLOCK);
        ck_assert_int_eq (few_lock (&c.w, other, 2, F_WRLCK), -EAGAIN);
        ck_assert_int_eq (few_lock (&c.w, fd, 1, F_UNLCK), 0);
        ck_assert_int_eq (few_lock (&c.w, other, 2, F_WRLCK), 0);
        ck_assert_int_eq (sync_flock (c.w.client, fd, LOCK_UN | LOCK_NB, NULL, NULL), 0);
        ck_assert_int_eq (sync_flock (c.w.client, other, LOCK_EX | LOCK_NB, NULL, NULL), 0);
        fd_unref (other);
    }
    crowded_end (&c);
}
END_TEST

/* Lists entries one by one, with several threads: no entry is missing, and none appears twice. */
#define ENTRIES 3000

START_TEST (a_listing_goes_on_where_it_was)
{
    struct crowded c = crowded_begin (world_modes[_i], O_RDWR);
    g_autoptr (inode_t) dir = c.w.by_name ? NULL : world_mkdir (&c.w, c.w.root, "dir", 0755);
    struct { fd_t *fd; off_t at; GHashTable *seen; } lists[4] = { 0 };

    for (int i = 0; i < ENTRIES && dir; i++) {
        g_autofree char *path = g_strdup_printf ("%s/dir/a-rather-long-name-%d", c.w.dir, i);
        ck_assert (g_file_set_contents_full (path, "", 0, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
    }
    for (size_t i = 0; i < G_N_ELEMENTS (lists) && dir; i++) {
        lists[i].fd = world_open (&c.w, dir, O_RDONLY);
        lists[i].seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
        ck_assert (!has_descriptor (&c.w, lists[i].fd));
    }
    for (int n = dir ? 1 : 0; n > 0;) {
        n = 0;
        for (size_t i = 0; i < G_N_ELEMENTS (lists); i++) {
            struct readdir_reply reply;
            int r = sync_readdir (c.w.client, lists[i].fd, 1000, lists[i].at, NULL, &reply);
            ck_assert_int_ge (r, 0);
            for (gf_dirent_t *entry = reply.entries; entry; entry = entry->next) {
                ck_assert (g_hash_table_add (lists[i].seen, g_strdup (entry->d_name)));
                lists[i].at = (off_t) entry->d_off;
            }
            readdir_reply_drop (&reply);
            n += r;
        }
    }
    for (size_t i = 0; i < G_N_ELEMENTS (lists) && dir; i++) {
        ck_assert_uint_eq (g_hash_table_size (lists[i].seen), ENTRIES + 2);
        ck_assert_int_eq (sync_fsyncdir (c.w.client, lists[i].fd, 0, NULL, NULL), 0);
        g_hash_table_unref (lists[i].seen);
        fd_unref (lists[i].fd);
    }
    g_clear_pointer (&dir, inode_unref);
    crowded_end (&c);
}
END_TEST

/* When other files are closed, files get descriptors as they are used. */
START_TEST (room_is_used_when_there_is_some)
{
    struct crowded c = crowded_begin (world_modes[0], O_RDWR);

    if (!c.w.by_name) {
        for (int i = 0; i < FILES - 10; i++)
            g_clear_pointer (&c.fds[i], fd_unref);
        ck_assert_int_eq (few_dumped (&c.w, "open-without-descriptor"), 10);
        for (int i = FILES - 10; i < FILES; i++)
            ck_assert_int_eq (world_write (&c.w, c.fds[i], "x", 0), 1);
        ck_assert_int_eq (few_dumped (&c.w, "open-without-descriptor"), 0);
        for (int i = FILES - 10; i < FILES; i++)
            expect_text (&c.w, c.fds[i], "x");
    }
    crowded_end (&c);
}
END_TEST

/* Threads read and write the same files while other files are closed and opened: each file gets a
 * descriptor at some time. */
#define HANDS 4
#define SHARED 8

struct hand {
    struct world w; /* has its own client */
    fd_t **fds;
    pthread_t thread;
    unsigned number;
    bool *enough; /* atomic */
};

static void *
few_hand_run (void *data)
{
    struct hand *hand = data;

    for (unsigned i = 0; !__atomic_load_n (hand->enough, __ATOMIC_RELAXED); i++) {
        const char text[] = { (char) ('a' + i % 26), '\0' };
        g_autofree char *got = NULL;

        ck_assert_int_eq (world_write (&hand->w, hand->fds[i % SHARED], text, hand->number), 1);
        got = world_read (&hand->w, hand->fds[i % SHARED], 1, hand->number);
        ck_assert_int_eq (hand->w.r, 1);
        ck_assert_int_eq (got[0], text[0]);
    }
    return NULL;
}

START_TEST (threads_share_files_without_descriptors)
{
    struct crowded c = crowded_begin (world_modes[_i], O_RDWR);
    struct hand hands[HANDS];
    bool enough = false;

    if (!c.w.by_name) {
        for (unsigned i = 0; i < HANDS; i++) {
            hands[i] = (struct hand){
                .w = c.w, .fds = c.fds + FILES - SHARED, .number = i, .enough = &enough
            };
            hands[i].w.client = client_new (c.w.graph->top);
            ck_assert_int_eq (thread_new (&hands[i].thread, "hand", few_hand_run, &hands[i]), 0);
        }
        for (int round = 0; round < 20; round++)
            for (int i = 0; i < FILES - SHARED; i++) {
                inode_t *inode = c.fds[i]->inode;
                fd_t *again = world_open (&c.w, inode, O_RDWR);
                ck_assert_int_eq (c.w.r, 0);
                fd_unref (c.fds[i]);
                c.fds[i] = again;
            }
        for (int i = 0; i < FILES - SHARED; i++)
            g_clear_pointer (&c.fds[i], fd_unref);
        while (few_dumped (&c.w, "open-without-descriptor") > 0)
            sched_yield ();
        __atomic_store_n (&enough, true, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < HANDS; i++) {
            thread_join (hands[i].thread);
            client_free (hands[i].w.client);
        }
        ck_assert_uint_lt (world_descriptors (), LIMIT);
    }
    crowded_end (&c);
}
END_TEST

/* Another user of descriptors takes the last one: ENFILE, and no file is lost. */
START_TEST (nothing_is_left)
{
    struct crowded c = crowded_begin (world_modes[0], O_RDWR);
    int taken[LIMIT], n = 0;

    if (!c.w.by_name) {
        fd_t *fd = without (&c);
        inode_t *locked = c.fds[FILES - 1]->inode;
        ck_assert_int_eq (world_write (&c.w, fd, "still here", 0), 10);
        world_stat (&c.w, locked);
        while ((taken[n] = fcntl (0, F_DUPFD_CLOEXEC, 0)) >= 0)
            n++;
        ck_assert_int_eq (world_write (&c.w, fd, "x", 0), 1); /* descriptors of inodes are closed */
        while ((taken[n] = fcntl (0, F_DUPFD_CLOEXEC, 0)) >= 0)
            n++;
        ck_assert_int_eq (world_write (&c.w, fd, "x", 0), -ENFILE);
        ck_assert_int_eq (sync_flock (c.w.client, fd, LOCK_EX | LOCK_NB, NULL, NULL), -ENOLCK);
        ck_assert_int_eq (world_write (&c.w, c.fds[0], "x", 0), 1);
        ck_assert_int_eq (world_unlink (&c.w, c.w.root, "f149"), -ENFILE);
        while (n > 0)
            close (taken[--n]);
        expect_text (&c.w, fd, "xtill here");
        ck_assert_int_eq (world_unlink (&c.w, c.w.root, "f149"), 0);
        ck_assert_int_eq (world_write (&c.w, c.fds[149], "x", 0), 1);
    }
    crowded_end (&c);
}
END_TEST

TEST_PROGRAM (test_posix_few)
{
    Suite *suite = suite_create ("few descriptors");
    TCase *tcase = tcase_create ("by handle");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, each_file_keeps_its_bytes, 2, WORLD_MODES);
    tcase_add_loop_test (tcase, what_loses_its_name_lives_on, 2, WORLD_MODES);
    tcase_add_loop_test (tcase, a_listing_goes_on_where_it_was, 2, WORLD_MODES);
    tcase_add_loop_test (tcase, threads_share_files_without_descriptors, 2, WORLD_MODES);
    if (geteuid () == 0) {
        tcase_add_test (tcase, rights_are_those_of_the_open);
        tcase_add_test (tcase, inodes_leave_room);
        tcase_add_test (tcase, locks_last);
        tcase_add_test (tcase, room_is_used_when_there_is_some);
        tcase_add_test (tcase, nothing_is_left);
    }
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
