# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorencryptionexecdir = $(pkglibdir)/xlator/encryption
xlatorencryptionexec_PROGRAMS = xlators/encryption/rot-13.so

xlators_encryption_rot_13_so_SOURCES = %D%/rot13.c %D%/rot13.h
xlators_encryption_rot_13_so_CPPFLAGS = $(module_cpp)
xlators_encryption_rot_13_so_CFLAGS = $(module_cflags)
xlators_encryption_rot_13_so_LDFLAGS = $(module_link)
xlators_encryption_rot_13_so_LDADD =
