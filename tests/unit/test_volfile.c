/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* The grammar of volfiles, and the message and position for each kind of error. */
#include "graph/graph.h"

#include "../program.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A malformed file, with the problems that it must have, in this order. */
struct malformed {
    const char *text;
    struct {
        int line, column;
        const char *part; /* of the message */
    } problems[6];
};

#define BRICK "volume b\n type storage/posix\n option directory /d\nend-volume\n" /* 4 lines */

static const struct malformed volfile_malformed[] = {
    { "", { { 0, 0, "no volume is defined" } } },
    { " \t\r\n# nothing\n", { { 0, 0, "no volume is defined" } } },
    { "\xef\xbb\xbf", { { 0, 0, "no volume is defined" } } },
    { "volume", { { 1, 1, "'volume NAME'" }, { 1, 1, "no 'end-volume'" }, { 1, 1, "no type" } } },
    { "volume x\nend-volume", { { 1, 8, "volume 'x': no type" } } },
    { "volume x\n type a/b\n", { { 1, 8, "volume 'x': no 'end-volume' before the end" } } },
    { "volume x\n type a/b\nvolume y\n type a/b\nend-volume\n",
      { { 1, 8, "no 'end-volume' before the next volume, at line 3" } } },
    { BRICK BRICK, { { 5, 8, "volume 'b': defined again, first at line 1" } } },
    { "volume x\n type a/b\n type a/c\nend-volume",
      { { 3, 2, "a second type, the first is at line 2" } } },
    { BRICK "volume x\n type a/b\n subvolumes b\n subvolumes b\nend-volume",
      { { 8, 2, "a second 'subvolumes'" } } },
    { "volume x\n type a/b\n option k v\n option k w\nend-volume",
      { { 4, 9, "option 'k' is set again, first at line 3" } } },
    { "volume x\n type a/b\n option k\nend-volume",
      { { 3, 2, "volume 'x': incomplete, must be 'option KEY VALUE'" } } },
    { "volume x\n type a/b\n option\nend-volume", { { 3, 2, "'option KEY VALUE'" } } },
    { "volume x\n type a/b\n option k end-volume", { { 3, 2, "'option KEY VALUE'" } } },
    { "volume x\n type a/b\n option k volume\nend-volume", { { 3, 11, "'volume' is a keyword" } } },
    { "volume x\n type a/b\n option type v\nend-volume", { { 3, 9, "'type' is a keyword" } } },
    { "volume type\n type a/b\nend-volume", { { 1, 8, "'type' is a keyword" } } },
    { "volume x\n type\nend-volume", { { 2, 2, "'type CATEGORY/NAME'" } } },
    { "volume x\n type a/b\n subvolumes\nend-volume", { { 3, 2, "'subvolumes NAME [NAME...]'" } } },
    { "volume x\n option k v\n type a/b\nend-volume", { { 2, 2, "option 'k' before the type" } } },
    { "volume x\n type a/b\n optoin k v\nend-volume",
      { { 3, 2,
          "unknown statement 'optoin': must be type, option, subvolumes or end-volume; did you "
          "mean 'option'?" } } },
    { "volume x\n type a/b c\nend-volume",
      { { 2, 11, "stray word 'c': a value with spaces must be in quotes" } } },
    { "volume x {\n type a/b\n}\nend-volume",
      { { 1, 10, "stray '{': a volfile has no braces, a volume ends with 'end-volume'" },
        { 3, 1, "stray '}': a volfile has no braces" } } },
    { "volume x\n type a/b\n option k = /v w\nend-volume",
      { { 3, 11, "no '=' belongs between an option's key and its value: 'option k /v'" } } },
    { "volume x\n type a/b\n Option k v\nend-volume", { { 3, 2, "'Option'" } } },
    { "foo\n" BRICK, { { 1, 1, "unknown statement 'foo' outside of a volume" } } },
    { "Volume b\n type a/b\nend-volume",
      { { 1, 1, "did you mean 'volume'?" },
        { 2, 2, "'type' outside" },
        { 3, 1, "'end-volume' outside" } } },
    { BRICK "type a/b", { { 5, 1, "'type' outside of a volume" } } },
    { BRICK "option a b", { { 5, 1, "'option' outside of a volume" } } },
    { BRICK "end-volume\nfoo",
      { { 5, 1, "'end-volume' outside of a volume" }, { 6, 1, "'foo'" } } },
    { BRICK "volume x\n type a/b\n subvolumes c\nend-volume",
      { { 7, 13, "volume 'x': subvolume 'c' is not defined" } } },
    { "volume brick\n type a/b\nend-volume volume x type a/b\n subvolumes brikc\nend-volume",
      { { 4, 13, "subvolume 'brikc' is not defined; did you mean 'brick'?" } } },
    { "volume x\n type a/b\n subvolumes b\nend-volume\n" BRICK,
      { { 3, 13, "subvolume 'b' is defined later, at line 5: define it before 'x'" } } },
    { "volume x\n type a/b\n subvolumes x\nend-volume",
      { { 3, 13, "can't be a subvolume of itself" } } },
    { "volume x type a/b subvolumes y end-volume\nvolume y type a/b subvolumes x end-volume",
      { { 1, 30, "subvolume 'y' (line 2) stands on 'x' itself: the volumes form a circle" } } },
    { "volume x type a/b subvolumes y end-volume\nvolume z type a/b subvolumes x end-volume\n"
      "volume y type a/b subvolumes z end-volume",
      { { 1, 30, "subvolume 'y' (line 3) stands on 'x' itself: the volumes form a circle" } } },
    { BRICK "volume x\n type a/b\n subvolumes y\nend-volume\nvolume y\n type a/b\n subvolumes "
            "b\nend-volume",
      { { 7, 13, "subvolume 'y' is defined later, at line 9: define it before 'x'" } } },
    { "// one volume\n" BRICK "/* volume */\n",
      { { 1, 1, "'//': a comment begins with '#'" }, { 6, 1, "'/*': a comment" } } },
    { "volume x\n type a/b // type of x\nend-volume",
      { { 2, 11, "'//': a comment begins with '#'" } } },
    { "volume x\n type a/b\n option k\u00a0v\nend-volume",
      { { 3, 10, "a space that doesn't separate words (U+00A0): write an ordinary one" } } },
    { "volume x\n type a/b\n option k\u200b v\nend-volume", { { 3, 10, "(U+200B)" } } },
    { BRICK "volume x\n type a/b\n subvolumes b b\nend-volume",
      { { 7, 15, "subvolume 'b' is named twice" } } },
    { "volume x\n type mount/fuse\nend-volume",
      { { 2, 7, "type 'mount/fuse' can't be in a volfile" } } },
    { "volume x\n type posix\nend-volume", { { 2, 7, "type 'posix' must be CATEGORY/NAME" } } },
    { "volume x\n type ../a\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume x\n type a/..\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume x\n type a/b/c\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume x\n type /a/b\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume x\n type a/\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume x\n type a/b..c\nend-volume", { { 2, 7, "must be CATEGORY/NAME" } } },
    { "volume a/b\n type a/b\nend-volume", { { 1, 8, "'a/b' can't be a volume's name" } } },
    { "volume \"\"\n type a/b\nend-volume", { { 1, 8, "'' can't be a volume's name" } } },
    { "volume ..\n type a/b\nend-volume", { { 1, 8, "'..' can't be a volume's name" } } },
    { "volume \"a b\"\n type a/b\nend-volume", { { 1, 8, "can't be a volume's name" } } },
    { "volume a\x1b[31m\n type a/b\nend-volume",
      { { 1, 8, "'a\\x1b[31m' can't be a volume's name" } } },
    { "volume x\n type a/b\n option k `date`\nend-volume",
      { { 3, 11, "shell commands are never run from a volfile" } } },
    { "volume x\n type a/b\n option k `date -u \"+%s\"`\nend-volume",
      { { 3, 11, "shell commands are never run" } } },
    { "volume x\n type a/b\n option k `date\nend-volume",
      { { 3, 11, "shell commands are never run" } } },
    { "volume x\n type a/b\n option k \"`date`\"\nend-volume",
      { { 3, 12, "shell commands are never run" } } },
    { "volume x\n type a/b\n option k \"abc\nend-volume",
      { { 3, 11, "the '\"' is not closed on its line" } } },
    { "volume x\n type a/b\n option k \"abc",
      { { 1, 8, "no 'end-volume'" }, { 3, 11, "not closed" } } },
    { "volume x\n type a/b\n option k \"abc\\",
      { { 1, 8, "no 'end-volume'" }, { 3, 11, "not closed" } } },
    { "volume x\n type a/b\n option k a\\b\nend-volume",
      { { 3, 12, "a '\\' outside of quotes" } } },
    { "volume x\n type a/b\n option k a\"b c\"\nend-volume",
      { { 3, 12, "quotes must enclose a whole word" } } },
    { "volume x\n type a/b\n option k \"a\"b\nend-volume",
      { { 3, 14, "quotes must enclose a whole word" } } },
    { "volume x\n typ a/b\nend-volume\nvolume y\n type a/b\n option k\nend-volume\nvolume z\n type "
      "a/b\n subvolumes q\nend-volume",
      { { 1, 8, "no type" },
        { 2, 2, "did you mean 'type'" },
        { 6, 2, "incomplete" },
        { 10, 13, "not defined" } } },
};

