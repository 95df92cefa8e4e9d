/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Permission checks: mode bits for owner, group and others; the sticky bit; clearing of setuid and
 * setgid. */
#include "conform/mount/roles.h"
#include "conform/mount/themes/themes.h"

#include <sys/wait.h>
#include <sys/xattr.h>

/* --- mode bits ------------------------------------------------------------------------------ */

static void
op_open (const char *path, int flags)
{
    const int fd = TELL_FD (path, open (path, flags | O_NONBLOCK, 0644));

    if (fd >= 0)
        close (fd);
}

static void
op_access (const char *path, int mode)
{
    TELL (path, access (path, mode));
}

static void
op_truncate (const char *path, int size)
{
    TELL (path, truncate (path, size));
}

static void
op_chmod (const char *path, int mode)
{
    TELL (path, chmod (path, mode));
}

static void
op_chown (const char *path, int gid)
{
    TELL (path, chown (path, -1, gid));
}

static void
op_times (const char *path, int now)
{
    const struct timespec times[2] = { { 1, now ? UTIME_NOW : 0 }, { 1, now ? UTIME_NOW : 0 } };

    TELL (path, utimensat (AT_FDCWD, path, times, 0));
}

static void
op_setxattr (const char *path, int unused)
{
    TELL (path, setxattr (path, "user.x", "y", 1, 0));
}

static void
op_getxattr (const char *path, int unused)
{
    TELL (path, getxattr (path, "user.none", NULL, 0));
}

/* In a child of its own, since exec does not return. */
static void
op_exec (const char *path, int unused)
{
    const pid_t pid = fork ();
    int status = 0;

    if (pid == 0) {
        execl (path, path, (char *) NULL);
        observe ("%s: %s", path, errno_name (errno));
        _exit (0);
    }
    if (waitpid (pid, &status, 0) != pid || status != 0)
        observe ("%s ended with status %#x", path, status);
}

static void
op_opendir (const char *path, int unused)
{
    op_open (path, O_RDONLY | O_DIRECTORY);
}

static void
op_chdir (const char *path, int unused)
{
    const int here = open (".", O_PATH);

    TELL (path, chdir (path));
    NEED (fchdir (here));
    close (here);
}

static void
op_stat_in (const char *path, int unused)
{
    g_autofree char *in = g_build_filename (path, "in", NULL);
    struct stat st;

    TELL (path, stat (in, &st));
}

static void
op_create_in (const char *path, int unused)
{
    g_autofree char *in = g_build_filename (path, "new", NULL);

    op_open (in, O_CREAT | O_WRONLY);
}

static void
op_unlink_in (const char *path, int unused)
{
    g_autofree char *in = g_build_filename (path, "in", NULL);

    TELL (path, unlink (in));
}

static void
op_rename_in (const char *path, int unused)
{
    g_autofree char *in = g_build_filename (path, "in", NULL),
                    *to = g_build_filename (path, "to", NULL);

    TELL (path, rename (in, to));
}

static const struct op {
    const char *name;
    void (*run) (const char *path, int argument);
    int argument;
    bool directory;
} ops[] = {
    { "open to read", op_open, O_RDONLY, false },
    { "open to write", op_open, O_WRONLY, false },
    { "open to read and write", op_open, O_RDWR, false },
    { "open O_TRUNC", op_open, O_WRONLY | O_TRUNC, false },
    { "open O_NOATIME", op_open, O_NOATIME, false },
    { "access R_OK", op_access, R_OK, false },
    { "access W_OK", op_access, W_OK, false },
    { "access X_OK", op_access, X_OK, false },
    { "access R_OK W_OK", op_access, R_OK | W_OK, false },
    { "execute", op_exec, 0, false },
    { "truncate", op_truncate, 1, false },
    { "chmod", op_chmod, 0604, false },
    { "chmod setgid", op_chmod, 02755, false },
    { "chgrp to the first group", op_chown, GROUP_A, false },
    { "chgrp to the second group", op_chown, GROUP_B, false },
    { "times now", op_times, 1, false },
    { "times", op_times, 0, false },
    { "setxattr", op_setxattr, 0, false },
    { "getxattr", op_getxattr, 0, false },
    { "read a directory", op_opendir, 0, true },
    { "chdir", op_chdir, 0, true },
    { "stat in a directory", op_stat_in, 0, true },
    { "create in a directory", op_create_in, 0, true },
    { "unlink in a directory", op_unlink_in, 0, true },
    { "rename in a directory", op_rename_in, 0, true },
    { "setxattr of a directory", op_setxattr, 0, true },
    { "chmod of a directory", op_chmod, 0700, true },
};

