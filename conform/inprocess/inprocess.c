/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The list of cases, and children that run them: if a case crashes or gets no answer, another child
 * goes on with the next. */
#include "conform/inprocess/inprocess.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD_ENDS 12 /* abnormal ends of children before the run is given up */

/* Findings that are expected in a graph with such a translator, and the reasons; cases and key are
 * globs. */
static const struct {
    const char *type, *cases, *key, *reason;
} by_design[] = {
    { "debug/power-cut", "*", "reference leaked|debug/power-cut|",
      "power-cut keeps the inodes of what a power cut would undo" },
    { "debug/power-cut", "*", "reference leaked|storage/posix|",
      "power-cut keeps the inodes of what a power cut would undo" },
    { "debug/power-cut", "*", "reference leaked|unknown|",
      "power-cut keeps the inodes of what a power cut would undo" },
    { "features/trash", "*", "reference leaked|features/trash|*",
      "trash keeps the inodes of the folders that removed files wait in" },
    { "features/trash", "*=@(unlinked|removed)*", "result differs|*",
      "a removed file is kept, so it still has a link" },
    { NULL, NULL, NULL, NULL },
};

const char *
inprocess_by_design (const struct graph *graph, const char *case_name, const char *key)
{
    for (size_t i = 0; by_design[i].type; i++)
        for (guint j = 0; j < graph->xlators->len; j++)
            if (strcmp (((xlator_t *) graph->xlators->pdata[j])->type, by_design[i].type) == 0
                && fnmatch (by_design[i].cases, case_name, FNM_EXTMATCH) == 0
                && fnmatch (by_design[i].key, key, 0) == 0)
                return by_design[i].reason;
    return NULL;
}

/* --- cases ---------------------------------------------------------------------------------- */

static void
cases_of (GArray *cases, const struct variant *of, const struct conform_options *options)
{
    g_autoptr (GArray) choices = g_array_new (FALSE, TRUE, sizeof (struct case_choice));

    choices_list (choices, of->pairs);
    for (guint i = 0; i < choices->len; i++) {
        struct in_case c = { .variant = of,
                             .choice = g_array_index (choices, struct case_choice, i) };
        g_autofree char *name = choice_name (&c.choice);

        c.name = g_strdup_printf ("in-process/%s/%s", of->name, name);
        if (conform_wanted (options, c.name))
            g_array_append_val (cases, c);
        else
            g_free (c.name);
    }
}

static void
case_clear (void *c)
{
    g_free (((struct in_case *) c)->name);
}

static GArray *
cases_all (const struct conform_options *options)
{
    GArray *cases = g_array_new (FALSE, TRUE, sizeof (struct in_case));

    g_array_set_clear_func (cases, case_clear);
    for (const struct variant *of = variants; of->name; of++)
        cases_of (cases, of, options);
    return cases;
}

/* --- children ------------------------------------------------------------------------------- */

struct run {
    const struct conform_options *options;
    struct conform_report *report;
    GArray *cases;
    char *scratch;
    struct conform_keeper *keeper; /* of scratch */
    const struct variant *group;
    GHashTable *told;    /* set of keys of failures that were printed */
    unsigned more;       /* failures of this group that were not printed */
    guint next;          /* the next case, or the running one */
    bool running, ended;
    unsigned bad_ends;
};

static void
run_group_end (struct run *run)
{
    if (run->more > 0)
        printf ("     %u more cases fail as those above do\n", run->more);
    run->more = 0;
    conform_group_end (run->report);
}

static void
run_group (struct run *run, const struct variant *of)
{
    g_autofree char *name = g_strconcat ("in-process/", of->name, NULL);

    if (run->group == of)
        return;
    run_group_end (run);
    run->group = of;
    conform_group (run->report, name);
}

static void
run_fail (struct run *run, const struct in_case *c, const char *key, const char *text)
{
    g_autofree char *seed = g_strdup_printf ("--in-process --seed %" G_GUINT64_FORMAT,
                                             run->options->seed);
    g_autofree char *repeat = conform_repeat (
        run->options, c->name, c->variant->mixed || c->variant->late ? seed : "--in-process");

    if (!run->report->verbose && !g_hash_table_add (run->told, g_strdup (key))) {
        run->report->failed++;
        run->report->group_failed++;
        run->more++;
        return;
    }
    conform_fail (run->report, c->name, repeat, text);
}

