/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The errors of each operation, according to its page in section 2 of the manual. Programs should
 * be prepared for these. */
#include "errorgen.h"

#include <errno.h>

#define ERRORS_MAX 8

#define NAME_ERRORS EACCES, ENOENT, ENOTDIR, ENAMETOOLONG, EIO
#define SPACE_ERRORS ENOSPC, EDQUOT, EIO

/* 0 ends a row. */
static const int likely[FOP_MAX][ERRORS_MAX] = {
    [FOP_lookup] = { NAME_ERRORS, ENOMEM },
    [FOP_stat] = { NAME_ERRORS, ENOMEM },
    [FOP_fstat] = { EIO, ENOMEM },
    [FOP_readlink] = { EACCES, EINVAL, EIO, ENOENT },
    [FOP_mknod] = { EEXIST, EPERM, EROFS, SPACE_ERRORS },
    [FOP_mkdir] = { EEXIST, EMLINK, EROFS, SPACE_ERRORS },
    [FOP_unlink] = { EACCES, EBUSY, EISDIR, EPERM, EROFS, EIO },
    [FOP_rmdir] = { EACCES, EBUSY, ENOTEMPTY, EPERM, EROFS, EIO },
    [FOP_symlink] = { EEXIST, EACCES, EROFS, SPACE_ERRORS },
    [FOP_rename] = { EACCES, EBUSY, ENOTEMPTY, EXDEV, EROFS, SPACE_ERRORS },
    [FOP_link] = { EEXIST, EMLINK, EPERM, EXDEV, SPACE_ERRORS },
    [FOP_truncate] = { EACCES, EFBIG, EINTR, EROFS, EIO },
    [FOP_ftruncate] = { EFBIG, EINTR, EINVAL, EIO },
    [FOP_open] = { EACCES, EMFILE, ENFILE, ENOMEM, EROFS, EIO },
    [FOP_create] = { EACCES, EEXIST, EMFILE, EROFS, SPACE_ERRORS },
    [FOP_tmpfile] = { EACCES, EMFILE, EOPNOTSUPP, EROFS, SPACE_ERRORS },
    [FOP_readv] = { EIO, EINTR, EAGAIN, ENOMEM },
    [FOP_writev] = { EFBIG, EINTR, EAGAIN, SPACE_ERRORS },
    [FOP_statfs] = { EACCES, EIO, ENOMEM },
    [FOP_flush] = { EIO, EINTR, ENOSPC, EDQUOT },
    [FOP_fsync] = { SPACE_ERRORS },
    [FOP_opendir] = { EACCES, EMFILE, ENFILE, ENOENT, ENOMEM },
    [FOP_fsyncdir] = { SPACE_ERRORS },
    [FOP_readdir] = { EIO, ENOENT, ENOMEM },
    [FOP_readdirp] = { EIO, ENOENT, ENOMEM },
    [FOP_setxattr] = { EACCES, EOPNOTSUPP, EPERM, ERANGE, SPACE_ERRORS },
    [FOP_getxattr] = { EACCES, ENODATA, EOPNOTSUPP, EIO },
    [FOP_removexattr] = { EACCES, ENODATA, EOPNOTSUPP, EPERM, EIO },
    [FOP_fsetxattr] = { EOPNOTSUPP, EPERM, ERANGE, SPACE_ERRORS },
    [FOP_fgetxattr] = { ENODATA, EOPNOTSUPP, EIO },
    [FOP_fremovexattr] = { ENODATA, EOPNOTSUPP, EPERM, EIO },
    [FOP_setattr] = { EACCES, EPERM, EROFS, EIO },
    [FOP_fsetattr] = { EPERM, EROFS, EIO },
    [FOP_access] = { EACCES, EROFS, ENOENT, EIO },
    [FOP_lk] = { EAGAIN, EINTR, ENOLCK, EDEADLK },
    [FOP_flock] = { EAGAIN, EINTR, ENOLCK },
    [FOP_fallocate] = { EFBIG, EINTR, EOPNOTSUPP, SPACE_ERRORS },
    [FOP_discard] = { EINTR, EOPNOTSUPP, EPERM, EIO },
    [FOP_zerofill] = { EFBIG, EINTR, EOPNOTSUPP, SPACE_ERRORS },
    [FOP_seek] = { ENXIO, EINVAL, EIO },
    [FOP_copy_file_range] = { EFBIG, EOPNOTSUPP, EXDEV, SPACE_ERRORS },
    [FOP_ioctl] = { ENOTTY, EACCES, EPERM, EIO },
    [FOP_inodelk] = { EAGAIN, EINTR, ENOTCONN },
    [FOP_finodelk] = { EAGAIN, EINTR, ENOTCONN },
    [FOP_entrylk] = { EAGAIN, EINTR, ENOTCONN },
    [FOP_fentrylk] = { EAGAIN, EINTR, ENOTCONN },
    [FOP_xattrop] = { ENOTCONN, SPACE_ERRORS },
    [FOP_fxattrop] = { ENOTCONN, SPACE_ERRORS },
};

int
errorgen_likely (enum fop op, uint64_t number)
{
    unsigned n = 0;

    while (n < ERRORS_MAX && likely[op][n])
        n++;
    return n ? likely[op][number % n] : EIO;
}
