# SPDX-License-Identifier: LGPL-2.1-or-later
translators += system/posix-acl

xlatorsystemexecdir = $(pkglibdir)/xlator/system
xlatorsystemexec_LTLIBRARIES = xlators/system/posix-acl.la

xlators_system_posix_acl_la_SOURCES = \
    %D%/acl.c \
    %D%/acl.h \
    %D%/ask.c \
    %D%/attr-rules.c \
    %D%/explain.c \
    %D%/go-on.c \
    %D%/keep.c \
    %D%/name-rules.c \
    %D%/posix-acl.c \
    %D%/posix-acl.h \
    %D%/rights.c
xlators_system_posix_acl_la_CPPFLAGS = $(module_cpp)
xlators_system_posix_acl_la_LDFLAGS = $(module_link)
