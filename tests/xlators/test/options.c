/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An option of each type. init fails if `fail` is on. Start and stop are recorded in the file
 * `path`. */
#include "xlator.h"

#include <errno.h>
#include <stdio.h>
#include <math.h>

typedef struct options_private {
    bool flag, fail;
    int number;
    int64_t large;
    double real;
    uint64_t size;
    double percent;
    struct option_share share;
    int64_t time;
    char *path, *text, *peer;
    int color;
} options_private_t;

static const struct option_choice options_colors[] = {
    { "red", 0 }, { "green", 1 }, { "blue", 2 }, {},
};

static const struct xlator_option options_options[] = {
    { OPTION ("flag", BOOL, options_private_t, flag, "on"), .key[1] = "toggle", .key[2] = "switch",
      .help = "a flag" },
    { OPTION ("fail", BOOL, options_private_t, fail, "off"), .help = "init fails" },
    { OPTION ("number", INT, options_private_t, number, "4"), .min = 1, .max = 64,
      .help = "a number in a range" },
    { OPTION ("large", INT, options_private_t, large, "-1"), .min = -1, .max = INFINITY,
      .help = "a number with a lower end only" },
    { OPTION ("real", DOUBLE, options_private_t, real, "1.5"), .help = "a number with a point" },
    { OPTION ("cache-size", SIZE, options_private_t, size, "1MB"), .key[1] = "size", .min = 4096,
      .max = 1 << 30, .online = true, .help = "a size in a range" },
    { OPTION ("percent", PERCENT, options_private_t, percent, "10%"), .help = "a percentage" },
    { OPTION ("share", PERCENT_OR_SIZE, options_private_t, share, "5%"),
      .help = "a percentage or a size" },
    { OPTION ("time", TIME, options_private_t, time, "10s"), .min = 1, .max = 600,
      .help = "a time in a range" },
    { OPTION ("path", PATH, options_private_t, path, NULL), .required = true,
      .help = "a file that init and fini write their name to" },
    { OPTION ("text", STRING, options_private_t, text, ""), .help = "any text" },
    { OPTION ("peer", XLATOR, options_private_t, peer, NULL), .help = "a volume" },
    { OPTION ("color", ENUM, options_private_t, color, "green"), .values = options_colors,
      .help = "a color" },
    { OPTION_INERT ("unused", INT, "of GlusterFS, without use") },
    {},
};

static void
options_tell (xlator_t *this, const char *what)
{
    options_private_t *priv = this->private;
    FILE *file = fopen (priv->path, "a");

    if (!file)
        return;
    fprintf (file, "%s %s\n", what, this->name);
    fclose (file);
}

static int
options_init (xlator_t *this)
{
    options_private_t *priv = this->private;

    options_tell (this, "init");
    return priv->fail ? -ENOTSUP : 0;
}

static void
options_fini (xlator_t *this)
{
    options_tell (this, "fini");
}

static void
options_notify (xlator_t *this, enum xlator_event event, void *data)
{
    static const char *const names[] = { [XLATOR_PARENT_UP] = "parent-up",
                                         [XLATOR_CHILD_UP] = "child-up",
                                         [XLATOR_ENDING] = "ending",
                                         [XLATOR_PARENT_DOWN] = "parent-down",
                                         [XLATOR_CHILD_DOWN] = "child-down",
                                         [XLATOR_HOLDING] = "holding",
                                         [XLATOR_HOLD_OVER] = "hold-over" };

    options_tell (this, names[event]);
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/options",
    .about = "has an option of each type",
    .children = { .min = 0, .max = -1 },
    .touches = TOUCHES_NAMES,
    .wants = WANTS_FD,
    .priv_size = sizeof (options_private_t),
    .options = options_options,
    .init = options_init,
    .fini = options_fini,
    .notify = options_notify,
};
