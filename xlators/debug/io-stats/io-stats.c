/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/io-stats: statistics of a mount: how many requests, how long they took, how large they
 * were, and which files are used most. A graph may have several, anywhere: each counts the requests
 * that pass it.
 */
#include "io-stats.h"

#include <errno.h>

/* --- requests --------------------------------------------------------------------------------- */

/* Kept with a request until it is answered, if anything needs it. */
struct local {
    uint64_t begin; /* ticks */
    bool sampled;
    struct file *file; /* a reference */
    fd_t *fd;          /* a reference, if reads and writes of this fd are counted */
};

static bool
io_stats_is_on (const bool *option)
{
    return __atomic_load_n (option, __ATOMIC_RELAXED);
}

static void
io_stats_local_drop (xlator_t *this, void *data)
{
    struct local *local = data;

    file_unref (local->file);
    fd_unref (local->fd);
}

/* Takes every n-th request. */
static bool
takes_sample (io_stats_private_t *priv)
{
    const int interval = __atomic_load_n (&priv->sample_interval, __ATOMIC_RELAXED);

    return interval > 0
        && __atomic_add_fetch (&priv->sums->requests, 1, __ATOMIC_RELAXED) % interval == 0;
}

static bool
is_about_file (enum fop op)
{
    return op == FOP_readv || op == FOP_writev || op == FOP_readdirp;
}

/* An fd is counted only if it was opened while dump-fd-stats was on. */
static bool
io_stats_is_watched (xlator_t *this, fd_t *fd)
{
    io_stats_private_t *priv = this->private;
    const struct open_file *open = fd_ctx_get (fd, this);

    return open && open != &priv->plain;
}

static void
note_file (const struct call *call, struct local *local)
{
    io_stats_private_t *priv = call->this->private;

    local->file = file_of (call->this, priv->sums->files, call->fd->inode);
    file_count (priv->sums->files, local->file,
                call->op == FOP_readv    ? TOP_READ
                : call->op == FOP_writev ? TOP_WRITE
                                         : TOP_READDIRP);
    if (call->op != FOP_readdirp && io_stats_is_watched (call->this, call->fd))
        local->fd = fd_ref (call->fd);
}

