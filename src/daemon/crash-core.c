/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a report of a crash tells of the signal and of the core: core(5). */
#include "daemon/crash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char program[PATH_MAX]; /* empty: not known */

void
crash_core_init (void)
{
    const ssize_t n = readlink ("/proc/self/exe", program, sizeof program - 1);

    program[n > 0 ? n : 0] = '\0';
}

/* Reads the first line of a file; "" if it can't be read. */
static void
first_line (const char *path, char *ret_text, size_t size)
{
    const int fd = open (path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read (fd, ret_text, size - 1);

    if (fd >= 0)
        close (fd);
    ret_text[n > 0 ? n : 0] = '\0';
    ret_text[strcspn (ret_text, "\n")] = '\0';
}

/* --- the signal ------------------------------------------------------------------------------- */

/* Appends a number to a text that has room for it. */
static void
crash_append_number (char *text, uint64_t number)
{
    char buffer[CRASH_NUMBER_SIZE];

    strcat (text, crash_number_text (number, 10, buffer));
}

static void
say_process (pid_t pid, uid_t uid)
{
    char path[48] = "/proc/", name[64] = "";

    crash_say ("sent by process ");
    crash_say_number ((uint64_t) pid);
    crash_append_number (path, (uint64_t) pid);
    strcat (path, "/comm");
    first_line (path, name, sizeof name);
    if (*name) {
        crash_say (" (");
        crash_say_safely (name);
        crash_say (")");
    }
    crash_say (", uid ");
    crash_say_number (uid);
}

void
crash_say_sender (const siginfo_t *info)
{
    crash_say ("reason: ");
    if (info->si_code <= 0 && info->si_pid == getpid ())
        crash_say (info->si_signo == SIGABRT ? "this process gave up itself (abort); the log says "
                                               "why, above or on the standard error"
                                             : "sent by this process itself");
    else if (info->si_code <= 0 && info->si_pid > 0)
        say_process (info->si_pid, info->si_uid);
    else if (info->si_code <= 0)
        crash_say ("sent by a process of another pid namespace");
    else if (info->si_signo == SIGSYS) {
        crash_say ("a filter of system calls (seccomp) ends the process at system call ");
        crash_say_number ((uint64_t) info->si_syscall);
    } else if (info->si_code == SI_KERNEL)
        crash_say ("a fault whose address the processor does not tell, such as an access to an "
                   "address that is not canonical");
    else if (info->si_signo == SIGSEGV || info->si_signo == SIGBUS) {
        crash_say ("access to address 0x");
        crash_say_hex ((uint64_t) (uintptr_t) info->si_addr);
    } else {
        crash_say ("the instruction at address 0x");
        crash_say_hex ((uint64_t) (uintptr_t) info->si_addr);
    }
    crash_say ("\n");
}

/* --- the core --------------------------------------------------------------------------------- */

static void
say_gdb (const char *core)
{
    crash_say ("; 'gdb ");
    crash_say_safely (*program ? program : "windlass");
    crash_say (" ");
    crash_say_safely (core);
    crash_say ("' reads it\n");
}

/* The programs that distributions name in core_pattern. */
static void
say_program (const char *command)
{
    crash_say ("core: the kernel gives it to '");
    crash_say_safely (command);
    if (strstr (command, "systemd-coredump")) {
        crash_say ("'; as root, 'coredumpctl gdb ");
        crash_say_number ((uint64_t) getpid ());
        crash_say ("' reads it\n");
    } else if (strstr (command, "apport")) {
        crash_say ("', which may keep it in /var/crash: 'apport-unpack REPORT FOLDER', then 'gdb ");
        crash_say_safely (*program ? program : "windlass");
        crash_say (" FOLDER/CoreDump'\n");
    } else {
        crash_say ("', whose manual says where it is\n");
    }
}

/* Appends what a letter after % stands for, or * where only the kernel knows it. */
static void
append_letter (char *out, char letter, int signal_number)
{
    char name[17] = "";

    switch (letter) {
    case 'p': crash_append_number (out, (uint64_t) getpid ()); return;
    case 'u': crash_append_number (out, getuid ()); return;
    case 'g': crash_append_number (out, getgid ()); return;
    case 's': crash_append_number (out, (uint64_t) signal_number); return;
    case 'e':
        prctl (PR_GET_NAME, name);
        strcat (out, name);
        return;
    case 'f': strcat (out, "windlass"); return;
    case '%': strcat (out, "%"); return;
    default: strcat (out, "*"); return;
    }
}

/* out has room for a pattern of 128 bytes, all of whose letters are replaced, and for a path. */
static void
append_pattern (char *out, const char *pattern, int signal_number)
{
    char uses_pid[4] = "";
    bool has_pid = false;

    for (; *pattern; pattern++) {
        const size_t end = strlen (out);

        if (*pattern == '%' && pattern[1]) {
            has_pid |= pattern[1] == 'p';
            append_letter (out, *++pattern, signal_number);
        } else {
            out[end] = *pattern;
            out[end + 1] = '\0';
        }
    }
    first_line ("/proc/sys/kernel/core_uses_pid", uses_pid, sizeof uses_pid);
    if (*uses_pid == '1' && !has_pid) {
        strcat (out, ".");
        crash_append_number (out, (uint64_t) getpid ());
    }
}

static void
say_file (const char *pattern, int signal_number)
{
    static char path[PATH_MAX + 4096];
    struct rlimit limit = { 0, 0 };

    getrlimit (RLIMIT_CORE, &limit);
    if (limit.rlim_cur == 0) {
        crash_say ("core: none, since RLIMIT_CORE is 0: 'ulimit -c unlimited' before the mount, "
                   "or LimitCORE=infinity in a unit of systemd\n");
        return;
    }
    path[0] = '\0';
    if (*pattern != '/' && syscall (SYS_getcwd, path, PATH_MAX) > 0 && strcmp (path, "/") != 0)
        strcat (path, "/");
    append_pattern (path, pattern, signal_number);
    crash_say ("core: the kernel writes it to '");
    crash_say_safely (path);
    crash_say ("'");
    if (limit.rlim_cur != RLIM_INFINITY) {
        crash_say (", cut at ");
        crash_say_number (limit.rlim_cur);
        crash_say (" bytes (RLIMIT_CORE)");
    }
    say_gdb (path);
}

/* Since Linux 6.16. After a second @, the program asks for a core or refuses it. */
static void
say_socket (const char *path)
{
    crash_say ("core: the kernel gives it to the program that listens at the socket '");
    crash_say_safely (*path == '@' ? path + 1 : path);
    crash_say ("', whose manual says where it is\n");
}

void
crash_say_core (int signal_number)
{
    char pattern[130]; /* CORENAME_MAX_SIZE of Linux, and the end */
    const int dumpable = prctl (PR_GET_DUMPABLE);

    first_line ("/proc/sys/kernel/core_pattern", pattern, sizeof pattern);
    if (dumpable == 0)
        crash_say ("core: none, since the process is not dumpable (prctl(2), fs.suid_dumpable)\n");
    else if (!*pattern)
        crash_say ("core: unknown, since kernel.core_pattern can't be read\n");
    else if (*pattern == '|')
        say_program (pattern + 1);
    else if (*pattern == '@')
        say_socket (pattern + 1);
    else if (dumpable == 2 && *pattern != '/')
        crash_say ("core: none, since fs.suid_dumpable is 2 and kernel.core_pattern is no absolute "
                   "path\n");
    else
        say_file (pattern, signal_number);
}
