/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Warns where the callers' supplementary groups cannot be known. The kernel names a caller by its
 * number in the pid namespace of whoever mounted; a caller that is not in there has number 0.
 */
#include "daemon/daemon.h"

#include "control/control.h"
#include "core/base/log.h"
#include "core/base/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The inode number of the machine's first pid namespace is constant: linux/nsfs.h has it since
 * Linux 6.18, as PID_NS_INIT_INO. Each process is in that namespace or in one below. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

static bool
is_in_first_pid_namespace (void)
{
    g_autofree char *own = g_file_read_link ("/proc/self/ns/pid", NULL);

    return own && strcmp (own, FIRST_PID_NAMESPACE) == 0;
}

static bool
proc_is_own (void)
{
    g_autofree char *own = g_file_read_link ("/proc/self", NULL);

    return own && strtol (own, NULL, 10) == getpid ();
}

void
namespaces_look (void)
{
    processes_are_known = proc_is_own ();
}

/* Returns whether the mount appears in other mount namespaces, too: another container's processes,
 * or the machine's, may use it. */
static bool
mount_is_shared (const char *mountpoint)
{
    g_autofree char *text = NULL;
    struct mount mount;
    bool shared;

    if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL)
        || !mount_find (text, mountpoint, &mount))
        return false;
    shared = mount.shared;
    mount_clear (&mount);
    return shared;
}

void
namespaces_warn (const char *mountpoint)
{
    if (!processes_are_known)
        gf_log (NULL, GF_LOG_WARNING,
                "/proc is missing, or is that of another pid namespace, so the supplementary "
                "groups of callers are not known: what only these allow is refused; 'mount -t proc "
                "proc /proc' in the daemon's namespaces mends that");
    else if (!is_in_first_pid_namespace () && mount_is_shared (mountpoint))
        gf_log (NULL, GF_LOG_WARNING,
                "the daemon has a pid namespace of its own, and the mount is shared with other "
                "mount namespaces: the supplementary groups of callers outside of the pid "
                "namespace are not known, and what only these allow is refused; see 'Containers "
                "and pid namespaces' in windlass(1)");
}
