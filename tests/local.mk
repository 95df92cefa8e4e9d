# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/run finds and runs the tests; this file compiles them. A program is made from the file of
# its name.

# What programs that test the program's own parts are linked with.
test_ldadd = $(whole_objects) $(CHECK_LIBS) $(whole_libs)

# tests/unit/*.c are one program, and so are tests/graph/*.c: tests/program.h. The rules of
# debug/fault and the history of debug/trace know of no graph, and are tested by themselves.
if HAVE_CHECK
check_PROGRAMS += tests/unit/all tests/graph/all
endif
tests_unit_all_SOURCES = %D%/program.c %D%/program.h %D%/unit/mock.h %D%/unit/no-threads.h \
    %D%/unit/test_control.c \
    %D%/unit/test_data.c \
    %D%/unit/test_any_fop.c \
    %D%/unit/test_fan_out.c \
    %D%/unit/test_frame.c \
    %D%/unit/test_malloc_trim.c \
    %D%/unit/test_delayed.c \
    %D%/unit/test_distribute.c \
    %D%/unit/test_doctor.c \
    %D%/unit/test_histogram.c \
    %D%/unit/test_inode.c \
    %D%/unit/test_lru.c \
    %D%/unit/test_numbers.c \
    %D%/unit/test_option.c \
    %D%/unit/test_process.c \
    %D%/unit/test_place.c \
    %D%/unit/test_replicate.c \
    %D%/unit/test_rules.c \
    %D%/unit/test_rpc.c \
    %D%/unit/test_scheduler.c \
    %D%/unit/test_short_numbers.c \
    %D%/unit/test_signals.c \
    %D%/unit/test_thread.c \
    %D%/unit/test_timeline.c \
    %D%/unit/test_timer.c \
    %D%/unit/test_tls.c \
    %D%/unit/test_trace_history.c \
    %D%/unit/test_volfile.c \
    %D%/unit/test_watch.c \
    %D%/unit/test_work.c \
    %D%/unit/test_xdr.c \
    %D%/unit/rpc_world.h \
    %D%/unit/tls_server.c \
    %D%/unit/tls_server.h \
    src/daemon/signals.c \
    xlators/cluster/distribute/hash.c \
    xlators/cluster/distribute/layout.c \
    xlators/cluster/replicate/changelog.c \
    xlators/cluster/replicate/sources.c \
    xlators/debug/fault/parse.c \
    xlators/debug/fault/rules.c \
    xlators/debug/trace/history.c \
    xlators/debug/trace/lines.c
tests_unit_all_LDADD = $(doctor_checks) $(test_ldadd)
# The checks of windlass doctor and what they call, which the program alone has.
doctor_checks = \
    src/cli/doctor/src_windlass-checks.$(OBJEXT) \
    src/cli/doctor/src_windlass-facts.$(OBJEXT) \
    src/cli/doctor/src_windlass-kernel.$(OBJEXT) \
    src/cli/doctor/src_windlass-limits.$(OBJEXT) \
    src/cli/doctor/src_windlass-rights.$(OBJEXT) \
    src/cli/doctor/src_windlass-running.$(OBJEXT) \
    src/cli/doctor/src_windlass-tools.$(OBJEXT) \
    src/cli/run/src_windlass-namespace.$(OBJEXT)
tests_graph_all_SOURCES = %D%/program.c %D%/program.h \
    %D%/graph/flow.h \
    %D%/graph/posix_world.h \
    %D%/graph/write_behind_world.h \
    %D%/graph/test_effects.c \
    %D%/graph/test_fault.c \
    %D%/graph/test_fetched.c \
    %D%/graph/test_functions.c \
    %D%/graph/test_io_stats.c \
    %D%/graph/test_io_threads.c \
    %D%/graph/test_io_threads_waits.c \
    %D%/graph/test_limit.c \
    %D%/graph/test_load.c \
    %D%/graph/test_open_behind.c \
    %D%/graph/test_posix.c \
    %D%/graph/test_posix_acl.c \
    %D%/graph/test_posix_acl_cases.c \
    %D%/graph/test_posix_few.c \
    %D%/graph/test_posix_shared.c \
    %D%/graph/test_power_cut.c \
    %D%/graph/test_power_cut_random.c \
    %D%/graph/test_quick_read.c \
    %D%/graph/test_readdir_ahead.c \
    %D%/graph/test_roots.c \
    %D%/graph/test_rot13.c \
    %D%/graph/test_write_behind.c \
    %D%/graph/test_write_behind_errors.c
