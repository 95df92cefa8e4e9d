/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/rules/verdict.h"

#include <fnmatch.h>
#include <limits.h>
#include <string.h>

#define NUMBER_BITS 10
#define NUMBER_OF(word) ((unsigned) ((word) & (VERDICTS_MAX - 1)))
#define TIME_OF(word) ((word) >> NUMBER_BITS)

_Static_assert (VERDICTS_MAX == 1 << NUMBER_BITS, "the number of a verdict fits the word");

/* The number of the verdict for an inode that no pattern of a path fits: made with the set. */
#define PLAIN 0

struct rule_verdicts {
    unsigned words;   /* of the bits of all rules */
    bool has_paths;   /* whether a rule has a path */
    uint64_t *foreign; /* bits of the rules for another volume */
    uint64_t since;   /* time of the clock of names from which words have numbers of this set.
                       * Atomic */
    pthread_mutex_t lock; /* a leaf; guards kept */
    unsigned n;           /* lock */
    struct rule_verdict *kept[VERDICTS_MAX]; /* set before its number is in any word, then
                                              * constant */
};

/* --- patterns --------------------------------------------------------------------------------- */

bool
rule_name_may_fit (const struct rule *rule, const char *name)
{
    const char *end, *slash;
    size_t length, size;

    if (!rule->path)
        return true;
    end = rule->path + strlen (rule->path) - rule->path_end;
    slash = strrchr (end, '/');
    if (slash)
        return strcmp (slash + 1, name) == 0;
    length = rule->path_end;
    size = strlen (name);
    return size >= length && memcmp (name + size - length, end, length) == 0;
}

/* Returns whether "DIRECTORY/name" can begin as the pattern does. directory: "" for the root. */
static bool
rule_directory_may_fit (const struct rule *rule, const char *directory)
{
    const size_t size = strlen (directory);
    const char *path = rule->path;

    if (!path)
        return true;
    if (rule->path_start <= size)
        return path[rule->path_start] && strncmp (path, directory, rule->path_start) == 0;
    return strncmp (path, directory, size) == 0 && path[size] == '/'
        && !memchr (path + size + 1, '/', rule->path_start - size - 1);
}

bool
rule_type_fits (const struct rule *rule, ia_type_t type)
{
    return !rule->types || (type != IA_INVAL && rule->types & 1u << type);
}

/* --- making a verdict ------------------------------------------------------------------------- */

static void
verdict_add_path (inode_t *parent, const char *name, void *data)
{
    g_ptr_array_add (data, inode_path (parent, name));
}

/* The known paths of an inode; *ret_nameless: that of an inode without a name. */
static GPtrArray *
verdict_paths_of (inode_t *inode, bool *ret_nameless)
{
    GPtrArray *paths = g_ptr_array_new_with_free_func (g_free);

    inode_each_name (inode, verdict_add_path, paths);
    *ret_nameless = paths->len == 0 && inode != itable_root (inode->table);
    if (paths->len == 0)
        g_ptr_array_add (paths, inode_path (inode, NULL));
    return paths;
}

/* paths: NULL if no rule has a path. */
static bool
rule_has_path (const struct rule *rule, const GPtrArray *paths)
{
    if (!paths)
        return true;
    for (guint i = 0; i < paths->len; i++)
        if (!rule->path || fnmatch (rule->path, paths->pdata[i], 0) == 0)
            return true;
    return false;
}

static struct rule_verdict *
verdict_new (const struct rule_verdicts *verdicts)
{
    struct rule_verdict *verdict =
        g_malloc0 (sizeof *verdict + 2 * verdicts->words * sizeof (uint64_t));

    verdict->may = verdict->fits + verdicts->words;
    return verdict;
}

