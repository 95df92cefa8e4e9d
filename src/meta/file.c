/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Open files of .meta. */
#include "meta/internal.h"

#include <fcntl.h>
#include <unistd.h>

#define VALUE_MAX 256 /* bytes of a write; all valid values are shorter */
#define SHOWN_MAX 64  /* characters of an invalid value in the log */

struct meta_open *
meta_open_get (xlator_t *this, fd_t *fd)
{
    return fd_ctx_get (fd, this);
}

void
meta_release (xlator_t *this, fd_t *fd)
{
    struct meta_open *open = meta_open_get (this, fd);

    if (!open)
        return;
    if (open->text)
        g_string_free (open->text, TRUE);
    if (open->entries)
        g_ptr_array_unref (open->entries);
    g_free (open);
}

/* Returns 0 or an errno. */
static int
open_file (call_frame_t *frame, const struct meta_inode *mi, uint32_t flags, fd_t *fd)
{
    const int mode = flags & O_ACCMODE;
    const int mask = (mode == O_WRONLY ? 0 : R_OK)
                   | (mode == O_RDONLY && !(flags & O_TRUNC) ? 0 : W_OK);
    int error = meta_access_error (frame, mi, mask);
    g_autoptr (GString) text = NULL;
    struct meta_open *open;
    int r = 0;

    if (error)
        return error;
    if (mi->node.kind->type != IA_IFREG)
        return EINVAL;
    if (mask & R_OK) {
        text = g_string_new (NULL);
        r = mi->node.kind->show (meta_of (frame->this), &mi->node, text);
    }
    if (r < 0)
        return -r;
    open = g_new0 (struct meta_open, 1);
    open->text = g_steal_pointer (&text);
    fd_ctx_set (fd, frame->this, open);
    return 0;
}

void
meta_open (call_frame_t *frame, xlator_t *this, loc_t *loc, uint32_t flags, fd_t *fd, dict_t *xdata)
{
    int error = open_file (frame, meta_inode_get (this, loc->inode), flags, fd);

    STACK_UNWIND (open, frame, error ? -1 : 0, error, error ? NULL : fd, NULL);
}

void
meta_readv (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
            uint32_t flags, dict_t *xdata)
{
    const struct meta_open *open = meta_open_get (this, fd);
    const GString *text = open ? open->text : NULL;
    /* Once the kernel has the answer, the file may be closed. */
    G_GNUC_UNUSED g_autoptr (fd_t) keep = fd_ref (fd);
    size_t from = text && offset >= 0 ? MIN ((size_t) offset, text->len) : 0;
    struct iovec vector = { NULL, text ? MIN (size, text->len - from) : 0 };
    struct iatt buf;

    if (!text) {
        STACK_UNWIND (readv, frame, -1, EBADF, NULL, 0, NULL, NULL, NULL);
        return;
    }
    vector.iov_base = text->str + from; /* without an iobref: a translator that keeps the answer
                                           copies it */
    buf = meta_iatt (this, meta_inode_get (this, fd->inode));
    STACK_UNWIND (readv, frame, (int32_t) vector.iov_len, 0, &vector, 1, &buf, NULL, NULL);
}

/* --- writing -------------------------------------------------------------------------------- */

/* Extracts one line, with or without its newline. Returns false if the data can't be a value. */
static bool
value_of (const struct iovec *vector, int32_t count, char ret_value[VALUE_MAX + 1])
{
    size_t size = iov_unload (ret_value, VALUE_MAX, vector, count);

    ret_value[size] = '\0';
    if (iov_length (vector, count) > VALUE_MAX || strlen (ret_value) != size)
        return false;
    g_strchomp (ret_value);
    return true;
}

/* Returns 0 or a negative errno. Both results are logged, with the caller. */
static int
set_value (call_frame_t *frame, fd_t *fd, const struct meta_inode *mi, const struct iovec *vector,
           int32_t count)
{
    const struct meta *meta = meta_of (frame->this);
    g_autoptr (GString) allowed = g_string_new (NULL);
    g_autofree char *path = inode_path (fd->inode, NULL), *shown = NULL;
    char value[VALUE_MAX + 1];
    int r = -EINVAL;

    if (value_of (vector, count, value))
        r = mi->node.kind->set (meta, &mi->node, value, allowed);
    else
        g_string_append_printf (allowed,
                                "must be one line of at most %d bytes without NUL, not %zu bytes",
                                VALUE_MAX, iov_length (vector, count));
    shown = g_strescape (value, NULL);
    if (r < 0)
        gf_log (frame->this, GF_LOG_WARNING,
                "'%s' %s, got '%.*s' from process %d of user %u; nothing was changed", path,
                allowed->str, SHOWN_MAX, shown, frame->root->pid, frame->root->uid);
    else
        gf_log (frame->this, GF_LOG_INFO, "'%s' is '%s' now, by process %d of user %u", path, value,
                frame->root->pid, frame->root->uid);
    return r;
}

void
meta_writev (call_frame_t *frame, xlator_t *this, fd_t *fd, struct iovec *vector, int32_t count,
             off_t offset, uint32_t flags, struct iobref *iobref, dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, fd->inode);
    struct iatt buf = meta_iatt (this, mi);
    int r = -EBADF;

    if (meta_is_gone (meta_of (this), &mi->node))
        r = -ESTALE; /* with the graph that the translator was in */
    else if (mi->node.kind->set)
        r = set_value (frame, fd, mi, vector, count);
    if (r < 0)
        STACK_UNWIND (writev, frame, -1, -r, NULL, NULL, NULL);
    else
        STACK_UNWIND (writev, frame, (int32_t) iov_length (vector, count), 0, &buf, &buf, NULL);
}

/* A shell's > truncates; there is nothing to truncate. */
void
meta_truncate (call_frame_t *frame, xlator_t *this, loc_t *loc, off_t offset, dict_t *xdata)
{
    const struct meta_inode *mi = meta_inode_get (this, loc->inode);
    int error = meta_access_error (frame, mi, W_OK);
    struct iatt buf;

    if (error) {
        STACK_UNWIND (truncate, frame, -1, error, NULL, NULL, NULL);
        return;
    }
    buf = meta_iatt (this, mi);
    STACK_UNWIND (truncate, frame, 0, 0, &buf, &buf, NULL);
}

void
meta_ftruncate (call_frame_t *frame, xlator_t *this, fd_t *fd, off_t offset, dict_t *xdata)
{
    struct iatt buf = meta_iatt (this, meta_inode_get (this, fd->inode));

    STACK_UNWIND (ftruncate, frame, 0, 0, &buf, &buf, NULL);
}
