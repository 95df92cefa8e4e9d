/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Why a mount failed, and what to do. libfuse says only what failed, and fusermount3 writes to the
 * terminal itself. So the known causes are looked for afterwards, the most basic one first.
 */
#include "control/control.h"
#include "core/time/attempt.h"
#include "fuse/reports.h"
#include "fuse/state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DEVICE "/dev/fuse"
#define DEVICE_NUMBER makedev (10, 229) /* Documentation/admin-guide/devices.txt of Linux */
#define FUSERMOUNT "fusermount3"
#define HOW_TO_GET_DEVICE                                                                          \
    "as root, 'modprobe fuse'; in a container, --device " DEVICE " --cap-add SYS_ADMIN"

/* Returns why a device that is there cannot be opened. */
static char *
denial_of_device (const char *device, const struct stat *st, int error)
{
    struct statvfs where;

    if (error == ENODEV || error == ENXIO)
        return g_strdup ("the kernel has no FUSE: " HOW_TO_GET_DEVICE);
    if (error == EPERM)
        return g_strdup ("the control group of this process denies " DEVICE
                         ": a container needs --device " DEVICE);
    if (error == EACCES && statvfs (device, &where) == 0 && where.f_flag & ST_NODEV)
        return g_strdup (DEVICE " lies in a file system mounted with 'nodev': mount that without");
    if (error == EACCES)
        return g_strdup_printf ("user %u may not open " DEVICE ", which has mode %04o and owner "
                                "%u: as root, 'chmod 666 " DEVICE "', as distributions have it",
                                (unsigned) geteuid (), (unsigned) (st->st_mode & 07777),
                                (unsigned) st->st_uid);
    return g_strdup_printf (DEVICE " can't be opened: %s", g_strerror (error));
}

char *
bridge_device_cause (const char *device)
{
    struct stat st;
    int fd, error;

    if (stat (device, &st) < 0)
        return g_strdup_printf ("there is no " DEVICE " (%s): " HOW_TO_GET_DEVICE,
                                g_strerror (errno));
    if (!S_ISCHR (st.st_mode) || st.st_rdev != DEVICE_NUMBER)
        return g_strdup (DEVICE " is not the device of FUSE, character device 10:229: "
                                HOW_TO_GET_DEVICE);
    fd = open (device, O_RDWR | O_CLOEXEC);
    error = errno;
    if (fd < 0)
        return denial_of_device (device, &st, error);
    close (fd);
    return NULL;
}

static bool
may_mount (void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };

    return syscall (SYS_capget, &header, data) == 0 && data[0].effective & (1U << CAP_SYS_ADMIN);
}

/* libfuse asks fusermount3 after mount(2) failed with EPERM, and then has nothing to say itself. */
static char *
cause_for_root (const struct bridge *bridge)
{
    if (!may_mount ())
        return g_strdup ("root has no CAP_SYS_ADMIN here, which mount(2) takes: in a container, "
                         "--cap-add SYS_ADMIN");
    if (bridge->libfuse_says->len > 0)
        return NULL;
    return g_strdup ("something denies it although it has CAP_SYS_ADMIN: AppArmor (for "
                     "Docker, --security-opt apparmor=unconfined), SELinux, seccomp, or a user "
                     "namespace without a mount namespace of its own (unshare -Urm makes both)");
}

/* Returns whether root let users open their mounts to others. false if the file can't be read. */
static bool
users_may_share (bool *ret_known)
{
    g_autofree char *text = NULL;
    g_auto (GStrv) lines = NULL;

    *ret_known = g_file_get_contents ("/etc/fuse.conf", &text, NULL, NULL)
              || !g_file_test ("/etc/fuse.conf", G_FILE_TEST_EXISTS);
    lines = g_strsplit (text ? text : "", "\n", -1);
    for (char **line = lines; *line; line++)
        if (strcmp (g_strstrip (*line), "user_allow_other") == 0)
            return true;
    return false;
}

static char *
cause_of_sharing (void)
{
    bool known, may = users_may_share (&known);

    if (may)
        return NULL;
    return g_strdup_printf ("-o allow_other and allow_root of a user need a line "
                            "'user_allow_other' in /etc/fuse.conf, which %sroot can add; without "
                            "them it is mounted for you alone",
                            known ? "" : "you can't read and ");
}

/* As libfuse looks for it: in the folder it was built for, which is one of these, and in PATH. */
static char *
fusermount_path (void)
{
    static const char *const usual[] = { "/usr/bin/" FUSERMOUNT, "/usr/local/bin/" FUSERMOUNT,
                                         "/bin/" FUSERMOUNT };

    for (size_t i = 0; i < G_N_ELEMENTS (usual); i++)
        if (access (usual[i], X_OK) == 0)
            return g_strdup (usual[i]);
    return g_find_program_in_path (FUSERMOUNT);
}

/* As check_perm of fusermount3 has it. */
static char *
cause_of_mountpoint (const char *mountpoint)
{
    struct stat st;

    if (stat (mountpoint, &st) < 0)
        return NULL;
    if (access (mountpoint, W_OK) == 0 && (!(st.st_mode & S_ISVTX) || st.st_uid == geteuid ()))
        return NULL;
    return g_strdup_printf ("a user's mount point must be a directory which user %d may write, and "
                            "owns if it is sticky as /tmp is: take one of your own, or mount as "
                            "root",
                            (int) geteuid ());
}

/* fusermount3 notes the user's name with the mount. A container's user often has none. */
static char *
cause_of_namelessness (void)
{
    if (getpwuid (geteuid ()))
        return NULL;
    return g_strdup_printf ("user %d has no name, which " FUSERMOUNT " asks for: as root, 'useradd "
                            "-u %d NAME' (in a container, also a line in /etc/passwd), or mount as "
                            "root",
                            (int) geteuid (), (int) geteuid ());
}

static char *
cause_for_user (const struct bridge *bridge, int error)
{
    g_autofree char *path = fusermount_path (), *reason = NULL;
    char *cause;
    struct statvfs where;
    struct stat st;

    if (!path || stat (path, &st) < 0)
        return g_strdup ("users mount through " FUSERMOUNT ", which is not here: the package is "
                         "called fuse3");
    if (prctl (PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return g_strdup ("this process can gain no privileges (no_new_privs, as systemd's "
                         "NoNewPrivileges= and some sandboxes set it), so " FUSERMOUNT
                         " can't mount for it: start windlass outside, or as root");
    if (!(st.st_mode & S_ISUID) || st.st_uid != 0)
        return g_strdup_printf ("%s must be setuid root, to mount for users: as root, 'chown root "
                                "%s; chmod u+s %s'",
                                path, path, path);
    if (statvfs (path, &where) == 0 && where.f_flag & ST_NOSUID)
        return g_strdup_printf ("%s lies in a file system mounted with 'nosuid', so it can't mount "
                                "for users",
                                path);
    if (error == EAGAIN) {
        reason = attempt_reason (error);
        return g_strdup_printf ("no process can be started for %s: %s", path, reason);
    }
    cause = cause_of_namelessness ();
    if (!cause)
        cause = cause_of_mountpoint (bridge->mountpoint);
    if (cause)
        return cause;
    return bridge->terms.for_others ? cause_of_sharing () : g_strdup (unmount_mtab_missing ());
}

char *
bridge_mount_cause (const struct bridge *bridge, int error)
{
    char *cause = bridge_device_cause (DEVICE);

    if (cause)
        return cause;
    return geteuid () == 0 || may_mount () ? cause_for_root (bridge)
                                           : cause_for_user (bridge, error);
}
