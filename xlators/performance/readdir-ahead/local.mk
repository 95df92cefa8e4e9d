# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/readdir-ahead

xlatorperformanceexec_LTLIBRARIES += xlators/performance/readdir-ahead.la

xlators_performance_readdir_ahead_la_SOURCES = \
    %D%/changes.c \
    %D%/dir.c \
    %D%/fill.c \
    %D%/read.c \
    %D%/readdir-ahead.c \
    %D%/readdir-ahead.h
xlators_performance_readdir_ahead_la_CPPFLAGS = $(module_cpp)
xlators_performance_readdir_ahead_la_LDFLAGS = $(module_link)
