/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The lowers of cluster/overlay: directories of storage that the graph only reads. */
#include "conform/conform.h"
#include "graph/graph.h"

#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns whether the volume `name` is `top`, or stands below it. A graph has no circle. */
static bool
lowers_reach (const struct volfile *volfile, const char *top, const char *name)
{
    const struct volfile_volume *volume = volfile_find_volume (volfile, top);

    if (strcmp (top, name) == 0)
        return true;
    for (guint i = 0; volume && i < volume->subvolumes->len; i++) {
        const struct volfile_word *child = volume->subvolumes->pdata[i];

        if (lowers_reach (volfile, child->text, name))
            return true;
    }
    return false;
}

bool
conform_is_lower (const struct volfile *volfile, const char *name)
{
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        for (guint j = 1; g_strcmp0 (volume->type, "cluster/overlay") == 0
                          && j < volume->subvolumes->len; j++) {
            const struct volfile_word *child = volume->subvolumes->pdata[j];

            if (lowers_reach (volfile, child->text, name))
                return true;
        }
    }
    return false;
}

static int
lowers_by_name (const FTSENT **a, const FTSENT **b)
{
    return strcmp ((*a)->fts_name, (*b)->fts_name);
}

static void
lowers_print (GString *out, const char *path, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    g_autofree char *text = NULL, *sum = NULL;
    gsize size = 0;

    if (S_ISREG (st->st_mode) && g_file_get_contents (entry->fts_accpath, &text, &size, NULL))
        sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, size);
    g_string_append_printf (out, "%s: mode 0%o, %u links, size %lld, modified %lld.%09ld, changed "
                            "%lld.%09ld, %.16s\n", path, st->st_mode, (unsigned) st->st_nlink,
                            (long long) st->st_size, (long long) st->st_mtim.tv_sec,
                            st->st_mtim.tv_nsec, (long long) st->st_ctim.tv_sec,
                            st->st_ctim.tv_nsec, sum ? sum : "-");
}

char *
conform_lower_text (const char *directory)
{
    char *const paths[] = { (char *) directory, NULL };
    FTS *tree = fts_open (paths, FTS_PHYSICAL | FTS_NOCHDIR, lowers_by_name);
    GString *out = g_string_new (NULL);
    FTSENT *entry;

    while (tree && (entry = fts_read (tree)))
        if (entry->fts_info != FTS_DP)
            lowers_print (out, entry->fts_path + strlen (directory), entry);
    if (tree)
        fts_close (tree);
    return g_string_free (out, FALSE);
}
