/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The space of a file: ftruncate, fallocate, discard, zerofill. The four differ only in the system
 * call. */
#include "../posix.h"

#include <linux/falloc.h>

#define ROOM_CHUNK (1 << 20) /* bytes of zeros per write */

struct room {
    int mode; /* of fallocate(2), or ROOM_TRUNCATE */
    off_t offset;
    size_t len;
};

#define ROOM_TRUNCATE (-1)

/* For a file system that can't zero a range with fallocate(2): writes zeros. */
static int
room_write_zeros (int fd, off_t offset, size_t len)
{
    g_autofree char *zeros = g_try_malloc0 (MIN (len, ROOM_CHUNK));

    if (!zeros)
        return -ENOMEM;
    while (len > 0) {
        ssize_t n = pwrite (fd, zeros, MIN (len, ROOM_CHUNK), offset);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        offset += n;
        len -= (size_t) n;
    }
    return 0;
}

static int
room_make (int fd, const struct room *room)
{
    int r;

    if (room->mode == ROOM_TRUNCATE)
        return posix_result (ftruncate (fd, room->offset));
    if (room->offset < 0 || room->len == 0 || room->len > (size_t) (G_MAXINT64 - room->offset))
        return room->offset < 0 || room->len == 0 ? -EINVAL : -EFBIG;
    do
        r = posix_result (fallocate (fd, room->mode, room->offset, (off_t) room->len));
    while (r == -EINTR);
    return r == -EOPNOTSUPP && room->mode == FALLOC_FL_ZERO_RANGE
               ? room_write_zeros (fd, room->offset, room->len)
               : r;
}

static int
room_change (call_frame_t *frame, xlator_t *this, fd_t *fd, const struct room *room,
             struct posix_change *change)
{
    g_auto (posix_use_t) use = { 0 };
    int r = posix_use_begin (this, fd, &use);

    if (r >= 0 && room->mode != ROOM_TRUNCATE && !(room->mode & FALLOC_FL_PUNCH_HOLE))
        r = posix_reserve_check (this);
    if (r >= 0)
        r = posix_act_as_owner (posix_priv (this), frame);
    if (r < 0)
        return r;
    posix_before (frame, this, WANTS_DATA_ATTRIBUTES, use.fd, &use.pfd->gfid, change);
    r = room_make (use.fd, room);
    posix_after (this, use.fd, &use.pfd->gfid, change);
    return r;
}

void
posix_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = room_change (frame, this, fd, &(struct room){ ROOM_TRUNCATE, offset, 0 }, &change);

    STACK_UNWIND (ftruncate, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  NULL);
}

void
posix_allocate (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t mode, off_t offset,
                size_t len, dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = mode < 0 ? -EOPNOTSUPP
                     : room_change (frame, this, fd, &(struct room){ mode, offset, len }, &change);

    STACK_UNWIND (fallocate, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  NULL);
}

void
posix_discard (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
               dict_t *xdata)
{
    struct posix_change change = { 0 };
    const struct room room = { FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, len };
    int r = room_change (frame, this, fd, &room, &change);

    STACK_UNWIND (discard, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  NULL);
}

void
posix_zerofill (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                dict_t *xdata)
{
    struct posix_change change = { 0 };
    int r = room_change (frame, this, fd, &(struct room){ FALLOC_FL_ZERO_RANGE, offset, len },
                         &change);

    STACK_UNWIND (zerofill, frame, POSIX_RET (r), posix_pre (&change, r), posix_post (&change, r),
                  NULL);
}
