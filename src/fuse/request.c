/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How a request of the kernel becomes a call_stack, and how it is answered. */
#include "fuse/request.h"

#include "core/base/errors.h"
#include "core/base/name.h"
#include "core/realm/passthrough.h"
#include "core/report/failures.h"
#include "core/report/probe.h"
#include "fuse/groups.h"
#include "fuse/kernel-cache.h"
#include "fuse/move/old-graphs.h"
#include "fuse/passthrough.h"
#include "fuse/threads/dying.h"
#include "fuse/threads/interrupt.h"
#include "fuse/threads/threads.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define UNKNOWN_ID ((uid_t) -1) /* stands for an id that an idmapped mount can't map */

static bool
op_makes (enum fop op)
{
    return op == FOP_mknod || op == FOP_mkdir || op == FOP_symlink || op == FOP_create
        || op == FOP_tmpfile;
}

/* Returns whether the operation may be one that must be done even if its caller is gone.
 * call_stub_is_owed knows the arguments of a call, but not the mount. So here all of lk and flock
 * pass, since an unlock can't be told from a lock yet; and a setattr passes only with the writeback
 * cache, since only then does the kernel send times that it has cached. */
static bool
op_is_owed (const struct bridge *bridge, enum fop op)
{
    return op == FOP_flush || op == FOP_lk || op == FOP_flock
        || (op == FOP_setattr && bridge->terms.writeback);
}

/* Returns the error for a request that is refused at once, or 0. A new inode needs an owner, so a
 * caller without a known id can't create one. ops/open.c and ops/ioctl.c, which know flags and
 * command, refuse what open and ioctl may not do in a read-only mount. */
static int
request_refused (struct bridge *bridge, const struct fuse_ctx *ctx, fuse_ino_t about, enum fop op)
{
    if (G_UNLIKELY (__atomic_load_n (&bridge->dying.until, __ATOMIC_RELAXED))
        && !op_is_owed (bridge, op) && dying_is_next (bridge, about, ctx->pid))
        return EINTR;
    if (G_UNLIKELY (bridge->settings.read_only) && fop_changes (op, 0) && !(about & INODE_BESIDE))
        return EROFS;
    if (G_UNLIKELY (ctx->uid == UNKNOWN_ID || ctx->gid == UNKNOWN_ID)
        && (op_makes (op) || !bridge->terms.idmapped))
        return EOVERFLOW;
    return 0;
}

bool
request_is_anonymous (fuse_req_t req)
{
    return fuse_req_ctx (req)->uid == UNKNOWN_ID;
}

/* If the kernel doesn't tell the caller's ids, it has checked the caller's rights: the daemon acts
 * as itself. */
static void
act_as_caller (call_stack_t *root, const struct fuse_ctx *ctx)
{
    root->uid = ctx->uid == UNKNOWN_ID ? geteuid () : ctx->uid;
    root->gid = ctx->gid == UNKNOWN_ID ? getegid () : ctx->gid;
}

void
request_act_as_caller (call_frame_t *frame)
{
    act_as_caller (frame->root, fuse_req_ctx (frame->root->maker.asked));
}

void
request_act_as_daemon (call_frame_t *frame)
{
    frame->root->uid = geteuid ();
    frame->root->gid = getegid ();
}

bool
request_acts_as_daemon (const call_frame_t *frame)
{
    return frame->root->uid == geteuid ();
}

call_frame_t *
request_begin (fuse_req_t req, fuse_ino_t about, enum fop op)
{
    struct bridge *bridge = bridge_of (req);
    const struct fuse_ctx *ctx = fuse_req_ctx (req);
    int error = request_refused (bridge, ctx, about, op);
    call_stack_t *root;

    if (error) {
        fuse_reply_err (req, error);
        return NULL;
    }
    probe_look (op);
    root = stack_new (bridge->entrances[about >> 63]);
    root->op = op;
    act_as_caller (root, ctx);
    root->pid = ctx->pid;
    root->umask = ctx->umask;
    root->checked = bridge->terms.checks_all || (root->uid == 0 && bridge->terms.is_root);
    root->find_groups = groups_find;
    root->times = bridge->terms.times;
    root->about = about;
    root->maker.asked = req;
    root->maker.number = message_number ();
    root->maker.lent_inodes[0] = root->maker.lent_inodes[1] = NULL;
    root->maker.lent_fds[0] = root->maker.lent_fds[1] = NULL;
    if (G_UNLIKELY (message_group () != NO_GROUP))
        groups_add (root, message_group ());
    return &root->frames[0];
}

