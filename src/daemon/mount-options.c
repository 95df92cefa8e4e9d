/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of -o: the kernel's, those of fstab, and Windlass's own. */
#include "daemon/daemon.h"

#include "core/base/suggest.h"

#include <errno.h>
#include <string.h>

static const char *const kernel_words[] = {
    "ro",        "rw",          "suid",         "nosuid",              "dev",
    "nodev",     "exec",        "noexec",       "async",               "sync",
    "atime",     "noatime",     "dirsync",      "allow_other",         "allow_root",
    "blksize",   "max_read",    "auto_unmount", "default_permissions", "no_default_permissions",
    "no_allow_other",
    "context",   "fscontext",   "defcontext",   "rootcontext",         "fsname",
    "subtype",   NULL,
};

/* For mount(8) or systemd, or without a meaning for FUSE. */
static const char *const ignored_words[] = {
    "defaults",   "auto",        "noauto",        "user",     "nouser",     "users",
    "owner",      "group",       "_netdev",       "nofail",   "comment",    "relatime",
    "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime",
    "nolazytime", "lazyatime",   "nolazyatime",   "silent",   "loud",       "mand",
    "nomand",     "iversion",    "noiversion",    NULL,
};

/* Options of mount.glusterfs that ask for what a mount here does not do. */
static const struct {
    const char *key, *reason;
} refused_words[] = {
    { "worm", "files could be changed all the same; 'gluster volume set VOLUME features.worm on' "
              "has the servers refuse that to all clients" },
    { "aux-gfid-mount", "a mount has no directory .gfid" },
    { "dump-fuse", "the kernel's requests are not written to a file; 'windlass trace MOUNTPOINT' "
                   "shows operations as they come" },
    { "volume-id", "the volume is named as SERVER:/VOLUME, before the mount point" },
};

static bool
word_is_refused (const char *word, const char *key, char **ret_error)
{
    for (size_t i = 0; i < G_N_ELEMENTS (refused_words); i++)
        if (strcmp (key, refused_words[i].key) == 0) {
            *ret_error = g_strdup_printf ("-o %s: not supported: %s", word,
                                          refused_words[i].reason);
            return true;
        }
    return false;
}

static bool
word_is_ignored (const char *key)
{
    return g_strv_contains (ignored_words, key) || g_str_has_prefix (key, "x-")
        || g_str_has_prefix (key, "X-");
}

static void
strv_add (char ***list, const char *text)
{
    guint n = *list ? g_strv_length (*list) : 0;

    *list = g_renew (char *, *list, n + 2);
    (*list)[n] = g_strdup (text);
    (*list)[n + 1] = NULL;
}

/* Options of the program that mount(8) passes on. Returns true if key is one. */
static bool
program_word (struct program_options *options, const char *key, const char *value)
{
    const struct {
        const char *key;
        char **text;
    } texts[] = {
        { "log-file", &options->log_file },
        { "log-level", &options->log_level },
        { "pid-file", &options->pid_file },
        { "volume-name", &options->volume_name },
        { "confine", &options->confine_text },
        { "backup-volfile-servers", &options->backup_servers },
        { "backupvolfile-server", &options->backup_servers },
        { "subdir-mount", &options->subdir },
        { "server-port", &options->server_port },
        { "oom-score-adj", &options->oom_score },
    };

    if (!value)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS (texts); i++) {
        if (strcmp (key, texts[i].key) != 0)
            continue;
        g_free (*texts[i].text);
        *texts[i].text = g_strdup (value);
        return true;
    }
    if (strcmp (key, "xlator-option") == 0)
        strv_add (&options->xlator_options, value);
    else if (strcmp (key, "xlator-dir") == 0)
        strv_add (&options->xlator_dirs, value);
    else
        return false;
    return true;
}

/* Removes backslashes before commas. */
static char *
unescape (const char *text)
{
    GString *out = g_string_new (NULL);

    for (; *text; text++) {
        if (*text == '\\' && text[1])
            text++;
        g_string_append_c (out, *text);
    }
    return g_string_free (out, FALSE);
}

static void
say_unknown (const char *word, const char *key, char **ret_error)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;

    for (const struct xlator_option *row = bridge_options; row->key[0]; row++)
        g_ptr_array_add (names, (char *) row->key[0]);
    for (const char *const *known = kernel_words; *known; known++)
        g_ptr_array_add (names, (char *) *known);
    suggestion = suggest_text (suggest_near (key, names));
    *ret_error = g_strdup_printf ("-o %s: there is no mount option '%s'%s", word, key,
                                  *suggestion ? suggestion
                                              : "; 'windlass help mount/fuse' lists ours");
}

static int
word_add (struct program_options *options, const char *word, char **ret_error)
{
    g_auto (GStrv) pair = g_strsplit (word, "=", 2);
    g_autofree char *value = NULL;
    int r;

    if (!pair[0] || !*pair[0] || word_is_ignored (pair[0]))
        return 0;
    if (g_strv_contains (kernel_words, pair[0])) {
        g_string_append_printf (options->kernel, "%s%s", options->kernel->len ? "," : "", word);
        return strcmp (word, "ro") == 0 ? options_add_bridge (options, "read-only", NULL, ret_error)
                                        : 0;
    }
    if (word_is_refused (word, pair[0], ret_error))
        return -EINVAL;
    value = pair[1] ? unescape (pair[1]) : NULL;
    if (strcmp (pair[0], "fuse-mountopts") == 0 && value)
        return mount_options_add (options, value, ret_error);
    if (program_word (options, pair[0], value))
        return 0;
    r = options_add_bridge (options, pair[0], value, ret_error);
    if (r == -ENOENT)
        say_unknown (word, pair[0], ret_error);
    return r;
}

int
mount_options_add (struct program_options *options, const char *text, char **ret_error)
{
    g_auto (GStrv) words = bridge_split_options (text);

    for (char **word = words; *word; word++) {
        int r = word_add (options, *word, ret_error);
        if (r < 0)
            return r;
    }
    return 0;
}
