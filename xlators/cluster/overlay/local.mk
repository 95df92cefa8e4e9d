# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/overlay.so

xlators_cluster_overlay_so_SOURCES = \
    %D%/act.c \
    %D%/apply.c \
    %D%/apply.h \
    %D%/apply-base.c \
    %D%/apply-drop.c \
    %D%/apply-links.c \
    %D%/apply-make.c \
    %D%/apply-plan.c \
    %D%/claim.c \
    %D%/commands.c \
    %D%/commands.h \
    %D%/copy-data.c \
    %D%/copy-up.c \
    %D%/copy-up.h \
    %D%/copy-wait.c \
    %D%/diff-object.c \
    %D%/diff-print.c \
    %D%/diff-print.h \
    %D%/diff.c \
    %D%/diff.h \
    %D%/discard.c \
    %D%/empty.c \
    %D%/freeze.c \
    %D%/inodes.c \
    %D%/layers.c \
    %D%/layers.h \
    %D%/line-diff.c \
    %D%/line-diff.h \
    %D%/links.c \
    %D%/links.h \
    %D%/listing.c \
    %D%/lookup-join.c \
    %D%/lookup.c \
    %D%/make.c \
    %D%/marks.c \
    %D%/names.c \
    %D%/names.h \
    %D%/origin.c \
    %D%/overlay.c \
    %D%/overlay.h \
    %D%/pass.c \
    %D%/pausing.c \
    %D%/records.c \
    %D%/records.h \
    %D%/redirect.c \
    %D%/remove.c \
    %D%/rename.c \
    %D%/shared.c \
    %D%/start.c \
    %D%/sweep.c \
    %D%/sync.c \
    %D%/tasks.c
xlators_cluster_overlay_so_CPPFLAGS = $(module_cpp)
xlators_cluster_overlay_so_CFLAGS = $(module_cflags)
xlators_cluster_overlay_so_LDFLAGS = $(module_link)
xlators_cluster_overlay_so_LDADD =
