/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The translator of .meta, and its simple operations. */
#include "meta/internal.h"

#include <unistd.h>

/* As in procfs: no blocks. It depends on no other translator, so it is answered even if all others
 * hang. */
static void
meta_statfs (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    struct statvfs buf = { .f_bsize = 4096, .f_frsize = 4096, .f_namemax = 255 };

    STACK_UNWIND (statfs, frame, 0, 0, &buf, NULL);
}

static void
meta_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    STACK_UNWIND (flush, frame, 0, 0, NULL);
}

static void
meta_fsync (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    STACK_UNWIND (fsync, frame, 0, 0, NULL, NULL, NULL);
}

static void
meta_fsyncdir (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t datasync, dict_t *xdata)
{
    STACK_UNWIND (fsyncdir, frame, 0, 0, NULL);
}

static void
meta_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    g_autoptr (dict_t) none = dict_new ();

    if (name)
        STACK_UNWIND (getxattr, frame, -1, ENODATA, NULL, NULL);
    else
        STACK_UNWIND (getxattr, frame, 0, 0, none, NULL);
}

/* Operations that are not supported. Never ENOSYS: the kernel would not send the operation again
 * for any file of the mount. */
static void
meta_any_fop (const struct call *call)
{
    switch (call->op) {
    case FOP_lk: case FOP_flock:
        call_fail (call, ENOLCK);
        break;
    case FOP_ioctl:
        call_fail (call, ENOTTY);
        break;
    case FOP_seek:
        call_fail (call, EINVAL);
        break;
    case FOP_fallocate: case FOP_discard: case FOP_zerofill: case FOP_copy_file_range:
        call_fail (call, EOPNOTSUPP);
        break;
    default:
        call_fail (call, EPERM);
        break;
    }
}

static void
meta_fini (xlator_t *this)
{
    struct meta *meta = this->private;

    g_free (meta->uuid);
    g_free (meta->process_uuid);
}

static const struct xlator_api meta_api = {
    .abi = XLATOR_ABI,
    .type = "meta",
    .about = "shows the state of the daemon as files",
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (struct meta),
    .fops = {
        .lookup = meta_lookup,
        .stat = meta_stat,
        .fstat = meta_fstat,
        .readlink = meta_readlink,
        .access = meta_access,
        .open = meta_open,
        .readv = meta_readv,
        .writev = meta_writev,
        .truncate = meta_truncate,
        .ftruncate = meta_ftruncate,
        .setattr = meta_setattr,
        .fsetattr = meta_fsetattr,
        .opendir = meta_opendir,
        .readdir = meta_readdir,
        .readdirp = meta_readdirp,
        .statfs = meta_statfs,
        .flush = meta_flush,
        .fsync = meta_fsync,
        .fsyncdir = meta_fsyncdir,
        .getxattr = meta_getxattr,
    },
    .any_fop = meta_any_fop,
    .cbks = { .forget = meta_forget, .release = meta_release, .releasedir = meta_release },
    .fini = meta_fini,
};

/* A graph's name in GlusterFS's format. */
static char *
uuid_of_graph (void)
{
    g_autofree char *host = g_strdelimit (g_strdup (g_get_host_name ()), "/", '_');
    struct timespec now;
    struct tm tm;
    char text[32];

    clock_gettime (CLOCK_REALTIME, &now);
    gmtime_r (&now.tv_sec, &tm);
    strftime (text, sizeof text, "%Y-%m-%d-%H:%M:%S", &tm);
    return g_strdup_printf ("%s-%d-%s.%06ld +0000", host, getpid (), text, now.tv_nsec / 1000);
}

/* The directory that contains .meta, as the kernel sees it. */
static void
root_fill (struct graph *own)
{
    struct meta_inode *mi = g_new0 (struct meta_inode, 1);

    mi->node.kind = &meta_outside;
    mi->gfid = gfid_root;
    inode_ctx_set (itable_root (own->itable), own->top, mi);
}

struct graph *
meta_new (const struct meta_of *of)
{
    struct meta *meta = g_new (struct meta, 1);
    struct graph *own;

    *meta =
        (struct meta){ .of = *of, .uid = geteuid (), .gid = getegid (), .born = clock_today () };
    meta->uuid = uuid_of_graph ();
    meta->process_uuid = g_uuid_string_random ();
    own = graph_of_one (&meta_api, of->name, meta);
    meta->own = own;
    root_fill (own);
    return own;
}

void
meta_move (struct graph *own, struct graph *fresh)
{
    struct meta *meta = own->top->private;

    meta->of.graph = fresh;
}
