/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The wanted sections: a file of lines such as
 *
 *   all=no
 *   callpool=yes
 *   path=/var/tmp
 *
 * as in GlusterFS. A section that is not named has the value of `all`, whose default is no if there
 * is a file.
 */
#include "daemon/statedump/internal.h"

#include <string.h>
#include <unistd.h>

static void
set_all (struct dump_wanted *wanted, bool on)
{
    wanted->mem = wanted->iobuf = wanted->callpool = wanted->priv = wanted->fd = wanted->inode = on;
    wanted->inodectx = wanted->fdctx = wanted->history = on;
}

static bool *
flag_of (struct dump_wanted *wanted, const char *key)
{
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        { "mem", &wanted->mem }, { "iobuf", &wanted->iobuf }, { "callpool", &wanted->callpool },
        { "priv", &wanted->priv }, { "fd", &wanted->fd }, { "inode", &wanted->inode },
        { "inodectx", &wanted->inodectx }, { "fdctx", &wanted->fdctx },
        { "history", &wanted->history },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (flags); i++)
        if (strcmp (flags[i].key, key) == 0)
            return flags[i].flag;
    return NULL;
}

static void
read_line (struct dump_wanted *wanted, const char *file, char *line)
{
    char *value = strchr (g_strstrip (line), '=');
    bool on, *flag;

    if (!*line || *line == '#')
        return;
    if (value)
        *value++ = '\0';
    on = value && strcmp (g_strstrip (value), "yes") == 0;
    flag = flag_of (wanted, g_strstrip (line));
    if (value && strcmp (line, "path") == 0 && g_path_is_absolute (value)) {
        g_free (wanted->path);
        wanted->path = g_strdup (value);
    } else if (!value || (!on && strcmp (value, "no") != 0)
               || (!flag && strcmp (line, "all") != 0)) {
        gf_log (NULL, GF_LOG_WARNING,
                "%s: '%s=%s' is ignored: a line is yes or no for all, mem, iobuf, callpool, priv, "
                "fd, inode, "
                "inodectx, fdctx or history, or the path of a folder",
                file, line, value ? value : "");
    } else if (flag) {
        *flag = on;
    } else {
        set_all (wanted, on);
    }
}

static bool
read_file (struct dump_wanted *wanted, const char *file)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;

    /* The main thread must not wait for a pipe. */
    if (!g_file_test (file, G_FILE_TEST_IS_REGULAR)
        || !g_file_get_contents (file, &text, NULL, NULL))
        return false;
    set_all (wanted, false);
    lines = g_strsplit (text, "\n", -1);
    for (char **line = lines; *line; line++)
        read_line (wanted, file, *line);
    return true;
}

void
dump_wanted_read (struct dump_wanted *wanted, const char *dir)
{
    g_autofree char *own = g_strdup_printf ("%s/windlassdump.%d.options", dir, getpid ());
    g_autofree char *common = g_strdup_printf ("%s/windlassdump.options", dir);

    *wanted = (struct dump_wanted){ 0 };
    set_all (wanted, true);
    if (!read_file (wanted, own))
        read_file (wanted, common);
}
