/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tries a mount: windlass itself mounts a scratch folder, as a user would, and a process of its own
 * uses it. Each step has a time limit. In the end the mount is gone, and with it the daemon, also
 * if a signal asks this program to end meanwhile.
 */
#include "cli/doctor/doctor.h"

#include "core/base/path-question.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define START_PATIENCE 20000 /* milliseconds, for each of these */
#define USE_PATIENCE 10000
#define END_PATIENCE 10000

struct mount_attempt {
    const char *name;    /* of the finding */
    GPtrArray *findings;
    char *folder, *mountpoint;
    const char *volfile; /* one of ours if it is NULL */
    path_question_fn *use;
    pid_t daemon;        /* 0: none was started */
    int pidfd;           /* of it, or -1 */
};

/* --- signals ---------------------------------------------------------------------------------- */

static const int attempt_signals[] = { SIGHUP, SIGINT, SIGTERM };
static volatile sig_atomic_t attempt_ending; /* the signal that came, or 0 */

static void
attempt_note_signal (int number)
{
    attempt_ending = number;
}

static void
attempt_hold_signals (bool hold)
{
    for (size_t i = 0; i < G_N_ELEMENTS (attempt_signals); i++)
        signal (attempt_signals[i], hold ? attempt_note_signal : SIG_DFL);
    if (!hold && attempt_ending)
        raise (attempt_ending);
}

/* --- the scratch folder ----------------------------------------------------------------------- */

static char *
attempt_file (const struct mount_attempt *attempt, const char *name)
{
    return g_build_filename (attempt->folder, name, NULL);
}

static void G_GNUC_PRINTF (2, 3)
attempt_failed (struct mount_attempt *attempt, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list args;

    va_start (args, format);
    text = g_strdup_vprintf (format, args);
    va_end (args);
    doctor_find (attempt->findings, attempt->name, DOCTOR_PROBLEM, "%s", text);
}

