/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands of translators in histories (--commands). A line `command NAME` gives a command to the
 * first volume from the top that has it, as `windlass` does, and ends when the command's job has
 * ended. A row of command_rows says what the command means to the model. At the end of a history,
 * when no file is open, each command is given once more, and everything is read back after it.
 *
 * The command `reload` is no translator's: the clients move to a new graph (reload.c).
 *
 * A command that fails must have changed nothing, and a paragraph of --allow must permit the
 * failure, as `line N, client N: command NAME = ERROR`.
 *
 * A command may detach inodes (core/data/inode.h), in a pause, while no operation is under way. A
 * detached inode is a removed file from then on; its gfid stands for the file that the name shows
 * then. So a number of the file's own is given to each detached inode that a client still has, and
 * the record of the command tells which file has become which. Operations on such an inode are of
 * the removed file. One command is under way at a time: the inodes that are newly detached when it
 * ends are its own.
 */
#include "conform/history/drive.h"
#include "core/work/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RELOAD "reload" /* no translator's command, but the daemon's */

static const struct command_row {
    const char *name;
    enum command_effect effect;
    bool in_parts; /* whether the effect may have happened although the command fails */
} command_rows[] = {
    { "freeze", COMMAND_KEEPS, false },
    { "discard", COMMAND_RESTORES, false },
    { "commit", COMMAND_STORES, true }, /* it may fail after it has frozen */
    { RELOAD, COMMAND_SHOWS, false },
};

static const struct command_row *
command_row (const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS (command_rows); i++)
        if (strcmp (command_rows[i].name, name) == 0)
            return &command_rows[i];
    return NULL;
}

bool
command_is_known (const char *name)
{
    return command_row (name);
}

char *
commands_known (void)
{
    GString *out = g_string_new (NULL);

    for (size_t i = 0; i < G_N_ELEMENTS (command_rows); i++)
        g_string_append_printf (out, "%s%s", i > 0 ? ", " : "", command_rows[i].name);
    return g_string_free (out, FALSE);
}

enum command_effect
command_effect (const char *name)
{
    return command_row (name)->effect;
}

/* --- detached inodes -------------------------------------------------------------------------- */

/* Returns the number of the file of a detached inode, whose gfid has the number `was`. */
static int
detached_number (struct drive *drive, const inode_t *inode, int was)
{
    const int64_t key = (int64_t) inode_nodeid (inode);
    gpointer known = g_hash_table_lookup (drive->detached, &key);
    struct detached_file file = { was, drive->files };

    if (known)
        return GPOINTER_TO_INT (known);
    drive->files++;
    g_hash_table_insert (drive->detached, g_memdup2 (&key, sizeof key),
                         GINT_TO_POINTER (file.now));
    if (drive->command)
        g_array_append_val (drive->command->detached, file);
    return file.now;
}

static int
number_now (struct drive *drive, const inode_t *inode, int number)
{
    return number < 0 || !inode || !inode_is_detached (inode)
             ? number
             : detached_number (drive, inode, number);
}

void
actor_number_again (struct actor *actor)
{
    const int node = actor->node, parent = actor->parent;
    struct operation *seen = actor->seen;
    int *const numbers[] = { &seen->node, &seen->parent, &seen->newparent };

    actor->node = number_now (actor->drive, actor->inode, node);
    actor->parent = number_now (actor->drive, actor->parent_inode, parent);
    if (seen->responded != G_MAXUINT)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
        if (*numbers[i] == node && actor->inode)
            *numbers[i] = actor->node;
        else if (*numbers[i] == parent && actor->parent_inode)
            *numbers[i] = actor->parent;
}

static void
fd_number_again (struct drive *drive, const fd_t *fd)
{
    if (fd && inode_is_detached (fd->inode))
        detached_number (drive, fd->inode, drive_number (drive, &fd->inode->gfid));
}

/* Numbers all inodes of clients that the command has detached. */
static void
commands_number_detached (struct drive *drive)
{
    for (unsigned i = 0; i <= CLIENTS_MAX; i++) {
        struct actor *actor = &drive->actors[i];

        if (actor->line)
            actor_number_again (actor);
        fd_number_again (drive, actor->own.fd);
        for (unsigned fd = 0; fd < CLIENT_FDS; fd++)
            fd_number_again (drive, actor->files[fd].fd);
    }
}

/* --- one command ------------------------------------------------------------------------------ */

/* Returns the row of the first volume from the top that has the command, or NULL. */
static const struct xlator_command *
command_find (const struct graph *graph, const char *name, xlator_t **ret_xlator)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];

        for (const struct xlator_command *at = xl->api->commands; at && at->name; at++)
            if (at->job && strcmp (at->name, name) == 0) {
                *ret_xlator = xl;
                return at;
            }
    }
    return NULL;
}

