/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one history: loads a graph over a new scratch directory, and runs the lines of a script on
 * it with a virtual clock. It does so in a child process, since the tested code may crash or
 * hang. */
#include "conform/history/drive.h"
#include "core/base/log.h"
#include "core/time/scheduler.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PATIENCE 60     /* seconds after which a history counts as hung */
#define INODE_LIMIT 4   /* maximum number of unused inodes in the graph's table; low, so that the
                         * table often forgets inodes */
#define STDERR_MAX 4000 /* maximum number of bytes of the child's stderr in a verdict */

/* Exit statuses of the child. */
enum {
    CHILD_PASSED = 0,
    CHILD_FAILED = 1,
    CHILD_UNABLE = 2, /* the graph could not be started */
};

/* --- the graph ------------------------------------------------------------------------------ */

/* Makes a directory below scratch for each volume of type storage/posix, and adds the option for it
 * to settings, and to lowers those of lowers. Returns the number of directories. */
static unsigned
replace_storage (const struct volfile *volfile, const char *scratch, GPtrArray *settings,
                 GPtrArray *lowers)
{
    unsigned storages = 0;

    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        if (g_strcmp0 (volume->type, "storage/posix") != 0)
            continue;
        g_autofree char *back = g_strdup_printf ("%s/back-%u", scratch, storages++);
        g_ptr_array_add (settings, g_strdup_printf ("%s.directory=%s", volume->name, back));
        G_GNUC_UNUSED g_autofree char *shown = conform_storage_make (volfile, back);
        if (conform_is_lower (volfile, volume->name))
            g_ptr_array_add (lowers, g_steal_pointer (&back));
    }
    return storages;
}

static bool
lowers_fill (const struct conform_options *options, const GPtrArray *lowers)
{
    bool filled = true;

    for (guint i = 0; options->lowers && filled && i < lowers->len; i++)
        filled = lower_fill (lowers->pdata[i], i, lowers->len);
    return filled;
}

/* Returns a text about all lowers; g_free it. */
static char *
lowers_text (const GPtrArray *lowers)
{
    GString *out = g_string_new (NULL);

    for (guint i = 0; i < lowers->len; i++) {
        g_autofree char *text = conform_lower_text (lowers->pdata[i]);

        g_string_append (out, text);
    }
    return g_string_free (out, FALSE);
}

/* How the graph of a history is loaded: for its beginning, and for a reload. */
struct history_loading {
    const struct conform_options *options;
    GPtrArray *settings; /* of texts, NULL at the end: VOLUME.KEY=VALUE */
};

static struct volfile *
history_volfile (const struct conform_options *options)
{
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (options->volfile, &error);

    if (!volfile)
        fprintf (stderr, "windlass conform: %s\n", error);
    return volfile;
}

/* data: struct history_loading. On error it prints a message and returns NULL. */
static struct graph *
history_load (void *data)
{
    const struct history_loading *loading = data;
    const struct conform_options *options = loading->options;
    struct volfile *volfile = history_volfile (options);
    struct graph *graph;

    if (!volfile)
        return NULL;
    graph = graph_load (volfile,
                        &(struct graph_settings){
                            .volume_name = options->volume_name,
                            .options = (const char *const *) loading->settings->pdata,
                            .xlator_dirs = options->xlator_dirs,
                            .inode_limit = INODE_LIMIT });
    if (!volfile_has_errors (volfile))
        return graph;
    volfile_print_problems (volfile);
    graph_free (graph);
    return NULL;
}

/* Makes the directories of storage, starts the bricks, and fills in loading->settings. *ret_shown
 * is the directory that the graph shows of the first storage (g_free it). Returns false after a
 * message. If an option is set twice, the first setting counts. So the settings of this function,
 * which are directories of storage and sockets of bricks, come before those of the command line. */
static bool
history_prepare (struct history_loading *loading, const char *scratch, uint64_t seed,
                 GPtrArray *bricks, GPtrArray *lowers, unsigned *ret_storages, char **ret_shown)
{
    const struct conform_options *options = loading->options;
    g_autofree char *first = g_build_filename (scratch, "back-0", NULL);
    struct volfile *volfile = history_volfile (options);

    if (!volfile)
        return false;
    *ret_storages = replace_storage (volfile, scratch, loading->settings, lowers);
    if (!lowers_fill (options, lowers)
        || !bricks_make (bricks, volfile, scratch, seed, ret_storages, loading->settings))
        return false;
    *ret_shown = conform_storage_make (volfile, first);
    volfile_free (volfile);
    for (const char *const *option = options->options; option && *option; option++)
        g_ptr_array_add (loading->settings, g_strdup (*option));
    g_ptr_array_add (loading->settings, NULL);
    return true;
}

