# SPDX-License-Identifier: LGPL-2.1-or-later
translators += debug/delay-gen

xlatordebugexec_LTLIBRARIES += xlators/debug/delay-gen.la

xlators_debug_delay_gen_la_SOURCES = %D%/delaygen.c
xlators_debug_delay_gen_la_CPPFLAGS = $(module_cpp)
xlators_debug_delay_gen_la_LDFLAGS = $(module_link)
