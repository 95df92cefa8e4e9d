/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Passes requests on through its own callbacks, with a single mistake of its author: the option
 * `defect`. `windlass conform` must find each defect. Without a defect the translator is correct,
 * and also with "works-later", which is not a mistake.
 */
#include "xlator.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum defect {
    NONE, TWICE_ON_ERROR, TWICE_ON_SUCCESS, NEVER_ON_SUCCESS, NEVER_ON_ERROR, EARLY, WRONG_FRAME,
    OTHER_FRAME, FD_LEAK, INODE_LEAK, DICT_LEAK, STUB_LEAK, IOBREF_LEAK, FD_STOLEN, DICT_STOLEN,
    LOCK_OVER_WIND, LOCK_OVER_UNWIND, RWLOCK_OVER_UNWIND, SWAPPED, STALE_POST, SHORT,
    NEGATIVE_ERRNO, ERRNO_ON_SUCCESS, STATIC_STATE, APPEND_FORGOTTEN, XDATA_DROPPED,
    XDATA_DROPPED_UP, OFFSET_TRUNCATED, LOC_LATER, LOC_CHANGED, LOCAL_LATER, LOST_ON_INTERRUPT,
    TWICE_ON_INTERRUPT, OFFSET_IGNORED, VECTOR_LATER, BUF_LATER, DICT_CHANGED, WRONG_INODE,
    BYTES_LATER, WORKS_LATER, REQUEST_LEAK, TWICE_ON_RENAME_ERROR, RENAME_ERROR_SWALLOWED,
    CONTEXT_KEPT, OWN_KEY_ERRNO, LOST_CONFIRMED, WRONG_NUMBER, MADE_AND_REFUSED, ABORTS_ONCE,
};

typedef struct {
    int defect;
    pthread_mutex_t lock;     /* held where it must not be */
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    call_frame_t *last;       /* a frame of another request */
    struct iatt *kept;
    char *once;               /* a file that "aborts-once" makes when it aborts */
} pass_private_t;

static const struct option_choice pass_defects[] = {
    { "none", NONE }, { "twice-on-error", TWICE_ON_ERROR },
    { "twice-on-success", TWICE_ON_SUCCESS }, { "never-on-success", NEVER_ON_SUCCESS },
    { "never-on-error", NEVER_ON_ERROR }, { "early", EARLY }, { "wrong-frame", WRONG_FRAME },
    { "other-frame", OTHER_FRAME }, { "fd-leak", FD_LEAK }, { "inode-leak", INODE_LEAK },
    { "dict-leak", DICT_LEAK }, { "stub-leak", STUB_LEAK }, { "iobref-leak", IOBREF_LEAK },
    { "fd-stolen", FD_STOLEN }, { "dict-stolen", DICT_STOLEN },
    { "lock-over-wind", LOCK_OVER_WIND }, { "lock-over-unwind", LOCK_OVER_UNWIND },
    { "rwlock-over-unwind", RWLOCK_OVER_UNWIND }, { "swapped", SWAPPED },
    { "stale-post", STALE_POST }, { "short", SHORT }, { "negative-errno", NEGATIVE_ERRNO },
    { "errno-on-success", ERRNO_ON_SUCCESS }, { "static-state", STATIC_STATE },
    { "append-forgotten", APPEND_FORGOTTEN }, { "xdata-dropped", XDATA_DROPPED },
    { "xdata-dropped-up", XDATA_DROPPED_UP }, { "offset-truncated", OFFSET_TRUNCATED },
    { "loc-later", LOC_LATER }, { "loc-changed", LOC_CHANGED }, { "local-later", LOCAL_LATER },
    { "lost-on-interrupt", LOST_ON_INTERRUPT }, { "twice-on-interrupt", TWICE_ON_INTERRUPT },
    { "offset-ignored", OFFSET_IGNORED }, { "vector-later", VECTOR_LATER },
    { "buf-later", BUF_LATER }, { "dict-changed", DICT_CHANGED }, { "wrong-inode", WRONG_INODE },
    { "bytes-later", BYTES_LATER }, { "works-later", WORKS_LATER },
    { "request-leak", REQUEST_LEAK }, { "twice-on-rename-error", TWICE_ON_RENAME_ERROR },
    { "rename-error-swallowed", RENAME_ERROR_SWALLOWED }, { "context-kept", CONTEXT_KEPT },
    { "own-key-errno", OWN_KEY_ERRNO }, { "lost-confirmed", LOST_CONFIRMED },
    { "wrong-number", WRONG_NUMBER }, { "made-and-refused", MADE_AND_REFUSED },
    { "aborts-once", ABORTS_ONCE }, {},
};

