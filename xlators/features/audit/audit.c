/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/audit: records who did what, as JSON lines in a file, or in the journal.
 *
 *   audit_any_fop: does a rule record it? no: pass
 *                yes: frame->local gets the path and the program; the call is wound
 *   audit_any_fop_cbk: the record is written, then the answer goes on
 */
#include "audit.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define DEFAULT_FILE "audit.log"

static int audit_check_rules (const char *text, char **ret_allowed);
static int audit_check_name (const char *text, char **ret_allowed);

static const struct option_choice audit_targets[] = { { "file", RECORDS_TO_FILE },
                                                      { "journal", RECORDS_TO_JOURNAL },
                                                      {} };
static const struct option_choice audit_policies[] = { { "drop", WHEN_FULL_DROP },
                                                       { "block", WHEN_FULL_BLOCK },
                                                       { "fail", WHEN_FULL_FAIL },
                                                       {} };

static const struct xlator_option audit_options[] = {
    { OPTION ("rules", PATH, audit_private_t, rules_file, NULL), .check = audit_check_rules,
      .online = true,
      .help = "the file with the rules that choose what is recorded; by default that is who opens "
              "files, and who changes names, sizes, attributes and extended attributes" },
    { OPTION ("target", ENUM, audit_private_t, target, "file"), .values = audit_targets,
      .help = "where the records go: lines of a file, or entries of systemd's journal" },
    { OPTION ("log-directory", PATH, audit_private_t, directory, NULL), .root = true,
      .help = "the directory of the log and its older files; it must not be in the mount, nor in "
              "the directory that is mounted" },
    { OPTION ("log-name", STRING, audit_private_t, name, DEFAULT_FILE), .check = audit_check_name,
      .from_server = SERVER_MAY, .help = "the name of the log in log-directory" },
    { OPTION ("max-size", SIZE, audit_private_t, max_size, "100MB"), .online = true,
      .help = "the size after which a new file is begun; 0: never" },
    { OPTION ("keep", INT, audit_private_t, keep, "10"), .min = 0, .max = 1000, .online = true,
      .help = "how many older files are kept: NAME.1 is the youngest" },
    { OPTION ("when-full", ENUM, audit_private_t, when_full, "drop"), .values = audit_policies,
      .online = true,
      .help = "what happens to operations while records cannot be written: they pass, and a record "
              "of the gap tells how many are lost; they wait; or they fail with EIO" },
    {},
};

/* Operations that pass while the log is full, also with `block` and `fail`: whoever makes room has
 * to find and remove files, and a program that ends has to close its files. */
#define PASS_WHEN_FULL                                                                             \
    (OPSET_OF (FOP_unlink) | OPSET_OF (FOP_rmdir) | OPSET_OF (FOP_flush) | OPSET_OF (FOP_lookup)   \
     | OPSET_OF (FOP_stat) | OPSET_OF (FOP_fstat) | OPSET_OF (FOP_access)                          \
     | OPSET_OF (FOP_opendir) | OPSET_OF (FOP_readdir) | OPSET_OF (FOP_readdirp)                   \
     | OPSET_OF (FOP_statfs))

/* --- options ---------------------------------------------------------------------------------- */

/* Returns the rules of a file, or the default, and their SHA-256; NULL with *ret_error. g_free
 * both texts. */
static struct rules *
audit_read_rules (const char *file, char **ret_sum, char **ret_error)
{
    g_autofree char *text = NULL;
    g_autoptr (GError) error = NULL;
    struct rules *rules;
    gsize size = strlen (audit_default_rules);

    if (!file) {
        text = g_strdup (audit_default_rules);
    } else if (!g_file_get_contents (file, &text, &size, &error)) {
        *ret_error = g_strdup (error->message);
        return NULL;
    }
    rules = rules_parse (text, size, file ? file : "default", &audit_grammar, ret_error);
    if (rules)
        *ret_sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, size);
    return rules;
}