static void
volfile_check_problems (const struct volfile *volfile, const struct malformed *wanted)
{
    const size_t max = G_N_ELEMENTS (wanted->problems);
    size_t n = 0;

    while (n < max && wanted->problems[n].part)
        n++;
    for (guint i = 0; i < volfile->problems->len; i++) {
        const struct problem *got = volfile->problems->pdata[i];

        ck_assert_msg (i < n, "one more problem: %d:%d: %s", got->line, got->column, got->text);
        ck_assert_msg (got->line == wanted->problems[i].line
                           && got->column == wanted->problems[i].column
                           && strstr (got->text, wanted->problems[i].part),
                       "got %d:%d: %s\nnot %d:%d: %s", got->line, got->column, got->text,
                       wanted->problems[i].line, wanted->problems[i].column,
                       wanted->problems[i].part);
    }
    ck_assert_uint_eq (volfile->problems->len, n);
    ck_assert (volfile_has_errors (volfile));
}

START_TEST (each_malformed)
{
    const struct malformed *wanted = &volfile_malformed[_i];
    struct volfile *volfile = volfile_parse ("x.vol", wanted->text, strlen (wanted->text));

    volfile_check_problems (volfile, wanted);
    volfile_free (volfile);
}
END_TEST

START_TEST (nul_bytes)
{
    static const char text[] =
        "volume x\n type `a/b`\n option k a\0b\0c\n option l \"\0\"\nend-volume";
    struct volfile *volfile = volfile_parse ("x.vol", text, sizeof text - 1);

    volfile_check_problems (volfile,
                            &(struct malformed){ "",
                                                 { { 3, 12, "not text: there is a NUL byte" } } });
    volfile_free (volfile);
}
END_TEST

