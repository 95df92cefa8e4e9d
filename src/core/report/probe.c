/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report/probe.h"

#ifdef HAVE_SYS_SDT_H
#include "core/table/fops-rows.h"

/* <sys/sdt.h> needs a symbol for each semaphore, and tracers look for them in this section. The
 * compiler could lay out variables in any order. */
#define SEMAPHORE(name_)                                                                           \
    ".globl windlass_" name_ "_semaphore\n"                                                        \
    ".type windlass_" name_ "_semaphore, %object\n"                                                \
    ".size windlass_" name_ "_semaphore, 2\n"                                                      \
    "windlass_" name_ "_semaphore: .2byte 0\n"
#define PAIR(fop) SEMAPHORE (#fop "_start") SEMAPHORE (#fop "_end")

__asm__ (".pushsection .probes, \"aw\", %progbits\n"
         ".balign 4\n"
         ".globl probe_semaphores\n"
         "probe_semaphores:\n"
         SEMAPHORE ("wind") SEMAPHORE ("unwind")
         FOP_LIST (PAIR)
         ".popsection\n");

void (*probe_hook) (void);

void
probe_wanted (void)
{
    void (*hook) (void) = __atomic_load_n (&probe_hook, __ATOMIC_ACQUIRE);

    if (hook)
        hook ();
}

#endif
