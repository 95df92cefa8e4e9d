# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/fault.so

xlators_debug_fault_so_SOURCES = \
    %D%/choose.c \
    %D%/commands.c \
    %D%/data.c \
    %D%/fault.c \
    %D%/fault.h \
    %D%/load.c \
    %D%/rules.c \
    %D%/rules.h
xlators_debug_fault_so_CPPFLAGS = $(module_cpp)
xlators_debug_fault_so_CFLAGS = $(module_cflags)
xlators_debug_fault_so_LDFLAGS = $(module_link)
xlators_debug_fault_so_LDADD =
