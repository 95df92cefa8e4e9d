/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The bricks of a history (conform/brick). Each volume of type protocol/client has one, which runs
 * in this process. The seed decides when a brick is killed and when it starts again. At most one
 * brick is down at a time. If the graph has cluster/replicate, a history kills only one of the
 * bricks, which the seed chooses: the copies on this brick may lack changes until they are healed,
 * so with another brick down too few good copies would be left. So no operation may fail because of
 * a kill then. */
#include "conform/history/drive.h"

#include "core/time/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Kinds of random decisions of this file, for drive_chance. */
enum { CHANCE_KILL = 200, CHANCE_BEGIN, CHANCE_HASTE, CHANCE_PARCEL, CHANCE_PARCEL_TOO };

#define KILL_ONE_IN 10 /* before one of so many lines a brick is killed */
#define BEGIN_ONE_IN 2 /* before one of so many lines a brick that is down starts again */
#define HASTE_ONE_IN 6 /* one of so many lines does not wait until protocol/client is connected */
#define STEPS_TO_CONNECT 10000 /* maximum number of steps of the scheduler to wait for
                                * connections */

#define WIRE_TYPE "protocol/client"

#define COPIES_TYPE "cluster/replicate"
#define PARTS_TYPE "cluster/distribute"

static bool
volfile_has (const struct volfile *volfile, const char *type)
{
    bool found = false;

    for (guint i = 0; i < volfile->volumes->len; i++)
        found |= g_strcmp0 (((struct volfile_volume *) volfile->volumes->pdata[i])->type, type)
              == 0;
    return found;
}

/* GlusterFS's protocol can't send the flags of renameat2, so a graph with protocol/client has no
 * CAN_EXCHANGE. cluster/replicate has no copy_file_range, so a graph with it has no CAN_COPY. */
unsigned
history_inabilities (const struct conform_options *options)
{
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (options->volfile, &error);
    unsigned unable = 0;

    if (!volfile)
        return 0;
    unable |= volfile_has (volfile, WIRE_TYPE) ? CAN_EXCHANGE : 0;
    unable |= volfile_has (volfile, COPIES_TYPE) ? CAN_COPY : 0;
    volfile_free (volfile);
    return unable;
}

static bool
graph_has_type (const struct graph *graph, const char *type)
{
    bool found = false;

    for (guint i = 0; i < graph->xlators->len; i++)
        found |= g_strcmp0 (((xlator_t *) graph->xlators->pdata[i])->type, type) == 0;
    return found;
}

bool
bricks_have_copies (const struct graph *graph)
{
    return graph_has_type (graph, COPIES_TYPE);
}

bool
bricks_have_trash (const struct graph *graph)
{
    return graph_has_type (graph, "features/trash");
}

bool
bricks_have_parts (const struct graph *graph)
{
    return graph_has_type (graph, PARTS_TYPE);
}

/* --- making ----------------------------------------------------------------------------------- */

/* Adds the options with which a volume connects to its brick. They switch the timeouts of
 * protocol/client off: after a timeout the client would get ENOTCONN, and the brick might execute
 * the call later. */
static void
settings_add (GPtrArray *settings, const char *volume, const char *socket)
{
    static const char *const constant[] = { "transport-type=unix", "frame-timeout=0",
                                            "ping-timeout=0" };

    for (size_t i = 0; i < G_N_ELEMENTS (constant); i++)
        g_ptr_array_add (settings, g_strdup_printf ("%s.%s", volume, constant[i]));
    g_ptr_array_add (settings,
                     g_strdup_printf ("%s.transport.socket.connect-path=%s", volume, socket));
}

/* Returns the path of a brick's socket in the scratch directory. The path of a socket has at most
 * 107 bytes, and that of a scratch directory may be longer. So this function opens the directory,
 * and returns a path below /proc/self/fd. The descriptor stays open until the process ends, after
 * its only history. */
static char *
socket_path (const char *scratch, unsigned number)
{
    return g_strdup_printf ("/proc/self/fd/%d/socket-%u",
                            open (scratch, O_PATH | O_DIRECTORY | O_CLOEXEC), number);
}

bool
bricks_make (GPtrArray *bricks, const struct volfile *volfile, const char *scratch, uint64_t seed,
             unsigned *storages, GPtrArray *settings)
{
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        if (g_strcmp0 (volume->type, WIRE_TYPE) != 0)
            continue;
        g_autofree char *back = g_strdup_printf ("%s/back-%u", scratch, (*storages)++);
        g_autofree char *socket = socket_path (scratch, bricks->len);
        struct brick *brick;

        G_GNUC_UNUSED g_autofree char *shown = conform_storage_make (volfile, back);
        brick = brick_new (volume->name, back, socket, seed + bricks->len);
        if (!brick || !brick_begin (brick))
            return false;
        brick_calm (brick, true); /* process messages without delay until the graph is active */
        settings_add (settings, volume->name, socket);
        g_ptr_array_add (bricks, brick);
    }
    return true;
}

/* --- the schedule ----------------------------------------------------------------------------- */

void
bricks_calm (struct drive *drive, bool calm)
{
    for (guint i = 0; i < drive->bricks->len; i++)
        brick_calm (drive->bricks->pdata[i], calm);
}

