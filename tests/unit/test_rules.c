/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* Rules, as debug/fault has them: which are accepted, which are refused and where; and a printed
 * rule parses to the same rule. */
#include "../../xlators/debug/fault/rules.h"

#include "../program.h"
#include <string.h>

static struct rules *
rules_test_parse (const char *text, char **ret_error)
{
    *ret_error = NULL;
    return rules_parse (text, strlen (text), "f.rules", &fault_grammar, ret_error);
}

/* Returns the printed form of a line; the same text if it is already in that form. */
static const struct {
    const char *text, *printed;
} rules_test_good[] = {
    { "fsync -> error EIO", NULL },
    { "fsync path \"*.db-journal\" nth 3 -> error EIO", NULL },
    { "FSYNC Path *.db-journal->error eio # why", "fsync path \"*.db-journal\" -> error EIO" },
    { "writev uid 1000 every 10 -> short 512", NULL },
    { "readv offset 4096..8191 probability 1% seed 7 -> flip",
      "readv offset 4096..8191 probability 1% seed 7 -> flip 1" },
    { "writev path \"/db/*\" -> torn 4096 then error EIO", NULL },
    { "writev -> torn", NULL },
    { "open,create process \"sqlite3\" -> delay 100ms",
      "open,create process \"sqlite3\" -> delay 100ms" },
    { "open process \"abcdefghijkl*[!]a]*\\\\?[\" -> hang", NULL },
    { "READ , WRITE size 1.. -> delay 1500us then hang name stuck then error ENOSPC",
      "readv,writev size 1.. -> delay 1500us then hang name stuck then error ENOSPC" },
    { "* gid 0 pid 1..9 after 5 times 2 -> hang", NULL },
    { "sync-ops -> delay 60m", "flush,fsync,fsyncdir -> delay 3600s" },
    { "lookup volume \"fault\" probability 1e-05% -> error EWOULDBLOCK",
      "lookup volume \"fault\" probability 1e-05% -> error EAGAIN" },
    { "lookup path \"a\\\\b \\\"c\\\" # d\" -> error EACCES", NULL },
    { "lookup seed 18446744073709551615 -> error ENOENT", NULL },
    { "unlink OWNER 1000.. Type file,symlink -> hang",
      "unlink owner 1000.. type file,symlink -> hang" },
    { "open mode 644 -> hang", "open mode 0644 -> hang" },
    { "open mode -4000 -> hang", NULL },
    { "open owner 0 type character mode /0022 times 3 -> hang", NULL },
};

START_TEST (what_is_printed_reads_the_same)
{
    g_autoptr (GString) once = g_string_new (NULL), twice = g_string_new (NULL);
    const char *expected = rules_test_good[_i].printed ? rules_test_good[_i].printed
                                                       : rules_test_good[_i].text;
    g_autofree char *error = NULL;
    struct rules *rules = rules_test_parse (rules_test_good[_i].text, &error);

    ck_assert_msg (rules && rules->n == 1, "'%s': %s", rules_test_good[_i].text, error);
    rule_print (&rules->rules[0], once);
    ck_assert_str_eq (once->str, expected);
    rules_free (rules);
    rules = rules_test_parse (once->str, &error);
    ck_assert_msg (rules && rules->n == 1, "'%s': %s", once->str, error);
    rule_print (&rules->rules[0], twice);
    ck_assert_str_eq (twice->str, once->str);
    rules_free (rules);
}
END_TEST

