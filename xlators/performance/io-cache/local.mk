# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/io-cache.so

xlators_performance_io_cache_so_SOURCES = \
    %D%/change.c \
    %D%/inode.c \
    %D%/io-cache.c \
    %D%/io-cache.h \
    %D%/pages.c \
    %D%/read.c
xlators_performance_io_cache_so_CPPFLAGS = $(module_cpp)
xlators_performance_io_cache_so_CFLAGS = $(module_cflags)
xlators_performance_io_cache_so_LDFLAGS = $(module_link)
xlators_performance_io_cache_so_LDADD =
