/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A value of each kind for each name of fops.def, so that none can be mistaken for another, and
 * comparisons with them. */
#ifndef WINDLASS_TESTS_SAMPLES_H
#define WINDLASS_TESTS_SAMPLES_H

#include "core/data/dirent.h"
#include "core/data/iobuf.h"
#include "mock.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

struct kind_sample {
    loc_t loc;
    fd_t *fd;
    inode_t *inode;
    struct iatt iatt;
    dict_t *dict;
    struct iovec vector[2];
    uint32_t number;
    struct statvfs statvfs;
    gf_dirent_t *dirents;
    struct gf_flock lock;
    GBytes *bytes;
};

static struct itable *table;
static GHashTable *samples;
static bool no_attributes; /* the leaf answers NULL for all of them */

static struct kind_sample *
sample (const char *name)
{
    static const struct fd_maker maker = { 0 };
    struct kind_sample *s = g_hash_table_lookup (samples, name);

    if (s)
        return s;
    s = g_new0 (struct kind_sample, 1);
    s->number = strcmp (name, "cmd") == 0 ? (uint32_t) FS_IOC_SETFLAGS
                                          : g_str_hash (name) & 0x7fffffff;
    s->inode = inode_new (table);
    s->loc = (loc_t){ .name = name, .parent = itable_root (table), .inode = s->inode };
    s->fd = fd_new (&maker, s->inode, O_RDWR, 1);
    s->iatt.ia_ino = s->number;
    s->dict = dict_new ();
    s->vector[0] = (struct iovec){ (char *) name, 1 };
    s->vector[1] = (struct iovec){ (char *) name + 1, strlen (name) - 1 };
    s->statvfs.f_blocks = s->number;
    s->dirents = dirent_new (name, strlen (name));
    s->lock.l_start = s->number;
    s->bytes = g_bytes_new_static (name, strlen (name));
    g_hash_table_insert (samples, (char *) name, s);
    return s;
}

static void
sample_free (void *data)
{
    struct kind_sample *s = data;

    loc_wipe_path (&s->loc);
    fd_unref (s->fd);
    inode_unref (s->inode);
    dict_unref (s->dict);
    dirents_free (s->dirents);
    g_bytes_unref (s->bytes);
    g_free (s);
}

#define SAMPLE_LOC(name) &sample (#name)->loc
#define SAMPLE_FD(name) sample (#name)->fd
#define SAMPLE_INODE(name) sample (#name)->inode
#define SAMPLE_IATT(name) &sample (#name)->iatt
#define SAMPLE_DICT(name) sample (#name)->dict
#define SAMPLE_VECTOR(name) sample (#name)->vector
#define SAMPLE_COUNT(name) 2
#define SAMPLE_IOBREF(name) NULL
#define SAMPLE_SIZE(name) sample (#name)->number
#define SAMPLE_OFFSET(name) sample (#name)->number
#define SAMPLE_FLAGS(name) sample (#name)->number
#define SAMPLE_INT(name) (int32_t) sample (#name)->number
#define SAMPLE_MODE(name) sample (#name)->number
#define SAMPLE_DEV(name) sample (#name)->number
#define SAMPLE_NAME(name) #name
#define SAMPLE_STATVFS(name) &sample (#name)->statvfs
#define SAMPLE_DIRENTS(name) sample (#name)->dirents
#define SAMPLE_LOCK(name) &sample (#name)->lock
#define SAMPLE_BYTES(name) sample (#name)->bytes

static bool
same_vector (const struct iovec *vector, int count, const char *name)
{
    g_autofree char *bytes = g_malloc0 (iov_length (vector, count) + 1);

    iov_unload (bytes, iov_length (vector, count), vector, count);
    return strcmp (bytes, name) == 0;
}

static bool
same_loc (const loc_t *loc, const char *name)
{
    return strcmp (loc->name, name) == 0 && loc->inode == sample (name)->inode
        && loc->parent == itable_root (table);
}

#define SAME(condition) ck_assert_msg (condition, "%s: %s is not what it was", op, #condition)
#define SAME_LOC(name) SAME (same_loc (name, #name));
#define SAME_FD(name) SAME (name == sample (#name)->fd);
#define SAME_INODE(name) SAME (name == sample (#name)->inode);
#define SAME_IATT(name) \
    SAME (name && name->ia_ino ? name->ia_ino == sample (#name)->number : no_attributes);
#define SAME_DICT(name) SAME (name == sample (#name)->dict);
#define SAME_VECTOR(name) SAME (same_vector (name, count, #name));
#define SAME_COUNT(name) SAME (name > 0);
#define SAME_IOBREF(name) (void) name;
#define SAME_SIZE(name) SAME (name == sample (#name)->number);
#define SAME_OFFSET(name) SAME (name == sample (#name)->number);
#define SAME_FLAGS(name) SAME (name == sample (#name)->number);
#define SAME_INT(name) SAME (name == (int32_t) sample (#name)->number);
#define SAME_MODE(name) SAME (name == sample (#name)->number);
#define SAME_DEV(name) SAME (name == sample (#name)->number);
#define SAME_NAME(name) SAME (strcmp (name, #name) == 0);
#define SAME_STATVFS(name) \
    SAME (name && name->f_blocks ? name->f_blocks == sample (#name)->number : no_attributes);
#define SAME_DIRENTS(name) SAME (strcmp (name->d_name, #name) == 0 && !name->next);
#define SAME_LOCK(name) \
    SAME (name && name->l_start ? name->l_start == sample (#name)->number : no_attributes);
#define SAME_BYTES(name) SAME (g_bytes_equal (name, sample (#name)->bytes));

#endif
