/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* The protocol of the control socket, and the mounts in mountinfo. */
#include "control/control.h"

#include "../program.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REQUEST "WLRQ" "\0\0\0\1"

static int
control_test_parse (const void *bytes, size_t size, struct control_request *request, char **error)
{
    /* On the heap without spare bytes, so that a sanitizer detects reads beyond the end. */
    g_autofree void *copy = g_memdup2 (bytes, size);

    *error = NULL;
    return control_parse (copy, size, request, error);
}

static void
check_refused (const void *bytes, size_t size, int expected, const char *part)
{
    struct control_request request = { 0 };
    g_autofree char *error = NULL;
    int r = control_test_parse (bytes, size, &request, &error);

    ck_assert_int_eq (r, expected);
    ck_assert_msg (error && strstr (error, part), "got '%s', not '%s'", error, part);
    ck_assert_ptr_null (request.command);
}

static GBytes *
pack (const char *command, const char *target, const char *input, size_t size, char **error)
{
    g_autoptr (GBytes) bytes = g_bytes_new (input, size);
    const struct control_request request = { (char *) command, (char *) target, bytes };

    *error = NULL;
    return control_pack (&request, error);
}

START_TEST (request_comes_back)
{
    static const struct { const char *command, *target, *input; size_t size; } cases[] = {
        { "reload", "", "", 0 }, { "rules", "debug/fault", "a\0b\n", 4 },
        { "x", "volume of blanks \xc3\xa4\xff", "", 0 },
    };
    g_autofree char *error = NULL;
    g_autoptr (GBytes)
        bytes = pack (cases[_i].command, cases[_i].target, cases[_i].input, cases[_i].size, &error);
    struct control_request request = { 0 };
    gsize size, input;
    const char *data = g_bytes_get_data (bytes, &size);

    /* Each prefix is incomplete, but not invalid. */
    for (gsize n = 0; n < size; n++) {
        ck_assert_int_eq (control_test_parse (data, n, &request, &error), -EAGAIN);
        ck_assert_ptr_null (error);
    }
    ck_assert_int_eq (control_test_parse (data, size, &request, &error), 0);
    ck_assert_str_eq (request.command, cases[_i].command);
    ck_assert_str_eq (request.target, cases[_i].target);
    data = g_bytes_get_data (request.input, &input); /* NULL if it is empty */
    ck_assert_uint_eq (input, cases[_i].size);
    ck_assert (input == 0 || memcmp (data, cases[_i].input, input) == 0);
    control_request_clear (&request);
}
END_TEST

static const struct {
    const char *bytes;
    size_t size;
    int r;
    const char *part;
} control_test_malformed[] = {
#define CASE(bytes_, r_, part_) { bytes_, sizeof bytes_ - 1, r_, part_ }
    CASE ("GET / HTTP/1.1\r\n\r\n", -EINVAL, "not a message of Windlass"),
    CASE ("G", -EINVAL, "not a message of Windlass"),
    CASE ("WLAN" "\0\0\0\1" "\0\0\0\5" "\0\1\0\0x", -EINVAL, "not a message"),
    CASE ("WLRQ" "\0\0\0\2" "\0\0\0\5", -EPROTO, "version 2, must be 1"),
    CASE (REQUEST "\0\0\0\3" "\0\1\0", -EINVAL, "has 3 bytes, must be 4 to"),
    CASE (REQUEST "\0\0\0\0", -EINVAL, "has 0 bytes"),
    CASE (REQUEST "\0\xff\xff\xf5", -EINVAL, "must be 4 to 1048564"),
    CASE (REQUEST "\xff\xff\xff\xff", -EINVAL, "must be 4 to 1048564"),
    CASE (REQUEST "\0\0\0\5" "\0\1\0\0xy", -EINVAL, "1 bytes follow"),
    CASE (REQUEST "\0\0\0\4" "\0\0\0\0", -EINVAL, "the command's name must be 1 to 255"),
    CASE (REQUEST "\0\0\0\5" "\0\2\0\0x", -EINVAL, "the names have 2 bytes, but the message has 1"),
    CASE (REQUEST "\0\0\0\5" "\0\1\0\1x", -EINVAL, "the names have 2 bytes, but the message has 1"),
    CASE (REQUEST "\0\0\0\5" "\xff\xff\xff\xffx", -EINVAL, "the names have 131070 bytes"),
    CASE (REQUEST "\0\0\0\6" "\0\2\0\0x\0", -EINVAL, "the command's name"),
    CASE (REQUEST "\0\0\0\6" "\0\2\0\0x ", -EINVAL, "the command's name"),
    CASE (REQUEST "\0\0\0\6" "\0\2\0\0x\xe4", -EINVAL, "the command's name"),
    CASE (REQUEST "\0\0\0\6" "\0\1\0\1x\0", -EINVAL, "the name of a volume or type"),
    CASE (REQUEST "\0\0\0\6" "\0\1\0\1x\n", -EINVAL, "the name of a volume or type"),
#undef CASE
};

START_TEST (malformed_requests_are_refused)
{
    check_refused (control_test_malformed[_i].bytes, control_test_malformed[_i].size,
                   control_test_malformed[_i].r, control_test_malformed[_i].part);
}
END_TEST