static int
audit_check_rules (const char *text, char **ret_allowed)
{
    g_autofree char *problem = NULL, *sum = NULL;
    struct rules *rules = audit_read_rules (text, &sum, &problem);

    if (!rules)
        *ret_allowed = g_strdup_printf ("must be a file of rules (%s)",
                                        g_strdelimit (problem, "\n", ';'));
    rules_free (rules);
    return rules ? 0 : -EINVAL;
}

static int
audit_check_name (const char *text, char **ret_allowed)
{
    if (*text && *text != '.' && !strchr (text, '/') && strlen (text) <= 200)
        return 0;
    *ret_allowed = g_strdup ("must be a name of at most 200 bytes, without '/', that does not "
                             "begin with '.'");
    return -EINVAL;
}

/* --- requests --------------------------------------------------------------------------------- */

static inode_t *
audit_file_of (const struct call *call)
{
    return call->loc ? call->loc->inode : call->fd ? call->fd->inode : NULL;
}

/* For what is not recorded. */
static void
audit_pass (const struct call *call, bool teaches)
{
    if (teaches)
        call_wind (call, FIRST_CHILD (call->this), inode_ref (audit_file_of (call)));
    else
        call_pass (call);
}

struct audit_search {
    const char *pattern;
    char *path; /* the first that fits, or NULL */
};

static void
audit_try_name (inode_t *parent, const char *name, void *data)
{
    struct audit_search *search = data;
    char *path = search->path ? NULL : inode_path (parent, name);

    if (path && fnmatch (search->pattern, path, 0) == 0)
        search->path = path;
    else
        g_free (path);
}

/* Takes over a path of an inode. If the pattern of the rule matches another one of its paths, but
 * not this one, returns that: the request has no name, and by that path it met the rule. */
static char *
audit_path_by_rule (const struct rule *rule, inode_t *inode, char *path)
{
    struct audit_search search = { .pattern = rule->path };

    if (!path || !rule->path || !inode || fnmatch (rule->path, path, 0) == 0)
        return path;
    inode_each_name (inode, audit_try_name, &search);
    if (!search.path)
        return path;
    g_free (path);
    return search.path;
}

static void
audit_fill (const struct call *call, struct audit_local *local, const struct rule *rule,
            bool teaches)
{
    local->path = call_path (call);
    if (!call->loc || !call->loc->name)
        local->path = audit_path_by_rule (rule, audit_file_of (call), local->path);
    local->new_path = call->fd_out
                        ? audit_path_by_rule (rule, call->fd_out->inode,
                                              inode_path (call->fd_out->inode, NULL))
                        : call_new_path (call);
    local->rule = rule->line;
    local->offset = (uint64_t) call->offset;
    local->size = call->size;
    local->flags = call->flags;
    local->teaches = teaches;
    if (!process_name (call->frame->root->pid, local->program))
        *local->program = '\0';
}

/* Returns the local of a call that is recorded; else passes the call on. */
static struct audit_local *
audit_begin (const struct call *call)
{
    audit_private_t *priv = call->this->private;
    struct audit_local *local = NULL;
    struct rule_walk walk;
    const struct rule *rule;

    if (!__atomic_load_n (&priv->records, __ATOMIC_RELAXED)) {
        call_pass (call);
        return NULL;
    }
    rule_walk_begin (&walk, &priv->slot, call);
    rule = call->frame->root->internal ? NULL : rule_walk_next (&walk);
    if (rule && audit_rule_records (rule)) {
        local = frame_local_new (call->frame, sizeof *local);
        audit_fill (call, local, rule, walk.teaches);
    }
    rule_walk_end (&walk);
    if (walk.asks && !call->frame->root->internal)
        rules_ask (call);
    else if (!local)
        audit_pass (call, walk.teaches);
    return local;
}

static void
audit_write (const struct answer *answer, const struct audit_local *local, bool passed)
{
    audit_private_t *priv = answer->this->private;
    g_autoptr (GString) body = g_string_sized_new (512);

    audit_record (body, local, answer, passed);
    record_log_write (priv->log, body->str,
                      __atomic_load_n (&priv->when_full, __ATOMIC_RELAXED) != WHEN_FULL_DROP);
}

