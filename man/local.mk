# SPDX-License-Identifier: LGPL-2.1-or-later
# Pages. Each is made from %D%/NAME.N.in and has a line here. The built program prints the sections
# for which the source has a placeholder: %D%/page.awk.

man_MANS = \
    man/man1/windlass-commands.1 \
    man/man1/windlass-conform.1 \
    man/man1/windlass-options.1 \
    man/man1/windlass-run.1 \
    man/man1/windlass.1 \
    man/man5/volfile.5 \
    man/man7/cluster-distribute.7 \
    man/man7/cluster-overlay.7 \
    man/man7/cluster-replicate.7 \
    man/man7/debug-delay-gen.7 \
    man/man7/debug-error-gen.7 \
    man/man7/debug-fault.7 \
    man/man7/debug-io-stats.7 \
    man/man7/debug-power-cut.7 \
    man/man7/debug-trace.7 \
    man/man7/encryption-rot-13.7 \
    man/man7/features-audit.7 \
    man/man7/features-read-only.7 \
    man/man7/features-subdirectory.7 \
    man/man7/features-trash.7 \
    man/man7/features-utime.7 \
    man/man7/fops.7 \
    man/man7/meta-meta.7 \
    man/man7/performance-io-cache.7 \
    man/man7/performance-md-cache.7 \
    man/man7/performance-nl-cache.7 \
    man/man7/performance-read-ahead.7 \
    man/man7/performance-open-behind.7 \
    man/man7/performance-quick-read.7 \
    man/man7/performance-readdir-ahead.7 \
    man/man7/performance-io-threads.7 \
    man/man7/performance-write-behind.7 \
    man/man7/protocol-client.7 \
    man/man7/windlass-gdb.7 \
    man/man7/windlass-kernels.7 \
    man/man7/windlass-meta.7 \
    man/man7/windlass-probes.7 \
    man/man7/windlass-rules.7 \
    man/man7/windlass-semantics.7 \
    man/man7/storage-posix.7 \
    man/man7/system-posix-acl.7 \
    man/man8/mount.windlass.8 \
    man/man8/windlass.8 \
    man/man8/windlass@.service.8
CLEANFILES += $(man_MANS)

# Pages are made last, since the program prints their options. The leak sanitizer is turned off for
# that, and the thread sanitizer may need a fixed layout of addresses.
man_program = src/windlass$(EXEEXT)
man_table = $(srcdir)/src/core/table
man_operations = $(AWK) -f $(man_table)/fops-man.awk $(man_table)/value-kinds.h \
    $(srcdir)/src/fops.def
man_kernels = $(srcdir)/src/cli/doctor/kernel-features.def
man_make = $(AM_V_GEN)$(MKDIR_P) $(@D) && \
    if test '$(BUILD_NAME)' = tsan && setarch -R true 2>/dev/null; then \
        fixed='setarch -R'; else fixed=; fi && \
    quiet='ASAN_OPTIONS=detect_leaks=0' && \
    $(AWK) -v version='$(PACKAGE_VERSION)' \
        -v windlass="$$quiet WINDLASS_XLATOR_PATH=xlators $$fixed $(EMULATOR) $(man_program)" \
        -v conform="$$quiet $$fixed $(EMULATOR) src/windlass-conform$(EXEEXT)" \
        -v bindir='$(bindir)' -v mounthelperdir='$(mounthelperdir)' \
        -v pkgdatadir='$(pkgdatadir)' \
        -v probes="$(AWK) -f $(srcdir)/%D%/probes.awk $(srcdir)/src/fops.def" \
        -v kernels="$(AWK) -f $(srcdir)/%D%/kernels.awk $(man_kernels)" \
        -v operations="$(man_operations)" \
        -f $(srcdir)/%D%/page.awk $< >$@.new && mv $@.new $@

man/man1/%.1: %D%/%.1.in %D%/page.awk
	$(man_make)
