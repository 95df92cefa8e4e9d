/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* longer */
/* builds: debug */
/*
 * features/trash: the daemon is killed before each operation that reaches storage, one after the
 * other, until what was begun is complete; the power fails before each third. The next daemon makes
 * entries of what is left. No content is lost, none is kept by half, and each file in a trash has
 * its information file.
 */
#include "posix_world.h"

#include "core/work/job.h"

#include <sys/xattr.h>

#define OLD "what the file had before"
#define NEW "what replaces it"
#define STEPS_MAX 400

/* What a power cut loses: nothing else than bytes; all that is not synced; what came after a point
 * in time. Without power-cut the daemon is killed. */
static const char *const cuts[] = {
    NULL,
    "names keep\noption metadata keep\noption data lose",
    "model posix",
    "model ext4-ordered\noption seed 1",
};

#define CUTS ((int) G_N_ELEMENTS (cuts))
#define CUT_POSIX 2

struct steps {
    const char *dir, *cut;
    const struct scenario *scenario;
    int n;     /* the operations that reach storage */
    bool over; /* what was begun is complete */
};

struct scenario {
    const char *name, *options;
    void (*prepare) (struct world *w); /* without failures, and synced afterwards */
    void (*run) (struct world *w);     /* under which storage ends */
    void (*check) (const struct steps *steps);
    bool orphans;    /* an information file may be left alone: its file is back in place, or gone */
    bool not_cached; /* what only a journal keeps in order is not checked for model posix */
    int stride;      /* of many operations only each n-th is tried, unless the test is to be
                      * longer; 0: each */
};

/* --- graphs ----------------------------------------------------------------------------------- */

static struct world
steps_begin (const struct steps *steps, bool ends)
{
    g_autofree char *cut = ends && steps->cut
                               ? g_strdup_printf ("volume cut\ntype debug/power-cut\noption %s\n"
                                                  "subvolumes posix\nend-volume\n", steps->cut)
                               : g_strdup ("");
    g_autofree char *fault = ends ? g_strdup_printf ("volume fault\ntype debug/fault\n"
                                                     "subvolumes %s\nend-volume\n",
                                                     *cut ? "cut" : "posix")
                                  : g_strdup ("");
    g_autofree char *options = g_strdup_printf (
        "end-volume\n%s%svolume trash\ntype features/trash\nsubvolumes %s\noption settle 10ms\n"
        "option temporaries 0\n%s", cut, fault, ends ? "fault" : "posix",
        steps->scenario->options);
    struct world w = { .dir = (char *) steps->dir };

    w.graph = posix_world_load (w.dir, options);
    ck_assert_int_eq (graph_activate (w.graph), 0);
    w.client = client_new (w.graph->top);
    w.client->umask = 022;
    w.client->uid = geteuid ();
    w.client->pid = getpid ();
    w.root = itable_root (w.graph->itable);
    return w;
}

static void
steps_end (struct world *w)
{
    client_free (w->client);
    graph_free (w->graph);
}

static xlator_t *
steps_below (const struct world *w, const char *type)
{
    xlator_t *xl = w->graph->top;

    while (strcmp (xl->api->type, type) != 0)
        xl = FIRST_CHILD (xl);
    return xl;
}

/* Gives a command; input: its input, or its argument. A job's answer is read until it ends. */
static void
steps_order (struct world *w, const char *type, const char *name, const char *input)
{
    xlator_t *xl = steps_below (w, type);
    const struct xlator_command *at = xl->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    g_autoptr (GString) answer = g_string_new (NULL), text = g_string_new (NULL);
    struct job_read read = { .ended = false };

    while (strcmp (at->name, name) != 0)
        at++;
    w->r = at->run (xl, &(struct xlator_asked){ .input = bytes, .uid = geteuid (),
                                                .pid = getpid () }, answer);
    while (w->r == 0 && at->job && !read.ended) {
        ck_assert_int_eq (job_read ((unsigned) atoi (answer->str), geteuid (), 1 << 20, text,
                                    &read), 0);
        g_free (read.error);
        g_usleep (500);
    }
}

static void
wait_for_jobs (void)
{
    while (jobs_count () > 0)
        g_usleep (500);
}

