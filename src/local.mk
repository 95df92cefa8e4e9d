# SPDX-License-Identifier: LGPL-2.1-or-later
# The program, in layers: core <- graph <- fuse <- the rest. A folder's files are one list, sorted.

# --- core: on the path of every call; and trace, which listens there ------------------------------

noinst_LIBRARIES += src/libcore.a
src_libcore_a_SOURCES = \
    %D%/core/base/arguments.c \
    %D%/core/base/arguments.h \
    %D%/core/base/audit.c \
    %D%/core/base/audit.h \
    %D%/core/base/build-kind.c \
    %D%/core/base/build-kind.h \
    %D%/core/base/errors.c \
    %D%/core/base/gfid.c \
    %D%/core/base/histogram.c \
    %D%/core/base/json.c \
    %D%/core/base/json-read.c \
    %D%/core/base/json.h \
    %D%/core/base/log-journal.c \
    %D%/core/base/log.c \
    %D%/core/base/malloc-trim.c \
    %D%/core/base/malloc-trim.h \
    %D%/core/base/path-question.c \
    %D%/core/base/path-question.h \
    %D%/core/base/printable.c \
    %D%/core/base/process.c \
    %D%/core/base/rundir.c \
    %D%/core/base/safe-open.c \
    %D%/core/base/sibling.c \
    %D%/core/base/sibling.h \
    %D%/core/base/suggest.c \
    %D%/core/time/attempt.c \
    %D%/core/time/clock.c \
    %D%/core/time/random.c \
    %D%/core/time/read-section.c \
    %D%/core/time/read-section.h \
    %D%/core/time/scheduler.c \
    %D%/core/time/scheduler.h \
    %D%/core/time/seeded-chance.c \
    %D%/core/time/thread.c \
    %D%/core/time/ticks.c \
    %D%/core/time/timer.c \
    %D%/core/data/answer-vector.c \
    %D%/core/data/byte-claims.c \
    %D%/core/data/dentry.c \
    %D%/core/data/detached.c \
    %D%/core/data/dict.c \
    %D%/core/data/dirent.c \
    %D%/core/data/fd.c \
    %D%/core/data/file-system.c \
    %D%/core/data/iatt.c \
    %D%/core/data/inode-numbers.c \
    %D%/core/data/inode.c \
    %D%/core/data/iobuf.c \
    %D%/core/data/itable.h \
    %D%/core/data/loc.c \
    %D%/core/data/origin.c \
    %D%/core/data/number-slots.c \
    %D%/core/data/spare-buffers.h \
    %D%/core/table/fops.c \
    %D%/core/table/opset.c \
    %D%/core/table/print-values.c \
    %D%/core/table/print-values.h \
    %D%/core/edge/any-fop.c \
    %D%/core/edge/call-fields.h \
    %D%/core/edge/caller.c \
    %D%/core/edge/frame.c \
    %D%/core/edge/hidden.c \
    %D%/core/edge/option.c \
    %D%/core/edge/stack.c \
    %D%/core/edge/stack-wait.c \
    %D%/core/edge/stack.h \
    %D%/core/edge/stub.c \
    %D%/core/edge/reply.c \
    %D%/core/edge/root.c \
    %D%/core/edge/server.c \
    %D%/core/edge/sync.c \
    %D%/core/edge/sync-lock.c \
    %D%/core/edge/sync-names.c \
    %D%/core/edge/fan-out.c \
    %D%/core/edge/pathinfo.c \
    %D%/core/edge/steps.c \
    %D%/core/edge/translator.c \
    %D%/core/edge/watch.c \
    %D%/core/work/delayed.c \
    %D%/core/work/job-internal.h \
    %D%/core/work/job-report.c \
    %D%/core/work/job.c \
    %D%/core/work/limit-internal.h \
    %D%/core/work/limit-report.c \
    %D%/core/work/limit.c \
    %D%/core/work/limited-routes.c \
    %D%/core/work/pause.c \
    %D%/core/work/turns.c \
    %D%/core/work/turns.h \
    %D%/core/work/work.c \
    %D%/core/cache/cache-weight.c \
    %D%/core/cache/change-bracket.c \
    %D%/core/cache/lru.c \
    %D%/core/cache/pages.c \
    %D%/core/records/record-files.c \
    %D%/core/records/record-gap.c \
    %D%/core/records/record-internal.h \
    %D%/core/records/record-log.c \
    %D%/core/records/record-logs.c \
    %D%/core/store/file.c \
    %D%/core/store/internal.h \
    %D%/core/store/records.c \
    %D%/core/store/store.c \
    %D%/core/realm/answers.c \
    %D%/core/realm/calls.c \
    %D%/core/realm/copy-between.c \
    %D%/core/realm/events.c \
    %D%/core/realm/internal.h \
    %D%/core/realm/keys.c \
    %D%/core/realm/names.c \
    %D%/core/realm/passthrough.c \
    %D%/core/realm/passthrough.h \
    %D%/core/realm/slots.c \
    %D%/core/realm/walk.c \
    %D%/core/rules/match.c \
    %D%/core/rules/rule-reader.c \
    %D%/core/rules/rules.c \
    %D%/core/rules/verdict.c \
    %D%/core/rules/verdict.h \
    %D%/core/report/failures.c \
    %D%/core/report/failures.h \
    %D%/core/report/probe.c \
    %D%/core/report/probe.h \
    %D%/core/report/request-snapshot.c \
    %D%/core/report/request-snapshot.h \
    %D%/core/report/wait-reason.c \
    %D%/core/report/watchdog.c \
    %D%/core/report/watchdog.h \
    %D%/trace/metrics/busy.c \
    %D%/trace/metrics/busy.h \
    %D%/trace/metrics/json.c \
    %D%/trace/metrics/lines.c \
    %D%/trace/metrics/metrics.h \
    %D%/trace/metrics/numbers.c \
    %D%/trace/metrics/numbers.h \
    %D%/trace/metrics/openmetrics.c \
    %D%/trace/probes.c \
    %D%/trace/probes.h \
    %D%/trace/swallowed.c \
    %D%/trace/swallowed.h \
    %D%/trace/timeline/assemble.c \
    %D%/trace/timeline/assemble.h \
    %D%/trace/timeline/folded.c \
    %D%/trace/timeline/json.c \
    %D%/trace/timeline/recording.c \
    %D%/trace/timeline/recording.h \
    %D%/trace/timeline/rings.c \
    %D%/trace/timeline/rings.h \
    %D%/trace/timeline/text.c \
    %D%/trace/timeline/timeline.c \
    %D%/trace/timeline/timeline.h

