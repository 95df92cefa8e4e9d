# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorsystemexecdir = $(pkglibdir)/xlator/system
xlatorsystemexec_PROGRAMS = xlators/system/posix-acl.so

xlators_system_posix_acl_so_SOURCES = \
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
xlators_system_posix_acl_so_CPPFLAGS = $(module_cpp)
xlators_system_posix_acl_so_CFLAGS = $(module_cflags)
xlators_system_posix_acl_so_LDFLAGS = $(module_link)
xlators_system_posix_acl_so_LDADD =
