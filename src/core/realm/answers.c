/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Answers on their way out of a realm. */
#include "core/realm/internal.h"
#include "core/data/dict.h"
#include "core/edge/stack.h"
#include "core/table/fops-rows.h"

/* --- results ---------------------------------------------------------------------------------- */

/* An answer on its way, and what its results need. */
struct realm_rise {
    struct realm_answered *above;
    const struct realm_asked *asked;
    inode_t *linked; /* the answer's inode below; or NULL */
};

/* The fields of struct answer that stand for a result show its new value, too. */
static void
realm_iatt_field (struct answer *answer, const struct iatt *from, struct iatt *to)
{
    struct iatt **const fields[] = { &answer->buf, &answer->pre, &answer->post, &answer->preparent,
                                     &answer->postparent };

    for (size_t i = 0; i < G_N_ELEMENTS (fields); i++)
        if (*fields[i] == from)
            *fields[i] = to;
}

static void
realm_iatt_map (xlator_t *this, unsigned slot, struct iatt *iatt)
{
    const inode_t *root = realm_slot_root (realm_slot_of (this, slot));

    if (gfid_equal (&iatt->ia_gfid, &root->gfid))
        iatt->ia_gfid = gfid_root;
}

static struct iatt *
realm_answer_iatt (struct realm_rise *rise, struct iatt *iatt)
{
    struct realm_answered *above = rise->above;
    struct iatt *copy;

    if (!iatt)
        return NULL;
    g_assert (above->n_iatts < G_N_ELEMENTS (above->iatts));
    copy = &above->iatts[above->n_iatts++];
    *copy = *iatt;
    realm_iatt_map (above->answer.this, realm_asked_slot (above->answer.this, rise->asked), copy);
    realm_iatt_field (&above->answer, iatt, copy);
    return copy;
}

static inode_t *
realm_answer_inode (struct realm_rise *rise, inode_t *inode)
{
    struct realm_answered *above = rise->above;

    if (!inode || !rise->linked)
        return NULL;
    above->inode =
        realm_above (above->answer.this, realm_asked_slot (above->answer.this, rise->asked),
                     rise->asked->above, rise->linked);
    return above->answer.inode = above->inode;
}

/* Runs before realm_answer_inode: the inode of a file that was made is not known yet. */
static fd_t *
realm_answer_fd (struct realm_rise *rise, fd_t *fd)
{
    const struct realm_asked *asked = rise->asked;
    struct realm_answered *above = rise->above;

    if (!fd || !asked->opens)
        return NULL;
    realm_fd_join (above->answer.this, asked->opens, realm_asked_slot (above->answer.this, asked),
                   asked->opened);
    asked->opens->flags = asked->opened->flags;
    asked->opens->closes_silently = asked->opened->closes_silently;
    above->fd = fd_ref (asked->opens);
    return above->answer.fd = above->fd;
}

static void
realm_entry_map (xlator_t *this, const struct realm_asked *asked, gf_dirent_t *entry)
{
    g_autoptr (inode_t) inode = g_steal_pointer (&entry->inode), linked = NULL;
    const unsigned slot = realm_asked_slot (this, asked);

    if (name_is_dots (entry->d_name) && entry->d_name[1]
        && asked->directory == realm_slot_root (realm_slot_of (this, slot)))
        entry->d_stat = (struct iatt){ .ia_type = IA_INVAL }; /* outside of the slot's root */
    else if (!inode || entry->d_stat.ia_type == IA_INVAL)
        return; /* a name alone, as from a directory that the caller may not search */
    else if (name_is_dots (entry->d_name))
        linked = inode_link (inode, NULL, NULL, &entry->d_stat);
    else
        linked = inode_link_asked (inode, asked->directory, entry->d_name, &entry->d_stat,
                                   asked->names_at);
    if (linked)
        entry->inode = realm_above (this, slot, NULL, linked);
    realm_iatt_map (this, slot, &entry->d_stat);
}

