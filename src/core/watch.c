/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Watched edges. xlator_route puts watched_FOP in the place of a watched translator's fop: it
 * logs the wind, puts itself between the answer and the callback, and calls on. An answer is logged
 * the same way when it comes back, so every wind has its unwind. For gdb these are frames like any
 * other: skipping them would make `step` run over what they call.
 */
#include "core/fops-rows.h"
#include "core/print.h"
#include "core/stack.h"

#include <errno.h>

/* What stood in the frame before. */
struct watched {
    ret_fn_t ret;
    void *cookie;
    call_frame_t *frame;
};

/* "42: writev my-rot13 -> my-posix: " */
static GString *
watch_line (const call_frame_t *frame, const char *arrow)
{
    GString *out = g_string_new (NULL);

    g_string_append_printf (out, "%" G_GUINT64_FORMAT ": %s %s %s %s: ", frame->root->unique,
                            fop_name (frame->op), frame->parent->this->name, arrow, frame->this->name);
    return out;
}

static void
watch_wind (call_frame_t *frame, ret_fn_t ret, GString *line)
{
    const struct call_site *site = frame->wind_from;
    struct watched *watched = stack_alloc (frame->root, sizeof *watched, NULL);

    log_line (GF_LOG_TRACE, frame->this, site->file, site->line, site->function, "%s", line->str);
    g_string_free (line, TRUE);
    *watched = (struct watched){ frame->ret, frame->cookie, frame };
    frame->ret = ret;
    frame->cookie = watched;
}

static GString *
watch_answer (const call_frame_t *frame, int op_ret, int op_errno)
{
    GString *line = watch_line (frame, "<-");

    if (op_ret < 0)
        g_string_append_printf (line, "op_ret=%d, op_errno=%d (%s)", op_ret, op_errno, g_strerror (op_errno));
    else
        g_string_append_printf (line, "op_ret=%d", op_ret);
    return line;
}

static void
watch_unwind (const call_frame_t *frame, GString *line)
{
    const struct call_site *site = frame->unwind_from;

    log_line (GF_LOG_TRACE, frame->this, site->file, site->line, site->function, "%s", line->str);
    g_string_free (line, TRUE);
}

#define DECLARE(kind, name) , C_##kind name
#define NAME(kind, name) , name
#define PRINT(kind, name) print_##kind (line, #name, name);

#define WATCH(fop)                                                                                 \
    fop##_fop *xlator_own_##fop (const xlator_t *xl);                                              \
                                                                                                   \
    static void watched_##fop##_cbk (call_frame_t *parent, void *cookie, xlator_t *this,       \
                                         int32_t op_ret, int32_t op_errno FOP_RETS_##fop (DECLARE)) \
    {                                                                                              \
        const struct watched *watched = cookie;                                                    \
        GString *line = watch_answer (watched->frame, op_ret, op_errno);                           \
        if (op_ret >= 0) {                                                                         \
            FOP_RETS_##fop (PRINT)                                                                 \
        }                                                                                          \
        watch_unwind (watched->frame, line);                                                       \
        ((fop##_cbk *) watched->ret) (parent, watched->cookie, this, op_ret,                       \
                                      op_errno FOP_RETS_##fop (NAME));                             \
    }                                                                                              \
                                                                                                   \
    void watched_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))          \
    {                                                                                              \
        GString *line = watch_line (frame, "->");                                                  \
        fop##_cbk *const ret = watched_##fop##_cbk;                                            \
        FOP_ARGS_##fop (PRINT)                                                                     \
        watch_wind (frame, (ret_fn_t) ret, line);                                                  \
        xlator_own_##fop (this) (frame, this FOP_ARGS_##fop (NAME));                               \
    }
FOP_LIST (WATCH)
