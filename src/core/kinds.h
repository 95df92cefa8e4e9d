/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kinds of value that fops carry: which C type each is, how one is kept beyond the call it was
 * lent for, how a kept one is dropped, and how it prints. fops.def names a kind in every row.
 */
#ifndef WINDLASS_CORE_KINDS_H
#define WINDLASS_CORE_KINDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef struct inode inode_t;
typedef struct fd fd_t;
typedef struct loc loc_t;
typedef struct dict dict_t;
typedef struct gf_dirent gf_dirent_t;
struct iatt;
struct iobuf;
struct iobref;

/* A POSIX record lock, as struct flock has it; l_len 0 is to the end of the file. */
struct gf_flock {
    short l_type; /* F_RDLCK, F_WRLCK, F_UNLCK */
    short l_whence;
    off_t l_start;
    off_t l_len;
    pid_t l_pid;
    uint64_t l_owner;
};

#define C_LOC loc_t *
#define C_FD fd_t *
#define C_INODE inode_t *
#define C_IATT struct iatt *
#define C_DICT dict_t *
#define C_VECTOR struct iovec *
#define C_COUNT int32_t
#define C_IOBREF struct iobref *
#define C_SIZE size_t
#define C_OFFSET off_t
#define C_FLAGS uint32_t
#define C_INT int32_t
#define C_MODE mode_t
#define C_DEV dev_t
#define C_NAME const char *
#define C_STATVFS struct statvfs *
#define C_DIRENTS gf_dirent_t *
#define C_LOCK struct gf_flock *
#define C_BYTES GBytes *

/* All of them, for who looks at values one by one: KIND_LOC, ... */
#define KIND_LIST(X)                                                                               \
    X (LOC) X (FD) X (INODE) X (IATT) X (DICT) X (VECTOR) X (COUNT) X (IOBREF) X (SIZE) X (OFFSET) \
    X (FLAGS) X (INT) X (MODE) X (DEV) X (NAME) X (STATVFS) X (DIRENTS) X (LOCK) X (BYTES)

enum kind {
#define KIND_NUMBER(kind) KIND_##kind,
    KIND_LIST (KIND_NUMBER)
#undef KIND_NUMBER
};

#endif
