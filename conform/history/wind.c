/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations of a line, made as the kernel's bridge would make them, and the handling of their
 * answers. */
#include "conform/history/drive.h"
#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/data/iobuf.h"
#include "core/data/loc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define UMASK 022

/* --- winding -------------------------------------------------------------------------------- */

static struct seen *
seen_new (struct actor *actor, enum fop op)
{
    struct seen *seen = g_new0 (struct seen, 1);

    *seen = (struct seen){ .op = op,
                           .line = actor->line->number,
                           .client = actor->index,
                           .node = -1,
                           .parent = -1,
                           .newparent = -1,
                           .fd = -1,
                           .fd_out = -1,
                           .found = -1,
                           .invoked = actor->drive->clock++,
                           .responded = G_MAXUINT };
    g_ptr_array_add (actor->drive->seens, seen);
    actor->seen = seen;
    return seen;
}

/* The wind comes last: the answer may have arrived when it returns. */
static void
actor_wind (struct actor *actor, enum fop op, const void *args)
{
    call_stack_t *root = stack_new (&actor->drive->xlator);
    struct call call = {
        .op = op, .frame = &root->frames[0], .this = &actor->drive->xlator, .args = args
    };

    root->op = op;
    root->uid = geteuid ();
    root->gid = getegid ();
    root->pid = 1000 + (pid_t) actor->index;
    root->lk_owner = actor->index + 1;
    root->umask = UMASK;
    root->checked = true;
    root->ngroups = 0;
    root->maker.asked = actor;
    actor->root = root;
    call_wind (&call, actor->below ? actor->drive->below : actor->drive->child.xlator, NULL);
}

