/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* performance/write-behind over debug/fault: what is answered when, what waits for it, and who is told of its errors. */
#include "posix_world.h"

#define OVER_FAULT(options)                                                                        \
    "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\nend-volume\n"    \
    "volume wb\ntype performance/write-behind\n" options "subvolumes fault\n"
#define PAGE 4096

/* --- telling and asking ------------------------------------------------------------------------------ */

static void
tell (struct world *w, const char *command, const char *input)
{
    xlator_t *fault = FIRST_CHILD (w->graph->top);
    const struct xlator_command *one = fault->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    g_autoptr (GString) answer = g_string_new (NULL);

    while (strcmp (one->name, command) != 0)
        one++;
    ck_assert_int_eq (one->run (fault, bytes, answer), 0);
}

static struct world
begin (const char *options, const char *rules)
{
    struct world w = world_begin (options);

    tell (&w, "rules", rules);
    return w;
}

/* A number of the translator's own dump, or of the inode's. */
static int
dumped (struct world *w, inode_t *inode, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("%s=", key);
    const char *at;

    if (inode)
        w->graph->top->api->dumpops.inodectx (w->graph->top, inode, out);
    else
        w->graph->top->api->dumpops.priv (w->graph->top, out);
    at = strstr (out->str, line);
    return at ? atoi (at + strlen (line)) : -1;
}

/* Does somebody wait for a write of the inode? */
static bool
is_waited_for (struct world *w, inode_t *inode)
{
    g_autoptr (GString) out = g_string_new (NULL);

    w->graph->top->api->dumpops.inodectx (w->graph->top, inode, out);
    for (const char *at = out->str; (at = strstr (at, "blocks ")); at++)
        if (atoi (at + strlen ("blocks ")) > 0)
            return true;
    return false;
}

static gsize
stored_size (const struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);
    struct stat st;

    return stat (path, &st) == 0 ? (gsize) st.st_size : 0;
}

static char
stored_at (const struct world *w, const char *name, gsize offset)
{
    g_autofree char *path = world_path (w, name), *bytes = NULL;
    gsize size;

    ck_assert (g_file_get_contents (path, &bytes, &size, NULL));
    return offset < size ? bytes[offset] : '\0';
}

static int
put (struct world *w, fd_t *fd, char letter, size_t size, off_t offset)
{
    g_autofree char *text = g_strnfill (size, letter);

    return world_write (w, fd, text, offset);
}

static int
do_fsync (struct world *w, fd_t *fd)
{
    return sync_fsync (w->client, fd, 0, NULL, NULL);
}

static int
do_flush (struct world *w, fd_t *fd)
{
    return sync_flush (w->client, fd, NULL, NULL);
}

/* --- what waits --------------------------------------------------------------------------------------- */

/* One operation by a thread of its own, on a file that has PAGE bytes of 'b' to be written over PAGE of 'a', and as many more. */
struct asked {
    struct world *w;
    inode_t *inode;
    fd_t *fd, *other;
    struct client *client;
    bool done; /* atomic */
};

