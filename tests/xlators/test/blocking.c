/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Hands every call on after a while, in which its thread sleeps: as a disk that is slow, or a network without threads of its own. */
#include "xlator.h"

typedef struct {
    int64_t duration; /* option: us */
} blocking_private_t;

static void
blocking_every (const struct call *call)
{
    const blocking_private_t *priv = call->this->private;

    g_usleep (priv->duration);
    call_pass (call);
}

static const struct xlator_option blocking_options[] = {
    { .key = { "duration" },
      .type = OPTION_INT,
      OPTION_FIELD (blocking_private_t, duration),
      .value = "1000",
      .max = 1e6,
      .help = "microseconds" },
    { .key = { NULL } },
};

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/blocking",
    .about = "sleeps before each call",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (blocking_private_t),
    .options = blocking_options,
    .every = blocking_every,
};
