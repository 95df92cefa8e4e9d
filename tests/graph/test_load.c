/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* From a volfile to translators: modules, options, needs, start and stop. Uses the translators of
 * tests/xlators. */
#include "core/data/loc.h"
#include "core/edge/sync.h"
#include "graph/graph.h"

#include "../program.h"
#include <errno.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAF "volume leaf type test/leaf end-volume\n"
#define PATH "option path /tmp/windlass-nowhere/x\n"

static struct graph *
load_load (const char *text, const struct graph_settings *settings)
{
    struct graph_settings all = settings ? *settings : (struct graph_settings){ 0 };
    const char *dirs[] = { g_getenv ("WINDLASS_TEST_XLATORS"), NULL };

    if (!all.xlator_dirs)
        all.xlator_dirs = dirs;
    all.inode_limit = 100;
    return graph_load (volfile_parse ("x.vol", text, strlen (text)), &all);
}

/* The module of the translator is in tests/xlators, whatever the layout of the build. */
static bool
have_modules (void)
{
    return g_getenv ("WINDLASS_TEST_XLATORS") != NULL;
}

static void
load_check_problem (const struct volfile *volfile, guint i, int line, int column, const char *part)
{
    const struct problem *problem;

    ck_assert_uint_lt (i, volfile->problems->len);
    problem = volfile->problems->pdata[i];
    ck_assert_msg (problem->line == line && problem->column == column
                       && strstr (problem->text, part),
                   "got %d:%d: %s\nnot %d:%d: %s", problem->line, problem->column, problem->text,
                   line, column, part);
}

/* A volfile, the options of a command line, and the problem that they must have. */
struct faulty {
    const char *text;
    const char *options[3];
    const char *volume_name;
    int line, column;
    const char *part;
    bool warning;
};

