/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A compromised translator: mkdir of a name in its list attempts an operation that a mount does not
 * need, and answers with the resulting error; other names pass. Each attempt has no effect if it is
 * allowed. */
#include "xlator.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long
grab (const char *name)
{
    if (strcmp (name, "exec") == 0)
        return execl ("/nowhere/sh", "sh", NULL);
    if (strcmp (name, "mount") == 0)
        return syscall (SYS_mount, "/nowhere", "/nowhere", "nothing", 0, NULL);
    if (strcmp (name, "ptrace") == 0)
        return syscall (SYS_ptrace, 0x4206 /* PTRACE_SEIZE */, -1, 0, 0);
    if (strcmp (name, "module") == 0)
        return syscall (SYS_delete_module, "no_such_module", 0);
    if (strcmp (name, "namespace") == 0)
        return syscall (SYS_setns, -1, 0);
    if (strcmp (name, "umask") == 0)
        return unshare (CLONE_FS);
    return 1;
}

static void
grab_mkdir (call_frame_t *frame, xlator_t *this, loc_t *loc, mode_t mode, mode_t umask,
            dict_t *xdata)
{
    if (grab (loc->name) < 0)
        STACK_UNWIND (mkdir, frame, -1, errno, NULL, NULL, NULL, NULL, NULL);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), mkdir, loc, mode, umask, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/grab",
    .about = "tries to do what a mount never does",
    .children = { .min = 1, .max = 1 },
    .fops = { .mkdir = grab_mkdir },
};