tests_graph_all_LDADD = $(test_ldadd)

# Talks to a daemon that runs, as the program does.
check_PROGRAMS += tests/mount/programs/starts
tests_mount_programs_starts_SOURCES = %D%/mount/programs/starts.c
tests_mount_programs_starts_LDADD = $(test_ldadd)

# Measures, and is no test: make tests/bench/traced.
EXTRA_PROGRAMS = tests/bench/traced
tests_bench_traced_SOURCES = %D%/bench/traced.c
tests_bench_traced_LDADD = $(test_ldadd)

# Programs that scripts in tests/mount run on a mount. They know nothing of Windlass, and are built
# without sanitizers.
mount_programs = \
    tests/mount/programs/async-direct \
    tests/mount/programs/direct \
    tests/mount/programs/handles \
    tests/mount/programs/idmap \
    tests/mount/programs/kv \
    tests/mount/programs/lock \
    tests/mount/programs/mapped \
    tests/mount/programs/meta \
    tests/mount/programs/opath \
    tests/mount/programs/passed \
    tests/mount/programs/race \
    tests/mount/programs/rights \
    tests/mount/programs/setflags \
    tests/mount/programs/swap \
    tests/mount/programs/tmpfile \
    tests/soak/keeper

# Translators for tests alone. One that has no xlator_api shows nothing else, either.
test_modules = \
    tests/xlators/defects/pass.so \
    tests/xlators/defects/rot.so \
    tests/xlators/defects/two.so \
    tests/xlators/test/badabi.so \
    tests/xlators/test/blocks.so \
    tests/xlators/test/both.so \
    tests/xlators/test/cache.so \
    tests/xlators/test/early.so \
    tests/xlators/test/endless.so \
    tests/xlators/test/errno.so \
    tests/xlators/test/grab.so \
    tests/xlators/test/instant.so \
    tests/xlators/test/leaf.so \
    tests/xlators/test/locker.so \
    tests/xlators/test/meet.so \
    tests/xlators/test/names.so \
    tests/xlators/test/needs.so \
    tests/xlators/test/never.so \
    tests/xlators/test/mislocks.so \
    tests/xlators/test/noappend.so \
    tests/xlators/test/noobject.so \
    tests/xlators/test/online.so \
    tests/xlators/test/oops.so \
    tests/xlators/test/options.so \
    tests/xlators/test/readonly.so \
    tests/xlators/test/pass.so \
    tests/xlators/test/last.so \
    tests/xlators/test/slow.so \
    tests/xlators/test/thick.so \
    tests/xlators/test/trickle.so \
    tests/xlators/test/twice.so \
    tests/xlators/test/wrong.so \
    tests/xlators/test/wrongtype.so

# One command each, since automake would take three lines for each of them.
test_cc = $(CC) -D_GNU_SOURCE -I$(top_srcdir)/src $(GLIB_CFLAGS) $(CFLAGS) -MMD -MP
$(mount_programs): %: $(srcdir)/%.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(test_cc) $(WINDLASS_CFLAGS) -o $@ $< $(GLIB_LIBS)
$(test_modules): %.so: $(srcdir)/%.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(test_cc) $(module_cflags) -o $@ $< $(module_link)
-include $(mount_programs:=.d) $(test_modules:.so=.d)
CLEANFILES += $(mount_programs) $(mount_programs:=.d) $(test_modules) $(test_modules:.so=.d)
EXTRA_DIST += $(mount_programs:=.c) $(test_modules:.so=.c)

