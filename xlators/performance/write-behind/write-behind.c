/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * performance/write-behind: answers a write at once and performs it afterwards. write-behind.h
 * lists its files.
 */
#include "write-behind.h"

static const struct xlator_option wb_options[] = {
    { OPTION ("flush-behind", ENUM, wb_private_t, flush_choice, "auto"), .values = option_switches,
      .online = true,
      .help = "a close waits for the writes of the file and reports their errors, and the flush "
              "itself is sent after the answer; off: the close waits for the flush, too; auto: off "
              "if all storage below is local (storage/...), otherwise on. On in GlusterFS" },
    { OPTION ("cache-size", SIZE, wb_private_t, window, "1MB"), .key[1] = "window-size",
      .min = 512 << 10, .max = 1 << 30, .online = true,
      .help = "maximum number of bytes of a file that are answered but not yet written below; a "
              "further write waits" },
    { OPTION ("memory-limit", SIZE, wb_private_t, memory, "256MB"), .min = 1 << 20,
      .max = 64.0 * (1 << 30), .online = true,
      .help = "maximum memory of the pending writes of all files; beyond this limit, a write is "
              "answered when it is complete" },
    { OPTION ("aggregate-size", SIZE, wb_private_t, aggregate, "128KB"), .at_most = "cache-size",
      .help = "maximum size of a write that combines consecutive writes; at most cache-size" },
    { OPTION ("trickling-writes", BOOL, wb_private_t, trickling, "on"), .online = true,
      .help = "on: a small write is sent if no other write of the file is in flight; off: it waits "
              "until it can be combined into a large write, for at most a second" },
    { OPTION ("strict-O_DIRECT", BOOL, wb_private_t, strict_direct, "off"), .online = true,
      .help = "a write with O_DIRECT is answered only when it is complete" },
    { OPTION ("strict-write-ordering", BOOL, wb_private_t, strict_order, "off"), .online = true,
      .help = "writes to a file are sent one after the other, even if they do not overlap" },
    { OPTION_INERT ("resync-failed-syncs-after-fsync", BOOL,
                    "the translator does not retry a failed write, and the next call that reports "
                    "errors reports it"), .value = "off" },
    { OPTION_INERT ("write-behind", BOOL,
                    "use pass-through to turn the translator off"), .value = "on" },
    {},
};

/* --- inode context ---------------------------------------------------------------------------- */

struct wb_inode *
wb_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

static void
wb_inode_free (void *made)
{
    struct wb_inode *wbi = made;

    pthread_mutex_destroy (&wbi->lock);
    g_free (wbi);
}

static void *
wb_inode_new (xlator_t *this, inode_t *inode)
{
    struct wb_inode *wbi = g_new0 (struct wb_inode, 1);

    pthread_mutex_init (&wbi->lock, NULL);
    wbi->inode = inode;
    wbi->place.data = wbi;
    return wbi;
}

struct wb_inode *
wb_inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, wb_inode_new, wb_inode_free);
}

/* No write is pending here: each write holds a reference of its inode. */
static void
wb_forget (xlator_t *this, inode_t *inode)
{
    struct wb_inode *wbi = wb_inode_get (this, inode);

    if (!wbi)
        return;
    wb_error_forget (this, wbi);
    wb_inode_free (wbi);
}

/* --- init, reconfigure, notify, fini ---------------------------------------------------------- */

static bool
storage_is_local (const xlator_t *xl)
{
    if (!xl->children)
        return g_str_has_prefix (xl->type, "storage/");
    for (const xlator_list_t *child = xl->children; child; child = child->next)
        if (!storage_is_local (child->xlator))
            return false;
    return true;
}

static bool
flush_behind (const xlator_t *this, int choice)
{
    return choice == SWITCH_AUTO ? !storage_is_local (this) : choice == SWITCH_ON;
}

static int
wb_init (xlator_t *this)
{
    wb_private_t *priv = this->private;
    int r;

    pthread_mutex_init (&priv->lock, NULL);
    thread_cond_init (&priv->idle);
    thread_cond_init (&priv->nudge.wake);
    g_queue_init (&priv->busy);
    g_queue_init (&priv->nudge.lost);
    g_queue_init (&priv->nudge.after);
    priv->flush_behind = flush_behind (this, priv->flush_choice);
    r = -pthread_key_create (&priv->runs, NULL);
    if (r < 0)
        gf_log (this, GF_LOG_ERROR, "can't keep anything with threads: %s", g_strerror (-r));
    priv->begun = r == 0;
    return r;
}

