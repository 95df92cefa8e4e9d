/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* storage/posix with other users of the directory: locks, callers with other ids, few descriptors,
 * changes behind the mount, and the start. */
#include "posix_world.h"

#include "core/time/clock.h"
#include "core/time/thread.h"

#include <sys/file.h>
#include <sys/resource.h>

/* --- locks ---------------------------------------------------------------------------------- */

static int
shared_lock (struct client *client, fd_t *fd, uint64_t owner, int cmd, short type, off_t start,
             off_t len)
{
    struct gf_flock range = { .l_type = type,
                              .l_whence = SEEK_SET,
                              .l_start = start,
                              .l_len = len,
                              .l_pid = owner == 1 ? 4711 : 0 };

    client->lk_owner = owner;
    return sync_lk (client, fd, cmd, &range, NULL, NULL);
}

static struct gf_flock
lock_in_the_way (struct world *w, fd_t *fd, uint64_t owner, off_t start, off_t len)
{
    struct gf_flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = len
    };
    struct lk_reply reply;

    w->client->lk_owner = owner;
    ck_assert_int_eq (sync_lk (w->client, fd, F_GETLK, &range, NULL, &reply), 0);
    range = reply.lock;
    lk_reply_drop (&reply);
    return range;
}

START_TEST (owners_lock_each_other_out)
{
    struct world w = posix_world_begin (world_modes[_i]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *reader = world_open (&w, fd->inode, O_RDONLY);

    ck_assert_int_eq (shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 0, 10), 0);
    ck_assert_int_eq (shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 5, 10), 0); /* its own lock */
    ck_assert_int_eq (shared_lock (w.client, reader, 2, F_SETLK, F_RDLCK, 12, 1), -EAGAIN);
    ck_assert_int_eq (shared_lock (w.client, fd, 2, F_SETLK, F_WRLCK, 20, 0), 0);
    ck_assert_int_eq (shared_lock (w.client, reader, 2, F_SETLK, F_WRLCK, 100, 1), -EBADF);
    struct gf_flock found = lock_in_the_way (&w, fd, 2, 3, 1);
    ck_assert_int_eq (found.l_type, F_WRLCK);
    ck_assert_int_eq (found.l_start, 0);
    ck_assert_int_eq (found.l_len, 15);
    ck_assert_int_eq (found.l_pid, 4711);
    found = lock_in_the_way (&w, fd, 1, 3, 1);
    ck_assert_int_eq (found.l_type, F_UNLCK);
    found = lock_in_the_way (&w, fd, 1, 20, 1);
    ck_assert_int_eq (found.l_pid, getpid ()); /* owner 2 has named no process */
    ck_assert_int_eq (shared_lock (w.client, fd, 1, F_SETLK, F_UNLCK, 12, 0), 0);
    ck_assert_int_eq (shared_lock (w.client, fd, 2, F_SETLK, F_RDLCK, 12, 1), 0);
    w.client->lk_owner = 1;
    /* any descriptor of the file */
    ck_assert_int_eq (sync_flush (w.client, reader, NULL, NULL), 0);
    ck_assert_int_eq (shared_lock (w.client, fd, 3, F_SETLK, F_WRLCK, 0, 10), 0);
    /* owner 2 still has its lock */
    ck_assert_int_eq (shared_lock (w.client, fd, 3, F_SETLK, F_WRLCK, 30, 1), -EAGAIN);
    ck_assert_int_eq (shared_lock (w.client, fd, 9, F_SETLK, F_UNLCK, 0, 0), 0);
    fd_unref (fd);
    fd_unref (reader);
    posix_world_end (&w);
}
END_TEST

/* A waiting request for a lock. */
struct patient {
    struct client *client;
    fd_t *fd;
    bool flock;
    int r;
};

