# SPDX-License-Identifier: LGPL-2.1-or-later
# The conformance kit: a program of its own, which `windlass conform` starts. It has graphs in its
# process, so it offers translators all of the core, but it has no bridge, and nothing of it is in
# the daemon.

pkglibexec_PROGRAMS = src/windlass-conform
src_windlass_conform_SOURCES = \
    src/cli/arguments.c \
    %D%/allow.c \
    %D%/brick/brick.c \
    %D%/brick/brick.h \
    %D%/brick/data.c \
    %D%/brick/files.c \
    %D%/brick/gfids.c \
    %D%/brick/locks.c \
    %D%/brick/names.c \
    %D%/brick/peer.c \
    %D%/brick/request.c \
    %D%/brick/request.h \
    %D%/brick/rows.c \
    %D%/brick/serve.c \
    %D%/brick/xattrs.c \
    %D%/conform.h \
    %D%/history/answered.c \
    %D%/history/apply-names.c \
    %D%/history/apply.c \
    %D%/history/bricks.c \
    %D%/history/check.c \
    %D%/history/commands.c \
    %D%/history/disk.c \
    %D%/history/drive.c \
    %D%/history/drive.h \
    %D%/history/gate.c \
    %D%/history/histories.c \
    %D%/history/history.h \
    %D%/history/late.c \
    %D%/history/lowers.c \
    %D%/history/make.c \
    %D%/history/model.c \
    %D%/history/model.h \
    %D%/history/reload.c \
    %D%/history/run.c \
    %D%/history/script.c \
    %D%/history/operation.c \
    %D%/history/shrink.c \
    %D%/history/verbs.def \
    %D%/history/wind.c \
    %D%/inprocess/call.c \
    %D%/inprocess/classes.c \
    %D%/inprocess/counts.c \
    %D%/inprocess/dump.c \
    %D%/inprocess/failing.c \
    %D%/inprocess/fault.c \
    %D%/inprocess/finding.c \
    %D%/inprocess/inprocess.c \
    %D%/inprocess/inprocess.h \
    %D%/inprocess/inspect.c \
    %D%/inprocess/keys.c \
    %D%/inprocess/loan.c \
    %D%/inprocess/locks.c \
    %D%/inprocess/order.c \
    %D%/inprocess/place.c \
    %D%/inprocess/rules.c \
    %D%/inprocess/statics.c \
    %D%/inprocess/worker.c \
    %D%/inprocess/world.c \
    %D%/keeper.c \
    %D%/lowers.c \
    %D%/main.c \
    %D%/mount/act.c \
    %D%/mount/by-design.c \
    %D%/mount/diff.c \
    %D%/mount/mount.c \
    %D%/mount/mount.h \
    %D%/mount/roles.c \
    %D%/mount/roles.h \
    %D%/mount/run.c \
    %D%/mount/stage.c \
    %D%/mount/themes/acl.c \
    %D%/mount/themes/attributes.c \
    %D%/mount/themes/concurrent.c \
    %D%/mount/themes/data.c \
    %D%/mount/themes/directories.c \
    %D%/mount/themes/links.c \
    %D%/mount/themes/locks.c \
    %D%/mount/themes/mapped.c \
    %D%/mount/themes/offsets.c \
    %D%/mount/themes/path-calls.c \
    %D%/mount/themes/paths.c \
    %D%/mount/themes/paths.h \
    %D%/mount/themes/permissions.c \
    %D%/mount/themes/privileges.c \
    %D%/mount/themes/rename.c \
    %D%/mount/themes/special.c \
    %D%/mount/themes/themes.c \
    %D%/mount/themes/themes.h \
    %D%/mount/themes/times.c \
    %D%/mount/themes/unlinked.c \
    %D%/mount/themes/xattrs.c \
    %D%/report.c \
    %D%/scratch.c
src_windlass_conform_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
src_windlass_conform_CFLAGS = $(untraced_cflags)
src_windlass_conform_LDADD = $(src_libcore_a_OBJECTS) $(src_libgraph_a_OBJECTS) \
    $(src_libmeta_a_OBJECTS) $(src_librpc_a_OBJECTS) $(OPENSSL_LIBS) $(GLIB_LIBS)
