/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies the type of an object, the bytes of a file, with its holes, and attributes. */
#include "../overlay.h"

#include <limits.h>
#include <sys/stat.h>

/* --- the object ------------------------------------------------------------------------------- */

static int
overlay_make_link_like (struct overlay_act *act, const struct overlay_model *model, unsigned onto,
                        inode_t *directory, const char *name, inode_t **ret_made)
{
    loc_t loc = { .inode = model->inode };
    struct readlink_reply target;
    int r = sync_readlink (overlay_daemon (act, model->slot), &loc, PATH_MAX, NULL, &target);

    if (r >= 0)
        r = sync_name_symlink (overlay_daemon (act, onto), directory, name, target.path, ret_made);
    readlink_reply_drop (&target);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
overlay_make_like (struct overlay_act *act, const struct overlay_model *model, unsigned onto,
                   inode_t *directory, const char *name, inode_t **ret_made)
{
    struct client *client = overlay_daemon (act, onto);

    if (model->buf->ia_type == IA_IFDIR)
        return sync_name_mkdir (client, directory, name, 0700, ret_made);
    if (model->buf->ia_type == IA_IFLNK)
        return overlay_make_link_like (act, model, onto, directory, name, ret_made);
    return sync_name_mknod (client, directory, name, (mode_of_iatt (model->buf) & S_IFMT) | 0600,
                            model->buf->ia_rdev, ret_made);
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* The size is set last, as the target may end with a hole. */
int
overlay_copy_data (struct overlay_act *act, const struct overlay_model *model, unsigned onto,
                   fd_t *to)
{
    struct copy_between copy = { .reader = overlay_daemon (act, model->slot),
                                 .writer = overlay_daemon (act, onto), .to = to,
                                 .size = model->buf->ia_size,
                                 .stops = act->stops, .data = act->stops_data };
    int r = sync_name_open (copy.reader, overlay_fds (act, model->slot), model->inode, O_RDONLY,
                            &copy.from);

    if (r == 0)
        r = copy_between (&copy);
    if (r == 0)
        r = error_or_0 (sync_ftruncate (copy.writer, to, (off_t) copy.size, NULL, NULL));
    fd_unref (copy.from);
    return r;
}

/* --- extended attributes ---------------------------------------------------------------------- */

#define OVERLAY_CAPABILITY "security.capability"

/* What the upper refuses of these is left out. */
static bool
overlay_may_miss (const char *name)
{
    return g_str_has_prefix (name, "security.") || g_str_has_prefix (name, "trusted.");
}

static bool
overlay_is_acl (const char *name)
{
    return g_str_has_prefix (name, "system.posix_acl_");
}

/* An ACL, as its attribute has it (linux/posix_acl_xattr.h), little-endian. */
struct copied_entry {
    uint16_t tag, rights;
    uint32_t id;
};

#define ACL_HEADER 4
#define ACL_NAMED_USER 0x02
#define ACL_NAMED_GROUP 0x08

static bool
copied_entry_is_unknown (const struct copied_entry *entry)
{
    const unsigned tag = GUINT16_FROM_LE (entry->tag);

    return (tag == ACL_NAMED_USER || tag == ACL_NAMED_GROUP) && entry->id == UINT32_MAX;
}

/* In a user namespace the kernel shows entries of users and groups that the namespace does not have
 * with an id that it does not take. A copy that belongs to the daemon goes without them. */
static int
overlay_copy_known_acl (struct overlay_act *act, loc_t *target, const char *name,
                        const dict_t *from)
{
    size_t size = 0;
    const char *acl = dict_get (from, name, &size);
    g_autoptr (GByteArray) known = g_byte_array_new ();
    g_autoptr (dict_t) dict = dict_new ();
    struct copied_entry entry;

    g_byte_array_append (known, (const guint8 *) acl, MIN (size, ACL_HEADER));
    for (size_t at = ACL_HEADER; at + sizeof entry <= size; at += sizeof entry) {
        memcpy (&entry, acl + at, sizeof entry);
        if (!copied_entry_is_unknown (&entry))
            g_byte_array_append (known, (const guint8 *) &entry, sizeof entry);
    }
    dict_set (dict, name, known->data, known->len);
    return sync_setxattr (overlay_daemon (act, OVERLAY_UPPER), target, dict, 0, NULL, NULL);
}

static int
overlay_give_xattr (struct overlay_act *act, unsigned onto, loc_t *target, const char *name,
                    dict_t *dict)
{
    const int r = sync_setxattr (overlay_daemon (act, onto), target, dict, 0, NULL, NULL);

    if (r == -EINVAL && overlay_is_acl (name) && onto == OVERLAY_UPPER
        && overlay_priv (act->this)->owner == OVERLAY_OWNER_DAEMON)
        return overlay_copy_known_acl (act, target, name, dict);
    return r;
}

static int
overlay_copy_xattr (struct overlay_act *act, unsigned slot, inode_t *from, unsigned onto,
                    inode_t *to, const char *name)
{
    loc_t source = { .inode = from }, target = { .inode = to };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, slot), &source, name, NULL, &reply);

    if (r == -ENODATA)
        r = 0;
    else if (r >= 0)
        r = overlay_give_xattr (act, onto, &target, name, reply.dict);
    getxattr_reply_drop (&reply);
    loc_wipe_path (&source);
    loc_wipe_path (&target);
    return r < 0 && !overlay_may_miss (name) ? r : 0;
}

