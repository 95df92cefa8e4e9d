/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/reports.h"
#include "fuse/request.h"
#include "fuse/state.h"

#include <limits.h>

const char *
bridge_library (void)
{
    return fuse_pkgversion ();
}

const char *
bridge_library_lacks (void)
{
    static const char *const lacks = ""
#ifndef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_TMPFILE
        ", files without a name (O_TMPFILE)"
#endif
#ifndef HAVE_STRUCT_FUSE_LOWLEVEL_OPS_STATX
        ", times of birth (statx)"
#endif
#ifndef HAVE_STRUCT_FUSE_FILE_INFO_PARALLEL_DIRECT_WRITES
        ", direct writes of a file in parallel"
#endif
        ;

    return *lacks ? lacks + strlen (", ") : NULL;
}

/* Returns whether a request of this kind names an entry of the directory that it is about. */
static bool
op_names (enum fop op)
{
    switch (op) {
    case FOP_lookup:
    case FOP_mknod:
    case FOP_mkdir:
    case FOP_symlink:
    case FOP_create:
    case FOP_unlink:
    case FOP_rmdir:
    case FOP_rename:
        return true;
    default:
        return false;
    }
}

/* Returns whether the bytes lie in the request's own memory, which is never unmapped. A local that
 * was too large for it is elsewhere, and may be freed. */
static bool
is_within (const call_stack_t *root, const void *at, size_t size)
{
    const char *begin = at;

    return begin >= root->local_bytes && size <= sizeof root->local_bytes
           && begin <= root->local_bytes + sizeof root->local_bytes - size;
}

/* Copies byte by byte, since another thread may write there. A request whose name isn't recorded
 * yet has no name. */
LOOKS_AT_RUNNING_REQUESTS static void
copy_name (const call_stack_t *root, const volatile char *from, char *ret_name, size_t size)
{
    size_t n = 0;

    while (from && n < size - 1 && is_within (root, (const char *) from + n, 1) && from[n]) {
        ret_name[n] = from[n];
        n++;
    }
    ret_name[n] = '\0';
}

LOOKS_AT_RUNNING_REQUESTS bool
bridge_path (xlator_t *this, const call_stack_t *root, bool may_wait, char *ret_path, size_t size)
{
    xlator_t *maker = root->frames[0].this;
    const struct fuse_local *local = root->frames[0].local;
    const bool mine = maker && maker->api == this->api;
    char name[NAME_MAX + 1] = "";

    if (mine && op_names (root->op) && is_within (root, local, sizeof *local))
        copy_name (root, local->name, name, sizeof name);
    if (!root->about)
        return false;
    return inode_path_of_nodeid (mine ? maker->graph->itable : this->graph->itable, root->about,
                                 *name ? name : NULL, may_wait, ret_path, size);
}
