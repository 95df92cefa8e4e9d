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

static const char *const options_colors[] = { "red", "green", "blue", NULL };

static const struct xlator_option options_options[] = {
    { .key = { "flag", "toggle", "switch" },
      .type = OPTION_BOOL,
      OPTION_FIELD (options_private_t, flag),
      .value = "on",
      .help = "a flag" },
    { .key = { "fail" },
      .type = OPTION_BOOL,
      OPTION_FIELD (options_private_t, fail),
      .value = "off",
      .help = "init fails" },
    { .key = { "number" },
      .type = OPTION_INT,
      OPTION_FIELD (options_private_t, number),
      .value = "4",
      .min = 1,
      .max = 64,
      .help = "a number in a range" },
    { .key = { "large" },
      .type = OPTION_INT,
      OPTION_FIELD (options_private_t, large),
      .value = "-1",
      .min = -1,
      .max = INFINITY,
      .help = "a number with a lower end only" },
    { .key = { "real" },
      .type = OPTION_DOUBLE,
      OPTION_FIELD (options_private_t, real),
      .value = "1.5",
      .help = "a number with a point" },
    { .key = { "cache-size", "size" },
      .type = OPTION_SIZE,
      OPTION_FIELD (options_private_t, size),
      .value = "1MB",
      .min = 4096,
      .max = 1 << 30,
      .online = true,
      .help = "a size in a range" },
    { .key = { "percent" },
      .type = OPTION_PERCENT,
      OPTION_FIELD (options_private_t, percent),
      .value = "10%",
      .help = "a percentage" },
    { .key = { "share" },
      .type = OPTION_PERCENT_OR_SIZE,
      OPTION_FIELD (options_private_t, share),
      .value = "5%",
      .help = "a percentage or a size" },
    { .key = { "time" },
      .type = OPTION_TIME,
      OPTION_FIELD (options_private_t, time),
      .value = "10s",
      .min = 1,
      .max = 600,
      .help = "a time in a range" },
    { .key = { "path" },
      .type = OPTION_PATH,
      OPTION_FIELD (options_private_t, path),
      .required = true,
      .help = "a file that init and fini write their name to" },
    { .key = { "text" },
      .type = OPTION_STRING,
      OPTION_FIELD (options_private_t, text),
      .value = "",
      .help = "any text" },
    { .key = { "peer" },
      .type = OPTION_XLATOR,
      OPTION_FIELD (options_private_t, peer),
      .help = "a volume" },
    { .key = { "color" },
      .type = OPTION_ENUM,
      OPTION_FIELD (options_private_t, color),
      .value = "green",
      .values = options_colors,
      .help = "a color" },
    { .key = { "unused" }, .type = OPTION_INT, .inert = true, .help = "of GlusterFS, without use" },
    { .key = { NULL } },
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
                                         [XLATOR_CHILD_DOWN] = "child-down" };

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