static const struct {
    const char *text, *error;
} rules_test_bad[] = {
    { "fsnyc -> error EIO", "f.rules:1:1: expected an operation such as fsync, read-ops, "
                            "write-ops, sync-ops or *, got 'fsnyc'; did you mean 'fsync'?" },
    { "\n\nfsync pth x -> error EIO",
      "f.rules:3:7: expected '->', or path, process, volume, uid, gid, pid, offset, size, owner, "
      "type, mode, after, nth, every, probability, seed or times, got 'pth'; did you mean "
      "'path'?" },
    { "fsync -> eror EIO", "f.rules:1:10: expected error, delay, hang, short, flip or torn, got "
                           "'eror'; did you mean 'error'?" },
    { "fsync -> error EI0",
      "f.rules:1:16: expected the name of an error such as EIO, got 'EI0'; did you mean 'EIO'?" },
    { "fsync -> error",
      "f.rules:1:15: expected the name of an error such as EIO, the line ends here" },
    { "fsync", "f.rules:1:6: expected '->', or path, process, volume, uid, gid, pid, offset, size, "
               "owner, type, mode, after, nth, every, probability, seed or times, the line ends "
               "here" },
    { "fsync,-> error EIO", "f.rules:1:7: expected an operation such as fsync, read-ops, "
                            "write-ops, sync-ops or *, got '->'" },
    { "fsync path \"x -> error EIO",
      "f.rules:1:12: the text that begins here has no '\"' at its end" },
    { "fsync path \"\" -> error EIO", "f.rules:1:12: a text must not be empty" },
    { "fsync path -> error EIO", "f.rules:1:12: expected path, got '->'" },
    { "fsync nth 0 -> error EIO",
      "f.rules:1:11: nth must be a whole number, 1 to 9223372036854775807, got '0'" },
    { "fsync nth 1 nth 2 -> error EIO", "f.rules:1:13: 'nth' is there twice" },
    { "fsync path a path b -> error EIO", "f.rules:1:14: 'path' is there twice" },
    { "fsync offset 9..3 -> error EIO", "f.rules:1:14: offset must be a number such as 4096, or a "
                                        "range such as 0..511 or 4096.., got '9..3'" },
    { "fsync uid 99999999999999999999 -> error EIO",
      "f.rules:1:11: uid must be a number such as 4096, or a range such as 0..511 or 4096.., got "
      "'99999999999999999999'" },
    { "fsync probability 101% -> error EIO",
      "f.rules:1:19: probability must be a percentage, 0% to 100%, got '101%'" },
    { "fsync probability 1 -> error EIO",
      "f.rules:1:19: probability must be a percentage, 0% to 100%, got '1'" },
    { "fsync probability -1% -> error EIO",
      "f.rules:1:19: probability must be a percentage, 0% to 100%, got '-1%'" },
    { "fsync probability nan% -> error EIO",
      "f.rules:1:19: probability must be a percentage, 0% to 100%, got 'nan%'" },
    { "open type fiel -> hang",
      "f.rules:1:11: expected a type: file, directory, symlink, block, character, fifo or socket, "
      "got 'fiel'; did you mean 'file'?" },
    { "open type file, -> hang",
      "f.rules:1:17: expected a type: file, directory, symlink, block, character, fifo or socket, "
      "got '->'" },
    { "open mode 8 -> hang",
      "f.rules:1:11: mode must be octal, 0 to 7777: 0644, -4000 (these bits) or /0022 (one of "
      "these), got '8'" },
    { "open mode -> hang",
      "f.rules:1:11: expected a mode such as 0644, -4000 or /0022, got '->'" },
    { "open mode 10000 -> hang",
      "f.rules:1:11: mode must be octal, 0 to 7777: 0644, -4000 (these bits) or /0022 (one of "
      "these), got '10000'" },
    { "open process \"systemd-tmpfiles\" -> hang",
      "f.rules:1:14: the kernel keeps 15 bytes of a process's name, the first ones, and no such "
      "name matches: shorten the pattern" },
    { "open uid 0 process abcdefghijklm*[]a]??n -> hang",
      "f.rules:1:20: the kernel keeps 15 bytes of a process's name, the first ones, and no such "
      "name matches: shorten the pattern" },
    { "fsync -> short 5", "f.rules:1:10: 'short' is for readv and writev alone" },
    { "readv -> torn 5", "f.rules:1:10: 'torn' is for writev alone" },
    { "* -> flip", "f.rules:1:6: 'flip' is for readv and writev alone" },
    { "writev -> short 0", "f.rules:1:17: how many bytes 'short' leaves must be a whole number, 1 "
                           "to 1073741824, got '0'" },
    { "writev -> short",
      "f.rules:1:16: expected how many bytes 'short' leaves, the line ends here" },
    { "writev -> torn 1 then short 1", "f.rules:1:23: only one of short, flip and torn" },
    { "writev -> torn 1 then delay 1s", "f.rules:1:23: 'delay' must come before 'torn'" },
    { "writev -> error EIO then delay 1s", "f.rules:1:26: nothing can come after 'error'" },
    { "open -> delay 1s than error EIO",
      "f.rules:1:18: expected 'then' or the end of the line, got 'than'; did you mean 'then'?" },
    { "open -> delay 2h",
      "f.rules:1:15: a delay must be a time such as 100ms or 2s, at most 60m, got '2h'" },
    { "open -> delay 61m",
      "f.rules:1:15: a delay must be a time such as 100ms or 2s, at most 60m, got '61m'" },
    { "open -> delay 1s then delay 1s then delay 1s then delay 1s then delay 1s",
      "f.rules:1:65: at most 4 things can happen one after the other" },
    { "open -> hang name a/b",
      "f.rules:1:22: the name of what hangs must be of letters, digits, '_', '.' and '-'" },
    { "open path a\x01 -> error EIO", "f.rules:1:11: there must be no control characters" },
    { "opne -> error EIO\nopen -> error EIO\nopen -> eror EIO",
      "f.rules:1:1: expected an operation such as fsync, read-ops, write-ops, sync-ops or *, got "
      "'opne'; did you mean 'open'?\n"
      "f.rules:3:9: expected error, delay, hang, short, flip or torn, got 'eror'; did you mean "
      "'error'?" },
};

START_TEST (what_is_wrong_is_named_with_its_place)
{
    g_autofree char *error = NULL;

    ck_assert_ptr_null (rules_test_parse (rules_test_bad[_i].text, &error));
    ck_assert_str_eq (error, rules_test_bad[_i].error);
}
END_TEST

