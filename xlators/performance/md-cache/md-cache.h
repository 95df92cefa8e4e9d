/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/md-cache:
 *
 *   md-cache.c   options, init and fini, dumps, invalidation
 *   inode.c      the context of an inode: attributes, and two of its names
 *   names.c      which names are being changed, and what is known of them
 *   xattrs.c     extended attributes of an inode, and which of them are kept
 *   ask.c        requests that read: lookup, stat, fstat, readlink, readv, statfs
 *   ahead.c      lists a directory in the background while its names are looked up
 *   list.c       directories: readdir, readdirp
 *   change.c     requests that change a file or a name
 *   xattr-ops.c  getxattr, fgetxattr
 *
 * A change never removes kept answers. Each answer has the time when it was requested, and
 * core/cache/change-views.h tells whether it still holds.
 *
 *   mdc_private --all----> change_view     everything; paused while a name is changed whose file is
 *                                          not known
 *               --slots--> mdc_slot[]      a name in a directory, by its hash
 *               --directories--> change_view[]  all names in a directory, by its hash
 *               --recent-> uint64_t[]      when the inode with a gfid of that hash last changed,
 *                                          for inodes without a context
 *   inode ctx = mdc_inode --attributes--> change_view
 *                         --xattrs-----> change_view
 *                         --ahead------> mdc_ahead       of a directory: what is read ahead
 *
 * Locks: mdc_inode.lock and private.lock are leaves; neither is taken under the other.
 *
 * Reasons:
 *
 * - A removed name takes a link of its file away, so it changes the file's attributes. md-cache
 *   knows which file that is as long as one operation at a time changes the name and it has seen
 *   the name's file, or that there was none. Otherwise it uses no kept answer until the change is
 *   done, nor afterwards. The kernel looks a name up before it changes it, so that is rare.
 * - A lookup needs a name that md-cache has seen, besides attributes: the table's names may be old.
 *   Two names of an inode are remembered.
 * - root->checked says that the maker of the request verified that the caller may search the
 *   directory, so that storage, which acts as the caller, would not refuse what a cache answers.
 *   The bridge sets it for root, and where the kernel checks rights and ACLs.
 * - Over a server readdir becomes a readdirp of five times the size, cut to as many names as a
 *   readdir would have had. Its inodes are linked, or they would be gone before a caller asks for
 *   them.
 * - statfs holds until anything changes. It is off by default.
 */
#ifndef WINDLASS_MD_CACHE_H
#define WINDLASS_MD_CACHE_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MDC_SLOTS 4096
#define MDC_DIRECTORIES 1024
#define MDC_RECENT 1024
#define MDC_TIMEOUT_MAX 60 /* seconds, without cache-invalidation */

/* The state of all names with the same hash. */
struct mdc_slot {
    struct change_view view; /* written under private.lock */
    bool company;            /* two changes at once: their files are not known, so all is paused.
                                private.lock */
    uint64_t absent;         /* the hash of a name that does not exist, 0: none; private.lock */
    uint64_t absent_asked;   /* when absent was requested; private.lock */
    int64_t absent_time;     /* the same, by clock_roughly; private.lock */
};

#define MDC_ALONG 4 /* extended attributes that come along with names */

/* Which extended attributes are kept; constant. */
struct mdc_patterns {
    struct shared shared;
    GPtrArray *globs;      /* of char * */
    GPtrArray *specs;      /* of GPatternSpec *, the same */
    bool along[MDC_ALONG]; /* those that come along */
};

struct mdc_counts {
    uint64_t stat_hit, stat_miss, xattr_hit, xattr_miss, negative_xattr_hit, lookup_hit,
        lookup_miss, statfs_hit, statfs_miss, pieces_ahead;
    uint64_t kept, discarded, invalidations;
};

typedef struct mdc_private {
    /* Options; online ones are atomic, texts are under lock. */
    int timeout_option; /* seconds */
    bool cache_invalidation, global_invalidation, force_readdirp, statfs;
    bool capability, ima, selinux, posix_acl, glusterfs_acl, swift, samba;
    bool look_ahead; /* an option; false also while the mount ends */
    char *xattr_list;

    int64_t timeout; /* nanoseconds; atomic */
    uint64_t seed;   /* of the hashes; constant */
    struct change_clock clock;
    uint64_t recent[MDC_RECENT]; /* atomic */
    struct shared_slot patterns;
    dict_t *along;               /* xdata that asks a server for extended attributes of each file
                                    that is looked up or listed; NULL: there is no server. Constant
                                    after PARENT_UP */
    uint32_t namespaces;         /* of extended attributes that storage supports: a bit for each of
                                    mdc_namespaces. Atomic */
    struct change_view all, xattrs; /* changes of anything; of any extended attribute. Written under
                                       lock */
    struct change_view directories[MDC_DIRECTORIES]; /* changes of any name in a directory, by its
                                                        hash. Written under lock */
    pthread_mutex_t lock;           /* a leaf; taken by changes of names, and by statfs */
    unsigned ahead_under_way;       /* listings by ahead.c; lock */
    pthread_cond_t ahead_idle;      /* ahead_under_way is 0 */
    struct mdc_slot *slots;         /* MDC_SLOTS; allocated for the first name. Atomic */
    struct {                        /* lock */
        struct statvfs buf;
        uint64_t nodeid, asked; /* nodeid 0: no request */
        int64_t time;
    } statfs_kept;
    struct mdc_counts count; /* atomic */
} mdc_private_t;

