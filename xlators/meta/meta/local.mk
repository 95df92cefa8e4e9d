# SPDX-License-Identifier: LGPL-2.1-or-later
translators += meta/meta

xlatormetaexecdir = $(pkglibdir)/xlator/meta
xlatormetaexec_LTLIBRARIES = xlators/meta/meta.la

xlators_meta_meta_la_SOURCES = %D%/meta.c
xlators_meta_meta_la_CPPFLAGS = $(module_cpp)
xlators_meta_meta_la_LDFLAGS = $(module_link)
