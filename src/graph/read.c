/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a volfile from a file, a pipe, standard input, or a server. */
#include "graph/internal.h"

#include "rpc/volfile/volfile-server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SIZE_MAX_READ (16 << 20) /* larger files are refused, since they are no volfiles */

/* Reads to the end. 0, or a negative errno. */
static int
read_all (int fd, GByteArray *bytes)
{
    guint8 part[16384];

    for (;;) {
        const ssize_t n = read (fd, part, sizeof part);

        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (bytes->len + n > SIZE_MAX_READ)
            return -EFBIG;
        g_byte_array_append (bytes, part, n);
    }
}

/* Each brick then has the directory as its root. */
static void
volume_set_directory (struct volfile_volume *volume, const char *directory)
{
    struct volfile_option *option = g_new0 (struct volfile_option, 1);

    *option = (struct volfile_option){ .key = g_strdup ("subdir-mount"),
                                       .value = g_strdup (directory),
                                       .line = volume->line,
                                       .column = volume->column,
                                       .value_line = volume->line,
                                       .value_column = volume->column };
    g_ptr_array_add (volume->options, option);
}

struct volfile *
volfile_of_server_text (const char *name, const char *text)
{
    struct volfile *volfile = volfile_parse (name, text, strlen (text));
    const char *directory = volfile_name_directory (name);

    volfile->fetched = true;
    for (guint i = 0; directory && i < volfile->volumes->len; i++) {
        struct volfile_volume *volume = volfile->volumes->pdata[i];

        if (g_strcmp0 (volume->type, "protocol/client") == 0)
            volume_set_directory (volume, directory);
    }
    return volfile;
}

static struct volfile *
volfile_of_server (const char *name, char **ret_error)
{
    g_autofree char *text = volfile_fetch (name, ret_error);

    return text ? volfile_of_server_text (name, text) : NULL;
}

static struct volfile *
volfile_of_file (const char *path, char **ret_error)
{
    g_autoptr (GByteArray) bytes = g_byte_array_new ();
    const bool standard = strcmp (path, "-") == 0;
    const int fd = standard ? STDIN_FILENO : open (path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : read_all (fd, bytes);

    if (fd >= 0 && !standard)
        close (fd);
    if (r < 0) {
        *ret_error = g_strdup_printf ("volfile '%s' can't be read: %s", path,
                                      r == -EFBIG ? "larger than 16MB, which no volfile is"
                                                  : g_strerror (-r));
        return NULL;
    }
    return volfile_parse (standard ? "<stdin>" : path, (const char *) bytes->data, bytes->len);
}

struct volfile *
volfile_read (const char *path, char **ret_error)
{
    return volfile_is_on_server (path) ? volfile_of_server (path, ret_error)
                                       : volfile_of_file (path, ret_error);
}
