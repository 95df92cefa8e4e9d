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
tests_unit_all_SOURCES = %D%/program.c %D%/program.h %D%/unit/mock.c %D%/unit/mock.h \
    %D%/unit/no-threads.h \
    %D%/unit/test_byte_claims.c \
    %D%/unit/steps_world.h \
    %D%/unit/test_control.c \
    %D%/unit/test_data.c \
    %D%/unit/test_any_fop.c \
    %D%/unit/test_fan_out.c \
    %D%/unit/test_file_system.c \
    %D%/unit/test_frame.c \
    %D%/unit/test_malloc_trim.c \
    %D%/unit/test_delayed.c \
    %D%/unit/test_distribute.c \
    %D%/unit/test_doctor.c \
    %D%/unit/test_histogram.c \
    %D%/unit/test_hidden.c \
    %D%/unit/test_inode.c \
    %D%/unit/test_jobs.c \
    %D%/unit/test_lru.c \
    %D%/unit/test_numbers.c \
    %D%/unit/test_option.c \
    %D%/unit/test_origin.c \
    %D%/unit/test_pause.c \
    %D%/unit/test_process.c \
    %D%/unit/test_place.c \
    %D%/unit/test_record_gap.c \
    %D%/unit/test_record_log.c \
    %D%/unit/test_record_read.c \
    %D%/unit/test_replicate.c \
    %D%/unit/test_rules.c \
    %D%/unit/test_rpc.c \
    %D%/unit/test_scheduler.c \
    %D%/unit/test_short_numbers.c \
    %D%/unit/test_signals.c \
    %D%/unit/test_steps.c \
    %D%/unit/test_thread.c \
    %D%/unit/test_timeline.c \
    %D%/unit/test_timer.c \
    %D%/unit/test_tls.c \
    %D%/unit/test_trace_history.c \
    %D%/unit/test_volfile.c \
    %D%/unit/test_wait_for_end.c \
    %D%/unit/test_watch.c \
    %D%/unit/test_work.c \
    %D%/unit/test_wire.c \
    %D%/unit/test_xdr.c \
    %D%/unit/records_world.c \
    %D%/unit/records_world.h \
    %D%/unit/rpc_world.h \
    %D%/unit/samples.h \
    %D%/unit/tls_server.c \
    %D%/unit/tls_server.h \
    src/daemon/signals.c \
    xlators/cluster/distribute/hash.c \
    xlators/cluster/distribute/layout.c \
    xlators/cluster/replicate/copies/changelog.c \
    xlators/cluster/replicate/copies/sources.c \
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
    xlators/cluster/overlay/diff/diff.c \
    xlators/cluster/overlay/diff/object.c \
    xlators/cluster/overlay/diff/place.c \
    xlators/cluster/overlay/diff/print.c \
    xlators/cluster/overlay/diff/line-diff.c \
    xlators/cluster/overlay/formats/wh-names.c \
    %D%/graph/brick_world.h \
    %D%/graph/flow.h \
    %D%/graph/posix_world.h \
    %D%/graph/write_behind_world.h \
    %D%/graph/test_detach.c \
    %D%/graph/test_distribute_bricks.c \
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
    %D%/graph/test_overlay_apply.c \
    %D%/graph/test_overlay_claims.c \
    %D%/graph/test_overlay_commit.c \
    %D%/graph/test_overlay_diff.c \
    %D%/graph/test_overlay_names.c \
    %D%/graph/test_overlay_steps.c \
    %D%/graph/test_overlay_waits.c \
    %D%/graph/test_posix.c \
    %D%/graph/test_posix_acl.c \
    %D%/graph/test_posix_acl_cases.c \
    %D%/graph/test_posix_few.c \
    %D%/graph/test_posix_shared.c \
    %D%/graph/test_power_cut.c \
    %D%/graph/test_power_cut_random.c \
    %D%/graph/test_quick_read.c \
    %D%/graph/test_read_only.c \
    %D%/graph/test_copy_between.c \
    %D%/graph/test_follow.c \
    %D%/graph/test_posix_origin.c \
    %D%/graph/test_realm.c \
    %D%/graph/test_readdir_ahead.c \
    %D%/graph/test_replicate_bricks.c \
    %D%/graph/test_roots.c \
    %D%/graph/test_rot13.c \
    %D%/graph/test_trash_makers.c \
    %D%/graph/test_trash_steps.c \
    %D%/graph/test_rule_walk.c \
    %D%/graph/test_store.c \
    %D%/graph/test_write_behind.c \
    %D%/graph/test_write_behind_errors.c
tests_graph_all_LDADD = $(brick_objects) $(test_ldadd)
# The bricks of the conformance kit.
brick_objects = \
    conform/brick/src_windlass_conform-brick.$(OBJEXT) \
    conform/brick/src_windlass_conform-data.$(OBJEXT) \
    conform/brick/src_windlass_conform-files.$(OBJEXT) \
    conform/brick/src_windlass_conform-gfids.$(OBJEXT) \
    conform/brick/src_windlass_conform-locks.$(OBJEXT) \
    conform/brick/src_windlass_conform-names.$(OBJEXT) \
    conform/brick/src_windlass_conform-peer.$(OBJEXT) \
    conform/brick/src_windlass_conform-request.$(OBJEXT) \
    conform/brick/src_windlass_conform-rows.$(OBJEXT) \
    conform/brick/src_windlass_conform-serve.$(OBJEXT) \
    conform/brick/src_windlass_conform-xattrs.$(OBJEXT)

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
    tests/xlators/test/pass.so \
    tests/xlators/test/restless.so \
    tests/xlators/test/pause.so \
    tests/xlators/test/pick.so \
    tests/xlators/test/last.so \
    tests/xlators/test/slow.so \
    tests/xlators/test/thick.so \
    tests/xlators/test/trickle.so \
    tests/xlators/test/twice.so \
    tests/xlators/test/users.so \
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

