/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The graph in layers: a translator is below all its parents, and within its layer near the average
 * position of its parents. The label of an edge tells how often the lower translator was called and
 * how long that took on average. A translator with several parents has the same label on each edge,
 * since calls are counted where they are answered. Calls of operations that a translator does not
 * implement pass it, and count at the next one.
 */
#include "cli/picture.h"

#include <stdio.h>
#include <string.h>

#define CHAR 7.3 /* pixels: the width of a letter */
#define LINE 16  /* and the height of a line */
#define PAD 10
#define BOX (3 * LINE + PAD)
#define GAP_X 40
#define GAP_Y 60
#define HEAD 40

/* --- labels ----------------------------------------------------------------------------------- */

/* The sums of a translator over all operations. Ordinary failures, as in windlass errors, are not
 * counted: otherwise nearly all boxes would be red. */
struct total {
    uint64_t count, failed, sum, own;
};

static struct total
total_of (const struct seen_xlator *xl)
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

/* "1234 calls, 12.3us", or "" if it was never called. Freed with g_free. */
static char *
edge_text (const struct seen_xlator *xl)
{
    const struct total total = total_of (xl);
    char buffer[16];

    if (!total.count)
        return g_strdup ("");
    return g_strdup_printf ("%" G_GUINT64_FORMAT " call%s, %s", total.count,
                            total.count == 1 ? "" : "s",
                            duration_text (total.sum / total.count, buffer));
}

/* "own 2.0us, 3 failed" */
static char *
node_text (const struct seen_xlator *xl)
{
    const struct total total = total_of (xl);
    char buffer[16];

    if (!total.count)
        return g_strdup ("");
    if (!total.failed)
        return g_strdup_printf ("own %s", duration_text (total.own / total.count, buffer));
    return g_strdup_printf ("own %s, %" G_GUINT64_FORMAT " failed",
                            duration_text (total.own / total.count, buffer), total.failed);
}

static bool
is_child (const struct seen *seen, int number)
{
    return number >= 0 && (guint) number < seen->xlators->len;
}

/* --- graphviz --------------------------------------------------------------------------------- */

static void
dot_escape (GString *out, const char *text)
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
    g_autofree char *text = node_text (xl);

    g_string_append_printf (out, "    n%u [label=\"", number);
    dot_escape (out, xl->name);
    g_string_append (out, "\\n");
    dot_escape (out, xl->type);
    if (*text)
        g_string_append_printf (out, "\\n%s", text);
    g_string_append_printf (out, "\"%s];\n",
                            total_of (xl).failed ? ", color=red, fontcolor=red" : "");
}

static void
dot_edge (const struct seen *seen, const char *from, guint to, GString *out)
{
    g_autofree char *text = edge_text (seen->xlators->pdata[to]);

    g_string_append_printf (out, "    %s -> n%u [label=\"%s\"];\n", from, to, text);
}

void
picture_dot (const struct seen *seen, const char *title, GString *out)
{
    g_string_append (out, "digraph windlass {\n    label=\"");
    dot_escape (out, title);
    g_string_append (out, "\";\n    node [shape=box];\n    mount [shape=plaintext];\n");
    for (guint i = 0; i < seen->xlators->len; i++)
        dot_node (seen->xlators->pdata[i], i, out);
    if (seen->xlators->len)
        dot_edge (seen, "mount", 0, out);
    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];
        g_autofree char *from = g_strdup_printf ("n%u", i);

        for (guint j = 0; j < xl->children->len; j++)
            if (is_child (seen, g_array_index (xl->children, int, j)))
                dot_edge (seen, from, (guint) g_array_index (xl->children, int, j), out);
    }
    g_string_append (out, "}\n");
}

/* --- layout ----------------------------------------------------------------------------------- */

struct place {
    unsigned layer;
    double x, y, width; /* the upper left corner of the box; pixels */
    double wish;        /* the preferred position of its middle */
    guint number;
};

static double
text_width (const char *text)
{
    return CHAR * (double) g_utf8_strlen (text, -1);
}