man/man5/%.5: %D%/%.5.in %D%/page.awk
	$(man_make)
man/man7/%.7: %D%/%.7.in %D%/page.awk
	$(man_make)
man/man8/%.8: %D%/%.8.in %D%/page.awk
	$(man_make)

# An alias of the page, which was in section 8 up to 0.1.0.
man/man8/windlass.8:
	$(AM_V_GEN)$(MKDIR_P) $(@D) && echo '.so man1/windlass.1' >$@

man/man7/windlass-probes.7: %D%/probes.awk src/fops.def
man/man7/windlass-kernels.7: %D%/kernels.awk src/cli/doctor/kernel-features.def
man/man7/fops.7: src/core/table/fops-man.awk src/core/table/value-kinds.h src/fops.def
man/man7/cluster-distribute.7: src/windlass$(EXEEXT) xlators/cluster/distribute.so
man/man7/cluster-replicate.7: src/windlass$(EXEEXT) xlators/cluster/replicate.so
man/man7/debug-power-cut.7: src/windlass$(EXEEXT) xlators/debug/power-cut.so
man/man7/debug-delay-gen.7: src/windlass$(EXEEXT) xlators/debug/delay-gen.so
man/man7/debug-error-gen.7: src/windlass$(EXEEXT) xlators/debug/error-gen.so
man/man7/debug-trace.7: src/windlass$(EXEEXT) xlators/debug/trace.so
man/man7/debug-io-stats.7: src/windlass$(EXEEXT) xlators/debug/io-stats.so
man/man7/debug-fault.7: src/windlass$(EXEEXT) xlators/debug/fault.so
man/man7/features-audit.7: src/windlass$(EXEEXT) xlators/features/audit.so
man/man7/encryption-rot-13.7: src/windlass$(EXEEXT) xlators/encryption/rot-13.so
man/man7/meta-meta.7: src/windlass$(EXEEXT) xlators/meta/meta.so
man/man7/features-read-only.7: src/windlass$(EXEEXT) xlators/features/read-only.so
man/man7/cluster-overlay.7: src/windlass$(EXEEXT) xlators/cluster/overlay.so
man/man7/features-subdirectory.7: src/windlass$(EXEEXT) xlators/features/subdirectory.so
man/man7/features-trash.7: src/windlass$(EXEEXT) xlators/features/trash.so
man/man7/features-utime.7: src/windlass$(EXEEXT) xlators/features/utime.so
man/man7/performance-io-cache.7: src/windlass$(EXEEXT) xlators/performance/io-cache.so
man/man7/performance-md-cache.7: src/windlass$(EXEEXT) xlators/performance/md-cache.so
man/man7/performance-nl-cache.7: src/windlass$(EXEEXT) xlators/performance/nl-cache.so
man/man7/performance-read-ahead.7: src/windlass$(EXEEXT) xlators/performance/read-ahead.so
man/man7/performance-open-behind.7: src/windlass$(EXEEXT) xlators/performance/open-behind.so
man/man7/performance-quick-read.7: src/windlass$(EXEEXT) xlators/performance/quick-read.so
man/man7/performance-readdir-ahead.7: src/windlass$(EXEEXT) xlators/performance/readdir-ahead.so
man/man7/performance-io-threads.7: src/windlass$(EXEEXT) xlators/performance/io-threads.so
man/man7/performance-write-behind.7: src/windlass$(EXEEXT) xlators/performance/write-behind.so
man/man7/protocol-client.7: src/windlass$(EXEEXT) xlators/protocol/client.so
man/man7/storage-posix.7: src/windlass$(EXEEXT) xlators/storage/posix.so
man/man7/system-posix-acl.7: src/windlass$(EXEEXT) xlators/system/posix-acl.so
man/man1/windlass-conform.1: src/windlass-conform$(EXEEXT)
man/man1/windlass-options.1: src/windlass$(EXEEXT)
