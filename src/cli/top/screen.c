/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass top in a terminal. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cli/top/top.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_NCURSES

#include <ncurses.h>

#define SPARKS 16 /* refreshes that a row remembers */
#define ROWS 4    /* the line of the first row */
#define HELP                                                                                       \
    "t translators  f operations  p paths  o processes  b bricks  s sort  +- q end"

/* Past values of a row, the latest last. */
struct spark {
    double calls[SPARKS];
};

struct screen {
    struct top *top;
    GHashTable *sparks[TOP_VIEWS]; /* struct spark by name */
};

/* --- sparklines --- */

static gboolean
shift_spark (gpointer key, gpointer value, gpointer data)
{
    struct spark *spark = value;
    bool any = false;

    memmove (spark->calls, spark->calls + 1, (SPARKS - 1) * sizeof *spark->calls);
    spark->calls[SPARKS - 1] = 0;
    for (unsigned i = 0; i < SPARKS; i++)
        any = any || spark->calls[i] > 0;
    return !any;
}

/* Called after each refresh. */
static void
remember (struct screen *screen)
{
    for (enum top_view view = 0; view < TOP_VIEWS; view++) {
        g_autoptr (GPtrArray) rows = top_rows (screen->top, view);

        g_hash_table_foreach_remove (screen->sparks[view], shift_spark, NULL);
        for (guint i = 0; i < rows->len; i++) {
            const struct top_row *row = rows->pdata[i];
            struct spark *spark = g_hash_table_lookup (screen->sparks[view], row->name);

            if (!spark) {
                spark = g_new0 (struct spark, 1);
                g_hash_table_insert (screen->sparks[view], g_strdup (row->name), spark);
            }
            spark->calls[SPARKS - 1] = row->calls;
        }
    }
}

static void
append_spark (GString *out, const struct spark *spark)
{
    static const char *const levels[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char plain[] = " ..--==##";
    double most = 0;

    for (unsigned i = 0; spark && i < SPARKS; i++)
        most = MAX (most, spark->calls[i]);
    for (unsigned i = 0; most > 0 && i < SPARKS; i++) {
        const unsigned level = spark->calls[i] > 0 ? 1 + (unsigned) (spark->calls[i] / most * 7)
                                                   : 0;

        if (g_get_charset (NULL))
            g_string_append (out, levels[level]);
        else
            g_string_append_c (out, plain[level]);
    }
}

/* --- drawing --- */

/* Cuts a text at the edge: ncurses would go on in the next line. */
static void
put (int line, const char *text, int attributes)
{
    move (line, 0);
    clrtoeol ();
    attron (attributes);
    mvaddnstr (line, 0, text, (int) top_fit (text, (unsigned) MAX (COLS, 0)));
    attroff (attributes);
}

static void
draw_rows (const struct screen *screen, int first)
{
    const struct top *top = screen->top;
    g_autoptr (GPtrArray) rows = top_rows (top, top->view);
    const char *note = top_note (top, top->view, rows);
    const int last = LINES - 2; /* free for the note */

    for (guint i = 0; i < rows->len && first + (int) i < last; i++) {
        const struct top_row *row = rows->pdata[i];
        g_autoptr (GString) line = g_string_new (NULL);

        top_line (top, row, top->view, line);
        if (top_width (line->str) + SPARKS < top->columns) {
            while (top_width (line->str) + SPARKS < top->columns)
                g_string_append_c (line, ' ');
            append_spark (line, g_hash_table_lookup (screen->sparks[top->view], row->name));
        }
        put (first + (int) i, line->str, row->errors > 0 && has_colors () ? COLOR_PAIR (1) : 0);
    }
    if (note)
        put (MIN (first + (int) rows->len + (rows->len > 0), last), note, A_DIM);
}

static void
screen_draw (const struct screen *screen)
{
    struct top *top = screen->top;
    g_autoptr (GString) title = g_string_new (NULL), state = g_string_new (NULL),
                        heading = g_string_new (NULL);

    top->columns = (unsigned) MAX (COLS, 1);
    top_title (top, title);
    g_string_append_printf (title, ", sorted by %s", top_sort_names[top->sort]);
    top_state (top, state);
    top_heading (top, top->view, heading);
    while (top_width (heading->str) < top->columns)
        g_string_append_c (heading, ' ');
    erase ();
    put (0, title->str, A_BOLD);
    put (1, state->str, 0);
    put (ROWS - 1, heading->str, A_REVERSE);
    draw_rows (screen, ROWS);
    put (LINES - 1, HELP, A_DIM);
    refresh ();
}

/* --- keys --- */

static bool
take_key (struct top *top, int key)
{
    switch (key) {
    case 't': case '1':
        top->view = TOP_TRANSLATORS;
        break;
    case 'f': case '2':
        top->view = TOP_FOPS;
        break;
    case 'p': case '3':
        top->view = TOP_PATHS;
        break;
    case 'o': case '4':
        top->view = TOP_PROCESSES;
        break;
    case 'b': case '5':
        top->view = TOP_BRICKS;
        break;
    case '\t':
        top->view = (top->view + 1) % TOP_VIEWS;
        break;
    case 's':
        top->sort = (top->sort + 1) % TOP_SORTS;
        break;
    case '+':
        top->interval = MIN (top->interval * 2, 32);
        break;
    case '-':
        top->interval = MAX (top->interval / 2, 0.25);
        break;
    case 'q': case 27:
        return false;
    }
    return true;
}

/* Draws, and handles keys until the next refresh. Returns false at the end. */
static bool
wait_and_draw (const struct screen *screen)
{
    const gint64 until = g_get_monotonic_time () + (gint64) (screen->top->interval * 1e6);

    for (;;) {
        const gint64 left = until - g_get_monotonic_time ();
        int key;

        screen_draw (screen);
        if (top_is_over ())
            return false;
        if (left <= 0)
            return true;
        timeout ((int) MIN (left / 1000 + 1, 250));
        key = getch ();
        if (key != ERR && !take_key (screen->top, key))
            return false;
    }
}

int
top_screen (struct top *top)
{
    struct screen screen = { .top = top };
    SCREEN *terminal = newterm (NULL, stdout, stdin);
    bool good = true;

    if (!terminal) {
        fprintf (stderr, "windlass top: this terminal can't be used (TERM); windlass top --batch "
                         "prints tables\n");
        return CLI_FAILED;
    }
    cbreak ();
    noecho ();
    keypad (stdscr, TRUE);
    curs_set (0);
    if (has_colors ()) {
        start_color ();
        use_default_colors ();
        init_pair (1, COLOR_RED, -1);
    }
    for (enum top_view view = 0; view < TOP_VIEWS; view++)
        screen.sparks[view] = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    while (wait_and_draw (&screen)) {
        good = top_look (top);
        if (!good)
            break;
        remember (&screen);
    }
    endwin ();
    if (!good)
        top_look (top); /* repeats the message after the screen is closed */
    delscreen (terminal);
    for (enum top_view view = 0; view < TOP_VIEWS; view++)
        g_hash_table_unref (screen.sparks[view]);
    return good ? CLI_OK : CLI_FAILED;
}

#else

int
top_screen (struct top *top)
{
    fprintf (stderr,
             "windlass top: it was built without ncurses; windlass top --batch prints tables\n");
    return CLI_FAILED;
}

#endif
