/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A graph as SVG: title and period, the translators from the kernel down, and a legend. Browsers
 * show it in light or dark colours, as wide as the window at most, and a box tells the numbers of
 * its operations when the pointer is on it.
 */
#include "cli/picture-internal.h"

#include <math.h>
#include <string.h>

#define HEAD 64        /* pixels above the kernel's box */
#define KERNEL 22      /* the height of that box */
#define LEGEND_LINE 20
#define LEGEND_SIGN 34 /* the width of a sign, with the room beside it */
#define TIP_ROWS 12    /* operations that a box tells */

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

static void G_GNUC_PRINTF (2, 3)
svg_add (GString *out, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    g_string_append_vprintf (out, format, args);
    va_end (args);
}

/* --- boxes ------------------------------------------------------------------------------------ */

static gint
by_count (gconstpointer a, gconstpointer b)
{
    const struct seen_fop *x = *(struct seen_fop *const *) a, *y = *(struct seen_fop *const *) b;

    return (x->count < y->count) - (x->count > y->count);
}

/* What a browser shows while the pointer is on a box. */
static void
svg_tip (const struct seen_xlator *xl, GString *out)
{
    g_autoptr (GPtrArray) fops = g_ptr_array_copy (xl->fops, NULL, NULL);
    char buffer[16];

    g_ptr_array_set_free_func (fops, NULL);
    g_ptr_array_sort (fops, by_count);
    g_string_append (out, "<title>");
    svg_escape (out, xl->name);
    for (guint i = 0; i < MIN (fops->len, TIP_ROWS); i++) {
        const struct seen_fop *fop = fops->pdata[i];

        if (!fop->count)
            break;
        g_string_append_c (out, '\n');
        svg_escape (out, fop->name);
        svg_add (out, ": %" G_GUINT64_FORMAT " call%s, %s", fop->count, fop->count == 1 ? "" : "s",
                 duration_text (fop->sum / fop->count, buffer));
        if (fop->failed > fop->ordinary)
            svg_add (out, ", %" G_GUINT64_FORMAT " failed", fop->failed - fop->ordinary);
    }
    g_string_append (out, "</title>");
}

/* A bar along the lower edge of a box. share: 0 to 1. */
static void
svg_bar (const struct picture_place *place, double share, GString *out)
{
    const double room = place->width - 2 * PAD, y = place->y + BOX - 8;
    char at[4][G_ASCII_DTOSTR_BUF_SIZE];

    coordinate (place->x + PAD, at[0]);
    coordinate (y, at[1]);
    svg_add (out, "<path class=\"track\" d=\"M %s %s h %s\"/>\n", at[0], at[1],
             coordinate (room, at[2]));
    if (share > 0)
        svg_add (out, "<path class=\"bar\" d=\"M %s %s h %s\"/>\n", at[0], at[1],
                 coordinate (MAX (room * MIN (share, 1), 1), at[3]));
}