static const struct faulty load_faulty[] = {
    /* modules */
    { .text = "volume x\n type test/laef\nend-volume",
      .line = 2,
      .column = 7,
      .part = "volume 'x': type 'test/laef' is not there, looked in " },
    { .text = "volume x\n type test/laef\nend-volume",
      .line = 2,
      .column = 7,
      .part = " (--xlator-dir adds a folder); did you mean 'test/leaf'?" },
    { .text = "volume x\n type rest/leaf\nend-volume",
      .line = 2,
      .column = 7,
      .part = "; did you mean 'test/leaf'?" },
    { .text = "volume x\n type other/leaf\nend-volume",
      .line = 2,
      .column = 7,
      .part = "; did you mean 'test/leaf'?" },
    { .text = "volume x\n type test/badabi\nend-volume",
      .line = 2,
      .column = 7,
      .part = "badabi.so' was built for ABI 4711, must be " G_STRINGIFY (XLATOR_ABI) },
    { .text = "volume x\n type test/noobject\nend-volume",
      .line = 2,
      .column = 7,
      .part = "has no symbol 'xlator_api'" },
    { .text = "volume x\n type test/wrongtype\nend-volume",
      .line = 2,
      .column = 7,
      .part = "holds type 'test/other', must be 'test/wrongtype'" },
    /* types of GlusterFS */
    { .text = LEAF "volume x\n type features/locks\n subvolumes leaf end-volume",
      .line = 3,
      .column = 7,
      .part = "type 'features/locks' is one of GlusterFS that Windlass does not have, looked in " },
    { .text = LEAF "volume x\n type features/worm\n subvolumes leaf end-volume",
      .line = 3,
      .column = 7,
      .part = "can't be left out: without it, programs could change files" },
    { .text = LEAF "volume x\n type features/cdc\n option mode client subvolumes leaf end-volume",
      .line = 3,
      .column = 7,
      .part = "type 'features/cdc' is not in Windlass, and can't be left out: the servers" },
    { .text = LEAF "volume x\n type features/snapview-client\n subvolumes leaf\nend-volume",
      .line = 3,
      .column = 7,
      .part = "can't be left out: it must have two subvolumes, the second for the snapshots" },
    { .text = LEAF "volume snaps type test/leaf end-volume\nvolume x\n type "
                   "features/snapview-client\n subvolumes leaf snaps\nend-volume",
      .line = 4,
      .column = 7,
      .part = "type 'features/snapview-client' is not in Windlass; without it there is no "
              "directory .snaps",
      .warning = true },
    /* options */
    { .text = "volume x type test/options " PATH "option nmuber 3 end-volume",
      .line = 2,
      .column = 8,
      .part = "volume 'x': type 'test/options' has no option 'nmuber'; did you mean 'number'?" },
    { .text = "volume x type test/options " PATH "option zzzzzz 3 end-volume",
      .line = 2,
      .column = 8,
      .part = "has no option 'zzzzzz'; 'windlass help test/options' lists them" },
    { .text = "volume x type test/options " PATH "option log-lvel 3 end-volume",
      .line = 2,
      .column = 8,
      .part = "did you mean 'log-level'?" },
    { .text = "volume x type test/options " PATH "option number 65 end-volume",
      .line = 2,
      .column = 15,
      .part = "volume 'x': option 'number' must be 1 to 64, got '65'" },
    { .text = "volume x type test/options " PATH "option size 0 end-volume",
      .line = 2,
      .column = 13,
      .part = "option 'cache-size' must be 4KB to 1GB, got '0'" },
    { .text = "volume x type test/options " PATH "option flag maybe end-volume",
      .line = 2,
      .column = 13,
      .part = "option 'flag' must be on or off, got 'maybe'" },
    { .text = "volume x type test/options " PATH "option color gren end-volume",
      .line = 2,
      .column = 14,
      .part = "must be one of red, green, blue, got 'gren'; did you mean 'green'?" },
    { .text = "volume x type test/options " PATH "option flag on\noption toggle on end-volume",
      .line = 3,
      .column = 8,
      .part = "option 'toggle' is another name of 'flag', which is set at line 2" },
    { .text = "volume x type test/options end-volume",
      .line = 1,
      .column = 8,
      .part = "option 'path' is missing: must be given, an absolute path" },
    { .text = "volume x type test/options option path x/y end-volume",
      .line = 1,
      .column = 40,
      .part = "option 'path' must be an absolute path without '..', got 'x/y'" },
    { .text = "volume leaf type test/options " PATH "option peer laef end-volume",
      .line = 2,
      .column = 13,
      .part = "option 'peer' must be the name of a volume in the graph, got 'laef'; did you mean "
              "'leaf'?" },
    { .text = "volume x type test/leaf\noption log-level LOUD end-volume",
      .line = 2,
      .column = 18,
      .part = "option 'log-level' must be NONE, CRITICAL, ERROR, WARNING, INFO, DEBUG or TRACE, "
              "got 'LOUD'" },
    { .text = "volume x type test/leaf\noption pass-through x end-volume",
      .line = 2,
      .column = 21,
      .part = "option 'pass-through' must be on or off, got 'x'" },
    { .text = "volume x type test/leaf\noption pass-through on end-volume",
      .line = 2,
      .column = 21,
      .part = "there is no subvolume to pass requests on to" },
    { .text = "volume x type test/options " PATH "option unused 3 end-volume",
      .line = 2,
      .column = 8,
      .part = "option 'unused' does nothing here",
      .warning = true },
    /* the command line */
    { .text = LEAF,
      .options = { "leaf.nothing=1" },
      .line = LINE_OF_COMMAND,
      .part = "volume 'leaf': type 'test/leaf' has no option 'nothing'" },
    { .text = LEAF,
      .options = { "leaf.log-level=x" },
      .line = LINE_OF_COMMAND,
      .part = "option 'log-level' must be" },
    { .text = LEAF,
      .options = { "laef.log-level=INFO" },
      .line = LINE_OF_COMMAND,
      .part = "no volume of the graph is called 'laef'; did you mean 'leaf'?" },
    { .text = LEAF,
      .options = { "q*.log-level=INFO" },
      .line = LINE_OF_COMMAND,
      .part = "no volume of the graph is called 'q*'; its volumes are " },
    { .text = LEAF,
      .options = { "leaf" },
      .line = LINE_OF_COMMAND,
      .part = "must be VOLUME.KEY=VALUE" },
    { .text = LEAF,
      .options = { "leaf=a.b" },
      .line = LINE_OF_COMMAND,
      .part = "must be VOLUME.KEY=VALUE" },
    { .text = LEAF,
      .options = { "leaf.=b" },
      .line = LINE_OF_COMMAND,
      .part = "must be VOLUME.KEY=VALUE" },
    { .text = LEAF,
      .options = { ".k=b" },
      .line = LINE_OF_COMMAND,
      .part = "must be VOLUME.KEY=VALUE" },
    { .text = LEAF,
      .volume_name = "laef",
      .line = LINE_OF_COMMAND,
      .part = "--volume-name 'laef' is not a volume of 'x.vol'; did you mean 'leaf'?" },
    /* needs */
    { .text = LEAF
      "volume x type test/pass end-volume volume y type test/pass subvolumes x end-volume",
      .volume_name = "y",
      .line = 2,
      .column = 8,
      .part = "type 'test/pass' must have exactly 1 subvolume, has 0" },
    { .text = "volume x type test/options option pth /x end-volume",
      .line = 1,
      .column = 35,
      .part = "has no option 'pth'; did you mean 'path'?" },
    { .text = LEAF "volume x type test/leaf subvolumes leaf end-volume",
      .line = 2,
      .column = 36,
      .part = "type 'test/leaf' must have no subvolumes, has 1" },
    { .text = LEAF
      "volume l2 type test/leaf end-volume\nvolume x type test/pass subvolumes leaf l2 end-volume",
      .line = 3,
      .column = 36,
      .part = "must have exactly 1 subvolume, has 2" },
    { .text = "volume o type test/options " PATH
              "end-volume\nvolume x type test/needs subvolumes o end-volume",
      .line = 3,
      .column = 8,
      .part = "type 'test/needs' must have test/leaf somewhere below it" },
    { .text = LEAF "volume x type test/needs subvolumes leaf end-volume\nvolume y type test/pass "
                   "subvolumes x end-volume",
      .line = 2,
      .column = 8,
      .part = "must be on top, but is a subvolume of 'y' (line 3)" },
    { .text = LEAF "volume x type test/never subvolumes leaf end-volume\nvolume y type test/pass "
                   "subvolumes x end-volume\n"
                   "volume z type test/slow subvolumes y end-volume",
      .line = 2,
      .column = 8,
      .part = "type 'test/never' can't be below 'z' (line 4), type 'test/slow', which waits for an "
              "answer" },
    /* unused volumes */
    { .text = LEAF
      "volume x type no/such end-volume\nvolume y type test/pass subvolumes leaf end-volume",
      .line = 2,
      .column = 8,
      .part = "volume 'x': not used: it is not below 'y' (line 3)",
      .warning = true },
};

