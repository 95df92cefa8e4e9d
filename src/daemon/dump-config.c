/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass --dump-config: what was built and where it is installed, as KEY=VALUE, sorted, for
 * scripts and other builds. A key keeps its meaning; new keys may come.
 */
#include "daemon/daemon.h"

#include "core/base/rundir.h"
#include "folders.h"

#include <linux/fuse.h>
#include <stdio.h>

static const char *
yes_or_no (bool value)
{
    return value ? "yes" : "no";
}

#ifdef HAVE_LIBURING
#define BUILT_LIBURING true
#else
#define BUILT_LIBURING false
#endif
#ifdef HAVE_LIBSECCOMP
#define BUILT_LIBSECCOMP true
#else
#define BUILT_LIBSECCOMP false
#endif
#ifdef HAVE_OPENSSL
#define BUILT_OPENSSL true
#else
#define BUILT_OPENSSL false
#endif
#ifdef HAVE_NCURSES
#define BUILT_NCURSES true
#else
#define BUILT_NCURSES false
#endif
#ifdef HAVE_FUNCTION_GRAPH
#define BUILT_FUNCTION_GRAPH true
#else
#define BUILT_FUNCTION_GRAPH false
#endif
#ifdef HAVE_LIBBACKTRACE
#define BUILT_LIBBACKTRACE true
#else
#define BUILT_LIBBACKTRACE false
#endif
#ifdef HAVE_SYS_SDT_H
#define BUILT_PROBES true
#else
#define BUILT_PROBES false
#endif

void
dump_config (void)
{
    g_autofree char *abi = g_strdup_printf ("%d", XLATOR_ABI), *log = path_log_dir (),
                    *run = run_dir (),
                    *kernel = g_strdup_printf ("%d.%d", FUSE_KERNEL_VERSION,
                                               FUSE_KERNEL_MINOR_VERSION);
    const char *lacks = bridge_library_lacks ();
    const struct {
        const char *key, *value;
    } rows[] = {
        { "abi", abi },
        { "bash_completion_dir", BASHCOMPLETIONDIR },
        { "bindir", BINDIR },
        { "bpftrace_dir", PKGDATADIR "/bpftrace" },
        { "crash_lines", yes_or_no (BUILT_LIBBACKTRACE) },
        { "docdir", DOCDIR },
        { "fish_completion_dir", FISHCOMPLETIONDIR },
        { "function_graph", yes_or_no (BUILT_FUNCTION_GRAPH) },
        { "gdb_auto_load_dir", GDBAUTOLOADDIR },
        { "includedir", PKGINCLUDEDIR },
        { "io_uring", yes_or_no (BUILT_LIBURING) },
        { "kernel_interface", kernel },
        { "libdir", PKGLIBDIR },
        { "libexecdir", PKGLIBEXECDIR },
        { "libfuse", bridge_library () },
        { "libfuse_lacks", lacks ? lacks : "" },
        { "logdir", log },
        { "mandir", MANDIR },
        { "mount_helper_dir", MOUNTHELPERDIR },
        { "presetdir", PRESETSDIR },
        { "probes", yes_or_no (BUILT_PROBES) },
        { "rundir", run },
        { "seccomp", yes_or_no (BUILT_LIBSECCOMP) },
        { "sysconfdir", SYSCONFDIR "/windlass" },
        { "systemd_system_unit_dir", SYSTEMDSYSTEMUNITDIR },
        { "systemd_user_unit_dir", SYSTEMDUSERUNITDIR },
        { "tls", yes_or_no (BUILT_OPENSSL) },
        { "top_screen", yes_or_no (BUILT_NCURSES) },
        { "version", PACKAGE_VERSION },
        { "xlatordir", XLATORDIR },
        { "zsh_completion_dir", ZSHCOMPLETIONDIR },
    };

    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        printf ("%s=%s\n", rows[i].key, rows[i].value);
}
