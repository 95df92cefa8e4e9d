/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Is a directory empty on all subvolumes? Linktos whose file is on none of them are removed. */
#include "../distribute.h"

#include <fcntl.h>
#include <string.h>

#define LIST_SIZE (64 << 10)
#define AT_END ((off_t) -1)
#define LINKTOS_MAX (1 << 20)

void
emptying_clear (struct emptying *empty)
{
    fd_unref (empty->fd);
    if (empty->linktos)
        g_ptr_array_unref (empty->linktos);
    g_free (empty->at);
}

static void empty_list (struct emptying *empty);
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
empty_note_linkto (struct emptying *empty, unsigned child, const gf_dirent_t *entry)
{
    struct found *found = g_malloc (sizeof *found + entry->d_len + 1);

    found->child = child;
    memcpy (found->name, entry->d_name, entry->d_len + 1);
    g_ptr_array_add (empty->linktos, found);
}

/* Returns 0, or a positive errno. */
static int
empty_note (struct emptying *empty, unsigned child, const struct readdirp_reply *reply)
{
    const off_t before = empty->at[child];
    const bool at_end = reply->op_ret == 0 || reply->op_errno == ENOENT;

    if (reply->op_ret < 0)
        return reply->op_errno;
    for (const gf_dirent_t *entry = reply->entries; entry; entry = entry->next) {
        empty->at[child] = entry->d_off;
        if (entry_is_dots (entry))
            continue;
        if (!iatt_may_be_linkto (&entry->d_stat))
            return ENOTEMPTY;
        empty_note_linkto (empty, child, entry);
    }
    if (!at_end && (empty->at[child] == before || empty->linktos->len > LINKTOS_MAX))
        return EIO; /* a list without an end */
    if (at_end)
        empty->at[child] = AT_END;
    return 0;
}

static void
empty_listed (call_frame_t *own)
{
    struct emptying *empty = OP_OF (own);
    struct op *op = &empty->op;
    bool at_end = true;
    int error = 0;

    for (unsigned i = 0; i < op->priv->n && error == 0; i++) {
        if (op->own_fan.answers[i].op != FOP_NONE)
            error = empty_note (empty, i, &op->own_fan.answers[i].readdirp);
        at_end &= empty->at[i] == AT_END;
    }
    if (error)
        op_fail (op, error);
    else if (at_end)
        empty_unlink_next (empty);
    else
        empty_list (empty);
}

/* On all subvolumes at once. */
static void
empty_list (struct emptying *empty)
{
    struct op *op = &empty->op;

    own_begin (op, empty_listed);
    for (unsigned i = 0; i < op->priv->n; i++)
        if (empty->at[i] != AT_END)
            OWN (op, i, readdirp, empty->fd, LIST_SIZE, empty->at[i], NULL);
    own_end (op);
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
    empty_list (empty);
}

/* Opens and lists as distribute itself: the caller needs no right to read the directory. */
void
empty_directory (struct emptying *empty, inode_t *directory, void (*next) (struct op *op))
{
    struct op *op = &empty->op;
    loc_t loc = { .inode = directory };

    empty->next = next;
    empty->linktos = g_ptr_array_new_with_free_func (g_free);
    empty->at = g_new0 (off_t, op->priv->n);
    empty->fd = fd_new (op->this->fd_maker, directory, O_RDONLY | O_DIRECTORY, 0);
    own_begin (op, empty_opened);
    for (unsigned i = 0; i < op->priv->n; i++)
        OWN (op, i, opendir, &loc, empty->fd, NULL);
    own_end (op);
    loc_wipe_path (&loc);
}
