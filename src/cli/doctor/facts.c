/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/doctor/doctor.h"

#include "core/base/process.h"
#include "fuse/bridge.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *
doctor_path (const struct doctor *doctor, const char *path)
{
    return g_strconcat (doctor->root, path, NULL);
}

char *
doctor_read (const struct doctor *doctor, const char *path)
{
    g_autofree char *whole = doctor_path (doctor, path);
    char *text = NULL;

    return g_file_get_contents (whole, &text, NULL, NULL) ? g_strstrip (text) : NULL;
}

bool
doctor_exists (const struct doctor *doctor, const char *path)
{
    g_autofree char *whole = doctor_path (doctor, path);

    return access (whole, F_OK) == 0;
}

char *
doctor_program (const struct doctor *doctor, const char *name)
{
    static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin",
                                           "/usr/sbin", "/sbin" };
    char *found = *doctor->root ? NULL : g_find_program_in_path (name);

    for (size_t i = 0; !found && i < G_N_ELEMENTS (folders); i++) {
        g_autofree char *path = g_build_filename (folders[i], name, NULL),
                        *whole = doctor_path (doctor, path);

        if (access (whole, X_OK) == 0)
            found = g_steal_pointer (&path);
    }
    return found;
}

uint64_t
doctor_limit (const struct doctor *doctor, const char *row, bool hard)
{
    g_autofree char *limits = doctor_read (doctor, "/proc/self/limits");
    const char *at = limits ? strstr (limits, row) : NULL;

    if (!at)
        return 0;
    at += strlen (row);
    at += strspn (at, " ");
    if (hard) {
        at += strcspn (at, " \n");
        at += strspn (at, " ");
    }
    return g_str_has_prefix (at, "unlimited") ? G_MAXUINT64 : g_ascii_strtoull (at, NULL, 10);
}

bool
doctor_has_capability (const struct doctor *doctor, unsigned capability)
{
    return doctor->capabilities & UINT64_C (1) << capability;
}

bool
doctor_is_root (const struct doctor *doctor)
{
    return doctor_has_capability (doctor, CAP_SYS_ADMIN) && !doctor->in_user_namespace;
}

/* Returns the number after "KEY:" in /proc/self/status. */
static uint64_t
facts_status (const char *status, const char *key, unsigned base)
{
    const char *at = status ? strstr (status, key) : NULL;

    return at ? g_ascii_strtoull (at + strlen (key) + strspn (at + strlen (key), " \t"), NULL, base)
              : 0;
}

/* As process_has_first_user_namespace, below the root. */
static bool
facts_in_user_namespace (const struct doctor *doctor)
{
    g_autofree char *path = doctor_path (doctor, "/proc/self/ns/user"),
                    *own = g_file_read_link (path, NULL);

    return own && strcmp (own, PROCESS_FIRST_USER_NAMESPACE) != 0;
}

void
doctor_init (struct doctor *ret_doctor, const char *root)
{
    struct doctor *doctor = ret_doctor;
    g_autofree char *status = NULL, *release = NULL;
    unsigned major, minor;

    *doctor = (struct doctor){ .root = root,
                               .library = bridge_library (),
                               .library_lacks = bridge_library_lacks () };
    status = doctor_read (doctor, "/proc/self/status");
    release = doctor_read (doctor, "/proc/sys/kernel/osrelease");
    doctor->user = (uid_t) facts_status (status, "\nUid:", 10);
    doctor->capabilities = facts_status (status, "\nCapEff:", 16);
    doctor->no_new_privileges = facts_status (status, "\nNoNewPrivs:", 10);
    doctor->is_filtered = facts_status (status, "\nSeccomp:", 10) == 2;
    doctor->in_user_namespace = facts_in_user_namespace (doctor);
    g_strlcpy (doctor->release, release ? release : "", sizeof doctor->release);
    if (sscanf (doctor->release, "%u.%u", &major, &minor) == 2)
        doctor->version = major * 1000 + minor;
}
