/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A listing that never ends: it has `batches` answers of `entries` entries each, and begins again
 * after the last, with the same offsets, which have more than 32 bits. */
#include "xlator.h"

#include <string.h>

#define FIRST (INT64_C (1) << 40)

#define BATCHES_MAX 2

typedef struct {
    int entries, batches; /* options */
    char *name;           /* option */
    gf_dirent_t *answers[BATCHES_MAX];
} endless_private_t;

static const struct xlator_option endless_options[] = {
    { OPTION ("entries", INT, endless_private_t, entries, "1"), .min = 1, .max = 10000,
      .help = "names in an answer" },
    { OPTION ("batches", INT, endless_private_t, batches, "1"), .min = 1, .max = BATCHES_MAX,
      .help = "answers before the first one comes again" },
    { OPTION ("name", STRING, endless_private_t, name, "name"), .help = "the name of all entries" },
    {},
};

static gf_dirent_t *
endless_answer (const endless_private_t *priv, int batch)
{
    gf_dirent_t *entries = NULL;

    for (int i = priv->entries; i > 0; i--) {
        gf_dirent_t *entry = dirent_new (priv->name, strlen (priv->name));

        entry->d_ino = 2;
        entry->d_off = FIRST + batch * priv->entries + i;
        entry->next = entries;
        entries = entry;
    }
    return entries;
}

static void
endless_readdir (call_frame_t *frame, xlator_t *this, fd_t *fd, size_t size, off_t offset,
                 dict_t *xdata)
{
    const endless_private_t *priv = this->private;
    const off_t seen = offset > FIRST ? (offset - FIRST) / priv->entries : 0;

    STACK_UNWIND (readdir, frame, priv->entries, 0, priv->answers[seen % priv->batches], NULL);
}

static int
endless_init (xlator_t *this)
{
    endless_private_t *priv = this->private;

    for (int i = 0; i < priv->batches; i++)
        priv->answers[i] = endless_answer (priv, i);
    return 0;
}

static void
endless_fini (xlator_t *this)
{
    endless_private_t *priv = this->private;

    for (int i = 0; i < priv->batches; i++)
        dirents_free (priv->answers[i]);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "test/endless",
    .about = "a listing without an end",
    .children = { .min = 1, .max = 1 },
    .priv_size = sizeof (endless_private_t),
    .options = endless_options,
    .init = endless_init,
    .fini = endless_fini,
    .fops = { .readdir = endless_readdir },
};

