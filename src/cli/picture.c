/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The graph in layers: a translator is below all its parents, and within its layer near the average
 * position of its parents. The label of an edge tells how often the lower translator was called and
 * how long that took on average. A translator with several parents has the same label on each edge,
 * since calls are counted where they are answered. Calls of operations that a translator does not
 * implement pass it, and count at the next one.
 */
#include "cli/picture-internal.h"

#include <stdio.h>
#include <string.h>

/* --- labels ----------------------------------------------------------------------------------- */

struct total
picture_total (const struct seen_xlator *xl)
{
    struct total total = { 0 };

    for (guint i = 0; i < xl->fops->len; i++) {
        const struct seen_fop *fop = xl->fops->pdata[i];

        total.count += fop->count;
        total.failed += fop->failed - fop->ordinary;
        total.sum += fop->sum;
        total.own += fop->own_sum;
    }
    return total;
}

char *
picture_edge_text (const struct seen_xlator *xl)
{
    const struct total total = picture_total (xl);
    char buffer[16];

    if (!total.count)
        return g_strdup ("");
    return g_strdup_printf ("%" G_GUINT64_FORMAT " call%s, %s", total.count,
                            total.count == 1 ? "" : "s",
                            duration_text (total.sum / total.count, buffer));
}

char *
picture_node_text (const struct seen_xlator *xl)
{
    const struct total total = picture_total (xl);
    char buffer[16];

    if (!total.count)
        return g_strdup ("");
    if (!total.failed)
        return g_strdup_printf ("own %s", duration_text (total.own / total.count, buffer));
    return g_strdup_printf ("own %s, %" G_GUINT64_FORMAT " failed",
                            duration_text (total.own / total.count, buffer), total.failed);
}

bool
picture_is_child (const struct numbers_seen *seen, int number)
{
    return number >= 0 && (guint) number < seen->xlators->len;
}

/* --- graphviz --------------------------------------------------------------------------------- */

static void
picture_escape (GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid (text, -1);

    for (const char *c = valid; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_c (out, '\\');
        if (!g_ascii_iscntrl (*c))
            g_string_append_c (out, *c);
    }
}

static void
dot_node (const struct seen_xlator *xl, guint number, GString *out)
{
    g_autofree char *text = picture_node_text (xl);

    g_string_append_printf (out, "    n%u [label=\"", number);
    picture_escape (out, xl->name);
    g_string_append (out, "\\n");
    picture_escape (out, xl->type);
    if (*text)
        g_string_append_printf (out, "\\n%s", text);
    g_string_append_printf (out, "\"%s];\n",
                            picture_total (xl).failed ? ", color=red, fontcolor=red" : "");
}

static void
dot_edge (const struct numbers_seen *seen, const char *from, guint to, GString *out)
{
    g_autofree char *text = picture_edge_text (seen->xlators->pdata[to]);

    g_string_append_printf (out, "    %s -> n%u [label=\"%s\"];\n", from, to, text);
}

void
picture_dot (const struct numbers_seen *seen, const struct picture_head *head, GString *out)
{
    g_string_append (out, "digraph windlass {\n    labelloc=t;\n    label=\"");
    picture_escape (out, head->title);
    g_string_append (out, "\\n");
    picture_escape (out, head->subtitle);
    g_string_append (out, "\";\n    node [shape=box];\n    mount [shape=plaintext];\n");
    for (guint i = 0; i < seen->xlators->len; i++)
        dot_node (seen->xlators->pdata[i], i, out);
    if (seen->xlators->len)
        dot_edge (seen, "mount", 0, out);
    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];
        g_autofree char *from = g_strdup_printf ("n%u", i);

        for (guint j = 0; j < xl->children->len; j++)
            if (picture_is_child (seen, g_array_index (xl->children, int, j)))
                dot_edge (seen, from, (guint) g_array_index (xl->children, int, j), out);
    }
    g_string_append (out, "}\n");
}

/* --- layout ----------------------------------------------------------------------------------- */

char *
picture_name (const struct seen_xlator *xl)
{
    g_autofree char *valid = g_utf8_make_valid (xl->name, -1), *start = NULL;

    if (g_utf8_strlen (valid, -1) <= NAME_MOST)
        return g_steal_pointer (&valid);
    start = g_utf8_substring (valid, 0, NAME_MOST - 1);
    return g_strconcat (start, "…", NULL);
}

double
picture_text_width (const char *text)
{
    return CHAR * (double) g_utf8_strlen (text, -1);
}

/* Each translator is placed below all its parents. An untrusted daemon could send circles, so the
 * number of rounds is limited. */
static void
choose_layers (const struct numbers_seen *seen, struct picture_place *places)
{
    bool changed = true;

    for (guint round = 0; changed && round < seen->xlators->len; round++) {
        changed = false;
        for (guint i = 0; i < seen->xlators->len; i++) {
            const struct seen_xlator *xl = seen->xlators->pdata[i];

            for (guint j = 0; j < xl->children->len; j++) {
                const int child = g_array_index (xl->children, int, j);

                if (picture_is_child (seen, child) && places[child].layer <= places[i].layer) {
                    places[child].layer = MIN (places[i].layer + 1, seen->xlators->len);
                    changed = true;
                }
            }
        }
    }
}

