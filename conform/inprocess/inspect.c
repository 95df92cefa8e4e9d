/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The translator on every edge. Between two inspectors is exactly one translator: its calls and
 * answers on the lower edges are compared with those on its upper edge.
 */
#include "conform/inprocess/inprocess.h"

#include "core/base/errors.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/edge/stack.h"
#include "core/time/clock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct top_attributes inspect_seen;

static struct {
    GMutex lock;     /* a leaf */
    GPtrArray *all;  /* crossings of this case; lock */
} crossings;

static char changed_text[FOP_MAX][300]; /* for inspect_changed; crossings.lock */

/* Nanoseconds for a missing answer; and for a translator with work of its own, which a busy machine
 * may delay. */
#define PATIENCE INT64_C (1000000000)
#define PATIENCE_AT_WORK INT64_C (10000000000)

/* --- crossings ------------------------------------------------------------------------------ */

static struct crossing *
crossing_parent (const call_frame_t *frame)
{
    for (frame = frame->parent; frame; frame = frame->parent)
        if (frame->this->api == &inspect_api)
            return frame->local;
    return NULL;
}

static bool
crossing_at_bottom (const xlator_t *callee)
{
    return !callee->children;
}

static struct crossing *
crossing_new (const struct call *call)
{
    struct crossing *crossing = g_new0 (struct crossing, 1);

    crossing->parent = crossing_parent (call->frame);
    crossing->frame = call->frame;
    crossing->inspector = call->this;
    crossing->callee = FIRST_CHILD (call->this);
    crossing->op = call->op;
    crossing->begin = call->frame->root->begin;
    crossing->bottom = crossing_at_bottom (crossing->callee);
    crossing->top = !crossing->parent;
    crossing->asked = crossing->top && !call->frame->root->internal
                   && strcmp (call->frame->root->frames[0].this->type, "client") == 0;
    crossing->wound = call->frame->wind_from;
    crossing->marked = dict_has (call->xdata, MARK_DOWN);
    crossing->offset = call->offset;
    crossing->size = call->size;
    crossing->fd_flags = call->fd ? call->fd->flags : 0;
    if (crossing->parent) {
        __atomic_add_fetch (&crossing->parent->children, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch (&crossing->parent->open, 1, __ATOMIC_RELAXED);
    }
    g_mutex_lock (&crossings.lock);
    if (!crossings.all)
        crossings.all = g_ptr_array_new ();
    g_ptr_array_add (crossings.all, crossing);
    g_mutex_unlock (&crossings.lock);
    return crossing;
}

static const xlator_t *
crossing_caller (const struct crossing *crossing)
{
    return crossing->parent ? crossing->parent->callee : NULL;
}

/* --- entries of directories ----------------------------------------------------------------- */

/* An offset in a directory is a 64-bit number that only storage understands: small ones become
 * large ones. */
#define OFFSET_MARK ((off_t) 1 << 62)
#define OFFSET_SMALL ((off_t) 1 << 32)

static off_t
offset_up (off_t offset)
{
    return offset > 0 && offset < OFFSET_SMALL ? offset | OFFSET_MARK : offset;
}

static off_t
offset_down (off_t offset)
{
    return (offset & OFFSET_MARK) && (offset & ~OFFSET_MARK) < OFFSET_SMALL ? offset & ~OFFSET_MARK
                                                                            : offset;
}

static void
inspect_wind (struct crossing *crossing, const struct call *call, struct loan *loan)
{
    /* Not protected for this thread yet: values are ordinary memory. */
    if (crossing->bottom && call->op == FOP_readdir)
        ((struct readdir_call *) loan->values)->offset = offset_down (call->offset);
    if (crossing->bottom && call->op == FOP_readdirp)
        ((struct readdirp_call *) loan->values)->offset = offset_down (call->offset);
    call_wind (&loan->call, crossing->callee, crossing);
}

static void inspect_close (struct crossing *crossing, const struct answer *answer, bool marked);

static void
inspect_answer_failure (struct crossing *crossing, const struct call *call)
{
    inspect_close (crossing, &(struct answer){ .op = call->op, .op_ret = -1, .op_errno = EIO },
                   false);
    call_fail (call, EIO);
}

/* --- down ----------------------------------------------------------------------------------- */

/* A boundary passes the keys alone that it lists. */
static bool
passes_keys (const xlator_t *xl)
{
    return !xl->api->realms || xl->api->realm_keys;
}

static void
inspect_call (struct crossing *crossing, const struct call *call)
{
    const struct crossing *parent = crossing->parent;

    if (!parent)
        return;
    locks_check (parent->callee, crossing->op, "wind", crossing->wound);
    if (parent->op == crossing->op && parent->marked && !crossing->marked
        && passes_keys (parent->callee))
        finding_add ("xdata dropped", parent->callee, crossing->op,
                     "a key that it doesn't know didn't go down with the call at %s:%d",
                     crossing->wound->file, crossing->wound->line);
    if (parent->closed)
        finding_add ("wind after the answer", parent->callee, crossing->op, "at %s:%d",
                     crossing->wound->file, crossing->wound->line);
}

/* If no memory needs to be protected; offsets in directories are changed all the same. */
static bool
inspect_lightly (enum fop op)
{
    return variant->quiet && op != FOP_readdir && op != FOP_readdirp;
}

static void
inspect_any_fop (const struct call *call)
{
    struct crossing *crossing = crossing_new (call);
    const bool top = crossing->top;
    struct loan *loan;

    call->frame->local = crossing;
    inspect_call (crossing, call);
    if (inspect_fails (crossing)) {
        inspect_answer_failure (crossing, call);
        return;
    }
    if (crossing->asked && !variant->quiet) {
        g_mutex_lock (&crossings.lock);
        *changed_text[call->op] = '\0';
        g_mutex_unlock (&crossings.lock);
    }
    if (crossing->asked && variant->interrupt_before)
        stack_interrupt (call->frame->root);
    if (inspect_lightly (call->op)) {
        call_wind (call, crossing->callee, crossing);
        return;
    }
    loan = loan_call (call, crossing_caller (crossing), crossing->callee);
    if (top)
        order_begin ();
    inspect_wind (crossing, call, loan);
    /* The frame may be gone by now. */
    loan_end (loan);
    if (top)
        order_end ();
}

/* --- up ------------------------------------------------------------------------------------- */

/* The place where the child answered. */
static const struct call_site *
inspect_site (const call_frame_t *frame)
{
    if (frame->slot && frame->slot->wound <= 1 && frame->slot->unwind_from
        && frame->slot->parent == frame)
        return frame->slot->unwind_from;
    for (const struct strand *s = frame->root->strands; s; s = s->next)
        if (s->frames[0].parent == frame)
            return s->frames[0].unwind_from;
    return NULL;
}

const char *
inspect_changed (enum fop op)
{
    return changed_text[op];
}

/* Which translator makes another result of its child's; for a finding at the top. */
static void
inspect_result (const struct crossing *crossing, const struct answer *answer,
                const struct call_site *site)
{
    const int error = answer->op_ret < 0 ? answer->op_errno : 0;
    char *text = changed_text[crossing->op];

    if (!crossing->child_answered
        || (crossing->child_ret == answer->op_ret && crossing->child_error == error))
        return;
    g_mutex_lock (&crossings.lock);
    if (!*text)
        snprintf (text, sizeof changed_text[0],
                  "; '%s' (%s) changed op_ret %d%s%s to %d%s%s at %s:%d",
                  crossing->callee->name, crossing->callee->type, crossing->child_ret,
                  crossing->child_error ? " " : "",
                  crossing->child_error ? error_name (crossing->child_error) : "",
                  answer->op_ret, error ? " " : "", error ? error_name (error) : "",
                  site ? site->file : "?", site ? site->line : 0);
    g_mutex_unlock (&crossings.lock);
}

static void
inspect_up (struct crossing *crossing, const struct answer *answer, const struct call_site *site)
{
    const unsigned before = findings_count ();

    locks_check (crossing->callee, crossing->op, "unwind", site);
    if (__atomic_load_n (&crossing->open, __ATOMIC_ACQUIRE) > 0)
        finding_add ("answered before its child", crossing->callee, crossing->op, "at %s:%d",
                     site ? site->file : "?", site ? site->line : 0);
    if (answer->op_ret >= 0 && crossing->children == 1 && crossing->child_marked
        && passes_keys (crossing->callee)
        && !dict_has (answer->xdata, MARK_UP))
        finding_add ("xdata dropped", crossing->callee, crossing->op,
                     "a key that it doesn't know didn't come up with the answer at %s:%d",
                     site ? site->file : "?", site ? site->line : 0);
    /* A write without a call of its own below; or one queued behind such writes, which lacks some
     * attributes. */
    if (answer->op == FOP_writev && answer->op_ret >= 0
        && crossing->callee->api->touches & TOUCHES_ANSWERS)
        crossing->early = !answer->pre && !answer->post;
    if (!variant->quiet)
        inspect_result (crossing, answer, site);
    if (!crossing->faulty)
        rules_check (crossing, answer, site);
    if (findings_count () > before)
        crossing->faulty = true;
}

static void
inspect_remember (const struct answer *answer)
{
    inspect_seen = (struct top_attributes){ .has_pre = answer->op_ret >= 0 && answer->pre,
                                  .has_post = answer->op_ret >= 0 && answer->post };
    if (inspect_seen.has_pre)
        inspect_seen.pre = *answer->pre;
    if (inspect_seen.has_post)
        inspect_seen.post = *answer->post;
}

/* The answer goes up now. */
static void
inspect_close (struct crossing *crossing, const struct answer *answer, bool marked)
{
    struct crossing *parent = crossing->parent;

    crossing->error = answer->op_ret < 0 ? answer->op_errno : 0;
    __atomic_store_n (&crossing->closed, true, __ATOMIC_RELEASE);
    if (crossing->asked)
        inspect_remember (answer);
    if (!parent)
        return;
    parent->last_wound = crossing->wound;
    parent->last_callback = (const void *) crossing->frame->ret;
    parent->faulty |= crossing->faulty;
    if (parent->op == crossing->op) {
        parent->child_answered = true;
        parent->child_ret = answer->op_ret;
        parent->child_error = crossing->error;
    }
    parent->early |= parent->op == crossing->op && crossing->early;
    parent->child_marked |= parent->op == crossing->op && marked;
    __atomic_sub_fetch (&parent->open, 1, __ATOMIC_ACQ_REL);
}

static void
inspect_hand (struct loan *loan)
{
    struct crossing *crossing = loan->crossing;

    if (variant->interrupt_held && crossing->bottom && !crossing->frame->root->internal)
        stack_interrupt (crossing->frame->root);
    inspect_close (crossing, &loan->answer, loan->marked);
    answer_pass (&loan->answer);
    loan_end (loan);
}

/* An answer of storage gets the kit's key in its xdata, and large offsets. */
static struct loan *
inspect_lend (struct crossing *crossing, const struct answer *answer)
{
    struct loan *loan = loan_answer (answer, crossing->callee, crossing_caller (crossing),
                                     crossing->bottom ? MARK_UP : NULL);

    loan->crossing = crossing;
    if (crossing->bottom && (answer->op == FOP_readdir || answer->op == FOP_readdirp)) {
        gf_dirent_t *entries = answer->op == FOP_readdir
                                 ? ((struct readdir_answer *) loan->values)->entries
                                 : ((struct readdirp_answer *) loan->values)->entries;
        if (entries)
            loan_open (loan);
        for (gf_dirent_t *entry = entries; entry; entry = entry->next)
            entry->d_off = offset_up (entry->d_off);
        if (entries)
            loan_protect (loan);
    }
    return loan;
}

static void
inspect_any_fop_cbk (const struct answer *answer)
{
    struct crossing *crossing = answer->cookie;
    struct loan *loan;

    inspect_up (crossing, answer, inspect_site (answer->frame));
    if (inspect_lightly (answer->op)) {
        inspect_close (crossing, answer, false);
        answer_pass (answer);
        return;
    }
    loan = inspect_lend (crossing, answer);
    if (!crossing->top && order_holds ())
        order_hold (loan, inspect_hand);
    else
        inspect_hand (loan);
}

/* --- after a case --------------------------------------------------------------------------- */

/* Reports the translator's last known place: the callback of its last answer, or the place that
 * called it, which helps if that is in another translator. */
static void
inspect_say_owed (const struct crossing *crossing)
{
    g_autofree char *callback = crossing->last_wound
                                  ? place_name ((const char *) crossing->last_callback + 1)
                                  : NULL;

    if (callback)
        finding_add ("never answered", crossing->callee, crossing->op,
                     "its wind at %s:%d was answered, to %s, and nothing came of it",
                     crossing->last_wound->file, crossing->last_wound->line, callback);
    else if (crossing->parent)
        finding_add ("never answered", crossing->callee, crossing->op,
                     "it neither wound nor answered; the wind at %s:%d",
                     crossing->wound->file, crossing->wound->line);
    else
        finding_add ("never answered", crossing->callee, crossing->op,
                     "it neither wound nor answered");
}

void
inspect_say_slow (const char *what)
{
    bool said = false;

    g_mutex_lock (&crossings.lock);
    for (guint i = 0; crossings.all && i < crossings.all->len; i++) {
        const struct crossing *crossing = crossings.all->pdata[i];

        if (__atomic_load_n (&crossing->closed, __ATOMIC_ACQUIRE)
            || __atomic_load_n (&crossing->open, __ATOMIC_ACQUIRE) > 0)
            continue;
        finding_add (
            "too slow", crossing->callee, crossing->op,
            "%s: it has not answered within 3 s. Each call must end in STACK_UNWIND or a wind; if "
            "this one does, make its delay shorter, or its rate higher, with --xlator-option",
            what);
        said = true;
    }
    g_mutex_unlock (&crossings.lock);
    if (!said)
        finding_add_type ("too slow", "the graph", "%s: an answer took longer than 3 s", what);
}

/* Of the calls that failed so, the last one at the deepest translator: children come after their
 * parents. */
void
inspect_say_refused (int error)
{
    const struct crossing *failed = NULL;

    g_mutex_lock (&crossings.lock);
    for (guint i = 0; crossings.all && i < crossings.all->len; i++) {
        const struct crossing *crossing = crossings.all->pdata[i];

        if (__atomic_load_n (&crossing->closed, __ATOMIC_ACQUIRE) && crossing->error == error)
            failed = crossing;
    }
    if (failed)
        finding_add ("no tree", failed->callee, failed->op,
                     "it failed with %s, so the files that the cases need can't be made; if it "
                     "refuses this by design, say so with --allow: windlass-conform(1)",
                     error_name (error));
    else
        finding_add_type ("no tree", "the graph",
                          "the files that the cases need can't be made through it: %s",
                          error_name (error));
    g_mutex_unlock (&crossings.lock);
}

/* The request was answered at the top, or will not be: reports the deepest missing answer of a
 * chain. */
static bool
inspect_owed (struct crossing *crossing)
{
    if (crossing->closed || crossing->open > 0)
        return false;
    if (crossing->frame->awaited >= FRAME_COMPLETE)
        finding_add ("answered another's frame", crossing->callee, crossing->op,
                     "its own frame, of the wind at %s:%d, has no answer, but the one above has",
                     crossing->wound->file, crossing->wound->line);
    else
        inspect_say_owed (crossing);
    return true;
}

/* A translator's own calls may begin, and go on, after the case's own call was answered: on the
 * thread that brought the answer, after it has gone up. But the translator has its request before
 * that, and as long as it needs it. So a pending request is visible with the answer, also between
 * two calls of it. When no request is left, no open crossing can get its answer any more.
 *
 * A translator that works by itself, as features/trash does, may begin a request at any time, also
 * when all others have just ended. Only one that is older than the patience counts as lost. */
static void
inspect_await (int64_t patience)
{
    order_settle ();
    (void) stack_wait_for_end (STACKS_ANSWERED, clock_now () + patience);
    order_settle ();
}

static void
inspect_overdue (const call_stack_t *root, void *ret_since)
{
    int64_t *since = ret_since;

    if (root->begin <= *since)
        *since = INT64_MAX;
}

/* Returns whether a request began before that time of clock_now and has not ended. */
static bool
inspect_has_overdue (int64_t since)
{
    stack_foreach (inspect_overdue, &since);
    return since == INT64_MAX;
}

/* Reports missing answers, of requests that began before that time. */
static bool
inspect_judge_locked (int64_t since)
{
    bool owed = false;

    for (guint i = 0; crossings.all && i < crossings.all->len; i++) {
        struct crossing *crossing = crossings.all->pdata[i];

        if (crossing->begin <= since)
            owed |= inspect_owed (crossing);
    }
    return owed;
}

/* Ends the crossings, if no request is in use: one that begins now has its crossings after that.
 * Returns false if one is. */
static bool
inspect_end (bool *ret_owed)
{
    bool ended;

    g_mutex_lock (&crossings.lock);
    ended = stack_count () == 0;
    if (ended)
        *ret_owed = inspect_judge_locked (INT64_MAX);
    for (guint i = 0; ended && !*ret_owed && crossings.all && i < crossings.all->len; i++)
        g_free (crossings.all->pdata[i]);
    if (ended && !*ret_owed && crossings.all)
        g_ptr_array_set_size (crossings.all, 0);
    g_mutex_unlock (&crossings.lock);
    return ended;
}

struct unended {
    int64_t since;
    bool any;
};

static void
inspect_unended (const call_stack_t *root, void *data)
{
    struct unended *unended = data;
    const xlator_t *xl = root->frames[0].this;

    if (root->begin > unended->since)
        return;
    unended->any = true;
    finding_add ("request never ended", xl->graph && xl->children ? xl : NULL, root->op,
                 "one that '%s' made", xl->name);
}

/* Returns whether a request is lost: one that began before that time. */
static bool
inspect_say_lost (int64_t since)
{
    struct unended unended = { .since = since };
    bool owed;

    g_mutex_lock (&crossings.lock);
    owed = inspect_judge_locked (since);
    g_mutex_unlock (&crossings.lock);
    if (!owed)
        stack_foreach (inspect_unended, &unended);
    return owed || unended.any;
}

bool
inspect_settle (bool gave_up)
{
    const int64_t patience = gave_up ? PATIENCE : PATIENCE_AT_WORK;
    const int64_t last = clock_now () + 3 * patience;
    bool owed = false;

    inspect_await (patience);
    while (!inspect_end (&owed)) {
        const int64_t now = clock_now ();

        if (now >= last || inspect_has_overdue (now - patience))
            return !inspect_say_lost (now - patience);
        inspect_await (patience);
    }
    return !owed;
}

const struct xlator_api inspect_api = {
    .abi = XLATOR_ABI,
    .type = "conform/inspect",
    .about = "checks that translators follow the rules for calls and answers",
    .children = { .min = 1, .max = 1 },
    .any_fop = inspect_any_fop,
    .any_fop_cbk = inspect_any_fop_cbk,
};
