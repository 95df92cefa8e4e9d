# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/error-gen

xlatordebugexec_LTLIBRARIES += xlators/debug/error-gen.la

xlators_debug_error_gen_la_SOURCES = %D%/errorgen.c %D%/errorgen.h %D%/errors.c
xlators_debug_error_gen_la_CPPFLAGS = $(module_cpp)
xlators_debug_error_gen_la_LDFLAGS = $(module_link)
