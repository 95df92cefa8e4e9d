/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs themes on the bare directory and through the mount, and reports differences. */
#include "conform/mount/mount.h"
#include "core/base/errors.h"

#include <stdarg.h>
#include <signal.h>
#include <sys/wait.h>

#define RESTARTS_MAX 5 /* restarts of the daemon before the rest is given up */

struct mount_run {
    const struct conform_options *options;
    struct conform_report *report;
    struct stage *stage;
    const struct act_identity *actor;
    GPtrArray *logs;   /* of the theme: for each case, the lines that the daemon logged meanwhile,
                          or NULL */
    unsigned restarts;
};

/* --- cases ---------------------------------------------------------------------------------- */

static void
case_free (gpointer data)
{
    struct mount_case *c = data;

    g_free (c->name);
    g_free (c);
}

void
case_add (GPtrArray *list, case_fn *run, unsigned a, unsigned b, unsigned c, unsigned flags,
          const char *name, ...)
{
    struct mount_case *one = g_new0 (struct mount_case, 1);
    va_list args;

    va_start (args, name);
    *one = (struct mount_case){ g_strdup_vprintf (name, args), run, a, b, c, flags };
    va_end (args);
    g_ptr_array_add (list, one);
}

/* The selected ones. */
static GPtrArray *
theme_cases (const struct mount_theme *theme, const struct conform_options *options)
{
    g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (case_free);
    GPtrArray *wanted = g_ptr_array_new_with_free_func (case_free);

    theme->list (all);
    for (guint i = 0; i < all->len; i++) {
        struct mount_case *c = all->pdata[i];

        if (!conform_wanted (options, c->name))
            continue;
        g_ptr_array_add (wanted, c);
        all->pdata[i] = NULL;
    }
    g_ptr_array_set_free_func (all, NULL);
    for (guint i = 0; i < all->len; i++)
        if (all->pdata[i])
            case_free (all->pdata[i]);
    return wanted;
}

/* --- comparing ------------------------------------------------------------------------------ */

/* The result of one case. */
struct verdict {
    const struct mount_run *run;
    const char *name;
    GString *text;      /* differences that are not documented */
    const char *reason; /* the reason for a documented difference, or NULL */
};

static void
verdict_line (struct verdict *verdict, const char *where, const char *line)
{
    const char *reason = by_design_reason (verdict->run->stage, verdict->name, line);

    if (!reason)
        reason = conform_allowed (verdict->run->options, verdict->name, line);
    if (reason)
        verdict->reason = reason;
    else
        g_string_append_printf (verdict->text, "%-6s %s\n", where, line);
}

static void
verdict_differ (void *data, const char *bare, const char *mount)
{
    verdict_line (data, bare ? "bare" : "mount", bare ? bare : mount);
}

/* How the case ended, and which rules it found broken. */
static void
verdict_end (struct verdict *verdict, const char *where, const struct outcome *outcome)
{
    for (guint i = 0; i < outcome->broken->len; i++)
        verdict_line (verdict, where, outcome->broken->pdata[i]);
    if (outcome->bad)
        verdict_line (verdict, where, outcome->bad);
}

/* The daemon logs nothing at level WARNING or above, except the lines that --allow names. */
static void
verdict_log (struct verdict *verdict, const char *log)
{
    const char *unused;
    g_autofree char *rest = conform_without_allowed (verdict->run->options, verdict->name, log,
                                                     &unused);

    if (*g_strchomp (rest))
        g_string_append_printf (verdict->text, "the daemon's log:\n%s\n", rest);
}

static void
tell_failure (const struct mount_run *run, const char *name, const char *text)
{
    g_autofree char *as = g_strdup_printf ("--as %s", run->actor->name);
    g_autofree char *command = conform_repeat (run->options, name, as);
    g_autofree char *who = g_strdup_printf ("%s, as %s", name, run->actor->name);

    conform_fail (run->report, who, command, text);
}

/* Returns why the line, "what: ERRNO", is a refusal by design, or NULL. */
static const char *
refused_line (const struct mount_run *run, const char *line)
{
    const char *name = strrchr (line, ' ');

    return name ? conform_refused (run->options, NULL, error_of_name (name + 1)) : NULL;
}

/* The process that is refused ends (act_refused). Lines that another process of the case prints
 * after that cannot be compared. Returns the number of lines before the first refusal, or -1 if
 * there is none. */
