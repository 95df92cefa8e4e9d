# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/distribute.so

xlators_cluster_distribute_so_SOURCES = \
    %D%/context.c \
    %D%/distribute.c \
    %D%/distribute.h \
    %D%/fds.c \
    %D%/hash.c \
    %D%/hash.h \
    %D%/layout.c \
    %D%/layout.h \
    %D%/locks.c \
    %D%/op.c \
    %D%/pathinfo.c \
    %D%/real-filename.c \
    %D%/rename-names.c \
    %D%/report.c \
    %D%/space.c \
    %D%/xdata.c \
    %D%/directories/dirs.c \
    %D%/directories/empty.c \
    %D%/directories/heal.c \
    %D%/directories/list.c \
    %D%/directories/lookup-directory.c \
    %D%/directories/mkdir.c \
    %D%/directories/rename-directory.c \
    %D%/directories/rmdir.c \
    %D%/files/file-op.h \
    %D%/files/files.c \
    %D%/files/follow.c \
    %D%/files/link.c \
    %D%/files/linkto.c \
    %D%/files/lookup.c \
    %D%/files/lookup-heals.c \
    %D%/files/make.c \
    %D%/files/rebalance.c \
    %D%/files/remove.c \
    %D%/files/rename.c
xlators_cluster_distribute_so_CPPFLAGS = $(module_cpp)
xlators_cluster_distribute_so_CFLAGS = $(module_cflags)
xlators_cluster_distribute_so_LDFLAGS = $(module_link)
xlators_cluster_distribute_so_LDADD =
