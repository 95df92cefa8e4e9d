/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Follows the volfile of a GlusterFS volume: what its server changes is taken over as by `windlass
 * reload`. And the state is dumped when the server asks for it. */
#include "daemon/daemon.h"

#include "rpc/volfile/volfile-watch.h"

#include <errno.h>
#include <signal.h>

#define TRY_AGAIN 5 /* seconds after which a move that has to wait is tried again */

static void
changed (void)
{
    signals_post (EVENT_VOLFILE);
}

static void
follow_dump_asked (void)
{
    signals_post (SIGUSR1);
}

static const struct volfile_watch_events watch_events = { changed, follow_dump_asked };

void
follow_begin (struct running *running)
{
    const struct program_options *options = running->options;

    if (options->volfile_on_server)
        running->watch = volfile_watch_new (options->volfile_again, running->graph->volfile->text,
                                            &watch_events);
}

static gboolean
try_again (gpointer data)
{
    struct running *running = data;

    running->again = 0;
    follow_take (running);
    return G_SOURCE_REMOVE;
}

static void
follow_put_off (struct running *running)
{
    if (running->again)
        g_source_remove (running->again);
    running->again = 0;
}

static void
follow_as (struct running *running, const char *text)
{
    const char *name = running->options->volfile_again;
    g_autoptr (GString) answer = g_string_new (NULL);

    if (running_reload_as (running, volfile_of_server_text (name, text), answer) == -EAGAIN)
        running->again = g_timeout_add_seconds (TRY_AGAIN, try_again, running);
}

/* The newest volfile, or the last one again if that had to wait. */
void
follow_take (struct running *running)
{
    char *text = running->watch ? volfile_watch_take (running->watch) : NULL;

    if (text) {
        gf_log (NULL, GF_LOG_INFO, "the server has changed the volfile of '%s'",
                running->options->volfile_again);
        g_free (running->wanted);
        running->wanted = text;
    }
    follow_put_off (running);
    if (running->wanted)
        follow_as (running, running->wanted);
    if (!running->again)
        g_clear_pointer (&running->wanted, g_free);
}

void
follow_end (struct running *running)
{
    follow_put_off (running);
    g_clear_pointer (&running->wanted, g_free);
    volfile_watch_free (g_steal_pointer (&running->watch));
}
