/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a daemon of root gives up, so that whoever takes it over through a mistake in it has less in
 * his hands: capabilities that no file operation needs, the right to gain others, and system calls
 * that no file system makes.
 *
 * A user's daemon has no capabilities to begin with. It keeps the rest: to unmount it has to start
 * fusermount3, which is setuid, and without the right to gain by that the kernel takes no filter
 * from a user.
 */
#include "core/base/process.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_LIBSECCOMP
#include <seccomp.h>
#endif

/* Sanitizers look for leaks with ptrace, and start a program that names addresses. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define BIT(cap_) (1ULL << (cap_))

/* Acting as callers, and as root for a root that calls; and opening by handle, unmounting,
 * trusted.*. CAP_IPC_LOCK frees the io_urings of a daemon from RLIMIT_MEMLOCK, which counts those
 * of all mounts of root together. Not CAP_SYS_RESOURCE, which no change of user takes away: every
 * caller would have been free of quotas. */
static const uint64_t kept = BIT (CAP_CHOWN) | BIT (CAP_DAC_OVERRIDE) | BIT (CAP_DAC_READ_SEARCH)
                           | BIT (CAP_FOWNER) | BIT (CAP_FSETID) | BIT (CAP_SETUID)
                           | BIT (CAP_SETGID) | BIT (CAP_MKNOD) | BIT (CAP_SETFCAP)
                           | BIT (CAP_SYS_ADMIN) | BIT (CAP_LINUX_IMMUTABLE) | BIT (CAP_IPC_LOCK);

/* Where /proc hides others' processes, this shows the groups of callers. */
static bool
proc_is_hidden (void)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;
    bool hidden = false;

    if (!g_file_get_contents ("/proc/self/mountinfo", &text, NULL, NULL))
        return false;
    lines = g_strsplit (text, "\n", -1);
    for (char **line = lines; *line; line++)
        if (strstr (*line, " /proc ") && strstr (*line, " - proc "))
            hidden = strstr (*line, "hidepid=") != NULL;
    return hidden;
}

/* That threads that take requests can be less nice than others (io-uring-haste): the limit says no
 * more than that; the capability, for who can't raise it, is about other processes as well. */
static uint64_t
kept_for_haste (void)
{
    const struct rlimit any = { 40, 40 }; /* 20 less the nice value: getrlimit(2) */

    return setrlimit (RLIMIT_NICE, &any) == 0 ? 0 : BIT (CAP_SYS_NICE);
}

/* Of the bounding set too, which only who has CAP_SETPCAP may do: so first. */
static int
capabilities_limit (uint64_t keep)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2];

    if (syscall (SYS_capget, &head, caps) < 0)
        return -errno;
    for (int cap = 0; prctl (PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (!(keep & BIT (cap)) && caps[0].effective & BIT (CAP_SETPCAP)
            && prctl (PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            return -errno;
    for (int half = 0; half < 2; half++) {
        caps[half].permitted &= (uint32_t) (keep >> (32 * half));
        caps[half].effective &= (uint32_t) (keep >> (32 * half));
        caps[half].inheritable = 0;
    }
    return syscall (SYS_capset, &head, caps) < 0 ? -errno : 0;
}

void
confine_capabilities (void)
{
    int r;

    if (geteuid () != 0)
        return;
    r = capabilities_limit (kept | kept_for_haste ()
                            | (proc_is_hidden () ? BIT (CAP_SYS_PTRACE) : 0));
    if (r == 0 && (prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0
                   || prctl (PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0))
        r = -errno;
    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "capabilities that aren't needed can't be given up: %s",
                g_strerror (-r));
    else
        gf_log (NULL, GF_LOG_DEBUG,
                "confine: gave up the capabilities that a mount doesn't need, and to gain others");
}

#ifdef HAVE_LIBSECCOMP

/* What takes over other processes, the machine or its mounts, or starts a program. By name: not
 * every system has each of them. */
static const char *const refused[] = {
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "execve",
    "execveat",
    "finit_module",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "migrate_pages",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "nfsservctl",
    "open_tree",
    "perf_event_open",
    "pidfd_getfd",
    "pivot_root",
    "process_madvise",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "quotactl_fd",
    "reboot",
    "request_key",
    "setdomainname",
    "sethostname",
    "setns",
    "settimeofday",
    "stime",
    "swapoff",
    "swapon",
    "syslog",
    "umount",
    "uselib",
    "userfaultfd",
    "vhangup",
    "vm86",
    "vm86old",
};

/* A list of what is refused, not of what is allowed: the C library, glib, libfuse and modules of
 * others call more, and other things, with each version. */
static int
system_calls_fill (scmp_filter_ctx filter)
{
    /* Threads get an umask of their own by it; nothing else is unshared. */
    const struct scmp_arg_cmp more = { .arg = 0, .op = SCMP_CMP_NE, .datum_a = CLONE_FS };
    int r = 0;

    for (size_t i = 0; i < G_N_ELEMENTS (refused) && r == 0; i++) {
        int number = seccomp_syscall_resolve_name (refused[i]);
        if (number >= 0)
            r = seccomp_rule_add (filter, SCMP_ACT_ERRNO (EPERM), number, 0);
    }
    if (r == 0)
        r = seccomp_rule_add_array (filter, SCMP_ACT_ERRNO (EPERM), SCMP_SYS (unshare), 1, &more);
    return r;
}

/* For all threads that there are. */
static int
system_calls_refuse (void)
{
    scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);
    int r = filter ? 0 : -ENOMEM;

    if (r == 0)
        r = seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO (EPERM));
    if (r == 0)
        r = seccomp_attr_set (filter, SCMP_FLTATR_CTL_TSYNC, 1);
    /* Kernels before 5.16 would otherwise slow down the whole daemon, as if it ran strangers'
     * code. */
    if (r == 0)
        (void) seccomp_attr_set (filter, SCMP_FLTATR_CTL_SSB, 1);
    if (r == 0)
        r = system_calls_fill (filter);
    if (r == 0)
        r = seccomp_load (filter);
    if (filter)
        seccomp_release (filter);
    return r;
}

#else

static int
system_calls_refuse (void)
{
    return -ENOSYS;
}

#endif

/* Sanitizers and valgrind live in this process, and make its system calls. */
static bool
tool_is_inside (void)
{
    return SANITIZED || process_is_under_valgrind ();
}

void
confine_system_calls (void)
{
    int r = tool_is_inside () ? -EOPNOTSUPP : geteuid () != 0 ? -EACCES : system_calls_refuse ();

    if (r == 0)
        gf_log (NULL, GF_LOG_DEBUG, "confine: system calls that a mount doesn't make are refused");
    else
        gf_log (NULL, GF_LOG_DEBUG, "confine: no system call is refused: %s",
                tool_is_inside ()      ? "a sanitizer or valgrind needs them"
                : geteuid () != 0      ? "a user's daemon has to start fusermount3"
                : r == -ENOSYS         ? "built without libseccomp"
                                       : g_strerror (-r));
}