START_TEST (many_lines)
{
    static const char text[] =
        "# rules\n\n  # more\nopen -> error EIO\r\n\tcreate -> hang\nreadv -> short 1";
    g_autofree char *error = NULL;
    struct rules *rules = rules_test_parse (text, &error);

    ck_assert_msg (rules != NULL, "%s", error);
    ck_assert_uint_eq (rules->n, 3);
    ck_assert_int_eq (rules->rules[0].line, 4);
    ck_assert_int_eq (rules->rules[2].line, 6);
    rules_free (rules);
    rules = rules_parse (NULL, 0, "f", &fault_grammar, &error);
    ck_assert_uint_eq (rules->n, 0);
    rules_free (rules);
}
END_TEST

START_TEST (there_are_limits)
{
    g_autoptr (GString) text = g_string_new (NULL);
    g_autofree char *many = NULL, *large = NULL, *wrong = NULL, *nul = NULL, *errors = NULL;

    for (int i = 0; i < RULES_MAX; i++)
        g_string_append (text, "open -> error EIO\n");
    struct rules *rules = rules_test_parse (text->str, &many);
    ck_assert_uint_eq (rules->n, RULES_MAX);
    rules_free (rules);
    g_string_append (text, "open -> error EIO\n");
    ck_assert_ptr_null (rules_test_parse (text->str, &many));
    ck_assert_str_eq (many, "f.rules:1001:1: a file must have at most 1000 rules");

    g_string_set_size (text, RULES_SIZE_MAX + 1);
    memset (text->str, '\n', text->len);
    ck_assert_ptr_null (rules_parse (text->str, text->len, "f", &fault_grammar, &large));
    ck_assert_str_eq (large, "f: rules must have at most 1048576 bytes, got 1048577");
    ck_assert_ptr_null (rules_parse ("open\0", 5, "f", &fault_grammar, &nul));
    ck_assert_str_eq (nul, "f: rules must be text, but there is a NUL in it");

    memset (text->str, 'x', 5000);
    ck_assert_ptr_null (rules_parse (text->str, 5000, "f", &fault_grammar, &wrong));
    ck_assert_str_eq (wrong, "f:1:1: a word or a text must have at most 4096 bytes, got 5000");

    g_string_truncate (text, 0);
    for (int i = 0; i < 30; i++)
        g_string_append (text, "x\n");
    ck_assert_ptr_null (rules_test_parse (text->str, &errors));
    ck_assert_ptr_nonnull (
        strstr (errors, "\nf.rules: more than 20 lines are wrong: the rest was not read"));
}
END_TEST

/* Any bytes give rules or errors; printed rules parse to the same rules. */
START_TEST (any_bytes)
{
    static const char *const pieces[] = {
        "open", ",",     " ",      "->",    "error", " EIO",         "\n",       "\"",
        "\\",   "path",  "nth 1 ", "#",     "1%",    "probability ", "then",     "delay ",
        "9ms",  "hang ", "name ",  "x",     "\x01",  "\xff",         "*",        "write-ops",
        "-",    "seed",  "0..",    "size ", "torn ", "writev ",      "short 1 ",
    };
    struct random_source chance = { 20261121 };
    unsigned read = 0;

    for (int i = 0; i < 20000; i++) {
        const bool likely = random_once_in (&chance, 2);
        g_autoptr (GString) text = g_string_new (likely ? "writev " : NULL);
        g_autoptr (GString) once = g_string_new (NULL), twice = g_string_new (NULL);
        g_autofree char *error = NULL;

        for (uint64_t n = random_below (&chance, likely ? 4 : 12); n > 0; n--)
            g_string_append (text, pieces[random_below (&chance, G_N_ELEMENTS (pieces))]);
        g_string_append (text, likely ? " -> error EIO" : "");
        struct rules *rules = rules_test_parse (text->str, &error);
        ck_assert (!rules == (error != NULL));
        for (unsigned j = 0; rules && j < rules->n; j++) {
            rule_print (&rules->rules[j], once);
            g_string_append_c (once, '\n');
        }
        read += rules && rules->n > 0;
        rules_free (rules);
        if (error)
            continue;
        rules = rules_test_parse (once->str, &error);
        ck_assert_msg (rules != NULL, "'%s' -> '%s': %s", text->str, once->str, error);
        for (unsigned j = 0; j < rules->n; j++) {
            rule_print (&rules->rules[j], twice);
            g_string_append_c (twice, '\n');
        }
        ck_assert_str_eq (once->str, twice->str);
        rules_free (rules);
    }
    ck_assert_uint_gt (read, 100);
}
END_TEST

TEST_PROGRAM (test_rules)
{
    Suite *suite = suite_create ("rules");
    TCase *tcase = tcase_create ("rules");

    tcase_add_loop_test (tcase, what_is_printed_reads_the_same, 0, G_N_ELEMENTS (rules_test_good));
    tcase_add_loop_test (tcase, what_is_wrong_is_named_with_its_place, 0,
                         G_N_ELEMENTS (rules_test_bad));
    tcase_add_test (tcase, many_lines);
    tcase_add_test (tcase, there_are_limits);
    tcase_add_test (tcase, any_bytes);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