/* The room that a translator needs in the rows below, of which those with several parents share
 * theirs. */
static double
picture_room_of (const struct picture_place *place)
{
    return place->span / MAX (place->parents, 1);
}

/* The room of a translator's children side by side. */
static double
room_below (const struct numbers_seen *seen, const struct picture_place *places, guint which)
{
    const struct seen_xlator *xl = seen->xlators->pdata[which];
    double sum = 0;

    for (guint j = 0; j < xl->children->len; j++) {
        const int child = g_array_index (xl->children, int, j);

        if (picture_is_child (seen, child))
            sum += picture_room_of (&places[child]) + (j ? GAP_X : 0);
    }
    return sum;
}

/* From the lowest layer up, so that no translator is above the children of another. */
static void
choose_spans (const struct numbers_seen *seen, struct picture_place *places, unsigned layers)
{
    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];

        places[i].span = places[i].width;
        for (guint j = 0; j < xl->children->len; j++)
            if (picture_is_child (seen, g_array_index (xl->children, int, j)))
                places[g_array_index (xl->children, int, j)].parents++;
    }
    for (unsigned layer = layers; layer > 0; layer--)
        for (guint i = 0; i < seen->xlators->len; i++)
            if (places[i].layer == layer - 1)
                places[i].span = MAX (places[i].width, room_below (seen, places, i));
}

/* Adds the wish of each child of a translator that has its place: all side by side, their middle
 * below it. */
static void
wish (const struct numbers_seen *seen, struct picture_place *places, guint which)
{
    const struct seen_xlator *xl = seen->xlators->pdata[which];
    double x = places[which].x + places[which].width / 2 - room_below (seen, places, which) / 2;

    for (guint j = 0; j < xl->children->len; j++) {
        const int child = g_array_index (xl->children, int, j);

        if (!picture_is_child (seen, child))
            continue;
        places[child].wish += (x + picture_room_of (&places[child]) / 2) / places[child].parents;
        x += picture_room_of (&places[child]) + GAP_X;
    }
}

static gint
by_wish (gconstpointer a, gconstpointer b)
{
    const struct picture_place *x = *(struct picture_place *const *) a;
    const struct picture_place *y = *(struct picture_place *const *) b;

    return (x->wish > y->wish) - (x->wish < y->wish);
}

static void
place_layer (const struct numbers_seen *seen, struct picture_place *places, unsigned layer)
{
    g_autoptr (GPtrArray) row = g_ptr_array_new ();
    double right = -G_MAXDOUBLE, pushed = 0; /* to the right, so the row goes back by the average */

    for (guint i = 0; i < seen->xlators->len; i++)
        if (places[i].layer == layer)
            g_ptr_array_add (row, &places[i]);
    g_ptr_array_sort (row, by_wish);
    for (guint i = 0; i < row->len; i++) {
        struct picture_place *place = row->pdata[i];

        place->x = MAX (place->wish - place->width / 2, right + GAP_X);
        place->y = layer * (BOX + GAP_Y);
        right = place->x + place->width;
        pushed += place->x + place->width / 2 - place->wish;
    }
    for (guint i = 0; i < row->len; i++) {
        struct picture_place *place = row->pdata[i];

        place->x -= pushed / row->len;
        wish (seen, places, (guint) (place - places));
    }
}

struct picture_place *
picture_lay_out (const struct numbers_seen *seen, double *ret_width, double *ret_height)
{
    struct picture_place *places = g_new0 (struct picture_place, seen->xlators->len + 1);
    double left = 0, right = 0, bottom = 0;
    unsigned layers = 0;

    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];
        g_autofree char *text = picture_node_text (xl), *edge = picture_edge_text (xl),
                        *name = picture_name (xl);

        places[i].width = MAX (picture_text_width (name), picture_text_width (xl->type));
        places[i].width = MAX (places[i].width, picture_text_width (text));
        places[i].width = 2 * PAD + MAX (places[i].width, picture_text_width (edge));
    }
    choose_layers (seen, places);
    for (guint i = 0; i < seen->xlators->len; i++)
        layers = MAX (layers, places[i].layer + 1);
    choose_spans (seen, places, layers);
    for (unsigned layer = 0; layer < layers; layer++)
        place_layer (seen, places, layer);
    for (guint i = 0; i < seen->xlators->len; i++) {
        left = i ? MIN (left, places[i].x) : places[i].x;
        right = i ? MAX (right, places[i].x + places[i].width) : places[i].x + places[i].width;
        bottom = MAX (bottom, places[i].y + BOX);
    }
    for (guint i = 0; i < seen->xlators->len; i++)
        places[i].x -= left;
    *ret_width = right - left;
    *ret_height = bottom;
    return places;
}
