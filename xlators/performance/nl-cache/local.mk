# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/nl-cache.so

xlators_performance_nl_cache_so_SOURCES = \
    %D%/names.c \
    %D%/nl-cache.c \
    %D%/nl-cache.h \
    %D%/ops.c
xlators_performance_nl_cache_so_CPPFLAGS = $(module_cpp)
xlators_performance_nl_cache_so_CFLAGS = $(module_cflags)
xlators_performance_nl_cache_so_LDFLAGS = $(module_link)
xlators_performance_nl_cache_so_LDADD =
