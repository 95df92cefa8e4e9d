/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * With --lowers the directories that cluster/overlay only reads have files before a history begins.
 * Before the first line of the history a client looks up each of these files, and the model has
 * them as if that client had made them. At the end of the history the directories, their files and
 * the times of both must be as they were made.
 */
#include "conform/history/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the order in which they are made: a directory comes before what is in it. With several lowers
 * the objects are dealt out in turn: the first lower gets the first object, the second lower the
 * second one, and so on. Each lower also gets the directories on the way to its objects. */
static const struct lower_object {
    const char *path;
    ia_type_t type;
    mode_t mode;
    size_t size;        /* of a file, in bytes */
    const char *target; /* of a symbolic link */
} lower_objects[] = {
    { "a", IA_IFREG, 0644, 5000, NULL },
    { "b", IA_IFREG, 0600, 0, NULL },
    { "d", IA_IFDIR, 0755, 0, NULL },
    { "d/a", IA_IFREG, 0644, 70, NULL },
    { "d/b", IA_IFREG, 0644, 12000, NULL },
    { "c", IA_IFLNK, 0777, 0, "a" },
    { "e", IA_IFDIR, 0755, 0, NULL },
};

#define LOWER_LINE 1000010 /* number of the line that is said to have written the first object */
#define LOWER_RECORDS 4    /* maximum number of operations that make an object */

/* --- before the graph starts ------------------------------------------------------------------ */

static GBytes *
lower_bytes (size_t i)
{
    const size_t size = lower_objects[i].size;

    return g_bytes_new_take (line_bytes (LOWER_LINE + i, size), size);
}

static int
lower_make (const char *directory, size_t i)
{
    const struct lower_object *object = &lower_objects[i];
    g_autofree char *path = g_build_filename (directory, object->path, NULL),
                    *above = g_path_get_dirname (path);
    g_autoptr (GBytes) bytes = lower_bytes (i);
    gsize size;
    const char *text = g_bytes_get_data (bytes, &size);

    if (g_mkdir_with_parents (object->type == IA_IFDIR ? path : above, 0755) < 0)
        return -errno;
    if (object->type == IA_IFLNK)
        return symlink (object->target, path) < 0 ? -errno : 0;
    if (object->type == IA_IFREG && !g_file_set_contents (path, text, (gssize) size, NULL))
        return -EIO;
    return chmod (path, object->mode) < 0 ? -errno : 0;
}

bool
lower_fill (const char *directory, unsigned lower, unsigned lowers)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < G_N_ELEMENTS (lower_objects); i++)
        if (i % lowers == lower)
            r = lower_make (directory, i);
    if (r < 0)
        fprintf (stderr, "windlass conform: '%s' can't be filled: %s\n", directory,
                 g_strerror (-r));
    return r == 0;
}

/* --- before the first line -------------------------------------------------------------------- */

/* Adds the record of an operation that has succeeded, at a time that was kept for it. */
static struct operation *
lower_record (struct drive *drive, enum fop op, unsigned *time)
{
    struct operation *seen = drive_record (drive, op, LOWER_LINE, CLIENTS_MAX);

    seen->invoked = (*time)++;
    seen->responded = (*time)++;
    return seen;
}

static void
lower_record_data (struct drive *drive, size_t i, int node, int fd, unsigned *time)
{
    struct operation *seen;

    if (lower_objects[i].size > 0) {
        seen = lower_record (drive, FOP_writev, time);
        seen->node = node;
        seen->fd = fd;
        seen->bytes = lower_bytes (i);
        seen->size = (size_t) (seen->ret = (int) lower_objects[i].size);
    }
    seen = lower_record (drive, FOP_flush, time);
    seen->node = node;
    seen->fd = fd;
    seen->flags = true;
}

/* Adds records of the operations that would have made the object. */
static void
lower_record_object (struct drive *drive, size_t i, int parent, int node, unsigned time)
{
    const struct lower_object *object = &lower_objects[i];
    const enum fop op = object->type == IA_IFDIR ? FOP_mkdir
                      : object->type == IA_IFLNK ? FOP_symlink : FOP_create;
    struct operation *seen = lower_record (drive, op, &time);
    const char *slash = strrchr (object->path, '/');

    seen->parent = parent;
    seen->found = node;
    seen->name = g_strdup (slash ? slash + 1 : object->path);
    seen->mode = object->mode;
    if (op == FOP_symlink)
        seen->bytes = g_bytes_new (object->target, strlen (object->target));
    if (op == FOP_create) {
        seen->flags = O_RDWR;
        seen->fd = drive->opens++;
        lower_record_data (drive, i, node, seen->fd, &time);
    }
}

/* Adds the record of a command that makes these files the base of the model. */
static void
lower_record_base (struct drive *drive, unsigned time)
{
    lower_record (drive, FOP_command, &time)->name = g_strdup ("freeze");
}

/* Returns NULL, or an error text. */
static char *
lower_look (struct drive *drive, size_t i, unsigned time)
{
    const char *path = lower_objects[i].path;
    const guint first = drive->seens->len;
    char *wrong = drive_line (drive, &drive->actors[CLIENTS_MAX], VERB_stat, path, 0);
    const struct operation *found = NULL;

    for (guint n = first; n < drive->seens->len; n++) {
        const struct operation *seen = drive->seens->pdata[n];

        if (seen->op == FOP_lookup)
            found = seen;
    }
    if (!wrong && (!found || found->ret < 0 || found->found < 0))
        wrong = g_strdup_printf ("the lower's file '%s' is not there when the history begins\n",
                                 path);
    if (!wrong)
        lower_record_object (drive, i, found->parent, found->found, time);
    return wrong;
}

char *
lowers_look (struct drive *drive)
{
    const unsigned n = G_N_ELEMENTS (lower_objects), each = 2 * LOWER_RECORDS;
    const unsigned begin = drive->clock;
    char *wrong = NULL;

    drive->calm = true;
    drive->clock += n * each + 2;
    for (unsigned i = 0; i < n && !wrong; i++)
        wrong = lower_look (drive, i, begin + i * each);
    lower_record_base (drive, begin + n * each);
    drive->calm = false;
    return wrong;
}
