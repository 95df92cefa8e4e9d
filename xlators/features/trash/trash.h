/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/trash: shared by its rooms.
 *
 *   stage/     removals and renames, and the stages that they lead to
 *   entries/   entries of the trash, made of what lies in stages; their limits
 *   copies/    truncations and opens, and the copies of what a file had before them
 *   gluster/   layout gluster
 *   commands/  windlass trash
 *
 * A removed file is renamed into a stage first, and becomes an entry of its user's trash later:
 *
 *   /.windlass-trash                       hidden from callers
 *       INSTANCE/                          of this graph; a random name
 *           lock                           locked while the daemon lives
 *           1000/                          of a user
 *               17/                        a stage: of one directory that loses names, and a user
 *                   a_file                 a removed file
 *                   a_directory/           the former stage of a removed directory
 *       links                              a lock, for daemons that share the storage
 *       trashes/1000/                      a user's trash, where nobody else can be in the way
 *   /.Trash-1000                           the user's trash, as freedesktop.org specifies it
 *       info/a_file.trashinfo              where it was, and when and by whom it was removed
 *       files/a_file
 *
 * unlink is one rename, by the caller, so the system judges it as it would judge the removal. rmdir
 * is a real rmdir, since the kernel takes the removed directory for dead. The directory's stage
 * then becomes a child of the stage of its parent, under the directory's name, and gets its owner,
 * mode, times and attributes. So `rm -r` makes one entry, and costs a rename for each name.
 *
 * What lies in a stage of a directory that still exists is topmost. Once its user has removed
 * nothing for `settle`, or 60 s after the stage was made, a background function makes an entry of
 * each topmost name: the information file is made and synced first, then the name is renamed to
 * files/. A lookup of a trash, or an open of a directory in it, makes the entries of quiet stages
 * before it is answered.
 *
 * Reasons:
 *
 * - A rename into a stage replaces nothing: RENAME_NOREPLACE, or, over the wire of GlusterFS, which
 *   has no flags, a set of the names in the stage. A second file of one name gets a stage of its
 *   own, so that the names in a stage are those that the files had.
 * - A file with further links has not lost its content. Its name in the stage is dropped while its
 *   link count is over 1. One thread does this, one file after the other: two threads that each see
 *   two links would drop both. Where others share the storage the name stays.
 * - A removal succeeds where the stage can't: if there is no space, no right to make a stage, or
 *   another file system below, the file is removed for good, and counted. What is in a stage by
 *   then stays there while there is no space for its entry.
 * - A daemon that was killed leaves its stages. The next one, or another over the same storage,
 *   finds their instance unlocked (OFD) and makes the entries. A stage has the path of its
 *   directory in an attribute, which a file system writes no later than the names that come into
 *   the stage.
 * - Lines (line.c) run one task after the other, each in a job, so that folders and stages are made
 *   without a lock. Requests that need a new stage wait for `maker`; `entries` may take long, so
 *   users take turns there, and a look at the limits lets their tasks run between its pieces. A
 *   third line, `notices`, tells the kernel of new names: the kernel waits for the lock of the
 *   directory, which a lookup may hold that waits for `entries`.
 * - The folders of a trash are unkept: neither the kernel nor a cache keeps names in them, so an
 *   entry is seen as soon as it is there. A notice would take the lock of the directory in the
 *   kernel, and come later than the answer to the command that made the change.
 * - The names in a trash belong to its user, who may exchange them while an entry is made. Folders
 *   are therefore named by inodes, never by paths, and information files are made as the user.
 */
#ifndef WINDLASS_TRASH_H
#define WINDLASS_TRASH_H

#include "xlator.h"

#include <errno.h>

#define TRASH_STAGES ".windlass-trash" /* folder of root's daemons; TRASH_STAGES-1000: of those of
                                        * user 1000 */
#define TRASH_OLDEST (60 * G_GINT64_CONSTANT (1000000000)) /* age of a stage, in nanoseconds, from
                                                              which its entries are made though its
                                                              user goes on removing */

/* --- line.c: tasks that run one after the other, in jobs -------------------------------------- */

