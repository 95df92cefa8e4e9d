# SPDX-License-Identifier: LGPL-2.1-or-later
xlatordebugexec_PROGRAMS += xlators/debug/delay-gen.so

xlators_debug_delay_gen_so_SOURCES = %D%/delaygen.c
xlators_debug_delay_gen_so_CPPFLAGS = $(module_cpp)
xlators_debug_delay_gen_so_CFLAGS = $(module_cflags)
xlators_debug_delay_gen_so_LDFLAGS = $(module_link)
xlators_debug_delay_gen_so_LDADD =
