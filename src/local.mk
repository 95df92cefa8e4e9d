# SPDX-License-Identifier: LGPL-2.1-or-later
# The program, in layers: core <- graph <- fuse <- the rest. A folder's files are one list, sorted.

# --- core: on the path of every call; and trace, which listens there -------------------------------

noinst_LIBRARIES += src/libcore.a
src_libcore_a_SOURCES = \
    %D%/core/attempt.c \
    %D%/core/audit.c \
    %D%/core/audit.h \
    %D%/core/chance.c \
    %D%/core/clock.c \
    %D%/core/dentry.c \
    %D%/core/depot.h \
    %D%/core/dict.c \
    %D%/core/dirent.c \
    %D%/core/errors.c \
    %D%/core/every.c \
    %D%/core/failures.c \
    %D%/core/failures.h \
    %D%/core/fd.c \
    %D%/core/fops.c \
    %D%/core/frame.c \
    %D%/core/gfid.c \
    %D%/core/heaps.c \
    %D%/core/heaps.h \
    %D%/core/held.c \
    %D%/core/histogram.c \
    %D%/core/iatt.c \
    %D%/core/inode.c \
    %D%/core/iobuf.c \
    %D%/core/itable.h \
    %D%/core/json.c \
    %D%/core/json.h \
    %D%/core/keep.h \
    %D%/core/limit.c \
    %D%/core/limited.c \
    %D%/core/line.c \
    %D%/core/line.h \
    %D%/core/loc.c \
    %D%/core/log.c \
    %D%/core/lru.c \
    %D%/core/opset.c \
    %D%/core/option.c \
    %D%/core/passthrough.c \
    %D%/core/passthrough.h \
    %D%/core/pieces.c \
    %D%/core/print.c \
    %D%/core/print.h \
    %D%/core/priority.c \
    %D%/core/probe.c \
    %D%/core/probe.h \
    %D%/core/process.c \
    %D%/core/random.c \
    %D%/core/ours.c \
    %D%/core/rundir.c \
    %D%/core/scheduler.c \
    %D%/core/scheduler.h \
    %D%/core/see.h \
    %D%/core/seen.c \
    %D%/core/seen.h \
    %D%/core/slots.c \
    %D%/core/stack.c \
    %D%/core/stack.h \
    %D%/core/stub.c \
    %D%/core/suggest.c \
    %D%/core/sync.c \
    %D%/core/thread.c \
    %D%/core/ticks.c \
    %D%/core/timer.c \
    %D%/core/translator.c \
    %D%/core/turns.c \
    %D%/core/turns.h \
    %D%/core/waiting.c \
    %D%/core/watch.c \
    %D%/core/watchdog.c \
    %D%/core/watchdog.h \
    %D%/core/work.c \
    %D%/trace/assemble.c \
    %D%/trace/assemble.h \
    %D%/trace/busy.c \
    %D%/trace/busy.h \
    %D%/trace/metrics-json.c \
    %D%/trace/metrics-lines.c \
    %D%/trace/metrics.h \
    %D%/trace/numbers.c \
    %D%/trace/numbers.h \
    %D%/trace/openmetrics.c \
    %D%/trace/probes.c \
    %D%/trace/probes.h \
    %D%/trace/recording.c \
    %D%/trace/recording.h \
    %D%/trace/rings.c \
    %D%/trace/rings.h \
    %D%/trace/swallowed.c \
    %D%/trace/swallowed.h \
    %D%/trace/timeline-folded.c \
    %D%/trace/timeline-json.c \
    %D%/trace/timeline-text.c \
    %D%/trace/timeline.c \
    %D%/trace/timeline.h