static void
io_stats_any_fop (const struct call *call)
{
    io_stats_private_t *priv = call->this->private;
    const bool counts = io_stats_is_on (&priv->counts),
               count = counts && io_stats_is_on (&priv->count),
               sampled = counts && takes_sample (priv),
               timed = sampled || (counts && io_stats_is_on (&priv->measure));
    struct local *local;

    if (call->op == FOP_setxattr && io_stats_dump_asked (call))
        return;
    if (timed || (count && is_about_file (call->op))) {
        local = frame_local_new (call->frame, sizeof *local);
        local->sampled = sampled;
        if (count && is_about_file (call->op))
            note_file (call, local);
        if (timed)
            local->begin = ticks_now ();
    }
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
note_sample (const struct answer *answer, int64_t ns)
{
    const io_stats_private_t *priv = answer->this->private;
    const call_stack_t *root = answer->frame->root;
    const struct sample sample = { clock_today (),   answer->op, ns,        answer->op_ret,
                                   answer->op_errno, root->uid,  root->gid, root->pid };

    samples_add (priv->sums->samples, &sample);
}

static void
note_bytes (const struct answer *answer, const struct local *local, int64_t ns)
{
    io_stats_private_t *priv = answer->this->private;
    const enum direction direction = answer->op == FOP_readv ? READ : WRITTEN;
    const uint64_t bytes = answer->op_ret;
    struct open_file *open = local && local->fd ? fd_ctx_get (local->fd, answer->this) : NULL;

    counters_bytes (priv->sums->counters, direction, bytes);
    if (open) {
        __atomic_fetch_add (&open->data[direction].bytes, bytes, __ATOMIC_RELAXED);
        __atomic_fetch_add (&open->data[direction].sizes[size_index (bytes)], 1, __ATOMIC_RELAXED);
    }
    if (local && ns > 0 && bytes)
        file_throughput (priv->sums->files, local->file,
                         direction == READ ? TOP_READ_THROUGHPUT : TOP_WRITE_THROUGHPUT,
                         (uint64_t) (bytes * 1e9 / ns));
}

/* Counts an open fd. The fd notes that, so that release only decrements what was incremented. */
static void
io_stats_add_open (struct io_stats_sums *sums, int64_t n)
{
    const int64_t now = __atomic_add_fetch (&sums->open, n, __ATOMIC_RELAXED);
    int64_t most = __atomic_load_n (&sums->most_open, __ATOMIC_RELAXED);

    while (now > most
           && !__atomic_compare_exchange_n (&sums->most_open, &most, now, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
        ;
    if (now > most)
        __atomic_store_n (&sums->most_open_at, clock_today ().tv_sec, __ATOMIC_RELAXED);
}

static void
io_stats_note_open (const struct answer *answer)
{
    io_stats_private_t *priv = answer->this->private;
    struct open_file *open = &priv->plain;

    if (io_stats_is_on (&priv->dump_fds)) {
        open = g_new0 (struct open_file, 1);
        open->since = clock_now ();
    }
    fd_ctx_set (answer->fd, answer->this, open);
    if (io_stats_is_on (&priv->counts))
        io_stats_add_open (priv->sums, 1);
    else
        __atomic_add_fetch (&priv->opened_before, 1, __ATOMIC_RELAXED);
}

static void
note_opened (const struct answer *answer)
{
    io_stats_private_t *priv = answer->this->private;
    struct file *file;

    if (answer->op != FOP_opendir)
        io_stats_note_open (answer);
    if (!io_stats_is_on (&priv->counts) || !io_stats_is_on (&priv->count)
        || (answer->op != FOP_open && answer->op != FOP_opendir))
        return;
    file = file_of (answer->this, priv->sums->files, answer->fd->inode);
    file_count (priv->sums->files, file, answer->op == FOP_open ? TOP_OPEN : TOP_OPENDIR);
    file_unref (file);
}

static void
note_answer (const struct answer *answer, int64_t ns)
{
    io_stats_private_t *priv = answer->this->private;
    const struct local *local = answer->frame->local;

    if (io_stats_is_on (&priv->counts) && io_stats_is_on (&priv->count))
        counters_call (priv->sums->counters, answer->op, answer->op_ret < 0,
                       io_stats_is_on (&priv->measure) ? ns : -1);
    if (local && local->sampled)
        note_sample (answer, ns);
    if (answer->op_ret < 0)
        return;
    if (answer->op == FOP_readv || answer->op == FOP_writev)
        note_bytes (answer, local, io_stats_is_on (&priv->measure) ? ns : -1);
    else if (answer->fd)
        note_opened (answer);
}

static void
io_stats_any_fop_cbk (const struct answer *answer)
{
    const struct local *local = answer->frame->local;

    note_answer (answer,
                 local && local->begin ? (int64_t) ticks_to_ns (ticks_now () - local->begin) : -1);
    answer_pass (answer);
}

/* --- release and forget ----------------------------------------------------------------------- */

static void
io_stats_forget (xlator_t *this, inode_t *inode)
{
    file_forget (this, inode);
}

static void
io_stats_log_open_file (xlator_t *this, const struct open_file *open, inode_t *inode)
{
    g_autoptr (GString) out = g_string_new (NULL);
    g_autofree char *path = inode_path (inode, NULL);
    g_auto (GStrv) lines = NULL;

    open_file_text (open, path, clock_now (), out);
    lines = g_strsplit (out->str, "\n", -1);
    for (char **line = lines; *line; line++)
        if (**line)
            gf_log (this, GF_LOG_INFO, "%s", *line);
}

/* Returns whether the release is a close to count. It is none if the file moves to the next graph,
 * or was opened for a move that failed. */
static bool
io_stats_closes (const io_stats_private_t *priv, const fd_t *fd)
{
    return io_stats_is_on (&priv->counts) && io_stats_is_on (&priv->count) && !fd->moved;
}

static void
io_stats_release (xlator_t *this, fd_t *fd)
{
    io_stats_private_t *priv = this->private;
    struct open_file *open = fd_ctx_get (fd, this);

    if (!open)
        return;
    __atomic_sub_fetch (io_stats_is_on (&priv->counts) ? &priv->sums->open : &priv->opened_before,
                        1, __ATOMIC_RELAXED);
    if (io_stats_closes (priv, fd))
        counters_call (priv->sums->counters, COUNT_RELEASE, false, -1);
    if (open == &priv->plain)
        return;
    if (fd->inode && io_stats_is_on (&priv->dump_fds))
        io_stats_log_open_file (this, open, fd->inode);
    g_free (open);
}

static void
io_stats_releasedir (xlator_t *this, fd_t *fd)
{
    io_stats_private_t *priv = this->private;

    if (io_stats_closes (priv, fd))
        counters_call (priv->sums->counters, COUNT_RELEASEDIR, false, -1);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

/* Without sampling no samples are kept. */
static void
settle_samples (io_stats_private_t *priv, const io_stats_private_t *options)
{
    samples_resize (priv->sums->samples, options->sample_interval ? options->sample_size : 0);
    __atomic_store_n (&priv->sample_interval, options->sample_interval, __ATOMIC_RELAXED);
}

static void
io_stats_sums_free (void *value)
{
    struct io_stats_sums *sums = value;

    samples_free (sums->samples);
    files_free (sums->files);
    counters_free (sums->counters);
    pthread_mutex_destroy (&sums->interval_lock);
    g_free (sums);
}

static struct io_stats_sums *
io_stats_sums_new (void)
{
    struct io_stats_sums *sums = g_new0 (struct io_stats_sums, 1);

    sums->shared = (struct shared){ 1, io_stats_sums_free };
    pthread_mutex_init (&sums->interval_lock, NULL);
    sums->counters = counters_new ();
    sums->files = files_new ();
    sums->samples = samples_new ();
    sums->begin = sums->last.time = clock_now ();
    return sums;
}

static int
io_stats_take_over_prepare (xlator_t *this, xlator_t *predecessor)
{
    io_stats_private_t *priv = this->private;

    priv->sums = predecessor
                   ? shared_ref (&((io_stats_private_t *) predecessor->private)->sums->shared)
                   : io_stats_sums_new ();
    priv->dumper = dumper_new (this);
    if (priv->measure || priv->sample_interval)
        ticks_init ();
    return 0;
}

/* Only one of the two graphs writes dumps from time to time: each dump ends an interval. */
static void
io_stats_take_over (xlator_t *this, xlator_t *predecessor)
{
    io_stats_private_t *priv = this->private;

    if (predecessor)
        dumper_every (((io_stats_private_t *) predecessor->private)->dumper, 0, priv->format);
    settle_samples (priv, priv);
    dumper_every (priv->dumper, priv->dump_interval, priv->format);
    __atomic_store_n (&priv->counts, true, __ATOMIC_RELAXED);
    __atomic_add_fetch (&priv->sums->open, priv->opened_before, __ATOMIC_RELAXED);
}

/* The counters go on. A new interval length starts a new interval. */
static int
io_stats_reconfigure (xlator_t *this, const void *new_private)
{
    io_stats_private_t *priv = this->private;
    const io_stats_private_t *options = new_private;

    dumper_every (priv->dumper, options->dump_interval, options->format);
    if (options->measure || options->sample_interval)
        ticks_init ();
    settle_samples (priv, options);
    __atomic_store_n (&priv->count, options->count, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->allow_passthrough, options->allow_passthrough, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->measure, options->measure, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->dump_fds, options->dump_fds, __ATOMIC_RELAXED);
    return 0;
}

/* The dump thread starts before there are requests, and stops after the last. */
static void
io_stats_notify (xlator_t *this, enum xlator_event event, void *data)
{
    io_stats_private_t *priv = this->private;

    if (event == XLATOR_PARENT_UP)
        dumper_start (priv->dumper);
    if (event == XLATOR_PARENT_DOWN)
        dumper_stop (priv->dumper);
    xlator_pass_on (this, event, data);
}

static void
io_stats_fini (xlator_t *this)
{
    io_stats_private_t *priv = this->private;

    dumper_free (priv->dumper);
    if (priv->sums)
        shared_unref (&priv->sums->shared);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
io_stats_dump (xlator_t *this, GString *out)
{
    const io_stats_private_t *priv = this->private;
    struct io_stats_report *report = report_new (this, false);

    g_string_append_printf (out, "count-fop-hits=%d\nlatency-measurement=%d\n",
                            io_stats_is_on (&priv->count), io_stats_is_on (&priv->measure));
    report_dict (report, out);
    report_free (report);
}

static int
io_stats_command_stats (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    struct io_stats_report *report = report_new (this, false);

    report_text (report, answer);
    report_free (report);
    return 0;
}

static int
io_stats_command_json (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    struct io_stats_report *report = report_new (this, false);

    report_json (report, answer);
    report_free (report);
    return 0;
}

static const struct xlator_command io_stats_commands[] = {
    { "stats", "print the content of a dump; the interval continues",
      .run = io_stats_command_stats, .arguments = "" },
    { "json", "the same as JSON", .run = io_stats_command_json, .arguments = "" },
    {},
};

static void
io_stats_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    io_stats_private_t *priv = this->private;

    g_string_append_printf (out,
                            "%s what is done with it (count-fop-hits), and %s how long it takes "
                            "(latency-measurement); it changes "
                            "nothing\n",
                            io_stats_is_on (&priv->count) ? "counts" : "doesn't count",
                            io_stats_is_on (&priv->measure) ? "measures" : "doesn't measure");
}

/* --- kernel passthrough ----------------------------------------------------------------------- */

static enum data_view
io_stats_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    io_stats_private_t *priv = this->private;
    const bool counts = io_stats_is_on (&priv->count) || io_stats_is_on (&priv->measure)
                     || __atomic_load_n (&priv->sample_interval, __ATOMIC_RELAXED);

    *ret_why = "counts its reads and writes (allow-passthrough, count-fop-hits)";
    if (!counts)
        return DATA_UNSEEN;
    return io_stats_is_on (&priv->allow_passthrough) ? DATA_COUNTED : DATA_SEEN;
}

static void
io_stats_past (xlator_t *this, fd_t *fd)
{
    io_stats_private_t *priv = this->private;

    if (io_stats_is_on (&priv->count))
        counters_call (priv->sums->counters, COUNT_PASSTHROUGH, false, -1);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/io-stats",
    .about = "counts and measures requests, and lists the files that are used most",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (io_stats_private_t),
    .options = io_stats_options,
    .take_over_prepare = io_stats_take_over_prepare,
    .take_over = io_stats_take_over,
    .fini = io_stats_fini,
    .reconfigure = io_stats_reconfigure,
    .notify = io_stats_notify,
    .local_drop = io_stats_local_drop,
    .any_fop = io_stats_any_fop,
    .any_fop_cbk = io_stats_any_fop_cbk,
    .cbks = { .forget = io_stats_forget,
              .release = io_stats_release,
              .releasedir = io_stats_releasedir },
    .dumpops = { .priv = io_stats_dump, .explain = io_stats_explain },
    .passthrough = { .view = io_stats_view, .past = io_stats_past },
    .commands = io_stats_commands,
};
