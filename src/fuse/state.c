/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/state.h"

#include <poll.h>

void
bridge_set_state (struct bridge *bridge, enum bridge_state state)
{
    pthread_mutex_lock (&bridge->lock);
    if (state > bridge->state)
        bridge->state = state;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

void
bridge_timer_begins (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->timers++;
    pthread_mutex_unlock (&bridge->lock);
}

void
bridge_timer_ends (struct bridge *bridge)
{
    pthread_mutex_lock (&bridge->lock);
    bridge->timers--;
    pthread_cond_broadcast (&bridge->changed);
    pthread_mutex_unlock (&bridge->lock);
}

bool
bridge_connection_is_gone (const struct bridge *bridge)
{
    struct pollfd fd = { .fd = fuse_session_fd (bridge->session) };

    return poll (&fd, 1, 0) == 1 && fd.revents & POLLERR;
}
