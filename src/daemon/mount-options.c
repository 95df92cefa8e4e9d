/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words of -o: the kernel's, those of fstab, and Windlass's own. */
#include "daemon/daemon.h"

#include "core/base/printable.h"
#include "core/base/suggest.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char *const kernel_words[] = {
    "ro",         "rw",           "suid",                "nosuid",
    "dev",        "nodev",        "exec",                "noexec",
    "async",      "sync",         "atime",               "noatime",
    "dirsync",    "allow_other",  "allow_root",          "no_allow_other",
    "auto_unmount",               "default_permissions", "no_default_permissions",
    NULL,
};

/* Those with a value. */
static const char *const kernel_settings[] = {
    "blksize", "context", "fscontext", "defcontext", "rootcontext", "fsname", "subtype", NULL,
};

/* For mount(8) or systemd, or without a meaning for FUSE. */
static const char *const ignored_words[] = {
    "defaults",   "auto",        "noauto",        "user",     "nouser",     "users",
    "owner",      "group",       "_netdev",       "nofail",   "comment",    "relatime",
    "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime",
    "nolazytime", "lazyatime",   "nolazyatime",   "silent",   "loud",       "mand",
    "nomand",     "iversion",    "noiversion",    "helper",   "uhelper",    "nonempty",
    NULL,
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

/* Options of other file systems, and what there is instead. */
static const struct {
    const char *key, *instead;
} foreign_words[] = {
    { "uid", "files have the owners that they have in storage" },
    { "gid", "files have the groups that they have in storage" },
    { "umask", "files have the modes that they have in storage" },
    { "fmask", "files have the modes that they have in storage" },
    { "dmask", "directories have the modes that they have in storage" },
    { "attr_timeout", "here it is 'attribute-timeout'" },
    { "kernel_cache", "here it is 'fopen-keep-cache'" },
    { "direct_io", "here it is 'direct-io-mode'" },
    { "writeback_cache", "here it is 'kernel-writeback-cache'" },
    { "max_read", "the kernel and the daemon agree on the size of a request" },
    { "max_background", "here it is 'background-qlen'" },
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

/* Options of the program that mount(8) passes on. */
static const struct {
    const char *key, *value; /* value: as in --help */
    size_t at;               /* of its text in struct program_options */
} program_words[] = {
    { "log-file", "FILE", offsetof (struct program_options, log_file) },
    { "log-level", "LEVEL", offsetof (struct program_options, log_level) },
    { "pid-file", "FILE", offsetof (struct program_options, pid_file) },
    { "volume-name", "VOLUME", offsetof (struct program_options, volume_name) },
    { "confine", "auto|off", offsetof (struct program_options, confine_text) },
    { "backup-volfile-servers", "SERVER:...", offsetof (struct program_options, backup_servers) },
    { "backupvolfile-server", "SERVER", offsetof (struct program_options, backup_servers) },
    { "subdir-mount", "DIR", offsetof (struct program_options, subdir) },
    { "server-port", "NUMBER", offsetof (struct program_options, server_port) },
    { "oom-score-adj", "-1000...1000", offsetof (struct program_options, oom_score) },
};

/* Returns true if key is one. */
static bool
program_word (struct program_options *options, const char *key, const char *value)
{
    if (!value)
        return false;
    for (size_t i = 0; i < G_N_ELEMENTS (program_words); i++) {
        char **text = G_STRUCT_MEMBER_P (options, program_words[i].at);

        if (strcmp (key, program_words[i].key) != 0)
            continue;
        g_free (*text);
        *text = g_strdup (value);
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

/* Adds the names of options that may stand where the misspelt one does: with a value, or
 * without. */
static void
add_near_names (GPtrArray *names, bool has_value)
{
    for (const struct xlator_option *row = bridge_options; row->key[0]; row++)
        if (has_value || option_is_flag (row))
            g_ptr_array_add (names, (char *) row->key[0]);
    for (const char *const *known = has_value ? kernel_settings : kernel_words; *known; known++)
        g_ptr_array_add (names, (char *) *known);
    for (size_t i = 0; has_value && i < G_N_ELEMENTS (program_words); i++)
        g_ptr_array_add (names, (char *) program_words[i].key);
}

static char *
unknown_instead (const char *key, bool has_value)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS (foreign_words); i++)
        if (strcmp (key, foreign_words[i].key) == 0)
            return g_strconcat ("; ", foreign_words[i].instead, NULL);
    add_near_names (names, has_value);
    suggestion = suggest_text (suggest_near (key, names));
    return g_strdup (*suggestion ? suggestion : "; 'windlass help mount/fuse' lists ours");
}

/* Returns -EINVAL, or 0 if the user wants unknown words to be ignored. */
static int
word_unknown (const struct program_options *options, const char *word, const char *key,
              char **ret_error)
{
    g_autofree char *instead = unknown_instead (key, word[strlen (key)] == '=');

    if (!options->sloppy) {
        *ret_error = g_strdup_printf ("-o %s: there is no mount option '%s'%s", word, key, instead);
        return -EINVAL;
    }
    say_line (stderr, "windlass: warning: -o %s: ignored: there is no mount option '%s'%s", word,
              key, instead);
    return 0;
}

static int
word_add (struct program_options *options, const char *word, char **ret_error)
{
    g_auto (GStrv) pair = g_strsplit (word, "=", 2);
    g_autofree char *value = NULL;
    int r;

    if (!pair[0] || !*pair[0] || word_is_ignored (pair[0]))
        return 0;
    if (strcmp (word, "sloppy") == 0) {
        options->sloppy = true;
        return 0;
    }
    if (g_strv_contains (kernel_words, pair[0]) || g_strv_contains (kernel_settings, pair[0])) {
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
    return r == -ENOENT ? word_unknown (options, word, pair[0], ret_error) : r;
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

void
mount_options_describe (void (*fn) (const char *word, const char *value, void *data), void *data)
{
    for (const struct xlator_option *row = bridge_options; row->key[0]; row++)
        if (!row->inert)
            fn (row->key[0], option_values_shown (row), data);
    for (const char *const *word = kernel_words; *word; word++)
        fn (*word, NULL, data);
    for (const char *const *word = kernel_settings; *word; word++)
        fn (*word, "VALUE", data);
    for (size_t i = 0; i < G_N_ELEMENTS (program_words); i++)
        fn (program_words[i].key, program_words[i].value, data);
    fn ("xlator-option", "VOLUME.KEY=VALUE", data);
    fn ("xlator-dir", "DIR", data);
}
