/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads the records in pieces. Threads go on meanwhile, and overwrite old records. For each thread,
 * open calls are noted first, then ended calls are read. So the caller of each ended call is known,
 * except for calls that began since, which are left out.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#ifdef HAVE_FUNCTION_GRAPH

#include "core/time/ticks.h"
#include "trace/functions/calls.h"
#include "trace/functions/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(sizeof (struct hook_call) == sizeof (struct calls_one),
               "what is sent is what was recorded");

/* Where the next piece begins. */
struct read_place {
    uint64_t session;
    uint64_t thread;    /* index of the thread, in the order of creation */
    uint64_t threads;
    uint64_t next, end; /* range of the thread's calls; end 0: not begun yet */
    uint64_t until;     /* ticks: calls that began later are left out */
};

#define PLACE "%" G_GUINT64_FORMAT

static bool
place_parse (const char *text, struct read_place *place)
{
    int end = 0;

    return sscanf (text, PLACE " " PLACE " " PLACE " " PLACE " " PLACE " " PLACE "%n",
                   &place->session, &place->thread, &place->threads, &place->next, &place->end,
                   &place->until, &end)
            == 6
        && text[end] == '\0';
}

static char *
place_text (const struct read_place *place)
{
    return g_strdup_printf (PLACE " " PLACE " " PLACE " " PLACE " " PLACE " " PLACE, place->session,
                            place->thread, place->threads, place->next, place->end, place->until);
}

/* --- common lines --- */

/* Of a translator or the bridge, the translator on top. What was chosen by name is wanted, too. */
static bool
is_translators (const struct sites_module *module, const struct patch_site *site)
{
    return functions.by_name || !sites_is_program (module)
        || (site->name && g_str_has_prefix (site->name, "fuse_"));
}

/* A function without a name gets the name of its file. */
static void
read_functions (GString *out)
{
    for (guint i = 0; i < functions.modules->len; i++) {
        const struct sites_module *module = functions.modules->pdata[i];
        g_autofree char *file = g_path_get_basename (module->path);

        for (size_t j = 0; j < module->patch.count; j++) {
            const struct patch_site *site = &module->patch.sites[j];

            g_string_append_printf (out, "%s %" G_GINT64_MODIFIER "x ",
                                    is_translators (module, site) ? "translator" : "function",
                                    (uint64_t) site->entry);
            if (site->name)
                g_string_append_printf (out, "%s\n", site->name);
            else
                g_string_append_printf (out, "%s+0x%" G_GINT64_MODIFIER "x\n", file,
                                        (uint64_t) (site->entry - module->base));
        }
    }
}

static void
read_head (GString *out)
{
    g_string_append_printf (out, "calls %d\non %d\n", CALLS_VERSION, functions_are_traced ());
    g_string_append_printf (out, "scale " PLACE "\nunseen " PLACE "\n", ticks_to_ns (CALLS_SCALE),
                            __atomic_load_n (&hook.unseen, __ATOMIC_RELAXED));
    read_functions (out);
}

/* --- one thread --- */

static void
read_thread_name (const struct hook_thread *thread, char *ret_name, size_t size)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/task/%d/comm", thread->id), *text = NULL;

    if (g_file_get_contents (path, &text, NULL, NULL))
        g_strlcpy (ret_name, g_strchomp (text), size);
    else
        g_strlcpy (ret_name, thread->name, size);
    g_strdelimit (ret_name, "\n", ' ');
}

static struct hook_call
open_copy (const struct hook_open *open)
{
    return (struct hook_call){ .begin = __atomic_load_n (&open->begin, __ATOMIC_RELAXED),
                               .function = __atomic_load_n (&open->function, __ATOMIC_RELAXED) };
}

/* When calls of interest begin. */
static uint64_t
thread_start_of (const struct hook_thread *thread)
{
    return thread->id == getpid () ? functions.main_start : hook.start;
}

