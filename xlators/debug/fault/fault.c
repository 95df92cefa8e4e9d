/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/fault: makes requests fail, by rules that can be changed while it is mounted.
 *
 *   fault_any_fop: is there a rule for it? no: pass
 *                yes: frame->local says which; then its steps, one after the other
 *   delay, hang  the call is set aside, and comes back to fault_any_fop; local has the next step
 *   short ...    the call is wound with other data; fault_any_fop_cbk takes the answer
 *   error        the call is answered
 */
#include "fault.h"

#include <errno.h>
#include <string.h>

static int fault_check_rules (const char *text, char **ret_allowed);

static const struct xlator_option fault_options[] = {
    { OPTION ("rules", PATH, fault_private_t, file, NULL), .check = fault_check_rules,
      .online = true,
      .help = "the file with the rules that apply from the start; by default there are no rules" },
    { OPTION ("seed", STRING, fault_private_t, seed_text, NULL), .check = chance_seed_check,
      .online = true, .from_server = SERVER_MAY,
      .help = "the number that determines random decisions of rules without a seed of their own, "
              "so that a run can be repeated; by default a new number each time, which the daemon "
              "logs" },
    {},
};

/* Lets `windlass check` read the rules, and prevents a start with bad ones. */
static int
fault_check_rules (const char *text, char **ret_allowed)
{
    g_autoptr (GError) error = NULL;
    g_autofree char *rules_text = NULL, *problem = NULL;
    struct rules *rules;
    gsize size;

    if (!g_file_get_contents (text, &rules_text, &size, &error)) {
        *ret_allowed = g_strdup_printf ("must be a file of rules (%s)", error->message);
        return -EINVAL;
    }
    rules = rules_parse (rules_text, size, text, &fault_grammar, &problem);
    rules_free (rules);
    if (!rules)
        *ret_allowed = g_strdup_printf ("must be a file of rules (%s)",
                                        g_strdelimit (problem, "\n", ';'));
    return rules ? 0 : -EINVAL;
}

/* --- requests --------------------------------------------------------------------------------- */

/* If the request's rules were replaced meanwhile, releases requests that hang by those, but not
 * requests that hang by the current ones. */
static void
fault_hang (fault_private_t *priv, call_stub_t *stub, struct fault_local *local)
{
    struct fault_set *set = shared_ref (&local->set->rules.shared);

    held_add (priv->held, stub, HELD_FOR_EVER, local);
    if (__atomic_load_n (&set->gone, __ATOMIC_SEQ_CST))
        held_release (priv->held, fault_hangs_by_set, set);
    shared_unref (&set->rules.shared);
}

static void
fault_hold (const struct call *call, struct fault_local *local, const struct fault_step *step)
{
    fault_private_t *priv = call->this->private;
    call_stub_t *stub = call_keep (call);

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    if (step->kind == STEP_DELAY)
        held_add (priv->held, stub, (int64_t) step->number, local);
    else
        fault_hang (priv, stub, local);
}

/* teaches: the answer has to be seen, for the conditions of rules on owners and modes. */
static void
fault_pass (const struct call *call, bool teaches)
{
    inode_t *inode = call->loc ? call->loc->inode : call->fd ? call->fd->inode : NULL;

    if (teaches)
        call_wind (call, FIRST_CHILD (call->this), inode_ref (inode));
    else
        call_pass (call);
}

/* An error step after a data step is applied to the answer of the data step. */
static void
fault_next (const struct call *call, struct fault_local *local)
{
    const struct fault_step *step = local->next;

    if (step->kind == STEP_NONE) {
        fault_pass (call, local->teaches);
        return;
    }
    local->next++;
    if (step->kind == STEP_ERROR) {
        call_fail (call, (int) step->number);
    } else if (step->kind == STEP_DELAY || step->kind == STEP_HANG) {
        fault_hold (call, local, step);
    } else {
        local->data = step;
        local->error = local->next->kind == STEP_ERROR ? (int) local->next->number : 0;
        fault_wind_data (call, local);
    }
}

/* Returns the request's local if a rule fires for it, else passes it on. */
static struct fault_local *
fault_look (const struct call *call)
{
    fault_private_t *priv = call->this->private;
    struct fault_local *local = NULL;
    struct rule_walk walk;
    const struct rule *rule;
    uint64_t number, seed;

    rule_walk_begin (&walk, &priv->slot, call);
    rule = fault_choose (&walk, &number, &seed);
    if (rule) {
        local = frame_local_new (call->frame, sizeof *local);
        *local = (struct fault_local){
            .set = shared_ref (&walk.set->shared), .rule = rule,
            .next = fault_action_of (rule)->steps, .number = number, .seed = seed,
            .teaches = walk.teaches
        };
    }
    rule_walk_end (&walk);
    if (walk.asks)
        rules_ask (call);
    else if (!local)
        fault_pass (call, walk.teaches);
    return local;
}

static void
fault_any_fop (const struct call *call)
{
    const fault_private_t *priv = call->this->private;
    struct fault_local *local = call->frame->local;

    if (!__atomic_load_n (&priv->judges, __ATOMIC_RELAXED)) {
        call_pass (call);
        return;
    }
    if (!local)
        local = fault_look (call);
    if (local)
        fault_next (call, local);
}

/* cookie: the inode, with a reference, of a call whose answer teaches; its data are unchanged. */
static void
fault_any_fop_cbk (const struct answer *answer)
{
    if (answer->cookie || !answer->frame->local) {
        rules_learn (answer, answer->cookie);
        inode_unref (answer->cookie);
        answer_pass (answer);
    } else {
        fault_answer_data (answer, answer->frame->local);
    }
}

