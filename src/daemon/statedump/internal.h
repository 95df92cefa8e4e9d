/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the state dump: one file for each kind of section. All run on the main thread, so what
 * they list is bounded. */
#ifndef WINDLASS_DAEMON_STATEDUMP_INTERNAL_H
#define WINDLASS_DAEMON_STATEDUMP_INTERNAL_H

#include "daemon/daemon.h"

#define DUMP_REQUESTS 500
#define DUMP_INODES 500
#define DUMP_FILES 200

/* What is wanted: GlusterFS's options file. */
struct dump_wanted {
    bool mem, iobuf, callpool, priv, fd, inode, inodectx, fdctx, history;
    char *path; /* the folder, or NULL: the usual one */
};

/* wanted.c: of windlassdump.PID.options or windlassdump.options in dir; everything where there is
 * neither. */
void dump_wanted_read (struct dump_wanted *ret_wanted, const char *dir);

/* memory.c: mallinfo, Memory usage, mempool, iobuf */
void dump_memory (GString *out, const struct dump_wanted *wanted);

/* requests.c: global.callpool */
void dump_requests (GString *out);

/* inodes.c: the itable, and what translators keep with inodes and open files */
void dump_inodes (GString *out, const struct running *running, const struct dump_wanted *wanted);

/* translators.c: latency, priv, history of each */
void dump_translator (GString *out, xlator_t *xl, const struct dump_wanted *wanted);
void dump_translators (GString *out, const struct graph *graph, const struct dump_wanted *wanted);

/* "performance.write-behind.NAME": two volumes of one type must be told apart. g_free it. */
char *dump_section_of (const xlator_t *xl);

/* A value in a line of its own. */
void dump_value (GString *out, const char *key, const char *value);

#endif
