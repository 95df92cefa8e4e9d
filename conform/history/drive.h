/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of a running history, shared by gate.c, drive.c, wind.c, disk.c and run.c. */
#ifndef WINDLASS_CONFORM_DRIVE_H
#define WINDLASS_CONFORM_DRIVE_H

#include "conform/brick/brick.h"
#include "conform/history/history.h"
#include "core/edge/frame.h"
#include "graph/graph.h"

struct drive;

/* One client: its current line, and the operation under way. */
struct actor {
    struct drive *drive;
    unsigned index;
    const struct script_line *line; /* NULL: idle */
    unsigned events;         /* events of the line so far: random decisions depend on it */
    call_stack_t *root;
    struct operation *seen;       /* under way; belongs to drive->seens */
    unsigned asked;          /* of a listing: time of its last call, on drive->clock */
    bool answered;           /* the answer was not processed yet */

    /* Resolution of a path: names are looked up one by one. */
    char **names;
    unsigned at, end;
    bool second;     /* the path is line->word */
    int node;        /* the inode reached so far */
    inode_t *inode;
    int parent;      /* the parent of the first path, once found */
    inode_t *parent_inode;

    struct actor_file {
        fd_t *fd;   /* NULL: not open */
        int number; /* of the open, across all clients */
        bool below; /* opened below drive->below */
    } files[CLIENT_FDS], own; /* own: of the verbs cat and ls */
    bool below;      /* the current call goes to drive->below */
    enum actor_stage {
        STAGE_FIND,
        STAGE_DO,
        STAGE_MORE,
    } stage;
};

/* A call or an answer that a gate holds back. */
struct held_event {
    unsigned line, event;
    bool answer;
    const struct gate *gate;
    void *stub;          /* struct call_stub, or answer_stub */
    struct actor *actor; /* NULL: of a translator's own request */
};

struct gate {
    struct drive *drive;
    const char *name;  /* of the translator below */
    bool is_storage;
    unsigned own_events; /* events of requests without a client */
    call_frame_t *released; /* its call is on its way through the gate */
    xlator_t xlator;
};

struct drive {
    const struct script *script;
    struct graph *graph;
    xlator_t xlator; /* for the clients */
    xlator_list_t child;
    const struct conform_options *options;
    xlator_t *below;   /* child of the lowest translator that refuses changes by design, or NULL.
                          About half of the changing lines go there, since otherwise no file would
                          exist. */
    GPtrArray *gates; /* of struct gate */
    GPtrArray *held;  /* of struct held_event */
    GPtrArray *bricks; /* of struct brick: one for each protocol/client */
    unsigned kills;    /* of bricks so far */
    bool has_copies;   /* an operation must succeed although a brick is down */
    bool has_parts;    /* a listing has the names of the other bricks then */
    GPtrArray *seens; /* of struct seen */
    GHashTable *numbers; /* gfid -> number + 1 */
    GArray *lates;       /* of struct late */
    bool answers_early;  /* a translator answers writes before they are done, so its own writes may
                            fail */
    int files, opens;    /* number of files and of opens so far */
    unsigned clock;      /* time of the records */
    struct actor actors[CLIENTS_MAX + 1]; /* the last one reads everything back at the end */
    GString *log;
    GString *tree;       /* the text that was read back */
    size_t size_max;     /* the maximum size of a file */
    bool calm;           /* no call is held back and none fails any more */
};

/* A random number that depends only on the seed and the arguments. */
uint64_t drive_chance (const struct drive *drive, unsigned kind, unsigned line, unsigned event);
/* Whether a line of a path goes to drive->below. */
bool drive_goes_below (const struct drive *drive, const struct script_line *line);
void drive_log (struct drive *drive, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* gate.c: one above the top and one on every edge, inserted before the graph is activated;
 * gates_remove after it was stopped. */
void gates_insert (struct drive *drive);
void gates_remove (struct drive *drive);
void gate_release (struct drive *drive, unsigned i); /* of drive->held */

/* wind.c: starts the next operation of an actor's line, or ends the line. The answer is recorded,
 * and actor->answered is set. */
void actor_do (struct actor *actor);
void actor_more (struct actor *actor);
void actor_look_up (struct actor *actor);
void actor_end (struct actor *actor);
/* The open file that the actor's line is about. */
struct actor_file *actor_file (struct actor *actor);
void drive_answered (const struct answer *answer);
int drive_number (struct drive *drive, const gfid_t *gfid); /* of a file */

/* late.c: a write that a translator makes by itself fails at storage. The clients' writes in it may
 * be lost, and the clients have to be told. drive_late_answer: an fsync or flush was answered,
 * possibly with such an error; drive_late_check: returns NULL, or a text about a client that was
 * not told, freed with g_free. */
struct late {
    int node;
    unsigned time;
};
void drive_late (struct drive *drive, const struct call *call);
void drive_late_answer (struct drive *drive, struct operation *seen);
char *drive_late_check (const struct drive *drive);

/* drive.c: runs the history, and then reads everything back. Returns NULL, or an error text apart
 * from the answers, freed with g_free. */
char *drive_run (struct drive *drive);
void actor_start (struct actor *actor, const struct script_line *line);

/* bricks.c. bricks_make: false after a message; adds to settings, and counts storages.
 * bricks_all_begin: all are there and connected to; NULL or an error text. bricks_excuse: whether a
 * failure may come of the end of a brick, so that the operation may have happened or not.
 * bricks_hide_names: whether names may be missing in a listing. */
bool bricks_make (GPtrArray *bricks, const struct volfile *volfile, const char *scratch,
                  uint64_t seed, unsigned *storages, GPtrArray *settings);
bool bricks_have_copies (const struct graph *graph);
bool bricks_have_parts (const struct graph *graph);
void bricks_calm (struct drive *drive, bool calm);
void bricks_before_line (struct drive *drive, const struct script_line *line);
bool bricks_wait (const struct drive *drive, const struct script_line *line);
uint64_t parcel_worth (const struct drive *drive, unsigned brick, unsigned nth);
char *bricks_all_begin (struct drive *drive);
bool bricks_excuse (const struct actor *actor, const struct answer *answer);
bool bricks_hide_names (const struct drive *drive);

/* disk.c: the content below a directory, in the form of drive->tree. Freed with g_free. */
char *disk_tree (const char *directory);
/* Appends a line to it. */
void tree_add (GString *tree, const char *path, ia_type_t type, unsigned mode, GBytes *bytes);

#endif
