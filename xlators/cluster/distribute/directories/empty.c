/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Steps of an operation that needs an empty directory. They list the directory on all subvolumes,
 * and unlink the linktos in it. Any other name in the directory fails the operation with
 * ENOTEMPTY. */
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

/* --- open ------------------------------------------------------------------------------------- */

/* Opens the directory on all subvolumes with distribute's own identity (root), not the caller's: to
 * remove a directory, a caller needs no permission to read it. */
void
empty_open (void *local)
{
    struct emptying *empty = local;
    struct op *op = &empty->op;
    loc_t loc = { .inode = empty->directory };

    empty->linktos = g_ptr_array_new_with_free_func (g_free);
    empty->at = g_new0 (off_t, op->priv->n);
    empty->fd = fd_new (op->this->fd_maker, empty->directory, O_RDONLY | O_DIRECTORY, 0);
    for (unsigned i = 0; i < op->priv->n; i++)
        AS_SELF (op, i, opendir, &loc, empty->fd, NULL);
    loc_wipe_path (&loc);
}

/* --- list ------------------------------------------------------------------------------------- */

void
empty_list (void *local)
{
    struct emptying *empty = local;
    struct op *op = &empty->op;

    for (unsigned i = 0; i < op->priv->n; i++)
        if (empty->at[i] != AT_END)
            AS_SELF (op, i, readdirp, empty->fd, LIST_SIZE, empty->at[i], NULL);
}

/* A linkto in the listing of subvolume `child`. */
struct empty_linkto {
    unsigned child;
    char name[];
};

static void
empty_note_linkto (struct emptying *empty, unsigned child, const gf_dirent_t *entry)
{
    struct empty_linkto *linkto = g_malloc (sizeof *linkto + entry->d_len + 1);

    linkto->child = child;
    memcpy (linkto->name, entry->d_name, entry->d_len + 1);
    g_ptr_array_add (empty->linktos, linkto);
}

/* Adds the linktos in subvolume `child`'s answer to readdirp to the list of linktos. Returns 0 or a
 * negative errno: -ENOTEMPTY if the answer has an entry that is not a linkto. */
static int
empty_note (struct emptying *empty, unsigned child, const struct readdirp_reply *reply)
{
    const off_t before = empty->at[child];
    const bool at_end = reply->op_ret == 0 || reply->op_errno == ENOENT;

    if (reply->op_ret < 0)
        return -reply->op_errno;
    for (const gf_dirent_t *entry = reply->entries; entry; entry = entry->next) {
        empty->at[child] = entry->d_off;
        if (name_is_dots (entry->d_name))
            continue;
        if (!iatt_may_be_linkto (&entry->d_stat))
            return -ENOTEMPTY;
        empty_note_linkto (empty, child, entry);
    }
    if (!at_end && (empty->at[child] == before || empty->linktos->len > LINKTOS_MAX))
        return -EIO; /* the listing does not end */
    if (at_end)
        empty->at[child] = AT_END;
    return 0;
}

int
empty_listed (void *local)
{
    struct emptying *empty = local;
    struct op *op = &empty->op;
    bool at_end = true;
    int r = 0;

    for (unsigned i = 0; i < op->priv->n && r == 0; i++) {
        if (op->seq.fan.answers[i].op != FOP_NONE)
            r = empty_note (empty, i, &op->seq.fan.answers[i].readdirp);
        at_end &= empty->at[i] == AT_END;
    }
    return r < 0 || at_end ? r : STEP_REPEAT;
}

/* --- unlink linktos --------------------------------------------------------------------------- */

bool
empty_has_linktos (void *local)
{
    const struct emptying *empty = local;

    return empty->linktos && empty->removed < empty->linktos->len;
}

/* Unlinks the next linkto of the list. If the linkto has become a file, the brick refuses the
 * unlink with EBUSY. */
void
empty_unlink (void *local)
{
    struct emptying *empty = local;
    struct op *op = &empty->op;
    const struct empty_linkto *linkto = empty->linktos->pdata[empty->removed++];
    g_autoptr (dict_t) only = xdata_only_linkto ();
    loc_t loc = { .parent = empty->fd->inode, .name = linkto->name };

    AS_SELF_AT (op, 0, op->priv->children[linkto->child], unlink, &loc, 0, only);
    loc_wipe_path (&loc);
}

int
empty_unlinked (void *local)
{
    struct emptying *empty = local;
    const struct fan_answer *answer = &empty->op.seq.fan.answers[0];

    if (answer->op_ret < 0 && !is_missing (answer->op_errno))
        return answer->op_errno == EBUSY ? -ENOTEMPTY : -answer->op_errno;
    return empty_has_linktos (empty) ? STEP_REPEAT : 0;
}