static int
verdict_refused (struct verdict *verdict, const struct outcome *mount)
{
    for (guint i = 0; i < mount->broken->len && !verdict->reason; i++)
        verdict->reason = refused_line (verdict->run, mount->broken->pdata[i]);
    if (verdict->reason) /* while it was prepared */
        return 0;
    for (guint i = 0; i < mount->lines->len; i++) {
        verdict->reason = refused_line (verdict->run, mount->lines->pdata[i]);
        if (verdict->reason)
            return (int) i;
    }
    return -1;
}

/* Compares what both print; after a refusal only what came before it. */
static void
verdict_compare (struct verdict *verdict, const struct outcome *bare, const struct outcome *mount)
{
    const int before = verdict_refused (verdict, mount);

    if (before < 0) {
        diff_lines (bare->lines, mount->lines, verdict_differ, verdict);
        verdict_end (verdict, "bare", bare);
        verdict_end (verdict, "mount", mount);
        return;
    }
    for (guint i = 0; i < (guint) before; i++) {
        const char *line = i < bare->lines->len ? bare->lines->pdata[i] : "";

        if (strcmp (line, mount->lines->pdata[i]) == 0)
            continue;
        verdict_line (verdict, "bare", line);
        verdict_line (verdict, "mount", mount->lines->pdata[i]);
    }
    if (mount->bad)
        verdict_line (verdict, "mount", mount->bad);
}

/* Evaluates one case for the report. */
static void
judge (const struct mount_run *run, const char *name, const struct outcome *bare,
       const struct outcome *mount, const char *log)
{
    g_autoptr (GString) text = g_string_new (NULL);
    struct verdict verdict = { .run = run, .name = name, .text = text };

    if (bare->cannot) {
        conform_skip (run->report, name, bare->cannot);
        return;
    }
    verdict_compare (&verdict, bare, mount);
    if (mount->cannot)
        g_string_append_printf (text, "%-6s %s\n", "mount", mount->cannot);
    if (log)
        verdict_log (&verdict, log);
    if (text->len)
        tell_failure (run, name, text->str);
    else if (verdict.reason)
        conform_by_design (run->report, name, verdict.reason);
    else
        conform_pass (run->report, name);
}

/* --- running -------------------------------------------------------------------------------- */

/* Called after each case: new lines of the log belong to it. */
static void
collect_log (void *data, unsigned number)
{
    struct mount_run *run = data;

    g_free (run->logs->pdata[number]);
    run->logs->pdata[number] = stage_log (run->stage);
}

static void
free_stuck (void *data)
{
    struct mount_run *run = data;

    stage_kill (run->stage);
}

/* The bare directory has no daemon to kill, so a stuck case is killed itself. */
static void
bare_stuck (void *data)
{
}

static GPtrArray *
outcomes_new (guint n)
{
    GPtrArray *outcomes = g_ptr_array_new_with_free_func ((GDestroyNotify) outcome_free);

    for (guint i = 0; i < n; i++)
        g_ptr_array_add (outcomes, outcome_new ());
    return outcomes;
}

static GPtrArray *
run_bare (struct mount_run *run, GPtrArray *cases, const char *theme)
{
    const struct run_watch watch = { .stuck = bare_stuck };
    const struct run_place place = { .path = stage_bare (run->stage) };
    GPtrArray *outcomes = outcomes_new (cases->len);
    int next = 0;

    while (next >= 0 && (guint) next < cases->len)
        next = run_cases (cases, outcomes, next, &place, theme, run->actor, &watch);
    return outcomes;
}

/* A daemon that has ended, or did not answer, is attributed to the case that ran last. */
static bool
mount_revive (struct mount_run *run, struct outcome *last, unsigned number)
{
    if (stage_alive (run->stage))
        return true;
    if (!last->bad)
        last->bad = g_strdup ("the daemon ended");
    collect_log (run, number);
    stage_kill (run->stage);
    stage_unmount (run->stage);
    return ++run->restarts <= RESTARTS_MAX && stage_mount (run->stage) == 0;
}

static bool
mount_refuses (const void *options, int error)
{
    return conform_refused (options, NULL, error) != NULL;
}

