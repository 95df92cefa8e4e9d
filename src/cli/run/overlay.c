/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass run overlay: the changes of a view, and what becomes of them.
 *
 *   PARENT/.windlass-overlays/NAME/     beside DIR, if a folder there can take changes, so that
 *                                       copies may share blocks with their originals; else in the
 *                                       list
 *       changes/                        the first subvolume of the overlay
 *       view.vol                        the volfile of the view
 *       directory                       the path of DIR
 *   $XDG_STATE_HOME/windlass/overlays/  the list of views: NAME, or a symbolic link to it
 */
#include "cli/run/run.h"

#include "control/control.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define BESIDE ".windlass-overlays"
#define OPEN_MAX_WALK 64 /* descriptors of a walk */

/* --- what was asked for ----------------------------------------------------------------------- */

static bool
view_name_is_good (const char *name)
{
    return *name && *name != '.' && *name != '-' && !strchr (name, '/')
        && strlen (name) <= NAME_MAX;
}

int
kept_view_check (const struct cli_command *command, const struct preset *preset,
                 const struct kept_view *kept)
{
    if (!preset_has_state (preset) && (kept->apply || kept->discard || kept->json || kept->keep
                                        || kept->from))
        return run_refuse (command, "preset '%s' keeps no changes: --apply, --discard, --keep, "
                                    "--from and --json are for preset 'overlay'", preset->name);
    if ((kept->apply != FALSE) + (kept->discard != FALSE) + (kept->keep != NULL) > 1)
        return run_refuse (command, "of --apply, --discard and --keep only one can be given");
    if (kept->keep && !view_name_is_good (kept->keep))
        return run_refuse (command, "--keep takes a name without '/' that begins with neither '.' "
                                    "nor '-', got '%s'", kept->keep);
    return CLI_OK;
}

void
kept_view_tell_descriptors (const char *directory)
{
    static const char *const names[] = { "standard input", "standard output", "standard error" };
    const size_t length = strlen (directory);

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        g_autofree char *link = g_strdup_printf ("/proc/self/fd/%d", fd);
        g_autofree char *file = g_file_read_link (link, NULL);

        if (file && strncmp (file, directory, length) == 0
            && (file[length] == '/' || file[length] == '\0'))
            say_line (stderr, "windlass run: %s is '%s' itself, not the view's: what the command "
                              "does with it is no change of the view", names[fd], file);
    }
}

/* --- folders ---------------------------------------------------------------------------------- */

char *
kept_views_folder (void)
{
    g_autofree char *state = state_dir ();

    return g_build_filename (state, "overlays", NULL);
}

static char *
view_generated_name (const char *directory)
{
    g_autofree char *base = g_path_get_basename (directory);
    g_autoptr (GDateTime) now = g_date_time_new_now_local ();
    g_autofree char *time = g_date_time_format (now, "%Y%m%d-%H%M%S");

    return g_strdup_printf ("%.200s-%s-%d", *base == '.' || *base == '-' ? base + 1 : base, time,
                            (int) getpid ());
}

/* Overlays mark files by extended attributes. */
static bool
file_takes_marks (const char *file)
{
    return setxattr (file, "trusted.overlay.windlass", "", 0, 0) == 0
        || setxattr (file, "user.overlay.windlass", "", 0, 0) == 0;
}

/* Tries whether an overlay can keep its changes in the folder, as its init does. NFS and most file
 * systems over FUSE have no flags of renameat2(2), some have no attributes, and another view has no
 * marks for a view in it. Returns 0 or a negative errno. */
static int
folder_try_changes (const char *folder)
{
    g_autofree char *trial = g_build_filename (folder, "trial.XXXXXX", NULL);
    g_autofree char *file = NULL, *other = NULL;
    int r = 0;

    if (!g_mkdtemp (trial))
        return -errno;
    file = g_build_filename (trial, "file", NULL);
    other = g_build_filename (trial, "other", NULL);
    if (mknod (file, S_IFREG | 0600, 0) < 0 || !file_takes_marks (file)
        || renameat2 (AT_FDCWD, file, AT_FDCWD, other, RENAME_WHITEOUT) < 0
        || renameat2 (AT_FDCWD, file, AT_FDCWD, other, RENAME_EXCHANGE) < 0)
        r = -errno;
    (void) unlink (file);
    (void) unlink (other);
    (void) rmdir (trial);
    return r;
}

