/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The state of a running history, for the files that run it (drive.c, gate.c, wind.c, answered.c,
 * late.c, bricks.c, run.c). */
#ifndef WINDLASS_CONFORM_DRIVE_H
#define WINDLASS_CONFORM_DRIVE_H

#include "conform/brick/brick.h"
#include "conform/history/history.h"
#include "core/edge/frame.h"
#include "graph/graph.h"

struct drive;

/* One client of a history. It executes one line of the script at a time, and one operation of this
 * line at a time. */
struct actor {
    struct drive *drive;
    unsigned index; /* number of the client, from 0 */
    const struct script_line *line; /* current line; NULL: idle */
    unsigned events; /* number of the line's calls and answers that gates have seen so far; random
                        decisions about the next one depend on it */
    call_stack_t *root;     /* request of the current operation */
    struct operation *seen; /* record of the current operation; owned by drive->seens */
    unsigned asked;         /* time of the last readdir or readdirp call, on drive->clock */
    bool answered;          /* whether an answer was recorded that drive_settle has to process */

    /* State of the look-up of the line's path, which looks up one name after the other. */
    char **names;     /* names of the path */
    unsigned at, end; /* index of the current name in names, and number of names to look up */
    bool second;      /* whether the path is line->word, and not line->path */
    int node;         /* number of the file that the last look-up found; at first, of the root */
    inode_t *inode;   /* inode of that file, with a reference */
    int parent;       /* for a line with two paths, number of the first path's file */
    inode_t *parent_inode; /* inode of that file, with a reference */

    struct actor_file {
        fd_t *fd;   /* with a reference; NULL: not open */
        int number; /* number of the open; opens of all clients are counted together */
        bool below; /* whether the file was opened through drive->below, not through the top */
        struct drive_old *old; /* the old graph in which the file is open, or NULL */
    } files[CLIENT_FDS], own; /* files: the client's f0, f1, f2. own: a file that a line of cat or
                                 ls opens, and closes at its end. */
    bool below; /* whether the current call goes to drive->below, and not to the top of the graph */
    struct drive_old *old; /* the old graph to which the current call goes, or NULL */
    enum actor_stage {
        STAGE_FIND, /* looks up a path */
        STAGE_DO,   /* has no path to look up, and no operation yet */
        STAGE_MORE, /* has started the line's operation */
    } stage;
};

/* A call or an answer that a gate holds. */
struct held_event {
    unsigned line, event; /* number of the line, and number of the call or answer among those of the
                             line; line 0: a translator made the request by itself */
    bool answer;         /* whether it is an answer, and not a call */
    const struct gate *gate; /* gate that holds it */
    void *stub;          /* struct answer_stub if it is an answer, else struct call_stub */
    struct actor *actor; /* client that made the request; NULL: a translator made it by itself */
};

/* A translator that a history inserts on an edge of the graph, to delay calls and answers. */
struct gate {
    struct drive *drive;
    const char *name; /* name of the translator below the gate */
    bool is_storage;  /* whether the translator below has no children: storage, or
                         protocol/client */
    unsigned own_events;    /* number of calls and answers so far of requests that translators made
                               by themselves */
    call_frame_t *released; /* frame of the held call that gate_release resumes now, so that the
                               gate does not hold it again */
    xlator_t xlator;        /* the gate's translator */
};

/* A graph that the clients have left by a reload (reload.c). Files that could not move are still
 * open in it. */
struct drive_old {
    struct graph *graph;
    GPtrArray *gates; /* as drive.gates */
    xlator_t *top;    /* the gate above the top of the graph */
};

