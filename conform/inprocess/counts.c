/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * References: for each counted object, which translator took and dropped how many. The module of
 * the calling code tells the translator.
 */
#include "conform/inprocess/inprocess.h"

#include <string.h>

static const char *const kind_names[AUDIT_KINDS] = { "inode", "fd",     "dict",
                                                     "iobuf", "iobref", "call_stub" };

#define CALLERS 12
#define SITES 8 /* places of taking or dropping; when full, the last one is replaced */

/* One object. */
struct counted {
    enum audit_kind kind;
    int refs;
    int marked[2];          /* refs at each mark */
    struct {
        const void *caller; /* the last place that took a reference */
        const char *type;   /* of a translator; NULL: the program */
        int balance;
        int direct;         /* the part of balance that it took and dropped itself, not through the
                               core */
    } by[CALLERS];
    unsigned n;
    struct {
        const void *caller;
        const char *type;
        int taken, given;
    } sites[SITES];
    unsigned n_sites;
};

static struct {
    GMutex lock;        /* a leaf; taken under itable.lock */
    GHashTable *all;    /* object -> struct counted; lock */
} object_counts;

static __thread int muted; /* the kit itself works, although a translator called it */

void
counts_mute (bool mute)
{
    muted += mute ? 1 : -1;
}

/* The place in a translator that made the call, directly or through a few functions of the core.
 * The position of the return address beside a frame pointer is known for two processors;
 * backtrace(3) finds it on each, by unwind tables. */
static const void *
counts_caller (const void *caller)
{
#if defined __x86_64__ || defined __aarch64__
    void **frame = __builtin_frame_address (0);

    for (int i = 0; i < 12 && frame && !((uintptr_t) frame & 7); i++) {
        if (place_type (frame[1]))
            return frame[1];
        if ((void **) frame[0] <= frame)
            break;
        frame = frame[0];
    }
    return caller;
#else
    const void *place = place_in_stack ();

    return place ? place : caller;
#endif
}

const void *
counts_worker (const void *caller)
{
    return muted || place_type (caller) ? caller : counts_caller (caller);
}

static unsigned
counted_by (struct counted *counted, const char *type)
{
    unsigned i = 0;

    while (i < counted->n && counted->by[i].type != type)
        i++;
    if (i == counted->n && i < CALLERS - 1)
        counted->n++;
    i = MIN (i, CALLERS - 1);
    counted->by[i].type = type;
    return i;
}

static void
counted_site (struct counted *counted, const void *caller, const char *type, int change)
{
    unsigned i = 0;

    while (i < counted->n_sites && counted->sites[i].caller != caller)
        i++;
    i = MIN (i, SITES - 1);
    counted->n_sites = MAX (counted->n_sites, i + 1);
    if (counted->sites[i].caller != caller)
        memset (&counted->sites[i], 0, sizeof counted->sites[i]);
    counted->sites[i].caller = caller;
    counted->sites[i].type = type;
    *(change > 0 ? &counted->sites[i].taken : &counted->sites[i].given) += 1;
}

/* Detects that the last reference was dropped although the program still expects one: a translator
 * dropped one too many. Returns its index, or -1. Only its own drops count: the thread that drops
 * the last reference of a file also drops, through the core, those that the file holds. */
static int
counted_stolen (const struct counted *counted)
{
    bool missed = false;
    int thief = -1;

    for (unsigned i = 0; i < counted->n; i++) {
        missed |= !counted->by[i].type && counted->by[i].balance > 0;
        if (counted->by[i].type && counted->by[i].balance < 0 && counted->by[i].direct < 0)
            thief = (int) i;
    }
    return counted->refs == 0 && missed ? thief : -1;
}

static struct counted *
counted_of (enum audit_kind kind, void *object)
{
    struct counted *counted = g_hash_table_lookup (object_counts.all, object);

    if (!counted) {
        counted = g_new0 (struct counted, 1);
        counted->kind = kind;
        g_hash_table_insert (object_counts.all, object, counted);
    }
    return counted;
}

/* Counts a change. If a translator has dropped one too many, returns the place where it did: then
 * the caller must not drop this one. Else returns NULL. */
static const void *
counts_change_locked (enum audit_kind kind, void *object, int change, const void *caller,
                      bool directly)
{
    struct counted *counted = counted_of (kind, object);
    int thief;
    const unsigned by = counted_by (counted, !caller ? NULL : place_type (caller));

    counted->refs += change;
    counted->by[by].balance += change;
    if (change > 0 || (directly && !counted->by[by].caller))
        counted->by[by].caller = caller;
    counted->by[by].direct += directly ? change : 0;
    if (counted->by[by].type)
        counted_site (counted, caller, counted->by[by].type, change);
    thief = change < 0 ? counted_stolen (counted) : -1;
    if (thief >= 0) {
        counted->refs++;
        counted->by[thief].balance++;
        counted->by[thief].direct++;
        return counted->by[thief].caller;
    }
    if (counted->refs == 0)
        g_hash_table_remove (object_counts.all, object);
    return NULL;
}

bool
counts_change (enum audit_kind kind, void *object, int change, const void *caller)
{
    const bool directly = !muted && !audit_for && caller && place_type (caller);
    const void *stolen;

    if (caller && audit_for)
        caller = audit_for;
    else if (muted)
        caller = NULL;
    else if (caller && !directly)
        caller = counts_caller (caller);
    g_mutex_lock (&object_counts.lock);
    if (!object_counts.all)
        object_counts.all = g_hash_table_new_full (NULL, NULL, NULL, g_free);
    stolen = counts_change_locked (kind, object, change, caller, directly);
    g_mutex_unlock (&object_counts.lock);
    if (stolen) {
        g_autofree char *place = place_name (stolen);
        finding_add_type ("reference given back twice", place_type (stolen),
                          "one %s reference too many, by %s", kind_names[kind], place);
    }
    return stolen != NULL;
}

