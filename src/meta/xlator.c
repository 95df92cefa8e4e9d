/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of .meta about one translator; the bridge is one too. */
#include "meta/internal.h"
#include "core/realm/realm.h"

#include "trace/metrics/numbers.h"

#include <limits.h>

/* A volume's name is a valid file name, as volfile.c ensures; but two names are reserved in the
 * directory of a graph. */
char *
meta_file_name (const char *name)
{
    const bool taken = strcmp (name, "volfile") == 0 || strcmp (name, "top") == 0;

    return taken || *name == '%' ? g_strdup_printf ("%%%.*s", NAME_MAX - 1, name) : g_strdup (name);
}

int
meta_show_type (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append_printf (out, "%s\n", meta_xl (meta, node)->type);
    return 0;
}

int
meta_show_name (const struct meta *meta, const struct meta_node *node, GString *out)
{
    g_string_append_printf (out, "%s\n", meta_xl (meta, node)->name);
    return 0;
}

/* "key=value" of a dump as "key = value". */
int
meta_show_private (const struct meta *meta, const struct meta_node *node, GString *out)
{
    xlator_t *xl = meta_xl (meta, node);
    g_autoptr (GString) dump = g_string_new (NULL);
    g_auto (GStrv) lines = NULL;

    if (!xl->api->dumpops.priv)
        return 0;
    xl->api->dumpops.priv (xl, dump);
    lines = g_strsplit (dump->str, "\n", -1);
    for (char **line = lines; *line; line++) {
        const char *equals = strchr (*line, '=');

        if (equals)
            g_string_append_printf (out, "%.*s = %s\n", (int) (equals - *line), *line, equals + 1);
        else if (**line)
            g_string_append_printf (out, "%s\n", *line);
    }
    return 0;
}

int
meta_show_history (const struct meta *meta, const struct meta_node *node, GString *out)
{
    xlator_t *xl = meta_xl (meta, node);

    if (xl->api->dumpops.history)
        xl->api->dumpops.history (xl, out);
    return 0;
}

/* --- memory --------------------------------------------------------------------------------- */

struct kept {
    const xlator_t *xl;
    size_t inodes;
};

static void
count_kept (inode_t *inode, void *data)
{
    struct kept *kept = data;

    if (inode_ctx_get (inode, kept->xl))
        kept->inodes++;
}

/* Allocations are not counted per translator; this shows the memory that is known otherwise. */
int
meta_show_meminfo (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const xlator_t *xl = meta_xl (meta, node);
    struct kept kept = { .xl = xl };

    g_string_append_printf (out, "private_size=%zu\n", xl->api->priv_size);
    if (xl->inode_slot < 0)
        return 0;
    itable_foreach (xl->realm ? xl->realm->itable : meta->of.graph->itable, count_kept, &kept);
    g_string_append_printf (out, "inodes_kept=%zu\n", kept.inodes);
    return 0;
}

/* --- times ---------------------------------------------------------------------------------- */

/* Nanoseconds, as in GlusterFS; but reading does not reset them. */
int
meta_show_profile (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const xlator_t *xl = meta_xl (meta, node);

    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++) {
        g_autofree char *name = NULL;
        struct numbers_sum sum;

        if (!numbers_sum (xl, op, &sum))
            continue;
        name = meta_fop_name (op);
        g_string_append_printf (
            out, "%s.latency.%s = AVG:%f CNT:%" G_GUINT64_FORMAT " TOTAL:%" G_GUINT64_FORMAT,
            xl->name, name, (double) sum.sum / (double) sum.count, sum.count, sum.sum);
        g_string_append_printf (out, " MIN:%" G_GUINT64_FORMAT " MAX:%" G_GUINT64_FORMAT "\n",
                                sum.min, sum.max);
    }
    return 0;
}

/* --- the log level -------------------------------------------------------------------------- */

int
meta_show_xl_loglevel (const struct meta *meta, const struct meta_node *node, GString *out)
{
    gf_loglevel_t level = __atomic_load_n (&meta_xl (meta, node)->loglevel, __ATOMIC_RELAXED);

    if (level == GF_LOG_UNSET)
        g_string_append (out, "unset\n");
    else
        g_string_append_printf (out, "%d\n", level);
    return 0;
}

int
meta_set_xl_loglevel (const struct meta *meta, const struct meta_node *node, const char *value,
                      GString *allowed)
{
    xlator_t *xl = meta_xl (meta, node);
    gf_loglevel_t level = GF_LOG_UNSET;

    if (!xl)
        return -ENOENT;
    if (g_ascii_strcasecmp (value, "unset") != 0 && log_level_parse (value, &level) < 0) {
        g_string_append (allowed,
                         "must be " META_LEVELS ", or unset, for the level of the process");
        return -EINVAL;
    }
    xlator_set_loglevel (xl, level);
    return 0;
}

/* --- options -------------------------------------------------------------------------------- */

/* The bridge's settings are constant. */
static void
settings_lock (const struct meta *meta)
{
    pthread_mutex_lock (&meta->of.graph->settings_lock);
}

static void
settings_unlock (const struct meta *meta)
{
    pthread_mutex_unlock (&meta->of.graph->settings_lock);
}

static bool
setting_is_explicit (const struct option_setting *setting)
{
    return setting->by != SET_BY_DEFAULT && setting->text;
}

void
meta_each_option (const struct meta *meta, xlator_t *xl,
                  void (*fn) (const struct xlator_option *option, void *data), void *data)
{
    settings_lock (meta);
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (setting_is_explicit (setting))
            fn (setting->option, data);
    }
    settings_unlock (meta);
}

/* After a reload the option may be unset. */
int
meta_show_option (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const xlator_t *xl = meta_xl (meta, node);
    int r = -ENOENT;

    settings_lock (meta);
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (setting->option != node->option || !setting_is_explicit (setting))
            continue;
        g_string_append_printf (out, "%s\n", setting_shown (setting));
        r = 0;
    }
    settings_unlock (meta);
    return r;
}

static void
append_setting (GString *out, const struct option_setting *setting)
{
    g_string_append_printf (out, "%s = %s  (", setting->option->key[0],
                            setting->text ? setting_shown (setting) : "");
    if (setting->by == SET_BY_VOLFILE)
        g_string_append_printf (out, "volfile, line %d)\n", setting->line);
    else
        g_string_append (out, setting->by == SET_BY_DEFAULT ? "default)\n" : "command line)\n");
}

int
meta_show_settings (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const xlator_t *xl = meta_xl (meta, node);

    settings_lock (meta);
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (!setting->option->inert || setting->by != SET_BY_DEFAULT)
            append_setting (out, setting);
    }
    settings_unlock (meta);
    return 0;
}

/* --- subvolumes ----------------------------------------------------------------------------- */

int
meta_show_subvolume (const struct meta *meta, const struct meta_node *node, GString *out)
{
    const xlator_t *xl = meta_xl (meta, node);
    const xlator_list_t *child = xl->children;
    g_autofree char *name = NULL;

    for (unsigned i = 0; child && i < node->n; i++)
        child = child->next;
    if (!child)
        return -ENOENT; /* the translator has fewer in the present graph */
    name = meta_file_name (child->xlator->name);
    g_string_append_printf (out, "../../%s%s", xl == meta->of.bridge ? "graphs/active/" : "",
                            name);
    return 0;
}
