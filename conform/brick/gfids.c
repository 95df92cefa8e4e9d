/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client chooses the gfid of a new file and sends it to the server. A server of GlusterFS stores
 * that gfid on its disk. The storage of this brick, storage/posix, computes its own gfid of the
 * file instead, so the brick converts one gfid to the other by two tables in memory. */
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

/* Records that the file with the gfid `local` in the storage has the gfid `wire` in calls and
 * replies. If the file has such a gfid already, because a create has opened an existing file, that
 * gfid stays. */
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