/* Has the entries of what was removed made, unless storage has ended. */
static void
steps_settle (struct world *w)
{
    g_autofree char *name = g_strdup_printf (".Trash-%u", geteuid ());
    bool waits = true;

    for (int i = 0; i < 100 && waits; i++) {
        g_autoptr (GString) dump = g_string_new (NULL);
        g_autoptr (inode_t) bin = NULL;

        g_usleep (2500);
        bin = posix_world_look (w, w->root, name);
        w->graph->top->api->dumpops.priv (w->graph->top, dump);
        waits = w->r != -EIO && !strstr (dump->str, "stages=0\n");
    }
    wait_for_jobs ();
}

/* --- what is there ---------------------------------------------------------------------------- */

/* Counts the files at a path, and below, that have this content. text NULL: all files. */
static unsigned
count_files (const char *path, const char *text)
{
    g_autofree char *content = NULL;
    GDir *dir = g_dir_open (path, 0, NULL);
    const char *name;
    unsigned n = 0;

    if (!dir)
        return g_file_get_contents (path, &content, NULL, NULL)
            && (!text || strcmp (content, text) == 0);
    while ((name = g_dir_read_name (dir))) {
        g_autofree char *one = g_build_filename (path, name, NULL);

        n += count_files (one, text);
    }
    g_dir_close (dir);
    return n;
}

static unsigned
in_place (const struct steps *steps, const char *text)
{
    g_autofree char *path = g_build_filename (steps->dir, "d", NULL);

    return count_files (path, text);
}

static char *
trash_path (const struct steps *steps, const char *folder)
{
    return g_strdup_printf ("%s/.Trash-%u/%s", steps->dir, geteuid (), folder);
}

static unsigned
in_trash (const struct steps *steps, const char *text)
{
    g_autofree char *path = trash_path (steps, "files");

    return count_files (path, text);
}

static void
fail_at (const struct steps *steps, const char *what)
{
    g_autofree char *list = g_strdup_printf ("cd '%s' && find . -type f -size -99 | sort | xargs "
                                             "-d '\n' grep -H ''", steps->dir);

    if (system (list) != 0)
        puts ("no file");
    ck_abort_msg ("%s, %s, after %d operations: %s", steps->scenario->name,
                  steps->cut ? steps->cut : "killed", steps->n, what);
}

