/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal's native protocol, a promised interface of systemd: a datagram of fields, or, if they
 * are larger than a datagram may be, a sealed file in memory. Each field has its name, a newline,
 * the size of the value in 64 bits (little-endian), the value and a newline: so a value may have
 * any bytes.
 */
#include "core/base/log-journal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static const struct sockaddr_un journal_address = { AF_UNIX, "/run/systemd/journal/socket" };

static struct {
    pthread_mutex_t lock; /* a leaf; guards both */
    int fd;               /* -1: not yet opened */
    unsigned lost;        /* entries since the last that the journal took */
} journal = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

bool
journal_has_stderr (void)
{
    const char *text = g_getenv ("JOURNAL_STREAM");
    g_autofree char *own = NULL;
    struct stat st;

    if (!text || fstat (STDERR_FILENO, &st) < 0)
        return false;
    own = g_strdup_printf ("%lu:%lu", (unsigned long) st.st_dev, (unsigned long) st.st_ino);
    return strcmp (text, own) == 0;
}

int
journal_priority (gf_loglevel_t level)
{
    return CLAMP ((int) level - GF_LOG_EMERG, 0, 7);
}

/* --- an entry ------------------------------------------------------------------------------- */

static void
journal_append (GString *out, const char *name, const char *value)
{
    const guint64 size = GUINT64_TO_LE (strlen (value));

    g_string_append_printf (out, "%s\n", name);
    g_string_append_len (out, (const char *) &size, sizeof size);
    g_string_append_printf (out, "%s\n", value);
}

static void G_GNUC_PRINTF (3, 4)
journal_append_as (GString *out, const char *name, const char *format, ...)
{
    g_autofree char *value = NULL;
    va_list args;

    va_start (args, format);
    value = g_strdup_vprintf (format, args);
    va_end (args);
    journal_append (out, name, value);
}

static GString *
journal_fields (const struct journal_entry *entry)
{
    const char *translator = entry->translator;
    GString *out = g_string_new (NULL);

    journal_append_as (out, "MESSAGE", "%s%s%s", translator ? translator : "",
                       translator ? ": " : "", entry->text);
    journal_append_as (out, "PRIORITY", "%d", journal_priority (entry->level));
    journal_append (out, "SYSLOG_IDENTIFIER", "windlass");
    journal_append (out, "WINDLASS_LEVEL", entry->level_name);
    if (entry->mountpoint)
        journal_append (out, "WINDLASS_MOUNTPOINT", entry->mountpoint);
    if (translator)
        journal_append (out, "WINDLASS_TRANSLATOR", translator);
    if (!entry->file)
        return out;
    journal_append (out, "CODE_FILE", entry->file);
    journal_append_as (out, "CODE_LINE", "%d", entry->line);
    journal_append (out, "CODE_FUNC", entry->function);
    return out;
}

/* --- sending -------------------------------------------------------------------------------- */

