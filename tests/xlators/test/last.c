/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keeps a new file without a name open after its answer, and is the last to drop it, on a thread of
 * its own: with the file its reference to the inode ends there, too. */
#include "xlator.h"

struct kept {
    struct answer_stub *answer;
    fd_t *fd;
    inode_t *inode, *linked;
};

/* The reference of the file, and the two of kept. */
#define REFS_LEFT 3

static void *
last_close (void *data)
{
    g_autofree struct kept *kept = data;

    answer_resume (kept->answer);
    while (__atomic_load_n (&kept->fd->refs, __ATOMIC_ACQUIRE) > 1
           || __atomic_load_n (&kept->inode->refs, __ATOMIC_ACQUIRE) > REFS_LEFT)
        g_usleep (1000);
    inode_unref (kept->linked);
    fd_unref (kept->fd);
    inode_unref (kept->inode);
    return NULL;
}

static void
last_any_fop (const struct call *call)
{
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
last_any_fop_cbk (const struct answer *answer)
{
    struct kept *kept;
    pthread_t thread;

    if (answer->op != FOP_tmpfile || answer->op_ret < 0) {
        answer_pass (answer);
        return;
    }
    kept = g_new0 (struct kept, 1);
    *kept = (struct kept){ answer_keep (answer), fd_ref (answer->fd), inode_ref (answer->inode),
                           inode_link (answer->inode, NULL, NULL, answer->buf) };
    g_assert (kept->answer && thread_new (&thread, "last", last_close, kept) == 0);
    pthread_detach (thread);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/last",
    .about = "is the last to drop a file without a name",
    .children = { .min = 1, .max = 1 },
    .any_fop = last_any_fop,
    .any_fop_cbk = last_any_fop_cbk,
};
