/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "trace/functions/functions.h"

#include <errno.h>

#ifdef HAVE_FUNCTION_GRAPH

#include "core/base/suggest.h"
#include "core/time/ticks.h"
#include "core/edge/translator.h"
#include "trace/functions/internal.h"

#include <fnmatch.h>
#include <string.h>

struct functions functions;

/* --- is it supported? --- */

/* A processor with a shadow stack would end the program at the first changed return address. */
static bool
returns_are_guarded (void)
{
#if defined __x86_64__
    uint64_t shadow = 0;

    __asm__ volatile ("rdsspq %0" : "+r"(shadow)); /* no effect on a processor without shadow
                                                      stack */
    return shadow != 0;
#else
    return false;
#endif
}

const char *
functions_missing (void)
{
    return returns_are_guarded ()
             ? "the processor guards the stack's return addresses here (user shadow stack)"
             : NULL;
}

bool
functions_are_traced (void)
{
    return functions.globs != NULL;
}

/* --- selection of functions --- */

static bool
name_wanted (const char *name, const GPtrArray *globs)
{
    bool all = true, matches = false;

    for (guint i = 0; i < globs->len; i++) {
        const char *glob = globs->pdata[i];
        const bool not = *glob == '!', fits = name && fnmatch (glob + not, name, 0) == 0;

        if (not && fits)
            return false;
        all = all && not;
        matches = matches || fits;
    }
    return all || matches;
}

/* NULL: none. */
static void
sites_want (const GPtrArray *globs)
{
    for (guint i = 0; i < functions.modules->len; i++) {
        struct patch_module *module = functions.modules->pdata[i];

        for (size_t j = 0; j < module->count; j++) {
            struct patch_site *site = &module->sites[j];

            site->wanted = globs && (site->jump || site->taken) && name_wanted (site->name, globs);
        }
    }
}

struct functions_count {
    size_t wanted, on, known;
};

static struct functions_count
sites_count (void)
{
    struct functions_count count = { 0 };

    for (guint i = 0; i < functions.modules->len; i++) {
        const struct patch_module *module = functions.modules->pdata[i];

        count.known += module->count;
        for (size_t j = 0; j < module->count; j++) {
            count.wanted += module->sites[j].wanted;
            count.on += module->sites[j].on || (module->sites[j].stuck && !module->sites[j].wanted);
        }
    }
    return count;
}

static GPtrArray *
all_names (void)
{
    GPtrArray *names = g_ptr_array_new ();

    for (guint i = 0; i < functions.modules->len; i++) {
        const struct patch_module *module = functions.modules->pdata[i];

        for (size_t j = 0; j < module->count; j++)
            if (module->sites[j].name && (module->sites[j].jump || module->sites[j].taken))
                g_ptr_array_add (names, (void *) module->sites[j].name);
    }
    return names;
}

/* Each pattern must match at least one function: otherwise it is misspelt. */
static int
globs_check (const GPtrArray *globs, GString *answer)
{
    g_autoptr (GPtrArray) names = all_names ();

    for (guint i = 0; i < globs->len; i++) {
        const char *glob = globs->pdata[i];
        bool matches = false;

        glob += *glob == '!';
        for (guint j = 0; j < names->len && !matches; j++)
            matches = fnmatch (glob, names->pdata[j], 0) == 0;
        if (!matches) {
            g_autofree char *near = suggest_text (suggest_near (glob, names));

            g_string_append_printf (answer,
                                    "no function is called '%s', of %u that can be traced%s", glob,
                                    names->len, near);
            return -ENOENT;
        }
    }
    return 0;
}

/* --- start and stop --- */

static int
apply (GString *answer)
{
    const char *what = NULL;
    int r = patch_apply ((struct patch_module *const *) functions.modules->pdata,
                         functions.modules->len, &what);

    if (r < 0)
        g_string_append_printf (answer, "the system refuses %s: %s; nothing was changed", what,
                                g_strerror (-r));
    return r;
}

/* A module was loaded while a trace is on. Its functions that can't be patched are skipped. */
static void
module_loaded (void)
{
    g_autoptr (GString) ignored = g_string_new (NULL);

    sites_find (functions.modules);
    sites_want (functions.globs);
    (void) apply (ignored);
}

static uint64_t
ring_calls (uint64_t buffer)
{
    uint64_t calls = 1;

    while (calls * 2 * sizeof (struct hook_call) <= buffer)
        calls *= 2;
    return calls;
}

