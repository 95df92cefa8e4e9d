# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/write-behind

xlatorperformanceexec_LTLIBRARIES += xlators/performance/write-behind.la

xlators_performance_write_behind_la_SOURCES = \
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
xlators_performance_write_behind_la_CPPFLAGS = $(module_cpp)
xlators_performance_write_behind_la_LDFLAGS = $(module_link)
