/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Applies operations to the model, and compares the recorded answer of each with the model's
 * answer. This file has the operations on files, apply-names.c those on names. */
#include "conform/history/model.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/xattr.h>

/* --- judging one answer --------------------------------------------------------------------- */

static void G_GNUC_PRINTF (2, 3)
judge_wrong (struct judge *judge, const char *format, ...)
{
    va_list args;

    if (judge->expected && !judge->wrong) {
        va_start (args, format);
        g_string_append_vprintf (judge->expected, format, args);
        va_end (args);
    }
    judge->wrong = true;
}

bool
judge_goes_on (struct judge *judge, int want, bool reachable)
{
    const int is = judge->seen->ret < 0 ? judge->seen->err : 0;

    if (judge->seen->refused)
        return false;
    if (judge->unseen)
        return want == 0;
    if (is == want)
        return want == 0;
    if (!reachable && (is == ESTALE || is == ENOENT))
        return false;
    if (want)
        judge_wrong (judge, "it fails: %s", g_strerror (want));
    else
        judge_wrong (judge, "it succeeds");
    return false;
}

void
judge_number (struct judge *judge, const char *what, int64_t is, int64_t want)
{
    if (!judge->unseen && is != want)
        judge_wrong (judge, "%s is %" G_GINT64_FORMAT, what, want);
}

/* Returns up to twelve of the bytes, beginning at the offset `from`, as text for an error
 * message. */
static char *
excerpt (GBytes *bytes, size_t from)
{
    gsize size;
    const char *data = g_bytes_get_data (bytes, &size);
    g_autofree char *part = size > from ? g_strndup (data + from, MIN (size - from, 12))
                                        : g_strdup ("");

    for (size_t i = 0; size > from && i < MIN (size - from, 12); i++)
        part[i] = data[from + i] ? data[from + i] : '.';
    g_autofree char *safe = g_strescape (part, NULL);
    return g_strdup_printf ("'%s'%s", safe, size > from + 12 ? "..." : "");
}

void
judge_bytes (struct judge *judge, const char *what, GBytes *is, GBytes *want)
{
    gsize n, m, same = 0;
    const char *a = is ? g_bytes_get_data (is, &n) : NULL, *b = g_bytes_get_data (want, &m);

    if (judge->unseen || (is && g_bytes_equal (is, want)))
        return;
    if (!is)
        n = 0;
    while (same < n && same < m && a[same] == b[same])
        same++;
    g_autofree char *should = excerpt (want, same),
                    *instead = is ? excerpt (is, same) : g_strdup ("nothing");
    judge_wrong (judge, "of %s, %zu bytes, number %zu and on are %s, not %s", what, m, same, should,
                 instead);
}

/* A link in the trash counts, also after a link(2) that has overtaken the removal gave the file
 * another name; until the entry is made. */
static void
judge_nlink (struct judge *judge, const struct model_node *node)
{
    const unsigned nlink = judge->seen->iatt.ia_nlink;

    if (node->stored > 0 && nlink == (unsigned) node->stored)
        return;
    if (judge->seen->keeps_removed && node->kept
        && (node->nlink == 0 || nlink == (unsigned) node->nlink + 1))
        return;
    judge_number (judge, "its number of names", nlink, node->nlink);
}

void
judge_iatt (struct judge *judge, int number)
{
    const struct model_node *node = model_node (judge->model, number);
    const struct iatt *iatt = &judge->seen->iatt;

    if (judge->unseen || !judge->seen->has_iatt || !node)
        return;
    judge_number (judge, "its type", iatt->ia_type, node->type);
    if (node->type != IA_IFLNK)
        judge_number (judge, "its mode", iatt->ia_prot, node->mode);
    if (node->type == IA_IFDIR)
        return;
    judge_number (judge, "its size", iatt->ia_size, g_bytes_get_size (node->bytes));
    judge_nlink (judge, node);
    if (node->mtime > 0)
        judge_number (judge, "its mtime", iatt->ia_mtime, node->mtime);
    else if (node->mtime == TIME_MOVED && iatt->ia_mtime < 100000)
        judge_wrong (judge, "its mtime is later");
}

/* An operation that got an error may have made the file all the same. The file has a provisional
 * number in the model then, since no answer had its gfid. When an answer shows the file for the
 * first time, the file gets the number of its gfid. */
