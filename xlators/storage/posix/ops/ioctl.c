/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ioctl: a short list of file attribute commands, each with its argument sizes. Any other command
 * is refused: its meaning is not known. */
#include "../posix.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

/* The flags are declared as long or as int, and are an int. */
struct ioctl_command {
    uint32_t cmd;
    unsigned long native;
    size_t in, out; /* bytes */
};

static const struct ioctl_command commands[] = {
    { (uint32_t) FS_IOC_GETFLAGS, FS_IOC_GETFLAGS, 0, sizeof (int) },
    { (uint32_t) FS_IOC_SETFLAGS, FS_IOC_SETFLAGS, sizeof (int), 0 },
    { (uint32_t) FS_IOC_GETVERSION, FS_IOC_GETVERSION, 0, sizeof (int) },
    { (uint32_t) FS_IOC_FSGETXATTR, FS_IOC_FSGETXATTR, 0, sizeof (struct fsxattr) },
    { (uint32_t) FS_IOC_FSSETXATTR, FS_IOC_FSSETXATTR, sizeof (struct fsxattr), 0 },
};

static const struct ioctl_command *
ioctl_find (uint32_t cmd)
{
    for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
        if (commands[i].cmd == cmd)
            return &commands[i];
    return NULL;
}

/* The size declared by the command's number may be that of a long. */
static bool
ioctl_size_fits (size_t size, size_t want, uint32_t cmd)
{
    return size == want || (want > 0 && size == _IOC_SIZE (cmd) && size > want);
}

static int
ioctl_run (int fd, uint32_t cmd, GBytes *in, size_t out_size, GBytes **ret_out)
{
    const struct ioctl_command *command = ioctl_find (cmd);
    union {
        int flags;
        struct fsxattr fsxattr;
        long padding[8];
    } arg = { 0 };
    gsize size = 0;
    const void *bytes = in ? g_bytes_get_data (in, &size) : NULL;
    int r;

    if (!command)
        return -ENOTTY;
    if (command->in && !ioctl_size_fits (size, command->in, cmd))
        return -EINVAL;
    if (command->out && !ioctl_size_fits (out_size, command->out, cmd))
        return -EINVAL;
    if (command->in)
        memcpy (&arg, bytes, command->in);
    r = ioctl (fd, command->native, &arg);
    if (r < 0)
        return -errno;
    if (command->out)
        *ret_out = g_bytes_new (&arg, command->out);
    return r;
}

/* The answer has no attributes, so caches are told: they would otherwise keep the old ctime. */
static void
ioctl_tell (xlator_t *this, fd_t *fd, uint32_t cmd)
{
    struct invalidation changed = { .inode = fd->inode, .what = INVALIDATE_ATTRIBUTES };
    const struct ioctl_command *command = ioctl_find (cmd);

    if (command && command->in)
        xlator_pass_on (this, XLATOR_INVALIDATE, &changed);
}

void
posix_ioctl (call_frame_t *frame, xlator_t *this, fd_t *fd, uint32_t cmd, GBytes *in,
             size_t out_size, dict_t *xdata)
{
    posix_use_t use = { 0 };
    GBytes *out = NULL;
    int r = posix_use_begin (this, fd, &use);

    if (r >= 0)
        r = posix_act_as (posix_priv (this), frame);
    if (r >= 0)
        r = ioctl_run (use.fd, cmd, in, out_size, &out);
    posix_use_end (&use);
    if (r >= 0)
        ioctl_tell (this, fd, cmd);
    STACK_UNWIND (ioctl, frame, POSIX_RET (r), out, NULL);
    g_clear_pointer (&out, g_bytes_unref);
}