START_TEST (load_each_faulty)
{
    const struct faulty *wanted = &load_faulty[_i];
    const struct graph_settings settings = { .options = wanted->options,
                                             .volume_name = wanted->volume_name };
    struct graph *graph = load_load (wanted->text, &settings);

    load_check_problem (graph->volfile, 0, wanted->line, wanted->column, wanted->part);
    ck_assert_uint_eq (graph->volfile->problems->len, 1);
    ck_assert_int_eq (volfile_has_errors (graph->volfile), !wanted->warning);
    graph_free (graph);
}
END_TEST

/* A forgotten statement: the error comes before the warning to which it led. */
START_TEST (no_subvolumes)
{
    struct graph *graph = load_load (LEAF "volume x type test/pass end-volume", NULL);

    load_check_problem (graph->volfile, 0, 2, 8, "has 0; add 'subvolumes leaf'");
    load_check_problem (graph->volfile, 1, 1, 8, "not used");
    graph_free (graph);
}
END_TEST

/* All problems at once: of the text, of modules and options, and of the command line. */
START_TEST (all_problems_in_order)
{
    const char *const options[] = { "a.b.c", "x.flag=2", NULL };
    struct graph *graph = load_load (
        "volume x\n type test/options\n option number 0\n option text\n option y z\nend-volume\n"
        "volume y\n type test/nope\n subvolumes q\nend-volume\n",
        &(struct graph_settings){ .options = options });

    load_check_problem (graph->volfile, 0, 1, 8, "option 'path' is missing");
    load_check_problem (graph->volfile, 1, 3, 16, "option 'number' must be");
    load_check_problem (graph->volfile, 2, 4, 2, "incomplete");
    load_check_problem (graph->volfile, 3, 5, 9, "no option 'y'");
    load_check_problem (graph->volfile, 4, 8, 7, "type 'test/nope'");
    load_check_problem (graph->volfile, 5, 9, 13, "subvolume 'q' is not defined");
    load_check_problem (graph->volfile, 6, LINE_OF_COMMAND, 0, "'a.b.c'");
    load_check_problem (graph->volfile, 7, LINE_OF_COMMAND, 0, "'flag' must be on or off, got '2'");
    ck_assert_uint_eq (graph->volfile->problems->len, 8);
    graph_free (graph);
}
END_TEST

