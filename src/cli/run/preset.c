/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds presets, and reads their heads. */
#include "cli/run/run.h"

#include "core/base/suggest.h"
#include "folders.h"
#include "fuse/bridge.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".vol"
#define NAME_BYTES G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_."
#define HEAD_SUMMARY "# preset: "
#define HEAD_FLAG "# flag "
#define HEAD_MOUNT "# mount "
#define HEAD_LICENCE "# SPDX-"

/* --- where they are ------------------------------------------------------------------------- */

#define DIR_OWN 0 /* of preset_dirs: the user's, which come first, and may replace others */

static GPtrArray *
preset_dirs (void)
{
    GPtrArray *dirs = g_ptr_array_new_with_free_func (g_free);
    const char *path = g_getenv ("WINDLASS_PRESET_PATH");
    g_auto (GStrv) parts = g_strsplit (path ? path : "", ":", -1);

    g_ptr_array_add (dirs,
                     g_build_filename (g_get_user_config_dir (), "windlass", "presets", NULL));
    for (char **part = parts; *part; part++)
        if (**part)
            g_ptr_array_add (dirs, g_strdup (*part));
    g_ptr_array_add (dirs, g_strdup (PRESETSDIR));
    return dirs;
}

static bool
preset_name_is_valid (const char *name)
{
    for (const char *at = name; *at; at++)
        if (!g_ascii_isalnum (*at) && !(at > name && strchr ("-_.", *at)))
            return false;
    return *name;
}

/* Opens a file that was not named by its path. After su, XDG_CONFIG_HOME may be of the user before,
 * who must not choose what root mounts: in the user's own folder a file of another user does not
 * count. Returns a descriptor, or -1. */
static int
preset_open (const GPtrArray *dirs, guint dir, const char *file)
{
    g_autofree char *path = g_build_filename (dirs->pdata[dir], file, NULL);
    const int fd = open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode)
        && (dir != DIR_OWN || st.st_uid == geteuid () || st.st_uid == 0))
        return fd;
    close (fd);
    return -1;
}

static bool
preset_is_there (const GPtrArray *dirs, guint dir, const char *file)
{
    const int fd = preset_open (dirs, dir, file);

    return fd >= 0 && close (fd) == 0;
}

static gint
preset_names_compare (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

GPtrArray *
preset_names (void)
{
    g_autoptr (GPtrArray) dirs = preset_dirs ();
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

    for (guint i = 0; i < dirs->len; i++) {
        g_autoptr (GDir) dir = g_dir_open (dirs->pdata[i], 0, NULL);
        const char *entry;

        while (dir && (entry = g_dir_read_name (dir))) {
            const size_t size = strlen (entry) - MIN (strlen (entry), strlen (SUFFIX));
            g_autofree char *name = g_strndup (entry, size);

            if (g_str_has_suffix (entry, SUFFIX) && preset_name_is_valid (name)
                && !g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL)
                && preset_is_there (dirs, i, entry))
                g_ptr_array_add (names, g_steal_pointer (&name));
        }
    }
    g_ptr_array_sort (names, preset_names_compare);
    return names;
}

/* Returns the path of the file, or NULL and *ret_error. *ret_fd: the file, opened; or -1 if it was
 * named by its path. */
static char *
preset_find (const char *name, int *ret_fd, char **ret_error)
{
    g_autoptr (GPtrArray) dirs = preset_dirs (), names = NULL;
    g_autofree char *suggestion = NULL, *all = NULL, *file = g_strconcat (name, SUFFIX, NULL);

    *ret_fd = -1;
    if (strchr (name, '/'))
        return g_strdup (name);
    for (guint i = 0; preset_name_is_valid (name) && i < dirs->len; i++) {
        *ret_fd = preset_open (dirs, i, file);
        if (*ret_fd >= 0)
            return g_build_filename (dirs->pdata[i], file, NULL);
    }
    names = preset_names ();
    suggestion = suggest_text (suggest_near (name, names));
    g_ptr_array_add (names, NULL);
    all = g_strjoinv (", ", (char **) names->pdata);
    *ret_error = g_strdup_printf ("there is no preset '%s'%s; there are: %s", name, suggestion,
                                  *all ? all : "none");
    return NULL;
}

/* --- the head ------------------------------------------------------------------------------- */

static void
preset_flag_free (gpointer data)
{
    struct preset_flag *flag = data;

    g_free (flag->name);
    g_free (flag->help);
    g_strfreev (flag->settings);
    g_free (flag);
}

void
preset_free (struct preset *preset)
{
    if (!preset)
        return;
    g_free (preset->name);
    g_free (preset->path);
    g_free (preset->text);
    g_free (preset->summary);
    g_ptr_array_unref (preset->flags);
    g_ptr_array_unref (preset->mount);
    g_free (preset);
}

/* May a preset set this option of the command line? Its author chooses what the mount is like, as
 * the author of a volfile does, and not where translators come from, what is written where, and
 * which rights the mount gives. */
static bool
preset_may_set (const char *word)
{
    g_autofree char *name = g_strndup (word, strcspn (word, "="));

    return g_str_has_prefix (name, "--") && option_find (bridge_options, name + 2);
}

static bool
preset_settings_are_valid (char **settings)
{
    for (; *settings; settings++)
        if (g_str_has_prefix (*settings, "--") && !preset_may_set (*settings))
            return false;
    return true;
}

