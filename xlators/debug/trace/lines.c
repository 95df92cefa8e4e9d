/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Lines in GlusterFS's format, for all operations. Paths and names of errors are added. */
#include "trace.h"

#include <stdio.h>

/* A line under construction, and the call it is for. */
struct line {
    GString *out;
    size_t start;
    const struct call *call; /* NULL: for an answer */
    bool has_gfid;           /* the gfid was printed: a file that is being opened has the inode of
                                its loc */
};

static void
separate (struct line *line)
{
    if (line->out->len > line->start)
        g_string_append (line->out, ", ");
}

static void
lines_print_gfid (const gfid_t *gfid, GString *out)
{
    char text[GFID_TEXT_SIZE];

    g_string_append_printf (out, "gfid=%s", gfid_text (gfid, text));
}

void
line_of_time (int64_t seconds, uint32_t nanoseconds, GString *out)
{
    time_t clock = seconds;
    char text[40];
    struct tm tm;

    gmtime_r (&clock, &tm);
    strftime (text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    g_string_append_printf (out, "%s.%09u", text, nanoseconds);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* "gfid=... path=/a/b"; for the target of a rename or a link: " -->  gfid=... path=..." */
static void
print_loc (struct line *line, const loc_t *loc)
{
    const bool second = loc == line->call->newloc;
    g_autofree char *path = second ? call_new_path (line->call) : call_path (line->call);

    if (second)
        g_string_append (line->out, " -->  ");
    else
        separate (line);
    lines_print_gfid (loc_gfid (loc), line->out);
    g_string_append_printf (line->out, " path=%s", path ? path : "-");
    line->has_gfid = true;
}

/* "gfid=... fd=0x..., path=/a/b"; the path costs more than the rest of the line, but a gfid alone
 * does not help a reader. */
static void
print_fd (struct line *line, const char *name, const fd_t *fd)
{
    const bool whole = fd && fd->inode && !line->has_gfid;
    g_autofree char *path = whole ? inode_path (fd->inode, NULL) : NULL;

    separate (line);
    if (whole) {
        lines_print_gfid (&fd->inode->gfid, line->out);
        g_string_append_c (line->out, ' ');
    }
    g_string_append_printf (line->out, "%s=%p", name, (const void *) fd);
    if (whole)
        g_string_append_printf (line->out, ", path=%s", path);
}

/* The valid fields of a setattr. */
static void
print_wanted (struct line *line, const struct iatt *iatt)
{
    const uint32_t valid = line->call->op == FOP_setattr
                             ? ((const struct setattr_call *) line->call->args)->valid
                         : line->call->op == FOP_fsetattr
                             ? ((const struct fsetattr_call *) line->call->args)->valid
                             : 0;
    GString *out = line->out;

    if (valid & IATT_MODE)
        g_string_append_printf (out, ", mode=%o", iatt->ia_prot);
    if (valid & IATT_UID)
        g_string_append_printf (out, ", uid=%d", (int) iatt->ia_uid);
    if (valid & IATT_GID)
        g_string_append_printf (out, ", gid=%d", (int) iatt->ia_gid);
    if (valid & IATT_SIZE)
        g_string_append_printf (out, ", size=%" G_GUINT64_FORMAT, iatt->ia_size);
    if (valid & (IATT_ATIME | IATT_ATIME_NOW)) {
        g_string_append (out, ", atime=[");
        line_of_time (iatt->ia_atime, iatt->ia_atime_nsec, out);
        g_string_append (out, "]");
    }
    if (valid & (IATT_MTIME | IATT_MTIME_NOW)) {
        g_string_append (out, ", mtime=[");
        line_of_time (iatt->ia_mtime, iatt->ia_mtime_nsec, out);
        g_string_append (out, "]");
    }
}

static void
print_argument (enum kind kind, const char *name, const void *value, void *data)
{
    struct line *line = data;

    if (kind == KIND_LOC)
        print_loc (line, *(loc_t *const *) value);
    else if (kind == KIND_FD)
        print_fd (line, name, *(fd_t *const *) value);
    else if (kind == KIND_IATT)
        print_wanted (line, *(struct iatt *const *) value);
    else
        value_print (kind, name, value, line->out);
}

void
line_of_call (const struct call *call, GString *out)
{
    struct line line = { .out = out, .call = call };

    g_string_append_printf (out, "%" G_GUINT64_FORMAT ": ", call->frame->root->unique);
    line.start = out->len;
    call_each (call, print_argument, &line);
    if (call->op == FOP_writev)
        g_string_append_printf (out, ", write_size=%zu", call->size);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
print_stat_time (const char *name, int64_t seconds, uint32_t nanoseconds, GString *out)
{
    g_string_append_printf (out, " %s=[", name);
    line_of_time (seconds, nanoseconds, out);
    g_string_append_c (out, ']');
}

static void
print_iatt (struct line *line, const char *name, const struct iatt *iatt)
{
    GString *out = line->out;

    separate (line);
    if (!iatt) {
        g_string_append_printf (out, "*%s = {}", name);
        return;
    }
    g_string_append_printf (out, "*%s = {", name);
    lines_print_gfid (&iatt->ia_gfid, out);
    g_string_append_printf (out,
                            " ino=%" G_GUINT64_FORMAT
                            ", mode=%o, nlink=%u uid=%u gid=%u size=%" G_GUINT64_FORMAT
                            " blocks=%" G_GUINT64_FORMAT,
                            iatt->ia_ino, mode_of_iatt (iatt), iatt->ia_nlink, iatt->ia_uid,
                            iatt->ia_gid, iatt->ia_size, iatt->ia_blocks);
    print_stat_time ("atime", iatt->ia_atime, iatt->ia_atime_nsec, out);
    print_stat_time ("mtime", iatt->ia_mtime, iatt->ia_mtime_nsec, out);
    print_stat_time ("ctime", iatt->ia_ctime, iatt->ia_ctime_nsec, out);
    g_string_append_c (out, '}');
}

static void
print_result (enum kind kind, const char *name, const void *value, void *data)
{
    struct line *line = data;

    if (kind == KIND_IATT)
        print_iatt (line, name, *(struct iatt *const *) value);
    else if (kind == KIND_FD)
        print_fd (line, name, *(fd_t *const *) value);
    else if (kind != KIND_INODE) /* a new inode has no gfid yet, but its attributes have */
        value_print (kind, name, value, line->out);
}

void
line_of_result (int32_t op_ret, int32_t op_errno, GString *out)
{
    g_string_append_printf (out, "op_ret=%d", op_ret);
    if (op_ret < 0)
        g_string_append_printf (out, ", op_errno=%d (%s)", op_errno, g_strerror (op_errno));
}

void
line_of_answer (const struct answer *answer, GString *out)
{
    struct line line = { .out = out, .has_gfid = true };

    g_string_append_printf (out, "%" G_GUINT64_FORMAT ": (", answer->frame->root->unique);
    line.start = out->len;
    line_of_result (answer->op_ret, answer->op_errno, out);
    if (answer->op_ret >= 0)
        answer_each (answer, print_result, &line);
    g_string_append_c (out, ')');
}
