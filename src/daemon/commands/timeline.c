/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's side of windlass timeline: "start" and lines of key=value, "stop" or "clear". */
#include "daemon/daemon.h"

#include "core/base/suggest.h"
#include "core/time/ticks.h"
#include "core/time/attempt.h"
#include "trace/timeline/timeline.h"

#include <errno.h>
#include <string.h>

#define NONE_RECORDED "there is no recorded timeline; begin with"
#define STILL_RECORDED "a timeline is being recorded; end it first with"
/* nanoseconds that the main thread waits; then the client repeats its request */
#define PATIENCE 20000000

/* Parameters of start. */
struct wishes {
    char *fop, *translator;
    int64_t min;
    int slowest;
    uint64_t memory;
};

static const struct xlator_option timeline_rows[] = {
    { OPTION ("fop", STRING, struct wishes, fop, NULL) },
    { OPTION ("translator", STRING, struct wishes, translator, NULL) },
    { OPTION ("min", TIME, struct wishes, min, NULL), .max = 86400 },
    { OPTION ("slowest", INT, struct wishes, slowest, NULL), .min = 1, .max = 100000 },
    { OPTION ("memory", SIZE, struct wishes, memory, NULL), .min = 1 << 20,
      .max = (double) (1LL << 30) },
    {},
};

/* --- parameters ------------------------------------------------------------------------------ */

static int
wish_read (struct wishes *wishes, char *line, GString *answer)
{
    char *value = strchr (line, '=');
    const struct xlator_option *row;
    g_autofree char *allowed = NULL;

    if (value)
        *value++ = '\0';
    row = value ? option_find (timeline_rows, line) : NULL;
    if (!row) {
        g_string_append_printf (answer, "'%s' can't be told to a timeline", line);
        return -EINVAL;
    }
    if (row->type == OPTION_STRING)
        g_clear_pointer ((char **) ((char *) wishes + row->offset), g_free);
    if (option_parse (row, value, (char *) wishes + row->offset, &allowed) == 0)
        return 0;
    g_string_append_printf (answer, "--%s %s, got '%s'", line, allowed, value);
    return -EINVAL;
}

static int
wishes_read (struct wishes *wishes, char **lines, GString *answer)
{
    int r = 0;

    for (char **line = lines; r == 0 && *line; line++)
        if (**line)
            r = wish_read (wishes, *line, answer);
    return r;
}

/* --- translators ----------------------------------------------------------------------------- */

static bool
is_there (const struct graph *graph, char *pattern)
{
    char *patterns[] = { pattern, NULL };
    bool found = false;

    for (guint i = 0; i < graph->xlators->len && !found; i++)
        found = timeline_wants (patterns, graph->xlators->pdata[i]);
    return found;
}

static int
no_volume (const struct graph *graph, const char *word, GString *answer)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;

    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        g_ptr_array_add (names, (char *) xl->name);
        g_ptr_array_add (names, (char *) xl->type);
    }
    suggestion = suggest_text (suggest_near (word, names));
    g_string_append_printf (answer, "--translator: no volume or type '%s' in the graph%s", word,
                            suggestion);
    if (!*suggestion) {
        g_string_append (answer, "; there are ");
        for (guint i = 0; i < graph->xlators->len; i++)
            g_string_append_printf (answer, "%s%s", i ? ", " : "",
                                    ((xlator_t *) graph->xlators->pdata[i])->name);
    }
    return -EINVAL;
}

/* *ret_volumes: NULL if the text names none. */
static int
volumes_of (const struct graph *graph, const char *text, char ***ret_volumes, GString *answer)
{
    g_auto (GStrv) words = text ? g_strsplit_set (text, ", ", -1) : NULL;
    g_autoptr (GStrvBuilder) volumes = g_strv_builder_new ();
    bool any = false;

    for (char **word = words; word && *word; word++) {
        if (!**word)
            continue;
        if (!is_there (graph, *word))
            return no_volume (graph, *word, answer);
        g_strv_builder_add (volumes, *word);
        any = true;
    }
    *ret_volumes = any ? g_strv_builder_end (volumes) : NULL;
    return 0;
}

/* --- start, stop, clear ---------------------------------------------------------------------- */

static int
start_with (const struct running *running, const struct wishes *wishes, GString *answer)
{
    const struct graph *graph = running->graph;
    struct timeline_settings settings = { .min = wishes->min, .slowest = wishes->slowest,
                                          .memory = wishes->memory };
    g_autofree char *problem = NULL, *reason = NULL;
    int r;

    if (timeline_is_on ()) {
        say_command (running, "a timeline is being recorded already; end it with", "timeline stop",
                     answer);
        return -EALREADY;
    }
    if (opset_parse (wishes->fop, &settings.fops, &problem) < 0) {
        g_string_append_printf (answer, "--fop: %s", problem);
        return -EINVAL;
    }
    r = volumes_of (graph, wishes->translator, &settings.volumes, answer);
    if (r == 0 && (r = timeline_start (graph->xlators, graph->itable, &settings)) < 0) {
        reason = attempt_reason (-r);
        g_string_append_printf (answer, "can't start the thread that records: %s", reason);
    } else if (r == 0) {
        say_command (running, "requests are recorded; end it, and print them, with",
                     "timeline stop", answer);
    }
    g_strfreev (settings.volumes);
    return r;
}

