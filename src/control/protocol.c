/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The protocol of the socket. Numbers have the most significant byte first.
 *
 *   request   "WLRQ"  version  size of the rest  size of command (2 bytes), of target (2)
 *             command target input
 *   answer    "WLAN"  version  size of the rest  errno, 0 for success
 *             text
 *
 * The first twelve bytes are the same in all versions.
 */
#include "control/control.h"

#include <errno.h>
#include <string.h>

#define VERSION 1
#define HEADER 12
#define FIELDS 4 /* bytes of numbers after the header, in both messages */

static const char request_magic[4] = "WLRQ", answer_magic[4] = "WLAN";

static uint32_t
number_at (const guint8 *bytes)
{
    return (uint32_t) bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void
number_add (GByteArray *out, uint32_t number)
{
    const guint8 bytes[] = { number >> 24, number >> 16, number >> 8, number };

    g_byte_array_append (out, bytes, sizeof bytes);
}

static GByteArray *
header_new (const char *magic, size_t rest)
{
    GByteArray *out = g_byte_array_sized_new (HEADER + rest);

    g_byte_array_append (out, (const guint8 *) magic, sizeof request_magic);
    number_add (out, VERSION);
    number_add (out, rest);
    return out;
}

static int G_GNUC_PRINTF (3, 4)
refuse (char **ret_error, int r, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    *ret_error = g_strdup_vprintf (format, args);
    va_end (args);
    return r;
}

/* Checks whether the message is complete; it may have max bytes after the header. Reports an error
 * as early as possible. */
static int
header_parse (const guint8 *bytes, size_t size, const char *magic, size_t max, size_t *ret_rest,
              char **ret_error)
{
    size_t rest;

    if (size == 0)
        return -EAGAIN;
    if (memcmp (bytes, magic, MIN (size, sizeof request_magic)) != 0)
        return refuse (ret_error, -EINVAL, "this is not a message of Windlass");
    if (size < HEADER)
        return -EAGAIN;
    if (number_at (bytes + 4) != VERSION)
        return refuse (
            ret_error, -EPROTO,
            "the message has version %u, must be %u: windlass and the daemon are not of the same "
            "release",
            number_at (bytes + 4), VERSION);
    rest = number_at (bytes + 8);
    if (rest < FIELDS || rest > max)
        return refuse (ret_error, -EINVAL, "the message has %zu bytes, must be %d to %zu", rest,
                       FIELDS, max);
    if (size - HEADER < rest)
        return -EAGAIN;
    if (size - HEADER > rest)
        return refuse (ret_error, -EINVAL, "%zu bytes follow the message", size - HEADER - rest);
    *ret_rest = rest;
    return 0;
}

/* --- requests --- */

static bool
command_is_valid (const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!g_ascii_isgraph (name[i]))
            return false;
    return size > 0 && size <= CONTROL_NAME_MAX;
}

static bool
target_is_valid (const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (g_ascii_iscntrl (name[i]))
            return false;
    return size <= CONTROL_NAME_MAX;
}

static int
names_check (const char *command, size_t command_size, const char *target, size_t target_size,
             char **ret_error)
{
    if (!command_is_valid (command, command_size))
        return refuse (ret_error, -EINVAL,
                       "the command's name must be 1 to %d printable characters without a blank",
                       CONTROL_NAME_MAX);
    if (!target_is_valid (target, target_size))
        return refuse (
            ret_error, -EINVAL,
            "the name of a volume or type must be at most %d bytes without control characters",
            CONTROL_NAME_MAX);
    return 0;
}

int
control_parse (const void *bytes, size_t size, struct control_request *ret_request,
               char **ret_error)
{
    const guint8 *fields;
    const char *command, *target;
    size_t rest = 0, command_size, target_size;
    int r = header_parse (bytes, size, request_magic, CONTROL_REQUEST_MAX - HEADER, &rest,
                          ret_error);

    if (r < 0)
        return r;
    fields = (const guint8 *) bytes + HEADER;
    command = (const char *) fields + FIELDS;
    command_size = fields[0] << 8 | fields[1];
    target_size = fields[2] << 8 | fields[3];
    if (command_size + target_size > rest - FIELDS)
        return refuse (ret_error, -EINVAL, "the names have %zu bytes, but the message has %zu",
                       command_size + target_size, rest - FIELDS);
    target = command + command_size;
    r = names_check (command, command_size, target, target_size, ret_error);
    if (r < 0)
        return r;
    ret_request->command = g_strndup (command, command_size);
    ret_request->target = g_strndup (target, target_size);
    ret_request->input = g_bytes_new (target + target_size,
                                      rest - FIELDS - command_size - target_size);
    return 0;
}

void
control_request_clear (struct control_request *request)
{
    g_clear_pointer (&request->command, g_free);
    g_clear_pointer (&request->target, g_free);
    g_clear_pointer (&request->input, g_bytes_unref);
}

GBytes *
control_pack (const struct control_request *request, char **ret_error)
{
    const size_t command_size = strlen (request->command), target_size = strlen (request->target);
    const size_t rest = FIELDS + command_size + target_size + g_bytes_get_size (request->input);
    const guint8 sizes[FIELDS] = { command_size >> 8, command_size, target_size >> 8, target_size };
    GByteArray *out;

    if (names_check (request->command, command_size, request->target, target_size, ret_error) < 0)
        return NULL;
    if (rest > CONTROL_REQUEST_MAX - HEADER) {
        refuse (ret_error, -EINVAL, "the input has %zu bytes, must be less than %d",
                g_bytes_get_size (request->input), CONTROL_REQUEST_MAX - HEADER - FIELDS);
        return NULL;
    }
    out = header_new (request_magic, rest);
    g_byte_array_append (out, sizes, sizeof sizes);
    g_byte_array_append (out, (const guint8 *) request->command, command_size);
    g_byte_array_append (out, (const guint8 *) request->target, target_size);
    g_byte_array_append (out, g_bytes_get_data (request->input, NULL),
                         g_bytes_get_size (request->input));
    return g_byte_array_free_to_bytes (out);
}

/* --- answers --- */

int
control_parse_answer (const void *bytes, size_t size, int *ret_status, GString *ret_text,
                      char **ret_error)
{
    const guint8 *fields;
    size_t rest = 0;
    int r = header_parse (bytes, size, answer_magic, FIELDS + CONTROL_ANSWER_MAX, &rest, ret_error);

    if (r < 0)
        return r;
    fields = (const guint8 *) bytes + HEADER;
    *ret_status = -(int) (number_at (fields) & 0xfff);
    g_string_append_len (ret_text, (const char *) fields + FIELDS, rest - FIELDS);
    return 0;
}

GBytes *
control_pack_answer (int status, const GString *text)
{
    const size_t size = MIN (text->len, CONTROL_ANSWER_MAX);
    GByteArray *out = header_new (answer_magic, FIELDS + size);

    number_add (out, status < 0 ? -status : 0);
    g_byte_array_append (out, (const guint8 *) text->str, size);
    return g_byte_array_free_to_bytes (out);
}
