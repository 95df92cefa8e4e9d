/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fetches the volfile of a GlusterFS volume from a server's glusterd. */
#ifndef WINDLASS_RPC_VOLFILE_SERVER_H
#define WINDLASS_RPC_VOLFILE_SERVER_H

#include <stdbool.h>

#define VOLFILE_SERVER_PORT 24007

/* Returns whether text is "SERVER[,SERVER...]:/VOLUME" and not the name of a file. */
bool volfile_is_on_server (const char *text);

/* Fetches the volfile; the servers are tried in order. Blocks for ten seconds at most per address
 * of a server, and starts no thread. Returns the text; g_free it. NULL, with a reason that names
 * each server in *ret_error (g_free it). */
char *volfile_fetch (const char *text, char **ret_error);

#endif
