# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/md-cache

xlatorperformanceexec_LTLIBRARIES += xlators/performance/md-cache.la

xlators_performance_md_cache_la_SOURCES = \
    %D%/ask.c \
    %D%/change.c \
    %D%/inode.c \
    %D%/list.c \
    %D%/md-cache.c \
    %D%/md-cache.h \
    %D%/names.c \
    %D%/xattr-ops.c \
    %D%/xattrs.c
xlators_performance_md_cache_la_CPPFLAGS = $(module_cpp)
xlators_performance_md_cache_la_LDFLAGS = $(module_link)
