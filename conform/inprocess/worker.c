/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child that runs cases: each on the stack and on storage/posix alone, and compares. */
#include "conform/inprocess/inprocess.h"

#include "core/edge/stack.h"
#include "core/work/job.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct variant variants[] = {
    { .name = "straight", .pairs = true },
    { .name = "late", .late = true },
    { .name = "mixed", .mixed = true },
    { .name = "given", .given = true },
    { .name = "plain", .plain = true },
    { .name = "failing", .failing = true },
    { .name = "interrupted", .interrupt_before = true },
    { .name = "interrupted-late", .late = true, .interrupt_held = true },
    { 0 },
};
const struct variant *variant = &variants[0];

static struct {
    int fd;
    struct kit_world *stack, *bare;
    const struct conform_options *options;
    const char *allowed; /* the reason for an expected difference in this case, or NULL */
    bool slow; /* making a tree takes too long */
    bool treeless; /* not even the first one could be made */
} worker;

/* --- output to the parent ------------------------------------------------------------------- */

/* "F\tkey\ttext" and the like; newlines in text are escaped. */
static void
worker_report (char kind, const char *key, const char *text)
{
    g_autofree char *escaped = g_strescape (text ? text : "", NULL);
    g_autofree char *line = g_strdup_printf ("%c\t%s\t%s\n", kind, key ? key : "", escaped);
    const size_t size = strlen (line);

    for (size_t done = 0; done < size;) {
        ssize_t n = write (worker.fd, line + done, size - done);
        if (n < 0 && errno != EINTR)
            _exit (2);
        done += n > 0 ? (size_t) n : 0;
    }
}

static void
worker_crashed (const char *text)
{
    g_autofree char *key = NULL, *found = findings_end (&key);
    g_autofree char *all = found ? g_strconcat (text, "\n", found, NULL) : g_strdup (text);

    worker_report ('F', text, all);
    _exit (3);
}

/* --- reports from the core ------------------------------------------------------------------ */

static void
worker_misuse (const struct audit_misuse *misuse)
{
    const xlator_t *xl = misuse->xlator;
    const struct call_site *site = misuse->site, *before = misuse->before;

    /* A fault in an inspector is attributed to the translator below it. */
    if (xl->api == &inspect_api && xl->children)
        xl = FIRST_CHILD (xl);
    if (strcmp (misuse->what, "answered before its child") == 0)
        return;
    if (before)
        finding_add (misuse->what, xl, misuse->op, "at %s:%d, after an answer at %s:%d", site->file,
                     site->line, before->file, before->line);
    else
        finding_add (misuse->what, xl, misuse->op, "at %s:%d", site->file, site->line);
}

/* Numbers may be kept as values too, and need no release. */
#define SMALLEST_POINTER 65536

static void
worker_context_left (const xlator_t *xlator, const char *callback, const void *ctx)
{
    if ((uintptr_t) ctx >= SMALLEST_POINTER)
        finding_add_type ("context never freed", xlator->type,
                          "'%s' keeps something with %s, and has no %s, which would free it",
                          xlator->name,
                          strcmp (callback, "forget") == 0    ? "an inode"
                          : strcmp (callback, "release") == 0 ? "an open file"
                                                              : "an open directory",
                          callback);
}

static const struct audit worker_audit = {
    .count = counts_change,
    .worker = counts_worker,
    .misuse = worker_misuse,
    .context_left = worker_context_left,
    .local_new = loan_local_new,
    .local_gone = local_gone,
};

/* --- one case ------------------------------------------------------------------------------- */

/* Lines that only one of the texts has, under their names. */
static char *
difference (const char *stack, const char *stack_name, const char *bare, const char *bare_name)
{
    g_auto (GStrv) a = g_strsplit (stack, "\n", -1), b = g_strsplit (bare, "\n", -1);
    GString *out = g_string_new (NULL);
    unsigned i = 0;

    while (a[i] && b[i] && strcmp (a[i], b[i]) == 0)
        i++;
    for (unsigned j = i; a[j] && j < i + 3; j++)
        g_string_append_printf (out, "\n    %s %s", stack_name, a[j]);
    for (unsigned j = i; b[j] && j < i + 3; j++)
        g_string_append_printf (out, "\n    %s %s", bare_name, b[j]);
    return g_string_free (out, FALSE);
}

