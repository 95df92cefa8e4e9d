# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/fault

xlatordebugexec_LTLIBRARIES += xlators/debug/fault.la

xlators_debug_fault_la_SOURCES = \
    %D%/commands.c \
    %D%/data.c \
    %D%/fault.c \
    %D%/fault.h \
    %D%/load.c \
    %D%/match.c \
    %D%/parse.c \
    %D%/rules.c \
    %D%/rules.h
xlators_debug_fault_la_CPPFLAGS = $(module_cpp)
xlators_debug_fault_la_LDFLAGS = $(module_link)
