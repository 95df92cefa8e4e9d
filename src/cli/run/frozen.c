/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Frozen layers of kept views: `windlass overlay freeze` makes them, and --from begins a new view
 * over those of another one.
 *
 *   .windlass-overlays/NAME/changes/layers/1, 0   layers of NAME, which --from NAME reads
 *   .windlass-overlays/NAME/changes/users/VIEW    a symbolic link to the folder of each view that
 *                                                 reads them: cluster/overlay commits no layer
 *                                                 while there is one
 *   .windlass-overlays/VIEW/from                  the layers that VIEW reads, a path a line, the
 *                                                 topmost first
 */
#include "cli/run/run.h"

#include "core/base/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LAYERS "layers" /* in the folder of the changes, as option upper has it */
#define FIRST "0"       /* the layer of option upper */
#define CHANGES "changes" /* in the folder of a view, as FROM */
#define USERS "users"     /* in that of the changes */
#define FROM "from"
#define STAGED ".windlass-commit." /* begins names that a commit has made in a layer's root */
#define PROGRAM "/proc/self/exe"
#define LINE "    subvolumes changes lower" /* of the preset */

/* --- which there are -------------------------------------------------------------------------- */

/* As cluster/overlay marks the root of a layer above a frozen one. A mark that can't be read may be
 * one. */
static bool
layer_is_marked (const char *path)
{
    static const char *const keys[] = { "trusted.overlay.windlass.layer",
                                        "user.overlay.windlass.layer" };
    char value[sizeof FIRST];

    for (size_t i = 0; i < G_N_ELEMENTS (keys); i++) {
        const ssize_t size = lgetxattr (path, keys[i], value, sizeof value);

        if (size < 0 && errno != ENODATA && errno != EOPNOTSUPP)
            return true;
        if (size == (ssize_t) strlen (FIRST) && memcmp (value, FIRST, strlen (FIRST)) == 0)
            return true;
    }
    return false;
}

/* As cluster/overlay names layers: without a leading 0. */
static bool
layer_is_number (const char *name)
{
    return *name >= '1' && *name <= '9' && name[strspn (name, "0123456789")] == '\0';
}

/* The highest number first. */
static gint
layers_order (gconstpointer a, gconstpointer b)
{
    const unsigned long left = strtoul (strrchr (*(const char *const *) a, '/') + 1, NULL, 10);
    const unsigned long right = strtoul (strrchr (*(const char *const *) b, '/') + 1, NULL, 10);

    return (left < right) - (left > right);
}

/* Returns the paths of the frozen layers of a view, the topmost first. Freed with
 * g_ptr_array_unref. */
static GPtrArray *
frozen_layers (const char *state)
{
    g_autofree char *folder = g_build_filename (state, CHANGES, LAYERS, NULL);
    g_autoptr (GDir) entries = g_dir_open (folder, 0, NULL);
    GPtrArray *layers = g_ptr_array_new_with_free_func (g_free);
    const char *name;

    while (entries && (name = g_dir_read_name (entries))) {
        g_autofree char *path = g_build_filename (folder, name, NULL);

        if (strcmp (name, FIRST) == 0 || (layer_is_number (name) && layer_is_marked (path)))
            g_ptr_array_add (layers, g_steal_pointer (&path));
    }
    g_ptr_array_sort (layers, layers_order);
    if (layers->len > 0)
        g_ptr_array_remove_index (layers, 0); /* the upper */
    return layers;
}

/* Adds the layers that a view has from others: they lie below its own. */
static void
layers_add_others (const char *state, GPtrArray *layers)
{
    g_autofree char *file = g_build_filename (state, FROM, NULL), *text = NULL;
    g_auto (GStrv) paths = NULL;

    if (!g_file_get_contents (file, &text, NULL, NULL))
        return;
    paths = g_strsplit (text, "\n", -1);
    for (char **path = paths; *path; path++)
        if (**path)
            g_ptr_array_add (layers, g_strdup (*path));
}

