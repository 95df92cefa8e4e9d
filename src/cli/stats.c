/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 *   windlass stats MOUNTPOINT                                     OpenMetrics
 *   windlass stats MOUNTPOINT --json
 *   windlass stats MOUNTPOINT --histogram [TRANSLATOR[.FOP]]      drawn
 *   windlass stats MOUNTPOINT --on|--off                          start or stop measuring
 */
#include "cli/numbers.h"
#include "control/control.h"
#include "core/base/printable.h"
#include "core/base/suggest.h"
#include "core/table/opset.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#define BAR 50 /* columns */

/* --- histograms ----------------------------------------------------------------------------- */

/* A line for each half power of two, from the first to the last that is not empty: enough to see a
 * shape. */
struct plot {
    uint64_t low[96], count[96];
    unsigned used;
};

static uint64_t
half_power (unsigned i)
{
    return i % 2 ? (uint64_t) 3 << i / 2 >> 1 : (uint64_t) 1 << i / 2;
}

static void
plot_fill (struct plot *plot, const struct histogram *histogram)
{
    uint64_t before = 0;
    bool begun = false;
    unsigned last = 0;

    for (unsigned i = 2; i < 90 && plot->used < G_N_ELEMENTS (plot->low); i++) {
        const uint64_t low = i == 2 ? 0 : half_power (i),
                       to = histogram_count_to (histogram, half_power (i + 1) - 1);

        begun = begun || to > before;
        if (begun) {
            plot->low[plot->used] = low;
            plot->count[plot->used++] = to - before;
            if (to > before)
                last = plot->used;
        }
        before = to;
    }
    plot->used = last;
}

static void
draw_histogram (const char *title, const struct histogram *histogram, GString *out)
{
    struct plot plot = { .used = 0 };
    uint64_t most = 1;
    char texts[6][16];

    if (!histogram_count (histogram))
        return;
    plot_fill (&plot, histogram);
    for (unsigned i = 0; i < plot.used; i++)
        most = MAX (most, plot.count[i]);
    g_string_append_printf (
        out, "  %s: mean %s, p50 %s, p90 %s, p99 %s, p99.9 %s, most %s\n", title,
        duration_text (histogram_sum (histogram) / histogram_count (histogram), texts[0]),
        duration_text (histogram_quantile (histogram, 0.5), texts[1]),
        duration_text (histogram_quantile (histogram, 0.9), texts[2]),
        duration_text (histogram_quantile (histogram, 0.99), texts[3]),
        duration_text (histogram_quantile (histogram, 0.999), texts[4]),
        duration_text (histogram_max (histogram), texts[5]));
    for (unsigned i = 0; i < plot.used; i++) {
        g_string_append_printf (out, "  %8s |", duration_text (plot.low[i], texts[0]));
        bar_append (out, (double) plot.count[i] / (double) most, BAR);
        g_string_append_printf (out, " %" G_GUINT64_FORMAT "\n", plot.count[i]);
    }
}

static void
draw_fop (const struct seen_xlator *xl, const struct seen_fop *fop, GString *out)
{
    g_string_append_printf (out,
                            "%s.%s (%s): %" G_GUINT64_FORMAT " answer%s, %" G_GUINT64_FORMAT
                            " failed\n",
                            xl->name, fop->name, xl->type, fop->count, fop->count == 1 ? "" : "s",
                            fop->failed);
    draw_histogram ("whole", &fop->whole, out);
    if (histogram_count (&fop->below)) {
        draw_histogram ("own", &fop->own, out);
        draw_histogram ("children", &fop->below, out);
    }
    g_string_append_c (out, '\n');
}

/* --- selection --- */

enum drawn { DRAWN, NOT_ASKED, NO_SUCH_NAME };

static enum drawn
no_translator (const struct cli_command *command, const struct numbers_seen *seen, const char *name)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *all = NULL, *hint = NULL;

    for (guint i = 0; i < seen->xlators->len; i++)
        g_ptr_array_add (names, ((struct seen_xlator *) seen->xlators->pdata[i])->name);
    hint = suggest_text (suggest_near (name, names));
    g_ptr_array_add (names, NULL);
    all = g_strjoinv (", ", (char **) names->pdata);
    say_line (stderr, "windlass %s: there is no translator '%s'%s%s", command->name, name,
              *hint ? hint : "; there are ", *hint ? "" : all);
    return NO_SUCH_NAME;
}

static enum drawn
no_fop (const struct cli_command *command, const struct seen_xlator *xl, const char *name)
{
    const enum fop op = fop_of_name (name);
    g_autofree char *hint = suggest_text (opset_near (name));

    if (op != FOP_NONE) {
        say_line (stderr, "windlass %s: '%s' was not asked for %s while it was measured",
                  command->name, xl->name, fop_name (op));
        return NOT_ASKED;
    }
    say_line (stderr, "windlass %s: there is no operation '%s'%s", command->name, name, hint);
    return NO_SUCH_NAME;
}

/* The operation of a name, also in GlusterFS's spelling (write). */
static const struct seen_fop *
fop_wanted (const struct seen_xlator *xl, const char *name)
{
    return numbers_seen_fop (xl, fop_name (fop_of_name (name)));
}

