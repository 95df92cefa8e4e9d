/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/edge/steps.h"
#include "core/base/process.h"
#include "core/table/opset.h"
#include "core/time/thread.h"

#include <errno.h>
#include <string.h>

/* --- the list of running sequences ------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t ended; /* a sequence has been answered */
    struct sequence *first;
} running = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

static void
running_add (struct sequence *sequence)
{
    pthread_mutex_lock (&running.lock);
    sequence->next = running.first;
    if (running.first)
        running.first->before = sequence;
    running.first = sequence;
    sequence->frame->this->sequences++;
    pthread_mutex_unlock (&running.lock);
}

static void
running_remove (struct sequence *sequence)
{
    pthread_mutex_lock (&running.lock);
    if (sequence->before)
        sequence->before->next = sequence->next;
    else
        running.first = sequence->next;
    if (sequence->next)
        sequence->next->before = sequence->before;
    pthread_mutex_unlock (&running.lock);
}

static void
running_ended (xlator_t *xl)
{
    pthread_mutex_lock (&running.lock);
    if (--xl->sequences == 0)
        pthread_cond_broadcast (&running.ended);
    pthread_mutex_unlock (&running.lock);
}

void
steps_wait (xlator_t *xl)
{
    pthread_mutex_lock (&running.lock);
    while (xl->sequences > 0)
        thread_cond_wait (&running.ended, &running.lock);
    pthread_mutex_unlock (&running.lock);
}

static struct step_seen
step_seen (const struct sequence *sequence)
{
    const struct step *now = __atomic_load_n (&sequence->now, __ATOMIC_RELAXED);

    return (struct step_seen){ now->name, __atomic_load_n (&sequence->undoes, __ATOMIC_RELAXED) };
}

struct step_seen
step_of_frame (const call_frame_t *frame, bool may_wait)
{
    struct step_seen found = { 0 };

    if (may_wait)
        pthread_mutex_lock (&running.lock);
    else if (pthread_mutex_trylock (&running.lock) != 0)
        return found;
    for (const struct sequence *at = running.first; at && !found.name; at = at->next)
        if (at->frame == frame || __atomic_load_n (&at->own, __ATOMIC_RELAXED) == frame)
            found = step_seen (at);
    pthread_mutex_unlock (&running.lock);
    return found;
}

void
step_append (GString *out, const struct step_seen *step)
{
    g_string_append_printf (out, "%sstep %s", step->undoes ? "undo of " : "", step->name);
}

void
steps_explain (const xlator_t *xl, const inode_t *inode, GString *out)
{
    pthread_mutex_lock (&running.lock);
    for (const struct sequence *at = running.first; at && inode; at = at->next) {
        const struct step_seen seen = step_seen (at);

        if (at->frame->this != xl || at->about != inode || !seen.name)
            continue;
        g_string_append_printf (out, "runs %s: ", fop_name (at->frame->op));
        step_append (out, &seen);
        g_string_append_c (out, '\n');
    }
    pthread_mutex_unlock (&running.lock);
}

/* --- interrupts ------------------------------------------------------------------------------- */

/* Under the lock of the caller's request; takes that of the own request. */
static void
sequence_interrupt (void *data)
{
    struct sequence *sequence = data;

    if (sequence->interrupted)
        return;
    sequence->interrupted = true;
    stack_interrupt (sequence->own->root);
}

static bool
sequence_is_interruptible (const struct sequence *sequence)
{
    return sequence->now->interruptible && !sequence->undoes && !sequence->changed
        && sequence->own;
}

static void
interrupts_begin (struct sequence *sequence)
{
    if (!sequence_is_interruptible (sequence))
        return;
    sequence->watch = (struct interrupt_watch){ .fn = sequence_interrupt, .data = sequence };
    stack_on_interrupt (sequence->frame->root, &sequence->watch);
}

/* The kernel reports one signal for each request, and it may be a harmless one: programs don't
 * expect SIGCHLD or a timer to make a rename fail. The step is then run again, and waits. */
static int
interrupts_end (struct sequence *sequence, int result)
{
    if (!sequence_is_interruptible (sequence))
        return result;
    stack_off_interrupt (sequence->frame->root, &sequence->watch);
    if (!sequence->interrupted)
        return result;
    stack_interrupt_over (sequence->own->root);
    if (result == -EINTR && !process_gives_up (sequence->frame->root->pid))
        return STEP_REPEAT;
    return result;
}

/* --- the walk --------------------------------------------------------------------------------- */

static unsigned
step_index (const struct sequence *sequence, const struct step *step)
{
    return (unsigned) (step - sequence->steps);
}

static void
sequence_go_to (struct sequence *sequence, const struct step *step)
{
    g_assert (step_index (sequence, step) < STEPS_MAX);
    __atomic_store_n (&sequence->now, step, __ATOMIC_RELAXED);
}

static void
sequence_turn (struct sequence *sequence, const struct step *target, bool ends)
{
    sequence->target = target;
    sequence->ends = ends;
    __atomic_store_n (&sequence->undoes, true, __ATOMIC_RELAXED);
}

static const struct step *
step_again (const struct sequence *sequence)
{
    const struct step *step = sequence->now;

    while (strcmp (step->name, sequence->now->again) != 0) {
        g_assert (step > sequence->steps);
        step--;
    }
    return step;
}

