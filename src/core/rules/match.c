/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the rules that a call meets. What is expensive to find out is found out when the first rule
 * asks for it. */
#include "core/data/fd.h"
#include "core/data/loc.h"
#include "core/edge/frame.h"
#include "core/edge/stub.h"
#include "core/rules/rule-doubt.h"
#include "core/rules/verdict.h"
#include "core/time/read-section.h"

#include <fnmatch.h>
#include <string.h>

/* --- rules in force --------------------------------------------------------------------------- */

static bool
rule_asks_file (const struct rule *rule)
{
    return rule->owner.given || rule->mode.how != MODE_NOT_GIVEN;
}

void
rule_set_init (struct rule_set *ret_set, struct rules *rules, const xlator_t *this,
               void (*free) (void *set))
{
    *ret_set = (struct rule_set){ .shared = { 1, free }, .rules = rules };
    for (unsigned i = 0; i < rules->n; i++) {
        ret_set->ops |= rules->rules[i].ops;
        if (rule_asks_file (&rules->rules[i]))
            ret_set->teaching =
                OPS_CHANGE_ATTRIBUTES | OPSET_OF (FOP_lookup) | OPSET_OF (FOP_stat)
                | OPSET_OF (FOP_fstat) | OPSET_OF (FOP_create) | OPSET_OF (FOP_mkdir)
                | OPSET_OF (FOP_mknod) | OPSET_OF (FOP_symlink);
    }
    ret_set->verdicts = verdicts_new (rules, this);
}

void
rule_set_clear (struct rule_set *set)
{
    verdicts_free (set->verdicts);
    rules_free (set->rules);
}

struct rule_set *
rules_replace (struct rules_slot *slot, struct rule_set *set)
{
    struct rule_set *old = __atomic_exchange_n (&slot->now, set, __ATOMIC_ACQ_REL);

    names_void ();
    if (set)
        verdicts_begin (set->verdicts);
    if (old)
        read_section_wait ();
    return old;
}

struct rule_set *
rules_get (struct rules_slot *slot)
{
    struct rule_set *set;

    read_section_begin ();
    set = shared_ref (&__atomic_load_n (&slot->now, __ATOMIC_ACQUIRE)->shared);
    read_section_end ();
    return set;
}

/* --- the file of a call ----------------------------------------------------------------------- */

static bool
call_is_by_name (const struct call *call)
{
    return call->loc && call->loc->name && call->loc->parent;
}

/* The inode that the operation is for, or NULL: a name may have none yet. */
static inode_t *
call_file (const struct call *call)
{
    return call->loc ? call->loc->inode : call->fd ? call->fd->inode : NULL;
}

/* Fills in what the call makes; false: it makes nothing. */
static bool
call_makes (const struct call *call, struct rule_file *ret_file)
{
    mode_t mode = 0777, umask = 0;
    ia_type_t type = IA_IFREG;

    switch (call->op) {
    case FOP_create:
        mode = ((const struct create_call *) call->args)->mode;
        umask = ((const struct create_call *) call->args)->umask;
        break;
    case FOP_tmpfile:
        mode = ((const struct tmpfile_call *) call->args)->mode;
        umask = ((const struct tmpfile_call *) call->args)->umask;
        break;
    case FOP_mknod:
        mode = ((const struct mknod_call *) call->args)->mode;
        umask = ((const struct mknod_call *) call->args)->umask;
        type = mode & S_IFMT ? ia_type_of_mode (mode) : IA_IFREG;
        break;
    case FOP_mkdir:
        mode = ((const struct mkdir_call *) call->args)->mode;
        umask = ((const struct mkdir_call *) call->args)->umask;
        type = IA_IFDIR;
        break;
    case FOP_symlink:
        type = IA_IFLNK;
        break;
    default:
        return false;
    }
    *ret_file = (struct rule_file){ .known = true, .type = type,
                                    .owner = call->frame->root->uid,
                                    .mode = mode & ~umask & 07777 };
    return true;
}

/* A question without an answer is asked again by the next call. */
static void
rule_file_of_inode (xlator_t *this, inode_t *inode, struct rule_file *ret_file)
{
    struct rules_inode *ctx = rules_inode (this, inode);
    const uint64_t word = __atomic_load_n (&ctx->file, __ATOMIC_ACQUIRE);

    *ret_file = (struct rule_file){ .known = word & FILE_KNOWN, .asked = word & FILE_FAILED,
                                    .type = inode->ia_type, .owner = (uid_t) word,
                                    .mode = word >> FILE_MODE_SHIFT & 07777 };
    if (ret_file->asked)
        __atomic_store_n (&ctx->file, 0, __ATOMIC_RELEASE);
}

