/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes a mistake with record locks: the option `mistake`. */
#include "xlator.h"

enum mistake { FLUSH_IS_LOST, THREAD_IS_NAMED };

typedef struct {
    int mistake;
} mislocks_private_t;

static const struct option_choice mistakes[] = {
    { "flush-is-lost", FLUSH_IS_LOST }, { "thread-is-named", THREAD_IS_NAMED }, {},
};

static const struct xlator_option mislocks_options[] = {
    { OPTION ("mistake", ENUM, mislocks_private_t, mistake, "flush-is-lost"), .values = mistakes,
      .help = "which" },
    {},
};

static bool
makes (xlator_t *this, enum mistake mistake)
{
    return ((mislocks_private_t *) this->private)->mistake == (int) mistake;
}

static void
mislocks_flush (call_frame_t *frame, xlator_t *this, fd_t *fd, dict_t *xdata)
{
    if (makes (this, FLUSH_IS_LOST))
        STACK_UNWIND (flush, frame, 0, 0, NULL);
    else
        STACK_WIND_TAIL (frame, FIRST_CHILD (this), flush, fd, xdata);
}

static void
mislocks_lk (call_frame_t *frame, xlator_t *this, fd_t *fd, int32_t cmd, struct gf_flock *lock,
             dict_t *xdata)
{
    struct gf_flock other = *lock;

    if (makes (this, THREAD_IS_NAMED))
        other.l_pid = frame->root->pid;
    STACK_WIND_TAIL (frame, FIRST_CHILD (this), lk, fd, cmd, &other, xdata);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/mislocks",
    .about = "makes one mistake with record locks",
    .options = mislocks_options,
    .priv_size = sizeof (mislocks_private_t),
    .children = { .min = 1, .max = 1 },
    .fops = { .lk = mislocks_lk, .flush = mislocks_flush },
};
