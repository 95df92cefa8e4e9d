/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* SIGUSR1: what goes on, written to a file. Sections and keys are those of GlusterFS where they mean the
 * same. */
#include "daemon/daemon.h"

#include "core/frame.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void
append_time (GString *out, const char *key)
{
    struct timespec now;
    struct tm tm;
    char text[32];

    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    g_string_append_printf (out, "%s: %s.%06ld +0000\n", key, text, now.tv_nsec / 1000);
}

struct requests {
    GString *text;
    unsigned count;
};

LOOKS_AT_RUNNING_REQUESTS static void
append_request (const call_stack_t *root, void *data)
{
    struct requests *requests = data;
    g_autofree char *frames = stack_describe (root);
    g_auto (GStrv) lines = g_strsplit (frames, "\n", -1);

    g_string_append_printf (requests->text,
                            "\n[global.callpool.stack.%u]\nstack=%p\nuid=%u\ngid=%u\npid=%d\nunique=%" G_GUINT64_FORMAT
                            "\nlk-owner=%016" G_GINT64_MODIFIER "x\nctime=%lld.%09ld\nop=%s\n",
                            ++requests->count, (const void *) root, root->uid, root->gid, root->pid, root->unique,
                            root->lk_owner, (long long) root->ctime.tv_sec, root->ctime.tv_nsec, fop_name (root->op));
    for (unsigned i = 1; lines[0] && lines[i] && *lines[i]; i++)
        g_string_append_printf (requests->text, "frame.%u=%s\n", i, g_strstrip (lines[i]));
}

static void
append_requests (GString *out)
{
    struct requests requests = { .text = g_string_new (NULL) };

    stack_foreach (append_request, &requests);
    g_string_append_printf (out, "\n[global.callpool]\ncallpool.cnt=%u\n", requests.count);
    g_string_append_len (out, requests.text->str, requests.text->len);
    g_string_free (requests.text, TRUE);
}

static void
append_graph (GString *out, const struct graph *graph)
{
    size_t known, forgotten;

    itable_counts (graph->itable, &known, &forgotten);
    g_string_append_printf (out, "\n[xlator.mount.fuse.itable]\ninodes=%zu\nlru_size=%zu\n", known, forgotten);
    g_string_append_printf (out, "\n[active graph - %u]\n", graph->id);
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];
        g_autofree char *type = g_strdelimit (g_strdup (xl->type), "/", '.');

        /* Two volumes of one type must be told apart, so the name is there as well. */
        g_string_append_printf (out, "\n[xlator.%s.%s.priv]\n", type, xl->name);
        if (xl->ready && xl->api->dumpops.priv)
            xl->api->dumpops.priv (xl, out);
        if (!xl->ready || !xl->api->dumpops.history)
            continue;
        g_string_append_printf (out, "\n[xlator.%s.%s.history]\n", type, xl->name);
        xl->api->dumpops.history (xl, out);
    }
}

void
statedump (struct graph *graph)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autoptr (GError) error = NULL;
    g_autofree char *dir = path_run_dir ();
    g_autofree char *path = g_strdup_printf ("%s/windlassdump.%d.dump.%lld", dir, getpid (), (long long) time (NULL));

    append_time (out, "DUMP-START-TIME");
    append_requests (out);
    append_graph (out, graph);
    g_string_append_c (out, '\n');
    append_time (out, "DUMP-END-TIME");
    g_mkdir_with_parents (dir, 0700);
    /* Written beside it, and renamed: nobody sees half of it. */
    if (g_file_set_contents_full (path, out->str, out->len, G_FILE_SET_CONTENTS_CONSISTENT, 0600, &error))
        gf_log (NULL, GF_LOG_INFO, "state dumped to '%s'", path);
    else
        gf_log (NULL, GF_LOG_ERROR, "can't dump the state to '%s': %s", path, error->message);
}
