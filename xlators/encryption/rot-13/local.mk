# SPDX-License-Identifier: LGPL-2.1-or-later
translators += encryption/rot-13

xlatorencryptionexecdir = $(pkglibdir)/xlator/encryption
xlatorencryptionexec_LTLIBRARIES = xlators/encryption/rot-13.la

xlators_encryption_rot_13_la_SOURCES = %D%/rot13.c
xlators_encryption_rot_13_la_CPPFLAGS = $(module_cpp)
xlators_encryption_rot_13_la_LDFLAGS = $(module_link)