/* Appends the open calls that are the same in two readings, and properly nested. */
static void
read_open (const struct hook_thread *thread, uint64_t until, GString *out)
{
    const struct hook_open *top = __atomic_load_n (&thread->top, __ATOMIC_ACQUIRE);
    g_autoptr (GArray) calls = g_array_new (FALSE, FALSE, sizeof (struct hook_call));
    uint64_t last = thread_start_of (thread);

    for (const struct hook_open *open = thread->open + 1; open <= top; open++) {
        const struct hook_call call = open_copy (open);

        if ((call.function & HOOK_ASIDE) || call.begin < last || call.begin >= until)
            continue;
        last = call.begin;
        g_array_append_val (calls, call);
    }
    for (guint i = 0; i < calls->len; i++) {
        const struct hook_call call = g_array_index (calls, struct hook_call, i);
        const struct hook_call again = open_copy (
            &thread->open[HOOK_CALL_DEPTH (call.function) + 1]);

        if (again.begin != call.begin || again.function != call.function)
            g_array_set_size (calls, i);
    }
    g_string_append_printf (out, "open %u\n", calls->len);
    g_string_append_len (out, calls->data, calls->len * sizeof (struct hook_call));
}

/* The first call that can't have been overwritten. */
static uint64_t
thread_first (const struct hook_thread *thread)
{
    /* one element may be just being written */
    const uint64_t head = __atomic_load_n (&thread->head, __ATOMIC_ACQUIRE), room = thread->mask;

    return MAX (thread->base, head > room ? head - room : 0);
}

static void
thread_start (const struct hook_thread *thread, struct read_place *place, GString *out)
{
    char name[32];

    read_thread_name (thread, name, sizeof name);
    place->until = ticks_now ();
    g_string_append_printf (out, "thread %d " PLACE " %s\n", thread->id,
                            __atomic_load_n (&thread->deep, __ATOMIC_RELAXED) - thread->base_deep,
                            name);
    read_open (thread, place->until, out);
    place->next = thread->base;
    place->end = __atomic_load_n (&thread->head, __ATOMIC_ACQUIRE);
}

/* Appends some of the ended calls. */
static void
read_calls (const struct hook_thread *thread, struct read_place *place, size_t size, GString *out)
{
    const uint64_t first = MAX (place->next, MIN (thread_first (thread), place->end)),
                   lost = first - place->next;
    const uint64_t count = MIN (place->end - first, MAX (size / sizeof (struct hook_call), 1));
    g_autofree struct hook_call *calls = g_new (struct hook_call, count + 1);
    const uint64_t start = thread_start_of (thread);
    uint64_t whole, kept = 0;

    for (uint64_t i = 0; i < count; i++) {
        const struct hook_call *call = &thread->ring[(first + i) & thread->mask];

        calls[i].begin = __atomic_load_n (&call->begin, __ATOMIC_RELAXED);
        calls[i].end = __atomic_load_n (&call->end, __ATOMIC_RELAXED);
        calls[i].function = __atomic_load_n (&call->function, __ATOMIC_RELAXED);
    }
    __atomic_thread_fence (__ATOMIC_ACQUIRE);
    whole = MIN (MAX (thread_first (thread), first), first + count);
    for (uint64_t i = whole - first; i < count; i++)
        if (calls[i].begin >= start && calls[i].begin < place->until)
            calls[kept++] = calls[i];
    g_string_append_printf (out, "done " PLACE " " PLACE "\n", kept, lost + whole - first);
    g_string_append_len (out, (const char *) calls, kept * sizeof *calls);
    place->next = first + count;
}

/* Until the piece has its size, or all is read. */
static void
read_threads (struct read_place *place, size_t size, GString *out)
{
    size_t count;
    g_autofree struct hook_thread **threads = threads_all (&count);

    if (place->threads == 0)
        place->threads = count;
    while (place->thread < MIN (place->threads, count) && out->len < size) {
        const struct hook_thread *thread = threads[place->thread];

        if (thread->ring && place->end == 0)
            thread_start (thread, place, out);
        if (thread->ring)
            read_calls (thread, place, size, out);
        if (thread->ring && place->next < place->end)
            return;
        place->thread++;
        place->next = place->end = 0;
    }
}

int
functions_read (const char *where, size_t size, GString *out, char **ret_next)
{
    struct read_place place = { .session = functions.session };

    *ret_next = NULL;
    if (functions.session == 0) {
        g_string_append (out, "there is nothing to print: no trace was started");
        return -ENODATA;
    }
    if (!*where)
        read_head (out);
    else if (!place_parse (where, &place) || place.next > place.end) {
        g_string_append (out, "this is no place in a trace");
        return -EINVAL;
    }
    if (place.session != functions.session) {
        g_string_append (out, "another trace was started meanwhile");
        return -ESTALE;
    }
    read_threads (&place, size, out);
    if (place.thread < place.threads)
        *ret_next = place_text (&place);
    return 0;
}

#endif
