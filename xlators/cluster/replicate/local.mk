# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorclusterexec_PROGRAMS += xlators/cluster/replicate.so

xlators_cluster_replicate_so_SOURCES = \
    %D%/children.c \
    %D%/choice.c \
    %D%/locks.c \
    %D%/lookup.c \
    %D%/open.c \
    %D%/read.c \
    %D%/readdir.c \
    %D%/replicate.c \
    %D%/replicate.h \
    %D%/report.c \
    %D%/virtual.c \
    %D%/copies/changelog.c \
    %D%/copies/changelog.h \
    %D%/copies/copies.c \
    %D%/copies/copies.h \
    %D%/copies/refresh.c \
    %D%/copies/sources.c \
    %D%/copies/sources.h \
    %D%/changes/calls.c \
    %D%/changes/changes.h \
    %D%/changes/changing.c \
    %D%/changes/eager-lock.c \
    %D%/changes/lock.c \
    %D%/changes/transaction.c \
    %D%/heal/heal-data.c \
    %D%/heal/heal-entries.c \
    %D%/heal/heal-metadata.c \
    %D%/heal/heal-moved.c \
    %D%/heal/heal-tools.c \
    %D%/heal/heal.c \
    %D%/heal/heal.h
xlators_cluster_replicate_so_CPPFLAGS = $(module_cpp)
xlators_cluster_replicate_so_CFLAGS = $(module_cflags)
xlators_cluster_replicate_so_LDFLAGS = $(module_link)
xlators_cluster_replicate_so_LDADD =
