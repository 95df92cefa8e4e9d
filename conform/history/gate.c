/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gates: translators that a history inserts above the top of the graph and on each of its edges. A
 * gate holds some calls and answers until the schedule of the history (drive.c) releases them. A
 * gate above storage also makes some operations fail. */
#include "conform/history/drive.h"
#include "core/edge/stub.h"

#include <errno.h>

/* Kinds of random decisions of this file, for drive_chance. */
enum {
    CHANCE_HOLD = 100,
    CHANCE_FAULT,
    CHANCE_ERROR,
    CHANCE_INTERRUPT,
};

#define HOLD_ONE_IN 3 /* a gate holds one of so many calls and answers */
/* The same for narrow scripts (history.h), with other numbers. */
#define HOLD_ANSWERS_ONE_IN 2 /* for answers of storage */
#define HOLD_CALLS_ONE_IN 4   /* for calls to storage */
#define HOLD_OTHERS_ONE_IN 10 /* for all other calls and answers */
#define INTERRUPT_ONE_IN 40   /* a client interrupts one of so many of its requests that a gate
                               * holds */

/* Returns the client that made the request, or NULL if a translator made it by itself. */
static struct actor *
actor_of (const struct gate *gate, const call_frame_t *frame)
{
    return frame->root->frames[0].this == &gate->drive->xlator ? frame->root->maker.asked : NULL;
}

/* --- holding back --------------------------------------------------------------------------- */

/* Describes a call or an answer at a gate, which is called an event here. An event of a client's
 * request is identified by the client's line and by the number of earlier events of this line; any
 * other one has line 0, and is counted at its gate. */
static struct held_event
gate_event (struct gate *gate, const call_frame_t *frame, bool answer)
{
    struct actor *actor = actor_of (gate, frame);

    return (struct held_event){ .line = actor ? actor->line->number : 0,
                          .event = actor ? actor->events++ : gate->own_events++,
                          .answer = answer,
                          .gate = gate,
                          .actor = actor };
}

/* Returns N for a narrow script (history.h), where the gate holds one of N events. Storage's calls
 * and answers are held more often than other events, so that an operation takes long. The look-ups
 * of a path before the line's operation are an exception: they are held as rarely as other
 * events. */
static unsigned
narrow_one_in (const struct gate *gate, const struct held_event *event)
{
    const struct actor *actor = event->actor;
    const bool leads = actor && actor->stage == STAGE_FIND && actor->line->verb != VERB_stat;

    if (!gate->is_storage || leads)
        return HOLD_OTHERS_ONE_IN;
    return event->answer ? HOLD_ANSWERS_ONE_IN : HOLD_CALLS_ONE_IN;
}

static bool
gate_holds (const struct gate *gate, const struct held_event *event)
{
    unsigned one_in = HOLD_ONE_IN;

    if (gate->drive->calm || (event->actor && event->actor->line->calm))
        return false;
    if (script_is_narrow (gate->drive->script->seed))
        one_in = narrow_one_in (gate, event);
    return drive_chance (gate->drive, CHANCE_HOLD, event->line, event->event) % one_in == 0;
}

static void
held_log (const struct held_event *held, const char *what)
{
    drive_log (held->gate->drive, "  %s the %s line %u %s '%s'", what,
               held->answer ? "answer to" : "call of", held->line, held->answer ? "from" : "to",
               held->gate->name);
}

static void
gate_keep (struct gate *gate, const struct held_event *event, void *stub)
{
    struct held_event *held = g_memdup2 (event, sizeof *event);

    held->stub = stub;
    g_ptr_array_add (gate->drive->held, held);
    held_log (held, "holds");
}

/* May let the client interrupt its request, before the gate releases the held call or answer. If
 * the client does, the request's answer may be EINTR. */
static void
held_interrupt (const struct held_event *held)
{
    struct drive *drive = held->gate->drive;

    if (!held->actor
        || drive_chance (drive, CHANCE_INTERRUPT, held->line, held->event) % INTERRUPT_ONE_IN)
        return;
    drive_log (drive, "  interrupts line %u", held->line);
    held->actor->seen->interrupted = true;
    stack_interrupt (held->actor->root);
}

