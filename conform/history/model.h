/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the model: what model.c and apply.c share. */
#ifndef WINDLASS_CONFORM_MODEL_H
#define WINDLASS_CONFORM_MODEL_H

#include "conform/history/history.h"

#define XATTRS 2 /* "user.x", "user.y" */

/* A time that nobody set, and one of which nothing is known. Others are what utime set. */
#define TIME_MOVED 0
#define TIME_UNKNOWN (-1)

struct entry {
    char *name;
    int node;
};

/* A file, shared by all models in which it is the same: change it through model_change alone. */
struct node {
    int refs;
    ia_type_t type;
    mode_t mode;
    int nlink; /* of a directory: is it there */
    int parent; /* of a directory */
    bool unseen; /* made by an operation whose answer was lost: its number is only ours */
    int64_t mtime;
    GBytes *bytes;           /* of a file, or what a link says */
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

struct node *model_node (const struct model *model, int number); /* NULL: there is none */
struct node *model_change (struct model *model, int number);     /* the same, of this model alone */
struct model_fd *model_fd (const struct model *model, int number); /* NULL: not open */
void model_open (struct model *model, int number, int node, uint32_t flags);
void model_close (struct model *model, int number);

/* A new node under that number, without a name; there is none. */
struct node *model_make (struct model *model, int number, ia_type_t type, mode_t mode);

/* Is anybody left who can reach it? */
bool model_is_dead (const struct model *model, int number);

/* What was made unseen is called another number from now on. */
void model_renumber (struct model *model, int from, int to);

/* Names. model_find: -1 when there is none. model_name and model_unname keep count of the links. */
int model_find (const struct model *model, int directory, const char *name);
void model_name (struct model *model, int directory, const char *name, int node);
void model_unname (struct model *model, int directory, const char *name);

/* The index of an attribute, or -1. */
int xattr_index (const char *name);

/* --- apply.c, apply-names.c: what judges one answer ------------------------------------------- */

struct judge {
    struct model *model;
    const struct seen *seen;
    GString *expected; /* NULL: nobody wants to know */
    bool unseen;       /* the answer was lost: it is not looked at */
    bool wrong;
};

/* Whether the operation goes on to do what it does. want: 0, or the errno it fails with; reachable:
 * nobody has removed what it is about, else ESTALE and ENOENT are answers too. An answer that is
 * neither is wrong. */
bool judge_goes_on (struct judge *judge, int want, bool reachable);

/* One thing that was answered: wrong unless it is what the model has. */
void judge_number (struct judge *judge, const char *what, int64_t is, int64_t want);
void judge_bytes (struct judge *judge, const char *what, GBytes *is, GBytes *want);

/* The file that was answered is that one, with its attributes. */
void judge_found (struct judge *judge, int node);
void judge_iatt (struct judge *judge, int node);

/* Sets a file's bytes to those before, with size of them from offset replaced by bytes (NULL:
 * zeros), and zeros in between. */
void node_put (struct node *node, const void *bytes, off_t offset, size_t size);
void node_resize (struct node *node, size_t size);
/* what is there of it; g_bytes_unref it */
GBytes *node_get (const struct node *node, off_t offset, size_t size);

/* Operations on names. */
typedef void apply_fn (struct judge *judge);
apply_fn apply_lookup, apply_create, apply_mkdir, apply_symlink, apply_link, apply_unlink,
    apply_rmdir, apply_rename, apply_readdir;

#endif
