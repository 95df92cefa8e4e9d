/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * system/posix-acl: decides whether the caller may make a request, by modes, owners and POSIX ACLs,
 * before the request goes down.
 *
 *   a call -> posix_acl_any_fop -> judge: the rule of its operation      name-rules.c, attr-rules.c
 *                  ^               | asks for rights                     rights.c
 *                  |               v by data kept with an inode          keep.c
 *                  |             data missing: ACL_ASK
 *                  |               v
 *                  +-- resumed -- the call is set aside, storage is asked         ask.c
 *                                  otherwise: refused, or down the graph          go-on.c
 *
 * When a rule is called again for the same call, it sees the same data as before, whatever has
 * changed meanwhile: struct acl_local keeps them. So the judging ends, even if nothing is kept with
 * inodes.
 *
 * Locks: a stripe's is a leaf.
 *
 * Reasons:
 *
 * - One rule for each operation, and one function that calls them (core/edge/any-fop.h). A rule
 *   that needs an answer is called again from its beginning, and sees the data it saw before: so no
 *   state is kept between two questions.
 * - ACLs are requested only when they decide: the owner, root, and a mode that gives the group
 *   nothing need none. The kernel's own getxattr requests pass here and are remembered.
 * - Default ACLs decide nothing here; the file system below gives them to new files.
 * - A create without O_EXCL is tried with it: whether it makes or opens decides which rights are
 *   needed. If the caller may make no file there, the existing file is opened, not created again:
 *   the name might be free by then.
 * - A request that a rule permitted is marked as checked (root->checked), so that caches below may
 *   answer it.
 * - acl=translator (src/fuse/rights.c): with FUSE_POSIX_ACL the kernel checks rights in any case,
 *   so that flag is not set. Without default_permissions the kernel does not check directories that
 *   it remembers, so it must remember no names. The kernel then does not apply the sticky bit, and
 *   answers ENOTDIR or EISDIR before it sends a request.
 * - The test (test_posix_acl_cases) lets storage act as root, so that only this translator refuses.
 */
#ifndef SYSTEM_POSIX_ACL_H
#define SYSTEM_POSIX_ACL_H

#include "acl.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ACL_ASK 1      /* result of a rule: data are missing; look->ask says which */
#define ACL_STRIPES 64 /* number of locks; each inode uses one of them */
/* upper limit of the inodes of one request; a rename has the most: two directories, the moved inode
 * and the replaced one */
#define ACL_SEEN 6

/* Each lock is beside the data it guards, in a cache line of its own. */
struct acl_stripe {
    pthread_mutex_t lock;
    uint64_t hits, misses, drops; /* lock: checks answered from memory; checks that needed storage;
                                     answers dropped because of a change */
} __attribute__ ((aligned (128)));

typedef struct posix_acl_private {
    int64_t super_uid; /* option; atomic */
    int64_t timeout;   /* option, in nanoseconds; atomic */
    bool selinux;             /* SELinux is active and decides about its labels */
    /* Counts changes. Kept data were requested after the last change of their inode, and after
     * all_changed. */
    uint64_t changes;     /* atomic */
    uint64_t all_changed; /* atomic: value of changes when all data were dropped */
    uint64_t refused, asked, malformed; /* atomic */
    struct acl_stripe stripes[ACL_STRIPES];
} posix_acl_private_t;

enum acl_state {
    ACL_UNKNOWN,
    ACL_NONE,
    ACL_THERE,
    ACL_BAD /* the bytes are no valid ACL: only the owner has access */
};

/* Known data of an inode. */
struct acl_view {
    bool known;     /* uid, gid and mode are valid */
    uint8_t state;  /* enum acl_state; of acl */
    uint16_t mode;  /* 07777 */
    uint32_t uid, gid;
    struct acl *acl; /* with a reference */
};

