/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client of a server chooses the gfid of a new file, while storage/posix derives one from the
 * file. These tables convert between both; a server of GlusterFS keeps the gfid on the disk. */
#include "conform/brick/brick.h"

static gfid_t
brick_gfid_by (GHashTable *table, const gfid_t *gfid)
{
    const gfid_t *found = g_hash_table_lookup (table, gfid);

    return found ? *found : *gfid;
}

gfid_t
brick_gfid_to_wire (const struct brick *brick, const gfid_t *local)
{
    return brick_gfid_by (brick->wire, local);
}

gfid_t
brick_gfid_of_wire (const struct brick *brick, const gfid_t *wire)
{
    return brick_gfid_by (brick->local, wire);
}

/* A file keeps its first gfid, because a create may have opened an existing file. */
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
