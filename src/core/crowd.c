/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/crowd.h"
#include "core/thread.h"

#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#define REMEMBERED 32 /* after so many, what they took counts half */

void
crowd_init (struct crowd *ret_crowd)
{
    *ret_crowd = (struct crowd){ .processors = g_get_num_processors () };
}

unsigned
crowd_limit (const struct crowd *crowd)
{
    const int64_t wanted = CROWD_IN_LINE * (int64_t) crowd->processors;

    if (crowd->in_line <= 0)
        return G_MAXUINT;
    return (unsigned) MIN (wanted * MAX (crowd->took, crowd->in_line) / crowd->in_line, G_MAXINT);
}

/* Of what took very long no more than that counts: a few that hang would hide the others. */
void
crowd_note (struct crowd *crowd, int64_t took, int64_t in_line)
{
    crowd->took += MIN (took, CROWD_OLD);
    crowd->in_line += MIN (in_line, CROWD_OLD);
    if (++crowd->noted % REMEMBERED == 0) {
        crowd->took /= 2;
        crowd->in_line /= 2;
    }
}

/* Since this thread began; -1: the kernel doesn't say. Its time with a processor, beside it, is as of the last tick. */
static int64_t
waited_for_processor (void)
{
    const int fd = open ("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    long long waited;
    char text[64];
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read (fd, text, sizeof text - 1);
    close (fd);
    text[MAX (n, 0)] = '\0';
    return sscanf (text, "%*d %lld", &waited) == 1 ? waited : -1;
}

int64_t
crowd_in_line (void)
{
    const int64_t waited = waited_for_processor (), ran = thread_ran ();

    return waited < 0 || ran == 0 ? -1 : waited + ran;
}
