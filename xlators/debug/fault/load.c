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

/* Puts the rules into force in one graph. */
static void
fault_set_use (fault_private_t *priv, struct fault_set *set)
{
    struct rule_set *old = rules_replace (&priv->slot, set ? shared_ref (&set->rules.shared)
                                                           : NULL);

    if (old)
        shared_unref (&old->shared);
}

static unsigned
fault_release_locked (const struct fault_force *force,
                      bool (*which) (const void *data, const void *arg), const void *arg)
{
    unsigned n = 0;

    for (const GSList *at = force->users; at; at = at->next)
        n += held_release (((fault_private_t *) ((xlator_t *) at->data)->private)->held, which,
                           arg);
    return n;
}

/* Puts the rules into force in each graph, and releases requests that hang by the old ones. */
static void
fault_set_replace (xlator_t *this, struct rules *rules)
{
    struct fault_force *force = ((fault_private_t *) this->private)->force;
    struct fault_set *old;

    pthread_mutex_lock (&force->load_lock);
    old = force->set;
    force->set = fault_set_new (this, rules, force->seed);
    for (const GSList *at = force->users; at; at = at->next)
        fault_set_use (((xlator_t *) at->data)->private, force->set);
    if (old) {
        __atomic_store_n (&old->gone, true, __ATOMIC_SEQ_CST);
        fault_release_locked (force, fault_hangs_by_set, old);
        shared_unref (&old->rules.shared);
    }
    pthread_mutex_unlock (&force->load_lock);
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
    g_autofree char *name = fault_take_name (&text, &size, file), *error = NULL;
    struct rules *rules = rules_parse (text, size, name, &fault_grammar, &error);

    if (!rules) {
        g_string_append (answer, error);
        return -EINVAL;
    }
    g_string_append_printf (answer, "%u %s in force", rules->n,
                            rules->n == 1 ? "rule is" : "rules are");
    fault_set_replace (this, rules);
    return 0;
}

/* Reads the option's file; *ret_text is NULL if there is none. */
static int
fault_read (const char *file, char **ret_text, gsize *ret_size, GString *answer)
{
    g_autoptr (GError) error = NULL;

    *ret_text = NULL;
    *ret_size = 0;
    if (!file || g_file_get_contents (file, ret_text, ret_size, &error))
        return 0;
    g_string_append_printf (answer, "can't read the rules: %s", error->message);
    return -EINVAL;
}

/* Returns whether the text is that which was read last. */
static bool
fault_is_loaded (struct fault_force *force, const char *text)
{
    bool same;

    pthread_mutex_lock (&force->load_lock);
    same = g_strcmp0 (force->loaded, text) == 0;
    pthread_mutex_unlock (&force->load_lock);
    return same;
}

/* Puts the text of the option's file into force, and owns it from then on. */
static int
fault_load_text (xlator_t *this, const char *file, char *text, gsize size, GString *answer)
{
    struct fault_force *force = ((fault_private_t *) this->private)->force;
    int r = fault_load (this, text ? text : "", size, file ? file : "", answer);

    if (r < 0) {
        g_free (text);
        return r;
    }
    pthread_mutex_lock (&force->load_lock);
    g_free (force->loaded);
    force->loaded = text;
    pthread_mutex_unlock (&force->load_lock);
    return 0;
}

int
fault_load_file (xlator_t *this, const char *file, GString *answer)
{
    fault_private_t *priv = this->private;
    gsize size;
    char *text;
    int r = fault_read (file, &text, &size, answer);

    if (r < 0)
        return r;
    if (!text || !fault_is_loaded (priv->force, text))
        return fault_load_text (this, file, text, size, answer);
    g_free (text);
    return 0;
}

/* --- what goes on in the next graph ----------------------------------------------------------- */

static void
fault_force_free (void *value)
{
    struct fault_force *force = value;

    if (force->set)
        shared_unref (&force->set->rules.shared);
    g_free (force->loaded);
    pthread_mutex_destroy (&force->load_lock);
    g_free (force);
}

static struct fault_force *
fault_force_new (const char *seed_text)
{
    struct fault_force *force = g_new0 (struct fault_force, 1);

    force->shared = (struct shared){ 1, fault_force_free };
    pthread_mutex_init (&force->load_lock, NULL);
    force->seed = chance_seed (seed_text);
    return force;
}

/* Returns whether the options of a new graph, with that text in the file, ask for what is in force.
 * A seed that was drawn stays if the options name none. */
static bool
fault_force_fits (struct fault_force *force, const char *seed_text, const char *text)
{
    bool fits;

    pthread_mutex_lock (&force->load_lock);
    fits = !seed_text || chance_seed (seed_text) == force->seed;
    pthread_mutex_unlock (&force->load_lock);
    return fits && fault_is_loaded (force, text);
}

static void
fault_force_enter (xlator_t *this)
{
    fault_private_t *priv = this->private;

    pthread_mutex_lock (&priv->force->load_lock);
    priv->force->users = g_slist_prepend (priv->force->users, this);
    fault_set_use (priv, priv->force->set);
    pthread_mutex_unlock (&priv->force->load_lock);
}

int
fault_force_join (xlator_t *this, xlator_t *predecessor, GString *answer)
{
    fault_private_t *priv = this->private;
    struct fault_force *before = predecessor ? ((fault_private_t *) predecessor->private)->force
                                             : NULL;
    gsize size;
    char *text;
    int r = fault_read (priv->file, &text, &size, answer);
    const bool fits = r == 0 && before && fault_force_fits (before, priv->seed_text, text);

    priv->force = fits ? shared_ref (&before->shared) : fault_force_new (priv->seed_text);
    fault_force_enter (this);
    if (r == 0 && !fits)
        return fault_load_text (this, priv->file, text, size, answer);
    g_free (text);
    return r;
}

void
fault_force_leave (xlator_t *this)
{
    fault_private_t *priv = this->private;

    if (!priv->force)
        return;
    pthread_mutex_lock (&priv->force->load_lock);
    priv->force->users = g_slist_remove (priv->force->users, this);
    fault_set_use (priv, NULL);
    pthread_mutex_unlock (&priv->force->load_lock);
    shared_unref (&priv->force->shared);
}

unsigned
fault_release (fault_private_t *priv, bool (*which) (const void *data, const void *arg),
               const void *arg)
{
    unsigned n;

    pthread_mutex_lock (&priv->force->load_lock);
    n = fault_release_locked (priv->force, which, arg);
    pthread_mutex_unlock (&priv->force->load_lock);
    return n;
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool
hangs_by_rule (const void *data, const void *rule)
{
    const struct fault_local *local = data;

    return local->rule == rule;
}

/* Returns how many requests of all graphs hang by the rule. */
static unsigned
fault_count_hanging (fault_private_t *priv, const struct rule *rule)
{
    unsigned n = 0;

    pthread_mutex_lock (&priv->force->load_lock);
    for (const GSList *at = priv->force->users; at; at = at->next)
        n += held_count (((fault_private_t *) ((xlator_t *) at->data)->private)->held,
                         hangs_by_rule, rule);
    pthread_mutex_unlock (&priv->force->load_lock);
    return n;
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
                                fault_count_hanging (priv, rule));
        rule_print (rule, out);
        g_string_append_c (out, '\n');
    }
    shared_unref (&set->rules.shared);
}
