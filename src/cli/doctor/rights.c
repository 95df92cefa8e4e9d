/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who may mount, and what else decides about it. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cli/doctor/doctor.h"

#include "cli/run/run.h"
#include "control/control.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FUSE_CONF "/etc/fuse.conf"

/* --- root ------------------------------------------------------------------------------------- */

void
doctor_capabilities (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    if (doctor->user == 0 && !doctor_has_capability (doctor, CAP_SYS_ADMIN))
        doctor_find (findings, name, DOCTOR_PROBLEM, "root has no CAP_SYS_ADMIN here");
    else if (doctor->user == 0)
        doctor_find (findings, name, DOCTOR_OK, "root%s",
                     doctor->in_user_namespace ? " of a user namespace" : "");
    else
        doctor_find (findings, name, DOCTOR_OK, "user %u, who mounts through fusermount3",
                     (unsigned) doctor->user);
}

void
doctor_container (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *systemd = doctor_read (doctor, "/run/systemd/container");
    const char *what = doctor_exists (doctor, "/run/.containerenv") ? "podman"
                     : doctor_exists (doctor, "/.dockerenv")        ? "docker"
                                                                    : systemd;

    if (what && *what)
        doctor_find (findings, name, DOCTOR_OK,
                     "this is a container (%s): a mount is seen here and not on the host", what);
}

/* --- fusermount3 ------------------------------------------------------------------------------ */

/* Returns why users can't mount by it, or NULL; g_free it. ret_by_mode: its owner or its mode is
 * wrong. */
static char *
fusermount_wrong (const struct doctor *doctor, const char *path, bool *ret_by_mode)
{
    g_autofree char *whole = doctor_path (doctor, path);
    struct statvfs where;
    struct stat st;

    *ret_by_mode = false;
    if (stat (whole, &st) < 0)
        return g_strdup_printf ("%s can't be looked at", path);
    if (st.st_uid != 0 || !(st.st_mode & S_ISUID)) {
        *ret_by_mode = true;
        return g_strdup_printf ("%s is not setuid root", path);
    }
    if (statvfs (whole, &where) == 0 && where.f_flag & ST_NOSUID)
        return g_strdup_printf ("%s lies in a file system mounted with nosuid", path);
    return NULL;
}

void
doctor_fusermount (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const bool needed = !doctor_has_capability (doctor, CAP_SYS_ADMIN);
    const enum doctor_state bad = needed ? DOCTOR_PROBLEM : DOCTOR_NOTE;
    g_autofree char *path = doctor_program (doctor, "fusermount3"), *wrong = NULL;
    struct doctor_finding *finding;
    bool by_mode;

    if (!needed && doctor->in_user_namespace)
        return; /* where it can't be used, and mount(2) works */
    if (!path) {
        doctor_find (findings, name, bad, "it is not here");
        return;
    }
    wrong = fusermount_wrong (doctor, path, &by_mode);
    if (!wrong && needed && doctor->no_new_privileges)
        wrong = g_strdup ("this process can gain no privileges (no_new_privs), so it can't mount");
    if (!wrong) {
        doctor_find (findings, name, DOCTOR_OK, "%s, setuid root", path);
        return;
    }
    finding = doctor_find (findings, name, bad, "%s", wrong);
    finding->mend =
        by_mode ? g_strdup_printf (DOCTOR_AS_ROOT "chown root %s && chmod u+s %s", path, path)
        : doctor->no_new_privileges
            ? g_strdup ("start windlass outside of the sandbox or service that sets it")
            : g_strdup (DOCTOR_AS_ROOT "install it in another file system, or mount this one with "
                                       "suid");
}

/* --- /etc/fuse.conf --------------------------------------------------------------------------- */

/* Returns the number of a line "mount_max = N", or -1. fusermount3 refuses a user's mount if as
 * many FUSE mounts are there. */
static long
sharing_mount_max (char **lines)
{
    long most;

    for (; *lines; lines++)
        if (sscanf (*lines, "mount_max = %ld", &most) == 1)
            return most;
    return -1;
}

static unsigned
sharing_count_mounts (const struct doctor *doctor)
{
    g_autofree char *text = doctor_read (doctor, "/proc/self/mountinfo");
    g_autoptr (GPtrArray) mounts = mounts_all (text ? text : "");
    unsigned n = 0;

    for (guint i = 0; i < mounts->len; i++) {
        const struct mount *mount = mounts->pdata[i];

        n += strcmp (mount->type, "fuse") == 0 || g_str_has_prefix (mount->type, "fuse.");
    }
    return n;
}

