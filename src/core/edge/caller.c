/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests as another identity than that of the caller whose request is at work. */
#include "core/edge/stack.h"

#include <string.h>

call_stack_t *
stack_new_internal (xlator_t *this, const call_frame_t *cause)
{
    call_stack_t *root = cause ? stack_new_like (this, cause) : stack_new (this);

    root->uid = 0;
    root->gid = 0;
    root->ngroups = 0;
    root->internal = this->name;
    return root;
}

struct stack_caller *
stack_caller_new (call_stack_t *root)
{
    const gid_t *groups = root->groups;
    const int n = root->uid == 0 ? MAX (root->ngroups, 0) : stack_groups (root, &groups);
    struct stack_caller *caller = g_malloc (sizeof *caller + n * sizeof (gid_t));

    *caller = (struct stack_caller){ .uid = root->uid,
                                     .gid = root->gid,
                                     .pid = root->pid,
                                     .umask = root->umask,
                                     .times = __atomic_load_n (&root->times, __ATOMIC_RELAXED)
                                            & TIMES_NOT_OF_READING,
                                     .checked = root->checked,
                                     .lk_owner = root->lk_owner,
                                     .about = root->about,
                                     .caused_by = root->unique,
                                     .internal = root->internal,
                                     .ngroups = n };
    if (n > 0) /* groups may be NULL */
        memcpy (caller->groups, groups, n * sizeof (gid_t));
    return caller;
}

call_stack_t *
stack_new_as (xlator_t *this, const struct stack_caller *caller)
{
    call_stack_t *root = stack_new (this);

    root->uid = caller->uid;
    root->gid = caller->gid;
    root->pid = caller->pid;
    root->umask = caller->umask;
    root->checked = caller->checked;
    root->times = caller->times;
    root->lk_owner = caller->lk_owner;
    root->about = caller->about;
    root->caused_by = caller->caused_by;
    root->internal = caller->internal;
    stack_copy_groups (root, caller->ngroups, caller->groups);
    return root;
}

bool
stack_caller_same (const struct stack_caller *caller, const struct stack_caller *other)
{
    if (caller->uid != other->uid)
        return false;
    return caller->uid == 0
        || (caller->gid == other->gid && caller->ngroups == other->ngroups
            && (caller->ngroups == 0
                || memcmp (caller->groups, other->groups, caller->ngroups * sizeof (gid_t)) == 0));
}