/* --- leaks ---------------------------------------------------------------------------------- */

void
counts_mark (unsigned mark)
{
    GHashTableIter iter;
    gpointer counted;

    g_mutex_lock (&object_counts.lock);
    if (object_counts.all) {
        g_hash_table_iter_init (&iter, object_counts.all);
        while (g_hash_table_iter_next (&iter, NULL, &counted))
            ((struct counted *) counted)->marked[mark] = ((struct counted *) counted)->refs;
    }
    g_mutex_unlock (&object_counts.lock);
}

bool
counts_grew (unsigned mark)
{
    GHashTableIter iter;
    gpointer counted;
    bool grew = false;

    g_mutex_lock (&object_counts.lock);
    if (object_counts.all) {
        g_hash_table_iter_init (&iter, object_counts.all);
        while (g_hash_table_iter_next (&iter, NULL, &counted))
            grew |= ((struct counted *) counted)->refs > ((struct counted *) counted)->marked[mark];
    }
    g_mutex_unlock (&object_counts.lock);
    return grew;
}

/* The length of the function's name in "rot13_writev (rot13.c:134)". */
static size_t
function_length (const char *place)
{
    return strcspn (place, " +");
}

/* How many more a function took than it dropped. A function that does both is balanced, and is left
 * out. */
static int
function_balance (const struct counted *counted, const char *type, const char *place)
{
    int balance = 0;

    for (unsigned i = 0; i < counted->n_sites; i++) {
        g_autofree char *other = counted->sites[i].type == type
                                   ? place_name (counted->sites[i].caller)
                                   : NULL;
        if (other && function_length (other) == function_length (place)
            && strncmp (other, place, function_length (place)) == 0)
            balance += counted->sites[i].taken - counted->sites[i].given;
    }
    return balance;
}

static void
place_add (GString *out, const char *first, const char *place, int times)
{
    if (times == 0)
        return;
    g_string_append_printf (out, "%s%s", out->len ? ", and at " : first, place);
    if (times > 1)
        g_string_append_printf (out, " %d times", times);
}

/* The places where the leaked references may have been taken, and where some were dropped. */
static char *
counted_places (const struct counted *counted, unsigned guilty)
{
    const char *type = counted->by[guilty].type;
    GString *taken = g_string_new (NULL), *given = g_string_new (NULL);

    for (unsigned i = 0; type && i < counted->n_sites; i++) {
        g_autofree char *place = counted->sites[i].type == type
                                   ? place_name (counted->sites[i].caller)
                                   : NULL;
        if (!place || function_balance (counted, type, place) == 0)
            continue;
        place_add (taken, "taken at ", place, counted->sites[i].taken);
        place_add (given, "; given back at ", place, counted->sites[i].given);
    }
    if (taken->len == 0) {
        g_autofree char *last = place_name (counted->by[guilty].caller);
        g_string_append_printf (taken, "last taken at %s", last);
    }
    g_string_append (taken, given->str);
    g_string_free (given, TRUE);
    return g_string_free (taken, FALSE);
}

/* The index in counted->by of the translator that took more than it dropped. */
static unsigned
counted_guilty (const struct counted *counted)
{
    unsigned guilty = 0;

    for (unsigned i = 0; i < counted->n; i++)
        if (counted->by[i].balance > 0 && counted->by[i].type)
            guilty = i;
    return guilty;
}

/* Returns true if the leak is a translator's own. An inode kept by one makes the core and storage
 * keep their data of it, and the boundary of a realm the inode below: those are only
 * consequences. */
static bool
counted_is_cause (const struct counted *counted)
{
    const char *type = counted->by[counted_guilty (counted)].type;

    return type && strcmp (type, "storage/posix") != 0 && !place_is_boundary (type);
}

static void
counted_report (const struct counted *counted, unsigned mark)
{
    const int n = counted->refs - counted->marked[mark];
    const unsigned guilty = counted_guilty (counted);
    g_autofree char *places = counted_places (counted, guilty);

    finding_add_type ("reference leaked",
                      counted->by[guilty].type ? counted->by[guilty].type : "unknown",
                      "%d %s reference%s not released; %s", n, kind_names[counted->kind],
                      n == 1 ? "" : "s", places);
}

#define REPORTED_MAX 8

void
counts_report (unsigned mark)
{
    g_autoptr (GArray) grown = g_array_new (FALSE, FALSE, sizeof (struct counted));
    GHashTableIter iter;
    gpointer counted;
    bool has_cause = false;

    g_mutex_lock (&object_counts.lock);
    g_hash_table_iter_init (&iter, object_counts.all);
    while (g_hash_table_iter_next (&iter, NULL, &counted))
        if (((struct counted *) counted)->refs > ((struct counted *) counted)->marked[mark])
            g_array_append_vals (grown, counted, 1);
    g_mutex_unlock (&object_counts.lock);
    for (guint i = 0; i < grown->len; i++)
        has_cause |= counted_is_cause (&g_array_index (grown, struct counted, i));
    for (guint i = 0, told = 0; i < grown->len && told < REPORTED_MAX; i++)
        if (!has_cause || counted_is_cause (&g_array_index (grown, struct counted, i))) {
            counted_report (&g_array_index (grown, struct counted, i), mark);
            told++;
        }
}
