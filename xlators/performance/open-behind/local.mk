# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/open-behind.so

xlators_performance_open_behind_so_SOURCES = \
    %D%/known.c \
    %D%/open-behind.c \
    %D%/open-behind.h \
    %D%/open.c \
    %D%/order.c
xlators_performance_open_behind_so_CPPFLAGS = $(module_cpp)
xlators_performance_open_behind_so_CFLAGS = $(module_cflags)
xlators_performance_open_behind_so_LDFLAGS = $(module_link)
xlators_performance_open_behind_so_LDADD =