START_TEST (limits_are_kept)
{
    g_autofree char *error = NULL, *name = g_strnfill (256, 'n');
    g_autofree char *input = g_malloc0 (CONTROL_REQUEST_MAX);
    g_autoptr (GBytes) largest = pack ("x", "", input, CONTROL_REQUEST_MAX - 17, &error);
    GByteArray *longer = g_byte_array_new ();
    static const guint8 head[] = REQUEST "\0\0\1\4\1\0\0\0";

    ck_assert_ptr_nonnull (largest);
    ck_assert_uint_eq (g_bytes_get_size (largest), CONTROL_REQUEST_MAX);
    ck_assert_ptr_null (pack ("x", "", input, CONTROL_REQUEST_MAX - 16, &error));
    ck_assert_msg (strstr (error, "the input has 1048560 bytes, must be less than 1048560"), "%s",
                   error);
    g_clear_pointer (&error, g_free);
    ck_assert_ptr_null (pack (name, "", "", 0, &error));
    g_clear_pointer (&error, g_free);
    ck_assert_ptr_null (pack ("x", name, "", 0, &error));
    g_byte_array_append (longer, head, sizeof head - 1);
    g_byte_array_append (longer, (const guint8 *) name, 256);
    check_refused (longer->data, longer->len, -EINVAL, "the command's name");
    g_byte_array_unref (longer);
}
END_TEST

/* Any bytes give a result. The seed is fixed; CONTROL_SEED sets another. */
START_TEST (control_test_any_bytes_are_judged)
{
    const char *text = g_getenv ("CONTROL_SEED");
    const guint32 seed = text ? strtoul (text, NULL, 0) : 20261121;
    g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

    printf ("CONTROL_SEED=%u\n", seed);
    for (int turn = 0; turn < 20000; turn++) {
        struct control_request request = { 0 };
        g_autofree char *error = NULL;
        guint8 bytes[64] = REQUEST;
        size_t size = g_rand_int_range (rand, 0, sizeof bytes + 1);
        int r;

        for (size_t i = turn % 4 ? 8 : 0; i < sizeof bytes; i++)
            bytes[i] = g_rand_int_range (rand, 0, turn % 2 ? 256 : 4);
        bytes[11] = turn % 4 > 1 && size >= 12 ? size - 12 : bytes[11];
        r = control_test_parse (bytes, size, &request, &error);
        ck_assert (r == 0 || r == -EAGAIN || r == -EINVAL || r == -EPROTO);
        ck_assert_int_eq (error != NULL, r != 0 && r != -EAGAIN);
        ck_assert_int_eq (request.command != NULL, r == 0);
        control_request_clear (&request);
    }
}
END_TEST

START_TEST (answer_comes_back)
{
    g_autoptr (GString) text = g_string_new_len ("a\0b", 3), got = g_string_new (NULL);
    g_autoptr (GBytes) bytes = control_pack_answer (_i ? -ENOENT : 0, text);
    g_autofree char *error = NULL;
    gsize size;
    const char *data = g_bytes_get_data (bytes, &size);
    int status = 1;

    for (gsize n = 0; n < size; n++)
        ck_assert_int_eq (control_parse_answer (data, n, &status, got, &error), -EAGAIN);
    ck_assert_int_eq (control_parse_answer (data, size, &status, got, &error), 0);
    ck_assert_int_eq (status, _i ? -ENOENT : 0);
    ck_assert_mem_eq (got->str, "a\0b", 3);
    ck_assert_int_eq (control_parse_answer ("\0", 1, &status, got, &error), -EINVAL);
}
END_TEST

/* --- mountinfo --- */

static const char mountinfo[] = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                                "40 21 0:50 / /srv/a rw,nosuid - fuse.windlass old.vol "
                                "rw,user_id=0,group_id=0,default_permissions\n"
                                "41 21 0:51 / /srv/with\\040blank rw shared:2 master:1 - "
                                "fuse.windlass my\\040file.vol rw,user_id=1000,group_id=1000\n"
                                "42 21 0:52 / /srv/a rw - fuse.windlass new.vol rw,user_id=7\n"
                                "43 21 0:53 / /srv/a/b/c rw - tmpfs tmpfs rw\n"
                                "44 nonsense\n"
                                "45 21 x:y / /srv/bad rw - fuse.windlass x rw\n"
                                "46 21 0:54 / /srv/short rw - fuse.windlass x\n";

START_TEST (topmost_mount_is_found)
{
    struct mount mount = { 0 };

    ck_assert (mount_find (mountinfo, "/srv/a", &mount));
    ck_assert_uint_eq (mount.minor, 52);
    ck_assert_int_eq (mount.user_id, 7);
    mount_clear (&mount);
    ck_assert (mount_find (mountinfo, "/srv/with blank", &mount));
    ck_assert_str_eq (mount.type, "fuse.windlass");
    ck_assert_str_eq (mount.source, "my file.vol");
    ck_assert_int_eq (mount.user_id, 1000);
    mount_clear (&mount);
    ck_assert (mount_find (mountinfo, "/", &mount));
    ck_assert_uint_eq (mount.major, 8);
    ck_assert_int_eq (mount.user_id, -1);
    mount_clear (&mount);
    ck_assert (!mount_find (mountinfo, "/srv", &mount));
    ck_assert (!mount_find (mountinfo, "/srv/bad", &mount));
    ck_assert (!mount_find (mountinfo, "/srv/short", &mount));
    ck_assert (!mount_find ("", "/", &mount));
}
END_TEST

