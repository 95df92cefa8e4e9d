/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds the parts of the text "SERVER[,SERVER...]:/VOLUME[/DIR]". */
#include "rpc/volfile/volfile-server.h"

#include <glib.h>
#include <string.h>

#define SNAPSHOTS "snaps/"

const char *
volfile_colon (const char *text)
{
    const char *colon = g_strrstr_len (text, (gssize) strcspn (text, "/"), ":");

    return colon && colon != text ? colon : NULL;
}

static const char *
volume_begin (const char *text)
{
    const char *begin = volfile_colon (text) + 1;

    return begin + (*begin == '/');
}

static bool
volume_is_snapshot (const char *begin)
{
    return g_str_has_prefix (begin, SNAPSHOTS) && begin[strlen (SNAPSHOTS)];
}

/* The volume ends at the first slash; that of a snapshot, "snaps/SNAPSHOT/VOLUME", at the third. */
static const char *
volume_end (const char *begin)
{
    const char *end = begin;

    for (unsigned names = volume_is_snapshot (begin) ? 3 : 1; *end; end++)
        if (*end == '/' && --names == 0)
            break;
    return end;
}

bool
volfile_is_snapshot (const char *text)
{
    return volfile_colon (text) && volume_is_snapshot (volume_begin (text));
}

bool
volfile_is_on_server (const char *text)
{
    return volfile_colon (text) && *volume_begin (text) && !g_file_test (text, G_FILE_TEST_EXISTS);
}

char **
volfile_servers (const char *text)
{
    g_autofree char *list = g_strndup (text, (size_t) (volfile_colon (text) - text));

    return g_strsplit (list, ",", -1);
}

/* glusterd expects a slash before "snaps", and none before the name of an ordinary volume. */
char *
volfile_name_volume (const char *text)
{
    const char *begin = volume_begin (text);

    return g_strdup_printf ("%s%.*s", volume_is_snapshot (begin) ? "/" : "",
                            (int) (volume_end (begin) - begin), begin);
}

const char *
volfile_name_directory (const char *text)
{
    const char *slash = volume_end (volume_begin (text));

    return *slash && slash[1] ? slash : NULL;
}

/* --- servers ---------------------------------------------------------------------------------- */

static uint16_t
volfile_port_of (const char *text)
{
    guint64 port = 0;

    return g_ascii_string_to_unsigned (text, 10, 1, UINT16_MAX, &port, NULL) ? (uint16_t) port : 0;
}

/* Returns the port in a SERVER, or NULL. An IPv6 address has several colons, so a port can follow
 * it only behind brackets. */
static const char *
server_port (const char *server)
{
    const char *end = *server == '[' ? strchr (server, ']') : NULL,
               *colon = strchr (end ? end : server, ':');

    return colon && (end || !strchr (colon + 1, ':')) ? colon + 1 : NULL;
}

char *
volfile_server_host (const char *server, uint16_t *ret_port)
{
    const char *port = server_port (server);
    const size_t length = port ? (size_t) (port - 1 - server) : strlen (server);
    const bool bracket = length >= 2 && server[0] == '[' && server[length - 1] == ']';

    *ret_port = port ? volfile_port_of (port) : VOLFILE_SERVER_PORT;
    return g_strndup (server + bracket, length - 2 * bracket);
}

char *
volfile_with_port (const char *text, unsigned port)
{
    g_auto (GStrv) servers = volfile_servers (text);
    GString *out = g_string_new (NULL);

    for (char **server = servers; *server; server++) {
        const bool bracket = **server != '[' && strchr (*server, ':') && !server_port (*server);

        g_string_append_printf (out, "%s%s%s%s", server == servers ? "" : ",",
                                bracket ? "[" : "", *server, bracket ? "]" : "");
        if (!server_port (*server))
            g_string_append_printf (out, ":%u", port);
    }
    g_string_append (out, volfile_colon (text));
    return g_string_free (out, FALSE);
}
