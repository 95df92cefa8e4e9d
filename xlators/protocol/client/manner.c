/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of struct client_manner, which decides how the client sends calls of each procedure.
 * If a procedure has no entry, its calls change no times of files, name a file by its gfid also
 * while the file is open, and do not wait for other calls on the same data. */
#include "client.h"

#define TIMES_OF_NEW                                                                               \
    (RPC_CHANGES_CTIME | RPC_CHANGES_MTIME | RPC_CHANGES_ATIME | RPC_CHANGES_PARENT_CTIME          \
     | RPC_CHANGES_PARENT_MTIME)
#define TIMES_OF_NAMES (RPC_CHANGES_CTIME | RPC_CHANGES_PARENT_CTIME | RPC_CHANGES_PARENT_MTIME)
#define TIMES_OF_DATA (RPC_CHANGES_CTIME | RPC_CHANGES_MTIME)

static const struct client_manner client_manners[WIRE_MAX] = {
    [WIRE_stat] = { .when_open = WIRE_fstat },
    [WIRE_getxattr] = { .when_open = WIRE_fgetxattr },
    [WIRE_xattrop] = { .when_open = WIRE_fxattrop },

    [WIRE_setattr] = { .when_gone = WIRE_fsetattr, .times = RPC_CHANGES_CTIME },
    [WIRE_setxattr] = { .when_gone = WIRE_fsetxattr, .times = RPC_CHANGES_CTIME },
    [WIRE_removexattr] = { .when_gone = WIRE_fremovexattr, .times = RPC_CHANGES_CTIME },
    [WIRE_fsetattr] = { .times = RPC_CHANGES_CTIME },
    [WIRE_fsetxattr] = { .times = RPC_CHANGES_CTIME },
    [WIRE_fremovexattr] = { .times = RPC_CHANGES_CTIME },

    [WIRE_mknod] = { .times = TIMES_OF_NEW },
    [WIRE_mkdir] = { .times = TIMES_OF_NEW },
    [WIRE_symlink] = { .times = TIMES_OF_NEW },
    [WIRE_create] = { .times = TIMES_OF_NEW },
    [WIRE_link] = { .times = TIMES_OF_NAMES },
    [WIRE_unlink] = { .times = TIMES_OF_NAMES },
    [WIRE_rmdir] = { .times = TIMES_OF_NAMES },
    [WIRE_rename] = { .times = TIMES_OF_NAMES },

    [WIRE_readv] = { .claims = CLIENT_READS, .anonymous = true },
    [WIRE_writev] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA, .anonymous = true },
    [WIRE_truncate] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA },
    [WIRE_ftruncate] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA },
    [WIRE_fallocate] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA },
    [WIRE_discard] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA },
    [WIRE_zerofill] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA },
    [WIRE_copy_file_range] = { .claims = CLIENT_WRITES, .times = TIMES_OF_DATA, .anonymous = true },
    [WIRE_fsync] = { .claims = CLIENT_READS, .anonymous = true },
    [WIRE_seek] = { .claims = CLIENT_READS },
    [WIRE_open] = { .claims = CLIENT_WRITES }, /* an open with O_TRUNC changes data */

    [WIRE_finodelk] = { .anonymous = true },
    [WIRE_fxattrop] = { .anonymous = true },
};

const struct client_manner *
client_manner_of (enum wire_procedure procedure)
{
    return &client_manners[procedure];
}