START_TEST (once_is_said_at_the_second)
{
    struct graph *graph = load_load (LEAF "volume x type test/needs subvolumes leaf end-volume\n"
                                     "volume y type test/needs subvolumes x end-volume\n", NULL);

    load_check_problem (graph->volfile, 0, 2, 8, "must be on top");
    load_check_problem (graph->volfile, 1, 3, 8, "at most once, and is 'x' (line 2) already");
    ck_assert_uint_eq (graph->volfile->problems->len, 2);
    graph_free (graph);
}
END_TEST

/* --- modules -------------------------------------------------------------------------------- */

START_TEST (not_a_module)
{
    g_autofree char *dir = g_dir_make_tmp ("windlass-test-XXXXXX", NULL);
    g_autofree char *category = g_build_filename (dir, "test", NULL);
    g_autofree char *path = g_build_filename (category, "leaf.so", NULL);
    const char *const dirs[] = { dir, g_getenv ("WINDLASS_TEST_XLATORS"), NULL };
    g_autofree char *error = NULL;

    g_mkdir (category, 0700);
    ck_assert (g_file_set_contents (path, "#!/bin/sh\n", -1, NULL));
    ck_assert_ptr_null (module_load ("test/leaf", dirs, &error));
    ck_assert_ptr_nonnull (strstr (error, path));
    ck_assert_ptr_nonnull (strstr (error, "is not a module that can be loaded"));
    g_unlink (path);
    g_rmdir (category);
    g_rmdir (dir);
}
END_TEST

START_TEST (types_that_leave_the_folder)
{
    static const char *const types[] = {
        "../test/leaf", "test/../leaf", "/etc/passwd",     "test",  "",           "/",
        "test/",        ".libs/x",      "test/leaf.so/..", "a/b/c", "test/l\neaf"
    };
    const char *const dirs[] = { g_getenv ("WINDLASS_TEST_XLATORS"), NULL };

    for (size_t i = 0; i < G_N_ELEMENTS (types); i++) {
        g_autofree char *error = NULL;

        ck_assert_ptr_null (module_load (types[i], dirs, &error));
        ck_assert_ptr_nonnull (strstr (error, "must be CATEGORY/NAME"));
    }
}
END_TEST

START_TEST (types_are_listed)
{
    const char *const dirs[] = { g_getenv ("WINDLASS_TEST_XLATORS"), "/nonexistent", "", NULL };
    g_autoptr (GPtrArray) types = module_types (dirs);
    guint found = 0;

    for (guint i = 0; i < types->len; i++) {
        found += strcmp (types->pdata[i], "test/leaf") == 0;
        ck_assert (i == 0 || strcmp (types->pdata[i - 1], types->pdata[i]) < 0);
    }
    ck_assert_uint_eq (found, 1);
}
END_TEST

/* --- options that are right ----------------------------------------------------------------- */

static const struct option_setting *
load_setting (const xlator_t *xl, const char *key)
{
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *s = xl->settings->pdata[i];

        if (strcmp (s->option->key[0], key) == 0)
            return s;
    }
    ck_abort_msg ("no setting '%s'", key);
}