/* When a request went down. */
struct mdc_asked {
    uint64_t asked; /* change_clock_now */
    int64_t time;   /* clock_roughly */
};

/* An extended attribute that exists, or is known not to. */
struct mdc_xattr {
    struct mdc_xattr *next;
    struct mdc_asked at;
    dict_t *dict; /* a single one, as getxattr answers it; NULL: ENODATA */
    size_t size;  /* approximate memory for all of it */
    char name[];
};

#define MDC_XATTRS_MAX 16    /* per inode */
#define MDC_XATTRS_SIZE 4096 /* bytes per inode */

/* What is read ahead of a directory; mdc_inode.lock. */
struct mdc_ahead {
    int64_t since;             /* clock_roughly when the counts began */
    unsigned missed, answered; /* lookups of its names */
    unsigned read;             /* entries */
    off_t offset;              /* of the next piece */
    bool under_way, ended;
};

/* The context of an inode. */
struct mdc_inode {
    pthread_mutex_t lock; /* a leaf; guards the fields below */
    struct change_view attributes, xattrs;
    struct mdc_asked at;  /* of iatt; asked 0 and time 0: no iatt */
    bool have;            /* there is an iatt */
    bool fresh;           /* it was kept for an inode that the table did not know yet */
    struct iatt iatt;
    struct mdc_name {     /* two of its names: the one seen last, and an earlier one */
        uint64_t hash;    /* 0: none */
        struct mdc_asked at;
    } names[2];
    struct mdc_xattr *values;
    unsigned n_values;
    size_t values_size;
    dict_t *listed;       /* the names of all its extended attributes, each with an empty value; or
                             NULL */
    struct mdc_asked listed_at;
    struct mdc_ahead *ahead; /* NULL: none of its names was looked up */
};

/* A request on its way. */
struct mdc_local {
    struct mdc_asked at;
    uint64_t names_at;       /* names_now at the request: inode_link_asked */
    inode_t *inode;          /* with a reference */
    inode_t *parent;         /* lookup of a name: with a reference */
    uint64_t name;           /* lookup: the hash of the name; 0: none */
    size_t size;             /* readdir: the requested size */
    fd_t *fd;                /* of a piece read ahead: with a reference */
    off_t offset;            /* the same */
    char *xattr;             /* getxattr: the name, freed with g_free; NULL: a list */
};

static inline mdc_private_t *
mdc_priv (const xlator_t *this)
{
    return this->private;
}

static inline void
mdc_count (uint64_t *counter)
{
    __atomic_fetch_add (counter, 1, __ATOMIC_RELAXED);
}

#define MDC_OPTION(this_, field_) __atomic_load_n (&mdc_priv (this_)->field_, __ATOMIC_RELAXED)

static inline struct mdc_asked
mdc_now (xlator_t *this)
{
    return (struct mdc_asked){ change_clock_now (&mdc_priv (this)->clock), clock_roughly () };
}

/* Returns true if the answer is young enough to be used. */
static inline bool
mdc_is_young (xlator_t *this, const struct mdc_asked *at, int64_t now)
{
    return now - at->time < MDC_OPTION (this, timeout);
}

static inline struct mdc_inode *
mdc_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

/* --- inode.c --- */
struct mdc_inode *mdc_inode_make (xlator_t *this, inode_t *inode);
void mdc_forget (xlator_t *this, inode_t *inode);

/* Finds the inode's attributes, if they are kept and hold. */
bool mdc_attributes (xlator_t *this, inode_t *inode, struct iatt *ret_iatt);
bool mdc_attributes_of_name (xlator_t *this, inode_t *inode, uint64_t name, struct iatt *ret_iatt);

/* Keeps answered attributes with the inode by which the table knows the file, and returns that
 * inode. If it is not `inode`, its reference goes to *ret_other. buf may be NULL. */
inode_t *mdc_keep (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at,
                   inode_t **ret_other);
void mdc_keep_simply (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at);

/* Notes an answer by which the inode has that name. */
void mdc_keep_name (xlator_t *this, inode_t *inode, uint64_t name, struct mdc_asked at);
/* Notes an answer by which it does not have that name. */
void mdc_drop_name (xlator_t *this, inode_t *inode, uint64_t name);
bool mdc_is_known_by (xlator_t *this, inode_t *inode, uint64_t name, uint64_t *ret_asked);

/* The inode was read, by an answer without attributes: its atime may have changed. */
void mdc_was_read (xlator_t *this, inode_t *inode);

/* Begins a change of its attributes and, with xattrs, of its extended attributes. *ret_bare_since,
 * unless NULL: when it was last known to have no capabilities, or 0. */
