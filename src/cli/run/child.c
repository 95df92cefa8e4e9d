/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command: a child process in this one's process group, so that the terminal treats both as one
 * job.
 *
 * Signals of the terminal (Ctrl-C, Ctrl-\, a hang-up) reach the command by themselves, and this
 * process does nothing about them; one that another process has sent is passed on. When the command
 * stops, so does this process, and the shell that waits for it has the terminal again. The shell
 * continues both by one SIGCONT. After one for this process alone the command is still stopped, so
 * it is passed on; a second one would interrupt the command again.
 */
#include "cli/run/run.h"

#include "core/base/printable.h"
#include "core/base/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int child_signals[] = { SIGINT,  SIGQUIT, SIGHUP,  SIGTERM, SIGUSR1,
                                     SIGUSR2, SIGALRM, SIGCONT, SIGWINCH };

static void
child_fill (sigset_t *set)
{
    sigemptyset (set);
    sigaddset (set, SIGCHLD);
    sigaddset (set, SIGTSTP);
    for (size_t i = 0; i < G_N_ELEMENTS (child_signals); i++)
        sigaddset (set, child_signals[i]);
}

static void G_GNUC_NORETURN
child_become (char *const *argv, const char *directory, bool closes, const sigset_t *mask)
{
    const char *program;
    int error;

    if (directory && chdir (directory) < 0)
        say_line (stderr, "windlass run: the current folder can't be '%s': %s", directory,
                  g_strerror (errno));
    if (closes)
        (void) close_range (STDERR_FILENO + 1, ~0U, 0);
    sigprocmask (SIG_SETMASK, mask, NULL);
    /* execvp says EACCES too where a folder of PATH is closed and no other has the program. */
    program = g_find_program_in_path (argv[0]);
    execvp (argv[0], argv);
    error = program || strchr (argv[0], '/') ? errno : ENOENT;
    say_line (stderr, "windlass run: '%s' can't be executed: %s", argv[0], g_strerror (error));
    _exit (error == ENOENT || error == ENOTDIR ? 127 : 126);
}

/* Takes all children that have changed. Returns true when the command has ended. */
static bool
child_look (pid_t child, int *ret_status, void (*lost) (pid_t pid, void *data), void *data)
{
    int status;
    pid_t pid;

    while ((pid = waitpid (-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid == child && WIFSTOPPED (status)) {
            kill (getpid (), SIGSTOP);
        } else if (pid == child) {
            *ret_status = WIFEXITED (status) ? WEXITSTATUS (status) : 128 + WTERMSIG (status);
            return true;
        } else if (!WIFSTOPPED (status)) {
            lost (pid, data);
        }
    }
    return false;
}

/* Takes what is pending: the Ctrl-C that has ended the command would end this process too. From
 * then on a signal does as it does to any program. */
static void
child_signals_end (const sigset_t *set, const sigset_t *mask)
{
    const struct timespec now = { 0 };

    while (sigtimedwait (set, NULL, &now) > 0)
        continue;
    sigprocmask (SIG_SETMASK, mask, NULL);
}

int
child_run (char *const *argv, const char *directory, bool closes,
           void (*lost) (pid_t pid, void *data), void *data)
{
    sigset_t set, mask;
    siginfo_t info;
    pid_t child;
    int status = 0;

    child_fill (&set);
    sigprocmask (SIG_BLOCK, &set, &mask);
    fflush (NULL);
    child = fork ();
    if (child == 0)
        child_become (argv, directory, closes, &mask);
    if (child < 0) {
        say_line (stderr, "windlass run: no process can be started: %s", g_strerror (errno));
        sigprocmask (SIG_SETMASK, &mask, NULL);
        return RUN_FAILED;
    }
    while (!child_look (child, &status, lost, data)) {
        if (sigwaitinfo (&set, &info) < 0)
            continue;
        if (info.si_signo != SIGCHLD && info.si_code <= 0
            && (info.si_signo != SIGCONT || process_is_stopped (child)))
            kill (child, info.si_signo);
    }
    child_signals_end (&set, &mask);
    return status;
}
