/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/data/dirent.h"
#include "core/data/dict.h"
#include "core/data/inode.h"

#include <string.h>

gf_dirent_t *
dirent_new (const char *name, size_t len)
{
    gf_dirent_t *entry = g_malloc (sizeof *entry + len + 1);

    /* Marks the attributes as unknown instead of clearing them: they are most of an entry, and a
     * plain listing has none. */
    memset (entry, 0, offsetof (gf_dirent_t, d_stat));
    entry->d_stat.ia_type = IA_INVAL;
    entry->inode = NULL;
    entry->dict = NULL;
    entry->d_len = (uint32_t) len;
    memcpy (entry->d_name, name, len);
    entry->d_name[len] = '\0';
    return entry;
}

void
dirents_free (gf_dirent_t *entries)
{
    gf_dirent_t *next;

    for (; entries; entries = next) {
        next = entries->next;
        inode_unref (entries->inode);
        dict_unref (entries->dict);
        g_free (entries);
    }
}

gf_dirent_t *
dirents_copy (const gf_dirent_t *entries)
{
    gf_dirent_t *copy = NULL, **end = &copy;

    for (; entries; entries = entries->next) {
        *end = g_memdup2 (entries, sizeof *entries + entries->d_len + 1);
        inode_ref ((*end)->inode);
        dict_ref ((*end)->dict);
        (*end)->next = NULL;
        end = &(*end)->next;
    }
    return copy;
}