# fops.def and wire.def as macros that can be expanded more than once in one place.
BUILT_SOURCES = src/core/table/fops-rows.h src/rpc/wire/wire-rows.h
CLEANFILES += src/core/table/fops-rows.h src/rpc/wire/wire-rows.h
src/core/table/fops-rows.h: %D%/fops.def %D%/core/table/fops-rows.awk
	$(AM_V_GEN)$(MKDIR_P) src/core/table && \
	$(AWK) -f $(srcdir)/%D%/core/table/fops-rows.awk $(srcdir)/%D%/fops.def >$@.new && mv $@.new $@
src/rpc/wire/wire-rows.h: %D%/rpc/wire/wire.def %D%/core/table/fops-rows.awk
	$(AM_V_GEN)$(MKDIR_P) src/rpc/wire && \
	$(AWK) -v table=WIRE -v row=PROCEDURE -f $(srcdir)/%D%/core/table/fops-rows.awk \
	    $(srcdir)/%D%/rpc/wire/wire.def >$@.new && mv $@.new $@

# The folders of the installation. Only files that include the header are compiled again when one
# changes, or another one comes.
BUILT_SOURCES += src/folders.h
CLEANFILES += src/folders.h src/folders.stamp
src/folders.h: src/folders.stamp
src/folders.stamp: Makefile
	$(AM_V_GEN)$(MKDIR_P) src && \
	for folder in 'BASHCOMPLETIONDIR $(bashcompletiondir)' 'BINDIR $(bindir)' \
	    'DOCDIR $(docdir)' 'FISHCOMPLETIONDIR $(fishcompletiondir)' \
	    'GDBAUTOLOADDIR $(gdbautoloaddir)' 'MANDIR $(mandir)' \
	    'MOUNTHELPERDIR $(mounthelperdir)' 'PKGDATADIR $(pkgdatadir)' \
	    'PKGINCLUDEDIR $(pkgincludedir)' 'PKGLIBDIR $(pkglibdir)' \
	    'PKGLIBEXECDIR $(pkglibexecdir)' 'PRESETSDIR $(pkgdatadir)/presets' \
	    'SYSCONFDIR $(sysconfdir)' 'SYSTEMDSYSTEMUNITDIR $(systemdsystemunitdir)' \
	    'SYSTEMDUSERUNITDIR $(systemduserunitdir)' 'XLATORDIR $(pkglibdir)/xlator' \
	    'ZSHCOMPLETIONDIR $(zshcompletiondir)'; do \
	    echo "#define $${folder%% *} \"$${folder#* }\""; \
	done >src/folders.new && \
	if cmp -s src/folders.new src/folders.h; then rm src/folders.new; \
	else mv src/folders.new src/folders.h; fi && \
	touch $@