# How long make soak takes, and make fuzz for each target, unless they are told: SECONDS=60.
SECONDS = 3600
include tests/fuzz/local.mk

# What tests/run needs for each kind of test: script, program and replay or fuzz.
programs: src/mount.windlass
programs: src/windlass$(EXEEXT) $(pkglibexec_PROGRAMS)
programs: $(xlatorclusterexec_PROGRAMS) $(xlatordebugexec_PROGRAMS)
programs: $(xlatorencryptionexec_PROGRAMS) $(xlatorfeaturesexec_PROGRAMS)
programs: $(xlatormetaexec_PROGRAMS) $(xlatorperformanceexec_PROGRAMS)
programs: $(xlatorprotocolexec_PROGRAMS) $(xlatorstorageexec_PROGRAMS) $(xlatorsystemexec_PROGRAMS)
check-script: programs tests/mount/programs/starts $(mount_programs) $(test_modules)
check-program: check-script $(filter tests/unit/% tests/graph/%,$(check_PROGRAMS))
check-replay check-fuzz: programs $(filter tests/fuzz/%,$(check_PROGRAMS))
check-programs: check-script check-program check-replay

check-local: check-programs
	$(srcdir)/%D%/run . $(CHECK_WORDS)

.PHONY: programs check-script check-program check-replay check-fuzz check-programs

EXTRA_DIST += \
    %D%/bench/aims.py \
    %D%/bench/bricks.py \
    %D%/bench/edge.c \
    %D%/bench/edge.py \
    %D%/bench/figures.py \
    %D%/bench/load.c \
    %D%/bench/machine.py \
    %D%/bench/memory.py \
    %D%/bench/page.py \
    %D%/bench/slow.py \
    %D%/bench/peers.py \
    %D%/bench/picture.py \
    %D%/bench/report.py \
    %D%/bench/run \
    %D%/bench/scale.py \
    %D%/bench/sections.py \
    %D%/bench/seen.c \
    %D%/bench/stack.py \
    %D%/bench/translator.c \
    %D%/bench/worth.py
# Hours of mixed load with every kind of trouble: make soak [SECONDS=N] [SEED=N]; and make kills
# [TIMES=N].
TIMES = 1000
soak kills orders bench kernels: soak-programs
soak-programs:
	$(MAKE) all
	$(MAKE) check-programs
soak:
	BUILD_DIR=$(abs_builddir) WINDLASS=$(abs_builddir)/windlass \
	    $(srcdir)/%D%/soak/run --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
kills:
	WINDLASS=$(abs_builddir)/windlass $(srcdir)/%D%/soak/kills $(if $(SEED),--seed $(SEED)) $(TIMES)
# Every translator in ever new orders: make orders [SECONDS=N] [SEED=N].
orders:
	WINDLASS=$(abs_builddir)/windlass \
	    $(srcdir)/%D%/orders/run --seconds $(SECONDS) --histories 100 $(if $(SEED),--seed $(SEED))
# A table and pictures of all comparisons, in bench-out: make bench [BENCH="--quick"]. About an
# hour; of a release build.
bench:
	$(srcdir)/%D%/bench/run --windlass $(abs_builddir)/windlass \
	    --out $(abs_builddir)/bench-out $(BENCH)
# Kernels that the machine does not run: make kernels [KERNELS="SUITE... PACKAGE.deb..."]. Ten
# minutes for each; of a release build.
kernels:
	BUILD_DIR=$(abs_builddir) $(srcdir)/%D%/kernels/run $(KERNELS)
.PHONY: soak kills orders bench kernels soak-programs

