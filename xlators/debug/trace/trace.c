/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/trace: reports every call and every answer that passes, as lines in the log, as records in
 * a history, or both. It changes nothing. A graph may have several, anywhere: each has its own
 * operations, level and history.
 */
#include "trace.h"

#include <errno.h>

typedef struct {
    char *include, *exclude;
    uint64_t history_size;
    bool log_file, log_history;
    int level; /* atomic while running: the log level of the lines */
    opset_t ops; /* atomic: traced operations */
    int to;      /* atomic: TO_* */
    struct history *history;
} trace_private_t;

enum { TO_LOG = 1 << 0, TO_HISTORY = 1 << 1 };

/* 168 bytes each: 168MB in all. */
#define HISTORY_MAX 1048576

static const struct xlator_option trace_options[] = {
    { OPTION ("include-ops", STRING, trace_private_t, include, NULL), .key[1] = "include",
      .check = opset_check, .excludes = "exclude-ops", .online = true, .from_server = SERVER_MAY,
      .help = "the operations that are traced, separated by commas, such as lookup,readv or "
              "LOOKUP,READ; by default all" },
    { OPTION ("exclude-ops", STRING, trace_private_t, exclude, NULL), .key[1] = "exclude",
      .check = opset_check, .online = true, .from_server = SERVER_MAY,
      .help = "the operations that are not traced; include-ops and exclude-ops exclude each "
              "other" },
    { OPTION ("history-size", SIZE, trace_private_t, history_size, "1024"), .min = 1,
      .max = HISTORY_MAX,
      .help = "the number of calls and answers that the history keeps; each takes 168 bytes" },
    { OPTION ("log-file", BOOL, trace_private_t, log_file, "no"), .online = true,
      .help = "write each call and each answer to the log, regardless of the log level of the "
              "process" },
    { OPTION ("log-history", BOOL, trace_private_t, log_history, "no"), .online = true,
      .help = "keep the last calls and answers in the history; if log-file is off, the translator "
              "always does this" },
    { OPTION ("force-log-level", ENUM, trace_private_t, level, "INFO"), .values = option_log_levels,
      .online = true,
      .help = "the level of the log lines of log-file; the log level of the process does not "
              "change" },
    {},
};

/* --- requests --------------------------------------------------------------------------------- */

/* Where to report this operation now: TO_*. */
static int
trace_to (const trace_private_t *priv, enum fop op)
{
    return opset_has (__atomic_load_n (&priv->ops, __ATOMIC_RELAXED), op)
             ? __atomic_load_n (&priv->to, __ATOMIC_RELAXED)
             : 0;
}

/* With log-file on, the line is always written: the process's level does not apply. Only a level
 * set for this volume can suppress it. */
static void
trace_log (xlator_t *this, const char *function, const char *text)
{
    const trace_private_t *priv = this->private;
    const gf_loglevel_t level = __atomic_load_n (&priv->level, __ATOMIC_RELAXED);
    const gf_loglevel_t own = __atomic_load_n (&this->loglevel, __ATOMIC_RELAXED);

    if (level != GF_LOG_NONE && (own == GF_LOG_UNSET || level <= own))
        log_line (level, this, __FILE__, __LINE__, function, "%s", text);
}

static void
trace_log_call (const struct call *call)
{
    g_autoptr (GString) line = g_string_new (NULL);
    g_autofree char *function = g_strdup_printf ("trace_%s", fop_name (call->op));

    line_of_call (call, line);
    trace_log (call->this, function, line->str);
}

static void
trace_log_answer (const struct answer *answer)
{
    g_autoptr (GString) line = g_string_new (NULL);
    g_autofree char *function = g_strdup_printf ("trace_%s_cbk", fop_name (answer->op));

    line_of_answer (answer, line);
    trace_log (answer->this, function, line->str);
}

/* The answer of a reported call is reported too, even if options change meanwhile: the cookie has
 * the destination. */
static void
trace_any_fop (const struct call *call)
{
    trace_private_t *priv = call->this->private;
    const int to = trace_to (priv, call->op);

    if (!to) {
        call_pass (call);
        return;
    }
    if (to & TO_HISTORY)
        history_add_call (priv->history, call);
    if (to & TO_LOG)
        trace_log_call (call);
    call_wind (call, FIRST_CHILD (call->this), GINT_TO_POINTER (to));
}

static void
trace_any_fop_cbk (const struct answer *answer)
{
    const trace_private_t *priv = answer->this->private;
    const int to = GPOINTER_TO_INT (answer->cookie);

    if (to & TO_HISTORY)
        history_add_answer (priv->history, answer);
    if (to & TO_LOG)
        trace_log_answer (answer);
    answer_pass (answer);
}

/* A release is no operation; it is reported with those that open files. */
static void
trace_released (xlator_t *this, fd_t *fd, const char *function, int to)
{
    const trace_private_t *priv = this->private;
    g_autofree char *path = NULL, *line = NULL;
    char gfid[GFID_TEXT_SIZE];

    if (!to || !fd->inode)
        return;
    if (to & TO_HISTORY)
        history_add_release (priv->history, fd);
    if (!(to & TO_LOG))
        return;
    path = inode_path (fd->inode, NULL);
    line = g_strdup_printf ("gfid=%s fd=%p, path=%s", gfid_text (&fd->inode->gfid, gfid),
                            (void *) fd, path);
    trace_log (this, function, line);
}

