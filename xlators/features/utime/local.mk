# SPDX-License-Identifier: LGPL-2.1-or-later
translators += features/utime

xlatorfeaturesexec_LTLIBRARIES += xlators/features/utime.la

xlators_features_utime_la_SOURCES = %D%/utime.c
xlators_features_utime_la_CPPFLAGS = $(module_cpp)
xlators_features_utime_la_LDFLAGS = $(module_link)
