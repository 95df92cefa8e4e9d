/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Loads rules and shows them. */
#include "fault.h"

#include <errno.h>
#include <string.h>

static void
fault_set_free (void *value)
{
    struct fault_set *set = value;

    rule_set_clear (&set->rules);
    g_free (set->counts);
    g_free (set);
}

static struct fault_set *
fault_set_new (xlator_t *this, struct rules *rules, uint64_t seed)
{
    struct fault_set *set = g_new0 (struct fault_set, 1);

    rule_set_init (&set->rules, rules, this, fault_set_free);
    set->seed = seed;
    set->counts = g_new0 (struct rule_count, MAX (rules->n, 1));
    return set;
}

struct fault_set *
fault_set_get (fault_private_t *priv)
{
    return (struct fault_set *) rules_get (&priv->slot);
}

bool
fault_hangs_by_set (const void *data, const void *set)
{
    const struct fault_local *local = data;

    return local->set == set && local->next > fault_action_of (local->rule)->steps
        && local->next[-1].kind == STEP_HANG;
}

/* Releases requests that hang by the replaced rules. */
static void
fault_set_replace (xlator_t *this, struct rules *rules)
{
    fault_private_t *priv = this->private;
    struct fault_set *set = fault_set_new (this, rules, priv->seed);
    struct fault_set *old = (struct fault_set *) rules_replace (&priv->slot, &set->rules);

    if (!old)
        return;
    __atomic_store_n (&old->gone, true, __ATOMIC_SEQ_CST);
    held_release (priv->held, fault_hangs_by_set, old);
    shared_unref (&old->rules.shared);
}

/* Takes a first line "# file: NAME", in which `windlass fault` names the source of the text. Line
 * numbers start after it. */
static char *
fault_take_name (const char **text, size_t *size, const char *name)
{
    static const char head[] = "# file: ";
    const char *start = *text, *end = *size ? memchr (*text, '\n', *size) : NULL;

    if (!end || (size_t) (end - start) < strlen (head) || strncmp (start, head, strlen (head)) != 0)
        return g_strdup (name);
    *size -= (size_t) (end + 1 - start);
    *text = end + 1;
    return g_strndup (start + strlen (head), (gsize) (end - start) - strlen (head));
}

int
fault_load (xlator_t *this, const char *text, size_t size, const char *file, GString *answer)
{
    fault_private_t *priv = this->private;
    g_autofree char *name = fault_take_name (&text, &size, file), *error = NULL;
    struct rules *rules = rules_parse (text, size, name, &fault_grammar, &error);

    if (!rules) {
        g_string_append (answer, error);
        return -EINVAL;
    }
    g_string_append_printf (answer, "%u %s in force", rules->n,
                            rules->n == 1 ? "rule is" : "rules are");
    pthread_mutex_lock (&priv->load_lock);
    fault_set_replace (this, rules);
    pthread_mutex_unlock (&priv->load_lock);
    return 0;
}

int
fault_load_file (xlator_t *this, const char *file, GString *answer)
{
    fault_private_t *priv = this->private;
    g_autoptr (GError) error = NULL;
    g_autofree char *text = NULL;
    bool same;
    gsize size = 0;
    int r;

    if (file && !g_file_get_contents (file, &text, &size, &error)) {
        g_string_append_printf (answer, "can't read the rules: %s", error->message);
        return -EINVAL;
    }
    pthread_mutex_lock (&priv->load_lock);
    same = g_strcmp0 (priv->loaded, text) == 0;
    pthread_mutex_unlock (&priv->load_lock);
    if (same && text)
        return 0;
    r = fault_load (this, text ? text : "", size, file ? file : "", answer);
    if (r < 0)
        return r;
    pthread_mutex_lock (&priv->load_lock);
    g_free (priv->loaded);
    priv->loaded = g_steal_pointer (&text);
    pthread_mutex_unlock (&priv->load_lock);
    return 0;
}

static bool
hangs_by_rule (const void *data, const void *rule)
{
    const struct fault_local *local = data;

    return local->rule == rule;
}

void
fault_show (xlator_t *this, GString *out)
{
    fault_private_t *priv = this->private;
    struct fault_set *set = fault_set_get (priv);

    g_string_append_printf (out, "# seed %" G_GUINT64_FORMAT "\n", set->seed);
    for (unsigned i = 0; i < set->rules.rules->n; i++) {
        const struct rule *rule = &set->rules.rules->rules[i];

        g_string_append_printf (out,
                                "# matched %" G_GUINT64_FORMAT ", fired %" G_GUINT64_FORMAT
                                ", waiting %u\n",
                                __atomic_load_n (&set->counts[i].matched, __ATOMIC_RELAXED),
                                __atomic_load_n (&set->counts[i].fired, __ATOMIC_RELAXED),
                                held_count (priv->held, hangs_by_rule, rule));
        rule_print (rule, out);
        g_string_append_c (out, '\n');
    }
    shared_unref (&set->rules.shared);
}