static void *
patient_run (void *data)
{
    struct patient *patient = data;

    patient->r = patient->flock ? sync_flock (patient->client, patient->fd, LOCK_EX, NULL, NULL)
                                : shared_lock (patient->client, patient->fd, 7, F_SETLKW, F_WRLCK,
                                               0, 0);
    return NULL;
}

static pthread_t
patient_start (struct patient *patient)
{
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "patient", patient_run, patient), 0);
    g_usleep (50000);
    return thread;
}

START_TEST (who_waits_for_a_lock_gets_it)
{
    struct world w = posix_world_begin (world_modes[0]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *other = world_open (&w, fd->inode, O_RDWR);
    struct patient patient = {
        .client = client_new (w.graph->top), .fd = other, .flock = _i, .r = 1
    };

    ck_assert_int_eq (_i ? sync_flock (w.client, fd, LOCK_EX, NULL, NULL)
                         : shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 3, 4), 0);
    pthread_t thread = patient_start (&patient);
    ck_assert_int_eq (_i ? sync_flock (w.client, fd, LOCK_UN, NULL, NULL)
                         : shared_lock (w.client, fd, 1, F_SETLK, F_UNLCK, 0, 0), 0);
    pthread_join (thread, NULL);
    ck_assert_int_eq (patient.r, 0);
    ck_assert_int_eq (_i ? sync_flock (w.client, fd, LOCK_SH | LOCK_NB, NULL, NULL)
                         : shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 3, 4), -EAGAIN);
    client_free (patient.client);
    fd_unref (fd);
    fd_unref (other);
    posix_world_end (&w);
}
END_TEST

/* A request that is not waited for, so that it can be interrupted. */
struct shared_asked {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    bool done; /* lock */
    int r;     /* lock */
};

static lk_cbk asked_lk_cbk;
static flock_cbk asked_flock_cbk;

static void
asked_answer (struct shared_asked *asked, int op_ret, int op_errno)
{
    pthread_mutex_lock (&asked->lock);
    asked->done = true;
    asked->r = op_ret < 0 ? -op_errno : op_ret;
    pthread_cond_signal (&asked->answered);
    pthread_mutex_unlock (&asked->lock);
}

static void
asked_lk_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
              struct gf_flock *lock, dict_t *xdata)
{
    asked_answer (cookie, op_ret, op_errno);
}

static void
asked_flock_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, dict_t *xdata)
{
    asked_answer (cookie, op_ret, op_errno);
}

/* Requests a lock, interrupts the request after the given microseconds, and returns the answer. */
static int
lock_interrupted (struct world *w, fd_t *fd, bool flock, unsigned after)
{
    struct shared_asked asked = { .lock = PTHREAD_MUTEX_INITIALIZER,
                           .answered = PTHREAD_COND_INITIALIZER };
    struct gf_flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    call_stack_t *root = stack_new (&w->client->xlator);

    root->uid = geteuid ();
    root->gid = getegid ();
    root->lk_owner = 7;
    if (flock)
        STACK_WIND_COOKIE (&root->frames[0], asked_flock_cbk, &asked, w->graph->top, flock, fd,
                           LOCK_EX, NULL);
    else
        STACK_WIND_COOKIE (&root->frames[0], asked_lk_cbk, &asked, w->graph->top, lk, fd, F_SETLKW,
                           &range, NULL);
    g_usleep (after);
    stack_interrupt (root);
    pthread_mutex_lock (&asked.lock);
    while (!asked.done)
        pthread_cond_wait (&asked.answered, &asked.lock);
    pthread_mutex_unlock (&asked.lock);
    stack_done (root);
    return asked.r;
}

