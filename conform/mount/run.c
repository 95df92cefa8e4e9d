/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A child runs the cases of a theme, one after the other, and reports to its parent through a pipe,
 * a line at a time:
 *
 *   >7            case 7 begins
 *    some text    its output           !text  a rule it found broken        ?text  why it can't be
 *                 run
 *   <7            it is over
 *
 * If a case does not end, or ends the child, the parent knows which one it was.
 */
#include "conform/mount/mount.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* far more than any case needs, even with sanitizers and other work on the machine */
#define CASE_SECONDS 30
#define FIRST_FREE 10   /* descriptors from here on are a case's */

struct outcome *
outcome_new (void)
{
    struct outcome *outcome = g_new0 (struct outcome, 1);

    outcome->lines = g_ptr_array_new_with_free_func (g_free);
    outcome->broken = g_ptr_array_new_with_free_func (g_free);
    return outcome;
}

void
outcome_free (struct outcome *outcome)
{
    if (!outcome)
        return;
    g_ptr_array_unref (outcome->lines);
    g_ptr_array_unref (outcome->broken);
    g_free (outcome->cannot);
    g_free (outcome->bad);
    g_free (outcome);
}

/* --- the child ------------------------------------------------------------------------------ */

/* Makes a directory for the actor and enters it. */
static bool
enter (const char *name, const struct act_identity *actor)
{
    if (mkdir (name, 0755) < 0 && errno != EEXIST)
        return false;
    if (actor->privileged && lchown (name, actor->uid, actor->gid) < 0)
        return false;
    return chdir (name) == 0;
}

/* Makes it below the mount, where nothing is refused, and enters it in both places. The working
 * directory is then that of the mount. */
static bool
enter_twin (const char *name, unsigned number, int theme, int twin,
            const struct act_identity *actor)
{
    int below;

    if (fchdir (twin) < 0 || !enter (name, actor))
        return false;
    below = open (".", O_RDONLY | O_DIRECTORY);
    act_case (number, below);
    return below >= 0 && fchdir (theme) == 0 && chdir (name) == 0;
}

static void
child_case (const struct mount_case *c, unsigned number, int theme, int twin,
            const struct act_identity *actor)
{
    g_autofree char *text = g_strdup_printf ("%u", number);

    act_put ('>', text);
    act_case (number, -1);
    umask (022);
    if (twin >= 0 ? !enter_twin (text, number, theme, twin, actor)
                  : fchdir (theme) < 0 || !enter (text, actor)) {
        need ("a directory to work in", -1);
    } else {
        become_actor ();
        c->run (c);
        act_become_root ();
    }
    close_range (FIRST_FREE, ~0U, 0);
    act_case_end ();
}

/* The descriptors that a child keeps, below FIRST_FREE. */
enum { KEPT_TWIN = FIRST_FREE - 3, KEPT_THEME, KEPT_OUT };

/* Standard input and output are /dev/null, so that no process can wait for them; descriptors below
 * FIRST_FREE are in use. twin: a directory, or -1. */
static bool
child_descriptors (int out, int theme, int twin)
{
    const int null = fcntl (open ("/dev/null", O_RDWR), F_DUPFD, FIRST_FREE);

    /* Out of the way of the numbers that are given next. */
    out = fcntl (out, F_DUPFD, FIRST_FREE);
    theme = fcntl (theme, F_DUPFD, FIRST_FREE);
    twin = fcntl (twin >= 0 ? twin : null, F_DUPFD, FIRST_FREE);
    if (null < 0 || dup2 (out, KEPT_OUT) < 0 || dup2 (theme, KEPT_THEME) < 0
        || dup2 (twin, KEPT_TWIN) < 0)
        return false;
    dup2 (null, STDIN_FILENO);
    dup2 (null, STDOUT_FILENO);
    for (int fd = STDERR_FILENO + 1; fd < KEPT_TWIN; fd++)
        dup2 (null, fd);
    close_range (FIRST_FREE, ~0U, 0);
    return true;
}

/* Makes the directory of a theme, below the mount if place has a twin. */
static bool
child_enter (const struct run_place *place, const char *theme, const struct act_identity *actor,
             int out)
{
    int twin = -1;

    if (place->twin) {
        if (chdir (place->twin) < 0 || !enter (theme, actor))
            return false;
        twin = open (".", O_RDONLY | O_DIRECTORY);
        if (twin < 0 || chdir (place->path) < 0 || chdir (theme) < 0)
            return false;
    } else if (chdir (place->path) < 0 || !enter (theme, actor)) {
        return false;
    }
    return child_descriptors (out, open (".", O_RDONLY | O_DIRECTORY), twin);
}