# What a translator sees, for those built elsewhere.
pkginclude_HEADERS = %D%/fops.def %D%/xlator.h
pkgincludebasedir = $(pkgincludedir)/core/base
pkgincludebase_HEADERS = \
    %D%/core/base/errors.h \
    %D%/core/base/fnv.h \
    %D%/core/base/gfid.h \
    %D%/core/base/histogram.h \
    %D%/core/base/name.h \
    %D%/core/base/json.h \
    %D%/core/base/log-journal.h \
    %D%/core/base/log.h \
    %D%/core/base/printable.h \
    %D%/core/base/process-mark.h \
    %D%/core/base/process.h \
    %D%/core/base/replaceable.h \
    %D%/core/base/rundir.h \
    %D%/core/base/safe-open.h \
    %D%/core/base/suggest.h
pkgincludetimedir = $(pkgincludedir)/core/time
pkgincludetime_HEADERS = \
    %D%/core/time/attempt.h \
    %D%/core/time/clock.h \
    %D%/core/time/random.h \
    %D%/core/time/seeded-chance.h \
    %D%/core/time/thread.h \
    %D%/core/time/ticks.h \
    %D%/core/time/timer.h
pkgincludedatadir = $(pkgincludedir)/core/data
pkgincludedata_HEADERS = \
    %D%/core/data/answer-vector.h \
    %D%/core/data/byte-claims.h \
    %D%/core/data/dict.h \
    %D%/core/data/dirent.h \
    %D%/core/data/fd.h \
    %D%/core/data/file-system.h \
    %D%/core/data/iatt.h \
    %D%/core/data/inode.h \
    %D%/core/data/iobuf.h \
    %D%/core/data/loc.h \
    %D%/core/data/origin.h \
    %D%/core/data/types.h
pkgincludetabledir = $(pkgincludedir)/core/table
pkgincludetable_HEADERS = \
    %D%/core/table/fops.h \
    %D%/core/table/opset.h \
    %D%/core/table/value-kinds.h
pkgincludeedgedir = $(pkgincludedir)/core/edge
pkgincludeedge_HEADERS = \
    %D%/core/edge/any-fop.h \
    %D%/core/edge/frame.h \
    %D%/core/edge/hidden.h \
    %D%/core/edge/invalidate.h \
    %D%/core/edge/option.h \
    %D%/core/edge/stub.h \
    %D%/core/edge/reply.h \
    %D%/core/edge/root.h \
    %D%/core/edge/server.h \
    %D%/core/edge/sync.h \
    %D%/core/edge/sync-lock.h \
    %D%/core/edge/sync-names.h \
    %D%/core/edge/fan-out.h \
    %D%/core/edge/pathinfo.h \
    %D%/core/edge/steps.h \
    %D%/core/edge/translator.h \
    %D%/core/edge/watch.h
pkgincludeworkdir = $(pkgincludedir)/core/work
pkgincludework_HEADERS = \
    %D%/core/work/delayed.h \
    %D%/core/work/job.h \
    %D%/core/work/limit.h \
    %D%/core/work/pause.h \
    %D%/core/work/work.h
pkgincluderecordsdir = $(pkgincludedir)/core/records
pkgincluderecords_HEADERS = \
    %D%/core/records/record-log.h
pkgincluderulesdir = $(pkgincludedir)/core/rules
pkgincluderules_HEADERS = \
    %D%/core/rules/rule-doubt.h \
    %D%/core/rules/rule-reader.h \
    %D%/core/rules/rules.h