/* A request that was interrupted while it hung fails. A delay makes a request late, but never
 * fail. A request that hung until the mount moves to another graph goes on (HELD_RELEASED). */
static void
fault_go_on (call_stub_t *stub, enum held_end why, void *data)
{
    const struct fault_local *local = data;
    call_frame_t *frame = call_stub_frame (stub);

    if (local->next[-1].kind == STEP_HANG && (why == HELD_INTERRUPTED || why == HELD_STOPPED)) {
        call_stub_destroy (stub);
        frame_fail (frame, why == HELD_INTERRUPTED ? EINTR : EIO);
        return;
    }
    call_resume (stub);
}

static void
fault_local_drop (xlator_t *this, void *data)
{
    struct fault_local *local = data;

    if (local->set)
        shared_unref (&local->set->rules.shared);
}

/* --- take-over, reconfigure, notify, fini ----------------------------------------------------- */

static int
fault_take_over_prepare (xlator_t *this, xlator_t *predecessor)
{
    fault_private_t *priv = this->private;
    g_autoptr (GString) said = g_string_new (NULL);
    int r;

    priv->held = held_new (fault_go_on);
    r = fault_force_join (this, predecessor, said);
    if (r < 0)
        gf_log (this, GF_LOG_ERROR, "%s", said->str);
    else if (!priv->seed_text)
        gf_log (this, GF_LOG_INFO,
                "the seed is %" G_GUINT64_FORMAT ": with 'option seed %" G_GUINT64_FORMAT
                "' what happens by chance happens again",
                priv->force->seed, priv->force->seed);
    return r;
}

static void
fault_take_over (xlator_t *this, xlator_t *predecessor)
{
    fault_private_t *priv = this->private;

    __atomic_store_n (&priv->judges, true, __ATOMIC_RELAXED);
}

/* If the file is unchanged since it was read, the rules and their counts stay, also rules that a
 * command has set since. */
static int
fault_reconfigure (xlator_t *this, const void *new_private)
{
    struct fault_force *force = ((fault_private_t *) this->private)->force;
    const fault_private_t *options = new_private;
    g_autoptr (GString) said = g_string_new (NULL);
    int r;

    pthread_mutex_lock (&force->load_lock);
    if (options->seed_text && chance_seed (options->seed_text) != force->seed) {
        force->seed = chance_seed (options->seed_text);
        g_clear_pointer (&force->loaded, g_free);
    }
    pthread_mutex_unlock (&force->load_lock);
    r = fault_load_file (this, options->file, said);
    gf_log (this, r < 0 ? GF_LOG_ERROR : GF_LOG_INFO, "%s",
            *said->str ? said->str : "the rules stay");
    return r;
}

static void
fault_notify (xlator_t *this, enum xlator_event event, void *data)
{
    fault_private_t *priv = this->private;

    held_notify (priv->held, event);
    xlator_pass_on (this, event, data);
}

static void
fault_fini (xlator_t *this)
{
    fault_private_t *priv = this->private;

    fault_force_leave (this);
    held_free (priv->held);
}

static void
fault_dump (xlator_t *this, GString *out)
{
    g_autoptr (GString) rules = g_string_new (NULL);
    g_auto (GStrv) lines = NULL;

    fault_show (this, rules);
    lines = g_strsplit (g_strchomp (rules->str), "\n", -1);
    for (size_t i = 0; lines[i]; i++)
        g_string_append_printf (out, "rules[%zu]=%s\n", i, lines[i]);
}

static void
fault_which_rule (const void *data, GString *out)
{
    const struct fault_local *local = data;

    g_string_append_printf (out, ", by the rule in line %d: ", local->rule->line);
    rule_print (local->rule, out);
}

static void
fault_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    fault_private_t *priv = this->private;

    held_waits_for (priv->held, frame, fault_which_rule, out);
}

static void
fault_explain_rule (const struct rules *rules, const struct rule *rule, void *data)
{
    GString *out = data;

    g_string_append_printf (out, "the rule in line %d may hit it: ", rule->line);
    rule_print (rule, out);
    g_string_append_c (out, '\n');
}

/* A rule may depend on more than the file, so it is not known in advance whether it applies. */
static void
fault_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    fault_private_t *priv = this->private;

    if (rules_for (this, &priv->slot, path, inode, fault_explain_rule, out) == 0)
        g_string_append (out, "does nothing with it: no rule is for its path\n");
}

static struct rules_slot *
fault_rules (xlator_t *this)
{
    return &((fault_private_t *) this->private)->slot;
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/fault",
    .about = "makes requests go wrong, by rules that can be changed while it is mounted",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_DATA | TOUCHES_ERRORS,
    .wants = WANTS_INODE,
    .priv_size = sizeof (fault_private_t),
    .options = fault_options,
    .take_over_prepare = fault_take_over_prepare,
    .take_over = fault_take_over,
    .fini = fault_fini,
    .reconfigure = fault_reconfigure,
    .notify = fault_notify,
    .local_drop = fault_local_drop,
    .any_fop = fault_any_fop,
    .any_fop_cbk = fault_any_fop_cbk,
    .any_fop_marks = true,
    .cbks = { .forget = rules_forget },
    .rules = fault_rules,
    .dumpops = { .priv = fault_dump, .waits_for = fault_waits_for, .explain = fault_explain },
    .passthrough = { .why = "may make the file's reads and writes fail" },
    .commands = fault_commands,
};
