/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Acting as the caller, when the daemon is root: file system uid, gid and groups of this thread.
 * The C library would change them in all threads, so these are the bare system calls. A thread that
 * serves the same caller again makes no such call.
 */
#include "../posix.h"

#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define CREDS_GROUPS 64 /* a caller with more groups is set anew each time */

/* The identity of this thread, shared by all translators. */
static __thread struct {
    bool known, groups_known;
    uid_t uid;
    gid_t gid;
    int ngroups;
    gid_t groups[CREDS_GROUPS];
} acting;

static bool
has_capabilities (uint32_t need)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct caps[2] = { 0 };

    return syscall (SYS_capget, &head, caps) == 0 && (caps[0].effective & need) == need;
}

bool
posix_may_act (void)
{
    return geteuid () == 0 && has_capabilities (1u << CAP_SETUID | 1u << CAP_SETGID);
}

bool
posix_may_open_all (void)
{
    return has_capabilities (1u << CAP_DAC_OVERRIDE);
}

/* setfsuid can't report failure, so the result is queried. After a switch the kernel disables core
 * dumps, so they are enabled again; no user gains a right by them, as the process's other ids stay
 * root's. */
static int
creds_set (const posix_private_t *priv, uid_t uid, gid_t gid)
{
    acting.known = false;
    syscall (SYS_setfsgid, gid);
    syscall (SYS_setfsuid, uid);
    if ((gid_t) syscall (SYS_setfsgid, -1) != gid || (uid_t) syscall (SYS_setfsuid, -1) != uid)
        return -EPERM;
    if (priv->dumps_core)
        prctl (PR_SET_DUMPABLE, 1);
    acting.known = true;
    acting.uid = uid;
    acting.gid = gid;
    return 0;
}

static int
creds_set_groups (int n, const gid_t *groups)
{
    if (acting.groups_known && n == acting.ngroups
        && memcmp (groups, acting.groups, n * sizeof *groups) == 0)
        return 0;
    acting.groups_known = false;
    if (syscall (SYS_setgroups, (size_t) n, groups) < 0)
        return -errno;
    if (n <= CREDS_GROUPS) {
        memcpy (acting.groups, groups, n * sizeof *groups);
        acting.ngroups = n;
        acting.groups_known = true;
    }
    return 0;
}

int
posix_act_as_owner (const posix_private_t *priv, const call_frame_t *frame)
{
    const call_stack_t *root = frame->root;

    if (!priv->acts_as_caller
        || (acting.known && acting.uid == root->uid && acting.gid == root->gid))
        return 0;
    return creds_set (priv, root->uid, root->gid);
}

int
posix_act_as (const posix_private_t *priv, call_frame_t *frame)
{
    const gid_t *groups = NULL;
    static const gid_t none[1];
    int n, r;

    /* Root needs no groups, and finding them is expensive. */
    if (priv->acts_as_caller && frame->root->uid != 0) {
        n = stack_groups (frame->root, &groups);
        r = creds_set_groups (MAX (n, 0), n > 0 ? groups : none);
        if (r < 0)
            return r;
    }
    return posix_act_as_owner (priv, frame);
}

void
posix_act_as_root (const posix_private_t *priv)
{
    if (priv->acts_as_caller && !(acting.known && acting.uid == 0))
        creds_set (priv, 0, acting.known ? acting.gid : 0);
}

struct posix_caller
posix_caller_leave (const posix_private_t *priv)
{
    const struct posix_caller caller = { acting.known ? acting.uid : 0,
                                         acting.known ? acting.gid : 0 };

    posix_act_as_root (priv);
    return caller;
}

void
posix_caller_return (const posix_private_t *priv, struct posix_caller caller)
{
    if (priv->acts_as_caller
        && !(acting.known && acting.uid == caller.uid && acting.gid == caller.gid))
        creds_set (priv, caller.uid, caller.gid);
}
