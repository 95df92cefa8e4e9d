/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the layers of an overlay change: a walk of the topmost layer beside what the others show at
 * the same places.
 *
 * A layer is read as the kernel's overlayfs writes it (Documentation/filesystems/overlayfs.rst):
 * a whiteout removes a name; an opaque directory has nothing of the layers below; a redirect says
 * from where in them a directory comes. Marks are trusted.overlay.* or user.overlay.*.
 */
#ifndef WINDLASS_OVERLAY_DIFF_H
#define WINDLASS_OVERLAY_DIFF_H

#include "xlator.h"

/* A directory tree. client asks the child that has it, as the user who wants the diff. */
struct diff_layer {
    struct client *client;
    const struct fd_maker *fds; /* as xlator.fd_maker of the child */
    inode_t *root;              /* in the child's realm */
    bool wh;                    /* has whiteouts of formats/wh.c */
};

/* What differs of an object that both sides have. */
enum {
    DIFF_CONTENT = 1 << 0, /* bytes of a file, target of a symbolic link, numbers of a device */
    DIFF_MODE = 1 << 1,
    DIFF_OWNER = 1 << 2,
    DIFF_XATTRS = 1 << 3,
    DIFF_TIMES = 1 << 4, /* the time of the last modification, where nothing else explains it: that
                          * of a file with other content counts as content alone, and diff_compare
                          * leaves it out of a directory */
};

/* An object as one side has it. */
struct diff_object {
    const struct diff_layer *layer;
    inode_t *inode;
    struct iatt buf;
};

/* Everything is lent for the call. Paths begin with '/', as in the mount. */
struct diff_change {
    char kind;         /* 'A'dded, 'M'odified, 'D'eleted, 'R'enamed, changed 'T'ype */
    const char *path;
    const char *from;  /* R: the path before; else NULL */
    unsigned what;     /* M, R: DIFF_*; of an R it may be 0 */
    const struct diff_object *before, *after; /* NULL: not there */
    inode_t *directory; /* of the topmost layer, in which the name is, or would be */
    inode_t *last;      /* the same of the last layer; NULL: that has no such directory */
    inode_t *const *merged; /* R: the directory in each layer below, the upper ones first; NULL
                             * where it is not. Else NULL */
    const char *const *programs; /* names of those that have changed it, ending with NULL; NULL: not
                                  * known. The walk leaves it NULL */
};

struct diff_plan {
    const struct diff_layer *layers; /* the topmost first: its changes are told */
    unsigned n_layers;               /* at least one */
    /* Whether the view hides a name of a directory of layers[layer], with the attributes. NULL: it
     * hides none. */
    bool (*hides) (unsigned layer, inode_t *directory, const char *name,
                   const struct iatt *buf, const void *hides_data);
    const void *hides_data;
    char **paths;                    /* only these and what is below; each begins with '/', and has
                                      * no other slash at its end. NULL or empty: all */
    bool renames;                    /* tells renamed directories alone */
    bool pairs;                      /* tells no directory as deleted that it tells as renamed */
    GHashTable *moved;               /* set of directories of the layers below that names no longer
                                      * find there, but redirects do; NULL: none */
    bool equal;                      /* tells what equals the layers below, too, as an 'M' without
                                      * differences; and as a 'D' what they don't have either */
    struct job *job;                 /* on whose thread the walk runs; NULL: none */
    /* Called for each change: those of a directory in the order of their names, then those in each
     * directory below it. Of a removed directory only the directory is told. A negative errno ends
     * the walk. */
    int (*fn) (const struct diff_change *change, void *data);
    void *data;
};

/* Returns 0; -EINTR if the job must stop; what fn returned; or the error of a layer. */
int diff_walk (const struct diff_plan *plan);

/* --- object.c --- */

/* Return 1 if the object is a whiteout, or if a directory hides what the layers below have at its
 * place; 0, or a negative errno. */
int diff_is_whiteout (const struct diff_object *object);
int diff_is_opaque (const struct diff_object *object);
/* Puts the redirect of a directory into *ret_redirect, NULL if it has none; g_free it. Returns 0 or
 * a negative errno. */
int diff_redirect (const struct diff_object *object, char **ret_redirect);

/* Puts what differs into *ret_what (DIFF_*). Marks of overlays do not count. Both objects are of
 * the same type. Returns 0 or a negative errno. */
int diff_compare (const struct diff_object *before, const struct diff_object *after,
                  unsigned *ret_what);

/* Whether the times of the last modification differ, as far as both sides keep them. */
bool diff_times_differ (const struct iatt *before, const struct iatt *after);

/* Reads a whole regular file of at most max bytes, or the target of a symbolic link. Returns 0,
 * -EFBIG, or another negative errno. g_free *ret_bytes. */
int diff_read_all (const struct diff_object *object, gsize max, char **ret_bytes, gsize *ret_size);

#endif
