/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Rules for answers, independent of arguments: the guarantees of fops.def. */
#include "conform/inprocess/inprocess.h"

#include "core/data/dirent.h"
#include "core/base/errors.h"

#include <fcntl.h>
#include <string.h>

/* The answer under check, and its place. */
struct checked_answer {
    struct crossing *crossing;
    const struct answer *answer;
    const struct call_site *site;
};

static void G_GNUC_PRINTF (3, 4)
broken (const struct checked_answer *checked, const char *kind, const char *format, ...)
{
    va_list args;

    va_start (args, format);
    g_autofree char *text = g_strdup_vprintf (format, args);
    va_end (args);
    finding_add (kind, checked->crossing->callee, checked->crossing->op, "%s, answered at %s:%d",
                 text, checked->site ? checked->site->file : "?",
                 checked->site ? checked->site->line : 0);
}

static void
check_errno (const struct checked_answer *checked)
{
    const struct answer *answer = checked->answer;

    if (answer->op_ret < 0 && answer->op_errno < 0)
        broken (checked, "negative errno", "it failed with op_errno -%s; an op_errno is positive",
                error_name (-answer->op_errno));
    else if (answer->op_ret < 0 && (answer->op_errno == 0 || answer->op_errno > 4095))
        broken (checked, "errno", "it failed with op_errno %d, which is no errno",
                answer->op_errno);
    if (answer->op_ret < -1 && error_is_known (-answer->op_ret))
        broken (checked, "negative errno",
                "op_ret is -%s; a failure is -1, and op_errno says which",
                error_name (-answer->op_ret));
    else if (answer->op_ret < -1)
        broken (checked, "errno", "op_ret is %d; a failure is -1", answer->op_ret);
    if (answer->op_ret >= 0 && answer->op_errno != 0)
        broken (checked, "errno", "it succeeded (op_ret %d) with op_errno %d", answer->op_ret,
                answer->op_errno);
}

/* --- failures have no results --------------------------------------------------------------- */

static void
check_failure (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;

    if (a->inode || a->fd || a->buf || a->pre || a->post || a->preparent || a->postparent
        || a->vector || a->iobref || a->entries)
        broken (checked, "answer of a failure",
                "it failed, but answers %s as well; all must be NULL",
                a->inode                 ? "an inode"
                : a->fd                  ? "an fd"
                : a->vector || a->iobref ? "bytes"
                : a->entries             ? "entries"
                                         : "attributes");
}

/* --- results of a success ------------------------------------------------------------------- */

static bool
makes_inode (enum fop op)
{
    return op == FOP_lookup || op == FOP_mknod || op == FOP_mkdir || op == FOP_symlink
        || op == FOP_link || op == FOP_create || op == FOP_tmpfile;
}

static ia_type_t
type_made (enum fop op)
{
    switch (op) {
    case FOP_mkdir: return IA_IFDIR;
    case FOP_symlink: return IA_IFLNK;
    case FOP_create:
    case FOP_tmpfile: return IA_IFREG;
    default: return IA_INVAL;
    }
}

static void
check_presence (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;
    const bool buf = makes_inode (a->op) || a->op == FOP_stat || a->op == FOP_fstat
                  || a->op == FOP_rename;
    const bool opens = a->op == FOP_open || a->op == FOP_opendir || a->op == FOP_create
                    || a->op == FOP_tmpfile;

    if (makes_inode (a->op) && !a->inode)
        broken (checked, "answer missing", "no inode");
    if (buf && !a->buf)
        broken (checked, "answer missing", "no attributes (buf)");
    if (opens && !a->fd)
        broken (checked, "answer missing", "no fd");
    if ((a->op == FOP_setattr || a->op == FOP_fsetattr) && !a->post)
        broken (checked, "answer missing", "no attributes afterwards (statpost)");
    /* The kit changes the attributes that it wants between two cases. A translator's own request
     * may be in use then, and is not checked. */
    if (variant->plain || checked->crossing->early || checked->crossing->frame->root->internal)
        return;
    if ((a->op == FOP_writev || a->op == FOP_truncate || a->op == FOP_ftruncate)
        && (!a->pre || !a->post))
        broken (checked, "answer missing", "no attributes %s, though a translator above wants them",
                a->pre ? "afterwards" : "before");
    if ((a->op == FOP_unlink || a->op == FOP_rmdir || a->op == FOP_mkdir || a->op == FOP_create)
        && (!a->preparent || !a->postparent))
        broken (checked, "answer missing",
                "no attributes of the directory %s, though a translator above wants them",
                a->preparent ? "afterwards" : "before");
}