static const struct rule_file *
rule_walk_file (struct rule_walk *walk)
{
    inode_t *inode = call_file (walk->call);

    if (walk->has_file)
        return &walk->file;
    walk->has_file = true;
    if (call_makes (walk->call, &walk->file))
        return &walk->file;
    if (!inode || inode->ia_type == IA_INVAL)
        walk->file = (struct rule_file){ .asked = true };
    else
        rule_file_of_inode (walk->call->this, inode, &walk->file);
    return &walk->file;
}

static void
rules_learn_iatt (xlator_t *this, inode_t *inode, const struct iatt *iatt)
{
    struct rules_inode *ctx = rules_inode (this, inode);
    uint64_t word = 0;

    if (iatt)
        word = FILE_KNOWN | (uint64_t) (iatt->ia_prot & 07777) << FILE_MODE_SHIFT | iatt->ia_uid;
    __atomic_store_n (&ctx->file, word, __ATOMIC_RELEASE);
}

/* --- asking for attributes -------------------------------------------------------------------- */

struct rule_question {
    call_stub_t *stub;
    inode_t *inode; /* with a reference */
};

static stat_cbk rules_stat_cbk;
static fstat_cbk rules_fstat_cbk;

void
rules_ask (const struct call *call)
{
    struct rule_question *question;
    loc_t loc = { .inode = call_file (call) };
    call_stub_t *stub = call_keep (call);

    if (!stub) {
        call_fail (call, ENOMEM);
        return;
    }
    question = g_new (struct rule_question, 1);
    *question = (struct rule_question){ stub, inode_ref (loc.inode) };
    if (call->loc)
        STACK_WIND_COOKIE (call->frame, rules_stat_cbk, question, FIRST_CHILD (call->this), stat,
                           &loc, call->xdata);
    else
        STACK_WIND_COOKIE (call->frame, rules_fstat_cbk, question, FIRST_CHILD (call->this), fstat,
                           call->fd, call->xdata);
}

static void
rules_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    struct rule_question *question = cookie;
    call_stub_t *stub = question->stub;

    if (op_ret >= 0 && buf)
        rules_learn_iatt (this, question->inode, buf);
    else
        __atomic_store_n (&rules_inode (this, question->inode)->file, FILE_FAILED,
                          __ATOMIC_RELEASE);
    inode_unref (question->inode);
    g_free (question);
    call_resume (stub);
}

static void
rules_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, dict_t *xdata)
{
    rules_stat_cbk (frame, cookie, this, op_ret, op_errno, buf, xdata);
}

/* Returns whether an answer without attributes leaves it open what the owner and the mode are now.
 * A write may take setuid and setgid away. */
static bool
rules_forget_file (xlator_t *this, inode_t *inode, enum fop op)
{
    const uint64_t word = __atomic_load_n (&rules_inode (this, inode)->file, __ATOMIC_RELAXED);

    if (opset_has (OPS_CHANGE_DATA, op))
        return word >> FILE_MODE_SHIFT & 06000;
    return opset_has (OPS_CHANGE_XATTRS, op);
}

void
rules_learn (const struct answer *answer, inode_t *inode)
{
    const bool copied = answer->op == FOP_copy_file_range; /* post is of the destination */
    const struct iatt *iatt = answer->post && !copied ? answer->post : answer->buf;

    if (answer->op_ret < 0)
        return;
    if (answer->inode)
        inode = answer->inode;
    if (inode && (iatt || rules_forget_file (answer->this, inode, answer->op)))
        rules_learn_iatt (answer->this, inode, iatt);
}

/* --- walking ---------------------------------------------------------------------------------- */

static const struct rule_verdict *
rule_walk_verdict (struct rule_walk *walk, struct rules_slot *slot, inode_t *inode)
{
    struct rule_verdict *made;
    const struct rule_verdict *verdict =
        verdict_of (slot, walk->set, walk->call->this, inode, &made);

    if (made)
        walk->made = g_slist_prepend (walk->made, made);
    return verdict;
}

/* The directory of a name, else the inode. The second one is that of the destination. */
static void
rule_walk_find_verdicts (struct rule_walk *walk, struct rules_slot *slot)
{
    const struct call *call = walk->call;
    inode_t *inode = walk->by_name ? call->loc->parent : call_file (call), *other = NULL;

    if (call->newloc)
        other = call->newloc->parent;
    else if (call->fd_out)
        other = call->fd_out->inode;
    if (inode)
        walk->verdict = rule_walk_verdict (walk, slot, inode);
    if (other)
        walk->new_verdict = rule_walk_verdict (walk, slot, other);
}

