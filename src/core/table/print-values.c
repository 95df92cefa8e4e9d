/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/table/print-values.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/fd.h"
#include "core/data/iatt.h"
#include "core/data/loc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/sysmacros.h>

/* Appends "name=", after ", " except before the first value. */
static void
print_name (GString *out, const char *name)
{
    if (out->len > 0 && out->str[out->len - 1] != ' ')
        g_string_append (out, ", ");
    g_string_append_printf (out, "%s=", name);
}

static void
print_gfid (GString *out, const gfid_t *gfid)
{
    char text[GFID_TEXT_SIZE];

    g_string_append (out, gfid_text (gfid, text));
}

void
print_LOC (GString *out, const char *name, loc_t *loc)
{
    loc_t copy = { .name = loc->name, .inode = loc->inode, .parent = loc->parent };

    print_name (out, name);
    g_string_append_printf (out, "{path=%s", loc->path ? loc->path : loc_path (&copy));
    loc_wipe_path (&copy);
    if (loc->inode && !gfid_is_null (&loc->inode->gfid)) {
        g_string_append (out, " gfid=");
        print_gfid (out, &loc->inode->gfid);
    }
    g_string_append_c (out, '}');
}

void
print_INODE (GString *out, const char *name, inode_t *inode)
{
    print_name (out, name);
    if (inode)
        print_gfid (out, &inode->gfid);
    else
        g_string_append (out, "-");
}

void
print_FD (GString *out, const char *name, fd_t *fd)
{
    print_name (out, name);
    if (!fd) {
        g_string_append (out, "-");
        return;
    }
    g_string_append_printf (out, "%p {gfid=", (void *) fd);
    if (fd->inode)
        print_gfid (out, &fd->inode->gfid);
    g_string_append_printf (out, " flags=0%o}", fd->flags);
}

void
print_IATT (GString *out, const char *name, struct iatt *iatt)
{
    print_name (out, name);
    if (!iatt) {
        g_string_append (out, "-");
        return;
    }
    g_string_append (out, "{gfid=");
    print_gfid (out, &iatt->ia_gfid);
    g_string_append_printf (out,
                            " ino=%" PRIu64 " mode=%o nlink=%u uid=%u gid=%u size=%" PRIu64
                            " blocks=%" PRIu64 " mtime=%" PRId64 ".%09u ctime=%" PRId64 ".%09u}",
                            iatt->ia_ino, mode_of_iatt (iatt), iatt->ia_nlink, iatt->ia_uid,
                            iatt->ia_gid, iatt->ia_size, iatt->ia_blocks, iatt->ia_mtime,
                            iatt->ia_mtime_nsec, iatt->ia_ctime, iatt->ia_ctime_nsec);
}

/* Prints keys and sizes only: the values are users' data. */
void
print_DICT (GString *out, const char *name, dict_t *dict)
{
    const void *value;
    const char *key;
    size_t size;

    if (!dict)
        return;
    print_name (out, name);
    g_string_append_c (out, '{');
    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        g_string_append_printf (out, "%s%s:%zu", i ? " " : "", key, size);
    }
    g_string_append_c (out, '}');
}

/* Prints nothing: count, and the operation's size or result, tell the length. */
void
print_VECTOR (GString *out, const char *name, struct iovec *vector)
{
}

void
print_IOBREF (GString *out, const char *name, struct iobref *iobref)
{
}

void
print_COUNT (GString *out, const char *name, int32_t count)
{
    print_name (out, name);
    g_string_append_printf (out, "%d", count);
}

void
print_SIZE (GString *out, const char *name, size_t size)
{
    print_name (out, name);
    g_string_append_printf (out, "%zu", size);
}

void
print_OFFSET (GString *out, const char *name, off_t offset)
{
    print_name (out, name);
    g_string_append_printf (out, "%jd", (intmax_t) offset);
}

void
print_FLAGS (GString *out, const char *name, uint32_t flags)
{
    print_name (out, name);
    g_string_append_printf (out, "0%o", flags);
}

void
print_INT (GString *out, const char *name, int32_t value)
{
    print_name (out, name);
    g_string_append_printf (out, "%d", value);
}

void
print_MODE (GString *out, const char *name, mode_t mode)
{
    print_name (out, name);
    g_string_append_printf (out, "0%o", mode);
}

void
print_DEV (GString *out, const char *name, dev_t dev)
{
    print_name (out, name);
    g_string_append_printf (out, "%u:%u", major (dev), minor (dev));
}

void
print_NAME (GString *out, const char *name, const char *text)
{
    print_name (out, name);
    g_string_append (out, text ? text : "-");
}

void
print_STATVFS (GString *out, const char *name, struct statvfs *buf)
{
    print_name (out, name);
    if (buf)
        g_string_append_printf (out, "{bsize=%lu blocks=%ju bfree=%ju files=%ju}", buf->f_bsize,
                                (uintmax_t) buf->f_blocks, (uintmax_t) buf->f_bfree,
                                (uintmax_t) buf->f_files);
    else
        g_string_append_c (out, '-');
}

void
print_DIRENTS (GString *out, const char *name, gf_dirent_t *entries)
{
    unsigned n = 0;

    print_name (out, name);
    for (const gf_dirent_t *e = entries; e; e = e->next)
        n++;
    g_string_append_printf (out, "%u", n);
}

void
print_LOCK (GString *out, const char *name, struct gf_flock *lock)
{
    print_name (out, name);
    if (lock)
        g_string_append_printf (out, "{%s start=%jd len=%jd pid=%d}",
                                lock->l_type == F_RDLCK   ? "read"
                                : lock->l_type == F_WRLCK ? "write"
                                                          : "unlock",
                                (intmax_t) lock->l_start, (intmax_t) lock->l_len, lock->l_pid);
    else
        g_string_append_c (out, '-');
}

void
print_BYTES (GString *out, const char *name, GBytes *bytes)
{
    print_name (out, name);
    g_string_append_printf (out, "%zu bytes", bytes ? g_bytes_get_size (bytes) : 0);
}