#define MUST(steps_, condition_)                                                                   \
    do {                                                                                           \
        if (!(condition_))                                                                         \
            fail_at (steps_, "not so: " #condition_);                                              \
    } while (0)

/* Each file in the trash has its information file, which is complete. */
static void
check_trash (const struct steps *steps)
{
    g_autofree char *files = trash_path (steps, "files"), *infos = trash_path (steps, "info");
    g_autofree char *stages = g_build_filename (steps->dir, ".windlass-trash", NULL);
    GDir *dir = g_dir_open (files, 0, NULL), *of_infos = g_dir_open (infos, 0, NULL);
    const char *name;
    unsigned n = 0;

    while (dir && (name = g_dir_read_name (dir))) {
        g_autofree char *path = g_strdup_printf ("%s/%s.trashinfo", infos, name), *text = NULL;

        n++;
        MUST (steps, g_file_get_contents (path, &text, NULL, NULL));
        MUST (steps, g_str_has_prefix (text, "[Trash Info]\nPath=d"));
        MUST (steps, strstr (text, "\nDeletionDate=") && g_str_has_suffix (text, "\n"));
    }
    while (!steps->scenario->orphans && of_infos && g_dir_read_name (of_infos))
        MUST (steps, n-- > 0);
    g_clear_pointer (&dir, g_dir_close);
    g_clear_pointer (&of_infos, g_dir_close);
    MUST (steps, !g_file_test (stages, G_FILE_TEST_EXISTS));
}

/* Returns a new directory: in memory, if that has extended attributes, since syncs take long on a
 * disk. g_free it. */
static char *
steps_directory (void)
{
    char *dir = g_strdup ("/dev/shm/windlass-steps-XXXXXX");

    if (g_mkdtemp_full (dir, 0755) && setxattr (dir, "user.try", "", 0, 0) == 0)
        return dir;
    g_rmdir (dir);
    g_free (dir);
    dir = g_build_filename (g_get_tmp_dir (), "windlass-steps-XXXXXX", NULL);
    ck_assert_ptr_nonnull (g_mkdtemp_full (dir, 0755));
    return dir;
}

/* --- a step ----------------------------------------------------------------------------------- */

static inode_t *
steps_folder (struct world *w)
{
    inode_t *d = posix_world_look (w, w->root, "d");

    ck_assert_ptr_nonnull (d);
    return d;
}

static void
make (struct world *w, inode_t *dir, const char *name, const char *text)
{
    g_autoptr (fd_t) fd = world_create (w, dir, name, O_RDWR, 0644);

    ck_assert_ptr_nonnull (fd);
    ck_assert_int_eq (world_write (w, fd, text, 0), (int) strlen (text));
}

static void
steps_prepare (struct world *w, const struct steps *steps)
{
    g_autoptr (inode_t) d = world_mkdir (w, w->root, "d", 0755);

    make (w, d, "file", OLD);
    if (steps->scenario->prepare)
        steps->scenario->prepare (w);
    if (steps->cut)
        steps_order (w, "debug/power-cut", "sync", "");
}

/* Storage ends after n operations; then the power fails, if that is it. */
static void
steps_run (struct steps *steps)
{
    struct world w = steps_begin (steps, true);
    g_autofree char *rule = g_strdup_printf ("* after %d -> error EIO", steps->n);

    steps_prepare (&w, steps);
    steps_order (&w, "debug/fault", "rules", rule);
    ck_assert_int_eq (w.r, 0);
    steps->scenario->run (&w);
    wait_for_jobs ();
    world_stat (&w, w.root);
    steps->over = w.r == 0;
    steps_order (&w, "debug/fault", "rules", "* -> error EIO");
    if (steps->cut)
        steps_order (&w, "debug/power-cut", "cut", "");
    steps_end (&w);
}

static void
steps_recover (const struct steps *steps)
{
    struct world w = steps_begin (steps, false);
    G_GNUC_UNUSED g_autoptr (inode_t) none = posix_world_look (&w, w.root, "none");

    wait_for_jobs ();
    steps_end (&w);
}

static void
each_step (const struct scenario *scenario, int cut)
{
    struct steps steps = { .scenario = scenario, .cut = cuts[cut], .n = 1 };
    const int most = scenario->stride ? scenario->stride : cut ? 3 : 1;
    const int stride = (int) test_amount ((unsigned) most, 1);

    for (; !steps.over && steps.n < STEPS_MAX; steps.n += stride) {
        g_autofree char *dir = steps_directory ();
        g_autofree char *remove = g_strdup_printf ("rm -rf '%s'", dir);

        steps.dir = dir;
        steps_run (&steps);
        steps_recover (&steps);
        check_trash (&steps);
        if (cut != CUT_POSIX || !scenario->not_cached)
            scenario->check (&steps);
        ck_assert_int_eq (system (remove), 0);
    }
    ck_assert (steps.over);
}

/* --- what is begun ---------------------------------------------------------------------------- */

static void
unlink_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d");

    world_unlink (w, d, "file");
    steps_settle (w);
}

static void
old_is_once (const struct steps *steps)
{
    MUST (steps, in_place (steps, OLD) + in_trash (steps, OLD) == 1);
    MUST (steps, in_place (steps, NULL) + in_trash (steps, NULL) == 1);
}

#define MANY 20 /* names for which the information files are synced together */

static void
many_prepare (struct world *w)
{
    g_autoptr (inode_t) d = steps_folder (w);

    for (int i = 1; i < MANY; i++) {
        g_autofree char *name = g_strdup_printf ("file%d", i);

        make (w, d, name, OLD);
    }
}

/* The table of the test's graph forgets files that nobody has open, so each is looked up first, as
 * the kernel does. */
static void
many_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d");

    for (int i = 0; i < MANY; i++) {
        g_autofree char *name = i > 0 ? g_strdup_printf ("file%d", i) : g_strdup ("file");
        g_autoptr (inode_t) file = posix_world_look (w, d, name);

        if (file)
            world_unlink (w, d, name);
    }
    steps_settle (w);
}

