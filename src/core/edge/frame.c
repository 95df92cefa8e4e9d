/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Winding more than once from a frame, answers that break the rules, and locals. */
#include "core/edge/frame.h"
#include "core/base/audit.h"
#include "core/table/fops-rows.h"
#include "core/edge/stack.h"

#if defined __x86_64__
/* Calls frame_push_again and preserves every integer register except rax, r10 and r11. */
__asm__ (".text\n"
         ".globl frame_push_again_thunk\n"
         ".type frame_push_again_thunk, @function\n"
         "frame_push_again_thunk:\n"
         "    .cfi_startproc\n"
         "    push %rbp\n"
         "    .cfi_def_cfa_offset 16\n"
         "    .cfi_offset %rbp, -16\n"
         "    mov %rsp, %rbp\n"
         "    .cfi_def_cfa_register %rbp\n"
         "    push %rdi\n"
         "    push %rsi\n"
         "    push %rdx\n"
         "    push %rcx\n"
         "    push %r8\n"
         "    push %r9\n"
         "    and $-16, %rsp\n"
         "    call frame_push_again\n"
         "    mov -48(%rbp), %r9\n"
         "    mov -40(%rbp), %r8\n"
         "    mov -32(%rbp), %rcx\n"
         "    mov -24(%rbp), %rdx\n"
         "    mov -16(%rbp), %rsi\n"
         "    mov -8(%rbp), %rdi\n"
         "    leave\n"
         "    .cfi_def_cfa %rsp, 8\n"
         "    ret\n"
         "    .cfi_endproc\n"
         ".size frame_push_again_thunk, . - frame_push_again_thunk\n");
#endif

/* Takes a child's frame back for its parent, if the child has answered. */
static bool
frame_claim_locked (call_frame_t *child)
{
    if (__atomic_load_n (&child->awaited, __ATOMIC_ACQUIRE) < FRAME_COMPLETE ||
        __atomic_load_n (&child->watched, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n (&child->awaited, 0, __ATOMIC_RELAXED);
    return true;
}

static call_frame_t *
frame_new_strand_locked (call_frame_t *frame)
{
    struct strand *strand = strand_new ();

    frames_lay_out (strand->frames, STRAND_FRAMES, frame->root, frame);
    strand->next = frame->root->strands;
    frame->root->strands = strand;
    return &strand->frames[0];
}

/* Returns a frame for a child of a frame whose slot was used before, or that has no slot. */
call_frame_t *
frame_push_again (call_frame_t *frame)
{
    call_stack_t *root = frame->root;
    call_frame_t *child = frame->slot;

    pthread_mutex_lock (&root->lock);
    if (!child || !frame_claim_locked (child)) {
        child = NULL;
        for (struct strand *s = root->strands; s && !child; s = s->next)
            if (s->frames[0].parent == frame && frame_claim_locked (&s->frames[0]))
                child = &s->frames[0];
    }
    if (!child)
        child = frame_new_strand_locked (frame);
    pthread_mutex_unlock (&root->lock);
    return child;
}

/* The function that unwinds each operation as failed: all results but xdata are nothing. */
#define NOTHING(kind, name) , (C_##kind) (strcmp (#name, "xdata") == 0 ? (uintptr_t) with : 0)
#define FAIL(name)                                                                                 \
    static void fail_##name (call_frame_t *frame, int op_errno, dict_t *with,                      \
                             const struct call_site *site)                                         \
    {                                                                                              \
        STACK_UNWIND_AT (name, frame, site, -1, op_errno FOP_RETS_##name (NOTHING));               \
    }
FOP_LIST (FAIL)

void
frame_fail_at (call_frame_t *frame, int op_errno, dict_t *xdata, const struct call_site *site)
{
#define ENTRY(name) [FOP_##name] = fail_##name,
    static void (*const fail[FOP_MAX]) (call_frame_t *, int, dict_t *,
                                        const struct call_site *) = { FOP_LIST (ENTRY) };

    fail[frame->op](frame, op_errno, xdata, site);
}

/* Takes the place of the callback when the frame doesn't wait for the answer. A second answer is
 * dropped. An answer to another operation becomes EIO, since the parent still waits. */
void
frame_misused (call_frame_t *frame, void *cookie, xlator_t *this, ...)
{
    const struct call_site *site = cookie;
    const struct call_site *before = frame->unwind_from;
    uint16_t awaited = __atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE);
    const bool twice = awaited >= FRAME_COMPLETE;

    stack_count_misuse ();
    if (audit)
        audit->misuse (&(struct audit_misuse){
            this, frame->op, twice ? "answered twice" : "answered another operation", site,
            twice ? before : NULL });
    if (twice) {
        log_line (GF_LOG_CRITICAL, this, site->file, site->line, site->function,
                  "translator '%s' (%s) answered %s twice, before at %s:%d (%s); the second answer "
                  "is dropped",
                  this->name, this->type, fop_name (frame->op), before ? before->file : "?",
                  before ? before->line : 0, before ? before->function : "?");
        return;
    }
    log_line (
        GF_LOG_CRITICAL, this, site->file, site->line, site->function,
        "translator '%s' (%s) was asked for %s and answered another operation; its caller gets EIO",
        this->name, this->type, fop_name (frame->op));
    if (awaited != FOP_NONE)
        frame_fail (frame, EIO);
}

void *
frame_local_new (call_frame_t *frame, size_t size)
{
    frame->local = stack_alloc (frame->root, size, frame);
    return frame->local;
}
