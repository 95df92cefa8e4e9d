/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * system/posix-acl: may the caller do this? Asked of modes, owners and POSIX ACLs, before a request
 * goes down.
 *
 *   a call -> posix_acl_every -> judge: the rule of its operation        name-rules.c, attr-rules.c
 *                  ^               | asks for rights                     rights.c
 *                  |               v of what is kept with an inode       keep.c
 *                  |             something isn't known: ACL_ASK
 *                  |               v
 *                  +-- resumed -- the call is set aside, and it is asked for    ask.c
 *                                  otherwise: refused, or down the graph        go-on.c
 *
 * What a rule saw once it sees again when it is called again for the same call, whatever has
 * changed meanwhile: struct acl_local has it. So it comes to an end, also with a memory of no time
 * at all.
 *
 * Locks: a stripe's is a leaf.
 *
 * Reasons:
 *
 * - One rule for each operation, and one function that calls them (core/edge/any-fop.h). A rule
 *   that needs an answer is called again from its beginning, and sees what it saw before: so no
 *   state is kept between two questions.
 * - ACLs are asked for only when they decide: the owner, root, and a mode that gives the group
 *   nothing need none. The kernel's own questions pass by here and are remembered.
 * - Default ACLs decide nothing here; the file system below gives them to new files.
 * - A create without O_EXCL is tried with it: whether it makes or opens decides which rights are
 *   needed. If the caller may make no file there, the existing file is opened, not created again:
 *   the name might be free by then.
 * - A request that a rule let pass is marked as checked (root->checked), so that caches below may
 *   answer it.
 * - acl=translator (src/fuse/rights.c): with FUSE_POSIX_ACL the kernel checks rights in any case,
 *   so it isn't asked for. Without default_permissions the kernel doesn't check directories that it
 *   remembers, so it remembers no names. It hides the sticky bit from itself, and says ENOTDIR or
 *   EISDIR before it asks.
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

#define ACL_ASK 1      /* of a rule: something isn't known yet; look->ask says what */
#define ACL_STRIPES 64 /* locks; an inode has one of them */
/* inodes that one request is about, at most: a rename's directories, what it moves and what it
 * replaces */
#define ACL_SEEN 6

/* Beside each other with what they guard, each with a cache line of its own. */
struct acl_stripe {
    pthread_mutex_t lock;
    uint64_t hits, misses, drops; /* lock: questions answered from memory, and not; what was dropped
                                     since it changed */
} __attribute__ ((aligned (128)));

typedef struct posix_acl_private {
    int64_t super_uid; /* option; atomic */
    int64_t timeout;   /* option, in nanoseconds; atomic */
    bool protected_hardlinks; /* of the kernel, when it began */
    bool selinux;             /* it decides itself about its labels */
    /* Counts changes. What is kept was asked for after the last change of its inode, and after the
     * last of everything. */
    uint64_t changes;     /* atomic */
    uint64_t all_changed; /* atomic: changes when everything was dropped */
    uint64_t refused, asked, malformed; /* atomic */
    struct acl_stripe stripes[ACL_STRIPES];
} posix_acl_private_t;

enum acl_state {
    ACL_UNKNOWN,
    ACL_NONE,
    ACL_THERE,
    ACL_BAD /* what is there is none: nobody but the owner may anything */
};

/* What is known of an inode. */
struct acl_view {
    bool known;     /* uid, gid and mode */
    uint8_t state;  /* enum acl_state; of acl */
    uint16_t mode;  /* 07777 */
    uint32_t uid, gid;
    struct acl *acl; /* with a reference */
};

typedef struct acl_view acl_view_t;
void acl_view_clear (acl_view_t *view);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (acl_view_t, acl_view_clear)

/* What a request had to ask for. */
struct acl_seen {
    inode_t *inode; /* with a reference; NULL: the end */
    uint64_t since; /* priv->changes when view was asked for */
    struct acl_view view;
};

struct acl_named {
    inode_t *parent; /* with a reference; NULL: the end */
    char *name;
    inode_t *inode; /* with a reference; NULL: there is no such name */
};

struct acl_local {
    call_stub_t *stub;     /* the call, while something is asked for */
    uint64_t since;        /* priv->changes when it was */
    inode_t *asked_about;  /* with a reference */
    unsigned asks;
    struct acl_seen seen[ACL_SEEN];
    struct acl_named named[2];
    inode_t *inode;        /* with a reference: what a call that went down changes or tells of */
    bool exists;           /* of a create: there is such a file, named[0], */
    bool opens_only;       /* and the caller may not make one */
    unsigned creates;      /* how often it was tried */
    fd_t *fd;              /* with a reference: its own */
    struct iatt found;     /* what the last name stood for, */
    struct iatt parent;    /* and the directory that it is in, if has_parent */
    bool has_parent;
};

