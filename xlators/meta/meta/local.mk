# SPDX-License-Identifier: LGPL-2.1-or-later
xlatormetaexecdir = $(pkglibdir)/xlator/meta
xlatormetaexec_PROGRAMS = xlators/meta/meta.so

xlators_meta_meta_so_SOURCES = %D%/meta.c
xlators_meta_meta_so_CPPFLAGS = $(module_cpp)
xlators_meta_meta_so_CFLAGS = $(module_cflags)
xlators_meta_meta_so_LDFLAGS = $(module_link)
xlators_meta_meta_so_LDADD =
