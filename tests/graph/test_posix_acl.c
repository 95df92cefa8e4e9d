/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/* system/posix-acl: what is cached, when it is dropped, which callers need no ACL, and malformed
 * ACLs. */
#include "posix_world.h"

#include "core/edge/any-fop.h"

#include <sys/xattr.h>

#define ACL_NAME "system.posix_acl_access"
#define OVER(options) "end-volume\nvolume acl\ntype system/posix-acl\n" options "subvolumes posix\n"

/* user::rw-,user:1001:r--,group::---,mask::r--,other::--- */
static const unsigned char for_1001[] = { 2,   0,   0,   0,   1,   0,    6,  0,   255, 255, 255,
                                          255, 2,   0,   4,   0,   0xe9, 3,  0,   0,   4,   0,
                                          0,   0,   255, 255, 255, 255,  16, 0,   4,   0,   255,
                                          255, 255, 255, 32,  0,   0,    0,  255, 255, 255, 255 };

/* --- between it and storage ------------------------------------------------------------------- */

/* Changes answers that contain an ACL, or those to lookups, once. Both edges call this; the lower
 * one comes first. */
static struct {
    bool lookups;        /* false: answers that contain an ACL */
    const void *instead; /* these bytes are the answer */
    size_t size;
    void (*meanwhile) (struct world *w);
    struct world *w;
    bool armed;
} between;

static void
between_any_fop (const struct call *call)
{
    const bool has_acl = call->op == FOP_getxattr && call->name
                         && strcmp (call->name, ACL_NAME) == 0;

    if (between.armed && (between.lookups ? call->op == FOP_lookup : has_acl))
        call_wind (call, FIRST_CHILD (call->this), NULL);
    else
        call_pass (call);
}

static void
between_any_fop_cbk (const struct answer *answer)
{
    g_autoptr (dict_t) dict = dict_new ();
    const bool armed = between.armed;

    between.armed = false;
    if (armed && between.meanwhile)
        between.meanwhile (between.w);
    if (!armed || !between.instead) {
        answer_pass (answer);
        return;
    }
    dict_set (dict, ACL_NAME, between.instead, between.size);
    STACK_UNWIND (getxattr, answer->frame, 0, 0, dict, NULL);
}

static const struct xlator_api between_api = {
    .abi = XLATOR_ABI,
    .type = "test/between",
    .about = "changes an ACL on its way up",
    .children = { .min = 1, .max = 1 },
    .any_fop = between_any_fop,
    .any_fop_cbk = between_any_fop_cbk,
};

/* --- the world -------------------------------------------------------------------------------- */

static struct world
acl_begin (const char *options)
{
    struct world w = { .dir = g_build_filename (g_get_tmp_dir (), "windlass-acl-XXXXXX", NULL) };

    memset (&between, 0, sizeof between);
    ck_assert_ptr_nonnull (g_mkdtemp_full (w.dir, 0755));
    w.graph = posix_world_load (w.dir, options);
    graph_splice (w.graph, &between_api);
    ck_assert_int_eq (graph_activate (w.graph), 0);
    w.client = client_new (w.graph->top);
    w.root = itable_root (w.graph->itable);
    between.w = &w;
    return w;
}

static xlator_t *
translator (const struct world *w)
{
    return graph_find (w->graph, "acl");
}

static unsigned
acl_dumped (const struct world *w, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("\n%s=", key);
    const char *at;

    translator (w)->api->dumpops.priv (translator (w), out);
    at = strstr (out->str, line);
    ck_assert_ptr_nonnull (at);
    return (unsigned) atoi (at + strlen (line));
}

static void
acl_be (struct world *w, uid_t uid)
{
    w->client->uid = w->client->gid = uid;
    w->client->ngroups = 0;
}

/* Returns the result of an open for reading by a user. */
static int
reads (struct world *w, inode_t *inode, uid_t uid)
{
    fd_t *fd;

    acl_be (w, uid);
    fd = world_open (w, inode, O_RDONLY);
    fd_unref (fd);
    acl_be (w, 0);
    return w->r;
}

/* Storage acts as the last caller, also on this thread. Switches back to root before the directory
 * is changed behind storage. */
static void
act_as_root (struct world *w)
{
    loc_t loc = { .inode = w->root };

    acl_be (w, 0);
    ck_assert_int_eq (sync_access (w->client, &loc, R_OK, NULL, NULL), 0);
}

static void
root_sets_mode (struct world *w, inode_t *inode, mode_t mode)
{
    struct client *root = client_new (w->graph->top);
    loc_t loc = { .inode = inode };
    struct iatt to = { .ia_prot = mode };

    ck_assert_int_ge (sync_setattr (root, &loc, &to, IATT_MODE, NULL, NULL), 0);
    client_free (root);
}

static void
root_sets_acl (struct world *w, inode_t *inode, const void *bytes, size_t size)
{
    struct client *root = client_new (w->graph->top);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = inode };

    dict_set (dict, ACL_NAME, bytes, size);
    ck_assert_int_ge (sync_setxattr (root, &loc, dict, 0, NULL, NULL), 0);
    client_free (root);
}

