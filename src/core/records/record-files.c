/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The files of a log of records. */
#include "core/base/log.h"
#include "core/records/record-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_SIZE (256 << 10) /* bytes that are searched for a number at a time */
#define NUMBER_SIZE 32         /* bytes that a key and its number have at most */

/* --- opening ---------------------------------------------------------------------------------- */

/* others: what nobody but the owner may do with the file. */
static int
record_file_open_own (int directory, const char *name, mode_t others, struct stat *ret_st)
{
    const int fd = openat (directory, name,
                           O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                               | O_NOCTTY,
                           0600);

    if (fd < 0)
        return -errno;
    if (fstat (fd, ret_st) == 0 && S_ISREG (ret_st->st_mode) && ret_st->st_nlink == 1
        && (ret_st->st_uid == geteuid () || ret_st->st_uid == 0) && !(ret_st->st_mode & others))
        return fd;
    close (fd);
    return -EPERM;
}

int
record_file_open (int directory, const char *name, uint64_t *ret_size)
{
    struct stat st;
    const int fd = record_file_open_own (directory, name, S_IWGRP | S_IWOTH, &st);

    if (fd >= 0)
        *ret_size = (uint64_t) st.st_size;
    return fd;
}

static char *
record_file_lock_name (const char *name)
{
    return g_strdup_printf (".%s.lock", name);
}

/* Whoever may read a file can take a lock of it that hinders others. So the lock is on a file that
 * nobody else can open. */
int
record_file_lock (int directory, const char *name)
{
    g_autofree char *own = record_file_lock_name (name);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    struct stat st;
    const int fd = record_file_open_own (directory, own, S_IRWXG | S_IRWXO, &st);

    /* Without O_APPEND, for record_file_keep. */
    if (fd < 0 || (fcntl (fd, F_OFD_SETLK, &lock) == 0 && fcntl (fd, F_SETFL, 0) == 0))
        return fd;
    close (fd);
    return -EBUSY;
}

/* Returns what is wrong with a file, so that record_file_open_own refuses it; NULL: nothing. g_free
 * it. */
static char *
record_file_fault (const struct stat *st, mode_t others)
{
    if (S_ISLNK (st->st_mode))
        return g_strdup ("is a symbolic link: remove it");
    if (!S_ISREG (st->st_mode))
        return g_strdup_printf ("is %s, not a plain file: remove it",
                                S_ISDIR (st->st_mode)    ? "a directory"
                                : S_ISFIFO (st->st_mode) ? "a pipe" : "a device or a socket");
    if (st->st_nlink > 1)
        return g_strdup ("has another name as well, a hard link: remove it");
    if (st->st_uid != geteuid () && st->st_uid != 0)
        return g_strdup_printf ("belongs to user %u: remove it", st->st_uid);
    if (st->st_mode & others)
        return g_strdup_printf ("is open to others (mode %04o): remove it, or 'chmod %s' it",
                                st->st_mode & 07777, others & S_IROTH ? "600" : "go-w");
    return NULL;
}

