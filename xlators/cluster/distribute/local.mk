# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/distribute.so

xlators_cluster_distribute_so_SOURCES = \
    %D%/context.c \
    %D%/dirs.c \
    %D%/distribute.c \
    %D%/distribute.h \
    %D%/empty.c \
    %D%/fds.c \
    %D%/files.c \
    %D%/follow.c \
    %D%/hash.c \
    %D%/hash.h \
    %D%/heal.c \
    %D%/layout.c \
    %D%/layout.h \
    %D%/link.c \
    %D%/linkto.c \
    %D%/list.c \
    %D%/locks.c \
    %D%/lookup-directory.c \
    %D%/lookup.c \
    %D%/make.c \
    %D%/mkdir.c \
    %D%/op.c \
    %D%/rebalance.c \
    %D%/remove.c \
    %D%/rename-directory.c \
    %D%/rename.c \
    %D%/report.c \
    %D%/rmdir.c \
    %D%/space.c
xlators_cluster_distribute_so_CPPFLAGS = $(module_cpp)
xlators_cluster_distribute_so_CFLAGS = $(module_cflags)
xlators_cluster_distribute_so_LDFLAGS = $(module_link)
xlators_cluster_distribute_so_LDADD =
