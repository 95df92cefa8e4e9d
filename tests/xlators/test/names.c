/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Storage has each name in rot-13: one to one, in every operation that carries a name, and in
 * listings. Below it is a realm, whose table has the names of storage. fops(7), NAMES. */
#include "xlator.h"

#include <string.h>

#define NAME_SIZE 4096 /* longer names than any file system has pass, and are refused there */

/* --- names ------------------------------------------------------------------------------------ */

static char
names_letter (char c)
{
    const char first = g_ascii_isupper (c) ? 'A' : 'a';

    return g_ascii_isalpha (c) ? (char) (first + (c - first + 13) % 26) : c;
}

/* Rot-13 is its own inverse. */
static void
names_map (char *to, const char *from, size_t size)
{
    size_t i = 0;

    for (; from[i] && i + 1 < size; i++)
        to[i] = names_letter (from[i]);
    to[i] = '\0';
}

/* --- calls and answers ------------------------------------------------------------------------ */

/* The name that an operation on locks of names carries beside its places. */
static const char **
names_basename (struct realm_call *below)
{
    switch (below->changed.call.op) {
    case FOP_entrylk:
        return &below->changed.args.entrylk.basename;
    case FOP_fentrylk:
        return &below->changed.args.fentrylk.basename;
    default:
        return NULL;
    }
}

/* The target of a symbolic link is a text of the caller's, which the kernel resolves above: it
 * stays as it is. */
static void
names_any_fop (const struct call *call)
{
    char names[2][NAME_SIZE], basename[NAME_SIZE];
    struct realm_call below;
    const char **lock;

    if (!realm_call (call, 0, &below))
        return;
    for (unsigned i = 0; i < below.n_locs; i++)
        if (below.locs[i]->name) {
            names_map (names[i], below.locs[i]->name, sizeof names[i]);
            below.locs[i]->name = names[i];
        }
    lock = names_basename (&below);
    if (lock && *lock) {
        names_map (basename, *lock, sizeof basename);
        *lock = basename;
    }
    realm_call_wind (&below, NULL);
}

static void
names_any_fop_cbk (const struct answer *answer)
{
    struct realm_answered above;

    realm_answered (answer, &above);
    for (gf_dirent_t *entry = above.entries ? *above.entries : NULL; entry; entry = entry->next)
        names_map (entry->d_name, entry->d_name, (size_t) entry->d_len + 1);
    realm_answered_pass (&above);
}

/* --- changes that storage reports ------------------------------------------------------------ */

static void
names_notify (xlator_t *this, enum xlator_event event, void *data)
{
    struct invalidation above;
    char name[NAME_SIZE];

    if (event != XLATOR_INVALIDATE) {
        realm_notify (this, event, data);
        return;
    }
    if (!realm_up (this, data, &above))
        return;
    if (above.name) {
        names_map (name, above.name, sizeof name);
        above.name = name;
    }
    xlator_pass_on (this, event, &above);
    inode_unref (above.inode);
}

static int
names_init (xlator_t *this)
{
    realm_slot_new (this, FIRST_CHILD (this), "/");
    return 0;
}

static const char *const names_keys[] = { "*", NULL };

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/names",
    .about = "storage has each name in rot-13",
    .children = { .min = 1, .max = 1 },
    .realms = true,
    .realm_keys = names_keys,
    .touches = TOUCHES_NAMES,
    .init = names_init,
    .notify = names_notify,
    .any_fop = names_any_fop,
    .any_fop_cbk = names_any_fop_cbk,
};
