/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client chooses the gfid of a new file and sends it to the server. A server of GlusterFS stores
 * that gfid on its disk. The storage of this brick, storage/posix, computes another gfid from the
 * file, so the brick converts between both by two tables in memory. */
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

/* Records that a file of the storage has the gfid `wire` in calls and replies. A file that has such
 * a gfid already keeps it: a create may have opened an existing file. */
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
