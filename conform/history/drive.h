/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One history while it runs: what gate.c, drive.c, wind.c, disk.c and run.c share. */
#ifndef WINDLASS_CONFORM_DRIVE_H
#define WINDLASS_CONFORM_DRIVE_H

#include "conform/history/history.h"
#include "core/edge/frame.h"
#include "graph/graph.h"

struct drive;

/* One client: the line it is at, and the operation of it that is under way. */
struct actor {
    struct drive *drive;
    unsigned index;
    const struct line *line; /* NULL: idle */
    unsigned events;         /* of the line, so far: what chance decides hangs on the count */
    call_stack_t *root;
    struct seen *seen;       /* under way; belongs to drive->seens */
    unsigned asked;          /* of a listing: when its last call was made, on drive->clock */
    bool answered;           /* and the answer wasn't looked at yet */

    /* Finding what a path stands for: names are looked up one by one. */
    char **names;
    unsigned at, end;
    bool second;     /* the path is line->word */
    int node;        /* where the way led so far */
    inode_t *inode;
    int parent;      /* of the first path, when that was found */
    inode_t *parent_inode;

    /* Open files. fd NULL: not open. */
    struct {
        fd_t *fd;
        int number;
    } files[CLIENT_FDS], own; /* own: of cat and ls */
    enum stage {
        STAGE_FIND,
        STAGE_DO,
        STAGE_MORE,
    } stage;
};

/* A call or an answer that a gate holds back. */
struct held {
    unsigned line, event;
    bool answer;
    const struct gate *gate;
    void *stub;          /* struct call_stub, or answer_stub */
    struct actor *actor; /* NULL: nobody's, a translator's own */
};

struct gate {
    struct drive *drive;
    const char *name;  /* of the translator below */
    bool is_storage;
    unsigned own_events; /* of calls that belong to no client */
    call_frame_t *released; /* whose call is on its way through */
    xlator_t xlator;
};

struct drive {
    const struct history *history;
    struct graph *graph;
    xlator_t xlator; /* of the clients */
    xlator_list_t child;
    GPtrArray *gates; /* of struct gate */
    GPtrArray *held;  /* of struct held */
    GPtrArray *seens; /* of struct seen */
    GHashTable *numbers; /* gfid -> number + 1 */
    GArray *lates;       /* of struct late */
    bool answers_early;  /* a translator answers writes before they are done, so that its own may
                            fail */
    int files, opens;    /* how many have a number */
    unsigned clock;      /* of what is seen */
    struct actor actors[CLIENTS_MAX + 1]; /* the last one looks at everything in the end */
    GString *log;
    GString *tree;       /* what was read back */
    size_t size_max;     /* no file can be larger */
    bool calm;           /* nothing is held back any more, and nothing fails */
};

/* A number that the seed, the line and the rest decide, whatever else happens. */
uint64_t drive_chance (const struct drive *drive, unsigned kind, unsigned line, unsigned event);
void drive_log (struct drive *drive, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* gate.c: one above the top and one on every edge, before the graph is activated; gates_remove
 * after it was stopped. */
void gates_insert (struct drive *drive);
void gates_remove (struct drive *drive);
void gate_release (struct drive *drive, unsigned i); /* of drive->held */

/* wind.c: starts what an actor's line does next, or ends the line. The answer is recorded, and
 * actor->answered set. */
void actor_do (struct actor *actor);
void actor_more (struct actor *actor);
void actor_look_up (struct actor *actor);
void actor_end (struct actor *actor);
void drive_answered (const struct answer *answer);
int drive_number (struct drive *drive, const gfid_t *gfid); /* of a file */

/* late.c: a write that a translator makes by itself fails at storage: those that it consists of may
 * be lost, and whoever made them has to be told. drive_late_answer: an fsync or flush was answered,
 * maybe with such an error; drive_late_check: NULL, or whom nobody told; g_free it. */
struct late {
    int node;
    unsigned time;
};
void drive_late (struct drive *drive, const struct call *call);
void drive_late_answer (struct drive *drive, struct seen *seen);
char *drive_late_check (const struct drive *drive);

/* drive.c: runs the history, and then reads everything back. NULL, or what is wrong apart from the
 * answers; g_free it. */
char *drive_run (struct drive *drive);
void actor_start (struct actor *actor, const struct line *line);

/* disk.c: what is below a directory, as drive->tree has it. g_free it. */
char *disk_tree (const char *directory);
/* A line of it. */
void tree_add (GString *tree, const char *path, ia_type_t type, unsigned mode, GBytes *bytes);

#endif