/* --- in the child --------------------------------------------------------------------------- */

static const struct xlator_api client_api = {
    .abi = XLATOR_ABI,
    .type = "conform/client",
    .about = "clients of a history",
    .any_fop_cbk = drive_answered,
};

static void
drive_begin (struct drive *drive, const struct conform_options *options,
             const struct script *script, struct graph *graph, GPtrArray *bricks)
{
    *drive = (struct drive){ .script = script,
                             .options = options,
                             .graph = graph,
                             .bricks = bricks,
                             .files = 1 };
    drive->xlator = xlator_init ("client", &client_api, graph, NULL);
    drive->gates = g_ptr_array_new ();
    drive->olds = g_ptr_array_new ();
    drive->held = g_ptr_array_new ();
    drive->lates = g_array_new (FALSE, FALSE, sizeof (struct late));
    drive->has_copies = bricks_have_copies (graph);
    drive->has_parts = bricks_have_parts (graph);
    drive->has_trash = bricks_have_trash (graph);
    drive->answers_early = graph_touches (graph) & TOUCHES_ANSWERS;
    drive->seens = g_ptr_array_new_with_free_func ((GDestroyNotify) operation_free);
    drive->numbers = g_hash_table_new_full (gfid_hash, gfid_same, g_free, NULL);
    g_hash_table_insert (drive->numbers, g_memdup2 (&gfid_root, sizeof gfid_root),
                         GINT_TO_POINTER (1));
    drive->log = g_string_new (NULL);
    drive->tree = g_string_new (NULL);
    drive->detached = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
    drive->size_max = 2 * FILE_SIZE_MAX;
    /* The size that a file would have if all writes were appended to it. */
    for (guint i = 0; i < script->lines->len; i++) {
        const struct script_line *line = script->lines->pdata[i];
        drive->size_max += line->verb == VERB_write ? line->size : 0;
    }
    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        drive->actors[i].drive = drive;
        drive->actors[i].index = i;
    }
}

static void
drive_clear (struct drive *drive)
{
    g_ptr_array_unref (drive->gates);
    g_ptr_array_unref (drive->olds);
    g_ptr_array_unref (drive->held);
    g_ptr_array_unref (drive->bricks);
    g_ptr_array_unref (drive->seens);
    g_array_unref (drive->lates);
    g_hash_table_destroy (drive->numbers);
    g_hash_table_destroy (drive->detached);
    g_string_free (drive->log, TRUE);
    g_string_free (drive->tree, TRUE);
}

/* Returns NULL if the texts are equal, or an error text about the first line that differs, which
 * the caller frees with g_free: `what`, and the two lines after `one` and `other`. */
static char *
text_difference (const char *what, const char *one, const char *text, const char *other,
                 const char *other_text)
{
    g_auto (GStrv) ours = g_strsplit (text, "\n", -1), theirs = g_strsplit (other_text, "\n", -1);
    unsigned i = 0;

    while (ours[i] && theirs[i] && strcmp (ours[i], theirs[i]) == 0)
        i++;
    if (!ours[i] && !theirs[i])
        return NULL;
    return g_strdup_printf ("%s\n%s: %s\n%s: %s\n", what, one, ours[i] ? ours[i] : "nothing",
                            other, theirs[i] ? theirs[i] : "nothing");
}

/* tree: the files that a client read through the graph (drive->tree). disk: the files in the
 * directory of storage (disk_tree). */
static char *
tree_difference (const char *tree, const char *disk)
{
    return text_difference ("through the graph everything is as it should be; in the directory "
                            "itself it is not", "read", tree, "there", disk);
}

/* before: lowers_text before the history. */
static char *
lowers_difference (const GPtrArray *lowers, const char *before)
{
    g_autofree char *after = lowers_text (lowers);

    return text_difference ("a lower has changed", "before", before, "after", after);
}

/* Returns NULL, or an error text if the only lower must have what clients see, and has not. */
static char *
stored_difference (const struct drive *drive, const GPtrArray *lowers)
{
    if (!drive->shows_stored || lowers->len != 1)
        return NULL;
    g_autofree char *disk = disk_tree (lowers->pdata[0]);
    return text_difference ("the lower has not what the commands should have put there", "read",
                            drive->tree->str, "there", disk);
}

/* Returns whether the directory of storage must have the same content as clients see: there is only
 * one such directory, and no translator changes data, names or attributes. */
