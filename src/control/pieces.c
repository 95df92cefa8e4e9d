/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers in pieces. */
#include "control/control.h"

#include <errno.h>
#include <string.h>

/* --- the daemon's side --- */

char *
control_piece_where (GBytes *input, GBytes **ret_rest)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    const char *end = size ? memchr (bytes, '\n', size) : NULL;
    const gsize line = end ? (gsize) (end - bytes) : size;

    if (ret_rest)
        *ret_rest = g_bytes_new_from_bytes (input, end ? line + 1 : size,
                                            end ? size - line - 1 : 0);
    return g_strndup (bytes ? bytes : "", line);
}

void
control_piece_next (GString *answer, const char *next)
{
    g_string_prepend_c (answer, '\n');
    if (next)
        g_string_prepend (answer, next);
}

/* --- the client's side --- */

static GBytes *
ask_at (const char *where, GBytes *input)
{
    GByteArray *out = g_byte_array_new ();

    g_byte_array_append (out, (const guint8 *) where, strlen (where));
    g_byte_array_append (out, (const guint8 *) "\n", 1);
    if (input && g_bytes_get_size (input) > 0)
        g_byte_array_append (out, g_bytes_get_data (input, NULL), g_bytes_get_size (input));
    return g_byte_array_free_to_bytes (out);
}

/* Splits a piece. *ret_next: where the next one begins, freed with g_free; NULL for the last. */
static int
piece_take (const GString *piece, control_piece_fn *take, void *data, char **ret_next,
            char **ret_error)
{
    const char *end = memchr (piece->str, '\n', piece->len);
    int r;

    *ret_next = NULL;
    if (!end) {
        *ret_error = g_strdup ("the daemon's answer is not one in pieces: windlass and the daemon "
                               "are not of the same release");
        return -EPROTO;
    }
    r = take (end + 1, piece->str + piece->len - end - 1, data, ret_error);
    if (r == 0 && end > piece->str)
        *ret_next = g_strndup (piece->str, end - piece->str);
    return r;
}

int
control_call_pieces (const char *mountpoint, const char *target, const char *command, GBytes *input,
                     control_piece_fn *take, void *data, char **ret_error)
{
    char *where = g_strdup ("");
    int r = 0;

    *ret_error = NULL;
    while (r == 0 && where) {
        g_autoptr (GBytes) request = ask_at (where, input);
        g_autoptr (GString) piece = g_string_new (NULL);

        g_clear_pointer (&where, g_free);
        r = control_call (mountpoint, target, command, request, piece, ret_error);
        if (r == 0)
            r = piece_take (piece, take, data, &where, ret_error);
    }
    g_free (where);
    return r;
}
