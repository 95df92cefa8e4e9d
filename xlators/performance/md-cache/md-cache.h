/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside performance/md-cache:
 *
 *   md-cache.c   options, beginning and end, dumps, what became invalid
 *   inode.c      what is kept with an inode: attributes, and one of its names
 *   names.c      which names are being changed, and what is known of them
 *   xattrs.c     extended attributes of an inode, and which of them are kept
 *   ask.c        requests that ask: lookup, stat, fstat, readlink, readv, statfs
 *   list.c       directories: readdir, readdirp
 *   change.c     requests that change something
 *   xattr-ops.c  getxattr, fgetxattr
 *
 * What is kept is never removed when something changes: it says when it was asked for, and
 * core/cache/change-views.h whether it still holds.
 *
 *   mdc_private --all----> change_view     everything; paused while a name is changed of which
 *                                          nobody knows what it stands for
 *               --names--> mdc_slot[]      a name in a directory, by its hash
 *               --recent-> uint64_t[]      when the inode with a gfid of that hash last changed,
 *                                          for inodes with which nothing is kept yet
 *   inode ctx = mdc_inode --attributes--> change_view
 *                         --xattrs-----> change_view
 *
 * Locks: mdc_inode.lock and private.lock are leaves; neither is taken under the other.
 *
 * Reasons:
 *
 * - A removed name takes a link of its file away, so it changes the file's attributes. md-cache
 *   knows which file that is as long as one operation at a time changes the name and it has seen
 *   what the name stood for, or that there was none. Otherwise it uses nothing that it keeps until
 *   the change is done, nor afterwards. The kernel looks a name up before it changes it, so that is
 *   rare.
 * - A lookup needs a name that md-cache has seen, besides attributes: the table's names may be old.
 *   Two names of an inode are remembered.
 * - root->checked says that the maker of the request verified that the caller may search the
 *   directory, so that storage, which acts as the caller, would not refuse what a cache answers.
 *   The bridge sets it for root, and where the kernel checks rights and ACLs.
 * - readdir becomes a readdirp of five times the size, cut to as many names as a readdir would have
 *   had. Its inodes are linked, or they would be gone before a caller asks for them.
 * - statfs holds until anything changes. It is off by default.
 */
#ifndef WINDLASS_MD_CACHE_H
#define WINDLASS_MD_CACHE_H

#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MDC_SLOTS 4096
#define MDC_RECENT 1024
#define MDC_TIMEOUT_MAX 60 /* seconds, without cache-invalidation */

/* What is known of names with the same hash. */
struct mdc_slot {
    struct change_view view; /* written under private.lock */
    bool company;            /* two changes at once: which file each of them is about isn't known,
                                so all is paused. private.lock */
    uint64_t absent;         /* the hash of a name that isn't there, 0: none; private.lock */
    uint64_t absent_asked;   /* private.lock */
};

/* Which extended attributes are kept; never changes. */
struct mdc_patterns {
    struct shared shared;
    GPtrArray *globs; /* of char * */
};

struct mdc_counts {
    uint64_t stat_hit, stat_miss, xattr_hit, xattr_miss, negative_xattr_hit, lookup_hit,
        lookup_miss, statfs_hit, statfs_miss;
    uint64_t kept, discarded, invalidations;
};

typedef struct mdc_private {
    /* Options; what is online is atomic, texts are under lock. */
    int timeout_option; /* seconds */
    bool cache_invalidation, global_invalidation, force_readdirp, statfs;
    bool capability, ima, selinux, posix_acl, glusterfs_acl, swift, samba;
    char *xattr_list;

    int64_t timeout; /* nanoseconds; atomic */
    uint64_t seed;   /* of hashes; constant */
    struct change_clock clock;
    uint64_t recent[MDC_RECENT]; /* atomic */
    struct shared_slot patterns;
    uint32_t namespaces;         /* of extended attributes, that storage has: a bit for each of
                                    mdc_namespaces. Atomic */
    struct change_view all, names, xattrs; /* anything; any name; any extended attribute. Written
                                              under lock */
    pthread_mutex_t lock;                  /* a leaf; changes of names take it, and statfs */
    struct mdc_slot *slots;                /* MDC_SLOTS; made for the first name. Atomic */
    struct {                               /* lock */
        struct statvfs buf;
        uint64_t nodeid, asked; /* nodeid 0: nothing */
        int64_t time;
    } statfs_kept;
    struct mdc_counts count; /* atomic */
} mdc_private_t;

/* When a question was asked, and what for. */
struct mdc_asked {
    uint64_t asked; /* change_clock_now */
    int64_t time;   /* clock_roughly */
};

/* An extended attribute that is there, or isn't. */
struct mdc_xattr {
    struct mdc_xattr *next;
    struct mdc_asked at;
    dict_t *dict; /* of one, as getxattr answers it; NULL: ENODATA */
    size_t size;  /* what all of it takes, about */
    char name[];
};

#define MDC_XATTRS_MAX 16    /* of one inode */
#define MDC_XATTRS_SIZE 4096 /* bytes, of one inode */

