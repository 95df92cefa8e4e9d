/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The requests that are under way, and the position of each in the graph, as JSON. */
#include "meta/internal.h"

#include "core/base/json.h"
#include "core/edge/stack.h"

/* The printed data of a frame. The pointers are valid while translators are pinned. */
struct frames_seen {
    const xlator_t *xl, *parent;
    enum fop op;
    bool complete;
    const struct call_site *wind_from, *unwind_from;
};

struct frames_report {
    const struct graph *own; /* .meta's own graph: requests about .meta itself are left out, since
                                the reader of the file is one of them */
    GString *out;
    unsigned n_stacks;
};

/* Another thread may fill in the frame at the same time. */
LOOKS_AT_RUNNING_REQUESTS static void
meta_see_frame (GArray *frames, const call_frame_t *frame)
{
    const uint16_t state = __atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE);
    const struct frames_seen seen = {
        .xl = frame->this,
        .parent = frame->parent ? frame->parent->this : NULL,
        .op = (enum fop) (state & 0xff),
        .complete = state & FRAME_COMPLETE,
        .wind_from = frame->wind_from,
        .unwind_from = frame->unwind_from,
    };

    if (seen.xl && (!frame->parent || seen.op != FOP_NONE))
        g_array_append_val (frames, seen);
}

/* A frame and the frames that it wound to, one after the other. */
LOOKS_AT_RUNNING_REQUESTS static void
see_strand (GArray *frames, const call_frame_t *frame)
{
    meta_see_frame (frames, frame);
    while (__atomic_load_n (&frame->wound, __ATOMIC_ACQUIRE) && frame->slot) {
        frame = frame->slot;
        meta_see_frame (frames, frame);
    }
}

LOOKS_AT_RUNNING_REQUESTS static GArray *
see_frames (const call_stack_t *root)
{
    GArray *frames = g_array_new (FALSE, FALSE, sizeof (struct frames_seen));

    /* Strands change under the lock. The cast drops const, which only promises that the request is
     * not changed. */
    pthread_mutex_lock ((pthread_mutex_t *) &root->lock);
    see_strand (frames, &root->frames[0]);
    for (const struct strand *s = root->strands; s; s = s->next)
        see_strand (frames, &s->frames[0]);
    pthread_mutex_unlock ((pthread_mutex_t *) &root->lock);
    return frames;
}

/* --- printing ------------------------------------------------------------------------------- */

static void
meta_append_string (GString *out, const char *key, const char *value)
{
    g_string_append_printf (out, ",\"%s\":", key);
    json_append_string (out, value);
}

/* "wb_writev (write-behind.c:512)" */
static void
meta_append_site (GString *out, const char *key, const struct call_site *site)
{
    const char *slash = site ? strrchr (site->file, '/') : NULL;
    g_autofree char *text = NULL;

    if (site)
        text = g_strdup_printf ("%s (%s:%d)", site->function, slash ? slash + 1 : site->file,
                                site->line);
    meta_append_string (out, key, text);
}

/* The first frame is the bridge's, which no translator wound. */
static void
meta_append_frame (GString *out, unsigned number, const struct frames_seen *seen)
{
    g_autofree char *wind_to = g_strdup_printf ("%s->fops->%s", seen->xl->name,
                                                fop_name (seen->op));
    g_autofree char *unwind_to = seen->parent ? g_strdup_printf ("%s->%s_cbk", seen->parent->name,
                                                                 fop_name (seen->op))
                                              : NULL;

    g_string_append_printf (out, "%s{\"Number\":%u", number > 1 ? "," : "", number);
    meta_append_string (out, "Xlator", seen->xl->name);
    if (seen->parent) {
        meta_append_string (out, "Parent", seen->parent->name);
        meta_append_site (out, "Wind_from", seen->wind_from);
        meta_append_string (out, "Wind_to", wind_to);
        meta_append_site (out, "Unwind_from", seen->unwind_from);
        meta_append_string (out, "Unwind_to", unwind_to);
    }
    g_string_append_printf (out, ",\"Complete\":%d}", seen->complete);
}

char *
meta_fop_name (enum fop op)
{
    return g_ascii_strup (op == FOP_readv    ? "read"
                          : op == FOP_writev ? "write"
                                             : fop_name (op),
                          -1);
}

LOOKS_AT_RUNNING_REQUESTS static void
append_stack (const call_stack_t *root, void *data)
{
    struct frames_report *report = data;
    g_autofree char *type = meta_fop_name (root->op);
    g_autoptr (GArray) frames = NULL;
    const xlator_t *first = root->frames[0].this;

    if (!first || first->graph == report->own)
        return;
    frames = see_frames (root);
    g_string_append_printf (report->out, "%s{\"Number\":%u,\"Frame\":[",
                            report->n_stacks > 0 ? "," : "", report->n_stacks + 1);
    for (guint i = 0; i < frames->len; i++)
        meta_append_frame (report->out, i + 1, &g_array_index (frames, struct frames_seen, i));
    g_string_append_printf (report->out,
                            "],\"Unique\":%" G_GUINT64_FORMAT
                            ",\"Type\":\"%s\",\"UID\":%u,\"GID\":%u,\"PID\":%d",
                            root->unique, type, root->uid, root->gid, root->pid);
    g_string_append_printf (
        report->out, ",\"LK_owner\":\"%016" G_GINT64_MODIFIER "x\",\"Creation_time\":%lld.%06ld}",
        root->lk_owner, (long long) root->ctime.tv_sec, root->ctime.tv_nsec / 1000);
    report->n_stacks++;
}

int
meta_show_frames (const struct meta *meta, const struct meta_node *node, GString *out)
{
    struct frames_report report = { .own = meta->own, .out = out };

    g_string_append (out, "{\"Stack\":[");
    xlators_pin ();
    stack_foreach (append_stack, &report);
    xlators_unpin ();
    g_string_append_printf (out, "],\"Call_Count\":%u}\n", report.n_stacks);
    return 0;
}
