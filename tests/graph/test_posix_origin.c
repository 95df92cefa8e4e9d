/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files by origin: the virtual attribute of storage/posix, and the lookup by its bytes. */
#include "core/data/file-system.h"
#include "core/data/origin.h"
#include "posix_world.h"

#define ORIGIN_FOLDER "/dev/shm" /* tmpfs has file handles, and since Linux 6.10 a UUID */

/* Returns the origin's size, or the error. */
static int
origin_of (struct world *w, inode_t *inode, unsigned char bytes[ORIGIN_MAX])
{
    g_auto (loc_t) loc = { .inode = inode };
    struct getxattr_reply reply;
    const void *value;
    size_t size = 0;
    int r = sync_getxattr (w->client, &loc, XDATA_ORIGIN, NULL, &reply);

    if (r >= 0) {
        value = dict_get (reply.dict, XDATA_ORIGIN, &size);
        ck_assert_ptr_nonnull (value);
        ck_assert_uint_le (size, ORIGIN_MAX);
        memcpy (bytes, value, size);
    }
    getxattr_reply_drop (&reply);
    return r < 0 ? r : (int) size;
}

/* Returns the inode that the answer has, as the table knows it, with a reference; or NULL, with the
 * error in w->r. */
static inode_t *
origin_look (struct world *w, const unsigned char *bytes, size_t size)
{
    g_autoptr (inode_t) fresh = inode_new (w->graph->itable);
    g_autoptr (dict_t) xdata = dict_new ();
    g_auto (loc_t) loc = { .inode = fresh };
    struct lookup_reply reply;
    inode_t *inode = NULL;

    dict_set (xdata, XDATA_ORIGIN, bytes, size);
    w->r = sync_lookup (w->client, &loc, xdata, &reply);
    if (w->r >= 0)
        inode = inode_link (reply.inode, NULL, NULL, &reply.buf);
    lookup_reply_drop (&reply);
    return inode;
}

static inode_t *
origin_file (struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);

    ck_assert (g_file_set_contents (path, name, -1, NULL));
    return posix_world_look (w, w->root, name);
}

START_TEST (a_file_is_found_by_its_origin_wherever_it_is)
{
    g_auto (world) w = posix_world_begin (world_modes[0]);
    g_autoptr (inode_t) file = origin_file (&w, "file"), dir = world_mkdir (&w, w.root, "d", 0755);
    g_autoptr (inode_t) found = NULL, found_dir = NULL, found_root = NULL, unknown = NULL;
    unsigned char bytes[ORIGIN_MAX];
    gfid_t gfid = file->gfid;
    int size = origin_of (&w, file, bytes);

    ck_assert_int_gt (size, ORIGIN_HEAD);
    ck_assert_int_eq (world_rename (&w, w.root, "file", dir, "moved", 0), 0);
    found = origin_look (&w, bytes, (size_t) size);
    ck_assert_ptr_eq (found, file);
    g_clear_pointer (&found, inode_unref);
    inode_unlink (dir, "moved"); /* nobody knows the name any more */
    g_clear_pointer (&file, inode_unref);
    unknown = inode_find (w.graph->itable, &gfid);
    ck_assert_ptr_null (unknown);
    found = origin_look (&w, bytes, (size_t) size);
    ck_assert_ptr_nonnull (found);
    ck_assert (gfid_equal (&found->gfid, &gfid));
    size = origin_of (&w, dir, bytes);
    found_dir = origin_look (&w, bytes, (size_t) size);
    ck_assert_ptr_eq (found_dir, dir);
    size = origin_of (&w, w.root, bytes);
    found_root = origin_look (&w, bytes, (size_t) size);
    ck_assert_ptr_eq (found_root, w.root);
}
END_TEST

START_TEST (what_is_gone_or_elsewhere_is_not_found)
{
    g_auto (world) w = posix_world_begin (world_modes[0]);
    g_auto (world) other = posix_world_begin (world_modes[0]);
    g_autoptr (inode_t) dir = world_mkdir (&other, other.root, "d", 0755);
    g_autofree char *path = world_path (&w, "file");
    unsigned char bytes[ORIGIN_MAX];
    inode_t *file = origin_file (&w, "file");
    int size = origin_of (&w, file, bytes);

    ck_assert_int_eq (unlink (path), 0);
    inode_unlink (w.root, "file");
    inode_unref (file);
    ck_assert_ptr_null (origin_look (&w, bytes, (size_t) size));
    ck_assert_int_eq (w.r, -ESTALE);
    size = origin_of (&other, dir, bytes); /* on the same file system, outside of the root */
    ck_assert_ptr_null (origin_look (&w, bytes, (size_t) size));
    ck_assert_int_eq (w.r, -ESTALE);
    bytes[5] ^= 1; /* of another file system */
    ck_assert_ptr_null (origin_look (&w, bytes, (size_t) size));
    ck_assert_int_eq (w.r, -EXDEV);
    bytes[1] = 0;
    ck_assert_ptr_null (origin_look (&w, bytes, (size_t) size));
    ck_assert_int_eq (w.r, -EINVAL);
    ck_assert_ptr_null (origin_look (&w, bytes, 0));
    ck_assert_int_eq (w.r, -EINVAL);
}
END_TEST

START_TEST (without_handles_the_attribute_is_there_and_the_lookup_is_refused)
{
    g_auto (world) w = posix_world_begin (world_modes[1]);
    g_autoptr (inode_t) file = origin_file (&w, "file");
    unsigned char bytes[ORIGIN_MAX];
    int size = origin_of (&w, file, bytes);

    ck_assert_int_gt (size, ORIGIN_HEAD);
    ck_assert_ptr_null (origin_look (&w, bytes, (size_t) size));
    ck_assert_int_eq (w.r, -EOPNOTSUPP);
}
END_TEST

static bool
origin_can_be (void)
{
    const int dir = open (ORIGIN_FOLDER, O_RDONLY | O_DIRECTORY);
    unsigned char uuid[16];
    const bool can = dir >= 0 && geteuid () == 0 && file_system_uuid (dir, uuid);

    if (dir >= 0)
        close (dir);
    return can;
}

TEST_PROGRAM (test_posix_origin)
{
    Suite *suite = suite_create ("posix_origin");
    TCase *tcase = tcase_create ("posix_origin");

    if (!origin_can_be ()) {
        puts (ORIGIN_FOLDER " has no UUID, or the user is not root");
        return 77;
    }
    g_setenv ("TMPDIR", ORIGIN_FOLDER, true);
    tcase_add_test (tcase, a_file_is_found_by_its_origin_wherever_it_is);
    tcase_add_test (tcase, what_is_gone_or_elsewhere_is_not_found);
    tcase_add_test (tcase, without_handles_the_attribute_is_there_and_the_lookup_is_refused);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