START_TEST (well_formed)
{
    static const char text[] = "# comment\n"
                               "volume my-posix\r\n"
                               "\ttype storage/posix # comment\n"
                               "  option directory \"/srv/a \\\"b\\\" \\\\ \\`c\\`\"#comment\n"
                               "  option a#b c#d\n"
                               "  option keyword \"volume\" option\n empty \"\"\n"
                               "end-volume\n"
                               "volume second type x/y end-volume\n"
                               "volume top\n type a/b\n subvolumeS my-posix\n second\nend-volume";
    static const char *const options[][2] = {
        { "directory", "/srv/a \"b\" \\ `c`" }, { "a#b", "c#d" }, { "keyword", "volume" },
        { "empty", "" },
    };
    struct volfile *volfile = volfile_parse ("x.vol", text, strlen (text));
    const struct volfile_volume *first, *top;

    ck_assert_uint_eq (volfile->problems->len, 0);
    ck_assert_uint_eq (volfile->volumes->len, 3);
    first = volfile->volumes->pdata[0];
    top = volfile->volumes->pdata[2];
    ck_assert_str_eq (first->name, "my-posix");
    ck_assert_int_eq (first->line, 2);
    ck_assert_int_eq (first->column, 8);
    ck_assert_str_eq (first->type, "storage/posix");
    ck_assert_uint_eq (first->options->len, G_N_ELEMENTS (options));
    for (size_t i = 0; i < G_N_ELEMENTS (options); i++) {
        const struct volfile_option *option = first->options->pdata[i];

        ck_assert_str_eq (option->key, options[i][0]);
        ck_assert_str_eq (option->value, options[i][1]);
    }
    ck_assert_uint_eq (top->subvolumes->len, 2);
    ck_assert_str_eq (((struct volfile_word *) top->subvolumes->pdata[1])->text, "second");
    volfile_free (volfile);
}
END_TEST

