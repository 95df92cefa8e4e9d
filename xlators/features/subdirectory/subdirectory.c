/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * features/subdirectory: shows a directory of the volume below as the root, and nothing beside it,
 * as GlusterFS does for a mount of VOLUME/DIRECTORY. The volume below has a table of inodes and
 * names of its own, a realm: core/realm/realm.h.
 */
#include "xlator.h"

typedef struct {
    char *path;
} subdirectory_private_t;

static const struct xlator_option subdirectory_options[] = {
    { OPTION ("path", STRING, subdirectory_private_t, path, NULL),
      .required = true,
      .from_server = SERVER_MAY,
      .check = realm_root_check,
      .help = "the directory to show, as a path from the root of the volume below" },
    {},
};

static void
subdirectory_any_fop (const struct call *call)
{
    realm_wind (call, 0, NULL);
}

static void
subdirectory_any_fop_cbk (const struct answer *answer)
{
    realm_answer (answer);
}

static void
subdirectory_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const subdirectory_private_t *priv = this->private;
    inode_t *below = realm_below (this, inode, 0);
    g_autofree char *there =
        below ? inode_path (below, NULL) : g_strconcat (priv->path, path, NULL);

    g_string_append_printf (out, "is %s of volume '%s' (path)\n", there, FIRST_CHILD (this)->name);
}

static enum data_view
subdirectory_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    return DATA_UNSEEN;
}

static int
subdirectory_init (xlator_t *this)
{
    const subdirectory_private_t *priv = this->private;

    realm_slot_new (this, FIRST_CHILD (this), priv->path);
    return 0;
}

/* The keys of xdata name no path: they mean the same in the directory. */
static const char *const subdirectory_keys[] = { "*", NULL };

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "features/subdirectory",
    .about = "shows a directory of the volume below as the root",
    .children = { .min = 1, .max = 1 },
    .realms = true,
    .realm_keys = subdirectory_keys,
    .passive = true,
    .touches = TOUCHES_NAMES,
    .priv_size = sizeof (subdirectory_private_t),
    .options = subdirectory_options,
    .init = subdirectory_init,
    .notify = realm_notify,
    .any_fop = subdirectory_any_fop,
    .any_fop_cbk = subdirectory_any_fop_cbk,
    .dumpops = { .explain = subdirectory_explain },
    .passthrough = { .view = subdirectory_view },
};