static const struct xlator_option pass_options[] = {
    { OPTION ("defect", ENUM, pass_private_t, defect, "none"), .values = pass_defects,
      .help = "the mistake" },
    { OPTION ("once", PATH, pass_private_t, once, NULL),
      .help = "aborts-once: a file that keeps it from doing so" },
    {},
};

typedef struct {
    struct iatt pre;
    loc_t *loc;
    struct iovec *vector;
    size_t size;
    struct iatt *buf;
    int answered;
    call_frame_t *frame;
    struct interrupt_watch interrupt;
} pass_local_t;

static bool
has (xlator_t *this, enum defect defect)
{
    return ((pass_private_t *) this->private)->defect == (int) defect;
}

/* Number of requests, of all volumes: a defect, since the variable belongs to the module. */
static unsigned requests;

/* --- stat: errors, locks, callers' memory ----------------------------------------------------- */

static stat_cbk pass_stat_cbk;

/* Takes a reference and releases it. */
static void __attribute__ ((noinline))
pass_look (inode_t *inode)
{
    inode_unref (inode_ref (inode));
}

static void
pass_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    pass_private_t *priv = this->private;
    pass_local_t *local = frame_local_new (frame, sizeof *local);

    local->loc = loc;
    if (has (this, STATIC_STATE))
        requests++;
    if (has (this, ABORTS_ONCE) && open (priv->once, O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0)
        abort ();
    if (has (this, DICT_CHANGED) && xdata)
        dict_set_str (xdata, "pass", "was here");
    if (has (this, LOC_CHANGED))
        loc->name = "elsewhere";
    if (has (this, DICT_STOLEN) && xdata)
        dict_unref (xdata);
    if (has (this, INODE_LEAK))
        pass_look (inode_ref (loc->inode));
    if (has (this, STUB_LEAK))
        fop_stat_stub (frame, pass_stat, loc, xdata);
    if (has (this, LOCK_OVER_WIND))
        pthread_mutex_lock (&priv->lock);
    STACK_WIND (frame, pass_stat_cbk, FIRST_CHILD (this), stat, loc,
                has (this, XDATA_DROPPED) ? NULL : xdata);
    if (has (this, LOCK_OVER_WIND))
        pthread_mutex_unlock (&priv->lock);
}

static void
pass_stat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    pass_private_t *priv = this->private;
    pass_local_t *local = frame->local;

    if (has (this, NEVER_ON_SUCCESS) && op_ret == 0)
        return;
    if (has (this, TWICE_ON_SUCCESS) && op_ret == 0)
        STACK_UNWIND (stat, frame, 0, 0, buf, NULL);
    if (has (this, LOC_LATER) && local->loc->name && !strcmp (local->loc->name, "nothing"))
        op_ret = 0;
    if (has (this, ERRNO_ON_SUCCESS) && op_ret == 0)
        op_errno = ENOENT;
    if (has (this, BUF_LATER)) {
        if (priv->kept && priv->kept->ia_size == 1)
            op_errno = EIO;
        priv->kept = buf;
    }
    if (has (this, LOCK_OVER_UNWIND))
        pthread_mutex_lock (&priv->lock);
    if (has (this, RWLOCK_OVER_UNWIND))
        pthread_rwlock_rdlock (&priv->rwlock);
    STACK_UNWIND (stat, has (this, WRONG_FRAME) ? frame->parent : frame, op_ret, op_errno, buf,
                  has (this, XDATA_DROPPED_UP) ? NULL : xdata);
    if (has (this, LOCK_OVER_UNWIND))
        pthread_mutex_unlock (&priv->lock);
    if (has (this, RWLOCK_OVER_UNWIND))
        pthread_rwlock_unlock (&priv->rwlock);
    if (has (this, LOCAL_LATER))
        local->answered++;
}

