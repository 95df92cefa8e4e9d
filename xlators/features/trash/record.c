/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Information files and names of entries, as freedesktop.org's specification of the trash (1.0) has
 * them. The path is relative to the root of the mount, with %XX for all but unreserved characters
 * (RFC 2396); the time is local. */
#include "trash.h"

#include <stdlib.h>
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
trash_record (const struct trash_stage *stage, const char *name, int64_t when)
{
    GString *out = g_string_new ("[Trash Info]\nPath=");
    g_autofree char *path = g_build_filename (stage->path, name, NULL);
    const time_t seconds = (time_t) when;
    char date[32];
    struct tm tm;

    append_encoded (out, path + (*path == '/'), "-_.!~*'()/");
    localtime_r (&seconds, &tm);
    strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    g_string_append_printf (out, "\nDeletionDate=%s\nX-Windlass-Uid=%u\nX-Windlass-Pid=%d\n", date,
                            stage->who.uid, stage->who.pid);
    if (stage->program) {
        append_encoded (g_string_append (out, "X-Windlass-Program="), stage->program, "-_.+");
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}

/* "PID PROGRAM PATH" */
char *
trash_place_text (const struct trash_stage *stage)
{
    GString *out = g_string_new (NULL);

    g_string_append_printf (out, "%d ", stage->who.pid);
    append_encoded (out, stage->program ? stage->program : "", "-_.+");
    g_string_append_printf (out, " %s", stage->path);
    return g_string_free (out, FALSE);
}

void
trash_place_read (const char *text, struct trash_stage *stage)
{
    g_auto (GStrv) words = g_strsplit (text, " ", 3);

    if (g_strv_length (words) < 3 || words[2][0] != '/') {
        stage->path = g_strdup ("/");
        return;
    }
    stage->who.pid = atoi (words[0]);
    stage->program = *words[1] ? g_uri_unescape_string (words[1], NULL) : NULL;
    stage->path = g_strdup (words[2]);
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