static GPtrArray *
run_mounted (struct mount_run *run, GPtrArray *cases, const char *theme)
{
    const struct run_watch watch = { .done = collect_log, .stuck = free_stuck, .data = run };
    const struct run_place place = { stage_mounted (run->stage), stage_twin (run->stage),
                                     mount_refuses, run->options };
    GPtrArray *outcomes = outcomes_new (cases->len);
    unsigned next = 0;

    while (next < cases->len) {
        int r = run_cases (cases, outcomes, next, &place, theme, run->actor, &watch);
        const unsigned last = r <= 0 ? next : (unsigned) r - 1;

        next = MAX ((unsigned) MAX (r, 0), next + 1);
        if (!mount_revive (run, outcomes->pdata[last], last))
            break;
    }
    return outcomes;
}

static GPtrArray *
logs_new (guint n)
{
    GPtrArray *logs = g_ptr_array_new_with_free_func (g_free);

    g_ptr_array_set_size (logs, n);
    return logs;
}

static bool
case_possible (const struct mount_run *run, const struct mount_case *c)
{
    return run->actor->uid == 0 || !(c->flags & CASE_NEEDS_ROOT);
}

/* Keeps the cases of the theme that the actor can run; the others are only reported. */
static void
leave_out_impossible (const struct mount_run *run, GPtrArray *cases)
{
    for (guint i = cases->len; i-- > 0;) {
        const struct mount_case *c = cases->pdata[i];

        if (case_possible (run, c))
            continue;
        if (!(run->options->as & CONFORM_AS_ROOT))
            conform_skip (run->report, c->name, "for root only");
        g_ptr_array_remove_index (cases, i);
    }
}

static void
run_theme (struct mount_run *run, const struct mount_theme *theme)
{
    g_autoptr (GPtrArray) cases = theme_cases (theme, run->options);
    g_autoptr (GPtrArray) bare = NULL, mount = NULL;
    g_autofree char *group = g_strdup_printf ("%s, as %s", theme->name, run->actor->name);
    g_autofree char *place = g_strdup_printf ("%s-%s", theme->name, run->actor->name);

    if (cases->len == 0)
        return;
    conform_group (run->report, group);
    leave_out_impossible (run, cases);
    run->logs = logs_new (cases->len);
    bare = run_bare (run, cases, place);
    mount = run_mounted (run, cases, place);
    for (guint i = 0; i < cases->len; i++) {
        const struct mount_case *c = cases->pdata[i];
        const struct outcome *there = mount->pdata[i];

        if (!there->ran && !there->bad)
            conform_skip (run->report, c->name, "the daemon ended too often");
        else
            judge (run, c->name, bare->pdata[i], there, run->logs->pdata[i]);
    }
    g_clear_pointer (&run->logs, g_ptr_array_unref);
    conform_group_end (run->report);
}

static void
run_as (struct mount_run *run, const struct act_identity *actor)
{
    run->actor = actor;
    for (const struct mount_theme *theme = mount_themes;
         theme->name && run->restarts <= RESTARTS_MAX; theme++)
        run_theme (run, theme);
}

/* The end is a case too: the daemon ends on request, and logs no more lines but allowed ones. */
static void
run_end (struct mount_run *run)
{
    static const char name[] = "the end";
    g_autoptr (GString) text = g_string_new (NULL);
    struct verdict verdict = { .run = run, .name = name, .text = text };
    g_autofree char *log = NULL;

    if (stage_unmount (run->stage) < 0)
        g_string_append (text, "the daemon didn't end when it was unmounted\n");
    log = stage_log (run->stage);
    if (log)
        verdict_log (&verdict, log);
    if (text->len)
        tell_failure (run, name, text->str);
}

static void
list_cases (const struct conform_options *options)
{
    for (const struct mount_theme *theme = mount_themes; theme->name; theme++) {
        g_autoptr (GPtrArray) cases = theme_cases (theme, options);

        for (guint i = 0; i < cases->len; i++)
            printf ("%s\n", ((struct mount_case *) cases->pdata[i])->name);
    }
}

/* Returns whether something can be made in the mount, if that is needed; false after a message. */
static bool
stage_permits (const struct stage *stage)
{
    g_autofree char *path = g_build_filename (stage_mounted (stage), "first", NULL);

    if (stage_twin (stage) || mkdir (path, 0755) == 0)
        return true;
    fprintf (stderr,
             "windlass conform: a directory can't be made in the mount: %s; if a translator "
             "refuses it by design, say so with --allow: windlass-conform(1)\n",
             g_strerror (errno));
    return false;
}

/* Starts a daemon for one actor. Returns NULL after a message. */
static struct stage *
stage_begin (const struct conform_options *options)
{
    struct stage *stage = stage_new (options);

    if (stage && (stage_mount (stage) < 0 || !stage_permits (stage)))
        g_clear_pointer (&stage, stage_free);
    return stage;
}

