/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Places in the layers below the topmost one: what those show at a path. For the walk (diff.c). */
#ifndef WINDLASS_OVERLAY_DIFF_PLACE_H
#define WINDLASS_OVERLAY_DIFF_PLACE_H

#include "diff.h"

/* Where places are. */
struct places {
    const struct diff_plan *plan;
    const struct diff_layer *below; /* the layers below the topmost one */
    unsigned n;                     /* their number */
    GHashTable *moved;              /* of the plan; NULL on the way of a redirect */
};

/* Of an object that is no directory only `top` counts. */
struct place {
    struct diff_object top; /* inode NULL: nothing is there; else a reference */
    inode_t **merged;       /* of each layer below: its directory, with a reference; or NULL */
};

static inline bool
place_is_directory (const struct place *place)
{
    return place->top.inode && place->top.buf.ia_type == IA_IFDIR;
}

/* Afterwards the place is empty. */
void place_clear (const struct places *places, struct place *place);

/* The roots of the layers. */
void place_root (const struct places *places, struct place *place);

/* Both fill in an empty place, which is cleared by place_clear, also after an error. Return 0, also
 * if nothing is there, or a negative errno. place_of_name: a name of the directories in `at`.
 * place_resolve: where a redirect of a directory in `beside` leads, a path from the root or another
 * name. */
int place_of_name (const struct places *places, const struct place *at, const char *name,
                   struct place *place);
int place_resolve (const struct places *places, const struct place *beside, const char *redirect,
                   struct place *place);

#endif
