/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/table/opset.h"
#include "core/base/suggest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>

/* --- effects ---------------------------------------------------------------------------------- */

static const unsigned opset_effects[FOP_MAX] = {
#define FOP(name) [FOP_##name] = EFFECTS_##name,
#include "fops.def"
};

static bool
ioctl_sets (uint32_t cmd)
{
    return cmd == FS_IOC_SETFLAGS || cmd == FS_IOC32_SETFLAGS || cmd == FS_IOC_FSSETXATTR
        || cmd == FS_IOC_SETVERSION || cmd == FS_IOC32_SETVERSION;
}

unsigned
fop_effects (unsigned what, uint32_t flags)
{
    if (what & ONLY_IF_SETS && !ioctl_sets (flags))
        return 0;
    if (what & CHANGES_IF_TRUNC && flags & O_TRUNC)
        what |= CHANGES_DATA | CHANGES_ATTRIBUTES;
    return what & ~(unsigned) (CHANGES_IF_TRUNC | ONLY_IF_SETS);
}

bool
fop_changes (enum fop op, uint32_t flags)
{
    return fop_effects (opset_effects[op], flags) & ~(unsigned) CHANGES_LOCKS;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Operations in GlusterFS's list that don't exist here. */
static const char *const absent[] = {
    "compound", "forget",   "getactivelk", "getspec",   "icreate", "ipc",        "lease",
    "namelink", "notify",   "put",         "rchecksum", "release", "releasedir", "setactivelk",
    NULL,
};

static bool
opset_is_absent (const char *word)
{
    for (size_t i = 0; absent[i]; i++)
        if (g_ascii_strcasecmp (word, absent[i]) == 0)
            return true;
    return false;
}

/* The operations behind system calls and commands, where the names are not near. */
static const struct {
    const char *word;
    enum fop op;
} opset_calls[] = {
    { "chmod", FOP_setattr },      { "chown", FOP_setattr },     { "utime", FOP_setattr },
    { "utimes", FOP_setattr },     { "utimensat", FOP_setattr }, { "touch", FOP_setattr },
    { "fchmod", FOP_fsetattr },    { "fchown", FOP_fsetattr },   { "futimens", FOP_fsetattr },
    { "getattr", FOP_stat },       { "fgetattr", FOP_fstat },    { "listxattr", FOP_getxattr },
    { "flistxattr", FOP_fgetxattr }, { "mkfifo", FOP_mknod },    { "mv", FOP_rename },
    { "rm", FOP_unlink },          { "remove", FOP_unlink },     { "close", FOP_flush },
    { "fdatasync", FOP_fsync },    { "ls", FOP_readdirp },       { "getdents", FOP_readdirp },
    { "fcntl", FOP_lk },           { "lock", FOP_lk },
};

const char *
opset_near (const char *word)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();

    for (size_t i = 0; i < G_N_ELEMENTS (opset_calls); i++)
        if (g_ascii_strcasecmp (word, opset_calls[i].word) == 0)
            return fop_name (opset_calls[i].op);
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++)
        g_ptr_array_add (names, (char *) fop_name (op));
    return suggest_near (word, names);
}

static int
opset_add (const char *word, opset_t *set, char **ret_problem)
{
    const enum fop op = fop_of_name (word);

    if (op != FOP_NONE) {
        *set |= OPSET_OF (op);
    } else if (g_ascii_strcasecmp (word, "all") == 0) {
        *set = OPSET_ALL;
    } else if (!opset_is_absent (word)) {
        g_autofree char *suggestion = suggest_text (opset_near (word));
        *ret_problem = g_strdup_printf ("'%s' is no operation%s", word, suggestion);
        return -EINVAL;
    }
    return 0;
}

int
opset_parse (const char *text, opset_t *ret_set, char **ret_problem)
{
    g_auto (GStrv) words = g_strsplit_set (text ? text : "", ", \t\n", -1);
    opset_t set = 0;
    bool any = false;
    int r = 0;

    for (size_t i = 0; words[i] && r == 0; i++) {
        if (!*words[i])
            continue;
        r = opset_add (words[i], &set, ret_problem);
        any = true;
    }
    if (r == 0)
        *ret_set = any ? set : OPSET_ALL;
    return r;
}

int
opset_check (const char *text, char **ret_allowed)
{
    g_autofree char *problem = NULL;
    opset_t set;
    const int r = opset_parse (text, &set, &problem);

    if (r < 0)
        *ret_allowed = g_strdup_printf ("must be operations such as 'lookup,writev' (%s)", problem);
    return r;
}

void
opset_print (opset_t set, GString *out)
{
    const char *comma = "";

    if (set == OPSET_ALL) {
        g_string_append_c (out, '*');
        return;
    }
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++) {
        if (!opset_has (set, op))
            continue;
        g_string_append_printf (out, "%s%s", comma, fop_name (op));
        comma = ",";
    }
}