pkgincluderealmdir = $(pkgincludedir)/core/realm
pkgincluderealm_HEADERS = \
    %D%/core/realm/copy-between.h \
    %D%/core/realm/realm.h
pkgincludestoredir = $(pkgincludedir)/core/store
pkgincludestore_HEADERS = \
    %D%/core/store/store.h
pkgincludecachedir = $(pkgincludedir)/core/cache
pkgincludecache_HEADERS = \
    %D%/core/cache/cache-weight.h \
    %D%/core/cache/change-bracket.h \
    %D%/core/cache/change-views.h \
    %D%/core/cache/lru.h \
    %D%/core/cache/pages.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = src/windlass.pc

# --- graph: before the first request --------------------------------------------------------------

noinst_LIBRARIES += src/libgraph.a
src_libgraph_a_SOURCES = \
    %D%/graph/activate.c \
    %D%/graph/foreign.c \
    %D%/graph/inodes.c \
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

# --- rpc: connections to servers of GlusterFS -----------------------------------------------------

noinst_LIBRARIES += src/librpc.a
src_librpc_a_SOURCES = \
    %D%/rpc/call.c \
    %D%/rpc/call.h \
    %D%/rpc/connect.c \
    %D%/rpc/connection.c \
    %D%/rpc/connection.h \
    %D%/rpc/internal.h \
    %D%/rpc/loop.c \
    %D%/rpc/loop.h \
    %D%/rpc/receive.c \
    %D%/rpc/send.c \
    %D%/rpc/stream.c \
    %D%/rpc/stream.h \
    %D%/rpc/text-dict.c \
    %D%/rpc/text-dict.h \
    %D%/rpc/timeouts.c \
    %D%/rpc/tls/tls-context.c \
    %D%/rpc/tls/tls-internal.h \
    %D%/rpc/tls/tls-reasons.c \
    %D%/rpc/tls/tls.c \
    %D%/rpc/tls/tls.h \
    %D%/rpc/volfile/volfile-name.c \
    %D%/rpc/volfile/volfile-server.c \
    %D%/rpc/volfile/volfile-server.h \
    %D%/rpc/volfile/volfile-watch.c \
    %D%/rpc/volfile/volfile-watch.h \
    %D%/rpc/wire/values.c \
    %D%/rpc/wire/values.h \
    %D%/rpc/wire/wire.c \
    %D%/rpc/wire/wire.def \
    %D%/rpc/wire/wire.h \
    %D%/rpc/xdr.c \
    %D%/rpc/xdr.h

# --- control: how a daemon that runs is talked to -------------------------------------------------

noinst_LIBRARIES += src/libcontrol.a
src_libcontrol_a_SOURCES = \
    %D%/control/client.c \
    %D%/control/control.h \
    %D%/control/dispatch.c \
    %D%/control/listener.c \
    %D%/control/listener.h \
    %D%/control/mounts.c \
    %D%/control/path.c \
    %D%/control/pieces.c \
    %D%/control/protocol.c \
    %D%/control/server-internal.h \
    %D%/control/server.c \
    %D%/control/stale.c \
    %D%/control/unmount.c \
    %D%/control/users.c \
    %D%/control/views.c

# --- meta: what goes on, as files -----------------------------------------------------------------

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

# --- fuse: kernel requests in, replies out --------------------------------------------------------

