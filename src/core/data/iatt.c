/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/iatt.h"

#include <sys/sysmacros.h>

ia_type_t
ia_type_of_mode (mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return IA_IFREG;
    case S_IFDIR:
        return IA_IFDIR;
    case S_IFLNK:
        return IA_IFLNK;
    case S_IFBLK:
        return IA_IFBLK;
    case S_IFCHR:
        return IA_IFCHR;
    case S_IFIFO:
        return IA_IFIFO;
    case S_IFSOCK:
        return IA_IFSOCK;
    default:
        return IA_INVAL;
    }
}

mode_t
mode_of_iatt (const struct iatt *iatt)
{
    static const mode_t types[] = {
        [IA_INVAL] = 0,       [IA_IFREG] = S_IFREG, [IA_IFDIR] = S_IFDIR, [IA_IFLNK] = S_IFLNK,
        [IA_IFBLK] = S_IFBLK, [IA_IFCHR] = S_IFCHR, [IA_IFIFO] = S_IFIFO, [IA_IFSOCK] = S_IFSOCK
    };

    return types[iatt->ia_type] | (iatt->ia_prot & 07777);
}

#define SETTLED 100000000 /* nanoseconds; larger than the granularity of file systems' times */

void
iatt_take_rights (struct iatt *to, const struct iatt *from)
{
    to->ia_uid = from->ia_uid;
    to->ia_gid = from->ia_gid;
    to->ia_prot = from->ia_prot;
    if (from->ia_ctime > to->ia_ctime
        || (from->ia_ctime == to->ia_ctime && from->ia_ctime_nsec > to->ia_ctime_nsec)) {
        to->ia_ctime = from->ia_ctime;
        to->ia_ctime_nsec = from->ia_ctime_nsec;
    }
}

bool
iatt_is_settled (const struct iatt *iatt, struct timespec asked)
{
    const int64_t seconds = asked.tv_sec - iatt->ia_ctime;

    if (seconds < 0 || seconds > 2)
        return seconds > 0;
    return seconds * 1000000000 + asked.tv_nsec - (int64_t) iatt->ia_ctime_nsec > SETTLED;
}

void
iatt_of_stat (struct iatt *ret_iatt, const struct stat *st)
{
    *ret_iatt = (struct iatt){
        .ia_ino = st->st_ino,
        .ia_dev = st->st_dev,
        .ia_rdev = st->st_rdev,
        .ia_size = st->st_size,
        .ia_blocks = st->st_blocks,
        .ia_blksize = st->st_blksize,
        .ia_nlink = st->st_nlink,
        .ia_uid = st->st_uid,
        .ia_gid = st->st_gid,
        .ia_type = ia_type_of_mode (st->st_mode),
        .ia_prot = st->st_mode & 07777,
        .ia_atime = st->st_atim.tv_sec,
        .ia_mtime = st->st_mtim.tv_sec,
        .ia_ctime = st->st_ctim.tv_sec,
        .ia_atime_nsec = st->st_atim.tv_nsec,
        .ia_mtime_nsec = st->st_mtim.tv_nsec,
        .ia_ctime_nsec = st->st_ctim.tv_nsec,
    };
}

void
iatt_of_statx (struct iatt *ret_iatt, const struct statx *stx)
{
    bool btime = stx->stx_mask & STATX_BTIME;

    *ret_iatt = (struct iatt){
        .ia_ino = stx->stx_ino,
        .ia_dev = makedev (stx->stx_dev_major, stx->stx_dev_minor),
        .ia_rdev = makedev (stx->stx_rdev_major, stx->stx_rdev_minor),
        .ia_size = stx->stx_size,
        .ia_blocks = stx->stx_blocks,
        .ia_blksize = stx->stx_blksize,
        .ia_nlink = stx->stx_nlink,
        .ia_uid = stx->stx_uid,
        .ia_gid = stx->stx_gid,
        .ia_type = ia_type_of_mode (stx->stx_mode),
        .ia_prot = stx->stx_mode & 07777,
        .ia_atime = stx->stx_atime.tv_sec,
        .ia_mtime = stx->stx_mtime.tv_sec,
        .ia_ctime = stx->stx_ctime.tv_sec,
        .ia_btime = btime ? stx->stx_btime.tv_sec : 0,
        .ia_atime_nsec = stx->stx_atime.tv_nsec,
        .ia_mtime_nsec = stx->stx_mtime.tv_nsec,
        .ia_ctime_nsec = stx->stx_ctime.tv_nsec,
        .ia_btime_nsec = btime ? stx->stx_btime.tv_nsec : 0,
        .ia_attributes = stx->stx_attributes,
        .ia_attributes_mask = stx->stx_attributes_mask,
    };
}

void
stat_of_iatt (struct stat *ret_st, const struct iatt *iatt)
{
    *ret_st = (struct stat){
        .st_ino = iatt->ia_ino,
        .st_dev = iatt->ia_dev,
        .st_rdev = iatt->ia_rdev,
        .st_size = iatt->ia_size,
        .st_blocks = iatt->ia_blocks,
        .st_blksize = iatt->ia_blksize,
        .st_nlink = iatt->ia_nlink,
        .st_uid = iatt->ia_uid,
        .st_gid = iatt->ia_gid,
        .st_mode = mode_of_iatt (iatt),
        .st_atim = { iatt->ia_atime, iatt->ia_atime_nsec },
        .st_mtim = { iatt->ia_mtime, iatt->ia_mtime_nsec },
        .st_ctim = { iatt->ia_ctime, iatt->ia_ctime_nsec },
    };
}