/* all: the own time of all translators. */
static void
svg_node (const struct seen_xlator *xl, const struct picture_place *place, uint64_t all,
          GString *out)
{
    const struct total total = picture_total (xl);
    const double middle = place->x + place->width / 2,
                 first = place->y + LINE + (all ? 2 : 12); /* without numbers there are two lines */
    g_autofree char *text = picture_node_text (xl), *name = picture_name (xl);
    char at[3][G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append (out, "<g>");
    svg_tip (xl, out);
    svg_add (out, "\n<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" rx=\"6\" class=\"%s\"/>\n",
             coordinate (place->x, at[0]), coordinate (place->y, at[1]),
             coordinate (place->width, at[2]), BOX, total.failed ? "failed" : "good");
    svg_text (out, middle, first, " class=\"name\"", name);
    svg_text (out, middle, first + LINE, " class=\"type\"", xl->type);
    svg_text (out, middle, first + 2 * LINE,
              total.failed   ? " class=\"red\""
              : !total.count ? " class=\"type\""
                             : "",
              all && !total.count ? "not called" : text);
    if (all)
        svg_bar (place, (double) total.own / (double) all, out);
    g_string_append (out, "</g>\n");
}

static void
svg_kernel (double middle, GString *out)
{
    char at[1][G_ASCII_DTOSTR_BUF_SIZE];

    svg_add (out,
             "<rect x=\"%s\" y=\"%d\" width=\"80\" height=\"%d\" rx=\"11\" "
             "class=\"kernel\"/>\n",
             coordinate (middle - 40, at[0]), HEAD, KERNEL);
    svg_text (out, middle, HEAD + 15, "", "kernel");
}

/* --- arrows ----------------------------------------------------------------------------------- */

static void
svg_edge (double x, double y, const struct picture_place *to, const struct seen_xlator *xl,
          GString *out)
{
    const double end = to->x + to->width / 2, half = (y + to->y) / 2;
    const uint64_t count = picture_total (xl).count;
    char at[6][G_ASCII_DTOSTR_BUF_SIZE];

    svg_add (out,
             "<path class=\"arrow\" style=\"stroke-width: %s\" d=\"M %s %s C %s %s, %s %s, %s %s\" "
             "marker-end=\"url(#arrow)\"/>\n",
             coordinate (1 + (count ? MIN (log10 ((double) count), 6) / 2 : 0), at[5]),
             coordinate (x, at[0]), coordinate (y, at[1]), at[0], coordinate (half, at[2]),
             coordinate (end, at[3]), at[2], at[3], coordinate (to->y - 3, at[4]));
}

/* Above all arrows, so that none crosses it. */
static void
svg_calls (const struct picture_place *to, const struct seen_xlator *xl, GString *out)
{
    g_autofree char *text = picture_edge_text (xl);

    if (*text)
        svg_text (out, to->x + to->width / 2, to->y - 16, " class=\"calls\"", text);
}

static void
svg_edges (const struct numbers_seen *seen, const struct picture_place *places, GString *out)
{
    if (seen->xlators->len)
        svg_edge (places[0].x + places[0].width / 2, HEAD + KERNEL, &places[0],
                  seen->xlators->pdata[0], out);
    for (guint i = 0; i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];

        for (guint j = 0; j < xl->children->len; j++) {
            const int child = g_array_index (xl->children, int, j);

            if (picture_is_child (seen, child))
                svg_edge (places[i].x + places[i].width / 2, places[i].y + BOX, &places[child],
                          seen->xlators->pdata[child], out);
        }
    }
    for (guint i = 0; i < seen->xlators->len; i++)
        svg_calls (&places[i], seen->xlators->pdata[i], out);
}

/* --- legend ----------------------------------------------------------------------------------- */

static const char *const legend[] = {
    "calls to a translator, and how long one took on average; more calls, thicker",
    "own: the time in the translator alone, on average; its share of all own times",
    "calls failed (what is ordinary, such as a name that is not there, is left out)",
};

static double
legend_width (void)
{
    double width = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (legend); i++)
        width = MAX (width, LEGEND_SIGN + picture_text_width (legend[i]));
    return width;
}

static void
svg_legend (double x, double y, GString *out)
{
    static const char *const signs[] = {
        "<path class=\"arrow\" d=\"M %d %d h 20\" marker-end=\"url(#arrow)\"/>\n",
        "<path class=\"track\" d=\"M %d %d h 22\"/>\n",
        "<path class=\"red-line\" d=\"M %d %d h 22\"/>\n",
    };

    for (size_t i = 0; i < G_N_ELEMENTS (legend); i++) {
        const double line = y + (double) i * LEGEND_LINE;

        svg_add (out, signs[i], (int) x, (int) line - 4);
        if (i == 1)
            svg_add (out, "<path class=\"bar\" d=\"M %d %d h 8\"/>\n", (int) x, (int) line - 4);
        svg_text (out, x + LEGEND_SIGN, line, " class=\"legend\" text-anchor=\"start\"",
                  legend[i]);
    }
}

/* --- the picture ------------------------------------------------------------------------------ */