/* The role's own class has the bits, and all other classes have the complement. So a check of the
 * wrong class shows. */
static void
make_mode (const struct op *op, const struct role *role, unsigned bits)
{
    g_autofree char *name = g_strdup_printf ("%u", bits), *in = g_strdup_printf ("%u/in", bits);
    unsigned mode = 0;
    int fd;

    for (unsigned class = 0; class < 3; class++)
        mode |= (class == role->class ? bits : ~bits & 7) << class * 3;
    if (op->directory) {
        NEED (mkdir (name, 0755));
        fd = make_file (in, "");
    } else {
        fd = make_file (name, "#!/bin/true\n");
    }
    close (fd);
    if (op->directory)
        NEED (chown (in, OWNER, GROUP_A));
    NEED (chown (name, OWNER, GROUP_A));
    NEED (chmod (name, mode));
}

static void
try_modes (void *data)
{
    const struct op *op = data;
    char name[2] = "0";

    for (; *name < '8'; ++*name)
        op->run (name, op->argument);
}

static void
run_mode (const struct mount_case *c)
{
    const struct role *role = &roles[c->a];

    for (unsigned bits = 0; bits < 8; bits++)
        make_mode (&ops[c->b], role, bits);
    NEED (chmod (".", 0755));
    as_role (role, try_modes, (void *) &ops[c->b]);
    show_tree (".");
}

/* --- the sticky bit ------------------------------------------------------------------------- */

static const char *const sticky_ops[] = { "unlink",   "rename away", "rename onto",  "rmdir",
                                          "exchange", "link",        "rename within" };

static void
try_sticky (void *data)
{
    const unsigned op = GPOINTER_TO_UINT (data);
    struct stat st;

    switch (op) {
    case 0: TELL ("unlink", unlink ("dir/file")); break;
    case 1: TELL ("rename", rename ("dir/file", "open/file")); break;
    case 2: TELL ("rename", rename ("open/mine", "dir/file")); break;
    case 3: TELL ("rmdir", rmdir ("dir/sub")); break;
    case 4: TELL ("exchange", renameat2 (AT_FDCWD, "open/mine", AT_FDCWD, "dir/file", 2)); break;
    case 5: TELL ("link", link ("dir/file", "open/link")); break;
    case 6: TELL ("rename", rename ("dir/file", "dir/other")); break;
    }
    TELL ("it is still there", stat ("dir/file", &st));
}

/* The directory and its content have different owners. */
static void
run_sticky (const struct mount_case *c)
{
    make_tree ("d:dir d:open F:open/mine=0666 F:dir/file=0666 d:dir/sub=0777");
    NEED (chown ("dir/file", OTHER_OWNER, GROUP_A));
    NEED (chown ("dir/sub", OTHER_OWNER, GROUP_A));
    NEED (chown ("dir", OWNER, GROUP_A));
    NEED (chmod ("dir", 01777));
    NEED (chmod ("open", 0777));
    as_role (&roles[c->a], try_sticky, GUINT_TO_POINTER (c->b));
    show_tree (".");
}

void
permissions_cases (GPtrArray *list)
{
    for (unsigned op = 0; op < G_N_ELEMENTS (ops); op++)
        for (unsigned role = 0; roles[role].name; role++)
            case_add (list, run_mode, role, op, 0, CASE_NEEDS_ROOT, "permissions/%s as %s",
                      ops[op].name, roles[role].name);
    for (unsigned op = 0; op < G_N_ELEMENTS (sticky_ops); op++)
        for (unsigned role = 0; roles[role].name; role++)
            case_add (list, run_sticky, role, op, 0, CASE_NEEDS_ROOT,
                      "permissions/sticky: %s as %s", sticky_ops[op], roles[role].name);
}
