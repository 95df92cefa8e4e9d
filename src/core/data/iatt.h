/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes of an inode: the fields of stat(2) and statx(2), and the gfid. */
#ifndef WINDLASS_CORE_DATA_IATT_H
#define WINDLASS_CORE_DATA_IATT_H

#include "core/base/gfid.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

typedef enum ia_type {
    IA_INVAL,
    IA_IFREG,
    IA_IFDIR,
    IA_IFLNK,
    IA_IFBLK,
    IA_IFCHR,
    IA_IFIFO,
    IA_IFSOCK,
} ia_type_t;

struct iatt {
    gfid_t ia_gfid;
    uint64_t ia_ino;
    uint64_t ia_dev;
    uint64_t ia_rdev;
    uint64_t ia_size;
    uint64_t ia_blocks; /* in units of 512 bytes */
    uint32_t ia_blksize;
    uint32_t ia_nlink;
    uint32_t ia_uid;
    uint32_t ia_gid;
    ia_type_t ia_type;
    uint32_t ia_prot; /* permission bits with setuid, setgid and sticky: mode & 07777 */
    int64_t ia_atime, ia_mtime, ia_ctime, ia_btime; /* seconds; ia_btime 0: unknown */
    uint32_t ia_atime_nsec, ia_mtime_nsec, ia_ctime_nsec, ia_btime_nsec;
    uint64_t ia_attributes; /* STATX_ATTR_* bits; ia_attributes_mask tells which of them are
                             * known */
    uint64_t ia_attributes_mask;
};

/* The attributes that setattr and fsetattr are to change. */
enum {
    IATT_MODE = 1 << 0,
    IATT_UID = 1 << 1,
    IATT_GID = 1 << 2,
    IATT_SIZE = 1 << 3,
    IATT_ATIME = 1 << 4,
    IATT_MTIME = 1 << 5,
    IATT_CTIME = 1 << 6,
    IATT_ATIME_NOW = 1 << 7,
    IATT_MTIME_NOW = 1 << 8,
    IATT_KILL_PRIV = 1 << 9, /* removes setuid, setgid and capabilities as well */
};

ia_type_t ia_type_of_mode (mode_t mode);
mode_t mode_of_iatt (const struct iatt *iatt);

/* For attributes of one file from two copies: takes over owner, group, mode and the later ctime. */
void iatt_take_rights (struct iatt *to, const struct iatt *from);

/* Returns whether the file had not changed for a while at the time of day asked. If so, data read
 * after that time and attributes that come with the answer belong together. Otherwise one of the
 * two may miss a change made in between, or in the same tick of the file system's clock. */
bool iatt_is_settled (const struct iatt *iatt, struct timespec asked);

/* Conversions. struct stat and statx have no gfid: iatt_of_stat and iatt_of_statx set it to
 * null. */
struct statx;

void iatt_of_stat (struct iatt *ret_iatt, const struct stat *st);
void iatt_of_statx (struct iatt *ret_iatt, const struct statx *stx);
void stat_of_iatt (struct stat *ret_st, const struct iatt *iatt);

#endif
