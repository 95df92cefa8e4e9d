/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/utime: one clock for the times of files.
 *
 * A change that goes to several storages reaches each at another moment, and each would give the
 * file another time. So the request itself has a time, root->ctime. The flags in root->times tell
 * storage to set that time wherever the system moved mtime or atime, of files and of the
 * directories of names. With one storage/posix, its own clock is the one clock, and no time is set.
 * A brick of GlusterFS gets the time also if it is the only one: it reports the times that
 * GlusterFS's clients once gave a file, and moves them for a request with a time only.
 *
 * Reading moves no time: a read goes to one storage alone. (noatime)
 *
 * - GlusterFS keeps times in trusted.glusterfs.mdata, which storage would write with each change,
 *   and the file's own times would mean nothing. Here storage sets the file's own times, in the
 *   operation itself. A setattr by this translator would cost a round trip, and other callers would
 *   see the file in between.
 * - With one storage nothing is set, so times stay as exact and cheap as the system's; a change
 *   costs a store more.
 * - Which times an operation moves is found by comparing them before and after, not in a table: for
 *   a write of no bytes, fallocate and a truncate to the same size the system decides. The ctime
 *   can't be set.
 * - Of two changes that overtake each other the later time stays. A time later than the system's
 *   now was set by a user or a clock that was set back since, and is not kept.
 * - "now" is set as the caller, which must be permitted to, and then made the request's time as the
 *   daemon.
 * - noatime is O_NOATIME. Storage sets it as root if the caller does not own the file and so may
 *   not.
 */
#include "xlator.h"

typedef struct {
    bool noatime;   /* options */
    int set_times;
    bool clocks;    /* storage has several clocks, or a brick's. Constant */
    unsigned times; /* atomic: root->times of each request */
} utime_private_t;

enum { SET_AUTO, SET_ALWAYS, SET_NEVER };

static const struct option_choice utime_set_values[] = {
    { "auto", SET_AUTO }, { "always", SET_ALWAYS }, { "never", SET_NEVER }, {},
};

static const struct xlator_option utime_options[] = {
    { OPTION ("noatime", BOOL, utime_private_t, noatime, "on"), .online = true,
      .help = "on: reading a file or directory that is opened from now on does not change its "
              "access time; off: the access time changes as the mount options of the file system "
              "say" },
    { OPTION ("set-times", ENUM, utime_private_t, set_times, "auto"), .values = utime_set_values,
      .online = true,
      .help = "a changed file gets the time of the request, not the time at which storage changed "
              "the file; auto: only if several storages are below, each of which would set another "
              "time, or a brick of GlusterFS, which keeps times of its own" },
    {},
};

/* --- the operations that move times ----------------------------------------------------------- */

#define MOVES (OPS_CHANGE | OPSET_OF (FOP_opendir))

static void
gf_utime_any_fop (const struct call *call)
{
    const utime_private_t *priv = call->this->private;
    unsigned *times = &call->frame->root->times;
    const unsigned before = __atomic_load_n (times, __ATOMIC_RELAXED);

    __atomic_store_n (times,
                      (before & TIMES_NOT_OF_READING)
                          | __atomic_load_n (&priv->times, __ATOMIC_RELAXED),
                      __ATOMIC_RELAXED);
    call_pass (call);
}

/* --- init, reconfigure ------------------------------------------------------------------------ */

/* Returns the number of storages below. One that is reachable by two paths counts twice, which only
 * costs time. */
static unsigned
count_storages (const xlator_t *xl)
{
    unsigned n = 0;

    for (const xlator_list_t *child = xl->children; child; child = child->next)
        n += count_storages (child->xlator);
    return xl->children ? n : 1;
}

static unsigned
times_of (const utime_private_t *priv, const utime_private_t *options)
{
    const bool set = options->set_times == SET_ALWAYS
                  || (options->set_times == SET_AUTO && priv->clocks);

    return (set ? TIMES_OF_REQUEST : 0) | (options->noatime ? TIMES_NOT_OF_READING : 0);
}

static int
utime_init (xlator_t *this)
{
    utime_private_t *priv = this->private;

    priv->clocks = count_storages (this) > 1 || xlator_is_remote (this);
    priv->times = times_of (priv, priv);
    return 0;
}

static int
utime_reconfigure (xlator_t *this, const void *new_private)
{
    utime_private_t *priv = this->private;

    __atomic_store_n (&priv->times, times_of (priv, new_private), __ATOMIC_RELAXED);
    return 0;
}

/* --- dumps ------------------------------------------------------------------------------------ */

static void
utime_dump (xlator_t *this, GString *out)
{
    const utime_private_t *priv = this->private;
    const unsigned times = __atomic_load_n (&priv->times, __ATOMIC_RELAXED);

    g_string_append_printf (out, "noatime=%d\nsets_times=%d\nseveral_clocks=%d\n",
                            !!(times & TIMES_NOT_OF_READING), !!(times & TIMES_OF_REQUEST),
                            priv->clocks);
}

static void
utime_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const utime_private_t *priv = this->private;
    const unsigned times = __atomic_load_n (&priv->times, __ATOMIC_RELAXED);

    g_string_append (out, times & TIMES_OF_REQUEST
                              ? "a change of it gets the time of the request (set-times)\n"
                              : "its times are those of the system below (set-times)\n");
    g_string_append (out,
                     times & TIMES_NOT_OF_READING
                         ? "reading it moves no atime (noatime)\n"
                         : "reading it moves its atime as the system below has it (noatime)\n");
}

static enum data_view
utime_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    const utime_private_t *priv = this->private;

    *ret_why = "sets the times that reading and writing move (set-times, noatime)";
    return __atomic_load_n (&priv->times, __ATOMIC_RELAXED) ? DATA_SEEN : DATA_UNSEEN;
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "features/utime",
    .about = "gives each change the time of its request, the same in all storages below",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_METADATA,
    .wants = WANTS_NOTHING,
    .priv_size = sizeof (utime_private_t),
    .options = utime_options,
    .init = utime_init,
    .reconfigure = utime_reconfigure,
    .any_fop = gf_utime_any_fop,
    .any_fop_ops = MOVES,
    .dumpops = { .priv = utime_dump, .explain = utime_explain },
    .passthrough = { .view = utime_view },
};
