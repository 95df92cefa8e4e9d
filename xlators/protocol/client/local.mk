# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorprotocolexecdir = $(pkglibdir)/xlator/protocol
xlatorprotocolexec_PROGRAMS = xlators/protocol/client.so

xlators_protocol_client_so_SOURCES = \
    %D%/call.c \
    %D%/client.c \
    %D%/client.h \
    %D%/data-ops.c \
    %D%/dir-ops.c \
    %D%/entry-ops.c \
    %D%/fd-ops.c \
    %D%/files.c \
    %D%/handshake.c \
    %D%/inode-ops.c \
    %D%/internal-locks.c \
    %D%/lock-ops.c \
    %D%/order.c \
    %D%/reopen.c \
    %D%/replies.c \
    %D%/report.c \
    %D%/session.c \
    %D%/upcall.c \
    %D%/wire.c \
    %D%/wire.h \
    %D%/xattr-ops.c
xlators_protocol_client_so_CPPFLAGS = $(module_cpp)
xlators_protocol_client_so_CFLAGS = $(module_cflags)
xlators_protocol_client_so_LDFLAGS = $(module_link)
xlators_protocol_client_so_LDADD =
