/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of checks of this machine. */
#include "cli/doctor/doctor.h"

#include "folders.h"

#include <stdarg.h>
#include <string.h>

#define HELPER_LINKS                                                                               \
    DOCTOR_AS_ROOT "ln -sf " MOUNTHELPERDIR "/mount.windlass "                                     \
    MOUNTHELPERDIR "/mount.fuse.windlass /sbin"

const struct doctor_check doctor_checks[] = {
    { "user", doctor_capabilities, "nothing can be mounted",
      "in a container: --device /dev/fuse --cap-add SYS_ADMIN" },
    { "container", doctor_container, NULL, NULL },
    { "kernel", doctor_kernel, NULL, "a newer kernel; windlass-kernels(7) has the details" },
    { "/dev/fuse", doctor_device, "nothing can be mounted", NULL },
    { "libfuse", doctor_libfuse, "these work as on an older kernel: windlass-kernels(7)",
      "build windlass with a newer one: tools/build-libfuse DIR, configure --with-libfuse=DIR" },
    { "io_uring", doctor_io_uring,
      "each request is read from /dev/fuse and its answer written there, in two system calls "
      "instead of one",
      DOCTOR_AS_ROOT "echo Y >/sys/module/fuse/parameters/enable_uring; for each boot: "
                     "fuse.enable_uring=1 on the kernel's command line" },
    { "passthrough", doctor_passthrough, "the daemon copies what is read and written",
      "mount as root" },
    { "fusermount3", doctor_fusermount, "ordinary users can't mount",
      DOCTOR_AS_ROOT "apt install fuse3, or the package that has fusermount3" },
    { "/etc/fuse.conf", doctor_sharing,
      "a mount of an ordinary user is for that user alone: -o allow_other is refused",
      DOCTOR_AS_ROOT "echo user_allow_other >>/etc/fuse.conf" },
    { "/etc/mtab", doctor_mtab, "an ordinary user's mount can't be unmounted by fusermount3 -u",
      DOCTOR_AS_ROOT "ln -s /proc/self/mounts /etc/mtab" },
    { "user namespaces", doctor_user_namespaces,
      "windlass run of an ordinary user mounts the view in a folder of its own, and not over the "
      "directory", NULL },
    { "AppArmor", doctor_apparmor, "it may deny mounts",
      "for Docker: --security-opt apparmor=unconfined" },
    { "seccomp", doctor_seccomp, "root's daemons keep all system calls",
      "build it again with libseccomp-dev installed" },
    { "open files", doctor_open_files,
      "each file that is open in a mount takes a descriptor of the daemon, and programs get EMFILE",
      "ulimit -n 65536 before windlass; for a service LimitNOFILE=65536" },
    { "threads", doctor_threads,
      "slow requests wait for each other, since no thread can be started for them", NULL },
    { "locked memory", doctor_locked_memory, "few io_urings can be had, and /dev/fuse is used",
      DOCTOR_AS_ROOT "ulimit -l 8192 before windlass, or a line in /etc/security/limits.conf" },
    { "mount(8), fstab", doctor_mount_helper, "'mount -t windlass' and lines of fstab don't work",
      HELPER_LINKS },
    { "gdb", doctor_gdb, "the commands 'xl' can't show the graph of a running daemon",
      DOCTOR_AS_ROOT "apt install gdb" },
    { "probes", doctor_probes, "no measuring with bpftrace: windlass-probes(7)",
      DOCTOR_AS_ROOT "apt install bpftrace" },
    { "systemd", doctor_systemd,
      "it can't mount by windlass@NAME: mount by windlass itself or fstab", NULL },
    { NULL, NULL, NULL, NULL },
};

static void
finding_free (void *data)
{
    struct doctor_finding *finding = data;

    g_free (finding->found);
    g_free (finding->costs);
    g_free (finding->mend);
    g_free (finding);
}

GPtrArray *
doctor_findings_new (void)
{
    return g_ptr_array_new_with_free_func (finding_free);
}

struct doctor_finding *
doctor_find (GPtrArray *findings, const char *name, enum doctor_state state, const char *format,
             ...)
{
    struct doctor_finding *finding = g_new (struct doctor_finding, 1);
    va_list args;

    *finding = (struct doctor_finding){ .name = name, .state = state };
    va_start (args, format);
    finding->found = g_strdup_vprintf (format, args);
    va_end (args);
    g_ptr_array_add (findings, finding);
    return finding;
}

char *
doctor_command (const char *format, const char *path)
{
    const bool plain = path[strspn (path, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "/._-+,@:=%")]
                    == '\0';
    g_autofree char *quoted = plain ? g_strdup (path) : g_shell_quote (path);
    g_auto (GStrv) parts = g_strsplit (format, "%s", 2);

    return g_strjoinv (quoted, parts);
}

void
doctor_check_all (const struct doctor *doctor, GPtrArray *findings)
{
    const bool is_root = doctor->user == 0 && !doctor->in_user_namespace;

    for (const struct doctor_check *check = doctor_checks; check->name; check++) {
        const guint before = findings->len;
        struct doctor_finding *finding;

        check->look (doctor, check->name, findings);
        finding = findings->len > before ? findings->pdata[before] : NULL;
        if (!finding || finding->state == DOCTOR_OK)
            continue;
        if (!finding->costs)
            finding->costs = g_strdup (check->costs);
        if (!finding->mend)
            finding->mend = g_strdup (check->mend);
        if (is_root && finding->mend && g_str_has_prefix (finding->mend, DOCTOR_AS_ROOT))
            memmove (finding->mend, finding->mend + strlen (DOCTOR_AS_ROOT),
                     strlen (finding->mend) + 1 - strlen (DOCTOR_AS_ROOT));
    }
}
