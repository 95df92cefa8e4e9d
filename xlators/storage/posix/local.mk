# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorstorageexecdir = $(pkglibdir)/xlator/storage
xlatorstorageexec_PROGRAMS = xlators/storage/posix.so

xlators_storage_posix_so_SOURCES = \
    %D%/attr.c \
    %D%/cache.c \
    %D%/content.c \
    %D%/creds.c \
    %D%/data-ops.c \
    %D%/descriptors.c \
    %D%/dir.c \
    %D%/entry-ops.c \
    %D%/fd-ops.c \
    %D%/handle.c \
    %D%/holders.c \
    %D%/deadlock.c \
    %D%/identity.c \
    %D%/init.c \
    %D%/inode-ops.c \
    %D%/ioctl.c \
    %D%/lock.c \
    %D%/lock.h \
    %D%/lookup.c \
    %D%/posix.c \
    %D%/posix.h \
    %D%/remove.c \
    %D%/reserve.c \
    %D%/room.c \
    %D%/stamp.c \
    %D%/wait.c \
    %D%/watch-events.c \
    %D%/watch-marks.c \
    %D%/watch.c \
    %D%/watch.h \
    %D%/xattr.c
xlators_storage_posix_so_CPPFLAGS = $(module_cpp)
xlators_storage_posix_so_CFLAGS = $(module_cflags)
xlators_storage_posix_so_LDFLAGS = $(module_link)
xlators_storage_posix_so_LDADD =
