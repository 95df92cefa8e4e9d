/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the records of a preset with @LOGS@ go, such as audit.
 *
 *   windlass run   $XDG_STATE_HOME/windlass/logs/BASE-DATE-PID.PRESET.log, so that no other run,
 *                  and no other user, has the name; or, if that folder can't be made, lies in
 *                  DIR, or others could replace it, in a new folder /var/tmp/windlass-logs-XXXXXX
 *   windlass new   BASE.PRESET.log beside DIR: `new` makes no folder
 *
 * features/audit opens no file of another user and follows no link.
 */
#include "cli/run/run.h"

#include "control/control.h"
#include "core/base/name.h"
#include "core/base/printable.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOG_NAME_MAX 200 /* bytes: of log-name */
#define LOGS_APART "/var/tmp/windlass-logs-XXXXXX"

bool
preset_has_log (const struct preset *preset)
{
    return strstr (preset->text, "@LOGS@") != NULL;
}

/* --- the way to a folder of records ----------------------------------------------------------- */

#define LINKS_MAX 40 /* of a walk, as the kernel has it: links of links may lead on without end */

/* st: of a part of the way. Returns whether nobody but root and this user can replace what lies
 * behind it. After sudo, HOME may be the folder of another user. */
static bool
way_is_ours (const struct stat *st)
{
    const mode_t others = geteuid () == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;

    return (st->st_uid == geteuid () || st->st_uid == 0)
        && (S_ISLNK (st->st_mode) || st->st_mode & S_ISVTX || !(st->st_mode & others));
}

/* Looks at a name, and makes a folder if nothing has it. */
static bool
way_look (const char *path, struct stat *ret_st)
{
    if (lstat (path, ret_st) == 0)
        return true;
    return errno == ENOENT && (mkdir (path, 0700) == 0 || errno == EEXIST)
        && lstat (path, ret_st) == 0;
}

static char *way_walk (const char *from, const char *way, int *links);

/* Goes to the last name of path, whose folder was walked to. Follows a link of root or of this
 * user, and no other. Returns and takes what way_walk does. */
static char *
way_step (const char *path, int *links)
{
    g_autofree char *above = g_path_get_dirname (path), *target = NULL;
    struct stat st;

    if (!way_look (path, &st) || !way_is_ours (&st))
        return NULL;
    if (S_ISDIR (st.st_mode))
        return g_strdup (path);
    if (S_ISLNK (st.st_mode) && (*links)-- > 0)
        target = g_file_read_link (path, NULL);
    return target ? way_walk (above, target, links) : NULL;
}

/* Walks from a folder along way, name by name, and makes the folders that are missing. Returns the
 * real path, which the caller frees with g_free; or NULL if others than root and this user can
 * replace a part of it: then nothing was made in a folder of others. In a user namespace root can't
 * tell the machine's root, which has no number there, from other users, so no way to a home counts.
 * links: how many links may still be followed; counted down. */
static char *
way_walk (const char *from, const char *way, int *links)
{
    g_auto (GStrv) names = g_strsplit (way, "/", -1);
    char *at = *way == '/' ? way_step ("/", links) : g_strdup (from);

    for (char **name = names; at && *name; name++) {
        g_autofree char *above = at, *path = g_canonicalize_filename (*name, above);

        at = strcmp (path, above) == 0 ? g_strdup (above) : way_step (path, links);
    }
    return at;
}

/* Returns the real path of the folder (g_free it); NULL if others may write in it or replace it, or
 * if it lies in directory, where each record would be recorded in turn. */
static char *
logs_folder (const char *folder, const char *directory)
{
    int links = LINKS_MAX;
    g_autofree char *real = way_walk ("/", folder, &links);
    struct stat st;

    return real && lstat (real, &st) == 0 && st.st_uid == geteuid ()
                && !(st.st_mode & (S_IWGRP | S_IWOTH)) && !path_is_in (real, directory)
               ? g_steal_pointer (&real) : NULL;
}

/* --- names ------------------------------------------------------------------------------------ */

/* run: what tells one run from the others, or "". */
static char *
log_name (const struct preset *preset, const char *directory, const char *run)
{
    g_autofree char *kind = g_path_get_basename (preset->name);
    g_autofree char *base = g_path_get_basename (directory);
    g_autofree char *end = g_strdup_printf ("%s.%s.log", run, kind);
    const char *visible = base + strspn (base, ".-/");
    const int room = LOG_NAME_MAX - (int) strlen (end);

    return g_strdup_printf ("%.*s%s", MAX (room, 0), *visible ? visible : "root", end);
}

int
run_log_begin (const struct cli_command *command, const struct preset *preset,
               struct view_place *place)
{
    g_autoptr (GDateTime) now = g_date_time_new_now_local ();
    g_autofree char *date = g_date_time_format (now, "-%Y%m%d-%H%M%S");
    g_autofree char *run = g_strdup_printf ("%s-%d", date, (int) getpid ());
    g_autofree char *state = state_dir (), *folder = g_build_filename (state, "logs", NULL);
    g_autofree char *apart = g_strdup (LOGS_APART);

    place->log = log_name (preset, place->directory, run);
    place->logs = logs_folder (folder, place->directory);
    if (!place->logs && g_mkdtemp_full (apart, 0700)) {
        place->logs = g_steal_pointer (&apart);
        place->logs_apart = true;
    }
    return place->logs ? CLI_OK
                       : run_refuse (command, "a folder for records, '%s', can't be made: %s",
                                     LOGS_APART, g_strerror (errno));
}

void
new_log_name (const struct preset *preset, struct view_place *place)
{
    place->log = log_name (preset, place->directory, "");
    if (preset_has_log (preset))
        place->logs = g_path_get_dirname (place->directory);
}

void
run_log_end (const struct view_place *place)
{
    if (place->logs_apart)
        (void) rmdir (place->logs); /* a log, and its lock file, keep it */
}

/* Returns the value of an option of a volume, or NULL. */
static const char *
log_option (const struct volfile_volume *volume, const char *key)
{
    for (guint i = 0; i < volume->options->len; i++) {
        const struct volfile_option *option = volume->options->pdata[i];

        if (strcmp (option->key, key) == 0)
            return option->value;
    }
    return NULL;
}

void
run_log_tell (const char *text)
{
    struct volfile *volfile = volfile_parse ("", text, strlen (text));

    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];
        const char *folder = log_option (volume, "log-directory");
        const char *name = log_option (volume, "log-name");

        if (folder && name && g_strcmp0 (log_option (volume, "target"), "journal") != 0)
            say_line (stderr, "windlass run: records go to '%s/%s'", folder, name);
    }
    volfile_free (volfile);
}
