/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Symbolic and hard links, and the limits of names and paths. */
#include "conform/mount/themes/themes.h"

static const unsigned target_sizes[] = { 0, 1, 59, 60, 61, 255, 256, 1000, 4094, 4095, 4096 };

static void
run_target (const struct mount_case *c)
{
    g_autofree char *target = g_strnfill (target_sizes[c->a], 't');
    char text[5000] = "";
    struct stat st;

    if (TELL ("symlink", symlink (target, "link")) < 0)
        return;
    TELL ("readlink", readlink ("link", text, sizeof text));
    observe ("it is the same: %d", strcmp (text, target) == 0);
    if (TELL ("lstat", lstat ("link", &st)) == 0)
        observe ("size %jd", (intmax_t) st.st_size);
    TELL ("follow it", open ("link", O_RDONLY));
    TELL ("rename it", rename ("link", "other"));
    TELL ("readlink", readlink ("other", text, sizeof text));
}

static const char *const targets[] = { "file",   "./file",      "dir/../file", "dir",    "dir/",
                                       ".",      "..",          "file/",       "file/x", "missing",
                                       "second", "line\nbreak", "\xff\xfe" };

static void
run_follow (const struct mount_case *c)
{
    struct stat st;

    make_tree ("F:file d:dir F:dir/in l:second:file");
    NEED (symlink (targets[c->a], "link"));
    if (TELL ("stat", stat ("link", &st)) == 0)
        observe ("type %o", st.st_mode & S_IFMT);
    TELL ("open", open ("link", O_RDONLY) < 0);
    TELL ("open with a slash", open ("link/", O_RDONLY) < 0);
    TELL ("what is in it", access ("link/in", F_OK));
    TELL ("rmdir", rmdir ("link"));
    TELL ("unlink with a slash", unlink ("link/"));
    TELL ("rmdir with a slash", rmdir ("link/"));
    TELL ("create", open ("link", O_CREAT | O_WRONLY, 0600) < 0);
    TELL ("mkdir", mkdir ("link", 0700));
    show_tree (".");
}

/* link39 names link38 and so on, to a file. */
static void
run_chain (const struct mount_case *c)
{
    static const unsigned counts[] = { 1, 39, 40, 41 };

    make_tree ("F:link0");
    for (unsigned i = 1; i <= 41; i++) {
        g_autofree char *from = g_strdup_printf ("link%u", i),
                        *to = g_strdup_printf ("link%u", i - 1);

        NEED (symlink (to, from));
    }
    for (size_t i = 0; i < G_N_ELEMENTS (counts); i++) {
        g_autofree char *name = g_strdup_printf ("link%u", counts[i]);

        TELL (name, access (name, F_OK));
    }
}

static void
run_hard (const struct mount_case *c)
{
    struct stat a, b;

    make_tree ("F:file d:dir l:link:file p:fifo");
    TELL ("link", link ("file", "dir/other"));
    NEED (stat ("file", &a));
    NEED (stat ("dir/other", &b));
    must (a.st_ino == b.st_ino && a.st_nlink == b.st_nlink, "POSIX link: both names are one file");
    TELL ("write by one", (close (make_file ("dir/other", "by the other")), 0));
    show_content ("file");
    TELL ("chmod by one", chmod ("file", 0600));
    show ("the other", "dir/other");
    TELL ("link onto what is there", link ("file", "fifo"));
    TELL ("link a fifo", link ("fifo", "fifo2"));
    TELL ("link a link", link ("link", "link2"));
    TELL ("link what a link names",
          linkat (AT_FDCWD, "link", AT_FDCWD, "file3", AT_SYMLINK_FOLLOW));
    TELL ("link a directory", link ("dir", "dir2"));
    TELL ("unlink one", unlink ("file"));
    TELL ("truncate the other", truncate ("dir/other", 2));
    show_tree (".");
}

static void
run_many_hard (const struct mount_case *c)
{
    struct stat st;

    make_tree ("F:file");
    for (unsigned i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf ("link%u", i);

        NEED (link ("file", name));
    }
    show ("file", "file");
    for (unsigned i = 0; i < 200; i += 2) {
        g_autofree char *name = g_strdup_printf ("link%u", i);

        NEED (unlink (name));
    }
    show ("file", "file");
    NEED (stat ("link7", &st));
    show_stat ("one of them", &st);
}

/* --- limits --------------------------------------------------------------------------------- */

static const unsigned name_sizes[] = { 1, 2, 100, 254, 255, 256, 257, 1000, 4000 };

static void
run_name (const struct mount_case *c)
{
    g_autofree char *name = g_strnfill (name_sizes[c->a], 'n'),
                    *other = g_strnfill (name_sizes[c->a], 'o');

    TELL ("look", access (name, F_OK));
    close (TELL_FD ("create", open (name, O_CREAT | O_WRONLY, 0600)));
    TELL ("mkdir", mkdir (other, 0700));
    TELL ("symlink", symlink ("x", other));
    TELL ("link", link (name, other));
    TELL ("rmdir", rmdir (other));
    TELL ("rename", rename (name, other));
    TELL ("symlink again", symlink ("x", name));
    TELL ("unlink", unlink (other));
    TELL ("unlink the link", unlink (name));
}

/* Deeper than a path can say, one step at a time. */
static void
run_deep (const struct mount_case *c)
{
    g_autofree char *name = g_strnfill (250, 'd');
    char path[8192];
    unsigned depth = 0;

    for (; depth < 20; depth++) {
        if (mkdir (name, 0755) < 0 || chdir (name) < 0)
            break;
    }
    observe ("%u deep: %s", depth, depth == 20 ? "ok" : errno_name (errno));
    TELL ("a file there", close (open ("file", O_CREAT | O_WRONLY, 0600)));
    TELL ("rename", rename ("file", "other"));
    observe ("getcwd into 4096: %s", getcwd (path, 4096) ? "ok" : errno_name (errno));
    show_tree (".");
    TELL ("unlink", unlink ("other"));
    for (; depth > 0; depth--) {
        NEED (chdir (".."));
        NEED (rmdir (name));
    }
    show_tree (".");
}

void
links_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (target_sizes); i++)
        case_add (list, run_target, i, 0, 0, 0, "links/of %u bytes", target_sizes[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS (targets); i++) {
        g_autofree char *name = g_strescape (targets[i], NULL);

        case_add (list, run_follow, i, 0, 0, 0, "links/to %s", name);
    }
    case_add (list, run_chain, 0, 0, 0, 0, "links/one after the other");
    case_add (list, run_hard, 0, 0, 0, 0, "links/hard");
    case_add (list, run_many_hard, 0, 0, 0, 0, "links/many hard ones");
    for (unsigned i = 0; i < G_N_ELEMENTS (name_sizes); i++)
        case_add (list, run_name, i, 0, 0, 0, "links/a name of %u bytes", name_sizes[i]);
    case_add (list, run_deep, 0, 0, 0, 0, "links/a deep tree");
}