/* Records a call that goes no further, since the log is full. */
static void
audit_write_refused (xlator_t *this, call_frame_t *frame, enum fop op, int op_errno)
{
    audit_private_t *priv = this->private;
    struct audit_local *local = frame->local;
    const struct answer answer = { .op = op, .frame = frame, .this = this, .op_ret = -1,
                                   .op_errno = op_errno };

    local->wind = record_log_number (priv->log);
    audit_write (&answer, local, false);
}

static void
audit_refuse (const struct call *call, int op_errno)
{
    audit_write_refused (call->this, call->frame, call->op, op_errno);
    call_fail (call, op_errno);
}

/* The log may get room before the call is added: then nobody would let it go. */
static void
audit_hold (const struct call *call, struct audit_local *local)
{
    audit_private_t *priv = call->this->private;
    call_stub_t *stub = call_keep (call);

    if (!stub) {
        audit_refuse (call, ENOMEM);
        return;
    }
    held_add (priv->held, stub, HELD_FOR_EVER, local);
    if (!record_log_is_full (priv->log))
        held_release (priv->held, NULL, NULL);
}

/* Returns what becomes of a call while the log is full. */
static enum audit_when_full
audit_policy (const audit_private_t *priv, enum fop op)
{
    const enum audit_when_full policy = __atomic_load_n (&priv->when_full, __ATOMIC_RELAXED);

    if (opset_has (PASS_WHEN_FULL, op)
        || (policy == WHEN_FULL_BLOCK && (__atomic_load_n (&priv->holding, __ATOMIC_RELAXED)
                                          || __atomic_load_n (&priv->ending, __ATOMIC_RELAXED))))
        return WHEN_FULL_DROP;
    return policy;
}

