/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass overlay apply: changes of the view become changes of the base, the last layer.
 *
 *   plan    plan.c   which changes
 *           hinder.c what hinders them: it is told before anything is done
 *           links.c  further names of changed files
 *   make    make.c   new objects are made in the base under temporary names, and synced
 *   base    base.c   they get their names; what the view has removed is removed
 *   drop    drop.c   in a pause, the upper's objects go: the view shows those of the base
 *
 * A kill or a power cut at any time loses nothing: the upper keeps its objects until the base has
 * them durably. Temporary names stand in the store before they are made, and so do the new objects
 * before they get their names: an apply that is given again removes the first, and takes the second
 * for its own.
 *
 * A commit (commit/commit.h) does the same with all changes of a frozen layer, and drops the whole
 * layer. "Upper" is that layer then: slot `from`.
 */
#ifndef WINDLASS_OVERLAY_APPLY_H
#define WINDLASS_OVERLAY_APPLY_H

#include "../commands/commands.h"
#include "../formats/records.h"

/* Begins names in the base's root of directories that a commit moves (commit/renames.c). A gfid
 * follows. */
#define STAGED_NAME ".windlass-commit."

/* A change, and what becomes of it. Inodes have references; texts are owned. */
struct apply_item {
    char kind;      /* as in struct diff_change; an 'M' without differences was applied before */
    char *path, *name;
    char *from;     /* of an 'R': the path in the layers below; else NULL */
    unsigned what;  /* as in struct diff_change */
    bool chosen;    /* it is to be applied */
    bool opaque;    /* a directory of the upper that hides what lies below, or is in such a one */
    bool moved;     /* it is, or is below, a renamed directory of the layers below */
    struct apply_item *parent; /* the change of its directory; NULL: there is none */

    struct apply_item *link_of; /* of a name that only the base has: the upper's file is that of
                                 * this item, and upper_directory is NULL; else NULL */

    inode_t *upper_directory, *upper; /* upper NULL: an opaque directory hides the name */
    struct iatt upper_buf;
    inode_t *base_directory;          /* NULL: the base does not have it */
    inode_t *base;                    /* NULL: the base has nothing */
    struct iatt base_buf;
    bool vacated;                     /* that is, but for a directory that moves away, or that
                                       * was in one */
    inode_t *moves;                   /* of an 'R': the base's directory that gets the name; NULL:
                                       * the base does not have it */
    struct iatt moves_buf;
    unsigned between;                 /* of an 'R': slot of a layer between that has the directory,
                                       * too; 0: none has */
    unsigned names;                   /* that were found of the base's file; 0: none was searched */
    struct apply_item *original;      /* whose file in the base is what the upper has here, so that
                                       * the item becomes another name of that; NULL: a new object
                                       * is made */
    bool restores_time;               /* of a directory: its time in the base is as recorded, so it
                                       * gets the one of the upper when all names are there */

    char *temporary;      /* name in base_directory of the new object; NULL: it has no such name */
    inode_t *made;        /* the new object */
    struct iatt made_buf;
    bool restless;        /* the upper's file was changed just before it was copied */
    bool done;            /* the base has it */
    bool drops;           /* the upper's object goes */
    char *away;           /* name in work of what the upper had */
};

struct apply {
    struct overlay_act act;
    struct job *job;
    const struct overlay_order *order;
    unsigned from;         /* slot of the upper */
    unsigned between;      /* first slot of those that may not have an item, too, up to the base */
    unsigned base;         /* slot */
    struct timespec planned; /* when the plan was begun; of CLOCK_REALTIME */
    const char *done;      /* what the command does, as sentences have it: "applied" */
    const char *nothing;   /* the end of the sentence of a failure that has changed nothing */
    GHashTable *moved;     /* set of directories of the layers below that the upper has renamed,
                            * which are moved in the base before it changes otherwise; references.
                            * NULL: no renamed directory can be applied */
    GPtrArray *items;      /* of struct apply_item, a directory before what is in it */
    GHashTable *by_path;   /* path -> struct apply_item */
    GHashTable *links;     /* gfid of an upper's file with several names -> inode_t made of it */
    GString *hindrances;   /* sentences */
    unsigned n_hindrances;
    bool complete;         /* the base has all of the items */
    bool untidy;           /* temporary names are left, which apply_clean removes */
    struct pause *pause;
    int64_t held;
    unsigned dropped;      /* changes that are no changes of the view any more */
};