/* Returns whether only root can put another folder in the place of this one, or of one above it. */
static bool
attempt_is_roots (const char *folder)
{
    char *path = realpath (folder, NULL);
    bool good = path;
    struct stat st;

    while (good) {
        good = stat (path, &st) == 0 && st.st_uid == 0
            && (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
        if (path[1] == '\0')
            break;
        *MAX (strrchr (path, '/'), path + 1) = '\0';
    }
    free (path);
    return good;
}

/* Makes the scratch folder. Root takes no $TMPDIR of a user, which sudo may have kept. Returns NULL
 * and errno. */
static char *
attempt_make_folder (void)
{
    const char *around = g_get_tmp_dir ();
    g_autofree char *template = NULL;

    if (geteuid () == 0 && !attempt_is_roots (around))
        around = "/tmp";
    template = g_build_filename (around, "windlass-doctor-XXXXXX", NULL);
    return g_mkdtemp_full (template, 0700) ? g_steal_pointer (&template) : NULL;
}

/* Makes the folder with a volfile and the mount point. Returns false after a finding. */
static bool
attempt_prepare (struct mount_attempt *attempt)
{
    g_autofree char *back = NULL, *text = NULL, *volfile = NULL;
    bool made = false;

    attempt->folder = attempt_make_folder ();
    if (attempt->folder) {
        back = attempt_file (attempt, "back");
        volfile = attempt_file (attempt, "volfile");
        attempt->mountpoint = attempt_file (attempt, "mount");
        text = g_strdup_printf ("volume posix\n    type storage/posix\n"
                                "    option directory \"%s\"\nend-volume\n",
                                back);
        made = mkdir (back, 0700) == 0 && mkdir (attempt->mountpoint, 0700) == 0
            && g_file_set_contents (volfile, text, -1, NULL);
    }
    if (!made)
        attempt_failed (attempt, "no scratch folder in %s: %s", g_get_tmp_dir (),
                        g_strerror (errno));
    return made;
}

/* Removes what attempt_prepare and the daemon made, and nothing else: a folder that is not empty
 * stays. */
static void
attempt_clean (struct mount_attempt *attempt)
{
    static const char *const files[] = { "volfile", "log", "pid", "said", "back/file" };

    for (size_t i = 0; i < G_N_ELEMENTS (files); i++) {
        g_autofree char *path = attempt_file (attempt, files[i]);

        unlink (path);
    }
    for (const char *const *dir = (const char *const[]){ "back", "mount", "", NULL }; *dir; dir++) {
        g_autofree char *path = attempt_file (attempt, *dir);

        rmdir (path);
    }
}

/* --- starting --------------------------------------------------------------------------------- */

/* Waits for the program, which ends when the mount works. Returns its status, or -1: it has not
 * ended, and is killed. */
static int
attempt_await (pid_t pid)
{
    const gint64 until = g_get_monotonic_time () + START_PATIENCE * G_GINT64_CONSTANT (1000);
    int status;

    for (;;) {
        const pid_t ended = waitpid (pid, &status, WNOHANG);

        if (ended == pid)
            return status;
        if ((ended < 0 && errno != EINTR) || g_get_monotonic_time () > until)
            break;
        g_usleep (10000);
    }
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
    return -1;
}

/* The first line that the program wrote, without its name. g_free it. */
static char *
attempt_said (const struct mount_attempt *attempt)
{
    g_autofree char *path = attempt_file (attempt, "said"), *text = NULL;
    const char *begin;

    if (!g_file_get_contents (path, &text, NULL, NULL))
        return g_strdup ("");
    begin = g_str_has_prefix (text, "windlass: ") ? text + strlen ("windlass: ") : text;
    return g_strndup (begin, strcspn (begin, "\n"));
}

/* Returns false after a finding. */
static bool
attempt_start (struct mount_attempt *attempt)
{
    g_autofree char *log = attempt_file (attempt, "log"), *pid_file = attempt_file (attempt, "pid"),
                    *own = attempt_file (attempt, "volfile"),
                    *said_path = attempt_file (attempt, "said"), *pid_text = NULL, *said = NULL;
    const char *argv[] = { "/proc/self/exe", "windlass", "-f",
                           attempt->volfile ? attempt->volfile : own, "-l", log, "-p", pid_file,
                           "-o", attempt->volfile ? "ro" : "rw", "--", attempt->mountpoint, NULL };
    const int fd = open (said_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    g_autoptr (GError) error = NULL;
    pid_t pid;
    int status;

    if (fd < 0
        || !g_spawn_async_with_fds (NULL, (char **) argv, NULL,
                                    G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_FILE_AND_ARGV_ZERO, NULL,
                                    NULL, &pid, -1, fd, fd, &error)) {
        attempt_failed (attempt, "windlass can't be started: %s",
                        error ? error->message : g_strerror (errno));
        if (fd >= 0)
            close (fd);
        return false;
    }
    close (fd);
    status = attempt_await (pid);
    if (g_file_get_contents (pid_file, &pid_text, NULL, NULL))
        attempt->daemon = (pid_t) g_ascii_strtoll (pid_text, NULL, 10);
    if (attempt->daemon > 0)
        attempt->pidfd = (int) syscall (SYS_pidfd_open, attempt->daemon, 0);
    if (status == 0)
        return true;
    said = attempt_said (attempt);
    attempt_failed (attempt, "%s", status == -1 ? "windlass has not mounted after 20 seconds"
                                   : *said      ? said
                                                : "windlass failed without a word");
    return false;
}

/* --- ending ----------------------------------------------------------------------------------- */

/* In another process. */
static void
attempt_unmount_ask (const char *path, const void *data, struct path_answer *answer)
{
    g_autofree char *mountinfo = NULL, *text = NULL;
    struct mount mount;
    int fd;

    while ((fd = open ("/dev/null", O_RDWR)) >= 0 && fd < STDERR_FILENO)
        continue; /* fusermount3 gets three descriptors */
    if (!g_file_get_contents ("/proc/self/mountinfo", &mountinfo, NULL, NULL)
        || !mount_find (mountinfo, path, &mount))
        return;
    answer->error = -unmount_path (&mount, 0, &text);
    g_strlcpy (answer->text, text ? text : "", sizeof answer->text);
    mount_clear (&mount);
}

/* Returns whether the question was answered in time; asks in another process. */
static bool
attempt_ask (const struct mount_attempt *attempt, path_question_fn *ask, int milliseconds,
             struct path_answer *ret_answer)
{
    return path_ask (ask, attempt->mountpoint, attempt, milliseconds, ret_answer);
}

static bool
attempt_daemon_ended (const struct mount_attempt *attempt, int milliseconds)
{
    struct pollfd fd = { .fd = attempt->pidfd, .events = POLLIN };
    const gint64 until = g_get_monotonic_time () + milliseconds * G_GINT64_CONSTANT (1000);
    int r = -1;

    /* A process that nobody reaps, as in some containers, has ended all the same. */
    while (attempt->pidfd >= 0 && r < 0 && g_get_monotonic_time () < until)
        r = poll (&fd, 1, milliseconds); /* a signal interrupts it */
    return attempt->pidfd < 0 || r > 0;
}

/* Unmounts, and ends the daemon. Returns false after a finding. */
static bool
attempt_end (struct mount_attempt *attempt)
{
    struct path_answer answer;
    const bool answered = attempt_ask (attempt, attempt_unmount_ask, END_PATIENCE, &answer);
    bool ended = answered && answer.error == 0;

    if (!answered)
        attempt_failed (attempt, "unmounting took longer than 10 seconds");
    else if (!ended)
        attempt_failed (attempt, "it can't be unmounted: %s",
                        *answer.text ? answer.text : g_strerror (answer.error));
    if (ended && !attempt_daemon_ended (attempt, END_PATIENCE)) {
        doctor_find (attempt->findings, attempt->name, DOCTOR_NOTE,
                     "it was unmounted, and the daemon did not end within 10 seconds: another "
                     "mount namespace may hold the mount");
        ended = false;
    }
    if (!ended && attempt->pidfd >= 0) {
        syscall (SYS_pidfd_send_signal, attempt->pidfd, SIGTERM, NULL, 0); /* it unmounts */
        if (!attempt_daemon_ended (attempt, END_PATIENCE))
            syscall (SYS_pidfd_send_signal, attempt->pidfd, SIGKILL, NULL, 0);
    }
    return ended;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Whether the kernel read or wrote a file itself, if one was opened. */
static const char *
attempt_passthrough (const char *state)
{
    g_autofree char *agreed = doctor_value (state, "kernel_passthrough"),
                    *refused = doctor_value (state, "passthrough_refused");

    if (strcmp (agreed, "on") != 0)
        return "off";
    return g_ascii_strtoull (refused, NULL, 10) > 0 ? "refused by the kernel" : "on";
}

/* error: why a file took no ACL, or "". */
static void
attempt_tell_acl (const struct mount_attempt *attempt, const char *error)
{
    struct doctor_finding *finding;

    if (!*error) {
        doctor_find (attempt->findings, "ACLs", DOCTOR_OK, "a file of the mount takes one");
        return;
    }
    finding = doctor_find (attempt->findings, "ACLs", DOCTOR_NOTE,
                           "a file of the mount takes none: %s", error);
    finding->costs = g_strdup ("files have only the rights of their modes, as on the file system "
                               "below the scratch directory");
    finding->mend = g_strdup ("for your directory: windlass doctor VOLFILE tells whether it has "
                              "ACLs");
}

static void
attempt_run (struct mount_attempt *attempt)
{
    g_autofree char *state = NULL, *ring = NULL;
    struct path_answer answer;
    bool answered;

    if (!attempt_start (attempt)) {
        if (attempt->pidfd >= 0)
            attempt_end (attempt);
        return;
    }
    answered = attempt_ask (attempt, attempt->use, USE_PATIENCE, &answer);
    state = doctor_ask (attempt->mountpoint, "state", NULL);
    ring = doctor_value (state, "io_uring");
    if (!answered)
        attempt_failed (attempt, "it does not answer: nothing came back in 10 seconds");
    else if (answer.error)
        attempt_failed (attempt, "it was mounted, but %s failed: %s", answer.text,
                        g_strerror (answer.error));
    if (attempt_end (attempt) && answered && !answer.error)
        doctor_find (attempt->findings, attempt->name, DOCTOR_OK,
                     "%s; requests through %s, passthrough %s",
                     attempt->volfile ? "mounted read-only, looked at and unmounted"
                                      : "mounted, written, read and unmounted",
                     strcmp (ring, "on") == 0 ? "io_uring" : "/dev/fuse",
                     attempt_passthrough (state));
    if (answered && !answer.error && !attempt->volfile)
        attempt_tell_acl (attempt, answer.text);
}

/* As root the mount is made where nobody else sees it, and no process that happens to start now
 * takes it along into another mount namespace. */
static void
attempt_hide (void)
{
    if (unshare (CLONE_NEWNS) == 0)
        mount ("none", "/", NULL, MS_REC | MS_SLAVE, NULL);
}

static void
attempt_whole (struct mount_attempt *attempt)
{
    attempt_ending = 0;
    attempt->pidfd = -1;
    attempt_hold_signals (true);
    attempt_hide ();
    if (attempt_prepare (attempt))
        attempt_run (attempt);
    if (attempt->folder)
        attempt_clean (attempt);
    if (attempt->pidfd >= 0)
        close (attempt->pidfd);
    g_free (attempt->folder);
    g_free (attempt->mountpoint);
    attempt_hold_signals (false);
}

/* --- what is done with a mount, in another process -------------------------------------------- */

static void
attempt_answer (struct path_answer *answer, const char *what, bool worked)
{
    if (worked || answer->error)
        return;
    answer->error = errno ? errno : EIO;
    g_strlcpy (answer->text, what, sizeof answer->text);
}

/* An access control list with one entry for a user: version 2, owner rw-, user 0 r--, group ---,
 * mask r--, others ---. linux/posix_acl_xattr.h describes the bytes. */
static const unsigned char attempt_acl[] = {
    2,    0, 0, 0,                         0x01, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, /* owner */
    0x02, 0, 4, 0, 0, 0, 0, 0,                                                    /* user 0 */
    0x04, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x10, 0, 4, 0, 0xff, 0xff, 0xff, 0xff, /* group, mask */
    0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,                                        /* others */
};

static void
attempt_use (const char *path, const void *data, struct path_answer *answer)
{
    const char text[] = "windlass";
    g_autofree char *file = g_build_filename (path, "file", NULL);
    char back[sizeof text] = "";
    int fd;

    errno = 0;
    fd = open (file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    attempt_answer (answer, "creating a file", fd >= 0);
    attempt_answer (answer, "writing", write (fd, text, sizeof text) == sizeof text);
    attempt_answer (answer, "reading",
                    pread (fd, back, sizeof back, 0) == sizeof back
                        && memcmp (back, text, sizeof text) == 0);
    if (!answer->error
        && fsetxattr (fd, "system.posix_acl_access", attempt_acl, sizeof attempt_acl, 0) < 0)
        g_strlcpy (answer->text, g_strerror (errno), sizeof answer->text);
    attempt_answer (answer, "closing", close (fd) == 0);
    attempt_answer (answer, "removing a file", unlink (file) == 0);
}

static void
attempt_look (const char *path, const void *data, struct path_answer *answer)
{
    DIR *dir;

    errno = 0;
    dir = opendir (path);
    attempt_answer (answer, "opening the root", dir);
    for (int i = 0; i < 100 && dir && readdir (dir); i++)
        continue;
    attempt_answer (answer, "listing the root", errno == 0);
    if (dir)
        closedir (dir);
}

void
doctor_attempt (GPtrArray *findings)
{
    attempt_whole (&(struct mount_attempt){ .name = "a mount",
                                      .findings = findings,
                                      .use = attempt_use });
}

void
doctor_attempt_volfile (const char *volfile, GPtrArray *findings)
{
    attempt_whole (&(struct mount_attempt){ .name = "a mount of it",
                                      .findings = findings,
                                      .volfile = volfile,
                                      .use = attempt_look });
}
