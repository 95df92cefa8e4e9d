/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mknod, mkdir, symlink, create and link. The upper makes the object as the caller. If the name has
 * a whiteout, the object is made in a stage: a directory of work that belongs to the caller, with
 * the group, setgid bit and default ACL of the real directory; so the file system gives the object
 * the owner, group, mode and ACL that it would have in its place. Then it replaces the whiteout.
 */
#include "names.h"

#include <sys/stat.h>

#define OVERLAY_DEFAULT_ACL "system.posix_acl_default"

union overlay_made {
    struct mknod_reply mknod;
    struct mkdir_reply mkdir;
    struct symlink_reply symlink;
    struct create_reply create;
    struct link_reply link;
};

/* An object in the making. */
struct overlay_making {
    struct overlay_act *act;
    const struct call *call;
    const loc_t *loc;  /* its place, above */
    inode_t *directory; /* below, in the upper */
    fd_t *opened;      /* below, of create; with a reference */
    inode_t *found;    /* above, of create: what the name stood for; with a reference, or NULL */
    bool opens;        /* that is opened, and nothing is made */
    union overlay_made made;
};

static inode_t **
overlay_made_inode (struct overlay_making *making)
{
    switch (making->call->op) {
    case FOP_mknod:
        return &making->made.mknod.inode;
    case FOP_mkdir:
        return &making->made.mkdir.inode;
    case FOP_symlink:
        return &making->made.symlink.inode;
    case FOP_create:
        return &making->made.create.inode;
    default:
        return &making->made.link.inode;
    }
}

static int
overlay_make_file (struct overlay_making *making, struct client *client, loc_t *loc)
{
    const struct create_call *args = making->call->args;
    xlator_t *upper = overlay_priv (making->act->this)->layers[OVERLAY_UPPER].xlator;
    const uint32_t flags = making->opens ? args->flags : args->flags | O_EXCL;

    making->opened = fd_new (upper->fd_maker, NULL, args->flags, args->fd->pid);
    return sync_create (client, loc, flags, args->mode, args->umask, making->opened,
                        NULL, &making->made.create);
}

