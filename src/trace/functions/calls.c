/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/functions/calls.h"

#include <errno.h>
#include <string.h>

#define NONE UINT32_MAX

/* A call in the tree. Its relatives are indices in its thread's nodes, or NONE. */
struct node {
    struct calls_one call;
    uint32_t parent, child, next;
    uint32_t lost; /* calls lost right before its end; at most UINT32_MAX */
    uint32_t depth; /* number of printed calls that contain it */
    bool open;
    bool shown, inner; /* it is printed; there is a printed call in it */
};

/* A function that can be traced. */
struct function {
    char *name;
    bool is_translators;
};

struct thread {
    int64_t id;
    char *name;
    uint64_t deep, lost; /* calls that were too deep; calls lost after the last known one */
    GArray *open;        /* struct calls_one, the outermost first */
    GArray *nodes;       /* in the order of their ends; calls that have not ended are last, the
                            innermost first */
};

struct calls {
    GHashTable *functions; /* address (uint64_t *) -> struct function */
    GPtrArray *threads; /* struct thread; input belongs to the last one */
    uint64_t scale, unseen;
    bool on, begun;
};

static void
thread_free (gpointer data)
{
    struct thread *thread = data;

    g_free (thread->name);
    g_array_unref (thread->open);
    g_array_unref (thread->nodes);
    g_free (thread);
}

static void
function_free (gpointer data)
{
    struct function *function = data;

    g_free (function->name);
    g_free (function);
}

struct calls *
calls_new (void)
{
    struct calls *calls = g_new0 (struct calls, 1);

    calls->functions = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, function_free);
    calls->threads = g_ptr_array_new_with_free_func (thread_free);
    return calls;
}

void
calls_free (struct calls *calls)
{
    if (!calls)
        return;
    g_hash_table_unref (calls->functions);
    g_ptr_array_unref (calls->threads);
    g_free (calls);
}

/* --- input ---------------------------------------------------------------------------------- */

/* It is printed to a terminal. */
static char *
name_clean (const char *name)
{
    char *clean = g_strdup (name);

    for (char *p = clean; *p; p++)
        if (!g_ascii_isprint (*p))
            *p = '?';
    return clean;
}

static void
take_function (struct calls *calls, const char *text, bool is_translators)
{
    char *end;
    const uint64_t address = g_ascii_strtoull (text, &end, 16);
    struct function *function;

    if (*end != ' ')
        return;
    function = g_new0 (struct function, 1);
    *function = (struct function){ name_clean (end + 1), is_translators };
    g_hash_table_replace (calls->functions, g_memdup2 (&address, sizeof address), function);
}

static void
take_thread (struct calls *calls, const char *text)
{
    struct thread *thread = g_new0 (struct thread, 1);
    char *end;

    thread->id = g_ascii_strtoll (text, &end, 10);
    thread->deep = g_ascii_strtoull (end, &end, 10);
    thread->name = name_clean (*end == ' ' ? end + 1 : end);
    thread->open = g_array_new (FALSE, FALSE, sizeof (struct calls_one));
    thread->nodes = g_array_new (FALSE, FALSE, sizeof (struct node));
    g_ptr_array_add (calls->threads, thread);
}

static void
thread_add (struct thread *thread, const struct calls_one *call, uint64_t lost, bool open)
{
    struct node node = { .call = *call,
                         .parent = NONE,
                         .child = NONE,
                         .next = NONE,
                         .lost = MIN (lost, UINT32_MAX),
                         .open = open };

    if (node.call.end < node.call.begin)
        node.call.end = node.call.begin;
    if (thread->nodes->len < NONE)
        g_array_append_val (thread->nodes, node);
}