/* Makes the folder for the changes of all views beside DIR. Returns whether it can be used. */
static bool
folder_beside_make (const char *beside)
{
    const bool made = mkdir (beside, 0700) == 0;
    struct stat st;

    if (!made && (errno != EEXIST || access (beside, W_OK) < 0))
        return false;
    if (lstat (beside, &st) == 0 && S_ISDIR (st.st_mode) && st.st_uid == geteuid ()
        && folder_try_changes (beside) == 0)
        return true;
    if (made)
        (void) rmdir (beside);
    return false;
}

/* Returns 0 or a negative errno; -EOPNOTSUPP or -EINVAL: no folder can take changes. */
static int
view_make_state (struct kept_view *kept, const char *directory, const char *list)
{
    g_autofree char *parent = g_path_get_dirname (directory);
    g_autofree char *beside = g_build_filename (parent, BESIDE, NULL);
    struct stat st;
    int r;

    kept->entry = g_build_filename (list, kept->name, NULL);
    if (stat (kept->entry, &st) < 0 && errno == ENOENT)
        (void) unlink (kept->entry); /* the link to a folder that was removed by hand */
    if (lstat (kept->entry, &st) == 0)
        return -EEXIST;
    if (folder_beside_make (beside)) {
        kept->state = g_build_filename (beside, kept->name, NULL);
        if (mkdir (kept->state, 0700) < 0 || symlink (kept->state, kept->entry) < 0)
            return -errno;
    } else {
        r = folder_try_changes (list);
        if (r < 0)
            return r;
        kept->state = g_strdup (kept->entry);
        if (mkdir (kept->state, 0700) < 0)
            return -errno;
    }
    kept->changes = g_build_filename (kept->state, "changes", NULL);
    return mkdir (kept->changes, 0700) < 0 ? -errno : 0;
}

int
kept_view_begin (const struct cli_command *command, const char *directory, struct kept_view *kept)
{
    g_autofree char *list = kept_views_folder (), *file = NULL;
    int r = g_mkdir_with_parents (list, 0700) < 0 ? -errno : 0;

    kept->name = kept->keep ? g_strdup (kept->keep) : view_generated_name (directory);
    if (r == 0)
        r = view_make_state (kept, directory, list);
    if (r == -EEXIST && kept->keep) {
        g_clear_pointer (&kept->state, g_free);
        return run_refuse (command, "there is a kept view '%s' already; 'windlass overlay status' "
                                    "lists them", kept->keep);
    }
    if (r == -EOPNOTSUPP || r == -EINVAL)
        return run_refuse (command, "neither a folder beside '%s' nor '%s' can take changes: that "
                                    "needs a file system with extended attributes and the flags of "
                                    "renameat2(2); set XDG_STATE_HOME to a folder of yours on a "
                                    "local disk", directory, list);
    if (r < 0)
        return run_refuse (command, "the folder for changes, '%s', can't be made: %s",
                           kept->state ? kept->state : list, g_strerror (-r));
    file = g_build_filename (kept->state, "directory", NULL);
    (void) g_file_set_contents (file, directory, -1, NULL);
    if (kept_view_use (command, kept) != CLI_OK)
        return CLI_USAGE;
    say_line (stderr, "windlass run: changes go to '%s'", kept->state);
    if (geteuid () != 0)
        say_line (stderr, "windlass run: copies of other users' files belong to you");
    return CLI_OK;
}

void
kept_view_write (const struct kept_view *kept, const char *volfile)
{
    g_autofree char *file = g_build_filename (kept->state, KEPT_VOLFILE, NULL);
    g_autoptr (GError) error = NULL;

    if (!g_file_set_contents (file, volfile, -1, &error))
        say_line (stderr, "windlass run: %s", error->message);
}

/* --- what has changed ------------------------------------------------------------------------- */

static int
view_changes_take (const char *bytes, size_t size, void *data, char **ret_error)
{
    g_string_append_len (data, bytes, (gssize) size);
    return 0;
}

static void
view_changes_progress (uint64_t done, uint64_t total, const char *unit, void *data)
{
}

