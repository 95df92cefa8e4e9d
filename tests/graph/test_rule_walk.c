/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* Which rules a call meets, above storage/posix with debug/fault: by paths that change, by hard
 * links, by owner, type and mode; and what is kept for an inode gives what a comparison of its path
 * would. */
#include "core/time/random.h"
#include "posix_world.h"

#include <fnmatch.h>

#define FAULT "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\n"

static void
walk_rules (struct world *w, const char *rules)
{
    const struct xlator_command *command = w->graph->top->api->commands;
    g_autoptr (GBytes) bytes = g_bytes_new (rules, strlen (rules));
    g_autoptr (GString) answer = g_string_new (NULL);

    ck_assert_str_eq (command->name, "rules");
    ck_assert_msg (command->run (w->graph->top, &(struct xlator_asked){ .input = bytes }, answer)
                       == 0,
                   "%s", answer->str);
}

static struct world
walk_world (const char *rules)
{
    struct world w = posix_world_begin (FAULT);

    walk_rules (&w, rules);
    return w;
}

/* Returns whether a rule for stat hits the inode; that is asked three times, since the first answer
 * is kept. */
static bool
walk_hits (struct world *w, inode_t *inode)
{
    bool hits[3];

    for (int i = 0; i < 3; i++) {
        world_stat (w, inode);
        hits[i] = w->r == -EIO;
        ck_assert (w->r == 0 || w->r == -EIO);
    }
    ck_assert (hits[0] == hits[1] && hits[1] == hits[2]);
    return hits[0];
}

static void
walk_link (struct world *w, inode_t *inode, inode_t *dir, const char *name)
{
    loc_t oldloc = { .inode = inode }, newloc = { .name = name, .parent = dir, .inode = inode };
    struct link_reply reply;

    ck_assert_int_eq (sync_link (w->client, &oldloc, &newloc, NULL, &reply), 0);
    inode_unref (inode_link (inode, dir, name, &reply.buf));
    link_reply_drop (&reply);
}

START_TEST (a_rename_of_a_directory_counts_at_once)
{
    g_auto (world) w = walk_world ("stat path /a/* -> error EIO");
    g_autoptr (inode_t) a = world_mkdir (&w, w.root, "a", 0755);
    g_autoptr (inode_t) deep = world_mkdir (&w, a, "deep", 0755);
    g_autoptr (fd_t) fd = world_create (&w, deep, "f", O_RDWR, 0644);

    ck_assert (walk_hits (&w, fd->inode));
    ck_assert (!walk_hits (&w, a));
    ck_assert_int_eq (world_rename (&w, w.root, "a", w.root, "b", 0), 0);
    ck_assert (!walk_hits (&w, fd->inode));
    ck_assert_int_eq (world_rename (&w, w.root, "b", w.root, "a", 0), 0);
    ck_assert (walk_hits (&w, fd->inode));
    ck_assert_int_eq (world_rename (&w, deep, "f", w.root, "f", 0), 0);
    ck_assert (!walk_hits (&w, fd->inode));
    ck_assert_int_eq (world_rename (&w, w.root, "f", a, "f", 0), 0);
    ck_assert (walk_hits (&w, fd->inode));
}
END_TEST

START_TEST (each_known_name_of_a_file_counts)
{
    g_auto (world) w = walk_world ("stat path /x* -> error EIO\nunlink path /x* -> error EPERM");
    g_autoptr (fd_t) fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert (!walk_hits (&w, fd->inode));
    walk_link (&w, fd->inode, w.root, "x1");
    ck_assert (walk_hits (&w, fd->inode));
    /* A call on a name is judged by that name. */
    ck_assert_int_eq (world_unlink (&w, w.root, "x1"), -EPERM);
    ck_assert_int_eq (world_unlink (&w, w.root, "f"), 0);
    ck_assert (walk_hits (&w, fd->inode));
    walk_rules (&w, "stat path /x1 -> error EIO");
    ck_assert (walk_hits (&w, fd->inode));
    ck_assert_int_eq (world_unlink (&w, w.root, "x1"), 0);
    ck_assert (walk_hits (&w, fd->inode)); /* what was true of its last name */
    walk_rules (&w, "stat path /f -> error EIO");
    ck_assert (!walk_hits (&w, fd->inode));
}
END_TEST

