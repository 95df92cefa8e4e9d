/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From volumes to translators: finds the top and the volumes that it reaches, loads the modules,
 * and checks options and needs. No code of a translator runs yet. Volumes that the top doesn't
 * reach are ignored. In a file with errors all are checked, since it is unknown then which ones are
 * reachable.
 */
#include "graph/internal.h"

#include "core/realm/realm.h"

#include <string.h>

struct loader {
    struct graph *graph;
    struct volfile *volfile;
    const struct graph_settings *settings;
    GHashTable *by_name;  /* name -> index in volfile->volumes, the first volume of each name */
    bool *reached;        /* by index in volfile->volumes */
    GPtrArray *loadings;  /* struct loading, from the top down */
    GHashTable *xlators;  /* name -> xlator_t */
};

static struct volfile_volume *
loader_volume (const struct loader *loader, guint i)
{
    return loader->volfile->volumes->pdata[i];
}

/* --- the top -------------------------------------------------------------------------------- */

static void
loader_index (struct loader *loader)
{
    for (guint i = 0; i < loader->volfile->volumes->len; i++) {
        const struct volfile_volume *volume = loader_volume (loader, i);

        if (!volume->again)
            g_hash_table_insert (loader->by_name, volume->name, GUINT_TO_POINTER (i));
    }
}

/* Finds the index of a name that is defined before the volume `before`. */
static bool
loader_find (const struct loader *loader, const char *name, guint before, guint *ret_i)
{
    gpointer i;

    if (!g_hash_table_lookup_extended (loader->by_name, name, NULL, &i)
        || GPOINTER_TO_UINT (i) >= before)
        return false;
    *ret_i = GPOINTER_TO_UINT (i);
    return true;
}

static void
loader_unknown_top (struct loader *loader, const char *name)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL, *all = NULL;

    for (guint i = 0; i < loader->volfile->volumes->len; i++)
        g_ptr_array_add (names, loader_volume (loader, i)->name);
    suggestion = suggest_text (suggest_near (name, names));
    g_ptr_array_add (names, NULL);
    all = g_strjoinv (", ", (char **) names->pdata);
    problem_error (loader->volfile, COMMAND_LINE, NULL,
                   "--volume-name '%s' is not a volume of '%s'%s; its volumes are %s", name,
                   loader->volfile->path, suggestion, all);
}

/* Returns the volume that --volume-name names, or else the last one. */
static guint
loader_top (struct loader *loader)
{
    const guint n = loader->volfile->volumes->len;
    const char *name = loader->settings->volume_name;
    guint top = n - 1;

    if (name && !loader_find (loader, name, n, &top))
        loader_unknown_top (loader, name);
    return top;
}

/* Children precede their parents, so one pass from the top to the beginning of the file is
 * enough. */
static void
loader_reach (struct loader *loader, guint top)
{
    loader->reached[top] = true;
    for (guint i = top + 1; i-- > 0;) {
        const struct volfile_volume *volume = loader_volume (loader, i);

        for (guint j = 0; loader->reached[i] && j < volume->subvolumes->len; j++) {
            const struct volfile_word *word = volume->subvolumes->pdata[j];
            guint child;

            if (loader_find (loader, word->text, i, &child))
                loader->reached[child] = true;
        }
    }
}

/* Marks the volumes that are children of a defined volume. */
static void
loader_mark_children (const struct loader *loader, bool *has_parent)
{
    for (guint i = 0; i < loader->volfile->volumes->len; i++) {
        const struct volfile_volume *volume = loader_volume (loader, i);

        for (guint j = 0; j < volume->subvolumes->len; j++) {
            guint child;

            if (loader_find (loader, ((struct volfile_word *) volume->subvolumes->pdata[j])->text,
                             i, &child))
                has_parent[child] = true;
        }
    }
}

/* Warns about further volumes without a parent: the last one is the top, the others are left
 * out. */
