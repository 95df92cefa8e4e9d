/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass doctor: checks of this machine, of a volfile, or of a mount.
 *
 * A check of the machine reads files, which a test can replace: all paths are below doctor.root. If
 * doctor.root is not set, doctor also tries to make a user namespace. A check that learns nothing
 * reports nothing. The attempt to mount (attempt.c) then shows whether a mount works.
 */
#ifndef WINDLASS_CLI_DOCTOR_DOCTOR_H
#define WINDLASS_CLI_DOCTOR_DOCTOR_H

#include "control/control.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* --- facts.c ---------------------------------------------------------------------------------- */

struct doctor {
    const char *root; /* stands before the path of each file: "", or a folder that a test fills */
    uid_t user;
    uint64_t capabilities;    /* that are effective */
    bool no_new_privileges;   /* setuid programs gain nothing */
    bool in_user_namespace;   /* other than the machine's */
    bool is_filtered;         /* a seccomp filter is in force */
    char release[64];         /* of the kernel, "6.18.5" */
    unsigned version;         /* 6018 for 6.18; 0: not known */
    const char *library;      /* version of libfuse */
    const char *library_lacks; /* as bridge_library_lacks has it, or NULL */
};

/* Reads the facts that several checks need. root stays as long as the struct. */
void doctor_init (struct doctor *ret_doctor, const char *root);

/* Returns root/path; g_free it. */
char *doctor_path (const struct doctor *doctor, const char *path);

/* Returns the text of a file without blanks at its ends, or NULL. g_free it. */
char *doctor_read (const struct doctor *doctor, const char *path);

bool doctor_exists (const struct doctor *doctor, const char *path);

/* Returns the path of a program, without the root, from PATH and the usual folders; or NULL. g_free
 * it. */
char *doctor_program (const struct doctor *doctor, const char *name);

/* Returns the soft limit of a row in /proc/self/limits, "Max open files", or the hard one;
 * G_MAXUINT64 for unlimited, 0 if it isn't known. */
uint64_t doctor_limit (const struct doctor *doctor, const char *row, bool hard);

/* Returns whether this process may mount as the machine's root may. */
bool doctor_is_root (const struct doctor *doctor);
bool doctor_has_capability (const struct doctor *doctor, unsigned capability);

/* --- findings --------------------------------------------------------------------------------- */

enum doctor_state {
    DOCTOR_OK,
    DOCTOR_NOTE,    /* a mount works, without something or slower */
    DOCTOR_PROBLEM, /* a mount can't work */
};

struct doctor_finding {
    const char *name;
    enum doctor_state state;
    char *found;
    char *costs, *mend; /* what it costs, and a command that mends it; NULL: nothing */
};

/* Begins a mend that takes root; doctor_check_all leaves it out for root. */
#define DOCTOR_AS_ROOT "as root: "

/* A list of findings. */
GPtrArray *doctor_findings_new (void);

/* Adds a finding with this name, state and text; the caller may set costs and mend. */
struct doctor_finding *doctor_find (GPtrArray *findings, const char *name, enum doctor_state state,
                                    const char *format, ...) G_GNUC_PRINTF (4, 5);

/* Returns a format with one %s, filled with a path, quoted for a shell where that is needed. g_free
 * it. */
char *doctor_command (const char *format, const char *path);

/* --- checks.c: the table ---------------------------------------------------------------------- */

/* Adds at most one finding. A finding that is not ok takes costs and mend from the table, unless
 * the function has set them. */
typedef void doctor_check_fn (const struct doctor *doctor, const char *name, GPtrArray *findings);

struct doctor_check {
    const char *name;
    doctor_check_fn *look;
    const char *costs, *mend;
};

extern const struct doctor_check doctor_checks[]; /* ends with a row without name */

/* Runs all checks of the table. */
void doctor_check_all (const struct doctor *doctor, GPtrArray *findings);

/* kernel.c */
doctor_check_fn doctor_kernel, doctor_device, doctor_libfuse, doctor_io_uring, doctor_passthrough;
/* rights.c */
doctor_check_fn doctor_capabilities, doctor_fusermount, doctor_sharing, doctor_mtab,
    doctor_user_namespaces, doctor_apparmor, doctor_seccomp, doctor_container;
/* limits.c */
doctor_check_fn doctor_open_files, doctor_threads, doctor_locked_memory;
/* tools.c */
doctor_check_fn doctor_mount_helper, doctor_gdb, doctor_probes, doctor_systemd;

/* --- attempt.c, volfile.c, mount.c ------------------------------------------------------------ */

/* Mounts a scratch directory, uses it and unmounts it. */
void doctor_attempt (GPtrArray *findings);

/* Mounts a volfile, read-only, on a scratch directory, looks at its root and unmounts it. */
void doctor_attempt_volfile (const char *volfile, GPtrArray *findings);

/* Checks a volfile and the directories that it names, and mounts it (try) if that does no harm. */
void doctor_volfile (const char *path, bool try, GPtrArray *findings);

/* Looks at a mount and its daemon. */
void doctor_mount (const struct mount *mount, GPtrArray *findings);

/* Returns the answer of a mount's daemon to a command, after a newline; or NULL. g_free it. */
char *doctor_ask (const char *mountpoint, const char *command, const char *words);
/* Returns the value of a line "key=value" in an answer of doctor_ask, or "". state may be NULL.
 * g_free it. */
char *doctor_value (const char *state, const char *key);

/* running.c: doctor_running adds what the daemon's process runs that was replaced on the disk;
 * doctor_mounts which mounts of this machine run another program. */
void doctor_mounts (GPtrArray *findings);
void doctor_running (const char *root, pid_t pid, const char *mountpoint, GPtrArray *findings);

#endif
