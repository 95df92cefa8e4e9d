/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looks for an order of the operations in which the model (model.h) gives each recorded answer. If
 * an operation was answered before another one was called, it must come before the other one in
 * that order. (Linearizability; Wing and Gong 1993, Lowe 2017.)
 *
 * The checker processes the answers in the order of their times. An operation is current from its
 * call to its answer. After each answer the checker has a state for each possible order of the
 * operations so far. A state is a model after the operations of this order, and the set of those
 * among them that are current. There are few states, since few operations are current at one time,
 * and equal states are merged.
 */
#include "conform/history/history.h"
#include "core/table/opset.h"

#include <errno.h>
#include <string.h>

#define STATES_MAX 20000 /* number of states at which checking ends, and the history passes */

struct state {
    struct model *model;
    uint32_t done; /* bit for each observer (SEERS_MAX) whose current operation is applied to
                    * model */
};

struct checker {
    const struct operation *under_way[SEERS_MAX]; /* current operation of each observer, or NULL */
    GPtrArray *states; /* of struct state: states after the last answer that was processed */
    GPtrArray *next;   /* of struct state: states after the answer that is being processed */
    GHashTable *expected; /* set of texts: answers that the models give in place of the recorded
                           * one */
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

/* Adds a state, unless an equal one is in the array. Takes ownership of the model. */
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

/* Returns whether the answer leaves open if the operation happened: it may be due to an injected
 * error, an interruption, or a write that failed after its answer (late.c). */
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
    if (seen->op != FOP_flush) /* a failed flush closes the file too, as in close(2) */
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

/* Tries all orders in which the current operations can be applied to the model, until the operation
 * of the observer `until` is applied. Adds each resulting state to checker->next. */
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

/* Returns whether the operation may change names in directories. */
static bool
changes_names (const struct operation *seen)
{
    return seen->op == FOP_command ? command_effect (seen->name) == COMMAND_RESTORES
                                   : opset_has (OPS_CHANGE_NAMES, seen->op);
}

/* Marks each listing during which an operation changed names. A name that was added or removed
 * during a listing may be in it or not, so the names in this listing are not judged. */
static void
mark_inexact (const GPtrArray *seens)
{
    for (guint i = 0; i < seens->len; i++) {
        struct operation *listing = seens->pdata[i];
        for (guint j = 0; j < seens->len && listing->op == FOP_readdir; j++) {
            const struct operation *other = seens->pdata[j];
            if (other->invoked < listing->responded && listing->invoked < other->responded
                && changes_names (other))
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

/* Processes the answer of one operation. Returns NULL, or an error text if no order of the
 * operations gives this answer. */
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

/* Returns the observer whose current operation is the next to be answered; -1 if none is answered
 * before that time. */
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