/* TRANSLATOR or TRANSLATOR.FOP: a name may contain dots, so the longest existing name is taken.
 * Anything but DRAWN comes after a message. */
static enum drawn
draw_wanted (const struct cli_command *command, const struct numbers_seen *seen, const char *wanted,
             GString *out)
{
    const struct seen_xlator *xl = numbers_seen_find (seen, wanted);
    const char *dot = xl ? NULL : strrchr (wanted, '.');
    g_autofree char *name = g_strndup (wanted, dot ? (size_t) (dot - wanted) : strlen (wanted));
    const struct seen_fop *fop = NULL;

    if (!xl)
        xl = numbers_seen_find (seen, name);
    if (!xl)
        return no_translator (command, seen, name);
    if (dot && !(fop = fop_wanted (xl, dot + 1)))
        return no_fop (command, xl, dot + 1);
    for (guint i = 0; i < xl->fops->len; i++)
        if (!fop || fop == xl->fops->pdata[i])
            draw_fop (xl, xl->fops->pdata[i], out);
    return DRAWN;
}

static int
stats_draw (const struct cli_command *command, const char *mountpoint, const char *wanted)
{
    struct numbers_seen *seen = numbers_seen_ask (command, mountpoint, "lines", false);
    g_autoptr (GString) out = g_string_new (NULL);
    enum drawn drawn = DRAWN;

    if (!seen)
        return CLI_FAILED;
    for (guint i = 0; !*wanted && i < seen->xlators->len; i++) {
        const struct seen_xlator *xl = seen->xlators->pdata[i];

        for (guint j = 0; j < xl->fops->len; j++)
            draw_fop (xl, xl->fops->pdata[j], out);
    }
    if (*wanted)
        drawn = draw_wanted (command, seen, wanted, out);
    cli_print_safely (stdout, out->str);
    if (strcmp (seen->measuring, "off") == 0 && drawn != NO_SUCH_NAME)
        numbers_say_off (command, mountpoint, seen->period > 0);
    else if (out->len == 0 && drawn == DRAWN)
        fprintf (stderr, "windlass %s: no request was answered since measuring is on\n",
                 command->name);
    numbers_seen_free (seen);
    return drawn == DRAWN ? CLI_OK : CLI_FAILED;
}

/* --- the command ------------------------------------------------------------------------------ */

/* Prints text from the daemon. The note that measuring is off goes to stderr. */
static int
print (const struct cli_command *command, const char *mountpoint, const char *word)
{
    g_autoptr (GBytes) input = g_bytes_new (word, strlen (word));
    g_autoptr (GString) answer = g_string_new (NULL);
    g_autofree char *error = NULL;

    if (control_call (mountpoint, NULL, "stats", input, answer, &error) < 0) {
        fprintf (stderr, "windlass %s: ", command->name);
        cli_print_safely (stderr, error);
        return CLI_FAILED;
    }
    cli_print_safely (stdout, answer->str);
    if (strstr (answer->str, "\nwindlass_measuring 0\n")
        || strstr (answer->str, ",\"measuring\":false,"))
        numbers_say_off (command, mountpoint,
                         strstr (answer->str, "\nwindlass_fop_seconds_count")
                             || strstr (answer->str, "\"failed\":"));
    return CLI_OK;
}

struct line {
    gboolean json, histogram, on, off;
};

static int
stats_run (const struct cli_command *command, const struct line *line, int argc, char **argv)
{
    if (line->json + line->on + line->off + line->histogram > 1)
        return cli_usage (command, "only one of --json, --histogram, --on and --off");
    if (argc < 2)
        return cli_usage (command, "which mount point?");
    if (argc > 2 + line->histogram)
        return cli_usage (command, line->histogram ? "one mount point and one translator are wanted"
                                                   : "one mount point is wanted");
    if (line->histogram)
        return stats_draw (command, argv[1], argc > 2 ? argv[2] : "");
    return print (command, argv[1],
                  line->on     ? "on"
                  : line->off  ? "off"
                  : line->json ? "json"
                               : "openmetrics");
}

int
cli_stats (const struct cli_command *command, int argc, char **argv)
{
    struct line line = { 0 };
    const GOptionEntry more[] = {
        { "json", 0, 0, G_OPTION_ARG_NONE, &line.json,
          "print JSON, with times in nanoseconds", NULL },
        { "histogram", 0, 0, G_OPTION_ARG_NONE, &line.histogram,
          "draw the times of all translators, of one translator, or of one of its "
          "operations",
          NULL },
        { "on", 0, 0, G_OPTION_ARG_NONE, &line.on, "start counting and timing requests", NULL },
        { "off", 0, 0, G_OPTION_ARG_NONE, &line.off,
          "stop counting and timing requests; the counters keep their values", NULL },
        { 0 },
    };

    setlocale (LC_CTYPE, "");
    if (!cli_parse (command, &argc, argv, NULL, more))
        return CLI_USAGE;
    return stats_run (command, &line, argc, argv);
}
