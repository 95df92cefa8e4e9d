/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/trash: what a file has before it is cut or opened for writing.
 *
 *   layout gluster: before truncate, ftruncate and O_TRUNC, if the file becomes shorter
 *   layout freedesktop, with `keep truncated`: the same, and before an open for writing
 *
 * The operation waits until the copy is made. What comes later through a shared mapping, or by the
 * kernel itself (passthrough), can't be seen here, and need not be: the copy is older.
 *
 * Layout freedesktop makes a reflink, in the line `maker`, which takes no longer than a removal. If
 * storage has none, the bytes are copied with `copy on` only, in the line `entries`, as layout
 * gluster copies: that may take long.
 *
 * There each copy has a stage of its own, whose name begins with TRASH_UNFINISHED until the copy is
 * complete and durable. Only then does the operation go on, and the file may lose its content.
 *
 * A program may open a file for writing and write nothing. So the copy of an open becomes an entry
 * after the file is closed, and only if the file has changed: its ctime moves with each change, and
 * no program can set it back. touch(1) changes the times alone. So if the ctime has moved and the
 * size has not, the bytes are compared.
 */
#ifndef WINDLASS_TRASH_COPY_H
#define WINDLASS_TRASH_COPY_H

#include "../trash.h"

/* --- copy.c: one copy ------------------------------------------------------------------------- */

struct trash_copy {
    inode_t *folder;    /* where the copy is made, with a reference */
    char *name;         /* in it */
    struct iatt before; /* of the file */
    inode_t *inode;     /* the copy, with a reference; NULL: there is none */
    fd_t *from, *to;    /* while it is made, with references */
};

/* Each returns 0 or a negative errno, and leaves a copy that is there for trash_copy_remove. */

/* Opens the file, and makes an empty copy: -EEXIST if the name is taken; then it may be called
 * again with another name. */
int trash_copy_begin (xlator_t *this, struct client *client, struct trash_copy *copy,
                      inode_t *source);
/* Has the copy share the file's blocks. -EOPNOTSUPP, -EXDEV, -EINVAL and others: storage can't. */
int trash_copy_reflink (struct client *client, struct trash_copy *copy);
/* Copies the bytes. */
int trash_copy_data (struct client *client, struct trash_copy *copy);
/* Returns 0 if a copy that is finished has the bytes of the file; 1 if it has others; or a negative
 * errno. */
int trash_copy_compare (xlator_t *this, struct trash_work *work, const struct trash_copy *copy,
                        inode_t *source);
/* Gives the copy the file's owner, mode, times and these attributes, or NULL. */
void trash_copy_end (struct client *client, struct trash_copy *copy, dict_t *xattrs);
void trash_copy_close (struct trash_copy *copy);
void trash_copy_remove (struct client *client, struct trash_copy *copy);
void trash_copy_clear (struct trash_copy *copy); /* frees what it has; the copy stays */

/* --- truncate.c: operations that may destroy content ------------------------------------------ */

extern truncate_fop trash_truncate;
extern ftruncate_fop trash_ftruncate;
extern open_fop trash_open;
extern create_fop trash_create;

/* --- versions.c: copies of layout freedesktop ------------------------------------------------- */

/* What makes a copy necessary. */
enum trash_cut { TRASH_CUT, TRASH_OPEN_TO_WRITE };

/* What an operation leaves behind it. */
struct trash_version {
    struct trash_copy copy;
    struct trash_stage *stage; /* has nothing else; NULL: no copy */
    inode_t *file;             /* with a reference */
    enum trash_cut why;
    bool racy;                 /* the file changed just before: its times don't tell */
    bool open;                 /* in the next graph, where the file may still change */
};

/* Makes the copy if the layout keeps what the operation may destroy. size: what stays of the file.
 * In the line `maker`. Returns true if the bytes have to be copied yet: trash_version_data. */
bool trash_version_make (xlator_t *this, const call_stack_t *root, inode_t *inode, off_t size,
                         enum trash_cut why, struct trash_version *version);
/* Copies the bytes, in the line `entries`. */
void trash_version_data (xlator_t *this, struct trash_version *version);
/* Ends it: the copy becomes an entry, or goes. The latter in the line `maker` only. Frees what the
 * version has. */
void trash_version_keep (xlator_t *this, struct trash_version *version);
void trash_version_drop (xlator_t *this, struct trash_version *version);
/* The file of a copy is open: the copy waits for its release. Takes what the version has over. */
void trash_version_wait (xlator_t *this, fd_t *fd, struct trash_version *version);
void trash_version_release (xlator_t *this, fd_t *fd); /* for a release of fd */
/* Returns whether there is a copy of what the file had when fd was opened. */
bool trash_version_has (xlator_t *this, fd_t *fd);

#endif
