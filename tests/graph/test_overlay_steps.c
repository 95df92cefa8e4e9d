/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/*
 * cluster/overlay when its storage fails at a step, when it is killed there, and when the power
 * fails there. For each request that an operation makes of the first child, the operation runs
 * again, and exactly that request fails, or all from that one on do. The view then shows a state
 * that the operation's parts have been through, and what was confirmed is in it; the lower is
 * unchanged; the work directory is clean after the next start.
 */
#include "overlay_world.h"

#define STEPS_MAX 400 /* requests of one operation */
#define PARTS_MAX 8
#define CHANGES "write-ops, sync-ops"

enum steps_mode { STEPS_ERROR, STEPS_KILL, STEPS_CUT, STEPS_MODES };

static const struct overlay_graph steps_graph = {
    .above = "volume cut\ntype debug/power-cut\noption metadata lose\n"
             "option seed 7\nsubvolumes changes\nend-volume\n"
             "volume fault\ntype debug/fault\noption seed 1\nsubvolumes cut\nend-volume\n",
    .top = "fault",
};

/* --- the lower -------------------------------------------------------------------------------- */

static void
steps_lower (const struct world *w)
{
    static const char *const folders[] = { "lower/dir", "lower/dir/deep", "lower/gone" };

    for (size_t i = 0; i < G_N_ELEMENTS (folders); i++) {
        g_autofree char *path = world_path (w, folders[i]);

        ck_assert_int_eq (mkdir (path, 0755), 0);
    }
    overlay_put_old (w, "lower/dir/deep/file", 0640);
    overlay_put_old (w, "lower/file", 0604);
    overlay_put_old (w, "lower/gone/a", 0644);
    overlay_put_old (w, "lower/linked", 0644);
    overlay_link_old (w, "lower/linked", "lower/dir/linked");
}

/* --- operations ------------------------------------------------------------------------------- */

/* What the parts of an operation share. */
struct steps_run {
    struct world w;
    inode_t *inode; /* or NULL */
    fd_t *fd;       /* or NULL */
};

/* A part returns 0 or a negative errno. confirms: it lasts, with all parts before it. */
struct steps_part {
    int (*run) (struct steps_run *run);
    bool confirms;
};

struct overlay_operation {
    const char *name;
    int (*prepare) (struct steps_run *run); /* or NULL */
    struct steps_part parts[PARTS_MAX];
};

static inode_t *
steps_look (struct steps_run *run, const char *path)
{
    g_auto (GStrv) names = g_strsplit (path, "/", -1);
    inode_t *at = inode_ref (run->w.root);

    for (char **name = names; at && *name; name++) {
        inode_t *next = posix_world_look (&run->w, at, *name);

        inode_unref (at);
        at = next;
    }
    return at;
}

static int
steps_open (struct steps_run *run, const char *path)
{
    run->inode = steps_look (run, path);
    if (run->inode)
        run->fd = world_open (&run->w, run->inode, O_RDWR);
    return run->fd ? 0 : run->w.r;
}

static int
part_open (struct steps_run *run)
{
    return steps_open (run, "dir/deep/file");
}

static int
part_write (struct steps_run *run)
{
    const int r = world_write (&run->w, run->fd, "changed", 0);

    return r < 0 ? r : 0;
}

static int
part_fsync (struct steps_run *run)
{
    return sync_fsync (run->w.client, run->fd, 0, NULL, NULL);
}

static int
steps_fsyncdir (struct steps_run *run, const char *path)
{
    g_autoptr (inode_t) dir = *path ? steps_look (run, path) : inode_ref (run->w.root);
    g_autoptr (fd_t) fd = dir ? world_open (&run->w, dir, O_RDONLY) : NULL;

    return fd ? sync_fsyncdir (run->w.client, fd, 0, NULL, NULL) : run->w.r;
}

static int
part_sync_root (struct steps_run *run)
{
    return steps_fsyncdir (run, "");
}

static int
part_sync_dir (struct steps_run *run)
{
    return steps_fsyncdir (run, "dir");
}

