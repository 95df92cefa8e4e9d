/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A daemon keeps its last dumps alone: whoever asks for one each minute must not fill /run. */
#include "daemon/statedump/internal.h"

#include <sys/stat.h>
#include <unistd.h>

/* A file that this daemon wrote. */
struct dumped {
    char *path; /* NULL: none */
    dev_t dev;
    ino_t ino;
};

/* The last ones, in a ring: the oldest gives way. The main thread's. */
static struct dumped kept[DUMPS_KEPT];
static unsigned kept_next;

/* A file that has the name but that this daemon did not write stays. */
static void
kept_drop (struct dumped *dumped)
{
    struct stat st;

    if (dumped->path && lstat (dumped->path, &st) == 0 && S_ISREG (st.st_mode)
        && st.st_dev == dumped->dev && st.st_ino == dumped->ino)
        unlink (dumped->path);
    g_clear_pointer (&dumped->path, g_free);
}

void
dump_keep (const char *path)
{
    struct dumped *dumped = &kept[kept_next];
    struct stat st;

    if (lstat (path, &st) < 0)
        return;
    kept_drop (dumped);
    *dumped = (struct dumped){ g_strdup (path), st.st_dev, st.st_ino };
    kept_next = (kept_next + 1) % DUMPS_KEPT;
}
