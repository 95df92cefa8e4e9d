# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/utime.so

xlators_features_utime_so_SOURCES = %D%/utime.c
xlators_features_utime_so_CPPFLAGS = $(module_cpp)
xlators_features_utime_so_CFLAGS = $(module_cflags)
xlators_features_utime_so_LDFLAGS = $(module_link)
xlators_features_utime_so_LDADD =
