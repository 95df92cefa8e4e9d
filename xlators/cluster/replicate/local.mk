# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/replicate.so

xlators_cluster_replicate_so_SOURCES = \
    %D%/changelog.c \
    %D%/changelog.h \
    %D%/children.c \
    %D%/copies.c \
    %D%/data.c \
    %D%/entry.c \
    %D%/heal.c \
    %D%/heal.h \
    %D%/heal-data.c \
    %D%/heal-entries.c \
    %D%/heal-metadata.c \
    %D%/heal-tools.c \
    %D%/hold.c \
    %D%/lock.c \
    %D%/locks.c \
    %D%/lookup.c \
    %D%/metadata.c \
    %D%/op.c \
    %D%/open.c \
    %D%/read.c \
    %D%/readdir.c \
    %D%/refresh.c \
    %D%/replicate.c \
    %D%/replicate.h \
    %D%/report.c \
    %D%/sources.c \
    %D%/sources.h \
    %D%/transaction.c
xlators_cluster_replicate_so_CPPFLAGS = $(module_cpp)
xlators_cluster_replicate_so_CFLAGS = $(module_cflags)
xlators_cluster_replicate_so_LDFLAGS = $(module_link)
xlators_cluster_replicate_so_LDADD =
