/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Prints each kind of value for a trace: print_LOC (out, name, value), ... */
#ifndef WINDLASS_CORE_TABLE_PRINT_VALUES_H
#define WINDLASS_CORE_TABLE_PRINT_VALUES_H

#include "core/table/value-kinds.h"

void print_LOC (GString *out, const char *name, loc_t *loc);
void print_FD (GString *out, const char *name, fd_t *fd);
void print_INODE (GString *out, const char *name, inode_t *inode);
void print_IATT (GString *out, const char *name, struct iatt *iatt);
void print_DICT (GString *out, const char *name, dict_t *dict);
void print_VECTOR (GString *out, const char *name, struct iovec *vector);
void print_COUNT (GString *out, const char *name, int32_t count);
void print_IOBREF (GString *out, const char *name, struct iobref *iobref);
void print_SIZE (GString *out, const char *name, size_t size);
void print_OFFSET (GString *out, const char *name, off_t offset);
void print_FLAGS (GString *out, const char *name, uint32_t flags);
void print_INT (GString *out, const char *name, int32_t value);
void print_MODE (GString *out, const char *name, mode_t mode);
void print_DEV (GString *out, const char *name, dev_t dev);
void print_NAME (GString *out, const char *name, const char *text);
void print_STATVFS (GString *out, const char *name, struct statvfs *buf);
void print_DIRENTS (GString *out, const char *name, gf_dirent_t *entries);
void print_LOCK (GString *out, const char *name, struct gf_flock *lock);
void print_BYTES (GString *out, const char *name, GBytes *bytes);

#endif
