# SPDX-License-Identifier: LGPL-2.1-or-later
# tests/run finds and runs them; here is what has to be compiled. A program is made from the file of its name.

AM_DEFAULT_SOURCE_EXT = .c
LDADD = $(whole_objects) $(CHECK_LIBS) $(whole_libs)

if HAVE_CHECK
check_PROGRAMS += \
    tests/unit/test_control \
    tests/unit/test_crowd \
    tests/unit/test_data \
    tests/unit/test_every \
    tests/unit/test_frame \
    tests/unit/test_heaps \
    tests/unit/test_histogram \
    tests/unit/test_inode \
    tests/unit/test_lru \
    tests/unit/test_numbers \
    tests/unit/test_option \
    tests/unit/test_place \
    tests/unit/test_pool \
    tests/unit/test_scheduler \
    tests/unit/test_thread \
    tests/unit/test_rules \
    tests/unit/test_timeline \
    tests/unit/test_timer \
    tests/unit/test_trace_history \
    tests/unit/test_volfile \
    tests/unit/test_watch \
    tests/graph/test_fault \
    tests/graph/test_io_stats \
    tests/graph/test_elsewhere \
    tests/graph/test_io_threads \
    tests/graph/test_io_threads_waits \
    tests/graph/test_functions \
    tests/graph/test_load \
    tests/graph/test_posix \
    tests/graph/test_posix_acl \
    tests/graph/test_posix_acl_cases \
    tests/graph/test_posix_few \
    tests/graph/test_posix_shared \
    tests/graph/test_power_cut \
    tests/graph/test_power_cut_random \
    tests/graph/test_quick_read \
    tests/graph/test_readdir_ahead \
    tests/graph/test_rot13 \
    tests/graph/test_write_behind \
    tests/graph/test_write_behind_errors
endif
# The rules of debug/fault know of no graph.
tests_unit_test_rules_SOURCES = %D%/unit/test_rules.c xlators/debug/fault/parse.c xlators/debug/fault/rules.c

# Nor does the history of debug/trace.
tests_unit_test_trace_history_SOURCES = %D%/unit/test_trace_history.c xlators/debug/trace/history.c xlators/debug/trace/lines.c

# What scripts in tests/mount run on a mount. They know nothing of Windlass, and no sanitizer watches them.
check_PROGRAMS += \
    tests/mount/programs/handles \
    tests/mount/programs/idmap \
    tests/mount/programs/kv \
    tests/mount/programs/lock \
    tests/mount/programs/mapped \
    tests/mount/programs/passed \
    tests/mount/programs/meta \
    tests/mount/programs/opath \
    tests/mount/programs/race \
    tests/mount/programs/rights \
    tests/mount/programs/setflags \
    tests/mount/programs/starts \
    tests/mount/programs/swap \
    tests/mount/programs/tmpfile
check_PROGRAMS += tests/soak/keeper tests/bench/traced
tests_soak_keeper_CFLAGS = $(WINDLASS_CFLAGS)
tests_soak_keeper_LDFLAGS =
tests_soak_keeper_LDADD =
tests_mount_programs_handles_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_handles_LDFLAGS =
tests_mount_programs_handles_LDADD =
tests_mount_programs_idmap_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_idmap_LDFLAGS =
tests_mount_programs_idmap_LDADD =
tests_mount_programs_opath_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_opath_LDFLAGS =
tests_mount_programs_opath_LDADD =
tests_mount_programs_rights_CFLAGS = $(WINDLASS_CFLAGS) $(GLIB_CFLAGS)
tests_mount_programs_rights_LDFLAGS =
tests_mount_programs_rights_LDADD = $(GLIB_LIBS)
tests_mount_programs_setflags_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_setflags_LDFLAGS =
tests_mount_programs_setflags_LDADD =
tests_mount_programs_swap_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_swap_LDFLAGS =
tests_mount_programs_swap_LDADD =
tests_mount_programs_kv_CFLAGS = $(WINDLASS_CFLAGS) $(GLIB_CFLAGS)
tests_mount_programs_kv_LDFLAGS =
tests_mount_programs_kv_LDADD = $(GLIB_LIBS)
tests_mount_programs_lock_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_lock_LDFLAGS =
tests_mount_programs_lock_LDADD =
tests_mount_programs_mapped_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_mapped_LDFLAGS =
tests_mount_programs_mapped_LDADD =
tests_mount_programs_passed_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_passed_LDFLAGS =
tests_mount_programs_passed_LDADD =
tests_mount_programs_meta_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_meta_LDFLAGS =
tests_mount_programs_meta_LDADD =
tests_mount_programs_race_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_race_LDFLAGS =
tests_mount_programs_race_LDADD =
tests_mount_programs_tmpfile_CFLAGS = $(WINDLASS_CFLAGS)
tests_mount_programs_tmpfile_LDFLAGS =
tests_mount_programs_tmpfile_LDADD =

