/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Limits of a process, a user and a control group. */
#include "cli/doctor/doctor.h"

#include <linux/capability.h>
#include <string.h>

#define FILES_FEW 4096
#define THREADS_FEW 256
#define LOCKED_FEW (1 << 20) /* bytes: some twenty io_urings */

/* storage/posix raises its soft limit to the hard one. */
void
doctor_open_files (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const uint64_t most = doctor_limit (doctor, "Max open files", true);

    if (most == 0)
        return;
    doctor_find (findings, name, most < FILES_FEW ? DOCTOR_NOTE : DOCTOR_OK,
                 most == G_MAXUINT64 ? "no limit"
                                     : "at most %" G_GUINT64_FORMAT " descriptors (RLIMIT_NOFILE)",
                 most);
}

/* Returns how many more processes and threads the control group allows; G_MAXUINT64: any. Each
 * group above limits as well. */
static uint64_t
threads_of_group (const struct doctor *doctor)
{
    g_autofree char *groups = doctor_read (doctor, "/proc/self/cgroup"), *own = NULL;
    const char *at = groups ? strstr (groups, "0::/") : NULL;
    uint64_t room = G_MAXUINT64;

    if (!at)
        return room;
    own = g_strndup (at + strlen ("0::"), strcspn (at + strlen ("0::"), "\n"));
    for (char *end = own + strlen (own); end; end = strrchr (own, '/')) {
        g_autofree char *most_path = NULL, *now_path = NULL, *most = NULL, *now = NULL;

        *end = '\0';
        most_path = g_strdup_printf ("/sys/fs/cgroup%s/pids.max", own);
        now_path = g_strdup_printf ("/sys/fs/cgroup%s/pids.current", own);
        most = doctor_read (doctor, most_path);
        now = doctor_read (doctor, now_path);
        if (most && now && g_ascii_isdigit (*most)) {
            const uint64_t limit = g_ascii_strtoull (most, NULL, 10),
                           used = g_ascii_strtoull (now, NULL, 10);

            room = MIN (room, limit > used ? limit - used : 0);
        }
    }
    return room;
}

void
doctor_threads (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const uint64_t group = threads_of_group (doctor),
                   user = doctor_has_capability (doctor, CAP_SYS_RESOURCE)
                            ? G_MAXUINT64 /* exempt */
                            : doctor_limit (doctor, "Max processes", false);

    if (group < THREADS_FEW)
        doctor_find (findings, name, DOCTOR_NOTE,
                     "the control group has room for %" G_GUINT64_FORMAT " more (pids.max)", group)
            ->mend = g_strdup (DOCTOR_AS_ROOT "raise pids.max; for a service TasksMax=");
    else if (user && user < THREADS_FEW)
        doctor_find (findings, name, DOCTOR_NOTE,
                     "a user may have %" G_GUINT64_FORMAT " processes and threads (RLIMIT_NPROC)",
                     user)
            ->mend = g_strdup ("ulimit -u 4096");
    else
        doctor_find (findings, name, DOCTOR_OK, "enough");
}

/* Since Linux 6.14 the kernel counts the memory of each io_uring again, unless CAP_IPC_LOCK exempts
 * it. */
void
doctor_locked_memory (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const uint64_t most = doctor_limit (doctor, "Max locked memory", false);

    if (most == 0 || most >= LOCKED_FEW || doctor_has_capability (doctor, CAP_IPC_LOCK))
        return;
    doctor_find (findings, name, DOCTOR_NOTE, "%" G_GUINT64_FORMAT " bytes (RLIMIT_MEMLOCK)", most);
}
