/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The entry and the return of traced functions on AArch64: see hook.h, and hook-x86.S for the
 * unwinder's expression. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#if defined HAVE_FUNCTION_GRAPH && defined __aarch64__

    .text

/* Comes from the room before a function's entry. x30: that entry; x9: where the function returns
 * to; x10 to x17 are nobody's. An unwinder in here is told of the function's caller alone. */
    .globl hook_entry
    .hidden hook_entry
    .type hook_entry, %function
    .balign 16
hook_entry:
    .cfi_startproc
    .cfi_register 30, 9
    hint #34                        /* bti c */
    sub sp, sp, #112
    .cfi_adjust_cfa_offset 112
    stp x29, x9, [sp, #0]
    .cfi_offset 29, -112
    .cfi_offset 30, -104
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x30, [sp, #80]
    mov x29, sp
    mov x0, x30
    add x1, sp, #112
    mov x2, x9
    bl hook_enter
    mov x30, x0
    ldp x8, x17, [sp, #80]
    /* On past the branch that led here: one instruction, after "bti c" or "bti jc" where there is
     * one. */
    ldr w10, [x17]
    mov w11, #0x245f
    movk w11, #0xd503, lsl #16
    add x12, x17, #4
    add x13, x17, #8
    bic w10, w10, #0x80
    cmp w10, w11
    csel x17, x13, x12, eq
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldr x29, [sp]
    add sp, sp, #112
    .cfi_adjust_cfa_offset -112
    ret x17                         /* br would want a landing pad there */
    .cfi_endproc
    .size hook_entry, . - hook_entry

    .type hook_return_here, %function
    .balign 16
    .quad hook_threads - .
    .inst 0xd503201f
hook_return_here:
    .cfi_startproc
    .cfi_def_cfa sp, 0
    .cfi_escape 0x16, 0x1e, 0x39    /* DW_CFA_val_expression, return address, length */
    .cfi_escape 0x96, 0x12          /* 00 nop dup: slot is CFA */
    .cfi_escape 0x8e, 0x00          /* 02 breg30 0: hook_return, which may be signed: so */
    .cfi_escape 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x1a /* const8u and */
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
    .inst 0xd503201f                /* nop: unwinders look at the instruction before */
    .globl hook_return
    .hidden hook_return
hook_return:
    stp x0, x1, [sp, #-32]!
    .cfi_def_cfa_offset 32
    add x0, sp, #32
    bl hook_leave
    mov x30, x0
    .cfi_restore 30
    ldp x0, x1, [sp], #32
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size hook_return_here, . - hook_return_here

#endif

    .section .note.GNU-stack, "", %progbits