/* Embedded in the data that run needs; run owns that memory from the call on. */
struct trash_task {
    void (*run) (xlator_t *this, struct trash_task *task);
    bool background; /* no request waits for it, so the line's job may rest, and a hold pauses it */
    int64_t user;    /* of whom it is: 1 + the number of a user who waits for it, or 0 */
};

/* Who makes requests as the daemon, and in which job. */
struct trash_work {
    struct client *client;
    struct job *job;      /* NULL: none, at the end of the graph */
    uint64_t done, total; /* of job_progress */
    int64_t patience;     /* clock_now up to which trash_info_adopt waits; 0: it has not waited */
};

/* Returns whether the work goes on: job_next. */
bool trash_work_next (struct trash_work *work);
/* So many pieces are done, and so many were found. */
void trash_work_progress (struct trash_work *work, unsigned done, unsigned more);

struct trash_line {
    const char *name, *about, *unit; /* of its jobs */
    unsigned pace;                   /* of its jobs */
    xlator_t *this;
    struct client *client;  /* for requests of the tasks, as the daemon */
    struct trash_work work; /* for the task that runs: with that client */
    pthread_mutex_t lock;   /* job_begin and job_owe are called under it */
    GQueue tasks;           /* struct trash_task; lock */
    unsigned owed;          /* those in it, or running, for which a request waits; lock */
    unsigned number;        /* of its job, or 0; lock */
    unsigned of_users;      /* tasks in it with a user; lock */
    GHashTable *turns;      /* user -> when a task of the user was last begun; lock */
    size_t turn;            /* counts these; lock */
    int64_t others_after;   /* clock_now: trash_line_others; of the job's thread */
};

/* The members for its jobs are set before. jobs_wait waits for its tasks. */
void trash_line_init (xlator_t *this, struct trash_line *line);
void trash_line_fini (struct trash_line *line);
/* After jobs_wait the task runs before this returns. */
void trash_line_add (struct trash_line *line, struct trash_task *task);
/* Resumes a call in the line; user: as in a task. */
void trash_line_resume (struct trash_line *line, int64_t user, call_stub_t *stub);
/* Between two pieces of a long task of the line: runs a task that somebody waits for, if there is
 * one, and if the last one that ran so has taken no more time than the pieces since then. */
void trash_line_others (struct trash_line *line);

/* --- the private struct ----------------------------------------------------------------------- */

/* Who removes: from the request. */
struct trash_who {
    uid_t uid;
    gid_t gid;
    pid_t pid;
};

/* A stage. In private->stages while removals find it there. */
struct trash_stage {
    int refs;           /* private->lock */
    gfid_t directory;   /* the directory that loses names */
    struct trash_who who; /* the first that removed; pid: of the process, or 0: unknown */
    pid_t thread;        /* the first, as in its request */
    uint64_t mark;       /* process_mark of who.pid when the stage was made */
    int64_t looked;      /* clock_roughly at which it had that mark; atomic */
    bool shared;         /* other processes remove here, too: removers.c; atomic */
    GHashTable *others;  /* who has removed names that the first process has not, or NULL;
                          * private->lock */
    uint64_t named;      /* names_now at which `path` was right; private->lock */
    char *path;         /* of the directory when the stage was made */
    char *program;      /* name of the process in `who`, or NULL */
    inode_t *folder;    /* with a reference */
    int64_t born, last; /* clock_now of its first and its last removal; last: private->lock */
    unsigned users;     /* removals under way; private->lock */
    GHashTable *taken;  /* names that were renamed into it, if storage can't refuse to replace one;
                         * private->lock */
    struct iatt before; /* the directory before the first removal; ia_type IA_INVAL: unknown */
    int64_t not_before; /* clock_now at which its entries are tried again; private->lock */
};

enum trash_layout { TRASH_FREEDESKTOP, TRASH_GLUSTER };

/* What happens to a removal where no trash can be made. */
enum trash_lack { TRASH_LACK_REMOVE, TRASH_LACK_REFUSE };

/* Bits of the option `keep`; what is deleted is always kept. */
enum trash_kind { TRASH_OVERWRITTEN = 1, TRASH_TRUNCATED = 2 };

