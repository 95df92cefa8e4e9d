# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/trace

xlatordebugexec_LTLIBRARIES += xlators/debug/trace.la

xlators_debug_trace_la_SOURCES = %D%/trace.c %D%/history.c %D%/lines.c %D%/trace.h
xlators_debug_trace_la_CPPFLAGS = $(module_cpp)
xlators_debug_trace_la_LDFLAGS = $(module_link)
