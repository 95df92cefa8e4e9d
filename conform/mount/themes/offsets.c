/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Offsets of 32 and of 64 bits, in each call that takes one; and holes. */
#include "conform/mount/themes/themes.h"

#include <inttypes.h>
#include <linux/falloc.h>
#include <sys/sendfile.h>

static const struct {
    const char *name;
    int64_t at;
} offsets[] = {
    { "0", 0 },
    { "1", 1 },
    { "10", 10 },
    { "4095", 4095 },
    { "4096", 4096 },
    { "4097", 4097 },
    { "65536", 65536 },
    { "2^31-1", INT32_MAX },
    { "2^31", 1LL << 31 },
    { "2^32-1", (1LL << 32) - 1 },
    { "2^32", 1LL << 32 },
    { "2^40", 1LL << 40 },
    { "2^50", 1LL << 50 },
    { "2^62", 1LL << 62 },
    { "2^63-1", INT64_MAX },
    { "-1", -1 },
    { "-2^63", INT64_MIN },
};

/* Data, a hole, data: 4 KiB, 56 KiB, 4 KiB. */
static int
make_layout (void)
{
    const int fd = make_file ("file", "");
    g_autofree char *block = g_strnfill (4096, 'd');

    NEED (pwrite (fd, block, 4096, 0));
    NEED (pwrite (fd, block, 4096, 61440));
    return fd;
}

static void
at_pread (int fd, int64_t at)
{
    char byte = '-';

    TELL ("pread", pread (fd, &byte, 1, at));
    observe ("it is %d", byte);
}

static void
at_pwrite (int fd, int64_t at)
{
    char text[4] = "";

    TELL ("pwrite", pwrite (fd, "ab", 2, at));
    TELL ("read it", pread (fd, text, 2, at));
    observe ("it is '%s'", text);
}

static void
at_lseek (int fd, int64_t at)
{
    TELL ("SEEK_SET", lseek (fd, at, SEEK_SET));
    TELL ("SEEK_CUR", lseek (fd, at, SEEK_CUR));
    TELL ("SEEK_END", lseek (fd, at, SEEK_END));
}

static void
at_seek_data (int fd, int64_t at)
{
    TELL ("SEEK_DATA", lseek (fd, at, SEEK_DATA));
    TELL ("SEEK_HOLE", lseek (fd, at, SEEK_HOLE));
}

static void
at_ftruncate (int fd, int64_t at)
{
    TELL ("ftruncate", ftruncate (fd, at));
}

static void
at_truncate (int fd, int64_t at)
{
    TELL ("truncate", truncate ("file", at));
}

static void
at_copy (int fd, int64_t at)
{
    const int other = make_file ("other", "other");
    loff_t from = 0, to = at;

    TELL ("copy to it", copy_file_range (other, &from, fd, &to, 5, 0));
    from = at;
    to = 0;
    TELL ("copy from it", copy_file_range (fd, &from, other, &to, 5, 0));
}

static void
at_sendfile (int fd, int64_t at)
{
    const int other = make_file ("other", "other");
    off_t from = at;

    TELL ("sendfile from it", sendfile (other, fd, &from, 5));
    NEED (lseek (fd, MAX (at, 0), SEEK_SET) < 0 && errno != EINVAL ? -1 : 0);
    from = 0;
    TELL ("sendfile to it", sendfile (fd, other, &from, 5));
}

static void
at_splice (int fd, int64_t at)
{
    loff_t place = at;
    int ends[2];

    NEED (pipe2 (ends, O_NONBLOCK));
    NEED (write (ends[1], "pipe", 4));
    TELL ("splice to it", splice (ends[0], NULL, fd, &place, 4, SPLICE_F_NONBLOCK));
    place = at;
    TELL ("splice from it", splice (fd, &place, ends[1], NULL, 4, SPLICE_F_NONBLOCK));
}

static void
at_fadvise (int fd, int64_t at)
{
    TELL ("fadvise", posix_fadvise (fd, at, 4096, POSIX_FADV_WILLNEED));
    TELL ("readahead", readahead (fd, at, 4096));
    TELL ("sync_file_range", sync_file_range (fd, at, 4096, SYNC_FILE_RANGE_WRITE));
}