static int
part_chmod (struct steps_run *run)
{
    g_autoptr (inode_t) inode = steps_look (run, "dir/deep/file");
    g_auto (loc_t) loc = { .inode = inode };
    struct iatt set = { .ia_prot = 0600 };

    return inode ? sync_setattr (run->w.client, &loc, &set, IATT_MODE, NULL, NULL) : run->w.r;
}

static int
steps_unlink (struct steps_run *run, const char *directory, const char *name)
{
    g_autoptr (inode_t) dir = *directory ? steps_look (run, directory) : inode_ref (run->w.root);
    g_autoptr (inode_t) inode = dir ? posix_world_look (&run->w, dir, name) : NULL;

    return inode ? world_unlink (&run->w, dir, name) : run->w.r;
}

static int
part_unlink (struct steps_run *run)
{
    return steps_unlink (run, "", "file");
}

/* Of a file that was changed. */
static int
prepare_changed (struct steps_run *run)
{
    g_autoptr (inode_t) inode = steps_look (run, "file");
    g_autoptr (fd_t) fd = inode ? world_open (&run->w, inode, O_RDWR) : NULL;

    return fd && world_write (&run->w, fd, "changed", 0) == 7 ? 0 : run->w.r;
}

static int
part_empty_gone (struct steps_run *run)
{
    return steps_unlink (run, "gone", "a");
}

static int
part_rmdir (struct steps_run *run)
{
    g_autoptr (inode_t) inode = posix_world_look (&run->w, run->w.root, "gone");
    g_auto (loc_t) loc = { .name = "gone", .parent = run->w.root, .inode = inode };
    const int r = inode ? sync_rmdir (run->w.client, &loc, 0, NULL, NULL) : run->w.r;

    if (r == 0)
        inode_unlink (run->w.root, "gone");
    return r;
}

static int
prepare_no_gone (struct steps_run *run)
{
    const int r = part_empty_gone (run);

    return r < 0 ? r : part_rmdir (run);
}

static int
part_mkdir (struct steps_run *run)
{
    g_autoptr (inode_t) made = world_mkdir (&run->w, run->w.root, "gone", 0750);

    return made ? 0 : run->w.r;
}

static int
part_create (struct steps_run *run)
{
    run->fd = world_create (&run->w, run->w.root, "file", O_RDWR, 0644);
    return run->fd ? 0 : run->w.r;
}

static int
part_rename (struct steps_run *run)
{
    g_autoptr (inode_t) dir = steps_look (run, "dir");
    g_autoptr (inode_t) file = dir ? steps_look (run, "file") : NULL;

    return file ? world_rename (&run->w, run->w.root, "file", dir, "moved", 0) : run->w.r;
}

static int
steps_prepare_new (struct steps_run *run)
{
    g_autoptr (inode_t) made = world_mkdir (&run->w, run->w.root, "new", 0750);

    return made ? 0 : run->w.r;
}

static int
part_exchange (struct steps_run *run)
{
    inode_t *root = run->w.root;
    g_autoptr (inode_t) dir = steps_look (run, "dir"), new = dir ? steps_look (run, "new") : NULL;

    return new ? world_rename (&run->w, root, "dir", root, "new", RENAME_EXCHANGE) : run->w.r;
}

/* Over a directory that is empty in the view: the name "gone" is there after each request. */
static int
prepare_replace (struct steps_run *run)
{
    const int r = part_empty_gone (run);

    return r < 0 ? r : steps_prepare_new (run);
}

static int
steps_replace_gone (struct steps_run *run, const char *by)
{
    g_autoptr (inode_t) gone = steps_look (run, "gone"), dir = gone ? steps_look (run, by) : NULL;

    return dir ? world_rename (&run->w, run->w.root, by, run->w.root, "gone", 0) : run->w.r;
}

static int
part_replace (struct steps_run *run)
{
    return steps_replace_gone (run, "new");
}

static int
part_replace_by_merged (struct steps_run *run)
{
    return steps_replace_gone (run, "dir");
}

