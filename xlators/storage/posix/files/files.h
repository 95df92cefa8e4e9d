/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Files of the directory: their identity, descriptors, and the user that acts on them. */
#ifndef STORAGE_POSIX_FILES_H
#define STORAGE_POSIX_FILES_H

#include "../posix.h"

/* --- cache.c -------------------------------------------------------------------------------- */

void posix_cache_init (struct posix_cache *cache, unsigned limit);
void posix_cache_destroy (struct posix_cache *cache);

/* Pins pi's descriptor, if it is open. */
bool posix_cache_pin (struct posix_inode *pi);
void posix_cache_unpin (struct posix_inode *pi);

/* Returns whether pi's file system came under another device since pi's descriptor was opened. */
static inline bool
posix_has_moved (const struct posix_inode *pi)
{
    return __atomic_load_n (&pi->moves, __ATOMIC_RELAXED) != file_system_moves (pi->fs);
}

/* Gives fd to pi. If pi has one already, fd is closed, unless pi has moved: then its descriptor
 * becomes fd. Either way pi is pinned. */
void posix_cache_insert (struct posix_cache *cache, struct posix_inode *pi, int fd);

/* Keeps the descriptor until forget. The caller has it pinned. */
void posix_cache_keep (struct posix_cache *cache, struct posix_inode *pi);

/* The same for an inode that may have lost its last name. If one of its open files has a
 * descriptor, that file keeps the inode until it is released, and the inode needs none; else the
 * caller has it pinned. */
void posix_cache_keep_nameless (struct posix_cache *cache, struct posix_inode *pi);
void posix_cache_forget (struct posix_cache *cache, struct posix_inode *pi);

/* Adds pfd to pi's open files. */
void posix_cache_opened (struct posix_cache *cache, struct posix_inode *pi, struct posix_fd *pfd);

/* Removes pfd from its inode's open files. Returns true if its descriptor was handed to the inode,
 * which has no name and needs it. */
bool posix_cache_released (struct posix_cache *cache, struct posix_fd *pfd);

/* Pins a nameless inode by the descriptor of one of its open files, which both share from then on.
 * Returns false if there is none. */
bool posix_cache_borrow (struct posix_cache *cache, struct posix_inode *pi);

/* Returns a duplicate of a descriptor of one of pi's open files, or -ENOENT if none has one. */
int posix_cache_copy_open (struct posix_cache *cache, struct posix_inode *pi);

/* Which open files pi has. */
/* none; some, none of which has a descriptor; at least one with its own */
enum posix_holders { HOLDERS_NONE, HOLDERS_BRIEF, HOLDERS_OWN };
enum posix_holders posix_cache_holders (struct posix_cache *cache, const struct posix_inode *pi);

/* Closes at most n unused descriptors; returns how many. */
unsigned posix_cache_evict (struct posix_cache *cache, unsigned n);

/* The same, but only while they run short, so that open files get theirs. */
void posix_cache_shrink (struct posix_cache *cache, unsigned n);

/* --- handle.c ------------------------------------------------------------------------------- */

/* openat, which closes other descriptors if there are too many. Returns a descriptor or a negative
 * errno. */
int posix_openat (xlator_t *this, int dirfd, const char *name, int flags, mode_t mode);

/* Opens (O_PATH) what a name in a directory leads to, or ".." for the directory above. All steps of
 * storage from one object to another are made here. -ELOOP: the step leads into the mount that is
 * served. ".." of a directory in the root that this mount covers is the root. */
int posix_open_name (xlator_t *this, int dirfd, const char *name);
int posix_open_up (xlator_t *this, int dirfd);

/* Tests whether openat2 exists, and may be used. */
bool posix_may_step_inside (int dirfd);

/* Opens pi by its handle, as the daemon. Returns a descriptor or a negative errno. _once closes no
 * others if there are too many. */
int posix_handle_open (xlator_t *this, const struct posix_inode *pi, int flags);
int posix_handle_open_once (xlator_t *this, const struct posix_inode *pi, int flags);