static int
timeline_command_start (const struct running *running, char **lines, GString *answer)
{
    struct wishes wishes = { .memory = 64 << 20 };
    int r = wishes_read (&wishes, lines, answer);

    if (r == 0)
        r = start_with (running, &wishes, answer);
    g_free (wishes.fop);
    g_free (wishes.translator);
    return r;
}

static void
say_count (GString *out, uint64_t n, const char *what)
{
    if (n)
        g_string_append_printf (out, ", %" G_GUINT64_FORMAT " %s", n, what);
}

static int
timeline_command_stop (const struct running *running, GString *answer)
{
    struct timeline_counts counts;
    int r = timeline_stop (PATIENCE, &counts);

    if (r == -EINPROGRESS) {
        g_string_append (answer, "the timeline has ended, and is being put in order; ask again");
        return r;
    }
    if (r < 0) {
        say_command (running, "no timeline is being recorded; begin with", "timeline start",
                     answer);
        say_command (running, "; the last one, if there was one", "timeline cat", answer);
        return r;
    }
    if (counts.seen > 0 && counts.filtered == counts.seen) {
        g_string_append_printf (answer,
                                "the filters left none of %" G_GUINT64_FORMAT
                                " requests; the timeline has ended, nothing is "
                                "written",
                                counts.seen);
        return -ENODATA;
    }
    g_string_append_printf (answer, "%" G_GUINT64_FORMAT " requests", counts.seen);
    say_count (answer, counts.filtered, "of them left out by filters");
    say_count (answer, counts.dropped,
               "of them dropped, the oldest, for want of memory (--memory)");
    say_count (answer, counts.at_start, "were under way at the start");
    say_count (answer, counts.at_end, "are still under way");
    say_count (answer, counts.lost, "records lost, for which the rings had no room");
    say_count (answer, counts.broken, "requests of which some is missing");
    g_string_append_c (answer, '\n');
    return 0;
}

static int
clear (const struct running *running, GString *answer)
{
    if (timeline_is_on ()) {
        say_command (running, STILL_RECORDED, "timeline stop", answer);
        return -EBUSY;
    }
    if (!timeline_clear ()) {
        say_command (running, NONE_RECORDED, "timeline start", answer);
        return -ENOENT;
    }
    g_string_append (answer, "the recorded timeline is deleted");
    return 0;
}

int
running_timeline (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    g_autofree char *text = g_strndup (bytes ? bytes : "", size);
    g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

    if (lines[0] && strcmp (lines[0], "start") == 0)
        return timeline_command_start (running, lines + 1, answer);
    if (lines[0] && strcmp (lines[0], "stop") == 0)
        return timeline_command_stop (running, answer);
    if (lines[0] && strcmp (lines[0], "clear") == 0)
        return clear (running, answer);
    g_string_append_printf (answer, "a timeline can be told start, stop and clear, not '%s'",
                            lines[0] ? lines[0] : "");
    return -EINVAL;
}

/* --- the recording --------------------------------------------------------------------------- */

static int
format_of (GBytes *rest, enum timeline_format *ret_format, GString *answer)
{
    static const char *const names[] = {
        [TIMELINE_JSON] = "json", [TIMELINE_TEXT] = "text", [TIMELINE_FOLDED] = "folded"
    };
    gsize size;
    const char *bytes = g_bytes_get_data (rest, &size);

    for (unsigned i = 0; i < G_N_ELEMENTS (names); i++)
        if (size == strlen (names[i]) && memcmp (bytes, names[i], size) == 0) {
            *ret_format = i;
            return 0;
        }
    g_string_append (answer, "a timeline can be had as json, text or folded");
    return -EINVAL;
}

int
running_timeline_cat (void *data, GBytes *input, GString *answer)
{
    g_autoptr (GBytes) rest = NULL;
    g_autofree char *where = control_piece_where (input, &rest);
    uint64_t at = g_ascii_strtoull (where, NULL, 10);
    enum timeline_format format;
    char next[24];
    bool more = false;
    int r = format_of (rest, &format, answer);

    if (r == 0) {
        r = timeline_print (format, &at, CONTROL_PIECE, answer, &more);
        if (r < 0)
            say_command (data, r == -EBUSY ? STILL_RECORDED : NONE_RECORDED,
                         r == -EBUSY ? "timeline stop" : "timeline start", answer);
    }
    if (r < 0)
        return r;
    g_snprintf (next, sizeof next, "%" G_GUINT64_FORMAT, at);
    control_piece_next (answer, more ? next : NULL);
    return 0;
}
