# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/io-cache

xlatorperformanceexec_LTLIBRARIES += xlators/performance/io-cache.la

xlators_performance_io_cache_la_SOURCES = \
    %D%/change.c \
    %D%/inode.c \
    %D%/io-cache.c \
    %D%/io-cache.h \
    %D%/pages.c \
    %D%/read.c
xlators_performance_io_cache_la_CPPFLAGS = $(module_cpp)
xlators_performance_io_cache_la_LDFLAGS = $(module_link)
