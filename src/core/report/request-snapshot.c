/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report/request-snapshot.h"
#include "core/time/clock.h"
#include "core/base/printable.h"
#include "core/base/process.h"
#include "core/edge/stack.h"

#include <stdio.h>

#define STRANDS_MAX 1000 /* of one request that are read */
#define PARENTS_MAX 1000 /* translators from one to the top */

LOOKS_AT_RUNNING_REQUESTS static void
snapshot_see_frame (const call_frame_t *frame, bool may_wait, struct seen_request *seen)
{
    xlator_t *xl = frame->this;

    if (!xl)
        return;
    if (seen->n == SEEN_FRAMES) {
        seen->more++;
        return;
    }
    seen->frames[seen->n++] = (struct seen_frame){ .xl = xl,
                                                   .op = frame->op,
                                                   .from = frame->wind_from,
                                                   .frame = frame,
                                                   .parent = frame->parent,
                                                   .last = true,
                                                   .step = step_of_frame (frame, may_wait) };
}

/* Records the frames from this one down to the last in use. A frame's slot is constant. */
LOOKS_AT_RUNNING_REQUESTS static void
see_down (const call_frame_t *frame, bool may_wait, struct seen_request *seen)
{
    for (unsigned i = 0; frame && i < STACK_FRAMES; i++) {
        const uint16_t awaited = __atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE);

        if (awaited != FOP_NONE && awaited < FRAME_COMPLETE)
            snapshot_see_frame (frame, may_wait, seen);
        if (!frame->wound)
            break;
        frame = frame->slot;
    }
}

static void
find_last (struct seen_request *seen)
{
    for (unsigned i = 0; i < seen->n; i++)
        for (unsigned j = 0; j < seen->n; j++)
            if (seen->frames[j].frame == seen->frames[i].parent)
                seen->frames[j].last = false;
}

LOOKS_AT_RUNNING_REQUESTS static void
see_caller (const call_stack_t *root, struct seen_request *seen)
{
    *seen = (struct seen_request){ .root = root,
                                   .maker = root->frames[0].this,
                                   .about = root->about,
                                   .internal = root->internal,
                                   .caused_by = root->caused_by,
                                   .lk_owner = root->lk_owner,
                                   .op = root->op,
                                   .uid = root->uid,
                                   .gid = root->gid,
                                   .pid = root->pid,
                                   .thread = root->thread,
                                   .ctime = root->ctime };
    seen->age = MAX (clock_roughly () - root->begin, 0);
}

/* The creator of the request, or a translator above it, knows the path: the bridge. */
LOOKS_AT_RUNNING_REQUESTS void
stack_path (const call_stack_t *root, bool may_wait, char ret_path[SEEN_PATH])
{
    xlator_t *xl = root->frames[0].this;

    ret_path[0] = '\0';
    for (unsigned i = 0; xl && i < PARENTS_MAX; i++) {
        if (xl->api && xl->api->dumpops.path) {
            if (!xl->api->dumpops.path (xl, root, may_wait, ret_path, SEEN_PATH))
                ret_path[0] = '\0';
            return;
        }
        xl = xl->parents ? xl->parents->xlator : NULL;
    }
}

LOOKS_AT_RUNNING_REQUESTS bool
stack_see (const call_stack_t *root, bool may_wait, struct seen_request *seen)
{
    const uint64_t unique = __atomic_load_n (&root->unique, __ATOMIC_ACQUIRE);
    const struct strand *strand = root->strands;

    if (!unique)
        return false;
    see_caller (root, seen);
    seen->unique = unique;
    see_down (&root->frames[0], may_wait, seen);
    for (unsigned i = 0; strand && i < STRANDS_MAX; i++) {
        if (strand->frames[0].root == root)
            see_down (&strand->frames[0], may_wait, seen);
        strand = strand->next;
    }
    find_last (seen);
    stack_path (root, may_wait, seen->path);
    return __atomic_load_n (&root->unique, __ATOMIC_ACQUIRE) == unique;
}

void
process_append (GString *out, pid_t pid)
{
    g_autofree char *name = process_comm (pid);

    if (pid < 0) { /* as GlusterFS numbers requests of clients themselves */
        g_string_append (out, "windlass itself");
    } else if (pid == 0) {
        g_string_append (out, "the kernel, or a process of another pid namespace");
    } else if (name) {
        line_append (out, name, 64);
        g_string_append_printf (out, " (%d)", pid);
    } else {
        g_string_append_printf (out, "%d, which is gone", pid);
    }
}

char *
stack_describe (const call_stack_t *root)
{
    GString *out = g_string_new (NULL);
    struct seen_request seen;

    if (!stack_see (root, true, &seen)) {
        g_string_append (out, "a request that was just answered\n");
        return g_string_free (out, FALSE);
    }
    g_string_append_printf (out, "request %" G_GUINT64_FORMAT " %s", seen.unique,
                            fop_name (seen.op));
    if (*seen.path) {
        g_string_append_c (out, ' ');
        line_append (out, seen.path, SEEN_PATH);
    }
    g_string_append_printf (out, " uid=%u gid=%u pid=%d\n", seen.uid, seen.gid, seen.pid);
    for (unsigned i = seen.n; i-- > 0;) {
        const struct seen_frame *frame = &seen.frames[i];

        g_string_append_printf (out, "    %s at '%s' (%s), wound by %s at %s:%d",
                                fop_name (frame->op), frame->xl->name, frame->xl->type,
                                frame->from ? frame->from->function : "?",
                                frame->from ? frame->from->file : "?",
                                frame->from ? frame->from->line : 0);
        if (frame->step.name)
            step_append (g_string_append (out, ", "), &frame->step);
        g_string_append_c (out, '\n');
    }
    return g_string_free (out, FALSE);
}