typedef struct {
    /* options */
    int wanted;     /* enum option_switch; auto: as the layout has it */
    int layout;     /* enum trash_layout */
    char *directory; /* a name in the root, for TRASH_GLUSTER */
    bool on;        /* from `wanted`; atomic */
    int no_trash;   /* enum trash_lack; atomic */
    int64_t settle; /* nanoseconds; atomic */
    char *keep_text, *eliminate_text, *rules_file;
    uint64_t max_filesize, max_total, min_free; /* bytes, 0: no limit; atomic */
    int64_t temporaries; /* nanoseconds; atomic */
    int64_t max_age; /* nanoseconds, 0: no limit; atomic */

    bool copy;             /* atomic */
    unsigned keep;         /* enum trash_kind; atomic */
    char **eliminated;     /* patterns; constant after init, or NULL */
    struct rules_slot rules;
    bool has_rules;        /* rules are in force; atomic */
    bool rules_ask;        /* one of them needs the attributes of a file; atomic */

    gid_t no_group; /* of requests as the owner of a trash, whose groups the daemon does not know:
                     * the kernel's group of those that have none (kernel.overflowgid). The group of
                     * the trash would not do: its owner need not be in it. Constant after init */
    pthread_mutex_t lock;   /* a leaf */
    GHashTable *stages;     /* set of struct trash_stage, by directory and user, with references;
                             * lock */
    GQueue loose;           /* stages that no removal finds any more, with references; lock */
    GQueue taken;           /* stages whose entries are being made; lock */
    unsigned count;         /* of all three; atomic, written under lock */
    core_timer_t *timer;    /* for `entries`, or NULL; lock */
    int64_t timer_due;      /* on clock_now; lock */
    GHashTable *last_of;    /* uid -> int64_t: time of the user's last removal; lock */
    bool ending;            /* lock */
    bool settled;           /* no task may begin any more; lock */
    bool top_is_there;      /* top_name is in the root, as far as is known; atomic */
    inode_t *root;          /* NULL before the first lookup or removal; no reference is needed;
                             * atomic */
    bool limits_are_due;    /* trash_limits_soon has a task; atomic */
    bool no_reflink;        /* storage has none; atomic */
    bool began;             /* the first lookup has come; atomic */
    unsigned recoveries;    /* how often trash_recover was called since its job began; atomic */
    xlator_t *heir;         /* the same volume in the next graph, or NULL; main thread only */
    GSList *olds;           /* xlator_t: those whose heir this one is; main thread only */

    struct trash_line maker, entries, notices;

    /* used by maker alone */
    inode_t *top, *instance; /* top_name and the folder in it, or NULL; with references */
    fd_t *mine;              /* the lock file of instance, open and locked; or NULL */
    char *instance_name;     /* written with lock */
    fd_t *links;             /* TRASH_LINKS, open; or NULL */
    bool refuge_is_told;     /* that a user's trash can't be used; atomic */
    bool top_is_told;        /* why the folder of stages is not used; atomic */
    GHashTable *users;       /* uid -> inode of its folder */
    uint64_t stage_number;

    /* numbers for reports: atomic */
    uint64_t kept;           /* removed names in a stage or an entry */
    uint64_t made;           /* entries */
    int64_t sync_alone;      /* on clock_now: until then each information file is synced alone;
                              * atomic */
    uint64_t evicted;        /* entries that limits have removed */
    int64_t space_is_late;   /* on clock_now: until then min-free removes nothing more, as the file
                              * system, which can't be synced, may tell late what is free; atomic */
    const char *top_name;    /* TRASH_STAGES, or that of this user; interned. Constant after init */
    uint64_t for_good;       /* names that were removed for good because no stage could be had */
    int for_good_error;      /* the last reason, a positive errno */
    int lacks;               /* why the daemon can make no trash: a positive errno, or 0 */
    uint64_t refused;        /* removals, since no trash can be made */
    uint64_t uncopied;       /* files that were cut or opened for writing without a copy */
    int uncopied_error;      /* the last reason, a positive errno */
} trash_private_t;

