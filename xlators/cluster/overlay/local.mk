# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/overlay.so

xlators_cluster_overlay_so_SOURCES = \
    %D%/act.c \
    %D%/listing.c \
    %D%/overlay.c \
    %D%/overlay.h \
    %D%/pass.c \
    %D%/sync.c \
    %D%/tasks.c \
    %D%/apply/apply.c \
    %D%/apply/apply.h \
    %D%/apply/base.c \
    %D%/apply/drop.c \
    %D%/apply/hinder.c \
    %D%/apply/links.c \
    %D%/apply/make.c \
    %D%/apply/plan.c \
    %D%/commands/commands.c \
    %D%/commands/commands.h \
    %D%/commands/discard-all.c \
    %D%/commands/discard.c \
    %D%/commands/discard.h \
    %D%/commands/freeze.c \
    %D%/commands/settle.c \
    %D%/commands/pausing.c \
    %D%/commit/commit.c \
    %D%/commit/commit.h \
    %D%/commit/drop.c \
    %D%/commit/renames.c \
    %D%/copy/data.c \
    %D%/copy/empty.c \
    %D%/copy/up.c \
    %D%/copy/up.h \
    %D%/copy/wait.c \
    %D%/diff/diff.c \
    %D%/diff/diff.h \
    %D%/diff/line-diff.c \
    %D%/diff/line-diff.h \
    %D%/diff/object.c \
    %D%/diff/place.c \
    %D%/diff/place.h \
    %D%/diff/print.c \
    %D%/diff/print.h \
    %D%/diff/who.c \
    %D%/diff/who.h \
    %D%/formats/marks.c \
    %D%/formats/moves.c \
    %D%/formats/moves.h \
    %D%/formats/origin.c \
    %D%/formats/records.c \
    %D%/formats/marks.h \
    %D%/formats/records.h \
    %D%/formats/redirect.c \
    %D%/formats/temporaries.c \
    %D%/formats/temporaries.h \
    %D%/formats/wh-names.c \
    %D%/formats/wh.c \
    %D%/formats/wh.h \
    %D%/lookup/inodes.c \
    %D%/lookup/join.c \
    %D%/lookup/lookup.c \
    %D%/lookup/lookup.h \
    %D%/lookup/own-mount.c \
    %D%/names/links.c \
    %D%/names/links.h \
    %D%/names/make.c \
    %D%/names/names.c \
    %D%/names/names.h \
    %D%/names/remove.c \
    %D%/names/rename.c \
    %D%/names/sweep.c \
    %D%/start/claim.c \
    %D%/start/layers.c \
    %D%/start/layers.h \
    %D%/start/left.c \
    %D%/start/places.c \
    %D%/start/shared.c \
    %D%/start/start.c
xlators_cluster_overlay_so_CPPFLAGS = $(module_cpp)
xlators_cluster_overlay_so_CFLAGS = $(module_cflags)
xlators_cluster_overlay_so_LDFLAGS = $(module_link)
xlators_cluster_overlay_so_LDADD =