/* ACLs come first. The capability comes last, since other changes remove it. */
static unsigned
overlay_xattr_turn (const char *name)
{
    if (overlay_is_acl (name))
        return 0;
    return strcmp (name, OVERLAY_CAPABILITY) == 0 ? 2 : 1;
}

static int
overlay_copy_xattrs (struct overlay_act *act, unsigned slot, inode_t *from, unsigned onto,
                     inode_t *to)
{
    loc_t loc = { .inode = from };
    struct getxattr_reply list;
    const char *name;
    const void *value;
    size_t size;
    int r = sync_getxattr (overlay_daemon (act, slot), &loc, NULL, NULL, &list);

    if (r == -EOPNOTSUPP)
        r = 0;
    for (unsigned turn = 0; turn <= 2; turn++)
        for (size_t i = 0; r >= 0 && i < dict_count (list.dict); i++) {
            dict_nth (list.dict, i, &name, &value, &size);
            if (!overlay_attribute_is_mark (name) && overlay_xattr_turn (name) == turn)
                r = overlay_copy_xattr (act, slot, from, onto, to, name);
        }
    getxattr_reply_drop (&list);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* --- attributes ------------------------------------------------------------------------------- */

static int
overlay_set (struct overlay_act *act, unsigned onto, inode_t *to, const struct iatt *buf,
             uint32_t valid)
{
    struct iatt set = *buf;
    loc_t loc = { .inode = to };
    int r = sync_setattr (overlay_daemon (act, onto), &loc, &set, valid, NULL, NULL);

    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* A copy that belongs to the daemon gives nobody the rights of that user. */
static int
overlay_copy_owner (struct overlay_act *act, struct iatt *buf, unsigned onto, inode_t *to)
{
    overlay_private_t *priv = overlay_priv (act->this);
    const int r = overlay_set (act, onto, to, buf, IATT_UID | IATT_GID);

    if (r != -EPERM && r != -EINVAL) /* EINVAL: the user namespace has no such user */
        return r;
    if (priv->owner != OVERLAY_OWNER_DAEMON || onto != OVERLAY_UPPER)
        return -EPERM;
    __atomic_add_fetch (&priv->parts->owned, 1, __ATOMIC_RELAXED);
    buf->ia_prot &= ~(mode_t) (S_ISUID | S_ISGID);
    return 0;
}

/* An ordinary user can set attributes only on a file that may be written: the mode that was asked
 * for comes afterwards then. */
static int
overlay_copy_mode (struct overlay_act *act, unsigned slot, inode_t *from, const struct iatt *buf,
                   unsigned onto, inode_t *to)
{
    struct iatt first = *buf;
    int r;

    if (buf->ia_type == IA_IFLNK)
        return overlay_copy_xattrs (act, slot, from, onto, to);
    first.ia_prot |= S_IWUSR;
    r = overlay_set (act, onto, to, &first, IATT_MODE);
    if (r == 0)
        r = overlay_copy_xattrs (act, slot, from, onto, to);
    if (r == 0 && first.ia_prot != buf->ia_prot)
        r = overlay_set (act, onto, to, buf, IATT_MODE);
    return r;
}

int
overlay_copy_attributes_to (struct overlay_act *act, unsigned slot, inode_t *from,
                            const struct iatt *buf, unsigned onto, inode_t *to)
{
    struct iatt set = *buf;
    int r = overlay_copy_owner (act, &set, onto, to);

    if (r == 0)
        r = overlay_copy_mode (act, slot, from, &set, onto, to);
    return r < 0 ? r : overlay_set (act, onto, to, buf, IATT_ATIME | IATT_MTIME);
}

int
overlay_copy_attributes (struct overlay_act *act, unsigned slot, inode_t *from,
                         const struct iatt *buf, inode_t *to)
{
    return overlay_copy_attributes_to (act, slot, from, buf, OVERLAY_UPPER, to);
}