/* The only translator above storage; NULL: there are several. */
static const xlator_t *
under_test (void)
{
    const GPtrArray *all = worker.stack->graph->xlators;
    const xlator_t *found = NULL;

    for (guint i = 0; i < all->len; i++) {
        const xlator_t *xl = all->pdata[i];

        if (!xl->children || strcmp (xl->type, "conform/inspect") == 0)
            continue;
        if (found)
            return NULL;
        found = xl;
    }
    return found;
}

static void
compare_dumps (const struct in_case *c, const char *what, const char *stack, const char *bare)
{
    if (strcmp (stack, bare) == 0)
        return;
    g_autofree char *stack_rest = conform_without_allowed (worker.options, c->name, stack,
                                                           &worker.allowed);
    g_autofree char *bare_rest = conform_without_allowed (worker.options, c->name, bare,
                                                          &worker.allowed);
    if (strcmp (stack_rest, bare_rest) == 0)
        return;
    g_autofree char *lines = difference (stack_rest, "stack:", bare_rest, "bare: ");
    finding_add ("result differs", under_test (), c->choice.op,
                 "%s is not that of storage/posix alone%s%s", what,
                 inspect_changed (c->choice.op), lines);
}

/* For work before and after a case. */
static const struct variant quiet = { .name = "quiet", .quiet = true };

static void
case_dump (const struct in_case *c)
{
    g_autoptr (GString) stack = g_string_new (NULL), bare = g_string_new (NULL);

    dump_tree (worker.stack, worker.stack->top, "", stack);
    dump_tree (worker.bare, worker.bare->top, "", bare);
    compare_dumps (c, "what is there afterwards", stack->str, bare->str);
}

/* A write that was answered before it was done has no attributes, so storage's are left out too. A
 * read may have none in any case. */