static int
part_discard (struct steps_run *run)
{
    return overlay_job (&run->w, "discard", "/dir");
}

static int
part_discard_all (struct steps_run *run)
{
    return overlay_job (&run->w, "discard", "");
}

static int
part_freeze (struct steps_run *run)
{
    return overlay_job (&run->w, "freeze", "");
}

static int
prepare_changes (struct steps_run *run)
{
    int r = part_open (run);

    if (r == 0)
        r = part_write (run);
    if (r == 0)
        r = part_unlink (run);
    g_clear_pointer (&run->fd, fd_unref);
    g_clear_pointer (&run->inode, inode_unref);
    return r;
}

/* --- of a file with two names ----------------------------------------------------------------- */

static int
part_open_linked (struct steps_run *run)
{
    return steps_open (run, "linked");
}

static int
prepare_linked (struct steps_run *run)
{
    int r = part_open_linked (run);

    if (r == 0)
        r = part_write (run);
    g_clear_pointer (&run->fd, fd_unref);
    g_clear_pointer (&run->inode, inode_unref);
    return r;
}

static int
part_unlink_linked (struct steps_run *run)
{
    return steps_unlink (run, "", "linked");
}

static int
part_unlink_other (struct steps_run *run)
{
    return steps_unlink (run, "dir", "linked");
}

static int
part_rename_other (struct steps_run *run)
{
    g_autoptr (inode_t) dir = steps_look (run, "dir");
    g_autoptr (inode_t) file = dir ? steps_look (run, "dir/linked") : NULL;

    return file ? world_rename (&run->w, dir, "linked", run->w.root, "moved", 0) : run->w.r;
}

static int
part_discard_linked (struct steps_run *run)
{
    return overlay_job (&run->w, "discard", "/linked");
}

static const struct overlay_operation operations[] = {
    { "write and fsync", NULL,
      { { part_open, false }, { part_write, false }, { part_fsync, true } } },
    { "chmod", NULL, { { part_chmod, false } } },
    { "unlink", NULL, { { part_unlink, false }, { part_sync_root, true } } },
    { "unlink of a changed file", prepare_changed,
      { { part_unlink, false }, { part_sync_root, true } } },
    { "rmdir of a merged directory", part_empty_gone,
      { { part_rmdir, false }, { part_sync_root, true } } },
    { "create over a whiteout", part_unlink,
      { { part_create, false }, { part_write, false }, { part_fsync, false },
        { part_sync_root, true } } },
    { "mkdir over a whiteout", prepare_no_gone,
      { { part_mkdir, false }, { part_sync_root, true } } },
    { "rename", NULL,
      { { part_rename, false }, { part_sync_root, false }, { part_sync_dir, true } } },
    { "exchange of a directory that has lowers and a new one", steps_prepare_new,
      { { part_exchange, false }, { part_sync_root, true } } },
    { "rename over an emptied directory", prepare_replace,
      { { part_replace, false }, { part_sync_root, true } } },
    { "rename of a directory that has lowers over an emptied one", part_empty_gone,
      { { part_replace_by_merged, false }, { part_sync_root, true } } },
    { "discard", prepare_changes, { { part_discard, true } } },
    { "write and fsync of a linked file", NULL,
      { { part_open_linked, false }, { part_write, false }, { part_fsync, true } } },
    { "unlink of both names of a changed file", prepare_linked,
      { { part_unlink_linked, false }, { part_unlink_other, false }, { part_sync_root, false },
        { part_sync_dir, true } } },
    { "rename of the other name of a changed file", prepare_linked,
      { { part_rename_other, false }, { part_sync_root, false }, { part_sync_dir, true } } },
    { "discard of a linked file", prepare_linked, { { part_discard_linked, true } } },
    { "discard of everything", prepare_changes,
      { { part_discard_all, true }, { part_chmod, false }, { part_open, false },
        { part_fsync, true } } },
    { "discard of everything, a linked file", prepare_linked, { { part_discard_all, true } } },
    { "freeze", prepare_changes,
      { { part_freeze, true }, { part_chmod, false }, { part_open, false },
        { part_fsync, true } } },
};

