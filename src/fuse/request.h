/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Beginning and end of each request of the kernel, and its arguments. */
#ifndef WINDLASS_FUSE_REQUEST_H
#define WINDLASS_FUSE_REQUEST_H

#include "core/work/work.h"
#include "fuse/state.h"

#include <string.h>

/* State of a request for its callbacks. */
struct fuse_local {
    inode_t *inode;               /* with a reference */
    inode_t *other;               /* with a reference: the inode that a rename replaces */
    fd_t *fd;                     /* with a reference */
    inode_t *parent, *new_parent; /* lent, as root->maker.lent_inodes */
    const char *name, *new_name;  /* stored in text */
    struct fuse_file_info fi;
    struct call_stub *make; /* making of an object, while the bridge asks its directory for a
                             * default ACL: umask.c */
    bool masks;             /* whether the bridge applies the umask */
    bool opens_as_daemon;   /* open: storage refused the caller, so the daemon opens: open.c */
    struct iatt attributes; /* setattr: the attributes that remain to be set */
    uint32_t valid;         /* setattr: which of them remain, IATT_*; rename: its flags */
    uint32_t wound;         /* setattr: the attributes that the last wind was to set, IATT_* */
    bool keeps_size;        /* fallocate: whether zeroing a range keeps the size of the file */
    size_t size;            /* readdir, getxattr: size of the kernel's buffer; fallocate: length */
    struct iobref *iobref;  /* buffer of a write of cached pages, with a reference */
    struct iovec rest;      /* the part of that write that remains */
    off_t offset;           /* write, fallocate: offset in the file; readdir: the offset that the
                             * kernel sent */
    off_t from;             /* readdir: storage's offset, from which the last wind listed */
    unsigned passed;        /* readdir: number of entries that were not for the kernel */
    uint64_t asked;         /* names_now when the request came: inode_link_asked */
    char text[];
};

/* Returns a new request about an inode, or about a name in it; NULL if it was refused and answered.
 * frame->local isn't set. */
call_frame_t *request_begin (fuse_req_t req, fuse_ino_t about, enum fop op);
/* Returns whether the kernel didn't tell the caller's ids; the kernel has then checked the caller's
 * rights itself. */
bool request_is_anonymous (fuse_req_t req);
/* The identity for the next winds: the caller's, or the daemon's for requests of the kernel's own
 * and for those whose caller the kernel has checked. All calls of the request must have been
 * answered. */
void request_act_as_daemon (call_frame_t *frame);
void request_act_as_caller (call_frame_t *frame);
bool request_acts_as_daemon (const call_frame_t *frame);
/* Allocates the local. Copies the names, since the kernel's are gone when the answer comes later;
 * either may be NULL. */
struct fuse_local *request_local (call_frame_t *frame, const char *name, const char *new_name);
void request_local_drop (xlator_t *this, void *local);

/* Returns the kernel's request, to answer it. The request can't be interrupted any more. */
fuse_req_t request_answer (call_frame_t *frame);
/* Answers with an errno, or with 0 for plain success, and ends the request. */
#define request_err(frame_, op_ret_, op_errno_) \
    request_err_at (frame_, op_ret_, op_errno_, CALL_SITE)
void request_err_at (call_frame_t *frame, int op_ret, int op_errno, const struct call_site *site);
void request_attr (call_frame_t *frame, const struct iatt *iatt);
/* Enters the inode of an answer in the table. Returns it with a reference. */
inode_t *request_link (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
                       const struct iatt *iatt);
/* Enters the inode in the table, answers with it, and ends the request. */
void request_entry (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
                    const struct iatt *iatt);
void request_open (call_frame_t *frame, fd_t *fd, bool directory);
/* Whether the kernel sends no flush of a file whose close reports no error: only storage would see
 * it, in the present graph, and storage needs it to end the locks of a process alone. */
bool request_spares_flush (const struct bridge *bridge);
/* Answers with a new file: an entry and an open in one. parent and name are NULL for a file without
 * a name. */
void request_create (call_frame_t *frame, fd_t *fd, inode_t *inode, inode_t *parent,
                     const char *name, const struct iatt *iatt);

/* Returns whether the request is about inodes of the hidden graph. */
static inline bool
request_is_hidden (const call_frame_t *frame)
{
    const struct bridge *bridge = frame->this->private;

    return frame->this == &bridge->hidden;
}

/* Returns whether the name, in the root of the mount, stands for the hidden graph. */
static inline bool
name_is_hidden (const struct bridge *bridge, fuse_ino_t parent, const char *name)
{
    const char *hidden = bridge->settings.meta_dir_name;

    /* Compares the first byte first, since most names differ there. */
    return parent == FUSE_ROOT_ID && bridge->hidden.graph && *name == *hidden
           && strcmp (name, hidden) == 0;
}

/* Fill in a loc that borrows its members. Return false if the request was answered: the number is
 * unknown, or the name is invalid. */
bool request_loc_inode (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t ino);
bool request_loc_entry (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t parent, const char *name);
/* Begins a request about one name: fills in ret_loc, and keeps parent and name in frame->local.
 * Returns NULL if the request was answered. */
call_frame_t *request_begin_entry (fuse_req_t req, enum fop op, fuse_ino_t parent, const char *name,
                                   loc_t *ret_loc);
/* Returns the open file of a request; NULL if the request was answered. */
fd_t *request_fd (call_frame_t *frame, const struct fuse_file_info *fi);
/* fd_given returns the fd as the kernel names it, fd_now and fd_meant the one that it stands for
 * since the mount has moved to another graph. */
fd_t *fd_given (const struct fuse_file_info *fi);
fd_t *fd_meant (const struct fuse_file_info *fi);

static inline fd_t *
fd_now (fd_t *fd)
{
    while (G_UNLIKELY (fd->moved))
        fd = fd->moved;
    return fd;
}

/* Record that the kernel has fd open, with a reference, until it releases fd or the mount ends. */
void request_fd_keep (struct bridge *bridge, fd_t *fd);
void request_fd_release (struct bridge *bridge, fd_t *fd);
void request_fds_release (struct bridge *bridge);
/* Returns whether the kernel has the inode open for writing. Searches all open fds. */
bool request_fd_to_write (struct bridge *bridge, const inode_t *inode);

/* For a loc on the stack: `g_auto (loc_t) loc`. Frees only the path, which loc_path may have
 * computed. */
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (loc_t, loc_wipe_path)

#endif
