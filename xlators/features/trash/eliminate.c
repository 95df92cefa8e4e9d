/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is removed for good by intent: the patterns of `eliminate`, and the file of rules. The first
 * rule that is for a removal decides: eliminate or keep.
 *
 * A rule may ask for the size, the owner or the mode of the file. If one does, each removal gets
 * the attributes of its file first, in a line of work.
 */
#include "gluster/gluster.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* --- patterns --------------------------------------------------------------------------------- */

/* A pattern without "/" is for names, another for paths, also of a directory above. */
static bool
pattern_fits (const char *pattern, const char *path, const char *name)
{
    const size_t size = strlen (pattern);

    if (!strchr (pattern, '/'))
        return fnmatch (pattern, name, 0) == 0;
    return fnmatch (pattern, path, 0) == 0
        || (strncmp (path, pattern, size) == 0 && path[size] == '/');
}

/* Returns the pattern that names a path, or NULL. name: its end. */
static const char *
pattern_for (const trash_private_t *priv, const char *path, const char *name)
{
    for (char **one = priv->eliminated; one && *one; one++)
        if (pattern_fits (*one, path, name))
            return *one;
    return NULL;
}

bool
trash_fits_pattern (xlator_t *this, const loc_t *loc)
{
    const trash_private_t *priv = this->private;
    g_autofree char *path = NULL;

    if (!priv->eliminated || !*priv->eliminated)
        return false;
    path = inode_path (loc->parent, loc->name);
    return pattern_for (priv, path, loc->name);
}

/* --- the language ----------------------------------------------------------------------------- */

/* The operations for which trash_is_eliminated is asked. */
#define ELIMINATE_OPS                                                                              \
    (OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rmdir) | OPSET_OF (FOP_rename) | OPSET_OF (FOP_open)    \
     | OPSET_OF (FOP_truncate))

struct eliminate_action {
    bool keeps;
};

/* A rule that can be for no removal is taken for a mistake. */
static void
eliminate_check_ops (struct rule_reader *reader, const struct rule *rule)
{
    const char *const start = reader->line_start;

    if ((rule->ops & ELIMINATE_OPS) == 0)
        rule_wrong_at (reader, (int) strspn (start, " \t") + 1,
                       "this rule is for no removal; the operations must have one of unlink, "
                       "rmdir, rename, open, truncate and *");
}

static void
eliminate_read_action (struct rule_reader *reader, struct rule *rule)
{
    static const char *const words[] = { "eliminate", "keep", NULL };
    struct eliminate_action *action = rule->action;

    eliminate_check_ops (reader, rule);
    action->keeps = rule_reader_is (reader, "keep");
    if (!action->keeps && !rule_reader_is (reader, "eliminate")) {
        rule_expected_one (reader, "eliminate or keep", words);
        return;
    }
    rule_reader_next (reader);
    if (!rule_reader_ends_line (reader))
        rule_expected (reader, "the end of the line", NULL);
}

static void
eliminate_print_action (const struct rule *rule, GString *out)
{
    const struct eliminate_action *action = rule->action;

    g_string_append (out, action->keeps ? "keep" : "eliminate");
}

static const struct rule_grammar eliminate_grammar = {
    .action_size = sizeof (struct eliminate_action),
    .read_action = eliminate_read_action,
    .print_action = eliminate_print_action,
};

static struct rules *
eliminate_read (const char *file, char **ret_error)
{
    g_autofree char *text = NULL;
    g_autoptr (GError) error = NULL;
    gsize size;

    if (g_file_get_contents (file, &text, &size, &error))
        return rules_parse (text, size, file, &eliminate_grammar, ret_error);
    *ret_error = g_strdup (error->message);
    return NULL;
}

int
trash_rules_check (const char *file, char **ret_allowed)
{
    g_autofree char *problem = NULL;
    struct rules *rules = eliminate_read (file, &problem);

    if (!rules)
        *ret_allowed = g_strdup_printf ("must be a file of rules (%s)",
                                        g_strdelimit (problem, "\n", ';'));
    rules_free (rules);
    return rules ? 0 : -EINVAL;
}

/* --- rules in force --------------------------------------------------------------------------- */

static void
eliminate_set_free (void *value)
{
    rule_set_clear (value);
    g_free (value);
}

static bool
eliminate_asks (const struct rules *rules)
{
    bool asks = false;

    for (unsigned i = 0; i < rules->n; i++)
        asks |= rules->rules[i].size.given || rules->rules[i].owner.given
             || rules->rules[i].mode.how != MODE_NOT_GIVEN;
    return asks;
}

static void
eliminate_replace (trash_private_t *priv, struct rule_set *set)
{
    struct rule_set *old = rules_replace (&priv->rules, set);

    if (old)
        shared_unref (&old->shared);
}

/* file NULL: there are no rules. */
int
trash_rules_begin (xlator_t *this, const char *file)
{
    trash_private_t *priv = this->private;
    g_autofree char *problem = NULL;
    struct rules *rules = file ? eliminate_read (file, &problem) : NULL;
    struct rule_set *set;

    if (file && !rules) {
        gf_log (this, GF_LOG_ERROR, "%s", problem);
        return -EINVAL;
    }
    if (!file) {
        __atomic_store_n (&priv->has_rules, false, __ATOMIC_RELAXED);
        return 0;
    }
    set = g_new0 (struct rule_set, 1);
    __atomic_store_n (&priv->rules_ask, eliminate_asks (rules), __ATOMIC_RELAXED);
    rule_set_init (set, rules, this, eliminate_set_free);
    eliminate_replace (priv, set);
    __atomic_store_n (&priv->has_rules, true, __ATOMIC_RELEASE);
    return 0;
}