void
judge_found (struct judge *judge, int number)
{
    const int found = judge->seen->found;
    const struct model_node *node = model_node (judge->model, number);

    if (judge->unseen)
        return;
    if (found != number && node && node->unseen && model_is_dead (judge->model, found)) {
        model_renumber (judge->model, number, found);
        model_change (judge->model, found)->unseen = false;
        number = found;
    }
    judge_number (judge, "the file's number", found, number);
    judge_iatt (judge, number);
}

/* --- bytes ---------------------------------------------------------------------------------- */

void
node_resize (struct model_node *node, size_t size)
{
    gsize old;
    char *bytes = g_bytes_unref_to_data (g_steal_pointer (&node->bytes), &old);

    bytes = g_realloc (bytes, MAX (size, 1));
    if (size > old)
        memset (bytes + old, 0, size - old);
    node->bytes = g_bytes_new_take (bytes, size);
}

void
node_put (struct model_node *node, const void *from, off_t offset, size_t size)
{
    gsize old;
    char *bytes;

    if (g_bytes_get_size (node->bytes) < offset + size)
        node_resize (node, offset + size);
    bytes = g_bytes_unref_to_data (g_steal_pointer (&node->bytes), &old);
    if (from)
        memcpy (bytes + offset, from, size);
    else
        memset (bytes + offset, 0, size);
    node->bytes = g_bytes_new_take (bytes, old);
}

GBytes *
node_get (const struct model_node *node, off_t offset, size_t size)
{
    const size_t whole = g_bytes_get_size (node->bytes);

    if (offset < 0 || (size_t) offset >= whole)
        return g_bytes_new_static ("", 0);
    return g_bytes_new_from_bytes (node->bytes, offset, MIN (size, whole - offset));
}

/* --- open files ----------------------------------------------------------------------------- */

static bool
may_read (const struct model_fd *fd)
{
    return fd && (fd->flags & O_ACCMODE) != O_WRONLY;
}

static bool
may_write (const struct model_fd *fd)
{
    return fd && (fd->flags & O_ACCMODE) != O_RDONLY;
}

/* Judges the result of an operation that writes through an fd: it must be EBADF if the fd is not
 * open for writing, and else a success. Returns the fd's file, which the caller may change, or NULL
 * if the operation does not change the model. */
static struct model_node *
written_node (struct judge *judge)
{
    const struct model_fd *fd = model_fd (judge->model, judge->seen->fd);

    if (!judge_goes_on (judge, may_write (fd) ? 0 : EBADF, true))
        return NULL;
    return model_change (judge->model, fd->node);
}

static void
apply_open (struct judge *judge)
{
    const struct operation *seen = judge->seen;

    if (!judge_goes_on (judge, 0, !model_is_dead (judge->model, seen->node)))
        return;
    if (!model_node (judge->model, seen->node)) { /* no command has detached it yet */
        judge_number (judge, "there is no such file; its number", seen->node, -1);
        return;
    }
    if (!judge->unseen)
        model_open (judge->model, seen->fd, seen->node, seen->flags);
    if (!(seen->flags & O_TRUNC))
        return;
    struct model_node *node = model_change (judge->model, seen->node);
    node->mtime = g_bytes_get_size (node->bytes) ? TIME_MOVED : TIME_UNKNOWN;
    node_resize (node, 0);
}

static void
apply_readv (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_fd *fd = model_fd (judge->model, seen->fd);

    if (!judge_goes_on (judge, may_read (fd) ? 0 : EBADF, true))
        return;
    g_autoptr (GBytes)
        want = node_get (model_node (judge->model, fd->node), seen->offset, seen->size);
    if (g_bytes_get_size (want) || seen->ret > 0)
        judge_bytes (judge, "what it reads", seen->data, want);
    judge_number (judge, "its result", seen->ret, g_bytes_get_size (want));
    judge_iatt (judge, fd->node);
}

static void
apply_writev (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    struct model_node *node = written_node (judge);
    const size_t size = g_bytes_get_size (seen->bytes);
    off_t offset = seen->offset;

    if (!node)
        return;
    judge_number (judge, "its result", seen->ret, size);
    if (model_fd (judge->model, seen->fd)->flags & O_APPEND)
        offset = g_bytes_get_size (node->bytes);
    if (size == 0)
        return;
    node_put (node, g_bytes_get_data (seen->bytes, NULL), offset, size);
    node->mtime = TIME_MOVED;
}