/* Runs everything for one actor on the stage, and frees the stage. */
static int
run_actor (const struct conform_options *options, struct conform_report *report,
           const struct act_identity *actor, struct stage *stage)
{
    struct mount_run run = { .options = options, .report = report, .stage = stage };

    if (!stage)
        return -EINVAL;
    run_as (&run, actor);
    run_end (&run);
    stage_free (stage);
    return 0;
}

/* --- parallel run --------------------------------------------------------------------------- */

/* A process that runs one actor, while this process runs another. Its output is kept until this
 * process has finished. */
struct beside {
    pid_t pid;
    FILE *said;
    int counts; /* a pipe that brings struct counts */
};

struct counts {
    int r;
    unsigned passed, failed, skipped, by_design;
};

static void
beside_main (const struct beside *beside, int to, const struct conform_options *options,
             const struct act_identity *actor, pid_t parent)
{
    struct conform_report report;
    struct counts counts;

    conform_die_with (parent);
    dup2 (fileno (beside->said), STDOUT_FILENO);
    conform_report_init (&report, options->verbose);
    report.terminal = false;
    counts.r = run_actor (options, &report, actor, stage_begin (options));
    conform_group_end (&report);
    fflush (NULL);
    g_hash_table_destroy (report.group_skipped);
    counts = (struct counts){ counts.r, report.passed, report.failed, report.skipped,
                              report.by_design };
    if (write (to, &counts, sizeof counts) != (ssize_t) sizeof counts)
        _exit (1);
    exit (0); /* not _exit: leaks should be found here as well */
}

/* Returns 0, or a negative errno after a message. ours: the stage of this process. */
static int
beside_start (struct beside *beside, const struct conform_options *options,
              const struct act_identity *actor, const struct stage *ours)
{
    const pid_t self = getpid ();
    int ends[2] = { -1, -1 };

    fflush (NULL);
    beside->said = tmpfile ();
    beside->pid = beside->said && pipe2 (ends, O_CLOEXEC) == 0 ? fork () : -1;
    if (beside->pid == 0) {
        stage_leave (ours);
        beside_main (beside, ends[1], options, actor, self);
    }
    if (beside->pid < 0)
        fprintf (stderr, "windlass conform: can't start another process: %s\n", g_strerror (errno));
    close (ends[1]);
    beside->counts = ends[0];
    return beside->pid < 0 ? -ECHILD : 0;
}

/* Prints its output, and adds its counts. */
static int
beside_end (struct beside *beside, struct conform_report *report)
{
    struct counts counts = { 0 };
    char part[4096];
    size_t n;
    const bool whole = read (beside->counts, &counts, sizeof counts) == (ssize_t) sizeof counts;

    waitpid (beside->pid, NULL, 0);
    close (beside->counts);
    conform_group_end (report);
    rewind (beside->said);
    while ((n = fread (part, 1, sizeof part, beside->said)) > 0)
        fwrite (part, 1, n, stdout);
    fclose (beside->said);
    report->passed += counts.passed;
    report->failed += counts.failed;
    report->skipped += counts.skipped;
    report->by_design += counts.by_design;
    if (whole)
        return counts.r;
    fprintf (stderr, "windlass conform: the cases of the user ended in the middle\n");
    return -ECHILD;
}

int
conform_mount (const struct conform_options *options, struct conform_report *report)
{
    const struct act_identity root = { "root", 0, 0, true };
    const struct act_identity user = geteuid () == 0
                                ? (struct act_identity){ "user", 65534, 65534, true }
                                : (struct act_identity){ "user", geteuid (), getegid (), false };
    struct stage *stage;
    struct beside beside;
    int r, r_beside;

    if (options->list) {
        list_cases (options);
        return 0;
    }
    stage = stage_begin (options);
    if (!stage || options->as != (CONFORM_AS_ROOT | CONFORM_AS_USER))
        return run_actor (options, report, options->as & CONFORM_AS_ROOT ? &root : &user, stage);
    r = beside_start (&beside, options, &user, stage); /* so that a mount that fails is reported
                                                          once */
    if (r < 0) {
        stage_free (stage);
        return r;
    }
    r = run_actor (options, report, &root, stage);
    r_beside = beside_end (&beside, report);
    return r < 0 ? r : r_beside;
}
