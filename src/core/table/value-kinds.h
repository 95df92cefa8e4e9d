/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kinds of value that operations carry; fops.def names a kind in every row. Each kind has here
 *
 *   C_KIND                    its C type, as an argument or a result
 *   K_KIND                    the type for keeping it beyond the call that it was lent for
 *   KEEP_KIND (to, name)      stores the variable name in to->name; sets r to a negative errno if
 *                             there is no memory
 *   DROP_KIND (from, name)    releases from->name
 *   LEND_KIND (from, name)    from->name as an argument again
 *
 * and a function in core/table/print-values.h that prints it. A file that keeps values includes the
 * headers of core/data whose functions it needs.
 */
#ifndef WINDLASS_CORE_TABLE_VALUE_KINDS_H
#define WINDLASS_CORE_TABLE_VALUE_KINDS_H

#include "core/data/types.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A number, kept and lent unchanged. */
#define KEEP_PLAIN(to, name) to->name = name;
#define DROP_PLAIN(from, name)
#define LEND_PLAIN(from, name) from->name

/* A struct that is lent by address: kept as a copy, all zeros for NULL. */
#define KEEP_COPY(to, name) to->name = name ? *name : (__typeof__ (to->name)){ 0 };
#define DROP_COPY(from, name)
#define LEND_COPY(from, name) &from->name

#define C_LOC loc_t *
#define K_LOC loc_t
#define KEEP_LOC(to, name) loc_copy (&to->name, name);
#define DROP_LOC(from, name) loc_wipe (&from->name);
#define LEND_LOC LEND_COPY

#define C_FD fd_t *
#define K_FD fd_t *
#define KEEP_FD(to, name) to->name = fd_ref (name);
#define DROP_FD(from, name) fd_unref (from->name);
#define LEND_FD LEND_PLAIN

#define C_INODE inode_t *
#define K_INODE inode_t *
#define KEEP_INODE(to, name) to->name = inode_ref (name);
#define DROP_INODE(from, name) inode_unref (from->name);
#define LEND_INODE LEND_PLAIN

#define C_IATT struct iatt *
#define K_IATT struct iatt
#define KEEP_IATT KEEP_COPY
#define DROP_IATT DROP_COPY
#define LEND_IATT LEND_COPY

#define C_DICT dict_t *
#define K_DICT dict_t *
#define KEEP_DICT(to, name) to->name = dict_ref (name);
#define DROP_DICT(from, name) dict_unref (from->name);
#define LEND_DICT LEND_PLAIN

/* Bytes. KEEP_VECTOR also stores count and iobref, which follow the vector in fops.def and whose
 * own KEEP macros do nothing. */
#define C_VECTOR struct iovec *
#define K_VECTOR struct iovec *
#define KEEP_VECTOR(to, name)                                                                      \
    if (name)                                                                                      \
        r = iov_keep (name, count, iobref, &to->name, &to->count, &to->iobref);
#define DROP_VECTOR(from, name) g_free (from->name);
#define LEND_VECTOR LEND_PLAIN

#define C_COUNT int32_t
#define K_COUNT int32_t
#define KEEP_COUNT(to, name)
#define DROP_COUNT DROP_PLAIN
#define LEND_COUNT LEND_PLAIN

#define C_IOBREF struct iobref *
#define K_IOBREF struct iobref *
#define KEEP_IOBREF(to, name)
#define DROP_IOBREF(from, name) iobref_unref (from->name);
#define LEND_IOBREF LEND_PLAIN

#define C_SIZE size_t
#define K_SIZE size_t
#define KEEP_SIZE KEEP_PLAIN
#define DROP_SIZE DROP_PLAIN
#define LEND_SIZE LEND_PLAIN

#define C_OFFSET off_t
#define K_OFFSET off_t
#define KEEP_OFFSET KEEP_PLAIN
#define DROP_OFFSET DROP_PLAIN
#define LEND_OFFSET LEND_PLAIN

#define C_FLAGS uint32_t
#define K_FLAGS uint32_t
#define KEEP_FLAGS KEEP_PLAIN
#define DROP_FLAGS DROP_PLAIN
#define LEND_FLAGS LEND_PLAIN

#define C_INT int32_t
#define K_INT int32_t
#define KEEP_INT KEEP_PLAIN
#define DROP_INT DROP_PLAIN
#define LEND_INT LEND_PLAIN

#define C_MODE mode_t
#define K_MODE mode_t
#define KEEP_MODE KEEP_PLAIN
#define DROP_MODE DROP_PLAIN
#define LEND_MODE LEND_PLAIN

#define C_DEV dev_t
#define K_DEV dev_t
#define KEEP_DEV KEEP_PLAIN
#define DROP_DEV DROP_PLAIN
#define LEND_DEV LEND_PLAIN

#define C_NAME const char *
#define K_NAME char *
#define KEEP_NAME(to, name) to->name = g_strdup (name);
#define DROP_NAME(from, name) g_free (from->name);
#define LEND_NAME LEND_PLAIN

#define C_STATVFS struct statvfs *
#define K_STATVFS struct statvfs
#define KEEP_STATVFS KEEP_COPY
#define DROP_STATVFS DROP_COPY
#define LEND_STATVFS LEND_COPY

#define C_DIRENTS gf_dirent_t *
#define K_DIRENTS gf_dirent_t *
#define KEEP_DIRENTS(to, name) to->name = dirents_copy (name);
#define DROP_DIRENTS(from, name) dirents_free (from->name);
#define LEND_DIRENTS LEND_PLAIN

#define C_LOCK struct gf_flock *
#define K_LOCK struct gf_flock
#define KEEP_LOCK KEEP_COPY
#define DROP_LOCK DROP_COPY
#define LEND_LOCK LEND_COPY

#define C_BYTES GBytes *
#define K_BYTES GBytes *
#define KEEP_BYTES(to, name) to->name = name ? g_bytes_ref (name) : NULL;
#define DROP_BYTES(from, name) g_clear_pointer (&from->name, g_bytes_unref);
#define LEND_BYTES LEND_PLAIN

/* All kinds, for code that handles values one by one: KIND_LOC, ... */
#define KIND_LIST(X)                                                                               \
    X (LOC) X (FD) X (INODE) X (IATT) X (DICT) X (VECTOR) X (COUNT) X (IOBREF) X (SIZE) X (OFFSET) \
    X (FLAGS) X (INT) X (MODE) X (DEV) X (NAME) X (STATVFS) X (DIRENTS) X (LOCK) X (BYTES)

enum kind {
#define KIND_NUMBER(kind) KIND_##kind,
    KIND_LIST (KIND_NUMBER)
#undef KIND_NUMBER
};

#endif