static void
loader_warn_of_others (struct loader *loader, guint top)
{
    g_autofree bool *has_parent = g_new0 (bool, loader->volfile->volumes->len);

    loader_mark_children (loader, has_parent);
    for (guint i = 0; i < loader->volfile->volumes->len; i++) {
        const struct volfile_volume *volume = loader_volume (loader, i);

        if (!loader->reached[i] && !has_parent[i])
            problem_warning (
                loader->volfile, (struct volfile_place){ volume->line, volume->column },
                volume->name,
                "not used: it is not below '%s' (line %d), the last volume, which is the top; "
                "--volume-name %s would make it the top",
                loader_volume (loader, top)->name, loader_volume (loader, top)->line, volume->name);
    }
}

/* --- translators ---------------------------------------------------------------------------- */

static void
loader_add_xlator (struct loader *loader, struct volfile_volume *volume)
{
    struct loading *loading = g_new0 (struct loading, 1);
    xlator_t *xl = g_new0 (xlator_t, 1);

    *loading = (struct loading){ xl, volume };
    *xl = xlator_init (volume->name, NULL, loader->graph, NULL);
    xl->type = volume->type;
    xl->line = volume->line;
    xl->column = volume->column;
    xl->number = loader->graph->xlators->len;
    xl->settings = g_ptr_array_new_with_free_func ((GDestroyNotify) setting_free);
    g_ptr_array_add (loader->graph->xlators, xl);
    g_ptr_array_add (loader->loadings, loading);
    if (!volume->again)
        g_hash_table_insert (loader->xlators, (char *) xl->name, xl);
}

static void
list_append (xlator_list_t **list, xlator_t *xl)
{
    while (*list)
        list = &(*list)->next;
    *list = g_new0 (xlator_list_t, 1);
    (*list)->xlator = xl;
}

/* Goes from the end, which is the beginning of the file, so that parents are in the order of the
 * file. A child that is defined later was reported; it isn't linked, since that could make a
 * cycle. */
static void
loader_link (struct loader *loader)
{
    for (guint i = loader->loadings->len; i-- > 0;) {
        const struct loading *loading = loader->loadings->pdata[i];
        xlator_t *xl = loading->xlator;

        for (guint j = 0; j < loading->volume->subvolumes->len; j++) {
            const struct volfile_word *word = loading->volume->subvolumes->pdata[j];
            xlator_t *child = g_hash_table_lookup (loader->xlators, word->text);

            if (child && child->number > xl->number) {
                list_append (&xl->children, child);
                list_append (&child->parents, xl);
            }
        }
    }
}

/* The files of a volume are on its servers. Any other lowest translator would show, or change,
 * files of this machine that the server names. */
static void
loader_check_leaf (struct loader *loader, const struct loading *loading)
{
    const struct volfile_volume *volume = loading->volume;

    if (loader->volfile->fetched && volume->subvolumes->len == 0
        && strcmp (loading->xlator->type, "protocol/client") != 0)
        problem_error (loader->volfile,
                       (struct volfile_place){ volume->type_line, volume->type_column },
                       volume->name,
                       "type '%s' must have subvolumes in the volfile of a server: only "
                       "protocol/client may have none there, since files of this machine are no "
                       "server's to show; '-f FILE' mounts a copy of the volfile as it is",
                       volume->type);
}

static void
loader_load_module (struct loader *loader, const struct loading *loading)
{
    const struct volfile_volume *volume = loading->volume;
    xlator_t *xl = loading->xlator;
    g_autofree char *error = NULL;

    if (!volume->type)
        return;
    xl->api = module_load (volume->type, loader->settings->xlator_dirs, &error);
    if (!xl->api) {
        problem_error (loader->volfile,
                       (struct volfile_place){ volume->type_line, volume->type_column },
                       volume->name, "%s", error);
        return;
    }
    xl->type = xl->api->type;
    loader_check_leaf (loader, loading);
    xl->private = g_malloc0 (MAX (xl->api->priv_size, 1));
    options_from_volfile (loader->volfile, loading);
}

