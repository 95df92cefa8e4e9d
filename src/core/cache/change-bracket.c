/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/cache/change-bracket.h"

#include "core/data/iatt.h"
#include "core/data/inode.h"
#include "core/data/loc.h"
#include "core/edge/frame.h"
#include "core/table/fops-rows.h"

#include <fcntl.h>

#define MOST 2 /* EFFECT rows of an operation */

/* The changes of one operation, from its call to its answer: the cookie of the wind. */
struct changes {
    unsigned n;
    struct change at[MOST];
};

/* --- the changes of an operation -------------------------------------------------------------- */

/* Returns NULL if the bracket is not interested. */
static struct change *
bracket_add (struct changes *changes, unsigned matters, const struct call *call, unsigned what)
{
    const bool is_new = call->op == FOP_create && call->flags & O_EXCL;
    struct change *change = &changes->at[changes->n];

    what = matters & fop_effects (what, is_new ? call->flags & ~(uint32_t) O_TRUNC : call->flags);
    if (!what)
        return NULL;
    *change = (struct change){ .number = changes->n++, .what = what };
    return change;
}

static void
add_fd (struct changes *changes, unsigned matters, const struct call *call, unsigned what,
        const fd_t *fd)
{
    struct change *change = bracket_add (changes, matters, call, what);

    if (change)
        change->inode = inode_ref (fd->inode);
}

/* For create, loc->inode is a new inode: the inode that the name stood for isn't known. */
static void
add_loc (struct changes *changes, unsigned matters, const struct call *call, unsigned what,
         const loc_t *loc)
{
    struct change *change = bracket_add (changes, matters, call, what);

    if (!change)
        return;
    if (call->op != FOP_create)
        change->inode = change->what & ~CHANGES_NAMES ? inode_ref (loc->inode) : NULL;
    if (change->what & CHANGES_NAMES) {
        change->parent = inode_ref (loc->parent);
        change->name = g_strdup (loc->name);
    }
}

#define ADD(what, argument)                                                                        \
    _Generic (args->argument, loc_t *: add_loc, fd_t *: add_fd) (changes, matters, call, what,     \
                                                                 (void *) args->argument);

#define CHANGES_OF(fop)                                                                            \
    static void changes_of_##fop (const struct call *call, unsigned matters,                       \
                                  struct changes *changes)                                         \
    {                                                                                              \
        const struct fop##_call *args = call->args;                                                \
        (void) args;                                                                               \
        (void) matters;                                                                            \
        (void) changes;                                                                            \
        FOP_EFFECTS_##fop (ADD)                                                                    \
    }
FOP_LIST (CHANGES_OF)

typedef void changes_fn (const struct call *call, unsigned matters, struct changes *changes);
#define ROW(fop) [FOP_##fop] = changes_of_##fop,
static changes_fn *const changes_of[FOP_MAX] = { FOP_LIST (ROW) };

/* --- the bracket ------------------------------------------------------------------------------ */

void
change_bracket_call (const struct change_bracket *bracket, const struct call *call)
{
    struct changes here = { 0 }, *changes;

    changes_of[call->op](call, bracket->what, &here);
    if (here.n == 0) {
        call_pass (call);
        return;
    }
    changes = g_memdup2 (&here, sizeof here);
    for (unsigned i = 0; i < changes->n; i++)
        bracket->begin (call, &changes->at[i]);
    call_wind (call, FIRST_CHILD (call->this), changes);
}

/* Finds the file of a create or a tmpfile by its answer. */
static void
bracket_learn (struct change *change, const struct answer *answer)
{
    if (change->inode || answer->op_ret < 0 || !answer->buf)
        return;
    if (answer->op == FOP_create || answer->op == FOP_tmpfile)
        change->inode = inode_find (answer->inode->table, &answer->buf->ia_gfid);
}

static void
change_clear (struct change *change)
{
    inode_unref (change->inode);
    inode_unref (change->parent);
    g_free (change->name);
}

void
change_bracket_answer (const struct change_bracket *bracket, const struct answer *answer)
{
    struct changes *changes = answer->cookie;

    for (unsigned i = changes->n; i-- > 0;) {
        bracket_learn (&changes->at[i], answer);
        bracket->end (answer, &changes->at[i]);
    }
    for (unsigned i = 0; i < changes->n; i++)
        change_clear (&changes->at[i]);
    g_free (changes);
    answer_pass (answer);
}