static void
run_line (struct run *run, char *line)
{
    const struct in_case *c = &g_array_index (run->cases, struct in_case,
                                              MIN (run->next, run->cases->len - 1));
    g_auto (GStrv) fields = g_strsplit (g_strchomp (line), "\t", 3);
    g_autofree char *text = fields[0] && fields[1] && fields[2] ? g_strcompress (fields[2])
                                                                : g_strdup ("");

    run->ended |= line[0] == 'E';
    if (line[0] == 'S') {
        run_group (run, c->variant);
        run->running = true;
        return;
    }
    if (!run->running)
        return;
    if (line[0] == 'F')
        run_fail (run, c, fields[1], text);
    else if (line[0] == 'D')
        conform_by_design (run->report, c->name, text);
    else if (line[0] == 'P')
        conform_pass (run->report, c->name);
    run->running = false;
    run->next++;
}

static int
run_child (struct run *run)
{
    const pid_t self = getpid ();
    int fds[2];
    pid_t pid;

    fflush (stdout);
    if (pipe (fds) < 0)
        return -errno;
    pid = fork ();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        close (fds[0]);
        conform_die_with (self);
        kit_worker_run (run->options, run->cases, run->next, fds[1], run->scratch);
    }
    close (fds[1]);
    FILE *lines = fdopen (fds[0], "r");
    char *line = NULL;
    size_t size = 0;
    int status = 0;
    while (lines && getline (&line, &size, lines) > 0)
        run_line (run, line);
    free (line);
    fclose (lines);
    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* Between two cases, and when the graph ends after the last one, the crash is told of the case
 * before. */
static void
run_crash (struct run *run, int status)
{
    const guint number = run->running ? run->next : MAX (run->next, 1) - 1;
    const char *where = run->running ? "" : " after the case";
    g_autofree char *text =
        WIFSIGNALED (status)
            ? g_strdup_printf ("crash%s: %s", where, strsignal (WTERMSIG (status)))
            : g_strdup_printf ("crash%s: exit status %d", where, WEXITSTATUS (status));

    run_fail (run, &g_array_index (run->cases, struct in_case, number), text, text);
}

/* A child ended abnormally. */
static void
run_bad_end (struct run *run, int status)
{
    run->bad_ends++;
    if (run->running || !WIFEXITED (status) || WEXITSTATUS (status) != WORKER_STUCK)
        run_crash (run, status);
    run->next += run->running;
    run->running = false;
}

static int
run_all (struct run *run)
{
    while (run->next < run->cases->len && !run->ended) {
        const int status = run_child (run);

        if (status < 0)
            return status;
        if (WIFEXITED (status) && WEXITSTATUS (status) == 4)
            return -EINVAL;
        if (!run->ended && WIFEXITED (status) && WEXITSTATUS (status) == WORKER_SLOW) {
            conform_skip (run->report, "in-process", "the graph is too slow for the others");
            break;
        }
        if (!run->ended && WIFEXITED (status) && WEXITSTATUS (status) == WORKER_TREELESS)
            return -EINVAL;
        if (!run->ended)
            run_bad_end (run, status);
        if (run->bad_ends >= BAD_ENDS && run->next < run->cases->len) {
            conform_skip (run->report, "in-process",
                          "too many requests were never answered, or crashed");
            break;
        }
    }
    return 0;
}

static int
run_begin (struct run *run)
{
    g_autofree char *stack = NULL, *bare = NULL;

    run->scratch = conform_scratch_kept (run->options, &run->keeper);
    if (!run->scratch)
        return -EIO;
    stack = g_build_filename (run->scratch, "stack", NULL);
    bare = g_build_filename (run->scratch, "bare", NULL);
    return mkdir (stack, 0755) < 0 || mkdir (bare, 0755) < 0 ? -errno : 0;
}

int
conform_in_process (const struct conform_options *options, struct conform_report *report)
{
    struct run run = { .options = options, .report = report };
    int r = 0;

    keys_learn (options);
    run.cases = cases_all (options);
    run.told = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; options->list && i < run.cases->len; i++)
        printf ("%s\n", g_array_index (run.cases, struct in_case, i).name);
    if (!options->list && run.cases->len > 0) {
        r = run_begin (&run);
        if (r == 0)
            r = run_all (&run);
        run_group_end (&run);
        if (run.scratch)
            conform_scratch_remove (run.scratch);
        conform_keeper_end (run.keeper);
    }
    g_hash_table_unref (run.told);
    g_array_unref (run.cases);
    g_free (run.scratch);
    return r;
}
