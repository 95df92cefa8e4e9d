/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests that list directories. */
#include "fuse/ops/ops.h"

#include "core/base/process.h"
#include "core/edge/stack.h"
#include "fuse/kernel-cache.h"
#include "fuse/short-numbers.h"

#include <linux/fuse.h>

#define REPLY_MAX (1 << 20)
#define SEARCH_SIZE (128 << 10)

/* The most entries that a request passes over: 64 times what the table of short offsets keeps. It
 * is the end of storage's listing that has none. */
#define PASSED_MAX (16 << 20)

static readdir_cbk fuse_readdir_cbk;
static readdirp_cbk fuse_readdirp_cbk;
static readdir_cbk search_cbk;
static void readdir_wind (call_frame_t *frame, off_t offset);

static call_frame_t *
readdir_begin (fuse_req_t req, fuse_ino_t ino, enum fop op, size_t size, struct fuse_file_info *fi)
{
    call_frame_t *frame = request_begin (req, ino, op);
    struct fuse_local *local;

    if (!frame || !request_fd (frame, fi))
        return NULL;
    local = request_local (frame, NULL, NULL);
    local->fd = fd_ref (fd_meant (fi));
    local->size = MIN (size, REPLY_MAX);
    return frame;
}

/* --- entries that are not for the kernel ------------------------------------------------------ */

struct pass_work {
    struct work_item work;
    call_frame_t *frame;
    void (*wind) (call_frame_t *frame, off_t from);
    off_t from;
};

static void
say_endless (call_frame_t *frame, const char *why)
{
    struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;
    const bool said = __atomic_exchange_n (&bridge->said_endless, true, __ATOMIC_RELAXED);
    const gf_loglevel_t level = said ? GF_LOG_DEBUG : GF_LOG_WARNING;
    g_autofree char *path = NULL;

    if (!log_wants (frame->this, level))
        return;
    path = inode_path (local->fd->inode, NULL);
    gf_log (frame->this, level, "storage's listing of '%s' %s, so the caller gets EIO%s", path, why,
            said ? "" : "; the next such listing is logged at level DEBUG");
}

/* A caller that was killed would never read the answer, and storage can list without an end. */
static void
pass_run (struct work_item *work)
{
    g_autofree struct pass_work *pass = (struct pass_work *) work;
    const call_stack_t *root = pass->frame->root;

    stack_taken (pass->frame->root);
    if (stack_interrupted (pass->frame->root) && process_gives_up (root->pid))
        request_err (pass->frame, -1, EINTR);
    else
        pass->wind (pass->frame, pass->from);
}

/* Goes on after entries of which the kernel is told none. Does so on core/work, since the answer
 * may come within the wind. */
