# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorfeaturesexec_PROGRAMS += xlators/features/audit.so

xlators_features_audit_so_SOURCES = \
    %D%/audit.c \
    %D%/audit.h \
    %D%/place.c \
    %D%/record.c \
    %D%/rules.c
xlators_features_audit_so_CPPFLAGS = $(module_cpp)
xlators_features_audit_so_CFLAGS = $(module_cflags)
xlators_features_audit_so_LDFLAGS = $(module_link)
xlators_features_audit_so_LDADD =