static void
trace_release (xlator_t *this, fd_t *fd)
{
    trace_released (this, fd, "trace_release", trace_to (this->private, FOP_open));
}

static void
trace_releasedir (xlator_t *this, fd_t *fd)
{
    trace_released (this, fd, "trace_releasedir", trace_to (this->private, FOP_opendir));
}

/* --- init, reconfigure, fini ------------------------------------------------------------------ */

/* Tells a full list from an empty one. For include-ops both mean all operations, but an empty
 * exclude-ops excludes none. */
static opset_t
trace_ops (const trace_private_t *options)
{
    g_autofree char *problem = NULL;
    opset_t ops = OPSET_ALL, without = 0;

    if (options->include && *options->include)
        opset_parse (options->include, &ops, &problem); /* can't fail: the option was checked when
                                                           it was read */
    if (options->exclude && *options->exclude)
        opset_parse (options->exclude, &without, &problem);
    return ops & ~without;
}

static void
trace_settle (trace_private_t *priv, const trace_private_t *options)
{
    const int to = (options->log_file ? TO_LOG : 0)
                 | (options->log_history || !options->log_file ? TO_HISTORY : 0);

    __atomic_store_n (&priv->level, options->level, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->ops, trace_ops (options), __ATOMIC_RELAXED);
    __atomic_store_n (&priv->to, to, __ATOMIC_RELAXED);
}

static int
trace_init (xlator_t *this)
{
    trace_private_t *priv = this->private;

    priv->history = history_new (priv->history_size);
    trace_settle (priv, priv);
    return 0;
}

/* The history stays. */
static int
trace_reconfigure (xlator_t *this, const void *new_private)
{
    trace_settle (this->private, new_private);
    return 0;
}

static void
trace_fini (xlator_t *this)
{
    trace_private_t *priv = this->private;

    history_free (priv->history);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
trace_dump (xlator_t *this, GString *out)
{
    const trace_private_t *priv = this->private;
    const int to = __atomic_load_n (&priv->to, __ATOMIC_RELAXED);
    uint64_t added, lost;

    history_counts (priv->history, &added, &lost);
    g_string_append (out, "traced=");
    opset_print (__atomic_load_n (&priv->ops, __ATOMIC_RELAXED), out);
    g_string_append_printf (out, "\nlog-file=%s\nlog-history=%s\nforce-log-level=%s\n",
                            to & TO_LOG ? "yes" : "no", to & TO_HISTORY ? "yes" : "no",
                            log_level_name (__atomic_load_n (&priv->level, __ATOMIC_RELAXED)));
    g_string_append_printf (out,
                            "history-size=%" G_GUINT64_FORMAT "\nhistory-added=%" G_GUINT64_FORMAT
                            "\nhistory-lost=%" G_GUINT64_FORMAT "\n",
                            priv->history_size, added, lost);
}

static void
trace_history (xlator_t *this, GString *out)
{
    const trace_private_t *priv = this->private;

    history_print (priv->history, out);
}

static int
trace_command_history (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    trace_history (this, answer);
    if (answer->len == 0)
        g_string_append (answer, "nothing was kept yet\n");
    return 0;
}

static const struct xlator_command trace_commands[] = {
    { "history", "print the last calls and answers, the oldest first",
      .run = trace_command_history },
    {},
};

static void
trace_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const trace_private_t *priv = this->private;
    const int to = __atomic_load_n (&priv->to, __ATOMIC_RELAXED);

    g_string_append_printf (out, "%s; it changes nothing\n",
                            to & TO_LOG && to & TO_HISTORY
                                ? "logs and remembers what is done with it (log-file, log-history)"
                            : to & TO_LOG ? "logs what is done with it (log-file)"
                                          : "remembers what is done with it (log-history)");
    g_string_append (out, "operations (include-ops, exclude-ops): ");
    opset_print (__atomic_load_n (&priv->ops, __ATOMIC_RELAXED), out);
    g_string_append_c (out, '\n');
}

static enum data_view
trace_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    *ret_why = "traces its reads or writes (include-ops, exclude-ops)";
    return trace_to (this->private, FOP_readv) || trace_to (this->private, FOP_writev)
             ? DATA_SEEN
             : DATA_UNSEEN;
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/trace",
    .about = "logs every call and every answer, or keeps the last of them",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    /* the line of a write says little without them */
    .wants = WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES,
    .priv_size = sizeof (trace_private_t),
    .options = trace_options,
    .init = trace_init,
    .fini = trace_fini,
    .reconfigure = trace_reconfigure,
    .any_fop = trace_any_fop,
    .any_fop_cbk = trace_any_fop_cbk,
    .cbks = { .release = trace_release, .releasedir = trace_releasedir },
    .dumpops = { .priv = trace_dump, .history = trace_history, .explain = trace_explain },
    .passthrough = { .view = trace_view },
    .commands = trace_commands,
};