void
gate_release (struct drive *drive, unsigned i)
{
    g_autofree struct held_event *held = g_ptr_array_steal_index (drive->held, i);
    struct gate *gate = (struct gate *) held->gate;

    held_log (held, "lets go");
    held_interrupt (held);
    if (held->answer) {
        answer_resume (held->stub);
    } else {
        gate->released = call_stub_frame (held->stub);
        call_resume (held->stub);
    }
}

/* --- failing -------------------------------------------------------------------------------- */

/* Returns the errno of an error that the gate injects at this call or answer of storage, or 0.
 * Requests of clients can fail. Requests that translators make by themselves do not fail, since no
 * client would get the error. There is one exception: if a translator answers clients' writes
 * early, the writes that it makes by itself can fail, since it must report the error to the
 * clients. */
static int
gate_fault (const struct gate *gate, const struct held_event *event, enum fop op)
{
    static const int errors[] = { EIO, ENOSPC, EDQUOT };
    const struct drive *drive = gate->drive;

    const bool late = !event->actor && op == FOP_writev && drive->answers_early;

    if (!gate->is_storage || !(event->actor || late) || drive->calm
        || drive_chance (drive, CHANCE_FAULT, event->line, event->event) % 1000
               >= drive->script->faults)
        return 0;
    return errors[drive_chance (drive, CHANCE_ERROR, event->line, event->event)
                  % G_N_ELEMENTS (errors)];
}

static void
fault_log (const struct held_event *event, int op_errno)
{
    if (event->actor)
        event->actor->seen->fault = true;
    drive_log (event->gate->drive, "  '%s' fails line %u %s: %s", event->gate->name, event->line,
               event->answer ? "after it was done" : "before it is done", g_strerror (op_errno));
}

/* --- writes that are lost when a brick ends --------------------------------------------------- */

/* A translator may answer clients' writes early, and make a write of its own for them later. If
 * call is such a write to a brick, this function returns a copy of it for late_write_end, which is
 * called with the answer. Otherwise it returns NULL. */
static struct call *
late_write_keep (const struct gate *gate, const struct call *call)
{
    const struct drive *drive = gate->drive;
    struct call late = { .fd = call->fd, .offset = call->offset, .size = call->size };

    if (!drive->answers_early || drive->bricks->len == 0 || !gate->is_storage
        || call->op != FOP_writev || actor_of (gate, call->frame))
        return NULL;
    fd_ref (late.fd);
    return g_memdup2 (&late, sizeof late);
}

static void
late_write_end (const struct gate *gate, const struct answer *answer)
{
    g_autofree struct call *late = answer->cookie;

    if (!late)
        return;
    if (answer->op_ret < 0 && answer->op_errno == ENOTCONN)
        drive_late (gate->drive, late);
    fd_unref (late->fd);
}

/* --- calls and answers ---------------------------------------------------------------------- */

static struct gate *
gate_of (xlator_t *this)
{
    return this->private;
}

static void
gate_any_fop (const struct call *call)
{
    struct gate *gate = gate_of (call->this);
    const bool released = gate->released == call->frame;
    const struct held_event event = released ? (struct held_event){ 0 }
                                             : gate_event (gate, call->frame, false);
    const int fault = released ? 0 : gate_fault (gate, &event, call->op);
    struct call_stub *stub;

    if (released) {
        gate->released = NULL;
    } else if (fault) {
        fault_log (&event, fault);
        if (!event.actor)
            drive_late (gate->drive, call);
        call_fail (call, fault);
        return;
    } else if (gate_holds (gate, &event) && (stub = call_keep (call))) {
        gate_keep (gate, &event, stub);
        return;
    }
    call_wind (call, FIRST_CHILD (call->this), late_write_keep (gate, call));
}