/* Each translator is placed below all its parents. An untrusted daemon could send circles, so the
 * number of rounds is limited. */
static void
choose_layers (const struct seen *seen, struct place *places)
{
    bool changed = true;

    for (guint round = 0; changed && round < seen->xlators->len; round++) {
        changed = false;
        for (guint i = 0; i < seen->xlators->len; i++) {
            const struct seen_xlator *xl = seen->xlators->pdata[i];

            for (guint j = 0; j < xl->children->len; j++) {
                const int child = g_array_index (xl->children, int, j);

                if (is_child (seen, child) && places[child].layer <= places[i].layer) {
                    places[child].layer = MIN (places[i].layer + 1, seen->xlators->len);
                    changed = true;
                }
            }
        }
    }
}

/* The average of its parents' middles, which are already placed, plus an offset for each later
 * child. */
static void
wish (const struct seen *seen, struct place *places, guint which)
{
    double sum = 0, n = 0;

    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];

        for (guint j = 0; j < xl->children->len; j++)
            if (g_array_index (xl->children, int, j) == (int) which) {
                sum += places[i].x + places[i].width / 2
                     + (j - (xl->children->len - 1) / 2.0) * (places[which].width + GAP_X);
                n++;
            }
    }
    places[which].wish = n ? sum / n : 0;
}

static gint
by_wish (gconstpointer a, gconstpointer b)
{
    const struct place *x = *(struct place *const *) a, *y = *(struct place *const *) b;

    return (x->wish > y->wish) - (x->wish < y->wish);
}

static void
place_layer (const struct seen *seen, struct place *places, unsigned layer)
{
    g_autoptr (GPtrArray) row = g_ptr_array_new ();
    double right = -G_MAXDOUBLE;

    for (guint i = 0; i < seen->xlators->len; i++)
        if (places[i].layer == layer) {
            wish (seen, places, i);
            g_ptr_array_add (row, &places[i]);
        }
    g_ptr_array_sort (row, by_wish);
    for (guint i = 0; i < row->len; i++) {
        struct place *place = row->pdata[i];

        place->x = MAX (place->wish - place->width / 2, right + GAP_X);
        place->y = HEAD + GAP_Y + layer * (BOX + GAP_Y);
        right = place->x + place->width;
    }
}

/* Returns the places of all translators, the leftmost at PAD; *ret_width and *ret_height of the
 * whole. Freed with g_free. */
static struct place *
lay_out (const struct seen *seen, double *ret_width, double *ret_height)
{
    struct place *places = g_new0 (struct place, seen->xlators->len + 1);
    double left = 0, right = 0, bottom = 0;
    unsigned layers = 0;

    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];
        g_autofree char *text = node_text (xl), *edge = edge_text (xl);

        places[i].width = 2 * PAD + MAX (MAX (text_width (xl->name), text_width (xl->type)),
                                         MAX (text_width (text), text_width (edge)));
    }
    choose_layers (seen, places);
    for (guint i = 0; i < seen->xlators->len; i++)
        layers = MAX (layers, places[i].layer + 1);
    for (unsigned layer = 0; layer < layers; layer++)
        place_layer (seen, places, layer);
    for (guint i = 0; i < seen->xlators->len; i++) {
        left = i ? MIN (left, places[i].x) : places[i].x;
        right = i ? MAX (right, places[i].x + places[i].width) : places[i].x + places[i].width;
        bottom = MAX (bottom, places[i].y + BOX);
    }
    for (guint i = 0; i < seen->xlators->len; i++)
        places[i].x += PAD - left;
    *ret_width = right - left + 2 * PAD;
    *ret_height = bottom + PAD;
    return places;
}

/* --- svg -------------------------------------------------------------------------------------- */

/* Characters that are not valid in XML become '?'. */
static void
svg_escape (GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid (text, -1), *escaped = NULL;

    for (char *c = valid; *c; c++)
        if (g_ascii_iscntrl (*c))
            *c = '?';
    escaped = g_markup_escape_text (valid, -1);
    for (const char *c = escaped; *c; c = g_utf8_next_char (c)) {
        const gunichar u = g_utf8_get_char (c);

        if (u == 0xfffe || u == 0xffff)
            g_string_append_c (out, '?');
        else
            g_string_append_unichar (out, u);
    }
}

