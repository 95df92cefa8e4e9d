/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug */
/* What windlass doctor finds on machines that lack something: folders with a /proc, /sys and /etc
 * of their own. */
#include "cli/doctor/doctor.h"

#include "../program.h"
#include "core/base/process.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- machines --------------------------------------------------------------------------------- */

#define CAPS_ALL "CapEff:\t000001ffffffffff\n"
#define CAPS_NONE "CapEff:\t0000000000000000\n"
#define STATUS(uid_, caps_) "Name:\tx\nUid:\t" uid_ "\t0\n" caps_ "NoNewPrivs:\t0\nSeccomp:\t0\n"

/* A file of a machine; text NULL: it is missing there. A path that ends with * is executable, one
 * that ends with ! is executable and setuid, one that ends with @ is a symbolic link to the text.
 */
struct file {
    const char *path, *text;
};

/* A good machine, for root. */
static const struct file doctor_good[] = {
    { "/proc/self/status", STATUS ("0", CAPS_ALL) },
    { "/proc/self/ns/user@", PROCESS_FIRST_USER_NAMESPACE },
    { "/proc/self/cgroup", "0::/user.slice/x\n" },
    { "/proc/self/limits", "Limit                     Soft Limit           Hard Limit\n"
                           "Max processes             96551                96551\n"
                           "Max open files            65536                65536\n"
                           "Max locked memory         8388608              8388608\n" },
    { "/proc/self/mountinfo", "29 1 8:1 / / rw - ext4 /dev/sda1 rw\n" },
    { "/proc/sys/kernel/osrelease", "6.18.5-amd64\n" },
    { "/proc/sys/kernel/io_uring_disabled", "0\n" },
    { "/proc/sys/user/max_user_namespaces", "96551\n" },
    { "/sys/module/fuse/parameters/enable_uring", "Y\n" },
    { "/sys/kernel/tracing/events/header_page", "x" },
    { "/sys/fs/cgroup/user.slice/pids.max", "max\n" },
    { "/sys/fs/cgroup/user.slice/pids.current", "20\n" },
    { "/etc/fuse.conf", "#mount_max = 1\nuser_allow_other\n" },
    { "/etc/mtab", "x" },
    { "/run/systemd/system/x", "x" },
    { "/usr/lib/systemd/system/windlass@.service", "x" },
    { "/sbin/mount.windlass*", "x" },
    { "/usr/bin/fusermount3!", "x" },
    { "/usr/bin/bpftrace*", "x" },
};

static void
write_file (const char *root, const struct file *file)
{
    g_autofree char *path = g_strconcat (root, file->path, NULL), *folder = NULL;
    char *mark = path + strlen (path) - 1;
    const mode_t mode = *mark == '!' ? 04755 : *mark == '*' ? 0755 : 0644;
    const bool is_link = *mark == '@';

    if (mode != 0644 || is_link)
        *mark = '\0';
    folder = g_path_get_dirname (path);
    if (!file->text) {
        unlink (path);
        return;
    }
    ck_assert_int_eq (g_mkdir_with_parents (folder, 0755), 0);
    if (is_link) {
        unlink (path);
        ck_assert_int_eq (symlink (file->text, path), 0);
        return;
    }
    ck_assert (g_file_set_contents (path, file->text, -1, NULL));
    ck_assert_int_eq (chmod (path, mode), 0);
}

/* Returns the folder; g_free it. changes ends with a row without path; two rows may name a file. */
static char *
machine_new (const struct file *changes)
{
    char *root = g_dir_make_tmp ("windlass-test-doctor-XXXXXX", NULL);

    ck_assert_ptr_nonnull (root);
    for (size_t i = 0; i < G_N_ELEMENTS (doctor_good); i++)
        write_file (root, &doctor_good[i]);
    for (; changes->path; changes++)
        write_file (root, changes);
    return root;
}

static int
doctor_remove_one (const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    return remove (path);
}

static void
machine_free (char *root)
{
    nftw (root, doctor_remove_one, 16, FTW_DEPTH | FTW_PHYS);
    g_free (root);
}