START_TEST (settings)
{
    const char *const options[] = { "o*.number=7", "opt.number=9", "*.log-level=TRACE", NULL };
    struct graph *graph =
        load_load ("volume opt\n type test/options\n"
                   " option path /a/b\n option switch off\nend-volume",
                   &(struct graph_settings){ .options = options });
    const xlator_t *xl = graph->top;

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    ck_assert_str_eq (load_setting (xl, "flag")->text, "off");
    ck_assert_int_eq (load_setting (xl, "flag")->by, SET_BY_VOLFILE);
    ck_assert_int_eq (load_setting (xl, "flag")->line, 4);
    ck_assert_str_eq (load_setting (xl, "number")->text, "7"); /* the first of the command line */
    ck_assert_int_eq (load_setting (xl, "number")->by, SET_BY_COMMAND_LINE);
    ck_assert_str_eq (load_setting (xl, "cache-size")->text, "1MB");
    ck_assert_int_eq (load_setting (xl, "cache-size")->by, SET_BY_DEFAULT);
    ck_assert_ptr_null (load_setting (xl, "peer")->text);
    ck_assert_int_eq (xl->loglevel, GF_LOG_TRACE);
    ck_assert_ptr_nonnull (xl->private);
    graph_free (graph);
}
END_TEST

START_TEST (values_are_split_at_the_first_dot)
{
    const char *const options[] = { "opt.text=a.b=c", NULL };
    struct graph *graph = load_load ("volume opt type test/options option path /a end-volume",
                                     &(struct graph_settings){ .options = options });

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    ck_assert_str_eq (load_setting (graph->top, "text")->text, "a.b=c");
    graph_free (graph);
}
END_TEST

/* --- graphs --------------------------------------------------------------------------------- */

#define DIAMOND                                                                                    \
    LEAF "volume l type test/pass subvolumes leaf end-volume\n"                                    \
         "volume r type test/pass subvolumes leaf end-volume\n"                                    \
         "volume top type test/needs subvolumes r l end-volume\n"

START_TEST (diamond)
{
    struct graph *graph = load_load (DIAMOND, NULL);
    xlator_t *leaf = graph_find (graph, "leaf");

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    ck_assert_uint_eq (graph->xlators->len, 4);
    ck_assert_str_eq (graph->top->name, "top");
    ck_assert_int_eq (graph->top->number, 0);
    ck_assert_str_eq (FIRST_CHILD (graph->top)->name, "r");
    ck_assert_str_eq (graph->top->children->next->xlator->name, "l");
    ck_assert_str_eq (leaf->parents->xlator->name, "l");
    ck_assert_str_eq (leaf->parents->next->xlator->name, "r");
    ck_assert_uint_eq (leaf->wants_above, WANTS_INODE | WANTS_DATA_ATTRIBUTES);
    ck_assert_int_eq (graph->top->inode_slot, 0);
    ck_assert_int_eq (graph->top->fd_slot, -1);
    ck_assert_int_eq (leaf->inode_slot, -1);
    ck_assert_uint_eq (graph_touches (graph), TOUCHES_DATA);
    ck_assert_ptr_null (graph_find (graph, "nope"));
    graph_free (graph);
}
END_TEST

START_TEST (named_top)
{
    struct graph *graph = load_load (DIAMOND, &(struct graph_settings){ .volume_name = "l" });

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    ck_assert_str_eq (graph->top->name, "l");
    ck_assert_uint_eq (graph->xlators->len, 2);
    graph_free (graph);
}
END_TEST

START_TEST (text_and_dot)
{
    const char *const options[] = { "x.text=say \"hi\"", NULL };
    struct graph *graph =
        load_load (LEAF "volume x type test/options option path /a subvolumes leaf end-volume",
                   &(struct graph_settings){ .options = options });
    g_autofree char *text = graph_text (graph), *dot = graph_dot (graph);

    ck_assert_ptr_nonnull (
        strstr (text, "\n  1: volume leaf\n  2:     type test/leaf\n  3: end-volume\n  4: \n"
                      "  5: volume x\n  6:     type test/options\n  7:     option path /a\n"
                      "  8:     option text \"say \\\"hi\\\"\"\n"
                      "  9:     subvolumes leaf\n 10: end-volume\n 11: \n+--"));
    ck_assert_uint_eq (strcspn (text, "\n"), 80);
    ck_assert_ptr_nonnull (strstr (dot, "n0 [label=\"x\\ntest/options\"]"));
    ck_assert_ptr_nonnull (strstr (dot, "n0 -> n1;"));
    graph_free (graph);
}
END_TEST