static inline trash_private_t *
trash_priv (const xlator_t *this)
{
    return this->private;
}

/* --- stage/stages.c: who has a stage, and since when ------------------------------------------ */

guint trash_stage_hash (gconstpointer stage);
gboolean trash_stage_same (gconstpointer a, gconstpointer b);

/* Returns the user whose trash gets what the caller removes. A daemon without root's rights has one
 * trash: its own. */
uid_t trash_user (const call_stack_t *root);

/* Returns the stage of a directory and a user for a removal, with a reference and counted in users,
 * or NULL if it has to be made. trash_stage_leave ends that; kept: a name was added. */
struct trash_stage *trash_stage_enter (xlator_t *this, inode_t *directory, uid_t uid);
/* Returns the flags of a rename that must replace nothing: 0 over the wire of GlusterFS, which has
 * none. There trash_stage_reserve keeps a name in a stage from being used twice: it returns false
 * if the name was. */
uint32_t trash_rename_flags (const xlator_t *this);
bool trash_stage_reserve (xlator_t *this, struct trash_stage *stage, const char *name);
/* Returns whether a call that failed for a stage may succeed for another one: this one has the name
 * already, or somebody has removed its folder. r: a negative errno. */
static inline bool
trash_stage_is_used_up (int r)
{
    return r == -EEXIST || r == -ENOENT || r == -ESTALE;
}
void trash_stage_leave (xlator_t *this, struct trash_stage *stage, bool kept);
void trash_stage_unref (xlator_t *this, struct trash_stage *stage);

/* Adds a stage that no removal finds, with a name in it, and takes over the reference. */
void trash_stage_add_loose (xlator_t *this, struct trash_stage *stage);
/* Adds a new stage, and takes over the reference. */
void trash_stage_add (xlator_t *this, struct trash_stage *stage);
/* From now on no removal finds the stage; its entries are made once it is quiet. */
void trash_stage_retire (xlator_t *this, struct trash_stage *stage);
/* Takes the stage of a directory and a user out, for the caller alone; NULL: there is none. */
struct trash_stage *trash_stage_take (xlator_t *this, inode_t *directory, uid_t uid);

#define ALL_USERS ((int64_t) -1) /* in the place of a user's number */
#define TRASH_PAUSE (G_GINT64_CONSTANT (200000000)) /* nanoseconds: TRASH_ASKED */

enum trash_quiet {
    TRASH_SETTLED, /* its user has removed nothing for `settle`, or it is old */
    TRASH_ASKED,   /* its user has removed nothing for a fifth of that, or for TRASH_PAUSE: for a
                    * command */
    TRASH_PAUSED,  /* nothing was removed in the directory for a fifth of that: for a listing */
    TRASH_ALL,     /* whatever was removed when: at the end */
};
/* Takes out a stage of a user, or of any, whose entries are to be made; NULL: there is none. It
 * counts in private->count until trash_stage_done, which drops the reference. */
struct trash_stage *trash_stage_next (xlator_t *this, enum trash_quiet quiet, int64_t whose);
/* Returns whether a user, or any, has a stage, or one of which the entries are being made. */
bool trash_stages_wait (xlator_t *this, int64_t whose);
void trash_stage_done (xlator_t *this, struct trash_stage *stage);
/* Has a stage tried again that trash_stage_next has taken out, not before so many nanoseconds. */
void trash_stage_again (xlator_t *this, struct trash_stage *stage, int64_t later);
/* Has the entries made that are due, now and later. */
void trash_stages_watch (xlator_t *this);

/* --- stage/removers.c: which process has removed a name --------------------------------------- */

/* Sets who, the first remover, in a new stage. The caller waits for its request. */
void trash_stage_begin (struct trash_stage *stage, const struct trash_who *who);
/* Returns whether the thread of a request may add names to the stage as it is. If not, maker calls
 * trash_stage_admit first. */
bool trash_stage_admits (struct trash_stage *stage, pid_t thread);
void trash_stage_admit (xlator_t *this, struct trash_stage *stage, pid_t thread);
/* Writes the stage's attribute. shared: without the first remover. In the line `maker`. */
void trash_stage_place (struct client *client, const struct trash_stage *stage, bool shared);
/* The thread's request has added a name. Before the request is answered, and before
 * trash_stage_leave. */