/* Takes the calls that follow a line. Returns the number of bytes, or -1. */
static gssize
take_calls (struct calls *calls, const char *text, bool open, const char *bytes, size_t size)
{
    char *end;
    const uint64_t count = g_ascii_strtoull (text, &end, 10);
    struct thread *thread = calls->threads->len ? calls->threads->pdata[calls->threads->len - 1]
                                                : NULL;

    if (!thread || count > size / sizeof (struct calls_one))
        return -1;
    if (!open)
        thread->lost += g_ascii_strtoull (end, NULL, 10);
    for (uint64_t i = 0; i < count; i++) {
        struct calls_one call;

        memcpy (&call, bytes + i * sizeof call, sizeof call);
        if (open)
            g_array_append_val (thread->open, call);
        else
            thread_add (thread, &call, i == 0 ? thread->lost : 0, false);
    }
    if (!open && count > 0)
        thread->lost = 0;
    return count * sizeof (struct calls_one);
}

/* Takes a line and the bytes that belong to it. Returns the number of bytes after the line, or
 * -1. */
static gssize
calls_take_line (struct calls *calls, const char *line, const char *bytes, size_t size)
{
    const char *blank = strchr (line, ' '), *text = blank ? blank + 1 : "";
    const size_t length = blank ? (size_t) (blank - line) : strlen (line);
    const bool first = !calls->begun;

#define IS(word_) (length == strlen (word_) && memcmp (line, word_, length) == 0)
    calls->begun = true;
    if (first)
        return IS ("calls") && g_ascii_strtoll (text, NULL, 10) == CALLS_VERSION ? 0 : -1;
    if (IS ("open") || IS ("done"))
        return take_calls (calls, text, *line == 'o', bytes, size);
    if (IS ("function") || IS ("translator"))
        take_function (calls, text, *line == 't');
    else if (IS ("thread"))
        take_thread (calls, text);
    else if (IS ("on"))
        calls->on = *text == '1';
    else if (IS ("scale"))
        calls->scale = g_ascii_strtoull (text, NULL, 10);
    else if (IS ("unseen"))
        calls->unseen = g_ascii_strtoull (text, NULL, 10);
    else
        return -1;
#undef IS
    return 0;
}

int
calls_take (struct calls *calls, const char *bytes, size_t size, char **ret_error)
{
    while (size > 0) {
        const char *end = memchr (bytes, '\n', size);
        g_autofree char *line = end ? g_strndup (bytes, end - bytes) : NULL;
        gssize more;

        if (end) {
            size -= end + 1 - bytes;
            bytes = end + 1;
        }
        more = end ? calls_take_line (calls, line, bytes, size) : -1;
        if (more < 0) {
            *ret_error = g_strdup ("what the daemon sent is no function graph: windlass and the "
                                   "daemon are not of the same release");
            return -EPROTO;
        }
        bytes += more;
        size -= more;
    }
    return 0;
}

/* --- tree of calls -------------------------------------------------------------------------- */

static unsigned
depth_of (const struct calls_one *call)
{
    return (call->function >> 48) & 0x7fff;
}

static uint64_t
function_of (const struct calls_one *call)
{
    return call->function & ((UINT64_C (1) << 48) - 1);
}

static struct node *
node_at (const struct thread *thread, uint32_t i)
{
    return &g_array_index (thread->nodes, struct node, i);
}

/* A call that was open when noted, and has ended since, is not open. */
static void
thread_add_open (struct thread *thread)
{
    g_autoptr (GHashTable) ended = g_hash_table_new (g_int64_hash, g_int64_equal);

    for (guint i = 0; i < thread->nodes->len; i++)
        for (guint j = thread->open->len; j > 0; j--) {
            struct calls_one *open = &g_array_index (thread->open, struct calls_one, j - 1);

            if (open->begin < node_at (thread, i)->call.begin)
                break;
            if (open->begin == node_at (thread, i)->call.begin
                && open->function == node_at (thread, i)->call.function)
                g_hash_table_add (ended, &open->begin);
        }
    for (guint i = thread->open->len; i > 0; i--) {
        const struct calls_one *open = &g_array_index (thread->open, struct calls_one, i - 1);

        if (!g_hash_table_contains (ended, &open->begin))
            thread_add (thread, open, 0, true);
    }
    g_array_set_size (thread->open, 0);
}

static bool
is_in (const struct node *inner, const struct node *outer)
{
    return depth_of (&outer->call) < depth_of (&inner->call)
        && outer->call.begin <= inner->call.begin;
}

