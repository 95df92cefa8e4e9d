/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All pairs of object types, with each flag. */
#include "conform/mount/themes/themes.h"

#include <linux/fs.h>

/* $ stands for its name: `a` or `b`. */
static const struct kind {
    const char *name, *spec, *path;
} kinds[] = {
    { "nothing", "", "$" },
    { "file", "F:$", "$" },
    { "directory", "d:$", "$" },
    { "full directory", "d:$ f:$/in", "$" },
    { "link", "l:$:elsewhere", "$" },
    { "link to a directory", "d:$-dir l:$:$-dir", "$" },
    { "link to a directory, with a slash", "d:$-dir l:$:$-dir", "$/" },
    { "directory, with a slash", "d:$", "$/" },
    { "file, with a slash", "F:$", "$/" },
    { "nothing, with a slash", "", "$/" },
    { "fifo", "p:$", "$" },
    { "socket", "s:$", "$" },
    { "file elsewhere", "d:$-dir F:$-dir/file", "$-dir/file" },
    { "directory elsewhere", "d:$-dir d:$-dir/dir f:$-dir/dir/in", "$-dir/dir" },
    { "dot", "d:$", "$/." },
    { "file in a closed directory", "d:$-dir=0555 F:$-dir/file", "$-dir/file" },
};

static const struct {
    unsigned flags;
    const char *name;
} ways[] = {
    { 0, "" },
    { RENAME_NOREPLACE, ", noreplace" },
    { RENAME_EXCHANGE, ", exchange" },
    { RENAME_WHITEOUT, ", whiteout" },
};

static char *
named (const char *text, const char *name)
{
    g_auto (GStrv) parts = g_strsplit (text, "$", -1);

    return g_strjoinv (name, parts);
}

/* A trailing slash, which tells the expected type, is removed: another object may be there. */
static ino_t
inode_of (const char *path)
{
    g_autofree char *plain = g_strndup (path, strlen (path) - g_str_has_suffix (path, "/"));
    struct stat st;

    return lstat (plain, &st) < 0 ? 0 : st.st_ino;
}

/* Guarantees of rename beyond the visible result. */
static void
check_renamed (const char *from, const char *to, ino_t from_inode, ino_t to_inode, unsigned flags)
{
    if (flags & RENAME_EXCHANGE) {
        must (inode_of (from) == to_inode && inode_of (to) == from_inode,
              "rename(2): EXCHANGE swaps the two");
        return;
    }
    must (inode_of (to) == from_inode, "POSIX rename: new names the file that old named");
    must (!inode_of (from) || from_inode == to_inode || flags & RENAME_WHITEOUT,
          "POSIX rename: old is gone");
}

static void
run_rename (const char *from, const char *to, unsigned flags)
{
    const ino_t from_inode = inode_of (from), to_inode = inode_of (to);

    age (".");
    if (TELL ("rename", renameat2 (AT_FDCWD, from, AT_FDCWD, to, flags)) == 0)
        check_renamed (from, to, from_inode, to_inode, flags);
    show_age ("the directory", ".");
    show_tree (".");
}

static void
run_pair (const struct mount_case *c)
{
    g_autofree char *from_spec = named (kinds[c->a].spec, "a"),
                    *to_spec = named (kinds[c->b].spec, "b");
    g_autofree char *from = named (kinds[c->a].path, "a"), *to = named (kinds[c->b].path, "b");

    make_tree (from_spec);
    make_tree (to_spec);
    run_rename (from, to, ways[c->c].flags);
}

/* --- related pairs -------------------------------------------------------------------------- */

