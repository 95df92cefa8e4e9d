/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cache/cache-weight.h"
#include "core/cache/lru.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define WEIGHT_MAX 1000000

struct weight_rule {
    char *pattern;
    size_t length;
    unsigned weight;
    int class;
};

struct priorities {
    GArray *rules;     /* of struct rule, the longest pattern first */
    unsigned weights[LRU_CLASSES]; /* of each class, ascending */
    unsigned classes;
};

static void
weight_rule_clear (void *rule)
{
    g_free (((struct weight_rule *) rule)->pattern);
}

void
priorities_free (struct priorities *list)
{
    if (!list)
        return;
    g_array_unref (list->rules);
    g_free (list);
}

/* --- parsing ---------------------------------------------------------------------------------- */

static int
rule_read (const char *word, struct weight_rule *ret_rule, char **ret_problem)
{
    const char *colon = strrchr (word, ':');
    guint64 weight = 0;

    if (!colon || colon == word
        || !g_ascii_string_to_unsigned (colon + 1, 10, 0, WEIGHT_MAX, &weight, NULL)) {
        *ret_problem = g_strdup_printf (
            "'%s' is no pattern with a weight of 0 to %d, such as '*.html:3'", word, WEIGHT_MAX);
        return -EINVAL;
    }
    ret_rule->pattern = g_strndup (word, colon - word);
    ret_rule->length = colon - word;
    ret_rule->weight = weight;
    return 0;
}

/* Stable: of two patterns of equal length, the first stays first. */
static void
rules_insert (GArray *rules, struct weight_rule rule)
{
    guint at = 0;

    while (at < rules->len && g_array_index (rules, struct weight_rule, at).length >= rule.length)
        at++;
    g_array_insert_val (rules, at, rule);
}

/* Inserts a weight in ascending order, once. Returns false if there are too many. */
static bool
weights_add (struct priorities *list, unsigned weight)
{
    unsigned at = 0;

    while (at < list->classes && list->weights[at] < weight)
        at++;
    if (weight == 0 || (at < list->classes && list->weights[at] == weight))
        return true;
    if (list->classes == LRU_CLASSES)
        return false;
    memmove (&list->weights[at + 1], &list->weights[at],
             (list->classes - at) * sizeof *list->weights);
    list->weights[at] = weight;
    list->classes++;
    return true;
}

static void
rules_rank (struct priorities *list)
{
    for (guint i = 0; i < list->rules->len; i++) {
        struct weight_rule *rule = &g_array_index (list->rules, struct weight_rule, i);

        rule->class = PRIORITY_UNCACHED;
        for (unsigned c = 0; c < list->classes; c++)
            if (list->weights[c] == rule->weight)
                rule->class = (int) c;
    }
}

static int
priorities_read (struct priorities *list, char **words, char **ret_problem)
{
    for (; *words; words++) {
        struct weight_rule rule;

        g_strstrip (*words);
        if (rule_read (*words, &rule, ret_problem) < 0)
            return -EINVAL;
        rules_insert (list->rules, rule);
        if (!weights_add (list, rule.weight)) {
            *ret_problem = g_strdup_printf ("there are more than %d different weights",
                                            LRU_CLASSES);
            return -EINVAL;
        }
    }
    rules_rank (list);
    return 0;
}

int
priorities_parse (const char *text, struct priorities **ret_list, char **ret_problem)
{
    g_auto (GStrv) words = g_strsplit (text ? text : "", ",", -1);
    struct priorities *list;

    if (!words[0]) {
        *ret_list = NULL;
        return 0;
    }
    list = g_new0 (struct priorities, 1);
    list->rules = g_array_new (false, false, sizeof (struct weight_rule));
    g_array_set_clear_func (list->rules, weight_rule_clear);
    if (priorities_read (list, words, ret_problem) < 0) {
        priorities_free (list);
        return -EINVAL;
    }
    *ret_list = list;
    return 0;
}

int
priorities_check (const char *text, char **ret_allowed)
{
    g_autofree char *problem = NULL;
    struct priorities *list = NULL;
    const int r = priorities_parse (text, &list, &problem);

    priorities_free (list);
    if (r < 0)
        *ret_allowed = g_strdup_printf ("must be a list such as '*.html:3,*:1' (%s)", problem);
    return r;
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool
rule_matches (const struct weight_rule *rule, const char *path)
{
    const char *slash = path ? strrchr (path, '/') : NULL;

    if (!path)
        return strcmp (rule->pattern, "*") == 0;
    if (fnmatch (rule->pattern, path, FNM_NOESCAPE) == 0)
        return true;
    return slash && !strchr (rule->pattern, '/')
        && fnmatch (rule->pattern, slash + 1, FNM_NOESCAPE) == 0;
}

int
priorities_class (const struct priorities *list, const char *path)
{
    if (!list)
        return 0;
    for (guint i = 0; i < list->rules->len; i++) {
        const struct weight_rule *rule = &g_array_index (list->rules, struct weight_rule, i);

        if (rule_matches (rule, path))
            return rule->class;
    }
    return PRIORITY_UNCACHED;
}

unsigned
priorities_weight (const struct priorities *list, int class)
{
    if (class < 0)
        return 0;
    return list ? list->weights[class] : 1;
}
