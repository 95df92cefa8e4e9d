/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the kernel and libfuse offer. windlass-kernels(7) has the same table. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "cli/doctor/doctor.h"

#include "fuse/bridge.h"

#include <linux/capability.h>
#include <string.h>

#define OLDEST 6001 /* that is tested */
#define SWITCH "/sys/module/fuse/parameters/enable_uring"

static const struct {
    unsigned version;
    const char *what;
} kernel_features[] = {
#define KERNEL_FEATURE(major_, minor_, what_) { (major_) * 1000 + (minor_), what_ },
#include "cli/doctor/kernel-features.def"
#undef KERNEL_FEATURE
};

void
doctor_kernel (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autoptr (GString) missing = g_string_new (NULL);

    if (doctor->version == 0)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS (kernel_features); i++)
        if (doctor->version < kernel_features[i].version)
            g_string_append_printf (missing, "%s%s (%u.%u)", missing->len ? ", " : "",
                                    kernel_features[i].what, kernel_features[i].version / 1000,
                                    kernel_features[i].version % 1000);
    if (missing->len == 0) {
        doctor_find (findings, name, DOCTOR_OK, "Linux %s", doctor->release);
        return;
    }
    doctor_find (findings, name, DOCTOR_NOTE, "Linux %s%s", doctor->release,
                 doctor->version < OLDEST ? ", which is older than any that is tested (6.1)" : "")
        ->costs = g_strdup_printf ("by its version it lacks %s", missing->str);
}

void
doctor_device (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *path = doctor_path (doctor, "/dev/fuse"), *cause = bridge_device_cause (path);

    if (cause)
        doctor_find (findings, name, DOCTOR_PROBLEM, "%s", cause);
    else
        doctor_find (findings, name, DOCTOR_OK, "it can be opened");
}

void
doctor_libfuse (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    if (!doctor->library_lacks)
        doctor_find (findings, name, DOCTOR_OK, "%s", doctor->library);
    else
        doctor_find (findings, name, DOCTOR_NOTE, "%s; not in what windlass was built with: %s",
                     doctor->library, doctor->library_lacks);
}

/* --- io_uring --------------------------------------------------------------------------------- */

/* kernel.io_uring_disabled: 1 leaves it to root and the group kernel.io_uring_group, 2 to nobody.
 * Returns whether it was told. */
static bool
io_uring_is_disabled (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *disabled = doctor_read (doctor, "/proc/sys/kernel/io_uring_disabled");

    if (!disabled || strcmp (disabled, "0") == 0
        || (strcmp (disabled, "1") == 0 && doctor_has_capability (doctor, CAP_SYS_ADMIN)))
        return false;
    doctor_find (findings, name, DOCTOR_NOTE, "kernel.io_uring_disabled is %s, which denies it%s",
                 disabled, strcmp (disabled, "1") == 0 ? " to ordinary users" : "")
        ->mend = g_strdup (DOCTOR_AS_ROOT "sysctl kernel.io_uring_disabled=0");
    return true;
}

void
doctor_io_uring (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    g_autofree char *state = doctor_read (doctor, SWITCH);
#ifdef HAVE_LIBURING
    const bool built = true;
#else
    const bool built = false;
#endif

    if (!built)
        doctor_find (findings, name, DOCTOR_NOTE, "this windlass was built without liburing")
            ->mend = g_strdup ("build it again with liburing-dev installed");
    else if (!state && !doctor_exists (doctor, "/sys/module/fuse/parameters"))
        return; /* the module is not loaded; the check of the device tells */
    else if (!state)
        doctor_find (findings, name, DOCTOR_NOTE,
                     "the kernel has no FUSE over io_uring: that takes Linux 6.14, and "
                     "CONFIG_FUSE_IO_URING")
            ->mend = g_strdup ("a newer kernel");
    else if (io_uring_is_disabled (doctor, name, findings))
        return;
    else if (*state == 'N' || *state == '0')
        doctor_find (findings, name, DOCTOR_NOTE, "the kernel's switch for FUSE is off");
    else
        doctor_find (findings, name, DOCTOR_OK, "the kernel's switch for FUSE is on");
}

/* --- passthrough ------------------------------------------------------------------------------ */

/* Returns whether the kernel's configuration is known to lack it. */
static bool
passthrough_is_left_out (const struct doctor *doctor)
{
    g_autofree char *path = g_strconcat ("/boot/config-", doctor->release, NULL),
                    *config = doctor_read (doctor, path);

    return config && !strstr (config, "CONFIG_FUSE_PASSTHROUGH=y");
}

void
doctor_passthrough (const struct doctor *doctor, const char *name, GPtrArray *findings)
{
    if (doctor->version && doctor->version < 6009)
        doctor_find (findings, name, DOCTOR_NOTE, "it takes Linux 6.9")->mend =
            g_strdup ("a newer kernel");
    else if (passthrough_is_left_out (doctor))
        doctor_find (findings, name, DOCTOR_NOTE,
                     "this kernel was built without CONFIG_FUSE_PASSTHROUGH")
            ->mend = g_strdup ("a kernel that has it");
    else if (doctor->in_user_namespace)
        doctor_find (findings, name, DOCTOR_NOTE,
                     "this is a user namespace, and the kernel takes backing files from the "
                     "machine's root alone")
            ->mend = g_strdup ("mount outside of it, as root");
    else if (!doctor_is_root (doctor))
        doctor_find (findings, name, DOCTOR_NOTE,
                     "not for an ordinary user: the kernel takes backing files from root alone");
    else
        doctor_find (findings, name, DOCTOR_OK, "the kernel can read and write files itself");
}
