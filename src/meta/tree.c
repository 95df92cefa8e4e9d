/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tree of names in .meta, one row per name. */
#include "meta/internal.h"

#define FILE_KIND(name_, show_) \
    &(const struct meta_kind) \
    { \
        .name = name_, .type = IA_IFREG, .show = show_ \
    }
#define KNOB_KIND(name_, show_, set_) \
    &(const struct meta_kind) \
    { \
        .name = name_, .type = IA_IFREG, .show = show_, .set = set_ \
    }
#define LINK_KIND(name_, show_) \
    &(const struct meta_kind) \
    { \
        .name = name_, .type = IA_IFLNK, .show = show_ \
    }

/* --- one translator ------------------------------------------------------------------------- */

static void
add_option (const struct xlator_option *option, void *data)
{
    static const struct meta_kind kind = { .type = IA_IFREG, .show = meta_show_option };
    const struct meta_node node = { .kind = &kind, .option = option };

    meta_entries_add (data, g_strdup (option->key[0]), &node);
}

static void
list_options (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    guint first = entries->len;

    meta_each_option (meta, meta_xl (meta, node), add_option, entries);
    for (guint i = first; i < entries->len; i++) {
        struct meta_node *option = &((struct meta_entry *) entries->pdata[i])->node;

        option->volume = node->volume;
        option->api = node->api;
    }
}

static void
list_subvolumes (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    static const struct meta_kind kind = { .type = IA_IFLNK, .show = meta_show_subvolume };
    struct meta_node link = { .kind = &kind, .volume = node->volume, .api = node->api };

    const xlator_list_t *child = meta_xl (meta, node)->children;

    for (; child; child = child->next, link.n++)
        meta_entries_add (entries, g_strdup_printf ("%u", link.n), &link);
}

static const struct meta_kind *const xlator_files[] = {
    FILE_KIND ("type", meta_show_type),
    FILE_KIND ("name", meta_show_name),
    FILE_KIND ("private", meta_show_private),
    FILE_KIND ("history", meta_show_history),
    FILE_KIND ("meminfo", meta_show_meminfo),
    FILE_KIND ("profile", meta_show_profile),
    FILE_KIND ("settings", meta_show_settings),
    KNOB_KIND ("loglevel", meta_show_xl_loglevel, meta_set_xl_loglevel),
    &(const struct meta_kind){ .name = "options", .type = IA_IFDIR, .list = list_options },
    &(const struct meta_kind){ .name = "subvolumes", .type = IA_IFDIR, .list = list_subvolumes },
    &(const struct meta_kind){ .name = "view", .type = IA_IFDIR }, /* empty, as in GlusterFS */
    NULL,
};

/* --- the graph ------------------------------------------------------------------------------ */

static const struct meta_kind *const graph_files[] = {
    FILE_KIND ("volfile", meta_show_volfile),
    LINK_KIND ("top", meta_show_top),
    NULL,
};

static void
list_graph (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    static const struct meta_kind kind = { .type = IA_IFDIR, .children = xlator_files };
    const GPtrArray *xlators = meta->of.graph->xlators;

    for (guint i = 0; i < xlators->len; i++) {
        const xlator_t *xl = xlators->pdata[i];
        const struct meta_node dir = { .kind = &kind, .volume = xl->name, .api = xl->api };

        meta_entries_add (entries, meta_file_name (xl->name), &dir);
    }
}

static const struct meta_kind *const graphs_files[] = {
    LINK_KIND ("active", meta_show_active),
    NULL,
};

static void
list_graphs (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    static const struct meta_kind kind = { .type = IA_IFDIR,
                                           .children = graph_files,
                                           .list = list_graph };
    const struct meta_node dir = { .kind = &kind };

    meta_entries_add (entries, g_strdup (meta->uuid), &dir);
}

/* --- the whole ------------------------------------------------------------------------------ */

static const struct meta_kind *const logging_files[] = {
    KNOB_KIND ("loglevel", meta_show_loglevel, meta_set_loglevel),
    LINK_KIND ("logfile", meta_show_logfile),
    NULL,
};

static const struct meta_kind *const meta_files[] = {
    FILE_KIND ("cmdline", meta_show_cmdline),
    FILE_KIND ("version", meta_show_version),
    FILE_KIND ("process_uuid", meta_show_process_uuid),
    FILE_KIND ("mallinfo", meta_show_mallinfo),
    KNOB_KIND ("measure_latency", meta_show_measure_latency, meta_set_measure_latency),
    FILE_KIND ("frames", meta_show_frames),
    FILE_KIND ("jobs", meta_show_jobs),
    &(const struct meta_kind){ .name = "logging", .type = IA_IFDIR, .children = logging_files },
    &(const struct meta_kind){
        .name = "graphs", .type = IA_IFDIR, .children = graphs_files, .list = list_graphs },
    NULL,
};

/* The bridge's name: "root" since GlusterFS 10, "master" up to 8. */
static void
list_meta (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    static const struct meta_kind kind = { .type = IA_IFDIR, .children = xlator_files };
    const xlator_t *bridge = meta->of.bridge;
    const struct meta_node dir = { .kind = &kind, .volume = bridge->name, .api = bridge->api };

    meta_entries_add (entries, g_strdup ("root"), &dir);
    meta_entries_add (entries, g_strdup ("master"), &dir);
}

static void
list_outside (const struct meta *meta, const struct meta_node *node, GPtrArray *entries)
{
    static const struct meta_kind kind = { .type = IA_IFDIR,
                                           .children = meta_files,
                                           .list = list_meta };
    const struct meta_node dir = { .kind = &kind };

    meta_entries_add (entries, g_strdup (meta->of.name), &dir);
}

const struct meta_kind meta_outside = { .type = IA_IFDIR, .list = list_outside };

/* --- names ---------------------------------------------------------------------------------- */

static void
meta_entry_free (void *data)
{
    struct meta_entry *entry = data;

    g_free (entry->name);
    g_free (entry);
}

void
meta_entries_add (GPtrArray *entries, char *name, const struct meta_node *node)
{
    struct meta_entry *entry = g_new (struct meta_entry, 1);

    *entry = (struct meta_entry){ name, *node };
    g_ptr_array_add (entries, entry);
}

GPtrArray *
meta_entries (const struct meta *meta, const struct meta_node *node)
{
    GPtrArray *entries = g_ptr_array_new_with_free_func (meta_entry_free);

    for (const struct meta_kind *const *child = node->kind->children; child && *child; child++) {
        const struct meta_node at = { .kind = *child, .volume = node->volume, .api = node->api };

        meta_entries_add (entries, g_strdup ((*child)->name), &at);
    }
    if (node->kind->list)
        node->kind->list (meta, node, entries);
    return entries;
}
