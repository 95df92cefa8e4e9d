/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the procedures of the brick share: arguments and results. A function that returns an inode
 * or an fd returns it with a reference. */
#ifndef WINDLASS_CONFORM_BRICK_REQUEST_H
#define WINDLASS_CONFORM_BRICK_REQUEST_H

#include "conform/brick/brick.h"

#include "core/data/dict.h"
#include "core/data/loc.h"
#include "xlators/protocol/client/wire.h"

/* request.c */
gfid_t get_gfid (struct request *q);
inode_t *get_inode (struct request *q); /* NULL: the brick has no such file */
/* A gfid and the number of an open file. NULL, and *ret_r: it is not open. */
fd_t *get_fd (struct request *q, int *ret_r);
/* Two gfids, and then two numbers. */
fd_t *fd_by_number (struct request *q, inode_t *inode, int64_t number, int *ret_r);
uint64_t fd_number (struct request *q, fd_t *fd); /* keeps it open */
uint32_t get_open_flags (struct request *q);
void put_buf (struct request *q, const struct iatt *buf);
/* What every answer begins with: r is op_ret, or a negative errno. */
void put_result (struct request *q, int r, const dict_t *xdata);

typedef void serve_fn (struct request *q);

/* names.c */
serve_fn serve_lookup, serve_mknod, serve_mkdir, serve_symlink, serve_link, serve_create,
    serve_unlink, serve_rmdir, serve_rename, serve_readdirp;

/* data.c */
serve_fn serve_read, serve_write, serve_truncate, serve_ftruncate, serve_fallocate, serve_discard,
    serve_zerofill, serve_seek, serve_copy_file_range;

/* xattrs.c */
serve_fn serve_setxattr, serve_fsetxattr, serve_getxattr, serve_fgetxattr, serve_removexattr,
    serve_fremovexattr;

/* locks.c */
serve_fn serve_inodelk, serve_finodelk, serve_entrylk, serve_fentrylk;
unsigned locks_of_inode (const struct brick *brick, const gfid_t *gfid, const char *domain);
bool name_is_locked (const struct brick *brick, const gfid_t *parent, const char *name);

/* marks.c. xattrs_make: attributes that a call gives the file that it makes. The others: what the
 * caller asked to be told along with an answer, a new dict. */
void xattrs_make (struct request *q, inode_t *inode, dict_t *xdata);
serve_fn serve_xattrop, serve_fxattrop;
dict_t *xattrs_told (struct request *q, inode_t *inode, dict_t *asked);
dict_t *lookup_told (struct request *q, const struct lookup_reply *reply, const inode_t *parent,
                     const char *name_in_parent, dict_t *asked);
dict_t *write_told (struct request *q, const inode_t *inode, bool appended, dict_t *asked);

#endif