static void
child_main (GPtrArray *list, unsigned from, const struct run_place *place, const char *theme,
            const struct act_identity *actor, int out)
{
    setpgid (0, 0);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
    signal (SIGPIPE, SIG_DFL);
    signal (SIGINT, SIG_DFL);
    umask (022);
    if (actor->privileged)
        setgroups (0, NULL);
    if (!child_enter (place, theme, actor, out)) {
        fprintf (stderr, "windlass conform: '%s/%s': %s\n", place->path, theme,
                 g_strerror (errno));
        _exit (1);
    }
    act_begin (actor, place, KEPT_OUT);
    for (unsigned i = from; i < list->len; i++)
        child_case (list->pdata[i], i, KEPT_THEME, place->twin ? KEPT_TWIN : -1, actor);
    _exit (0);
}

/* --- the parent ----------------------------------------------------------------------------- */

struct case_reader {
    GPtrArray *outcomes;
    const struct run_watch *watch;
    struct outcome *current; /* NULL: between cases */
    unsigned next;           /* the first case that has not begun */
};

static void
reader_line (struct case_reader *reader, const char *line)
{
    struct outcome *current = reader->current;
    const unsigned number = atoi (line + 1);

    if (*line == '>' && number < reader->outcomes->len) {
        reader->current = reader->outcomes->pdata[number];
        reader->current->ran = true;
        reader->next = number + 1;
    } else if (!current) {
        return;
    } else if (*line == '<') {
        reader->current = NULL;
        if (reader->watch->done)
            reader->watch->done (reader->watch->data, number);
    } else if (*line == '?') {
        g_free (current->cannot);
        current->cannot = g_strdup (line + 1);
    } else {
        g_ptr_array_add (*line == '!' ? current->broken : current->lines, g_strdup (line + 1));
    }
}

/* Handles the complete lines of text, and leaves the rest in it. */
static void
reader_lines (struct case_reader *reader, GString *text)
{
    char *line = text->str, *end;

    for (; (end = strchr (line, '\n')); line = end + 1) {
        *end = '\0';
        reader_line (reader, line);
    }
    g_string_erase (text, 0, line - text->str);
}

/* Reads until the child has reported everything. Returns false if it stopped reporting before its
 * end. */
static bool
reader_read (struct case_reader *reader, int fd)
{
    g_autoptr (GString) text = g_string_new (NULL);
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char part[16384];

    for (;;) {
        ssize_t n;

        if (poll (&ready, 1, CASE_SECONDS * 1000) == 0)
            return false;
        n = read (fd, part, sizeof part);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return true;
        g_string_append_len (text, part, n);
        reader_lines (reader, text);
    }
}

/* Ends the case that was running when the child ended. */
static void
case_reader_end (struct case_reader *reader, bool over, int status)
{
    if (!reader->current)
        return;
    if (!over)
        reader->current->bad = g_strdup_printf ("it said nothing for %d seconds, and was killed",
                                                CASE_SECONDS);
    else if (WIFSIGNALED (status))
        reader->current->bad = g_strdup_printf ("it was killed by %s",
                                                sigabbrev_np (WTERMSIG (status)));
    else
        reader->current->bad = g_strdup_printf ("it ended in the middle, exit status %d",
                                                WEXITSTATUS (status));
}

int
run_cases (GPtrArray *list, GPtrArray *outcomes, unsigned from, const struct run_place *place,
           const char *theme, const struct act_identity *actor, const struct run_watch *watch)
{
    struct case_reader reader = { .outcomes = outcomes, .watch = watch, .next = from };
    int ends[2], status = 0;
    bool over;
    pid_t pid;

    fflush (NULL);
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return -errno;
    pid = fork ();
    if (pid == 0)
        child_main (list, from, place, theme, actor, ends[1]);
    close (ends[1]);
    over = pid > 0 && reader_read (&reader, ends[0]);
    if (pid > 0 && !over) {
        kill (-pid, SIGKILL);
        watch->stuck (watch->data);
    }
    close (ends[0]);
    if (pid < 0)
        return -errno;
    waitid (P_PID, pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
    kill (-pid, SIGKILL); /* kills children that a case left behind, before the number can be
                             reused */
    waitpid (pid, &status, 0);
    case_reader_end (&reader, over, status);
    return reader.next;
}
