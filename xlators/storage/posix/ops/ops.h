/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations, and what several of them share. */
#ifndef STORAGE_POSIX_OPS_H
#define STORAGE_POSIX_OPS_H

#include "../posix.h"

/* --- attr.c --------------------------------------------------------------------------------- */

/* frame NULL: the operation changes nothing. */
void posix_before (const call_frame_t *frame, xlator_t *this, unsigned wants, int fd,
                   const gfid_t *gfid, struct posix_change *change);
void posix_after (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* As utimensat, on a descriptor of any kind; times[0] is atime. */
int posix_set_times (int fd, const struct timespec times[2]);

/* The attributes to answer: NULL after a failure or if no translator wants them. */
struct iatt *posix_pre (struct posix_change *change, int64_t r);
struct iatt *posix_post (struct posix_change *change, int64_t r);

/* --- content.c ------------------------------------------------------------------------------ */

/* In lookup's xdata: the maximum size of the file; in its answer's xdata: the content. */
#define POSIX_CONTENT_KEY "glusterfs.content"

/* The answer's xdata for a lookup that requests content, or NULL. */
dict_t *posix_content (call_frame_t *frame, xlator_t *this, const struct posix_found *found,
                       const dict_t *xdata);

/* --- data-ops.c ----------------------------------------------------------------------------- */

/* In copy_file_range's xdata: share the blocks of the file from off_in to its end, whatever len is,
 * or fail. -EOPNOTSUPP: the file system can't; -EXDEV, -EINVAL: not these two files. */
#define POSIX_REFLINK_KEY "windlass.reflink"

/* --- entry-ops.c ---------------------------------------------------------------------------- */

/* Checks loc's name, pins its parent, reads its attributes if a translator above wants them, and
 * acts as the caller. Unpin before the answer: after it the parent may go. */
int posix_dir_begin (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                     struct posix_pin *ret_pin, struct posix_change *change);
void posix_dir_after (xlator_t *this, const struct posix_pin *pin, struct posix_change *change);

/* The mode and, in *umask, the umask for making a file or directory, after applying options. */
mode_t posix_create_mode (const posix_private_t *priv, mode_t mode, bool directory, mode_t *umask);

/* --- fd-ops.c ------------------------------------------------------------------------------- */

bool posix_closes_silently (int fd);

/* Takes ownership of real, the descriptor with which fd was opened, and may close it. */
void posix_fd_set (xlator_t *this, fd_t *fd, int real, uint32_t flags, const gfid_t *gfid,
                   struct posix_inode *pi);
void posix_release (xlator_t *this, fd_t *fd);

/* --- lookup.c ------------------------------------------------------------------------------- */

/* 0, or the error of a name that can't be made or looked up. */
int posix_check_name (const char *name);

/* Finds the object of name in the directory dirfd. given is the inode known so far, or NULL. */
int posix_look (xlator_t *this, int dirfd, const char *name, struct itable *table, inode_t *given,
                struct posix_found *found);

/* --- the operations, by file ----------------------------------------------------------------- */

/* Finds out where the root lies. Returns 0; -ENODATA if nothing is above it; or another negative
 * errno. */
int posix_root_place (xlator_t *this, struct root_place *ret_place);
/* Adds the directories above the root to an array of struct root_above. */
void posix_root_way (xlator_t *this, GArray *way);

/* Stores the bytes of the inode's origin (core/data/origin.h) and their number. Returns false if
 * the file has no handle, or if the UUID of its file system is not known. */
bool posix_origin (const struct posix_inode *pi, unsigned char bytes[ORIGIN_MAX],
                   size_t *ret_size);

lookup_fop posix_lookup;

stat_fop posix_stat;
fstat_fop posix_fstat;
setattr_fop posix_setattr;
fsetattr_fop posix_fsetattr;

readlink_fop posix_readlink;
truncate_fop posix_truncate;
access_fop posix_access;
statfs_fop posix_statfs;

mknod_fop posix_mknod;
mkdir_fop posix_mkdir;
symlink_fop posix_symlink;
link_fop posix_link;
unlink_fop posix_unlink;
rmdir_fop posix_rmdir;
rename_fop posix_rename;

open_fop posix_open;
create_fop posix_create;
tmpfile_fop posix_tmpfile;
opendir_fop posix_opendir;
flush_fop posix_flush;
fsync_fop posix_fsync;
fsyncdir_fop posix_fsyncdir;

readv_fop posix_readv;
writev_fop posix_writev;
copy_file_range_fop posix_copy_file_range;
seek_fop posix_seek;

ftruncate_fop posix_ftruncate;
fallocate_fop posix_allocate; /* the C library has a posix_fallocate */
discard_fop posix_discard;
zerofill_fop posix_zerofill;

readdir_fop posix_readdir;
readdirp_fop posix_readdirp;

setxattr_fop posix_setxattr;
getxattr_fop posix_getxattr;
removexattr_fop posix_removexattr;
fsetxattr_fop posix_fsetxattr;
fgetxattr_fop posix_fgetxattr;
fremovexattr_fop posix_fremovexattr;

lk_fop posix_lk;
flock_fop posix_flock;

ioctl_fop posix_ioctl;

#endif