START_TEST (new_rules_count_at_once)
{
    g_auto (world) w = walk_world ("readv -> error EIO");
    g_autoptr (fd_t) fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    for (int i = 0; i < 40; i++) {
        ck_assert (!walk_hits (&w, fd->inode));
        walk_rules (&w, "stat path *f -> error EIO");
        ck_assert (walk_hits (&w, fd->inode));
        walk_rules (&w, i % 2 ? "stat volume other -> error EIO" : "");
    }
}
END_TEST

/* What is marked for one user is not for others. */
START_TEST (each_user_meets_the_own_rules)
{
    g_auto (world) w = walk_world ("stat uid 1000..1001 -> error EIO\nstat path /g -> error EIO");
    g_autoptr (fd_t) f = world_create (&w, w.root, "f", O_RDWR, 0644);
    g_autoptr (fd_t) g = world_create (&w, w.root, "g", O_RDWR, 0644);
    const uid_t own = w.client->uid;

    for (uid_t uid = 998; uid < 1004; uid++) {
        w.client->uid = uid;
        ck_assert_int_eq (walk_hits (&w, f->inode), uid == 1000 || uid == 1001);
        ck_assert (walk_hits (&w, g->inode));
    }
    w.client->uid = own;
}
END_TEST

static void
walk_chmod (struct world *w, inode_t *inode, mode_t mode)
{
    g_auto (loc_t) loc = { .inode = inode };
    struct iatt stbuf = { .ia_prot = mode };

    ck_assert_int_ge (sync_setattr (w->client, &loc, &stbuf, IATT_MODE, NULL, NULL), 0);
}

START_TEST (type_owner_and_mode_are_of_the_file)
{
    g_autofree char *owner = g_strdup_printf ("stat owner %u type file mode -0600 -> error EIO\n"
                                              "mkdir owner %u mode 0711 -> error EXDEV\n"
                                              "mkdir type file -> error EIO",
                                              geteuid (), geteuid ());
    g_auto (world) w = walk_world ("");
    g_autoptr (inode_t) dir = world_mkdir (&w, w.root, "dir", 0755), other = NULL;
    g_autoptr (fd_t) fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    walk_rules (&w, owner); /* no answer since then: the attributes are asked for */
    ck_assert (walk_hits (&w, fd->inode));
    ck_assert (!walk_hits (&w, dir));
    walk_chmod (&w, fd->inode, 0400);
    ck_assert (!walk_hits (&w, fd->inode));
    walk_chmod (&w, fd->inode, 0700);
    ck_assert (walk_hits (&w, fd->inode));
    walk_rules (&w, "stat mode /0011 -> error EIO");
    ck_assert (!walk_hits (&w, fd->inode));
    ck_assert (walk_hits (&w, dir));
    walk_rules (&w, "stat mode 0700 -> error EIO");
    ck_assert (walk_hits (&w, fd->inode));
    ck_assert (!walk_hits (&w, dir));
    walk_rules (&w, owner);
    other = world_mkdir (&w, w.root, "made", 0733); /* 0711 with the umask */
    ck_assert_int_eq (w.r, -EXDEV);
    walk_rules (&w, "stat owner 4294967290.. -> error EIO");
    ck_assert (!walk_hits (&w, fd->inode));
}
END_TEST

