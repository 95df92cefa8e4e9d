/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The model is a file system in memory, which gives the right answer to each operation. This header
 * has its structs and functions, for model.c, apply.c and apply-names.c. */
#ifndef WINDLASS_CONFORM_MODEL_H
#define WINDLASS_CONFORM_MODEL_H

#include "conform/history/history.h"

#define XATTRS 2 /* number of names of extended attributes in scripts: "user.x", "user.y" */

/* Special values of model_node.mtime. Any other value was set by a client with utime. TIME_MOVED: a
 * change of the file has set the mtime to the time of the change, which the model does not know.
 * TIME_UNKNOWN: an operation may have set the mtime to its time, or may have left it unchanged. */
#define TIME_MOVED 0
#define TIME_UNKNOWN (-1)

/* A name in a directory. */
struct model_entry {
    char *name;
    int node; /* number of the file that has the name */
};

/* A file, directory or symbolic link. Several models can share this struct, as long as the file is
 * the same in all of them. So before a caller changes it, it calls model_change, which gives the
 * model a copy of its own. */
struct model_node {
    int refs;    /* number of models that have the struct */
    ia_type_t type;
    mode_t mode;
    int nlink;   /* number of names of the file; for a directory, 1 until it is removed */
    bool kept;   /* the file has lost its last name: features/trash may have given it a link that
                    no name shows */
    int stored;  /* of a file that a command has detached, a link count that an answer may have:
                    that of the lower's file if it was as the lower has it, else that of the copy,
                    until the command has removed it */
    int parent;  /* for a directory, number of the directory above it */
    bool unseen; /* whether the operation that made the file got an error: no answer has shown the
                    file's gfid yet, so that its number is provisional */
    int64_t mtime;           /* seconds since 1970, TIME_MOVED or TIME_UNKNOWN */
    GBytes *bytes;           /* content of a file, or target of a symbolic link */
    GBytes *xattrs[XATTRS];  /* values of the extended attributes; NULL: not set */
    GArray *entries;         /* of struct model_entry, sorted by name; NULL: not a directory */
};

/* An open file. */
struct model_fd {
    int node;       /* number of the file; -1: the client has closed it */
    uint32_t flags; /* flags of the open */
};

struct model {
    GPtrArray *nodes; /* of struct model_node, by number of the file; NULL: no such file */
    GArray *fds;      /* of struct model_fd, by number of the open */
    GPtrArray *base;  /* of struct model_node: the tree to which a discard returns (history.h).
                       * Models share it, so it is replaced and never changed */
};

/* Returns the file with that number, or NULL if there is none. */
struct model_node *model_node (const struct model *model, int number);
/* Returns the file with that number as a struct that no other model has, so that the caller may
 * change it. */
struct model_node *model_change (struct model *model, int number);
/* Returns the open file with that number, or NULL if it is not open. */
struct model_fd *model_fd (const struct model *model, int number);
void model_open (struct model *model, int number, int node, uint32_t flags);
void model_close (struct model *model, int number);

/* Adds a file with that number, which has no name yet, and returns it. A file that had the number
 * before must be dead (model_is_dead). */
struct model_node *model_make (struct model *model, int number, ia_type_t type, mode_t mode);

/* Returns whether no file has the number, or the file has no name and no client has it open. */
bool model_is_dead (const struct model *model, int number);

/* Changes the number of a file from a provisional one (model_node.unseen) to the number of its
 * gfid. */
void model_renumber (struct model *model, int from, int to);

/* model_find returns the number of the file that has the name in the directory, or -1. model_name
 * adds a name and model_unname removes one; both update the link count of the file. */
int model_find (const struct model *model, int directory, const char *name);
void model_name (struct model *model, int directory, const char *name, int node);
void model_unname (struct model *model, int directory, const char *name);

/* Makes the base what the tree is. renumbers: from now on, an answer may show any file of it with
 * another number. */
void model_keep (struct model *model, bool renumbers);
/* Makes the tree what the base is. detached: of struct detached_file. Returns NULL, or a text about
 * an open file that should have been detached; g_free it. */
char *model_restore (struct model *model, const GArray *detached);

/* Returns the index of an extended attribute in model_node.xattrs, or -1. */
int xattr_index (const char *name);

/* --- apply.c, apply-names.c: judges one answer ------------------------------------------- */

/* The application of one operation to a model, and the comparison of its recorded answer with the
 * answer that the model gives. */
struct judge {
    struct model *model;
    const struct operation *seen; /* record of the operation */
    GString *expected; /* the model's answer is appended to it if the recorded one differs; may be
                          NULL */
    bool unseen;       /* whether the recorded answer is not compared (model_apply_unseen) */
    bool wrong;        /* whether the recorded answer differs from the model's */
};

/* Compares success or failure in the recorded answer with the model's. want: the errno that the
 * model gives, or 0 for success. reachable: whether the object of the call still exists; if it does
 * not, ESTALE and ENOENT are right answers too. Returns true if the operation succeeds in both:
 * then the caller applies it to the model and compares the other results. */
bool judge_goes_on (struct judge *judge, int want, bool reachable);

/* Compare a value in the recorded answer (is) with the model's value (want). what: the name of the
 * value in an error text. */
void judge_number (struct judge *judge, const char *what, int64_t is, int64_t want);
void judge_bytes (struct judge *judge, const char *what, GBytes *is, GBytes *want);

/* node: number of the file that the answer should be about, by the model. judge_found compares it
 * with the number of the file in the recorded answer. Both functions compare the attributes in the
 * recorded answer with those that the file has in the model. */
void judge_found (struct judge *judge, int node);
void judge_iatt (struct judge *judge, int node);

/* Writes size bytes into a file at offset; bytes may be NULL, for zeros. If offset is beyond the
 * end of the file, the bytes between become zeros. */
void node_put (struct model_node *node, const void *bytes, off_t offset, size_t size);
void node_resize (struct model_node *node, size_t size);
/* Returns up to size bytes of the file from offset on; fewer if the file ends before. The caller
 * frees them with g_bytes_unref. */
GBytes *node_get (const struct model_node *node, off_t offset, size_t size);

/* Each function of this type applies one kind of operation to the model, and judges its answer. The
 * ones for operations on names are in apply-names.c. */
typedef void apply_fn (struct judge *judge);
apply_fn apply_lookup, apply_create, apply_mkdir, apply_symlink, apply_link, apply_unlink,
    apply_rmdir, apply_rename, apply_readdir;

#endif