/* --- start and stop ------------------------------------------------------------------------- */

/* The text that test/options wrote while it was started and stopped. */
static char *
life (const char *format, int *ret_r)
{
    g_autofree char *dir = g_dir_make_tmp ("windlass-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename (dir, "life", NULL);
    g_auto (GStrv) parts = g_strsplit (format, "@", -1);
    g_autofree char *text = g_strjoinv (path, parts);
    struct graph *graph = load_load (text, NULL);
    char *told = NULL;

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    *ret_r = graph_activate (graph);
    ck_assert_int_eq (graph->active, *ret_r == 0);
    graph_free (graph);
    ck_assert (g_file_get_contents (path, &told, NULL, NULL));
    g_unlink (path);
    g_rmdir (dir);
    return told;
}

START_TEST (children_first)
{
    int r;
    g_autofree char *told =
        life ("volume a type test/options option path @ end-volume "
              "volume b type test/options option path @ subvolumes a end-volume",
              &r);

    ck_assert_int_eq (r, 0);
    ck_assert_str_eq (
        told, "init a\ninit b\nchild-up a\nchild-up b\nparent-up b\nparent-up a\n"
              "parent-down b\nparent-down a\n"
              "fini b\nfini a\n");
}
END_TEST

START_TEST (failed_start)
{
    int r;
    g_autofree char *told =
        life ("volume a type test/options option path @ end-volume "
              "volume b type test/options option path @ option fail on subvolumes a end-volume "
              "volume c type test/options option path @ subvolumes b end-volume",
              &r);

    ck_assert_int_eq (r, -ENOTSUP);
    ck_assert_str_eq (told, "init a\ninit b\nparent-down a\nfini b\nfini a\n");
}
END_TEST

static int
lookup_root (struct graph *graph, struct lookup_reply *ret_reply)
{
    struct client *client = client_new (graph->top);
    loc_t loc = { .inode = itable_root (graph->itable) };
    const int r = sync_lookup (client, &loc, NULL, ret_reply);

    client_free (client);
    return r;
}

static void
check_lookup (const char *text)
{
    struct graph *graph = load_load (text, NULL);
    struct lookup_reply reply;

    ck_assert_uint_eq (graph->volfile->problems->len, 0);
    ck_assert_int_eq (graph_activate (graph), 0);
    ck_assert_int_eq (lookup_root (graph, &reply), 0);
    ck_assert_int_eq (reply.buf.ia_type, IA_IFDIR);
    lookup_reply_drop (&reply);
    graph_free (graph);
}

START_TEST (answers)
{
    check_lookup (LEAF);
    check_lookup (LEAF "volume x type test/pass subvolumes leaf end-volume");
    check_lookup (LEAF "volume x type test/pass option pass-through on subvolumes leaf end-volume");
    check_lookup (DIAMOND);
}
END_TEST

TEST_PROGRAM (test_load)
{
    Suite *suite = suite_create ("load");
    TCase *tcase = tcase_create ("graph");

    if (!have_modules ()) {
        puts ("SKIP: WINDLASS_TEST_XLATORS doesn't say where the translators for tests are");
        return 77;
    }
    tcase_add_loop_test (tcase, load_each_faulty, 0, G_N_ELEMENTS (load_faulty));
    tcase_add_test (tcase, no_subvolumes);
    tcase_add_test (tcase, all_problems_in_order);
    tcase_add_test (tcase, once_is_said_at_the_second);
    tcase_add_test (tcase, not_a_module);
    tcase_add_test (tcase, types_that_leave_the_folder);
    tcase_add_test (tcase, types_are_listed);
    tcase_add_test (tcase, settings);
    tcase_add_test (tcase, values_are_split_at_the_first_dot);
    tcase_add_test (tcase, diamond);
    tcase_add_test (tcase, named_top);
    tcase_add_test (tcase, text_and_dot);
    tcase_add_test (tcase, children_first);
    tcase_add_test (tcase, failed_start);
    tcase_add_test (tcase, answers);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
