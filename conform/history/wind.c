/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Winds the operations of a client's line. Their arguments are those with which the bridge to the
 * kernel (src/fuse) winds a request. */
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

struct operation *
operation_new (struct actor *actor, enum fop op)
{
    struct operation *seen = drive_record (actor->drive, op, actor->line->number, actor->index);

    seen->invoked = actor->drive->clock++;
    seen->responded = G_MAXUINT;
    seen->names_at = names_now ();
    actor->seen = seen;
    return seen;
}

/* Winds a call of the client. The answer may come before this function returns, and change the
 * state of the actor. So callers do not use the actor afterwards. */
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
    call_wind (&call, actor->below ? actor->drive->below
                      : actor->old ? actor->old->top
                                   : actor->drive->child.xlator, NULL);
}

/* Returns what makes fds for the current call. */
static const struct fd_maker *
actor_fds (const struct actor *actor)
{
    return actor->old ? &actor->old->graph->fd_maker : &actor->drive->graph->fd_maker;
}

void
actor_look_up (struct actor *actor)
{
    const char *name = actor->names[actor->at];
    g_autoptr (inode_t) fresh = inode_new (actor->drive->graph->itable),
                        known = inode_grep (actor->inode, name);
    g_autoptr (inode_t) parent = inode_ref (actor->inode);
    loc_t loc = { .name = name, .parent = parent, .inode = known ? known : fresh };
    struct operation *seen = operation_new (actor, FOP_lookup);

    actor->below = false;
    actor->old = NULL;
    seen->parent = actor->node;
    seen->name = g_strdup (name);
    actor_wind (actor, FOP_lookup, &(struct lookup_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Begins the record of an operation on a name, and returns it. The record's name is the last
 * component of the line's path. If the line has a second path, newname is the last component of
 * that one. */
static struct operation *
seen_name (struct actor *actor, enum fop op)
{
    struct operation *seen = operation_new (actor, op);

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
wind_create (struct actor *actor)
{
    const struct script_line *line = actor->line;
    struct graph *graph = actor->drive->graph;
    struct operation *seen = seen_name (actor, FOP_create);
    g_autoptr (inode_t) fresh = inode_new (graph->itable);
    loc_t loc = { .name = seen->name, .parent = actor->inode, .inode = fresh };
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
wind_mkdir (struct actor *actor)
{
    struct operation *seen = seen_name (actor, FOP_mkdir);
    g_autoptr (inode_t) fresh = inode_new (actor->drive->graph->itable);
    loc_t loc = { .name = seen->name, .parent = actor->inode, .inode = fresh };

    seen->mode = actor->line->mode;
    actor_wind (actor, FOP_mkdir,
                &(struct mkdir_call){ .loc = &loc, .mode = seen->mode, .umask = UMASK });
    loc_wipe_path (&loc);
}

static void
wind_symlink (struct actor *actor)
{
    const char *target = actor->line->word;
    struct operation *seen = seen_name (actor, FOP_symlink);
    g_autoptr (inode_t) fresh = inode_new (actor->drive->graph->itable);
    loc_t loc = { .name = seen->name, .parent = actor->inode, .inode = fresh };

    seen->bytes = g_bytes_new (target, strlen (target));
    actor_wind (actor, FOP_symlink,
                &(struct symlink_call){ .linkpath = target, .loc = &loc, .umask = UMASK });
    loc_wipe_path (&loc);
}

static void
wind_unlink (struct actor *actor)
{
    struct operation *seen = seen_name (actor, FOP_unlink);
    g_autoptr (inode_t) inode = inode_grep (actor->inode, seen->name);
    loc_t loc = { .name = seen->name, .parent = actor->inode, .inode = inode };

    actor_wind (actor, FOP_unlink, &(struct unlink_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

static void
wind_rmdir (struct actor *actor)
{
    struct operation *seen = seen_name (actor, FOP_rmdir);
    g_autoptr (inode_t) inode = inode_grep (actor->inode, seen->name);
    loc_t loc = { .name = seen->name, .parent = actor->inode, .inode = inode };

    actor_wind (actor, FOP_rmdir, &(struct rmdir_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

static void
wind_rename (struct actor *actor)
{
    struct operation *seen = seen_name (actor, FOP_rename);
    g_autoptr (inode_t) inode = inode_grep (actor->parent_inode, seen->name),
                        target = inode_grep (actor->inode, seen->newname);
    loc_t oldloc = { .name = seen->name, .parent = actor->parent_inode, .inode = inode };
    loc_t newloc = { .name = seen->newname, .parent = actor->inode, .inode = target };

    seen->flags = actor->line->flags;
    actor_wind (actor, FOP_rename,
                &(struct rename_call){
                    .oldloc = &oldloc, .newloc = &newloc, .flags = seen->flags });
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
}

/* For a link, the client has looked up the whole first path, including the file. So actor->parent
 * and actor->parent_inode are the file that gets a new name, and not its directory. */
static void
wind_link (struct actor *actor)
{
    struct operation *seen = seen_name (actor, FOP_link);
    loc_t oldloc = { .inode = actor->parent_inode };
    loc_t newloc = { .name = seen->newname, .parent = actor->inode, .inode = oldloc.inode };

    seen->node = seen->parent;
    actor_wind (actor, FOP_link, &(struct link_call){ .oldloc = &oldloc, .newloc = &newloc });
    loc_wipe_path (&oldloc);
    loc_wipe_path (&newloc);
}

/* --- objects of a path ------------------------------------------------------------------------ */

static struct operation *
seen_object (struct actor *actor, enum fop op)
{
    struct operation *seen = operation_new (actor, op);

    seen->node = actor->node;
    return seen;
}

static void
wind_open (struct actor *actor)
{
    const uint32_t flags = actor->line->flags;
    struct operation *seen = seen_object (actor, FOP_open);
    g_autoptr (fd_t) fd = fd_new (actor_fds (actor), actor->inode, flags,
                                  1000 + (pid_t) actor->index);
    loc_t loc = { .inode = actor->inode };

    seen->flags = flags;
    seen->fd = actor->drive->opens++;
    actor_wind (actor, FOP_open, &(struct open_call){ .loc = &loc, .flags = flags, .fd = fd });
    loc_wipe_path (&loc);
}

static void
wind_opendir (struct actor *actor)
{
    struct operation *seen = seen_object (actor, FOP_readdir);
    g_autoptr (fd_t) fd = fd_new (actor_fds (actor), actor->inode, O_RDONLY,
                                  1000 + (pid_t) actor->index);
    loc_t loc = { .inode = actor->inode };

    seen->names = g_ptr_array_new_with_free_func (g_free);
    actor_wind (actor, FOP_opendir, &(struct opendir_call){ .loc = &loc, .fd = fd });
    loc_wipe_path (&loc);
}

static void
wind_stat (struct actor *actor)
{
    loc_t loc = { .inode = actor->inode };

    seen_object (actor, FOP_stat);
    actor_wind (actor, FOP_stat, &(struct stat_call){ .loc = &loc });
    loc_wipe_path (&loc);
}

static void
wind_readlink (struct actor *actor)
{
    loc_t loc = { .inode = actor->inode };

    seen_object (actor, FOP_readlink);
    actor_wind (actor, FOP_readlink, &(struct readlink_call){ .loc = &loc, .size = 4096 });
    loc_wipe_path (&loc);
}

static void
wind_truncate (struct actor *actor)
{
    loc_t loc = { .inode = actor->inode };
    struct operation *seen = seen_object (actor, FOP_truncate);

    seen->offset = actor->line->offset;
    actor_wind (actor, FOP_truncate,
                &(struct truncate_call){ .loc = &loc, .offset = seen->offset });
    loc_wipe_path (&loc);
}

static void
wind_setattr (struct actor *actor)
{
    const struct script_line *line = actor->line;
    struct iatt iatt = { .ia_prot = line->mode, .ia_mtime = line->offset };
    loc_t loc = { .inode = actor->inode };
    struct operation *seen = seen_object (actor, FOP_setattr);

    seen->flags = verb_takes (line->verb, "m") ? IATT_MODE : IATT_MTIME;
    seen->mode = line->mode;
    seen->offset = line->offset;
    actor_wind (actor, FOP_setattr,
                &(struct setattr_call){ .loc = &loc, .stbuf = &iatt, .valid = seen->flags });
    loc_wipe_path (&loc);
}

static struct operation *
seen_xattr (struct actor *actor, enum fop op)
{
    struct operation *seen = seen_object (actor, op);

    seen->name = g_strdup (actor->line->word);
    return seen;
}

static void
wind_setxattr (struct actor *actor)
{
    const struct script_line *line = actor->line;
    loc_t loc = { .inode = actor->inode };
    struct operation *seen = seen_xattr (actor, FOP_setxattr);
    g_autofree char *value = g_strdup_printf ("of line %u", line->number);
    g_autoptr (dict_t) dict = dict_new ();

    seen->flags = line->flags;
    seen->bytes = g_bytes_new (value, strlen (value));
    dict_set (dict, line->word, value, strlen (value));
    actor_wind (actor, FOP_setxattr,
                &(struct setxattr_call){ .loc = &loc, .dict = dict, .flags = line->flags });
    loc_wipe_path (&loc);
}

static void
wind_getxattr (struct actor *actor)
{
    loc_t loc = { .inode = actor->inode };

    seen_xattr (actor, FOP_getxattr);
    actor_wind (actor, FOP_getxattr,
                &(struct getxattr_call){ .loc = &loc, .name = actor->line->word });
    loc_wipe_path (&loc);
}

static void
wind_removexattr (struct actor *actor)
{
    loc_t loc = { .inode = actor->inode };

    seen_xattr (actor, FOP_removexattr);
    actor_wind (actor, FOP_removexattr,
                &(struct removexattr_call){ .loc = &loc, .name = actor->line->word });
    loc_wipe_path (&loc);
}

/* --- open files ------------------------------------------------------------------------------- */

static struct operation *
seen_fd (struct actor *actor, enum fop op)
{
    const struct script_line *line = actor->line;
    struct operation *seen = operation_new (actor, op);

    seen->fd = actor_file (actor)->number;
    seen->offset = line->offset;
    seen->size = line->size;
    seen->flags = line->flags;
    return seen;
}

/* Starts a read of the line's range. If the verb is cat, it reads the whole file. */
static void
wind_read (struct actor *actor)
{
    const bool whole = !verb_takes (actor->line->verb, "s");
    struct operation *seen = seen_fd (actor, FOP_readv);

    seen->offset = whole ? 0 : actor->line->offset;
    seen->size = whole ? actor->drive->size_max : actor->line->size;
    actor_wind (actor, FOP_readv,
                &(struct readv_call){
                    .fd = actor_file (actor)->fd, .size = seen->size, .offset = seen->offset });
}

static void
wind_write (struct actor *actor)
{
    const struct script_line *line = actor->line;
    struct operation *seen = seen_fd (actor, FOP_writev);
    g_autofree char *bytes = line_bytes (line->number, line->size);
    struct iobuf *iobuf = iobuf_new (MAX (line->size, 1));
    struct iobref *iobref = iobref_new ();
    struct iovec vector = { iobuf->ptr, line->size };

    memcpy (iobuf->ptr, bytes, line->size);
    seen->bytes = g_bytes_new (bytes, line->size);
    iobref_add (iobref, iobuf);
    iobuf_unref (iobuf);
    actor_wind (actor, FOP_writev,
                &(struct writev_call){ .fd = actor_file (actor)->fd,
                                       .vector = &vector,
                                       .count = 1,
                                       .offset = line->offset,
                                       .iobref = iobref });
    iobref_unref (iobref);
}

/* Starts a flush for the verbs flush, close and cat; close(2) makes the kernel send a flush, too.
 * The flags of the record say whether the client closes the file with it. */
static void
wind_flush (struct actor *actor)
{
    seen_fd (actor, FOP_flush)->flags = actor->line->verb != VERB_flush;
    actor_wind (actor, FOP_flush, &(struct flush_call){ .fd = actor_file (actor)->fd });
}

static void
wind_fsync (struct actor *actor)
{
    seen_fd (actor, FOP_fsync);
    actor_wind (actor, FOP_fsync, &(struct fsync_call){ .fd = actor_file (actor)->fd });
}

static void
wind_fstat (struct actor *actor)
{
    seen_fd (actor, FOP_fstat);
    actor_wind (actor, FOP_fstat, &(struct fstat_call){ .fd = actor_file (actor)->fd });
}

static void
wind_ftruncate (struct actor *actor)
{
    seen_fd (actor, FOP_ftruncate);
    actor_wind (actor, FOP_ftruncate,
                &(struct ftruncate_call){ .fd = actor_file (actor)->fd,
                                          .offset = actor->line->offset });
}

static void
wind_fallocate (struct actor *actor)
{
    const struct script_line *line = actor->line;

    seen_fd (actor, FOP_fallocate);
    actor_wind (actor, FOP_fallocate,
                &(struct fallocate_call){ .fd = actor_file (actor)->fd,
                                          .mode = (int32_t) line->flags,
                                          .offset = line->offset,
                                          .len = line->size });
}

static void
wind_discard (struct actor *actor)
{
    const struct script_line *line = actor->line;

    seen_fd (actor, FOP_discard);
    actor_wind (actor, FOP_discard,
                &(struct discard_call){
                    .fd = actor_file (actor)->fd, .offset = line->offset, .len = line->size });
}

static void
wind_zerofill (struct actor *actor)
{
    const struct script_line *line = actor->line;

    seen_fd (actor, FOP_zerofill);
    actor_wind (actor, FOP_zerofill,
                &(struct zerofill_call){
                    .fd = actor_file (actor)->fd, .offset = line->offset, .len = line->size });
}

/* Starts a copy_file_range, or ends the line if the kernel would not send one: the target must be
 * open for writing, and not for appending, and in the same graph. */
static void
wind_copy (struct actor *actor)
{
    const struct script_line *line = actor->line;
    const struct actor_file *from = actor_file (actor), *to = &actor->files[line->fd_out];
    g_autoptr (fd_t) fd_out = fd_ref (to->fd);

    if (!fd_out || (fd_out->flags & O_ACCMODE) == O_RDONLY || fd_out->flags & O_APPEND
        || from->below != to->below || from->old != to->old) {
        actor_end (actor);
        return;
    }
    struct operation *seen = seen_fd (actor, FOP_copy_file_range);
    seen->fd_out = to->number;
    seen->offset_out = line->offset_out;
    actor_wind (actor, FOP_copy_file_range,
                &(struct copy_file_range_call){ .fd_in = from->fd,
                                                .off_in = line->offset,
                                                .fd_out = fd_out,
                                                .off_out = line->offset_out,
                                                .len = line->size });
}

const struct verb_row verb_rows[VERB_MAX] = {
#define VERB(name, arguments, op, wind, weight, needs, fits)                                       \
    [VERB_##name] = { #name, arguments, FOP_##op, wind, weight, needs, fits },
#include "conform/history/verbs.def"
};

/* --- a line ----------------------------------------------------------------------------------- */

static unsigned
inode_fits (const inode_t *inode)
{
    switch (inode->ia_type) {
    case IA_IFREG: return FITS_FILE;
    case IA_IFDIR: return FITS_DIRECTORY;
    case IA_IFLNK: return FITS_LINK;
    default: return 0;
    }
}

static unsigned
fd_fits (const fd_t *fd)
{
    switch (fd->flags & O_ACCMODE) {
    case O_RDONLY: return FITS_READABLE;
    case O_WRONLY: return FITS_WRITABLE;
    default: return FITS_READABLE | FITS_WRITABLE;
    }
}

/* Returns whether the kernel sends the line's operation for this open file or, if the line has a
 * path, for the object at the path. fd: the open file of the line, or NULL. */
static bool
fits (const struct actor *actor, const fd_t *fd)
{
    const unsigned wanted = verb_rows[actor->line->verb].fits;

    if (!verb_takes (actor->line->verb, "pnf"))
        return true;
    if (!verb_takes (actor->line->verb, "pn"))
        return fd && fd_fits (fd) & wanted;
    return !fd && (wanted == FITS_ANY || inode_fits (actor->inode) & wanted);
}

/* Returns the old graph to which the bridge would send the line's operation. */
static struct drive_old *
actor_old (const struct actor *actor)
{
    const enum verb verb = actor->line->verb;

    if (verb_takes (verb, "n"))
        return NULL;
    if (!verb_takes (verb, "p"))
        return actor_file ((struct actor *) actor)->old;
    return drive_old_of (actor->drive,
                         verb_takes (verb, "d") ? actor->parent_inode : actor->inode);
}

/* The wind function of the verb winds a call. Its answer may come before the wind function returns.
 * It may end the line, and so drop the actor's references to the open file and the inodes. So this
 * function holds references of its own until the wind function has returned. */
void
actor_do (struct actor *actor)
{
    const enum verb verb = actor->line->verb;
    const struct actor_file *file = actor_file (actor);
    g_autoptr (fd_t) fd = fd_ref (file->fd);
    G_GNUC_UNUSED g_autoptr (inode_t) inode = inode_ref (actor->inode),
                                      parent = inode_ref (actor->parent_inode);

    actor->stage = STAGE_MORE;
    if (!fits (actor, fd)) {
        actor_end (actor);
        return;
    }
    actor->below = verb_takes (verb, "pn") ? drive_goes_below (actor->drive, actor->line)
                                           : file->below;
    actor->old = actor_old (actor);
    verb_rows[verb].wind (actor);
}

static void
wind_readdir (struct actor *actor, fd_t *fd, off_t offset)
{
    actor->asked = actor->drive->clock++;
    if (actor->line->number % 2)
        actor_wind (actor, FOP_readdirp,
                    &(struct readdirp_call){ .fd = fd, .size = 4096, .offset = offset });
    else
        actor_wind (actor, FOP_readdir,
                    &(struct readdir_call){ .fd = fd, .size = 4096, .offset = offset });
}

/* Starts the next operation of a line, after an answer: for cat the read or the flush, for ls the
 * next readdir. Lines of other verbs have one operation, so they end here. */
void
actor_more (struct actor *actor)
{
    const struct operation *seen = actor->seen;
    g_autoptr (fd_t) fd = fd_ref (actor->own.fd);

    actor->old = actor->own.old;
    if (!fd)
        actor_end (actor);
    else if (seen->op == FOP_readdir)
        wind_readdir (actor, fd, seen->offset);
    else if (seen->op == FOP_open)
        wind_read (actor);
    else
        wind_flush (actor);
}