# fops.def as macros that can be expanded more than once in one place.
BUILT_SOURCES = src/core/fops-rows.h
CLEANFILES += src/core/fops-rows.h
EXTRA_DIST += %D%/core/fops-rows.awk
src/core/fops-rows.h: %D%/fops.def %D%/core/fops-rows.awk
	$(AM_V_GEN)$(MKDIR_P) src/core && \
	$(AWK) -f $(srcdir)/%D%/core/fops-rows.awk $(srcdir)/%D%/fops.def >$@.new && mv $@.new $@

# What a translator sees, for those built elsewhere.
pkginclude_HEADERS = %D%/fops.def %D%/xlator.h
pkgincludecoredir = $(pkgincludedir)/core
pkgincludecore_HEADERS = \
    %D%/core/attempt.h \
    %D%/core/chance.h \
    %D%/core/changes.h \
    %D%/core/clock.h \
    %D%/core/dict.h \
    %D%/core/dirent.h \
    %D%/core/errors.h \
    %D%/core/every.h \
    %D%/core/fd.h \
    %D%/core/fops.h \
    %D%/core/frame.h \
    %D%/core/gfid.h \
    %D%/core/held.h \
    %D%/core/histogram.h \
    %D%/core/iatt.h \
    %D%/core/inode.h \
    %D%/core/invalidate.h \
    %D%/core/iobuf.h \
    %D%/core/json.h \
    %D%/core/kinds.h \
    %D%/core/limit.h \
    %D%/core/loc.h \
    %D%/core/log.h \
    %D%/core/lru.h \
    %D%/core/opset.h \
    %D%/core/option.h \
    %D%/core/pieces.h \
    %D%/core/priority.h \
    %D%/core/process.h \
    %D%/core/random.h \
    %D%/core/ours.h \
    %D%/core/rundir.h \
    %D%/core/shared.h \
    %D%/core/stub.h \
    %D%/core/suggest.h \
    %D%/core/sync.h \
    %D%/core/thread.h \
    %D%/core/ticks.h \
    %D%/core/timer.h \
    %D%/core/translator.h \
    %D%/core/undef.h \
    %D%/core/watch.h \
    %D%/core/work.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = src/windlass.pc

# --- graph: before the first request ---------------------------------------------------------------

noinst_LIBRARIES += src/libgraph.a
src_libgraph_a_SOURCES = \
    %D%/graph/activate.c \
    %D%/graph/graph.h \
    %D%/graph/internal.h \
    %D%/graph/lexer.c \
    %D%/graph/load.c \
    %D%/graph/module.c \
    %D%/graph/needs.c \
    %D%/graph/one.c \
    %D%/graph/options.c \
    %D%/graph/print.c \
    %D%/graph/problem.c \
    %D%/graph/read.c \
    %D%/graph/reload.c \
    %D%/graph/splice.c \
    %D%/graph/volfile.c

# --- control: how a daemon that runs is talked to --------------------------------------------------

noinst_LIBRARIES += src/libcontrol.a
src_libcontrol_a_SOURCES = \
    %D%/control/client.c \
    %D%/control/control.h \
    %D%/control/dispatch.c \
    %D%/control/mounts.c \
    %D%/control/path.c \
    %D%/control/pieces.c \
    %D%/control/protocol.c \
    %D%/control/server.c

# --- meta: what goes on, as files -------------------------------------------------------------------

noinst_LIBRARIES += src/libmeta.a
src_libmeta_a_SOURCES = \
    %D%/meta/daemon.c \
    %D%/meta/dir.c \
    %D%/meta/file.c \
    %D%/meta/frames.c \
    %D%/meta/inode.c \
    %D%/meta/internal.h \
    %D%/meta/meta.c \
    %D%/meta/meta.h \
    %D%/meta/names.c \
    %D%/meta/tree.c \
    %D%/meta/xlator.c

# --- fuse: kernel requests in, replies out ---------------------------------------------------------

