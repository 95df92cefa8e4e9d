# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/error-gen.so

xlators_debug_error_gen_so_SOURCES = %D%/errorgen.c %D%/errorgen.h %D%/errors.c
xlators_debug_error_gen_so_CPPFLAGS = $(module_cpp)
xlators_debug_error_gen_so_CFLAGS = $(module_cflags)
xlators_debug_error_gen_so_LDFLAGS = $(module_link)
xlators_debug_error_gen_so_LDADD =
