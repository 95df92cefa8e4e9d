/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves of directories in the base, each with the redirect that leads to the directory from a
 * frozen layer (commit/renames.c). The base and the layer may be on different file systems, so no
 * order of the two changes is right after a kill or a power cut. Hence:
 *
 *   1. The moves are written to the store of records, and synced: overlay_moves_write. All that
 *      can be looked up before the pause is: overlay_moves_find.
 *   2. In a pause each directory is moved, and then its redirect is changed: overlay_moves_run.
 *      An error undoes all of them.
 *   3. The records that have moved along are written, the moves are synced, and the store forgets
 *      them: overlay_moves_end.
 *
 * A start that finds moves in the store finishes them before the view shows a name:
 * overlay_moves_finish. A read-only mount is refused if it would not show a directory. The records
 * of the base stand under paths in the base, so they move along.
 */
#ifndef WINDLASS_OVERLAY_MOVES_H
#define WINDLASS_OVERLAY_MOVES_H

#include "../overlay.h"

struct overlay_move_of {
    gfid_t gfid;      /* of the directory in the base */
    char *from, *to;  /* paths in the base; owned */
    char *layer;      /* path of the layer in the first child; owned */
    char *path;       /* in the layer, of the directory with the redirect; owned */
    char *redirect;   /* that it gets; "": none. Owned */
    char *before;     /* the redirect that it had. Owned; not in the store */

    /* What was looked up; inodes with references, NULL: not there. */
    bool found;       /* all that the move needs */
    bool there;       /* the directory has its new name */
    inode_t *left, *entered; /* directories of the base: where it is, and where it goes */
    inode_t *inode;   /* the directory itself, where it is to leave */
    inode_t *marked;  /* that with the redirect */

    bool made;        /* in this run */
};

struct overlay_moves {
    GPtrArray *all; /* of struct overlay_move_of, in the order in which they are made */
    bool unmarked;  /* redirects stay as they are, as the layer goes in the same pause */
    bool stuck;     /* an error could not be undone: the store keeps the moves */
};

void overlay_moves_begin (struct overlay_moves *moves);
void overlay_moves_clear (struct overlay_moves *moves);
/* Adds a move. The texts are copied. */
void overlay_moves_add (struct overlay_moves *moves, const struct overlay_move_of *move);

/* Whether the store has moves that were not ended. */
bool overlay_moves_pend (xlator_t *this);
/* Returns 0 or a negative errno: then the store has none of them. */
int overlay_moves_write (xlator_t *this, const struct overlay_moves *moves);
/* Before the pause. What can't be found is looked up in the pause. */
void overlay_moves_find (struct overlay_act *act, const struct overlay_moves *moves);
/* In a pause. Returns 0, or a negative errno, after which none is made, unless moves->stuck:
 * -ENOENT if a directory, or the place where it shall go, is gone; -EEXIST if that is taken.
 * *ret_failed is the move that failed. */
int overlay_moves_run (struct overlay_act *act, struct overlay_moves *moves,
                       const struct overlay_move_of **ret_failed);
/* In the same pause: changes the redirects of moves that were unmarked. */
void overlay_moves_mark (struct overlay_act *act, struct overlay_moves *moves);
/* After moves that were made, undone, or never begun. Returns 0, or a negative errno if they can't
 * be synced: then the next commit or start finishes them. */
int overlay_moves_end (struct overlay_act *act, struct overlay_moves *moves);

/* Finishes the moves of the store, in a pause or before the view shows a name. One whose directory
 * is gone is told in the log, and forgotten. Returns 0 or a negative errno. */
int overlay_moves_finish (struct overlay_act *act);
/* For a read-only mount, which can't finish them; also before the first call. Returns 0 or a
 * negative errno. *ret_path: the old path of a directory that the view would not show, g_free it;
 * NULL: it shows all. */
int overlay_moves_check (struct overlay_act *act, char **ret_path);

#endif