static inode_t *
file_with (struct world *w, mode_t mode)
{
    fd_t *fd;

    acl_be (w, 0);
    fd = world_create (w, w->root, "file", O_RDWR, 0600);
    ck_assert_ptr_nonnull (fd);
    inode_t *inode = inode_ref (fd->inode);
    fd_unref (fd);
    root_sets_mode (w, inode, mode);
    return inode;
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST (asks_once)
{
    struct world w = acl_begin (OVER ("option timeout 1d\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0640);
    unsigned asked;

    root_sets_acl (&w, inode, for_1001, sizeof for_1001);
    ck_assert_int_eq (reads (&w, inode, 1001), 0);
    ck_assert_int_eq (reads (&w, inode, 1002), -EACCES);
    asked = acl_dumped (&w, "asked");
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq (reads (&w, inode, i % 2 ? 1001 : 1002), i % 2 ? 0 : -EACCES);
    ck_assert_uint_eq (acl_dumped (&w, "asked"), asked);
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 51);
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

/* The ACL is not needed for root, for the owner, and if the mode gives no rights to the group. */
START_TEST (asks_for_no_acl_in_vain)
{
    struct world w = acl_begin (OVER (""));
    g_autoptr (inode_t) inode = file_with (&w, 0604);
    loc_t loc = { .inode = inode };
    struct iatt to = { .ia_uid = 1000 };

    ck_assert_int_ge (sync_setattr (w.client, &loc, &to, IATT_UID, NULL, NULL), 0);
    ck_assert_int_eq (reads (&w, inode, 0), 0);
    ck_assert_uint_eq (acl_dumped (&w, "asked"), 0);
    ck_assert_int_eq (reads (&w, inode, 1000), 0);
    ck_assert_int_eq (reads (&w, inode, 1001), 0);
    ck_assert_uint_eq (acl_dumped (&w, "asked"), 1); /* owner and mode */
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (sees_what_changes_through_it_at_once)
{
    struct world w = acl_begin (OVER ("option timeout 1d\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0640);
    loc_t loc = { .inode = inode };

    for (int i = 0; i < 3; i++) {
        root_sets_acl (&w, inode, for_1001, sizeof for_1001);
        ck_assert_int_eq (reads (&w, inode, 1001), 0);
        root_sets_mode (&w, inode, 0600); /* the mask */
        ck_assert_int_eq (reads (&w, inode, 1001), -EACCES);
        root_sets_mode (&w, inode, 0640);
        ck_assert_int_eq (reads (&w, inode, 1001), 0);
        ck_assert_int_eq (sync_removexattr (w.client, &loc, ACL_NAME, NULL, NULL), 0);
        ck_assert_int_eq (reads (&w, inode, 1001), -EACCES);
    }
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

static void
close_file (struct world *w)
{
    g_autoptr (inode_t) inode = inode_grep (w->root, "file");

    root_sets_mode (w, inode, 0600);
}

/* An ACL that was requested before a change and answered after it is used for this decision
 * only. */
START_TEST (keeps_nothing_that_changed_on_its_way)
{
    struct world w = acl_begin (OVER ("option timeout 1d\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0640);

    between.w = &w;
    root_sets_acl (&w, inode, for_1001, sizeof for_1001);
    between.meanwhile = close_file;
    between.armed = true;
    ck_assert_int_eq (reads (&w, inode, 1001), -EACCES); /* decided again with the new ACL */
    ck_assert (!between.armed);
    ck_assert_int_eq (reads (&w, inode, 1001), -EACCES);
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

/* Another caller looks the name up and renames the file. */
static void
find_and_move_file (struct world *w)
{
    struct world other = *w;

    other.client = client_new (w->graph->top);
    inode_unref (posix_world_look (&other, w->root, "file"));
    ck_assert_int_eq (world_rename (&other, w->root, "file", w->root, "moved", 0), 0);
    client_free (other.client);
}

/* In a sticky directory an unlink needs the owner of the file, whose name the table does not have
 * here. The lookup's answer is from before the rename. */
START_TEST (enters_no_name_that_has_gone_on_its_way)
{
    struct world w = acl_begin (OVER ("option timeout 1d\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0644);
    g_autoptr (inode_t) moved = NULL;
    loc_t loc = { .name = "file", .parent = w.root };

    root_sets_mode (&w, w.root, 01777);
    inode_unlink (w.root, "file");
    between.w = &w;
    between.lookups = true;
    between.meanwhile = find_and_move_file;
    between.armed = true;
    acl_be (&w, 1001);
    ck_assert_int_lt (sync_unlink (w.client, &loc, 0, NULL, NULL), 0);
    acl_be (&w, 0);
    loc_wipe_path (&loc);
    ck_assert (!between.armed);
    ck_assert_ptr_null (inode_grep (w.root, "file"));
    moved = inode_grep (w.root, "moved");
    ck_assert_ptr_eq (moved, inode);
    g_clear_pointer (&moved, inode_unref);
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

START_TEST (drops_what_it_is_told_of)
{
    struct world w = acl_begin (OVER ("option timeout 1d\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0644);
    g_autofree char *path = world_path (&w, "file");
    struct invalidation one = { .inode = inode, .what = INVALIDATE_ATTRIBUTES },
                        names = { .what = INVALIDATE_NAMES }, all = { .what = INVALIDATE_ALL };

    ck_assert_int_eq (reads (&w, inode, 1001), 0);
    act_as_root (&w);
    ck_assert_int_eq (chmod (path, 0600), 0);
    translator (&w)->api->notify (translator (&w), XLATOR_INVALIDATE, &names);
    ck_assert_int_eq (reads (&w, inode, 1001), -EACCES); /* storage reports the change */
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 0);
    translator (&w)->api->notify (translator (&w), XLATOR_INVALIDATE, &one);
    ck_assert_int_eq (reads (&w, inode, 1001), -EACCES);
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 1);
    act_as_root (&w);
    ck_assert_int_eq (chmod (path, 0644), 0);
    translator (&w)->api->notify (translator (&w), XLATOR_INVALIDATE, &all);
    ck_assert_int_eq (reads (&w, inode, 1001), 0);
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

/* Each of these replaces the valid ACL: the owner has the rights of the mode, all others have
 * none. */
START_TEST (trusts_no_malformed_acl)
{
    static const unsigned char two_masks[] = { 2, 0, 0, 0, 1, 0,  6,  0, 0, 0, 0, 0, 4, 0,  7,
                                               0, 0, 0, 0, 0, 16, 0,  7, 0, 0, 0, 0, 0, 16, 0,
                                               7, 0, 0, 0, 0, 0,  32, 0, 7, 0, 0, 0, 0, 0 };
    static const struct {
        const void *bytes;
        size_t size;
    } bad[] = {
        { for_1001, 3 },   { for_1001, sizeof for_1001 - 8 },    { for_1001, sizeof for_1001 - 3 },
        { "\1\0\0\0", 4 }, { "\2\0\0\0\100\0\7\0\0\0\0\0", 12 }, { two_masks, sizeof two_masks }
    };

    for (size_t i = 0; i < G_N_ELEMENTS (bad); i++) {
        struct world w = acl_begin (OVER ("option timeout 1d\n"));
        g_autoptr (inode_t) inode = file_with (&w, 0677);

        between.instead = bad[i].bytes;
        between.size = bad[i].size;
        between.armed = true;
        ck_assert_int_eq (reads (&w, inode, 1001), -EACCES);
        ck_assert_int_eq (reads (&w, inode, 1002), -EACCES);
        ck_assert_int_eq (reads (&w, inode, 0), 0);
        ck_assert_uint_eq (acl_dumped (&w, "malformed"), 1);
        g_clear_pointer (&inode, inode_unref);
        posix_world_end (&w);
    }
}
END_TEST

/* Requests that a translator makes itself, and those of super-uid. */
START_TEST (asks_not_about_everybody)
{
    struct world w = acl_begin (OVER ("option super-uid 1005\n"));
    g_autoptr (inode_t) inode = file_with (&w, 0600);
    loc_t loc = { .inode = inode };

    acl_be (&w, 1001);
    ck_assert_int_eq (sync_access (w.client, &loc, R_OK, NULL, NULL), -EACCES);
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 1);
    w.client->internal = g_intern_string ("heal");
    /* decided by storage, which acts as the caller */
    ck_assert_int_eq (sync_access (w.client, &loc, R_OK, NULL, NULL), -EACCES);
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 1);
    w.client->internal = NULL;
    acl_be (&w, 1005);
    ck_assert_int_eq (sync_access (w.client, &loc, R_OK, NULL, NULL), -EACCES);
    ck_assert_uint_eq (acl_dumped (&w, "refused"), 1);
    acl_be (&w, 0);
    g_clear_pointer (&inode, inode_unref);
    posix_world_end (&w);
}
END_TEST

TEST_PROGRAM (test_posix_acl)
{
    Suite *suite = suite_create ("posix-acl");
    TCase *tcase = tcase_create ("posix-acl");
    const char *dir = "/dev/shm/windlass-acl-probe";

    if (geteuid () != 0 || g_mkdir (dir, 0700) < 0
        || setxattr (dir, ACL_NAME, for_1001, sizeof for_1001, 0) < 0) {
        g_rmdir (dir);
        puts ("needs root, and ACLs on /dev/shm");
        return 77;
    }
    g_rmdir (dir);
    g_setenv ("TMPDIR", "/dev/shm", TRUE);
    tcase_add_test (tcase, asks_once);
    tcase_add_test (tcase, asks_for_no_acl_in_vain);
    tcase_add_test (tcase, sees_what_changes_through_it_at_once);
    tcase_add_test (tcase, keeps_nothing_that_changed_on_its_way);
    tcase_add_test (tcase, enters_no_name_that_has_gone_on_its_way);
    tcase_add_test (tcase, drops_what_it_is_told_of);
    tcase_add_test (tcase, trusts_no_malformed_acl);
    tcase_add_test (tcase, asks_not_about_everybody);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