static void
ask_stat (struct asked *a)
{
    loc_t loc = { .inode = a->inode };
    struct stat_reply reply;

    ck_assert_int_eq (sync_stat (a->client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 2 * PAGE);
    stat_reply_drop (&reply);
}

/* By another name, whose inode nobody knows yet. */
static void
ask_lookup (struct asked *a)
{
    g_autoptr (inode_t) fresh = inode_new (a->w->graph->itable);
    loc_t loc = { .name = "link", .parent = a->w->root, .inode = fresh };
    struct lookup_reply reply;

    ck_assert_int_eq (sync_lookup (a->client, &loc, NULL, &reply), 0);
    ck_assert_uint_eq (reply.buf.ia_size, 2 * PAGE);
    lookup_reply_drop (&reply);
}

static void
ask_readv (struct asked *a)
{
    struct readv_reply reply;

    ck_assert_int_eq (sync_readv (a->client, a->fd, PAGE, PAGE, 0, NULL, &reply), PAGE);
    ck_assert_int_eq (((char *) reply.vector->iov_base)[0], 'b');
    readv_reply_drop (&reply);
}

static void
ask_seek (struct asked *a)
{
    struct seek_reply reply;

    ck_assert_int_eq (sync_seek (a->client, a->fd, PAGE, SEEK_DATA, NULL, &reply), 0);
    ck_assert_int_eq (reply.offset, PAGE);
    seek_reply_drop (&reply);
}

static void
ask_copy_from (struct asked *a)
{
    ck_assert_int_eq (sync_copy_file_range (a->client, a->fd, PAGE, a->other, 0, PAGE, 0, NULL, NULL), PAGE);
    ck_assert_int_eq (stored_at (a->w, "other", 0), 'b');
}

static void
ask_copy_to (struct asked *a)
{
    ck_assert_int_eq (sync_copy_file_range (a->client, a->other, 0, a->fd, 0, PAGE, 0, NULL, NULL), PAGE);
    ck_assert_int_eq (stored_at (a->w, "f", 0), 'o');
    ck_assert_int_eq (stored_at (a->w, "f", PAGE), 'b');
}

static void
ask_ftruncate (struct asked *a)
{
    ck_assert_int_eq (sync_ftruncate (a->client, a->fd, 10, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 10);
}

static void
ask_open_truncating (struct asked *a)
{
    loc_t loc = { .inode = a->inode };
    g_autoptr (fd_t) fd = fd_new (&a->w->graph->fd_maker, a->inode, O_RDWR | O_TRUNC, 1);

    ck_assert_int_eq (sync_open (a->client, &loc, O_RDWR | O_TRUNC, fd, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 0);
}

static void
ask_create_truncating (struct asked *a)
{
    g_autoptr (inode_t) fresh = inode_new (a->w->graph->itable);
    loc_t loc = { .name = "link", .parent = a->w->root, .inode = fresh };
    g_autoptr (fd_t) fd = fd_new (&a->w->graph->fd_maker, NULL, O_RDWR | O_TRUNC, 1);

    ck_assert_int_eq (sync_create (a->client, &loc, O_RDWR | O_TRUNC, 0644, 022, fd, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 0);
}

static void
ask_utime (struct asked *a)
{
    loc_t loc = { .inode = a->inode };
    struct iatt times = { .ia_mtime = 1000 };
    g_autofree char *path = world_path (a->w, "f");
    struct stat st;

    ck_assert_int_eq (sync_setattr (a->client, &loc, &times, IATT_MTIME, NULL, NULL), 0);
    ck_assert_int_eq (stat (path, &st), 0);
    ck_assert_int_eq (st.st_mtime, 1000);
    ck_assert_uint_eq (st.st_size, 2 * PAGE);
}

static void
ask_rename (struct asked *a)
{
    loc_t from = { .name = "f", .parent = a->w->root, .inode = a->inode }, to = { .name = "g", .parent = a->w->root };

    ck_assert_int_eq (sync_rename (a->client, &from, &to, 0, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "g"), 2 * PAGE);
}

static void
ask_fsync (struct asked *a)
{
    ck_assert_int_eq (sync_fsync (a->client, a->fd, 0, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

static void
ask_write_over (struct asked *a)
{
    struct iovec iov = { (char *) "x", 1 };

    ck_assert_int_eq (sync_writev (a->client, a->fd, &iov, 1, PAGE, O_SYNC, NULL, NULL, NULL), 1);
    ck_assert_int_eq (stored_at (a->w, "f", PAGE), 'x');
}

static void
ask_unlock (struct asked *a)
{
    struct gf_flock lock = { .l_type = F_UNLCK };

    ck_assert_int_eq (sync_lk (a->client, a->fd, F_SETLK, &lock, NULL, NULL), 0);
    ck_assert_uint_eq (stored_size (a->w, "f"), 2 * PAGE);
}

static void (*const questions[]) (struct asked *a) = {
    ask_stat,      ask_lookup,          ask_readv,             ask_seek,  ask_copy_from, ask_copy_to, ask_ftruncate,
    ask_open_truncating, ask_create_truncating, ask_utime, ask_rename,    ask_fsync,   ask_write_over, ask_unlock,
};

struct asking {
    struct asked *a;
    void (*ask) (struct asked *a);
};

static gpointer
ask (gpointer data)
{
    struct asking *asking = data;

    asking->ask (asking->a);
    __atomic_store_n (&asking->a->done, true, __ATOMIC_RELEASE);
    return NULL;
}

/* The directory itself has a second name for the file. */
static struct asked
asked_begin (struct world *w)
{
    g_autofree char *f = world_path (w, "f"), *other_name = world_path (w, "link");
    struct asked a = { .w = w };

    a.fd = world_create (w, w->root, "f", O_RDWR, 0644);
    a.other = world_create (w, w->root, "other", O_RDWR, 0644);
    a.inode = a.fd->inode;
    a.client = client_new (w->graph->top);
    put (w, a.fd, 'a', PAGE, 0);
    put (w, a.other, 'o', PAGE, 0);
    ck_assert_int_eq (do_fsync (w, a.fd), 0);
    ck_assert_int_eq (do_fsync (w, a.other), 0);
    ck_assert_int_eq (link (f, other_name), 0);
    return a;
}

START_TEST (whatever_has_to_see_a_write_waits_for_it)
{
    struct world w = begin (OVER_FAULT (""), "");
    struct asked a = asked_begin (&w);
    struct asking asking = { &a, questions[_i] };
    GThread *thread;

    tell (&w, "rules", "writev times 1 -> hang name w");
    ck_assert_int_eq (put (&w, a.fd, 'b', PAGE, PAGE), PAGE);
    ck_assert_uint_eq (stored_size (&w, "f"), PAGE);
    thread = g_thread_new ("asks", ask, &asking);
    while (!is_waited_for (&w, a.inode) && !__atomic_load_n (&a.done, __ATOMIC_ACQUIRE))
        g_usleep (1000);
    ck_assert (!__atomic_load_n (&a.done, __ATOMIC_ACQUIRE));
    tell (&w, "release", "w");
    g_thread_join (thread);
    client_free (a.client);
    fd_unref (a.fd);
    fd_unref (a.other);
    world_end (&w);
}
END_TEST

START_TEST (what_need_not_see_it_does_not_wait)
{
    struct world w = begin (OVER_FAULT (""), "");
    struct asked a = asked_begin (&w);

    tell (&w, "rules", "writev times 1 -> hang name w");
    put (&w, a.fd, 'b', PAGE, PAGE);
    ck_assert_uint_eq (world_stat (&w, a.other->inode).ia_size, PAGE);
    ck_assert_int_eq (put (&w, a.fd, 'c', 10, 3 * PAGE), 10); /* elsewhere in the file */
    ck_assert_int_eq (do_flush (&w, a.fd), 0);                  /* flush-behind */
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, a.fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 3 * PAGE + 10);
    client_free (a.client);
    fd_unref (a.fd);
    fd_unref (a.other);
    world_end (&w);
}
END_TEST

/* --- order and size ------------------------------------------------------------------------------------ */

START_TEST (small_writes_become_one)
{
    struct world w = begin (OVER_FAULT (""), "writev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 33; i++)
        ck_assert_int_eq (put (&w, fd, 'a' + i % 26, PAGE, i * PAGE), PAGE);
    ck_assert_int_eq (dumped (&w, NULL, "sent"), 2); /* the second has 128 KB */
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (dumped (&w, NULL, "joined_another"), 31);
    ck_assert_int_eq (dumped (&w, NULL, "sent"), 2);
    ck_assert_int_eq (dumped (&w, NULL, "memory_held"), 0);
    for (int i = 0; i < 33; i++)
        ck_assert_int_eq (stored_at (&w, "f", i * PAGE + 7), 'a' + i % 26);
    fd_unref (fd);
    world_end (&w);
}
END_TEST

/* The first is on its way. The second waits for company, and gets some that overlaps the first. */
START_TEST (what_joins_waits_for_what_it_overlaps)
{
    struct world w = begin (OVER_FAULT ("option flush-behind on\n"), "writev offset 4096..4096 times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    put (&w, fd, 'a', PAGE, PAGE);
    put (&w, fd, 'b', PAGE, 0);
    put (&w, fd, 'c', PAGE, PAGE);
    ck_assert_int_eq (dumped (&w, NULL, "joined_another"), 1);
    ck_assert_int_eq (do_flush (&w, fd), 0); /* has all go that may */
    ck_assert_int_eq (dumped (&w, NULL, "sent"), 1);
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (stored_at (&w, "f", 0), 'b');
    ck_assert_int_eq (stored_at (&w, "f", PAGE), 'c');
    fd_unref (fd);
    world_end (&w);
}
END_TEST

START_TEST (appended_bytes_keep_their_order)
{
    struct world w = begin (OVER_FAULT (""), "writev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_WRONLY | O_APPEND, 0644), *other = world_open (&w, fd->inode, O_WRONLY | O_APPEND);
    g_autofree char *path = world_path (&w, "f"), *text = NULL;

    world_write (&w, fd, "one ", 0);
    world_write (&w, fd, "two ", 0);
    world_write (&w, other, "three ", 0);
    world_write (&w, fd, "four", 0);
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert (g_file_get_contents (path, &text, NULL, NULL));
    ck_assert_str_eq (text, "one two three four");
    fd_unref (fd);
    fd_unref (other);
    world_end (&w);
}
END_TEST

START_TEST (a_window_that_is_full_has_writes_wait_for_themselves)
{
    struct world w = begin (OVER_FAULT ("option cache-size 512KB\n"), "writev times 4 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 4; i++)
        put (&w, fd, 'a', 128 << 10, i * (128 << 10));
    ck_assert_int_eq (dumped (&w, NULL, "passed_through"), 0);
    ck_assert_int_eq (put (&w, fd, 'b', PAGE, 1 << 20), PAGE);
    ck_assert_uint_eq (stored_size (&w, "f"), (1 << 20) + PAGE);
    ck_assert_int_eq (dumped (&w, NULL, "passed_through"), 1);
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_int_eq (dumped (&w, fd->inode, "window_current"), 0);
    fd_unref (fd);
    world_end (&w);
}
END_TEST

START_TEST (memory_is_limited_for_all_files_together)
{
    struct world w = begin (OVER_FAULT ("option memory-limit 1MB\n"), "writev -> hang name w");
    fd_t *fds[16];
    int n = 0;

    for (int i = 0; i < 16; i++) {
        g_autofree char *name = g_strdup_printf ("f%d", i);
        fds[i] = world_create (&w, w.root, name, O_RDWR, 0644);
        if (dumped (&w, NULL, "memory_held") <= (1 << 20) - (128 << 10))
            n += put (&w, fds[i], 'a', 128 << 10, 0) > 0;
    }
    ck_assert_int_eq (n, 8);
    tell (&w, "rules", "");
    ck_assert_int_eq (dumped (&w, NULL, "passed_through"), 0);
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq (do_fsync (&w, fds[i]), 0);
        fd_unref (fds[i]);
    }
    ck_assert_int_eq (dumped (&w, NULL, "memory_held"), 0);
    world_end (&w);
}
END_TEST

START_TEST (a_short_write_goes_on)
{
    struct world w = begin (OVER_FAULT (""), "writev times 7 -> short 100");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644), *append = world_open (&w, fd->inode, O_RDWR | O_APPEND);

    put (&w, fd, 'a', PAGE, 0);
    put (&w, append, 'b', PAGE, 0);
    ck_assert_int_eq (do_fsync (&w, fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 2 * PAGE);
    ck_assert_int_eq (stored_at (&w, "f", PAGE - 1), 'a');
    ck_assert_int_eq (stored_at (&w, "f", PAGE), 'b');
    fd_unref (fd);
    fd_unref (append);
    world_end (&w);
}
END_TEST

START_TEST (without_trickling_a_small_write_waits_a_second)
{
    struct world w = begin (OVER_FAULT ("option trickling-writes off\n"), "");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    const gint64 begun = g_get_monotonic_time ();

    put (&w, fd, 'a', 10, 0);
    put (&w, fd, 'b', 10, 10);
    if (g_get_monotonic_time () < begun + 500000)
        ck_assert_int_eq (dumped (&w, NULL, "sent"), 0);
    while (stored_size (&w, "f") < 20)
        g_usleep (10000);
    ck_assert_int_eq (dumped (&w, NULL, "sent"), 1);
    put (&w, fd, 'c', 10, 20);
    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_size, 30); /* nobody waits for the second to be over */
    fd_unref (fd);
    world_end (&w);
}
END_TEST

/* What was written is there when the graph has ended. */
START_TEST (the_end_waits_for_all)
{
    struct world w = begin (OVER_FAULT ("option trickling-writes off\n"), "writev -> delay 50ms");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 40; i++)
        put (&w, fd, 'a', 10, i * PAGE);
    do_flush (&w, fd);
    fd_unref (fd);
    graph_deactivate (w.graph);
    ck_assert_uint_eq (stored_size (&w, "f"), 39 * PAGE + 10);
    world_end (&w);
}
END_TEST

/* --- errors -------------------------------------------------------------------------------------------- */

START_TEST (an_error_is_told_once_to_each_who_wrote)
{
    struct world w = begin (OVER_FAULT (""), "");
    fd_t *one = world_create (&w, w.root, "f", O_RDWR, 0644), *two = world_open (&w, one->inode, O_RDWR);

    put (&w, two, 'a', 10, 0);
    ck_assert_int_eq (do_fsync (&w, two), 0);
    tell (&w, "rules", "writev times 1 -> error ENOSPC");
    ck_assert_int_eq (put (&w, one, 'b', 10, 10), 10);
    ck_assert_int_eq (do_fsync (&w, one), -ENOSPC);
    ck_assert_int_eq (do_fsync (&w, one), 0);
    ck_assert_int_eq (do_flush (&w, two), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, two), 0);
    fd_t *three = world_open (&w, one->inode, O_RDWR);
    put (&w, three, 'c', 10, 0);
    ck_assert_int_eq (do_fsync (&w, three), 0); /* it came later, and others know */
    ck_assert_int_eq (dumped (&w, NULL, "failed_later"), 1);
    fd_unref (one);
    fd_unref (two);
    fd_unref (three);
    world_end (&w);
}
END_TEST

START_TEST (an_error_that_nobody_knows_of_waits_for_whoever_asks)
{
    struct world w = begin (OVER_FAULT (""), "writev times 1 -> hang then error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644), *reader = world_open (&w, fd->inode, O_RDONLY), *next;

    put (&w, fd, 'a', 10, 0);
    ck_assert_int_eq (do_flush (&w, fd), 0); /* flush-behind: close doesn't know yet */
    fd_unref (fd);
    tell (&w, "release", "");
    ck_assert_uint_eq (world_stat (&w, reader->inode).ia_size, 0);
    ck_assert_int_eq (do_flush (&w, reader), 0); /* it didn't write: close tells it nothing */
    next = world_open (&w, reader->inode, O_RDWR);
    tell (&w, "rules", "writev -> error EDQUOT");
    ck_assert_int_eq (put (&w, next, 'b', 10, 0), -EDQUOT); /* each waits for itself now */
    ck_assert_int_eq (do_fsync (&w, reader), -EIO);
    ck_assert_int_eq (do_fsync (&w, reader), 0);
    ck_assert_int_eq (put (&w, next, 'b', 10, 0), 10);
    ck_assert_int_eq (do_fsync (&w, next), -EDQUOT);
    fd_unref (reader);
    fd_unref (next);
    world_end (&w);
}
END_TEST

START_TEST (close_tells_without_flush_behind)
{
    struct world w = begin (OVER_FAULT ("option flush-behind off\n"), "writev times 1 -> delay 20ms then error ENOSPC");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_int_eq (put (&w, fd, 'a', 10, 0), 10);
    ck_assert_int_eq (do_flush (&w, fd), -ENOSPC);
    ck_assert_int_eq (do_flush (&w, fd), 0);
    fd_unref (fd);
    world_end (&w);
}
END_TEST

/* Who locked a file is told all as well, and the lock goes after what was written. */
START_TEST (close_waits_where_there_were_locks)
{
    struct world w = begin (OVER_FAULT (""), "writev times 1 -> delay 20ms");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct gf_flock lock = { .l_type = F_WRLCK };

    ck_assert_int_eq (sync_lk (w.client, fd, F_SETLK, &lock, NULL, NULL), 0);
    put (&w, fd, 'a', 10, 0);
    ck_assert_int_eq (do_flush (&w, fd), 0);
    ck_assert_uint_eq (stored_size (&w, "f"), 10);
    fd_unref (fd);
    world_end (&w);
}
END_TEST

static const uint32_t sync_flags[] = { O_SYNC, O_DSYNC, O_DIRECT };

START_TEST (a_synchronous_write_tells_itself)
{
    struct world w = begin (OVER_FAULT ("option strict-O_DIRECT on\n"), "writev -> error EIO");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR | sync_flags[_i], 0644);

    if (w.r == 0) {
        ck_assert_int_eq (put (&w, fd, 'a', PAGE, 0), -EIO);
        ck_assert_int_eq (do_fsync (&w, fd), 0);
    }
    fd_unref (fd);
    world_end (&w);
}
END_TEST

/* Each goes down as who wrote: writes of two users don't become one, and only one's fail. */
START_TEST (each_goes_as_who_wrote)
{
    struct world w = begin (OVER_FAULT (""), "writev uid 12345 -> error EDQUOT\nwritev times 1 -> hang name w");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0666);

    put (&w, fd, 'a', 10, 0);
    put (&w, fd, 'b', 10, 10);
    w.client->uid = 12345;
    ck_assert_int_eq (put (&w, fd, 'c', 10, 20), 10);
    ck_assert_int_eq (dumped (&w, NULL, "joined_another"), 0);
    tell (&w, "release", "w");
    ck_assert_int_eq (do_fsync (&w, fd), -EDQUOT);
    ck_assert_uint_eq (stored_size (&w, "f"), 20);
    fd_unref (fd);
    world_end (&w);
}
END_TEST

int
main (void)
{
    Suite *suite = suite_create ("write-behind");
    TCase *tcase = tcase_create ("write-behind");

    tcase_set_timeout (tcase, 60);
    tcase_add_loop_test (tcase, whatever_has_to_see_a_write_waits_for_it, 0, G_N_ELEMENTS (questions));
    tcase_add_test (tcase, what_need_not_see_it_does_not_wait);
    tcase_add_test (tcase, small_writes_become_one);
    tcase_add_test (tcase, what_joins_waits_for_what_it_overlaps);
    tcase_add_test (tcase, appended_bytes_keep_their_order);
    tcase_add_test (tcase, a_window_that_is_full_has_writes_wait_for_themselves);
    tcase_add_test (tcase, memory_is_limited_for_all_files_together);
    tcase_add_test (tcase, a_short_write_goes_on);
    tcase_add_test (tcase, without_trickling_a_small_write_waits_a_second);
    tcase_add_test (tcase, the_end_waits_for_all);
    tcase_add_test (tcase, an_error_is_told_once_to_each_who_wrote);
    tcase_add_test (tcase, an_error_that_nobody_knows_of_waits_for_whoever_asks);
    tcase_add_test (tcase, close_tells_without_flush_behind);
    tcase_add_test (tcase, close_waits_where_there_were_locks);
    tcase_add_loop_test (tcase, a_synchronous_write_tells_itself, 0, G_N_ELEMENTS (sync_flags));
    tcase_add_test (tcase, each_goes_as_who_wrote);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
