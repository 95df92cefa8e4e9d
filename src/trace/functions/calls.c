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
    bool open;
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
    GHashTable *names;  /* address (uint64_t *) -> name */
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

struct calls *
calls_new (void)
{
    struct calls *calls = g_new0 (struct calls, 1);

    calls->names = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
    calls->threads = g_ptr_array_new_with_free_func (thread_free);
    return calls;
}

void
calls_free (struct calls *calls)
{
    if (!calls)
        return;
    g_hash_table_unref (calls->names);
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
take_function (struct calls *calls, const char *text)
{
    char *end;
    const uint64_t address = g_ascii_strtoull (text, &end, 16);

    if (*end == ' ')
        g_hash_table_replace (calls->names, g_memdup2 (&address, sizeof address),
                              name_clean (end + 1));
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
    struct node node = { *call, NONE, NONE, NONE, MIN (lost, UINT32_MAX), open };

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
take_line (struct calls *calls, const char *line, const char *bytes, size_t size)
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
    if (IS ("function"))
        take_function (calls, text);
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
        more = end ? take_line (calls, line, bytes, size) : -1;
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

/* --- printing ------------------------------------------------------------------------------- */

struct printer {
    const struct calls *calls;
    void (*print) (const char *line, void *data);
    void *data;
    GString *line;
};

/* microseconds < 0: none. */
static void G_GNUC_PRINTF (4, 5)
say (struct printer *printer, double microseconds, unsigned depth, const char *format, ...)
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
say_begin (struct printer *printer, const struct node *node, unsigned depth)
{
    const uint64_t function = function_of (&node->call);
    const char *name = g_hash_table_lookup (printer->calls->names, &function);
    g_autofree char *number = name ? NULL : g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", function);

    if (node->lost > 0)
        say (printer, -1, depth, "/* %u calls were lost here */", node->lost);
    if (node->child == NONE && !node->open)
        say (printer, time_of (printer, node), depth, "%s()", name ? name : number);
    else
        say (printer, -1, depth, "%s() {", name ? name : number);
}

static void
say_end (struct printer *printer, const struct node *node, unsigned depth)
{
    if (node->open)
        say (printer, -1, depth, "} /* still running */");
    else if (node->child != NONE)
        say (printer, time_of (printer, node), depth, "}");
}

/* Prints a call and all calls in it, without recursion: the depth is not bounded. */
static void
say_tree (struct printer *printer, const struct thread *thread, uint32_t root)
{
    unsigned depth = 0;
    uint32_t at = root;

    say_begin (printer, node_at (thread, at), depth);
    for (;;) {
        if (node_at (thread, at)->child != NONE) {
            at = node_at (thread, at)->child;
            say_begin (printer, node_at (thread, at), ++depth);
            continue;
        }
        say_end (printer, node_at (thread, at), depth);
        while (at != root && node_at (thread, at)->next == NONE) {
            at = node_at (thread, at)->parent;
            say_end (printer, node_at (thread, at), --depth);
        }
        if (at == root)
            return;
        at = node_at (thread, at)->next;
        say_begin (printer, node_at (thread, at), depth);
    }
}

/* A call without a traced caller. */
struct root {
    const struct thread *thread;
    uint32_t node;
    uint64_t begin;
};

static int
compare_roots (const void *a, const void *b)
{
    const struct root *left = a, *right = b;

    return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* *ret_threads: the number of threads with such calls. */
static GArray *
roots_find (const struct calls *calls, unsigned *ret_threads)
{
    GArray *roots = g_array_new (FALSE, FALSE, sizeof (struct root));

    *ret_threads = 0;
    for (guint i = 0; i < calls->threads->len; i++) {
        struct thread *thread = calls->threads->pdata[i];

        thread_add_open (thread);
        thread_link (thread);
        *ret_threads += thread->nodes->len > 0;
        for (guint j = 0; j < thread->nodes->len; j++) {
            const struct root root = { thread, j, node_at (thread, j)->call.begin };

            if (node_at (thread, j)->parent == NONE)
                g_array_append_val (roots, root);
        }
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
            say (printer, -1, 0,
                 "/* %s, thread %" G_GINT64_FORMAT ": %" G_GUINT64_FORMAT " calls were lost */",
                 thread->name, thread->id, thread->lost);
        if (thread->deep > 0)
            say (printer, -1, 0,
                 "/* %s, thread %" G_GINT64_FORMAT ": %" G_GUINT64_FORMAT
                 " calls were too deep to be seen */",
                 thread->name, thread->id, thread->deep);
    }
    if (printer->calls->unseen > 0)
        say (printer, -1, 0,
             "/* %" G_GUINT64_FORMAT " calls were made by more threads than can be seen */",
             printer->calls->unseen);
}

void
calls_print (struct calls *calls, void (*print) (const char *line, void *data), void *data)
{
    g_autoptr (GString) line = g_string_new (NULL);
    struct printer printer = { calls, print, data, line };
    const struct thread *last = NULL;
    unsigned threads;
    g_autoptr (GArray) roots = roots_find (calls, &threads);

    print ("   Time(us)  |  Function Graph", data);
    print ("-------------------------------", data);
    for (guint i = 0; i < roots->len; i++) {
        const struct root *root = &g_array_index (roots, struct root, i);

        if (threads > 1 && root->thread != last)
            say (&printer, -1, 0, "/* %s, thread %" G_GINT64_FORMAT " */", root->thread->name,
                 root->thread->id);
        last = root->thread;
        say_tree (&printer, root->thread, root->node);
    }
    if (roots->len == 0)
        say (&printer, -1, 0, "/* no call was recorded%s */", calls->on ? " yet" : "");
    say_rest (&printer);
}
