/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Fetches the volfile of a GlusterFS volume from a server's glusterd. */
#ifndef WINDLASS_RPC_VOLFILE_SERVER_H
#define WINDLASS_RPC_VOLFILE_SERVER_H

#include "rpc/tls/tls.h"
#include "rpc/xdr.h"

/* The port of glusterd, used if the text names none. */
#define VOLFILE_SERVER_PORT 24007

/* Returns whether text is "SERVER[,SERVER...]:/VOLUME" or "SERVER[,SERVER...]:/VOLUME/DIR", and not
 * the name of a file. The slash before VOLUME may be missing. The volume of a snapshot is
 * "/snaps/SNAPSHOT/VOLUME". A SERVER is HOST, HOST:PORT, ADDRESS, [ADDRESS] or [ADDRESS]:PORT. */
bool volfile_is_on_server (const char *text);

/* Returns the colon between the servers and the volume; NULL: there is no such colon. */
const char *volfile_colon (const char *text);

/* Return the parts of a text that volfile_is_on_server accepts: the servers, to be freed with
 * g_strfreev; the volume, to be freed with g_free; the directory with the slash before it, as a
 * pointer into text, or NULL if the text has no directory. */
char **volfile_servers (const char *text);
char *volfile_name_volume (const char *text);
const char *volfile_name_directory (const char *text);

/* Returns whether the text names a snapshot. Snapshots are mounted read-only. */
bool volfile_is_snapshot (const char *text);

/* Returns the name or address of a SERVER, to be freed with g_free. *ret_port is its port; 0 if the
 * port in the text is not a number from 1 to 65535. */
char *volfile_server_host (const char *server, uint16_t *ret_port);

/* Returns the text with the port added to each server that has none, to be freed with g_free. */
char *volfile_with_port (const char *text, unsigned port);

/* Write the arguments of GETSPEC, and read its reply. volfile_get_reply returns the volfile, to be
 * freed with g_free; or NULL, with the reason in *ret_error, to be freed with g_free. */
void volfile_put_getspec (struct xdr_out *out, const char *volume);
char *volfile_get_reply (struct xdr_in *in, const char *server, const char *volume,
                         char **ret_error);

/* Sets *ret_tls to the TLS context for connections to glusterd, with a reference; to NULL if such
 * connections are not encrypted. Returns false if they have to be encrypted and can't be, with the
 * reason in *ret_error, to be freed with g_free. */
bool volfile_tls (struct tls_context **ret_tls, char **ret_error);

/* Fetches the volfile from the first server in the text that has it. It starts no thread. For each
 * server it blocks for at most ten seconds per address to connect, ten seconds for TLS, and ten
 * seconds for the reply. Returns the volfile, to be freed with g_free; or NULL, with the reason for
 * each server in *ret_error, to be freed with g_free. */
char *volfile_fetch (const char *text, char **ret_error);

#endif
