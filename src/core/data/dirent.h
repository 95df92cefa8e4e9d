/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A list of directory entries: the answer to readdir and readdirp. */
#ifndef WINDLASS_CORE_DATA_DIRENT_H
#define WINDLASS_CORE_DATA_DIRENT_H

#include "core/base/name.h"
#include "core/data/iatt.h"
#include "core/data/types.h"

struct gf_dirent {
    gf_dirent_t *next;
    uint64_t d_ino;
    off_t d_off;     /* offset for continuing after this entry */
    uint32_t d_type; /* DT_* of readdir(3) */
    uint32_t d_len;  /* of d_name, without its NUL */
    struct iatt d_stat; /* readdirp only; if ia_type is IA_INVAL, d_stat is unknown, but for ia_prot
                         * if that is set, and inode is NULL */
    inode_t *inode;     /* readdirp only; the entry owns a reference, as of dict */
    dict_t *dict;       /* attributes that xdata asked for, or NULL */
    char d_name[];
};

gf_dirent_t *dirent_new (const char *name, size_t len);
void dirents_free (gf_dirent_t *entries); /* takes NULL */
gf_dirent_t *dirents_copy (const gf_dirent_t *entries);

#endif
