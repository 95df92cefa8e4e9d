# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/nl-cache

xlatorperformanceexec_LTLIBRARIES += xlators/performance/nl-cache.la

xlators_performance_nl_cache_la_SOURCES = \
    %D%/names.c \
    %D%/nl-cache.c \
    %D%/nl-cache.h \
    %D%/ops.c
xlators_performance_nl_cache_la_CPPFLAGS = $(module_cpp)
xlators_performance_nl_cache_la_LDFLAGS = $(module_link)
