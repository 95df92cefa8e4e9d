# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorstorageexecdir = $(pkglibdir)/xlator/storage
xlatorstorageexec_PROGRAMS = xlators/storage/posix.so

xlators_storage_posix_so_SOURCES = \
    %D%/init.c \
    %D%/posix.c \
    %D%/posix.h \
    %D%/reserve.c \
    %D%/files/cache.c \
    %D%/files/creds.c \
    %D%/files/descriptors.c \
    %D%/files/files.h \
    %D%/files/handle.c \
    %D%/files/identity.c \
    %D%/files/number.c \
    %D%/files/path.c \
    %D%/files/room.c \
    %D%/files/stamp.c \
    %D%/locks/deadlock.c \
    %D%/locks/holders.c \
    %D%/locks/internal.h \
    %D%/locks/lock.c \
    %D%/locks/locks.h \
    %D%/locks/wait.c \
    %D%/ops/attr.c \
    %D%/ops/content.c \
    %D%/ops/data-ops.c \
    %D%/ops/dir.c \
    %D%/ops/entry-ops.c \
    %D%/ops/fd-ops.c \
    %D%/ops/inode-ops.c \
    %D%/ops/ioctl.c \
    %D%/ops/lookup.c \
    %D%/ops/ops.h \
    %D%/ops/remove.c \
    %D%/ops/xattr.c \
    %D%/watch/internal.h \
    %D%/watch/watch-events.c \
    %D%/watch/watch-marks.c \
    %D%/watch/watch.c \
    %D%/watch/watch.h
xlators_storage_posix_so_CPPFLAGS = $(module_cpp)
xlators_storage_posix_so_CFLAGS = $(module_cflags)
xlators_storage_posix_so_LDFLAGS = $(module_link)
xlators_storage_posix_so_LDADD =
