/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A folder for logs of records; the limit of a file's size stands for the end of a disk, and the
 * clock is virtual. */
#ifndef TESTS_UNIT_RECORDS_WORLD_H
#define TESTS_UNIT_RECORDS_WORLD_H

#include "core/records/record-internal.h"
#include "core/time/scheduler.h"

#include "../program.h"
#include <sys/resource.h>

#define NAME "records.log"
#define SECOND INT64_C (1000000000)

extern char records_folder[];
extern int records_fd; /* of it */

void records_new (void);  /* fixtures */
void records_free (void);

/* Sets the size beyond which no file of this process grows; RLIM_INFINITY: none. */
void records_disk_ends_at (rlim_t size);

/* Lets the thread of the log do what it can without a wait. */
void records_settle (void);
/* Lets time pass, and the thread make one attempt more. */
void records_pass (int64_t nanoseconds);

struct record_log *records_open (const char *name);
char *records_path (const char *name); /* g_free it, as the next */
char *records_text (const char *name);
void records_check_text (const char *name, const char *expected);
off_t records_size (const char *name);
void records_move_away (const char *name, const char *to);

#endif
