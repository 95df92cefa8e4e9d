# SPDX-License-Identifier: LGPL-2.1-or-later
xlatorprotocolexecdir = $(pkglibdir)/xlator/protocol
xlatorprotocolexec_PROGRAMS = xlators/protocol/client.so

xlators_protocol_client_so_SOURCES = \
    %D%/call.c \
    %D%/client.c \
    %D%/client.h \
    %D%/files.c \
    %D%/handshake.c \
    %D%/manner.c \
    %D%/order.c \
    %D%/reopen.c \
    %D%/report.c \
    %D%/session.c \
    %D%/upcall.c \
    %D%/ops/data-ops.c \
    %D%/ops/dir-ops.c \
    %D%/ops/entry-ops.c \
    %D%/ops/fd-ops.c \
    %D%/ops/inode-ops.c \
    %D%/ops/internal-locks.c \
    %D%/ops/lock-ops.c \
    %D%/ops/rows.c \
    %D%/ops/xattr-ops.c
# The rows of fops.def and wire.def are made in the build tree.
xlators_protocol_client_so_CPPFLAGS = $(module_cpp) -I$(top_builddir)/src
xlators_protocol_client_so_CFLAGS = $(module_cflags)
xlators_protocol_client_so_LDFLAGS = $(module_link)
xlators_protocol_client_so_LDADD =