/* Whether a new object has to be made in the base. */
static inline bool
apply_makes (const struct apply_item *item)
{
    return item->kind == 'A' || item->kind == 'T'
        || (item->kind == 'M' && item->what != 0 && item->upper_buf.ia_type != IA_IFDIR);
}

/* The directory of the base that stays and becomes the item. */
static inline inode_t *
apply_stays_inode (const struct apply_item *item)
{
    return item->kind == 'R' ? item->moves : item->base;
}

static inline const struct iatt *
apply_stays_buf (const struct apply_item *item)
{
    return item->kind == 'R' ? &item->moves_buf : &item->base_buf;
}

/* Whether the directory of the item is made as well, under its temporary name. */
static inline bool
apply_is_inside (const struct apply_item *item)
{
    return item->parent && item->parent->chosen && apply_makes (item->parent);
}

void apply_item_free (void *item);

/* order->from is the slot of the upper. The order lives longer. */
void apply_begin (struct apply *apply, struct job *job, struct overlay_order *order);
void apply_end (struct apply *apply);

/* Each returns 0, or a negative errno after job_refuse. */
int apply_plan (struct apply *apply);
int apply_make_objects (struct apply *apply);
int apply_to_base (struct apply *apply);
/* Gives directories of the base, in which names have changed, the times that they have in the
 * upper. apply_times_again does so where names have changed since: temporary ones, or those of
 * directories that were moved. */
int apply_times (struct apply *apply);
int apply_times_again (struct apply *apply);
int apply_drop (struct apply *apply);

/* Looks the item's name up in the base, as it is once the directories of apply->moved are moved:
 * item->vacated tells whether it has one of those, or has had it above.
 * Returns 0 or a negative errno. */
int apply_look_base (struct apply *apply, struct apply_item *item, inode_t **ret_inode,
                     struct iatt *ret_buf);
/* Returns the path in the base of an item's name, under which the records have it. g_free it. */
char *apply_base_path (const struct apply_item *item);

/* Removes temporary names, also those that a killed apply has left. */
int apply_clean (struct apply *apply);
/* Returns 0, or -EBUSY if the upper's object is not as it was when the plan was made. */
int apply_is_same (struct apply *apply, const struct apply_item *item);

/* Whether the upper's object of an item is as the one that the base has of the item `from`. Returns
 * 1, 0 or a negative errno. */
int apply_is_of_base (struct apply *apply, const struct apply_item *item,
                      const struct apply_item *from);

/* --- hinder.c, for plan.c: */

/* Adds a sentence, without a full stop. */
void apply_hinder (struct apply *apply, const char *format, ...) G_GNUC_PRINTF (2, 3);
/* Adds what hinders the items that are chosen. Returns 0, or a negative errno after job_refuse. */
int apply_check (struct apply *apply);
/* Tells the sentences. Returns -EBUSY. */
int apply_refuse_hindered (struct apply *apply);

/* --- plan.c, for links.c and hinder.c: */

/* Whether a path is another one, or below it. */
bool apply_path_is_below (const char *path, const char *wanted);
/* Whether an item is at the path or below it. */
bool apply_chooses (const struct apply *apply, const char *path);
/* Adds an item that another path needs, or tells why it is needed. */
void apply_need (struct apply *apply, struct apply_item *needed, const char *path,
                 const char *reason);
/* Finds the gfid that the upper's object had in the layers below; null: none. Returns 0 or a
 * negative errno. */
int apply_origin (struct apply *apply, const struct apply_item *item, gfid_t *ret_origin);
/* Adds items for further names of files that change. Returns 0 or a negative errno. */
int apply_plan_links (struct apply *apply);
/* Once items are chosen: chooses the originals of those, and forgets others. */
void apply_choose_originals (struct apply *apply);
/* Notes whether a directory of the base gets its time back. */
void apply_look_time (struct apply *apply, struct apply_item *item);
/* Returns the item of a name that the view has removed, of which the base's object has the gfid;
 * NULL: there is none. */
struct apply_item *apply_removed_with (const struct apply *apply, const gfid_t *gfid);

static inline struct client *
apply_client (struct apply *apply)
{
    return overlay_daemon (&apply->act, apply->base);
}

static inline struct client *
apply_upper_client (struct apply *apply)
{
    return overlay_daemon (&apply->act, apply->from);
}

#endif
