/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the statedump: one file for each kind of section. All run on the main thread, so their
 * lists are bounded. */
#ifndef WINDLASS_DAEMON_STATEDUMP_INTERNAL_H
#define WINDLASS_DAEMON_STATEDUMP_INTERNAL_H

#include "daemon/daemon.h"

#define DUMP_REQUESTS 500
#define DUMP_INODES 500
#define DUMP_FILES 200
#define DUMPS_KEPT 10 /* files of a daemon; windlass(1) has the number */

/* The wanted sections, from GlusterFS's options file. */
struct dump_wanted {
    bool mem, iobuf, callpool, priv, fd, inode, inodectx, fdctx, history;
    char *path; /* the folder, or NULL: the default */
};

/* wanted.c: reads windlassdump.PID.options or windlassdump.options in dir; without either,
 * everything is wanted. */
void dump_wanted_read (struct dump_wanted *ret_wanted, const char *dir);

/* kept.c: remembers a dump that was written, and removes the oldest one beyond DUMPS_KEPT. */
void dump_keep (const char *path);

/* memory.c: mallinfo, Memory usage, mempool, iobuf */
void dump_memory (GString *out, const struct dump_wanted *wanted);

/* requests.c: global.callpool */
void dump_requests (GString *out);

/* inodes.c: the itable, and contexts of inodes and open files */
void dump_inodes (GString *out, const struct running *running, const struct dump_wanted *wanted);

/* translators.c: latency, private data and history of each */
void dump_translator (GString *out, xlator_t *xl, const struct dump_wanted *wanted);
void dump_translators (GString *out, const struct graph *graph, const struct dump_wanted *wanted);

/* "performance.write-behind.NAME": tells two volumes of one type apart. Freed with g_free. */
char *dump_section_of (const xlator_t *xl);

/* Appends a value in a line of its own. */
void dump_value (GString *out, const char *key, const char *value);

#endif
