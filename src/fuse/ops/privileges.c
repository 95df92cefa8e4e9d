/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Root's chown (path, -1, -1) and the kernel's notice that root is about to write are one request,
 * a setattr of nothing. Chown removes setuid, setgid and capabilities; a write by root removes
 * capabilities alone. What the kernel asks before tells them apart, on the same thread:
 *
 *   write, no capabilities    nothing at all
 *   chown, no capabilities    SETATTR
 *   chown                     GETXATTR, REMOVEXATTR, SETATTR
 *   write                     GETXATTR, GETXATTR, REMOVEXATTR, SETATTR
 *
 * notify_change asks whether there is security.capability to remove. Before a write
 * file_remove_privs asks first, and then calls notify_change.
 */
#include "fuse/ops/ops.h"

#include <linux/xattr.h>
#include <string.h>

/* Returns the record of the request's thread, begun anew if it was about another file. */
static struct privileges_ask *
ask_of_locked (struct bridge *bridge, const call_stack_t *root)
{
    struct privileges_ask *ask = &bridge->asks[(unsigned) root->pid % PRIVILEGES_ASKS];

    if (ask->thread != root->pid || ask->nodeid != root->about)
        *ask = (struct privileges_ask){ .thread = root->pid, .nodeid = root->about };
    return ask;
}

/* Returns whether it is about root and capabilities, and on which thread is known. */
static bool
is_noted (const call_stack_t *root, const char *name)
{
    return G_UNLIKELY (strcmp (name, XATTR_NAME_CAPS) == 0) && root->uid == 0 && root->pid != 0;
}

void
privileges_note (const call_frame_t *frame, const char *name, bool removes)
{
    struct bridge *bridge = frame->this->private;
    struct privileges_ask *ask;

    if (!is_noted (frame->root, name))
        return;
    pthread_mutex_lock (&bridge->lock);
    ask = ask_of_locked (bridge, frame->root);
    ask->times += !removes;
    ask->removed |= removes;
    pthread_mutex_unlock (&bridge->lock);
}

bool
privileges_announce_write (const call_frame_t *frame)
{
    struct bridge *bridge = frame->this->private;
    struct privileges_ask *ask;
    bool write;

    if (frame->root->pid == 0)
        return true; /* a thread of another namespace: it may be a write */
    pthread_mutex_lock (&bridge->lock);
    ask = ask_of_locked (bridge, frame->root);
    write = ask->removed && ask->times > 1;
    *ask = (struct privileges_ask){ 0 };
    pthread_mutex_unlock (&bridge->lock);
    return write;
}