/* Returns a sealed file in memory with the fields, or a negative errno. */
static int
journal_memory (const GString *fields)
{
    int fd = memfd_create ("windlass-log", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

    if (fd < 0)
        return -errno;
    if (write (fd, fields->str, fields->len) == (ssize_t) fields->len
        && fcntl (fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0)
        return fd;
    r = errno ? -errno : -EIO;
    close (fd);
    return r;
}

/* fields, or instead of them the file. */
static int
journal_post (const GString *fields, int file, int flags)
{
    struct iovec bytes = { fields->str, file < 0 ? fields->len : 0 };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE (sizeof (int))];
    } control = { .head = { CMSG_LEN (sizeof (int)), SOL_SOCKET, SCM_RIGHTS } };
    struct msghdr message = {
        .msg_name = (void *) &journal_address,
        .msg_namelen = sizeof journal_address,
        .msg_iov = &bytes,
        .msg_iovlen = file < 0,
        .msg_control = file < 0 ? NULL : &control,
        .msg_controllen = file < 0 ? 0 : sizeof control,
    };
    ssize_t n;

    if (file >= 0)
        memcpy (CMSG_DATA (&control.head), &file, sizeof file);
    /* With a time limit, a signal ends the call, also one of SA_RESTART. */
    while ((n = sendmsg (journal.fd, &message, flags | MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return n < 0 ? -errno : 0;
}

static int
journal_post_any (const GString *fields, int flags)
{
    int r = journal_post (fields, -1, flags), file;

    if (r != -EMSGSIZE && r != -ENOBUFS)
        return r;
    file = journal_memory (fields);
    if (file < 0)
        return file;
    r = journal_post (fields, file, flags);
    close (file);
    return r;
}

static int
journal_open (void)
{
    const struct timeval patience = { .tv_sec = 1 };

    if (journal.fd >= 0)
        return 0;
    journal.fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (journal.fd < 0)
        return -errno;
    setsockopt (journal.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    return 0;
}

GString *
journal_record (const char *program, const char *text)
{
    GString *record = g_string_new (NULL);

    journal_append (record, "MESSAGE", text);
    journal_append_as (record, "PRIORITY", "%d", journal_priority (GF_LOG_INFO));
    journal_append (record, "SYSLOG_IDENTIFIER", program);
    return record;
}

/* While the journal takes nothing, an entry waits for it no more: `late` is an entry that was not
 * taken in time. */
int
journal_record_send (GString *record)
{
    static bool late; /* journal.lock */
    int r;

    pthread_mutex_lock (&journal.lock);
    r = journal_open ();
    if (r == 0)
        r = journal_post_any (record, late ? MSG_DONTWAIT : 0);
    late = r == -EAGAIN;
    pthread_mutex_unlock (&journal.lock);
    g_string_free (record, TRUE);
    return r;
}

/* Tells the journal how many entries are lost, in an entry like the one that it can take now. */
static int
journal_post_lost (const struct journal_entry *entry, int flags)
{
    g_autofree char *text = g_strdup_printf (
        "%u entries of the log are lost: the journal did not take them in time", journal.lost);
    const struct journal_entry lost = { .level = GF_LOG_WARNING, .level_name = "WARNING",
                                        .mountpoint = entry->mountpoint, .text = text };
    g_autoptr (GString) fields = journal_fields (&lost);

    return journal_post_any (fields, flags);
}

/* The caller holds the lock. Returns 0, -EAGAIN if the entry is lost, or a negative errno if the
 * journal has no socket. */
static int
journal_post_locked (const struct journal_entry *entry)
{
    const int flags = journal.lost ? MSG_DONTWAIT : 0;
    g_autoptr (GString) fields = journal_fields (entry);
    int r = journal_open ();

    if (r == 0 && journal.lost)
        r = journal_post_lost (entry, flags);
    if (r == 0) {
        journal.lost = 0;
        r = journal_post_any (fields, flags);
    }
    if (r == -EAGAIN)
        journal.lost++;
    return r;
}

/* --- without the socket --------------------------------------------------------------------- */

/* The journal reads the priority at the beginning of each line (sd-daemon(3)). */
static void
journal_print (const struct journal_entry *entry)
{
    g_auto (GStrv) lines = g_strsplit (entry->text, "\n", -1);
    g_autoptr (GString) out = g_string_new (NULL);
    const char *translator = entry->translator;

    for (char **line = lines; *line; line++)
        if (**line || !line[1])
            g_string_append_printf (out, "<%d>%s%s%s\n", journal_priority (entry->level),
                                    translator ? translator : "", translator ? ": " : "", *line);
    if (write (STDERR_FILENO, out->str, out->len) < 0)
        (void) errno; /* there is nowhere to say so */
}

void
journal_send (const struct journal_entry *entry)
{
    int r;

    pthread_mutex_lock (&journal.lock);
    r = journal_post_locked (entry);
    pthread_mutex_unlock (&journal.lock);
    if (r < 0 && r != -EAGAIN)
        journal_print (entry);
}
