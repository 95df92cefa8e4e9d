/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Redirects, in the format of the kernel's overlayfs. A directory of a layer that has been renamed
 * keeps what the layers below have: its redirect tells where. It is a name, if only the last name
 * has changed, or a path from the roots of the layers.
 */
#include "../overlay.h"

#include <limits.h>

#define REDIRECT_MAX 256 /* bytes that the kernel's overlayfs writes at most */

/* --- reading ---------------------------------------------------------------------------------- */

static const char *
redirect_lack (const char *redirect, char **names)
{
    if (!*redirect)
        return "is empty";
    if (strlen (redirect) >= PATH_MAX)
        return "is too long for a path";
    if (*redirect != '/' && names[1])
        return "is neither a name nor a path that begins with '/'";
    for (char **name = names + (*redirect == '/'); *name; name++)
        if (!**name || name_is_dots (*name))
            return "has an empty name, '.' or '..' in it";
        else if (strlen (*name) > NAME_MAX)
            return "has a name that is too long";
    return NULL;
}

bool
overlay_redirect_read (const char *redirect, char ***ret_names, bool *ret_absolute,
                       const char **ret_reason)
{
    char **names = g_strsplit (redirect, "/", -1);

    *ret_reason = redirect_lack (redirect, names);
    if (*ret_reason) {
        g_strfreev (names);
        return false;
    }
    *ret_absolute = *redirect == '/';
    *ret_names = *ret_absolute ? g_strdupv (names + 1) : g_strdupv (names);
    g_strfreev (names);
    return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Puts what the directory is called in the layers below before `path`. *ret_whole: that is a path
 * from the roots of the layers. */
static int
redirect_prepend (struct overlay_act *act, const char *name, inode_t *inode, char **path,
                  bool *ret_whole)
{
    g_autofree char *redirect = NULL, *rest = *path;
    size_t size;
    int r = overlay_mark_get (act, realm_below (act->this, inode, OVERLAY_UPPER), OVERLAY_REDIRECT,
                              &redirect, &size);

    *ret_whole = redirect && *redirect == '/';
    if (*ret_whole)
        *path = g_strconcat (redirect, rest, NULL);
    else
        *path = g_strconcat ("/", redirect ? redirect : name, rest, NULL);
    return r;
}

static int
redirect_path (struct overlay_act *act, inode_t *parent, const char *name, inode_t *inode,
               char **ret_path)
{
    g_autofree char *path = g_strdup (""), *own = g_strdup (name);
    g_autoptr (inode_t) at = inode_ref (inode), up = inode_ref (parent);
    bool whole = false;
    int r = 0;

    while (r == 0 && !gfid_equal (&at->gfid, &gfid_root)) {
        r = redirect_prepend (act, own, at, &path, &whole);
        if (r < 0 || whole)
            break;
        inode_unref (at);
        at = g_steal_pointer (&up);
        g_clear_pointer (&own, g_free);
        if (!gfid_equal (&at->gfid, &gfid_root) && !inode_a_name (at, &up, &own))
            r = -ESTALE;
    }
    if (r == 0)
        *ret_path = g_steal_pointer (&path);
    return r;
}

int
overlay_redirect_set (struct overlay_act *act, inode_t *parent, const char *name, inode_t *inode,
                      bool same)
{
    inode_t *below = realm_below (act->this, inode, OVERLAY_UPPER);
    g_autofree char *old = NULL, *value = NULL;
    size_t size;
    int r = overlay_mark_get (act, below, OVERLAY_REDIRECT, &old, &size);

    if (r < 0 || (old && (same || *old == '/')))
        return r;
    value = same ? g_strdup (name) : NULL;
    if (!same)
        r = redirect_path (act, parent, name, inode, &value);
    if (r == 0 && strlen (value) > REDIRECT_MAX)
        r = -EXDEV;
    return r < 0 ? r : overlay_mark_set (act, below, OVERLAY_REDIRECT, value, strlen (value));
}

/* --- in a lookup ------------------------------------------------------------------------------ */

/* Refuses a redirect, with a sentence. */
static int
redirect_refuse (const struct overlay_local *local, const char *reason)
{
    overlay_private_t *priv = overlay_priv (local->sequence.frame->this);
    const struct overlay_look *look = &local->look;

    if (__atomic_add_fetch (&priv->sentences, 1, __ATOMIC_RELAXED) <= OVERLAY_SENTENCES_MAX)
        gf_log (local->sequence.frame->this, GF_LOG_ERROR,
                "the directory '%s' of volume '%s' can't be shown: its redirect '%s' %s; the "
                "attribute %sredirect of the directory in this layer must be a name, or a path "
                "from the layer's root",
                look->names[look->at], priv->layers[local->slot].xlator->name,
                look->found_marks.redirect, reason, priv->prefix);
    return -EIO;
}

/* Layers below have the directory elsewhere: other names take the place of those up to the current
 * one. */
int
overlay_look_follow (struct overlay_local *local)
{
    struct overlay_look *look = &local->look;
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_auto (GStrv) target = NULL;
    const char *reason;
    bool absolute;

    if (!overlay_redirect_read (look->found_marks.redirect, &target, &absolute, &reason))
        return redirect_refuse (local, reason);
    for (unsigned i = 0; !absolute && i < look->at; i++)
        g_ptr_array_add (names, g_strdup (look->names[i]));
    for (char **name = target; *name; name++)
        g_ptr_array_add (names, g_strdup (*name));
    for (char **name = look->names + look->at + 1; *name; name++)
        g_ptr_array_add (names, g_strdup (*name));
    g_ptr_array_add (names, NULL);
    g_strfreev (look->names);
    look->names = (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
    if (absolute) {
        look->at = g_strv_length (target) - 1;
        look->absolute = true;
        look->done = false;
    }
    return 0;
}