noinst_LIBRARIES += src/libbridge.a
src_libbridge_a_SOURCES = \
    %D%/fuse/about.c \
    %D%/fuse/bridge.h \
    %D%/fuse/dump.c \
    %D%/fuse/groups.c \
    %D%/fuse/groups.h \
    %D%/fuse/init-flags.c \
    %D%/fuse/init-flags.h \
    %D%/fuse/invalidate.c \
    %D%/fuse/notices.c \
    %D%/fuse/kernel-cache.c \
    %D%/fuse/kernel-cache.h \
    %D%/fuse/mount-cause.c \
    %D%/fuse/move/hold.c \
    %D%/fuse/move/hold.h \
    %D%/fuse/move/move.c \
    %D%/fuse/move/old-graphs.c \
    %D%/fuse/move/old-graphs.h \
    %D%/fuse/move/pause.c \
    %D%/fuse/move/pause.h \
    %D%/fuse/ops/attr.c \
    %D%/fuse/ops/dir.c \
    %D%/fuse/ops/entry.c \
    %D%/fuse/ops/file.c \
    %D%/fuse/ops/ioctl.c \
    %D%/fuse/ops/lock.c \
    %D%/fuse/ops/names.c \
    %D%/fuse/ops/open.c \
    %D%/fuse/ops/ops.h \
    %D%/fuse/ops/privileges.c \
    %D%/fuse/ops/umask.c \
    %D%/fuse/ops/unknown-name.c \
    %D%/fuse/ops/write.c \
    %D%/fuse/ops/xattr.c \
    %D%/fuse/options.c \
    %D%/fuse/passthrough.c \
    %D%/fuse/passthrough.h \
    %D%/fuse/reports.h \
    %D%/fuse/request.c \
    %D%/fuse/request.h \
    %D%/fuse/rights.c \
    %D%/fuse/ring/entries.c \
    %D%/fuse/ring/nudge.c \
    %D%/fuse/ring/queues.c \
    %D%/fuse/ring/ring.c \
    %D%/fuse/ring/ring.h \
    %D%/fuse/ring/share.c \
    %D%/fuse/ring/transport.h \
    %D%/fuse/ring/uring.c \
    %D%/fuse/ring/uring.h \
    %D%/fuse/ring/watch.c \
    %D%/fuse/ring/workers.c \
    %D%/fuse/session.c \
    %D%/fuse/settings.h \
    %D%/fuse/short-numbers.c \
    %D%/fuse/short-numbers.h \
    %D%/fuse/state.c \
    %D%/fuse/state.h \
    %D%/fuse/stop.c \
    %D%/fuse/threads/device.c \
    %D%/fuse/threads/device.h \
    %D%/fuse/threads/dying.c \
    %D%/fuse/threads/dying.h \
    %D%/fuse/threads/interrupt.c \
    %D%/fuse/threads/interrupt.h \
    %D%/fuse/threads/limits.c \
    %D%/fuse/threads/limits.h \
    %D%/fuse/threads/place.c \
    %D%/fuse/threads/place.h \
    %D%/fuse/threads/threads.c \
    %D%/fuse/threads/threads.h \
    %D%/fuse/transport.h \
    %D%/fuse/trim.c \
    %D%/fuse/trim.h

# --- the function graph ---------------------------------------------------------------------------

# Its own parts, and those of the program that no request meets, have no room for it.
untraced_cflags = $(WINDLASS_CFLAGS) $(SANITIZERS)

noinst_LIBRARIES += src/libfunctions.a src/libhooks.a
src_libfunctions_a_SOURCES = \
    %D%/trace/functions/calls.c \
    %D%/trace/functions/calls.h \
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

# What each traced call runs: it must not be traced itself, nor watched by a sanitizer, nor touch
# what it doesn't save. And what writes to code, of which the thread sanitizer keeps no record that
# can be written to.
src_libhooks_a_SOURCES = \
    %D%/trace/functions/hook-arm64.S \
    %D%/trace/functions/hook-x86.S \
    %D%/trace/functions/hook.c \
    %D%/trace/functions/patch-arm64.c \
    %D%/trace/functions/patch-x86.c \
    %D%/trace/functions/patch.c
src_libhooks_a_CFLAGS = $(WINDLASS_CFLAGS) $(HOOK_CFLAGS)

# --- the program ----------------------------------------------------------------------------------

# All objects, not only what the program itself calls: translators use the rest. Programs of tests
# need the same.
whole_objects = $(src_libcore_a_OBJECTS) $(src_libgraph_a_OBJECTS) $(src_libmeta_a_OBJECTS) $(src_libcontrol_a_OBJECTS) $(src_libbridge_a_OBJECTS)
whole_objects += $(src_librpc_a_OBJECTS) $(src_libfunctions_a_OBJECTS) $(src_libhooks_a_OBJECTS)
program_libs = $(FUSE_LIBS) $(URING_LIBS) $(OPENSSL_LIBS) $(GLIB_LIBS)
whole_libs = $(program_libs) $(FUSE_BUILD_RPATH)