uint64_t mdc_change_begin (xlator_t *this, inode_t *inode, bool xattrs, int64_t *ret_bare_since);
/* Have extended attributes of all inodes held since then? */
bool mdc_none_changed_since (xlator_t *this, uint64_t asked);
/* post: its attributes in the answer, or NULL. Returns the time of the end, or 0 if there was
 * another change of the inode meanwhile. */
uint64_t mdc_change_end (xlator_t *this, inode_t *inode, bool xattrs, uint64_t begun,
                     const struct iatt *post);
/* The inode changed, not through this translator. */
void mdc_changed (xlator_t *this, inode_t *inode, bool attributes, bool xattrs);
void mdc_changed_gfid (xlator_t *this, const gfid_t *gfid);

/* --- names.c --- */
uint64_t mdc_name_hash (xlator_t *this, const inode_t *parent, const char *name); /* never 0 */
bool mdc_name_holds (xlator_t *this, uint64_t name, uint64_t asked);
void mdc_name_absent (xlator_t *this, uint64_t name, struct mdc_asked at);
void mdc_name_changed (xlator_t *this, uint64_t name);
void mdc_directory_changed (xlator_t *this, const inode_t *directory); /* any of its names */

/* known_asked: when the name's file was requested, if it is known. *ret_sure: that still holds, or
 * the name is known not to exist. *ret_absent: it did not exist md-cache-timeout ago or less.
 * Returns the time of the beginning. */
uint64_t mdc_name_begin (xlator_t *this, uint64_t name, bool known, uint64_t known_asked,
                         bool *ret_sure, bool *ret_absent);
/* gone: the name does not exist now, unless another operation changed it. Returns 0, or the time of
 * the end. */
uint64_t mdc_name_end (xlator_t *this, uint64_t name, uint64_t begun, bool gone);

/* Stops the use of all kept answers until mdc_resume; with forget, also afterwards. */
void mdc_pause (xlator_t *this);
void mdc_resume (xlator_t *this, bool forget);
void mdc_all_changed (xlator_t *this, struct change_view *view);

/* --- xattrs.c --- */
struct mdc_patterns *mdc_patterns_new (const mdc_private_t *options);
int mdc_patterns_check (const char *text, char **ret_allowed);

enum mdc_xattr_known { MDC_XATTR_UNKNOWN, MDC_XATTR_THERE, MDC_XATTR_ABSENT };
/* *ret_dict: the attribute with a reference, if it exists. */
enum mdc_xattr_known
mdc_xattr_find (xlator_t *this, inode_t *inode, const char *name, dict_t **ret_dict);
void mdc_xattr_keep (xlator_t *this, inode_t *inode, const char *name, dict_t *dict,
                     struct mdc_asked at);
/* The kernel asks for a file's capabilities before the first write and before chown, so of each new
 * file. A new file has none, and only setxattr gives it one. */
int64_t mdc_bare_since_locked (xlator_t *this, struct mdc_inode *kept); /* 0: not known */
void mdc_keep_no_capability (xlator_t *this, inode_t *inode, struct mdc_asked at);
void mdc_xattr_keep_list (xlator_t *this, inode_t *inode, dict_t *dict, struct mdc_asked at);
void mdc_xattrs_drop_locked (struct mdc_inode *kept);

/* Attributes that come along with a lookup or an entry of a list, as programs that list directories
 * ask for them file by file. mdc_xattrs_ask returns the request's xdata, with a reference, or
 * NULL. */
dict_t *mdc_xattrs_along (void);
dict_t *mdc_xattrs_ask (xlator_t *this, dict_t *xdata);
void mdc_xattrs_take (xlator_t *this, inode_t *inode, const dict_t *xdata, struct mdc_asked at);

/* --- ahead.c --- */

/* Notes that a name of the directory was looked up; answered: from the cache. Returns a request
 * that reads ahead, or NULL; the caller gives it to mdc_ahead_begin once frame is answered. */
call_stack_t *mdc_ahead (call_frame_t *frame, xlator_t *this, inode_t *directory, bool answered);
void mdc_ahead_begin (xlator_t *this, call_stack_t *root);
/* Waits until nothing is being read ahead; nothing will be. */
void mdc_ahead_end (xlator_t *this);

/* --- ask.c, list.c, change.c, xattr-ops.c --- */

/* Keeps what a listing says of each entry. link: no translator above takes the inodes. */
void mdc_entries_keep (xlator_t *this, const struct mdc_local *local, const gf_dirent_t *entries,
                       bool link);
struct mdc_local *mdc_ask (call_frame_t *frame, xlator_t *this, inode_t *inode);
void mdc_local_drop (xlator_t *this, void *local);

extern lookup_fop mdc_lookup;
extern stat_fop mdc_stat;
extern fstat_fop mdc_fstat;
extern readlink_fop mdc_readlink;
extern readv_fop mdc_readv;
extern statfs_fop mdc_statfs;
extern readdir_fop mdc_readdir;
extern readdirp_fop mdc_readdirp;
extern getxattr_fop mdc_getxattr;
extern fgetxattr_fop mdc_fgetxattr;
any_fop_t mdc_any_fop;
any_fop_cbk_t mdc_any_fop_cbk;

#endif
