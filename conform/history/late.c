/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks that fsyncs report lost writes. A translator with TOUCHES_ANSWERS answers a client's write
 * before storage has the data. So the write may fail at storage after the client got a success. The
 * model accepts both that such a write happened and that it did not. But the next fsync of the open
 * file description through which the client wrote must fail, as fsync(2) specifies. If a flush of
 * this description comes first, it may report the error instead of the fsync. The first fsync or
 * flush of any other description of the file may report the error, too.
 */
#include "conform/history/drive.h"

#include <fcntl.h>

/* fd: number of an open. Returns the record of the successful open or create with that number, or
 * NULL. */
static const struct operation *
open_of (const struct drive *drive, int fd)
{
    for (guint i = 0; i < drive->seens->len; i++) {
        const struct operation *seen = drive->seens->pdata[i];
        if (seen->fd == fd && seen->responded != G_MAXUINT && seen->ret >= 0
            && (seen->op == FOP_open || seen->op == FOP_create))
            return seen;
    }
    return NULL;
}

static int
node_of_open (const struct drive *drive, int fd)
{
    const struct operation *open = open_of (drive, fd);

    return !open ? -1 : open->op == FOP_create ? open->found : open->node;
}

static bool
is_part (const struct drive *drive, const struct operation *seen, int node, const struct call *call)
{
    const struct operation *open = seen->op == FOP_writev ? open_of (drive, seen->fd) : NULL;

    if (!open || node_of_open (drive, seen->fd) != node
        || (seen->responded != G_MAXUINT && seen->ret <= 0))
        return false;
    if (call->fd->flags & O_APPEND || open->flags & O_APPEND)
        return call->fd->flags & open->flags & O_APPEND;
    return seen->offset < call->offset + (off_t) call->size
        && call->offset < seen->offset + (off_t) seen->size;
}

void
drive_late (struct drive *drive, const struct call *call)
{
    const struct late late = { .node = drive_number (drive, &call->fd->inode->gfid),
                               .time = drive->clock++ };

    g_array_append_val (drive->lates, late);
    for (guint i = 0; i < drive->seens->len; i++) {
        struct operation *seen = drive->seens->pdata[i];
        if (is_part (drive, seen, late.node, call))
            seen->late_fault = true;
    }
}

static bool
asks (const struct operation *seen)
{
    return seen->op == FOP_fsync || seen->op == FOP_flush;
}

/* seen: record of an fsync or flush. Looks for the last fsync or flush of the same open file
 * description that got an error before `seen` was answered. Returns the time of its call if begun
 * is true, the time of its answer if begun is false, or 0 if there is none. */
static unsigned
told_before (const struct drive *drive, const struct operation *seen, bool begun)
{
    unsigned last = 0;

    for (guint i = 0; i < drive->seens->len; i++) {
        const struct operation *other = drive->seens->pdata[i];
        if (asks (other) && other->fd == seen->fd && other->ret < 0
            && other->responded < seen->responded)
            last = MAX (last, begun ? other->invoked : other->responded);
    }
    return last;
}

/* Sets late_fault if seen is an fsync or flush whose error may be the report of a lost write (a
 * write that failed at storage after its answer). It may be, unless an earlier fsync or flush of
 * the same open file description has reported that write. An earlier error reports only the writes
 * that had failed before the call of that fsync or flush. */
void
drive_late_answer (struct drive *drive, struct operation *seen)
{
    const int node = asks (seen) && seen->ret < 0 ? node_of_open (drive, seen->fd) : -1;

    for (guint i = 0; node >= 0 && i < drive->lates->len; i++) {
        const struct late *late = &g_array_index (drive->lates, struct late, i);
        if (late->node == node && late->time > told_before (drive, seen, true))
            seen->late_fault = true;
    }
}

/* late: the failure of a write at storage, after clients got answers to their writes of the same
 * data. Returns whether the fsync must report it. It must if a write through the fsync's open file
 * description was answered before the failure, and no flush of this description was called, which
 * could have reported the failure in place of the fsync. */
static bool
has_to_know (const struct drive *drive, const struct operation *fsync, const struct late *late)
{
    bool wrote = false;

    for (guint i = 0; i < drive->seens->len; i++) {
        const struct operation *seen = drive->seens->pdata[i];
        if (seen->fd != fsync->fd || seen->invoked > fsync->responded)
            continue;
        if (seen->op == FOP_flush)
            return false;
        wrote |= seen->op == FOP_writev && seen->ret > 0 && seen->responded < late->time;
    }
    return wrote;
}

char *
drive_late_check (const struct drive *drive)
{
    for (guint i = 0; i < drive->seens->len; i++) {
        const struct operation *seen = drive->seens->pdata[i];
        const int node = seen->op == FOP_fsync && seen->ret >= 0 && seen->responded != G_MAXUINT
                           ? node_of_open (drive, seen->fd)
                           : -1;

        for (guint j = 0; node >= 0 && j < drive->lates->len; j++) {
            const struct late *late = &g_array_index (drive->lates, struct late, j);
            if (late->node == node && late->time < seen->invoked
                && late->time > told_before (drive, seen, false) && has_to_know (drive, seen, late))
                return g_strdup_printf ("line %u, client %u: fsync succeeds, but a write that was "
                                        "answered had failed before, and this "
                                        "description got no error\n",
                                        seen->line, seen->client + 1);
        }
    }
    return NULL;
}
