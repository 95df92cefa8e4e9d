# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/read-only.so

xlators_features_read_only_so_SOURCES = %D%/read-only.c
xlators_features_read_only_so_CPPFLAGS = $(module_cpp)
xlators_features_read_only_so_CFLAGS = $(module_cflags)
xlators_features_read_only_so_LDFLAGS = $(module_link)
xlators_features_read_only_so_LDADD =
