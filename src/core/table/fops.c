/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/table/fops.h"
#include "core/table/fops-rows.h"

const char *
fop_name (enum fop op)
{
#define ENTRY(name) [FOP_##name] = #name,
    static const char *const names[FOP_MAX] = { [FOP_NONE] = "none", FOP_LIST (ENTRY) };

    return (unsigned) op < FOP_MAX ? names[op] : "none";
}

enum fop
fop_of_name (const char *name)
{
    /* Names that differ between GlusterFS's lists of operations and its functions. */
    static const struct {
        const char *alias;
        enum fop op;
    } aliases[] = { { "read", FOP_readv }, { "write", FOP_writev } };

    for (unsigned i = 0; i < G_N_ELEMENTS (aliases); i++)
        if (g_ascii_strcasecmp (name, aliases[i].alias) == 0)
            return aliases[i].op;
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++)
        if (g_ascii_strcasecmp (name, fop_name (op)) == 0)
            return op;
    return FOP_NONE;
}
