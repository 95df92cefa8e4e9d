/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of a running history: shared by the files that run it, not by the model. */
#ifndef WINDLASS_CONFORM_DRIVE_H
#define WINDLASS_CONFORM_DRIVE_H

#include "conform/brick/brick.h"
#include "conform/history/history.h"
#include "core/edge/frame.h"
#include "graph/graph.h"

struct drive;

/* One client: its current line and its current operation. */
struct actor {
    struct drive *drive;
    unsigned index; /* number of the client, from 0 */
    const struct script_line *line; /* current line; NULL: idle */
    unsigned events; /* number of the line's events so far; random decisions depend on it */
    call_stack_t *root;
    struct operation *seen; /* current operation; belongs to drive->seens */
    unsigned asked;         /* time of the last call of a listing, on drive->clock */
    bool answered;          /* whether an answer has come that drive_settle has to process */

    /* The look-up of a path, name by name. */
    char **names;
    unsigned at, end; /* current name, and number of the names to look up */
    bool second;      /* whether the path is line->word */
    int node;         /* number of the inode that was found last */
    inode_t *inode;
    int parent;       /* of a line with two paths: the end of the first path */
    inode_t *parent_inode;

    struct actor_file {
        fd_t *fd;   /* NULL: not open */
        int number; /* number of the open, across all clients */
        bool below; /* whether drive->below opened it */
    } files[CLIENT_FDS], own; /* own: open file of the verbs cat and ls */
    bool below; /* whether the current call goes to drive->below */
    enum actor_stage {
        STAGE_FIND,
        STAGE_DO,
        STAGE_MORE,
    } stage;
};

/* A call or an answer that a gate holds. */
struct held_event {
    unsigned line, event; /* number of the line, and number of the event in it */
    bool answer;
    const struct gate *gate;
    void *stub;          /* struct call_stub, or answer_stub */
    struct actor *actor; /* client of the request; NULL: a translator made it by itself */
};

struct gate {
    struct drive *drive;
    const char *name; /* name of the translator below */
    bool is_storage;
    unsigned own_events;    /* number of events of requests without a client */
    call_frame_t *released; /* frame of the call that gate_release lets pass now */
    xlator_t xlator;
};

struct drive {
    const struct script *script;
    struct graph *graph;
    xlator_t xlator; /* for the clients */
    xlator_list_t child;
    const struct conform_options *options;
    xlator_t *below;   /* child of the lowest translator that refuses changes by design, or NULL.
                          About half of the changing lines go to this child, since otherwise no
                          file would exist. */
    GPtrArray *gates;    /* of struct gate */
    GPtrArray *held;     /* of struct held_event */
    GPtrArray *bricks;   /* of struct brick: one for each protocol/client */
    unsigned kills;      /* number of kills of bricks so far */
    bool has_copies;     /* cluster/replicate: operations must succeed while one brick is down */
    bool has_parts;      /* cluster/distribute: a listing lacks the names of a brick that is down */
    GPtrArray *seens;    /* of struct operation */
    GHashTable *numbers; /* gfid -> number + 1 */
    GArray *lates;       /* of struct late */
    bool answers_early;  /* a translator answers writes before storage has them, so writes that it
                            makes by itself may fail */
    int files, opens;    /* number of files and of opens so far */
    unsigned clock;      /* time of the records: number of calls and answers so far */
    struct actor actors[CLIENTS_MAX + 1]; /* the last one reads everything back at the end */
    GString *log;
    GString *tree;       /* text of the files that the last actor has read back */
    size_t size_max;     /* maximum size of a file, in bytes */
    bool calm;           /* gates hold no event any more, and no call fails */
};

/* Returns a random number that depends only on the seed and the arguments. */
uint64_t drive_chance (const struct drive *drive, unsigned kind, unsigned line, unsigned event);
/* Returns whether a line with a path goes to drive->below. */
bool drive_goes_below (const struct drive *drive, const struct script_line *line);
void drive_log (struct drive *drive, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* gate.c. gates_insert puts a gate above the top and on each edge of a graph that is not active
 * yet; gates_remove removes them from a graph that has stopped. */
void gates_insert (struct drive *drive);
void gates_remove (struct drive *drive);
void gate_release (struct drive *drive, unsigned i); /* i: index in drive->held */

/* wind.c. actor_do starts the first operation of the actor's line after its look-ups, actor_more
 * the next one; either ends the line if there is none. actor_look_up looks up the next name of the
 * path. An answer is recorded by drive_answered (answered.c), which sets actor->answered. */
void actor_do (struct actor *actor);
void actor_more (struct actor *actor);
void actor_look_up (struct actor *actor);
void actor_end (struct actor *actor);
/* Returns the open file of the actor's line. */
struct actor_file *actor_file (struct actor *actor);
void drive_answered (const struct answer *answer);
/* Returns the number of a file. */
int drive_number (struct drive *drive, const gfid_t *gfid);

/* late.c. A write that a translator made by itself has failed at storage. The clients' writes in it
 * may be lost, and an fsync of each client must fail. drive_late records such a write.
 * drive_late_answer processes the answer of an fsync or flush, which may report it.
 * drive_late_check returns NULL, or a text about a client that got no error, freed with g_free. */
struct late {
    int node;      /* number of the file */
    unsigned time; /* time of the failure, on drive->clock */
};
void drive_late (struct drive *drive, const struct call *call);
void drive_late_answer (struct drive *drive, struct operation *seen);
char *drive_late_check (const struct drive *drive);

/* drive.c. Runs the script, and then reads everything back. Returns NULL, or an error text about an
 * operation without an answer, freed with g_free. */
char *drive_run (struct drive *drive);
void actor_start (struct actor *actor, const struct script_line *line);

/* --- bricks.c --- */

/* Starts a brick for each volume of type protocol/client. Adds options of these volumes to
 * settings, and the number of bricks to *storages. Returns false after a message. */
bool bricks_make (GPtrArray *bricks, const struct volfile *volfile, const char *scratch,
                  uint64_t seed, unsigned *storages, GPtrArray *settings);
bool bricks_have_copies (const struct graph *graph);
bool bricks_have_parts (const struct graph *graph);
/* calm: the bricks process each message at once. */
void bricks_calm (struct drive *drive, bool calm);
/* May kill a brick, or start one again. */
void bricks_before_line (struct drive *drive, const struct script_line *line);
/* Returns whether the line has to wait until protocol/client is connected to all bricks. */
bool bricks_wait (const struct drive *drive, const struct script_line *line);
/* Returns the priority of a message between protocol/client and a brick. */
uint64_t parcel_worth (const struct drive *drive, unsigned brick, unsigned nth);
/* Starts all bricks and waits until protocol/client is connected to them. Returns NULL or an error
 * text. */
char *bricks_all_begin (struct drive *drive);
/* Returns whether the end of a brick may be the reason of a failure. Then the operation may have
 * happened or not. */
bool bricks_excuse (const struct actor *actor, const struct answer *answer);
/* Returns whether a listing may lack names. */
bool bricks_hide_names (const struct drive *drive);

/* disk.c. Returns the content below a directory in the form of drive->tree; freed with g_free. */
char *disk_tree (const char *directory);
/* Appends the line of one file to such a text. */
void tree_add (GString *tree, const char *path, ia_type_t type, unsigned mode, GBytes *bytes);

#endif
