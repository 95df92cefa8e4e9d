/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Follows the volfile of a GlusterFS volume: what its server changes is taken over as by `windlass
 * reload`. */
#include "daemon/daemon.h"

#include "rpc/volfile-watch.h"

static void
changed (void *data)
{
    signals_post (EVENT_VOLFILE);
}

void
follow_begin (struct running *running)
{
    const struct program_options *options = running->options;

    if (options->volfile_on_server)
        running->watch = volfile_watch_new (options->volfile_again, running->graph->volfile->text,
                                            changed, NULL);
}

void
follow_take (const struct running *running)
{
    g_autofree char *text = running->watch ? volfile_watch_take (running->watch) : NULL;
    g_autoptr (GString) answer = g_string_new (NULL);

    if (!text)
        return;
    gf_log (NULL, GF_LOG_INFO, "the server has changed the volfile of '%s'",
            running->options->volfile_again);
    running_reload_as (running,
                       volfile_of_server_text (running->options->volfile_again, text), answer);
}

void
follow_end (struct running *running)
{
    volfile_watch_free (g_steal_pointer (&running->watch));
}