/* --- states ----------------------------------------------------------------------------------- */

/* The lower and the upper before the operation are made once. */
struct steps_case {
    const struct overlay_operation *operation;
    struct world origin;
    unsigned n_parts;
    unsigned n_requests;           /* of the operation, to the first child */
    char *states[PARTS_MAX + 1];   /* what the view shows after each part; 0: before */
    char *lower;                   /* overlay_lower_state */
};

static void
steps_run_start (struct steps_run *run, const char *dir)
{
    *run = (struct steps_run){ .w = { .dir = (char *) dir } };
    overlay_world_start (&run->w, &steps_graph);
    ck_assert_int_eq (run->w.r, 0);
}

static void
steps_run_stop (struct steps_run *run)
{
    g_clear_pointer (&run->fd, fd_unref);
    g_clear_pointer (&run->inode, inode_unref);
    overlay_world_stop (&run->w);
}

/* Empties the folder of changes, and makes those from before the operation. */
static void
overlay_steps_prepare (const struct steps_case *one, struct steps_run *run)
{
    g_autofree char *command = g_strdup_printf ("rm -rf '%s/changes'; mkdir '%s/changes'",
                                                one->origin.dir, one->origin.dir);

    ck_assert_int_eq (system (command), 0);
    steps_run_start (run, one->origin.dir);
    if (one->operation->prepare)
        ck_assert_int_eq (one->operation->prepare (run), 0);
    g_free (overlay_show (&run->w)); /* the roots of the layers are known */
    g_free (overlay_tell (&run->w, "cut", "sync", ""));
}

static void
steps_fault (struct steps_run *run, const char *rule, unsigned n)
{
    g_autofree char *text = strstr (rule, "%u") ? g_strdup_printf (rule, n) : g_strdup (rule);

    g_free (overlay_tell (&run->w, "fault", "rules", text));
}

/* Returns how many requests the rules have judged. */
static unsigned
steps_requests (struct steps_run *run)
{
    g_autofree char *shown = overlay_tell (&run->w, "fault", "show", "");
    const char *at = strstr (shown, "matched ");

    ck_assert_ptr_nonnull (at);
    return (unsigned) strtoul (at + strlen ("matched "), NULL, 10);
}

static void
steps_learn (struct steps_case *one, unsigned number, const char *which)
{
    g_autofree char *rule = g_strconcat (which, " after %u -> error EIO", NULL);
    struct steps_run run;

    *one = (struct steps_case){ .operation = &operations[number], .origin = overlay_world_new () };
    steps_lower (&one->origin);
    one->lower = overlay_lower_state (&one->origin);
    overlay_steps_prepare (one, &run);
    one->states[0] = overlay_show (&run.w);
    steps_fault (&run, rule, 1000000);
    for (; one->operation->parts[one->n_parts].run; one->n_parts++) {
        const unsigned before = steps_requests (&run);

        ck_assert_int_eq (one->operation->parts[one->n_parts].run (&run), 0);
        one->n_requests += steps_requests (&run) - before;
        one->states[one->n_parts + 1] = overlay_show (&run.w);
        steps_fault (&run, rule, 1000000);
    }
    steps_run_stop (&run);
}

