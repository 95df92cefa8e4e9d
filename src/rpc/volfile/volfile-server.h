/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fetches the volfile of a GlusterFS volume from a server's glusterd. */
#ifndef WINDLASS_RPC_VOLFILE_SERVER_H
#define WINDLASS_RPC_VOLFILE_SERVER_H

#include "rpc/tls/tls.h"
#include "rpc/xdr.h"

#define VOLFILE_SERVER_PORT 24007 /* of a server without a port */

/* Returns whether text is "SERVER[,SERVER...]:/VOLUME" or "...:/VOLUME/DIR", also without the slash
 * before VOLUME, and not the name of a file. The volume of a snapshot is "/snaps/SNAPSHOT/VOLUME".
 * A SERVER is HOST, HOST:PORT, ADDRESS, [ADDRESS] or [ADDRESS]:PORT. */
bool volfile_is_on_server (const char *text);

/* Returns the colon after the servers, which may have colons in them; NULL: text has none. */
const char *volfile_colon (const char *text);

/* Return the servers in such a text, g_strfreev it; the volume, g_free it; and the directory, from
 * its slash on, which lies in text; NULL: none. */
char **volfile_servers (const char *text);
char *volfile_volume (const char *text);
const char *volfile_directory (const char *text);

/* Returns whether such a text names a snapshot, which is mounted to be read only. */
bool volfile_is_snapshot (const char *text);

/* Returns a server's name or address, g_free it, and its port; 0 in *ret_port: the text has what is
 * none. */
char *volfile_server_host (const char *server, uint16_t *ret_port);

/* Returns the text with the port for each server that has none. g_free it. */
char *volfile_with_port (const char *text, unsigned port);

/* Puts the arguments of GETSPEC. volfile_get_answer returns the volfile in an answer to it, g_free
 * it; NULL, with a reason in *ret_error (g_free it). */
void volfile_put_question (struct xdr_out *out, const char *volume);
char *volfile_get_answer (struct xdr_in *in, const char *server, const char *volume,
                          char **ret_error);

/* Sets *ret_tls, with a reference, to how connections to a glusterd are encrypted; NULL: they are
 * not. Returns false with a reason in *ret_error (g_free it) if they have to be, and can't. */
bool volfile_tls (struct tls_context **ret_tls, char **ret_error);

/* Fetches the volfile; the servers are tried in order. For each it blocks for ten seconds at most
 * per address, as many for TLS, and as many until the whole answer is there. It starts no thread.
 * Returns the text; g_free it. NULL, with a reason that names each server in *ret_error (g_free
 * it). */
char *volfile_fetch (const char *text, char **ret_error);

#endif