src_windlass_SOURCES = \
    %D%/cli/arguments.c \
    %D%/cli/check.c \
    %D%/cli/cli.c \
    %D%/cli/cli.h \
    %D%/cli/complete.c \
    %D%/cli/conform.c \
    %D%/cli/describe.c \
    %D%/cli/describe.h \
    %D%/cli/doctor/attempt.c \
    %D%/cli/doctor/checks.c \
    %D%/cli/doctor/doctor.c \
    %D%/cli/doctor/doctor.h \
    %D%/cli/doctor/facts.c \
    %D%/cli/doctor/kernel-features.def \
    %D%/cli/doctor/kernel.c \
    %D%/cli/doctor/limits.c \
    %D%/cli/doctor/mount.c \
    %D%/cli/doctor/rights.c \
    %D%/cli/doctor/running.c \
    %D%/cli/doctor/tools.c \
    %D%/cli/doctor/volfile.c \
    %D%/cli/errors.c \
    %D%/cli/explain.c \
    %D%/cli/fault.c \
    %D%/cli/graph.c \
    %D%/cli/heal.c \
    %D%/cli/help-json.c \
    %D%/cli/help.c \
    %D%/cli/inflight.c \
    %D%/cli/jobs.c \
    %D%/cli/list.c \
    %D%/cli/man.c \
    %D%/cli/numbers.c \
    %D%/cli/numbers.h \
    %D%/cli/output.c \
    %D%/cli/picture-internal.h \
    %D%/cli/picture-svg.c \
    %D%/cli/picture.c \
    %D%/cli/picture.h \
    %D%/cli/run/child.c \
    %D%/cli/run/daemon.c \
    %D%/cli/run/frozen.c \
    %D%/cli/run/left.c \
    %D%/cli/run/logs.c \
    %D%/cli/run/namespace.c \
    %D%/cli/run/new.c \
    %D%/cli/run/kept.c \
    %D%/cli/run/overlay.c \
    %D%/cli/run/preset.c \
    %D%/cli/run/run.c \
    %D%/cli/run/run.h \
    %D%/cli/run/volfile.c \
    %D%/cli/run/words.c \
    %D%/cli/stats.c \
    %D%/cli/tell.c \
    %D%/cli/timeline.c \
    %D%/cli/top/bricks.c \
    %D%/cli/top/lines.c \
    %D%/cli/top/look.c \
    %D%/cli/top/names.c \
    %D%/cli/top/over.c \
    %D%/cli/top/rows.c \
    %D%/cli/top/screen.c \
    %D%/cli/top/top.c \
    %D%/cli/top/top.h \
    %D%/cli/trace.c \
    %D%/cli/translator.c \
    %D%/cli/umount.c \
    %D%/daemon/background.c \
    %D%/daemon/bridge-options.c \
    %D%/daemon/captive.c \
    %D%/daemon/commands/commands.c \
    %D%/daemon/commands/errors.c \
    %D%/daemon/commands/explain.c \
    %D%/daemon/commands/inflight.c \
    %D%/daemon/commands/jobs.c \
    %D%/daemon/commands/reload.c \
    %D%/daemon/commands/state.c \
    %D%/daemon/commands/stats.c \
    %D%/daemon/commands/timeline.c \
    %D%/daemon/commands/trace.c \
    %D%/daemon/commands/way.c \
    %D%/daemon/commands/words.c \
    %D%/daemon/confine.c \
    %D%/daemon/crash-core.c \
    %D%/daemon/crash-lines.c \
    %D%/daemon/crash.c \
    %D%/daemon/crash.h \
    %D%/daemon/daemon.h \
    %D%/daemon/dump-config.c \
    %D%/daemon/follow.c \
    %D%/daemon/mount-options.c \
    %D%/daemon/mountpoint.c \
    %D%/daemon/move.c \
    %D%/daemon/namespaces.c \
    %D%/daemon/notify.c \
    %D%/daemon/oom.c \
    %D%/daemon/options.c \
    %D%/daemon/paths.c \
    %D%/daemon/signals.c \
    %D%/daemon/statedump/inodes.c \
    %D%/daemon/statedump/internal.h \
    %D%/daemon/statedump/kept.c \
    %D%/daemon/statedump/memory.c \
    %D%/daemon/statedump/requests.c \
    %D%/daemon/statedump/statedump.c \
    %D%/daemon/statedump/translators.c \
    %D%/daemon/statedump/value.c \
    %D%/daemon/statedump/wanted.c \
    %D%/daemon/version.c \
    %D%/main.c