static void
steps_forget (struct steps_case *one)
{
    for (size_t i = 0; i < G_N_ELEMENTS (one->states); i++)
        g_free (one->states[i]);
    g_free (one->lower);
    overlay_world_end (&one->origin);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* The view shows one of the states from first to last. */
static void
assert_state (const struct steps_case *one, const char *shown, unsigned first, unsigned last,
              const char *when, unsigned n)
{
    for (unsigned i = first; i <= last && i <= one->n_parts; i++)
        if (strcmp (shown, one->states[i]) == 0)
            return;
    ck_abort_msg ("%s, %s %u of %u: the view shows\n%s\nand not state %u to %u:\n%s\n%s",
                  one->operation->name, when, n, one->n_requests, shown, first, last,
                  one->states[first], one->states[MIN (last, one->n_parts)]);
}

static void
assert_lower (const struct steps_case *one)
{
    g_autofree char *now = overlay_lower_state (&one->origin);

    ck_assert_str_eq (now, one->lower);
}

static void
assert_work_is_clean (const struct steps_case *one)
{
    g_autofree char *path = world_path (&one->origin, "changes/work");
    GDir *dir = g_dir_open (path, 0, NULL);
    const char *name;

    ck_assert_ptr_nonnull (dir);
    while ((name = g_dir_read_name (dir)))
        ck_assert (strcmp (name, "index") == 0 || strcmp (name, "lock") == 0
                   || strcmp (name, "records") == 0);
    g_dir_close (dir);
}

/* Returns the number of parts that were done; *ret_confirmed: of those that last. */
static unsigned
steps_do (const struct steps_case *one, struct steps_run *run, unsigned *ret_confirmed)
{
    unsigned done = 0;

    *ret_confirmed = 0;
    while (done < one->n_parts && one->operation->parts[done].run (run) == 0)
        if (one->operation->parts[done++].confirms)
            *ret_confirmed = done;
    return done;
}

/* The mount goes on after the error. */
static void
steps_error (const struct steps_case *one, unsigned n)
{
    struct steps_run run;
    g_autofree char *shown = NULL, *again = NULL;
    unsigned done, confirmed;

    overlay_steps_prepare (one, &run);
    steps_fault (&run, "* nth %u -> error ENOSPC", n);
    done = steps_do (one, &run, &confirmed);
    g_free (overlay_tell (&run.w, "fault", "clear", ""));
    shown = overlay_show (&run.w);
    assert_state (one, shown, done, done + 1, "after an error at request", n);
    steps_run_stop (&run);
    steps_run_start (&run, one->origin.dir);
    again = overlay_show (&run.w);
    assert_state (one, again, done, done + 1, "mounted again after an error at request", n);
    steps_run_stop (&run);
}

/* No change reaches the storage from that one on; cut: and nothing that was not synced stays. */
static void
overlay_steps_end (const struct steps_case *one, unsigned n, bool cut)
{
    struct steps_run run;
    g_autofree char *shown = NULL;
    unsigned done, confirmed;

    overlay_steps_prepare (one, &run);
    steps_fault (&run, n == 1 ? CHANGES " -> error EIO" : CHANGES " after %u -> error EIO", n - 1);
    done = steps_do (one, &run, &confirmed);
    if (cut)
        g_free (overlay_tell (&run.w, "cut", "cut", ""));
    steps_run_stop (&run);
    steps_run_start (&run, one->origin.dir);
    shown = overlay_show (&run.w);
    assert_state (one, shown, cut ? confirmed : done, done + 1,
                  cut ? "after a power cut at request" : "after a kill at request", n);
    assert_work_is_clean (one);
    steps_run_stop (&run);
}

START_TEST (each_request_fails_or_is_the_last)
{
    const enum steps_mode mode = (enum steps_mode) (_i % STEPS_MODES);
    struct steps_case one;

    steps_learn (&one, (unsigned) _i / STEPS_MODES, mode == STEPS_ERROR ? "*" : CHANGES);
    ck_assert_uint_gt (one.n_requests, 1);
    ck_assert_uint_lt (one.n_requests, STEPS_MAX);
    for (unsigned n = 1; n <= one.n_requests + 1; n++) {
        if (mode == STEPS_ERROR)
            steps_error (&one, n);
        else
            overlay_steps_end (&one, n, mode == STEPS_CUT);
    }
    assert_lower (&one);
    steps_forget (&one);
}
END_TEST

TEST_PROGRAM (test_overlay_steps)
{
    Suite *suite = suite_create ("overlay steps");
    TCase *tcase = tcase_create ("steps");

    if (geteuid () != 0)
        return 77;
    tcase_add_loop_test (tcase, each_request_fails_or_is_the_last, 0,
                         (int) G_N_ELEMENTS (operations) * STEPS_MODES);
    tcase_set_timeout (tcase, 120);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
