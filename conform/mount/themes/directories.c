/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reading directories: each name once, positions, changes meanwhile, types, links. */
#include "conform/mount/themes/themes.h"

#include <dirent.h>
#include <sys/syscall.h>

static void
fill (const char *path, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf ("%s/%u", path, i);
        const int fd = open (name, O_CREAT | O_WRONLY, 0600);

        NEED (fd);
        close (fd);
    }
}

static unsigned
count (DIR *dir)
{
    unsigned n = 0;

    while (readdir (dir))
        n++;
    return n;
}

static const unsigned sizes[] = { 0, 1, 2, 20, 100, 500, 1500 };

/* Every name once, from the start, from the middle, and again. */
static void
run_all (const struct mount_case *c)
{
    g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    const unsigned n = sizes[c->a];
    struct dirent *entry;
    unsigned twice = 0, wrong = 0, at = 0;
    long middle = 0;
    DIR *dir;

    make_tree ("d:d");
    fill ("d", n);
    dir = opendir ("d");
    while ((entry = readdir (dir))) {
        if (!g_hash_table_add (seen, g_strdup (entry->d_name)))
            twice++;
        if (++at == n / 2)
            middle = telldir (dir);
        if (entry->d_type != (*entry->d_name == '.' ? DT_DIR : DT_REG)
            && entry->d_type != DT_UNKNOWN)
            wrong++;
    }
    observe ("%u names, %u twice, %u with a wrong type", g_hash_table_size (seen), twice, wrong);
    must (g_hash_table_size (seen) == n + 2 && twice == 0, "POSIX readdir: every name, once");
    seekdir (dir, middle);
    observe ("%u from the middle on", middle ? count (dir) : 0);
    rewinddir (dir);
    observe ("%u again", count (dir));
    closedir (dir);
}

static void
run_changes (const struct mount_case *c)
{
    DIR *dir;

    make_tree ("d:d");
    fill ("d", 300);
    dir = opendir ("d");
    for (unsigned i = 0; i < 10; i++)
        readdir (dir);
    NEED (unlink ("d/7"));
    NEED (unlink ("d/200"));
    NEED (mkdir ("d/new", 0700));
    count (dir);
    rewinddir (dir);
    observe ("%u after two went and one came", count (dir));
    NEED (rename ("d/8", "d/eight"));
    NEED (rename ("d/9", "nine"));
    rewinddir (dir);
    observe ("%u after one was renamed and one left", count (dir));
    for (unsigned i = 0; i < 300; i++) {
        g_autofree char *name = g_strdup_printf ("d/%u", i);

        unlink (name);
    }
    rewinddir (dir);
    observe ("%u after most went", count (dir));
    closedir (dir);
}

/* rm -r: removes entries while it reads. */
static void
run_remove_while_reading (const struct mount_case *c)
{
    struct dirent *entry;
    DIR *dir;

    make_tree ("d:d");
    fill ("d", 700);
    dir = opendir ("d");
    while ((entry = readdir (dir)))
        if (*entry->d_name != '.')
            NEED (unlinkat (dirfd (dir), entry->d_name, 0));
    closedir (dir);
    TELL ("rmdir", rmdir ("d"));
}

/* The type and number of an entry are those of the file. */
static void
run_types (const struct mount_case *c)
{
    struct dirent *entry;
    unsigned wrong_type = 0, wrong_number = 0, n = 0;
    DIR *dir;

    make_tree ("d:d f:d/file d:d/dir l:d/link:x p:d/fifo s:d/socket h:d/hard:d/file");
    dir = opendir ("d");
    while ((entry = readdir (dir))) {
        struct stat st;

        n++;
        NEED (fstatat (dirfd (dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW));
        wrong_type += entry->d_type != DT_UNKNOWN && entry->d_type != IFTODT (st.st_mode);
        if (strcmp (entry->d_name, "..") != 0)
            wrong_number += entry->d_ino != st.st_ino;
    }
    observe ("%u entries, %u of a wrong type, %u with a wrong number", n, wrong_type, wrong_number);
    must (wrong_type == 0 && wrong_number == 0,
          "readdir(3): type and inode number are those of the file");
    closedir (dir);
}

static void
run_raw (const struct mount_case *c)
{
    static const unsigned rooms[] = { 0, 1, 23, 24, 32, 64, 280, 4096 };
    char room[4096];
    int fd;

    make_tree ("d:d");
    fill ("d", 20);
    fd = open ("d", O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < G_N_ELEMENTS (rooms); i++) {
        long n = syscall (SYS_getdents64, fd, room, rooms[i]);

        observe ("getdents64 into %u bytes: %s", rooms[i],
                 n > 0    ? "some"
                 : n == 0 ? "none"
                      : errno_name (errno));
    }
    TELL ("the end", syscall (SYS_getdents64, fd, room, sizeof room));
    TELL ("back", lseek (fd, 0, SEEK_SET));
    observe ("some again: %d", syscall (SYS_getdents64, fd, room, sizeof room) > 0);
    TELL ("a negative position", lseek (fd, -1, SEEK_SET));
    TELL ("of a file", syscall (SYS_getdents64, open ("d/1", O_RDONLY), room, sizeof room));
    TELL ("of a path", syscall (SYS_getdents64, open ("d", O_PATH), room, sizeof room));
}

/* Two readers of one directory, and one descriptor in two processes. */
static void
read_some (void *data)
{
    char room[512];

    observe ("the child reads some: %d",
             syscall (SYS_getdents64, GPOINTER_TO_INT (data), room, sizeof room) > 0);
}

static void
run_two (const struct mount_case *c)
{
    DIR *one, *two;
    int fd;

    make_tree ("d:d");
    fill ("d", 100);
    one = opendir ("d");
    two = opendir ("d");
    for (unsigned i = 0; i < 50; i++)
        readdir (one);
    observe ("%u by the second", count (two));
    observe ("%u more by the first", count (one));
    closedir (one);
    closedir (two);
    fd = open ("d", O_RDONLY);
    child_end (child_start (read_some, GINT_TO_POINTER (fd)));
    observe ("position moved: %d", lseek (fd, 0, SEEK_CUR) != 0);
}

static void
run_links (const struct mount_case *c)
{
    make_tree ("d:d d:d/a d:d/b f:d/c");
    show ("d", "d");
    TELL ("rmdir", rmdir ("d/a"));
    show ("d", "d");
    TELL ("move one out", rename ("d/b", "b"));
    show ("d", "d");
    show (".", ".");
    TELL ("and in", rename ("b", "d/b"));
    show ("d", "d");
    TELL ("onto an empty one", (mkdir ("e", 0755), rename ("d/b", "e")));
    show (".", ".");
    TELL ("make many", (fill ("d", 30), 0));
    show ("d", "d");
}

void
directories_cases (GPtrArray *list)
{
    for (unsigned i = 0; i < G_N_ELEMENTS (sizes); i++)
        case_add (list, run_all, i, 0, 0, 0, "directories/%u names", sizes[i]);
    case_add (list, run_changes, 0, 0, 0, 0, "directories/changes while it is read");
    case_add (list, run_remove_while_reading, 0, 0, 0, 0, "directories/removing what is read");
    case_add (list, run_types, 0, 0, 0, 0, "directories/types and numbers");
    case_add (list, run_raw, 0, 0, 0, 0, "directories/getdents64");
    case_add (list, run_two, 0, 0, 0, 0, "directories/two readers");
    case_add (list, run_links, 0, 0, 0, 0, "directories/links");
}