static bool
rule_walk_may_meet (const struct rule_walk *walk)
{
    const struct rule_verdict *one = walk->verdict, *other = walk->new_verdict;
    const enum fop op = walk->call->op;

    return !one || opset_has (walk->by_name ? one->names : one->ops, op)
        || (other && opset_has (walk->call->newloc ? other->names : other->ops, op));
}

void
rule_walk_end (struct rule_walk *walk)
{
    read_section_end ();
    g_free (walk->path);
    g_free (walk->new_path);
    if (G_UNLIKELY (walk->made))
        g_slist_free_full (walk->made, g_free);
}

static bool
rule_range_has (const struct rule_range *range, uint64_t value)
{
    return !range->given || (value >= range->first && value <= range->last);
}

/* Returns true if the request has an offset, and a byte in the range. A request of no bytes is at
 * its offset. */
static bool
rule_offset_fits (const struct rule_range *range, const struct call *call)
{
    const uint64_t first = call->offset < 0 ? 0 : (uint64_t) call->offset;
    const uint64_t last = call->size && call->op != FOP_readdir && call->op != FOP_readdirp
                            ? first + call->size - 1
                            : first;

    return !range->given || (first <= range->last && last >= range->first);
}

/* Returns whether a path fits as far as the verdicts tell. */
static bool
rule_path_may_fit (const struct rule *rule, unsigned number, const struct rule_walk *walk)
{
    const struct rule_verdict *one = walk->verdict, *other = walk->new_verdict;

    return !rule->path || (one && verdict_has (walk->by_name ? one->may : one->fits, number))
        || (other && verdict_has (walk->call->newloc ? other->may : other->fits, number));
}

static bool
rule_name_fits (const struct rule *rule, const struct call *call, const loc_t *loc, char **path,
                char *(*find) (const struct call *call))
{
    if (!rule_name_may_fit (rule, loc->name))
        return false;
    if (!*path)
        *path = find (call);
    return *path && fnmatch (rule->path, *path, 0) == 0;
}

/* The same for sure. The path of a name is judged by itself, since the file may have others. */
static bool
rule_path_fits (const struct rule *rule, unsigned number, struct rule_walk *walk)
{
    const struct rule_verdict *one = walk->verdict, *other = walk->new_verdict;
    const struct call *call = walk->call;

    if (!rule->path)
        return true;
    if (one && verdict_has (walk->by_name ? one->may : one->fits, number)
        && (!walk->by_name || rule_name_fits (rule, call, call->loc, &walk->path, call_path)))
        return true;
    return other && verdict_has (call->newloc ? other->may : other->fits, number)
        && (!call->newloc
            || rule_name_fits (rule, call, call->newloc, &walk->new_path, call_new_path));
}

/* The name of a process that has ended is "". */
static bool
rule_process_fits (const struct rule *rule, struct rule_walk *walk)
{
    if (!rule->process)
        return true;
    if (!walk->has_process && !process_name (walk->call->frame->root->pid, walk->process))
        *walk->process = '\0';
    walk->has_process = true;
    return strncmp (rule->process, walk->process, rule->process_start) == 0
        && fnmatch (rule->process, walk->process, 0) == 0;
}

static bool
rule_mode_fits (const struct rule_mode *mode, mode_t bits)
{
    switch (mode->how) {
    case MODE_EXACT:
        return bits == mode->bits;
    case MODE_ALL_OF:
        return (bits & mode->bits) == mode->bits;
    case MODE_ANY_OF:
        return !mode->bits || bits & mode->bits;
    default:
        return true;
    }
}

/* Type, owner and mode. */
static bool
rule_file_fits (const struct rule *rule, struct rule_walk *walk)
{
    const struct rule_file *file;

    if (!rule->types && !rule_asks_file (rule))
        return true;
    file = rule_walk_file (walk);
    if (!rule_type_fits (rule, file->type))
        return false;
    return !rule_asks_file (rule) || (file->known && rule_range_has (&rule->owner, file->owner)
                                      && rule_mode_fits (&rule->mode, file->mode));
}

/* Cheap checks come first. */
static bool
rule_fits (const struct rule *rule, unsigned number, struct rule_walk *walk)
{
    const struct call *call = walk->call;
    const call_stack_t *root = call->frame->root;

    return opset_has (rule->ops, call->op) && rule_range_has (&rule->uid, root->uid)
        && rule_path_may_fit (rule, number, walk) && rule_range_has (&rule->gid, root->gid)
        && rule_range_has (&rule->pid, (uint64_t) root->pid)
        && rule_range_has (&rule->size, call->size) && rule_offset_fits (&rule->offset, call)
        && (!rule->volume || strcmp (rule->volume, call->this->name) == 0)
        && rule_path_fits (rule, number, walk) && rule_process_fits (rule, walk)
        && rule_file_fits (rule, walk);
}

