/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside .meta.
 *
 *   meta.c     the translator
 *   inode.c    the context of an inode, and access to it
 *   names.c    lookup and attributes
 *   file.c     open, read, write
 *   dir.c      listings
 *   tree.c     the tree of names: struct meta_kind, one row per name
 *   daemon.c   files about the daemon
 *   xlator.c   files about one translator
 *   frames.c   the requests that are under way
 *
 * The text of a file is made by its kind's show at open: each open file has text of its own. A
 * kind's set gets one write, which is a complete value. All of it is called on any thread, also
 * while the graph's options change.
 */
#ifndef WINDLASS_META_INTERNAL_H
#define WINDLASS_META_INTERNAL_H

#include "meta/meta.h"
#include "xlator.h"

#include <errno.h>
#include <string.h>

/* State of the translator; constant after meta_new, but for of.graph, which meta_move changes. */
struct meta {
    struct meta_of of;
    const struct graph *own; /* .meta itself */
    char *uuid;         /* of the graph: host, process and time, as in GlusterFS */
    char *process_uuid;
    uid_t uid;          /* the user of the mount */
    gid_t gid;
    struct timespec born;
};

/* The object that an inode of .meta stands for. */
struct meta_node {
    const struct meta_kind *kind;
    /* Its translator, or NULL. By its name and type: the graph of an inode may be gone. */
    const char *volume;                 /* xlator_t.name, which is never freed */
    const struct xlator_api *api;
    const struct xlator_option *option; /* its option, or NULL */
    unsigned n;                         /* index of its subvolume */
};

struct meta_entry {
    char *name;
    struct meta_node node;
};

struct meta_kind {
    const char *name; /* a fixed name; NULL: the names are computed */
    ia_type_t type;
    const struct meta_kind *const *children; /* of a directory, ends with NULL; they stand for the
                                                same object */
    /* appends further entries, or NULL */
    void (*list) (const struct meta *meta, const struct meta_node *node, GPtrArray *entries);
    /* Appends the text of a file, or the target of a link. Returns 0 or a negative errno. */
    int (*show) (const struct meta *meta, const struct meta_node *node, GString *out);
    /* Sets a value, which is one line without its newline. Returns -EINVAL if it is not valid:
     * nothing has changed, and allowed says "must be ...". NULL: the file is read only. */
    int (*set) (const struct meta *meta, const struct meta_node *node, const char *value,
                GString *allowed);
};

/* The context of an inode; constant. */
struct meta_inode {
    struct meta_node node;
    gfid_t gfid;
    size_t size; /* of a link: the kernel cuts it there. 0 for files, since it is not known before
                    they are opened */
};

/* The context of an open file or directory; constant. */
struct meta_open {
    GString *text;      /* of a file that is open to read, or NULL */
    GPtrArray *entries; /* of a directory, or NULL */
};

static inline const struct meta *
meta_of (const xlator_t *this)
{
    return this->private;
}

/* --- inode.c --- */
/* Returns the translator of an object in the present graph; NULL if it has none, or if the mount
 * has moved to a graph without it, so that the object is gone. */
xlator_t *meta_xl (const struct meta *meta, const struct meta_node *node);
bool meta_is_gone (const struct meta *meta, const struct meta_node *node);
struct meta_inode *meta_inode_get (xlator_t *this, inode_t *inode);
/* Makes inode the entry of parent, unless it is that already. */
void meta_inode_become (xlator_t *this, inode_t *inode, const struct meta_inode *parent,
                        const struct meta_entry *entry);
void meta_forget (xlator_t *this, inode_t *inode);
gfid_t meta_child_gfid (const gfid_t *parent, const char *name);
uint64_t meta_ino (const gfid_t *gfid);
struct iatt meta_iatt (xlator_t *this, const struct meta_inode *mi);
/* Returns true if the caller is the owner of the mount, or root. */
bool meta_may_look (const call_frame_t *frame);
/* Returns 0, or the errno for a caller without access to an inode; .meta itself may be seen by all;
 * mi may be NULL. */
int meta_refused (const call_frame_t *frame, const struct meta_inode *mi);
/* The same for reading (R_OK), writing or executing it. */
int meta_access_error (const call_frame_t *frame, const struct meta_inode *mi, int mask);

/* --- names.c --- */
lookup_fop meta_lookup;
stat_fop meta_stat;
fstat_fop meta_fstat;
readlink_fop meta_readlink;
access_fop meta_access;
setattr_fop meta_setattr;
fsetattr_fop meta_fsetattr;

/* --- file.c --- */
struct meta_open *meta_open_get (xlator_t *this, fd_t *fd);
void meta_release (xlator_t *this, fd_t *fd);
open_fop meta_open;
readv_fop meta_readv;
writev_fop meta_writev;
truncate_fop meta_truncate;
ftruncate_fop meta_ftruncate;

/* --- dir.c --- */
opendir_fop meta_opendir;
readdir_fop meta_readdir;
readdirp_fop meta_readdirp;

/* --- tree.c --- */

/* The root of .meta's table: a directory that contains .meta. */
extern const struct meta_kind meta_outside;

/* Returns all entries of a directory, except . and ..; of struct meta_entry. */
GPtrArray *meta_entries (const struct meta *meta, const struct meta_node *node);
void meta_entries_add (GPtrArray *entries, char *name, const struct meta_node *node);

/* The name of a volume's directory: usually the volume's name. Freed with g_free. */
char *meta_file_name (const char *name);

#define META_LEVELS \
    "a number from 0 to 9, or NONE, EMERG, ALERT, CRITICAL, ERROR, WARNING, NOTICE, INFO, DEBUG " \
    "or TRACE"

/* --- daemon.c --- */
int meta_show_cmdline (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_version (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_process_uuid (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_mallinfo (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_measure_latency (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_set_measure_latency (const struct meta *meta, const struct meta_node *node,
                              const char *value, GString *allowed);
int meta_show_loglevel (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_set_loglevel (const struct meta *meta, const struct meta_node *node, const char *value,
                       GString *allowed);
int meta_show_logfile (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_jobs (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_active (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_volfile (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_top (const struct meta *meta, const struct meta_node *node, GString *out);

/* --- xlator.c --- */
int meta_show_type (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_name (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_private (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_history (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_meminfo (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_profile (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_settings (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_xl_loglevel (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_set_xl_loglevel (const struct meta *meta, const struct meta_node *node, const char *value,
                          GString *allowed);
int meta_show_option (const struct meta *meta, const struct meta_node *node, GString *out);
int meta_show_subvolume (const struct meta *meta, const struct meta_node *node, GString *out);
/* Calls fn for each option that is set explicitly, with its row. */
void meta_each_option (const struct meta *meta, xlator_t *xl,
                       void (*fn) (const struct xlator_option *option, void *data), void *data);

/* --- frames.c --- */
/* In the spelling of GlusterFS's lists: READ for readv. Freed with g_free. */
char *meta_fop_name (enum fop op);
int meta_show_frames (const struct meta *meta, const struct meta_node *node, GString *out);

#endif