static gf_dirent_t *
realm_answer_entries (struct realm_rise *rise, gf_dirent_t *entries)
{
    struct realm_answered *above = rise->above;
    gf_dirent_t *copy = dirents_copy (entries);

    for (gf_dirent_t *entry = copy; entry && rise->asked->directory; entry = entry->next)
        realm_entry_map (above->answer.this, rise->asked, entry);
    return above->answer.entries = copy;
}

#define SAME(rise, value) value
#define ABOVE_IATT realm_answer_iatt
#define ABOVE_INODE realm_answer_inode
#define ABOVE_FD realm_answer_fd
#define ABOVE_DIRENTS realm_answer_entries
#define ABOVE_BYTES SAME
#define ABOVE_COUNT SAME
#define ABOVE_DICT SAME
#define ABOVE_IOBREF SAME
#define ABOVE_LOCK SAME
#define ABOVE_NAME SAME
#define ABOVE_OFFSET SAME
#define ABOVE_STATVFS SAME
#define ABOVE_VECTOR SAME

#define MAP(kind, name) rets->name = ABOVE_##kind (rise, rets->name);
#define LEAVE(fop)                                                                                 \
    case FOP_##fop: {                                                                              \
        struct fop##_answer *rets = &rise->above->rets.fop;                                        \
        *rets = *(const struct fop##_answer *) rise->above->answer.rets;                           \
        FOP_RETS_##fop (MAP)                                                                       \
        rets->xdata = rise->above->xdata;                                                          \
        break;                                                                                     \
    }

static void
realm_answer_map (struct realm_rise *rise)
{
    switch (rise->above->answer.op) {
        FOP_LIST (LEAVE)
    default:
        g_assert_not_reached ();
    }
}

/* --- passing ---------------------------------------------------------------------------------- */

/* A file that was made gets its inodes. Above it keeps one that it has: the caller adopts. */
static void
realm_answered_made (const struct realm_answered *above, const struct realm_asked *asked,
                     inode_t *linked)
{
    if (!above->fd || !above->inode)
        return;
    fd_adopt (asked->opened, linked);
    if (!above->fd->inode)
        fd_adopt (above->fd, above->inode);
}

static void
realm_asked_clear (struct realm_asked *asked)
{
    inode_unref (asked->above);
    inode_unref (asked->directory);
    fd_unref (asked->opens);
    fd_unref (asked->opened);
    loc_wipe (&asked->places[0]);
    loc_wipe (&asked->places[1]);
}

void
realm_answered (const struct answer *answer, struct realm_answered *ret_above)
{
    struct realm_asked *asked = answer->cookie;
    g_autoptr (inode_t) linked = realm_names_enter (answer, asked);
    struct realm_rise rise = { ret_above, asked, linked };

    *ret_above = (struct realm_answered){ .answer = *answer };
    ret_above->xdata = realm_keys_filter (answer->this, answer->xdata);
    realm_answer_map (&rise);
    realm_answered_made (ret_above, asked, linked);
    if (answer->op == FOP_readdir)
        ret_above->entries = &ret_above->rets.readdir.entries;
    else if (answer->op == FOP_readdirp)
        ret_above->entries = &ret_above->rets.readdirp.entries;
    ret_above->answer.cookie = asked->cookie;
    ret_above->answer.xdata = ret_above->xdata;
    ret_above->answer.rets = &ret_above->rets;
    realm_asked_clear (asked);
}

void
realm_answered_pass_at (struct realm_answered *above, const struct call_site *site)
{
    answer_pass_at (&above->answer, site);
    if (above->entries)
        dirents_free (*above->entries);
    inode_unref (above->inode);
    fd_unref (above->fd);
    dict_unref (above->xdata);
}

void
realm_answer_at (const struct answer *answer, const struct call_site *site)
{
    struct realm_answered above;

    realm_answered (answer, &above);
    realm_answered_pass_at (&above, site);
}