void
doctor_sharing (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *text = doctor_read (doctor, FUSE_CONF);
    g_auto (GStrv) lines = g_strsplit (text ? text : "", "\n", -1);
    const long most = sharing_mount_max (lines);
    const bool root = doctor_has_capability (doctor, CAP_SYS_ADMIN);

    if (!text && doctor_exists (doctor, FUSE_CONF)) {
        doctor_find (findings, name, DOCTOR_OK, "it can't be read by this user");
        return;
    }
    if (!root && most >= 0 && sharing_count_mounts (doctor) >= (unsigned long) most) {
        doctor_find (findings, name, DOCTOR_PROBLEM,
                     "mount_max is %ld, and as many FUSE mounts are there", most)
            ->mend = g_strdup (DOCTOR_AS_ROOT "raise mount_max in " FUSE_CONF);
        return;
    }
    for (char **line = lines; *line; line++)
        if (strcmp (g_strstrip (*line), "user_allow_other") == 0) {
            doctor_find (findings, name, DOCTOR_OK, "users may open their mounts to others");
            return;
        }
    doctor_find (findings, name, DOCTOR_NOTE, "it has no line user_allow_other");
}

void
doctor_mtab (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    if (doctor_exists (doctor, "/etc/mtab"))
        return;
    doctor_find (findings, name, DOCTOR_NOTE, "it is not there");
}

/* --- namespaces and security modules ---------------------------------------------------------- */

/* Tries, as an ordinary user, to make a user namespace, as windlass run does: the kernel refuses it
 * in a chroot, and the filter of a container may, and no file says so. */
static void
doctor_try_namespace (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const char *what;
    bool can_try = !*doctor->root && doctor->user != 0;
    int r = can_try ? namespace_try (&what) : 0;

    if (r < 0)
        doctor_find (findings, name, DOCTOR_NOTE,
                     "refused (%s: %s): a chroot or a container does so", what, g_strerror (-r));
    else
        doctor_find (findings, name, DOCTOR_OK,
                     can_try ? "this user may make them"
                             : "no setting refuses them to ordinary users");
}

void
doctor_user_namespaces (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    const struct namespace_switch *by = namespace_refused_by (doctor->root);

    if (by)
        doctor_find (findings, name, DOCTOR_NOTE, "%s is %s, which refuses them to ordinary users",
                     by->setting, by->refuses)
            ->mend = g_strdup_printf (DOCTOR_AS_ROOT "sysctl %s=%s", by->setting, by->permits);
    else
        doctor_try_namespace (doctor, name, findings);
}

void
doctor_apparmor (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *on = doctor_read (doctor, "/sys/module/apparmor/parameters/enabled"),
                    *own = NULL;
    struct doctor_finding *finding;

    if (!on || *on != 'Y')
        return;
    own = doctor_read (doctor, "/proc/self/attr/apparmor/current");
    if (!own)
        own = doctor_read (doctor, "/proc/self/attr/current");
    if (own && *own && strcmp (own, "unconfined") != 0) {
        doctor_find (findings, name, DOCTOR_NOTE, "this process is confined by the profile %s",
                     own);
        return;
    }
    if (doctor_exists (doctor, "/etc/apparmor.d/fusermount3")) {
        finding = doctor_find (findings, name, DOCTOR_NOTE, "there is a profile of fusermount3");
        finding->costs = g_strdup ("users can mount only in the folders that it allows, such as "
                                   "their home, /mnt, /media and /tmp");
        finding->mend =
            g_strdup (DOCTOR_AS_ROOT "allow more folders in /etc/apparmor.d/local/fusermount3");
        return;
    }
    doctor_find (findings, name, DOCTOR_OK, "it confines neither this process nor fusermount3");
}

void
doctor_seccomp (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
#ifdef HAVE_LIBSECCOMP
    doctor_find (findings, name, DOCTOR_OK, "root's daemons give up system calls that they don't "
                 "need%s", doctor->is_filtered ? "; a filter is in force here already" : "");
#else
    doctor_find (findings, name, DOCTOR_NOTE, "this windlass was built without libseccomp");
#endif
}