START_TEST (who_waits_for_a_lock_is_interrupted)
{
    struct world w = posix_world_begin (world_modes[0]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *other = world_open (&w, fd->inode, O_RDWR);

    ck_assert_int_eq (sync_flock (w.client, fd, LOCK_EX, NULL, NULL), 0);
    ck_assert_int_eq (shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 3, 4), 0);
    for (unsigned i = 0; i < 200; i++) /* at any time of the request */
        ck_assert_int_eq (lock_interrupted (&w, other, i % 2, i * 3), -EINTR);
    ck_assert_int_eq (sync_flock (w.client, fd, LOCK_UN, NULL, NULL), 0);
    ck_assert_int_eq (sync_flock (w.client, other, LOCK_EX | LOCK_NB, NULL, NULL), 0);
    fd_unref (fd);
    fd_unref (other);
    posix_world_end (&w);
}
END_TEST

START_TEST (the_end_of_the_graph_ends_waiting)
{
    struct world w = posix_world_begin (world_modes[0]);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644),
         *other = world_open (&w, fd->inode, O_RDWR);
    struct patient patient = { .client = client_new (w.graph->top), .fd = other, .r = 1 };

    ck_assert_int_eq (shared_lock (w.client, fd, 1, F_SETLK, F_WRLCK, 3, 4), 0);
    pthread_t thread = patient_start (&patient);
    xlator_notify (w.graph->top, XLATOR_PARENT_DOWN, NULL);
    pthread_join (thread, NULL);
    ck_assert_int_eq (patient.r, -EINTR);
    client_free (patient.client);
    fd_unref (fd);
    fd_unref (other);
    posix_world_end (&w);
}
END_TEST

/* --- callers -------------------------------------------------------------------------------- */

START_TEST (callers_have_their_own_rights)
{
    struct world w = posix_world_begin (world_modes[_i]);
    static const gid_t groups[] = { 1000, 4242 };
    fd_t *fd = world_create (&w, w.root, "suid", O_RDWR, 0644);
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "group", 0755);
    struct iatt set = { .ia_prot = 04777, .ia_gid = 4242 },
                open_to_group = { .ia_prot = 0770, .ia_gid = 4242 };
    loc_t loc = { .inode = fd->inode }, dirloc = { .inode = dir };
    g_autoptr (dict_t) dict = dict_new ();

    ck_assert_int_eq (sync_setattr (w.client, &loc, &set, IATT_MODE, NULL, NULL), 0);
    ck_assert_int_eq (
        sync_setattr (w.client, &dirloc, &open_to_group, IATT_MODE | IATT_GID, NULL, NULL), 0);
    w.client->uid = w.client->gid = 1000;
    ck_assert_ptr_null (world_create (&w, w.root, "mine", O_RDWR, 0644));
    ck_assert_int_eq (w.r, -EACCES);
    ck_assert_ptr_null (world_create (&w, dir, "mine", O_RDWR, 0644));
    ck_assert_int_eq (w.r, -EACCES);
    ck_assert_int_eq (sync_access (w.client, &dirloc, W_OK, NULL, NULL), -EACCES);
    w.client->ngroups = 2;
    w.client->groups = groups;
    ck_assert_int_eq (sync_access (w.client, &dirloc, W_OK, NULL, NULL), 0);
    fd_t *mine = world_create (&w, dir, "mine", O_RDWR, 0644);
    ck_assert_ptr_nonnull (mine);
    struct iatt buf = world_stat (&w, mine->inode);
    ck_assert_uint_eq (buf.ia_uid, 1000);
    ck_assert_uint_eq (buf.ia_gid, 1000);
    ck_assert_int_eq (sync_setattr (w.client, &loc, &set, IATT_GID, NULL, NULL), -EPERM);
    /* a supplementary group of the caller */
    ck_assert_int_eq (sync_fsetattr (w.client, mine, &set, IATT_GID, NULL, NULL), 0);
    dict_set (dict, "trusted.x", "1", 1);
    ck_assert_int_eq (sync_fsetxattr (w.client, mine, dict, 0, NULL, NULL), -EPERM);
    ck_assert_int_eq (world_write (&w, fd, "x", 0), 1); /* root has opened the file */
    /* a write by another user removes setuid */
    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_prot, 0777);
    w.client->uid = w.client->gid = 0;
    w.client->ngroups = 0;
    ck_assert_int_eq (sync_fsetxattr (w.client, mine, dict, 0, NULL, NULL), 0);
    fd_unref (world_create (&w, w.root, "again", O_RDWR, 0644));
    ck_assert_int_eq (w.r, 0);
    fd_unref (mine);
    fd_unref (fd);
    g_clear_pointer (&dir, inode_unref);
    posix_world_end (&w);
}
END_TEST