/* Gives a command of cluster/overlay to the view. Returns what it prints; NULL and *ret_error
 * (g_free it) after a failure. words ends with NULL. */
static GString *
view_command (const char *where, const char *name, const char *const *words, char **ret_error)
{
    GByteArray *input = g_byte_array_new ();
    g_autoptr (GString) number = g_string_new (NULL);
    g_autoptr (GBytes) bytes = NULL;
    GString *answer = g_string_new (NULL);
    int r;

    for (; *words; words++)
        g_byte_array_append (input, (const guint8 *) *words, (guint) strlen (*words) + 1);
    bytes = g_byte_array_free_to_bytes (input);
    r = control_call_open (where, "cluster/overlay", name, false, bytes, number, ret_error);
    if (r == 0)
        r = control_call_job (where, g_strchomp (number->str), false, view_changes_take,
                              view_changes_progress, answer, ret_error);
    if (r == 0)
        return answer;
    g_string_free (answer, TRUE);
    return NULL;
}

/* Returns what `windlass overlay diff` prints, with an option if that is not NULL; NULL after a
 * message. */
static GString *
view_changes (const char *where, const char *option)
{
    const char *const words[] = { option ? option : "--", option ? "--" : NULL, NULL };
    g_autofree char *error = NULL;
    GString *changes = view_command (where, "diff", words, &error);

    if (!changes)
        say_line (stderr, "windlass run: the changes can't be listed: %s", error);
    return changes;
}

/* Makes all changes in the directory. Returns whether that was done. commits: by a commit, where an
 * apply is refused. */
static bool
view_apply (const struct kept_view *kept, const char *where, bool commits)
{
    static const char *const root[] = { "--", "/", NULL }, *const all[] = { NULL };
    g_autofree char *error = NULL;
    GString *answer = view_command (where, "apply", root, &error);

    if (!answer && commits) {
        g_clear_pointer (&error, g_free);
        answer = view_command (where, "commit", all, &error);
    }
    if (answer && !kept->json)
        cli_print_safely (stderr, answer->str);
    if (!answer)
        say_line (stderr, "windlass run: the changes can't be applied: %s", error);
    if (answer)
        g_string_free (answer, TRUE);
    return answer != NULL;
}

static enum view_fate
fate_ask (void)
{
    char line[64];

    fputs ("windlass run: apply, keep or discard these changes? [keep] ", stderr);
    fflush (stderr);
    if (!fgets (line, sizeof line, stdin))
        return VIEW_KEEP;
    switch (*line) {
    case 'a': case 'A':
        return VIEW_APPLY;
    case 'd': case 'D':
        return VIEW_DISCARD;
    default:
        return VIEW_KEEP;
    }
}

static enum view_fate
view_fate (const struct kept_view *kept)
{
    if (kept->apply)
        return VIEW_APPLY;
    if (kept->discard)
        return VIEW_DISCARD;
    if (kept->keep || kept->json || !isatty (STDIN_FILENO) || !isatty (STDERR_FILENO))
        return VIEW_KEEP;
    return fate_ask ();
}

static void
changes_print_json (const struct kept_view *kept, const GString *changes, int status)
{
    g_autoptr (GString) name = g_string_new (NULL), state = g_string_new (NULL);
    g_autoptr (GString) safe = g_string_new (NULL);

    json_append_string (name, kept->name);
    json_append_string (state, kept->state);
    if (changes)
        json_append_safely (safe, changes->str, changes->len);
    printf ("{\"status\": %d, \"applied\": %s, \"kept\": %s, \"name\": %s, \"state\": %s, "
            "\"changes\": %s}\n",
            status, kept->applied ? "true" : "false", kept->drops ? "false" : "true",
            kept->drops ? "null" : name->str, kept->drops ? "null" : state->str,
            changes ? g_strchomp (safe->str) : "null");
    fflush (stdout);
}

/* Changes that programs have made, or frozen, during the apply are kept. A commit moves renamed
 * directories, which an apply can't; but it makes the changes of frozen layers, too, which were not
 * listed. */
