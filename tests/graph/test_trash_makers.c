/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* features/trash remembers who has made a file where that decides what is kept: not in layout
 * gluster. */
#include "posix_world.h"

#define OVER_POSIX                                                                                 \
    "end-volume\nvolume trash\ntype features/trash\nsubvolumes posix\noption trash on\n"           \
    "option layout "

static bool
is_remembered (const char *layout)
{
    g_autofree char *volumes = g_strconcat (OVER_POSIX, layout, "\n", NULL);
    struct world w = posix_world_begin (volumes);
    fd_t *fd = world_create (&w, w.root, "f", O_RDWR | O_EXCL, 0644);
    const bool is = inode_ctx_get (fd->inode, w.graph->top) || fd_ctx_get (fd, w.graph->top);

    fd_unref (fd);
    posix_world_end (&w);
    return is;
}

START_TEST (makers_count_in_one_layout)
{
    ck_assert (is_remembered ("freedesktop"));
    ck_assert (!is_remembered ("gluster"));
}
END_TEST

TEST_PROGRAM (test_trash_makers)
{
    Suite *suite = suite_create ("trash_makers");
    TCase *tcase = tcase_create ("trash_makers");

    tcase_add_test (tcase, makers_count_in_one_layout);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