/* --- descriptors ---------------------------------------------------------------------------- */

START_TEST (a_deep_tree_needs_few_descriptors)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autoptr (GPtrArray) inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);
    inode_t *dir = w.root;

    unsigned before = world_descriptors ();
    for (int i = 0; i < 200; i++) {
        dir = world_mkdir (&w, dir, "directory", 0755);
        ck_assert_ptr_nonnull (dir);
        g_ptr_array_add (inodes, dir);
    }
    if (_i == 1 || _i == 2)
        ck_assert_uint_le (world_descriptors (), before + 4);
    for (guint i = inodes->len; i-- > 0;) {
        struct iatt buf = world_stat (&w, inodes->pdata[i]);
        ck_assert_int_eq (w.r, 0);
        ck_assert (gfid_equal (&buf.ia_gfid, &((inode_t *) inodes->pdata[i])->gfid));
    }
    g_clear_pointer (&inodes, g_ptr_array_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (too_many_descriptors_are_made_room_for)
{
    const struct rlimit few = { 100, 100 };
    ck_assert_int_eq (setrlimit (RLIMIT_NOFILE, &few), 0);
    g_autofree char *options = g_strconcat (_i == 0 ? "option handles descriptor\n" : "",
                                            "option descriptor-cache 1000\n", NULL);
    struct world w = posix_world_begin (options);
    g_autoptr (GPtrArray) inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);

    for (int i = 0; i < 300; i++) {
        g_autofree char *name = g_strdup_printf ("d%d", i);
        inode_t *inode = world_mkdir (&w, w.root, name, 0755);
        ck_assert_int_eq (w.r, 0);
        g_ptr_array_add (inodes, inode);
    }
    for (int i = 0; i < 300; i++) {
        world_stat (&w, inodes->pdata[i]);
        ck_assert_int_eq (w.r, 0);
        fd_t *fd = world_open (&w, inodes->pdata[i], O_RDONLY);
        ck_assert_ptr_nonnull (fd);
        fd_unref (fd);
    }
    g_clear_pointer (&inodes, g_ptr_array_unref);
    posix_world_end (&w);
}
END_TEST

/* After a rename behind the mount, a file handle still finds the file; a name does not, and the
 * request fails. */
START_TEST (what_was_moved_away_is_stale_or_found)
{
    struct world w = posix_world_begin (world_modes[_i]);
    g_autofree char *from = world_path (&w, "d"), *to = world_path (&w, "e");
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "d", 0755);

    for (int i = 0; i < 20; i++) {
        g_autofree char *name = g_strdup_printf ("x%d", i);
        inode_unref (world_mkdir (&w, w.root, name, 0755));
    }
    ck_assert_int_eq (rename (from, to), 0);
    ck_assert_int_eq (mkdir (from, 0755), 0);
    world_stat (&w, dir);
    ck_assert_int_eq (w.r, w.by_name ? -ESTALE : 0);
    g_autoptr (inode_t) now = posix_world_look (&w, w.root, "d"),
                        moved = posix_world_look (&w, w.root, "e");
    ck_assert_ptr_ne (now, dir);
    ck_assert_ptr_eq (moved, dir);
    g_clear_pointer (&now, inode_unref);
    g_clear_pointer (&moved, inode_unref);
    g_clear_pointer (&dir, inode_unref);
    posix_world_end (&w);
}
END_TEST

