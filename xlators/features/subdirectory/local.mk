# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/subdirectory.so

xlators_features_subdirectory_so_SOURCES = %D%/subdirectory.c
xlators_features_subdirectory_so_CPPFLAGS = $(module_cpp)
xlators_features_subdirectory_so_CFLAGS = $(module_cflags)
xlators_features_subdirectory_so_LDFLAGS = $(module_link)
xlators_features_subdirectory_so_LDADD =
