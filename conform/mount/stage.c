/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The places for cases. Below the scratch directory are
 *
 *   bare/     the directory to compare with       mnt/   the mount
 *   back/N/   the backing directory of each       log    the daemon's log
 *             storage/posix volume               pid    its process
 */
#include "conform/mount/mount.h"
#include "core/base/sibling.h"
#include "folders.h"

#include "graph/graph.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define UNMOUNT_SECONDS 20

struct stage {
    char *dir, *bare, *mnt, *log, *pid_file;
    char *twin;       /* stage_twin, or NULL */
    char *program;    /* this program */
    GPtrArray *argv;  /* of the daemon, NULL at the end */
    GPtrArray *types; /* of the volfile's volumes */
    const char *const *daemon;
    struct conform_keeper *keeper;
    int pidfd;        /* -1: no daemon */
    pid_t pid;
    gsize log_seen;   /* bytes of the log that were already reported */
};

const char *
stage_bare (const struct stage *stage)
{
    return stage->bare;
}

const char *
stage_mounted (const struct stage *stage)
{
    return stage->mnt;
}

const char *
stage_twin (const struct stage *stage)
{
    return stage->twin;
}

/* --- directories and options ---------------------------------------------------------------- */

static void
stage_word (struct stage *stage, const char *option, const char *value)
{
    if (!value)
        return;
    g_ptr_array_add (stage->argv, g_strdup (option));
    g_ptr_array_add (stage->argv, g_strdup (value));
}

static void
stage_words (struct stage *stage, const char *option, const char *const *values)
{
    for (; values && *values; values++)
        stage_word (stage, option, *values);
}

/* Gives each storage a directory of its own, in place of the one in the volfile. */
static int
stage_replace_storage (struct stage *stage, const struct volfile *volfile, bool refuses)
{
    unsigned storages = 0;

    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];
        g_autofree char *back = g_strdup_printf ("%s/back-%u", stage->dir, i);
        g_autofree char *option = g_strdup_printf ("%s.directory=%s", volume->name, back);

        g_ptr_array_add (stage->types, g_strdup (volume->type ? volume->type : ""));
        if (g_strcmp0 (volume->type, "storage/posix") != 0)
            continue;
        g_autofree char *shown = conform_storage_make (volfile, back);
        if (!shown)
            return -EIO;
        stage_word (stage, "--xlator-option", option);
        g_free (stage->twin);
        stage->twin = refuses && storages++ == 0 ? g_steal_pointer (&shown) : NULL;
    }
    return 0;
}

static int
stage_read_volfile (struct stage *stage, const char *path, bool refuses)
{
    g_autofree char *error = NULL;
    struct volfile *volfile = volfile_read (path, &error);
    int r = volfile ? 0 : -EINVAL;

    if (!volfile) {
        fprintf (stderr, "windlass conform: %s\n", error);
    } else if (volfile_has_errors (volfile)) {
        volfile_print_problems (volfile);
        r = -EINVAL;
    } else {
        r = stage_replace_storage (stage, volfile, refuses);
        if (r < 0)
            fprintf (stderr, "windlass conform: '%s': %s\n", stage->dir, g_strerror (-r));
    }
    volfile_free (volfile);
    return r;
}

/* Of two settings of a translator's option, the first counts: this one. Of two options of the
 * daemon, the last counts: the user's. */
static int
stage_fill (struct stage *stage, const struct conform_options *options)
{
    stage->program = sibling_program ("windlass", BINDIR);
    g_ptr_array_add (stage->argv, g_strdup ("windlass"));
    if (stage_read_volfile (stage, options->volfile, conform_may_refuse (options, NULL)) < 0)
        return -EINVAL;
    stage_word (stage, "-f", options->volfile);
    stage_word (stage, "-l", stage->log);
    stage_word (stage, "-L", "WARNING");
    stage_word (stage, "-p", stage->pid_file);
    if (stage->twin) { /* so that the mount shows at once what a case makes in the twin */
        stage_word (stage, "--attribute-timeout", "0");
        stage_word (stage, "--entry-timeout", "0");
    }
    if (geteuid () == 0)
        stage_word (stage, "-o", "suid,dev");
    stage_word (stage, "--volume-name", options->volume_name);
    stage_words (stage, "--xlator-option", options->options);
    stage_words (stage, "--xlator-dir", options->xlator_dirs);
    for (const char *const *word = options->daemon; word && *word; word++)
        g_ptr_array_add (stage->argv, g_strdup (*word));
    g_ptr_array_add (stage->argv, g_strdup (stage->mnt));
    g_ptr_array_add (stage->argv, NULL);
    if (mkdir (stage->bare, 0755) < 0 || mkdir (stage->mnt, 0755) < 0) {
        fprintf (stderr, "windlass conform: '%s': %s\n", stage->dir, g_strerror (errno));
        return -EIO;
    }
    return 0;
}