typedef struct acl_view acl_view_t;
void acl_view_clear (acl_view_t *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (acl_view_t, acl_view_clear)

/* Data that a request had to ask for. */
struct acl_seen {
    inode_t *inode; /* with a reference; NULL: end of the list */
    uint64_t since; /* priv->changes before view was requested */
    struct acl_view view;
};

struct acl_named {
    inode_t *parent; /* with a reference; NULL: end of the list */
    char *name;
    inode_t *inode; /* with a reference; NULL: the name does not exist */
};

struct acl_local {
    call_stub_t *stub;     /* the call, while storage is asked */
    uint64_t since;        /* priv->changes before that */
    inode_t *asked_about;  /* with a reference */
    unsigned asks;
    struct acl_seen seen[ACL_SEEN];
    struct acl_named named[2];
    uint64_t names_at;     /* names_now before the last lookup of a name */
    inode_t *inode;        /* with a reference: the inode that a permitted call changes or
                              describes */
    bool exists;           /* create: the file exists, it is named[0] */
    bool opens_only;       /* create: the caller may not make a file there */
    unsigned creates;      /* number of attempts */
    fd_t *fd;              /* with a reference: the create's own fd */
    struct iatt found;     /* attributes of the last name's inode */
    struct iatt parent;    /* attributes of its directory, if has_parent */
    bool has_parent;
};

/* A call that is being judged. */
struct acl_look {
    const struct call *call;
    xlator_t *this;
    posix_acl_private_t *priv;
    struct acl_caller caller;
    struct acl_local *local; /* NULL: no question was asked yet */
    bool drop_setgid;        /* set by a rule: clear setgid in the new mode */
    /* the question, with ACL_ASK */
    enum { ASK_ATTRIBUTES, ASK_ACL, ASK_NAME } ask;
    inode_t *about;
    const char *name;
};

/* --- keep.c ----------------------------------------------------------------------------------- */

/* Returns the known data of an inode, without data that are too old or may be outdated. The caller
 * clears the view. */
void acl_keep_see (xlator_t *this, inode_t *inode, int64_t now, struct acl_view *ret_view);

/* Returns the count of changes. Call before asking storage, ... */
uint64_t acl_keep_now (xlator_t *this);

/* ... and pass it with the answer. The answer is kept unless the inode changed since. */
void acl_keep_attributes (xlator_t *this, inode_t *inode, uint64_t since, int64_t now,
                          const struct iatt *buf);
void acl_keep_acl (xlator_t *this, inode_t *inode, uint64_t since, int64_t now,
                   enum acl_state state, struct acl *acl);

/* The inode changes: drops known data, and answers on their way up. all: of all inodes. */
void acl_keep_drop (xlator_t *this, inode_t *inode);
void acl_keep_drop_all (xlator_t *this);
bool acl_keep_changed (xlator_t *this, inode_t *inode, uint64_t since);

/* Returns data that are kept, even if too old to decide by; age in ns, -1: none. For reports. */
int64_t acl_keep_remembered (xlator_t *this, inode_t *inode, struct acl_view *ret_view);
void acl_keep_init (posix_acl_private_t *priv);
void acl_keep_fini (posix_acl_private_t *priv);
void posix_acl_forget (xlator_t *this, inode_t *inode);

/* --- rights.c --------------------------------------------------------------------------------- */

/* These return 0, a negative errno, or ACL_ASK. */

/* attributes; the caller clears the view */
int acl_see (struct acl_look *look, inode_t *inode, struct acl_view *ret_view);
/* R_OK | W_OK | X_OK; -EACCES if refused */
int acl_may (struct acl_look *look, inode_t *inode, unsigned want);
int acl_owns (struct acl_look *look, inode_t *inode);                           /* -EPERM if not the
                                                                                   owner */

/* The inode of a name in a directory; NULL if the name does not exist. */
int acl_find (struct acl_look *look, inode_t *parent, const char *name, inode_t **ret_inode);

/* --- name-rules.c, attr-rules.c: one rule for each operation ---------------------------------- */

typedef int acl_rule (struct acl_look *look);

acl_rule posix_acl_lookup, posix_acl_opendir, posix_acl_open, posix_acl_create, posix_acl_tmpfile,
    posix_acl_mknod, posix_acl_mkdir, posix_acl_symlink, posix_acl_link, posix_acl_unlink,
    posix_acl_rmdir, posix_acl_rename;
acl_rule posix_acl_access, posix_acl_truncate, posix_acl_setattr, posix_acl_fsetattr,
    posix_acl_setxattr, posix_acl_getxattr, posix_acl_removexattr, posix_acl_fsetxattr,
    posix_acl_fgetxattr, posix_acl_fremovexattr, posix_acl_ioctl;

/* Returns true for an attribute that is an ACL, on which rights depend. */
bool posix_acl_is_acl (const char *name);

/* --- ask.c ------------------------------------------------------------------------------------ */

struct acl_local *acl_local_of (call_frame_t *frame);
void posix_acl_local_drop (xlator_t *this, void *local);
void acl_named_add (struct acl_local *local, inode_t *parent, const char *name, inode_t *inode);

void
acl_note_found (struct acl_local *local, const struct iatt *buf, const struct iatt *postparent);

/* Asks storage for the data that look needs, then has the call judged again. */
void acl_ask (struct acl_look *look);

/* Decodes an ACL from storage's answer. */
enum acl_state acl_take (xlator_t *this, const dict_t *dict, struct acl **ret_acl);

/* --- go-on.c ---------------------------------------------------------------------------------- */

/* Winds a permitted call. look is NULL for a trusted caller. */
void acl_go_on (const struct call *call, const struct acl_look *look);
void posix_acl_any_fop_cbk (const struct answer *answer);

/* --- explain.c -------------------------------------------------------------------------------- */

void posix_acl_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
void posix_acl_dump_inode (xlator_t *this, inode_t *inode, GString *out);

#endif
