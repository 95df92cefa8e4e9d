/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How each kind of value is kept beyond its call, and dropped: what stubs and synchronous calls do.
 * A kept value has the type K_KIND of core/sync.h. VECTOR keeps count and iobref along with it, so those two, which always stand
 * beside it in fops.def, keep nothing themselves.
 */
#ifndef WINDLASS_CORE_KEEP_H
#define WINDLASS_CORE_KEEP_H

#include "core/dict.h"
#include "core/dirent.h"
#include "core/iobuf.h"
#include "core/loc.h"
#include "core/sync.h"

/* KEEP_KIND (to, name): stores the value of the variable name in to->name; r becomes negative when memory is out. */
#define KEEP_LOC(to, name) loc_copy (&to->name, name);
#define KEEP_FD(to, name) to->name = fd_ref (name);
#define KEEP_INODE(to, name) to->name = inode_ref (name);
#define KEEP_IATT(to, name) to->name = name ? *name : (struct iatt){ 0 };
#define KEEP_DICT(to, name) to->name = dict_ref (name);
#define KEEP_VECTOR(to, name)                                                                      \
    if (name)                                                                                      \
        r = iov_keep (name, count, iobref, &to->name, &to->count, &to->iobref);
#define KEEP_COUNT(to, name)
#define KEEP_IOBREF(to, name)
#define KEEP_SIZE(to, name) to->name = name;
#define KEEP_OFFSET(to, name) to->name = name;
#define KEEP_FLAGS(to, name) to->name = name;
#define KEEP_INT(to, name) to->name = name;
#define KEEP_MODE(to, name) to->name = name;
#define KEEP_DEV(to, name) to->name = name;
#define KEEP_NAME(to, name) to->name = g_strdup (name);
#define KEEP_STATVFS(to, name) to->name = name ? *name : (struct statvfs){ 0 };
#define KEEP_DIRENTS(to, name) to->name = dirents_copy (name);
#define KEEP_LOCK(to, name) to->name = name ? *name : (struct gf_flock){ 0 };
#define KEEP_BYTES(to, name) to->name = name ? g_bytes_ref (name) : NULL;

/* DROP_KIND (from, name): gives back what is kept in from->name. */
#define DROP_LOC(from, name) loc_wipe (&from->name);
#define DROP_FD(from, name) fd_unref (from->name);
#define DROP_INODE(from, name) inode_unref (from->name);
#define DROP_IATT(from, name)
#define DROP_DICT(from, name) dict_unref (from->name);
#define DROP_VECTOR(from, name) g_free (from->name);
#define DROP_COUNT(from, name)
#define DROP_IOBREF(from, name) iobref_unref (from->name);
#define DROP_SIZE(from, name)
#define DROP_OFFSET(from, name)
#define DROP_FLAGS(from, name)
#define DROP_INT(from, name)
#define DROP_MODE(from, name)
#define DROP_DEV(from, name)
#define DROP_NAME(from, name) g_free (from->name);
#define DROP_STATVFS(from, name)
#define DROP_DIRENTS(from, name) dirents_free (from->name);
#define DROP_LOCK(from, name)
#define DROP_BYTES(from, name) g_clear_pointer (&from->name, g_bytes_unref);

/* LEND_KIND (from, name): the kept value as an argument again. */
#define LEND_LOC(from, name) &from->name
#define LEND_IATT(from, name) &from->name
#define LEND_STATVFS(from, name) &from->name
#define LEND_LOCK(from, name) &from->name
#define LEND_FD(from, name) from->name
#define LEND_INODE(from, name) from->name
#define LEND_DICT(from, name) from->name
#define LEND_VECTOR(from, name) from->name
#define LEND_COUNT(from, name) from->name
#define LEND_IOBREF(from, name) from->name
#define LEND_SIZE(from, name) from->name
#define LEND_OFFSET(from, name) from->name
#define LEND_FLAGS(from, name) from->name
#define LEND_INT(from, name) from->name
#define LEND_MODE(from, name) from->name
#define LEND_DEV(from, name) from->name
#define LEND_NAME(from, name) from->name
#define LEND_DIRENTS(from, name) from->name
#define LEND_BYTES(from, name) from->name

#endif
