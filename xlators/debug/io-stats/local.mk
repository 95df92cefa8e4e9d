# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/io-stats.so

xlators_debug_io_stats_so_SOURCES = \
    %D%/io-stats.c \
    %D%/io-stats.h \
    %D%/counters.c \
    %D%/dump.c \
    %D%/files.c \
    %D%/json.c \
    %D%/options.c \
    %D%/report.c \
    %D%/samples.c \
    %D%/text.c
xlators_debug_io_stats_so_CPPFLAGS = $(module_cpp)
xlators_debug_io_stats_so_CFLAGS = $(module_cflags)
xlators_debug_io_stats_so_LDFLAGS = $(module_link)
xlators_debug_io_stats_so_LDADD =