void
actor_look_up (struct actor *actor)
{
    const char *name = actor->names[actor->at];
    g_autoptr (inode_t) fresh = inode_new (actor->drive->graph->itable),
                        known = inode_grep (actor->inode, name);
    g_autoptr (inode_t) parent = inode_ref (actor->inode);
    loc_t loc = { .name = name, .parent = parent, .inode = known ? known : fresh };
    struct seen *seen = seen_new (actor, FOP_lookup);

    actor->below = false;
    seen->parent = actor->node;
    seen->name = g_strdup (name);
    actor_wind (actor, FOP_lookup, &(struct lookup_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

/* --- operations on names -------------------------------------------------------------------- */

/* The last name of the first path; its directory was reached before. */
static struct seen *
seen_name (struct actor *actor, enum fop op)
{
    struct seen *seen = seen_new (actor, op);

    seen->parent = actor->second ? actor->parent : actor->node;
    const char *slash = strrchr (actor->line->path, '/');
    seen->name = g_strdup (slash ? slash + 1 : actor->line->path);
    if (actor->second) {
        slash = strrchr (actor->line->word, '/');
        seen->newparent = actor->node;
        seen->newname = g_strdup (slash ? slash + 1 : actor->line->word);
    }
    return seen;
}

static void
do_create (struct actor *actor)
{
    const struct line *line = actor->line;
    struct graph *graph = actor->drive->graph;
    struct seen *seen = seen_name (actor, FOP_create);
    g_autoptr (inode_t) fresh = inode_new (graph->itable), parent = inode_ref (actor->inode);
    loc_t loc = { .name = seen->name, .parent = parent, .inode = fresh };
    g_autoptr (fd_t) fd = fd_new (&graph->fd_maker, NULL, line->flags, 1000 + (pid_t) actor->index);

    seen->flags = line->flags;
    seen->mode = line->mode;
    seen->fd = actor->drive->opens++;
    actor_wind (
        actor, FOP_create,
        &(struct create_call){
            .loc = &loc, .flags = line->flags, .mode = line->mode, .umask = UMASK, .fd = fd });
    loc_wipe_path (&loc);
}

static void
do_make (struct actor *actor)
{
    const struct line *line = actor->line;
    const bool link = line->verb == VERB_SYMLINK;
    struct seen *seen = seen_name (actor, link ? FOP_symlink : FOP_mkdir);
    g_autoptr (inode_t) fresh = inode_new (actor->drive->graph->itable),
                        parent = inode_ref (actor->inode);
    loc_t loc = { .name = seen->name, .parent = parent, .inode = fresh };

    seen->mode = line->mode;
    if (link) {
        seen->bytes = g_bytes_new (line->word, strlen (line->word));
        actor_wind (actor, FOP_symlink,
                    &(struct symlink_call){ .linkpath = line->word, .loc = &loc, .umask = UMASK });
    } else {
        actor_wind (actor, FOP_mkdir,
                    &(struct mkdir_call){ .loc = &loc, .mode = line->mode, .umask = UMASK });
    }
    loc_wipe_path (&loc);
}

static void
do_remove (struct actor *actor)
{
    const bool directory = actor->line->verb == VERB_RMDIR;
    struct seen *seen = seen_name (actor, directory ? FOP_rmdir : FOP_unlink);
    g_autoptr (inode_t) inode = inode_grep (actor->inode, seen->name),
                        parent = inode_ref (actor->inode);
    loc_t loc = { .name = seen->name, .parent = parent, .inode = inode };

    if (directory)
        actor_wind (actor, FOP_rmdir, &(struct rmdir_call){ .loc = &loc });
    else
        actor_wind (actor, FOP_unlink, &(struct unlink_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

static void
do_rename (struct actor *actor)
{
    struct seen *seen = seen_name (actor, FOP_rename);
    g_autoptr (inode_t) oldparent = inode_ref (actor->parent_inode),
                        newparent = inode_ref (actor->inode);
    g_autoptr (inode_t) inode = inode_grep (oldparent, seen->name),
                        target = inode_grep (newparent, seen->newname);
    loc_t oldloc = { .name = seen->name, .parent = oldparent, .inode = inode };
    loc_t newloc = { .name = seen->newname, .parent = newparent, .inode = target };

    seen->flags = actor->line->flags;
    actor_wind (actor, FOP_rename,
                &(struct rename_call){
                    .oldloc = &oldloc, .newloc = &newloc, .flags = seen->flags });
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
}

/* For a link the first path leads to the file, not to its directory. */
static void
do_link (struct actor *actor)
{
    struct seen *seen = seen_name (actor, FOP_link);
    g_autoptr (inode_t) inode = inode_ref (actor->parent_inode),
                        newparent = inode_ref (actor->inode);
    loc_t oldloc = { .inode = inode },
          newloc = { .name = seen->newname, .parent = newparent, .inode = inode };

    seen->node = seen->parent;
    actor_wind (actor, FOP_link, &(struct link_call){ .oldloc = &oldloc, .newloc = &newloc });
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
}

/* --- operations on files of a path --------------------------------------------------- */

static void
do_open (struct actor *actor)
{
    const bool cat = actor->line->verb == VERB_CAT;
    const uint32_t flags = cat ? O_RDONLY : actor->line->flags;
    struct seen *seen = seen_new (actor, FOP_open);
    g_autoptr (inode_t) inode = inode_ref (actor->inode);
    g_autoptr (fd_t)
        fd = fd_new (&actor->drive->graph->fd_maker, inode, flags, 1000 + (pid_t) actor->index);
    loc_t loc = { .inode = inode };

    seen->node = actor->node;
    seen->flags = flags;
    seen->fd = actor->drive->opens++;
    actor_wind (actor, FOP_open, &(struct open_call){ .loc = &loc, .flags = flags, .fd = fd });
    loc_wipe_path (&loc);
}

static void
do_opendir (struct actor *actor)
{
    struct seen *seen = seen_new (actor, FOP_readdir);
    g_autoptr (inode_t) inode = inode_ref (actor->inode);
    g_autoptr (fd_t)
        fd = fd_new (&actor->drive->graph->fd_maker, inode, O_RDONLY, 1000 + (pid_t) actor->index);
    loc_t loc = { .inode = inode };

    seen->node = actor->node;
    seen->names = g_ptr_array_new_with_free_func (g_free);
    actor_wind (actor, FOP_opendir, &(struct opendir_call){ .loc = &loc, .fd = fd });
    loc_wipe_path (&loc);
}

static void
do_setattr (struct actor *actor, loc_t *loc)
{
    const struct line *line = actor->line;
    struct iatt iatt = { .ia_prot = line->mode, .ia_mtime = line->offset };
    struct seen *seen = seen_new (actor, FOP_setattr);

    seen->node = actor->node;
    seen->flags = line->verb == VERB_CHMOD ? IATT_MODE : IATT_MTIME;
    seen->mode = line->mode;
    seen->offset = line->offset;
    actor_wind (actor, FOP_setattr,
                &(struct setattr_call){ .loc = loc, .stbuf = &iatt, .valid = seen->flags });
}

static void
do_xattr (struct actor *actor, loc_t *loc)
{
    const struct line *line = actor->line;
    const enum fop op = line->verb == VERB_SETXATTR ? FOP_setxattr
                      : line->verb == VERB_GETXATTR ? FOP_getxattr
                                                    : FOP_removexattr;
    struct seen *seen = seen_new (actor, op);
    g_autofree char *value = g_strdup_printf ("of line %u", line->number);
    g_autoptr (dict_t) dict = dict_new ();

    seen->node = actor->node;
    seen->name = g_strdup (line->word);
    seen->flags = line->flags;
    seen->bytes = g_bytes_new (value, strlen (value));
    dict_set (dict, line->word, value, strlen (value));
    if (op == FOP_setxattr)
        actor_wind (actor, op,
                    &(struct setxattr_call){ .loc = loc, .dict = dict, .flags = line->flags });
    else if (op == FOP_getxattr)
        actor_wind (actor, op, &(struct getxattr_call){ .loc = loc, .name = line->word });
    else
        actor_wind (actor, op, &(struct removexattr_call){ .loc = loc, .name = line->word });
}

static void
do_found (struct actor *actor)
{
    const struct line *line = actor->line;
    g_autoptr (inode_t) inode = inode_ref (actor->inode);
    loc_t loc = { .inode = inode };

    if (line->verb == VERB_CHMOD || line->verb == VERB_UTIME) {
        do_setattr (actor, &loc);
    } else if (line->verb == VERB_STAT) {
        seen_new (actor, FOP_stat)->node = actor->node;
        actor_wind (actor, FOP_stat, &(struct stat_call){ .loc = &loc });
    } else if (line->verb == VERB_READLINK) {
        seen_new (actor, FOP_readlink)->node = actor->node;
        actor_wind (actor, FOP_readlink, &(struct readlink_call){ .loc = &loc, .size = 4096 });
    } else if (line->verb == VERB_TRUNCATE) {
        struct seen *seen = seen_new (actor, FOP_truncate);
        seen->node = actor->node;
        seen->offset = line->offset;
        actor_wind (actor, FOP_truncate,
                    &(struct truncate_call){ .loc = &loc, .offset = line->offset });
    } else {
        do_xattr (actor, &loc);
    }
    loc_wipe_path (&loc);
}

/* --- operations on open files ----------------------------------------------------------------- */

static struct seen *
seen_fd (struct actor *actor, enum fop op, int fd)
{
    const struct line *line = actor->line;
    struct seen *seen = seen_new (actor, op);

    seen->fd = fd;
    seen->offset = line->offset;
    seen->size = line->size;
    seen->flags = line->flags;
    return seen;
}

static void
do_write (struct actor *actor, fd_t *fd, int number)
{
    const struct line *line = actor->line;
    struct seen *seen = seen_fd (actor, FOP_writev, number);
    g_autofree char *bytes = line_bytes (line->number, line->size);
    struct iobuf *iobuf = iobuf_new (MAX (line->size, 1));
    struct iobref *iobref = iobref_new ();
    struct iovec vector = { iobuf->ptr, line->size };

    memcpy (iobuf->ptr, bytes, line->size);
    seen->bytes = g_bytes_new (bytes, line->size);
    iobref_add (iobref, iobuf);
    iobuf_unref (iobuf);
    actor_wind (
        actor, FOP_writev,
        &(struct writev_call){
            .fd = fd, .vector = &vector, .count = 1, .offset = line->offset, .iobref = iobref });
    iobref_unref (iobref);
}

static void
do_read (struct actor *actor, fd_t *fd, int number, off_t offset, size_t size)
{
    struct seen *seen = seen_fd (actor, FOP_readv, number);

    seen->offset = offset;
    seen->size = size;
    actor_wind (actor, FOP_readv, &(struct readv_call){ .fd = fd, .size = size, .offset = offset });
}

/* close: also closes the file, as the kernel does at close(2). */
static void
do_flush (struct actor *actor, fd_t *fd, int number, bool close)
{
    seen_fd (actor, FOP_flush, number)->flags = close;
    actor_wind (actor, FOP_flush, &(struct flush_call){ .fd = fd });
}

static void
do_copy (struct actor *actor, fd_t *fd, int number)
{
    const struct line *line = actor->line;
    g_autoptr (fd_t) to = fd_ref (actor->files[line->fd_out].fd);
    struct seen *seen = seen_fd (actor, FOP_copy_file_range, number);

    seen->fd_out = actor->files[line->fd_out].number;
    seen->offset_out = line->offset_out;
    actor_wind (actor, FOP_copy_file_range,
                &(struct copy_file_range_call){ .fd_in = fd,
                                                .off_in = line->offset,
                                                .fd_out = to,
                                                .off_out = line->offset_out,
                                                .len = line->size });
}

static void
do_room (struct actor *actor, fd_t *fd, int number)
{
    const struct line *line = actor->line;

    if (line->verb == VERB_FALLOCATE) {
        seen_fd (actor, FOP_fallocate, number);
        actor_wind (actor, FOP_fallocate,
                    &(struct fallocate_call){ .fd = fd,
                                              .mode = (int32_t) line->flags,
                                              .offset = line->offset,
                                              .len = line->size });
    } else if (line->verb == VERB_DISCARD) {
        seen_fd (actor, FOP_discard, number);
        actor_wind (actor, FOP_discard,
                    &(struct discard_call){ .fd = fd, .offset = line->offset, .len = line->size });
    } else {
        seen_fd (actor, FOP_zerofill, number);
        actor_wind (actor, FOP_zerofill,
                    &(struct zerofill_call){ .fd = fd, .offset = line->offset, .len = line->size });
    }
}

/* Returns false for an access that the open mode does not permit: read(2) and write(2) fail
 * earlier. */
static bool
access_fits (const struct actor *actor, enum verb verb)
{
    const fd_t *fd = actor->files[actor->line->fd].fd, *to = actor->files[actor->line->fd_out].fd;
    const bool reads = (fd->flags & O_ACCMODE) != O_WRONLY,
               writes = (fd->flags & O_ACCMODE) != O_RDONLY;

    switch (verb) {
    case VERB_READ: return reads;
    case VERB_COPY:
        return reads && to && (to->flags & O_ACCMODE) != O_RDONLY && !(to->flags & O_APPEND)
            && actor->files[actor->line->fd].below == actor->files[actor->line->fd_out].below;
    case VERB_WRITE:
    case VERB_FTRUNCATE:
    case VERB_FALLOCATE:
    case VERB_DISCARD:
    case VERB_ZEROFILL: return writes;
    default: return true;
    }
}

static void
do_on_fd (struct actor *actor)
{
    const struct line *line = actor->line;
    g_autoptr (fd_t) fd = fd_ref (actor->files[line->fd].fd);
    const int number = actor->files[line->fd].number;

    actor->below = actor->files[line->fd].below;
    switch (fd && access_fits (actor, line->verb) ? line->verb : VERB_MAX) {
    case VERB_MAX: actor_end (actor); break;
    case VERB_READ: do_read (actor, fd, number, line->offset, line->size); break;
    case VERB_WRITE: do_write (actor, fd, number); break;
    case VERB_COPY: do_copy (actor, fd, number); break;
    case VERB_CLOSE: do_flush (actor, fd, number, true); break;
    case VERB_FLUSH: do_flush (actor, fd, number, false); break;
    case VERB_FSTAT:
        seen_fd (actor, FOP_fstat, number);
        actor_wind (actor, FOP_fstat, &(struct fstat_call){ .fd = fd });
        break;
    case VERB_FTRUNCATE:
        seen_fd (actor, FOP_ftruncate, number);
        actor_wind (actor, FOP_ftruncate,
                    &(struct ftruncate_call){ .fd = fd, .offset = line->offset });
        break;
    case VERB_FSYNC:
        seen_fd (actor, FOP_fsync, number);
        actor_wind (actor, FOP_fsync, &(struct fsync_call){ .fd = fd });
        break;
    default: do_room (actor, fd, number); break;
    }
}

/* The kernel sends no operation that the type of the file forbids. */
static bool
type_fits (const struct actor *actor)
{
    const ia_type_t type = actor->inode ? actor->inode->ia_type : IA_INVAL;

    switch (actor->line->verb) {
    case VERB_OPEN:
    case VERB_CAT:
    case VERB_TRUNCATE: return type == IA_IFREG;
    case VERB_READLINK: return type == IA_IFLNK;
    case VERB_LS: return type == IA_IFDIR;
    case VERB_CHMOD:
    case VERB_UTIME: return type != IA_IFLNK;
    case VERB_STAT:
    case VERB_SETXATTR:
    case VERB_GETXATTR:
    case VERB_REMOVEXATTR: return true;
    default: return type == IA_IFDIR;
    }
}

void
actor_do (struct actor *actor)
{
    const struct line *line = actor->line;
    const bool opens = line->verb == VERB_CREATE || line->verb == VERB_OPEN;

    actor->stage = STAGE_MORE;
    if (!line->path || !actor->names) {
        do_on_fd (actor);
        return;
    }
    if (!type_fits (actor) || (opens && actor->files[line->fd].fd)) {
        actor_end (actor);
        return;
    }
    actor->below = drive_goes_below (actor->drive, line);
    switch (line->verb) {
    case VERB_CREATE: do_create (actor); break;
    case VERB_MKDIR:
    case VERB_SYMLINK: do_make (actor); break;
    case VERB_UNLINK:
    case VERB_RMDIR: do_remove (actor); break;
    case VERB_RENAME: do_rename (actor); break;
    case VERB_LINK: do_link (actor); break;
    case VERB_OPEN:
    case VERB_CAT: do_open (actor); break;
    case VERB_LS: do_opendir (actor); break;
    default: do_found (actor); break;
    }
}

/* Called after an answer: starts the line's remaining operations. */
void
actor_more (struct actor *actor)
{
    const struct seen *seen = actor->seen;
    g_autoptr (fd_t) fd = fd_ref (actor->own.fd);

    if (!fd) {
        actor_end (actor);
    } else if (seen->op == FOP_readdir) {
        const off_t offset = seen->offset;
        actor->asked = actor->drive->clock++;
        if (actor->line->number % 2)
            actor_wind (actor, FOP_readdirp,
                        &(struct readdirp_call){ .fd = fd, .size = 4096, .offset = offset });
        else
            actor_wind (actor, FOP_readdir,
                        &(struct readdir_call){ .fd = fd, .size = 4096, .offset = offset });
    } else if (seen->op == FOP_open) {
        do_read (actor, fd, actor->own.number, 0, actor->drive->size_max);
    } else {
        do_flush (actor, fd, actor->own.number, true);
    }
}
