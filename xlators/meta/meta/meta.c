/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * GlusterFS puts a volume of the type `meta` on top of each graph that it mounts, so volfiles that
 * it writes have one. Windlass has the directory .meta in every mount, beside the graph (src/meta).
 * This volume only accepts the name, and its option names the directory. No request passes through
 * it.
 */
#include "xlator.h"

typedef struct {
    char *dir_name; /* the bridge reads it from the settings */
} meta_private_t;

static const struct xlator_option meta_options[] = {
    { OPTION ("meta-dir-name", STRING, meta_private_t, dir_name, ".meta"),
      .check = option_check_name,
      .help = "the name of the directory in the root of the mount that shows the state of the "
              "daemon; empty: no directory. The option of the same name on the command line takes "
              "precedence" },
    {},
};

static void
meta_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    g_string_append (out, "does nothing with it: it names the directory that shows what goes on in "
                          "the daemon (meta-dir-name)\n");
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "meta/meta",
    .about = "sets the name of the directory that shows the state of the daemon",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .top_only = true,
    .once = true,
    .priv_size = sizeof (meta_private_t),
    .options = meta_options,
    .dumpops = { .explain = meta_explain },
};