/* Opens pi for the kernel (O_PATH), which changes no access time when it reads through it. Returns
 * -EXDEV if that is not possible. */
int posix_handle_open_quiet (xlator_t *this, const struct posix_inode *pi);

/* Tests whether files can be opened by handle. Returns 0 or a negative errno. */
int posix_handle_probe (int mount_fd, const struct posix_ident *ident);

struct posix_inode *posix_inode_new (const struct posix_ident *ident);
struct posix_inode *posix_inode_get (xlator_t *this, inode_t *inode);

/* May switch to root: call posix_act_as after it. */
int posix_pin (xlator_t *this, inode_t *inode, struct posix_pin *ret_pin);
void posix_unpin (struct posix_pin *pin);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_pin_t, posix_unpin)

/* Takes ownership of fd (O_PATH) of the object with that identity. Finds the known inode, or uses
 * given if it is new, or makes one. posix_adopt_closed only reads fd: the inode's own descriptor is
 * opened on demand. */
int posix_adopt (xlator_t *this, struct itable *table, inode_t *given, int fd,
                 struct posix_ident *ident, struct posix_found *found);
int posix_adopt_closed (xlator_t *this, struct itable *table, inode_t *given, int fd,
                        struct posix_ident *ident, struct posix_found *found);
void posix_found_clear (struct posix_found *found);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_found_t, posix_found_clear)
void posix_forget (xlator_t *this, inode_t *inode);

/* --- identity.c ----------------------------------------------------------------------------- */

/* Attributes for callers: their inode number is that of posix_number. An identity, as a struct
 * posix_inode, has the file system's own. */
int posix_iatt (xlator_t *this, int fd, const gfid_t *gfid, struct iatt *ret_buf);
int posix_identify (xlator_t *this, int fd, struct posix_ident *ret_ident, struct iatt *ret_buf);

/* Returns whether the name stands for pi, and if so its attributes. pi's descriptor is pinned. */
bool posix_is_named (xlator_t *this, const struct posix_inode *pi, int dirfd, const char *name,
                     struct iatt *ret_buf);
bool posix_is (const struct posix_inode *pi, const struct posix_ident *ident);

/* Stores another gfid with fd's object: the stored one belongs to another object. */
int posix_gfid_renew (xlator_t *this, int fd, struct posix_ident *ident);

/* Handle and mount of fd's object; a size of 0 if there is no handle. */
int posix_handle_of (int fd, struct posix_ident *ident, int *ret_mount_id);

/* --- number.c ------------------------------------------------------------------------------- */

/* Returns the file system of the object of fd, which a name has just led to, and which has these
 * attributes: with the numbers of storage. */
const struct file_system *posix_file_system (xlator_t *this, int fd, const struct iatt *buf);

/* Returns whether callers see inode numbers of the file system as they are. */
bool posix_number_is_own (const posix_private_t *priv, const struct file_system *fs);

/* Returns the inode number that callers see. */
uint64_t posix_number_of (xlator_t *this, const struct file_system *fs, uint64_t ino);

/* The same where only the device is known. fd: any descriptor of that device. */
uint64_t posix_number (xlator_t *this, int fd, uint64_t dev, uint64_t ino);

/* --- creds.c -------------------------------------------------------------------------------- */

/* Makes this thread act as the caller. */
int posix_act_as (const posix_private_t *priv, call_frame_t *frame);

/* The same without the groups, which operations on open files do not need. */
int posix_act_as_owner (const posix_private_t *priv, const call_frame_t *frame);
void posix_act_as_root (const posix_private_t *priv);
bool posix_may_act (void);
bool posix_may_open_all (void);

/* Switches to root for a moment, and then back. */
struct posix_caller {
    uid_t uid;
    gid_t gid;
};
struct posix_caller posix_caller_leave (const posix_private_t *priv);
void posix_caller_return (const posix_private_t *priv, struct posix_caller caller);

/* --- path.c --------------------------------------------------------------------------------- */