/* Backwards in the order of ends, each call comes after all calls that contain it, and the children
 * of a call come last first. */
static void
thread_link (struct thread *thread)
{
    uint32_t at = NONE; /* the candidate for the parent, else one of its ancestors is */

    for (guint i = thread->nodes->len; i > 0; i--) {
        struct node *node = node_at (thread, i - 1);

        while (at != NONE && !is_in (node, node_at (thread, at)))
            at = node_at (thread, at)->parent;
        node->parent = at;
        if (at != NONE) {
            node->next = node_at (thread, at)->child;
            node_at (thread, at)->child = i - 1;
        }
        at = i - 1;
    }
}

/* --- what is shown -------------------------------------------------------------------------- */

static const struct function *
node_function (const struct calls *calls, const struct node *node)
{
    const uint64_t function = function_of (&node->call);

    return g_hash_table_lookup (calls->functions, &function);
}

/* A call comes after all calls that it contains. */
static void
thread_choose (const struct calls *calls, struct thread *thread, const struct calls_view *view)
{
    for (guint i = thread->nodes->len; i > 0; i--) {
        struct node *node = node_at (thread, i - 1),
                    *parent = node->parent == NONE ? NULL : node_at (thread, node->parent);
        const struct function *function = node_function (calls, node);

        node->depth = parent ? parent->depth + parent->shown : 0;
        node->shown = (view->all || (function && function->is_translators))
                   && (view->depth == 0 || node->depth < view->depth);
    }
    for (guint i = 0; i < thread->nodes->len; i++) {
        const struct node *node = node_at (thread, i);

        if (node->parent != NONE && (node->shown || node->inner))
            node_at (thread, node->parent)->inner = true;
    }
}

/* --- printing ------------------------------------------------------------------------------- */

struct printer {
    const struct calls *calls;
    bool names_threads;
    const struct thread *last; /* whose calls were printed last */
    void (*print) (const char *line, void *data);
    void *data;
    GString *line;
};

/* microseconds < 0: none. */
static void G_GNUC_PRINTF (4, 5)
line_put (struct printer *printer, double microseconds, unsigned depth, const char *format, ...)
{
    va_list args;

    if (microseconds < 0)
        g_string_printf (printer->line, "%12s |  %*s", "", (int) (3 * depth), "");
    else
        g_string_printf (printer->line, "%12.3f |  %*s", microseconds, (int) (3 * depth), "");
    va_start (args, format);
    g_string_append_vprintf (printer->line, format, args);
    va_end (args);
    printer->print (printer->line->str, printer->data);
}

static double
time_of (const struct printer *printer, const struct node *node)
{
    return (double) (node->call.end - node->call.begin) * (double) printer->calls->scale
         / (double) CALLS_SCALE / 1000.;
}

static void
say_thread (struct printer *printer, const struct thread *thread)
{
    if (printer->names_threads && printer->last != thread)
        line_put (printer, -1, 0, "/* %s, thread %" G_GINT64_FORMAT " */", thread->name,
                  thread->id);
    printer->last = thread;
}

static void
say_begin (struct printer *printer, const struct thread *thread, const struct node *node)
{
    const struct function *function = node_function (printer->calls, node);
    g_autofree char *number = NULL;
    const char *name = function ? function->name : NULL;

    if (node->lost > 0 || node->shown)
        say_thread (printer, thread);
    if (node->lost > 0)
        line_put (printer, -1, node->depth, "/* %u calls were lost here */", node->lost);
    if (!node->shown)
        return;
    if (!name)
        name = number = g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", function_of (&node->call));
    if (!node->inner && !node->open)
        line_put (printer, time_of (printer, node), node->depth, "%s()", name);
    else
        line_put (printer, -1, node->depth, "%s() {", name);
}

static void
say_end (struct printer *printer, const struct node *node)
{
    if (!node->shown)
        return;
    if (node->open)
        line_put (printer, -1, node->depth, "} /* still running */");
    else if (node->inner)
        line_put (printer, time_of (printer, node), node->depth, "}");
}

