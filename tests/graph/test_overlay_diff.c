/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the layers of an overlay change (xlators/cluster/overlay/diff), read from directories as
 * the kernel's overlayfs writes them, in both forms of its marks. */
#include "posix_world.h"

#include "../../xlators/cluster/overlay/diff/print.h"

#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define LAYERS_MAX 3
#define OLD 1000000000 /* time of the files */

/* Layers, the topmost first. */
struct diff_world {
    unsigned n;
    struct world worlds[LAYERS_MAX];
    struct diff_layer layers[LAYERS_MAX];
    const char *form; /* "trusted" or "user" */
    GString *told;
};

static void
diff_world_begin (struct diff_world *w, unsigned n, const char *form)
{
    *w = (struct diff_world){ .n = n, .form = form, .told = g_string_new (NULL) };
    for (unsigned i = 0; i < n; i++) {
        w->worlds[i] = posix_world_begin ("");
        w->layers[i] = (struct diff_layer){ w->worlds[i].client, &w->worlds[i].graph->fd_maker,
                                            w->worlds[i].root, false };
    }
}

static void
diff_world_end (struct diff_world *w)
{
    for (unsigned i = 0; i < w->n; i++)
        posix_world_end (&w->worlds[i]);
    g_string_free (w->told, TRUE);
}

/* --- layers ----------------------------------------------------------------------------------- */

static char *
layer_path (const struct diff_world *w, unsigned layer, const char *name)
{
    return world_path (&w->worlds[layer], name);
}

static void
layer_set_time (const struct diff_world *w, unsigned layer, const char *name, time_t time)
{
    g_autofree char *path = layer_path (w, layer, name);
    const struct timespec times[] = { { time, 0 }, { time, 0 } };

    ck_assert_int_eq (utimensat (AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW), 0);
}

static void
layer_write (const struct diff_world *w, unsigned layer, const char *name, const char *text)
{
    g_autofree char *path = layer_path (w, layer, name);

    ck_assert (g_file_set_contents (path, text, -1, NULL));
    ck_assert_int_eq (chmod (path, 0644), 0);
    layer_set_time (w, layer, name, OLD);
}

static void
layer_mkdir (const struct diff_world *w, unsigned layer, const char *name)
{
    g_autofree char *path = layer_path (w, layer, name);

    ck_assert_int_eq (mkdir (path, 0755), 0);
}

static void
layer_mark (const struct diff_world *w, unsigned layer, const char *name, const char *mark,
            const char *value)
{
    g_autofree char *path = layer_path (w, layer, name);
    g_autofree char *key = g_strdup_printf ("%s.overlay.%s", w->form, mark);

    ck_assert_int_eq (setxattr (path, key, value, strlen (value), 0), 0);
}

/* A user can make no device: then an empty file has a mark. */
static void
layer_whiteout (const struct diff_world *w, unsigned layer, const char *name)
{
    g_autofree char *path = layer_path (w, layer, name);

    if (strcmp (w->form, "trusted") == 0) {
        ck_assert_int_eq (mknod (path, S_IFCHR, makedev (0, 0)), 0);
        return;
    }
    layer_write (w, layer, name, "");
    layer_mark (w, layer, name, "whiteout", "y");
}

/* --- what is told ----------------------------------------------------------------------------- */

static int
told_append (const struct diff_change *change, void *data)
{
    struct diff_world *w = data;

    g_string_append_printf (w->told, "%c %s", change->kind, change->path);
    if (change->from)
        g_string_append_printf (w->told, " <- %s", change->from);
    g_string_append_printf (w->told, "%s%s%s%s%s\n", change->what & DIFF_CONTENT ? " content" : "",
                            change->what & DIFF_MODE ? " mode" : "",
                            change->what & DIFF_OWNER ? " owner" : "",
                            change->what & DIFF_XATTRS ? " xattrs" : "",
                            change->what & DIFF_TIMES ? " times" : "");
    return 0;
}