src_windlass_CFLAGS = $(untraced_cflags)
src_windlass_LDADD = $(whole_objects) $(whole_libs) $(daemon_libs)
daemon_libs = $(SECCOMP_LIBS) $(NCURSES_LIBS) $(BACKTRACE_LIBS)

# A libfuse of which the system's loader does not know is installed with the program, which is
# linked a second time: it looks for that copy, and never into the folder of the build, to which
# others than root may write. The path is absolute: relative to the program, it would be chosen by
# whoever places a copy of the program.
if PRIVATE_LIBFUSE
noinst_PROGRAMS = src/windlass
bin_PROGRAMS += src/installed/windlass
src_installed_windlass_SOURCES =
src_installed_windlass_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,$(privatelibdir)
src_installed_windlass_LDADD = $(src_windlass_OBJECTS) $(whole_objects) $(program_libs) \
    $(daemon_libs)
EXTRA_src_installed_windlass_DEPENDENCIES = $(src_windlass_OBJECTS) # automake leaves them out
privateexecdir = $(privatelibdir)
privateexec_DATA = $(private_libfuse)
else
bin_PROGRAMS += src/windlass
endif

# For mount(8) and fstab(5), which look for it in /sbin: --with-mount-helper-dir=/sbin where that
# isn't sbindir.
mounthelper_SCRIPTS = src/mount.windlass
CLEANFILES += src/mount.windlass
src/mount.windlass: %D%/mount.windlass.in Makefile
	$(AM_V_GEN)$(SED) 's|[@]bindir@|$(bindir)|g' $(srcdir)/%D%/mount.windlass.in >$@.new && \
	chmod +x $@.new && mv $@.new $@

# The kernel calls the type fuse.windlass, by which mount(8) looks for the helper when a mount is
# remounted.
install-exec-hook:
	$(MKDIR_P) '$(DESTDIR)$(mounthelperdir)'
	ln -sf mount.windlass '$(DESTDIR)$(mounthelperdir)/mount.fuse.windlass'

# At the end, tell the person who installs about mount(8). The makers of a package, who set DESTDIR,
# know it.
install-data-hook:
	@test -n '$(DESTDIR)' || \
	test /sbin/mount.windlass -ef '$(mounthelperdir)/mount.windlass' || printf '%s\n' '' \
	    "mount(8) and fstab look for mount.windlass in /sbin, and it is in $(mounthelperdir)." \
	    "To mount by 'mount -t windlass' or fstab:" '' \
	    '    ln -sf $(mounthelperdir)/mount.windlass $(mounthelperdir)/mount.fuse.windlass /sbin' ''

# --- bpftrace -------------------------------------------------------------------------------------

bpftracedir = $(pkgdatadir)/bpftrace
dist_bpftrace_SCRIPTS = \
    %D%/trace/bpftrace/errors.bt \
    %D%/trace/bpftrace/fop-latency.bt \
    %D%/trace/bpftrace/slow-requests.bt \
    %D%/trace/bpftrace/translator-latency.bt

# --- gdb ------------------------------------------------------------------------------------------

# gdb loads <auto-load folder>/<path of the program>-gdb.py with the program, and that the files of
# the folder beside it. A gdb of /usr looks into no other prefix's folder. There a link beside the
# program leads to the file, which gdb loads, or says how to allow that.
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
gdb_loader = $(gdbautoloaddir)$(bindir)/windlass-gdb
gdb_link = $(bindir)/windlass-gdb.py
install-data-local:
	$(MKDIR_P) '$(DESTDIR)$(gdb_loader)'
	$(INSTALL_DATA) $(srcdir)/%D%/gdb/windlass.py '$(DESTDIR)$(gdb_loader).py'
	for module in $(gdb_modules); do $(INSTALL_DATA) $(srcdir)/$$module '$(DESTDIR)$(gdb_loader)/' || exit 1; done
	case '$(gdbautoloaddir)' in /usr/share/gdb/auto-load) ;; *) \
	    $(MKDIR_P) '$(DESTDIR)$(bindir)' && ln -sfr '$(DESTDIR)$(gdb_loader).py' '$(DESTDIR)$(gdb_link)' ;; esac