/* Runs the checks of a machine and returns the finding of one of them, or NULL. */
static const struct doctor_finding *
doctor_look (const char *root, const char *name, GPtrArray *findings)
{
    struct doctor doctor;

    doctor_init (&doctor, root);
    doctor.library_lacks = NULL; /* that of the build is another matter */
    doctor_check_all (&doctor, findings);
    for (guint i = 0; i < findings->len; i++)
        if (strcmp (((const struct doctor_finding *) findings->pdata[i])->name, name) == 0)
            return findings->pdata[i];
    return NULL;
}

/* --- one thing is different ------------------------------------------------------------------- */

#define USER { "/proc/self/status", STATUS ("1000", CAPS_NONE) }
#define FUSERMOUNT "/usr/bin/fusermount3"
#define OTHER_NAMESPACE "user:[4026532000]"

static const struct {
    struct file changes[4];
    const char *name; /* of the check */
    enum doctor_state state;
    const char *found, *costs, *mend; /* parts of the texts; NULL: there must be none */
} cases[] = {
    { {}, "kernel", DOCTOR_OK, "Linux 6.18.5-amd64", NULL, NULL },
    { { { "/proc/sys/kernel/osrelease", "6.1.0-28-amd64\n" } }, "kernel", DOCTOR_NOTE,
      "Linux 6.1.0", "passthrough (6.9)", "newer kernel" },
    { { { "/proc/sys/kernel/osrelease", "6.12.1\n" } }, "kernel", DOCTOR_NOTE, "Linux 6.12.1",
      "lacks FUSE over io_uring (6.14)", "newer kernel" },
    { { { "/proc/sys/kernel/osrelease", "5.10.0\n" } }, "kernel", DOCTOR_NOTE, "older than any",
      "parallel direct writes", "newer kernel" },
    { {}, "/dev/fuse", DOCTOR_PROBLEM, "there is no /dev/fuse", "nothing can be mounted", NULL },
    { { { "/dev/fuse", "x" } }, "/dev/fuse", DOCTOR_PROBLEM, "is not the device of FUSE",
      "nothing can be mounted", NULL },

    { {}, "io_uring", DOCTOR_OK, "switch for FUSE is on", NULL, NULL },
    { { { "/sys/module/fuse/parameters/enable_uring", "N\n" } }, "io_uring", DOCTOR_NOTE, "is off",
      "/dev/fuse", "echo Y >/sys/module/fuse/parameters/enable_uring" },
    { { { "/sys/module/fuse/parameters/enable_uring", NULL } }, "io_uring", DOCTOR_NOTE,
      "takes Linux 6.14", "/dev/fuse", "newer kernel" },
    { { { "/proc/sys/kernel/io_uring_disabled", "2\n" } }, "io_uring", DOCTOR_NOTE,
      "io_uring_disabled is 2", "/dev/fuse", "sysctl kernel.io_uring_disabled=0" },
    { { { "/proc/sys/kernel/io_uring_disabled", "1\n" } }, "io_uring", DOCTOR_OK, "is on", NULL,
      NULL },
    { { { "/proc/sys/kernel/io_uring_disabled", "1\n" }, USER }, "io_uring", DOCTOR_NOTE,
      "denies it to ordinary users", "/dev/fuse", "as root: sysctl" },

    { {}, "passthrough", DOCTOR_OK, "the kernel can", NULL, NULL },
    { { USER }, "passthrough", DOCTOR_NOTE, "from root alone", "copies", "as root" },
    { { { "/proc/self/ns/user@", OTHER_NAMESPACE } }, "passthrough", DOCTOR_NOTE, "user namespace",
      "copies", "outside" },
    { { { "/proc/sys/kernel/osrelease", "6.8.0\n" } }, "passthrough", DOCTOR_NOTE, "Linux 6.9",
      "copies", "newer kernel" },
    { { { "/boot/config-6.18.5-amd64", "# CONFIG_FUSE_PASSTHROUGH is not set\n" } },
      "passthrough", DOCTOR_NOTE, "without CONFIG_FUSE_PASSTHROUGH", "copies", "kernel" },
    { { { "/boot/config-6.18.5-amd64", "CONFIG_FUSE_PASSTHROUGH=y\n" } }, "passthrough", DOCTOR_OK,
      "the kernel can", NULL, NULL },

    { { { "/proc/self/status", STATUS ("0", CAPS_NONE) } }, "user", DOCTOR_PROBLEM,
      "no CAP_SYS_ADMIN", "nothing can be mounted", "--cap-add SYS_ADMIN" },
    { { USER }, "user", DOCTOR_OK, "user 1000", NULL, NULL },
    { { { "/.dockerenv", "" } }, "container", DOCTOR_OK, "docker", NULL, NULL },

    { {}, "fusermount3", DOCTOR_OK, "setuid root", NULL, NULL },
    { { { FUSERMOUNT, NULL }, USER }, "fusermount3", DOCTOR_PROBLEM, "not here", "can't mount",
      "fuse3" },
    { { { FUSERMOUNT, NULL } }, "fusermount3", DOCTOR_NOTE, "not here", "can't mount", "fuse3" },
    { { { FUSERMOUNT "*", "x" }, USER }, "fusermount3", DOCTOR_PROBLEM, "is not setuid root",
      "can't mount", "chmod u+s " FUSERMOUNT },
    { { { "/proc/self/status", "Uid:\t1\t1\n" CAPS_NONE },
        { "/proc/self/status", "\nUid:\t1\t1\n" CAPS_NONE "NoNewPrivs:\t1\n" } },
      "fusermount3", DOCTOR_PROBLEM, "no_new_privs", "can't mount", "outside" },

    { {}, "/etc/fuse.conf", DOCTOR_OK, "to others", NULL, NULL },
    { { { "/etc/fuse.conf", "#user_allow_other\n" } }, "/etc/fuse.conf", DOCTOR_NOTE,
      "no line user_allow_other", "-o allow_other is refused", "echo user_allow_other >>" },
    { { { "/etc/fuse.conf", NULL } }, "/etc/fuse.conf", DOCTOR_NOTE, "no line user_allow_other",
      "refused", "echo" },
    { { { "/etc/fuse.conf", "user_allow_other\nmount_max = 1\n" },
        { "/proc/self/mountinfo", "29 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                  "30 29 0:5 / /m rw - fuse.sshfs x rw,user_id=0,group_id=0\n" },
        USER },
      "/etc/fuse.conf", DOCTOR_PROBLEM, "mount_max is 1", "", "raise mount_max" },
    { { { "/etc/mtab", NULL } }, "/etc/mtab", DOCTOR_NOTE, "not there", "fusermount3 -u",
      "ln -s /proc/self/mounts /etc/mtab" },

    { {}, "user namespaces", DOCTOR_OK, "no setting refuses them", NULL, NULL },
    { { { "/proc/sys/user/max_user_namespaces", "0\n" } }, "user namespaces", DOCTOR_NOTE,
      "max_user_namespaces is 0", "windlass run", "sysctl user.max_user_namespaces=" },
    { { { "/proc/sys/kernel/unprivileged_userns_clone", "0\n" } }, "user namespaces", DOCTOR_NOTE,
      "unprivileged_userns_clone is 0", "windlass run", "sysctl" },
    { { { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n" } }, "user namespaces",
      DOCTOR_NOTE, "apparmor_restrict_unprivileged_userns is 1", "windlass run", "sysctl" },

    { { { "/sys/module/apparmor/parameters/enabled", "Y\n" },
        { "/proc/self/attr/apparmor/current", "docker-default (enforce)\n" } },
      "AppArmor", DOCTOR_NOTE, "docker-default (enforce)", "deny", "unconfined" },
    { { { "/sys/module/apparmor/parameters/enabled", "Y\n" },
        { "/proc/self/attr/current", "unconfined\n" },
        { "/etc/apparmor.d/fusermount3", "x" } },
      "AppArmor", DOCTOR_NOTE, "profile of fusermount3", "only in the folders", "local" },
    { { { "/sys/module/apparmor/parameters/enabled", "Y\n" },
        { "/proc/self/attr/current", "unconfined\n" } },
      "AppArmor", DOCTOR_OK, "confines neither", NULL, NULL },

    { {}, "open files", DOCTOR_OK, "65536", NULL, NULL },
    { { { "/proc/self/limits", "Max open files            512                  1024\n" } },
      "open files", DOCTOR_NOTE, "at most 1024", "EMFILE", "ulimit -n" },
    { { { "/proc/self/limits", "Max open files            1024                 524288\n" } },
      "open files", DOCTOR_OK, "at most 524288", NULL, NULL },
    { { { "/proc/self/limits", "Max open files            unlimited            unlimited\n" } },
      "open files", DOCTOR_OK, "no limit", NULL, NULL },
    { {}, "threads", DOCTOR_OK, "enough", NULL, NULL },
    { { { "/sys/fs/cgroup/user.slice/pids.max", "100\n" } }, "threads", DOCTOR_NOTE,
      "room for 80 more", "wait for each other", "pids.max" },
    { { { "/proc/self/limits", "Max processes             64                   64\n" }, USER },
      "threads", DOCTOR_NOTE, "may have 64", "wait for each other", "ulimit -u" },
    { { { "/proc/self/limits", "Max locked memory         65536                65536\n" }, USER },
      "locked memory", DOCTOR_NOTE, "65536 bytes", "io_urings", "ulimit -l" },

    { {}, "mount(8), fstab", DOCTOR_OK, "/sbin/mount.windlass", NULL, NULL },
    { { { "/sbin/mount.windlass", NULL } }, "mount(8), fstab", DOCTOR_NOTE, "there is no",
      "fstab", "ln -sf" },
    { {}, "gdb", DOCTOR_NOTE, "not installed", "xl", "gdb" },
    { {}, "systemd", DOCTOR_OK, "/usr/lib/systemd/system/windlass@.service", NULL, NULL },
    { { { "/usr/lib/systemd/system/windlass@.service", NULL } }, "systemd", DOCTOR_NOTE,
      "has no windlass@.service", "fstab", "install windlass" },
};

static void
has_part (const char *text, const char *part, unsigned number)
{
    if (part)
        ck_assert_msg (text && strstr (text, part), "case %u: '%s' is not in '%s'", number, part,
                       text);
    else
        ck_assert_msg (!text, "case %u: unexpected: '%s'", number, text);
}

/* A user can make no file of root, and a build without liburing says only that. */
static bool
can_be_shown (const struct doctor_finding *finding, const char *name)
{
    if (strcmp (name, "fusermount3") == 0)
        return geteuid () == 0;
    return !finding || !strstr (finding->found, "this windlass was built without");
}

START_TEST (each_lack_is_told_with_its_cost_and_its_cure)
{
    char *root = machine_new (cases[_i].changes);
    g_autoptr (GPtrArray) findings = doctor_findings_new ();
    const struct doctor_finding *finding = doctor_look (root, cases[_i].name, findings);

    if (can_be_shown (finding, cases[_i].name)) {
        ck_assert_msg (finding, "case %d: '%s' says nothing", _i, cases[_i].name);
        has_part (finding->found, cases[_i].found, _i);
        ck_assert_msg (finding->state == cases[_i].state, "case %d: %s: '%s'", _i, finding->name,
                       finding->found);
        has_part (finding->costs, cases[_i].costs, _i);
        if (cases[_i].mend || finding->state == DOCTOR_OK)
            has_part (finding->mend, cases[_i].mend, _i);
    }
    machine_free (root);
}
END_TEST

START_TEST (root_is_not_told_to_be_root)
{
    const struct file missing[] = { { "/etc/mtab", NULL }, {} };
    char *root = machine_new (missing);
    g_autoptr (GPtrArray) findings = doctor_findings_new ();

    ck_assert_str_eq (doctor_look (root, "/etc/mtab", findings)->mend,
                      "ln -s /proc/self/mounts /etc/mtab");
    machine_free (root);
}
END_TEST

START_TEST (root_of_a_user_namespace_needs_no_fusermount3)
{
    char *root = machine_new ((const struct file[]){ { "/proc/self/ns/user@", OTHER_NAMESPACE },
                                                     { FUSERMOUNT, NULL },
                                                     {} });
    g_autoptr (GPtrArray) findings = doctor_findings_new ();

    ck_assert_ptr_null (doctor_look (root, "fusermount3", findings));
    machine_free (root);
}
END_TEST

START_TEST (a_machine_of_which_nothing_is_known_is_no_crash)
{
    char *root = g_dir_make_tmp ("windlass-test-doctor-XXXXXX", NULL);
    g_autoptr (GPtrArray) findings = doctor_findings_new ();

    doctor_look (root, "", findings);
    ck_assert_uint_gt (findings->len, 0);
    machine_free (root);
}
END_TEST

/* --- a daemon that was replaced --------------------------------------------------------------- */

#define MAPS_WHOLE "00-01 r-xp 0 fe:00 1   /usr/lib/windlass/xlator/debug/trace.so\n"
#define MAPS_GONE                                                                                  \
    "00-01 r-xp 0 fe:00 1   /usr/lib/windlass/xlator/debug/trace.so (deleted)\n"                   \
    "01-02 r--p 1 fe:00 1   /usr/lib/windlass/xlator/debug/trace.so (deleted)\n"
#define MAPS_OTHER "03-04 rw-s 0 00:01 9   /dev/zero (deleted)\n04-05 rw-p 0 00:00 0  [heap]\n"
#define MAPS_LIBRARY "05-06 r-xp 0 fe:00 1   /usr/lib/libfuse3.so.4.1 (deleted)\n"

static const struct {
    const char *exe, *maps;
    const char *told; /* the names of the findings that are notes, each with a blank behind it */
} daemons[] = {
    { "/usr/bin/windlass", MAPS_WHOLE MAPS_OTHER, "" },
    { "/usr/bin/windlass (deleted)", MAPS_WHOLE, "program " },
    { "/usr/bin/windlass", MAPS_GONE MAPS_OTHER, "translators " },
    { "/usr/bin/windlass", MAPS_GONE MAPS_WHOLE, "" },
    { "/usr/bin/windlass", MAPS_WHOLE MAPS_GONE, "" },
    { "/usr/bin/windlass (deleted)", MAPS_GONE MAPS_LIBRARY, "program libraries " },
};

START_TEST (what_was_replaced_under_a_daemon_is_told)
{
    char *root = machine_new ((const struct file[]){ { "/proc/77/maps", daemons[_i].maps }, {} });
    g_autofree char *link = g_strconcat (root, "/proc/77/exe", NULL);
    g_autoptr (GPtrArray) findings = doctor_findings_new ();
    g_autoptr (GString) told = g_string_new (NULL);

    ck_assert_int_eq (symlink (daemons[_i].exe, link), 0);
    doctor_running (root, 77, "/mnt/$(x)", findings);
    for (guint i = 0; i < findings->len; i++) {
        const struct doctor_finding *finding = findings->pdata[i];

        if (finding->state == DOCTOR_NOTE)
            g_string_append_printf (told, "%s ", finding->name);
        if (strcmp (finding->name, "translators") == 0)
            ck_assert_str_eq (finding->mend, "windlass reload '/mnt/$(x)'");
    }
    ck_assert_str_eq (told->str, daemons[_i].told);
    machine_free (root);
}
END_TEST

TEST_PROGRAM (test_doctor)
{
    Suite *suite = suite_create ("doctor");
    TCase *tests = tcase_create ("doctor");

    tcase_add_loop_test (tests, each_lack_is_told_with_its_cost_and_its_cure, 0,
                         G_N_ELEMENTS (cases));
    tcase_add_test (tests, root_is_not_told_to_be_root);
    tcase_add_test (tests, root_of_a_user_namespace_needs_no_fusermount3);
    tcase_add_test (tests, a_machine_of_which_nothing_is_known_is_no_crash);
    tcase_add_loop_test (tests, what_was_replaced_under_a_daemon_is_told, 0,
                         G_N_ELEMENTS (daemons));
    suite_add_tcase (suite, tests);
    return suite_run (suite);
}