dist_noinst_SCRIPTS += \
    %D%/run \
    %D%/namespace \
    %D%/graph/bad-options.sh \
    %D%/graph/histories-md-cache.sh \
    %D%/graph/histories-pages.sh \
    %D%/graph/histories-open-behind.sh \
    %D%/graph/histories-quick-read.sh \
    %D%/graph/histories-readdir-ahead.sh \
    %D%/graph/histories-wire.sh \
    %D%/graph/histories-write-behind.sh \
    %D%/graph/histories-posix-acl.sh \
    %D%/graph/histories-io-threads.sh \
    %D%/graph/histories.sh \
    %D%/graph/orders.sh \
    %D%/orders/run \
    %D%/kernels/guest \
    %D%/kernels/guest-systemd \
    %D%/kernels/init \
    %D%/kernels/run \
    %D%/soak/kills \
    %D%/soak/run \
    %D%/unit/completion.sh \
    %D%/unit/arm64.sh \
    %D%/unit/bench-tools.sh \
    %D%/unit/ppc64el.sh \
    %D%/unit/presets.sh \
    %D%/unit/processor.sh \
    %D%/unit/recipe-lib.sh \
    %D%/unit/conform-finds-defects.sh \
    %D%/unit/conform-in-process.sh \
    %D%/unit/conform-refusals.sh \
    %D%/unit/conform-tells.sh \
    %D%/unit/distcheck.sh \
    %D%/unit/exports.sh \
    %D%/unit/function-graph-off.sh \
    %D%/unit/function-graph-patching.sh \
    %D%/unit/help-json.sh \
    %D%/unit/html-browser.sh \
    %D%/unit/html.sh \
    %D%/unit/includes.sh \
    %D%/unit/lines.sh \
    %D%/unit/readme-files.sh \
    %D%/unit/pages.sh \
    %D%/unit/replay.sh \
    %D%/unit/no-shell.sh \
    %D%/unit/out-of-tree.sh \
    %D%/unit/recipe-arch.sh \
    %D%/unit/recipe-rpm.sh \
    %D%/unit/security-promises.sh \
    %D%/unit/translators.sh \
    %D%/unit/packaging.sh \
    %D%/unit/tarball.sh \
    %D%/unit/versions.sh \
    %D%/unit/wrapper.sh \
    %D%/mount/acl.sh \
    %D%/mount/attributes.sh \
    %D%/mount/background.sh \
    %D%/mount/bench.sh \
    %D%/mount/boot.sh \
    %D%/mount/brick.sh \
    %D%/mount/brick-calls.sh \
    %D%/mount/brick-closed.sh \
    %D%/mount/brick-conform.sh \
    %D%/mount/brick-inode-numbers.sh \
    %D%/mount/brick-killed.sh \
    %D%/mount/brick-listing-ahead.sh \
    %D%/mount/brick-lock-timeout.sh \
    %D%/mount/brick-mounts-inside.sh \
    %D%/mount/brick-look-ahead.sh \
    %D%/mount/brick-lost.sh \
    %D%/mount/brick-quick-read.sh \
    %D%/mount/cluster-a.sh \
    %D%/mount/cluster-b.sh \
    %D%/mount/replicate-arbiter.sh \
    %D%/mount/replicate-conform.sh \
    %D%/mount/replicate-conform-killed.sh \
    %D%/mount/replicate-fsync.sh \
    %D%/mount/replicate-handle.sh \
    %D%/mount/replicate-heal-busy.sh \
    %D%/mount/replicate-heal-names.sh \
    %D%/mount/replicate-healer.sh \
    %D%/mount/replicate-killed-between.sh \
    %D%/mount/replicate-lib.sh \
    %D%/mount/replicate-listing.sh \
    %D%/mount/replicate-lookup-heals.sh \
    %D%/mount/replicate-lost.sh \
    %D%/mount/replicate-other-accuses.sh \
    %D%/mount/replicate-removed.sh \
    %D%/mount/replicate-shared.sh \
    %D%/mount/replicate-silent.sh \
    %D%/mount/replicate-split-brain.sh \
    %D%/mount/replicate-timeline.sh \
    %D%/mount/replicate-unreadable.sh \
    %D%/mount/replicate-wrong.sh \
    %D%/mount/replicate.sh \
    %D%/mount/brick-refused.sh \
    %D%/mount/brick-removals.sh \
    %D%/mount/brick-reports.sh \
    %D%/mount/brick-rights.sh \
    %D%/mount/brick-shared.sh \
    %D%/mount/brick-tls.sh \
    %D%/mount/brick-tls-files.sh \
    %D%/mount/brick-tls-refused.sh \
    %D%/mount/brick-timeline.sh \
    %D%/mount/brick-times.sh \
    %D%/mount/brick-xattrs-along.sh \
    %D%/mount/bad-modules.sh \
    %D%/mount/broken-translators.sh \
    %D%/mount/build-libfuse.sh \
    %D%/mount/cached-pages.sh \
    %D%/mount/caches-in-trouble.sh \
    %D%/mount/capabilities-of-strangers.sh \
    %D%/mount/caller-rights.sh \
    %D%/mount/cannot-mount.sh \
    %D%/mount/client-stack.sh \
    %D%/mount/client-stack-trouble.sh \
    %D%/mount/compile.sh \
    %D%/mount/completion.sh \
    %D%/mount/conform-client-stack.sh \
    %D%/mount/container.sh \
    %D%/mount/conform.sh \
    %D%/mount/control-slow.sh \
    %D%/mount/control-user.sh \
    %D%/mount/control.sh \
    %D%/mount/crash-report.sh \
    %D%/mount/declined.sh \
    %D%/mount/deep-tree.sh \
    %D%/mount/delay-gen.sh \
    %D%/mount/device-nodes.sh \
    %D%/mount/directory-vanishes.sh \
    %D%/mount/disk-full.sh \
    %D%/mount/distributed-replicate.sh \
    %D%/mount/distribute-conform.sh \
    %D%/mount/distribute-copied.sh \
    %D%/mount/distribute-down.sh \
    %D%/mount/distribute-grows.sh \
    %D%/mount/distribute-leftover.sh \
    %D%/mount/distribute-moved.sh \
    %D%/mount/distribute-rebalance.sh \
    %D%/mount/distribute-room.sh \
    %D%/mount/distribute-shared.sh \
    %D%/mount/distribute-wrong.sh \
    %D%/mount/doctor.sh \
    %D%/mount/editors.sh \
    %D%/mount/few-descriptors.sh \
    %D%/mount/fstab.sh \
    %D%/mount/fops-examples.sh \
    %D%/mount/function-graph-filters.sh \
    %D%/mount/function-graph-gdb.sh \
    %D%/mount/function-graph-starts.sh \
    %D%/mount/function-graph.sh \
    %D%/mount/error-gen.sh \
    %D%/mount/errors.sh \
    %D%/mount/exclusive.sh \
    %D%/mount/execute-only.sh \
    %D%/mount/explain.sh \
    %D%/mount/examples.sh \
    %D%/mount/explain-waiting.sh \
    %D%/mount/fault.sh \
    %D%/mount/file-handles.sh \
    %D%/mount/debugging-a.sh \
    %D%/mount/debugging-b.sh \
    %D%/mount/debugging-c.sh \
    %D%/mount/debugging-d.sh \
    %D%/mount/direct-writes-seen.sh \
    %D%/mount/few-io-urings.sh \
    %D%/mount/few-threads.sh \
    %D%/mount/gdb-client-stack.sh \
    %D%/mount/gdb-commands.sh \
    %D%/mount/gdb-tutorial.sh \
    %D%/mount/gdb-wind.sh \
    %D%/mount/gfid-attribute.sh \
    %D%/mount/git.sh \
    %D%/mount/graph-picture.sh \
    %D%/mount/hard-links.sh \
    %D%/mount/hostile-control.sh \
    %D%/mount/hostile-names.sh \
    %D%/mount/hung-reads.sh \
    %D%/mount/idle-memory.sh \
    %D%/mount/idmapped.sh \
    %D%/mount/inflight-stuck.sh \
    %D%/mount/inflight.sh \
    %D%/mount/io-cache.sh \
    %D%/mount/io-stats.sh \
    %D%/mount/io-threads.sh \
    %D%/mount/io-stats-full.sh \
    %D%/mount/installed.sh \
    %D%/mount/io-uring-hangs.sh \
    %D%/mount/io-uring.sh \
    %D%/mount/killed-in-line.sh \
    %D%/mount/killed.sh \
    %D%/mount/killed-in-notification.sh \
    %D%/mount/kills.sh \
    %D%/mount/large-files.sh \
    %D%/mount/left-clean.sh \
    %D%/mount/list-umount.sh \
    %D%/mount/listed-again.sh \
    %D%/mount/locks.sh \
    %D%/mount/many-entries.sh \
    %D%/mount/mapped.sh \
    %D%/mount/mapped-short.sh \
    %D%/mount/md-cache-rights.sh \
    %D%/mount/md-cache.sh \
    %D%/mount/meta-busy.sh \
    %D%/mount/meta-closed.sh \
    %D%/mount/meta-frames.sh \
    %D%/mount/meta-layout.sh \
    %D%/mount/meta-names.sh \
    %D%/mount/meta-profile.sh \
    %D%/mount/meta-user.sh \
    %D%/mount/meta-writes.sh \
    %D%/mount/module-replaced.sh \
    %D%/mount/mount-helper.sh \
    %D%/mount/mount-options.sh \
    %D%/mount/mounts-inside.sh \
    %D%/mount/mounts-lib.sh \
    %D%/mount/mount-points.sh \
    %D%/mount/moves-in-place.sh \
    %D%/mount/moved-into-child.sh \
    %D%/mount/no-mtab.sh \
    %D%/mount/notify.sh \
    %D%/mount/open-behind.sh \
    %D%/mount/output-files.sh \
    %D%/mount/over-itself.sh \
    %D%/mount/new.sh \
    %D%/mount/package-debian-12.sh \
    %D%/mount/package-debian-13.sh \
    %D%/mount/new-shape.sh \
    %D%/mount/nl-cache.sh \
    %D%/mount/other-file-systems.sh \
    %D%/mount/passthrough.sh \
    %D%/mount/passthrough-append.sh \
    %D%/mount/passthrough-direct.sh \
    %D%/mount/passthrough-refused.sh \
    %D%/mount/permissions.sh \
    %D%/mount/private-files.sh \
    %D%/mount/private-mount.sh \
    %D%/mount/protected.sh \
    %D%/mount/privileges-dropped.sh \
    %D%/mount/posix-acl.sh \
    %D%/mount/power-cut-sqlite.sh \
    %D%/mount/pid-namespaces.sh \
    %D%/mount/power-cut.sh \
    %D%/mount/privileges-killed.sh \
    %D%/mount/probes.sh \
    %D%/mount/quick-read.sh \
    %D%/mount/races.sh \
    %D%/mount/reload-memory.sh \
    %D%/mount/reload.sh \
    %D%/mount/read-ahead.sh \
    %D%/mount/removed-but-open.sh \
    %D%/mount/readdir-ahead.sh \
    %D%/mount/rot-13.sh \
    %D%/mount/rotation.sh \
    %D%/mount/run-asked.sh \
    %D%/mount/run-ends.sh \
    %D%/mount/run.sh \
    %D%/mount/run-folders.sh \
    %D%/mount/run-refused.sh \
    %D%/mount/run-under.sh \
    %D%/mount/same-as-bare-user.sh \
    %D%/mount/same-as-bare.sh \
    %D%/mount/secrets.sh \
    %D%/mount/security-labels.sh \
    %D%/mount/setuid-and-capabilities.sh \
    %D%/mount/sighup.sh \
    %D%/mount/signals.sh \
    %D%/mount/slow-never-stalls-quick.sh \
    %D%/mount/soak.sh \
    %D%/mount/special-files.sh \
    %D%/mount/sqlite.sh \
    %D%/mount/statedump.sh \
    %D%/mount/stats.sh \
    %D%/mount/stopped.sh \
    %D%/mount/systemd-fstab.sh \
    %D%/mount/systemd-user.sh \
    %D%/mount/systemd.sh \
    %D%/mount/symlink-races.sh \
    %D%/mount/tar.sh \
    %D%/mount/ten-mounts.sh \
    %D%/mount/thirty-two-bit.sh \
    %D%/mount/timeline-errors.sh \
    %D%/mount/timeline-load.sh \
    %D%/mount/timeline-reload.sh \
    %D%/mount/timeline-under-way.sh \
    %D%/mount/timeline.sh \
    %D%/mount/times.sh \
    %D%/mount/tmpfile.sh \
    %D%/mount/top.sh \
    %D%/mount/trace-log.sh \
    %D%/mount/trace.sh \
    %D%/mount/tutorial.sh \
    %D%/mount/umount-swapped.sh \
    %D%/mount/unmounting.sh \
    %D%/mount/upgraded.sh \
    %D%/mount/usage.sh \
    %D%/mount/valgrind.sh \
    %D%/mount/user-namespaces.sh \
    %D%/mount/volfiles.sh \
    %D%/mount/volume-existing.sh \
    %D%/mount/volume-foreign.sh \
    %D%/mount/volume-follows.sh \
    %D%/mount/volume-names.sh \
    %D%/mount/volume-new-shape.sh \
    %D%/mount/volume-quota.sh \
    %D%/mount/volume-subdir.sh \
    %D%/mount/volume.sh \
    %D%/mount/volume-tls.sh \
    %D%/mount/volume-trust.sh \
    %D%/mount/volume-xattrs.sh \
    %D%/mount/utime.sh \
    %D%/mount/write-behind-durable.sh \
    %D%/mount/write-behind-full.sh \
    %D%/mount/watch-storm.sh \
    %D%/mount/watch-user.sh \
    %D%/mount/watch.sh \
    %D%/mount/worth.sh \
    %D%/mount/write-behind.sh