static void
gate_any_fop_cbk (const struct answer *answer)
{
    struct gate *gate = gate_of (answer->this);
    const struct held_event event = gate_event (gate, answer->frame, true);
    const int fault = answer->op_ret < 0 || !event.actor ? 0
                                                         : gate_fault (gate, &event, answer->op);
    struct answer_stub *stub;

    late_write_end (gate, answer);
    if (fault) {
        fault_log (&event, fault);
        answer_fail (answer, fault);
        return;
    }
    if (gate_holds (gate, &event) && (stub = answer_keep (answer))) {
        gate_keep (gate, &event, stub);
        return;
    }
    answer_pass (answer);
}

/* --- insertion ------------------------------------------------------------------------------ */

static const struct xlator_api gate_api = {
    .abi = XLATOR_ABI,
    .type = "conform/gate",
    .about = "delays calls and answers",
    .children = { .min = 1, .max = 1 },
    .any_fop = gate_any_fop,
    .any_fop_cbk = gate_any_fop_cbk,
};

/* Replaces a parent of the translator `below` by another one. With a gate as the parent, the gate
 * gets the notifications of `below` and sends them on to its own parent as its own. This is
 * necessary: a notification names the child that sends it, and the parent's child is now the
 * gate. */
static void
parent_replace (xlator_t *below, const xlator_t *parent, xlator_t *by)
{
    for (xlator_list_t *place = below->parents; place; place = place->next)
        if (place->xlator == parent)
            place->xlator = by;
}

/* Inserts a gate between parent and one of its children. place: the element of parent->children. */
static struct gate *
gate_insert (struct drive *drive, xlator_list_t *place, xlator_t *parent)
{
    struct gate *gate = g_new0 (struct gate, 1);
    xlator_t *below = place->xlator;

    gate->drive = drive;
    gate->name = below->name;
    gate->is_storage = !below->children;
    gate->xlator = xlator_init (below->name, &gate_api, below->graph, gate);
    gate->xlator.realm = below->realm;
    gate->xlator.fd_maker = below->fd_maker;
    gate->xlator.children = g_new0 (xlator_list_t, 1);
    gate->xlator.children->xlator = below;
    gate->xlator.parents = g_new0 (xlator_list_t, 1);
    gate->xlator.parents->xlator = parent;
    place->xlator = &gate->xlator;
    parent_replace (below, parent, &gate->xlator);
    g_ptr_array_add (drive->gates, gate);
    return gate;
}

/* graph->xlators has parents before their children, and the graph sets up its translators from the
 * last to the first. So a gate is inserted behind its parent, before the translator below it. */
void
gates_insert (struct drive *drive)
{
    GPtrArray *xlators = drive->graph->xlators;

    drive->child.xlator = drive->graph->top;
    drive->xlator.children = &drive->child;
    for (guint i = xlators->len; i-- > 0;) {
        xlator_t *xl = xlators->pdata[i];
        for (xlator_list_t *child = xl->children; child; child = child->next)
            g_ptr_array_insert (xlators, i + 1, &gate_insert (drive, child, xl)->xlator);
        xl->wants_above |= WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES;
    }
    g_ptr_array_insert (xlators, 0, &gate_insert (drive, &drive->child, &drive->xlator)->xlator);
}

void
gates_remove (struct graph *graph, GPtrArray *gates)
{
    for (guint i = 0; i < gates->len; i++) {
        struct gate *gate = gates->pdata[i];

        g_ptr_array_remove (graph->xlators, &gate->xlator);
        parent_replace (FIRST_CHILD (&gate->xlator), &gate->xlator, gate->xlator.parents->xlator);
        for (xlator_list_t *child = gate->xlator.parents->xlator->children; child;
             child = child->next)
            if (child->xlator == &gate->xlator)
                child->xlator = FIRST_CHILD (&gate->xlator);
        g_free (gate->xlator.children);
        g_free (gate->xlator.parents);
        g_free (gate);
    }
    g_ptr_array_set_size (gates, 0);
}