noinst_LIBRARIES += src/libbridge.a
src_libbridge_a_SOURCES = \
    %D%/fuse/about.c \
    %D%/fuse/attr.c \
    %D%/fuse/bridge.h \
    %D%/fuse/dir.c \
    %D%/fuse/dump.c \
    %D%/fuse/entry.c \
    %D%/fuse/file.c \
    %D%/fuse/groups.c \
    %D%/fuse/init-flags.c \
    %D%/fuse/internal.h \
    %D%/fuse/interrupt.c \
    %D%/fuse/invalidate.c \
    %D%/fuse/ioctl.c \
    %D%/fuse/limits.c \
    %D%/fuse/lock.c \
    %D%/fuse/loop.c \
    %D%/fuse/names.c \
    %D%/fuse/open.c \
    %D%/fuse/options.c \
    %D%/fuse/passthrough.c \
    %D%/fuse/place.c \
    %D%/fuse/place.h \
    %D%/fuse/requests.c \
    %D%/fuse/rights.c \
    %D%/fuse/ring-nudge.c \
    %D%/fuse/ring-requests.c \
    %D%/fuse/ring-share.c \
    %D%/fuse/ring-threads.c \
    %D%/fuse/ring.c \
    %D%/fuse/ring.h \
    %D%/fuse/session.c \
    %D%/fuse/stop.c \
    %D%/fuse/trim.c \
    %D%/fuse/uring.c \
    %D%/fuse/uring.h \
    %D%/fuse/write.c \
    %D%/fuse/xattr.c

# --- the function graph ----------------------------------------------------------------------------

# Its own parts, and those of the program that no request meets, have no room for it.
untraced_cflags = $(WINDLASS_CFLAGS) $(SANITIZERS)

noinst_LIBRARIES += src/libfunctions.a src/libhooks.a
src_libfunctions_a_SOURCES = \
    %D%/trace/calls.c \
    %D%/trace/calls.h \
    %D%/trace/functions/functions.c \
    %D%/trace/functions/functions.h \
    %D%/trace/functions/gate.c \
    %D%/trace/functions/hook.h \
    %D%/trace/functions/internal.h \
    %D%/trace/functions/patch.h \
    %D%/trace/functions/read.c \
    %D%/trace/functions/sites.c \
    %D%/trace/functions/sites.h \
    %D%/trace/functions/threads.c
src_libfunctions_a_CFLAGS = $(untraced_cflags)

# What each traced call runs: it must not be traced itself, nor watched by a sanitizer, nor touch what it doesn't save. And what
# writes to code, of which the thread sanitizer keeps no record that can be written to.
src_libhooks_a_SOURCES = \
    %D%/trace/functions/hook-arm64.S \
    %D%/trace/functions/hook-x86.S \
    %D%/trace/functions/hook.c \
    %D%/trace/functions/patch-arm64.c \
    %D%/trace/functions/patch-x86.c \
    %D%/trace/functions/patch.c
src_libhooks_a_CFLAGS = $(WINDLASS_CFLAGS) $(HOOK_CFLAGS)

# --- the program -----------------------------------------------------------------------------------

# All objects, not only what the program itself calls: translators use the rest. Programs of tests need the same.
whole_objects = $(src_libcore_a_OBJECTS) $(src_libgraph_a_OBJECTS) $(src_libmeta_a_OBJECTS) $(src_libcontrol_a_OBJECTS) $(src_libbridge_a_OBJECTS)
whole_objects += $(src_libfunctions_a_OBJECTS) $(src_libhooks_a_OBJECTS)
whole_libs = $(FUSE_LIBS) $(URING_LIBS) $(GLIB_LIBS)

