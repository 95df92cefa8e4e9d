/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Information files and names of entries, as freedesktop.org's specification of the trash (1.0) has
 * them. The path is relative to the root of the mount, with %XX for all but unreserved characters
 * (RFC 2396); the time is local. */
#include "../trash.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ENTRY_NAME_MAX (NAME_MAX - (int) sizeof TRASH_INFO_SUFFIX + 1)

void
trash_append_encoded (GString *out, const char *text, const char *kept)
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
    const time_t seconds = (time_t) CLAMP (when, TRASH_FIRST_DAY, TRASH_LAST_DAY);
    const char *program;
    const pid_t pid = trash_stage_remover (stage, name, &program);
    char date[32];
    struct tm tm;

    trash_append_encoded (out, path + (*path == '/'), TRASH_UNRESERVED "/");
    localtime_r (&seconds, &tm);
    strftime (date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    g_string_append_printf (out, "\nDeletionDate=%s\nX-Windlass-Uid=%u\n", date, stage->who.uid);
    if (pid > 0)
        g_string_append_printf (out, "X-Windlass-Pid=%d\n", pid);
    if (program) {
        trash_append_encoded (g_string_append (out, "X-Windlass-Program="), program, "-_.+");
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}

/* --- what others have written ----------------------------------------------------------------- */

/* Returns the value of the first line with a key, or NULL. g_free it. */
static char *
record_value (const char *text, const char *key)
{
    const size_t size = strlen (key);

    for (const char *line = text; *line; line += strcspn (line, "\n"), line += *line == '\n')
        if (strncmp (line, key, size) == 0 && line[size] == '=')
            return g_strndup (line + size + 1, strcspn (line + size + 1, "\r\n"));
    return NULL;
}

/* What is no %XX stands for itself. Returns false if a byte is NUL. */
static bool
decode (char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++)
        if (*from == '%' && g_ascii_isxdigit (from[1]) && g_ascii_isxdigit (from[2])) {
            *to = (char) (g_ascii_xdigit_value (from[1]) << 4 | g_ascii_xdigit_value (from[2]));
            if (!*to)
                return false;
            from += 3;
        } else {
            *to = *from++;
        }
    *to = '\0';
    return true;
}

/* The path is one from the root, without "." and "..", and does not lead into a trash. */
static bool
is_place (const char *path)
{
    g_auto (GStrv) parts = g_strsplit (path, "/", -1);

    for (char **part = parts; *part; part++)
        if (!**part || name_is_dots (*part) || strlen (*part) > NAME_MAX)
            return false;
    return *parts && !trash_name_is_top (*parts) && strcmp (*parts, TRASH_SHARED) != 0
        && !g_str_has_prefix (*parts, TRASH_OWN);
}

/* Returns whether a text begins with a date and a time as the specification has them. A digit more
 * would be another number. */
static bool
has_form_of_date (const char *text)
{
    const char *form = "9999-99-99T99:99:99";

    for (; *form; form++, text++)
        if (*form == '9' ? !g_ascii_isdigit (*text) : *text != *form)
            return false;
    return !g_ascii_isdigit (*text);
}

/* Whoever has written it may mean any day, such as the 99th of a 99th month. */
static bool
read_date (const char *text, time_t *ret_when)
{
    struct tm tm = { .tm_isdst = -1 };

    if (!text || !has_form_of_date (text)
        || sscanf (text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                   &tm.tm_hour, &tm.tm_min, &tm.tm_sec) != 6
        || !g_date_valid_dmy ((GDateDay) tm.tm_mday, (GDateMonth) tm.tm_mon,
                              (GDateYear) tm.tm_year)
        || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon--;
    *ret_when = mktime (&tm);
    return true;
}

char *
trash_record_read (const char *text, int64_t otherwise, int64_t *ret_when)
{
    g_autofree char *path = record_value (text, "Path");
    g_autofree char *date = record_value (text, "DeletionDate");
    time_t when;

    *ret_when = CLAMP (read_date (date, &when) ? when : otherwise, TRASH_FIRST_DAY, TRASH_LAST_DAY);
    return path && decode (path) && is_place (path) ? g_steal_pointer (&path) : NULL;
}

/* --- the file itself -------------------------------------------------------------------------- */

void
trash_info_note (struct trash_info *ret_info, const struct iatt *buf)
{
    *ret_info = (struct trash_info){ buf->ia_gfid, buf->ia_mtime, buf->ia_mtime_nsec };
}

int
trash_info_age (const struct trash_info *one, const struct trash_info *other)
{
    if (one->mtime != other->mtime)
        return one->mtime < other->mtime ? -1 : 1;
    return (one->mtime_nsec > other->mtime_nsec) - (one->mtime_nsec < other->mtime_nsec);
}

int
trash_info_look (struct client *client, inode_t *folder, const char *name,
                 const struct trash_info *info, inode_t **ret_inode)
{
    struct iatt buf;
    const int r = sync_name_look (client, folder, name, ret_inode, &buf);

    if (r < 0)
        return r;
    if (gfid_equal (&buf.ia_gfid, &info->gfid) && buf.ia_mtime == info->mtime
        && buf.ia_mtime_nsec == info->mtime_nsec)
        return 0;
    g_clear_pointer (ret_inode, inode_unref);
    return -ESTALE;
}

/* --- stages and names ------------------------------------------------------------------------- */

/* "PID PROGRAM PATH"; "0  PATH" if the remover is not known. */
char *
trash_place_text (const struct trash_stage *stage, bool shared)
{
    const char *program = stage->program && !shared ? stage->program : "";
    GString *out = g_string_new (NULL);

    g_string_append_printf (out, "%d ", shared ? 0 : stage->who.pid);
    trash_append_encoded (out, program, "-_.+");
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

int
trash_name_cut (const char *name, int max)
{
    int size = (int) strlen (name);

    if (size <= max)
        return size;
    for (size = max; size > max - 4 && ((unsigned char) name[size] & 0xc0) == 0x80;)
        size--;
    return size;
}

char *
trash_entry_name (const char *name, unsigned number)
{
    g_autofree char *suffix = number > 1 ? g_strdup_printf (".%u", number) : g_strdup ("");
    const int size = trash_name_cut (name, ENTRY_NAME_MAX - (int) strlen (suffix));

    return g_strdup_printf ("%.*s%s", size, name, suffix);
}
