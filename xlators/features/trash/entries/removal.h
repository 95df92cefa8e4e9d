/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Entries that are removed for good, by limits.c and `windlass trash empty`.
 *
 * A tree goes name by name, and the work may be stopped, or the daemon killed. Half a tree must not
 * be listed, nor restored, as if it were the whole entry. So while it goes its information file has
 * another suffix, which no program takes for an information file. What was left is removed by the
 * next look at the limits, and by the next `windlass trash empty` of all.
 */
#ifndef WINDLASS_TRASH_REMOVAL_H
#define WINDLASS_TRASH_REMOVAL_H

#include "../trash.h"

#define TRASH_GONE_SUFFIX ".trashgone" /* as long as TRASH_INFO_SUFFIX */

struct trash_removal {
    xlator_t *this;
    struct client *client;     /* acts as the user of the trash */
    inode_t *info, *files;     /* folders */
    const char *name;          /* in files */
    bool (*next) (void *data); /* before each name is removed: returns false if the work stops */
    void *data;
};

/* Removes an entry. Returns 0; -EINTR: the work was stopped; -ESTALE: a younger entry has its name;
 * or another negative errno. If nothing of a tree could be removed, the entry is as before. */
int trash_entry_remove (const struct trash_removal *removal, const struct trash_info *seen);
/* Removes what such a removal has left: info is a name in the folder of information files. Returns
 * 0, also for any other name; or a negative errno. */
int trash_entry_remove_rest (struct trash_removal *removal, const char *info);
/* Removes the name from files, with all below. Returns 0, also if it is not there, or a negative
 * errno. */
int trash_tree_remove (const struct trash_removal *removal);

#endif
