# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/read-ahead.so

xlators_performance_read_ahead_so_SOURCES = \
    %D%/change.c \
    %D%/fetch.c \
    %D%/pages.c \
    %D%/read-ahead.c \
    %D%/read-ahead.h \
    %D%/read.c
xlators_performance_read_ahead_so_CPPFLAGS = $(module_cpp)
xlators_performance_read_ahead_so_CFLAGS = $(module_cflags)
xlators_performance_read_ahead_so_LDFLAGS = $(module_link)
xlators_performance_read_ahead_so_LDADD =
