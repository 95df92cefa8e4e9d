# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/power-cut

xlatordebugexec_LTLIBRARIES += xlators/debug/power-cut.la

xlators_debug_power_cut_la_SOURCES = \
    %D%/change-data.c \
    %D%/change-names.c \
    %D%/changes.c \
    %D%/child.c \
    %D%/commands.c \
    %D%/data.c \
    %D%/hidden.c \
    %D%/meta.c \
    %D%/nodes.c \
    %D%/power-cut.c \
    %D%/power-cut.h \
    %D%/store.c \
    %D%/undo-data.c \
    %D%/undo-names.c \
    %D%/undo.c \
    %D%/worker.c
xlators_debug_power_cut_la_CPPFLAGS = $(module_cpp)
xlators_debug_power_cut_la_LDFLAGS = $(module_link)
