# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/trace.so

xlators_debug_trace_so_SOURCES = %D%/trace.c %D%/history.c %D%/lines.c %D%/trace.h
xlators_debug_trace_so_CPPFLAGS = $(module_cpp)
xlators_debug_trace_so_CFLAGS = $(module_cflags)
xlators_debug_trace_so_LDFLAGS = $(module_link)
xlators_debug_trace_so_LDADD =
