/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entries that the arguments of a command name: by their former paths, and those below, or by
 * their names in the trash. */
#include "commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Control characters would make several lines of a name; a backslash would look like one of those
 * that stand for a byte. */
char *
visit_shown (const char *text)
{
    GString *out = g_string_new (NULL);

    for (; *text; text++)
        if (g_ascii_iscntrl (*text) || *text == '\\')
            g_string_append_printf (out, "\\x%02x", (unsigned char) *text);
        else
            g_string_append_c (out, *text);
    return g_string_free (out, FALSE);
}

/* Returns the first entry whose path is not before `path`; entries are sorted by path. */
static guint
first_from (const GPtrArray *entries, const char *path)
{
    guint low = 0, high = entries->len;

    while (low < high) {
        const guint middle = low + (high - low) / 2;
        const struct entry_seen *entry = entries->pdata[middle];

        if (entry->path && strcmp (entry->path, path) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Marks the entries whose paths are `path`, or, with below, begin with it. Returns whether there
 * are any. */
static bool
mark_from (const GPtrArray *entries, const char *path, bool below)
{
    bool found = false;

    for (guint i = first_from (entries, path); i < entries->len; i++) {
        struct entry_seen *entry = entries->pdata[i];

        if (!entry->path
            || !(below ? g_str_has_prefix (entry->path, path) : strcmp (entry->path, path) == 0))
            break;
        entry->chosen = true;
        entry->named |= !below;
        found = true;
    }
    return found;
}

static bool
mark_path (const GPtrArray *entries, const char *path)
{
    g_autofree char *folder = g_strconcat (path, "/", NULL);
    const bool found = mark_from (entries, path, false);

    return mark_from (entries, folder, true) || found;
}

static bool
mark_all (const GPtrArray *entries)
{
    for (guint i = 0; i < entries->len; i++)
        ((struct entry_seen *) entries->pdata[i])->chosen = true;
    return true;
}

/* names: name -> GPtrArray of entries. */
static bool
mark_name (GHashTable *names, const char *name)
{
    const GPtrArray *entries = g_hash_table_lookup (names, name);

    for (guint i = 0; entries && i < entries->len; i++) {
        struct entry_seen *entry = entries->pdata[i];

        entry->chosen = entry->named = true;
    }
    return entries != NULL;
}

static GHashTable *
names_index (const GPtrArray *entries)
{
    GHashTable *names = g_hash_table_new_full (g_str_hash, g_str_equal, NULL,
                                               (GDestroyNotify) g_ptr_array_unref);

    for (guint i = 0; i < entries->len; i++) {
        struct entry_seen *entry = entries->pdata[i];
        GPtrArray *same = g_hash_table_lookup (names, entry->name);

        if (!same) {
            same = g_ptr_array_new ();
            g_hash_table_insert (names, entry->name, same);
        }
        g_ptr_array_add (same, entry);
    }
    return names;
}

/* Paths go first: they are what a user knows. */
static bool
mark_fitting (struct visit *visit, GHashTable *names, const char *argument)
{
    if (!*argument)
        return mark_all (visit->entries);
    return (!visit->order->names && mark_path (visit->entries, argument))
        || mark_name (names, argument);
}

static bool
is_old_enough (const struct trash_order *order, const struct entry_seen *entry)
{
    return order->older == 0
        || clock_today ().tv_sec - entry->when > order->older / G_GINT64_CONSTANT (1000000000);
}

/* An older one of the same path comes after a newer one. */
static void
gather (struct visit *visit, bool newest)
{
    const struct entry_seen *last = NULL;

    for (guint i = 0; i < visit->entries->len; i++) {
        struct entry_seen *entry = visit->entries->pdata[i];

        if (!entry->chosen || !is_old_enough (visit->order, entry))
            continue;
        if (newest && last && last->path && g_strcmp0 (last->path, entry->path) == 0)
            continue;
        g_ptr_array_add (visit->chosen, entry);
        last = entry;
    }
}

static void
tell_unknown (struct visit *visit, const char *argument)
{
    g_autofree char *shown = visit_shown (argument);

    visit->unknown++;
    if (!visit->order->json)
        job_print (visit->job, "no entry of the trash has the path or the name '%s'\n", shown);
}

int
visit_choose (struct visit *visit, bool newest)
{
    g_autoptr (GHashTable) names = names_index (visit->entries);
    char **const arguments = visit->order->arguments;

    if (!*arguments)
        mark_all (visit->entries);
    for (char **argument = arguments; *argument; argument++) {
        if (!job_next (visit->job))
            return -EINTR;
        if (!mark_fitting (visit, names, *argument))
            tell_unknown (visit, *argument);
    }
    gather (visit, newest && !visit->order->names);
    return 0;
}