static struct rule_verdict *
verdict_make (const struct rule_set *set, const inode_t *inode, const GPtrArray *paths)
{
    struct rule_verdict *verdict = verdict_new (set->verdicts);
    const char *directory = paths ? paths->pdata[0] : "";

    if (strcmp (directory, "/") == 0)
        directory = "";
    for (unsigned i = 0; i < set->rules->n; i++) {
        const struct rule *rule = &set->rules->rules[i];

        if (verdict_has (set->verdicts->foreign, i))
            continue;
        if (rule_has_path (rule, paths)) {
            verdict->fits[i / 64] |= UINT64_C (1) << i % 64;
            verdict->ops |= rule->ops;
        }
        if (inode->ia_type == IA_IFDIR && rule_directory_may_fit (rule, directory)) {
            verdict->may[i / 64] |= UINT64_C (1) << i % 64;
            verdict->names |= rule->ops;
        }
    }
    return verdict;
}

/* --- keeping it ------------------------------------------------------------------------------- */

struct rules_inode *
rules_inode (xlator_t *this, inode_t *inode)
{
    struct rules_inode *ctx = inode_ctx_get (inode, this), *known;

    if (ctx)
        return ctx;
    ctx = g_new0 (struct rules_inode, 1);
    known = inode_ctx_set (inode, this, ctx);
    if (known != ctx)
        g_free (ctx);
    return known;
}

void
rules_forget (xlator_t *this, inode_t *inode)
{
    struct rules_inode *ctx = inode_ctx_get (inode, this);

    if (ctx && ctx->own)
        ctx->drop (ctx->own);
    g_free (ctx);
}

void *
rules_own (xlator_t *this, inode_t *inode)
{
    const struct rules_inode *ctx = inode_ctx_get (inode, this);

    return ctx ? __atomic_load_n (&ctx->own, __ATOMIC_ACQUIRE) : NULL;
}

