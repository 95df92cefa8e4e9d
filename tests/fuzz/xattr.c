/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Names and values of extended attributes, POSIX ACLs among them, through storage/posix into a real
 * file and a real directory. The input is a list of
 *
 *   step, prefix, sizes of name and value    a byte each
 *   name, value
 *
 * A value is read as it was set, unless the kernel or the file system may change it.
 */
#include "fuzz.h"

#include "core/data/dict.h"
#include "core/data/loc.h"
#include "core/edge/sync.h"
#include "graph/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <linux/xattr.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SET, FSET, GET, LIST, REMOVE, FREMOVE, N_STEPS };

#define STEP_DIRECTORY 8 /* bit of the step's byte: use the directory */
#define STEP_FLAGS 4     /* its bits from there on: XATTR_CREATE, XATTR_REPLACE */

static const char *const prefixes[] = { "user.",
                                        "trusted.",
                                        "security.",
                                        "security.capability",
                                        "system.posix_acl_access",
                                        "system.posix_acl_default",
                                        "system.",
                                        "" };

static struct {
    char *dir;
    struct graph *graph;
    struct client *client;
    fd_t *file, *folder;
} fuzz_xattr_world;

static void
fuzz_xattr_world_end (void)
{
    g_autofree char *file = g_build_filename (fuzz_xattr_world.dir, "file", NULL);
    g_autofree char *folder = g_build_filename (fuzz_xattr_world.dir, "folder", NULL);

    g_unlink (file);
    g_rmdir (folder);
    g_rmdir (fuzz_xattr_world.dir);
}

/* A file and a directory of this process. */
static void
fuzz_xattr_world_begin (void)
{
    g_autofree char *text = NULL;

    fuzz_xattr_world.dir = g_build_filename (g_get_tmp_dir (), "windlass-fuzz-XXXXXX", NULL);
    g_assert (g_mkdtemp_full (fuzz_xattr_world.dir, 0755));
    atexit (fuzz_xattr_world_end);
    text = g_strdup_printf ("volume x\ntype storage/posix\noption directory \"%s\"\nend-volume\n",
                            fuzz_xattr_world.dir);
    fuzz_xattr_world.graph = graph_load (volfile_parse ("fuzz.vol", text, strlen (text)),
                                         &(struct graph_settings){ .inode_limit = 10 });
    volfile_print_problems (fuzz_xattr_world.graph->volfile);
    g_assert (!volfile_has_errors (fuzz_xattr_world.graph->volfile)
              && graph_activate (fuzz_xattr_world.graph) == 0);
    fuzz_xattr_world.client = client_new (fuzz_xattr_world.graph->top);
}

static fd_t *
world_make (const char *name, bool folder)
{
    struct itable *itable = fuzz_xattr_world.graph->itable;
    inode_t *root = itable_root (itable), *inode = inode_new (itable);
    loc_t loc = { .name = name, .parent = root, .inode = inode };
    struct mknod_reply reply;
    struct mkdir_reply made;
    fd_t *fd;

    if (folder) {
        g_assert (sync_mkdir (fuzz_xattr_world.client, &loc, 0755, 022, NULL, &made) >= 0);
        inode = inode_link (inode, root, name, &made.buf);
        mkdir_reply_drop (&made);
    } else {
        g_assert (sync_mknod (fuzz_xattr_world.client, &loc, S_IFREG | 0644, 0, 022, NULL,
                              &reply) >= 0);
        inode = inode_link (inode, root, name, &reply.buf);
        mknod_reply_drop (&reply);
    }
    loc = (loc_t){ .inode = inode };
    fd = fd_new (&fuzz_xattr_world.graph->fd_maker, inode, folder ? O_RDONLY : O_RDWR, getpid ());
    g_assert ((folder ? sync_opendir (fuzz_xattr_world.client, &loc, fd, NULL, NULL)
                      : sync_open (fuzz_xattr_world.client, &loc, O_RDWR, fd, NULL, NULL))
              >= 0);
    return fd;
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    g_setenv ("WINDLASS_XLATOR_PATH", FUZZ_XLATOR_PATH, FALSE);
    log_set_level (GF_LOG_ERROR);
    fuzz_xattr_world_begin ();
    fuzz_xattr_world.file = world_make ("file", false);
    fuzz_xattr_world.folder = world_make ("folder", true);
    return 0;
}