static bool
is_plain (const struct graph *graph, unsigned storages)
{
    return storages == 1
        && !(graph_touches (graph) & (TOUCHES_DATA | TOUCHES_NAMES | TOUCHES_METADATA));
}

/* Runs the history and judges it. Returns NULL or an error text. Writes the number of operations,
 * and a line for each event, to log. */
static char *
drive_judge (struct drive *drive, FILE *log)
{
    char *stuck = drive_run (drive), *wrong = check_order (drive->seens);

    fprintf (log, "%u\n%s", drive->seens->len, drive->log->str);
    if (!wrong && !stuck)
        return drive_late_check (drive);
    if (!wrong)
        return stuck;
    g_free (stuck);
    return wrong;
}

static bool
commands_are_there (const struct drive *drive)
{
    const char *missing = commands_missing (drive);

    if (missing)
        fprintf (stderr, "windlass conform: --commands: no volume of '%s' has the command '%s'\n",
                 drive->options->volfile, missing);
    return !missing;
}

static int
history_child_run (const struct conform_options *options, const struct script *script,
                   const char *scratch, FILE *log, FILE *text)
{
    unsigned storages = 0;
    struct graph *graph;
    struct drive drive;
    GPtrArray *bricks = g_ptr_array_new_with_free_func ((GDestroyNotify) brick_free);
    g_autoptr (GPtrArray) lowers = g_ptr_array_new_with_free_func (g_free),
                          settings = g_ptr_array_new_with_free_func (g_free);
    struct history_loading loading = { options, settings };
    g_autofree char *wrong = NULL, *shown = NULL, *before = NULL;

    scheduler_begin (script->seed);
    if (!history_prepare (&loading, scratch, script->seed, bricks, lowers, &storages, &shown)
        || !(graph = history_load (&loading)))
        return CHILD_UNABLE;
    before = lowers_text (lowers);
    drive_begin (&drive, options, script, graph, bricks);
    drive.load = history_load;
    drive.load_data = &loading;
    gates_insert (&drive);
    if (!conform_below (options, graph, &drive.below) || !commands_are_there (&drive))
        return CHILD_UNABLE;
    drive.calm = true; /* init waits for answers, and no client releases calls yet */
    if (graph_activate (graph) < 0)
        return CHILD_UNABLE;
    drive.calm = false;
    bricks_calm (&drive, false);
    wrong = drive_judge (&drive, log);
    if (wrong) { /* gates may still hold calls, and a graph with such calls can't be stopped */
        fprintf (text, "%s", wrong);
        return CHILD_FAILED;
    }
    graph = drive.graph; /* a reload replaces it */
    const bool plain = is_plain (graph, storages);
    graph_deactivate (graph);
    gates_remove (graph, drive.gates);
    graph_free (graph);
    g_ptr_array_set_size (bricks, 0);
    scheduler_end ();
    g_autofree char *disk = plain ? disk_tree (shown) : g_strdup (drive.tree->str);
    wrong = tree_difference (drive.tree->str, disk);
    if (!wrong)
        wrong = drive.stored ? stored_difference (&drive, lowers)
                             : lowers_difference (lowers, before);
    drive_clear (&drive);
    fprintf (text, "%s", wrong ? wrong : "");
    return wrong ? CHILD_FAILED : CHILD_PASSED;
}

/* --- in the parent -------------------------------------------------------------------------- */

/* Returns a file in memory, to which the child writes and which the parent reads; NULL on error. */
static FILE *
paper (void)
{
    const int fd = memfd_create ("windlass-conform", MFD_CLOEXEC);

    return fd < 0 ? NULL : fdopen (fd, "w+");
}

/* Returns the whole content of the file, which the caller frees with g_free. Closes the file. */
static char *
paper_read (FILE *paper)
{
    GString *text = g_string_new (NULL);
    char part[4096];
    ssize_t n;

    for (off_t at = 0; (n = pread (fileno (paper), part, sizeof part, at)) > 0; at += n)
        g_string_append_len (text, part, n);
    fclose (paper);
    return g_string_free (text, FALSE);
}

struct papers {
    FILE *log, *text, *said;
};

static void G_GNUC_NORETURN
history_child (const struct conform_options *options, const struct script *script,
               const char *scratch, const struct papers *papers)
{
    int status;

    dup2 (fileno (papers->said), STDERR_FILENO);
    dup2 (fileno (papers->said), STDOUT_FILENO);
    log_open ("-");
    alarm (PATIENCE);
    status = history_child_run (options, script, scratch, papers->log, papers->text);
    fflush (papers->log);
    fflush (papers->text);
    fflush (stderr);
    _exit (status);
}