static void
pass_over (call_frame_t *frame, const gf_dirent_t *entries,
           void (*wind) (call_frame_t *frame, off_t from))
{
    struct fuse_local *local = frame->local;
    struct pass_work *pass;

    for (local->passed++; entries->next; local->passed++)
        entries = entries->next;
    if (entries->d_off == local->from || local->passed > PASSED_MAX) {
        say_endless (frame, local->passed > PASSED_MAX ? "has no end" : "does not advance");
        request_err (frame, -1, EIO);
        return;
    }
    pass = g_new (struct pass_work, 1);
    *pass = (struct pass_work){ { .run = pass_run }, frame, wind, entries->d_off };
    work_put (&pass->work);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns the entry with the hidden graph's name, in a listing of the root of the mount, or
 * NULL. */
static const gf_dirent_t *
find_hidden (call_frame_t *frame, const gf_dirent_t *entries)
{
    const struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    if (local->fd->inode != itable_root (bridge->graph->itable) || !bridge->hidden.graph)
        return NULL;
    while (entries && strcmp (entries->d_name, bridge->settings.meta_dir_name) != 0)
        entries = entries->next;
    return entries;
}

/* Returns whether the hidden entry is the only one: an answer without entries would end the
 * listing. */
static bool
is_alone (const gf_dirent_t *hidden, const gf_dirent_t *entries)
{
    return hidden && hidden == entries && !hidden->next;
}

/* Adds an entry to an answer. Returns its size, or 0 if there is no room. */
typedef size_t add_entry_fn (fuse_req_t req, char *buf, size_t left,
                             const struct fuse_local *local, const gf_dirent_t *entry);

/* Returns a buffer for the answer; NULL if the request was answered with an error. */
static struct iobuf *
answer_room (call_frame_t *frame, int32_t op_ret, int32_t op_errno)
{
    const struct fuse_local *local = frame->local;
    struct iobuf *room = op_ret < 0 ? NULL : iobuf_new (local->size);

    if (!room)
        request_err (frame, -1, op_ret < 0 ? op_errno : ENOMEM);
    return room;
}

/* Adds the entries that fit, and returns their size. The kernel asks for the rest, by the offset of
 * the last one. */
static size_t
add_entries (call_frame_t *frame, fuse_req_t req, char *buf, const gf_dirent_t *entries,
             add_entry_fn *add)
{
    const struct fuse_local *local = frame->local;
    const gf_dirent_t *hidden = find_hidden (frame, entries);
    size_t used = 0, size = 1;

    for (const gf_dirent_t *entry = entries; entry && size > 0; entry = entry->next) {
        if (entry == hidden)
            continue;
        size = add (req, buf + used, local->size - used, local, entry);
        used += size;
    }
    return used;
}

/* Returns the offset of an entry as the kernel gets it. */
static off_t
kernel_offset (const struct bridge *bridge, const inode_t *parent, const gf_dirent_t *entry)
{
    return bridge->short_numbers ? (off_t) short_offset (bridge->short_numbers,
                                                         inode_nodeid (parent),
                                                         (uint64_t) entry->d_off)
                                 : entry->d_off;
}

static size_t
add_entry (fuse_req_t req, char *buf, size_t left, const struct fuse_local *local,
           const gf_dirent_t *entry)
{
    const struct bridge *bridge = bridge_of (req);
    struct stat st = { .st_ino = kernel_ino (bridge, entry->d_ino),
                       .st_mode = DTTOIF (entry->d_type) };
    const size_t size = fuse_add_direntry (req, buf, left, entry->d_name, &st,
                                           kernel_offset (bridge, local->fd->inode, entry));

    return size > left ? 0 : size;
}

static void
fuse_readdir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                  int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    struct iobuf *room;
    fuse_req_t req;

    if (op_ret >= 0 && is_alone (find_hidden (frame, entries), entries)) {
        pass_over (frame, entries, readdir_wind);
        return;
    }
    room = answer_room (frame, op_ret, op_errno);
    if (!room)
        return;
    req = request_answer (frame);
    fuse_reply_buf (req, room->ptr, add_entries (frame, req, room->ptr, entries, add_entry));
    iobuf_unref (room);
    stack_done (frame->root);
}

/* Returns whether the kernel was told of the attributes lately enough to remember them for another
 * while: they cost storage several calls for each file, names none. Notes the listing if not. */
static bool
attributes_are_known (call_frame_t *frame, inode_t *directory)
{
    const struct bridge *bridge = frame->this->private;
    const double seconds = MIN (bridge->settings.attribute_timeout, bridge->settings.entry_timeout);
    const uint32_t now = (uint32_t) (frame->root->begin / 1000000);
    uint32_t *listed_at = &kernel_view (directory)->listed_at;
    const uint32_t age = now - __atomic_load_n (listed_at, __ATOMIC_RELAXED);

    if (age < MIN (seconds, 1) * 1000 / 2)
        return true;
    __atomic_store_n (listed_at, now, __ATOMIC_RELAXED);
    return false;
}

static bool
is_dot (const char *name)
{
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Adds an entry with its inode, which the kernel then knows; "." and "..", and files that vanished,
 * go without an inode. */
static size_t
add_entry_plus (fuse_req_t req, char *buf, size_t left, const struct fuse_local *local,
                const gf_dirent_t *entry)
{
    struct bridge *bridge = bridge_of (req);
    inode_t *parent = local->fd->inode;
    g_autoptr (inode_t) linked = NULL;
    struct fuse_entry_param param = { .attr = { .st_ino = kernel_ino (bridge, entry->d_ino),
                                                .st_mode = DTTOIF (entry->d_type) } };

    if (fuse_add_direntry_plus (req, NULL, 0, entry->d_name, &param, 0) > left)
        return 0;
    if (entry->inode && entry->d_stat.ia_type != IA_INVAL && !is_dot (entry->d_name)) {
        linked = inode_link_asked (entry->inode, parent, entry->d_name, &entry->d_stat,
                                   local->asked);
        kernel_entry (bridge, &param, linked, parent, &entry->d_stat);
        inode_lookup (linked);
    }
    return fuse_add_direntry_plus (req, buf, left, entry->d_name, &param,
                                   kernel_offset (bridge, parent, entry));
}

/* The kernel didn't take the answer, so it doesn't know the inodes in it. */
static void
forget_entries (struct itable *itable, const char *buf, size_t used)
{
    for (size_t at = 0; at < used;) {
        const struct fuse_direntplus *entry = (const void *) (buf + at);
        inode_t *inode = entry->entry_out.nodeid ? inode_of_nodeid (itable, entry->entry_out.nodeid)
                                                 : NULL;
        if (inode)
            inode_forget (inode, 1);
        at += FUSE_DIRENTPLUS_SIZE (entry);
    }
}

static void
fuse_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    const struct fuse_local *local = frame->local;
    struct iobuf *room;
    fuse_req_t req;
    size_t used;

    if (op_ret >= 0 && is_alone (find_hidden (frame, entries), entries)) {
        pass_over (frame, entries, readdir_wind);
        return;
    }
    room = answer_room (frame, op_ret, op_errno);
    if (!room)
        return;
    req = request_answer (frame);
    used = add_entries (frame, req, room->ptr, entries, add_entry_plus);
    if (fuse_reply_buf (req, room->ptr, used) < 0)
        forget_entries (local->fd->inode->table, room->ptr, used);
    iobuf_unref (room);
    stack_done (frame->root);
}