static void
node_set_size (struct model_node *node, size_t size)
{
    node->mtime = g_bytes_get_size (node->bytes) == size ? TIME_UNKNOWN : TIME_MOVED;
    node_resize (node, size);
}

static void
apply_truncate (struct judge *judge)
{
    const struct operation *seen = judge->seen;

    if (judge_goes_on (judge, 0, !model_is_dead (judge->model, seen->node))
        && model_node (judge->model, seen->node))
        node_set_size (model_change (judge->model, seen->node), seen->offset);
}

static void
apply_ftruncate (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_fd *fd = model_fd (judge->model, seen->fd);

    if (judge_goes_on (judge, may_write (fd) ? 0 : EINVAL, true)) /* EINVAL as in ftruncate(2) */
        node_set_size (model_change (judge->model, fd->node), seen->offset);
}

static void
apply_fallocate (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    struct model_node *node = written_node (judge);
    const size_t end = seen->offset + seen->size;

    if (!node)
        return;
    if (!(seen->flags & FALLOC_FL_KEEP_SIZE) && end > g_bytes_get_size (node->bytes))
        node_resize (node, end);
    node->mtime = TIME_UNKNOWN;
}

static void
apply_discard (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    struct model_node *node = written_node (judge);

    if (!node)
        return;
    const size_t whole = g_bytes_get_size (node->bytes);
    if ((size_t) seen->offset < whole)
        node_put (node, NULL, seen->offset, MIN (seen->size, whole - seen->offset));
    node->mtime = TIME_UNKNOWN;
}

static void
apply_zerofill (struct judge *judge)
{
    struct model_node *node = written_node (judge);

    if (!node)
        return;
    node_put (node, NULL, judge->seen->offset, judge->seen->size);
    node->mtime = TIME_UNKNOWN;
}

static int
copy_error (const struct operation *seen, const struct model_fd *from, const struct model_fd *to,
            size_t there)
{
    if (!may_read (from) || !may_write (to) || to->flags & O_APPEND)
        return EBADF;
    if (from->node == to->node && there && seen->offset < (off_t) (seen->offset_out + there) &&
        seen->offset_out < (off_t) (seen->offset + there))
        return EINVAL;
    return 0;
}

/* copy_file_range may copy fewer bytes than were asked for, but at least one if the file has bytes
 * in the range. */
static void
apply_copy (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_fd *from = model_fd (judge->model, seen->fd),
                          *to = model_fd (judge->model, seen->fd_out);
    g_autoptr (GBytes) bytes =
        from ? node_get (model_node (judge->model, from->node), seen->offset, seen->size) : NULL;
    size_t there = bytes ? g_bytes_get_size (bytes) : 0;

    if (!judge_goes_on (judge, copy_error (seen, from, to, there), true))
        return;
    if (!judge->unseen && seen->ret > 0 && (size_t) seen->ret < there)
        there = seen->ret;
    judge_number (judge, "its result", seen->ret, there);
    if (!there || judge->wrong)
        return;
    struct model_node *node = model_change (judge->model, to->node);
    node_put (node, g_bytes_get_data (bytes, NULL), seen->offset_out, there);
    node->mtime = TIME_MOVED;
}

static void
apply_nothing (struct judge *judge)
{
    judge_goes_on (judge, 0, true);
}

/* If the record's flags are not 0, the client closes the file, even if the flush fails. */
static void
apply_flush (struct judge *judge)
{
    apply_nothing (judge);
    if (judge->seen->flags)
        model_close (judge->model, judge->seen->fd);
}

/* --- attributes ----------------------------------------------------------------------------- */

static void
apply_stat (struct judge *judge)
{
    if (judge_goes_on (judge, 0, !model_is_dead (judge->model, judge->seen->node)))
        judge_iatt (judge, judge->seen->node);
}

static void
apply_fstat (struct judge *judge)
{
    if (judge_goes_on (judge, 0, true))
        judge_iatt (judge, model_fd (judge->model, judge->seen->fd)->node);
}

static void
apply_setattr (struct judge *judge)
{
    const struct operation *seen = judge->seen;

    if (!judge_goes_on (judge, 0, !model_is_dead (judge->model, seen->node))
        || !model_node (judge->model, seen->node))
        return;
    struct model_node *node = model_change (judge->model, seen->node);
    if (seen->flags & IATT_MODE)
        node->mode = seen->mode;
    if (seen->flags & IATT_MTIME)
        /* Shrinking can set the time of a utime line to 0, which is a special value in the
         * model. */
        node->mtime = seen->offset > 0 ? seen->offset : TIME_UNKNOWN;
    judge_iatt (judge, seen->node);
}

