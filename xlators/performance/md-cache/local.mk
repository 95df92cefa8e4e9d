# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/md-cache.so

xlators_performance_md_cache_so_SOURCES = \
    %D%/ahead.c \
    %D%/ask.c \
    %D%/change.c \
    %D%/inode.c \
    %D%/list.c \
    %D%/md-cache.c \
    %D%/md-cache.h \
    %D%/names.c \
    %D%/xattr-ops.c \
    %D%/xattrs.c
xlators_performance_md_cache_so_CPPFLAGS = $(module_cpp)
xlators_performance_md_cache_so_CFLAGS = $(module_cflags)
xlators_performance_md_cache_so_LDFLAGS = $(module_link)
xlators_performance_md_cache_so_LDADD =