/* A reload needs a graph that keeps its files in directories of its own, and all of whose files are
 * made through its top. */
static bool
command_is_there (const struct drive *drive, const char *name)
{
    xlator_t *xl;

    return strcmp (name, RELOAD) == 0 ? drive->bricks->len == 0 && !drive->below
                                      : command_find (drive->graph, name, &xl) != NULL;
}

const char *
commands_missing (const struct drive *drive)
{
    for (const char *const *name = drive->options->commands; name && *name; name++)
        if (!command_is_there (drive, *name))
            return *name;
    return NULL;
}

bool
commands_wait (const struct drive *drive, const struct script_line *line)
{
    return line->verb == VERB_command && drive->commander;
}

/* Returns whether --allow permits the failure of the command. */
static bool
command_may_fail (const struct drive *drive, const struct operation *seen)
{
    g_autoptr (GString) text = g_string_new (NULL);

    g_string_append_printf (text, "line %u, client %u: ", seen->line, seen->client + 1);
    operation_print (seen, text);
    return conform_allowed (drive->options, "history", text->str);
}

static void
command_judge_failure (const struct drive *drive, struct operation *seen)
{
    if (!command_may_fail (drive, seen))
        return;
    if (command_row (seen->name)->in_parts)
        seen->fault = true;
    else
        seen->refused = true;
}

/* error: what a user would be told; NULL: the command has succeeded. */
static void
command_end (struct drive *drive, int result, const char *error)
{
    struct actor *actor = drive->commander;
    struct operation *seen = actor->seen;

    seen->ret = result < 0 ? -1 : 0;
    seen->err = result < 0 ? -result : 0;
    commands_number_detached (drive);
    if (result < 0)
        command_judge_failure (drive, seen);
    else if (command_effect (seen->name) == COMMAND_STORES)
        drive->stored = true;
    seen->responded = drive->clock++;
    actor_log (actor);
    if (error)
        drive_log (drive, "  %s", error);
    drive->commander = NULL;
    actor->answered = true;
}

void
commands_settle (struct drive *drive)
{
    g_autoptr (GString) said = g_string_new (NULL);
    struct job_read read = { 0 };
    int r;

    if (!drive->commander)
        return;
    r = job_read (drive->command_job, 0, G_MAXSSIZE, said, &read);
    if (r < 0)
        command_end (drive, r, "the job is gone");
    else if (read.ended)
        command_end (drive, read.result, read.error);
    g_free (read.error);
}

/* Begins the job of a translator's command. */
static void
command_begin (struct drive *drive, const char *name)
{
    g_autoptr (GBytes) input = g_bytes_new_static ("", 0);
    const struct xlator_asked asked = { .input = input, .uid = geteuid (), .gid = getegid (),
                                        .pid = getpid () };
    g_autoptr (GString) answer = g_string_new (NULL);
    xlator_t *xl = NULL;
    const struct xlator_command *command = command_find (drive->graph, name, &xl);
    const int r = command ? command->run (xl, &asked, answer) : -ENOTSUP;

    if (r < 0)
        command_end (drive, r, answer->str);
    else
        drive->command_job = (unsigned) strtoul (answer->str, NULL, 10);
}

void
wind_command (struct actor *actor)
{
    struct drive *drive = actor->drive;
    struct operation *seen = operation_new (actor, FOP_command);

    seen->name = g_strdup (actor->line->word);
    seen->detached = g_array_new (FALSE, FALSE, sizeof (struct detached_file));
    drive->command = seen;
    drive->commander = actor;
    if (strcmp (seen->name, RELOAD) == 0)
        command_end (drive, drive_reload (drive), NULL);
    else
        command_begin (drive, seen->name);
}

/* --- the end of a history --------------------------------------------------------------------- */

char *
commands_in_the_end (struct drive *drive)
{
    struct script_line line = { .number = COMMAND_LINE, .client = CLIENTS_MAX,
                                .verb = VERB_command, .calm = true };
    char *wrong = NULL;

    for (const char *const *name = drive->options->commands; name && *name && !wrong; name++) {
        line.word = (char *) *name;
        drive->shows_stored = false;
        wrong = drive_line_run (drive, &line);
        drive->shows_stored = !wrong && drive->command->ret >= 0
                           && command_effect (*name) == COMMAND_STORES;
        if (!wrong)
            wrong = drive_look_at_all (drive);
        line.number++;
    }
    reload_end_olds (drive);
    return wrong;
}