dist_noinst_DATA += \
    %D%/bench/README \
    %D%/fuzz/README \
    %D%/graph/README \
    %D%/mount/generated/all-options.vol \
    %D%/mount/generated/default.vol \
    %D%/mount/README \
    %D%/soak/README \
    %D%/unit/README \
    %D%/soak/loads.sh \
    %D%/soak/troubles.sh \
    %D%/lsan.supp \
    %D%/runner/fuzzing.py \
    %D%/runner/listing.py \
    %D%/runner/running.py \
    %D%/runner/switch.py \
    %D%/seconds \
    %D%/tsan.supp \
    %D%/valgrind.supp \
    %D%/mount/lib.sh \
    %D%/mount/programs/between-kills.py \
    %D%/mount/programs/close-tells.py \
    %D%/mount/programs/glusterd.py \
    %D%/mount/programs/in-trouble.py \
    %D%/mount/programs/list32.c \
    %D%/mount/programs/lockers.py \
    %D%/mount/programs/many-open.py \
    %D%/mount/programs/random-locks.py \
    %D%/mount/programs/record-locks.py \
    %D%/mount/programs/relay.py \
    %D%/mount/programs/store-mapped.py \
    %D%/mount/programs/openmetrics.py \
    %D%/mount/replay-lib.sh \
    %D%/mount/closed-directories.sh \
    %D%/mount/setuid-of-written.sh \
    %D%/mount/brick-lib.sh \
    %D%/mount/tls-lib.sh \
    %D%/mount/brick.allow \
    %D%/mount/distribute-bricks.py \
    %D%/mount/distribute-load.py \
    %D%/mount/distribute.py \
    %D%/mount/watch-lib.sh \
    %D%/mount/examples.py \
    %D%/mount/replay.py \
    %D%/mount/programs/trace-events.py \
    %D%/mount/programs/job-control.py \
    %D%/mount/programs/zsh-complete.py \
    %D%/mount/package-lib.sh \
    %D%/mount/trace-lib.sh \
    %D%/mount/programs/rights.h \
    %D%/mount/systemd-lib.sh \
    %D%/unit/programs/patched.c
