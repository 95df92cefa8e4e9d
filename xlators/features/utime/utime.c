/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/utime: one clock for the times of files.
 *
 * A change that goes to several storages reaches each at another moment, and each would give the
 * file another time. So the request itself brings its time, root->ctime, and a word, root->times,
 * that has storage set it on what the system moved: mtime and atime, of files and of the
 * directories that names are in. With one storage its own clock is the one clock, and there is
 * nothing to be set.
 *
 * Reading moves nothing: a read goes to one storage alone. (noatime)
 *
 * - GlusterFS keeps times in trusted.glusterfs.mdata, which storage would write with each change,
 *   and the file's own times would mean nothing. Here storage sets the file's own times, in the
 *   operation itself. A setattr of this translator's own would cost a round trip, and others would
 *   see the file in between.
 * - With one storage nothing is set, so times stay as exact and cheap as the system's; a change
 *   costs a store more.
 * - Which times an operation moves is found by looking before and after, not in a table: a write of
 *   nothing, fallocate and a truncate to the same size move what the system says. The change time
 *   can't be set.
 * - Of two changes that overtake each other the later time stays. A time later than the system's
 *   now was set by a user or a clock that was set back since, and isn't kept.
 * - "now" is set as the caller, which must be allowed to, and then made the request's time as the
 *   daemon.
 * - noatime is O_NOATIME. Storage sets it as root where the caller, which doesn't own the file,
 *   may not.
 */
#include "xlator.h"

typedef struct {
    bool noatime;   /* options */
    int set_times;
    bool several;   /* storages below. Constant */
    unsigned times; /* atomic: root->times of each request */
} utime_private_t;

enum { SET_AUTO, SET_ALWAYS, SET_NEVER };

static const char *const utime_set_values[] = { "auto", "always", "never", NULL };

static const struct xlator_option utime_options[] = {
    {
        .key = { "noatime" },
        .type = OPTION_BOOL,
        OPTION_FIELD (utime_private_t, noatime),
        .value = "on",
        .online = true,
        .help = "reading files and directories that are opened from now on moves no atime; off: it "
                "moves as the mount options of the file system say",
    },
    {
        .key = { "set-times" },
        .type = OPTION_ENUM,
        OPTION_FIELD (utime_private_t, set_times),
        .value = "auto",
        .values = utime_set_values,
        .online = true,
        .help = "a changed file gets the time of the request, not that at which storage changed "
                "it; auto: where "
                "several storages are below, which would have several moments",
    },
    {},
};

/* --- the operations that move times ----------------------------------------------------------- */

static void
utime_stamp (call_frame_t *frame, xlator_t *this)
{
    const utime_private_t *priv = this->private;
    const unsigned before = __atomic_load_n (&frame->root->times, __ATOMIC_RELAXED);

    __atomic_store_n (&frame->root->times,
                      (before & TIMES_NOT_OF_READING)
                          | __atomic_load_n (&priv->times, __ATOMIC_RELAXED),
                      __ATOMIC_RELAXED);
}

static void
gf_utime_mknod (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, dev_t rdev,
                mode_t umask, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), mknod, loc, mode, rdev, umask, xdata);
}

static void
gf_utime_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
                dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

static void
gf_utime_symlink (call_frame_t *frame, xlator_t *this, const char *linkpath, loc_t *loc,
                  mode_t umask, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), symlink, linkpath, loc, umask, xdata);
}

static void
gf_utime_link (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), link, oldloc, newloc, xdata);
}

static void
gf_utime_unlink (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t xflag, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), unlink, loc, xflag, xdata);
}

static void
gf_utime_rmdir (call_frame_t *frame, xlator_t *this, loc_t *loc, int32_t flags, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), rmdir, loc, flags, xdata);
}

static void
gf_utime_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
                 dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}

static void
gf_utime_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd,
               dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
gf_utime_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), opendir, loc, fd, xdata);
}

static void
gf_utime_create (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                 mode_t umask, fd_t *fd, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), create, loc, flags, mode, umask, fd, xdata);
}

static void
gf_utime_tmpfile (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, mode_t mode,
                  mode_t umask, fd_t *fd, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), tmpfile, loc, flags, mode, umask, fd, xdata);
}

static void
gf_utime_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), truncate, loc, offset, xdata);
}

static void
gf_utime_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), ftruncate, fd, offset, xdata);
}

static void
gf_utime_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
                 off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), writev, fd, vector, count, offset, flags, iobref,
                     xdata);
}

static void
gf_utime_fallocate (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t mode, off_t offset,
                    size_t len, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), fallocate, fd, mode, offset, len, xdata);
}

static void
gf_utime_discard (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                  dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), discard, fd, offset, len, xdata);
}

static void
gf_utime_zerofill (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, size_t len,
                   dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), zerofill, fd, offset, len, xdata);
}

static void
gf_utime_copy_file_range (call_frame_t *frame, xlator_t *this, fd_t *fd_in, off_t off_in,
                          fd_t *fd_out, off_t off_out, size_t len, uint32_t flags, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), copy_file_range, fd_in, off_in, fd_out, off_out,
                     len, flags, xdata);
}

static void
gf_utime_setattr (call_frame_t *frame, xlator_t *this, loc_t *loc, struct iatt *stbuf,
                  uint32_t valid, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), setattr, loc, stbuf, valid, xdata);
}

static void
gf_utime_fsetattr (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iatt *stbuf,
                   uint32_t valid, dict_t *xdata)
{
    utime_stamp (frame, this);
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), fsetattr, fd, stbuf, valid, xdata);
}

/* --- beginning, changing ---------------------------------------------------------------------- */

/* How many lowest translators there are below. One that two ways lead to counts twice: a cost, and
 * no mistake. */
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
                  || (options->set_times == SET_AUTO && priv->several);

    return (set ? TIMES_OF_REQUEST : 0) | (options->noatime ? TIMES_NOT_OF_READING : 0);
}

static int
utime_init (xlator_t *this)
{
    utime_private_t *priv = this->private;

    priv->several = count_storages (this) > 1;
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

    g_string_append_printf (out, "noatime=%d\nsets_times=%d\nseveral_storages=%d\n",
                            !!(times & TIMES_NOT_OF_READING), !!(times & TIMES_OF_REQUEST),
                            priv->several);
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
    .about = "gives each change one time, that of its request, for all storages below",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_METADATA,
    .wants = WANTS_NOTHING,
    .priv_size = sizeof (utime_private_t),
    .options = utime_options,
    .init = utime_init,
    .reconfigure = utime_reconfigure,
    .fops = {
        .mknod = gf_utime_mknod,
        .mkdir = gf_utime_mkdir,
        .symlink = gf_utime_symlink,
        .link = gf_utime_link,
        .unlink = gf_utime_unlink,
        .rmdir = gf_utime_rmdir,
        .rename = gf_utime_rename,
        .open = gf_utime_open,
        .opendir = gf_utime_opendir,
        .create = gf_utime_create,
        .tmpfile = gf_utime_tmpfile,
        .truncate = gf_utime_truncate,
        .ftruncate = gf_utime_ftruncate,
        .writev = gf_utime_writev,
        .fallocate = gf_utime_fallocate,
        .discard = gf_utime_discard,
        .zerofill = gf_utime_zerofill,
        .copy_file_range = gf_utime_copy_file_range,
        .setattr = gf_utime_setattr,
        .fsetattr = gf_utime_fsetattr,
    },
    .dumpops = { .priv = utime_dump, .explain = utime_explain },
    .passthrough = { .view = utime_view },
};
