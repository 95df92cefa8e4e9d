# SPDX-License-Identifier: LGPL-2.1-or-later
translators += performance/open-behind

xlatorperformanceexec_LTLIBRARIES += xlators/performance/open-behind.la

xlators_performance_open_behind_la_SOURCES = \
    %D%/known.c \
    %D%/open-behind.c \
    %D%/open-behind.h \
    %D%/open.c \
    %D%/order.c
xlators_performance_open_behind_la_CPPFLAGS = $(module_cpp)
xlators_performance_open_behind_la_LDFLAGS = $(module_link)
