/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The handlers of the kernel's requests, and what they share. */
#ifndef WINDLASS_FUSE_OPS_OPS_H
#define WINDLASS_FUSE_OPS_OPS_H

#include "fuse/request.h"

/* --- each file enters its handlers --- */
void entry_handlers (struct fuse_lowlevel_ops *ops);
void names_handlers (struct fuse_lowlevel_ops *ops);
void attr_handlers (struct fuse_lowlevel_ops *ops);
void open_handlers (struct fuse_lowlevel_ops *ops);
void file_handlers (struct fuse_lowlevel_ops *ops);
void write_handlers (struct fuse_lowlevel_ops *ops);
void dir_handlers (struct fuse_lowlevel_ops *ops);
void xattr_handlers (struct fuse_lowlevel_ops *ops);
void lock_handlers (struct fuse_lowlevel_ops *ops);
void ioctl_handlers (struct fuse_lowlevel_ops *ops);

/* --- open.c --- */

/* Converts the flags that the kernel sent to those with which the file is opened below. */
uint32_t request_flags (const struct bridge *bridge, int flags);

/* --- privileges.c: whether a setattr of nothing is a chown --- */

/* Notes that the kernel has asked for an attribute that the file has; or that it removes one. */
void privileges_note (const call_frame_t *frame, const char *name, bool removes);
/* Returns whether a setattr of nothing by root announces a write. */
bool privileges_announce_write (const call_frame_t *frame);

/* --- unknown-name.c: look-ups that fail without telling whether the name exists --- */

/* Returns whether the failed look-up is one of a name that the kernel may have and must not drop.
 * unknown_name_answer then answers it. */
bool unknown_name_is (const call_frame_t *frame, int error);
void unknown_name_answer (call_frame_t *frame, int error);

/* --- umask.c: the caller's umask, and default ACLs --- */

/* Returns whether it is known who applies the umask to this mode of a new object, whose directory
 * is local->parent: the bridge or storage. If not, umask_settle finds out, and resumes the stub. */
bool umask_is_settled (call_frame_t *frame, mode_t mode);
void umask_settle (call_frame_t *frame, call_stub_t *make);

/* The bits of the umask that the bridge applies, and those that storage applies. */
mode_t umask_of_bridge (const call_frame_t *frame);
mode_t umask_of_storage (const call_frame_t *frame);

/* The directory's default ACL changes. */
void umask_forget (inode_t *directory);

#endif
