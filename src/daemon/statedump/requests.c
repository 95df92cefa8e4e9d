/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/statedump/internal.h"

#include "core/report/request-snapshot.h"

struct requests {
    GString *text;
    unsigned count;
};

static void
statedump_append_frame (GString *out, const struct seen_request *seen, unsigned i, unsigned stack)
{
    const struct seen_frame *frame = &seen->frames[i];

    g_string_append_printf (
        out, "\n[global.callpool.stack.%u.frame.%u]\nframe=%p\ntranslator=%s\nop=%s\ncomplete=0\n",
        stack, i + 1, (const void *) frame->frame, frame->xl->name, fop_name (frame->op));
    for (unsigned j = 0; j < seen->n; j++)
        if (seen->frames[j].frame == frame->parent)
            g_string_append_printf (out, "parent=%s\n", seen->frames[j].xl->name);
    if (frame->from)
        g_string_append_printf (out, "wind_from=%s\nwind_from_place=%s:%d\n", frame->from->function,
                                frame->from->file, frame->from->line);
    g_string_append_printf (out, "wind_to=%s\n", fop_name (frame->op));
    if (frame->step.name)
        g_string_append_printf (out, "step=%s\nundoes=%d\n", frame->step.name,
                                frame->step.undoes);
    if (frame->last) {
        g_string_append (out, "waits_for=");
        seen_waits_for (seen, frame, out);
        g_string_append_c (out, '\n');
    }
}

static void
append_request (const call_stack_t *root, void *data)
{
    struct requests *requests = data;
    struct seen_request seen;
    g_autoptr (GString) process = NULL;

    if (requests->count >= DUMP_REQUESTS || !stack_see (root, true, &seen)) {
        requests->count++;
        return;
    }
    process = g_string_new (NULL);
    process_append (process, seen.pid);
    g_string_append_printf (requests->text,
                            "\n[global.callpool.stack.%u]\ncallstack-creation-time=%lld.%"
                            "09ld\nstack=%p\nuid=%u\ngid=%u\n"
                            "pid=%d\nunique=%" G_GUINT64_FORMAT "\nlk-owner=%016" G_GINT64_MODIFIER
                            "x\nctime=%lld.%09ld\nop=%s\ntype=1\n"
                            "cnt=%u\n",
                            ++requests->count, (long long) seen.ctime.tv_sec, seen.ctime.tv_nsec,
                            (const void *) root, seen.uid, seen.gid, seen.pid, seen.unique,
                            seen.lk_owner, (long long) seen.ctime.tv_sec, seen.ctime.tv_nsec,
                            fop_name (seen.op), seen.n);
    dump_value (requests->text, "path", seen.path);
    dump_value (requests->text, "process", process->str);
    g_string_append_printf (requests->text, "age=%.3f\n", seen.age / 1e9);
    for (unsigned i = 0; i < seen.n; i++)
        statedump_append_frame (requests->text, &seen, i, requests->count);
}

void
dump_requests (GString *out)
{
    struct requests requests = { .text = g_string_new (NULL) };

    xlators_pin ();
    stack_foreach (append_request, &requests);
    xlators_unpin ();
    g_string_append_printf (out, "\n[global.callpool]\ncallpool.cnt=%u\n", requests.count);
    g_string_append_len (out, requests.text->str, requests.text->len);
    g_string_free (requests.text, TRUE);
}
