/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entry and the return of traced functions on x86-64: see hook.h. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if defined HAVE_FUNCTION_GRAPH && defined __x86_64__

#define SAVED 80 /* nine registers, and 8 bytes to align the stack */

    .text

/*
 * Comes from the room before a function's entry. (%rsp): that entry; 8(%rsp): where the function
 * returns to. All registers that may have an argument in them are kept, and those that somebody's
 * assembly may count on. The caller of this "signal handler" is at the very entry, not after a
 * call: the unwinder must not look at the instruction before.
 */
    .globl hook_entry
    .hidden hook_entry
    .type hook_entry, @function
    .balign 16
hook_entry:
    .cfi_startproc
    .cfi_signal_frame
    sub $SAVED, %rsp
    .cfi_adjust_cfa_offset SAVED
    mov %rax, 0(%rsp)
    mov %rdi, 8(%rsp)
    mov %rsi, 16(%rsp)
    mov %rdx, 24(%rsp)
    mov %rcx, 32(%rsp)
    mov %r8, 40(%rsp)
    mov %r9, 48(%rsp)
    mov %r10, 56(%rsp)
    mov %r11, 64(%rsp)
    mov SAVED(%rsp), %rdi
    lea SAVED+8(%rsp), %rsi
    mov SAVED+8(%rsp), %rdx
    call hook_enter
    mov %rax, SAVED+8(%rsp)
    /* On past the jump that led here: two bytes, or what was endbr64 or is it again, whose other
     * half no instruction begins with. */
    mov SAVED(%rsp), %rdi
    lea 2(%rdi), %rsi
    lea 4(%rdi), %rdx
    cmpw $0xfa1e, 2(%rdi)
    cmove %rdx, %rsi
    mov %rsi, SAVED(%rsp)
    mov 0(%rsp), %rax
    mov 8(%rsp), %rdi
    mov 16(%rsp), %rsi
    mov 24(%rsp), %rdx
    mov 32(%rsp), %rcx
    mov 40(%rsp), %r8
    mov 48(%rsp), %r9
    mov 56(%rsp), %r10
    mov 64(%rsp), %r11
    add $SAVED, %rsp
    .cfi_adjust_cfa_offset -SAVED
    ret
    .cfi_endproc
    .size hook_entry, . - hook_entry

/*
 * Where a traced function returns to. The results in %rax, %rdx and the vector registers are kept.
 *
 * An unwinder that comes here (gdb's, the crash report's) finds the way on in the thread's struct
 * hook_open. Which thread, it doesn't know; so the expression looks through all of them for the
 * slot that the function returned from:
 *
 *   slot = CFA - 8                          its content is hook_return
 *   thread = *&hook_threads                 which is found from hook_return, 16 bytes before it
 *   while (thread)
 *       for (open = thread->top; ; open--)
 *           if (open->slot == 0) { thread = open->ret; break; }
 *           if (open->slot == slot) return open->ret
 *   return 0
 */
    .type hook_return_here, @function
    .balign 16
    .quad hook_threads - .
    .skip 7, 0x90
hook_return_here:
    .cfi_startproc
    .cfi_def_cfa %rsp, 0
    .cfi_escape 0x16, 0x10, 0x30    /* DW_CFA_val_expression, return address, length */
    .cfi_escape 0x38, 0x1c, 0x12    /* lit8 minus dup: slot, twice, since libgcc can't pick the
                                       first of a stack */
    .cfi_escape 0x12, 0x06          /* 02 dup deref: hook_return */
    .cfi_escape 0x08, 16, 0x1c      /* 04 const1u 16 minus */
    .cfi_escape 0x12, 0x06, 0x22    /* 07 dup deref plus: &hook_threads */
    .cfi_escape 0x06                /* 0a deref: slot thread */
    .cfi_escape 0x12                /* 0b dup */
    .cfi_escape 0x28, 0x03, 0x00    /* 0c bra 12 */
    .cfi_escape 0x2f, 0x1d, 0x00    /* 0f skip 2f */
    .cfi_escape 0x06                /* 12 deref: slot open */
    .cfi_escape 0x12, 0x06          /* 13 dup deref */
    .cfi_escape 0x12                /* 15 dup */
    .cfi_escape 0x28, 0x07, 0x00    /* 16 bra 20 */
    .cfi_escape 0x13                /* 19 drop */
    .cfi_escape 0x23, 0x08, 0x06    /* 1a plus_uconst 8 deref: slot thread */
    .cfi_escape 0x2f, 0xeb, 0xff    /* 1d skip 0b */
    .cfi_escape 0x15, 0x02          /* 20 pick 2 */
    .cfi_escape 0x29                /* 22 eq */
    .cfi_escape 0x28, 0x06, 0x00    /* 23 bra 2c */
    .cfi_escape 0x08, 0x20, 0x1c    /* 26 const1u 32 minus */
    .cfi_escape 0x2f, 0xe7, 0xff    /* 29 skip 13 */
    .cfi_escape 0x23, 0x08, 0x06    /* 2c plus_uconst 8 deref: slot ret */
    nop                             /* unwinders look at the byte before */
    .globl hook_return
    .hidden hook_return
hook_return:
    sub $32, %rsp
    .cfi_def_cfa_offset 32
    mov %rax, 0(%rsp)
    mov %rdx, 8(%rsp)
    lea 24(%rsp), %rdi
    call hook_leave
    mov %rax, 24(%rsp)
    .cfi_offset %rip, -8
    mov 0(%rsp), %rax
    mov 8(%rsp), %rdx
    add $24, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size hook_return_here, . - hook_return_here

#endif

    .section .note.GNU-stack, "", %progbits