/* Returns the same with the name of the file, if there is one of that name; or NULL. */
static char *
record_file_fault_of (int directory, const char *name, mode_t others)
{
    g_autofree char *fault = NULL;
    struct stat st;

    if (fstatat (directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        fault = record_file_fault (&st, others);
    return fault ? g_strdup_printf ("'%s' %s", name, fault) : NULL;
}

char *
record_file_problem (int directory, const char *name, int r)
{
    g_autofree char *own = record_file_lock_name (name);
    char *fault = NULL;

    if (r == -EBUSY)
        return g_strdup ("another daemon writes to it");
    if (r == -EPERM || r == -EACCES || r == -ELOOP || r == -ENXIO || r == -EISDIR) {
        fault = record_file_fault_of (directory, own, S_IRWXG | S_IRWXO);
        if (!fault)
            fault = record_file_fault_of (directory, name, S_IWGRP | S_IWOTH);
    }
    return fault ? fault : g_strdup (g_strerror (-r));
}

bool
record_file_is_it (int directory, const char *name, int fd)
{
    struct stat named, open;

    return fstatat (directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat (fd, &open) == 0
        && named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/* --- rotation --------------------------------------------------------------------------------- */

static bool
record_file_exists (int directory, const char *name)
{
    struct stat st;

    return fstatat (directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static char *
record_file_older (const char *name, int number)
{
    return number == 0 ? g_strdup (name) : g_strdup_printf ("%s.%d", name, number);
}

/* Returns the number that the oldest of the moved files gets: the first that is free, so that an
 * attempt after one that has stopped half way moves no file once more. */
static int
record_files_free_number (int directory, const char *name, int keep)
{
    int number = 1;

    for (; number < keep; number++) {
        g_autofree char *older = record_file_older (name, number);

        if (!record_file_exists (directory, older))
            break;
    }
    return number;
}

static int
record_files_shift (int directory, const char *name, int keep)
{
    for (int i = record_files_free_number (directory, name, keep); i > 0; i--) {
        g_autofree char *from = record_file_older (name, i - 1), *to = record_file_older (name, i);

        if (renameat (directory, from, directory, to) < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

/* Removes the files that are older than the oldest to keep: `keep` was lowered. */
static void
record_files_remove_beyond (int directory, const char *name, int keep)
{
    bool removed = true;

    for (int i = keep + 1; removed; i++) {
        g_autofree char *older = record_file_older (name, i);

        removed = unlinkat (directory, older, 0) == 0;
    }
}

/* The new file exists before an old one moves, so a full disk moves none. */
int
record_file_rotate (int directory, const char *name, int keep, int old, uint64_t *ret_size)
{
    g_autofree char *fresh = g_strdup_printf (".%s.new", name);
    const bool is_ours = record_file_is_it (directory, name, old);
    int fd, r = 0;

    if (!is_ours && record_file_exists (directory, name))
        return record_file_open (directory, name, ret_size);
    if (unlinkat (directory, fresh, 0) < 0 && errno != ENOENT)
        return -errno;
    fd = record_file_open (directory, fresh, ret_size);
    if (fd < 0)
        return fd;
    if (is_ours && keep > 0)
        r = record_files_shift (directory, name, keep);
    if (r == 0 && renameat (directory, fresh, directory, name) < 0)
        r = -errno;
    if (r == 0) {
        record_files_remove_beyond (directory, name, keep);
        return fd;
    }
    unlinkat (directory, fresh, 0);
    close (fd);
    return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Returns a descriptor, or a negative errno: -EPERM if it is no plain file. */
static int
record_file_open_to_read (int directory, const char *name, off_t *ret_size)
{
    const int fd = openat (directory, name,
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    *ret_size = 0;
    if (fd < 0)
        return -errno;
    if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode)) {
        *ret_size = st.st_size;
        return fd;
    }
    close (fd);
    return -EPERM;
}

/* Returns whether two descriptors are of one file: it was rotated between two opens. */
static bool
record_files_are_same (int one, int other)
{
    struct stat a, b;

    return fstat (one, &a) == 0 && fstat (other, &b) == 0 && a.st_dev == b.st_dev
        && a.st_ino == b.st_ino;
}

/* Opens the files, the newest first. Returns 0 or a negative errno. */
static int
record_files_open (int directory, const char *name, GArray *fds)
{
    off_t size;
    int fd = record_file_open_to_read (directory, name, &size);

    for (unsigned number = 1; fd >= 0; number++) {
        g_autofree char *older = NULL;

        if (fds->len > 0 && record_files_are_same (fd, g_array_index (fds, int, fds->len - 1)))
            close (fd);
        else
            g_array_append_val (fds, fd);
        older = g_strdup_printf ("%s.%u", name, number);
        fd = record_file_open_to_read (directory, older, &size);
    }
    return fd == -ENOENT && fds->len > 0 ? 0 : fd;
}

/* Takes the descriptor over. A line at the end that has no newline is not written yet. Returns 1 if
 * fn wants more, 0, or a negative errno. */
static int
record_file_read_lines (int fd, bool (*fn) (char *line, void *data), void *data)
{
    FILE *file = fdopen (fd, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    int r = 1;

    if (!file) {
        r = -errno;
        close (fd);
        return r;
    }
    while (r > 0 && (size = getline (&line, &room, file)) > 0 && line[size - 1] == '\n') {
        line[size - 1] = '\0';
        r = fn (line, data);
    }
    if (ferror (file))
        r = -EIO;
    free (line);
    fclose (file);
    return r;
}

int
record_files_read (int directory, const char *name, bool (*fn) (char *line, void *data),
                   void *data)
{
    g_autoptr (GArray) fds = g_array_new (FALSE, FALSE, sizeof (int));
    const int opened = record_files_open (directory, name, fds);
    int r = opened == 0;

    for (guint i = fds->len; i-- > 0;)
        if (r > 0)
            r = record_file_read_lines (g_array_index (fds, int, i), fn, data);
        else
            close (g_array_index (fds, int, i));
    return opened < 0 ? opened : MIN (r, 0);
}

/* --- the last number -------------------------------------------------------------------------- */

/* Returns the number behind the key, which may be cut off by the end. */
static uint64_t
record_number_at (const char *at, const char *end)
{
    uint64_t number = 0;

    for (; at < end && g_ascii_isdigit (*at); at++)
        number = number * 10 + (uint64_t) (*at - '0');
    return number;
}

/* Paths and names are quoted, so these keys are in no value. The bytes may be any: after a power
 * failure a file may have zeros. */
static uint64_t
record_bytes_last_number (const char *bytes, size_t size)
{
    static const char *const keys[] = { "\n{\"unwind\":", "\"last\":" };
    const char *const end = bytes + size;
    uint64_t highest = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (keys); i++) {
        const size_t length = strlen (keys[i]);

        for (const char *at = bytes; (at = memmem (at, (size_t) (end - at), keys[i], length));) {
            at += length;
            highest = MAX (highest, record_number_at (at, end));
        }
    }
    return highest;
}

/* Searches the file from its end, block by block, until one has a number. Each block reaches
 * NUMBER_SIZE bytes into the next, so a number is whole in one of them. */
static uint64_t
record_file_number_in (int directory, const char *name)
{
    off_t begin;
    const int fd = record_file_open_to_read (directory, name, &begin);
    g_autofree char *bytes = g_malloc (1 + BLOCK_SIZE + NUMBER_SIZE);
    uint64_t number = 0;

    bytes[0] = '\n'; /* of the line that the file begins with */
    while (number == 0 && begin > 0) {
        const off_t end = begin + NUMBER_SIZE;
        ssize_t n;

        begin = MAX (begin - BLOCK_SIZE, 0);
        n = pread (fd, bytes + 1, (size_t) (end - begin), begin);
        if (n <= 0)
            break;
        number = record_bytes_last_number (bytes, (size_t) n + 1);
    }
    if (fd >= 0)
        close (fd);
    return number;
}

static uint64_t
record_files_number (int directory, const char *name)
{
    g_autofree char *older = record_file_older (name, 1);
    const uint64_t number = record_file_number_in (directory, name);

    return number ? number : record_file_number_in (directory, older);
}

uint64_t
record_file_last_number (int directory, const char *name)
{
    g_autofree char *kept = record_file_lock_name (name);

    return MAX (record_files_number (directory, name), record_file_number_in (directory, kept));
}

bool
record_file_is_whole (int directory, const char *name)
{
    off_t size;
    const int fd = record_file_open_to_read (directory, name, &size);
    char last = '\n';

    if (size > 0 && pread (fd, &last, 1, size - 1) < 0)
        last = '\n';
    if (fd >= 0)
        close (fd);
    return last == '\n';
}

/* Returns where the last line of a file ends. */
static off_t
record_file_whole_size (int fd, off_t size)
{
    g_autofree char *bytes = g_malloc (BLOCK_SIZE);

    while (size > 0) {
        const off_t begin = MAX (size - BLOCK_SIZE, 0);
        const ssize_t n = pread (fd, bytes, (size_t) (size - begin), begin);
        const char *newline = n > 0 ? memrchr (bytes, '\n', (size_t) n) : NULL;

        if (n <= 0 || newline)
            return newline ? begin + (newline - bytes) + 1 : size;
        size = begin;
    }
    return 0;
}

uint64_t
record_file_cut (int directory, const char *name)
{
    off_t size;
    const int fd = record_file_open_to_read (directory, name, &size);
    const off_t whole = fd >= 0 ? record_file_whole_size (fd, size) : 0;
    uint64_t own_size;
    const int own = whole < size ? record_file_open (directory, name, &own_size) : -1;

    if (own >= 0 && ftruncate (own, whole) < 0)
        gf_log (NULL, GF_LOG_WARNING, "the log '%s' ends with the beginning of a record: %s", name,
                g_strerror (errno));
    if (own >= 0)
        close (own);
    if (fd >= 0)
        close (fd);
    return record_files_number (directory, name);
}
