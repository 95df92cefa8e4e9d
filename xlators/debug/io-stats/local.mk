# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/io-stats

xlatordebugexec_LTLIBRARIES += xlators/debug/io-stats.la

xlators_debug_io_stats_la_SOURCES = \
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
xlators_debug_io_stats_la_CPPFLAGS = $(module_cpp)
xlators_debug_io_stats_la_LDFLAGS = $(module_link)