sbin_PROGRAMS += src/windlass
src_windlass_SOURCES = \
    %D%/cli/check.c \
    %D%/cli/cli.c \
    %D%/cli/cli.h \
    %D%/cli/conform.c \
    %D%/cli/errors.c \
    %D%/cli/explain.c \
    %D%/cli/fault.c \
    %D%/cli/graph.c \
    %D%/cli/help.c \
    %D%/cli/inflight.c \
    %D%/cli/man.c \
    %D%/cli/numbers.c \
    %D%/cli/numbers.h \
    %D%/cli/picture.c \
    %D%/cli/picture.h \
    %D%/cli/output.c \
    %D%/cli/stats.c \
    %D%/cli/tell.c \
    %D%/cli/timeline.c \
    %D%/cli/top-screen.c \
    %D%/cli/top.c \
    %D%/cli/top.h \
    %D%/cli/trace.c \
    %D%/conform/allow.c \
    %D%/conform/conform.h \
    %D%/conform/history/answered.c \
    %D%/conform/history/apply-names.c \
    %D%/conform/history/apply.c \
    %D%/conform/history/check.c \
    %D%/conform/history/disk.c \
    %D%/conform/history/drive.c \
    %D%/conform/history/drive.h \
    %D%/conform/history/gate.c \
    %D%/conform/history/histories.c \
    %D%/conform/history/history.h \
    %D%/conform/history/late.c \
    %D%/conform/history/make.c \
    %D%/conform/history/model.c \
    %D%/conform/history/model.h \
    %D%/conform/history/run.c \
    %D%/conform/history/script.c \
    %D%/conform/history/seen.c \
    %D%/conform/history/shrink.c \
    %D%/conform/history/wind.c \
    %D%/conform/inprocess/call.c \
    %D%/conform/inprocess/classes.c \
    %D%/conform/inprocess/keys.c \
    %D%/conform/inprocess/counts.c \
    %D%/conform/inprocess/dump.c \
    %D%/conform/inprocess/fault.c \
    %D%/conform/inprocess/finding.c \
    %D%/conform/inprocess/inprocess.c \
    %D%/conform/inprocess/inprocess.h \
    %D%/conform/inprocess/inspect.c \
    %D%/conform/inprocess/loan.c \
    %D%/conform/inprocess/locks.c \
    %D%/conform/inprocess/order.c \
    %D%/conform/inprocess/place.c \
    %D%/conform/inprocess/rules.c \
    %D%/conform/inprocess/statics.c \
    %D%/conform/inprocess/worker.c \
    %D%/conform/inprocess/world.c \
    %D%/conform/keeper.c \
    %D%/conform/mount/acl.c \
    %D%/conform/mount/act.c \
    %D%/conform/mount/attributes.c \
    %D%/conform/mount/by-design.c \
    %D%/conform/mount/concurrent.c \
    %D%/conform/mount/data.c \
    %D%/conform/mount/diff.c \
    %D%/conform/mount/directories.c \
    %D%/conform/mount/links.c \
    %D%/conform/mount/locks.c \
    %D%/conform/mount/mapped.c \
    %D%/conform/mount/mount.c \
    %D%/conform/mount/mount.h \
    %D%/conform/mount/offsets.c \
    %D%/conform/mount/path-calls.c \
    %D%/conform/mount/paths.c \
    %D%/conform/mount/paths.h \
    %D%/conform/mount/permissions.c \
    %D%/conform/mount/privileges.c \
    %D%/conform/mount/rename.c \
    %D%/conform/mount/roles.c \
    %D%/conform/mount/roles.h \
    %D%/conform/mount/run.c \
    %D%/conform/mount/special.c \
    %D%/conform/mount/stage.c \
    %D%/conform/mount/themes.c \
    %D%/conform/mount/themes.h \
    %D%/conform/mount/times.c \
    %D%/conform/mount/unlinked.c \
    %D%/conform/mount/xattrs.c \
    %D%/conform/report.c \
    %D%/conform/scratch.c \
    %D%/daemon/background.c \
    %D%/daemon/commands.c \
    %D%/daemon/confine.c \
    %D%/daemon/crash.c \
    %D%/daemon/daemon.h \
    %D%/daemon/errors.c \
    %D%/daemon/explain.c \
    %D%/daemon/inflight.c \
    %D%/daemon/mount-options.c \
    %D%/daemon/mountpoint.c \
    %D%/daemon/options.c \
    %D%/daemon/paths.c \
    %D%/daemon/signals.c \
    %D%/daemon/statedump/inodes.c \
    %D%/daemon/statedump/internal.h \
    %D%/daemon/statedump/memory.c \
    %D%/daemon/statedump/requests.c \
    %D%/daemon/statedump/statedump.c \
    %D%/daemon/statedump/translators.c \
    %D%/daemon/statedump/wanted.c \
    %D%/daemon/stats.c \
    %D%/daemon/timeline.c \
    %D%/daemon/trace.c \
    %D%/main.c