/* --- fstat: answers from another place -------------------------------------------------------- */

static fstat_cbk pass_fstat_cbk;

static void
pass_interrupted (void *data)
{
    pass_local_t *local = data;

    local->answered++;
}

static void
pass_fstat (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    pass_private_t *priv = this->private;
    pass_local_t *local = frame_local_new (frame, sizeof *local);
    call_frame_t *other = priv->last;

    local->frame = frame;
    local->interrupt = (struct interrupt_watch){ .fn = pass_interrupted, .data = local };
    if (has (this, FD_LEAK))
        fd_ref (fd);
    if (has (this, FD_STOLEN))
        fd_unref (fd);
    if (has (this, LOST_ON_INTERRUPT) || has (this, TWICE_ON_INTERRUPT))
        stack_on_interrupt (frame->root, &local->interrupt);
    if (has (this, OTHER_FRAME)) {
        priv->last = frame;
        if (other) {
            STACK_UNWIND (fstat, other, -1, EIO, NULL, NULL);
            return;
        }
    }
    STACK_WIND (frame, pass_fstat_cbk, FIRST_CHILD (this), fstat, fd, xdata);
    if (has (this, EARLY))
        STACK_UNWIND (fstat, frame, -1, EIO, NULL, NULL);
}

static void
pass_fstat_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                struct iatt *buf, dict_t *xdata)
{
    pass_local_t *local = frame->local;

    if (has (this, LOST_ON_INTERRUPT) || has (this, TWICE_ON_INTERRUPT))
        stack_off_interrupt (frame->root, &local->interrupt);
    if (has (this, LOST_ON_INTERRUPT) && local->answered)
        return;
    if (has (this, TWICE_ON_INTERRUPT) && local->answered)
        STACK_UNWIND (fstat, frame, -1, EINTR, NULL, NULL);
    STACK_UNWIND (fstat, frame, op_ret, op_errno, buf, xdata);
}

/* --- writev ----------------------------------------------------------------------------------- */

static writev_cbk pass_writev_cbk;

static void
pass_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    pass_private_t *priv = this->private;
    pass_local_t *local = frame_local_new (frame, sizeof *local);

    local->vector = vector;
    local->size = iov_length (vector, count);
    if (has (this, IOBREF_LEAK))
        iobref_ref (iobref);
    if (has (this, BYTES_LATER))
        local->vector = g_memdup2 (vector, count * sizeof *vector);
    if (has (this, LOCK_OVER_WIND))
        pthread_spin_lock (&priv->spin);
    STACK_WIND (frame, pass_writev_cbk, FIRST_CHILD (this), writev, fd, vector, count, offset,
                flags, iobref, xdata);
    if (has (this, LOCK_OVER_WIND))
        pthread_spin_unlock (&priv->spin);
}

static void
pass_writev_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *prebuf, struct iatt *postbuf, dict_t *xdata)
{
    pass_local_t *local = frame->local;

    if (has (this, LOST_CONFIRMED) && op_ret < 0 && op_errno == ENOTCONN)
        op_ret = (int32_t) local->size;
    if (has (this, SHORT) && op_ret > 0)
        op_ret--;
    if (has (this, SWAPPED)) {
        STACK_UNWIND (writev, frame, op_ret, op_errno, postbuf, prebuf, xdata);
        return;
    }
    if (has (this, VECTOR_LATER) && op_ret > 0 && local->vector[0].iov_len == 77)
        op_ret = 0;
    if (has (this, BYTES_LATER)) {
        if (op_ret > 0 && ((char *) local->vector[0].iov_base)[0] == 1)
            op_ret = 0;
        g_free (local->vector);
    }
    STACK_UNWIND (writev, frame, op_ret, op_errno, prebuf,
                  has (this, STALE_POST) ? prebuf : postbuf, xdata);
}