static const struct {
    const char *name;
    void (*run) (int fd, int64_t at);
} calls[] = {
    { "pread", at_pread }, { "pwrite", at_pwrite }, { "lseek", at_lseek },
    { "SEEK_DATA", at_seek_data }, { "ftruncate", at_ftruncate }, { "truncate", at_truncate },
    { "copy_file_range", at_copy }, { "sendfile", at_sendfile }, { "splice", at_splice },
    { "fadvise", at_fadvise },
};

static void
show_segments (int fd)
{
    const off_t end = lseek (fd, 0, SEEK_END);
    struct stat st;

    for (off_t at = 0, hole; at < end; at = hole) {
        const off_t data = lseek (fd, at, SEEK_DATA);

        if (data < 0)
            break;
        hole = lseek (fd, data, SEEK_HOLE);
        observe ("data from %jd to %jd", (intmax_t) data, (intmax_t) hole);
        if (hole <= data)
            break;
    }
    if (fstat (fd, &st) == 0)
        observe ("size %jd, more than a MiB of blocks: %d", (intmax_t) st.st_size,
                 st.st_blocks > 2048);
}

static void
run_call (const struct mount_case *c)
{
    const int fd = make_layout ();

    calls[c->a].run (fd, offsets[c->b].at);
    show_segments (fd);
    close (fd);
}

/* --- fallocate ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    int mode;
} modes[] = {
    { "fallocate", 0 },
    { "fallocate, keeping the size", FALLOC_FL_KEEP_SIZE },
    { "punch a hole", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE },
    { "punch without keeping the size", FALLOC_FL_PUNCH_HOLE },
    { "zero a range", FALLOC_FL_ZERO_RANGE },
    { "zero a range, keeping the size", FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE },
    { "collapse a range", FALLOC_FL_COLLAPSE_RANGE },
    { "insert a range", FALLOC_FL_INSERT_RANGE },
    { "unshare", FALLOC_FL_UNSHARE_RANGE },
    { "a mode that doesn't exist", 1 << 12 },
    { "punch and zero", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE },
};

static const int64_t lengths[] = { 4096, 1, 0, -1 };

static void
run_fallocate (const struct mount_case *c)
{
    const int fd = make_layout ();
    char byte = 0;
    int r;

    r = TELL ("fallocate", fallocate (fd, modes[c->a].mode, offsets[c->b].at, lengths[c->c]));
    if (r < 0 && errno == EOPNOTSUPP && modes[c->a].mode & FALLOC_FL_ZERO_RANGE
        && !(modes[c->a].mode & FALLOC_FL_PUNCH_HOLE))
        cannot ("the file system can't zero a range; storage/posix writes zeros then");
    TELL ("the first byte", pread (fd, &byte, 1, 0));
    observe ("it is %d", byte);
    TELL ("the last byte", pread (fd, &byte, 1, 65535));
    observe ("it is %d", byte);
    show ("file", "file");
    close (fd);
}

/* The holes after each step. */
static void
run_holes (const struct mount_case *c)
{
    const int fd = make_layout ();

    show_segments (fd);
    TELL ("write in the hole", pwrite (fd, "x", 1, 20000));
    show_segments (fd);
    TELL ("punch the first block",
          fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
    show_segments (fd);
    TELL ("punch all", fallocate (fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 65536));
    show_segments (fd);
    TELL ("longer", ftruncate (fd, 5LL << 30));
    show_segments (fd);
    TELL ("data at its end", pwrite (fd, "x", 1, (5LL << 30) - 1));
    show_segments (fd);
    TELL ("shorter", ftruncate (fd, 100));
    show_segments (fd);
    TELL ("at the end", lseek (fd, 100, SEEK_HOLE));
    TELL ("behind the end", lseek (fd, 101, SEEK_DATA));
    close (fd);
}

void
offsets_cases (GPtrArray *list)
{
    for (unsigned at = 0; at < G_N_ELEMENTS (offsets); at++) {
        for (unsigned call = 0; call < G_N_ELEMENTS (calls); call++)
            case_add (list, run_call, call, at, 0, 0, "offsets/%s at %s", calls[call].name,
                      offsets[at].name);
        for (unsigned mode = 0; mode < G_N_ELEMENTS (modes); mode++)
            for (unsigned length = 0; length < G_N_ELEMENTS (lengths); length++)
                case_add (list, run_fallocate, mode, at, length, 0,
                          "offsets/%s at %s, %" PRId64 " bytes", modes[mode].name, offsets[at].name,
                          lengths[length]);
    }
    case_add (list, run_holes, 0, 0, 0, 0, "offsets/holes");
}