/* A commit leaves a layer without names. */
static bool
layer_is_empty (const char *path)
{
    g_autoptr (GDir) entries = g_dir_open (path, 0, NULL);

    return entries && !g_dir_read_name (entries);
}

bool
kept_view_has_frozen (const struct kept_view *kept)
{
    g_autofree char *folder = g_build_filename (kept->state, CHANGES, LAYERS, NULL);
    g_autoptr (GPtrArray) layers = frozen_layers (kept->state);
    bool has = access (folder, R_OK) < 0 && errno != ENOENT;

    for (guint i = 0; !has && i < layers->len; i++)
        has = !layer_is_empty (layers->pdata[i]);
    return has;
}

/* --- --from ----------------------------------------------------------------------------------- */

static int
from_check_directory (const struct cli_command *command, const struct kept_view *kept,
                      const char *directory)
{
    g_autofree char *file = g_build_filename (kept->from_state, "directory", NULL), *of = NULL;

    if (g_file_get_contents (file, &of, NULL, NULL) && strcmp (of, directory) == 0)
        return CLI_OK;
    return run_refuse (command, "--from: the view '%s' is one of '%s', not of '%s'", kept->from,
                       of ? of : "an unknown directory", directory);
}

/* Whether a commit of the layer has begun to move directories, and has not ended. */
static bool
layer_is_staged (const char *path)
{
    g_autoptr (GDir) entries = g_dir_open (path, 0, NULL);
    const char *name = NULL;
    bool is = false;

    while (entries && !is && (name = g_dir_read_name (entries)))
        is = g_str_has_prefix (name, STAGED);
    return is;
}

/* Such a commit may have moved a directory, and not changed the redirect in the layer that leads to
 * it. Each start of the view finishes that, as for this command. */
static int
from_finish_commit (const struct cli_command *command, const struct kept_view *kept)
{
    const char *argv[] = { PROGRAM, "overlay", "status", kept->from, NULL };
    g_autoptr (GPtrArray) layers = frozen_layers (kept->from_state);
    g_autofree char *out = NULL, *err = NULL;
    g_autoptr (GError) error = NULL;
    bool staged = false;
    int status;

    for (guint i = 0; i < layers->len; i++)
        staged |= layer_is_staged (layers->pdata[i]);
    if (!staged
        || (g_spawn_sync (NULL, (char **) argv, NULL, G_SPAWN_DEFAULT, NULL, NULL, &out, &err,
                          &status, &error)
            && g_spawn_check_wait_status (status, NULL)))
        return CLI_OK;
    if (err)
        err[strcspn (err, "\n")] = '\0';
    return run_refuse (command, "--from: a commit of the view '%s' is under way, or was interrupted"
                                " and can't be finished here (%s): give it again ('windlass overlay"
                                " commit %s', or with the mount point)", kept->from,
                       error ? error->message : err, kept->from);
}

int
kept_view_from (const struct cli_command *command, const char *directory, struct kept_view *kept)
{
    g_autofree char *list = kept_views_folder (), *entry = NULL;
    char *real;

    if (!kept->from)
        return CLI_OK;
    entry = g_build_filename (list, kept->from, NULL);
    real = strchr (kept->from, '/') ? NULL : realpath (entry, NULL);
    if (!real)
        return run_refuse (command, "--from: there is no kept view '%s'; 'windlass overlay status' "
                                    "lists them", kept->from);
    kept->from_state = g_strdup (real);
    free (real);
    if (from_check_directory (command, kept, directory) != CLI_OK)
        return CLI_USAGE;
    if (from_finish_commit (command, kept) != CLI_OK)
        return CLI_USAGE;
    kept->layers = frozen_layers (kept->from_state);
    if (kept->layers->len > 0) {
        layers_add_others (kept->from_state, kept->layers);
        return CLI_OK;
    }
    return run_refuse (command, "--from: the view '%s' has no frozen layers; 'windlass overlay "
                                "freeze %s' makes one of its changes", kept->from, kept->from);
}

