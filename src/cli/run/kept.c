/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Commands of a kept view that is not mounted. The view's graph runs in this process while the
 * command is carried out. While a daemon has the view, its lock files refuse that.
 */
#include "cli/run/run.h"

#include "control/control.h"
#include "core/base/log.h"
#include "core/work/job.h"
#include "graph/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEPT_INODES 10000       /* inodes without references that the graph keeps */
#define KEPT_PIECE (1 << 16)    /* bytes of the answer that are taken at a time */
#define KEPT_LOOK 2000          /* microseconds between two looks at the job */

char *
kept_view_volfile (const char *name)
{
    g_autofree char *list = kept_views_folder ();
    g_autofree char *file = g_build_filename (list, name, KEPT_VOLFILE, NULL);

    return !strchr (name, '/') && g_file_test (file, G_FILE_TEST_IS_REGULAR)
               ? g_steal_pointer (&file) : NULL;
}

static int
kept_take_job (unsigned number, control_piece_fn *take, void *data, char **ret_error)
{
    struct job_read read = { 0 };
    int r = 0;

    while (r == 0 && !read.ended) {
        g_autoptr (GString) text = g_string_new (NULL);

        r = job_read (number, geteuid (), KEPT_PIECE, text, &read);
        if (r == 0 && text->len > 0)
            r = take (text->str, text->len, data, ret_error);
        else if (r == 0 && !read.ended)
            g_usleep (KEPT_LOOK);
    }
    if (r < 0)
        return r;
    *ret_error = read.error;
    return read.result;
}

static int
kept_carry_out (struct graph *graph, const struct control_request *request, control_piece_fn *take,
                void *data, char **ret_error)
{
    const struct xlator_asked asked = { .uid = geteuid (), .gid = getegid (), .pid = getpid () };
    g_autoptr (GString) answer = g_string_new (NULL);
    const int r = control_dispatch (graph, NULL, NULL, request, &asked, answer);

    if (r < 0) {
        *ret_error = g_strdup (answer->str);
        return r;
    }
    return kept_take_job ((unsigned) strtoul (answer->str, NULL, 10), take, data, ret_error);
}

static struct graph *
kept_start (const char *volfile, char **ret_error)
{
    const struct graph_settings settings = { .inode_limit = KEPT_INODES };
    struct volfile *read = volfile_read (volfile, ret_error);
    struct graph *graph = read ? graph_load (read, &settings) : NULL;
    g_autoptr (GString) problems = g_string_new (NULL);
    g_autofree char *said = NULL;
    int r;

    if (!graph)
        return NULL;
    if (volfile_has_errors (graph->volfile)) {
        volfile_append_problems (graph->volfile, problems);
        *ret_error = g_string_free (g_steal_pointer (&problems), FALSE);
        graph_free (graph);
        return NULL;
    }
    (void) log_open ("/dev/null");
    log_set_level (GF_LOG_ERROR);
    log_collect (true);
    r = graph_activate (graph);
    said = log_collected ();
    if (r == 0)
        return graph;
    *ret_error = said ? g_strdup (g_strchomp (said)) : g_strdup (g_strerror (-r));
    graph_free (graph);
    return NULL;
}

int
kept_view_command (const char *volfile, const char *type, const char *name, GBytes *input,
                   control_piece_fn *take, void *data, char **ret_error)
{
    const struct control_request request = { (char *) name, (char *) type, input };
    struct graph *graph = kept_start (volfile, ret_error);
    int r;

    if (!graph)
        return -EIO;
    r = kept_carry_out (graph, &request, take, data, ret_error);
    graph_free (graph);
    return r;
}