void trash_stage_note (xlator_t *this, struct trash_stage *stage, const char *name, pid_t thread);
/* Returns the process that has removed a name, or 0; and its program, or NULL, which lives as long
 * as the stage. Of a stage that nobody has entered. */
pid_t trash_stage_remover (const struct trash_stage *stage, const char *name,
                           const char **ret_program);

/* --- stage/folders.c: the folders of stages; tasks of maker only ------------------------------ */

/* Enters the stage of a directory and a user (trash_stage_enter), and admits the remover. With
 * fresh, or if there is none, makes a stage. before: the directory's attributes before the removal;
 * NULL: as they are now. Returns the stage, in private->stages: who looked for it there would miss
 * it if a directory got another name meanwhile. NULL with a negative errno in *ret_error. */
struct trash_stage *trash_folder_enter (xlator_t *this, inode_t *directory,
                                        const struct trash_who *who, bool fresh,
                                        const struct iatt *before, int *ret_error);
/* Makes a stage that is the caller's alone, until trash_stage_add_loose or trash_folder_drop. Its
 * name begins with TRASH_UNFINISHED: the next daemon removes it, with what is in it, if this one
 * ends before trash_folder_finish, which takes that away, and syncs the name. */
#define TRASH_UNFINISHED "+"
struct trash_stage *trash_folder_apart (xlator_t *this, inode_t *directory,
                                        const struct trash_who *who, int *ret_error);
int trash_folder_finish (xlator_t *this, struct client *client, struct trash_stage *stage);
/* Removes the folder of such a stage, which is empty, and the stage. */
void trash_folder_drop (xlator_t *this, struct client *client, struct trash_stage *stage);
/* Stores the attributes of an inode, or ia_type IA_INVAL. */
void trash_folder_stat (struct client *client, inode_t *inode, struct iatt *ret_buf);
/* Gives an inode its mode in buf, with these permissions added. Returns false after a failure. */
bool trash_folder_permit (struct client *client, inode_t *inode, const struct iatt *buf,
                          uint32_t added);
/* Makes a folder that is the user's alone: 0700, without the default ACL of its directory. */
int trash_folder_make (struct client *client, inode_t *directory, const char *name, mode_t mode,
                       const struct trash_who *owner, inode_t **ret_inode);
/* Makes a folder with the owner and the mode of a directory, as mkdir(2) does: without the bits for
 * setuid and setgid, and with what the default ACL of the directory above gives it. */
int trash_folder_like (struct client *client, inode_t *directory, const char *name,
                       const struct iatt *like, inode_t **ret_inode);
/* Removes all folders that are empty, at the end. */
void trash_folders_leave (xlator_t *this);
/* Has that done in the line, unless this graph has an instance; on any thread. */
void trash_folders_tidy (xlator_t *this);
/* Returns whether the name is that of a folder of stages, of whichever user's daemons. */
bool trash_name_is_top (const char *name);
/* Tells, once, that another object than an own folder has the name. Returns -EACCES. */
int trash_top_is_taken (xlator_t *this);
/* Remembers whether top_name is in the root, whose link count that changes; on any thread. */
void trash_top_is_there (xlator_t *this, bool is_there);
/* xlator_api.uncount. */
void trash_uncount (xlator_t *this, struct iatt *buf);

#define TRASH_SLICE G_GINT64_CONSTANT (500000000) /* nanoseconds for which entries are made before
                                                     a request that waits for them goes on */
#define TRASH_LOCK "lock"                  /* a file in the folder of an instance */
#define TRASH_LINKS "links"                /* a file beside the instances: trash_links_lock */
#define TRASH_REFUGES "trashes"            /* the folder beside the instances: bins.c */
#define TRASH_PLACE "user.windlass.trash"  /* attribute of a stage: trash_place_text */

/* Locks an instance, for as long as the file in *ret_fd has a reference. own: this daemon has just
 * made the instance. -EAGAIN: another daemon has it locked; -ENOENT: it was removed. */
