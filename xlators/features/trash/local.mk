# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/trash.so

xlators_features_trash_so_SOURCES = \
    %D%/eliminate.c \
    %D%/explain.c \
    %D%/lack.c \
    %D%/line.c \
    %D%/trash.c \
    %D%/trash.h \
    %D%/commands/choose.c \
    %D%/commands/commands.c \
    %D%/commands/commands.h \
    %D%/commands/empty.c \
    %D%/commands/list.c \
    %D%/commands/restore.c \
    %D%/commands/visit.c \
    %D%/copies/copy.c \
    %D%/copies/copy.h \
    %D%/copies/truncate.c \
    %D%/copies/versions.c \
    %D%/entries/bins.c \
    %D%/entries/entries.c \
    %D%/entries/info.c \
    %D%/entries/limits.c \
    %D%/entries/making.h \
    %D%/entries/notices.c \
    %D%/entries/record.c \
    %D%/entries/removal.c \
    %D%/entries/removal.h \
    %D%/gluster/gluster.c \
    %D%/gluster/gluster.h \
    %D%/gluster/remove.c \
    %D%/stage/folders.c \
    %D%/stage/recover.c \
    %D%/stage/remove.c \
    %D%/stage/removers.c \
    %D%/stage/replace.c \
    %D%/stage/rmdir.c \
    %D%/stage/stages.c \
    %D%/stage/temporaries.c
xlators_features_trash_so_CPPFLAGS = $(module_cpp)
xlators_features_trash_so_CFLAGS = $(module_cflags)
xlators_features_trash_so_LDFLAGS = $(module_link)
xlators_features_trash_so_LDADD =
