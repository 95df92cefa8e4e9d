# SPDX-License-Identifier: LGPL-2.1-or-later
# A target of the fuzzer is a program, made from the file of its name. With --enable-fuzz it is
# linked with libFuzzer, else with a main that replays the corpus. tests/run runs both kinds.

check_PROGRAMS += \
    tests/fuzz/acl \
    tests/fuzz/brick \
    tests/fuzz/bridge \
    tests/fuzz/control \
    tests/fuzz/dict \
    tests/fuzz/fault-rules \
    tests/fuzz/gfid \
    tests/fuzz/log \
    tests/fuzz/mount-options \
    tests/fuzz/mountinfo \
    tests/fuzz/option \
    tests/fuzz/volfile \
    tests/fuzz/xattr

if FUZZ
fuzz_main =
fuzz_link = $(AM_LDFLAGS) -fsanitize=fuzzer
else
fuzz_main = tests/fuzz/replay.c
fuzz_link = $(AM_LDFLAGS)
endif

tests_fuzz_acl_SOURCES = %D%/acl.c xlators/system/posix-acl/acl.c $(fuzz_main)
tests_fuzz_acl_LDFLAGS = $(fuzz_link)
tests_fuzz_acl_LDADD = $(test_ldadd)
tests_fuzz_brick_SOURCES = %D%/brick.c $(xlators_protocol_client_so_SOURCES) $(fuzz_main)
tests_fuzz_brick_LDFLAGS = $(fuzz_link)
tests_fuzz_brick_LDADD = $(test_ldadd)
tests_fuzz_bridge_SOURCES = %D%/bridge.c %D%/leaf.c %D%/leaf.h $(fuzz_main)
tests_fuzz_bridge_LDFLAGS = $(fuzz_link)
tests_fuzz_bridge_LDADD = $(test_ldadd)
tests_fuzz_control_SOURCES = %D%/control.c $(fuzz_main)
tests_fuzz_control_LDFLAGS = $(fuzz_link)
tests_fuzz_control_LDADD = $(test_ldadd)
tests_fuzz_dict_SOURCES = %D%/dict.c $(fuzz_main)
tests_fuzz_dict_LDFLAGS = $(fuzz_link)
tests_fuzz_dict_LDADD = $(test_ldadd)
tests_fuzz_fault_rules_SOURCES = %D%/fault-rules.c xlators/debug/fault/rules.c \
    $(fuzz_main)
tests_fuzz_fault_rules_LDFLAGS = $(fuzz_link)
tests_fuzz_fault_rules_LDADD = $(test_ldadd)
tests_fuzz_gfid_SOURCES = %D%/gfid.c $(fuzz_main)
tests_fuzz_gfid_LDFLAGS = $(fuzz_link)
tests_fuzz_gfid_LDADD = $(test_ldadd)
tests_fuzz_log_SOURCES = %D%/log.c $(fuzz_main)
tests_fuzz_log_LDFLAGS = $(fuzz_link)
tests_fuzz_log_LDADD = $(test_ldadd)
tests_fuzz_mount_options_SOURCES = %D%/mount-options.c $(fuzz_main)
tests_fuzz_mount_options_LDFLAGS = $(fuzz_link)
tests_fuzz_mount_options_LDADD = $(fuzz_daemon) $(test_ldadd)
tests_fuzz_mountinfo_SOURCES = %D%/mountinfo.c $(fuzz_main)
tests_fuzz_mountinfo_LDFLAGS = $(fuzz_link)
tests_fuzz_mountinfo_LDADD = $(test_ldadd)
tests_fuzz_option_SOURCES = %D%/option.c $(fuzz_main)
tests_fuzz_option_LDFLAGS = $(fuzz_link)
tests_fuzz_option_LDADD = $(test_ldadd)
tests_fuzz_volfile_SOURCES = %D%/volfile.c $(fuzz_main)
tests_fuzz_volfile_LDFLAGS = $(fuzz_link)
tests_fuzz_volfile_LDADD = $(test_ldadd)
tests_fuzz_volfile_CPPFLAGS = $(AM_CPPFLAGS) $(fuzz_xlators)
tests_fuzz_xattr_SOURCES = %D%/xattr.c $(fuzz_main)
tests_fuzz_xattr_LDFLAGS = $(fuzz_link)
tests_fuzz_xattr_LDADD = $(test_ldadd)
tests_fuzz_xattr_CPPFLAGS = $(AM_CPPFLAGS) $(fuzz_xlators)

# Parts of the program that are in no library, as objects of it: make knows what these depend on.
fuzz_daemon = \
    src/daemon/src_windlass-bridge-options.$(OBJEXT) \
    src/daemon/src_windlass-dump-config.$(OBJEXT) \
    src/daemon/src_windlass-mount-options.$(OBJEXT) \
    src/daemon/src_windlass-oom.$(OBJEXT) \
    src/daemon/src_windlass-options.$(OBJEXT) \
    src/daemon/src_windlass-paths.$(OBJEXT) \
    src/daemon/src_windlass-version.$(OBJEXT)

# Where targets that load modules find them.
fuzz_xlators = -DFUZZ_XLATOR_PATH='"$(abs_top_builddir)/xlators"'

# Fuzzes each target, or TARGET, for SECONDS. Findings, and new inputs, stay in fuzz/TARGET here.
TARGET =
if FUZZ
fuzz:
	@test -d '$(srcdir)/%D%/corpus/$(TARGET)' || { \
	    echo "make fuzz: there is no target '$(TARGET)', only:" `ls $(srcdir)/%D%/corpus` >&2; \
	    exit 1; }
	$(MAKE) all
	$(MAKE) check-programs
	FUZZ_SECONDS=$(SECONDS) FUZZ_DIR='$(abs_builddir)/fuzz' $(srcdir)/tests/run . fuzz/$(TARGET)
else
fuzz:
	@echo "make fuzz: this tree isn't built for the fuzzer; in an empty folder:" \
	    "$(abs_srcdir)/configure --enable-fuzz CC=clang && make fuzz" >&2
	@exit 1
endif
.PHONY: fuzz