/* The kernel rewrites ACLs and capabilities, and checks others. */
static bool
is_kept_as_it_is (const char *name)
{
    return g_str_has_prefix (name, "user.") || g_str_has_prefix (name, "trusted.");
}

static void
check_set (loc_t *loc, const char *name, const void *value, size_t size)
{
    struct getxattr_reply reply;
    size_t got_size;
    const void *got;

    g_assert (sync_getxattr (fuzz_xattr_world.client, loc, name, NULL, &reply) >= 0);
    got = dict_get (reply.dict, name, &got_size);
    g_assert (got && got_size == size && (size == 0 || memcmp (got, value, size) == 0));
    getxattr_reply_drop (&reply);
}

static void
set (fd_t *fd, bool by_fd, const char *name, const void *value, size_t size, uint32_t flags)
{
    loc_t loc = { .inode = fd->inode };
    g_autoptr (dict_t) dict = dict_new ();
    int r;

    dict_set (dict, name, value, size);
    r = by_fd ? sync_fsetxattr (fuzz_xattr_world.client, fd, dict, flags, NULL, NULL)
              : sync_setxattr (fuzz_xattr_world.client, &loc, dict, flags, NULL, NULL);
    if (r >= 0 && is_kept_as_it_is (name))
        check_set (&loc, name, value, size);
}

static void
get (fd_t *fd, const char *name)
{
    loc_t loc = { .inode = fd->inode };
    struct getxattr_reply reply;
    int r = sync_getxattr (fuzz_xattr_world.client, &loc, name, NULL, &reply);

    g_assert ((r >= 0) == (reply.dict != NULL));
    getxattr_reply_drop (&reply);
}

static void
fuzz_xattr_step (struct input *input)
{
    const uint8_t what = input_byte (input);
    const char *prefix = prefixes[input_byte (input) % G_N_ELEMENTS (prefixes)];
    size_t name_size = input_byte (input), size = input_byte (input);
    const uint8_t *bytes = input_bytes (input, name_size, &name_size);
    g_autofree char *rest = g_strndup ((const char *) bytes, name_size),
                    *name = g_strconcat (prefix, rest, NULL);
    const uint8_t *value = input_bytes (input, size, &size);
    fd_t *fd = what & STEP_DIRECTORY ? fuzz_xattr_world.folder : fuzz_xattr_world.file;
    loc_t loc = { .inode = fd->inode };
    const unsigned kind = (what & 7) % N_STEPS;

    if (kind == SET || kind == FSET)
        set (fd, kind == FSET, name, value, size,
             what >> STEP_FLAGS & (XATTR_CREATE | XATTR_REPLACE));
    else if (kind == GET || kind == LIST)
        get (fd, kind == GET ? name : NULL);
    else if (kind == REMOVE)
        sync_removexattr (fuzz_xattr_world.client, &loc, name, NULL, NULL);
    else
        sync_fremovexattr (fuzz_xattr_world.client, fd, name, NULL, NULL);
}

/* Restores the previous state for the next input. */
static void
remove_all (fd_t *fd)
{
    loc_t loc = { .inode = fd->inode };
    struct getxattr_reply reply;

    if (sync_getxattr (fuzz_xattr_world.client, &loc, NULL, NULL, &reply) >= 0)
        for (size_t i = 0; i < dict_count (reply.dict); i++) {
            const void *value;
            const char *name;
            size_t size;

            dict_nth (reply.dict, i, &name, &value, &size);
            sync_removexattr (fuzz_xattr_world.client, &loc, name, NULL, NULL);
        }
    getxattr_reply_drop (&reply);
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };

    while (input.left > 0)
        fuzz_xattr_step (&input);
    remove_all (fuzz_xattr_world.file);
    remove_all (fuzz_xattr_world.folder);
    return 0;
}