/* The path of a descriptor in /proc, for calls that take no descriptor. */
struct posix_path posix_path_of (int fd);

/* --- stamp.c -------------------------------------------------------------------------------- */

/* The time of the request, if changes get it; or NULL. */
const struct timespec *posix_stamp_of (const call_frame_t *frame);

/* Sets the times that an operation has moved to its stamp. As root from then on. */
void posix_stamp_change (xlator_t *this, int fd, const gfid_t *gfid, struct posix_change *change);

/* Sets the times of a new file, and of buf, to the stamp. As root from then on. */
void posix_stamp_new (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* The same for a file opened with O_TRUNC. buf may be NULL. */
void posix_stamp_cut_off (const call_frame_t *frame, xlator_t *this, int fd, struct iatt *buf);

/* The caller, which need not be the owner, has set the times to "now": they become the stamp. valid
 * as in setattr. As root from then on. */
int posix_stamp_now (const call_frame_t *frame, xlator_t *this, int fd, uint32_t valid);

/* --- descriptors.c -------------------------------------------------------------------------- */

void posix_descriptors_init (struct posix_descriptors *all);
void posix_descriptors_limit (posix_private_t *priv); /* call when the daemon's capabilities are
                                                         known */
void posix_descriptors_destroy (struct posix_descriptors *all);
void posix_descriptors_dump (const posix_private_t *priv, GString *out);
void posix_descriptors_explain (const posix_private_t *priv, GString *out);

/* After an open that failed with error, attempt counting from 0: returns true if it should be tried
 * again. May wait for a moment. */
bool posix_make_room (xlator_t *this, int error, int attempt);

/* The negative errno to answer then. */
int posix_open_failed (xlator_t *this, int error);
/* Returns true if a long-lived descriptor, such as that of a lock, may be kept. The last eighth of
 * the numbers is for requests. */
bool posix_descriptor_may_last (const posix_private_t *priv, int fd);

/* pfd, which no other thread knows yet, is an open file of pi, and descriptors run short. If its
 * descriptor can be opened again, closes it, adds pfd to pi's open files, and returns true. */
bool posix_brief_begin (xlator_t *this, struct posix_inode *pi, struct posix_fd *pfd);
void posix_brief_end (posix_private_t *priv, const struct posix_fd *pfd); /* call at release */

int posix_use_brief (xlator_t *this, fd_t *fd, struct posix_use *use);
void posix_use_close (struct posix_use *use);

/* The descriptor that fd has until it is released; opens one on demand. */
int posix_fd_own (xlator_t *this, fd_t *fd);

/* The same, or -1 if there is none. pfd may be NULL. */
static inline int
posix_fd_lasting (const struct posix_fd *pfd)
{
    return pfd ? __atomic_load_n (&pfd->fd, __ATOMIC_RELAXED) : -1;
}

/* The context of an open file; NULL: it is not open here. */
static inline struct posix_fd *
posix_fd_get (xlator_t *this, fd_t *fd)
{
    struct posix_fd *pfd = fd_ctx_get (fd, this);

    g_assert (!pfd || pfd->magic == POSIX_FD_MAGIC);
    return pfd;
}

/* Returns 0, -EBADF, or the error of opening a descriptor. May switch to root: call posix_act_as
 * after it. */
static inline int
posix_use_begin (xlator_t *this, fd_t *fd, struct posix_use *use)
{
    struct posix_fd *pfd = posix_fd_get (this, fd);

    if (G_UNLIKELY (!pfd))
        return -EBADF;
    *use = (struct posix_use){ .pfd = pfd, .fd = posix_fd_lasting (pfd) };
    return G_LIKELY (use->fd >= 0) ? 0 : posix_use_brief (this, fd, use);
}

/* Call before the answer: after it the file may be closed. Takes one that was not begun ({ 0 }). */
static inline void
posix_use_end (struct posix_use *use)
{
    if (G_UNLIKELY (use->brief != NULL))
        posix_use_close (use);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (posix_use_t, posix_use_end)

#endif