static void
loader_make (struct loader *loader, bool sound)
{
    GPtrArray *loadings = loader->loadings;

    for (guint i = loader->volfile->volumes->len; i-- > 0;)
        if (loader->reached[i])
            loader_add_xlator (loader, loader_volume (loader, i));
    loader_link (loader);
    for (guint i = loadings->len; i-- > 0 && !problems_full (loader->volfile);)
        loader_load_module (loader, loadings->pdata[i]);
    options_from_command (loader->volfile, loadings, loader->settings->options);
    for (guint i = loadings->len; i-- > 0;) {
        const struct loading *loading = loadings->pdata[i];

        if (!loading->xlator->api)
            continue;
        options_apply (loader->volfile, loading);
        needs_check (loader->volfile, loading, sound);
    }
}

/* --- graphs --------------------------------------------------------------------------------- */

static void
loader_run (struct loader *loader)
{
    const guint n = loader->volfile->volumes->len;
    const bool sound = !volfile_has_errors (loader->volfile);
    guint top;

    if (n == 0)
        return;
    loader_index (loader);
    top = loader_top (loader);
    if (sound)
        loader_reach (loader, top);
    else
        memset (loader->reached, true, n * sizeof *loader->reached);
    if (sound && !loader->settings->volume_name)
        loader_warn_of_others (loader, top);
    loader_make (loader, sound);
    loader->graph->top = loader->graph->xlators->pdata[0];
}

struct graph *
graph_load (struct volfile *volfile, const struct graph_settings *settings)
{
    struct graph *graph = g_new0 (struct graph, 1);
    struct loader loader = { .graph = graph, .volfile = volfile, .settings = settings };

    graph->volfile = volfile;
    foreign_leave_out (volfile, settings->xlator_dirs);
    graph->xlators = g_ptr_array_new ();
    graph->roots = roots_new ();
    pthread_mutex_init (&graph->settings_lock, NULL);
    loader.by_name = g_hash_table_new (g_str_hash, g_str_equal);
    loader.xlators = g_hash_table_new (g_str_hash, g_str_equal);
    loader.reached = g_new0 (bool, volfile->volumes->len + 1);
    loader.loadings = g_ptr_array_new_with_free_func (g_free);
    loader_run (&loader);
    problems_sort (volfile);
    g_hash_table_unref (loader.by_name);
    g_hash_table_unref (loader.xlators);
    g_free (loader.reached);
    g_ptr_array_unref (loader.loadings);
    if (!volfile_has_errors (volfile))
        graph_wire (graph, settings->inode_limit);
    return graph;
}

xlator_t *
graph_find (struct graph *graph, const char *name)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        if (strcmp (xl->name, name) == 0)
            return xl;
    }
    return NULL;
}

unsigned
graph_touches (const struct graph *graph)
{
    unsigned touches = 0;

    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        if (xl->api && !xl->pass_through)
            touches |= xl->api->touches;
    }
    return touches;
}

/* --- freeing -------------------------------------------------------------------------------- */

static void
list_free (xlator_list_t *list)
{
    while (list) {
        xlator_list_t *next = list->next;

        g_free (list);
        list = next;
    }
}

static void
graph_xlator_free (xlator_t *xl)
{
    if (xl->api && xl->private)
        option_clear (xl->api->options, xl->private);
    g_free (xl->private);
    realm_slots_free (xl);
    list_free (xl->children);
    list_free (xl->parents);
    g_ptr_array_unref (xl->settings);
    g_free (xl);
}

void
graph_free (struct graph *graph)
{
    if (!graph)
        return;
    graph_deactivate (graph);
    g_clear_pointer (&graph->realms, g_ptr_array_unref);
    for (guint i = 0; i < graph->xlators->len; i++)
        graph_xlator_free (graph->xlators->pdata[i]);
    g_ptr_array_unref (graph->xlators);
    volfile_free (graph->volfile);
    roots_unref (graph->roots);
    pthread_mutex_destroy (&graph->settings_lock);
    g_free (graph);
}
