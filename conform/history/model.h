/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the model: shared by model.c and apply.c. */
#ifndef WINDLASS_CONFORM_MODEL_H
#define WINDLASS_CONFORM_MODEL_H

#include "conform/history/history.h"

#define XATTRS 2 /* "user.x", "user.y" */

/* A time that no client has set, and one that is not known. Others were set by utime. */
#define TIME_MOVED 0
#define TIME_UNKNOWN (-1)

struct model_entry {
    char *name;
    int node;
};

/* A file, shared by all models that contain it unchanged: only change it through model_change. */
struct model_node {
    int refs;
    ia_type_t type;
    mode_t mode;
    int nlink; /* of a directory: it exists */
    int parent; /* of a directory */
    bool unseen; /* made by an operation whose answer was lost: its number is provisional */
    int64_t mtime;
    GBytes *bytes;           /* a file's content, or a link's target */
    GBytes *xattrs[XATTRS];  /* NULL: not set */
    GArray *entries;         /* of struct entry, by name; NULL unless a directory */
};

struct model_fd {
    int node; /* -1: not open */
    uint32_t flags;
};

struct model {
    GPtrArray *nodes; /* by number; NULL: not known */
    GArray *fds;      /* of struct model_fd */
};

/* Returns NULL if there is none. */
struct model_node *model_node (const struct model *model, int number);
/* The same, as this model's own copy, which may be changed. */
struct model_node *model_change (struct model *model, int number);
struct model_fd *model_fd (const struct model *model, int number); /* NULL: not open */
void model_open (struct model *model, int number, int node, uint32_t flags);
void model_close (struct model *model, int number);

/* Makes a node with that number, which must be unused; it has no name. */
struct model_node *model_make (struct model *model, int number, ia_type_t type, mode_t mode);

/* Returns true if no client can reach it any more. */
bool model_is_dead (const struct model *model, int number);

/* Gives a node that was made unseen another number. */
void model_renumber (struct model *model, int from, int to);

/* Names. model_find: -1 if there is none. model_name and model_unname update the link count. */
int model_find (const struct model *model, int directory, const char *name);
void model_name (struct model *model, int directory, const char *name, int node);
void model_unname (struct model *model, int directory, const char *name);

/* The index of an attribute, or -1. */
int xattr_index (const char *name);

/* --- apply.c, apply-names.c: judges one answer ------------------------------------------- */

struct judge {
    struct model *model;
    const struct operation *seen;
    GString *expected; /* NULL: not wanted */
    bool unseen;       /* the answer was lost: it is not compared */
    bool wrong;
};

/* Returns true if the operation goes on to its effect. want: 0, or the errno it fails with;
 * reachable: its object has not been removed; otherwise ESTALE and ENOENT are valid answers too.
 * Any other answer is wrong. */
bool judge_goes_on (struct judge *judge, int want, bool reachable);

/* Compares one value of the answer with the model's. */
void judge_number (struct judge *judge, const char *what, int64_t is, int64_t want);
void judge_bytes (struct judge *judge, const char *what, GBytes *is, GBytes *want);

/* Compares the file in the answer, with its attributes. */
void judge_found (struct judge *judge, int node);
void judge_iatt (struct judge *judge, int node);

/* Replaces size bytes of a file from offset by bytes (NULL: zeros), with zeros in a gap before. */
void node_put (struct model_node *node, const void *bytes, off_t offset, size_t size);
void node_resize (struct model_node *node, size_t size);
/* the existing bytes in that range; freed with g_bytes_unref */
GBytes *node_get (const struct model_node *node, off_t offset, size_t size);

/* Operations on names. */
typedef void apply_fn (struct judge *judge);
apply_fn apply_lookup, apply_create, apply_mkdir, apply_symlink, apply_link, apply_unlink,
    apply_rmdir, apply_rename, apply_readdir;

#endif
