/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kv DIRECTORY [no-fsync|no-fsync-dir]: a small store whose confirmed values survive a power cut,
 * and two faulty variants.
 *
 *   put KEY VALUE     prints "ok KEY" when it is durable
 *   list              prints "KEY VALUE" of each, and "end"
 *
 * The store is a log of lines "CHECKSUM KEY VALUE". Each put appends a line and calls fsync. Every
 * 4 puts the log is rewritten, with the last value of each key: to DIRECTORY/new, fsync, rename to
 * DIRECTORY/log, fsync of the directory. no-fsync omits the first fsync of the rewrite,
 * no-fsync-dir the second.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMPACT_EVERY 4

struct kv {
    int dir, log;
    GHashTable *values; /* key -> value */
    unsigned puts;
    gboolean skip_fsync, skip_fsync_dir;
};

static void
check (gboolean ok, const char *what)
{
    if (ok)
        return;
    fprintf (stderr, "kv: %s: %s\n", what, strerror (errno));
    exit (1);
}

static char *
line_of (const char *key, const char *value)
{
    g_autofree char *text = g_strdup_printf ("%s %s", key, value);

    return g_strdup_printf ("%08x %s\n", g_str_hash (text), text);
}

static void
append (int fd, const char *key, const char *value)
{
    g_autofree char *line = line_of (key, value);
    size_t size = strlen (line);

    check (write (fd, line, size) == (ssize_t) size, "write");
}

/* Returns whether the line is complete and has the right checksum; false for the rest of a line
 * after a power cut. */
static gboolean
replay_line (struct kv *kv, const char *line)
{
    g_auto (GStrv) words = g_strsplit (line, " ", 3);
    g_autofree char *again = NULL;

    if (g_strv_length (words) != 3)
        return FALSE;
    again = line_of (words[1], words[2]);
    if (strncmp (again, line, strlen (line)) != 0)
        return FALSE;
    g_hash_table_insert (kv->values, g_strdup (words[1]), g_strdup (words[2]));
    return TRUE;
}

/* Truncates the file after the last valid line. */
static void
replay (struct kv *kv)
{
    g_autofree char *text = g_malloc0 (1 << 20);
    ssize_t size = pread (kv->log, text, (1 << 20) - 1, 0);
    char *at = text, *end;

    check (size >= 0, "read");
    while ((end = memchr (at, '\n', (size_t) (text + size - at)))) {
        *end = '\0';
        if (!replay_line (kv, at))
            break;
        at = end + 1;
    }
    if (at == text + size)
        return;
    check (ftruncate (kv->log, at - text) == 0 && fsync (kv->log) == 0, "truncate");
}

static void
compact (struct kv *kv)
{
    int fd = openat (kv->dir, "new", O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0644);
    GHashTableIter iter;
    gpointer key, value;

    check (fd >= 0, "new");
    g_hash_table_iter_init (&iter, kv->values);
    while (g_hash_table_iter_next (&iter, &key, &value))
        append (fd, key, value);
    check (kv->skip_fsync || fsync (fd) == 0, "fsync");
    check (renameat (kv->dir, "new", kv->dir, "log") == 0, "rename");
    check (kv->skip_fsync_dir || fsync (kv->dir) == 0, "fsync of the directory");
    close (kv->log);
    kv->log = fd;
}

static void
put (struct kv *kv, const char *key, const char *value)
{
    g_hash_table_insert (kv->values, g_strdup (key), g_strdup (value));
    append (kv->log, key, value);
    check (fsync (kv->log) == 0, "fsync");
    if (++kv->puts % COMPACT_EVERY == 0)
        compact (kv);
    printf ("ok %s\n", key);
}

static void
list (struct kv *kv)
{
    GHashTableIter iter;
    gpointer key, value;

    g_hash_table_iter_init (&iter, kv->values);
    while (g_hash_table_iter_next (&iter, &key, &value))
        printf ("%s %s\n", (char *) key, (char *) value);
    puts ("end");
}

int
main (int argc, char **argv)
{
    struct kv kv = { .dir = open (argv[1], O_RDONLY | O_DIRECTORY),
                     .skip_fsync = argc > 2 && strcmp (argv[2], "no-fsync") == 0,
                     .skip_fsync_dir = argc > 2 && strcmp (argv[2], "no-fsync-dir") == 0 };
    char line[1000];

    check (kv.dir >= 0, argv[1]);
    kv.values = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    kv.log = openat (kv.dir, "log", O_RDWR | O_CREAT | O_APPEND, 0644);
    check (kv.log >= 0 && fsync (kv.log) == 0 && fsync (kv.dir) == 0, "log");
    replay (&kv);
    setvbuf (stdout, NULL, _IOLBF, 0);
    while (fgets (line, sizeof line, stdin)) {
        g_auto (GStrv) words = g_strsplit (g_strchomp (line), " ", 3);
        if (g_strv_length (words) == 3)
            put (&kv, words[1], words[2]);
        else
            list (&kv);
    }
    return 0;
}