struct fuse_local *
request_local (call_frame_t *frame, const char *name, const char *new_name)
{
    size_t size = name ? strlen (name) + 1 : 0;
    size_t new_size = new_name ? strlen (new_name) + 1 : 0;
    struct fuse_local *local = frame_local_new (frame, sizeof *local + size + new_size);

    local->asked = names_now ();
    if (name)
        local->name = memcpy (local->text, name, size);
    if (new_name)
        local->new_name = memcpy (local->text + size, new_name, new_size);
    return local;
}

void
request_local_drop (xlator_t *this, void *data)
{
    struct fuse_local *local = data;

    inode_unref (local->inode);
    inode_unref (local->other);
    fd_unref (local->fd);
    iobref_unref (local->iobref);
}

fuse_req_t
request_answer (call_frame_t *frame)
{
    fuse_req_t req = frame->root->maker.asked;

    /* Waits while another thread handles an interrupt of this request, which uses root. */
    fuse_req_interrupt_func (req, NULL, NULL);
    return req;
}

void
request_err_at (call_frame_t *frame, int op_ret, int op_errno, const struct call_site *site)
{
    fuse_req_t req = request_answer (frame);
    int error = 0;

    /* The kernel accepts no other numbers, and a failure without an errno must not look like
     * success. */
    if (op_ret < 0)
        error = error_is_known (op_errno) ? op_errno : EIO;
    if (op_ret < 0 && !error_is_known (op_errno))
        failure_warn_odd (frame->root);
    if (error && failure_is_notable (frame->root->op, error))
        failure_note (frame->root, error, site);
    fuse_reply_err (req, error);
    stack_done (frame->root);
}

void
request_attr (call_frame_t *frame, const struct iatt *iatt)
{
    fuse_req_t req = request_answer (frame);
    struct stat st;

    kernel_stat (bridge_of (req), &st, iatt);
    kernel_note_mode (bridge_of (req), frame->root->about, iatt);
    fuse_reply_attr (req, &st,
                     kernel_attribute_timeout (bridge_of (req), frame->root->about, iatt));
    stack_done (frame->root);
}

/* Uses a new inode if the name stands for another file than the one that inode was asked about. */
inode_t *
request_link (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
              const struct iatt *iatt)
{
    const struct fuse_local *local = frame->local;
    g_autoptr (inode_t) fresh = NULL;

    if (!gfid_is_null (&inode->gfid) && !gfid_equal (&inode->gfid, &iatt->ia_gfid))
        inode = fresh = inode_new (inode->table);
    return inode_link_asked (inode, parent, name, iatt,
                             frame->root->op == FOP_lookup ? local->asked : UINT64_MAX);
}

void
request_entry (call_frame_t *frame, inode_t *inode, inode_t *parent, const char *name,
               const struct iatt *iatt)
{
    fuse_req_t req = request_answer (frame);
    struct fuse_entry_param entry;
    inode_t *linked = request_link (frame, inode, parent, name, iatt);

    kernel_entry (bridge_of (req), &entry, linked, parent, iatt);
    inode_lookup (linked);
    if (fuse_reply_entry (req, &entry) < 0)
        inode_forget (linked, 1); /* the caller was killed, so the kernel didn't take the answer */
    inode_unref (linked);
    stack_done (frame->root);
}

void
request_fd_keep (struct bridge *bridge, fd_t *fd)
{
    pthread_mutex_lock (&bridge->fds_lock);
    g_hash_table_add (bridge->fds, fd_ref (fd));
    old_graph_count_locked (bridge, fd, 1);
    pthread_mutex_unlock (&bridge->fds_lock);
    kernel_note_open (fd, 1);
}

void
request_fd_release (struct bridge *bridge, fd_t *fd)
{
    bool had;

    pthread_mutex_lock (&bridge->fds_lock);
    had = g_hash_table_remove (bridge->fds, fd);
    if (had)
        old_graph_count_locked (bridge, fd, -1);
    pthread_mutex_unlock (&bridge->fds_lock);
    if (!had)
        return;
    kernel_note_open (fd, -1);
    passthrough_release (bridge, fd);
    fd_unref (fd);
}

