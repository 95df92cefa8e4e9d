/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/*
 * Each translator that depends on a change of an operation (the EFFECT rows of fops.def) sees this
 * change, and a translator with several children sees every operation. The tests fail if a
 * translator omits a new row.
 */
#include "core/table/opset.h"
#include "posix_world.h"

#include <linux/fs.h>

/* The effects that a translator caches or decides on. */
static const struct {
    const char *type;
    opset_t matters;
} translators[] = {
    { "features/audit", OPS_CHANGE }, /* owners and modes, for rules */
    /* What removes or replaces a name, and what cuts a file; create and symlink, since a process
     * that removes what it has made is told by them. */
    { "features/trash", (OPS_CHANGE_NAMES | OPS_CHANGE_IF_TRUNC | OPSET_OF (FOP_truncate)
                         | OPSET_OF (FOP_ftruncate))
                            & ~(OPSET_OF (FOP_mknod) | OPSET_OF (FOP_mkdir)
                                | OPSET_OF (FOP_link)) },
    { "performance/write-behind", OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPS_CHANGE_LOCKS },
    { "performance/readdir-ahead", OPS_CHANGE },
    { "performance/open-behind", OPS_CHANGE_XATTRS | OPS_CHANGE_LOCKS },
    { "performance/quick-read", OPS_CHANGE_DATA | OPS_CHANGE_XATTRS | OPS_CHANGE_IF_TRUNC },
    { "performance/io-cache", OPS_CHANGE_DATA | OPS_CHANGE_LOCKS | OPS_CHANGE_IF_TRUNC },
    { "performance/read-ahead", OPS_CHANGE_DATA | OPS_CHANGE_LOCKS | OPS_CHANGE_IF_TRUNC },
    { "performance/nl-cache", OPS_CHANGE_NAMES },
    { "performance/md-cache", OPS_CHANGE },
    { "system/posix-acl", OPS_CHANGE_NAMES | OPS_CHANGE_XATTRS | OPS_CHANGE_IF_TRUNC },
    { "debug/power-cut", OPS_CHANGE },
    { "cluster/overlay", OPS_CHANGE | OPS_CHANGE_LOCKS | OPS_CHANGE_IF_TRUNC }, /* copies first */
    { "storage/posix", OPS_CHANGE | OPS_CHANGE_LOCKS },
};

static opset_t
fops_of (const struct xlator_api *api)
{
    opset_t ops = api->any_fop ? (api->any_fop_ops ? api->any_fop_ops : OPSET_ALL) : 0;

#define FOP(name) ops |= api->fops.name ? OPSET_OF (FOP_##name) : 0;
#include "fops.def"
    return ops;
}

static const struct xlator_api *
effects_load (const char *type)
{
    g_autofree char *error = NULL;
    const struct xlator_api *api = module_load (type, NULL, &error);

    ck_assert_msg (api != NULL, "%s: %s", type, error);
    return api;
}

START_TEST (each_translator_sees_the_changes_that_matter)
{
    const struct xlator_api *api = effects_load (translators[_i].type);
    g_autoptr (GString) missing = g_string_new (NULL);
    const opset_t not_seen = translators[_i].matters & ~fops_of (api);

    opset_print (not_seen, missing);
    ck_assert_msg (not_seen == 0, "%s doesn't see %s", api->type, missing->str);
}
END_TEST

/* Core passes an operation that a translator leaves out to its first child. With several children
 * that would be a change of one copy, or a search in one of several places. */
START_TEST (several_children_leave_no_operation_out)
{
    g_autoptr (GPtrArray) types = module_types (NULL);
    unsigned found = 0;

    for (guint i = 0; i < types->len; i++) {
        const char *type = types->pdata[i];
        g_autoptr (GString) missing = g_string_new (NULL);

        if (g_str_has_prefix (type, "test/") || g_str_has_prefix (type, "defects/"))
            continue;
        const struct xlator_api *api = effects_load (type);
        if (api->children.max >= 0 && api->children.max <= 1)
            continue;
        opset_print (OPSET_ALL & ~fops_of (api), missing);
        ck_assert_msg (missing->len == 0, "%s has several children and leaves out %s", type,
                       missing->str);
        found++;
    }
    ck_assert_uint_ge (found, 3);
}
END_TEST

/* What may stand above features/audit, since each request of a caller reaches the audit as the
 * caller made it, unless it is refused. All else keeps answers, puts requests together, or makes
 * several of one. */