# Translators for tests alone. -rpath makes libtool build a module, although it is never installed.
test_module_link = $(module_link) -rpath /nowhere
check_LTLIBRARIES += \
    tests/xlators/defects/pass.la \
    tests/xlators/defects/rot.la \
    tests/xlators/defects/two.la \
    tests/xlators/test/badabi.la \
    tests/xlators/test/both.la \
    tests/xlators/test/blocks.la \
    tests/xlators/test/cache.la \
    tests/xlators/test/early.la \
    tests/xlators/test/errno.la \
    tests/xlators/test/grab.la \
    tests/xlators/test/instant.la \
    tests/xlators/test/leaf.la \
    tests/xlators/test/meet.la \
    tests/xlators/test/needs.la \
    tests/xlators/test/never.la \
    tests/xlators/test/noappend.la \
    tests/xlators/test/noobject.la \
    tests/xlators/test/online.la \
    tests/xlators/test/oops.la \
    tests/xlators/test/options.la \
    tests/xlators/test/slow.la \
    tests/xlators/test/pass.la \
    tests/xlators/test/trickle.la \
    tests/xlators/test/thick.la \
    tests/xlators/test/twice.la \
    tests/xlators/test/wrong.la \
    tests/xlators/test/wrongtype.la
tests_xlators_defects_pass_la_LDFLAGS = $(test_module_link)
tests_xlators_defects_rot_la_LDFLAGS = $(test_module_link)
tests_xlators_defects_two_la_LDFLAGS = $(test_module_link)
tests_xlators_test_badabi_la_LDFLAGS = $(test_module_link)
tests_xlators_test_meet_la_LDFLAGS = $(test_module_link)
tests_xlators_test_both_la_LDFLAGS = $(test_module_link)
tests_xlators_test_blocks_la_LDFLAGS = $(test_module_link)
tests_xlators_test_cache_la_LDFLAGS = $(test_module_link)
tests_xlators_test_early_la_LDFLAGS = $(test_module_link)
tests_xlators_test_errno_la_LDFLAGS = $(test_module_link)
tests_xlators_test_grab_la_LDFLAGS = $(test_module_link)
tests_xlators_test_instant_la_LDFLAGS = $(test_module_link)
tests_xlators_test_leaf_la_LDFLAGS = $(test_module_link)
tests_xlators_test_needs_la_LDFLAGS = $(test_module_link)
tests_xlators_test_never_la_LDFLAGS = $(test_module_link)
tests_xlators_test_noappend_la_LDFLAGS = $(test_module_link)
tests_xlators_test_noobject_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_xlators_test_online_la_LDFLAGS = $(test_module_link)
tests_xlators_test_oops_la_LDFLAGS = $(test_module_link)
tests_xlators_test_options_la_LDFLAGS = $(test_module_link)
tests_xlators_test_slow_la_LDFLAGS = $(test_module_link)
tests_xlators_test_pass_la_LDFLAGS = $(test_module_link)
tests_xlators_test_trickle_la_LDFLAGS = $(test_module_link)
tests_xlators_test_thick_la_LDFLAGS = $(test_module_link)
tests_xlators_test_twice_la_LDFLAGS = $(test_module_link)
tests_xlators_test_wrong_la_LDFLAGS = $(test_module_link)
tests_xlators_test_wrongtype_la_LDFLAGS = $(test_module_link)

# How long make soak takes, and make fuzz for each target, unless they are told: SECONDS=60.
SECONDS = 3600
include tests/fuzz/local.mk

check-programs: $(check_PROGRAMS) $(check_LTLIBRARIES)

check-local: check-programs
	$(srcdir)/%D%/run .

.PHONY: check-programs

