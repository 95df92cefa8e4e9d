/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An open file or directory. */
#ifndef WINDLASS_CORE_DATA_FD_H
#define WINDLASS_CORE_DATA_FD_H

#include "core/data/inode.h"

#define FD_MAGIC 0x46444553u

/* A flag of writev: write at the given offset although the fd was opened with O_APPEND. Set for
 * writes from a shared mapping, and after fcntl (F_SETFL) removed O_APPEND. */
#define WRITE_AT_OFFSET (1u << 30)

struct fd {
    uint32_t magic;
    int refs; /* atomic */
    uint32_t flags; /* of open(2); constant once the open was answered */
    pid_t pid;      /* process that opened the file */
    inode_t *inode; /* holds a reference; set by fd_new, or by create and tmpfile before they
                     * answer */
    unsigned keepers;
    bool locked;  /* for the bridge: a record lock was asked for through it; atomic */
    bool flocked; /* for the bridge: a lock of flock may be held through it; atomic */
    int owed;     /* for the bridge: an error that no caller has seen yet; atomic */
    fd_t *moved; /* holds a reference: fd_move; changes only while no request runs */
    bool closes_silently; /* a flush would never report an error: storage knows that about its file
                           * system. Set before the open is answered */
    bool unflushed; /* no flush comes when a program closes the file: the kernel was told so at the
                     * open, and keeps to it in a graph that a reload brings. Set by the bridge */
    void (*release) (fd_t *fd, void *data);
    void *data;
    void *ctx[]; /* one per translator with WANTS_FD; atomic */
};

/* How fds of a graph are made. keepers: the number of translators with WANTS_FD; xlator.fd_slot is
 * below it. release is called when the last reference is gone. */
struct fd_maker {
    unsigned keepers;
    void (*release) (fd_t *fd, void *data);
    void *data;
};

/* Returns an fd with one reference. inode may be NULL for create and tmpfile. */
fd_t *fd_new (const struct fd_maker *maker, inode_t *inode, uint32_t flags, pid_t pid);
fd_t *fd_ref (fd_t *fd);  /* takes NULL */
void fd_unref (fd_t *fd); /* takes NULL */

/* Replaces the fd's inode by the one that the table has for its file. An answer may bring another
 * one than the call had, if a lookup of another name of the file came first. Before anybody else
 * knows of the fd. */
void fd_adopt (fd_t *fd, inode_t *linked);

/* Releases fd now, although references remain: from then on it stands for `to`, an open of the same
 * inode in another graph, and takes a reference to that. */
void fd_move (fd_t *fd, fd_t *to);

/* Makes fd->moved the last fd of its chain and drops the references in between. No request may
 * run. */
void fd_shorten (fd_t *fd);

/* Takes a reference for code that has a pointer to fd without one. Returns false if the last
 * reference is gone and release is about to be called. The caller must make sure, with a lock that
 * release takes, that release has not ended. */
bool fd_ref_living (fd_t *fd);

G_DEFINE_AUTOPTR_CLEANUP_FUNC (fd_t, fd_unref)

/* The context in a slot (xlator.fd_slot). Translators use fd_ctx_get and fd_ctx_set of
 * core/edge/translator.h. */
void *fd_ctx_get_at (fd_t *fd, int slot);
void fd_ctx_set_at (fd_t *fd, int slot, void *ctx);

#endif