/* --- open, readv, readdir, readdirp, getxattr, mkdir ------------------------------------------ */

/* Never freed: there is no release. */
static void
pass_keep (xlator_t *this, fd_t *fd)
{
    static char kept[16];

    if (has (this, CONTEXT_KEPT))
        fd_ctx_set (fd, this, kept);
}

static void
pass_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    pass_keep (this, fd);
    if (has (this, APPEND_FORGOTTEN))
        flags &= ~(uint32_t) O_APPEND;
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), open, loc, flags, fd, xdata);
}

static void
pass_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
            uint32_t flags, dict_t *xdata)
{
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), readv, fd, size,
                     has (this, OFFSET_IGNORED) && offset > 0 ? 0 : offset, flags, xdata);
}

static void
pass_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
              dict_t *xdata)
{
    if (has (this, OFFSET_TRUNCATED))
        offset = (int32_t) offset;
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), readdir, fd, size, offset, xdata);
}

static readdirp_cbk pass_readdirp_cbk;

static void
pass_readdirp (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
               dict_t *xdata)
{
    STACK_WIND (frame, pass_readdirp_cbk, FIRST_CHILD (this), readdirp, fd, size, offset, xdata);
}

static void
pass_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    gf_dirent_t *copy = has (this, WRONG_NUMBER) ? dirents_copy (entries) : NULL;

    for (gf_dirent_t *entry = copy; entry; entry = entry->next)
        entry->d_ino++;
    STACK_UNWIND (readdirp, frame, op_ret, op_errno, copy ? copy : entries, xdata);
    dirents_free (copy);
}

static getxattr_cbk pass_getxattr_cbk;

static void
pass_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    if (has (this, OWN_KEY_ERRNO) && name && strcmp (name, "user.windlass.defect") == 0) {
        STACK_UNWIND (getxattr, frame, -1, -ENODATA, NULL, NULL);
        return;
    }
    STACK_WIND (frame, pass_getxattr_cbk, FIRST_CHILD (this), getxattr, loc, name, xdata);
}

static void
pass_getxattr_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, dict_t *dict, dict_t *xdata)
{
    if (has (this, DICT_LEAK) && dict)
        dict = dict_copy (dict);
    STACK_UNWIND (getxattr, frame, op_ret, op_errno, dict, xdata);
}

static mkdir_cbk pass_mkdir_cbk;

static void
pass_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
            dict_t *xdata)
{
    STACK_WIND (frame, pass_mkdir_cbk, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

static void
pass_mkdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
                inode_t *inode, struct iatt *buf, struct iatt *preparent, struct iatt *postparent,
                dict_t *xdata)
{
    struct iatt other = buf ? *buf : (struct iatt){ 0 };

    if (has (this, NEVER_ON_ERROR) && op_ret < 0)
        return;
    if (has (this, TWICE_ON_ERROR) && op_ret < 0)
        STACK_UNWIND (mkdir, frame, -1, op_errno, NULL, NULL, NULL, NULL, NULL);
    if (has (this, NEGATIVE_ERRNO) && op_ret < 0)
        op_errno = -op_errno;
    if (has (this, WRONG_INODE) && buf)
        other.ia_type = IA_IFREG;
    if (has (this, MADE_AND_REFUSED)) {
        STACK_UNWIND (mkdir, frame, -1, EROFS, NULL, NULL, NULL, NULL, NULL);
        return;
    }
    STACK_UNWIND (mkdir, frame, op_ret, op_errno, inode, buf ? &other : NULL, preparent, postparent,
                  xdata);
}

/* --- rename: the mistake shows only if it fails below while all is well above ----------------- */

static rename_cbk pass_rename_cbk;

static void
pass_rename (call_frame_t *frame, xlator_t *this, loc_t *oldloc, loc_t *newloc, uint32_t flags,
             dict_t *xdata)
{
    STACK_WIND (frame, pass_rename_cbk, FIRST_CHILD (this), rename, oldloc, newloc, flags, xdata);
}

static void
pass_rename_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                 int32_t op_errno, struct iatt *buf, struct iatt *preoldparent,
                 struct iatt *postoldparent, struct iatt *prenewparent, struct iatt *postnewparent,
                 dict_t *xdata)
{
    struct iatt nothing = { .ia_type = IA_IFREG };

    if (has (this, TWICE_ON_RENAME_ERROR) && op_errno == EIO)
        STACK_UNWIND (rename, frame, -1, EIO, NULL, NULL, NULL, NULL, NULL, NULL);
    if (has (this, RENAME_ERROR_SWALLOWED) && op_errno == EIO)
        STACK_UNWIND (rename, frame, 0, 0, &nothing, NULL, NULL, NULL, NULL, NULL);
    else
        STACK_UNWIND (rename, frame, op_ret, op_errno, buf, preoldparent, postoldparent,
                      prenewparent, postnewparent, xdata);
}