static void
audit_any_fop (const struct call *call)
{
    audit_private_t *priv = call->this->private;
    struct audit_local *local = call->frame->local;
    enum audit_when_full policy = WHEN_FULL_DROP;

    if (!local)
        local = audit_begin (call);
    if (!local)
        return;
    if (G_UNLIKELY (record_log_is_full (priv->log)))
        policy = audit_policy (priv, call->op);
    if (policy == WHEN_FULL_FAIL) {
        audit_refuse (call, EIO);
        return;
    }
    if (policy == WHEN_FULL_BLOCK) {
        audit_hold (call, local);
        return;
    }
    local->wind = record_log_number (priv->log);
    if (local->teaches)
        local->inode = inode_ref (audit_file_of (call));
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

/* cookie: the inode, with a reference, of a call that is not recorded. */
static void
audit_any_fop_cbk (const struct answer *answer)
{
    const struct audit_local *local = answer->frame->local;

    if (!local) {
        rules_learn (answer, answer->cookie);
        inode_unref (answer->cookie);
    } else {
        if (local->teaches)
            rules_learn (answer, local->inode);
        audit_write (answer, local, true);
    }
    answer_pass (answer);
}

static void
audit_go_on (call_stub_t *stub, enum held_end why, void *data)
{
    call_frame_t *frame = call_stub_frame (stub);

    if (why == HELD_INTERRUPTED) {
        audit_write_refused (frame->this, frame, frame->op, EINTR);
        call_stub_destroy (stub);
        frame_fail (frame, EINTR);
        return;
    }
    call_resume (stub);
}

static void
audit_local_drop (xlator_t *this, void *data)
{
    struct audit_local *local = data;

    g_free (local->path);
    g_free (local->new_path);
    inode_unref (local->inode);
}

static void
audit_room (void *data)
{
    audit_private_t *priv = data;

    held_release (priv->held, NULL, NULL);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static void
audit_set_free (void *value)
{
    rule_set_clear (value);
    g_free (value);
}

static void
audit_set_rules (xlator_t *this, struct rules *rules)
{
    audit_private_t *priv = this->private;
    struct rule_set *set = g_new0 (struct rule_set, 1), *old;

    rule_set_init (set, rules, this, audit_set_free);
    old = rules_replace (&priv->slot, set);
    if (old)
        shared_unref (&old->shared);
}

static int
audit_init (xlator_t *this)
{
    audit_private_t *priv = this->private;
    g_autofree char *problem = NULL;
    struct rules *rules;
    int r = audit_open_log (this);

    if (r < 0)
        return r;
    rules = audit_read_rules (priv->rules_file, &priv->rules_sum, &problem);
    if (!rules) {
        gf_log (this, GF_LOG_ERROR, "%s", problem);
        return -EINVAL;
    }
    priv->held = held_new (audit_go_on);
    audit_set_rules (this, rules);
    record_log_on_room (priv->log, audit_room, priv);
    return 0;
}

/* A change of the rules or of the policy is recorded: what is missing before or after it may be so
 * by intent. */
static int
audit_reconfigure (xlator_t *this, const void *new_private)
{
    audit_private_t *priv = this->private;
    const audit_private_t *options = new_private;
    const int policy = __atomic_load_n (&priv->when_full, __ATOMIC_RELAXED);
    g_autofree char *problem = NULL, *sum = NULL;
    struct rules *rules = audit_read_rules (options->rules_file, &sum, &problem);
    bool changed;

    if (!rules) {
        gf_log (this, GF_LOG_ERROR, "%s", problem);
        return -EINVAL;
    }
    audit_set_rules (this, rules);
    record_log_rotate_at (priv->log, options->max_size, options->keep);
    __atomic_store_n (&priv->when_full, options->when_full, __ATOMIC_RELAXED);
    held_release (priv->held, NULL, NULL);
    changed = policy != options->when_full || strcmp (sum, priv->rules_sum) != 0;
    g_free (priv->rules_sum);
    priv->rules_sum = g_steal_pointer (&sum);
    if (changed)
        audit_note (this, "change", option_choice_name (audit_policies, options->when_full));
    return 0;
}

static void
audit_take_over (xlator_t *this, xlator_t *predecessor)
{
    audit_private_t *priv = this->private;

    record_log_rotate_at (priv->log, priv->max_size, priv->keep);
    audit_note (this, "begin", option_choice_name (audit_policies, priv->when_full));
    __atomic_store_n (&priv->records, true, __ATOMIC_RELEASE);
}

static void
audit_reopen_log (const xlator_t *this, GString *errors)
{
    const audit_private_t *priv = this->private;
    const int r = record_log_reopen (priv->log);
    g_autofree char *problem = r < 0 ? record_log_problem (priv->log, r) : NULL;

    if (r < 0)
        g_string_append_printf (errors,
                                "volume '%s': the log '%s' can't be opened: %s; the old file "
                                "stays\n",
                                this->name, priv->name, problem);
}

static void
audit_notify (xlator_t *this, enum xlator_event event, void *data)
{
    audit_private_t *priv = this->private;

    if (event == XLATOR_REOPEN_LOGS)
        audit_reopen_log (this, data);
    if (event == XLATOR_HOLDING || event == XLATOR_HOLD_OVER)
        __atomic_store_n (&priv->holding, event == XLATOR_HOLDING, __ATOMIC_SEQ_CST);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN)
        __atomic_store_n (&priv->ending, true, __ATOMIC_SEQ_CST);
    held_notify (priv->held, event);
    xlator_pass_on (this, event, data);
}

static void
audit_fini (xlator_t *this)
{
    audit_private_t *priv = this->private;
    struct rule_set *set = rules_replace (&priv->slot, NULL);

    if (priv->log)
        record_log_off_room (priv->log, priv);
    if (priv->held)
        held_free (priv->held);
    record_log_unref (priv->log);
    g_free (priv->rules_sum);
    if (set)
        shared_unref (&set->shared);
}

/* --- reports ---------------------------------------------------------------------------------- */

static void
audit_dump (xlator_t *this, GString *out)
{
    audit_private_t *priv = this->private;

    record_log_dump (priv->log, out);
    g_string_append_printf (out, "waiting-calls=%u\n", held_count (priv->held, NULL, NULL));
}

static void
audit_why_held (const void *data, GString *out)
{
    g_string_append (out, ", since the audit log takes no records (when-full)");
}

static void
audit_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    audit_private_t *priv = this->private;

    held_waits_for (priv->held, frame, audit_why_held, out);
}

