/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names in the table of a realm: entered from the answers that leave it. */
#include "core/realm/internal.h"

#include <errno.h>
#include <stdio.h>

/* The operations that realm_names_enter knows, by what they do with names. */
#define MAKING(X) X (mknod) X (mkdir) X (symlink) X (create)
#define REMOVING(X) X (unlink) X (rmdir)
#define BIT(fop) | OPSET_OF (FOP_##fop)
_Static_assert ((0 MAKING (BIT) REMOVING (BIT) BIT (link) BIT (rename)) == OPS_CHANGE_NAMES,
                "each operation that changes names is in one of the lists");

/* The answer's inode is a new one if the name stands for another object than the inode that was
 * asked about. place NULL: the object has no name. */
static inode_t *
realm_link (const struct answer *answer, const loc_t *place, uint64_t asked)
{
    g_autoptr (inode_t) fresh = NULL;
    inode_t *inode = answer->inode;

    if (!inode || !answer->buf)
        return NULL;
    if (!gfid_is_null (&inode->gfid) && !gfid_equal (&inode->gfid, &answer->buf->ia_gfid))
        inode = fresh = inode_new (inode->table);
    if (place && place->name && name_is_dots (place->name))
        place = NULL;
    return inode_link_asked (inode, place ? place->parent : NULL, place ? place->name : NULL,
                             answer->buf, asked);
}

static void
realm_unlink (const loc_t *place, uint64_t asked)
{
    if (place->parent && place->name)
        inode_unlink_asked (place->parent, place->name, asked);
}

/* Makes the name stand for inode again, whatever a concurrent lookup has changed. */
static void
realm_name_again (inode_t *inode, const loc_t *place)
{
    const struct iatt iatt = { .ia_type = inode->ia_type, .ia_gfid = inode->gfid };

    inode_unref (inode_link (inode, place->parent, place->name, &iatt));
}

static void
realm_rename (const struct answer *answer, const struct realm_asked *asked)
{
    const bool exchange = asked->flags & RENAME_EXCHANGE;
    const loc_t *from = &asked->places[0], *to = &asked->places[1];

    inode_rename (from->parent, from->name, to->parent, to->name, exchange);
    if (from->inode && answer->buf && gfid_equal (&from->inode->gfid, &answer->buf->ia_gfid))
        realm_name_again (from->inode, to);
    if (to->inode && exchange)
        realm_name_again (to->inode, from);
}

static uint64_t
realm_names_at (const struct answer *answer, const struct realm_asked *asked)
{
    return answer->op == FOP_lookup ? asked->names_at : UINT64_MAX;
}

/* ENOENT: the storage has no such name, so the table loses it. */
static void
realm_names_failed (const struct answer *answer, const struct realm_asked *asked)
{
    static const opset_t finding = 0 REMOVING (BIT) BIT (lookup);

    if (answer->op_errno == ENOENT && opset_has (finding, answer->op))
        realm_unlink (&asked->places[0], realm_names_at (answer, asked));
}

inode_t *
realm_names_enter (const struct answer *answer, const struct realm_asked *asked)
{
    static const opset_t removing = 0 REMOVING (BIT);

    if (answer->op_ret < 0) {
        realm_names_failed (answer, asked);
        return NULL;
    }
    if (opset_has (removing, answer->op))
        realm_unlink (&asked->places[0], UINT64_MAX);
    else if (answer->op == FOP_rename)
        realm_rename (answer, asked);
    else
        return realm_link (answer, answer->op == FOP_link ? &asked->places[1] : &asked->places[0],
                           realm_names_at (answer, asked));
    return NULL;
}