static void
sequence_fail (struct sequence *sequence, int error)
{
    sequence->error = error;
    gf_log (sequence->frame->this, GF_LOG_DEBUG, "%s: step %s: %s", fop_name (sequence->frame->op),
            sequence->now->name, g_strerror (error));
    sequence_turn (sequence, sequence->steps, true);
}

int
step_ignore (void *local)
{
    return 0;
}

static int
step_result (struct sequence *sequence)
{
    const struct step *step = sequence->now;

    return interrupts_end (sequence, step->judge ? step->judge (sequence->frame->local)
                                                 : fan_error (&sequence->fan));
}

/* All answers of the step are there: chooses the direction and the row to go on with. */
static void
sequence_judge (struct sequence *sequence)
{
    int result;

    if (sequence->undoes)
        return;
    result = step_result (sequence);
    if (result == 0)
        sequence_go_to (sequence, sequence->now + 1);
    else if (result == STEP_END)
        sequence_turn (sequence, sequence->steps, true);
    else if (result > STEP_END && sequence->tries++ < STEPS_TRIES)
        sequence_turn (sequence, step_again (sequence), false);
    else if (result != STEP_REPEAT)
        sequence_fail (sequence, result < 0 ? -result : result - STEP_END);
}

static bool
step_needs_undo (const struct sequence *sequence, const struct step *step)
{
    const bool succeeded = sequence->ends && sequence->error == 0;

    return sequence->begun & UINT64_C (1) << step_index (sequence, step)
        && step->undo && (step->always || !succeeded);
}

/* Goes backwards to the next row to undo. Returns false if there is none: the row is the target
 * then. */
static bool
sequence_find_undo (struct sequence *sequence)
{
    const struct step *step = sequence->now;

    while (step > sequence->target && !step_needs_undo (sequence, step))
        step--;
    sequence_go_to (sequence, step);
    return step_needs_undo (sequence, step);
}

/* Goes forwards to the next row to run. Returns false if there is none. */
static bool
sequence_find_next (struct sequence *sequence)
{
    const struct step *step = sequence->now;

    while (step->name && step->when && !step->when (sequence->frame->local))
        step++;
    sequence_go_to (sequence, step);
    return step->name;
}

/* Finds the row to run or to undo. Returns false at the end of the sequence. */
static bool
sequence_find (struct sequence *sequence)
{
    if (sequence->undoes && sequence_find_undo (sequence))
        return true;
    if (sequence->undoes && sequence->ends)
        return false;
    __atomic_store_n (&sequence->undoes, false, __ATOMIC_RELAXED);
    if (sequence_find_next (sequence))
        return true;
    sequence_turn (sequence, sequence->steps, true);
    return sequence_find_undo (sequence);
}

static void
step_run (struct sequence *sequence)
{
    const struct step *step = sequence->now;
    const uint64_t bit = UINT64_C (1) << step_index (sequence, step);

    if (sequence->undoes) {
        sequence->begun &= ~bit;
        step->undo (sequence->frame->local);
        return;
    }
    sequence->begun |= bit;
    if (step->run)
        step->run (sequence->frame->local);
    interrupts_begin (sequence);
}

/* The sequence lies in the request: after the unwind it is gone. */
static void
sequence_end (struct sequence *sequence)
{
    call_frame_t *frame = sequence->frame;
    xlator_t *this = frame->this;
    void (*answer) (void *local) = sequence->answer;
    const int error = sequence->error;

    running_remove (sequence);
    g_clear_pointer (&sequence->about, inode_unref);
    if (sequence->own)
        stack_done (g_steal_pointer (&sequence->own)->root);
    if (error)
        frame_fail (frame, error);
    else
        answer (frame->local);
    running_ended (this);
}

static void sequence_answered (call_frame_t *frame);

static void
sequence_walk (struct sequence *sequence)
{
    bool answered = true;

    while (answered) {
        if (!sequence_find (sequence)) {
            sequence_end (sequence);
            return;
        }
        fan_begin (&sequence->fan, sequence_answered);
        step_run (sequence);
        answered = fan_is_answered (&sequence->fan);
        if (answered)
            sequence_judge (sequence);
    }
}

static void
sequence_answered (call_frame_t *frame)
{
    struct sequence *sequence = frame->local;

    sequence_judge (sequence);
    sequence_walk (sequence);
}

void
sequence_winds (struct sequence *sequence, enum fop op)
{
    if (!opset_has (OPS_CHANGE, op))
        return;
    g_assert (sequence->undoes || !sequence->now->interruptible);
    sequence->changed = true;
}

void
sequence_start (struct sequence *sequence, call_frame_t *frame, const struct step *steps,
                unsigned n, inode_t *about, void (*answer) (void *local))
{
    g_assert (frame->local == sequence);
    *sequence = (struct sequence){ .frame = frame,
                                   .own = sequence->own,
                                   .fan = sequence->fan,
                                   .steps = steps,
                                   .now = steps,
                                   .about = inode_ref (about),
                                   .answer = answer };
    if (!sequence->fan.answers)
        fan_init (&sequence->fan, frame, n);
    running_add (sequence);
    sequence_walk (sequence);
}

void
sequence_clear (struct sequence *sequence)
{
    fan_clear (&sequence->fan);
}