int trash_instance_lock (xlator_t *this, struct client *client, inode_t *instance, bool own,
                         fd_t **ret_fd);
/* Returns whether that is the name of this daemon's instance. On any thread. */
bool trash_instance_is_own (trash_private_t *priv, const char *name);
/* Returns whether those are the attributes of a directory of `owner` in which no other user may
 * write by its mode. */
bool trash_folder_is_own (const struct iatt *buf, uid_t owner);

/* Locks what a daemon over the same storage may do at the same time: drop a name because the file
 * has another one. Returns false if another daemon keeps the lock for a tenth of a second: then the
 * name stays. */
bool trash_links_lock (xlator_t *this);
void trash_links_unlock (xlator_t *this);

/* --- stage/recover.c: stages of daemons that were killed, and of old graphs ------------------- */

/* Begins a job that makes entries of them. */
void trash_recover (xlator_t *this);

/* xlator_api.take_over. `this` becomes the heir of the predecessor. */
void trash_take_over (xlator_t *this, xlator_t *predecessor);

/* `this` has ended, and has given up its instance. Its heir makes entries of what is left there,
 * and becomes the heir of all whose heir `this` was. On the main thread. */
void trash_hand_over (xlator_t *this);

/* --- entries/record.c: what information files say --------------------------------------------- */

/* Returns the text of an information file for a name in a stage; when: time of the removal. */
char *trash_record (const struct trash_stage *stage, const char *name, int64_t when);
/* Returns the path of a stage, and who removed, as one text; shared: who is left out. Reads such a
 * text. */
char *trash_place_text (const struct trash_stage *stage, bool shared);
void trash_place_read (const char *text, struct trash_stage *stage);
/* Reads an information file, of whoever has written it: the former path, as bytes without a slash
 * in front, or NULL if it names no place below the root of the mount; and the time of the removal,
 * in seconds since 1970, or `otherwise` if there is none. That is a time of a file, which its owner
 * may have set to any value, so *ret_when is limited to days that every time zone writes with a
 * year from 1 to 9999. g_free the path. */
#define TRASH_FIRST_DAY (-INT64_C (62135510400)) /* 0001-01-02, in seconds since 1970 */
#define TRASH_LAST_DAY INT64_C (253402214400)    /* 9999-12-31 */
char *trash_record_read (const char *text, int64_t otherwise, int64_t *ret_when);
/* Appends text with %XX for all but unreserved characters and those in `kept`. */
void trash_append_encoded (GString *out, const char *text, const char *kept);
#define TRASH_UNRESERVED "-_.!~*'()" /* with letters and digits: RFC 2396 */
/* Returns a name for an entry: name itself, or with a number if that is over 1; shortened,
 * so that the name of its information file isn't too long. g_free it. */
char *trash_entry_name (const char *name, unsigned number);
/* Returns how many bytes of a name are kept, at most max, without a part of a UTF-8 character. */
int trash_name_cut (const char *name, int max);

/* --- entries/entries.c: entries of what lies in stages ---------------------------------------- */

#define TRASH_SHARED ".Trash" /* folder of trashes by the users' numbers */
#define TRASH_OWN ".Trash-"   /* name of a user's trash, before the number */

/* In the line `entries`. whose: the user of the stages, or ALL_USERS. until: clock_now at which the
 * work ends, and what is left stays in its stage. Returns whether something is left. If the job is
 * stopped, what is left is tried again after TRASH_OLDEST, and the result is false. */
bool trash_entries_make (xlator_t *this, enum trash_quiet quiet, int64_t whose, int64_t until);
/* Makes the entries of one stage, and removes its folder; on any thread. Returns 0 or a negative
 * errno: then some names stay. -EAGAIN: the time is over; -EINTR: the job was stopped. */
int trash_entries_of (xlator_t *this, struct trash_work *work, struct trash_stage *stage,
                      int64_t until);
/* Returns a client that acts as the user, if the daemon can. client_free it. */
struct client *trash_owner_new (xlator_t *this, const struct client *daemon,
                                const struct trash_who *who);

/* --- entries/bins.c: the folders of a trash --------------------------------------------------- */