static const char *
coordinate (double value, char *buffer)
{
    return g_ascii_formatd (buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.1f", value);
}

static void
svg_text (GString *out, double x, double y, const char *style, const char *text)
{
    char at[2][G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf (out, "<text x=\"%s\" y=\"%s\"%s>", coordinate (x, at[0]),
                            coordinate (y, at[1]), style);
    svg_escape (out, text);
    g_string_append (out, "</text>\n");
}

static void
svg_node (const struct seen_xlator *xl, const struct place *place, GString *out)
{
    const bool failed = total_of (xl).failed > 0;
    const double middle = place->x + place->width / 2;
    g_autofree char *text = node_text (xl);
    char at[3][G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf (
        out, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" rx=\"4\" class=\"%s\"/>\n",
        coordinate (place->x, at[0]), coordinate (place->y, at[1]),
        coordinate (place->width, at[2]), BOX, failed ? "failed" : "good");
    svg_text (out, middle, place->y + LINE, " font-weight=\"bold\"", xl->name);
    svg_text (out, middle, place->y + 2 * LINE, " class=\"type\"", xl->type);
    svg_text (out, middle, place->y + 3 * LINE, failed ? " class=\"red\"" : "", text);
}

static void
svg_edge (double x, double y, const struct place *to, const struct seen_xlator *xl, GString *out)
{
    const double end = to->x + to->width / 2, half = (y + to->y) / 2;
    g_autofree char *text = edge_text (xl);
    char at[6][G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf (
        out, "<path d=\"M %s %s C %s %s, %s %s, %s %s\" marker-end=\"url(#arrow)\"/>\n",
        coordinate (x, at[0]), coordinate (y, at[1]), at[0], coordinate (half, at[2]),
        coordinate (end, at[3]), at[2], at[3], coordinate (to->y - 2, at[4]));
    if (*text)
        svg_text (out, end, to->y - 12, " class=\"edge\"", text);
}

static void
svg_head (const char *title, double width, double height, GString *out)
{
    const double wide = MAX (width, text_width (title) + 2 * PAD);
    char at[2][G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append_printf (
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"%s\" height=\"%s\" font-family=\"monospace\" font-size=\"12\" "
        "text-anchor=\"middle\">\n",
        coordinate (wide, at[0]), coordinate (height, at[1]));
    g_string_append (
        out,
        "<style>rect { fill: #f4f6f8; stroke: #345; } rect.failed { stroke: #c00; stroke-width: 2; "
        "} "
        "path { fill: none; stroke: #345; } .red { fill: #c00; } .type { fill: #666; } "
        ".edge { fill: #036; stroke: white; stroke-width: 4; paint-order: stroke; }</style>\n"
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" "
        "markerHeight=\"8\" "
        "orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" style=\"fill: #345\"/></marker></defs>\n");
    svg_text (out, PAD, HEAD / 2, " text-anchor=\"start\"", title);
}

void
picture_svg (const struct seen *seen, const char *title, GString *out)
{
    double width, height;
    g_autofree struct place *places = lay_out (seen, &width, &height);

    svg_head (title, width, height, out);
    if (seen->xlators->len)
        svg_edge (places[0].x + places[0].width / 2, HEAD, &places[0], seen->xlators->pdata[0],
                  out);
    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];

        for (guint j = 0; j < xl->children->len; j++) {
            const int child = g_array_index (xl->children, int, j);

            if (is_child (seen, child))
                svg_edge (places[i].x + places[i].width / 2, places[i].y + BOX, &places[child],
                          seen->xlators->pdata[child], out);
        }
    }
    for (guint i = 0; i < seen->xlators->len; i++)
        svg_node (seen->xlators->pdata[i], &places[i], out);
    g_string_append (out, "</svg>\n");
}
