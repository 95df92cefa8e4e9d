/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Information files and names of entries, as freedesktop.org's specification of the trash (1.0) has
 * them. The path is relative to the root of the mount, with %XX for all but unreserved characters
 * (RFC 2396); the time is local. */
#include "trash.h"

#include <string.h>
#include <time.h>

#define ENTRY_NAME_MAX (NAME_MAX - (int) sizeof ".trashinfo" + 1)

static void
append_encoded (GString *out, const char *text, const char *kept)
{
    for (; *text; text++)
        if (g_ascii_isalnum (*text) || strchr (kept, *text))
            g_string_append_c (out, *text);
        else
            g_string_append_printf (out, "%%%02X", (unsigned char) *text);
}

char *
trash_record (const char *path, int64_t when, const struct trash_who *who)
{
    GString *out = g_string_new ("[Trash Info]\nPath=");
    g_autofree char *program = process_comm (who->pid);
    const time_t seconds = (time_t) when;
    char date[32];
    struct tm tm;

    append_encoded (out, path + (*path == '/'), "-_.!~*'()/");
    localtime_r (&seconds, &tm);
    strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    g_string_append_printf (out, "\nDeletionDate=%s\nX-Windlass-Uid=%u\nX-Windlass-Pid=%d\n", date,
                            who->uid, who->pid);
    if (program) {
        append_encoded (g_string_append (out, "X-Windlass-Program="), program, "-_.+");
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}

/* Returns how many bytes of a name are kept, at most max, without a part of a UTF-8 character. */
static int
name_cut (const char *name, int max)
{
    int size = (int) strlen (name);

    if (size <= max)
        return size;
    for (size = max; size > max - 4 && ((unsigned char) name[size] & 0xc0) == 0x80;)
        size--;
    return size;
}

char *
trash_entry_name (const char *name, unsigned try)
{
    g_autofree char *suffix = try > 1 ? g_strdup_printf (".%u", try) : g_strdup ("");
    const int size = name_cut (name, ENTRY_NAME_MAX - (int) strlen (suffix));

    return g_strdup_printf ("%.*s%s", size, name, suffix);
}