/* Returns the folder /.Trash, with a reference, if it is as the specification wants it: a directory
 * with the sticky bit; else NULL. */
inode_t *trash_shared (struct client *client, inode_t *root);
/* Returns the folder of the trashes that only windlass trash shows, with a reference; NULL: there
 * is none. The client meets the hidden names. */
inode_t *trash_refuges (struct client *client, inode_t *root, const char *top_name);

/* --- entries/notices.c: what callers are told ------------------------------------------------- */

/* Has the kernel and the translators above learn, in the line `notices`, that a name in a directory
 * has come or gone. They may have listed the directory, or may know that the name isn't there. Of
 * an unkept directory (trash_unkept) they keep nothing: there is no notice of it. */
void trash_notice (xlator_t *this, inode_t *directory, const char *name);
/* The same for several names, g_malloc'ed; takes over the array, which frees them. */
void trash_notices (xlator_t *this, inode_t *directory, GPtrArray *names);

/* --- entries/info.c: information files -------------------------------------------------------- */

#define TRASH_INFO_SUFFIX ".trashinfo"

/* Makes an information file with this text, and syncs it; or, if ret_fd is not NULL, leaves it open
 * there, and not synced. -EEXIST: the name is taken. */
int trash_info_make (xlator_t *this, struct client *owner, inode_t *folder, const char *name,
                     const char *text, fd_t **ret_fd, inode_t **ret_inode);
/* Takes over a file of this name, if a daemon that ended has made it for this very entry: nothing
 * of its name is in `files`, and it has the text, or, for a while, its beginning or another date.
 * -EEXIST: it is another's; -EINTR: the work must stop. Waits for a fraction of a second, and no
 * longer for all files of the work. */
int trash_info_adopt (xlator_t *this, struct trash_work *work, struct client *owner,
                      inode_t *folder, const char *name, const char *text, inode_t *files,
                      inode_t **ret_inode);

/* Returns a time of a file in nanoseconds since 1970. Its owner may have set it to any value: what
 * is before 1970 counts as 1970, and what is after 2255 as 2255. So two of them can be
 * subtracted. */
static inline int64_t
trash_nanoseconds (int64_t seconds, uint32_t rest)
{
    return CLAMP (seconds, 0, INT64_C (9000000000)) * 1000000000 + rest;
}

/* An information file as it was read: an entry's name may be another entry's by now. */
struct trash_info {
    gfid_t gfid;
    int64_t mtime;       /* seconds since 1970 */
    uint32_t mtime_nsec;
};
void trash_info_note (struct trash_info *ret_info, const struct iatt *buf);
/* Returns below 0 if the first one is older, above 0 if the second one is. */
int trash_info_age (const struct trash_info *one, const struct trash_info *other);
/* Looks the information file up, and returns 0 with a reference if it is still the same; -ESTALE:
 * another one has the name; or another negative errno. */
int trash_info_look (struct client *client, inode_t *folder, const char *name,
                     const struct trash_info *info, inode_t **ret_inode);

/* --- entries/limits.c: the oldest entries go first; tasks of `entries` only ------------------- */

#define TRASH_LIMITS_EVERY (60 * G_GINT64_CONSTANT (1000000000)) /* time between two looks, in
                                                                    nanoseconds */

bool trash_has_limits (const trash_private_t *priv);
/* Removes entries of all trashes until the limits hold. free_alone: until min-free does, which
 * costs a statfs where enough is free. */
void trash_limits_hold (xlator_t *this, bool free_alone);
/* Has that done in the line `entries`, now, since there is no space; on any thread. */
void trash_limits_soon (xlator_t *this);

/* --- stage/remove.c, stage/replace.c, stage/rmdir.c, stage/temporaries.c: operations ---------- */

/* Returns whether what this request removes in a directory goes to a trash. */
bool trash_takes (xlator_t *this, const call_stack_t *root);
/* Returns whether a file is kept when it loses this name, as far as is known before. */
bool trash_keeps (xlator_t *this, const call_stack_t *root, const loc_t *loc);
/* Returns whether a file whose name is in a stage does not stay there: it has further names, or is
 * too large. */
