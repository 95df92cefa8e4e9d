/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan valgrind */
/* encryption/rot-13 above storage/posix: which bytes change, and whose bytes never change. */
#include "posix_world.h"

/* The text goes into storage/posix's volume: this ends it, and begins the next. */
#define ROT13(options) \
    "end-volume\nvolume rot-13\ntype encryption/rot-13\n" options "subvolumes posix\n"
#define ROT13_TWICE \
    ROT13 ("") "end-volume\nvolume again\ntype encryption/rot-13\nsubvolumes rot-13\n"

/* The content of the directory after text is written, and the result of a read if the directory
 * contains text. */
static const struct {
    const char *options, *text, *stored, *read;
} rot13_directions[] = {
    { ROT13 (""), "hello", "uryyb", "uryyb" },
    { ROT13 ("option encrypt-write off\n"), "hello", "hello", "uryyb" },
    { ROT13 ("option decrypt-read off\n"), "hello", "uryyb", "hello" },
    { ROT13 ("option encrypt-write no\noption decrypt-read no\n"), "hello", "hello", "hello" },
    { ROT13 ("option pass-through on\n"), "hello", "hello", "hello" },
    { ROT13_TWICE, "hello", "hello", "hello" },
};

static char *
rot13_stored (const struct world *w, const char *name, gsize *ret_size)
{
    g_autofree char *path = world_path (w, name);
    char *bytes;

    ck_assert (g_file_get_contents (path, &bytes, ret_size, NULL));
    return bytes;
}

START_TEST (each_direction)
{
    struct world w = posix_world_begin (rot13_directions[_i].options);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_int_eq (world_write (&w, fd, rot13_directions[_i].text, 0), 5);
    g_autofree char *inside = rot13_stored (&w, "f", NULL);
    ck_assert_str_eq (inside, rot13_directions[_i].stored);

    g_autofree char *path = world_path (&w, "f");
    ck_assert (g_file_set_contents_full (path, "hello", 5, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
    g_autofree char *outside = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (outside, rot13_directions[_i].read);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* Every byte value, at every alignment of the vectorised loop. */
START_TEST (only_letters_turn)
{
    struct world w = posix_world_begin (ROT13 (""));
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    unsigned char all[256 + 32];
    gsize size;

    for (size_t i = 0; i < sizeof all; i++)
        all[i] = i;
    for (size_t skip = 0; skip < 32; skip++) {
        struct iovec vector[] = { { all + skip, 100 }, { all + skip + 100, 156 } };
        ck_assert_int_eq (sync_writev (w.client, fd, vector, 2, 0, 0, NULL, NULL, NULL), 256);
        g_autofree char *inside = rot13_stored (&w, "f", &size);
        ck_assert_uint_eq (size, 256);
        for (size_t i = 0; i < size; i++) {
            unsigned char c = i + skip, base = g_ascii_isupper (c) ? 'A' : 'a';
            ck_assert_uint_eq ((unsigned char) inside[i],
                               g_ascii_isalpha (c) ? base + (c - base + 13) % 26 : c);
        }
    }
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* _i: the number of references in addition to the caller's. */
START_TEST (bytes_that_somebody_holds_stay_as_they_are)
{
    struct world w = posix_world_begin (ROT13 (""));
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);
    struct iobuf *iobuf = iobuf_new (5);
    struct iobref *iobref = iobref_new ();
    struct iovec vector = { iobuf->ptr, 5 };

    memcpy (iobuf->ptr, "hello", 5);
    ck_assert_int_eq (iobref_add (iobref, iobuf), 0);
    iobuf_unref (iobuf);
    for (int i = 0; i < _i; i++)
        iobref_ref (iobref);
    ck_assert_int_eq (sync_writev (w.client, fd, &vector, 1, 0, 0, iobref, NULL, NULL), 5);
    g_autofree char *inside = rot13_stored (&w, "f", NULL);
    ck_assert_str_eq (inside, "uryyb");
    ck_assert_int_eq (memcmp (iobuf->ptr, _i ? "hello" : "uryyb", 5), 0);
    for (int i = 0; i < _i; i++)
        iobref_unref (iobref);
    iobref_unref (iobref);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

/* A copy inside the directory gives the same result as read and write, or is refused, so that the
 * caller reads and writes. */
START_TEST (copies)
{
    const bool mirrored = _i == 0;
    struct world w = posix_world_begin (mirrored ? ROT13 ("")
                                                 : ROT13 ("option decrypt-read off\n"));
    fd_t *from = world_create (&w, w.root, "from", O_RDWR, 0644),
         *to = world_create (&w, w.root, "to", O_RDWR, 0644);

    ck_assert_int_eq (world_write (&w, from, "hello", 0), 5);
    ck_assert_int_eq (sync_copy_file_range (w.client, from, 0, to, 0, 5, 0, NULL, NULL),
                      mirrored ? 5 : -EOPNOTSUPP);
    g_autofree char *inside = rot13_stored (&w, "to", NULL);
    ck_assert_str_eq (inside, mirrored ? "uryyb" : "");
    fd_unref (from);
    fd_unref (to);
    posix_world_end (&w);
}
END_TEST

START_TEST (failures_come_through)
{
    struct world w = posix_world_begin (ROT13 (""));
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR, 0644);

    ck_assert_int_eq (world_write (&w, fd, "hello", -1), -EINVAL);
    ck_assert_int_eq (world_write (&w, fd, "", 0), 0);
    g_autofree char *nothing = world_read (&w, fd, 100, 0);
    ck_assert_str_eq (nothing, "");
    ck_assert_int_eq (w.r, 0);
    fd_unref (fd);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_rot13)
{
    Suite *suite = suite_create ("rot-13");
    TCase *tcase = tcase_create ("rot-13");

    tcase_add_loop_test (tcase, each_direction, 0, G_N_ELEMENTS (rot13_directions));
    tcase_add_test (tcase, only_letters_turn);
    tcase_add_loop_test (tcase, bytes_that_somebody_holds_stay_as_they_are, 0, 3);
    tcase_add_loop_test (tcase, copies, 0, 2);
    tcase_add_test (tcase, failures_come_through);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
