/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* performance/write-behind above debug/fault, above a fresh directory. */
#ifndef TESTS_WRITE_BEHIND_WORLD_H
#define TESTS_WRITE_BEHIND_WORLD_H

#include "posix_world.h"

#define OVER_FAULT(options)                                                                        \
    "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\nend-volume\n"    \
    "volume wb\ntype performance/write-behind\n" options "subvolumes fault\n"
#define OVER_ROT_13                                                                                \
    "end-volume\nvolume fault\ntype debug/fault\noption seed 1\nsubvolumes posix\nend-volume\n"    \
    "volume rot\ntype encryption/rot-13\nsubvolumes fault\nend-volume\n"                           \
    "volume wb\ntype performance/write-behind\nsubvolumes rot\n"
#define PAGE 4096

/* --- telling and asking ----------------------------------------------------------------------- */

/* Gives debug/fault a command. Returns the answer, to be freed with g_free. */
static char *
wb_asked (struct world *w, const char *command, const char *input)
{
    xlator_t *fault = FIRST_CHILD (w->graph->top);
    const struct xlator_command *one;
    g_autoptr (GBytes) bytes = g_bytes_new (input, strlen (input));
    GString *answer = g_string_new (NULL);

    while (strcmp (fault->type, "debug/fault") != 0)
        fault = FIRST_CHILD (fault);
    one = fault->api->commands;
    while (strcmp (one->name, command) != 0)
        one++;
    ck_assert_int_eq (one->run (fault, &(struct xlator_asked){ .input = bytes }, answer), 0);
    return g_string_free (answer, FALSE);
}

static void
wb_tell (struct world *w, const char *command, const char *input)
{
    g_free (wb_asked (w, command, input));
}

/* Releases the calls that hang under the name. What is written behind the caller may reach
 * debug/fault later than the test gets here: this waits for the first. */
static void
wb_release (struct world *w, const char *name)
{
    char *answer;

    while (g_str_equal (answer = wb_asked (w, "release", name), "released 0")) {
        g_free (answer);
        g_usleep (1000);
    }
    g_free (answer);
}

static struct world
wb_begin (const char *options, const char *rules)
{
    struct world w = posix_world_begin (options);

    wb_tell (&w, "rules", rules);
    return w;
}

/* Returns a number from the dump of the translator, or of the inode. */
static int
wb_dumped (struct world *w, inode_t *inode, const char *key)
{
    g_autoptr (GString) out = g_string_new ("\n");
    g_autofree char *line = g_strdup_printf ("%s=", key);
    const char *at;

    if (inode)
        w->graph->top->api->dumpops.inodectx (w->graph->top, inode, out);
    else
        w->graph->top->api->dumpops.priv (w->graph->top, out);
    at = strstr (out->str, line);
    return at ? atoi (at + strlen (line)) : -1;
}

static gsize
stored_size (const struct world *w, const char *name)
{
    g_autofree char *path = world_path (w, name);
    struct stat st;

    return stat (path, &st) == 0 ? (gsize) st.st_size : 0;
}

static int
wb_put (struct world *w, fd_t *fd, char letter, size_t size, off_t offset)
{
    g_autofree char *text = g_strnfill (size, letter);

    return world_write (w, fd, text, offset);
}

static int
do_fsync (struct world *w, fd_t *fd)
{
    return sync_fsync (w->client, fd, 0, NULL, NULL);
}

static int
do_flush (struct world *w, fd_t *fd)
{
    return sync_flush (w->client, fd, NULL, NULL);
}

#endif
