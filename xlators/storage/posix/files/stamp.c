/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * With features/utime, changes get the time of the request in place of the system's time. So
 * several storages that the same request changes have the same mtime and atime. The system decides
 * which times an operation moves; each time that has moved is then set. The ctime can't be set, and
 * stays the system's.
 */
#include "../posix.h"

static const struct timespec stamp_leave = { .tv_nsec = UTIME_OMIT };

const struct timespec *
posix_stamp_of (const call_frame_t *frame)
{
    return __atomic_load_n (&frame->root->times, __ATOMIC_RELAXED) & TIMES_OF_REQUEST
             ? &frame->root->ctime
             : NULL;
}

static bool
stamp_is_later (const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec > b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec > b->tv_nsec);
}

static struct timespec
mtime_of (const struct iatt *iatt)
{
    return (struct timespec){ .tv_sec = iatt->ia_mtime, .tv_nsec = iatt->ia_mtime_nsec };
}

static int
set_times (xlator_t *this, int fd, const struct timespec *atime, const struct timespec *mtime)
{
    posix_act_as_root (posix_priv (this)); /* a writer need not own the file */
    return posix_set_times (fd, (const struct timespec[]){ *atime, *mtime });
}

/* Two requests may arrive in another order than they were made in. The later request's time stays,
 * in either order. But an earlier time that was in the future, set by a caller or by a clock that
 * went back since, does not count. */
void
posix_stamp_change (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change)
{
    const struct timespec before = mtime_of (&change->pre), now = mtime_of (&change->post);
    const struct timespec *stamp = change->stamp;

    if (before.tv_sec == now.tv_sec && before.tv_nsec == now.tv_nsec)
        return;
    if (stamp_is_later (&before, stamp) && stamp_is_later (&now, &before))
        stamp = &before;
    if (set_times (this, fd, &stamp_leave, stamp) == 0)
        change->wanted = posix_iatt (this, fd, gfid, &change->post) == 0;
}

void
posix_stamp_new (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf)
{
    const struct timespec *stamp = posix_stamp_of (frame);
    const gfid_t gfid = buf->ia_gfid;

    if (stamp && set_times (this, fd, stamp, stamp) == 0)
        posix_iatt (this, fd, &gfid, buf);
}

void
posix_stamp_cut_off (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf)
{
    const struct timespec *stamp = posix_stamp_of (frame);
    const gfid_t gfid = buf ? buf->ia_gfid : (gfid_t){ 0 };

    if (stamp && set_times (this, fd, &stamp_leave, stamp) == 0 && buf)
        posix_iatt (this, fd, &gfid, buf);
}

int
posix_stamp_now (const call_frame_t *frame, xlator_t *this, int fd, uint32_t valid)
{
    const struct timespec *stamp = posix_stamp_of (frame);

    return set_times (this, fd, valid & IATT_ATIME_NOW ? stamp : &stamp_leave,
                      valid & IATT_MTIME_NOW ? stamp : &stamp_leave);
}
