/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers in pieces. */
#include "control/control.h"
#include "core/work/job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_PAUSE 5000 /* microseconds between two questions to a job that prints nothing: they
                          * double */
#define LAST_PAUSE 200000

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

/* Asks for the piece that begins at *where, and replaces *where. */
static int
piece_ask (const char *mountpoint, const char *target, const char *command, bool open,
           GBytes *input, char **where, control_piece_fn *take, void *data, char **ret_error)
{
    g_autoptr (GBytes) request = ask_at (*where, input);
    g_autoptr (GString) piece = g_string_new (NULL);
    int r = control_call_open (mountpoint, target, command, open, request, piece, ret_error);

    g_clear_pointer (where, g_free);
    return r < 0 ? r : piece_take (piece, take, data, where, ret_error);
}

int
control_call_pieces (const char *mountpoint, const char *target, const char *command, GBytes *input,
                     control_piece_fn *take, void *data, char **ret_error)
{
    char *where = g_strdup ("");
    int r = 0;

    *ret_error = NULL;
    while (r == 0 && where)
        r = piece_ask (mountpoint, target, command, false, input, &where, take, data, ret_error);
    g_free (where);
    return r;
}

/* --- the answer of a job ---------------------------------------------------------------------- */

/* Makes the piece after what job_read has put into answer. Returns the status. */
static int
job_piece (const struct job_read *read, GString *answer)
{
    g_autofree char *progress = NULL;

    if (read->ended && read->result < 0) {
        g_string_assign (answer, read->error);
        return read->result;
    }
    progress = g_strdup_printf ("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %s", read->done,
                                read->total, read->unit ? read->unit : "");
    control_piece_next (answer, read->ended ? NULL : progress);
    return 0;
}

int
control_job_answer (GBytes *input, uid_t uid, GString *answer)
{
    g_autoptr (GBytes) rest = NULL;
    G_GNUC_UNUSED g_autofree char *where = control_piece_where (input, &rest);
    gsize size;
    const char *bytes = g_bytes_get_data (rest, &size);
    g_autofree char *number = g_strchomp (g_strndup (bytes ? bytes : "", MIN (size, 32)));
    struct job_read read = { 0 };
    guint64 n;
    int r;

    if (!g_ascii_string_to_unsigned (number, 10, 1, UINT_MAX, &n, NULL)) {
        g_string_assign (answer, "the number of a job is wanted");
        return -EINVAL;
    }
    if (job_read ((unsigned) n, uid, CONTROL_PIECE, answer, &read) < 0) {
        g_string_printf (answer, "there is no job %u of yours", (unsigned) n);
        return -ESRCH; /* -ENOENT may be the status of a job */
    }
    r = job_piece (&read, answer);
    g_free (read.error);
    return r;
}

/* The calls of control_call_job. */
struct job_pieces {
    control_piece_fn *take; /* of the caller */
    void *data;
    bool empty;             /* whether the last piece had no text */
};

static int
job_piece_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    struct job_pieces *pieces = data;

    pieces->empty = size == 0;
    return pieces->take (bytes, size, pieces->data, ret_error);
}

static void
progress_report (const char *text, control_progress_fn *progress, void *data)
{
    unsigned long long done, total;
    char unit[32] = "";

    if (sscanf (text, "%llu %llu %31s", &done, &total, unit) >= 2)
        progress (done, total, unit, data);
}

int
control_call_job (const char *mountpoint, const char *number, bool open, control_piece_fn *take,
                  control_progress_fn *progress, void *data, char **ret_error)
{
    g_autoptr (GBytes) input = g_bytes_new (number, strlen (number));
    struct job_pieces pieces = { take, data, false };
    char *where = g_strdup ("");
    useconds_t pause = FIRST_PAUSE;
    int r = 0;

    *ret_error = NULL;
    while (r == 0 && where) {
        r = piece_ask (mountpoint, NULL, CONTROL_JOB_ANSWER, open, input, &where, job_piece_take,
                       &pieces, ret_error);
        if (r < 0 || !where)
            continue;
        progress_report (where, progress, data);
        pause = pieces.empty ? MIN (pause * 2, LAST_PAUSE) : FIRST_PAUSE;
        if (pieces.empty)
            usleep (pause);
    }
    g_free (where);
    return r;
}
