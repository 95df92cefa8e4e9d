/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass overlay commit: all that the view has changed until now, frozen layers too, becomes part
 * of the base, the last layer, while programs use the view.
 *
 *   check    commit.c        what hinders it is told before anything is done
 *   freeze   freeze.c        the upper becomes a layer; what programs change from now on is in a
 *                            new one, and stays a change
 *   replay   apply/          of each frozen layer, the oldest first, the changes are made in the
 *                            base, as an apply does, while the view still has the layer
 *            renames.c       renamed directories get temporary names before, and their new ones at
 *                            the drop
 *   drop     drop.c          in a pause the layer loses its names: the view shows those of the base
 *
 * A layer over a base that has its changes shows what it showed over the base of before. So the
 * replay may be repeated, as a whole or in part, and a kill or a power cut at any time leaves a
 * view that shows the same: the command is given again.
 *
 * A layer that was committed stays as an empty directory, as slots of layers keep their places. The
 * next mount removes it (start/layers.c).
 */
#ifndef WINDLASS_OVERLAY_COMMIT_H
#define WINDLASS_OVERLAY_COMMIT_H

#include "../apply/apply.h"
#include "../formats/moves.h"

/* --- renames.c: directories of the base that the layer of slot apply->from has renamed --- */

/* Fills apply->moved, before the plan. Returns 0 or a negative errno. */
int commit_renames_find (struct apply *apply);
/* After the new objects were made: gives the directories temporary names in the base. Returns 0, or
 * a negative errno after job_refuse. */
int commit_stage (struct apply *apply);
/* Adds the moves that give them their new names. */
void commit_place (struct apply *apply, struct overlay_moves *moves);
/* Tells which move of a pause failed. */
void commit_tell_moves (struct apply *apply, const struct overlay_moves *moves,
                        const struct overlay_move_of *failed, int r, const char *outcome);
/* Finishes moves that an earlier commit has begun. Returns 0, or a negative errno after
 * job_refuse. */
int commit_renames_finish (struct overlay_act *act, struct job *job);

/* The base has all that the layer of slot apply->from has: drops it. Returns 0, or a negative errno
 * after job_refuse. */
int commit_drop (struct apply *apply);

#endif
