/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marks in extended attributes, in the format of the kernel's overlayfs. */
#include "overlay.h"

bool
overlay_mark_is (const char *name)
{
    return name && (g_str_has_prefix (name, "trusted.overlay.")
                    || g_str_has_prefix (name, "user.overlay."));
}

char *
overlay_mark_name (const xlator_t *this, const char *mark)
{
    return g_strconcat (overlay_priv (this)->prefix, mark, NULL);
}

bool
overlay_identity_read (const dict_t *dict, const char *key, gfid_t *ret_gfid,
                       uint64_t *ret_number)
{
    size_t size;
    const uint8_t *value = dict_get (dict, key, &size);
    uint64_t number;

    if (!value || size != OVERLAY_IDENTITY_SIZE)
        return false;
    memcpy (ret_gfid->b, value, sizeof ret_gfid->b);
    memcpy (&number, value + sizeof ret_gfid->b, sizeof number);
    *ret_number = GUINT64_FROM_BE (number);
    return true;
}

static int
overlay_xattr_set (struct overlay_act *act, inode_t *below, const char *mark, const void *value,
                   size_t size)
{
    g_autofree char *key = overlay_mark_name (act->this, mark);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = below };
    int r;

    dict_set (dict, key, value, size);
    r = sync_setxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, dict, 0, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
overlay_mark_set (struct overlay_act *act, inode_t *below, const char *mark)
{
    return overlay_xattr_set (act, below, mark, "y", 1);
}

/* user.* attributes are for files and directories alone: another object gets a new identity once
 * it has been forgotten. */
int
overlay_identity_set (struct overlay_act *act, inode_t *below, const gfid_t *gfid, uint64_t number)
{
    uint8_t value[OVERLAY_IDENTITY_SIZE];
    const uint64_t big = GUINT64_TO_BE (number);
    const bool user = *overlay_priv (act->this)->prefix == 'u';

    if (user && below->ia_type != IA_IFREG && below->ia_type != IA_IFDIR)
        return 0;
    memcpy (value, gfid->b, sizeof gfid->b);
    memcpy (value + sizeof gfid->b, &big, sizeof big);
    return overlay_xattr_set (act, below, "windlass", value, sizeof value);
}

int
overlay_identity_get (struct overlay_act *act, inode_t *below, gfid_t *ret_gfid,
                      uint64_t *ret_number)
{
    g_autofree char *key = overlay_mark_name (act->this, "windlass");
    loc_t loc = { .inode = below };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, key, NULL, &reply);

    if (r >= 0)
        r = overlay_identity_read (reply.dict, key, ret_gfid, ret_number);
    else if (r == -ENODATA || r == -EOPNOTSUPP)
        r = 0;
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r;
}

bool
overlay_is_opaque (const dict_t *dict, const char *key)
{
    const char *value = dict_get_str (dict, key);

    return value && *value == 'y';
}