src_windlass_CFLAGS = $(untraced_cflags)
src_windlass_LDADD = $(whole_objects) $(whole_libs) $(SECCOMP_LIBS) $(NCURSES_LIBS)

# For mount(8) and fstab(5), which look for it in /sbin: --with-mount-helper-dir=/sbin where that isn't sbindir.
mounthelper_SCRIPTS = src/mount.windlass
CLEANFILES += src/mount.windlass
EXTRA_DIST += %D%/mount.windlass.in
src/mount.windlass: %D%/mount.windlass.in Makefile
	$(AM_V_GEN)$(SED) 's|[@]sbindir@|$(sbindir)|g' $(srcdir)/%D%/mount.windlass.in >$@.new && \
	chmod +x $@.new && mv $@.new $@

# The kernel calls the type fuse.windlass, by which mount(8) looks for the helper when a mount is remounted.
install-exec-hook:
	ln -sf mount.windlass '$(DESTDIR)$(mounthelperdir)/mount.fuse.windlass'

# --- bpftrace --------------------------------------------------------------------------------------

bpftracedir = $(pkgdatadir)/bpftrace
dist_bpftrace_SCRIPTS = \
    %D%/trace/bpftrace/errors.bt \
    %D%/trace/bpftrace/fop-latency.bt \
    %D%/trace/bpftrace/slow-requests.bt \
    %D%/trace/bpftrace/translator-latency.bt

# --- gdb -------------------------------------------------------------------------------------------

# gdb loads <auto-load folder>/<path of the program>-gdb.py with the program, and that the files of the folder beside it. A gdb of /usr
# looks into no other prefix's folder. There a link beside the program leads to the file, which gdb loads, or says how to allow that.
gdb_modules = \
    %D%/gdb/arguments.py \
    %D%/gdb/base.py \
    %D%/gdb/breaking.py \
    %D%/gdb/callbacks.py \
    %D%/gdb/finding.py \
    %D%/gdb/printers.py \
    %D%/gdb/running.py \
    %D%/gdb/show_files.py \
    %D%/gdb/show_frames.py \
    %D%/gdb/show_graph.py \
    %D%/gdb/stepping.py
gdb_loader = $(gdbautoloaddir)$(sbindir)/windlass-gdb
gdb_link = $(sbindir)/windlass-gdb.py
EXTRA_DIST += %D%/gdb/windlass.py $(gdb_modules)
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(gdb_loader)'
	$(INSTALL_DATA) $(srcdir)/%D%/gdb/windlass.py '$(DESTDIR)$(gdb_loader).py'
	for module in $(gdb_modules); do $(INSTALL_DATA) $(srcdir)/$$module '$(DESTDIR)$(gdb_loader)/' || exit 1; done
	case '$(gdbautoloaddir)' in /usr/share/gdb/auto-load) ;; *) \
	    $(MKDIR_P) '$(DESTDIR)$(sbindir)' && ln -sfr '$(DESTDIR)$(gdb_loader).py' '$(DESTDIR)$(gdb_link)' ;; esac
uninstall-hook:
	rm -f '$(DESTDIR)$(mounthelperdir)/mount.fuse.windlass'
	rm -rf '$(DESTDIR)$(gdb_loader)' '$(DESTDIR)$(gdb_loader).py' '$(DESTDIR)$(gdb_link)'
