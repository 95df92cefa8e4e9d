/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How likely the kernel ends the daemon when memory runs out: proc_pid_oom_score_adj(5). */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct xlator_option row = {
    .key = { "oom-score-adj" },
    .type = OPTION_INT,
    .min = -1000,
    .max = 1000,
};

int
oom_score_check (const char *text, char **ret_error)
{
    g_autofree char *allowed = NULL;

    if (option_parse (&row, text, NULL, &allowed) == 0)
        return 0;
    *ret_error = g_strdup_printf ("option 'oom-score-adj' %s, got '%s'", allowed, text);
    return -EINVAL;
}

void
oom_score_set (const char *text)
{
    const int fd = open ("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write (fd, text, strlen (text)) < 0)
        gf_log (NULL, GF_LOG_WARNING, "option 'oom-score-adj' is not in force, got '%s': %s%s",
                text, g_strerror (errno),
                errno == EACCES ? "; to set it lower than it was takes CAP_SYS_RESOURCE" : "");
    if (fd >= 0)
        close (fd);
}