/* A rule that counts, before one that asks for attributes: the call is counted once. */
START_TEST (a_question_counts_no_call_twice)
{
    g_auto (world) w = walk_world ("");
    g_autoptr (fd_t) fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    walk_rules (&w, "stat nth 2 -> error EIO\nstat owner 4294967290.. -> error EPERM");
    world_stat (&w, fd->inode);
    ck_assert_int_eq (w.r, 0);
    world_stat (&w, fd->inode);
    ck_assert_int_eq (w.r, -EIO);
}
END_TEST

START_TEST (both_files_of_a_copy_count)
{
    g_auto (world) w = walk_world ("copy_file_range path /to -> error EIO\n"
                                   "rename path /to -> error EPERM");
    g_autoptr (fd_t) from = world_create (&w, w.root, "from", O_RDWR, 0644);
    g_autoptr (fd_t) to = world_create (&w, w.root, "to", O_RDWR, 0644);

    ck_assert_int_eq (sync_copy_file_range (w.client, from, 0, to, 0, 1, 0, NULL, NULL), -EIO);
    ck_assert_int_ne (sync_copy_file_range (w.client, from, 0, from, 4096, 1, 0, NULL, NULL), -EIO);
    ck_assert_int_eq (world_rename (&w, w.root, "from", w.root, "to", 0), -EPERM);
    ck_assert_int_eq (world_rename (&w, w.root, "from", w.root, "too", 0), 0);
}
END_TEST

/* --- at random -------------------------------------------------------------------------------- */

#define DIRS 3
#define FILES 4
#define STEPS 3000

static const char *const walk_patterns[] = {
    "*",    "/d0/*", "/d1/f1", "/d?/f2",     "*f3",   "/d0",     "/*",      "*/f1",  "/d[12]/*",
    "/d1*", "f1",    "*d2*",   "/d\\0/f[0-", "/f0",   "*/d1/f*", "/d0/f0x", "/d2/",  "",
};

struct walked {
    inode_t *dirs[DIRS + 1]; /* the last one is the root */
    char *paths[DIRS + 1];
    struct {
        inode_t *inode;
        int dir;
        char name[3];
    } files[FILES];
};

static char *
walked_path (const struct walked *walked, int dir, const char *name)
{
    return g_strconcat (walked->paths[dir], "/", name, NULL);
}

/* Moves a file, or swaps the names of two directories. */
static void
walked_move (struct world *w, struct walked *walked, struct random_source *chance)
{
    const int n = (int) random_below (chance, FILES), dir = (int) random_below (chance, DIRS + 1);
    char name[3] = { 'f', (char) ('0' + n), '\0' };

    if (random_once_in (chance, 3)) {
        const int one = (int) random_below (chance, DIRS), other = (one + 1) % DIRS;

        ck_assert_int_eq (world_rename (w, w->root, walked->paths[one] + 1, w->root,
                                        walked->paths[other] + 1, RENAME_EXCHANGE),
                          0);
        char *path = walked->paths[one];
        walked->paths[one] = walked->paths[other];
        walked->paths[other] = path;
        return;
    }
    ck_assert_int_eq (world_rename (w, walked->dirs[walked->files[n].dir], walked->files[n].name,
                                    walked->dirs[dir], name, 0),
                      0);
    walked->files[n].dir = dir;
}

/* A stat of each file, a lookup of each name, and an access of each directory are hit as the
 * patterns say. */
static void
walked_check (struct world *w, const struct walked *walked, const char *pattern)
{
    for (int i = 0; i < FILES; i++) {
        g_autofree char *path = walked_path (walked, walked->files[i].dir, walked->files[i].name);
        const bool fits = fnmatch (pattern, path, 0) == 0;
        G_GNUC_UNUSED g_autoptr (inode_t) looked =
            posix_world_look (w, walked->dirs[walked->files[i].dir], walked->files[i].name);

        ck_assert_msg ((w->r == -EIO) == fits, "lookup of %s, %s", path, pattern);
        world_stat (w, walked->files[i].inode);
        ck_assert_msg ((w->r == -EIO) == fits, "stat of %s, %s", path, pattern);
    }
    for (int i = 0; i <= DIRS; i++) {
        const char *path = i == DIRS ? "/" : walked->paths[i];

        world_stat (w, walked->dirs[i]);
        ck_assert_msg ((w->r == -EIO) == (fnmatch (pattern, path, 0) == 0), "stat of %s, %s", path,
                       pattern);
    }
}

