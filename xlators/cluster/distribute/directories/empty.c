/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a directory empty on all subvolumes? Linktos whose file is on none of them are removed. */
#include "../distribute.h"

#include <fcntl.h>
#include <string.h>

#define LIST_SIZE (64 << 10)

void
emptying_clear (struct emptying *empty)
{
    fd_unref (empty->fd);
    if (empty->linktos)
        g_ptr_array_unref (empty->linktos);
}

static void empty_list (struct emptying *empty, off_t offset);
static void empty_unlink_next (struct emptying *empty);

/* --- removing linktos ------------------------------------------------------------------------- */

struct found {
    unsigned child;
    char name[];
};

static void
empty_unlinked (call_frame_t *own)
{
    struct emptying *empty = OP_OF (own);
    struct op *op = &empty->op;
    const struct fan_answer *answer = &op->own_fan.answers[0];

    if (answer->op_ret < 0 && !is_missing (answer->op_errno))
        op_fail (op, answer->op_errno == EBUSY ? ENOTEMPTY : answer->op_errno);
    else
        empty_unlink_next (empty);
}

/* The server refuses if one is a file after all. */
static void
empty_unlink_next (struct emptying *empty)
{
    struct op *op = &empty->op;
    g_autoptr (dict_t) only = NULL;
    loc_t loc = { .parent = empty->fd->inode };
    const struct found *found;

    if (empty->removed == empty->linktos->len) {
        empty->next (op);
        return;
    }
    found = empty->linktos->pdata[empty->removed++];
    loc.name = found->name;
    only = xdata_only_linkto ();
    own_begin (op, empty_unlinked);
    FAN_WIND (&op->own_fan, 0, op->priv->children[found->child], unlink, &loc, 0, only);
    own_end (op);
    loc_wipe_path (&loc);
}

/* --- listing ---------------------------------------------------------------------------------- */

static bool
entry_is_dots (const gf_dirent_t *entry)
{
    return strcmp (entry->d_name, ".") == 0 || strcmp (entry->d_name, "..") == 0;
}

static void
empty_note_linkto (struct emptying *empty, const gf_dirent_t *entry)
{
    struct found *found = g_malloc (sizeof *found + entry->d_len + 1);

    found->child = empty->child;
    memcpy (found->name, entry->d_name, entry->d_len + 1);
    g_ptr_array_add (empty->linktos, found);
}

static void
empty_list_next (struct emptying *empty)
{
    empty->child++;
    if (empty->child < empty->op.priv->n)
        empty_list (empty, 0);
    else
        empty_unlink_next (empty);
}

static void
empty_listed (call_frame_t *own)
{
    struct emptying *empty = OP_OF (own);
    struct op *op = &empty->op;
    const struct readdirp_reply *reply = &op->own_fan.answers[empty->child].readdirp;
    off_t last = 0;

    if (reply->op_ret < 0) {
        op_fail (op, reply->op_errno);
        return;
    }
    for (const gf_dirent_t *entry = reply->entries; entry; entry = entry->next) {
        last = entry->d_off;
        if (entry_is_dots (entry))
            continue;
        if (!iatt_may_be_linkto (&entry->d_stat)) {
            op_fail (op, ENOTEMPTY);
            return;
        }
        empty_note_linkto (empty, entry);
    }
    if (reply->op_ret == 0)
        empty_list_next (empty);
    else
        empty_list (empty, last);
}

static void
empty_list (struct emptying *empty, off_t offset)
{
    OWN_ONE (&empty->op, empty_listed, empty->child, readdirp, empty->fd, LIST_SIZE, offset, NULL);
}

static void
empty_opened (call_frame_t *own)
{
    struct emptying *empty = OP_OF (own);
    struct op *op = &empty->op;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (op->own_fan.answers[i].op_ret < 0) {
            op_fail (op, op->own_fan.answers[i].op_errno);
            return;
        }
    empty_list (empty, 0);
}

/* Opens and lists as distribute itself: the caller needs no right to read the directory. */
void
empty_directory (struct emptying *empty, inode_t *directory, void (*next) (struct op *op))
{
    struct op *op = &empty->op;
    loc_t loc = { .inode = directory };

    empty->next = next;
    empty->linktos = g_ptr_array_new_with_free_func (g_free);
    empty->fd = fd_new (op->this->fd_maker, directory, O_RDONLY | O_DIRECTORY, 0);
    own_begin (op, empty_opened);
    for (unsigned i = 0; i < op->priv->n; i++)
        OWN (op, i, opendir, &loc, empty->fd, NULL);
    own_end (op);
    loc_wipe_path (&loc);
}