static void
hooks_begin (const struct functions_wish *wish)
{
    ticks_init ();
    threads_begin (ring_calls (wish->buffer));
    __atomic_store_n (&hook.cycles, ticks_are_cycles, __ATOMIC_RELAXED);
    __atomic_store_n (&hook.unseen, 0, __ATOMIC_RELAXED);
    __atomic_store_n (&hook.gated, gate_is_wanted (&wish->gate), __ATOMIC_RELAXED);
    __atomic_store_n (&hook.min, ticks_of_ns (wish->min), __ATOMIC_RELAXED);
    __atomic_store_n (&hook.start, ticks_now (), __ATOMIC_SEQ_CST);
    __atomic_store_n (&hook.on, 1, __ATOMIC_SEQ_CST);
}

static int
start_check (const struct functions_wish *wish, GString *answer)
{
    const char *why = functions_missing ();

    if (why)
        g_string_append_printf (answer, "functions can't be traced here: %s", why);
    else if (functions_are_traced ())
        g_string_append (answer, "a trace is on already");
    if (answer->len)
        return why ? -EOPNOTSUPP : -EALREADY;
    if (!functions.modules)
        functions.modules = sites_modules_new ();
    sites_find (functions.modules);
    if (functions.modules->len == 0) {
        g_string_append (answer, "functions can't be traced here: neither the program nor a module "
                                 "has room at its functions' entries");
        return -EOPNOTSUPP;
    }
    return globs_check (wish->globs, answer);
}

static void
start_tell (GString *answer)
{
    const struct functions_count count = sites_count ();

    g_string_append_printf (answer, "%zu functions are traced", count.on);
    if (count.on < count.wanted)
        g_string_append_printf (answer, "; %zu are not, since a debugger has a breakpoint there",
                                count.wanted - count.on);
    g_string_append_c (answer, '\n');
}

static gboolean
main_is_idle (gpointer data)
{
    functions.answering = 0;
    functions.main_start = ticks_now ();
    return G_SOURCE_REMOVE;
}

void
functions_skip_answer (void)
{
    functions.main_start = UINT64_MAX;
    if (!functions.answering)
        functions.answering = g_idle_add (main_is_idle, NULL);
}

int
functions_start (const struct functions_wish *wish, GString *answer)
{
    int r = start_check (wish, answer);

    if (r < 0)
        return r;
    sites_want (wish->globs);
    if (sites_count ().wanted == 0) {
        g_string_append (answer, "no function is left to trace: all that could be are left out");
        return -ENOENT;
    }
    hooks_begin (wish);
    r = apply (answer);
    if (r < 0) {
        hook.on = 0;
        return r;
    }
    if (gate_is_wanted (&wish->gate))
        gate_begin (&wish->gate);
    functions.globs = g_ptr_array_ref (wish->globs);
    functions.by_name = wish->globs->len > 0;
    functions.session++;
    functions.main_start = hook.start;
    xlator_module_loaded = module_loaded;
    start_tell (answer);
    return 0;
}

int
functions_stop (GString *answer)
{
    size_t left;
    int r;

    if (functions_missing ()) {
        g_string_append_printf (answer, "functions can't be traced here: %s", functions_missing ());
        return -EOPNOTSUPP;
    }
    if (!functions_are_traced ()) {
        g_string_append (answer, "no trace is on");
        return -EALREADY;
    }
    sites_want (NULL);
    r = apply (answer);
    if (r < 0)
        return r;
    __atomic_store_n (&hook.on, 0, __ATOMIC_SEQ_CST);
    xlator_module_loaded = NULL;
    gate_end ();
    g_clear_pointer (&functions.globs, g_ptr_array_unref);
    left = sites_count ().on;
    g_string_append (answer, "the trace was stopped\n");
    if (left > 0)
        g_string_append_printf (answer,
                                "%zu functions keep their call, which does nothing now: a debugger "
                                "has a breakpoint there\n",
                                left);
    return 0;
}

void
functions_move (GPtrArray *graph)
{
    gate_move (graph);
}

#else

void
functions_move (GPtrArray *graph)
{
}

void
functions_skip_answer (void)
{
}

const char *
functions_missing (void)
{
#if defined __linux__ && (defined __x86_64__ || defined __aarch64__)
    return "this windlass was built without the function graph (--disable-function-graph)";
#else
    return "the function graph is there for x86-64 and AArch64 alone";
#endif
}

static int
refuse (GString *answer)
{
    g_string_append_printf (answer, "functions can't be traced here: %s", functions_missing ());
    return -EOPNOTSUPP;
}

int
functions_start (const struct functions_wish *wish, GString *answer)
{
    return refuse (answer);
}

int
functions_stop (GString *answer)
{
    return refuse (answer);
}

bool
functions_are_traced (void)
{
    return false;
}

int
functions_read (const char *where, size_t size, GString *out, char **ret_next)
{
    return refuse (out);
}

#endif