static int
wb_reconfigure (xlator_t *this, const void *new_private)
{
    wb_private_t *priv = this->private;
    const wb_private_t *to = new_private;

    __atomic_store_n (&priv->flush_behind, flush_behind (this, to->flush_choice), __ATOMIC_RELAXED);
    __atomic_store_n (&priv->trickling, to->trickling, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->strict_direct, to->strict_direct, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->strict_order, to->strict_order, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->window, to->window, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->memory, to->memory, __ATOMIC_RELAXED);
    return 0;
}

static void
wb_wait_until_idle (wb_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    while (priv->unfinished)
        thread_cond_wait (&priv->idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

/* From XLATOR_ENDING on, writes are not delayed. PARENT_DOWN is passed on only after all writes are
 * done. */
static void
wb_notify (xlator_t *this, enum xlator_event event, void *data)
{
    wb_private_t *priv = this->private;

    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN) {
        __atomic_store_n (&priv->ending, true, __ATOMIC_RELAXED);
        wb_nudge_all (this);
    }
    if (event == XLATOR_PARENT_DOWN)
        wb_wait_until_idle (priv);
    xlator_pass_on (this, event, data);
    if (event == XLATOR_ENDING || event == XLATOR_PARENT_DOWN)
        wb_nudge_wait (this); /* the event let the calls below go on, so pending invalidations can
                                 end */
}

static void
wb_fini (xlator_t *this)
{
    wb_private_t *priv = this->private;

    wb_nudge_end (this);
    if (priv->begun)
        pthread_key_delete (priv->runs);
    pthread_cond_destroy (&priv->nudge.wake);
    pthread_cond_destroy (&priv->idle);
    pthread_mutex_destroy (&priv->lock);
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
wb_dump_number (GString *out, const char *key, const uint64_t *value)
{
    g_string_append_printf (out, "%s=%" G_GUINT64_FORMAT "\n", key,
                            __atomic_load_n (value, __ATOMIC_RELAXED));
}

static void
wb_dump (xlator_t *this, GString *out)
{
    wb_private_t *priv = this->private;

    wb_dump_number (out, "aggregate_size", &priv->aggregate);
    wb_dump_number (out, "window_size", &priv->window);
    wb_dump_number (out, "memory_limit", &priv->memory);
    wb_dump_number (out, "memory_held", &priv->held);
    wb_dump_number (out, "unfinished", &priv->unfinished);
    wb_dump_number (out, "answered_early", &priv->count.early);
    wb_dump_number (out, "joined_another", &priv->count.joined);
    wb_dump_number (out, "passed_through", &priv->count.through);
    wb_dump_number (out, "waited_for_room", &priv->count.waited);
    wb_dump_number (out, "sent", &priv->count.sent);
    wb_dump_number (out, "failed_later", &priv->count.failed);
    wb_dump_number (out, "errors_nobody_knows_yet", &priv->count.untold);
    wb_dump_number (out, "errors_nobody_asked_for", &priv->count.never_told);
    g_string_append_printf (out, "flush_behind=%d\ntrickling_writes=%d\n",
                            WB_OPTION (this, flush_behind), WB_OPTION (this, trickling));
}

static void
wb_dump_write (const struct wb_write *write, unsigned number, GString *out)
{
    g_string_append_printf (out,
                            "request[%u]=unique %" G_GUINT64_FORMAT
                            ", offset %lld, size %zu%s, blockers %d, blocks %u, %s\n",
                            number, write->root->unique, (long long) write->offset, write->size,
                            write->append ? ", append" : "",
                            __atomic_load_n (&write->node.blockers, __ATOMIC_RELAXED),
                            write->blocked ? write->blocked->len : 0,
                            write->flying                ? "on its way"
                            : write->wbi->waits == write ? "waits for more"
                                                         : "waits for others");
}

static void
wb_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    struct wb_inode *wbi = wb_inode_get (this, inode);
    g_autofree char *path = wbi ? inode_path (inode, NULL) : NULL;
    size_t transit = 0;
    unsigned n = 0;

    if (!wbi)
        return;
    g_string_append_printf (out, "path=%s\ninode=%p\n", path, (void *) inode);
    pthread_mutex_lock (&wbi->lock);
    for (GList *l = wbi->writes.head; l; l = l->next)
        transit += ((struct wb_write *) l->data)->flying ? ((struct wb_write *) l->data)->size : 0;
    g_string_append_printf (out,
                            "window_conf=%" G_GUINT64_FORMAT
                            "\nwindow_current=%zu\ntransit-size=%zu\ndontsync=0\n",
                            WB_OPTION (this, window), wbi->window, transit);
    g_string_append_printf (out, "errors=%u\nlast_error=%d\ntold=%d\nwaiting_for_room=%u\n",
                            wbi->error_number, wbi->error, wbi->told, wbi->waiting.length);
    for (GList *l = wbi->writes.head; l; l = l->next)
        wb_dump_write (l->data, n++, out);
    pthread_mutex_unlock (&wbi->lock);
}

static bool
waits_for_room (xlator_t *this, const call_frame_t *frame)
{
    g_autoptr (GPtrArray) inodes = wb_busy_inodes (this);

    for (guint i = 0; i < inodes->len; i++)
        if (wb_room_is_waited_for (wb_inode_get (this, inodes->pdata[i]), frame))
            return true;
    return false;
}

/* A call can be set aside for two reasons. A write that waits for room has the second. */
static void
wb_waits_for (xlator_t *this, const call_frame_t *frame, GString *out)
{
    if (waits_for_room (this, frame))
        g_string_append (out, "room: as much of the file as may be (cache-size) was answered "
                              "before, and isn't done");
    else if (WB_OPTION (this, unfinished) > 0)
        g_string_append (out, "writes to the file that were answered before, and aren't done");
}

static void
wb_explain_inode (struct wb_inode *wbi, GString *out)
{
    pthread_mutex_lock (&wbi->lock);
    if (wbi->writes.length > 0)
        g_string_append_printf (out, "%u writes to it, %zu bytes, are answered and not done\n",
                                wbi->writes.length, wbi->window);
    if (wbi->error)
        g_string_append_printf (out, "a write to it that had been answered failed: %s; %s\n",
                                g_strerror (wbi->error),
                                wbi->told ? "reported" : "not reported yet");
    pthread_mutex_unlock (&wbi->lock);
}

static void
wb_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    struct wb_inode *wbi = inode ? wb_inode_get (this, inode) : NULL;
    g_autofree char *window = g_format_size_full (WB_OPTION (this, window),
                                                  G_FORMAT_SIZE_IEC_UNITS);
    g_autofree char *aggregate = g_format_size_full (WB_OPTION (this, aggregate),
                                                     G_FORMAT_SIZE_IEC_UNITS);

    if (inode && inode->ia_type != IA_IFREG) {
        g_string_append (out, "does nothing with it: it answers writes to files\n");
        return;
    }
    g_string_append_printf (out,
                            "answers writes to it before they are done, until %s wait "
                            "(cache-size), and puts those that follow "
                            "each other together, up to %s (aggregate-size)\n",
                            window, aggregate);
    g_string_append_printf (out, "not with O_SYNC or O_DSYNC, nor with O_DIRECT%s\n",
                            WB_OPTION (this, strict_direct) ? " (strict-O_DIRECT)"
                                                            : " where it isn't aligned to 4 KiB");
    g_string_append_printf (out,
                            "a close waits until they are done, and tells of their errors; the "
                            "flush goes to storage %s (flush-behind)\n",
                            WB_OPTION (this, flush_behind) ? "afterwards" : "before the answer");
    if (wbi)
        wb_explain_inode (wbi, out);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "performance/write-behind",
    .about = "answers a write at once, executes it later, and combines small writes",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_ANSWERS,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (wb_private_t),
    .options = wb_options,
    .init = wb_init,
    .fini = wb_fini,
    .reconfigure = wb_reconfigure,
    .notify = wb_notify,
    .local_drop = wb_local_drop,
    .fops = {
        .lookup = wb_lookup,
        .create = wb_create,
        .readdirp = wb_readdirp,
        .readv = wb_readv,
        .writev = wb_writev,
        .flush = wb_flush,
        .fsync = wb_fsync,
    },
    .any_fop = wb_any_fop,
    .any_fop_ops = WB_WAITING,
    .cbks = { .forget = wb_forget },
    .dumpops = {
        .priv = wb_dump, .inodectx = wb_dump_inode, .waits_for = wb_waits_for,
        .explain = wb_explain,
    },
    .passthrough = { .why = "delays the file's writes" },
};