struct drive {
    const struct script *script;
    struct graph *graph;
    xlator_t xlator; /* translator from which the clients' calls are wound */
    xlator_list_t child; /* its only child: the gate above the top of the graph */
    const struct conform_options *options;
    xlator_t *below;   /* translator below the lowest one that refuses changes by design; NULL: none
                          refuses. About half of the lines that change a path are wound to it
                          directly, since otherwise no file would ever be made. */
    GPtrArray *gates;    /* of struct gate: all gates of the graph */
    GPtrArray *olds;     /* of struct drive_old */
    struct graph *(*load) (void *load_data); /* loads the graph once more, for a reload. NULL: it
                                              * could not, and has printed why */
    void *load_data;
    GPtrArray *held;     /* of struct held_event: calls and answers that gates hold now */
    GPtrArray *bricks;   /* of struct brick: one for each volume of type protocol/client */
    unsigned kills;      /* number of times that a brick was killed so far */
    bool has_copies;     /* whether the graph has cluster/replicate: operations must succeed even
                            while one brick is down */
    bool has_parts;      /* whether the graph has cluster/distribute: listings lack the names of a
                            brick that is down */
    bool has_trash;      /* whether the graph has features/trash: removed files keep a link, and
                            names that begin with "." are its own */
    GPtrArray *seens;    /* of struct operation: the records of all operations */
    GHashTable *numbers; /* gfid of a file -> number of the file + 1 */
    GArray *lates;       /* of struct late: failures of writes after clients had answers */
    bool answers_early;  /* whether a translator answers clients' writes before storage has them. It
                            makes writes by itself then, and gates may fail these. */
    int files, opens;    /* number of files that have a number, and of opens and creates, so far */
    unsigned clock;      /* number of calls and answers of clients so far, used as time in
                            records */
    struct actor actors[CLIENTS_MAX + 1]; /* the clients; the last one is not in scripts, and reads
                                             everything back at the end */
    GString *log;        /* one line for each event */
    GString *tree;       /* one line for each file that was read back at the end (tree_add) */
    size_t size_max;     /* size in bytes that no file of the history exceeds */
    bool holding;        /* whether the translators have been told that requests are held */
    bool calm;           /* whether gates hold and fail no call: before the lines, and after them */

    /* Commands of translators: commands.c. */
    struct actor *commander;   /* the client whose command is under way, or NULL */
    unsigned command_job;      /* number of the job of that command */
    struct operation *command; /* record of the last command, or NULL */
    GHashTable *detached;      /* inode_nodeid of a detached inode -> number of its file */
    bool stored;       /* whether a command has changed the lowers */
    bool shows_stored; /* whether `tree` must be what the only lower has */
};

/* Returns a random number that depends only on the script's seed and the arguments. kind: CHANCE_*,
 * a constant for each kind of random decision. */