/* --- opendir: own work, after the answer, on another thread ----------------------------------- */

static opendir_cbk pass_opendir_cbk;
static fstat_cbk pass_work_cbk;

struct work {
    fd_t *fd;
    int left; /* calls */
};

static void
pass_opendir (call_frame_t *frame, xlator_t *this, loc_t *loc, fd_t *fd, dict_t *xdata)
{
    STACK_WIND (frame, pass_opendir_cbk, FIRST_CHILD (this), opendir, loc, fd, xdata);
}

static call_frame_t *
work_new (call_frame_t *like, xlator_t *this, fd_t *fd, int left)
{
    call_frame_t *frame = &stack_new_like (this, like)->frames[0];
    struct work *work = frame_local_new (frame, sizeof *work);

    *work = (struct work){ fd_ref (fd), left };
    return frame;
}

static void
work_done (call_frame_t *frame, xlator_t *this)
{
    const struct work *work = frame->local;

    fd_unref (work->fd);
    if (!has (this, REQUEST_LEAK))
        stack_done (frame->root);
}

/* Long after the caller of opendir has the answer. */
static void *
pass_work (void *data)
{
    call_frame_t *frame = data;
    const struct work *work = frame->local;

    g_usleep (20000);
    STACK_WIND (frame, pass_work_cbk, FIRST_CHILD (frame->this), fstat, work->fd, NULL);
    return NULL;
}

static void
work_begin (call_frame_t *frame)
{
    pthread_t thread;

    if (thread_new (&thread, "work", pass_work, frame) == 0)
        pthread_detach (thread);
    else
        work_done (frame, frame->this);
}

static void
pass_work_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
               struct iatt *buf, dict_t *xdata)
{
    const struct work *work = frame->local;
    call_frame_t *next = work->left > 0 ? work_new (frame, this, work->fd, work->left - 1) : NULL;

    work_done (frame, this);
    if (next)
        work_begin (next);
}

static void
pass_opendir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    const bool works = op_ret >= 0 && (has (this, WORKS_LATER) || has (this, REQUEST_LEAK));
    call_frame_t *work = works ? work_new (frame, this, fd, 2) : NULL;

    STACK_UNWIND (opendir, frame, op_ret, op_errno, fd, xdata);
    if (work)
        work_begin (work);
}

static int
pass_init (xlator_t *this)
{
    pass_private_t *priv = this->private;

    pthread_mutex_init (&priv->lock, NULL);
    pthread_rwlock_init (&priv->rwlock, NULL);
    pthread_spin_init (&priv->spin, PTHREAD_PROCESS_PRIVATE);
    return 0;
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "defects/pass",
    .about = "passes requests on, with a mistake",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (pass_private_t),
    .options = pass_options,
    .wants = WANTS_FD,
    .init = pass_init,
    .fops = {
        .stat = pass_stat,
        .fstat = pass_fstat,
        .open = pass_open,
        .opendir = pass_opendir,
        .readv = pass_readv,
        .writev = pass_writev,
        .readdir = pass_readdir,
        .readdirp = pass_readdirp,
        .getxattr = pass_getxattr,
        .mkdir = pass_mkdir,
        .rename = pass_rename,
    },
};
