/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes and kills a brick with its storage, and delivers its parcels (calls and replies). */
#include "conform/brick/brick.h"

#include "core/time/random.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Limit of the storage's table of inodes. The brick finds the file of a gfid in this table only, so
 * the limit is above the number of files in a test. */
#define INODE_LIMIT 100000

/* --- beginning -------------------------------------------------------------------------------- */

static struct graph *
brick_storage_new (const char *directory)
{
    g_autofree char *text = g_strdup_printf (
        "volume storage\n type storage/posix\n option directory %s\nend-volume\n", directory);
    struct volfile *volfile = volfile_parse ("brick.vol", text, strlen (text));
    struct graph *graph = graph_load (volfile,
                                      &(struct graph_settings){ .inode_limit = INODE_LIMIT });

    for (guint i = 0; i < graph->xlators->len; i++)
        ((xlator_t *) graph->xlators->pdata[i])->wants_above |=
            WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES;
    if (!volfile_has_errors (volfile) && graph_activate (graph) == 0)
        return graph;
    volfile_print_problems (volfile);
    graph_free (graph);
    return NULL;
}

static GHashTable *
brick_gfids_new (void)
{
    return g_hash_table_new_full (gfid_hash, gfid_same, g_free, g_free);
}

struct brick *
brick_new (const char *volume, const char *directory, const char *socket, uint64_t seed)
{
    struct graph *graph = brick_storage_new (directory);
    struct brick *brick;

    if (!graph || loop_use () < 0)
        return NULL;
    brick = g_new0 (struct brick, 1);
    brick->volume = g_strdup (volume);
    brick->directory = g_strdup (directory);
    brick->socket = g_strdup (socket);
    brick->seed = seed;
    brick->graph = graph;
    brick->client = client_new (graph->top);
    brick->listener.fd = -1;
    brick->peers = g_ptr_array_new ();
    brick->parcels = g_ptr_array_new_with_free_func ((GDestroyNotify) brick_parcel_free);
    brick->waiting = g_ptr_array_new_with_free_func ((GDestroyNotify) brick_parcel_free);
    brick->locks = g_ptr_array_new_with_free_func (brick_lock_free);
    brick->wire = brick_gfids_new ();
    brick->local = brick_gfids_new ();
    brick->lost = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    return brick;
}

bool
brick_begin (struct brick *brick)
{
    const int r = brick_listen (brick);

    if (r < 0)
        fprintf (stderr,
                 "windlass conform: no socket for the brick of volume '%s' at '%s': %s\n",
                 brick->volume, brick->socket, g_strerror (-r));
    return r == 0;
}

bool
brick_is_up (const struct brick *brick)
{
    return brick->listener.fd >= 0;
}

/* --- parcels ---------------------------------------------------------------------------------- */

/* Delivers a parcel: executes the call, or sends the reply, that the parcel contains. Returns false
 * if the call has to wait for a lock; the parcel then has to be delivered again later. */
static bool
brick_parcel_deliver (struct brick_parcel *parcel)
{
    GByteArray *answer;

    if (parcel->reply) {
        brick_peer_send (parcel->peer, parcel->record);
        return true;
    }
    answer = brick_serve (parcel->peer, parcel->record);
    if (answer)
        brick_park (parcel->peer, answer, true, parcel->number);
    return answer != NULL;
}

void
brick_park (struct brick_peer *peer, GByteArray *record, bool answer, unsigned number)
{
    struct brick *brick = peer->brick;
    struct brick_parcel *parcel = g_new0 (struct brick_parcel, 1);

    *parcel = (struct brick_parcel){ peer, record, answer, number };
    g_ptr_array_add (brick->parcels, parcel);
    if (brick->calm)
        brick_deliver (brick, brick->parcels->len - 1);
}

void
brick_deliver (struct brick *brick, unsigned nth)
{
    struct brick_parcel *parcel = g_ptr_array_steal_index (brick->parcels, nth);

    if (brick_parcel_deliver (parcel))
        brick_parcel_free (parcel);
    else
        g_ptr_array_add (brick->waiting, parcel);
    if (brick->unlocked)
        brick_park_waiting (brick);
}

void
brick_park_waiting (struct brick *brick)
{
    brick->unlocked = false;
    while (brick->waiting->len > 0)
        g_ptr_array_add (brick->parcels, g_ptr_array_steal_index (brick->waiting, 0));
    brick_calm (brick, brick->calm);
}

void
brick_calm (struct brick *brick, bool calm)
{
    brick->calm = calm;
    while (calm && brick->parcels->len > 0)
        brick_deliver (brick, 0);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Returns whether brick_kill executes the call in the parcel, which the test has not delivered,
 * before the brick dies. The seed decides. */
static bool
brick_kill_does (const struct brick *brick, const struct brick_parcel *parcel)
{
    struct random_source source = { brick->seed + parcel->number };

    return random_next (&source) & 1;
}

static void
brick_note_lost (struct brick *brick, struct brick_peer *peer)
{
    GHashTableIter iter;
    gpointer fd;

    g_hash_table_iter_init (&iter, peer->fds);
    while (g_hash_table_iter_next (&iter, NULL, &fd)) {
        struct fstat_reply reply;
        const gfid_t gfid = brick_gfid_to_wire (brick, &((fd_t *) fd)->inode->gfid);

        if (sync_fstat (brick->client, fd, NULL, &reply) < 0 || reply.buf.ia_nlink == 0)
            g_hash_table_add (brick->lost, g_memdup2 (&gfid, sizeof gfid));
        fstat_reply_drop (&reply);
    }
}

void
brick_kill (struct brick *brick)
{
    for (guint i = 0; i < brick->parcels->len; i++) {
        const struct brick_parcel *parcel = brick->parcels->pdata[i];
        GByteArray *answer = !parcel->reply && brick_kill_does (brick, parcel)
                               ? brick_serve (parcel->peer, parcel->record)
                               : NULL;
        if (answer)
            g_byte_array_unref (answer);
    }
    for (guint i = 0; i < brick->peers->len; i++)
        brick_note_lost (brick, brick->peers->pdata[i]);
    brick_hang_up (brick);
}

bool
brick_lost (const struct brick *brick, const gfid_t *gfid)
{
    return g_hash_table_contains (brick->lost, gfid);
}

void
brick_free (struct brick *brick)
{
    if (brick_is_up (brick))
        brick_hang_up (brick);
    loop_leave ();
    client_free (brick->client);
    graph_free (brick->graph);
    g_ptr_array_unref (brick->peers);
    g_ptr_array_unref (brick->parcels);
    g_ptr_array_unref (brick->waiting);
    g_ptr_array_unref (brick->locks);
    g_hash_table_unref (brick->wire);
    g_hash_table_unref (brick->local);
    g_hash_table_unref (brick->lost);
    g_free (brick->volume);
    g_free (brick->directory);
    g_free (brick->socket);
    g_free (brick);
}
