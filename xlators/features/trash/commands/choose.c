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

/* --- arguments that no entry fits ------------------------------------------------------------- */

/* Returns the newest entry with this path whose tree has the part, as that part; or NULL. */
static struct entry_seen *
part_of_path (const struct visit *visit, const char *path, const char *part)
{
    const GPtrArray *entries = visit->entries;
    struct entry_seen *found = NULL;

    for (guint i = first_from (entries, path); !found && i < entries->len; i++) {
        const struct entry_seen *entry = entries->pdata[i];

        if (g_strcmp0 (entry->path, path) != 0)
            break;
        if (is_old_enough (visit->order, entry))
            found = visit_part (visit, entry, part);
    }
    return found;
}

/* The argument may be a path in a tree that was removed: the entry has the path of a directory
 * above it. Of several such directories the lowest counts. */
static struct entry_seen *
part_find (const struct visit *visit, const char *argument)
{
    g_autofree char *path = g_strdup (argument);
    struct entry_seen *found = NULL;
    char *slash;

    while (!found && !visit->order->names && (slash = strrchr (path, '/'))) {
        *slash = '\0';
        found = part_of_path (visit, path, argument + (slash - path) + 1);
    }
    return found;
}

/* Returns an entry whose path ends with the argument, or NULL: the user may have meant the path
 * from another directory than the root of the mount. */
static const struct entry_seen *
entry_ending (const struct visit *visit, const char *argument)
{
    g_autofree char *end = g_strconcat ("/", argument, NULL);

    for (guint i = 0; i < visit->entries->len; i++) {
        const struct entry_seen *entry = visit->entries->pdata[i];

        if (entry->path && g_str_has_suffix (entry->path, end))
            return entry;
    }
    return NULL;
}

static void
tell_part (struct visit *visit, const char *argument, const struct entry_seen *part)
{
    g_autofree char *shown = visit_shown (argument), *name = visit_shown (part->name);
    g_autofree char *path = g_strndup (part->path, strlen (part->path) - strlen (part->part) - 1);
    g_autofree char *shown_path = visit_shown (path);

    job_print (visit->job,
               "'%s' is a part of the entry '%s' (in the trash '%s'), which is listed and removed "
               "as a whole; 'windlass trash restore MOUNTPOINT' with this path restores the part\n",
               shown, shown_path, name);
}

static void
tell_unknown (struct visit *visit, const char *argument)
{
    const struct entry_seen *like = visit->order->names ? NULL : entry_ending (visit, argument);
    g_autofree char *shown = visit_shown (argument), *path = visit_shown (like ? like->path : "");

    job_print (visit->job, "no entry of the trash has the path or the name '%s'", shown);
    if (like)
        job_print (visit->job, "; there is '%s': a path begins at the root of the mount", path);
    job_print (visit->job, "\n");
}

/* Whether an argument before this one has the part as well: it names the whole entry, the same
 * part, or a directory that has the part in it. */
static bool
part_is_chosen (const struct visit *visit, const struct entry_seen *part)
{
    bool is = false;

    for (guint i = 0; !is && i < visit->chosen->len; i++) {
        const struct entry_seen *other = visit->chosen->pdata[i];
        const size_t length = other->part ? strlen (other->part) : 0;

        is = other->bin == part->bin && strcmp (other->name, part->name) == 0
             && (length == 0
                 || (strncmp (part->part, other->part, length) == 0
                     && (part->part[length] == '\0' || part->part[length] == '/')));
    }
    return is;
}

/* Only a restore takes a part out of an entry. */
static void
choose_part (struct visit *visit, const char *argument, bool restores)
{
    struct entry_seen *part = part_find (visit, argument);

    if (part)
        g_ptr_array_add (visit->parts, part);
    if (part && restores) {
        part->named = true;
        if (!part_is_chosen (visit, part))
            g_ptr_array_add (visit->chosen, part);
        return;
    }
    visit->unknown++;
    if (visit->order->json)
        return;
    if (part)
        tell_part (visit, argument, part);
    else
        tell_unknown (visit, argument);
}

int
visit_choose (struct visit *visit, bool restores)
{
    g_autoptr (GHashTable) names = names_index (visit->entries);
    g_autoptr (GPtrArray) others = g_ptr_array_new ();
    char **const arguments = visit->order->arguments;
    int r = 0;

    if (!*arguments)
        mark_all (visit->entries);
    for (char **argument = arguments; *argument; argument++) {
        if (!job_next (visit->job))
            return -EINTR;
        if (!mark_fitting (visit, names, *argument))
            g_ptr_array_add (others, *argument);
    }
    gather (visit, restores && !visit->order->names);
    for (guint i = 0; r == 0 && i < others->len; i++)
        if (job_next (visit->job))
            choose_part (visit, others->pdata[i], restores);
        else
            r = -EINTR;
    return r;
}