void *
rules_own_make (xlator_t *this, inode_t *inode,
                void *(*fresh) (xlator_t *this, inode_t *inode), void (*drop) (void *own))
{
    struct rules_inode *ctx = rules_inode (this, inode);
    void *own = __atomic_load_n (&ctx->own, __ATOMIC_ACQUIRE), *mine;

    if (own)
        return own;
    mine = fresh (this, inode);
    __atomic_store_n (&ctx->drop, drop, __ATOMIC_RELAXED); /* the same for all threads */
    if (__atomic_compare_exchange_n (&ctx->own, &own, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return mine;
    drop (mine);
    return own;
}

/* Returns the number of an equal verdict, which may be this one from now on; -1: there are too
 * many. */
static int
verdicts_add (struct rule_verdicts *verdicts, struct rule_verdict *verdict)
{
    const size_t size = 2 * verdicts->words * sizeof (uint64_t);
    unsigned i = 0;

    pthread_mutex_lock (&verdicts->lock);
    while (i < verdicts->n && memcmp (verdicts->kept[i]->fits, verdict->fits, size) != 0)
        i++;
    if (i == verdicts->n && i < VERDICTS_MAX)
        verdicts->kept[verdicts->n++] = verdict;
    pthread_mutex_unlock (&verdicts->lock);
    return i < VERDICTS_MAX ? (int) i : -1;
}

/* Widens [*first, *last] by what a rule asks for. */
#define WIDEN(first_, last_, range_, most_)                                                        \
    do {                                                                                           \
        *(first_) = MIN (*(first_), (range_)->given ? MIN ((range_)->first, (most_)) : 0);         \
        *(last_) = MAX (*(last_), (range_)->given ? MIN ((range_)->last, (most_)) : (most_));      \
    } while (0)

static void
mark_widen (struct any_fop_mark *mark, const struct rule_range *uid, const struct rule_range *gid,
            const struct rule_range *size)
{
    WIDEN (&mark->uid_first, &mark->uid_last, uid, UINT32_MAX);
    WIDEN (&mark->gid_first, &mark->gid_last, gid, UINT32_MAX);
    WIDEN (&mark->size_first, &mark->size_last, size, UINT64_MAX);
}

/* Calls that a rule may be for, by operation, type, user, group and size. A rule for other types is
 * for none on the inode itself, but tmpfile: it makes a file of another type in the directory. */
static void
verdict_mark (const struct rule_set *set, const struct rule_verdict *verdict, ia_type_t type,
              uint64_t time, struct any_fop_mark *ret_mark)
{
    static const struct rule_range all = { .given = false };

    *ret_mark = (struct any_fop_mark){
        .time = time, .ops = set->teaching, .names = verdict->names | set->teaching,
        .uid_first = UINT32_MAX, .gid_first = UINT32_MAX, .size_first = UINT64_MAX
    };
    if (set->teaching)
        mark_widen (ret_mark, &all, &all, &all);
    for (unsigned i = 0; i < set->rules->n; i++) {
        const struct rule *rule = &set->rules->rules[i];

        if (verdict_has (verdict->fits, i))
            ret_mark->ops |=
                rule_type_fits (rule, type) ? rule->ops : rule->ops & OPSET_OF (FOP_tmpfile);
        if (verdict_has (verdict->fits, i) || verdict_has (verdict->may, i))
            mark_widen (ret_mark, &rule->uid, &rule->gid, &rule->size);
    }
}

/* Returns whether the set was still in force when the clock of names was read: a newer set has
 * moved the clock on afterwards. */
static bool
rule_set_is_current (const struct rules_slot *slot, const struct rule_set *set)
{
    return __atomic_load_n (&slot->now, __ATOMIC_ACQUIRE) == set;
}

/* Returns the number of the verdict that the inode has kept, even if its names have changed since
 * *ret_time; -1: it has none of this set. */
static int
verdict_kept (const struct rules_slot *slot, const struct rule_set *set,
              const struct rules_inode *ctx, uint64_t *ret_time)
{
    const uint64_t word = __atomic_load_n (&ctx->verdict, __ATOMIC_ACQUIRE);

    *ret_time = TIME_OF (word);
    if (!word || TIME_OF (word) < __atomic_load_n (&set->verdicts->since, __ATOMIC_ACQUIRE)
        || !rule_set_is_current (slot, set))
        return -1;
    return (int) NUMBER_OF (word);
}

static void
verdict_keep (struct rules_inode *ctx, int number, uint64_t time)
{
    uint64_t known = __atomic_load_n (&ctx->verdict, __ATOMIC_RELAXED);
    const uint64_t word = time << NUMBER_BITS | (unsigned) number;

    while (TIME_OF (known) < time
           && !__atomic_compare_exchange_n (&ctx->verdict, &known, word, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED))
        ;
}

/* Returns whether a pattern may match a name in the directory that the verdict is of. */
static bool
verdict_lets_fit (const struct rule_set *set, const struct rule_verdict *directory,
                  const char *name)
{
    for (unsigned i = 0; i < set->rules->n; i++)
        if (set->rules->rules[i].path && verdict_has (directory->may, i)
            && rule_name_may_fit (&set->rules->rules[i], name))
            return true;
    return false;
}

/* Returns whether no pattern fits a path of the inode, if its directory, or that no rule has one,
 * tells that without the path. */
static bool
verdict_is_plain (struct rules_slot *slot, struct rule_set *set, xlator_t *this, inode_t *inode)
{
    char name[NAME_MAX + 1];
    g_autoptr (inode_t) directory = NULL;
    g_autofree struct rule_verdict *made = NULL;

    if (inode->ia_type == IA_IFDIR)
        return false;
    if (!set->verdicts->has_paths)
        return true;
    return inode_only_name (inode, &directory, name)
        && !verdict_lets_fit (set, verdict_of (slot, set, this, directory, &made), name);
}

/* Returns the number of a verdict for the inode; -1: only *ret_made has it. A file that has lost
 * its last name keeps the verdict of that name, whose number is old. */
static int
verdict_judge (struct rule_set *set, inode_t *inode, int old, bool keep,
               struct rule_verdict **ret_made)
{
    bool nameless = false;
    g_autoptr (GPtrArray) paths =
        set->verdicts->has_paths ? verdict_paths_of (inode, &nameless) : NULL;
    struct rule_verdict *made;
    int number;

    if (nameless && old >= 0)
        return old;
    made = verdict_make (set, inode, paths);
    number = keep ? verdicts_add (set->verdicts, made) : -1;
    if (number < 0)
        *ret_made = made;
    else if (set->verdicts->kept[number] != made)
        g_free (made);
    return number;
}

const struct rule_verdict *
verdict_of (struct rules_slot *slot, struct rule_set *set, xlator_t *this, inode_t *inode,
            struct rule_verdict **ret_made)
{
    struct rules_inode *ctx = rules_inode (this, inode);
    struct any_fop_mark mark;
    const struct rule_verdict *verdict;
    uint64_t time;
    int number = verdict_kept (slot, set, ctx, &time);
    bool current;

    *ret_made = NULL;
    if (number >= 0 && names_are_of (inode, time))
        return set->verdicts->kept[number];
    time = names_now ();
    current = rule_set_is_current (slot, set);
    if (verdict_is_plain (slot, set, this, inode))
        number = PLAIN;
    else
        number =
            verdict_judge (set, inode, number, current && inode->ia_type != IA_INVAL, ret_made);
    verdict = number < 0 ? *ret_made : set->verdicts->kept[number];
    if (!current || inode->ia_type == IA_INVAL)
        return verdict;
    if (number >= 0)
        verdict_keep (ctx, number, time);
    verdict_mark (set, verdict, inode->ia_type, time, &mark);
    any_fop_mark_set (&ctx->mark, &mark);
    return verdict;
}

/* --- of a set of rules ------------------------------------------------------------------------ */

static struct rule_verdict *
verdict_new_plain (const struct rule_verdicts *verdicts, const struct rules *rules)
{
    struct rule_verdict *verdict = verdict_new (verdicts);

    for (unsigned i = 0; i < rules->n; i++)
        if (!rules->rules[i].path && !verdict_has (verdicts->foreign, i)) {
            verdict->fits[i / 64] |= UINT64_C (1) << i % 64;
            verdict->ops |= rules->rules[i].ops;
        }
    return verdict;
}

struct rule_verdicts *
verdicts_new (const struct rules *rules, const xlator_t *this)
{
    struct rule_verdicts *verdicts = g_new0 (struct rule_verdicts, 1);

    pthread_mutex_init (&verdicts->lock, NULL);
    verdicts->since = UINT64_MAX;
    verdicts->words = (rules->n + 63) / 64;
    verdicts->foreign = g_new0 (uint64_t, verdicts->words + 1);
    for (unsigned i = 0; i < rules->n; i++) {
        verdicts->has_paths |= rules->rules[i].path != NULL;
        if (rules->rules[i].volume && strcmp (rules->rules[i].volume, this->name) != 0)
            verdicts->foreign[i / 64] |= UINT64_C (1) << i % 64;
    }
    verdicts->kept[PLAIN] = verdict_new_plain (verdicts, rules);
    verdicts->n = PLAIN + 1;
    return verdicts;
}

void
verdicts_begin (struct rule_verdicts *verdicts)
{
    __atomic_store_n (&verdicts->since, __atomic_load_n (&names_moved, __ATOMIC_ACQUIRE),
                      __ATOMIC_RELEASE);
}

void
verdicts_free (struct rule_verdicts *verdicts)
{
    for (unsigned i = 0; i < verdicts->n; i++)
        g_free (verdicts->kept[i]);
    g_free (verdicts->foreign);
    pthread_mutex_destroy (&verdicts->lock);
    g_free (verdicts);
}
