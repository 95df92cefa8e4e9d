/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The origin of a file that an overlay has copied: which file it was, by the UUID of its file
 * system and by its file handle. The bytes are those of the kernel's overlayfs, in the attribute
 * trusted.overlay.origin (struct ovl_fb of fs/overlayfs/overlayfs.h, version 0):
 *
 *   0   version 0     1   magic 0xfb     2   number of all bytes     3   flags
 *   4   type of the handle     5   UUID     21   handle
 *
 * A value without bytes means that a file was copied, but not from where.
 */
#ifndef WINDLASS_CORE_DATA_ORIGIN_H
#define WINDLASS_CORE_DATA_ORIGIN_H

#include "core/base/gfid.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORIGIN_HANDLE_MAX 128 /* MAX_HANDLE_SZ of the kernel */
#define ORIGIN_HEAD 21
#define ORIGIN_MAX (ORIGIN_HEAD + ORIGIN_HANDLE_MAX)

struct origin {
    unsigned char uuid[16]; /* of the file system; zeros: it has none */
    int type;               /* of the handle: 0 to 255 */
    unsigned size;          /* of the handle, in bytes: 1 to ORIGIN_HANDLE_MAX */
    bool upper;             /* the file was in the upper layer of an overlay */
    unsigned char handle[ORIGIN_HANDLE_MAX];
};

/* Stores the attribute's value, and returns its size; 0: type or size can't be expressed. */
size_t origin_encode (const struct origin *origin, unsigned char ret_bytes[ORIGIN_MAX]);

/* Returns 0; -ENODATA if the origin is not known, or not known to this version or byte order; or
 * -EINVAL if the bytes are no origin. */
int origin_decode (const void *bytes, size_t size, struct origin *ret_origin);

/* The virtual attribute with which storage answers these bytes for one of its files, and the key of
 * xdata of a lookup without a name: storage then finds the file that has them. The lookup is made
 * as the daemon; a caller's rights play no part. It fails with EINVAL, as origin_decode says; with
 * EOPNOTSUPP if storage can't open files by handle; with EXDEV for a file of another file system;
 * and with ESTALE if the file does not exist any more, or is a directory outside of the root. */
#define XDATA_ORIGIN "windlass.origin"

/* The virtual attribute with which storage of this machine answers where its root directory lies: a
 * struct root_place, cut off behind the NUL of the name. It is for translators alone, as is the
 * other one. ENODATA: that is not known. Other storage has the directory under the same gfid,
 * unless the directory is its root. */
#define XDATA_ROOT_PLACE "windlass.root-place"

struct root_place {
    gfid_t directory;  /* that the root is in */
    uint64_t dev, ino; /* of that, as stat tells them of storage whose root it is */
    char name[NAME_MAX + 1];
};

/* The same of the directories above that, from the next one up to the root of the system: an array
 * of struct root_above, which ends early where the mount hides what is above. */
#define XDATA_ROOT_WAY "windlass.root-way"

struct root_above {
    uint64_t dev, ino; /* as in struct root_place */
};

#endif