static const char style[] =
    "<style>\n"
    "text { fill: #1c2733; } .title { font-size: 16px; font-weight: 600; }\n"
    ".name { font-weight: 600; } .type, .legend, .subtitle { fill: #66727f; }\n"
    ".page { fill: #ffffff; } .good, .failed, .kernel { fill: #f4f6f9; stroke: #b9c4d0; }\n"
    ".kernel { fill: none; } .failed { stroke: #c62828; stroke-width: 2; }\n"
    ".red { fill: #c62828; } path { fill: none; stroke-linecap: round; }\n"
    ".arrow { stroke: #8494a5; } .head { fill: #8494a5; }\n"
    ".calls { fill: #27567f; stroke: #ffffff; stroke-width: 5; paint-order: stroke; }\n"
    ".track { stroke: #dde4eb; stroke-width: 4; } .bar { stroke: #3a7fc1; stroke-width: 4; }\n"
    ".red-line { stroke: #c62828; stroke-width: 2; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e4eaf0; } .type, .legend, .subtitle { fill: #96a3b0; }\n"
    ".page { fill: #14191f; } .good, .failed, .kernel { fill: #1f272f; stroke: #43505d; }\n"
    ".kernel { fill: none; } .failed { stroke: #ff7070; } .red { fill: #ff7070; }\n"
    ".arrow { stroke: #6f8091; } .head { fill: #6f8091; }\n"
    ".calls { fill: #9cc7ee; stroke: #14191f; }\n"
    ".track { stroke: #34404c; } .bar { stroke: #5aa2e6; } .red-line { stroke: #ff7070; }\n"
    "}\n</style>\n"
    "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"9\" "
    "markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path class=\"head\" "
    "d=\"M 0 0 L 8 4 L 0 8 z\"/></marker></defs>\n";

static void
svg_head (const struct picture_head *head, double width, double height, GString *out)
{
    char at[2][G_ASCII_DTOSTR_BUF_SIZE];

    coordinate (width, at[0]);
    coordinate (height, at[1]);
    svg_add (out,
             "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
             "xmlns=\"http://www.w3.org/2000/svg\" width=\"%s\" height=\"%s\" "
             "viewBox=\"0 0 %s %s\" style=\"max-width: 100%%; height: auto\" "
             "font-family=\"system-ui, sans-serif\" font-size=\"12\" text-anchor=\"middle\">\n"
             "<title>",
             at[0], at[1], at[0], at[1]);
    svg_escape (out, head->title);
    g_string_append (out, "</title>\n");
    g_string_append (out, style);
    g_string_append (out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    svg_text (out, 2 * PAD, 28, " class=\"title\" text-anchor=\"start\"", head->title);
    svg_text (out, 2 * PAD, 46, " class=\"subtitle\" text-anchor=\"start\"", head->subtitle);
}

void
picture_svg (const struct numbers_seen *seen, const struct picture_head *head, GString *out)
{
    double width, height, wide;
    g_autofree struct picture_place *places = picture_lay_out (seen, &width, &height);
    const double top = HEAD + KERNEL + GAP_Y;
    uint64_t all = 0, calls = 0;

    for (guint i = 0; i < seen->xlators->len; i++) {
        all += picture_total (seen->xlators->pdata[i]).own;
        calls += picture_total (seen->xlators->pdata[i]).count;
    }
    wide = MAX (picture_text_width (head->title) * 1.4, picture_text_width (head->subtitle));
    wide = MAX (MAX (width, wide), calls ? legend_width () : 0) + 4 * PAD;
    for (guint i = 0; i < seen->xlators->len; i++) {
        places[i].x += (wide - width) / 2;
        places[i].y += top;
    }
    svg_head (head, wide, top + height + (calls ? 4 * LEGEND_LINE : 0) + 2 * PAD, out);
    if (seen->xlators->len)
        svg_kernel (places[0].x + places[0].width / 2, out);
    svg_edges (seen, places, out);
    for (guint i = 0; i < seen->xlators->len; i++)
        svg_node (seen->xlators->pdata[i], &places[i], all, out);
    if (calls)
        svg_legend (2 * PAD, top + height + 2 * LEGEND_LINE, out);
    g_string_append (out, "</svg>\n");
}