int
kept_view_layers (const struct cli_command *command, const struct kept_view *kept,
                  struct made_volfile *made)
{
    g_autoptr (GString) volumes = g_string_new (NULL), names = g_string_new (NULL);
    g_autofree char *whole = g_steal_pointer (&made->text);
    char *overlay = strstr (whole, "\nvolume overlay\n"), *line = strstr (whole, LINE);

    if (!overlay || !line || line < overlay)
        return run_refuse (command, "--from: preset 'overlay' has no volume 'overlay' with '%s'",
                           &LINE[strspn (LINE, " ")]);
    for (guint i = 0; i < kept->layers->len; i++) {
        g_autofree char *path = volfile_word (kept->layers->pdata[i]); /* has no newline, as the
                                                                        * folder beside it */
        const guint number = kept->layers->len - 1 - i;

        g_string_append_printf (volumes, "\nvolume frozen-%u\n    type storage/posix\n    option "
                                         "directory %s\nend-volume\n", number, path);
        g_string_append_printf (names, " frozen-%u", number);
    }
    made->text = g_strdup_printf ("%.*s%s%.*s    subvolumes changes%s lower%s",
                                  (int) (overlay - whole), whole, volumes->str,
                                  (int) (line - overlay), overlay, names->str,
                                  line + strlen (LINE));
    return CLI_OK;
}

/* --- who reads them --------------------------------------------------------------------------- */

/* Returns the path of the link that says that the view `kept` reads the layer, which is
 * STATE/changes/layers/N: STATE/changes/users/NAME. *ret_users: the folder of the link. g_free
 * both. */
static char *
layer_user_link (const struct kept_view *kept, const char *layer, char **ret_users)
{
    g_autofree char *layers = g_path_get_dirname (layer), *changes = g_path_get_dirname (layers);

    *ret_users = g_build_filename (changes, USERS, NULL);
    return g_build_filename (*ret_users, kept->name, NULL);
}

int
kept_view_use (const struct cli_command *command, const struct kept_view *kept)
{
    g_autofree char *file = g_build_filename (kept->state, FROM, NULL);
    g_autoptr (GString) lines = g_string_new (NULL);
    g_autoptr (GError) error = NULL;

    for (guint i = 0; kept->layers && i < kept->layers->len; i++) {
        g_autofree char *users = NULL;
        g_autofree char *link = layer_user_link (kept, kept->layers->pdata[i], &users);

        g_string_append_printf (lines, "%s\n", (const char *) kept->layers->pdata[i]);
        if ((mkdir (users, 0700) < 0 && errno != EEXIST)
            || (unlink (link) < 0 && errno != ENOENT) /* of a view that was removed by hand */
            || symlink (kept->state, link) < 0)
            return run_refuse (command, "--from: '%s' can't be made: %s", link,
                               g_strerror (errno));
    }
    if (kept->layers && !g_file_set_contents (file, lines->str, -1, &error))
        return run_refuse (command, "--from: %s", error->message);
    return CLI_OK;
}

void
kept_view_unuse (const struct kept_view *kept)
{
    for (guint i = 0; kept->layers && i < kept->layers->len; i++) {
        g_autofree char *users = NULL;
        g_autofree char *link = layer_user_link (kept, kept->layers->pdata[i], &users);

        (void) unlink (link);
        (void) rmdir (users);
    }
}

/* A link to a folder that was removed by hand counts no more. */
char *
kept_view_user (const struct kept_view *kept)
{
    g_autofree char *users = g_build_filename (kept->state, CHANGES, USERS, NULL);
    g_autoptr (GDir) entries = g_dir_open (users, 0, NULL);
    const char *name;

    while (entries && (name = g_dir_read_name (entries))) {
        g_autofree char *link = g_build_filename (users, name, NULL);

        if (g_file_test (link, G_FILE_TEST_IS_DIR))
            return g_strdup (name);
    }
    return NULL;
}