/* As the caller, in a directory of the upper. */
static int
overlay_make_in (struct overlay_making *making, inode_t *directory, const char *name)
{
    struct client *client = overlay_caller (making->act);
    const struct mknod_call *mknod = making->call->args;
    const struct mkdir_call *mkdir = making->call->args;
    const struct symlink_call *symlink = making->call->args;
    g_autoptr (inode_t) fresh = inode_new (directory->table);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    int r;

    switch (making->call->op) {
    case FOP_mknod:
        r = sync_mknod (client, &loc, mknod->mode, mknod->rdev, mknod->umask, NULL,
                        &making->made.mknod);
        break;
    case FOP_mkdir:
        r = sync_mkdir (client, &loc, mkdir->mode, mkdir->umask, NULL, &making->made.mkdir);
        break;
    case FOP_symlink:
        r = sync_symlink (client, symlink->linkpath, &loc, symlink->umask, NULL,
                          &making->made.symlink);
        break;
    default:
        r = overlay_make_file (making, client, &loc);
    }
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* --- the stage -------------------------------------------------------------------------------- */

static int
overlay_stage_acl (struct overlay_making *making, inode_t *stage)
{
    struct client *client = overlay_daemon (making->act, OVERLAY_UPPER);
    loc_t from = { .inode = making->directory }, to = { .inode = stage };
    struct getxattr_reply reply;
    int r = sync_getxattr (client, &from, OVERLAY_DEFAULT_ACL, NULL, &reply);

    if (r >= 0)
        r = sync_setxattr (client, &to, reply.dict, 0, NULL, NULL);
    else if (r == -ENODATA || r == -EOPNOTSUPP)
        r = 0;
    getxattr_reply_drop (&reply);
    loc_wipe_path (&from);
    loc_wipe_path (&to);
    return error_or_0 (r);
}

/* The daemon of an ordinary user can change no owner, and acts for that user alone. */
static int
overlay_stage_owner (struct overlay_making *making, inode_t *stage)
{
    struct client *client = overlay_daemon (making->act, OVERLAY_UPPER);
    const call_stack_t *root = making->call->frame->root;
    loc_t loc = { .inode = stage };
    struct iatt set, parent;
    int r = overlay_stat_upper (making->act, making->loc->parent, &parent);

    if (r < 0)
        return r;
    set = (struct iatt){ .ia_uid = root->uid, .ia_gid = root->gid, .ia_prot = 0700 };
    if (parent.ia_prot & S_ISGID) {
        set.ia_gid = parent.ia_gid;
        set.ia_prot |= S_ISGID;
    }
    r = sync_setattr (client, &loc, &set, IATT_UID | IATT_GID, NULL, NULL);
    if (r >= 0 || r == -EPERM)
        r = sync_setattr (client, &loc, &set, IATT_MODE, NULL, NULL);
    loc_wipe_path (&loc);
    return r < 0 ? r : overlay_stage_acl (making, stage);
}

/* A directory can't replace a whiteout: they change places. */
static int
overlay_unstage (struct overlay_making *making, inode_t *stage, const struct overlay_name *at)
{
    struct overlay_act *act = making->act;
    inode_t **made = overlay_made_inode (making);
    const bool directory = making->call->op == FOP_mkdir;
    struct answer fields = { 0 };
    struct overlay_move move = { stage, "new", NULL, making->directory, making->loc->name,
                                 at->upper };
    inode_t *linked;
    int r = 0;

    reply_fields (making->call->op, &making->made, &fields);
    linked = inode_link (*made, stage, "new", fields.buf);
    inode_unref (*made);
    *made = move.inode = linked;
    if (directory)
        r = overlay_mark_set (act, linked, OVERLAY_OPAQUE, "y", 1);
    if (r == 0 && directory)
        r = overlay_sync_inode (act, OVERLAY_UPPER, linked);
    if (r == 0)
        r = overlay_move (act, &move, directory ? RENAME_EXCHANGE : 0, fields.buf);
    return r;
}

static int
overlay_make_staged (struct overlay_making *making, const struct overlay_name *at)
{
    struct overlay_act *act = making->act;
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    g_autofree char *name = overlay_work_name (act->this);
    g_autoptr (inode_t) stage = NULL;
    int r = overlay_may_change (act, making->loc->parent, NULL);

    if (r == 0)
        r = sync_name_mkdir (client, overlay_work (act), name, 0700, &stage);
    if (r < 0)
        return r;
    r = overlay_stage_owner (making, stage);
    if (r == 0)
        r = overlay_make_in (making, stage, "new");
    if (r == 0)
        r = overlay_unstage (making, stage, at);
    overlay_work_remove (act, name);
    return r;
}

/* --- the operation ---------------------------------------------------------------------------- */

#define OVERLAY_EXISTS 1

/* A device 0:0 would be a whiteout, so it can't be made, as in the kernel's overlayfs. */
static bool
overlay_makes_whiteout (const struct call *call)
{
    const struct mknod_call *args = call->args;

    return call->op == FOP_mknod && S_ISCHR (args->mode) && args->rdev == 0;
}

/* Something has the name. Storage opens a file of the upper, empties it and tells its attributes in
 * one operation. */
static int
overlay_make_over (struct overlay_making *making, const struct overlay_name *at)
{
    if (making->call->op != FOP_create || making->call->flags & O_EXCL)
        return -EEXIST;
    if (!at->upper || !making->found
        || !overlay_name_is (making->act->this, at, making->found))
        return OVERLAY_EXISTS;
    making->opens = true;
    return overlay_make_in (making, making->directory, making->loc->name);
}

/* The lowers of a new directory's name, if any, are not to be merged with it. */
static int
overlay_make_at (struct overlay_making *making)
{
    struct overlay_act *act = making->act;
    const loc_t *loc = making->loc;
    g_auto (overlay_name_t) at = { 0 };
    int r = overlay_name_look (act, loc->parent, loc->name, &at);

    if (r < 0)
        return r;
    if (overlay_name_shows (&at))
        return overlay_make_over (making, &at);
    if (overlay_makes_whiteout (making->call))
        return -EPERM;
    return at.whiteout ? overlay_make_staged (making, &at)
                       : overlay_make_in (making, making->directory, loc->name);
}

/* Enters the new object in the tables, and gives the answer its inode above. */
static void
overlay_made_enter (struct overlay_making *making, inode_t *known, struct answer *fields)
{
    xlator_t *this = making->act->this;
    inode_t **made = overlay_made_inode (making);
    g_autoptr (inode_t) linked =
        inode_link (*made, making->directory, making->loc->name, fields->buf);
    inode_t *above = overlay_above (known, making->act->above,
                                    making->call->op == FOP_link || making->opens
                                        ? &known->gfid : &fields->buf->ia_gfid);

    realm_join (this, above, OVERLAY_UPPER, linked);
    inode_unref (*made);
    *made = above;
    overlay_iatt_above (this, above, OVERLAY_UPPER, fields->buf);
}

static void
overlay_made_fd (struct overlay_making *making)
{
    struct create_reply *reply = &making->made.create;
    fd_t *fd = making->call->fd;

    if (making->call->op != FOP_create)
        return;
    realm_fd_join (making->act->this, fd, OVERLAY_UPPER, making->opened);
    fd->closes_silently = making->opened->closes_silently;
    if (!fd->inode)
        fd->inode = inode_ref (reply->inode);
    fd_unref (reply->fd);
    reply->fd = fd_ref (fd);
}

/* The attributes of the stage are not those of the directory. */
static void
overlay_made_parents (struct overlay_making *making, struct answer *fields)
{
    struct iatt now;

    if (!fields->preparent || !fields->postparent)
        return;
    if (overlay_stat_upper (making->act, making->loc->parent, &now) < 0)
        return;
    overlay_iatt_above (making->act->this, making->loc->parent, OVERLAY_UPPER, &now);
    *fields->preparent = *fields->postparent = now;
}

/* What was made before another step failed. */
static void
overlay_made_fail (struct overlay_making *making, int error)
{
    reply_drop (making->call->op, &making->made);
    call_fail (making->call, error);
}

static void
overlay_made_answer (struct overlay_making *making, inode_t *known)
{
    const struct call *call = making->call;
    struct answer fields = { 0 };

    reply_fields (call->op, &making->made, &fields);
    overlay_made_enter (making, known, &fields);
    overlay_made_parents (making, &fields);
    overlay_made_fd (making);
    reply_unwind (call->op, &making->made, call->frame, CALL_SITE);
    reply_drop (call->op, &making->made);
}

/* --- create of a name that exists ------------------------------------------------------------- */

/* What storage answers to a create of such a name. */
static int
overlay_create_fits (const struct iatt *buf)
{
    if (buf->ia_type == IA_IFDIR)
        return -EISDIR;
    return buf->ia_type == IA_IFLNK ? -ELOOP : 0;
}

/* Opens the file through the overlay itself, as the caller. daemon: a client of the overlay, which
 * asks for the attributes then. Returns OVERLAY_EXISTS, or a negative errno. */
static int
overlay_create_open (struct overlay_act *act, const struct call *call, inode_t *inode,
                     struct client *daemon, struct iatt *ret_buf)
{
    struct client *client = client_new_as (act->this, call->frame->root);
    const struct create_call *args = call->args;
    loc_t loc = { .inode = inode };
    int r;

    if (!args->fd->inode)
        args->fd->inode = inode_ref (inode);
    r = sync_open (client, &loc, args->flags & ~(uint32_t) O_CREAT, args->fd, NULL, NULL);
    loc_wipe_path (&loc);
    client_free (client);
    if (r >= 0 && args->flags & O_TRUNC)
        r = sync_name_stat (daemon, inode, ret_buf);
    return r < 0 ? r : OVERLAY_EXISTS;
}

static void
overlay_create_answer (struct overlay_act *act, const struct call *call, inode_t *inode,
                       struct iatt *buf)
{
    const struct create_call *args = call->args;
    struct overlay_parent parent = { 0 };
    struct iatt *pre;

    overlay_parent_before (act, call->loc->parent, &parent);
    pre = parent.has_pre ? &parent.pre : NULL;
    STACK_UNWIND (create, call->frame, 0, 0, args->fd, inode, buf, pre, pre, NULL);
}

/* Finds the file that the name stands for. One that will be emptied is copied first. Returns 0: the
 * upper has the file, or the name was removed meanwhile; OVERLAY_EXISTS: the file was opened, as
 * only a lower has it, or always; or a negative errno. */
static int
overlay_create_opens (struct overlay_making *making, bool always, struct iatt *ret_buf)
{
    struct overlay_act *act = making->act;
    const loc_t *loc = making->loc;
    struct client *client = client_new_internal (act->this, act->this);
    int r;

    g_clear_pointer (&making->found, inode_unref);
    r = sync_name_look (client, loc->parent, loc->name, &making->found, ret_buf);
    if (r == -ENOENT) {
        client_free (client);
        return 0;
    }
    if (r == 0)
        r = overlay_create_fits (ret_buf);
    if (r == 0 && making->call->flags & O_TRUNC)
        r = overlay_copy_up (act->this, making->found);
    if (r == 0 && (always || !realm_below (act->this, making->found, OVERLAY_UPPER)))
        r = overlay_create_open (act, making->call, making->found, client, ret_buf);
    client_free (client);
    return r;
}

static int
overlay_make_try (struct overlay_making *making)
{
    xlator_t *this = making->act->this;
    inode_t *parent = making->loc->parent;
    int r = overlay_copy_up (this, parent);

    if (r == 0) {
        making->directory = realm_below (this, parent, OVERLAY_UPPER);
        overlay_turns_take (this, parent, NULL);
        r = overlay_make_at (making);
        overlay_turns_give (this, parent, NULL);
    }
    return r;
}

/* On a thread. Returns OVERLAY_EXISTS if the file was opened; *ret_buf: its attributes. That is so
 * for a lower's file, and for one that the upper has by another name alone (links.h). */
static int
overlay_make_until (struct overlay_making *making, struct iatt *ret_buf)
{
    int r = OVERLAY_EXISTS;

    for (unsigned tries = 0; r == OVERLAY_EXISTS && tries < OVERLAY_TRIES; tries++) {
        r = overlay_create_opens (making, tries > 0, ret_buf);
        if (r != 0)
            return r;
        r = overlay_make_try (making);
    }
    return r == OVERLAY_EXISTS ? -ESTALE : r;
}

void
overlay_make (struct overlay_act *act, const struct call *call)
{
    struct overlay_making making = { .act = act, .call = call, .loc = call->loc };
    struct iatt buf;
    int r = overlay_make_try (&making);

    if (r == OVERLAY_EXISTS && !overlay_local_of (call->frame)->on_thread) {
        overlay_to_thread (call, NULL); /* the open may wait for a copy */
        return;
    }
    if (r == OVERLAY_EXISTS)
        r = overlay_make_until (&making, &buf);
    if (r < 0)
        overlay_made_fail (&making, -r);
    else if (r == OVERLAY_EXISTS)
        overlay_create_answer (act, call, making.found, &buf);
    else
        overlay_made_answer (&making, making.opens ? making.found : call->loc->inode);
    fd_unref (making.opened);
    inode_unref (making.found);
}

/* --- link ------------------------------------------------------------------------------------- */

static int
overlay_link_in (struct overlay_making *making, struct client *client, inode_t *directory,
                 const char *name)
{
    inode_t *below = realm_below (making->act->this, making->call->loc->inode, OVERLAY_UPPER);
    loc_t from = { .inode = below };
    loc_t to = { .name = name, .parent = directory, .inode = below };
    int r = sync_link (client, &from, &to, NULL, &making->made.link);

    loc_wipe_path (&from);
    loc_wipe_path (&to);
    return error_or_0 (r);
}

/* The link takes the place of a whiteout. */
static int
overlay_link_staged (struct overlay_making *making, inode_t *whiteout)
{
    struct overlay_act *act = making->act;
    g_autofree char *name = overlay_work_name (act->this);
    const struct overlay_move move = {
        overlay_work (act), name,
        realm_below (act->this, making->call->loc->inode, OVERLAY_UPPER),
        making->directory, making->loc->name, whiteout
    };
    int r = overlay_may_change (act, making->loc->parent, NULL);

    if (r == 0)
        r = overlay_link_in (making, overlay_daemon (act, OVERLAY_UPPER), move.directory, name);
    if (r < 0)
        return r;
    r = overlay_move (act, &move, 0, NULL);
    if (r < 0)
        overlay_work_remove (act, name);
    return r;
}

static int
overlay_link_at (struct overlay_making *making)
{
    struct overlay_act *act = making->act;
    const loc_t *loc = making->loc;
    g_auto (overlay_name_t) at = { 0 };
    int r = overlay_name_look (act, loc->parent, loc->name, &at);

    if (r < 0 || overlay_name_shows (&at))
        return r < 0 ? r : -EEXIST;
    if (making->call->loc->inode->ia_type == IA_IFDIR)
        return -EPERM;
    if (overlay_is_copied (act->this, making->call->loc->inode))
        r = overlay_impure_set (act, loc->parent);
    if (r < 0)
        return r;
    return at.whiteout ? overlay_link_staged (making, at.upper)
                       : overlay_link_in (making, overlay_caller (act), making->directory,
                                          loc->name);
}

void
overlay_link (struct overlay_act *act, const struct call *call)
{
    struct overlay_making making = { .act = act, .call = call, .loc = call->newloc };
    inode_t *parent = call->newloc->parent;
    const bool directory = call->loc->inode->ia_type == IA_IFDIR;
    int r = directory ? 0 : overlay_copy_up (act->this, call->loc->inode);

    if (r == 0)
        r = overlay_copy_up (act->this, parent);
    if (r == 0) {
        making.directory = realm_below (act->this, parent, OVERLAY_UPPER);
        overlay_turns_take (act->this, parent, NULL);
        r = overlay_link_at (&making);
        overlay_turns_give (act->this, parent, NULL);
    }
    if (r < 0)
        overlay_made_fail (&making, -r);
    else
        overlay_made_answer (&making, call->loc->inode);
}
