# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/read-ahead

xlatorperformanceexec_LTLIBRARIES += xlators/performance/read-ahead.la

xlators_performance_read_ahead_la_SOURCES = \
    %D%/change.c \
    %D%/fetch.c \
    %D%/pages.c \
    %D%/read-ahead.c \
    %D%/read-ahead.h \
    %D%/read.c
xlators_performance_read_ahead_la_CPPFLAGS = $(module_cpp)
xlators_performance_read_ahead_la_LDFLAGS = $(module_link)
