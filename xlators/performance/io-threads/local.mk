# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/io-threads

xlatorperformanceexec_LTLIBRARIES += xlators/performance/io-threads.la

xlators_performance_io_threads_la_SOURCES = \
    %D%/dump.c \
    %D%/fops.c \
    %D%/io-threads.c \
    %D%/io-threads.h \
    %D%/place.c \
    %D%/pool.c \
    %D%/queue.c \
    %D%/stuck.c
xlators_performance_io_threads_la_CPPFLAGS = $(module_cpp)
xlators_performance_io_threads_la_LDFLAGS = $(module_link)