bool
request_fd_to_write (struct bridge *bridge, const inode_t *inode)
{
    GHashTableIter iter;
    gpointer fd;
    bool found = false;

    pthread_mutex_lock (&bridge->fds_lock);
    g_hash_table_iter_init (&iter, bridge->fds);
    while (!found && g_hash_table_iter_next (&iter, &fd, NULL))
        found = ((fd_t *) fd)->inode == inode && (((fd_t *) fd)->flags & O_ACCMODE) != O_RDONLY;
    pthread_mutex_unlock (&bridge->fds_lock);
    return found;
}

unsigned
bridge_count_open (struct bridge *bridge)
{
    unsigned n;

    pthread_mutex_lock (&bridge->fds_lock);
    n = g_hash_table_size (bridge->fds);
    pthread_mutex_unlock (&bridge->fds_lock);
    return n;
}

void
bridge_foreach_open (struct bridge *bridge, void (*fn) (fd_t *fd, void *data), void *data)
{
    GHashTableIter iter;
    gpointer fd;

    pthread_mutex_lock (&bridge->fds_lock);
    g_hash_table_iter_init (&iter, bridge->fds);
    while (g_hash_table_iter_next (&iter, &fd, NULL))
        fn (fd_now (fd), data);
    pthread_mutex_unlock (&bridge->fds_lock);
}

/* Drops the fds that are still open when the mount ends. Translators may have to finish work for
 * each. */
void
request_fds_release (struct bridge *bridge)
{
    g_autoptr (GList) fds = g_hash_table_get_keys (bridge->fds);

    g_hash_table_remove_all (bridge->fds);
    for (GList *at = fds; at; at = at->next)
        fd_unref (at->data);
}

/* Returns whether from xl down only storage would see a flush, or a translator that is asked at
 * each open. */
static bool
flush_is_storage_only (const xlator_t *xl)
{
    const xlator_t *to = xl->routes.flush.to;
    const xlator_list_t *child = to->children;

    if (child && !opset_has (to->api->forwards, FOP_flush) && !to->api->passthrough.sees_flush)
        return false;
    while (child && flush_is_storage_only (child->xlator))
        child = child->next;
    return !child;
}

bool
request_spares_flush (const struct bridge *bridge)
{
    return !bridge->terms.locks && flush_is_storage_only (bridge->graph->top);
}

static void
fill_open (call_frame_t *frame, struct fuse_file_info *fi, fd_t *fd, bool directory)
{
    struct bridge *bridge = frame->this->private;
    const bool hidden = request_is_hidden (frame); /* its files have size 0, whatever they
                                                    * contain */

    fi->fh = (uintptr_t) fd;
    if (directory) {
        fi->cache_readdir = fi->keep_cache = bridge->settings.exclusive && !hidden
                                          && !inode_is_unkept (fd->inode);
        return;
    }
    fi->keep_cache = bridge->terms.keep_cache && !hidden && kernel_may_keep_pages (fd->inode);
    fi->direct_io = bridge->terms.direct_io || hidden
                 || passthrough_sees_each (bridge->graph->top, fd->inode)
                 || (bridge->terms.direct_opens && fi->flags & O_DIRECT);
    fi->noflush = request_spares_flush (bridge)
               && ((fi->flags & O_ACCMODE) == O_RDONLY || fd->closes_silently)
               && !passthrough_sees_flush (bridge->graph->top, fd->inode);
#ifdef HAVE_STRUCT_FUSE_FILE_INFO_PARALLEL_DIRECT_WRITES
    fi->parallel_direct_writes = 1;
#endif
    if (!hidden)
        passthrough_open (bridge, frame, fd, fi);
    fd->unflushed = fi->noflush;
}

void
request_open (call_frame_t *frame, fd_t *fd, bool directory)
{
    fuse_req_t req = request_answer (frame);
    struct bridge *bridge = bridge_of (req);
    struct fuse_local *local = frame->local;

    request_fd_keep (bridge, fd);
    fill_open (frame, &local->fi, fd, directory);
    if (local->fi.flags & O_TRUNC)
        kernel_forget_mode (bridge, fd->inode);
    if (fuse_reply_open (req, &local->fi) < 0)
        request_fd_release (bridge, fd);
    stack_done (frame->root);
}

