/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shortens the script of a history that fails. Each step changes the script, runs its history, and
 * keeps the change if that history fails too. The first steps remove lines: half of them at a time,
 * then fewer and fewer (ddmin of Zeller and Hildebrandt). Later steps remove the injected errors,
 * let gates pass the calls of a line without delay (calm), make sizes and offsets smaller, and give
 * lines to other clients. All steps are repeated until none of them keeps a change. */
#include "conform/history/history.h"

struct shrinker {
    const struct conform_options *options;
    struct script *best; /* shortest script so far whose history fails */
    unsigned runs; /* number of histories that may still be run */
};

/* Runs the history of the candidate, and takes ownership of the candidate. If the history fails,
 * the candidate becomes shrinker->best. Returns whether it failed. */
static bool
shrinker_try (struct shrinker *shrinker, struct script *candidate)
{
    struct history_verdict verdict = { 0 };
    bool failed;

    if (shrinker->runs == 0 || history_run (shrinker->options, candidate, &verdict) < 0) {
        script_free (candidate);
        return false;
    }
    shrinker->runs--;
    failed = verdict.failed;
    verdict_clear (&verdict);
    script_free (failed ? shrinker->best : candidate);
    if (failed)
        shrinker->best = candidate;
    return failed;
}

/* Tries to remove lines, as many at a time as chunk says, from the end of the script to its
 * beginning: later lines depend on earlier ones. Returns whether any were removed. */
static bool
shrink_chunks (struct shrinker *shrinker, unsigned chunk)
{
    bool any = false;

    for (unsigned end = shrinker->best->lines->len; end > 0; end = end > chunk ? end - chunk : 0) {
        const unsigned from = end > chunk ? end - chunk : 0;
        struct script *candidate = script_copy (shrinker->best);

        g_ptr_array_remove_range (candidate->lines, from, end - from);
        any = shrinker_try (shrinker, candidate) || any;
    }
    return any;
}

static bool
shrink_lines (struct shrinker *shrinker)
{
    bool any = false;

    for (unsigned chunk = MAX (shrinker->best->lines->len / 2, 1); chunk >= 1; chunk /= 2)
        any = shrink_chunks (shrinker, chunk) || any;
    return any;
}

/* --- one line ------------------------------------------------------------------------------- */

/* A function of this type makes a line simpler in one way. It returns whether it changed the
 * line. */
typedef bool change_fn (struct script_line *line);

static bool
change_calm (struct script_line *line)
{
    const bool changes = !line->calm;

    line->calm = true;
    return changes;
}

static bool
change_size (struct script_line *line)
{
    const bool changes = line->size > 8;

    line->size = 8;
    return changes;
}

static bool
change_half (struct script_line *line)
{
    const bool changes = line->size > 8;

    line->size = MAX (line->size / 2, 8);
    return changes;
}

static bool
change_offset (struct script_line *line)
{
    const bool changes = line->offset || line->offset_out;

    line->offset = line->offset_out = 0;
    return changes;
}

/* Rounds the offset down to a multiple of the page size. */
static bool
change_round (struct script_line *line)
{
    const off_t before = line->offset;

    line->offset -= line->offset % 4096;
    return line->offset != before;
}

static bool
change_client (struct script_line *line)
{
    const bool changes = line->client > 0;

    line->client -= changes;
    return changes;
}

static bool
shrink_each (struct shrinker *shrinker, change_fn *change)
{
    bool any = false;

    for (guint i = 0; i < shrinker->best->lines->len; i++) {
        struct script *candidate = script_copy (shrinker->best);

        if (change (candidate->lines->pdata[i]))
            any = shrinker_try (shrinker, candidate) || any;
        else
            script_free (candidate);
    }
    return any;
}

static bool
shrink_faults (struct shrinker *shrinker)
{
    struct script *candidate = script_copy (shrinker->best);

    if (candidate->faults == 0) {
        script_free (candidate);
        return false;
    }
    candidate->faults = 0;
    return shrinker_try (shrinker, candidate);
}

static bool
shrink_once (struct shrinker *shrinker)
{
    static change_fn *const changes[] = { change_calm,   change_size,  change_half,
                                          change_offset, change_round, change_client };
    bool any = shrink_lines (shrinker);

    any = shrink_faults (shrinker) || any;
    for (unsigned i = 0; i < G_N_ELEMENTS (changes); i++)
        any = shrink_each (shrinker, changes[i]) || any;
    return any;
}

/* Sets the script's number of clients to the number that its lines need. */
static void
drop_clients (struct script *script)
{
    unsigned clients = 1;

    for (guint i = 0; i < script->lines->len; i++)
        clients = MAX (clients, ((struct script_line *) script->lines->pdata[i])->client + 1);
    script->clients = clients;
}

struct script *
script_shrink (const struct conform_options *options, const struct script *script, unsigned runs)
{
    struct shrinker shrinker = { options, script_copy (script), runs };

    while (shrink_once (&shrinker) && shrinker.runs)
        continue;
    drop_clients (shrinker.best);
    return shrinker.best;
}
