/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass overlay status, diff, discard, apply and freeze. */
#ifndef WINDLASS_OVERLAY_COMMANDS_H
#define WINDLASS_OVERLAY_COMMANDS_H

#include "../diff/print.h"
#include "../overlay.h"

extern const struct xlator_command overlay_commands[];

/* A command as it was given; lives as long as its job. */
struct overlay_order {
    xlator_t *this;
    const char *name; /* of the command; constant */
    enum diff_style style;
    bool json;
    bool with, force; /* of apply */
    unsigned from;    /* slot of the topmost layer of the walk, whose changes are told */
    bool renames, pairs, equal; /* of the walk, with `moved`: as struct diff_plan has them */
    GHashTable *moved;
    char **paths; /* the arguments; each begins with '/', and has no other slash at its end */
    uid_t uid;    /* of the user who asks, with gid, groups and pid */
    gid_t gid;
    pid_t pid;
    int ngroups;
    gid_t *groups;
    int (*carry_out) (struct job *job, struct overlay_order *order);
};

/* Walks the changes of all layers, as the user who asks. fn and data: as in struct diff_plan. */
int overlay_order_walk (const struct overlay_order *order, struct job *job,
                        int (*fn) (const struct diff_change *change, void *data), void *data);

int overlay_discard (struct job *job, struct overlay_order *order); /* discard.c */
int overlay_apply (struct job *job, struct overlay_order *order);   /* apply/apply.c */
int overlay_freeze (struct job *job, struct overlay_order *order);  /* freeze.c */
int overlay_commit (struct job *job, struct overlay_order *order);  /* commit/commit.c */

/* For a commit: whether a freeze is possible, without one; then the freeze, which prints nothing.
 * Return 0, or a negative errno after job_refuse. */
int overlay_freeze_check (struct job *job, struct overlay_order *order);
int overlay_freeze_now (struct job *job, struct overlay_order *order, int64_t *ret_held);
/* Gives the upper all names of the files in the index that the view shows, and empties the index.
 * outcome ends the sentence of a failure. Returns 0, or a negative errno after job_refuse. */
int overlay_names_settle (struct overlay_act *act, struct job *job, const char *outcome);
/* Whether no other graph of the mount has the layers. */
bool overlay_is_only_graph (const xlator_t *this);
/* Returns 0, or -EBUSY after job_refuse: an old graph, which files use that were open at a reload,
 * has the layers of then. outcome ends the sentence. */
int overlay_refuse_old_graphs (xlator_t *this, struct job *job, const char *outcome);

/* --- pausing.c --- */

/* Returns the inode of a path from a root, with a reference, and its directory; NULL if the table
 * does not know it: above, if no program, nor the kernel, does. */
inode_t *overlay_known_inode (inode_t *root, const char *path, inode_t **ret_parent);
/* Runs a function in a pause in which no task runs either (pause_run). Tries for ten seconds.
 * outcome ends the sentences of a failure, such as "nothing was discarded". Returns what fn
 * returns, or a negative errno after job_refuse. */
struct overlay_pause {
    struct job *job;
    int (*fn) (struct pause *pause, void *data);
    void *data;
    const char *outcome;
    int64_t held; /* nanoseconds for which requests waited */
    int written;  /* as struct pause has it */
};
int overlay_pause_run (xlator_t *this, struct overlay_pause *wanted);

#endif
