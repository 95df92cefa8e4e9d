/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A translator that declares hidden names: callers don't meet them, its own requests do.
 *
 *   client -> keeper, which hides ".keep" in the root -> leaf, which has eight names in the root
 */
#include "core/edge/hidden.h"
#include "core/data/itable.h"
#include "core/edge/stack.h"
#include "mock.h"

#include "../program.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PAGE 2 /* entries of a page of the leaf */

static const char *const names[] = { ".keep", ".keep.1", "a", ".keep.2", ".keep.3", ".keep.4",
                                     "b", ".keep.5" };

/* --- the leaf --------------------------------------------------------------------------------- */

static unsigned leaf_calls, leaf_pages;

static void
leaf_lookup_name (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct iatt buf = { .ia_type = IA_IFDIR };

    leaf_calls++;
    STACK_UNWIND (lookup, frame, 0, 0, loc->inode, &buf, NULL, NULL);
}

static void
leaf_rename_name (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc,
                  uint32_t flags, dict_t *xdata)
{
    leaf_calls++;
    STACK_UNWIND (rename, frame, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void
leaf_mkdir_name (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
                 dict_t *xdata)
{
    leaf_calls++;
    STACK_UNWIND (mkdir, frame, 0, 0, loc->inode, NULL, NULL, NULL, NULL);
}

/* Returns a page of entries from an offset on: each has the offset of the next one. */
static gf_dirent_t *
leaf_page (off_t offset, int *ret_n)
{
    gf_dirent_t *first = NULL, **at = &first;

    leaf_pages++;
    for (*ret_n = 0; *ret_n < PAGE && offset < (off_t) G_N_ELEMENTS (names); (*ret_n)++) {
        const char *name = names[offset++];

        *at = dirent_new (name, strlen (name));
        (*at)->d_off = offset;
        (*at)->d_stat = (struct iatt){ .ia_type = IA_IFREG, .ia_nlink = 2 };
        at = &(*at)->next;
    }
    return first;
}

static void
leaf_readdir_names (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                    dict_t *xdata)
{
    int n;
    gf_dirent_t *page = leaf_page (offset, &n);

    STACK_UNWIND (readdir, frame, n, n == 0 ? ENOENT : 0, page, NULL);
    dirents_free (page);
}

static void
leaf_readdirp_names (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                     dict_t *xdata)
{
    int n;
    gf_dirent_t *page = leaf_page (offset, &n);

    STACK_UNWIND (readdirp, frame, n, n == 0 ? ENOENT : 0, page, NULL);
    dirents_free (page);
}

static const struct xlator_api hidden_leaf_api = {
    .type = "test/leaf",
    .fops = { .lookup = leaf_lookup_name, .rename = leaf_rename_name, .mkdir = leaf_mkdir_name,
              .readdir = leaf_readdir_names, .readdirp = leaf_readdirp_names },
};

/* --- the keeper ------------------------------------------------------------------------------- */

static bool
keeper_hides (xlator_t *this, inode_t *directory, const char *name)
{
    return gfid_equal (&directory->gfid, &gfid_root) && g_str_has_prefix (name, ".keep");
}

static void
keeper_uncount (xlator_t *this, struct iatt *buf)
{
    buf->ia_nlink--;
}

static unsigned keeper_calls;

static void
keeper_any_fop (const struct call *call)
{
    keeper_calls++;
    call_pass (call);
}

/* One that implements operations, and one that declares its names alone. */
static const struct xlator_api keeper_apis[] = {
    { .type = "test/keeper", .hides = keeper_hides, .uncount = keeper_uncount,
      .any_fop = keeper_any_fop },
    { .type = "test/keeper", .hides = keeper_hides, .uncount = keeper_uncount },
};

struct hidden_world {
    xlator_t leaf, keeper;
    struct client *client;
    struct itable *table;
    inode_t *root, *inode;
};

static struct hidden_world hidden;

static void
hidden_begin (int api)
{
    mock_xlator (&hidden.leaf, "leaf", &hidden_leaf_api, NULL);
    hidden.client = client_new (
        mock_xlator (&hidden.keeper, "keeper", &keeper_apis[api], &hidden.leaf));
    hidden.table = itable_new (0, 10, NULL, NULL);
    hidden.root = itable_root (hidden.table);
    hidden.inode = inode_new (hidden.table);
    leaf_calls = leaf_pages = keeper_calls = 0;
}

static void
hidden_end (void)
{
    ck_assert_uint_eq (stack_misuses (), 0);
    ck_assert_uint_eq (stack_count (), 0);
    client_free (hidden.client);
    inode_unref (hidden.inode);
    itable_destroy (hidden.table);
    mock_free (&hidden.keeper);
    mock_free (&hidden.leaf);
}

static int
hidden_look (inode_t *directory, const char *name)
{
    loc_t loc = { .parent = directory, .name = name, .inode = hidden.inode };

    return sync_lookup (hidden.client, &loc, NULL, NULL);
}

static int
hidden_rename (const char *from, const char *to)
{
    loc_t oldloc = { .parent = hidden.root, .name = from, .inode = hidden.inode };
    loc_t newloc = { .parent = hidden.root, .name = to };

    return sync_rename (hidden.client, &oldloc, &newloc, 0, NULL, NULL);
}

static const struct fd_maker hidden_fds = { 0 };

/* Lists the root page by page, as a caller does; returns "name@offset" of each entry. */
static char *
hidden_list (bool with_attributes)
{
    g_autoptr (fd_t) fd = fd_new (&hidden_fds, hidden.root, O_DIRECTORY, 1);
    GString *seen = g_string_new (NULL);
    off_t offset = 0;
    int r = 1;

    while (r > 0) {
        struct readdirp_reply reply = { 0 };
        struct readdir_reply bare = { 0 };

        r = with_attributes ? sync_readdirp (hidden.client, fd, 4096, offset, NULL, &reply)
                            : sync_readdir (hidden.client, fd, 4096, offset, NULL, &bare);
        for (const gf_dirent_t *at = with_attributes ? reply.entries : bare.entries; at;
             at = at->next) {
            g_string_append_printf (seen, "%s@%d:%u ", at->d_name, (int) at->d_off,
                                    with_attributes ? at->d_stat.ia_nlink : 1);
            offset = at->d_off;
        }
        readdirp_reply_drop (&reply);
        readdir_reply_drop (&bare);
    }
    ck_assert_int_eq (r, 0);
    return g_string_free (seen, FALSE);
}

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST (a_caller_meets_no_hidden_name)
{
    loc_t loc;

    hidden_begin (_i);
    loc = (loc_t){ .parent = hidden.root, .name = ".keep", .inode = hidden.inode };
    ck_assert_int_eq (hidden_look (hidden.root, ".keep"), -ENOENT);
    ck_assert_int_eq (sync_mkdir (hidden.client, &loc, 0700, 0, NULL, NULL), -EPERM);
    ck_assert_int_eq (hidden_rename (".keep", "a"), -EPERM);
    ck_assert_int_eq (hidden_rename ("a", ".keep"), -EPERM);
    ck_assert_uint_eq (leaf_calls, 0);

    ck_assert_int_eq (hidden_look (hidden.root, "a"), 0);
    ck_assert_int_eq (hidden_look (hidden.inode, ".keep"), 0); /* another directory */
    ck_assert_int_eq (hidden_rename ("a", "b"), 0);
    ck_assert_uint_eq (leaf_calls, 3);
    ck_assert_uint_eq (keeper_calls, _i == 0 ? 3 : 0);
    hidden_end ();
}
END_TEST

/* A page with hidden names alone is not an end, and offsets stay. */
START_TEST (a_listing_goes_on)
{
    g_autofree char *seen = NULL;

    hidden_begin (_i / 2);
    seen = hidden_list (_i % 2);
    ck_assert_str_eq (seen, "a@3:1 b@7:1 ");
    ck_assert_uint_eq (leaf_pages, 6);
    hidden_end ();
}
END_TEST

START_TEST (its_own_requests_meet_them)
{
    g_autofree char *seen = NULL;

    hidden_begin (_i);
    hidden.client->internal = hidden.keeper.name;
    ck_assert_int_eq (hidden_look (hidden.root, ".keep"), 0);
    seen = hidden_list (true);
    ck_assert_ptr_nonnull (strstr (seen, ".keep@1:1 .keep.1@2:1 a@3:1 "));
    hidden.client->internal = hidden.leaf.name;
    ck_assert_int_eq (hidden_look (hidden.root, ".keep"), -ENOENT);
    hidden_end ();
}
END_TEST

/* Requests that are made like an internal one, or as its caller, are internal, too. */
START_TEST (internal_is_kept)
{
    call_stack_t *first, *like, *as;
    struct stack_caller *caller;
    struct client *client;

    hidden_begin (0);
    first = stack_new (&hidden.keeper);
    ck_assert_ptr_null (first->internal);
    first->internal = hidden.keeper.name;
    like = stack_new_like (&hidden.keeper, &first->frames[0]);
    ck_assert_ptr_eq (like->internal, hidden.keeper.name);
    caller = stack_caller_new (first);
    as = stack_new_as (&hidden.keeper, caller);
    ck_assert_ptr_eq (as->internal, hidden.keeper.name);
    client = client_new_as (&hidden.keeper, first);
    ck_assert_ptr_eq (client->internal, hidden.keeper.name);
    client_free (client);
    stack_done (as);
    stack_done (like);
    stack_done (first);
    first = stack_new (&hidden.keeper); /* in the same memory */
    ck_assert_ptr_null (first->internal);
    stack_done (first);
    g_free (caller);
    hidden_end ();
}
END_TEST

TEST_PROGRAM (test_hidden)
{
    Suite *suite = suite_create ("hidden");
    TCase *tcase = tcase_create ("hidden");

    tcase_add_loop_test (tcase, a_caller_meets_no_hidden_name, 0, 2);
    tcase_add_loop_test (tcase, a_listing_goes_on, 0, 4);
    tcase_add_loop_test (tcase, its_own_requests_meet_them, 0, 2);
    tcase_add_test (tcase, internal_is_kept);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
