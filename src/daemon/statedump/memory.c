/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/statedump/internal.h"

#include "core/data/iobuf.h"
#include "core/edge/stack.h"

#include <malloc.h>

static void
dump_mallinfo (GString *out)
{
#if defined __GLIBC__ && __GLIBC_PREREQ (2, 33)
    const struct mallinfo2 info = mallinfo2 ();
#define ADD(field_) g_string_append_printf (out, "mallinfo_" #field_ "=%zu\n", (size_t) info.field_)

    g_string_append (out, "\n[mallinfo]\n");
    ADD (arena);
    ADD (ordblks);
    ADD (smblks);
    ADD (hblks);
    ADD (hblkhd);
    ADD (usmblks);
    ADD (fsmblks);
    ADD (uordblks);
    ADD (fordblks);
    ADD (keepcost);
#undef ADD
#endif
}

/* Allocations are not counted by type: malloc is called directly. */
static void
dump_pools (GString *out)
{
    g_string_append (out, "\n[global.glusterfs - Memory usage]\nnum_types=0\n");
    g_string_append_printf (
        out,
        "\n[mempool]\n-----=-----\npool-name=call_stack_t\nxlator-name=windlass\nactive-count=%u\n"
        "sizeof-type=%zu\npadded-sizeof=%zu\nsize=%zu\n",
        stack_count (), sizeof (call_stack_t), sizeof (call_stack_t),
        (size_t) stack_count_made () * sizeof (call_stack_t));
    g_string_append_printf (
        out, "-----=-----\npool-name=call_stub_t\nxlator-name=windlass\nactive-count=%u\n",
        stack_count_kept ());
}

void
dump_memory (GString *out, const struct dump_wanted *wanted)
{
    if (wanted->mem) {
        dump_mallinfo (out);
        dump_pools (out);
    }
    /* Each thread has a few buffers of its own; there are no arenas. */
    if (wanted->iobuf)
        g_string_append (
            out,
            "\n[iobuf.global]\niobuf_pool=of each thread\ndefault_page_size=4096\narena_cnt=0\n");
}