EXTRA_DIST += \
    %D%/bench/aims.py \
    %D%/bench/edge.c \
    %D%/bench/edge.py \
    %D%/bench/figures.py \
    %D%/bench/load.c \
    %D%/bench/machine.py \
    %D%/bench/memory.py \
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
# Hours of mixed load with everything going wrong: make soak [SECONDS=N] [SEED=N]; and make kills [TIMES=N].
TIMES = 1000
soak kills orders bench: soak-programs
soak-programs:
	$(MAKE) all
	$(MAKE) check-programs
soak:
	BUILD_DIR=$(abs_builddir) WINDLASS=$(abs_builddir)/windlass $(srcdir)/%D%/soak/run --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))
kills:
	WINDLASS=$(abs_builddir)/windlass $(srcdir)/%D%/soak/kills $(if $(SEED),--seed $(SEED)) $(TIMES)
# Every translator in ever new orders: make orders [SECONDS=N] [SEED=N].
orders:
	WINDLASS=$(abs_builddir)/windlass $(srcdir)/%D%/orders/run --seconds $(SECONDS) --histories 100 $(if $(SEED),--seed $(SEED))
# A table and pictures of all that is compared, in bench-out: make bench [BENCH="--quick"]. About an hour; of a release build.
bench:
	$(srcdir)/%D%/bench/run --windlass $(abs_builddir)/windlass --out $(abs_builddir)/bench-out $(BENCH)
.PHONY: soak kills orders bench soak-programs