/* Prints a call and all calls in it, without recursion: the depth is not bounded. */
static void
say_tree (struct printer *printer, const struct thread *thread, uint32_t root)
{
    uint32_t at = root;

    say_begin (printer, thread, node_at (thread, at));
    for (;;) {
        if (node_at (thread, at)->child != NONE) {
            at = node_at (thread, at)->child;
            say_begin (printer, thread, node_at (thread, at));
            continue;
        }
        say_end (printer, node_at (thread, at));
        while (at != root && node_at (thread, at)->next == NONE) {
            at = node_at (thread, at)->parent;
            say_end (printer, node_at (thread, at));
        }
        if (at == root)
            return;
        at = node_at (thread, at)->next;
        say_begin (printer, thread, node_at (thread, at));
    }
}

/* A call without a traced caller. */
struct call_root {
    const struct thread *thread;
    uint32_t node;
    uint64_t begin;
};

static int
compare_roots (const void *a, const void *b)
{
    const struct call_root *left = a, *right = b;

    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* *ret_threads: the number of threads with calls that are shown. */
static GArray *
calls_find_roots (const struct calls *calls, const struct calls_view *view, unsigned *ret_threads)
{
    GArray *roots = g_array_new (FALSE, FALSE, sizeof (struct call_root));

    *ret_threads = 0;
    for (guint i = 0; i < calls->threads->len; i++) {
        struct thread *thread = calls->threads->pdata[i];
        bool any = false;

        thread_add_open (thread);
        thread_link (thread);
        thread_choose (calls, thread, view);
        for (guint j = 0; j < thread->nodes->len; j++) {
            const struct node *node = node_at (thread, j);
            const struct call_root root = { thread, j, node->call.begin };

            any = any || node->shown;
            if (node->parent == NONE)
                g_array_append_val (roots, root);
        }
        *ret_threads += any;
    }
    g_array_sort (roots, compare_roots);
    return roots;
}

static void
say_rest (struct printer *printer)
{
    for (guint i = 0; i < printer->calls->threads->len; i++) {
        const struct thread *thread = printer->calls->threads->pdata[i];

        if (thread->lost > 0)
            line_put (printer, -1, 0,
                      "/* %s, thread %" G_GINT64_FORMAT ": %" G_GUINT64_FORMAT
                      " calls were lost */",
                      thread->name, thread->id, thread->lost);
        if (thread->deep > 0)
            line_put (printer, -1, 0,
                      "/* %s, thread %" G_GINT64_FORMAT ": %" G_GUINT64_FORMAT
                      " calls were too deep to be seen */",
                      thread->name, thread->id, thread->deep);
    }
    if (printer->calls->unseen > 0)
        line_put (printer, -1, 0,
                  "/* %" G_GUINT64_FORMAT " calls were made by more threads than can be seen */",
                  printer->calls->unseen);
}

/* Nothing was printed: why. */
static void
say_none (struct printer *printer, guint roots)
{
    if (roots == 0)
        line_put (printer, -1, 0, "/* no call was recorded%s */", printer->calls->on ? " yet" : "");
    else
        line_put (printer, -1, 0, "/* no translator was called%s; --all prints the other calls */",
                  printer->calls->on ? " yet" : "");
}

void
calls_print (struct calls *calls, const struct calls_view *view,
             void (*print) (const char *line, void *data), void *data)
{
    g_autoptr (GString) line = g_string_new (NULL);
    unsigned threads;
    g_autoptr (GArray) roots = calls_find_roots (calls, view, &threads);
    struct printer printer = { .calls = calls,
                               .names_threads = threads > 1,
                               .print = print,
                               .data = data,
                               .line = line };

    print ("   Time(us)  |  Function Graph", data);
    print ("-------------------------------", data);
    for (guint i = 0; i < roots->len; i++) {
        const struct call_root *root = &g_array_index (roots, struct call_root, i);

        say_tree (&printer, root->thread, root->node);
    }
    if (threads == 0)
        say_none (&printer, roots->len);
    say_rest (&printer);
}