uint64_t drive_chance (const struct drive *drive, unsigned kind, unsigned line, unsigned event);
/* Returns whether the call of a line with a path is wound to drive->below. */
bool drive_goes_below (const struct drive *drive, const struct script_line *line);
void drive_log (struct drive *drive, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* Adds a record of an operation of a script's line to drive->seens. The caller sets its times, and
 * the files, which the record has none of. operation_new (wind.c) begins the record of a client's
 * current line. */
struct operation *operation_new (struct actor *actor, enum fop op);
struct operation *drive_record (struct drive *drive, enum fop op, unsigned line, unsigned client);

/* gate.c. gates_insert inserts a gate above the top of drive->graph and one on each edge; the graph
 * must not be active yet. gates_remove removes them from a graph that is not active any more. */
void gates_insert (struct drive *drive);
void gates_remove (struct graph *graph, GPtrArray *gates);
/* Passes on the call or answer that the gate keeps at index i of drive->held. */
void gate_release (struct drive *drive, unsigned i);

/* wind.c. actor_look_up winds a look-up of the next name of the line's path. After all look-ups,
 * actor_do starts the line's operation. After an answer to it, actor_more starts the line's next
 * operation. actor_do and actor_more end the line if there is no operation to start. drive_answered
 * (answered.c) records each answer, and sets actor->answered. actor_end (drive.c) ends the line. */
void actor_do (struct actor *actor);
void actor_more (struct actor *actor);
void actor_look_up (struct actor *actor);
void actor_end (struct actor *actor);
/* Returns the open file that the client's current line uses. */
struct actor_file *actor_file (struct actor *actor);
void drive_answered (const struct answer *answer);
void actor_log (struct actor *actor); /* adds the client's current record to the log */
/* Returns the number of the file with that gfid. The file gets a number if it has none yet. */
int drive_number (struct drive *drive, const gfid_t *gfid);

/* late.c. A translator may answer clients' writes at once, and make a write of its own for them
 * later. If that write fails, the data of the clients' writes may be lost, and an fsync of each of
 * these clients must fail. drive_late records such a failure. drive_late_answer processes the
 * answer of an fsync or flush, which may report it. drive_late_check returns NULL, or an error text
 * about an fsync that succeeded although it had to fail; the caller frees it with g_free. */
struct late {
    int node;      /* number of the file that was written */
    unsigned time; /* time of the failure, on drive->clock */
};
void drive_late (struct drive *drive, const struct call *call);
void drive_late_answer (struct drive *drive, struct operation *seen);
char *drive_late_check (const struct drive *drive);

/* drive.c. drive_run runs all lines of the script, and then reads all files back. Returns NULL, or
 * an error text if an operation gets no answer, which the caller frees with g_free. actor_start
 * lets the client begin the line. */
char *drive_run (struct drive *drive);
/* Runs a line of its own, while all other clients are idle. Returns as drive_run. */
char *drive_line (struct drive *drive, struct actor *actor, enum verb verb, const char *path,
                  unsigned fd);
char *drive_line_run (struct drive *drive, const struct script_line *line);
/* Reads all files back, and replaces drive->tree. Returns as drive_run. */
char *drive_look_at_all (struct drive *drive);
void actor_start (struct actor *actor, const struct script_line *line);

/* --- bricks.c --- */

/* Starts a brick for each volume of type protocol/client, and adds it to bricks. Adds the options
 * with which these volumes connect to settings, and the number of bricks to *storages. Returns
 * false on error. */
bool bricks_make (GPtrArray *bricks, const struct volfile *volfile, const char *scratch,
                  uint64_t seed, unsigned *storages, GPtrArray *settings);
/* Return whether the graph has cluster/replicate, and whether it has cluster/distribute. */
bool bricks_have_copies (const struct graph *graph);
bool bricks_have_parts (const struct graph *graph);
bool bricks_have_trash (const struct graph *graph);
/* calm: whether the bricks process each message without delay. */
void bricks_calm (struct drive *drive, bool calm);
/* Called before the line begins. The seed decides whether it kills a brick, or starts one again. */
void bricks_before_line (struct drive *drive, const struct script_line *line);
/* Returns whether the line must not begin yet. Most lines wait until protocol/client is connected
 * to each brick that is up. */
bool bricks_wait (const struct drive *drive, const struct script_line *line);
/* Returns the priority in the schedule of the message with index nth among those that wait for the
 * brick, or for its protocol/client. */
uint64_t parcel_worth (const struct drive *drive, unsigned brick, unsigned nth);
/* Starts all bricks that are down, and runs timers and threads until protocol/client is connected
 * to all bricks. Returns NULL or an error text, which the caller frees with g_free. */
char *bricks_all_begin (struct drive *drive);
/* Returns whether the answer is an error for which the kill of a brick may be the reason. Then the
 * operation may have happened or not. */
bool bricks_excuse (const struct actor *actor, const struct answer *answer);
/* Returns whether a listing may lack names, since a brick below cluster/distribute was killed. */
bool bricks_hide_names (const struct drive *drive);

/* lowers.c. lower_fill makes the files of one of several lowers, and returns false after a message.
 * lowers_look has a client look up all of them, and records how they came to be; it returns as
 * drive_run. */
bool lower_fill (const char *directory, unsigned lower, unsigned lowers);
char *lowers_look (struct drive *drive);

/* --- commands.c --- */

#define COMMAND_LINE 1000020 /* number of the first command that is given at the end */

/* Starts the command of the client's line; a function of verbs.def. */
void wind_command (struct actor *actor);
/* Ends the line of the command that is under way, if its job has ended. */
void commands_settle (struct drive *drive);
/* Returns whether the line must not begin yet, since a command is under way. */
bool commands_wait (const struct drive *drive, const struct script_line *line);
/* If an inode of the client's current line is detached, replaces the number of its file, and that
 * in the record of an operation that is not answered. Called with each answer, before it is
 * recorded. */
void actor_number_again (struct actor *actor);
/* Returns the first of --commands that the graph has not, or NULL. */
const char *commands_missing (const struct drive *drive);
/* Gives each command of --commands, and reads all files back after it. Returns as drive_run. */
char *commands_in_the_end (struct drive *drive);

/* --- reload.c --- */

/* Moves the clients to a new graph. Returns 0, or a negative errno; then nothing has changed. */
int drive_reload (struct drive *drive);
/* Ends the old graphs in which no file is open any more, if no request is under way. */
void reload_end_olds (struct drive *drive);
/* Returns the old graph in which the open files of the inode are, or NULL. */
struct drive_old *drive_old_of (struct drive *drive, const inode_t *inode);

/* disk.c. Returns a text with one line for each file below the directory, in the format and order
 * of drive->tree. The caller frees it with g_free. */
char *disk_tree (const char *directory);
/* Appends a line to tree: path, type, mode, size and checksum of a file. bytes may be NULL. */
void tree_add (GString *tree, const char *path, ia_type_t type, unsigned mode, GBytes *bytes);

#endif