struct stage *
stage_new (const struct conform_options *options)
{
    struct conform_keeper *keeper;
    char *made = conform_scratch_kept (options, &keeper);
    struct stage *stage;

    if (!made)
        return NULL;
    stage = g_new0 (struct stage, 1);
    stage->dir = made;
    stage->bare = g_build_filename (stage->dir, "bare", NULL);
    stage->mnt = g_build_filename (stage->dir, "mnt", NULL);
    stage->log = g_build_filename (stage->dir, "log", NULL);
    stage->pid_file = g_build_filename (stage->dir, "pid", NULL);
    stage->argv = g_ptr_array_new_with_free_func (g_free);
    stage->types = g_ptr_array_new_with_free_func (g_free);
    stage->daemon = options->daemon;
    stage->pidfd = -1;
    stage->keeper = keeper;
    if (stage_fill (stage, options) == 0)
        return stage;
    stage_free (stage);
    return NULL;
}

void
stage_free (struct stage *stage)
{
    if (!stage)
        return;
    stage_unmount (stage);
    conform_scratch_remove (stage->dir);
    conform_keeper_end (stage->keeper);
    g_free (stage->dir);
    g_free (stage->bare);
    g_free (stage->mnt);
    g_free (stage->log);
    g_free (stage->pid_file);
    g_free (stage->twin);
    g_free (stage->program);
    g_ptr_array_unref (stage->argv);
    g_ptr_array_unref (stage->types);
    g_free (stage);
}

void
stage_leave (const struct stage *stage)
{
    conform_keeper_leave (stage->keeper);
}

/* --- the daemon ----------------------------------------------------------------------------- */

/* Its process id, from the pid file that it locks. */
static int
stage_find (struct stage *stage)
{
    g_autofree char *text = NULL;

    if (!g_file_get_contents (stage->pid_file, &text, NULL, NULL))
        return -ESRCH;
    stage->pid = atoi (text);
    stage->pidfd = stage->pid > 0 ? pidfd_open (stage->pid, 0) : -1;
    return stage->pidfd < 0 ? -ESRCH : 0;
}

int
stage_mount (struct stage *stage)
{
    g_autofree char *text = NULL;
    int status, r;
    pid_t pid;

    r = posix_spawn (&pid, stage->program, NULL, NULL, (char **) stage->argv->pdata, environ);
    if (r != 0) {
        fprintf (stderr, "windlass conform: '%s': %s\n", stage->program, g_strerror (r));
        return -r;
    }
    if (waitpid (pid, &status, 0) == pid && status == 0 && stage_find (stage) == 0)
        return 0;
    if (g_file_get_contents (stage->log, &text, NULL, NULL))
        fputs (text, stderr);
    fprintf (stderr, "windlass conform: the graph could not be mounted\n");
    return -EIO;
}

/* Waits for some seconds at most. */
static bool
stage_wait_end (const struct stage *stage)
{
    struct pollfd end = { .fd = stage->pidfd, .events = POLLIN };

    return poll (&end, 1, UNMOUNT_SECONDS * 1000) == 1;
}

bool
stage_alive (const struct stage *stage)
{
    struct pollfd end = { .fd = stage->pidfd, .events = POLLIN };

    return stage->pidfd >= 0 && poll (&end, 1, 0) == 0;
}

int
stage_unmount (struct stage *stage)
{
    int r = 0;

    if (stage->pidfd < 0)
        return 0;
    conform_unmount (stage->mnt, false);
    if (!stage_wait_end (stage)) {
        r = -ETIMEDOUT;
        stage_kill (stage);
    }
    close (stage->pidfd);
    stage->pidfd = -1;
    return r;
}

void
stage_kill (struct stage *stage)
{
    if (stage->pidfd < 0)
        return;
    pidfd_send_signal (stage->pidfd, SIGKILL, NULL, 0);
    stage_wait_end (stage);
    conform_unmount (stage->mnt, true);
}

/* --- its log -------------------------------------------------------------------------------- */

char *
stage_log (struct stage *stage)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;
    GString *found;
    struct stat st;
    gsize size;

    if (stat (stage->log, &st) < 0 || (gsize) st.st_size <= stage->log_seen
        || !g_file_get_contents (stage->log, &text, &size, NULL))
        return NULL;
    lines = g_strsplit (text + MIN (stage->log_seen, size), "\n", -1);
    stage->log_seen = size;
    found = g_string_new (NULL);
    for (char **line = lines; *line; line++)
        if (**line && !by_design_log (*line))
            g_string_append_printf (found, "%s\n", *line);
    return g_string_free (found, found->len == 0);
}

/* --- for conditions ------------------------------------------------------------------------- */

bool
stage_has_type (const struct stage *stage, const char *type)
{
    for (guint i = 0; i < stage->types->len; i++)
        if (strcmp (stage->types->pdata[i], type) == 0)
            return true;
    return false;
}

bool
stage_has_option (const struct stage *stage, const char *key)
{
    for (const char *const *word = stage->daemon; word && *word; word++) {
        const char *at = strstr (*word, key);
        const char *value = at ? at + strlen (key) : "";

        if (at
            && (*value == '\0' || g_str_has_prefix (value, "=on")
                || g_str_has_prefix (value, "=yes")))
            return true;
    }
    return false;
}