static const struct {
    const char *name, *spec, *from, *to;
} related[] = {
    { "a file onto itself", "F:a", "a", "a" },
    { "a directory onto itself", "d:a", "a", "a" },
    { "a file onto its other name", "F:a h:b:a", "a", "b" },
    { "a file onto its other name elsewhere", "F:a d:dir h:dir/b:a", "a", "dir/b" },
    { "a directory into itself", "d:a", "a", "a/b" },
    { "a directory below itself", "d:a d:a/b", "a", "a/b/c" },
    { "a directory onto its child", "d:a d:a/b", "a", "a/b" },
    { "a child onto its directory", "d:a d:a/b", "a/b", "a" },
    { "a file onto its directory", "d:a f:a/b", "a/b", "a" },
    { "a directory onto its parent's file", "d:a d:a/b f:c", "a/b", "c" },
    { "a child to where its directory is", "d:a d:a/b f:a/b/in", "a/b", "b" },
    { "the directory it is in", "", ".", "b" },
    { "a file to the directory above", "F:a", "a", ".." },
    { "a link onto what it names", "F:a l:b:a", "b", "a" },
    { "a file onto the link that names it", "F:a l:b:a", "a", "b" },
    { "below a file", "F:a F:b", "a", "b/c" },
    { "from below a file", "F:a", "a/b", "b" },
    { "into a directory that is missing", "F:a", "a", "missing/b" },
    { "the empty name", "F:a", "", "a" },
    { "to the empty name", "F:a", "a", "" },
    { "through a link that names itself", "F:a l:loop:loop", "a", "loop/b" },
};

static void
run_related (const struct mount_case *c)
{
    make_tree (related[c->a].spec);
    run_rename (related[c->a].from, related[c->a].to, ways[c->c].flags);
}

static const struct {
    const char *name;
    unsigned flags;
} wrong_flags[] = {
    { "flags that exclude each other", RENAME_EXCHANGE | RENAME_NOREPLACE },
    { "whiteout and exchange", RENAME_EXCHANGE | RENAME_WHITEOUT },
    { "whiteout and noreplace", RENAME_NOREPLACE | RENAME_WHITEOUT },
    { "a flag that doesn't exist", 1 << 10 },
    { "all flags", ~0u },
};

static void
run_wrong_flags (const struct mount_case *c)
{
    make_tree ("F:a f:b");
    run_rename ("a", "b", wrong_flags[c->a].flags);
}

/* --- open files ----------------------------------------------------------------------------- */

static void
run_over_open (const struct mount_case *c)
{
    char text[8] = "";
    int fd;

    make_tree ("F:a");
    fd = make_file ("b", "other");
    TELL ("rename over an open file", rename ("a", "b"));
    TELL ("reading it still", pread (fd, text, 5, 0));
    observe ("it holds %s", text);
    TELL ("writing it still", pwrite (fd, "O", 1, 0));
    show_content ("b");
    close (fd);
}

static void
run_open_moves (const struct mount_case *c)
{
    int fd, dir;

    make_tree ("d:d");
    fd = make_file ("a", "text");
    dir = open ("d", O_RDONLY | O_DIRECTORY);
    TELL ("rename an open file", rename ("a", "d/b"));
    TELL ("write to it", pwrite (fd, "T", 1, 0));
    TELL ("rename the open directory", rename ("d", "e"));
    TELL_FD ("make a file in it", openat (dir, "new", O_CREAT | O_WRONLY, 0600));
    TELL ("rename within it", renameat (dir, "new", dir, "newer"));
    show_tree (".");
    show_content ("e/b");
}

void
rename_cases (GPtrArray *list)
{
    for (unsigned way = 0; way < G_N_ELEMENTS (ways); way++) {
        for (unsigned from = 0; from < G_N_ELEMENTS (kinds); from++)
            for (unsigned to = 0; to < G_N_ELEMENTS (kinds); to++)
                case_add (list, run_pair, from, to, way, 0, "rename/%s onto %s%s", kinds[from].name,
                          kinds[to].name, ways[way].name);
        for (unsigned i = 0; i < G_N_ELEMENTS (related); i++)
            case_add (list, run_related, i, 0, way, 0, "rename/%s%s", related[i].name,
                      ways[way].name);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS (wrong_flags); i++)
        case_add (list, run_wrong_flags, i, 0, 0, 0, "rename/%s", wrong_flags[i].name);
    case_add (list, run_over_open, 0, 0, 0, 0, "rename/over an open file");
    case_add (list, run_open_moves, 0, 0, 0, 0, "rename/what is open moves");
}
