/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks a translator's declared needs about its neighbours, before anything starts. */
#include "graph/internal.h"

#include <string.h>

static guint
list_length (const xlator_list_t *list)
{
    guint n = 0;

    for (; list; list = list->next)
        n++;
    return n;
}

static char *
needs_children_text (const struct xlator_api *api)
{
    const int min = api->children.min, max = api->children.max;

    if (max == 0)
        return g_strdup ("no");
    if (max < 0)
        return min ? g_strdup_printf ("%d or more", min) : g_strdup ("any number");
    return min == max ? g_strdup_printf ("exactly %d", min)
                      : g_strdup_printf ("%d to %d", min, max);
}

static bool
is_subvolume (const struct volfile *volfile, const char *name)
{
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        for (guint j = 0; j < volume->subvolumes->len; j++)
            if (strcmp (((struct volfile_word *) volume->subvolumes->pdata[j])->text, name) == 0)
                return true;
    }
    return false;
}

/* Returns "; add 'subvolumes a b'", of the volumes before this one that are nobody's subvolumes;
 * "" if there is none. g_free it. */
static char *
children_to_add (const struct volfile *volfile, const struct volfile_volume *volume)
{
    GString *out = g_string_new ("");

    for (guint i = 0; i < volfile->volumes->len && volfile->volumes->pdata[i] != volume; i++) {
        const struct volfile_volume *before = volfile->volumes->pdata[i];

        if (!is_subvolume (volfile, before->name))
            g_string_append_printf (out, "%s %s", out->len ? "" : "; add 'subvolumes",
                                    before->name);
    }
    if (out->len)
        g_string_append_c (out, '\'');
    return g_string_free (out, FALSE);
}

/* Reports at the first subvolume, or at the volume if there is none. */
static void
children_check (struct volfile *volfile, const struct loading *loading)
{
    const struct xlator_api *api = loading->xlator->api;
    const struct volfile_volume *volume = loading->volume;
    const guint n = volume->subvolumes->len;
    const struct volfile_word *first = n ? volume->subvolumes->pdata[0] : NULL;
    const struct volfile_place place = first ? (struct volfile_place){ first->line, first->column }
                                     : (struct volfile_place){ volume->line, volume->column };
    g_autofree char *allowed = NULL, *add = NULL;

    if (n >= (guint) api->children.min && (api->children.max < 0 || n <= (guint) api->children.max))
        return;
    allowed = needs_children_text (api);
    add = n ? g_strdup ("") : children_to_add (volfile, volume);
    problem_error (volfile, place, volume->name, "type '%s' must have %s subvolume%s, has %u%s",
                   api->type, allowed, strcmp (allowed, "exactly 1") == 0 ? "" : "s", n, add);
}

static void
top_only_check (struct volfile *volfile, const xlator_t *xl)
{
    if (xl->api->top_only && list_length (xl->parents) > 0)
        problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                       "type '%s' must be on top, but is a subvolume of '%s' (line %d)",
                       xl->api->type, xl->parents->xlator->name, xl->parents->xlator->line);
}

/* graph->xlators is ordered from the top down, the file from the bottom up: the file's first volume
 * is the last here. */
static void
once_check (struct volfile *volfile, const xlator_t *xl)
{
    const xlator_t *first = xl;

    if (!xl->api->once)
        return;
    for (guint i = xl->number + 1; i < xl->graph->xlators->len; i++) {
        const xlator_t *other = xl->graph->xlators->pdata[i];

        if (other->api == xl->api)
            first = other;
    }
    if (first != xl)
        problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                       "type '%s' must be in a graph at most once, and is '%s' (line %d) already",
                       xl->api->type, first->name, first->line);
}

static bool
type_among (const char *const *types, const xlator_t *xl)
{
    return xl->api && g_strv_contains (types, xl->api->type);
}

/* Returns the first translator above or below xl that has one of the types, or NULL. Visits each
 * translator once, however many paths lead to it. */
static const xlator_t *
needs_search (const xlator_t *xl, bool below, const char *const *types)
{
    g_autofree bool *seen = g_new0 (bool, xl->graph->xlators->len);
    g_autoptr (GPtrArray) todo = g_ptr_array_new ();

    g_ptr_array_add (todo, (xlator_t *) xl);
    while (todo->len) {
        const xlator_t *at = g_ptr_array_steal_index_fast (todo, todo->len - 1);

        for (const xlator_list_t *next = below ? at->children : at->parents; next;
             next = next->next) {
            if (type_among (types, next->xlator))
                return next->xlator;
            if (!seen[next->xlator->number])
                g_ptr_array_add (todo, next->xlator);
            seen[next->xlator->number] = true;
        }
    }
    return NULL;
}

static void
around_check (struct volfile *volfile, const xlator_t *xl, bool below, const char *const *types)
{
    g_autofree char *wanted = NULL;

    if (!types || !types[0] || needs_search (xl, below, types))
        return;
    wanted = g_strjoinv (" or ", (char **) types);
    problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                   "type '%s' must have %s somewhere %s it", xl->api->type, wanted,
                   below ? "below" : "above");
}

static void
misfits_check (struct volfile *volfile, const xlator_t *xl)
{
    for (const struct xlator_misfit *misfit = xl->api->not_below; misfit && misfit->type;
         misfit++) {
        const char *const types[] = { misfit->type, NULL };
        const xlator_t *other = needs_search (xl, false, types);

        if (other)
            problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                           "type '%s' can't be below '%s' (line %d), type '%s', which %s",
                           xl->api->type, other->name, other->line, misfit->type, misfit->why);
    }
}

/* The edge at which a translator's realm begins; both NULL: it is in no realm. */
struct realm_edge {
    const xlator_t *boundary, *child;
};

/* parent: of child, which is in the realm that this way leads to. */
static struct realm_edge
realm_edge_of (const xlator_t *parent, const xlator_t *child)
{
    for (; parent && parent->api; child = parent, parent = parent->parents->xlator) {
        if (parent->api->realms)
            return (struct realm_edge){ parent, child };
        if (!parent->parents)
            break;
    }
    return (struct realm_edge){ NULL, NULL };
}

/* A translator has one table of inodes: all ways from the top must lead into the same realm. */
static void
realm_check (struct volfile *volfile, const xlator_t *xl)
{
    const xlator_list_t *first = xl->parents;
    struct realm_edge one, other;

    for (const xlator_list_t *parent = first; parent; parent = parent->next) {
        one = realm_edge_of (first->xlator, xl);
        other = realm_edge_of (parent->xlator, xl);
        if (one.boundary == other.boundary && one.child == other.child)
            continue;
        problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                       "can't be a subvolume of both '%s' (line %d) and '%s' (line %d): '%s' (line "
                       "%d) has inodes and names of its own below it, so that only one of the ways "
                       "may lead through it; define a second volume for the other",
                       first->xlator->name, first->xlator->line, parent->xlator->name,
                       parent->xlator->line, (one.boundary ? one : other).boundary->name,
                       (one.boundary ? one : other).boundary->line);
        return;
    }
}

void
needs_check (struct volfile *volfile, const struct loading *loading, bool sound)
{
    const xlator_t *xl = loading->xlator;

    if (!loading->volume->bad_subvolumes)
        children_check (volfile, loading);
    top_only_check (volfile, xl);
    once_check (volfile, xl);
    if (!sound)
        return;
    around_check (volfile, xl, false, xl->api->above);
    around_check (volfile, xl, true, xl->api->below);
    misfits_check (volfile, xl);
    realm_check (volfile, xl);
}