static const char *const above_audit[] = {
    "debug/delay-gen",   "debug/error-gen",   "debug/fault",           "debug/io-stats",
    "debug/power-cut",   "debug/trace",       "encryption/rot-13",     "features/audit",
    "features/read-only", "features/utime",   "features/subdirectory", "meta/meta",
    "system/posix-acl",  "performance/io-threads", NULL,
};

static bool
may_stand_above (const struct xlator_api *api, const char *type)
{
    for (const struct xlator_misfit *misfit = api->not_below; misfit && misfit->type; misfit++)
        if (strcmp (misfit->type, type) == 0)
            return false;
    return true;
}

/* A new translator has to be refused there, or be added to those that may stand there. */
START_TEST (nothing_that_keeps_or_merges_stands_above_an_audit)
{
    g_autoptr (GPtrArray) types = module_types (NULL);
    g_autofree char *error = NULL;
    const struct xlator_api *audit = module_load ("features/audit", NULL, &error);

    ck_assert_msg (audit != NULL, "features/audit: %s", error);
    for (guint i = 0; i < types->len; i++) {
        const char *type = types->pdata[i];
        const struct xlator_api *api;
        g_autofree char *why = NULL;

        if (g_str_has_prefix (type, "test/") || g_str_has_prefix (type, "defects/"))
            continue;
        api = module_load (type, NULL, &why);
        ck_assert_msg (api != NULL, "%s: %s", type, why);
        if (api->children.max == 0)
            continue;
        ck_assert_msg (may_stand_above (audit, type) == g_strv_contains (above_audit, type),
                       "%s %s above features/audit", type,
                       may_stand_above (audit, type) ? "is not refused" : "is refused");
    }
}
END_TEST

/* An operation is in a set because of its row; no operation without effects is in a set. */
START_TEST (sets_are_those_of_the_table)
{
    ck_assert_uint_eq (OPS_CHANGE_LOCKS, OPSET_OF (FOP_lk) | OPSET_OF (FOP_flock));
    ck_assert (opset_has (OPS_CHANGE_NAMES, FOP_rename));
    ck_assert (opset_has (OPS_CHANGE_DATA, FOP_copy_file_range));
    ck_assert (opset_has (OPS_CHANGE_XATTRS, FOP_fremovexattr));
    ck_assert_uint_eq (OPS_CHANGE
                           & (OPSET_OF (FOP_lookup) | OPSET_OF (FOP_stat) | OPSET_OF (FOP_readv)
                              | OPSET_OF (FOP_getxattr) | OPSET_OF (FOP_fsync)),
                       0);
}
END_TEST

/* What an open or an ioctl changes depends on its flags or its command. */
START_TEST (a_call_changes_by_its_flags)
{
    ck_assert (!fop_changes (FOP_open, O_RDWR));
    ck_assert (fop_changes (FOP_open, O_RDWR | O_TRUNC));
    ck_assert (fop_changes (FOP_create, O_RDWR));
    ck_assert (fop_changes (FOP_ioctl, (uint32_t) FS_IOC_SETFLAGS));
    ck_assert (fop_changes (FOP_ioctl, (uint32_t) FS_IOC32_SETFLAGS));
    ck_assert (fop_changes (FOP_ioctl, (uint32_t) FS_IOC_FSSETXATTR));
    ck_assert (!fop_changes (FOP_ioctl, (uint32_t) FS_IOC_GETFLAGS));
    ck_assert (!fop_changes (FOP_lk, 0));
    ck_assert (!fop_changes (FOP_readv, O_TRUNC));
    ck_assert (fop_changes (FOP_setattr, 0));
    ck_assert_uint_eq (fop_effects (CHANGES_NAMES | CHANGES_IF_TRUNC, O_RDWR), CHANGES_NAMES);
}
END_TEST

TEST_PROGRAM (test_effects)
{
    Suite *suite = suite_create ("effects");
    TCase *tcase = tcase_create ("effects");

    tcase_add_loop_test (tcase, each_translator_sees_the_changes_that_matter, 0,
                         G_N_ELEMENTS (translators));
    tcase_add_test (tcase, several_children_leave_no_operation_out);
    tcase_add_test (tcase, nothing_that_keeps_or_merges_stands_above_an_audit);
    tcase_add_test (tcase, sets_are_those_of_the_table);
    tcase_add_test (tcase, a_call_changes_by_its_flags);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