static void
assert_told (struct diff_world *w, char **paths, const char *expected)
{
    const struct diff_plan plan = { .layers = w->layers, .n_layers = w->n, .paths = paths,
                                    .pairs = true, .fn = told_append, .data = w };

    g_string_truncate (w->told, 0);
    ck_assert_int_eq (diff_walk (&plan), 0);
    ck_assert_str_eq (w->told->str, expected);
}

static const char *const diff_forms[] = { "user", "trusted" };
#define DIFF_FORMS (geteuid () == 0 ? 2 : 1)

/* --- one layer below -------------------------------------------------------------------------- */

START_TEST (files_are_added_modified_and_deleted)
{
    struct diff_world w;
    g_autofree char *mode = NULL, *link = NULL, *other_link = NULL, *kind = NULL;

    diff_world_begin (&w, 2, diff_forms[_i]);
    for (unsigned i = 0; i < 2; i++) {
        layer_write (&w, i, "same", "same");
        layer_write (&w, i, "size", i == 0 ? "longer" : "text");
        layer_write (&w, i, "bytes", i == 0 ? "tixt" : "text");
        layer_write (&w, i, "mode", "text");
        layer_write (&w, i, "xattr", "text");
        layer_write (&w, i, "time", "text");
    }
    layer_set_time (&w, 0, "time", OLD + 1);
    layer_set_time (&w, 0, "bytes", OLD + 1);
    layer_write (&w, 0, "new", "text");
    layer_write (&w, 1, "gone", "text");
    layer_write (&w, 1, "below", "text");
    layer_whiteout (&w, 0, "gone");
    layer_whiteout (&w, 0, "needless");
    layer_mark (&w, 0, "same", "origin", "whatever");
    mode = layer_path (&w, 0, "mode");
    ck_assert_int_eq (chmod (mode, 0600), 0);
    link = layer_path (&w, 0, "link");
    other_link = layer_path (&w, 1, "link");
    ck_assert_int_eq (symlink ("one", link), 0);
    ck_assert_int_eq (symlink ("two", other_link), 0);
    layer_set_time (&w, 0, "link", OLD);
    kind = layer_path (&w, 0, "kind");
    ck_assert_int_eq (symlink ("one", kind), 0);
    layer_write (&w, 1, "kind", "text");
    g_autofree char *xattr = layer_path (&w, 0, "xattr");
    ck_assert_int_eq (setxattr (xattr, "user.note", "1", 1, 0), 0);
    assert_told (&w, NULL,
                 "M /bytes content\nD /gone\nT /kind\nM /link content\nM /mode mode\nA /new\n"
                 "M /size content\nM /time times\nM /xattr xattrs\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (directories_are_merged_replaced_and_removed)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    for (unsigned i = 0; i < 2; i++) {
        layer_mkdir (&w, i, "merged");
        layer_mkdir (&w, i, "replaced");
    }
    layer_write (&w, 0, "merged/new", "");
    layer_write (&w, 1, "merged/below", "");
    layer_mark (&w, 0, "replaced", "opaque", "y");
    layer_write (&w, 0, "replaced/both", "new");
    layer_write (&w, 1, "replaced/both", "old");
    layer_write (&w, 1, "replaced/gone", "");
    for (unsigned i = 0; i < 2; i++)
        layer_mkdir (&w, i, "replaced/in");
    layer_write (&w, 1, "replaced/in/gone", "");
    layer_mkdir (&w, 1, "removed");
    layer_write (&w, 1, "removed/file", "");
    layer_whiteout (&w, 0, "removed");
    layer_mkdir (&w, 0, "fresh");
    layer_mkdir (&w, 0, "fresh/deep");
    layer_write (&w, 0, "fresh/deep/file", "");
    layer_write (&w, 1, "turned", "");
    layer_mkdir (&w, 0, "turned");
    layer_write (&w, 0, "turned/file", "");
    assert_told (&w, NULL,
                 "A /fresh\nD /removed\nT /turned\nA /fresh/deep\nA /fresh/deep/file\n"
                 "A /merged/new\nM /replaced/both content\nD /replaced/gone\nD /replaced/in/gone\n"
                 "A /turned/file\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (a_time_of_a_directory_counts_if_no_name_explains_it)
{
    static const char *const names[] = { "set", "set/below", "moved", "named", "same" };
    struct diff_world w;

    diff_world_begin (&w, 2, "user");
    for (unsigned i = 0; i < 2; i++)
        for (size_t name = 0; name < G_N_ELEMENTS (names); name++)
            layer_mkdir (&w, i, names[name]);
    for (unsigned i = 0; i < 2; i++)
        for (size_t name = 0; name < G_N_ELEMENTS (names); name++)
            layer_set_time (&w, i, names[name], OLD);
    layer_set_time (&w, 0, "set", OLD + 1);
    layer_write (&w, 0, "moved/in", "in"); /* its time is that of this change */
    layer_write (&w, 0, "named/in", "in");
    layer_set_time (&w, 0, "named", OLD + 1);
    assert_told (&w, NULL, "M /set times\nA /moved/in\nA /named/in\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (a_redirect_is_a_rename_and_what_is_in_it_is_compared_there)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    layer_mkdir (&w, 1, "a");
    layer_mkdir (&w, 1, "a/old");
    layer_write (&w, 1, "a/old/file", "old");
    layer_write (&w, 1, "a/old/gone", "");
    layer_mkdir (&w, 0, "a");
    layer_whiteout (&w, 0, "a/old");
    layer_mkdir (&w, 0, "new");
    layer_mark (&w, 0, "new", "redirect", "/a/old");
    layer_write (&w, 0, "new/file", "new");
    layer_whiteout (&w, 0, "new/gone");
    layer_mkdir (&w, 1, "beside");
    layer_whiteout (&w, 0, "beside");
    layer_mkdir (&w, 0, "besides");
    layer_mark (&w, 0, "besides", "redirect", "beside");
    layer_set_time (&w, 0, "besides", OLD);
    layer_set_time (&w, 1, "beside", OLD);
    assert_told (&w, NULL,
                 "R /besides <- /beside\nR /new <- /a/old\nM /new/file content\n"
                 "D /new/gone\n");
    assert_told (&w, (char *[]){ (char *) "/beside", (char *) "/a", NULL },
                 "R /besides <- /beside\nR /new <- /a/old\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (one_half_of_a_rename_is_told_with_the_other_one)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    for (unsigned i = 0; i < 2; i++)
        layer_mkdir (&w, i, "a");
    layer_mkdir (&w, 1, "a/old");
    layer_mkdir (&w, 1, "a/old/in");
    layer_mkdir (&w, 1, "gone");
    layer_whiteout (&w, 0, "gone");
    layer_whiteout (&w, 0, "a/old");
    layer_mkdir (&w, 0, "b");
    layer_mkdir (&w, 0, "b/new");
    layer_mark (&w, 0, "b/new", "redirect", "/a/old");
    layer_whiteout (&w, 0, "b/new/in");
    layer_mkdir (&w, 0, "c");
    layer_mark (&w, 0, "c", "redirect", "/a/old/in");
    layer_set_time (&w, 0, "c", OLD);
    layer_set_time (&w, 1, "a/old/in", OLD);
    g_autofree char *mode = layer_path (&w, 0, "b/new");
    ck_assert_int_eq (chmod (mode, 0700), 0);
    assert_told (&w, NULL,
                 "A /b\nR /c <- /a/old/in\nD /gone\nR /b/new <- /a/old mode\n");
    assert_told (&w, (char *[]){ (char *) "/a/old", NULL },
                 "R /c <- /a/old/in\nR /b/new <- /a/old mode\n");
    assert_told (&w, (char *[]){ (char *) "/a/old/in", NULL }, "R /c <- /a/old/in\n");
    assert_told (&w, (char *[]){ (char *) "/a/old", (char *) "/b/new", NULL },
                 "R /c <- /a/old/in\nR /b/new <- /a/old mode\n");
    assert_told (&w, (char *[]){ (char *) "/b/new", NULL }, "R /b/new <- /a/old mode\n");
    assert_told (&w, (char *[]){ (char *) "/gone", NULL }, "D /gone\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (what_takes_the_old_name_of_a_renamed_directory_is_new)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    layer_mkdir (&w, 1, "a");
    layer_write (&w, 1, "a/file", "");
    layer_mkdir (&w, 0, "a");
    layer_mark (&w, 0, "a", "opaque", "y");
    layer_write (&w, 0, "a/new", "");
    layer_mkdir (&w, 0, "b");
    layer_mark (&w, 0, "b", "redirect", "a");
    layer_mkdir (&w, 1, "c");
    layer_write (&w, 0, "c", "");
    layer_mkdir (&w, 0, "d");
    layer_mark (&w, 0, "d", "redirect", "c");
    layer_set_time (&w, 0, "b", OLD);
    layer_set_time (&w, 1, "a", OLD);
    layer_set_time (&w, 0, "d", OLD);
    layer_set_time (&w, 1, "c", OLD);
    assert_told (&w, NULL, "A /a\nR /b <- /a\nA /c\nR /d <- /c\nA /a/new\n");
    assert_told (&w, (char *[]){ (char *) "/a", NULL }, "A /a\nR /b <- /a\nA /a/new\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (what_a_renamed_directory_has_replaced_is_told)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    for (const char *const *name = (const char *[]){ "a", "b", "c", "d", "f", NULL }; *name; name++)
        layer_mkdir (&w, 1, *name);
    layer_write (&w, 1, "b/file", "");
    for (const char *const *name = (const char *[]){ "a", "b", "c", "d", "f", NULL }; *name; name++)
        layer_set_time (&w, 1, *name, OLD);
    layer_write (&w, 1, "e", "");
    for (const char *const *name = (const char *[]){ "a", "f", NULL }; *name; name++)
        layer_whiteout (&w, 0, *name);
    for (const char *const *name = (const char *[]){ "b", "c", "d", "e", NULL }; *name; name++)
        layer_mkdir (&w, 0, *name);
    layer_mark (&w, 0, "b", "redirect", "a");
    layer_mark (&w, 0, "c", "redirect", "d"); /* c and d have changed places */
    layer_mark (&w, 0, "d", "redirect", "c");
    layer_mark (&w, 0, "e", "redirect", "f");
    for (const char *const *name = (const char *[]){ "b", "c", "d", "e", NULL }; *name; name++)
        layer_set_time (&w, 0, *name, OLD);
    assert_told (&w, NULL,
                 "D /b\nR /b <- /a\nR /c <- /d\nR /d <- /c\nD /e\nR /e <- /f\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (a_directory_that_was_renamed_back_is_the_same)
{
    static const char *const names[] = { "a/sub", "a", "b", "d/sub", "d" };
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    for (unsigned i = 0; i < 2; i++)
        for (size_t name = G_N_ELEMENTS (names); name-- > 0;)
            layer_mkdir (&w, i, names[name]);
    layer_write (&w, 1, "a/file", "old");
    for (unsigned i = 0; i < 2; i++)
        for (size_t name = 0; name < G_N_ELEMENTS (names); name++)
            layer_set_time (&w, i, names[name], OLD);
    layer_mark (&w, 0, "a", "redirect", "a");
    layer_mark (&w, 0, "a/sub", "redirect", "/a/sub");
    layer_mark (&w, 0, "b", "redirect", "/b");
    assert_told (&w, NULL, "");
    layer_write (&w, 0, "a/file", "new");
    g_autofree char *mode = layer_path (&w, 0, "b");
    ck_assert_int_eq (chmod (mode, 0700), 0);
    assert_told (&w, NULL, "M /b mode\nM /a/file content\n");
    /* It has come back to a directory of the same name that was made anew. */
    layer_mark (&w, 0, "d", "opaque", "y");
    layer_mark (&w, 0, "d/sub", "redirect", "/d/sub");
    layer_mkdir (&w, 0, "e");
    layer_mark (&w, 0, "e", "redirect", "d");
    layer_whiteout (&w, 0, "e/sub");
    assert_told (&w, NULL,
                 "M /b mode\nA /d\nR /e <- /d\nM /a/file content\nR /d/sub <- /d/sub\n");
    diff_world_end (&w);
}
END_TEST

START_TEST (only_the_paths_that_are_asked_for_are_told)
{
    struct diff_world w;

    diff_world_begin (&w, 2, diff_forms[_i]);
    layer_mkdir (&w, 0, "a");
    layer_mkdir (&w, 0, "a/b");
    layer_write (&w, 0, "a/b/file", "");
    layer_write (&w, 0, "a/bc", "");
    layer_write (&w, 0, "other", "");
    layer_write (&w, 0, "blank ", "");
    assert_told (&w, (char *[]){ (char *) "/blank ", NULL }, "A /blank \n");
    assert_told (&w, (char *[]){ (char *) "/a/b", NULL }, "A /a/b\nA /a/b/file\n");
    assert_told (&w, (char *[]){ (char *) "/a/bc", (char *) "/other", NULL },
                 "A /other\nA /a/bc\n");
    assert_told (&w, (char *[]){ (char *) "/missing", NULL }, "");
    assert_told (&w, (char *[]){ (char *) "/", NULL },
                 "A /a\nA /blank \nA /other\nA /a/b\nA /a/bc\nA /a/b/file\n");
    diff_world_end (&w);
}
END_TEST

/* --- several layers below --------------------------------------------------------------------- */

START_TEST (layers_below_are_merged_as_the_overlay_merges_them)
{
    struct diff_world w;

    diff_world_begin (&w, 3, diff_forms[_i]);
    layer_mkdir (&w, 2, "dir");
    layer_write (&w, 2, "dir/deep", "deep");
    layer_write (&w, 2, "dir/gone", "");
    layer_write (&w, 2, "hidden", "");
    layer_mkdir (&w, 2, "old");
    layer_write (&w, 2, "old/file", "file");
    layer_mkdir (&w, 1, "dir");
    layer_whiteout (&w, 1, "dir/gone");
    layer_whiteout (&w, 1, "hidden");
    layer_mkdir (&w, 1, "moved");
    layer_mark (&w, 1, "moved", "redirect", "/old");
    layer_whiteout (&w, 1, "old");
    layer_mkdir (&w, 0, "dir");
    layer_write (&w, 0, "dir/deep", "changed");
    layer_write (&w, 0, "dir/gone", "");
    layer_whiteout (&w, 0, "hidden");
    layer_mkdir (&w, 0, "moved");
    layer_write (&w, 0, "moved/file", "changed");
    assert_told (&w, NULL, "M /dir/deep content\nA /dir/gone\nM /moved/file content\n");
    diff_world_end (&w);
}
END_TEST

/* --- how it is printed ------------------------------------------------------------------------ */

struct printing {
    enum diff_style style;
    GString *out;
};

static int
printing_append (const struct diff_change *change, void *data)
{
    const struct printing *printing = data;

    return diff_print (change, printing->style, printing->out);
}

static char *
printed_diff (const struct diff_world *w, enum diff_style style)
{
    struct printing printing = { style, g_string_new (NULL) };
    const struct diff_plan plan = { .layers = w->layers, .n_layers = w->n, .fn = printing_append,
                                    .data = &printing };

    ck_assert_int_eq (diff_walk (&plan), 0);
    return g_string_free (printing.out, FALSE);
}

START_TEST (changes_are_printed_as_lines_as_letters_and_as_json)
{
    struct diff_world w;
    g_autofree char *lines = NULL, *letters = NULL, *json = NULL, *mode = NULL;

    diff_world_begin (&w, 2, "user");
    layer_write (&w, 1, "file", "text");
    layer_write (&w, 0, "file", "changed");
    mode = layer_path (&w, 0, "file");
    ck_assert_int_eq (chmod (mode, 0600), 0);
    layer_mkdir (&w, 1, "old");
    layer_mkdir (&w, 0, "new\n");
    layer_mark (&w, 0, "new\n", "redirect", "old");
    layer_write (&w, 1, "kind", "");
    layer_mkdir (&w, 0, "kind");
    lines = printed_diff (&w, DIFF_LINES);
    ck_assert_str_eq (lines, "changed  /file (content, mode 0644 -> 0600)\n"
                             "changed  /kind/ (was a file, is a directory)\n"
                             "renamed  /old/ -> /new\\x0a/\n");
    letters = printed_diff (&w, DIFF_NAME_STATUS);
    ck_assert_str_eq (letters, "M\tfile\nT\tkind\nR\told\tnew\\x0a\n");
    json = printed_diff (&w, DIFF_JSON);
    ck_assert_ptr_nonnull (strstr (json, "\"path_encoded\": \"/new%0A\""));
    ck_assert_ptr_nonnull (strstr (json, "\"mode\": \"0600\""));
    diff_world_end (&w);
}
END_TEST

START_TEST (a_patch_has_the_lines_of_text_and_tells_the_rest)
{
    struct diff_world w;
    g_autofree char *patch = NULL;

    diff_world_begin (&w, 2, "user");
    layer_write (&w, 1, "file", "one\ntwo\nthree\n");
    layer_write (&w, 0, "file", "one\n2\nthree\nfour");
    layer_write (&w, 1, "bytes", "a\xff");
    layer_write (&w, 0, "bytes", "b\xff");
    layer_write (&w, 0, "new", "new\n");
    layer_write (&w, 1, "gone", "gone\n");
    layer_whiteout (&w, 0, "gone");
    patch = printed_diff (&w, DIFF_PATCH);
    ck_assert_str_eq (patch, "# changed  /bytes (content)\n"
                             "# its content is not text, or is too large\n"
                             "# changed  /file (content)\n"
                             "--- a/file\n+++ b/file\n@@ -1,3 +1,4 @@\n"
                             " one\n-two\n+2\n three\n+four\n"
                             "\\ No newline at end of file\n"
                             "# removed  /gone\n"
                             "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
                             "# added    /new\n"
                             "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n");
    diff_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_overlay_diff)
{
    Suite *suite = suite_create ("overlay diff");
    TCase *tcase = tcase_create ("diff");

    tcase_add_loop_test (tcase, files_are_added_modified_and_deleted, 0, DIFF_FORMS);
    tcase_add_test (tcase, a_time_of_a_directory_counts_if_no_name_explains_it);
    tcase_add_loop_test (tcase, directories_are_merged_replaced_and_removed, 0, DIFF_FORMS);
    tcase_add_loop_test (tcase, a_redirect_is_a_rename_and_what_is_in_it_is_compared_there, 0,
                         DIFF_FORMS);
    tcase_add_loop_test (tcase, one_half_of_a_rename_is_told_with_the_other_one, 0, DIFF_FORMS);
    tcase_add_loop_test (tcase, what_takes_the_old_name_of_a_renamed_directory_is_new, 0,
                         DIFF_FORMS);
    tcase_add_loop_test (tcase, what_a_renamed_directory_has_replaced_is_told, 0, DIFF_FORMS);
    tcase_add_loop_test (tcase, a_directory_that_was_renamed_back_is_the_same, 0, DIFF_FORMS);
    tcase_add_loop_test (tcase, only_the_paths_that_are_asked_for_are_told, 0, DIFF_FORMS);
    tcase_add_loop_test (tcase, layers_below_are_merged_as_the_overlay_merges_them, 0, DIFF_FORMS);
    tcase_add_test (tcase, changes_are_printed_as_lines_as_letters_and_as_json);
    tcase_add_test (tcase, a_patch_has_the_lines_of_text_and_tells_the_rest);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
