/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/move/pause.h"

#include "core/base/printable.h"
#include "core/base/process.h"
#include "core/edge/sync.h"
#include "fuse/move/hold.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

struct pause_files {
    const struct graph *graph; /* of the translator that asks */
    GPtrArray *fds;            /* its files that are open for writing; fd_t without a reference,
                                * used only while requests are held */
    GArray *nodeids;           /* uint64_t: the kernel's numbers of those files */
    struct client *client;     /* flushes them; NULL: no translator keeps written data */
};

/* Only hidden and older graphs have other files. */
static void
pause_note_file (fd_t *fd, void *data)
{
    struct pause_files *files = data;
    const uint64_t nodeid = inode_nodeid (fd->inode);

    if (fd->data != files->graph || fd->inode->ia_type != IA_IFREG
        || (fd->flags & O_ACCMODE) == O_RDONLY)
        return;
    g_ptr_array_add (files->fds, fd);
    g_array_append_val (files->nodeids, nodeid);
}

static void
pause_files_find (struct bridge *bridge, struct pause_files *files)
{
    g_ptr_array_set_size (files->fds, 0);
    g_array_set_size (files->nodeids, 0);
    bridge_foreach_open (bridge, pause_note_file, files);
}

/* --- the kernel's pages ----------------------------------------------------------------------- */

/* The kernel has dirty pages only of files that are open for writing: it writes the others at their
 * last close. Where the mount point can't be reached by its name, as another mount covers it, an
 * invalidation makes the kernel write a file's pages too, one by one, and drop them. */
static int
pause_write_back (struct bridge *bridge, struct pause_files *files)
{
    int r;

    pause_files_find (bridge, files);
    if (files->nodeids->len == 0)
        return 0;
    r = bridge_write_back (bridge);
    if (r == 0 || r == -ETIMEDOUT)
        return r;
    for (guint i = 0; i < files->nodeids->len; i++)
        fuse_lowlevel_notify_inval_inode (bridge->session,
                                          g_array_index (files->nodeids, uint64_t, i), 0, 0);
    return 0;
}

/* --- what translators keep -------------------------------------------------------------------- */

static bool
graph_keeps_writes (const struct graph *graph)
{
    for (guint i = 0; i < graph->xlators->len; i++)
        if (((const xlator_t *) graph->xlators->pdata[i])->api->touches & TOUCHES_ANSWERS)
            return true;
    return false;
}

struct pause_settling {
    struct bridge *bridge;
    struct pause_files *files;
};

/* Called in each try to hold, when all requests are answered. */
static void
pause_settle (void *data)
{
    const struct pause_settling *settling = data;
    struct pause_files *files = settling->files;
    g_autoptr (GHashTable) waiting = NULL;

    if (!files->client)
        return;
    pause_files_find (settling->bridge, files);
    waiting = hold_waiting_inodes (settling->bridge);
    for (guint i = 0; i < files->fds->len; i++) {
        fd_t *fd = files->fds->pdata[i];

        if (!g_hash_table_contains (waiting, fd->inode))
            hold_flush (files->client, fd);
    }
}

/* --- files of old graphs ---------------------------------------------------------------------- */

#define TASK_COMM_LEN 64 /* more than the kernel has */
#define PAUSE_OLD_FILES 64 /* of which one is named whose program has not ended */

struct pause_old_file {
    inode_t *inode; /* with a reference */
    pid_t pid;
};

struct pause_old_files {
    const xlator_t *entrance;
    GArray *list; /* of struct pause_old_file */
};

static void
pause_old_file_clear (void *file)
{
    inode_unref (((struct pause_old_file *) file)->inode);
}

static void
pause_note_old_file (fd_t *fd, void *data)
{
    const struct pause_old_files *files = data;
    const struct bridge *bridge = files->entrance->private;
    const struct pause_old_file file = { fd->inode, fd->pid };

    if (fd->data == files->entrance->graph || fd->data == bridge->hidden.graph
        || files->list->len >= PAUSE_OLD_FILES)
        return;
    inode_ref (fd->inode);
    g_array_append_val (files->list, file);
}

static const struct pause_old_file *
pause_choose_old_file (const GArray *list)
{
    for (guint i = 0; i < list->len; i++) {
        const struct pause_old_file *file = &g_array_index (list, struct pause_old_file, i);
        g_autofree char *name = file->pid > 0 ? process_comm (file->pid) : NULL;

        if (name)
            return file;
    }
    return list->len > 0 ? &g_array_index (list, struct pause_old_file, 0) : NULL;
}

static char *
pause_describe_old_file (const struct pause_old_file *file)
{
    g_autofree char *path = inode_path (file->inode, NULL);
    g_autofree char *name = file->pid > 0 ? process_comm (file->pid) : NULL;
    GString *text = g_string_new (*path == '/' ? "the file '" : "a removed file");

    if (*path == '/')
        line_append (text, path, PATH_MAX);
    g_string_append (text, *path == '/' ? "', which " : ", which ");
    if (name) {
        line_append (text, name, TASK_COMM_LEN);
        g_string_append_printf (text, " (%d) has open", file->pid);
    } else {
        g_string_append (text, "a program has open that has ended, or that this daemon can't name");
    }
    return g_string_free (text, FALSE);
}

static void
pause_tell_old_file (const xlator_t *entrance, struct pause *pause)
{
    struct pause_old_files files = { entrance,
                                     g_array_new (FALSE, FALSE, sizeof (struct pause_old_file)) };
    const struct pause_old_file *file;

    g_array_set_clear_func (files.list, pause_old_file_clear);
    bridge_foreach_open (entrance->private, pause_note_old_file, &files);
    file = pause_choose_old_file (files.list);
    if (file)
        pause->hindrance = pause_describe_old_file (file);
    g_array_unref (files.list);
}

/* --- the pause -------------------------------------------------------------------------------- */

static void
pause_hold (struct bridge *bridge, struct pause_files *files, struct pause *pause)
{
    struct pause_settling settling = { bridge, files };
    const struct hold_plan plan = { .settle = pause_settle,
                                    .data = &settling,
                                    .asker = pause->asker,
                                    .patience = pause->patience,
                                    .hindered = "the pause" };
    g_autoptr (GString) answer = g_string_new (NULL);
    int64_t since;

    pause->result = hold_idle (bridge, &plan, &since, answer);
    if (pause->result == 0) {
        pause_call (pause, since);
        hold_over (bridge);
    } else {
        pause->hindrance = g_strchomp (g_strdup (answer->str));
    }
}

static struct client *
pause_client (xlator_t *entrance)
{
    struct client *client = client_new_internal (entrance, FIRST_CHILD (entrance));

    client->lk_owner = UINT64_MAX; /* no process has this lock owner */
    client->checked = true;
    return client;
}

static void
pause_now (xlator_t *entrance, struct pause *pause)
{
    struct bridge *bridge = entrance->private;
    struct pause_files files = { .graph = entrance->graph,
                                 .fds = g_ptr_array_new (),
                                 .nodeids = g_array_new (FALSE, FALSE, sizeof (uint64_t)) };

    pause->answered = true;
    if (graph_keeps_writes (files.graph))
        files.client = pause_client (entrance);
    pause->written = pause_write_back (bridge, &files);
    pause_hold (bridge, &files, pause);
    if (files.client)
        client_free (files.client);
    g_ptr_array_unref (files.fds);
    g_array_unref (files.nodeids);
}

void
bridge_pause (xlator_t *entrance, struct pause *pause)
{
    if (pause->only_asks)
        pause_tell_old_file (entrance, pause);
    else
        pause_now (entrance, pause);
}
