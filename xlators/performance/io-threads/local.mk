# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/io-threads.so

xlators_performance_io_threads_so_SOURCES = \
    %D%/dump.c \
    %D%/fops.c \
    %D%/io-threads.c \
    %D%/io-threads.h \
    %D%/stuck.c
xlators_performance_io_threads_so_CPPFLAGS = $(module_cpp)
xlators_performance_io_threads_so_CFLAGS = $(module_cflags)
xlators_performance_io_threads_so_LDFLAGS = $(module_link)
xlators_performance_io_threads_so_LDADD =
