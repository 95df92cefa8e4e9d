/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass trash list. */
#include "commands.h"

#include <errno.h>
#include <time.h>

static gint
oldest_first (gconstpointer a, gconstpointer b)
{
    const struct entry_seen *one = *(struct entry_seen *const *) a;
    const struct entry_seen *other = *(struct entry_seen *const *) b;

    if (one->when != other->when)
        return one->when < other->when ? -1 : 1;
    return trash_info_age (&one->info, &other->info);
}

/* The date as information files have it, or with a blank in the middle. strftime writes a year
 * before 1000 with fewer digits. */
static void
append_date (GString *out, int64_t when, char middle)
{
    const time_t seconds = (time_t) when;
    struct tm tm = { 0 };

    localtime_r (&seconds, &tm);
    g_string_append_printf (out, "%04d-%02d-%02d%c%02d:%02d:%02d", tm.tm_year + 1900,
                            tm.tm_mon + 1, tm.tm_mday, middle, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* DATE TIME SIZE [USER] PATH, a tab, NAME. */
static void
list_append_line (GString *out, const struct visit *visit, const struct entry_seen *entry,
                  const struct iatt *buf)
{
    g_autofree char *path = visit_shown (entry->path ? entry->path : "?");
    g_autofree char *name = visit_shown (entry->name);

    append_date (out, entry->when, ' ');
    if (buf->ia_type == IA_IFDIR)
        g_string_append_printf (out, " %12s", "-");
    else
        g_string_append_printf (out, " %12" G_GUINT64_FORMAT, buf->ia_size);
    if (visit->order->whose == ALL_USERS)
        g_string_append_printf (out, " %6u", entry->bin->uid);
    g_string_append_printf (out, "  %s%s\t%s\n", path, buf->ia_type == IA_IFDIR ? "/" : "", name);
}

static void
append_member (GString *out, const char *key, const char *text)
{
    g_string_append_printf (out, ", \"%s\": ", key);
    json_append_string (out, text);
}

/* A name that is no UTF-8 is exact with its bytes as %XX alone. */
static void
append_json (GString *out, const struct entry_seen *entry, const struct iatt *buf)
{
    g_autoptr (GString) path = g_string_new (NULL), name = g_string_new (NULL);

    trash_append_encoded (path, entry->path ? entry->path : "", TRASH_UNRESERVED "/");
    trash_append_encoded (name, entry->name, TRASH_UNRESERVED);
    g_string_append (out, "{\"date\": \"");
    append_date (out, entry->when, 'T');
    g_string_append_printf (out, "\", \"user\": %u, \"directory\": %s, \"size\": ",
                            entry->bin->uid, buf->ia_type == IA_IFDIR ? "true" : "false");
    if (buf->ia_type == IA_IFDIR)
        g_string_append (out, "null");
    else
        g_string_append_printf (out, "%" G_GUINT64_FORMAT, buf->ia_size);
    append_member (out, "path", entry->path);
    append_member (out, "path_encoded", entry->path ? path->str : NULL);
    append_member (out, "name", entry->name);
    append_member (out, "name_encoded", name->str);
    g_string_append_c (out, '}');
}

/* An information file without a file beside it is no entry. */
static int
list_print_chosen (struct visit *visit)
{
    g_autoptr (GString) text = g_string_new (NULL);
    bool comma = false;

    for (guint i = 0; i < visit->chosen->len; i++) {
        const struct entry_seen *entry = visit->chosen->pdata[i];
        g_autoptr (inode_t) inode = NULL;
        struct iatt buf;

        if (!job_next (visit->job))
            return -EINTR;
        if (visit_look (entry, &inode, &buf) < 0)
            continue;
        g_string_truncate (text, 0);
        if (visit->order->json) {
            g_string_append (text, comma ? ",\n  " : "\n  ");
            append_json (text, entry, &buf);
        } else {
            list_append_line (text, visit, entry, &buf);
        }
        comma = true;
        job_print (visit->job, "%s", text->str);
    }
    return 0;
}

int
trash_list (struct job *job, struct trash_order *order)
{
    struct visit visit;
    int r = visit_begin (&visit, order, job);

    if (r == 0 && order->json)
        job_print (job, "[");
    if (r == 0)
        r = visit_choose (&visit, false);
    g_ptr_array_sort (visit.chosen, oldest_first);
    if (r == 0)
        r = list_print_chosen (&visit);
    if (r == 0 && order->json)
        job_print (job, "\n]\n");
    if (r == 0 && visit.unknown > 0) {
        job_refuse (job, "no entry for %u of the arguments", visit.unknown);
        r = -ENOENT;
    }
    return visit_end (&visit, r);
}
