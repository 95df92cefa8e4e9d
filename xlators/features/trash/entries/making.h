/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Shared by the files that make entries: entries.c, bins.c. */
#ifndef WINDLASS_TRASH_MAKING_H
#define WINDLASS_TRASH_MAKING_H

#include "../trash.h"

/* The trash of a user: the folders that entries are made in. */
struct bin {
    struct trash_who who;
    inode_t *info, *files; /* with references */
};

struct entries_making {
    xlator_t *this;
    struct trash_work *work;
    struct client *daemon; /* of work */
    struct client *owner;  /* acts as the user */
    struct bin bin;
    struct trash_stage *stage;
    int64_t until; /* clock_now when the work ends */
};

/* --- bins.c ----------------------------------------------------------------------------------- */

/* Opens, or makes, the trash that the entries of making->stage go to. Returns 0 or a negative
 * errno. */
int trash_bin_open (struct entries_making *making);

#endif