struct maker {
    char *path;
    bool end; /* atomic */
};

static void *
maker_run (void *data)
{
    const struct maker *maker = data;

    while (!__atomic_load_n (&maker->end, __ATOMIC_RELAXED)) {
        close (open (maker->path, O_CREAT | O_WRONLY, 0600));
        unlink (maker->path);
    }
    return NULL;
}

/* storage/posix retries for at least 0.1 s. The creating thread may get no processor in this time:
 * then retry. */
static void
stat_while_made (world *w, inode_t *inode)
{
    int64_t begin;
    unsigned tries = 0;

    do {
        begin = clock_now ();
        world_stat (w, inode);
    } while (w->r == -ENOMEM && clock_now () - begin >= 100000000 && ++tries < 100);
}

/* A file that was removed behind the mount remains stale while its inode number is reused: ext4
 * returns ENOMEM for a moment. */
START_TEST (a_number_that_is_given_away_is_stale)
{
    g_auto (world) w = posix_world_begin (world_modes[2]);
    g_autofree char *path = world_path (&w, "f");
    struct maker maker = { .path = world_path (&w, "made") };
    pthread_t thread;

    ck_assert_int_eq (thread_new (&thread, "maker", maker_run, &maker), 0);
    for (int round = 0; round < 500 && !w.by_name; round++) {
        g_autoptr (fd_t) fd = world_create (&w, w.root, "f", O_RDWR, 0600);
        g_autoptr (inode_t) inode = inode_ref (fd->inode);

        g_clear_pointer (&fd, fd_unref);
        ck_assert_int_eq (unlink (path), 0);
        inode_unlink (w.root, "f");
        for (int i = 0; i < 30; i++) {
            stat_while_made (&w, inode);
            ck_assert_int_eq (w.r, -ESTALE);
        }
    }
    __atomic_store_n (&maker.end, true, __ATOMIC_RELAXED);
    pthread_join (thread, NULL);
    g_free (maker.path);
}
END_TEST

/* Threads create, look up, rename, read and remove the same few names: no file is lost. */
struct crowd {
    struct world world; /* has its own client */
    unsigned seed;
};

static void *
crowd_run (void *data)
{
    struct crowd *crowd = data;
    struct world *w = &crowd->world;

    for (int i = 0; i < 400; i++) {
        char name[8], other[8];
        g_snprintf (name, sizeof name, "n%d", rand_r (&crowd->seed) % 5);
        g_snprintf (other, sizeof other, "n%d", rand_r (&crowd->seed) % 5);
        fd_t *fd = world_create (w, w->root, name, O_RDWR, 0644);
        if (fd) {
            ck_assert_int_eq (world_write (w, fd, "data", 0), 4);
            world_rename (w, w->root, name, w->root, other, 0);
            g_autofree char *text = world_read (w, fd, 4, 0);
            ck_assert_str_eq (text, "data");
            fd_unref (fd);
        }
        g_autoptr (inode_t) inode = posix_world_look (w, w->root, other);
        if (inode)
            world_stat (w, inode);
        world_unlink (w, w->root, other);
    }
    return NULL;
}