/* text: "--NAME SETTING [SETTING...]: HELP". Returns false if it isn't. */
static bool
preset_add_flag (struct preset *preset, const char *text)
{
    const char *colon = strstr (text, ": ");
    g_autofree char *front = g_strndup (text, colon ? colon - text : 0);
    g_auto (GStrv) words = g_strsplit_set (g_strstrip (front), " \t", -1);
    struct preset_flag *flag;

    if (g_strv_length (words) < 2 || !g_str_has_prefix (words[0], "--") || strchr (words[0], '=')
        || !preset_settings_are_valid (words + 1))
        return false;
    flag = g_new0 (struct preset_flag, 1);
    flag->name = g_strdup (words[0]);
    flag->settings = g_strdupv (words + 1);
    flag->help = g_strdup (colon + 2);
    g_ptr_array_add (preset->flags, flag);
    return true;
}

static bool
preset_add_mount (struct preset *preset, const char *text)
{
    g_auto (GStrv) words = g_strsplit_set (text, " \t", -1);
    bool good = true;

    for (char **word = words; *word; word++)
        if (**word && !preset_may_set (*word))
            good = false;
        else if (**word)
            g_ptr_array_add (preset->mount, g_strdup (*word));
    return good;
}

/* Returns NULL, or what the line must be. */
static const char *
preset_read_line (struct preset *preset, const char *line)
{
    if (g_str_has_prefix (line, HEAD_SUMMARY) && !preset->summary)
        preset->summary = g_strstrip (g_strdup (line + strlen (HEAD_SUMMARY)));
    else if (g_str_has_prefix (line, HEAD_FLAG)
             && !preset_add_flag (preset, line + strlen (HEAD_FLAG)))
        return "a flag must be '" HEAD_FLAG "--NAME SETTING...: HELP', each SETTING "
               "VOLUME.OPTION=VALUE or an option in windlass-options(1)";
    else if (g_str_has_prefix (line, HEAD_MOUNT)
             && !preset_add_mount (preset, line + strlen (HEAD_MOUNT)))
        return "a preset can set the options in windlass-options(1), such as --read-only, and no "
               "others";
    return NULL;
}

static bool
preset_read_head (struct preset *preset, char **ret_error)
{
    g_auto (GStrv) lines = g_strsplit (preset->text, "\n", -1);

    for (int i = 0; lines[i] && *lines[i] == '#'; i++) {
        const char *wanted = preset_read_line (preset, lines[i]);

        if (wanted) {
            *ret_error = g_strdup_printf ("%s:%d: %s; got '%s'", preset->path, i + 1, wanted,
                                          lines[i]);
            return false;
        }
    }
    if (preset->summary && *preset->summary)
        return true;
    *ret_error = g_strdup_printf ("%s:1: not a preset: there is no line '" HEAD_SUMMARY
                                  "SUMMARY' in the comment at its beginning",
                                  preset->path);
    return false;
}

/* Reads and closes the file of preset_find. */
static bool
preset_read_text (struct preset *preset, const char *name, int fd, char **ret_error)
{
    g_autofree char *link = fd < 0 ? NULL : g_strdup_printf ("/proc/self/fd/%d", fd);
    g_autoptr (GError) error = NULL;

    if (!g_file_get_contents (link ? link : preset->path, &preset->text, NULL, &error))
        *ret_error = g_strdup_printf ("preset '%s': %s", name, error->message);
    if (fd >= 0)
        close (fd);
    return !error;
}

struct preset *
preset_read (const char *name, char **ret_error)
{
    int fd;
    g_autofree char *path = preset_find (name, &fd, ret_error), *base = NULL;
    struct preset *preset;

    if (!path)
        return NULL;
    base = g_path_get_basename (path);
    if (g_str_has_suffix (base, SUFFIX))
        base[strlen (base) - strlen (SUFFIX)] = '\0';
    g_strcanon (base, NAME_BYTES, '_'); /* it becomes a word of -o, and a line of a volfile */
    preset = g_new0 (struct preset, 1);
    preset->name = g_steal_pointer (&base);
    preset->path = g_steal_pointer (&path);
    preset->flags = g_ptr_array_new_with_free_func (preset_flag_free);
    preset->mount = g_ptr_array_new_with_free_func (g_free);
    if (preset_read_text (preset, name, fd, ret_error) && preset_read_head (preset, ret_error))
        return preset;
    preset_free (preset);
    return NULL;
}

/* --- questions ------------------------------------------------------------------------------ */

bool
preset_is_of_host (const struct preset *preset)
{
    return strstr (preset->text, "@HOST@");
}

bool
preset_has_state (const struct preset *preset)
{
    return strstr (preset->text, "@STATE@");
}

const struct preset_flag *
preset_flag_find (const struct preset *preset, const char *name)
{
    for (guint i = 0; i < preset->flags->len; i++) {
        const struct preset_flag *flag = preset->flags->pdata[i];

        if (strcmp (flag->name, name) == 0)
            return flag;
    }
    return NULL;
}

bool
preset_line_is_head (const char *line)
{
    return g_str_has_prefix (line, HEAD_SUMMARY) || g_str_has_prefix (line, HEAD_FLAG)
        || g_str_has_prefix (line, HEAD_MOUNT) || g_str_has_prefix (line, HEAD_LICENCE);
}