void
trash_rules_end (xlator_t *this)
{
    eliminate_replace (trash_priv (this), NULL);
}

bool
trash_rules_ask (const xlator_t *this)
{
    const trash_private_t *priv = trash_priv (this);

    return __atomic_load_n (&priv->has_rules, __ATOMIC_ACQUIRE)
        && __atomic_load_n (&priv->rules_ask, __ATOMIC_RELAXED);
}

/* --- removals --------------------------------------------------------------------------------- */

/* The rules learn the owner and the mode as from the answer to a stat. */
static void
eliminate_learn (xlator_t *this, inode_t *inode, const struct iatt *buf)
{
    struct iatt of = *buf;
    const struct answer answer = { .op = FOP_stat, .this = this, .buf = &of };

    rules_learn (&answer, inode);
}

bool
trash_is_eliminated (xlator_t *this, const call_stack_t *root, enum fop op, const loc_t *loc,
                     const struct iatt *buf)
{
    trash_private_t *priv = this->private;
    loc_t file = { .name = loc->name, .parent = loc->parent, .inode = loc->inode };
    const struct call call = { .op = op, .frame = (call_frame_t *) &root->frames[0], .this = this,
                               .loc = &file, .size = buf ? buf->ia_size : 0 };
    const struct eliminate_action *action;
    const struct rule *rule;
    struct rule_walk walk;
    bool eliminates;

    if (!__atomic_load_n (&priv->has_rules, __ATOMIC_ACQUIRE))
        return false;
    if (buf && buf->ia_type != IA_INVAL && loc->inode)
        eliminate_learn (this, loc->inode, buf);
    rule_walk_begin (&walk, &priv->rules, &call);
    rule = rule_walk_next (&walk);
    action = rule ? rule->action : NULL;
    eliminates = action && !action->keeps;
    rule_walk_end (&walk);
    loc_wipe_path (&file);
    return eliminates;
}

/* --- reports ---------------------------------------------------------------------------------- */

/* What the rules say of a removal, by any caller. */
struct eliminate_asked {
    xlator_t *this;
    inode_t *inode; /* or NULL */
    enum fop op;
    GString *out;
    bool decided, eliminates; /* by the first rule that is for every removal */
    bool may;                 /* a rule before that eliminates some removals */
};

/* Whether a rule is for a removal may depend on the caller and on the file's size. */
static bool
rule_is_for_all (const struct eliminate_asked *asked, const struct rule *rule)
{
    return !rule->process && !rule->uid.given && !rule->gid.given && !rule->pid.given
        && !rule->size.given && !rule->offset.given
        && !rule_doubt (asked->this, rule, asked->inode);
}

static void
eliminate_judge_rule (const struct rules *rules, const struct rule *rule, void *data)
{
    struct eliminate_asked *asked = data;
    const struct eliminate_action *action = rule->action;

    if (asked->decided || !opset_has (rule->ops, asked->op))
        return;
    asked->decided = rule_is_for_all (asked, rule);
    if (asked->decided)
        asked->eliminates = !action->keeps;
    else
        asked->may |= !action->keeps;
}

static void
eliminate_explain_rule (const struct rules *rules, const struct rule *rule, void *data)
{
    const struct eliminate_asked *asked = data;

    rule_explain (asked->this, rules, rule, asked->inode, asked->out);
}

void
trash_rules_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    trash_private_t *priv = this->private;
    struct eliminate_asked asked = { .this = this, .inode = inode, .out = out };

    if (__atomic_load_n (&priv->has_rules, __ATOMIC_ACQUIRE))
        rules_for (this, &priv->rules, path, inode, eliminate_explain_rule, &asked);
}

/* The first rule that is for the removal decides, and a pattern comes before all rules. */
enum trash_fate
trash_fate (xlator_t *this, const char *path, inode_t *inode, const char **ret_pattern)
{
    trash_private_t *priv = this->private;
    const enum fop op = inode && inode->ia_type == IA_IFDIR ? FOP_rmdir : FOP_unlink;
    struct eliminate_asked asked = { .this = this, .inode = inode, .op = op };
    const char *end = strrchr (path, '/');

    *ret_pattern = priv->layout == TRASH_GLUSTER ? trash_gluster_pattern (priv, path)
                                                 : pattern_for (priv, path, end ? end + 1 : path);
    if (*ret_pattern)
        return TRASH_IS_ELIMINATED;
    if (__atomic_load_n (&priv->has_rules, __ATOMIC_ACQUIRE))
        rules_for (this, &priv->rules, path, inode, eliminate_judge_rule, &asked);
    if (asked.eliminates)
        return TRASH_IS_ELIMINATED;
    return asked.may ? TRASH_MAY_BE_ELIMINATED : TRASH_IS_KEPT;
}

struct rules_slot *
trash_rules (xlator_t *this)
{
    return &trash_priv (this)->rules;
}