START_TEST (many_threads_race)
{
    struct world w = posix_world_begin (world_modes[_i]);
    struct crowd crowd[4];
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        crowd[i] = (struct crowd){ .world = w, .seed = (unsigned) i };
        crowd[i].world.client = client_new (w.graph->top);
        ck_assert_int_eq (thread_new (&threads[i], "crowd", crowd_run, &crowd[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join (threads[i], NULL);
        client_free (crowd[i].world.client);
    }
    posix_world_end (&w);
}
END_TEST

START_TEST (nothing_stays_open)
{
    unsigned before = world_descriptors ();
    struct world w = posix_world_begin (world_modes[_i]);

    for (int i = 0; i < 30; i++) {
        g_autofree char *name = g_strdup_printf ("f%d", i);
        fd_t *fd = world_create (&w, w.root, name, O_RDWR, 0644);
        shared_lock (w.client, fd, 5, F_SETLK, F_WRLCK, 0, 1);
        fd_unref (fd);
        inode_unref (posix_world_look (&w, w.root, name));
    }
    posix_world_end (&w);
    ck_assert_uint_eq (world_descriptors (), before);
}
END_TEST

/* --- start ---------------------------------------------------------------------------------- */

START_TEST (a_bad_directory_is_refused)
{
    g_autofree char *dir = g_dir_make_tmp ("windlass-posix-XXXXXX", NULL);
    g_autofree char *file = g_build_filename (dir, "file", NULL),
                    *none = g_build_filename (dir, "none", NULL);
    const struct {
        const char *path;
        int r;
    } bad[] = { { none, -ENOENT }, { file, -ENOTDIR } };

    ck_assert (g_file_set_contents (file, "", 0, NULL));
    for (size_t i = 0; i < G_N_ELEMENTS (bad); i++) {
        struct graph *graph = posix_world_load (bad[i].path, "");
        ck_assert_int_eq (graph_activate (graph), bad[i].r);
        graph_free (graph);
    }
    if (geteuid () != 0) {
        g_chmod (dir, 0300);
        struct graph *graph = posix_world_load (dir, "");
        ck_assert_int_eq (graph_activate (graph), -EACCES);
        graph_free (graph);
        g_chmod (dir, 0700);
    }
    g_unlink (file);
    g_rmdir (dir);
}
END_TEST

START_TEST (options_shape_what_is_made)
{
    struct world w = posix_world_begin (
        "option max-hardlinks 2\noption force-create-mode 0006\noption create-mask 0740\n"
        "option force-directory-mode 0\noption o-direct on\noption health-check-interval 30\n");
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0777);
    loc_t old = { .inode = fd->inode }, new = { .name = "g", .parent = w.root };

    ck_assert_uint_eq (world_stat (&w, fd->inode).ia_prot, 0746);
    ck_assert_int_eq (world_write (&w, fd, "unaligned", 3), 9);
    g_autofree char *text = world_read (&w, fd, 5, 5);
    ck_assert_str_eq (text, "align");
    ck_assert_int_eq (sync_link (w.client, &old, &new, NULL, NULL), 0);
    new.name = "h";
    ck_assert_int_eq (sync_link (w.client, &old, &new, NULL, NULL), -EMLINK);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

START_TEST (a_reserve_is_kept)
{
    struct world w = posix_world_begin ("option reserve 100%\n");

    ck_assert_ptr_null (world_create (&w, w.root, "f", O_RDWR, 0644));
    ck_assert_int_eq (w.r, -ENOSPC);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_posix_shared)
{
    Suite *suite = suite_create ("posix, shared");
    TCase *tcase = tcase_create ("every mode");

    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, owners_lock_each_other_out, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, who_waits_for_a_lock_gets_it, 0, 2);
    tcase_add_test (tcase, who_waits_for_a_lock_is_interrupted);
    tcase_add_test (tcase, the_end_of_the_graph_ends_waiting);
    if (geteuid () == 0)
        tcase_add_loop_test (tcase, callers_have_their_own_rights, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, a_deep_tree_needs_few_descriptors, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, too_many_descriptors_are_made_room_for, 0, 2);
    tcase_add_loop_test (tcase, what_was_moved_away_is_stale_or_found, 0, WORLD_MODES);
    tcase_add_test (tcase, a_number_that_is_given_away_is_stale);
    tcase_add_loop_test (tcase, many_threads_race, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, nothing_stays_open, 0, WORLD_MODES);
    tcase_add_test (tcase, a_bad_directory_is_refused);
    tcase_add_test (tcase, options_shape_what_is_made);
    tcase_add_test (tcase, a_reserve_is_kept);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