void
request_create (call_frame_t *frame, fd_t *fd, inode_t *inode, inode_t *parent, const char *name,
                const struct iatt *iatt)
{
    fuse_req_t req = request_answer (frame);
    struct bridge *bridge = bridge_of (req);
    struct fuse_local *local = frame->local;
    struct fuse_entry_param entry;
    inode_t *linked = request_link (frame, inode, parent, name, iatt);

    fd_adopt (fd, linked);
    kernel_entry (bridge, &entry, linked, parent, iatt);
    inode_lookup (linked);
    request_fd_keep (bridge, fd);
    fill_open (frame, &local->fi, fd, false);
    if (fuse_reply_create (req, &entry, &local->fi) < 0) {
        inode_forget (linked, 1);
        request_fd_release (bridge, fd);
    }
    inode_unref (linked);
    stack_done (frame->root);
}

/* Record the inodes and fds that the kernel lends, and make the request interruptible. A request
 * with two of them becomes interruptible at the first and is complete at the second. */
static void
lend_inode (call_stack_t *root, inode_t *inode)
{
    root->maker.lent_inodes[root->maker.lent_inodes[0] ? 1 : 0] = inode;
    fuse_req_interrupt_func (root->maker.asked, interrupt_request, root);
}

static void
lend_fd (call_stack_t *root, fd_t *fd)
{
    root->maker.lent_fds[root->maker.lent_fds[0] ? 1 : 0] = fd;
    fuse_req_interrupt_func (root->maker.asked, interrupt_request, root);
}

/* Returns EXDEV if the number belongs to the other graph than the request, as in a link or rename
 * between the two graphs. */
static int
unknown_error (const call_frame_t *frame, fuse_ino_t ino)
{
    return (ino ^ frame->root->about) & INODE_BESIDE ? EXDEV : ESTALE;
}

bool
request_loc_inode (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t ino)
{
    inode_t *inode = inode_of_nodeid (frame->this->graph->itable, ino);
    xlator_t *entrance;

    if (!inode) {
        request_err (frame, -1, unknown_error (frame, ino));
        return false;
    }
    entrance = old_graph_entrance (frame->this->private, inode);
    if (G_UNLIKELY (entrance))
        frame->this = entrance;
    *ret_loc = (loc_t){ .inode = inode };
    lend_inode (frame->root, inode);
    return true;
}

/* Returns 0, or the errno for an invalid name. */
static int
name_error (const char *name)
{
    if (!name[0] || strchr (name, '/') || name_is_dots (name))
        return EINVAL;
    return strnlen (name, NAME_MAX + 1) > NAME_MAX ? ENAMETOOLONG : 0;
}

bool
request_loc_entry (call_frame_t *frame, loc_t *ret_loc, fuse_ino_t parent, const char *name)
{
    inode_t *inode = inode_of_nodeid (frame->this->graph->itable, parent);
    int error = inode ? name_error (name) : unknown_error (frame, parent);

    if (!error && name_is_hidden (frame->this->private, parent, name))
        error = EPERM; /* the hidden directory can't be created, removed or renamed */
    if (error) {
        request_err (frame, -1, error);
        return false;
    }
    *ret_loc = (loc_t){ .parent = inode, .name = name };
    lend_inode (frame->root, inode);
    return true;
}

call_frame_t *
request_begin_entry (fuse_req_t req, enum fop op, fuse_ino_t parent, const char *name,
                     loc_t *ret_loc)
{
    call_frame_t *frame = request_begin (req, parent, op);

    if (!frame || !request_loc_entry (frame, ret_loc, parent, name))
        return NULL;
    request_local (frame, name, NULL)->parent = ret_loc->parent;
    return frame;
}

fd_t *
fd_given (const struct fuse_file_info *fi)
{
    fd_t *fd = fi ? (fd_t *) (uintptr_t) fi->fh : NULL;

    return fd && fd->magic == FD_MAGIC ? fd : NULL;
}

fd_t *
fd_meant (const struct fuse_file_info *fi)
{
    fd_t *fd = fd_given (fi);

    return fd ? fd_now (fd) : NULL;
}

fd_t *
request_fd (call_frame_t *frame, const struct fuse_file_info *fi)
{
    fd_t *fd = fd_meant (fi);

    if (!fd) {
        request_err (frame, -1, EBADF);
        return NULL;
    }
    if (G_UNLIKELY (fd->data != frame->this->graph))
        frame->this = bridge_entrance (frame->this->private, fd->data);
    lend_fd (frame->root, fd);
    return fd;
}