START_TEST (what_is_kept_is_what_a_comparison_gives)
{
    g_auto (world) w = walk_world ("");
    struct random_source chance = { 58 };
    struct walked walked = { .dirs[DIRS] = w.root, .paths[DIRS] = g_strdup ("") };
    const char *pattern = "*";

    for (int i = 0; i < DIRS; i++) {
        walked.paths[i] = g_strdup_printf ("/d%d", i);
        walked.dirs[i] = world_mkdir (&w, w.root, walked.paths[i] + 1, 0755);
    }
    for (int i = 0; i < FILES; i++) {
        g_snprintf (walked.files[i].name, 3, "f%d", i);
        walked.files[i].dir = DIRS;
        g_autoptr (fd_t) fd = world_create (&w, w.root, walked.files[i].name, O_RDWR, 0644);
        walked.files[i].inode = inode_ref (fd->inode);
    }
    for (int i = 0; i < STEPS; i++) {
        if (i % 10 == 0) {
            do
                pattern = walk_patterns[random_below (&chance, G_N_ELEMENTS (walk_patterns))];
            while (!*pattern);
            g_autofree char *quoted = g_strescape (pattern, NULL);
            g_autofree char *rules = g_strdup_printf (
                "stat,lookup path \"%s\" -> error EIO\nreadv path \"/d1/*\" -> error EIO", quoted);
            walk_rules (&w, rules);
        }
        walked_move (&w, &walked, &chance);
        walked_check (&w, &walked, pattern);
    }
    for (int i = 0; i < FILES; i++)
        inode_unref (walked.files[i].inode);
    for (int i = 0; i <= DIRS; i++) {
        if (i < DIRS)
            inode_unref (walked.dirs[i]);
        g_free (walked.paths[i]);
    }
}
END_TEST

/* More sets of rules fit than a set of rules keeps verdicts of. */
START_TEST (many_different_verdicts)
{
    g_autoptr (GString) rules = g_string_new (NULL);
    g_auto (world) w = walk_world ("");

    for (int i = 0; i < 11; i++)
        g_string_append_printf (rules, "stat path \"/%.*s1*\" -> error EIO\n", i, "???????????");
    walk_rules (&w, rules->str);
    for (int i = 0; i < 2048; i++) {
        char name[12];

        for (int bit = 0; bit < 11; bit++)
            name[bit] = i >> bit & 1 ? '1' : '0';
        name[11] = '\0';
        g_autoptr (fd_t) fd = world_create (&w, w.root, name, O_RDWR, 0644);
        ck_assert_msg (fd != NULL, "%s: %d", name, w.r);
        ck_assert_msg (walk_hits (&w, fd->inode) == (i != 0), "%s", name);
    }
}
END_TEST

TEST_PROGRAM (test_rule_walk)
{
    Suite *suite = suite_create ("rule_walk");
    TCase *tcase = tcase_create ("rule_walk");

    tcase_set_timeout (tcase, 240);
    tcase_add_test (tcase, a_rename_of_a_directory_counts_at_once);
    tcase_add_test (tcase, each_known_name_of_a_file_counts);
    tcase_add_test (tcase, each_user_meets_the_own_rules);
    tcase_add_test (tcase, new_rules_count_at_once);
    tcase_add_test (tcase, type_owner_and_mode_are_of_the_file);
    tcase_add_test (tcase, a_question_counts_no_call_twice);
    tcase_add_test (tcase, both_files_of_a_copy_count);
    tcase_add_test (tcase, what_is_kept_is_what_a_comparison_gives);
    tcase_add_test (tcase, many_different_verdicts);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
