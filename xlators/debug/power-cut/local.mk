# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/power-cut.so

xlators_debug_power_cut_so_SOURCES = \
    %D%/change-data.c \
    %D%/change-names.c \
    %D%/changes.c \
    %D%/child.c \
    %D%/commands.c \
    %D%/data.c \
    %D%/disk.c \
    %D%/hidden.c \
    %D%/losses.c \
    %D%/meta.c \
    %D%/nodes.c \
    %D%/power-cut.c \
    %D%/power-cut.h \
    %D%/store.c \
    %D%/undo-data.c \
    %D%/undo-names.c \
    %D%/undo.c \
    %D%/worker.c
xlators_debug_power_cut_so_CPPFLAGS = $(module_cpp)
xlators_debug_power_cut_so_CFLAGS = $(module_cflags)
xlators_debug_power_cut_so_LDFLAGS = $(module_link)
xlators_debug_power_cut_so_LDADD =