static void
check_new (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;
    const ia_type_t made = type_made (a->op);

    if (!a->buf)
        return;
    if (made != IA_INVAL && a->buf->ia_type != made)
        broken (checked, "attributes", "what it made has type %d, not %d", a->buf->ia_type, made);
    if (makes_inode (a->op) && gfid_is_null (&a->buf->ia_gfid))
        broken (checked, "attributes", "the gfid is null");
    if (a->inode && a->inode->ia_type != IA_INVAL && a->inode->ia_type != a->buf->ia_type)
        broken (checked, "attributes", "the inode is of type %d, its attributes of type %d",
                a->inode->ia_type, a->buf->ia_type);
}

/* --- attributes before and after ------------------------------------------------------------ */

static bool
later (int64_t a, uint32_t a_nsec, int64_t b, uint32_t b_nsec)
{
    return a > b || (a == b && a_nsec > b_nsec);
}

static void
check_pair (const struct checked_answer *checked, const char *what, const struct iatt *pre,
            const struct iatt *post)
{
    const enum fop op = checked->answer->op;
    const bool sets_times = op == FOP_setattr || op == FOP_fsetattr;

    if (!pre || !post)
        return;
    if (!gfid_equal (&pre->ia_gfid, &post->ia_gfid) || pre->ia_ino != post->ia_ino
        || pre->ia_type != post->ia_type)
        broken (checked, "attributes", "%s before and after are of different inodes", what);
    else if (later (pre->ia_ctime, pre->ia_ctime_nsec, post->ia_ctime, post->ia_ctime_nsec))
        broken (checked, "attributes", "%s: ctime before is later than after", what);
    else if (!sets_times
             && later (pre->ia_mtime, pre->ia_mtime_nsec, post->ia_mtime, post->ia_mtime_nsec))
        broken (checked, "attributes", "%s: mtime before is later than after", what);
}

/* Sizes: arguments and the size before determine the size after. */
static void
check_answer_size (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;
    const struct crossing *c = checked->crossing;
    uint64_t expected;

    if (!a->pre || !a->post)
        return;
    if (a->op == FOP_writev && a->op_ret > 0)
        expected = c->fd_flags & O_APPEND ? a->pre->ia_size + a->op_ret
                                          : MAX (a->pre->ia_size, (uint64_t) c->offset + a->op_ret);
    else if (a->op == FOP_truncate || a->op == FOP_ftruncate)
        expected = c->offset;
    else
        return;
    if (a->post->ia_size != expected)
        broken (checked, "attributes",
                "size was %" G_GUINT64_FORMAT " before and %" G_GUINT64_FORMAT
                " after; it should be %" G_GUINT64_FORMAT,
                a->pre->ia_size, a->post->ia_size, expected);
}

/* --- bytes and entries ---------------------------------------------------------------------- */

static void
check_bytes (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;
    const size_t size = checked->crossing->size;

    if (a->op == FOP_readv && (size_t) a->op_ret != iov_length (a->vector, a->count))
        broken (checked, "op_ret", "op_ret is %d, the vector has %zu bytes", a->op_ret,
                iov_length (a->vector, a->count));
    if (a->op == FOP_readv && a->op_ret > 0 && !a->iobref)
        broken (checked, "answer missing", "bytes without an iobref");
    if ((a->op == FOP_readv || a->op == FOP_writev) && (size_t) a->op_ret > size)
        broken (checked, "op_ret", "op_ret is %d, only %zu were asked for", a->op_ret, size);
}

/* Programs take the number in a listing for that of stat. */
static void
check_number (const struct checked_answer *checked, const gf_dirent_t *entry)
{
    if (entry->inode && entry->d_stat.ia_type != IA_INVAL && entry->d_ino != entry->d_stat.ia_ino)
        broken (checked, "entries",
                "'%s' has the inode number %ju, its attributes %ju", entry->d_name,
                (uintmax_t) entry->d_ino, (uintmax_t) entry->d_stat.ia_ino);
}

static void
check_entries (const struct checked_answer *checked)
{
    const struct answer *a = checked->answer;
    int32_t n = 0;

    if (a->op != FOP_readdir && a->op != FOP_readdirp)
        return;
    for (const gf_dirent_t *entry = a->entries; entry; entry = entry->next, n++) {
        if (entry->d_len != strlen (entry->d_name) || entry->d_len == 0)
            broken (checked, "entries", "a name of %zu bytes has d_len %u", strlen (entry->d_name),
                    entry->d_len);
        check_number (checked, entry);
    }
    if (n != a->op_ret)
        broken (checked, "op_ret", "op_ret is %d for %d entries", a->op_ret, n);
}

void
rules_check (struct crossing *crossing, const struct answer *answer, const struct call_site *site)
{
    const struct checked_answer checked = { crossing, answer, site };

    check_errno (&checked);
    if (answer->op_ret < 0) {
        check_failure (&checked);
        return;
    }
    check_presence (&checked);
    check_new (&checked);
    check_pair (&checked, "attributes", answer->pre, answer->post);
    check_pair (&checked, "attributes of the directory", answer->preparent, answer->postparent);
    check_answer_size (&checked);
    check_bytes (&checked);
    check_entries (&checked);
}