/* One call being judged. */
struct acl_look {
    const struct call *call;
    xlator_t *this;
    posix_acl_private_t *priv;
    struct acl_caller caller;
    struct acl_local *local; /* NULL: nothing was asked for yet */
    bool drop_setgid;        /* a rule's: the new mode goes down without it */
    /* with ACL_ASK */
    enum { ASK_ATTRIBUTES, ASK_ACL, ASK_NAME } ask;
    inode_t *about;
    const char *name;
};

/* --- keep.c ----------------------------------------------------------------------------------- */

/* What is known of an inode now; what is too old, or may not be so any more, isn't. Clear it. */
void acl_keep_see (xlator_t *this, inode_t *inode, int64_t now, struct acl_view *ret_view);

/* The count of changes, to be taken before something is asked for, ... */
uint64_t acl_keep_now (xlator_t *this);

/* ... and what was then found. It is kept unless the inode changed since. */
void acl_keep_attributes (xlator_t *this, inode_t *inode, uint64_t since, int64_t now,
                          const struct iatt *buf);
void acl_keep_acl (xlator_t *this, inode_t *inode, uint64_t since, int64_t now,
                   enum acl_state state, struct acl *acl);

/* It changes: nothing that is known of it, or on its way up, may be kept. all: nothing of
 * anything. */
void acl_keep_drop (xlator_t *this, inode_t *inode);
void acl_keep_drop_all (xlator_t *this);
bool acl_keep_changed (xlator_t *this, inode_t *inode, uint64_t since);

/* What is remembered, also when it is too old to decide by; age in ns, -1: nothing is. Of
 * reports. */
int64_t acl_keep_remembered (xlator_t *this, inode_t *inode, struct acl_view *ret_view);
void acl_keep_init (posix_acl_private_t *priv);
void acl_keep_fini (posix_acl_private_t *priv);
void posix_acl_forget (xlator_t *this, inode_t *inode);

/* --- rights.c --------------------------------------------------------------------------------- */

/* These return 0, a negative errno, or ACL_ASK. */

/* attributes; clear it */
int acl_see (struct acl_look *look, inode_t *inode, struct acl_view *ret_view);
/* R_OK | W_OK | X_OK; else -EACCES */
int acl_may (struct acl_look *look, inode_t *inode, unsigned want);
int acl_owns (struct acl_look *look, inode_t *inode);                           /* else -EPERM */

/* What a name in a directory stands for; NULL when there is none. */
int acl_find (struct acl_look *look, inode_t *parent, const char *name, inode_t **ret_inode);

/* --- name-rules.c, attr-rules.c: one rule for each operation ---------------------------------- */

typedef int acl_rule (struct acl_look *look);

acl_rule posix_acl_lookup, posix_acl_opendir, posix_acl_open, posix_acl_create, posix_acl_tmpfile,
    posix_acl_mknod, posix_acl_mkdir, posix_acl_symlink, posix_acl_link, posix_acl_unlink,
    posix_acl_rmdir, posix_acl_rename;
acl_rule posix_acl_access, posix_acl_truncate, posix_acl_setattr, posix_acl_fsetattr,
    posix_acl_setxattr, posix_acl_getxattr, posix_acl_removexattr, posix_acl_fsetxattr,
    posix_acl_fgetxattr, posix_acl_fremovexattr, posix_acl_ioctl;

/* Does it set or remove an ACL, on which rights depend? */
bool posix_acl_is_acl (const char *name);

/* --- ask.c ------------------------------------------------------------------------------------ */

struct acl_local *acl_local_of (call_frame_t *frame);
void posix_acl_local_drop (xlator_t *this, void *local);
void acl_named_add (struct acl_local *local, inode_t *parent, const char *name, inode_t *inode);

void
acl_note_found (struct acl_local *local, const struct iatt *buf, const struct iatt *postparent);

/* Asks for what look needs, then has the call judged again. */
void acl_ask (struct acl_look *look);

/* What bytes that came from below say. */
enum acl_state acl_take (xlator_t *this, const dict_t *dict, struct acl **ret_acl);

/* --- go-on.c ---------------------------------------------------------------------------------- */

/* Down the graph. look is NULL for who may do everything. */
void acl_go_on (const struct call *call, const struct acl_look *look);
void posix_acl_every_cbk (const struct answer *answer);

/* --- explain.c -------------------------------------------------------------------------------- */

void posix_acl_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
void posix_acl_dump_inode (xlator_t *this, inode_t *inode, GString *out);

#endif