struct audit_asked {
    xlator_t *this;
    inode_t *inode; /* or NULL */
    GString *out;
};

static void
audit_explain_rule (const struct rules *rules, const struct rule *rule, void *data)
{
    const struct audit_asked *asked = data;

    rule_explain (asked->this, rules, rule, asked->inode, asked->out);
}

static void
audit_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    audit_private_t *priv = this->private;
    const opset_t ops = rules_ops_for (this, &priv->slot, inode);
    const int error = record_log_error (priv->log);
    struct audit_asked asked = { this, inode, out };

    if (rules_for (this, &priv->slot, path, inode, audit_explain_rule, &asked) == 0)
        g_string_append (out, "records nothing of it: no rule is for its path\n");
    else if (ops & (OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev)))
        g_string_append (out, "its reads and writes go past the page cache, to be recorded "
                              "(rules)\n");
    audit_explain_unseen (ops, out);
    if (error)
        g_string_append_printf (out, "the log takes no records now: %s (when-full)\n",
                                g_strerror (error));
}

static struct rules_slot *
audit_rules (xlator_t *this)
{
    return &((audit_private_t *) this->private)->slot;
}

/* --- the kernel's caches ---------------------------------------------------------------------- */

static enum data_view
audit_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    audit_private_t *priv = this->private;
    const opset_t ops = rules_ops_for (this, &priv->slot, (inode_t *) inode);

    *ret_why = "records its reads or writes (rules)";
    return ops & (OPSET_OF (FOP_readv) | OPSET_OF (FOP_writev)) ? DATA_EACH : DATA_UNSEEN;
}

static bool
audit_sees_names (xlator_t *this)
{
    audit_private_t *priv = this->private;

    return rules_ops_for (this, &priv->slot, NULL)
         & (OPSET_OF (FOP_lookup) | OPSET_OF (FOP_stat) | OPSET_OF (FOP_fstat));
}

static bool
audit_sees_flush (xlator_t *this, inode_t *inode)
{
    audit_private_t *priv = this->private;

    return opset_has (rules_ops_for (this, &priv->slot, inode), FOP_flush);
}

static const struct xlator_misfit audit_misfits[] = {
    { "performance/io-cache", "answers reads itself, which are then not recorded" },
    { "performance/md-cache", "answers lookups and stats itself, which are then not recorded" },
    { "performance/nl-cache", "answers lookups itself, which are then not recorded" },
    { "performance/open-behind", "leaves opens out, which are then not recorded" },
    { "performance/quick-read", "answers reads itself, which are then not recorded" },
    { "performance/read-ahead", "reads for itself, which nobody has asked for" },
    { "performance/readdir-ahead", "reads for itself, which nobody has asked for" },
    { "performance/write-behind", "puts writes together, and makes them later" },
    { "features/trash", "makes removals into renames of its own" },
    { "cluster/distribute", "makes several requests of one" },
    { "cluster/overlay", "makes several requests of one" },
    { "cluster/replicate", "makes several requests of one" },
    {},
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "features/audit",
    .about = "records who did what, by rules, in a file or the journal",
    .children = { .min = 1, .max = 1 },
    .not_below = audit_misfits,
    .touches = TOUCHES_ERRORS,
    .wants = WANTS_INODE,
    .priv_size = sizeof (audit_private_t),
    .options = audit_options,
    .take_over = audit_take_over,
    .init = audit_init,
    .fini = audit_fini,
    .reconfigure = audit_reconfigure,
    .notify = audit_notify,
    .local_drop = audit_local_drop,
    .any_fop = audit_any_fop,
    .any_fop_cbk = audit_any_fop_cbk,
    .any_fop_marks = true,
    .cbks = { .forget = rules_forget },
    .dumpops = { .priv = audit_dump, .waits_for = audit_waits_for, .explain = audit_explain },
    .passthrough = { .view = audit_view, .sees_names = audit_sees_names,
                     .sees_flush = audit_sees_flush },
    .rules = audit_rules,
};
