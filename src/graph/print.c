/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A graph as text, which is a volfile again apart from its line numbers, and as a drawing. */
#include "graph/internal.h"

#include <string.h>

/* --- text ----------------------------------------------------------------------------------- */

/* Lines with numbers as in GlusterFS, or plain. */
struct listing {
    GString *out;
    unsigned line;
    bool plain;
};

static void G_GNUC_PRINTF (2, 3)
listing_add (struct listing *listing, const char *format, ...)
{
    va_list args;

    if (!listing->plain)
        g_string_append_printf (listing->out, "%3u: ", ++listing->line);
    va_start (args, format);
    g_string_append_vprintf (listing->out, format, args);
    va_end (args);
    g_string_append_c (listing->out, '\n');
}

char *
volfile_word (const char *word)
{
    GString *out;

    if (!word_needs_quotes (word))
        return g_strdup (word);
    out = g_string_new ("\"");
    for (; *word; word++) {
        if (strchr ("\"\\`", *word))
            g_string_append_c (out, '\\');
        g_string_append_c (out, *word);
    }
    g_string_append_c (out, '"');
    return g_string_free (out, FALSE);
}

static void
listing_add_xlator (struct listing *listing, const xlator_t *xl)
{
    g_autofree char *name = volfile_word (xl->name);

    listing_add (listing, "volume %s", name);
    listing_add (listing, "    type %s", xl->type ? xl->type : "?");
    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];
        g_autofree char *value = setting->text ? volfile_word (setting_shown (setting)) : NULL;

        if (value && setting->by != SET_BY_DEFAULT)
            listing_add (listing, "    option %s %s", setting->option->key[0], value);
    }
    if (xl->children) {
        g_autoptr (GString) names = g_string_new (NULL);

        for (const xlator_list_t *child = xl->children; child; child = child->next) {
            g_autofree char *word = volfile_word (child->xlator->name);

            g_string_append_printf (names, " %s", word);
        }
        listing_add (listing, "    subvolumes%s", names->str);
    }
    listing_add (listing, "end-volume");
}

static void
rule_add (GString *out)
{
    g_string_append_c (out, '+');
    for (int i = 0; i < 78; i++)
        g_string_append_c (out, '-');
    g_string_append (out, "+\n");
}

char *
graph_text (const struct graph *graph)
{
    struct listing listing = { .out = g_string_new (NULL) };

    rule_add (listing.out);
    for (guint i = graph->xlators->len; i-- > 0;) {
        listing_add_xlator (&listing, graph->xlators->pdata[i]);
        listing_add (&listing, "%s", "");
    }
    rule_add (listing.out);
    return g_string_free (listing.out, FALSE);
}

char *
graph_volfile (struct graph *graph)
{
    struct listing listing = { .out = g_string_new (NULL), .plain = true };

    pthread_mutex_lock (&graph->settings_lock);
    for (guint i = graph->xlators->len; i-- > 0;) {
        listing_add_xlator (&listing, graph->xlators->pdata[i]);
        if (i > 0)
            g_string_append_c (listing.out, '\n');
    }
    pthread_mutex_unlock (&graph->settings_lock);
    return g_string_free (listing.out, FALSE);
}

/* --- drawing -------------------------------------------------------------------------------- */

/* Escapes text in quotes for graphviz. Labels have more escapes than '\"', so each '\' is
 * doubled. */
static char *
graph_dot_escape (const char *text)
{
    GString *out = g_string_new (NULL);

    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            g_string_append_c (out, '\\');
        if (!g_ascii_iscntrl (*text))
            g_string_append_c (out, *text);
    }
    return g_string_free (out, FALSE);
}

static void
dot_add_xlator (GString *out, const xlator_t *xl)
{
    g_autofree char *name = graph_dot_escape (xl->name);
    g_autofree char *type = graph_dot_escape (xl->type ? xl->type : "?");

    g_string_append_printf (out, "    n%d [label=\"%s\\n%s\"%s];\n", xl->number, name, type,
                            xl->pass_through ? ", style=dashed" : "");
    for (const xlator_list_t *child = xl->children; child; child = child->next)
        g_string_append_printf (out, "    n%d -> n%d;\n", xl->number, child->xlator->number);
}

char *
graph_dot (const struct graph *graph)
{
    GString *out = g_string_new ("digraph windlass {\n    node [shape=box];\n");

    for (guint i = 0; i < graph->xlators->len; i++)
        dot_add_xlator (out, graph->xlators->pdata[i]);
    g_string_append (out, "}\n");
    return g_string_free (out, FALSE);
}
