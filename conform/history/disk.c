/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the directory of storage at the end of a history, without the graph, so that the result can
 * be compared with the files that a client read through the graph. */
#include "conform/history/drive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
tree_add (GString *tree, const char *path, ia_type_t type, unsigned mode, GBytes *bytes)
{
    g_autofree char *sum = bytes ? g_compute_checksum_for_bytes (G_CHECKSUM_SHA256, bytes)
                                 : g_strdup ("-");

    if (type == IA_IFLNK)
        mode = 0777;
    g_string_append_printf (tree, "%s: type %d, mode 0%o, %zu bytes %.16s\n", path, type, mode,
                            bytes ? g_bytes_get_size (bytes) : 0, sum);
}

static GBytes *
disk_bytes (const char *path, const struct stat *st)
{
    char target[PATH_MAX];
    char *contents;
    gsize size;

    if (S_ISREG (st->st_mode) && g_file_get_contents (path, &contents, &size, NULL))
        return g_bytes_new_take (contents, size);
    const ssize_t n = S_ISLNK (st->st_mode) ? readlink (path, target, sizeof target) : -1;
    return n >= 0 ? g_bytes_new (target, n) : NULL;
}

static GPtrArray *
disk_names (const char *directory)
{
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);
    GDir *dir = g_dir_open (directory, 0, NULL);
    const char *name;

    while (dir && (name = g_dir_read_name (dir)))
        g_ptr_array_add (names, g_strdup (name));
    if (dir)
        g_dir_close (dir);
    g_ptr_array_sort (names, conform_by_text);
    return names;
}

/* Lists the tree breadth first: the entries of a directory come after all entries of the directory
 * above. drive_look_at_all reads files in the same order, so that the two texts can be compared. */
char *
disk_tree (const char *directory)
{
    GString *tree = g_string_new (NULL);
    GQueue todo = G_QUEUE_INIT;

    g_queue_push_tail (&todo, g_strdup (""));
    while (todo.length) {
        g_autofree char *above = g_queue_pop_head (&todo),
                        *place = g_build_filename (directory, above, NULL);
        struct stat st;

        if (lstat (place, &st) < 0)
            continue;
        g_autoptr (GBytes) bytes = disk_bytes (place, &st);
        if (*above)
            tree_add (tree, above, ia_type_of_mode (st.st_mode), st.st_mode & 07777, bytes);
        g_autoptr (GPtrArray) names = S_ISDIR (st.st_mode) ? disk_names (place)
                                                           : g_ptr_array_new ();
        for (guint i = 0; i < names->len; i++)
            g_queue_push_tail (&todo, g_build_filename (above, names->pdata[i], NULL));
    }
    return g_string_free (tree, FALSE);
}
