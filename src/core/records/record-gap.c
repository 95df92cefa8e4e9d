/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Gaps of a log of records, and what is kept of them beside the files. */
#include "core/records/record-internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT_SIZE 256 /* bytes that a kept text has at most */

bool
record_gap_is_open (const struct record_gap *gap)
{
    return gap->lost + gap->notes > 0;
}

void
record_gap_add (struct record_gap *gap, const struct record_gap *more)
{
    if (!record_gap_is_open (more))
        return;
    if (!record_gap_is_open (gap) || more->since.tv_sec < gap->since.tv_sec)
        gap->since = more->since;
    if (more->lost > 0) {
        gap->first = gap->lost > 0 ? MIN (gap->first, more->first) : more->first;
        gap->last = gap->lost > 0 ? MAX (gap->last, more->last) : more->last;
    }
    gap->lost += more->lost;
    gap->notes += more->notes;
    gap->at_least |= more->at_least;
}

void
record_gap_drop_told (struct record_gap *gap, uint64_t number)
{
    if (gap->lost == 0 || number < gap->first)
        return;
    if (number >= gap->last) {
        gap->lost = gap->first = gap->last = 0;
        gap->at_least = false;
        return;
    }
    gap->first = number + 1;
    gap->lost = 1;
    gap->at_least = true;
}

/* --- beside the files ------------------------------------------------------------------------- */

/* Every text has the same length, and the first one is written before the log takes a record. So
 * the later ones overwrite blocks that the file has already, which needs no room. In the form of a
 * record, whose numbers record_file_last_number finds. */
bool
record_file_keep (int lock_fd, const struct record_kept *kept)
{
    const struct record_gap *gap = &kept->gap;
    char text[KEPT_SIZE];
    const int size =
        snprintf (text, sizeof text,
                  "{\"unwind\":%020" PRIu64 ",\"gap\":%020" PRIu64 ",\"first\":%020" PRIu64
                  ",\"last\":%020" PRIu64 ",\"notes\":%020" PRIu64 ",\"seconds\":%020" PRIu64
                  ",\"errno\":%010d,\"at_least\":%d}\n",
                  kept->number, gap->lost, gap->first, gap->last, gap->notes,
                  (uint64_t) gap->since.tv_sec, kept->error, gap->at_least);

    return pwrite (lock_fd, text, (size_t) size, 0) == size;
}

void
record_file_kept (int directory, const char *name, struct record_kept *ret_kept)
{
    g_autofree char *file = g_strdup_printf (".%s.lock", name);
    const int fd = openat (directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct record_gap *gap = &ret_kept->gap;
    char text[KEPT_SIZE] = "";
    uint64_t seconds = 0;
    int at_least = 0;

    memset (ret_kept, 0, sizeof *ret_kept);
    if (fd >= 0 && pread (fd, text, sizeof text - 1, 0) > 0
        && sscanf (text,
                   "{\"unwind\":%" SCNu64 ",\"gap\":%" SCNu64 ",\"first\":%" SCNu64
                   ",\"last\":%" SCNu64 ",\"notes\":%" SCNu64 ",\"seconds\":%" SCNu64
                   ",\"errno\":%d,\"at_least\":%d}",
                   &ret_kept->number, &gap->lost, &gap->first, &gap->last, &gap->notes, &seconds,
                   &ret_kept->error, &at_least) < 8)
        memset (gap, 0, sizeof *gap); /* of an older version: a number alone */
    gap->since.tv_sec = (time_t) seconds;
    gap->at_least = at_least;
    if (fd >= 0)
        close (fd);
}
