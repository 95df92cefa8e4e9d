/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* windlass explain: which entry decides for which user. And the data kept with an inode, for a
 * statedump. */
#include "posix-acl.h"

#define TEXT_SIZE 4

static const char *
rights_text (unsigned perm, char text[TEXT_SIZE])
{
    text[0] = perm & R_OK ? 'r' : '-';
    text[1] = perm & W_OK ? 'w' : '-';
    text[2] = perm & X_OK ? 'x' : '-';
    text[3] = '\0';
    return text;
}

static void
who (const struct acl_entry *entry, const struct acl_view *view, GString *out)
{
    if (entry->tag == ACL_USER)
        g_string_append_printf (out, "user %u", entry->id);
    else if (entry->tag == ACL_OTHER)
        g_string_append (out, "all others");
    else if (entry->tag == ACL_GROUP)
        g_string_append_printf (out, "members of group %u", entry->id);
    else
        g_string_append_printf (out, "members of its group %u", view->gid);
}

static const struct acl_entry *
acl_mask_text (const struct acl *acl)
{
    for (unsigned i = 0; i < acl->count; i++)
        if (acl->entries[i].tag == ACL_MASK)
            return &acl->entries[i];
    return NULL;
}

static void
explain_entry (const struct acl_view *view, const struct acl_entry *entry, GString *out)
{
    const struct acl_entry *mask = entry->tag == ACL_OTHER ? NULL : acl_mask_text (view->acl);
    char text[TEXT_SIZE];

    who (entry, view, out);
    g_string_append_printf (out, ": %s by ",
                            rights_text (mask ? entry->perm & mask->perm : entry->perm, text));
    acl_entry_print (entry, out);
    if (mask && entry->perm & ~mask->perm) {
        g_string_append (out, ", which ");
        acl_entry_print (mask, out);
        g_string_append (out, " cuts");
    }
    g_string_append_c (out, '\n');
}

static void
explain_acl (const struct acl_view *view, GString *out)
{
    for (unsigned i = 0; i < view->acl->count; i++) {
        const struct acl_entry *entry = &view->acl->entries[i];

        if (entry->tag != ACL_USER_OBJ && entry->tag != ACL_MASK)
            explain_entry (view, entry, out);
    }
    g_string_append (out, "a user in several of the groups has the rights of each of them\n");
}

static void
explain_mode (const struct acl_view *view, GString *out)
{
    char group[TEXT_SIZE], others[TEXT_SIZE];

    g_string_append_printf (out, "members of its group %u: %s by the mode %04o\n", view->gid,
                            rights_text (view->mode >> 3 & 7, group), view->mode);
    g_string_append_printf (out, "all others: %s by the mode %04o\n",
                            rights_text (view->mode & 7, others), view->mode);
}

static void
explain_rights (const struct acl_view *view, GString *out)
{
    char text[TEXT_SIZE];

    g_string_append_printf (out, "user %u, who owns it: %s by the mode %04o\n", view->uid,
                            rights_text (view->mode >> 6 & 7, text), view->mode);
    if (view->state == ACL_THERE && view->mode & 070)
        explain_acl (view, out);
    else if (view->state == ACL_BAD)
        g_string_append (out,
                         "all others: nothing, since the subvolume answered an invalid ACL\n");
    else
        explain_mode (view, out);
    if (view->state == ACL_UNKNOWN && view->mode & 070)
        g_string_append (
            out, "whether it has an ACL isn't known: no request has needed it yet\n");
    if (view->mode & S_ISVTX)
        g_string_append_printf (
            out, "sticky: what is in it is moved and removed by its owner and by user %u alone\n",
            view->uid);
}

void
posix_acl_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    posix_acl_private_t *priv = this->private;
    const int64_t super = __atomic_load_n (&priv->super_uid, __ATOMIC_RELAXED);
    g_auto (acl_view_t) view = { 0 };
    const int64_t age = inode ? acl_keep_remembered (this, inode, &view) : -1;

    if (age < 0) {
        g_string_append (out, "refuses what the caller may not do; owner, mode and ACL of this one "
                              "aren't known here: they are asked for when "
                              "a request needs them\n");
    } else {
        g_string_append_printf (
            out, "refuses what the caller may not do, by what was known %.1f s ago (timeout):\n",
            age / 1e9);
        explain_rights (&view, out);
    }
    g_string_append (out, "user 0");
    if (super != 0)
        g_string_append_printf (out, " and user %" G_GINT64_FORMAT, super);
    g_string_append (out, ": everything (super-uid)\n");
}

void
posix_acl_dump_inode (xlator_t *this, inode_t *inode, GString *out)
{
    static const char *const states[] = { "unknown", "none", "", "malformed" };
    g_auto (acl_view_t) view = { 0 };

    if (acl_keep_remembered (this, inode, &view) < 0)
        return;
    g_string_append_printf (out, "owner=%u:%u\nmode=%04o\nacl=%s", view.uid, view.gid, view.mode,
                            states[view.state]);
    if (view.acl)
        acl_print (view.acl, out);
    g_string_append_c (out, '\n');
}