/* Lists from storage's offset on. A directory whose first files are known, which are all of a small
 * one, is listed without attributes. */
static void
readdir_wind (call_frame_t *frame, off_t offset)
{
    struct fuse_local *local = frame->local;
    fd_t *fd = local->fd;

    local->from = offset;
    if (frame->root->op == FOP_readdir)
        STACK_WIND (frame, fuse_readdir_cbk, FIRST_CHILD (frame->this), readdir, fd, local->size,
                    offset, NULL);
    else if (offset == 0 && attributes_are_known (frame, fd->inode))
        STACK_WIND (frame, fuse_readdirp_cbk, FIRST_CHILD (frame->this), readdir, fd, local->size,
                    offset, NULL);
    else
        STACK_WIND (frame, fuse_readdirp_cbk, FIRST_CHILD (frame->this), readdirp, fd, local->size,
                    offset, NULL);
}

/* --- an offset for 32-bit programs that is not in the table: fuse/short-numbers.h ------------- */

static void
search_wind (call_frame_t *frame, off_t from)
{
    struct fuse_local *local = frame->local;

    local->from = from;
    STACK_WIND (frame, search_cbk, FIRST_CHILD (frame->this), readdir, local->fd, SEARCH_SIZE, from,
                NULL);
}

/* Returns the entry after which the caller wants to continue, or NULL. */
static const gf_dirent_t *
search_entry (call_frame_t *frame, const gf_dirent_t *entries)
{
    const struct bridge *bridge = frame->this->private;
    const struct fuse_local *local = frame->local;

    while (entries
           && !short_offset_fits (bridge->short_numbers, (uint64_t) entries->d_off,
                                  (uint64_t) local->offset))
        entries = entries->next;
    if (entries)
        short_offset_put (bridge->short_numbers, inode_nodeid (local->fd->inode),
                          (uint64_t) entries->d_off, (uint64_t) local->offset);
    return entries;
}

static void
search_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
            gf_dirent_t *entries, dict_t *xdata)
{
    const gf_dirent_t *found = op_ret < 0 ? NULL : search_entry (frame, entries);

    if (found)
        readdir_wind (frame, found->d_off);
    else if (op_ret < 0 || !entries)
        request_err (frame, -1, op_ret < 0 ? op_errno : ENOENT);
    else
        pass_over (frame, entries, search_wind);
}

/* --- the kernel's requests -------------------------------------------------------------------- */

/* Takes a request from the offset that the kernel knows. */
static void
readdir_start (call_frame_t *frame, off_t given)
{
    const struct bridge *bridge = frame->this->private;
    struct fuse_local *local = frame->local;
    uint64_t offset = (uint64_t) given;

    if (!bridge->short_numbers
        || short_offset_find (bridge->short_numbers, inode_nodeid (local->fd->inode), offset,
                              &offset)) {
        readdir_wind (frame, (off_t) offset);
    } else if (offset > SHORT_OFFSET_MAX) {
        request_err (frame, -1, ENOENT); /* the caller didn't get it from a listing */
    } else {
        local->offset = given;
        search_wind (frame, 0);
    }
}

static void
fuse_readdir (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
    call_frame_t *frame = readdir_begin (req, ino, FOP_readdir, size, fi);

    if (frame)
        readdir_start (frame, offset);
}

static void
fuse_readdirplus (fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                  struct fuse_file_info *fi)
{
    call_frame_t *frame = readdir_begin (req, ino, FOP_readdirp, size, fi);

    if (frame)
        readdir_start (frame, offset);
}

void
dir_handlers (struct fuse_lowlevel_ops *ops)
{
    ops->readdir = fuse_readdir;
    ops->readdirplus = fuse_readdirplus;
}
