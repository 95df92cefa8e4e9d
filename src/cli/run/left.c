/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Processes that outlive the command. This process is their subreaper: one whose parent has ended
 * becomes its child, so all of them are below it.
 */
#include "cli/run/run.h"

#include "core/base/printable.h"
#include "core/base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEFT_MAX 20 /* processes that are named */

/* All processes, as pid -> parent. */
static GHashTable *
left_look (void)
{
    GHashTable *parents = g_hash_table_new (NULL, NULL);
    g_autoptr (GDir) proc = g_dir_open ("/proc", 0, NULL);
    const char *name;

    while (proc && (name = g_dir_read_name (proc))) {
        const pid_t pid = (pid_t) strtol (name, NULL, 10);
        const pid_t parent = pid > 0 ? process_parent (pid) : 0;

        if (parent > 0)
            g_hash_table_insert (parents, GINT_TO_POINTER (pid), GINT_TO_POINTER (parent));
    }
    return parents;
}

/* Is pid below top, on a way that does not lead through besides? The table is no snapshot, so a way
 * may be a ring. */
static bool
left_is_below (GHashTable *parents, pid_t pid, pid_t top, pid_t besides)
{
    for (guint i = g_hash_table_size (parents); i > 0 && pid > 0 && pid != besides; i--) {
        pid = GPOINTER_TO_INT (g_hash_table_lookup (parents, GINT_TO_POINTER (pid)));
        if (pid == top)
            return true;
    }
    return false;
}

void
left_tell (pid_t besides)
{
    g_autoptr (GHashTable) parents = left_look ();
    g_autoptr (GString) text = g_string_new (NULL);
    const pid_t self = getpid ();
    GHashTableIter iter;
    gpointer key;
    guint n = 0;

    g_hash_table_iter_init (&iter, parents);
    while (g_hash_table_iter_next (&iter, &key, NULL)) {
        const pid_t pid = GPOINTER_TO_INT (key);
        g_autofree char *name = NULL;

        if (pid == besides || !left_is_below (parents, pid, self, besides) || n++ >= LEFT_MAX)
            continue;
        name = process_comm (pid);
        g_string_append_printf (text, "%s%d (%s)", text->len ? ", " : "", (int) pid,
                                name ? name : "?");
    }
    if (n > LEFT_MAX)
        g_string_append_printf (text, " and %u more", n - LEFT_MAX);
    if (n)
        say_line (stderr,
                  "windlass run: still running: process%s %s; the view ends with the command, and "
                  "what is in it fails for them from now on (ENOTCONN)",
                  n == 1 ? "" : "es", text->str);
}