static void
apply_readlink (struct judge *judge)
{
    const struct model_node *node = model_node (judge->model, judge->seen->node);

    if (!judge_goes_on (judge, node && node->type != IA_IFLNK ? EINVAL : 0,
                        !model_is_dead (judge->model, judge->seen->node)))
        return;
    if (node)
        judge_bytes (judge, "the link", judge->seen->data, node->bytes);
}

/* --- extended attributes -------------------------------------------------------------------- */

static int
xattr_error (const struct operation *seen, const struct model_node *node)
{
    const bool set = node->xattrs[xattr_index (seen->name)];

    if (node->type == IA_IFLNK)
        return seen->op == FOP_getxattr ? ENODATA : EPERM;
    if (seen->op == FOP_setxattr && seen->flags & XATTR_CREATE && set)
        return EEXIST;
    if (seen->op == FOP_setxattr && !(seen->flags & XATTR_REPLACE))
        return 0;
    return set ? 0 : ENODATA;
}

static void
apply_xattr (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const struct model_node *node = model_node (judge->model, seen->node);
    const int i = xattr_index (seen->name);

    if (!judge_goes_on (judge, node ? xattr_error (seen, node) : 0,
                        !model_is_dead (judge->model, seen->node))
        || !node)
        return;
    if (seen->op == FOP_getxattr) {
        judge_bytes (judge, "the value", seen->data, node->xattrs[i]);
        return;
    }
    GBytes **value = &model_change (judge->model, seen->node)->xattrs[i];
    g_clear_pointer (value, g_bytes_unref);
    if (seen->op == FOP_setxattr)
        *value = g_bytes_ref (seen->bytes);
}

/* --- commands of translators ---------------------------------------------------------------- */

static void
apply_command (struct judge *judge)
{
    const struct operation *seen = judge->seen;
    const enum command_effect effect = command_effect (seen->name);
    g_autofree char *wrong = NULL;

    if (!judge_goes_on (judge, 0, true))
        return;
    if (effect == COMMAND_RESTORES)
        wrong = model_restore (judge->model, seen->detached);
    else if (effect != COMMAND_SHOWS)
        model_keep (judge->model, effect == COMMAND_STORES);
    if (wrong)
        judge_wrong (judge, "%s", wrong);
}

/* --- all ------------------------------------------------------------------------------------ */

static apply_fn *const effects[FOP_MAX + 1] = {
    [FOP_lookup] = apply_lookup,
    [FOP_stat] = apply_stat,
    [FOP_fstat] = apply_fstat,
    [FOP_readlink] = apply_readlink,
    [FOP_mkdir] = apply_mkdir,
    [FOP_unlink] = apply_unlink,
    [FOP_rmdir] = apply_rmdir,
    [FOP_symlink] = apply_symlink,
    [FOP_rename] = apply_rename,
    [FOP_link] = apply_link,
    [FOP_truncate] = apply_truncate,
    [FOP_ftruncate] = apply_ftruncate,
    [FOP_open] = apply_open,
    [FOP_create] = apply_create,
    [FOP_readv] = apply_readv,
    [FOP_writev] = apply_writev,
    [FOP_flush] = apply_flush,
    [FOP_fsync] = apply_nothing,
    [FOP_readdir] = apply_readdir,
    [FOP_setxattr] = apply_xattr,
    [FOP_getxattr] = apply_xattr,
    [FOP_removexattr] = apply_xattr,
    [FOP_setattr] = apply_setattr,
    [FOP_fallocate] = apply_fallocate,
    [FOP_discard] = apply_discard,
    [FOP_zerofill] = apply_zerofill,
    [FOP_copy_file_range] = apply_copy,
    [FOP_command] = apply_command,
};

bool
model_apply (struct model *model, const struct operation *seen, GString *expected)
{
    struct judge judge = { .model = model, .seen = seen, .expected = expected };

    effects[seen->op](&judge);
    return !judge.wrong;
}

void
model_apply_unseen (struct model *model, const struct operation *seen)
{
    struct judge judge = { .model = model, .seen = seen, .unseen = true };

    effects[seen->op](&judge);
}
