/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replaces libFuzzer: calls a target with each named file, and with each file of each named
 * directory, in the order of names. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#pragma weak LLVMFuzzerInitialize

static unsigned replayed;

static int
fuzz_replay_names_compare (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static void
replay_file (const char *path)
{
    g_autofree char *text = NULL;
    g_autofree uint8_t *bytes = NULL;
    gsize size;

    if (!g_file_get_contents (path, &text, &size, NULL)) {
        fprintf (stderr, "replay: '%s' can't be read\n", path);
        exit (1);
    }
    printf ("%s\n", path); /* the last line names the file */
    fflush (stdout);
    bytes = g_memdup2 (text, size); /* exact size: an access beyond the end is detected */
    LLVMFuzzerTestOneInput (bytes, size);
    replayed++;
}

static void
replay (const char *path)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    GDir *dir = g_dir_open (path, 0, NULL);
    const char *name;

    if (!dir) {
        replay_file (path);
        return;
    }
    while ((name = g_dir_read_name (dir)))
        g_ptr_array_add (names, g_build_filename (path, name, NULL));
    g_dir_close (dir);
    g_ptr_array_sort (names, fuzz_replay_names_compare);
    for (guint i = 0; i < names->len; i++)
        replay_file (names->pdata[i]);
}

int
main (int argc, char **argv)
{
    if (LLVMFuzzerInitialize)
        LLVMFuzzerInitialize (&argc, &argv);
    for (int i = 1; i < argc; i++)
        replay (argv[i]);
    printf ("%u inputs\n", replayed);
    return replayed > 0 ? 0 : 1;
}