static void
view_decide (struct kept_view *kept, const char *where)
{
    const enum view_fate fate = view_fate (kept);
    g_autoptr (GString) left = NULL;

    if (fate == VIEW_APPLY) {
        kept->applied = view_apply (kept, where, !kept->from && !kept_view_has_frozen (kept));
        left = kept->applied ? view_changes (where, NULL) : NULL;
    }
    kept->drops = fate == VIEW_DISCARD
                  || (left && left->len == 0 && !kept_view_has_frozen (kept));
}

static void
view_keep_for_others (struct kept_view *kept)
{
    g_autofree char *user = kept->drops ? kept_view_user (kept) : NULL;

    if (!user)
        return;
    say_line (stderr, "windlass run: the view '%s' was begun from this one (--from), and needs its "
                      "frozen layers", user);
    kept->drops = false;
}

int
kept_view_answer (struct kept_view *kept, const char *where, int status)
{
    g_autoptr (GString) changes = view_changes (where, kept->json ? "--json" : NULL);
    const bool none = changes && changes->str[strspn (changes->str, "[] \n")] == '\0';

    if (none) {
        kept->drops = kept->discard || (!kept->keep && !kept_view_has_frozen (kept));
        say_line (stderr, "windlass run: nothing was changed%s",
                  kept_view_has_frozen (kept) ? " since the last freeze" : "");
    } else if (changes) {
        if (!kept->json)
            cli_print_safely (stderr, changes->str);
        view_decide (kept, where);
    }
    view_keep_for_others (kept);
    if (kept->apply && !none && !kept->applied && status == 0)
        status = RUN_FAILED;
    if (kept->json)
        changes_print_json (kept, changes, status);
    return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* A directory may have a mode that keeps its owner out. */
static int
state_open_up (const char *path, const struct stat *st, int type, struct FTW *at)
{
    if (type == FTW_D || type == FTW_DNR)
        (void) chmod (path, 0700);
    return 0;
}

static int
state_remove (const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void) remove (path);
    return 0;
}

static void
state_drop (const struct kept_view *kept)
{
    struct stat st;

    (void) nftw (kept->state, state_open_up, OPEN_MAX_WALK, FTW_PHYS);
    (void) nftw (kept->state, state_remove, OPEN_MAX_WALK, FTW_PHYS | FTW_DEPTH);
    if (lstat (kept->entry, &st) == 0 && S_ISLNK (st.st_mode))
        (void) unlink (kept->entry);
    if (lstat (kept->state, &st) == 0)
        say_line (stderr, "windlass run: '%s' can't be removed as a whole", kept->state);
    else
        kept_view_unuse (kept);
}

void
kept_view_clear (struct kept_view *kept)
{
    g_free (kept->keep);
    g_free (kept->from);
    g_free (kept->from_state);
    g_free (kept->name);
    g_free (kept->state);
    g_free (kept->changes);
    g_free (kept->entry);
    g_clear_pointer (&kept->layers, g_ptr_array_unref);
}

void
kept_view_end (struct kept_view *kept, bool lost)
{
    if (kept->state && kept->drops && !lost)
        state_drop (kept);
    else if (kept->state)
        say_line (stderr,
                  "windlass run: the changes are kept as '%s'; 'windlass -f %s/" KEPT_VOLFILE
                  " MOUNTPOINT' mounts the view again",
                  kept->name, kept->state);
    kept_view_clear (kept);
}

/* --- the list --------------------------------------------------------------------------------- */

static gint
views_order (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* An entry whose folder was removed by hand is left out. */
static void
views_print (const char *list, const char *name)
{
    g_autofree char *file = g_build_filename (list, name, "directory", NULL);
    g_autofree char *entry = g_build_filename (list, name, NULL);
    g_autofree char *target = g_file_read_link (entry, NULL), *directory = NULL;

    if (g_file_get_contents (file, &directory, NULL, NULL))
        say_line (stdout, "%s  %s  (changes are in %s)", name, directory,
                  target ? target : entry);
}

int
kept_views_list (void)
{
    g_autofree char *list = kept_views_folder ();
    g_autoptr (GDir) entries = g_dir_open (list, 0, NULL);
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    const char *name;

    while (entries && (name = g_dir_read_name (entries)))
        g_ptr_array_add (names, g_strdup (name));
    g_ptr_array_sort (names, views_order);
    for (guint i = 0; i < names->len; i++)
        views_print (list, names->pdata[i]);
    return CLI_OK;
}
