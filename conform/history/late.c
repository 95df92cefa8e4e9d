/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A translator with TOUCHES_ANSWERS answers writes before storage has them, so a write may fail
 * after the client got its success. The model accepts it whether such a write happened or not. But
 * the next fsync of the open file description that wrote must fail, as fsync(2) specifies. An
 * earlier flush may report the error instead. So may the first fsync of another description that
 * wrote to the file.
 */
#include "conform/history/drive.h"

#include <fcntl.h>

/* Returns the open or create that made the description, or NULL. */
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

/* seen: an fsync or flush of an open file description. Returns a time of the last fsync or flush of
 * the same description that failed before `seen` was answered, or 0 if none failed. If begun is
 * true, it is the time of the failed operation's call, else the time of its answer. */
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

/* A failed fsync or flush may report a write that failed after its answer, unless an earlier fsync
 * or flush of the same description has reported it. The earlier one counts as a report only of the
 * writes that had failed before its call. A write that failed after that call may be unreported. */
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

/* late: a write to storage that failed after clients had got their answers. Returns whether the
 * fsync has to report it: a write through the fsync's open file description was answered before the
 * failure, and no flush of this description can have reported the failure. */
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
