# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/quick-read

xlatorperformanceexec_LTLIBRARIES += xlators/performance/quick-read.la

xlators_performance_quick_read_la_SOURCES = \
    %D%/change.c \
    %D%/content.c \
    %D%/quick-read.c \
    %D%/quick-read.h \
    %D%/read.c \
    %D%/seen.c
xlators_performance_quick_read_la_CPPFLAGS = $(module_cpp)
xlators_performance_quick_read_la_LDFLAGS = $(module_link)