static void
many_are_once (const struct steps *steps)
{
    MUST (steps, in_place (steps, OLD) + in_trash (steps, OLD) == MANY);
    MUST (steps, in_place (steps, NULL) + in_trash (steps, NULL) == MANY);
}

static void
tree_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d");
    g_auto (loc_t) loc = { .name = "d", .parent = w->root, .inode = d };

    if (world_unlink (w, d, "file") == 0 && sync_rmdir (w->client, &loc, 0, NULL, NULL) == 0)
        inode_unlink (w->root, "d");
    steps_settle (w);
}

static void
replace_prepare (struct world *w)
{
    g_autoptr (inode_t) d = steps_folder (w);

    make (w, d, "new", NEW);
}

static void
replace_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d");

    world_rename (w, d, "new", d, "file", 0);
    steps_settle (w);
}

static void
replace_check (const struct steps *steps)
{
    MUST (steps, in_place (steps, NEW) == 1);
    MUST (steps, in_place (steps, OLD) + in_trash (steps, OLD) == 1);
}

static void
cut_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d"), file = posix_world_look (w, d, "file");
    g_auto (loc_t) loc = { .inode = file };

    if (file)
        sync_truncate (w->client, &loc, 3, NULL, NULL);
    steps_settle (w);
}

static void
written_run (struct world *w)
{
    g_autoptr (inode_t) d = inode_grep (w->root, "d"), file = posix_world_look (w, d, "file");
    g_autoptr (fd_t) fd = file ? world_open (w, file, O_RDWR) : NULL;

    if (fd)
        world_write (w, fd, NEW, 0);
    g_clear_pointer (&fd, fd_unref);
    steps_settle (w);
}

/* A copy that the file still equals is no harm. */
static void
copy_check (const struct steps *steps)
{
    MUST (steps, in_place (steps, NULL) == 1);
    MUST (steps, in_place (steps, OLD) + in_trash (steps, OLD) >= 1);
    MUST (steps, in_trash (steps, OLD) == in_trash (steps, NULL));
}

static void
trashed_prepare (struct world *w)
{
    unlink_run (w);
}

static void
restore_run (struct world *w)
{
    steps_order (w, "features/trash", "restore", "--");
}

static void
empty_run (struct world *w)
{
    steps_order (w, "features/trash", "empty", "--");
}

static void
evict_run (struct world *w)
{
    xlator_notify (steps_below (w, "features/trash"), XLATOR_NO_SPACE, NULL);
}

static void
gone_check (const struct steps *steps)
{
    MUST (steps, in_place (steps, NULL) == 0);
    MUST (steps, in_trash (steps, OLD) == in_trash (steps, NULL));
}

static const struct scenario scenarios[] = {
    { "unlink", "", NULL, unlink_run, old_is_once, .orphans = false },
    { "many", "", many_prepare, many_run, many_are_once, .orphans = false, .stride = 7 },
    { "rmdir", "", NULL, tree_run, old_is_once, .orphans = false },
    { "rename", "option keep deleted,overwritten\n", replace_prepare, replace_run, replace_check,
      .not_cached = true },
    { "truncate", "option keep deleted,truncated\noption copy on\n", NULL, cut_run, copy_check,
      .orphans = false },
    { "open", "option keep deleted,truncated\noption copy on\n", NULL, written_run, copy_check,
      .orphans = false },
    { "restore", "", trashed_prepare, restore_run, old_is_once, .orphans = true },
    { "empty", "", trashed_prepare, empty_run, gone_check, .orphans = true },
    { "evict", "option max-total 1\n", trashed_prepare, evict_run, gone_check, .orphans = true },
};

#define SCENARIOS ((int) G_N_ELEMENTS (scenarios))

START_TEST (before_each_step)
{
    each_step (&scenarios[_i / CUTS], _i % CUTS);
}
END_TEST

TEST_PROGRAM (test_trash_steps)
{
    Suite *suite = suite_create ("trash_steps");
    TCase *tcase = tcase_create ("trash_steps");

    tcase_set_timeout (tcase, 120);
    tcase_add_loop_test (tcase, before_each_step, 0, SCENARIOS * CUTS);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