/* What is kept with an inode. */
struct mdc_inode {
    pthread_mutex_t lock; /* a leaf; guards all that follows */
    struct change_view attributes, xattrs;
    struct mdc_asked at;  /* of iatt; asked 0 and time 0: there is none */
    bool have;            /* there is an iatt */
    bool fresh;           /* it was kept with an inode that the table didn't know yet */
    struct iatt iatt;
    struct mdc_name {     /* names that it has: the one seen last, and one before */
        uint64_t hash;    /* 0: none */
        struct mdc_asked at;
    } names[2];
    struct mdc_xattr *values;
    unsigned n_values;
    size_t values_size;
    dict_t *listed;       /* all its extended attributes' names, each with an empty value, or
                             NULL */
    struct mdc_asked listed_at;
};

/* A question on its way. */
struct mdc_local {
    struct mdc_asked at;
    inode_t *inode, *parent; /* with references; parent of a lookup alone */
    uint64_t name;           /* of a lookup: the hash; 0: none */
    size_t size;             /* readdir's */
    char *xattr;             /* getxattr's; g_free. NULL: a list */
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

/* Is it young enough to be used? */
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

/* Its attributes, if they are kept and hold. */
bool mdc_attributes (xlator_t *this, inode_t *inode, struct iatt *ret_iatt);
bool mdc_attributes_of_name (xlator_t *this, inode_t *inode, uint64_t name, struct iatt *ret_iatt);

/* Keeps attributes that were answered, with the inode that the table knows them by: inode, or
 * another one, which is returned without a reference being taken if it is inode, else with one that
 * goes to *ret_other. buf may be NULL. */
inode_t *mdc_keep (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at,
                   inode_t **ret_other);
void mdc_keep_simply (xlator_t *this, inode_t *inode, const struct iatt *buf, struct mdc_asked at);

/* The inode has that name, as was answered. */
void mdc_keep_name (xlator_t *this, inode_t *inode, uint64_t name, struct mdc_asked at);
/* It hadn't. */
void mdc_drop_name (xlator_t *this, inode_t *inode, uint64_t name);
bool mdc_is_known_by (xlator_t *this, inode_t *inode, uint64_t name, uint64_t *ret_asked);

/* It was read, by an answer without attributes: the time of access may have moved. */
void mdc_was_read (xlator_t *this, inode_t *inode);

/* Its attributes change, and, with xattrs, extended ones. */
uint64_t mdc_change_begin (xlator_t *this, inode_t *inode, bool xattrs);
/* post: what the answer says of it afterwards, or NULL. */
void mdc_change_end (xlator_t *this, inode_t *inode, bool xattrs, uint64_t begun,
                     const struct iatt *post);
/* Somebody else changed it. */
void mdc_changed (xlator_t *this, inode_t *inode, bool attributes, bool xattrs);
void mdc_changed_gfid (xlator_t *this, const gfid_t *gfid);

/* --- names.c --- */
uint64_t mdc_name_hash (xlator_t *this, const inode_t *parent, const char *name); /* never 0 */
bool mdc_name_holds (xlator_t *this, uint64_t name, uint64_t asked);
void mdc_name_absent (xlator_t *this, uint64_t name, uint64_t asked);
void mdc_name_changed (xlator_t *this, uint64_t name);

/* known_asked: when it was asked for what the name stands for, if that is known. *ret_sure: it
 * still holds, or it is known that there is no such name. Returns when it began. */
uint64_t mdc_name_begin (xlator_t *this, uint64_t name, bool known, uint64_t known_asked,
                         bool *ret_sure, bool *ret_absent);
/* gone: there is no such name now, if nothing else changed it. 0, or when that was. */
uint64_t mdc_name_end (xlator_t *this, uint64_t name, uint64_t begun, bool gone);

/* Nothing that is kept is used, until mdc_resume; forget: nor afterwards. */
void mdc_pause (xlator_t *this);
void mdc_resume (xlator_t *this, bool forget);
void mdc_all_changed (xlator_t *this, struct change_view *view);

/* --- xattrs.c --- */
struct mdc_patterns *mdc_patterns_new (const mdc_private_t *options);
int mdc_patterns_check (const char *text, char **ret_allowed);

enum mdc_xattr_known { MDC_XATTR_UNKNOWN, MDC_XATTR_THERE, MDC_XATTR_ABSENT };
/* *ret_dict: with a reference, if it is there. */
enum mdc_xattr_known
mdc_xattr_find (xlator_t *this, inode_t *inode, const char *name, dict_t **ret_dict);
void mdc_xattr_keep (xlator_t *this, inode_t *inode, const char *name, dict_t *dict,
                     struct mdc_asked at);
void mdc_xattr_keep_list (xlator_t *this, inode_t *inode, dict_t *dict, struct mdc_asked at);
void mdc_xattrs_drop_locked (struct mdc_inode *kept);

/* --- ask.c, list.c, change.c, xattr-ops.c --- */
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
every_fop mdc_every;
every_cbk mdc_every_cbk;

#endif
