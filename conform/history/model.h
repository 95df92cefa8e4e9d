/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The inside of the model: shared by model.c, apply.c and apply-names.c. */
#ifndef WINDLASS_CONFORM_MODEL_H
#define WINDLASS_CONFORM_MODEL_H

#include "conform/history/history.h"

#define XATTRS 2 /* "user.x", "user.y" */

/* Special values of model_node.mtime; other values come from utime. TIME_MOVED: a change has set
 * the mtime to the time of the change, which the model does not know. TIME_UNKNOWN: an operation
 * may have done the same, or may have left the mtime as it was. */
#define TIME_MOVED 0
#define TIME_UNKNOWN (-1)

struct model_entry {
    char *name;
    int node;
};

/* A file. Models share this struct as long as the file is the same in all of them. So before a
 * change the caller gets the model's own copy from model_change. */
struct model_node {
    int refs;
    ia_type_t type;
    mode_t mode;
    int nlink;   /* number of names; of a directory: 1 while it exists */
    int parent;  /* number of the directory that contains this directory */
    bool unseen; /* an operation whose answer was lost made the file: its number is provisional */
    int64_t mtime;
    GBytes *bytes;           /* a file's content, or a link's target */
    GBytes *xattrs[XATTRS];  /* NULL: not set */
    GArray *entries;         /* of struct model_entry, sorted by name; NULL: not a directory */
};

struct model_fd {
    int node; /* -1: not open */
    uint32_t flags;
};

struct model {
    GPtrArray *nodes; /* of struct model_node, by number; NULL: no such file */
    GArray *fds;      /* of struct model_fd */
};

/* Returns NULL if there is none. */
struct model_node *model_node (const struct model *model, int number);
/* Returns the file for a change, as this model's own copy. */
struct model_node *model_change (struct model *model, int number);
struct model_fd *model_fd (const struct model *model, int number); /* NULL: not open */
void model_open (struct model *model, int number, int node, uint32_t flags);
void model_close (struct model *model, int number);

/* Makes a file without a name. No other file may have the number. */
struct model_node *model_make (struct model *model, int number, ia_type_t type, mode_t mode);

/* Returns whether the file has no name any more and no client has it open. */
bool model_is_dead (const struct model *model, int number);

/* Gives a file with a provisional number its real one. */
void model_renumber (struct model *model, int from, int to);

/* model_find returns the number of the file with that name, or -1. model_name adds a name and
 * model_unname removes one; both update the link count of the file. */
int model_find (const struct model *model, int directory, const char *name);
void model_name (struct model *model, int directory, const char *name, int node);
void model_unname (struct model *model, int directory, const char *name);

/* Returns the index of an extended attribute in xattrs, or -1. */
int xattr_index (const char *name);

/* --- apply.c, apply-names.c: judges one answer ------------------------------------------- */

struct judge {
    struct model *model;
    const struct operation *seen;
    GString *expected; /* appended to if the answer is wrong; may be NULL */
    bool unseen;       /* whether the answer was lost, so that it is not compared */
    bool wrong;
};

/* Compares success or failure with the model's. want: the errno of the model, or 0. reachable:
 * whether the object still exists; if not, ESTALE and ENOENT are right too. Returns whether the
 * operation has its effect. */
bool judge_goes_on (struct judge *judge, int want, bool reachable);

/* Compares one value of the answer with the model's. */
void judge_number (struct judge *judge, const char *what, int64_t is, int64_t want);
void judge_bytes (struct judge *judge, const char *what, GBytes *is, GBytes *want);

/* node: the file of the model that the answer should show. judge_found compares the number of the
 * file in the answer with it. Both functions compare the answer's attributes with the file's. */
void judge_found (struct judge *judge, int node);
void judge_iatt (struct judge *judge, int node);

/* Replaces size bytes of a file from offset on by bytes (NULL: by zeros). A gap before offset
 * becomes zeros. */
void node_put (struct model_node *node, const void *bytes, off_t offset, size_t size);
void node_resize (struct model_node *node, size_t size);
/* Returns the bytes of the file in that range, fewer at its end; freed with g_bytes_unref. */
GBytes *node_get (const struct model_node *node, off_t offset, size_t size);

/* The effects of operations on names: apply-names.c. */
typedef void apply_fn (struct judge *judge);
apply_fn apply_lookup, apply_create, apply_mkdir, apply_symlink, apply_link, apply_unlink,
    apply_rmdir, apply_rename, apply_readdir;

#endif