bool trash_is_dropped (xlator_t *this, const struct iatt *buf);
/* Asks that of the file again, and removes the name from the folder if so. In the line `maker`. */
void trash_drop_again (xlator_t *this, inode_t *folder, const char *name, inode_t *inode);
/* Returns whether a path, or a directory, is in a trash. */
bool trash_has (const char *path);
bool trash_has_inode (inode_t *directory);
/* Returns whether a removal fails, since no trash can be made for this reason (a positive errno),
 * and counts it. Lack of space is no such reason. */
bool trash_refuses (xlator_t *this, int error, const char *name);
/* Tells in the log, once the root is known, that no trash can be made. */
void trash_lack_begin (xlator_t *this);
/* A name was removed for good, although it should have been kept. error: a positive errno. */
void trash_count_for_good (xlator_t *this, int error, const char *name);

/* --- eliminate.c: what is removed for good by intent ------------------------------------------ */

/* Returns whether a pattern of `eliminate` names the file. */
bool trash_fits_pattern (xlator_t *this, const loc_t *loc);
/* Returns whether a rule eliminates the file of loc when `root` removes it or its content by op.
 * buf: its attributes; NULL: unknown, which trash_rules_ask allows if it is false. */
bool trash_is_eliminated (xlator_t *this, const call_stack_t *root, enum fop op, const loc_t *loc,
                          const struct iatt *buf);
bool trash_rules_ask (const xlator_t *this);
/* Checks a file of rules, for the option; puts it in force (NULL: no rules); ends it. */
int trash_rules_check (const char *file, char **ret_allowed);
int trash_rules_begin (xlator_t *this, const char *file);
void trash_rules_end (xlator_t *this);
void trash_rules_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
struct rules_slot *trash_rules (xlator_t *this);
/* Returns what `eliminate` and the rules say of the removal of a path, by whichever caller. inode:
 * NULL if it isn't known. *ret_pattern: the pattern of `eliminate` that names it, or NULL. */
enum trash_fate { TRASH_IS_KEPT, TRASH_MAY_BE_ELIMINATED, TRASH_IS_ELIMINATED };
enum trash_fate trash_fate (xlator_t *this, const char *path, inode_t *inode,
                            const char **ret_pattern);

/* --- explain.c: dumpops ----------------------------------------------------------------------- */

void trash_dump (xlator_t *this, GString *out);
void trash_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);

/* --- trash.c ---------------------------------------------------------------------------------- */

/* Reads the option `keep`, as bits of enum trash_kind; false: it is wrong. */
bool trash_keep_parse (const char *text, unsigned *ret_kinds);

/* --- commands/commands.c: windlass trash ------------------------------------------------------ */

extern const struct xlator_command trash_commands[];

extern unlink_fop trash_unlink;
extern rmdir_fop trash_rmdir;
extern rename_fop trash_rename;
extern symlink_fop trash_symlink;
extern flush_fop trash_flush;

/* Returns whether it matters who makes a file. Layout gluster keeps a file whoever has made it. */
bool trash_makers_count (xlator_t *this, const call_stack_t *root);
/* A create has opened fd. inode: as in its answer; flags: as in the call. */
void trash_note_made (xlator_t *this, const call_stack_t *root, uint32_t flags, fd_t *fd,
                      inode_t *inode);
/* Returns whether the caller has made the file, with O_EXCL and still has it open, or just now. */
bool trash_is_temporary (xlator_t *this, const call_stack_t *root, inode_t *inode);
void trash_temporary_release (xlator_t *this, fd_t *fd);

/* The context of an open file. */
struct trash_file {
    struct made *made;             /* temporaries.c, or NULL */
    struct trash_version *version; /* versions.c: the copy that waits for the release, or NULL */
    bool is_copied;                /* what the file had at the open is kept */
};
/* Returns the context, which is made if there is none. Before the open is answered. */
struct trash_file *trash_file_make (xlator_t *this, fd_t *fd);

/* Returns the extended attributes of an inode with their values, or NULL: there is none. dict_unref
 * it. */
dict_t *trash_xattrs (struct client *client, loc_t *loc);

#endif
