/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Other programs, with which Windlass does more. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cli/doctor/doctor.h"

#include "folders.h"

#include <string.h>

/* As libmount looks for helpers. */
void
doctor_mount_helper (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    if (doctor_exists (doctor, "/sbin/mount.windlass"))
        doctor_find (findings, name, DOCTOR_OK, "/sbin/mount.windlass");
    else
        doctor_find (findings, name, DOCTOR_NOTE, "there is no /sbin/mount.windlass");
}

void
doctor_gdb (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *program = doctor_program (doctor, "gdb");
    const char *script = GDBAUTOLOADDIR BINDIR "/windlass-gdb.py";

    if (!program)
        doctor_find (findings, name, DOCTOR_NOTE, "it is not installed");
    else if (doctor_exists (doctor, script) || doctor_exists (doctor, BINDIR "/windlass-gdb.py"))
        doctor_find (findings, name, DOCTOR_OK, "%s loads the commands 'xl' by itself", program);
    else
        doctor_find (findings, name, DOCTOR_NOTE, "%s does not find the commands 'xl' in %s",
                     program, script)
            ->mend = g_strdup ("install windlass; in the source tree RUN=gdb ./windlass has them");
}

void
doctor_probes (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *program = doctor_program (doctor, "bpftrace");
    const bool traced = doctor_exists (doctor, "/sys/kernel/tracing/events")
                     || doctor_exists (doctor, "/sys/kernel/debug/tracing/events");

#ifndef HAVE_SYS_SDT_H
    doctor_find (findings, name, DOCTOR_NOTE, "this windlass was built without them")->mend =
        g_strdup ("build it again with systemtap-sdt-dev installed");
    (void) traced;
#else
    if (!program)
        doctor_find (findings, name, DOCTOR_NOTE, "bpftrace is not installed");
    else if (!traced && doctor_is_root (doctor))
        doctor_find (findings, name, DOCTOR_NOTE, "tracefs is not mounted")->mend =
            g_strdup (DOCTOR_AS_ROOT "mount -t tracefs tracefs /sys/kernel/tracing");
    else
        doctor_find (findings, name, DOCTOR_OK, "%s can attach to them, as root", program);
#endif
}

void
doctor_systemd (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    static const char *const folders[] = { "/etc", "/usr/local/lib", "/usr/lib", "/lib" };

    if (!doctor_exists (doctor, "/run/systemd/system")) {
        doctor_find (findings, name, DOCTOR_NOTE, "it does not run here");
        return;
    }
    for (size_t i = 0; i < G_N_ELEMENTS (folders); i++) {
        g_autofree char *path = g_strconcat (folders[i], "/systemd/system/windlass@.service", NULL);

        if (!doctor_exists (doctor, path))
            continue;
        doctor_find (findings, name, DOCTOR_OK, "%s", path);
        return;
    }
    doctor_find (findings, name, DOCTOR_NOTE, "it has no windlass@.service")->mend =
        g_strdup ("install windlass");
}