static void
compare_answers (const struct in_case *c, GString *stack, GString *bare)
{
    if (c->choice.op == FOP_writev && graph_touches (worker.stack->graph) & TOUCHES_ANSWERS
        && strstr (stack->str, "prebuf: none")) {
        g_autoptr (GRegex)
            attributes = g_regex_new ("^  (prebuf|postbuf): .*$", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *without = g_regex_replace (attributes, bare->str, -1, 0, "  \\1: none", 0,
                                                    NULL);
        g_string_assign (bare, without);
    }
    if (c->choice.op == FOP_readv && strstr (stack->str, "stbuf: none")) {
        g_autoptr (GRegex) attributes = g_regex_new ("^  stbuf: .*$", G_REGEX_MULTILINE, 0, NULL);
        g_autofree char *without = g_regex_replace (attributes, bare->str, -1, 0, "  stbuf: none",
                                                    0, NULL);
        g_string_assign (bare, without);
    }
    compare_dumps (c, "the answer", stack->str, bare->str);
}

/* In a variant with an injected failure: which call, and its description if it was reached. */
static struct {
    unsigned nth;
    char *reached;
} failing_variant;

/* The tree as text, if the call may be refused by design; else NULL. */
static char *
case_before (const struct in_case *c)
{
    const struct variant *saved = variant;
    GString *text;

    if (!conform_may_refuse (worker.options, fop_name (c->choice.op)))
        return NULL;
    text = g_string_new (NULL);
    variant = &quiet;
    dump_tree (worker.stack, worker.stack->top, "", text);
    order_settle ();
    variant = saved;
    return g_string_free (text, FALSE);
}

/* Returns false if the call was not refused by design. If it was, nothing may have changed; storage
 * alone is then not called, since it would change what both have. */
static bool
case_refused (const struct in_case *c, int r, const char *before)
{
    const char *why = conform_refused (worker.options, fop_name (c->choice.op), -r);
    g_autoptr (GString) after = g_string_new (NULL);

    if (!why)
        return false;
    worker.allowed = why;
    order_settle ();
    variant = &quiet;
    dump_tree (worker.stack, worker.stack->top, "", after);
    if (strcmp (before, after->str) != 0) {
        g_autofree char *lines = difference (after->str, "after: ", before, "before:");
        worker.stack->dirty = true;
        finding_add ("refused, but something changed", NULL, c->choice.op,
                     "what is there afterwards is not what was there before%s", lines);
    }
    return true;
}

static int
case_call_stack (const struct in_case *c, GString *out)
{
    int r;

    inspect_fail (variant->failing ? failing_variant.nth : 0);
    r = call_make (worker.stack, &c->choice, out);
    if (variant->failing)
        order_settle ();
    failing_variant.reached = inspect_failed ();
    inspect_fail (0);
    return r;
}

/* Returns false if there is no answer. */
static bool
case_call (const struct in_case *c)
{
    g_autoptr (GString) stack = g_string_new (NULL), bare = g_string_new (NULL);
    g_autofree char *before = case_before (c);
    const int r = case_call_stack (c, stack);

    if (before && case_refused (c, r, before))
        return true;
    const int r_bare = call_make (worker.bare, &c->choice, bare);
    const bool changed = choice_may_change (c->choice.op) && (r >= 0 || r_bare >= 0);
    const bool interrupted = r == -EINTR && (variant->interrupt_before || variant->interrupt_held);

    worker.stack->dirty |= changed;
    worker.bare->dirty |= changed;
    if (interrupted || r == -ETIMEDOUT)
        return r != -ETIMEDOUT;
    /* After an injected failure the call may fail; but a success must be correct, unless failures
     * are reported later. */
    if (variant->failing && (r < 0 || graph_touches (worker.stack->graph) & TOUCHES_ANSWERS))
        return true;
    if (c->choice.n == 1 && key_is_own (c->choice.value[0]))
        return true;
    compare_answers (c, stack, bare);
    order_settle ();
    variant = &quiet;
    if (changed && r >= 0 && r_bare >= 0)
        case_dump (c);
    return true;
}

/* Threads of translators may need a moment to drop references, and longer on a busy machine. A job
 * may need much longer, such as that of features/trash, which begins one second after a removal.
 * After a first leak the run has failed, and most of the following cases leak as well: these get
 * less time. The numbers are of waits of two milliseconds, at least. */
#define LEAK_PATIENCE 750
#define LEAK_PATIENCE_LATER 20
#define LEAK_PATIENCE_AT_WORK 15000 /* while a job runs */

static bool
case_leaks (unsigned mark)
{
    static bool leaked;
    int left = leaked ? LEAK_PATIENCE_LATER : LEAK_PATIENCE, at_work = LEAK_PATIENCE_AT_WORK;

    while (left > 0 && counts_grew (mark)) {
        g_usleep (2000);
        if (jobs_count () == 0 || at_work == 0)
            left--;
        else
            at_work--;
    }
    leaked |= counts_grew (mark);
    return counts_grew (mark);
}

/* References: the tree is dropped as soon as there are more than before; the rest is a leak. */
static void
case_settle (void)
{
    if (!worker.stack->dirty && !counts_grew (1))
        return;
    world_drop (worker.stack);
    world_drop (worker.bare);
    order_settle ();
    loans_check ();
    if (case_leaks (0)) {
        counts_report (0);
        counts_mark (0);
    }
}

static bool
case_prepare (void)
{
    int r, r_bare;

    world_wants (worker.stack, WANTS_ATTRIBUTES);
    world_wants (worker.bare, WANTS_ATTRIBUTES);
    r = world_ready (worker.stack);
    worker.bare->only_readers = worker.stack->only_readers;
    r_bare = world_ready (worker.bare);
    worker.slow = r == -ETIMEDOUT && r_bare >= 0;
    if (worker.slow)
        inspect_say_slow ("no tree could be made");
    else if (r < 0 && r_bare >= 0)
        inspect_say_refused (-r);
    worker.treeless = r < 0 && worker.stack->number == 1;
    order_settle ();
    counts_mark (1);
    return r >= 0 && r_bare >= 0;
}

/* Returns false if the graph can't be used any more. */
static bool
case_run_once (const struct in_case *c)
{
    bool usable, answered = true;
    unsigned before;

    variant = &quiet;
    if (case_prepare ()) {
        variant = c->variant;
        world_wants (worker.stack, variant->plain ? 0 : WANTS_ATTRIBUTES);
        world_wants (worker.bare, variant->plain ? world_wanted (worker.stack) : WANTS_ATTRIBUTES);
        answered = case_call (c);
        order_settle ();
        variant = &quiet;
    }
    if (worker.slow || worker.treeless)
        return false;
    before = findings_count ();
    usable = inspect_settle (!answered);
    if (!answered && findings_count () == before)
        finding_add ("too slow", NULL, c->choice.op, "it was answered, but not within 3 s");
    if (usable)
        case_settle ();
    statics_check (worker.stack->graph);
    return usable;
}

/* More calls than any operation makes below. */
#define FAILING_MAX 40

static bool
case_run_failing (const struct in_case *c)
{
    for (unsigned nth = 1; nth <= FAILING_MAX; nth++) {
        const unsigned before = findings_count ();
        failing_variant.nth = nth;
        const bool usable = case_run_once (c);
        g_autofree char *failed = g_steal_pointer (&failing_variant.reached);

        if (findings_count () > before && failed
            && !findings_by_design (worker.options, worker.stack->graph))
            finding_add ("with a failure below", NULL, c->choice.op, "call %u, %s", nth, failed);
        if (!usable || !failed || findings_count () > before)
            return usable;
    }
    return true;
}

/* Returns false if the graph can't be used any more. */
static bool
case_run (const struct in_case *c)
{
    return c->variant->failing ? case_run_failing (c) : case_run_once (c);
}

static void
case_tell (const struct in_case *c)
{
    const char *reason = findings_by_design (worker.options, worker.stack->graph);
    g_autofree char *key = NULL, *text = findings_end (&key);

    if (reason)
        worker_report ('D', key, reason);
    else if (text)
        worker_report ('F', key, text);
    else if (worker.allowed)
        worker_report ('D', NULL, worker.allowed);
    else
        worker_report ('P', NULL, NULL);
}

/* --- all of them ---------------------------------------------------------------------------- */

static void
worker_start (const struct conform_options *options, int fd, const char *scratch)
{
    g_autofree char *log = g_build_filename (scratch, "log", NULL),
                    *stack = g_build_filename (scratch, "stack", NULL);
    g_autofree char *bare = g_build_filename (scratch, "bare", NULL);

    worker.fd = fd;
    worker.options = options;
    log_open (log);
    mallopt (M_PERTURB, 0xa5); /* freed memory is overwritten */
    audit = &worker_audit;
    order_start ();
    findings_begin ("start", options->seed);
    worker.stack = world_new (options, stack);
    worker.bare = worker.stack ? world_new (options, bare) : NULL;
    if (!worker.bare)
        _exit (4);
    faults_catch (worker_crashed);
    counts_mark (0);
}

void
kit_worker_run (const struct conform_options *options, GArray *cases, guint from, int fd,
                const char *scratch)
{
    bool usable = true;

    worker_start (options, fd, scratch);
    for (guint i = from; usable && i < cases->len; i++) {
        const struct in_case *c = &g_array_index (cases, struct in_case, i);

        worker_report ('S', NULL, NULL);
        findings_begin (c->name, options->seed);
        worker.allowed = NULL;
        usable = case_run (c);
        case_tell (c);
    }
    if (!usable)
        _exit (worker.slow ? WORKER_SLOW : worker.treeless ? WORKER_TREELESS : WORKER_STUCK);
    findings_begin ("end", options->seed);
    world_free (worker.stack);
    world_free (worker.bare);
    worker_report ('E', NULL, NULL);
    _exit (0);
}
