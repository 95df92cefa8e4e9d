/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Drops privileges of a daemon of root, to limit the damage by an attacker that exploits a bug:
 * capabilities that no file operation needs, the right to gain others, and system calls that no
 * file system makes.
 *
 * A user's daemon has no capabilities in the first place. It keeps the rest: to unmount, it has to
 * start fusermount3, which is setuid. And as long as it may gain privileges that way, the kernel
 * accepts no filter from a user. That of `windlass run` never unmounts, and has CAP_SYS_ADMIN in
 * its user namespace, to mount: it is confined as root's is.
 */
#include "core/base/process.h"
#include "core/time/thread.h"
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

/* Sanitizers use ptrace to look for leaks, and start a program that resolves addresses. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED true
#else
#define SANITIZED false
#endif

#define BIT(cap_) (1ULL << (cap_))

/* For acting as callers, also as a calling root; and for opening by handle, unmounting, trusted.*.
 * CAP_IPC_LOCK exempts the io_urings of a daemon from RLIMIT_MEMLOCK, which counts those of all
 * mounts of root together. CAP_SYS_RESOURCE is not kept: it survives a change of user, so quotas
 * would not apply to any caller. */
static const uint64_t confine_kept = BIT (CAP_CHOWN) | BIT (CAP_DAC_OVERRIDE)
                                   | BIT (CAP_DAC_READ_SEARCH) | BIT (CAP_FOWNER)
                                   | BIT (CAP_FSETID) | BIT (CAP_SETUID) | BIT (CAP_SETGID)
                                   | BIT (CAP_MKNOD) | BIT (CAP_SETFCAP) | BIT (CAP_SYS_ADMIN)
                                   | BIT (CAP_LINUX_IMMUTABLE) | BIT (CAP_IPC_LOCK);

/* If /proc hides other users' processes, this capability gives access to the groups of callers. */
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

/* For threads that take requests with a lower nice value than others (io-uring-haste). The limit
 * permits just that. Only if it can't be raised, the capability is kept, which also covers other
 * processes. */
static uint64_t
kept_for_haste (void)
{
    const struct rlimit any = { 40, 40 }; /* 20 minus the nice value: getrlimit(2) */

    return setrlimit (RLIMIT_NICE, &any) == 0 ? 0 : BIT (CAP_SYS_NICE);
}

/* Also limits the bounding set, which takes CAP_SETPCAP, so that comes first. */
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

/* A user acts as no other: there is nothing to keep but the right to mount. */
static uint64_t
capabilities_to_keep (void)
{
    if (geteuid () != 0)
        return BIT (CAP_SYS_ADMIN);
    return confine_kept | kept_for_haste () | (proc_is_hidden () ? BIT (CAP_SYS_PTRACE) : 0);
}

void
confine_capabilities (bool stays)
{
    int r;

    if (geteuid () != 0 && !stays)
        return;
    if (geteuid () != 0)
        thread_others_powerless (); /* this one is to mount, which takes CAP_SYS_ADMIN */
    r = capabilities_limit (capabilities_to_keep ());
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

/* System calls that control other processes, the machine or its mounts, or start a program. By
 * name: some do not exist on every system. */
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

/* A list of refused calls, not of permitted ones: the C library, glib, libfuse and foreign modules
 * make more and other calls with each version. */
static int
system_calls_fill (scmp_filter_ctx filter)
{
    /* Threads get a umask of their own by CLONE_FS; no other unshare is needed. */
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

/* For all existing threads. */
static int
system_calls_refuse (void)
{
    scmp_filter_ctx filter = seccomp_init (SCMP_ACT_ALLOW);
    int r = filter ? 0 : -ENOMEM;

    if (r == 0)
        r = seccomp_attr_set (filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO (EPERM));
    if (r == 0)
        r = seccomp_attr_set (filter, SCMP_FLTATR_CTL_TSYNC, 1);
    /* Kernels before 5.16 would otherwise slow down the whole daemon by mitigations for untrusted
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

#define REFUSES true

#else

#define REFUSES false

static int
system_calls_refuse (void)
{
    return 0;
}

#endif

/* Sanitizers and valgrind run in this process, and their system calls count. */
static bool
tool_is_inside (void)
{
    return SANITIZED || process_is_under_valgrind ();
}

/* Returns why this daemon keeps all system calls by design, or NULL. */
static const char *
system_calls_kept (bool stays)
{
    if (!REFUSES)
        return "built without libseccomp";
    if (tool_is_inside ())
        return "a sanitizer or valgrind needs them";
    return geteuid () != 0 && !stays ? "a user's daemon has to start fusermount3" : NULL;
}

void
confine_system_calls (bool stays)
{
    const char *reason = system_calls_kept (stays);
    int r = reason ? 0 : system_calls_refuse ();

    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "system calls that a mount doesn't make can't be refused: %s",
                g_strerror (-r));
    else
        gf_log (NULL, GF_LOG_DEBUG, "confine: %s%s",
                reason ? "no system call is refused: "
                       : "system calls that a mount doesn't make are refused",
                reason ? reason : "");
    /* It has mounted; other threads never had any. */
    r = geteuid () != 0 && stays ? capabilities_limit (0) : 0;
    if (r < 0)
        gf_log (NULL, GF_LOG_WARNING, "the right to mount can't be given up: %s",
                g_strerror (-r));
}
