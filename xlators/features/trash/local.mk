# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/trash.so

xlators_features_trash_so_SOURCES = \
    %D%/choose.c \
    %D%/commands.c \
    %D%/commands.h \
    %D%/copy.c \
    %D%/copy.h \
    %D%/eliminate.c \
    %D%/empty.c \
    %D%/entries.c \
    %D%/folders.c \
    %D%/limits.c \
    %D%/gluster-remove.c \
    %D%/gluster-truncate.c \
    %D%/gluster.c \
    %D%/gluster.h \
    %D%/info.c \
    %D%/lack.c \
    %D%/line.c \
    %D%/list.c \
    %D%/record.c \
    %D%/recover.c \
    %D%/remove.c \
    %D%/replace.c \
    %D%/restore.c \
    %D%/rmdir.c \
    %D%/stages.c \
    %D%/temporaries.c \
    %D%/trash.c \
    %D%/trash.h \
    %D%/versions.c \
    %D%/visit.c
xlators_features_trash_so_CPPFLAGS = $(module_cpp)
xlators_features_trash_so_CFLAGS = $(module_cflags)
xlators_features_trash_so_LDFLAGS = $(module_link)
xlators_features_trash_so_LDADD =