static char *
how_it_died (int status, const char *said)
{
    g_autofree char *how = WIFSIGNALED (status) && WTERMSIG (status) == SIGALRM
                             ? g_strdup_printf ("it hung for %d s", PATIENCE)
                         : WIFSIGNALED (status)
                             ? g_strdup_printf ("it was killed by %s",
                                                strsignal (WTERMSIG (status)))
                             : g_strdup_printf ("it ended with status %d", WEXITSTATUS (status));
    const size_t n = strlen (said);

    return g_strdup_printf ("%s\n%s", how, n > STDERR_MAX ? said + n - STDERR_MAX : said);
}

static int
parent (pid_t pid, const struct papers *papers, struct history_verdict *ret_verdict)
{
    struct history_verdict verdict = { 0 };
    int status = 0;

    while (waitpid (pid, &status, 0) < 0 && errno == EINTR)
        continue;
    g_autofree char *said = paper_read (papers->said);
    verdict.log = paper_read (papers->log);
    verdict.text = paper_read (papers->text);
    verdict.seen = strtoul (verdict.log, NULL, 10);
    verdict.failed = !WIFEXITED (status) || WEXITSTATUS (status) != CHILD_PASSED;
    if (WIFEXITED (status) && WEXITSTATUS (status) == CHILD_UNABLE) {
        fprintf (stderr, "%s", said);
        verdict_clear (&verdict);
        return -EINVAL;
    }
    if (verdict.failed && !*verdict.text) {
        g_free (verdict.text);
        verdict.text = how_it_died (status, said);
    }
    *ret_verdict = verdict;
    return 0;
}

void
verdict_clear (struct history_verdict *verdict)
{
    g_free (verdict->text);
    g_free (verdict->log);
    *verdict = (struct history_verdict){ 0 };
}

/* Lets the history pass if the file of --allow permits its error. A history ends at its first
 * error, so the error text is about one error. It is permitted if the file permits one line of the
 * text. */
static void
verdict_allow (const struct conform_options *options, struct history_verdict *verdict)
{
    g_free (conform_without_allowed (options, "history", verdict->text, &verdict->by_design));
    verdict->failed = !verdict->by_design;
}

int
history_run (const struct conform_options *options, const struct script *script,
             struct history_verdict *ret_verdict)
{
    const struct papers papers = { paper (), paper (), paper () };
    g_autofree char *scratch = conform_scratch (options);
    const pid_t self = getpid ();
    pid_t pid;
    int r;

    if (!scratch || !papers.log || !papers.text || !papers.said)
        return -EIO;
    fflush (NULL);
    pid = fork ();
    if (pid == 0) {
        conform_die_with (self);
        history_child (options, script, scratch, &papers);
    }
    r = pid < 0 ? -errno : parent (pid, &papers, ret_verdict);
    conform_scratch_remove (scratch);
    if (r == 0 && ret_verdict->failed)
        verdict_allow (options, ret_verdict);
    return r;
}

/* --- abilities of the file system ------------------------------------------------------------- */

static unsigned
abilities_of (const char *one, const char *other, int fd, int to)
{
    const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    unsigned able = 0;

    able |= fallocate (fd, 0, 0, 4096) == 0 ? CAN_FALLOCATE : 0;
    able |= fallocate (fd, punch, 0, 4096) == 0 ? CAN_DISCARD : 0;
    able |= fallocate (fd, FALLOC_FL_ZERO_RANGE, 0, 4096) == 0 ? CAN_ZEROFILL : 0;
    able |= fsetxattr (fd, "user.x", "1", 1, 0) == 0 ? CAN_XATTRS : 0;
    able |= copy_file_range (fd, &(off_t){ 0 }, to, &(off_t){ 0 }, 4096, 0) == 4096 ? CAN_COPY : 0;
    able |= renameat2 (AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0 ? CAN_EXCHANGE : 0;
    return able;
}

int
history_probe (const struct conform_options *options, unsigned *ret_abilities)
{
    g_autofree char *scratch = conform_scratch (options);
    g_autofree char *one = scratch ? g_build_filename (scratch, "one", NULL) : NULL;
    g_autofree char *other = scratch ? g_build_filename (scratch, "other", NULL) : NULL;
    int fd, to;

    if (!scratch)
        return -EIO;
    fd = open (one, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    to = open (other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    *ret_abilities = abilities_of (one, other, fd, to) & ~history_inabilities (options);
    *ret_abilities |= options->commands ? CAN_COMMAND : 0;
    close (fd);
    close (to);
    conform_scratch_remove (scratch);
    return 0;
}
