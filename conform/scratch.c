/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Scratch directories, and functions for options that all parts use. */
#include "conform/conform.h"
#include "graph/graph.h"

#include <errno.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool
conform_wanted (const struct conform_options *options, const char *case_name)
{
    return !options->only || fnmatch (options->only, case_name, FNM_EXTMATCH) == 0
        || strcmp (options->only, case_name) == 0;
}

/* --- the command that repeats a case -------------------------------------------------------- */

/* Quoted only where the shell needs it. */
static void
repeat_word (GString *command, const char *word)
{
    g_autofree char *quoted = g_shell_quote (word);
    const bool plain = *word
                    && !word[strspn (word, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_=./:,+%@")];

    g_string_append_printf (command, " %s", plain ? word : quoted);
}

static void
repeat_option (GString *command, const char *option, const char *value)
{
    if (!value)
        return;
    g_string_append_printf (command, " %s", option);
    repeat_word (command, value);
}

static void
repeat_options (GString *command, const char *option, const char *const *values)
{
    for (; values && *values; values++)
        repeat_option (command, option, *values);
}

/* Glob characters in a name are escaped. */
static char *
glob_quote (const char *name)
{
    GString *quoted = g_string_new (NULL);

    for (; *name; name++) {
        if (strchr ("*?[\\", *name))
            g_string_append_c (quoted, '\\');
        g_string_append_c (quoted, *name);
    }
    return g_string_free (quoted, FALSE);
}

char *
conform_repeat (const struct conform_options *options, const char *case_name, const char *more)
{
    GString *command = g_string_new ("windlass conform");
    g_autofree char *glob = glob_quote (case_name);

    repeat_word (command, options->volfile);
    repeat_option (command, "--case", glob);
    if (more)
        g_string_append_printf (command, " %s", more);
    repeat_option (command, "--directory",
                   strcmp (options->directory, g_get_tmp_dir ()) == 0 ? NULL : options->directory);
    if (options->lowers)
        g_string_append (command, " --lowers");
    if (options->commands) {
        g_autofree char *commands = g_strjoinv (",", (char **) options->commands);

        repeat_option (command, "--commands", commands);
    }
    repeat_option (command, "--allow", options->allow);
    repeat_option (command, "--volume-name", options->volume_name);
    repeat_options (command, "--xlator-option", options->options);
    repeat_options (command, "--xlator-dir", options->xlator_dirs);
    if (options->daemon && options->daemon[0])
        g_string_append (command, " --");
    for (const char *const *word = options->daemon; word && *word; word++)
        repeat_word (command, *word);
    return g_string_free (command, FALSE);
}

/* --- scratch directories -------------------------------------------------------------------- */

/* NULL, after a message that a directory below above could not be made. */
static char *
scratch_failed (char *path, const char *above)
{
    fprintf (stderr, "windlass conform: can't make a directory below '%s': %s\n", above,
             g_strerror (errno));
    g_free (path);
    return NULL;
}

char *
conform_scratch (const struct conform_options *options)
{
    const char *above = options->scratch ? options->scratch : options->directory;
    char *path = g_build_filename (above, "windlass-conform.XXXXXX", NULL);

    return g_mkdtemp (path) && chmod (path, 0755) == 0 ? path : scratch_failed (path, above);
}

char *
conform_scratch_kept (const struct conform_options *options, struct conform_keeper **keeper)
{
    const char *above = options->scratch ? options->scratch : options->directory;
    g_autofree char *name = g_build_filename (above, "windlass-conform.XXXXXX", NULL);
    char *path = g_canonicalize_filename (name, NULL);

    *keeper = conform_keeper_make (path);
    return *keeper ? path : scratch_failed (path, above);
}

/* The lowest volume is the first of the file, and its path begins at the root of the storage. */
char *
conform_storage_make (const struct volfile *volfile, const char *path)
{
    GString *shown = g_string_new (path);

    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *volume = volfile->volumes->pdata[i];

        for (guint j = 0; j < volume->options->len; j++) {
            const struct volfile_option *option = volume->options->pdata[j];

            if (g_strcmp0 (volume->type, "features/subdirectory") == 0
                && strcmp (option->key, "path") == 0)
                g_string_append (shown, option->value);
        }
    }
    if (g_mkdir_with_parents (shown->str, 0755) == 0)
        return g_string_free (shown, FALSE);
    fprintf (stderr, "windlass conform: can't make '%s': %s\n", shown->str, g_strerror (errno));
    g_string_free (shown, TRUE);
    return NULL;
}

/* With fts, since trees here may be deeper than PATH_MAX, and may deny access to their owner. */
bool
conform_scratch_try_remove (const char *path)
{
    char *const paths[] = { (char *) path, NULL };
    FTS *tree = fts_open (paths, FTS_PHYSICAL | FTS_XDEV, NULL);
    FTSENT *entry;

    while (tree && (entry = fts_read (tree))) {
        if (entry->fts_info == FTS_DNR && entry->fts_number++ == 0
            && chmod (entry->fts_accpath, 0700) == 0)
            fts_set (tree, entry, FTS_AGAIN);
        else if (entry->fts_info == FTS_DP || entry->fts_info == FTS_DNR)
            rmdir (entry->fts_accpath);
        else if (entry->fts_info == FTS_D)
            chmod (entry->fts_accpath, 0700);
        else
            unlink (entry->fts_accpath);
    }
    if (tree)
        fts_close (tree);
    return access (path, F_OK) < 0;
}

void
conform_scratch_remove (const char *path)
{
    if (!conform_scratch_try_remove (path))
        fprintf (stderr, "windlass conform: '%s' could not be removed\n", path);
}