static bool
bricks_all_up (const struct drive *drive)
{
    bool up = true;

    for (guint i = 0; i < drive->bricks->len; i++)
        up &= brick_is_up (drive->bricks->pdata[i]);
    return up;
}

static bool
one_in (const struct drive *drive, unsigned kind, unsigned line, unsigned brick, unsigned n)
{
    return drive_chance (drive, kind, line, brick) % n == 0;
}

static bool
may_be_killed (const struct drive *drive, unsigned brick)
{
    return bricks_all_up (drive)
        && (!drive->has_copies || brick == drive->script->seed % drive->bricks->len);
}

void
bricks_before_line (struct drive *drive, const struct script_line *line)
{
    for (guint i = 0; i < drive->bricks->len && !line->calm; i++) {
        struct brick *brick = drive->bricks->pdata[i];

        if (may_be_killed (drive, i) && one_in (drive, CHANCE_KILL, line->number, i, KILL_ONE_IN)) {
            drive_log (drive, "  brick %u is killed", i);
            brick_kill (brick);
            drive->kills++;
        } else if (!brick_is_up (brick)
                   && one_in (drive, CHANCE_BEGIN, line->number, i, BEGIN_ONE_IN)) {
            drive_log (drive, "  brick %u begins again", i);
            brick_begin (brick);
        }
    }
}

/* Returns whether the protocol/client of the brick is connected. It is found by type and name,
 * since a gate (gate.c) has the same name as the translator below it. */
static bool
is_connected (const struct drive *drive, const struct brick *brick)
{
    const GPtrArray *xlators = drive->graph->xlators;
    bool up = false;

    for (guint i = 0; i < xlators->len; i++) {
        const xlator_t *xl = xlators->pdata[i];
        if (g_strcmp0 (xl->type, WIRE_TYPE) == 0 && strcmp (xl->name, brick->volume) == 0)
            up = __atomic_load_n (&xl->up, __ATOMIC_RELAXED);
    }
    return up;
}

/* Returns whether protocol/client is connected to each brick that is not down. */
static bool
all_connected (const struct drive *drive)
{
    bool connected = true;

    for (guint i = 0; i < drive->bricks->len; i++) {
        const struct brick *brick = drive->bricks->pdata[i];

        connected &= !brick_is_up (brick) || is_connected (drive, brick);
    }
    return connected;
}

/* Most lines wait until protocol/client is connected to every brick that is up, since otherwise
 * most operations would fail. One random line of HASTE_ONE_IN does not wait. */
bool
bricks_wait (const struct drive *drive, const struct script_line *line)
{
    return !all_connected (drive) && !one_in (drive, CHANCE_HASTE, line->number, 0, HASTE_ONE_IN);
}

/* Returns the priority of a message in the schedule. It is the minimum of two random numbers, so
 * that messages are delivered later than lines begin; release_worth does the same for held
 * calls. */
uint64_t
parcel_worth (const struct drive *drive, unsigned brick, unsigned nth)
{
    const struct brick *of = drive->bricks->pdata[brick];
    const struct brick_parcel *parcel = of->parcels->pdata[nth];
    const unsigned event = parcel->number << 1 | parcel->reply;
    const uint64_t a = drive_chance (drive, CHANCE_PARCEL, brick, event);
    const uint64_t b = drive_chance (drive, CHANCE_PARCEL_TOO, brick, event);

    return MIN (a, b);
}

/* --- the end ---------------------------------------------------------------------------------- */

char *
bricks_all_begin (struct drive *drive)
{
    for (guint i = 0; i < drive->bricks->len; i++)
        if (!brick_is_up (drive->bricks->pdata[i]))
            brick_begin (drive->bricks->pdata[i]);
    bricks_calm (drive, true);
    for (unsigned n = 0; n < STEPS_TO_CONNECT && !all_connected (drive); n++)
        scheduler_step ();
    return all_connected (drive)
             ? NULL
             : g_strdup ("a brick was started again, and protocol/client does not connect to it\n");
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool
fd_is_lost (const struct drive *drive, const fd_t *fd)
{
    bool lost = false;

    for (guint i = 0; fd && i < drive->bricks->len; i++)
        lost |= brick_lost (drive->bricks->pdata[i], &fd->inode->gfid);
    return lost;
}

bool
bricks_hide_names (const struct drive *drive)
{
    return drive->has_parts && drive->kills > 0 && !drive->calm;
}

/* If a brick was killed, an operation may fail with ENOTCONN. It may fail with any error if the
 * client has a file open that had no name any more at the kill: the brick has lost this file. Over
 * cluster/replicate there is no such excuse. */
bool
bricks_excuse (const struct actor *actor, const struct answer *answer)
{
    const struct drive *drive = actor->drive;
    bool lost = fd_is_lost (drive, actor->own.fd);

    if (drive->kills == 0 || drive->has_copies || answer->op_ret >= 0)
        return false;
    for (unsigned i = 0; i < CLIENT_FDS; i++)
        lost |= fd_is_lost (drive, actor->files[i].fd);
    return lost || (answer->op_errno == ENOTCONN && !drive->calm);
}
