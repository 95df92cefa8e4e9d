/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks for an order of the operations in which the model gives each recorded answer. If one
 * operation was answered before another one was called, it must come first in that order.
 * (Linearizability; Wing and Gong 1993, Lowe 2017.)
 *
 * The checker processes the answers in the order of their times. After each answer it has one state
 * for each possible order so far: a model, and the set of current operations that have happened in
 * this order. Few operations are current at once, and equal states are merged, so there are few
 * states.
 */
#include "conform/history/history.h"
#include "core/table/opset.h"

#include <errno.h>
#include <string.h>

#define STATES_MAX 20000 /* with more states, the history passes without a judgement */

struct state {
    struct model *model;
    uint32_t done; /* bits of observers whose current operation has happened */
};

struct checker {
    const struct operation *under_way[SEERS_MAX];
    GPtrArray *states; /* of struct state */
    GPtrArray *next;
    GHashTable *expected; /* answers of the models, as text */
};

static void
state_free (void *data)
{
    struct state *state = data;

    model_free (state->model);
    g_free (state);
}

static GPtrArray *
states_new (void)
{
    return g_ptr_array_new_with_free_func (state_free);
}

/* Takes ownership of the model. */
static void
states_add (GPtrArray *states, struct model *model, uint32_t done)
{
    for (guint i = 0; i < states->len; i++) {
        const struct state *state = states->pdata[i];
        if (state->done == done && model_equal (state->model, model)) {
            model_free (model);
            return;
        }
    }
    struct state state = { model, done };
    g_ptr_array_add (states, g_memdup2 (&state, sizeof state));
}

/* --- one operation -------------------------------------------------------------------------- */

/* Returns whether the operation may have happened or not, whatever its answer is. */
static bool
was_lost (const struct operation *seen)
{
    return seen->late_fault
        || (seen->ret < 0 && (seen->fault || (seen->interrupted && seen->err == EINTR)));
}

static void
extend (struct checker *checker, const struct model *model, uint32_t done, unsigned until);

static void
extend_lost (struct checker *checker, const struct model *model, uint32_t done, unsigned client,
             unsigned until)
{
    const struct operation *seen = checker->under_way[client];
    struct model *copy = model_copy (model);

    model_apply_unseen (copy, seen);
    extend (checker, copy, done | 1u << client, until);
    model_free (copy);
    if (seen->op != FOP_flush) /* a flush closes the file even if it fails */
        extend (checker, model, done | 1u << client, until);
}

static void
extend_by (struct checker *checker, const struct model *model, uint32_t done, unsigned client,
           unsigned until)
{
    const struct operation *seen = checker->under_way[client];
    struct model *copy = model_copy (model);
    GString *expected = g_string_new (NULL);

    if (model_apply (copy, seen, expected))
        extend (checker, copy, done | 1u << client, until);
    else if (client == until)
        g_hash_table_add (checker->expected, g_strdup (expected->str));
    g_string_free (expected, TRUE);
    model_free (copy);
}

/* Tries all orders of the current operations, until the operation of the client `until` has
 * happened. */
static void
extend (struct checker *checker, const struct model *model, uint32_t done, unsigned until)
{
    if (done & 1u << until) {
        states_add (checker->next, model_copy (model), done & ~(1u << until));
        return;
    }
    for (unsigned i = 0; i < SEERS_MAX; i++) {
        if (!checker->under_way[i] || done & 1u << i)
            continue;
        if (was_lost (checker->under_way[i]))
            extend_lost (checker, model, done, i, until);
        else
            extend_by (checker, model, done, i, until);
    }
}

/* --- whole history -------------------------------------------------------------------------- */

/* A listing may contain a name that was added or removed during the listing, or not. */
static void
mark_inexact (const GPtrArray *seens)
{
    for (guint i = 0; i < seens->len; i++) {
        struct operation *listing = seens->pdata[i];
        for (guint j = 0; j < seens->len && listing->op == FOP_readdir; j++) {
            const struct operation *other = seens->pdata[j];
            if (opset_has (OPS_CHANGE_NAMES, other->op) && other->invoked < listing->responded
                && listing->invoked < other->responded)
                listing->inexact = true;
        }
    }
}

static char *
checker_complain (struct checker *checker, const struct operation *seen)
{
    GString *out = g_string_new (NULL);
    GHashTableIter iter;
    gpointer text;

    g_string_append_printf (out, "line %u, client %u: ", seen->line,
                            seen->client % (CLIENTS_MAX + 1) + 1);
    operation_print (seen, out);
    g_string_append (out, "\nno order of what happened so far gives this answer; by the model");
    g_hash_table_iter_init (&iter, checker->expected);
    for (bool first = true; g_hash_table_iter_next (&iter, &text, NULL); first = false)
        g_string_append_printf (out, "%s%s", first ? " " : ", or ", (const char *) text);
    return g_string_free (out, FALSE);
}

/* Processes one answer. Returns NULL or an error text. */
static char *
checker_answer (struct checker *checker, const struct operation *seen)
{
    checker->next = states_new ();
    g_hash_table_remove_all (checker->expected);
    for (guint i = 0; i < checker->states->len; i++) {
        const struct state *state = checker->states->pdata[i];
        extend (checker, state->model, state->done, seen->client);
    }
    g_ptr_array_unref (checker->states);
    checker->states = checker->next;
    checker->under_way[seen->client] = NULL;
    if (checker->states->len == 0)
        return checker_complain (checker, seen);
    return NULL;
}

static int
by_time (const void *a, const void *b)
{
    const struct operation *one = *(const struct operation *const *) a,
                      *other = *(const struct operation *const *) b;

    return (one->invoked > other->invoked) - (one->invoked < other->invoked);
}

/* Returns the observer whose current operation is answered next, before that time; -1: none. */
static int
checker_next (const struct checker *checker, unsigned before)
{
    int next = -1;

    for (int i = 0; i < SEERS_MAX; i++) {
        const struct operation *seen = checker->under_way[i];
        if (seen && seen->responded < before
            && (next < 0 || seen->responded < checker->under_way[next]->responded))
            next = i;
    }
    return next;
}

static char *
checker_until (struct checker *checker, unsigned time)
{
    char *wrong = NULL;
    int next;

    while (!wrong && checker->states->len < STATES_MAX
           && (next = checker_next (checker, time)) >= 0)
        wrong = checker_answer (checker, checker->under_way[next]);
    return wrong;
}

char *
check_order (const GPtrArray *seens)
{
    struct checker checker = { .states = states_new () };
    GPtrArray *sorted = g_ptr_array_sized_new (seens->len);
    char *wrong = NULL;

    checker.expected = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < seens->len; i++)
        g_ptr_array_add (sorted, seens->pdata[i]);
    g_ptr_array_sort (sorted, by_time);
    mark_inexact (sorted);
    states_add (checker.states, model_new (), 0);
    for (guint i = 0; i < sorted->len && !wrong; i++) {
        const struct operation *seen = sorted->pdata[i];
        wrong = checker_until (&checker, seen->invoked);
        checker.under_way[seen->client] = seen;
    }
    if (!wrong)
        wrong = checker_until (&checker, G_MAXUINT);
    g_ptr_array_unref (checker.states);
    g_ptr_array_free (sorted, TRUE);
    g_hash_table_destroy (checker.expected);
    return wrong;
}
