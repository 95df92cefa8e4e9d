/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/trash: windlass trash list, restore and empty. Each is a job (core/work/job.h): a visit.
 *
 * Whoever asks may be any user, and the owner of a trash decides what lies in it: he can exchange
 * names while a visit works. Therefore:
 *
 * - Each request of a visit has the identity of a user: of the one who asks; or, if root asks for
 *   another user's trash, of that user, with no group of his. So a visit can do nothing that the
 *   user could not do by mv and rm, and root's rights never meet what a user has prepared.
 * - Requests go in at the top of the graph, as those of a program in the mount do, so translators
 *   above judge, count and record them. Only where a translator above has other subvolumes, too,
 *   they go in here.
 * - A folder of a trash counts if it is a directory that belongs to the user. No symbolic link is
 *   followed, and folders are named by inodes.
 * - On a mount with -o ro no command changes anything. The kernel can't see to that, since the
 *   requests of a visit don't come through it.
 * - A former path is a text that anybody may have written: trash_record_read.
 */
#ifndef WINDLASS_TRASH_COMMANDS_H
#define WINDLASS_TRASH_COMMANDS_H

#include "../trash.h"

/* What was asked; constant while the job runs. */
struct trash_order {
    xlator_t *this;
    int (*carry_out) (struct job *job, struct trash_order *order);
    bool json, names;
    int64_t older;    /* nanoseconds; 0: of any age */
    int64_t whose;    /* number of a user, or ALL_USERS */
    char **arguments; /* names, or paths without a slash in front */
    /* Who asks. */
    uid_t uid;
    gid_t gid;
    pid_t pid;
    int ngroups;
    gid_t *groups;
};

/* --- visit.c ---------------------------------------------------------------------------------- */

/* A trash. */
struct bin_seen {
    uid_t uid;
    inode_t *info, *files;  /* with references */
    struct client *client;  /* for what lies in the trash, as its user */
    struct client *outside; /* the same for the rest of the tree; may be equal */
    uint64_t paths;         /* bytes of the paths of its entries; those of one text once */
};

/* No inode is kept: storage needs a descriptor for each that is removed meanwhile. */
struct entry_seen {
    const struct bin_seen *bin;
    char *name;    /* in files */
    const char *path; /* as trash_record_read gives it, or NULL; of a part: where the part was; in
                       * visit->paths */
    char *part;    /* NULL: the whole entry; else the way from it to an object in its tree */
    int64_t when;  /* seconds since 1970 */
    struct trash_info info;
    bool chosen;
    bool named;    /* an argument is its path or its name, not only that of a directory above */
};

struct visit {
    struct trash_order *order;
    xlator_t *this;
    struct job *job;
    inode_t *root;      /* no reference is needed */
    GPtrArray *clients; /* struct client, owned */
    GPtrArray *bins;    /* struct bin_seen, owned */
    GHashTable *paths;  /* set of char *, owned: of all entries and parts */
    GPtrArray *entries; /* struct entry_seen, owned: by path; those without a path come last */
    GPtrArray *parts;   /* struct entry_seen, owned: parts of entries that arguments name */
    GPtrArray *chosen;  /* struct entry_seen: those that the order is about, in the same order, and
                         * then parts */
    unsigned unknown;   /* arguments that no entry fits */
    bool unsettled;     /* some of what was removed has no entry yet */
};

/* Makes entries of what was just removed, and reads all entries. Returns 0, or a negative errno.
 * visit_end frees what it has, also after a failure. It returns r, the result of the command so
 * far, or -EAGAIN with a message if the command could not see all. */
int visit_begin (struct visit *visit, struct trash_order *order, struct job *job);
int visit_end (struct visit *visit, int r);
/* Fills in visit->chosen: the entries that the arguments name, or all if there are none. restores:
 * of entries with one path only the newest, and also parts of entries. Prints a line for each
 * argument that no entry fits. */
int visit_choose (struct visit *visit, bool restores);
/* Returns another entry_seen for the object that lies so far below an entry, or NULL: its tree has
 * no such object. */
struct entry_seen *visit_part (const struct visit *visit, const struct entry_seen *entry,
                               const char *part);
/* Finds the object of an entry, or of a part: its directory, with a reference, its name there,
 * which the entry owns, and its attributes. -ENOTDIR: a name on the way is no directory; links are
 * not followed. */
int visit_find (const struct entry_seen *entry, inode_t **ret_directory, const char **ret_name,
                inode_t **ret_inode, struct iatt *ret_buf);
/* Returns the last part of a result for the user: text with control characters and backslashes as
 * \xNN, so that it is one line. g_free it. */
char *visit_shown (const char *text);
/* Looks a name in the files of a trash up. */
int visit_look (const struct entry_seen *entry, inode_t **ret_inode, struct iatt *ret_buf);
/* Waits until the kernel knows of the names that have come back, for a while at most. */
void visit_wait_noticed (struct visit *visit);

/* --- list.c, restore.c, empty.c: the jobs ----------------------------------------------------- */

int trash_list (struct job *job, struct trash_order *order);
int trash_restore (struct job *job, struct trash_order *order);
int trash_empty (struct job *job, struct trash_order *order);

#endif