START_TEST (mount_point_is_found_from_outside)
{
    static const struct { const char *path, *found, *part; } cases[] = {
        { "/srv/a", "/srv/a", NULL },
        { "//srv/./a//", "/srv/a", NULL },
        { "/srv/a/b/c", "/srv/a/b/c", NULL },
        { "/srv/x/../with blank/", "/srv/with blank", NULL },
        { "/srv/a/file", NULL, "'/srv/a/file' is not a mount point, but in one: '/srv/a'" },
        { "/srv/with blank/x/y", NULL, "not a mount point, but in one" },
        { "/..", "/", NULL },
        { "/srv/a/.", "/srv/a", NULL },
        { "/srv/a/./", "/srv/a", NULL },
        { "/srv/a/../a", "/srv/a", NULL },
        { "/srv/a/.././a//.", "/srv/a", NULL },
        { "/srv/a/./b/c/", "/srv/a/b/c", NULL },
        { "/srv/a/b/..", NULL, "not a mount point, but in one: '/srv/a'" },
        { "/srv/a/...", NULL, "'/srv/a/...' is not a mount point, but in one: '/srv/a'" },
    };
    g_autofree char *error = NULL;
    g_autofree char *found = mount_path (mountinfo, cases[_i].path, &error);

    ck_assert_msg (g_strcmp0 (found, cases[_i].found) == 0, "got '%s', %s", found, error);
    ck_assert_msg (!cases[_i].part || strstr (error, cases[_i].part), "%s", error);
}
END_TEST

START_TEST (links_lead_to_the_mount_point)
{
    g_autofree char *dir = g_dir_make_tmp ("windlass-XXXXXX", NULL);
    g_autofree char *link = g_build_filename (dir, "link", NULL),
                    *loop = g_build_filename (dir, "loop", NULL);
    g_autofree char *error = NULL, *found = NULL, *none = NULL,
                    *up = g_build_filename (link, "a", NULL);

    ck_assert_int_eq (symlink ("/srv", link), 0);
    ck_assert_int_eq (symlink ("loop", loop), 0);
    found = mount_path (mountinfo, up, &error);
    none = mount_path (mountinfo, loop, &error);
    unlink (link);
    unlink (loop);
    rmdir (dir);
    ck_assert_str_eq (found, "/srv/a");
    ck_assert_ptr_null (none);
    ck_assert_msg (strstr (error, "too many symbolic links"), "%s", error);
}
END_TEST

/* A request begins with the start of a piece; an answer begins with the start of the next piece. */
START_TEST (pieces_say_where_they_begin)
{
    static const struct { const char *input, *where, *rest; } cases[] = {
        { "", "", "" }, { "\n", "", "" }, { "12 3\n", "12 3", "" }, { "12", "12", "" },
        { "\nall of it\n", "", "all of it\n" },
    };
    g_autoptr (GBytes) input = g_bytes_new_static (cases[_i].input, strlen (cases[_i].input)),
                       rest = NULL;
    g_autofree char *where = control_piece_where (input, &rest);
    g_autoptr (GString) answer = g_string_new ("data\n");

    ck_assert_str_eq (where, cases[_i].where);
    ck_assert_uint_eq (g_bytes_get_size (rest), strlen (cases[_i].rest));
    ck_assert (*cases[_i].rest == '\0'
               || memcmp (g_bytes_get_data (rest, NULL), cases[_i].rest, strlen (cases[_i].rest))
                      == 0);
    control_piece_next (answer, *where ? where : NULL);
    ck_assert_str_eq (answer->str + strlen (where), "\ndata\n");
    ck_assert (g_str_has_prefix (answer->str, where));
}
END_TEST

TEST_PROGRAM (test_control)
{
    Suite *suite = suite_create ("control");
    TCase *bytes = tcase_create ("bytes"), *mounts = tcase_create ("mounts");

    tcase_add_loop_test (bytes, request_comes_back, 0, 3);
    tcase_add_loop_test (bytes, malformed_requests_are_refused, 0,
                         G_N_ELEMENTS (control_test_malformed));
    tcase_add_test (bytes, limits_are_kept);
    tcase_add_test (bytes, control_test_any_bytes_are_judged);
    tcase_add_loop_test (bytes, answer_comes_back, 0, 2);
    tcase_add_loop_test (bytes, pieces_say_where_they_begin, 0, 5);
    suite_add_tcase (suite, bytes);
    tcase_add_test (mounts, topmost_mount_is_found);
    tcase_add_loop_test (mounts, mount_point_is_found_from_outside, 0, 14);
    tcase_add_test (mounts, links_lead_to_the_mount_point);
    suite_add_tcase (suite, mounts);
    return suite_run (suite);
}
