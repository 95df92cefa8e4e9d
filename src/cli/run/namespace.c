/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mount namespace of this process and its children. A mount that is made in it is seen by nobody
 * else, and ends with the last of them.
 *
 * Root's new namespace shares its mounts with the one before, as systemd sets up all machines, so a
 * mount would appear there too: each mount is made a slave first. It still gets what is mounted in
 * the namespace before, such as a USB stick.
 *
 * An ordinary user may make one together with a user namespace. The kernel lets such a user map one
 * id to itself, and no group but the own; for that, it also wants setgroups(2) given up, or a user
 * could leave a group that is denied something.
 */
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- the system's switches ------------------------------------------------------------------ */

static const struct namespace_switch namespace_switches[] = {
    { "kernel.unprivileged_userns_clone", "0", "1" }, /* of Debian's kernels */
    { "user.max_user_namespaces", "0", "10000" },
    { "kernel.apparmor_restrict_unprivileged_userns", "1", "0" }, /* of Ubuntu's */
};

const struct namespace_switch *
namespace_refused_by (const char *root)
{
    for (size_t i = 0; i < G_N_ELEMENTS (namespace_switches); i++) {
        g_autofree char *name = g_strdelimit (g_strdup (namespace_switches[i].setting), ".", '/'),
                        *path = g_strconcat (root, "/proc/sys/", name, NULL), *text = NULL;

        if (g_file_get_contents (path, &text, NULL, NULL)
            && strcmp (g_strstrip (text), namespace_switches[i].refuses) == 0)
            return &namespace_switches[i];
    }
    return NULL;
}

/* --- entering one --------------------------------------------------------------------------- */

static int
namespace_write (const char *path, const char *text)
{
    const int fd = open (path, O_WRONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : write (fd, text, strlen (text));
    const int error = errno;

    if (fd >= 0)
        close (fd);
    return n < 0 ? -error : 0;
}

/* Maps an id to itself. */
static int
namespace_map (const char *path, unsigned id)
{
    char text[64];

    snprintf (text, sizeof text, "%u %u 1\n", id, id);
    return namespace_write (path, text);
}

static int
namespace_enter_user (const char **ret_what)
{
    const unsigned uid = geteuid (), gid = getegid ();
    int r;

    *ret_what = "unshare";
    if (unshare (CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -errno;
    *ret_what = "/proc/self/setgroups";
    r = namespace_write (*ret_what, "deny");
    if (r == 0) {
        *ret_what = "/proc/self/uid_map";
        r = namespace_map (*ret_what, uid);
    }
    if (r == 0) {
        *ret_what = "/proc/self/gid_map";
        r = namespace_map (*ret_what, gid);
    }
    return r;
}

int
namespace_enter (const char **ret_what)
{
    int r = 0;

    *ret_what = "unshare";
    if (unshare (CLONE_NEWNS) < 0)
        r = errno == EPERM ? namespace_enter_user (ret_what) : -errno;
    if (r < 0)
        return r;
    *ret_what = "mount";
    return mount (NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : 0;
}

int
namespace_clone (const char *directory)
{
    if (mount (directory, directory, NULL, MS_BIND | MS_REC, NULL) < 0
        || mount (NULL, directory, NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -errno;
    return 0;
}

/* What the other process tells of its try. */
struct tried {
    int r;
    const char *what; /* constant, so it is the same in both processes */
};

int
namespace_try (const char **ret_what)
{
    struct tried tried = { -ECHILD, "fork" };
    int ends[2], status;
    pid_t child;

    *ret_what = "pipe";
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return -errno;
    child = fork ();
    if (child == 0) {
        tried.r = namespace_enter (&tried.what);
        _exit (write (ends[1], &tried, sizeof tried) != sizeof tried);
    }
    close (ends[1]);
    if (child < 0)
        tried.r = -errno;
    else if (read (ends[0], &tried, sizeof tried) != sizeof tried)
        tried = (struct tried){ -ECHILD, "fork" };
    close (ends[0]);
    while (child > 0 && waitpid (child, &status, 0) < 0 && errno == EINTR)
        continue;
    *ret_what = tried.what;
    return tried.r;
}

void
namespace_lend_mount (void)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2];

    if (geteuid () == 0 || syscall (SYS_capget, &head, caps) < 0
        || !(caps[0].permitted & 1u << CAP_SYS_ADMIN))
        return;
    caps[0].inheritable |= 1u << CAP_SYS_ADMIN;
    if (syscall (SYS_capset, &head, caps) == 0)
        prctl (PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0);
}
