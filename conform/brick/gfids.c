/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A server's client chooses the gfid of a new file, and storage/posix derives one: this is what a
 * brick has on its disk. */
#include "conform/brick/brick.h"

static gfid_t
gfid_by (GHashTable *table, const gfid_t *gfid)
{
    const gfid_t *found = g_hash_table_lookup (table, gfid);

    return found ? *found : *gfid;
}

gfid_t
brick_gfid_to_wire (const struct brick *brick, const gfid_t *local)
{
    return gfid_by (brick->wire, local);
}

gfid_t
brick_gfid_of_wire (const struct brick *brick, const gfid_t *wire)
{
    return gfid_by (brick->local, wire);
}

/* A file keeps its first gfid: a create may have opened a file that was there. */
void
brick_gfid_choose (struct brick *brick, const gfid_t *local, const gfid_t *wire)
{
    if (g_hash_table_contains (brick->wire, local))
        return;
    g_hash_table_insert (brick->wire, g_memdup2 (local, sizeof *local),
                         g_memdup2 (wire, sizeof *wire));
    g_hash_table_insert (brick->local, g_memdup2 (wire, sizeof *wire),
                         g_memdup2 (local, sizeof *local));
}
