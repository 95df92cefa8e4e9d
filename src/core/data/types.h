/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Types of the values that operations carry; each is declared in its own header in this folder. */
#ifndef WINDLASS_CORE_DATA_TYPES_H
#define WINDLASS_CORE_DATA_TYPES_H

#include <stdint.h>
#include <sys/types.h>

typedef struct inode inode_t;
typedef struct fd fd_t;
typedef struct loc loc_t;
typedef struct dict dict_t;
typedef struct gf_dirent gf_dirent_t;
struct iatt;
struct iobuf;
struct iobref;

/* A POSIX record lock, like struct flock; l_len 0 means to the end of the file. */
struct gf_flock {
    short l_type; /* F_RDLCK, F_WRLCK, F_UNLCK */
    short l_whence;
    off_t l_start;
    off_t l_len;
    pid_t l_pid;
    uint64_t l_owner;
};

/* Commands and types of entrylk, and what xattrop does with an array of numbers in an attribute
 * (big-endian, as GlusterFS stores them): the values of GlusterFS 10.3. */
enum { ENTRYLK_LOCK, ENTRYLK_UNLOCK, ENTRYLK_LOCK_NB };
enum { ENTRYLK_RDLCK, ENTRYLK_WRLCK };
enum {
    XATTROP_ADD_ARRAY,   /* adds numbers of 32 bits */
    XATTROP_ADD_ARRAY64,
    XATTROP_OR_ARRAY,
    XATTROP_AND_ARRAY,
    XATTROP_GET_AND_SET, /* sets the value, and returns the old one */
};

#endif