const struct rule *
rule_walk_next (struct rule_walk *walk)
{
    if (!walk->set)
        return NULL;
    for (unsigned n = walk->set->rules->n; walk->next < n && !walk->asks;) {
        const struct rule *rule = &walk->set->rules->rules[walk->next];

        if (rule_fits (rule, walk->next++, walk))
            return rule;
    }
    return NULL;
}

/* Found out before the first rule is told, since a translator may count the calls that meet it. */
static bool
rule_walk_asks (struct rule_walk *walk)
{
    const struct rule_file *file;

    for (unsigned i = walk->next; i < walk->set->rules->n; i++) {
        const struct rule *rule = &walk->set->rules->rules[i];

        if (!opset_has (rule->ops, walk->call->op) || !rule_asks_file (rule)
            || !rule_path_may_fit (rule, i, walk))
            continue;
        file = rule_walk_file (walk);
        return !file->known && !file->asked;
    }
    return false;
}

void
rule_walk_begin (struct rule_walk *ret_walk, struct rules_slot *slot, const struct call *call)
{
    struct rule_set *set;

    read_section_begin ();
    set = __atomic_load_n (&slot->now, __ATOMIC_ACQUIRE);
    *ret_walk = (struct rule_walk){ .set = set, .call = call, .by_name = call_is_by_name (call),
                                    .teaches = set && opset_has (set->teaching, call->op) };
    if (!set)
        return;
    if (set->ops)
        rule_walk_find_verdicts (ret_walk, slot);
    if (!opset_has (set->ops, call->op) || !rule_walk_may_meet (ret_walk))
        ret_walk->next = set->rules->n;
    ret_walk->asks = set->teaching && rule_walk_asks (ret_walk);
}

opset_t
rules_ops_for (xlator_t *this, struct rules_slot *slot, inode_t *inode)
{
    struct rule_verdict *made = NULL;
    struct rule_set *set;
    opset_t ops = 0;

    read_section_begin ();
    set = __atomic_load_n (&slot->now, __ATOMIC_ACQUIRE);
    if (set)
        ops = inode ? verdict_of (slot, set, this, inode, &made)->ops : set->ops;
    read_section_end ();
    g_free (made);
    return ops;
}

/* --- for users -------------------------------------------------------------------------------- */

static bool
rule_is_for (const struct rule *rule, const xlator_t *this, const char *path,
                const inode_t *inode, const struct rule_file *file)
{
    return (!rule->volume || strcmp (rule->volume, this->name) == 0)
        && (!rule->path || fnmatch (rule->path, path, 0) == 0)
        && (!inode || rule_type_fits (rule, inode->ia_type))
        && (!file->known || (rule_range_has (&rule->owner, file->owner)
                             && rule_mode_fits (&rule->mode, file->mode)));
}

unsigned
rules_for (xlator_t *this, struct rules_slot *slot, const char *path, inode_t *inode,
           void (*fn) (const struct rules *rules, const struct rule *rule, void *data), void *data)
{
    struct rule_set *set = rules_get (slot);
    struct rule_file file = { 0 };
    unsigned hits = 0;

    if (inode)
        rule_file_of_inode (this, inode, &file);
    for (unsigned i = 0; i < set->rules->n; i++) {
        const struct rule *rule = &set->rules->rules[i];

        if (!rule_is_for (rule, this, path, inode, &file))
            continue;
        fn (set->rules, rule, data);
        hits++;
    }
    shared_unref (&set->shared);
    return hits;
}

const char *
rule_doubt (xlator_t *this, const struct rule *rule, inode_t *inode)
{
    struct rule_file file = { 0 };

    if (!inode)
        return rule_asks_file (rule) ? "owner or mode" : rule->types ? "type" : NULL;
    rule_file_of_inode (this, inode, &file);
    return rule_asks_file (rule) && !file.known ? "owner or mode" : NULL;
}

void
rule_explain (xlator_t *this, const struct rules *rules, const struct rule *rule, inode_t *inode,
              GString *out)
{
    const char *doubt = rule_doubt (this, rule, inode);

    g_string_append (out, doubt ? "this rule may be for it" : "this rule is for it");
    if (doubt)
        g_string_append_printf (out, ", as its %s is not known", doubt);
    g_string_append_printf (out, ": line %d of %s: ", rule->line, rules->file);
    rule_print (rule, out);
    g_string_append_c (out, '\n');
}
