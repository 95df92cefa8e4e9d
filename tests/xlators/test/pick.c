/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A boundary with two children that shows the second one alone, and says so: `sure off` says that
 * the file may be in either. */
#include "xlator.h"

typedef struct {
    bool sure;
} pick_private_t;

static const struct xlator_option pick_options[] = {
    { OPTION ("sure", BOOL, pick_private_t, sure, "on"), .help = "say which child has a file" },
    {},
};

static void
pick_any_fop (const struct call *call)
{
    realm_wind (call, 1, NULL);
}

static void
pick_any_fop_cbk (const struct answer *answer)
{
    realm_answer (answer);
}

static enum data_view
pick_view (xlator_t *this, const inode_t *inode, const char **ret_why)
{
    return DATA_UNSEEN;
}

static xlator_t *
pick_follow (xlator_t *this, inode_t *inode, inode_t **ret_below)
{
    const pick_private_t *priv = this->private;

    if (!priv->sure || !inode)
        return NULL;
    *ret_below = realm_below (this, inode, 1);
    return *ret_below ? this->children->next->xlator : NULL;
}

static int
pick_init (xlator_t *this)
{
    realm_slot_new (this, FIRST_CHILD (this), "/");
    realm_slot_new (this, this->children->next->xlator, "/");
    return 0;
}

static const char *const pick_keys[] = { "*", NULL };

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/pick",
    .about = "shows the second of two subvolumes",
    .children = { .min = 2, .max = 2 },
    .realms = true,
    .realm_keys = pick_keys,
    .touches = TOUCHES_NOTHING,
    .priv_size = sizeof (pick_private_t),
    .options = pick_options,
    .init = pick_init,
    .notify = realm_notify,
    .any_fop = pick_any_fop,
    .any_fop_cbk = pick_any_fop_cbk,
    .passthrough = { .view = pick_view, .follow = pick_follow },
};
