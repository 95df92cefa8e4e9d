# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/quick-read.so

xlators_performance_quick_read_so_SOURCES = \
    %D%/change.c \
    %D%/content.c \
    %D%/quick-read.c \
    %D%/quick-read.h \
    %D%/read.c \
    %D%/seen.c
xlators_performance_quick_read_so_CPPFLAGS = $(module_cpp)
xlators_performance_quick_read_so_CFLAGS = $(module_cflags)
xlators_performance_quick_read_so_LDFLAGS = $(module_link)
xlators_performance_quick_read_so_LDADD =
