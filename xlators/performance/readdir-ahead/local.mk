# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/readdir-ahead.so

xlators_performance_readdir_ahead_so_SOURCES = \
    %D%/changes.c \
    %D%/dir.c \
    %D%/fill.c \
    %D%/read.c \
    %D%/readdir-ahead.c \
    %D%/readdir-ahead.h
xlators_performance_readdir_ahead_so_CPPFLAGS = $(module_cpp)
xlators_performance_readdir_ahead_so_CFLAGS = $(module_cflags)
xlators_performance_readdir_ahead_so_LDFLAGS = $(module_link)
xlators_performance_readdir_ahead_so_LDADD =