dist_noinst_SCRIPTS += \
    %D%/run \
    %D%/graph/histories-md-cache.sh \
    %D%/graph/histories-pages.sh \
    %D%/graph/histories-open-behind.sh \
    %D%/graph/histories-quick-read.sh \
    %D%/graph/histories-readdir-ahead.sh \
    %D%/graph/histories-write-behind.sh \
    %D%/graph/histories-posix-acl.sh \
    %D%/graph/histories-io-threads.sh \
    %D%/graph/histories.sh \
    %D%/graph/orders.sh \
    %D%/orders/run \
    %D%/soak/kills \
    %D%/soak/run \
    %D%/unit/completion.sh \
    %D%/unit/conform-finds-defects.sh \
    %D%/unit/conform-in-process.sh \
    %D%/unit/exports.sh \
    %D%/unit/function-graph-off.sh \
    %D%/unit/function-graph-patching.sh \
    %D%/unit/includes.sh \
    %D%/unit/no-shell.sh \
    %D%/unit/out-of-tree.sh \
    %D%/unit/security-promises.sh \
    %D%/unit/translators.sh \
    %D%/mount/acl.sh \
    %D%/mount/attributes.sh \
    %D%/mount/background.sh \
    %D%/mount/bench.sh \
    %D%/mount/bad-modules.sh \
    %D%/mount/broken-translators.sh \
    %D%/mount/cached-pages.sh \
    %D%/mount/caches-in-trouble.sh \
    %D%/mount/caller-rights.sh \
    %D%/mount/compile.sh \
    %D%/mount/conform-client-stack.sh \
    %D%/mount/conform.sh \
    %D%/mount/control-user.sh \
    %D%/mount/control.sh \
    %D%/mount/crash-report.sh \
    %D%/mount/deep-tree.sh \
    %D%/mount/delay-gen.sh \
    %D%/mount/device-nodes.sh \
    %D%/mount/directory-vanishes.sh \
    %D%/mount/disk-full.sh \
    %D%/mount/editors.sh \
    %D%/mount/few-descriptors.sh \
    %D%/mount/function-graph-filters.sh \
    %D%/mount/function-graph-gdb.sh \
    %D%/mount/function-graph-starts.sh \
    %D%/mount/function-graph.sh \
    %D%/mount/error-gen.sh \
    %D%/mount/errors.sh \
    %D%/mount/execute-only.sh \
    %D%/mount/explain.sh \
    %D%/mount/explain-waiting.sh \
    %D%/mount/fault.sh \
    %D%/mount/file-handles.sh \
    %D%/mount/debugging-a.sh \
    %D%/mount/debugging-b.sh \
    %D%/mount/debugging-c.sh \
    %D%/mount/debugging-d.sh \
    %D%/mount/gdb-commands.sh \
    %D%/mount/gdb-tutorial.sh \
    %D%/mount/gdb-wind.sh \
    %D%/mount/git.sh \
    %D%/mount/graph-picture.sh \
    %D%/mount/hard-links.sh \
    %D%/mount/hostile-names.sh \
    %D%/mount/idmapped.sh \
    %D%/mount/inflight-stuck.sh \
    %D%/mount/inflight.sh \
    %D%/mount/io-cache.sh \
    %D%/mount/io-stats.sh \
    %D%/mount/io-threads.sh \
    %D%/mount/io-stats-full.sh \
    %D%/mount/io-uring-hangs.sh \
    %D%/mount/io-uring.sh \
    %D%/mount/killed.sh \
    %D%/mount/kills.sh \
    %D%/mount/large-files.sh \
    %D%/mount/left-clean.sh \
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
    %D%/mount/mount-helper.sh \
    %D%/mount/mount-options.sh \
    %D%/mount/mount-points.sh \
    %D%/mount/open-behind.sh \
    %D%/mount/nl-cache.sh \
    %D%/mount/passthrough.sh \
    %D%/mount/passthrough-refused.sh \
    %D%/mount/permissions.sh \
    %D%/mount/private-files.sh \
    %D%/mount/private-mount.sh \
    %D%/mount/privileges-dropped.sh \
    %D%/mount/posix-acl.sh \
    %D%/mount/power-cut-sqlite.sh \
    %D%/mount/power-cut.sh \
    %D%/mount/privileges-killed.sh \
    %D%/mount/probes.sh \
    %D%/mount/quick-read.sh \
    %D%/mount/races.sh \
    %D%/mount/reload.sh \
    %D%/mount/read-ahead.sh \
    %D%/mount/removed-but-open.sh \
    %D%/mount/readdir-ahead.sh \
    %D%/mount/rot-13.sh \
    %D%/mount/run-under.sh \
    %D%/mount/same-as-bare-user.sh \
    %D%/mount/same-as-bare.sh \
    %D%/mount/setuid-and-capabilities.sh \
    %D%/mount/sighup.sh \
    %D%/mount/signals.sh \
    %D%/mount/slow-never-stalls-quick.sh \
    %D%/mount/soak.sh \
    %D%/mount/sqlite.sh \
    %D%/mount/statedump.sh \
    %D%/mount/stats.sh \
    %D%/mount/symlink-races.sh \
    %D%/mount/tar.sh \
    %D%/mount/timeline-errors.sh \
    %D%/mount/timeline-load.sh \
    %D%/mount/timeline-under-way.sh \
    %D%/mount/timeline.sh \
    %D%/mount/times.sh \
    %D%/mount/tmpfile.sh \
    %D%/mount/top.sh \
    %D%/mount/trace-log.sh \
    %D%/mount/trace.sh \
    %D%/mount/tutorial.sh \
    %D%/mount/unmounting.sh \
    %D%/mount/usage.sh \
    %D%/mount/valgrind.sh \
    %D%/mount/user-namespaces.sh \
    %D%/mount/volfiles.sh \
    %D%/mount/utime.sh \
    %D%/mount/write-behind-durable.sh \
    %D%/mount/write-behind-full.sh \
    %D%/mount/watch-storm.sh \
    %D%/mount/watch-user.sh \
    %D%/mount/watch.sh \
    %D%/mount/worth.sh \
    %D%/mount/write-behind.sh
dist_noinst_DATA += \
    %D%/soak/loads.sh \
    %D%/soak/troubles.sh \
    %D%/lsan.supp \
    %D%/tsan.supp \
    %D%/valgrind.supp \
    %D%/mount/lib.sh \
    %D%/mount/programs/in-trouble.py \
    %D%/mount/programs/many-open.py \
    %D%/mount/programs/openmetrics.py \
    %D%/mount/replay-lib.sh \
    %D%/mount/watch-lib.sh \
    %D%/mount/replay.py \
    %D%/mount/programs/trace-events.py \
    %D%/mount/trace-lib.sh \
    %D%/graph/flow.h \
    %D%/graph/posix_world.h \
    %D%/graph/write_behind_world.h \
    %D%/mount/programs/rights.h \
    %D%/unit/mock.h \
    %D%/unit/programs/patched.c \
    %D%/unit/suite.h
