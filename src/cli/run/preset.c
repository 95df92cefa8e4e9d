/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Finds presets, and reads their heads. */
#include "cli/run/run.h"

#include "core/base/suggest.h"

#include <string.h>

#ifndef PRESETSDIR
#define PRESETSDIR "/usr/local/share/windlass/presets"
#endif

#define SUFFIX ".vol"
#define HEAD_SUMMARY "# preset: "
#define HEAD_FLAG "# flag "
#define HEAD_MOUNT "# mount "
#define HEAD_LICENCE "# SPDX-"

/* --- where they are ------------------------------------------------------------------------- */

/* The user's own come first, and may replace those of Windlass. */
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
                && !g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
                g_ptr_array_add (names, g_steal_pointer (&name));
        }
    }
    g_ptr_array_sort (names, preset_names_compare);
    return names;
}

/* Returns the path of the file, or NULL and *ret_error. */
static char *
preset_find (const char *name, char **ret_error)
{
    g_autoptr (GPtrArray) dirs = preset_dirs (), names = NULL;
    g_autofree char *suggestion = NULL, *all = NULL;

    if (strchr (name, '/'))
        return g_strdup (name);
    for (guint i = 0; preset_name_is_valid (name) && i < dirs->len; i++) {
        g_autofree char *path = g_strconcat (dirs->pdata[i], "/", name, SUFFIX, NULL);

        if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
            return g_steal_pointer (&path);
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

/* text: "--NAME SETTING [SETTING...]: HELP". Returns false if it isn't. */
static bool
preset_add_flag (struct preset *preset, const char *text)
{
    const char *colon = strstr (text, ": ");
    g_autofree char *front = g_strndup (text, colon ? colon - text : 0);
    g_auto (GStrv) words = g_strsplit_set (g_strstrip (front), " \t", -1);
    struct preset_flag *flag;

    if (g_strv_length (words) < 2 || !g_str_has_prefix (words[0], "--") || strchr (words[0], '='))
        return false;
    flag = g_new0 (struct preset_flag, 1);
    flag->name = g_strdup (words[0]);
    flag->settings = g_strdupv (words + 1);
    flag->help = g_strdup (colon + 2);
    g_ptr_array_add (preset->flags, flag);
    return true;
}

static void
preset_add_mount (struct preset *preset, const char *text)
{
    g_auto (GStrv) words = g_strsplit_set (text, " \t", -1);

    for (char **word = words; *word; word++)
        if (**word)
            g_ptr_array_add (preset->mount, g_strdup (*word));
}

static bool
preset_read_line (struct preset *preset, const char *line)
{
    if (g_str_has_prefix (line, HEAD_SUMMARY) && !preset->summary)
        preset->summary = g_strstrip (g_strdup (line + strlen (HEAD_SUMMARY)));
    else if (g_str_has_prefix (line, HEAD_FLAG))
        return preset_add_flag (preset, line + strlen (HEAD_FLAG));
    else if (g_str_has_prefix (line, HEAD_MOUNT))
        preset_add_mount (preset, line + strlen (HEAD_MOUNT));
    return true;
}

static bool
preset_read_head (struct preset *preset, char **ret_error)
{
    g_auto (GStrv) lines = g_strsplit (preset->text, "\n", -1);

    for (int i = 0; lines[i] && *lines[i] == '#'; i++)
        if (!preset_read_line (preset, lines[i])) {
            *ret_error = g_strdup_printf (
                "%s:%d: a flag must be '" HEAD_FLAG "--NAME VOLUME.OPTION=VALUE...: HELP', got "
                "'%s'",
                preset->path, i + 1, lines[i]);
            return false;
        }
    if (preset->summary && *preset->summary)
        return true;
    *ret_error = g_strdup_printf ("%s:1: not a preset: there is no line '" HEAD_SUMMARY
                                  "SUMMARY' in the comment at its beginning",
                                  preset->path);
    return false;
}

struct preset *
preset_read (const char *name, char **ret_error)
{
    g_autofree char *path = preset_find (name, ret_error), *base = NULL;
    g_autoptr (GError) error = NULL;
    struct preset *preset;

    if (!path)
        return NULL;
    base = g_path_get_basename (path);
    if (g_str_has_suffix (base, SUFFIX))
        base[strlen (base) - strlen (SUFFIX)] = '\0';
    preset = g_new0 (struct preset, 1);
    preset->name = g_steal_pointer (&base);
    preset->path = g_steal_pointer (&path);
    preset->flags = g_ptr_array_new_with_free_func (preset_flag_free);
    preset->mount = g_ptr_array_new_with_free_func (g_free);
    if (!g_file_get_contents (preset->path, &preset->text, NULL, &error))
        *ret_error = g_strdup_printf ("preset '%s': %s", name, error->message);
    else if (preset_read_head (preset, ret_error))
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