START_TEST (many_errors)
{
    g_autoptr (GString) text = g_string_new (NULL);
    struct volfile *volfile;
    const struct problem *last;

    for (int i = 0; i < 1000; i++)
        g_string_append (text, "volume a/b type end-volume\n");
    volfile = volfile_parse ("x.vol", text->str, text->len);
    ck_assert_uint_eq (volfile->problems->len, 101);
    ck_assert (volfile_has_errors (volfile));
    last = volfile->problems->pdata[100];
    ck_assert_ptr_nonnull (last);
    volfile_free (volfile);
}
END_TEST

/* A file that is truncated at any place causes no crash. */
START_TEST (each_prefix)
{
    static const char text[] = BRICK "volume x # c\n type \"a/b\"\n option k `x` \\ \"a\\\"b\" "
                                     "\"volume\nsubvolumes b x\nend-volume";

    for (size_t size = 0; size <= sizeof text; size++)
        volfile_free (volfile_parse ("x.vol", text, size));
}
END_TEST

START_TEST (long_words)
{
    g_autofree char *name = g_strnfill (300, 'n');
    g_autofree char *value = g_strnfill (1 << 20, 'v');
    g_autofree char *text =
        g_strdup_printf ("volume %s\n type a/b\n option k %s %s\nend-volume", name, value, value);
    struct volfile *volfile = volfile_parse ("x.vol", text, strlen (text));

    ck_assert_uint_eq (volfile->problems->len, 2);
    for (guint i = 0; i < 2; i++)
        ck_assert_uint_lt (strlen (((struct problem *) volfile->problems->pdata[i])->text), 1100);
    volfile_free (volfile);
}
END_TEST

START_TEST (reading)
{
    char path[] = "/tmp/windlass-test-XXXXXX";
    const int fd = mkstemp (path);
    g_autofree char *error = NULL, *folder = NULL;
    struct volfile *volfile;

    ck_assert_int_ge (fd, 0);
    ck_assert_int_eq (write (fd, BRICK, strlen (BRICK)), (int) strlen (BRICK));
    volfile = volfile_read (path, &error);
    unlink (path);
    ck_assert_ptr_nonnull (volfile);
    ck_assert_uint_eq (volfile->volumes->len, 1);
    ck_assert_str_eq (volfile->path, path);
    volfile_free (volfile);
    ck_assert_ptr_null (volfile_read (path, &error));
    ck_assert_ptr_nonnull (strstr (error, "can't be read: No such file or directory"));
    ck_assert_ptr_null (volfile_read ("/", &folder));
    ck_assert_ptr_nonnull (strstr (folder, "Is a directory"));
    close (fd);
}
END_TEST

START_TEST (too_large)
{
    char path[] = "/tmp/windlass-test-XXXXXX";
    const int fd = mkstemp (path);
    g_autofree char *error = NULL;

    ck_assert_int_ge (fd, 0);
    ck_assert_int_eq (ftruncate (fd, 17 << 20), 0);
    ck_assert_ptr_null (volfile_read (path, &error));
    unlink (path);
    close (fd);
    ck_assert_ptr_nonnull (strstr (error, "larger than 16MB"));
}
END_TEST

TEST_PROGRAM (test_volfile)
{
    Suite *suite = suite_create ("volfile");
    TCase *tcase = tcase_create ("grammar");

    tcase_add_loop_test (tcase, each_malformed, 0, G_N_ELEMENTS (volfile_malformed));
    tcase_add_test (tcase, nul_bytes);
    tcase_add_test (tcase, well_formed);
    tcase_add_test (tcase, many_errors);
    tcase_add_test (tcase, each_prefix);
    tcase_add_test (tcase, long_words);
    tcase_add_test (tcase, reading);
    tcase_add_test (tcase, too_large);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
