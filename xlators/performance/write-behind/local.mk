# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorperformanceexec_PROGRAMS += xlators/performance/write-behind.so

xlators_performance_write_behind_so_SOURCES = \
    %D%/gather.c \
    %D%/names.c \
    %D%/nudge.c \
    %D%/order.c \
    %D%/queue.c \
    %D%/room.c \
    %D%/sync.c \
    %D%/write-behind.c \
    %D%/write-behind.h \
    %D%/write.c
xlators_performance_write_behind_so_CPPFLAGS = $(module_cpp)
xlators_performance_write_behind_so_CFLAGS = $(module_cflags)
xlators_performance_write_behind_so_LDFLAGS = $(module_link)
xlators_performance_write_behind_so_LDADD =
