/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layout gluster: its options, its directories and names, and what it guards. */
#include "gluster.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define GLUSTER_MAX_FILESIZE (5 * G_GUINT64_CONSTANT (1048576)) /* GlusterFS's default */

/* --- options ---------------------------------------------------------------------------------- */

static const char *
option_of_other_layout (const trash_private_t *priv)
{
    unsigned kinds;

    if (!trash_keep_parse (priv->keep_text, &kinds) || kinds & TRASH_OVERWRITTEN)
        return "keep overwritten";
    if (priv->max_total > 0)
        return "max-total";
    if (priv->max_age > 0)
        return "max-age";
    return priv->min_free > 0 ? "min-free" : NULL;
}

int
trash_gluster_options (xlator_t *this, trash_private_t *priv)
{
    const bool gluster = priv->layout == TRASH_GLUSTER;
    const char *other = gluster ? option_of_other_layout (priv) : NULL;

    priv->on = priv->wanted == SWITCH_AUTO ? !gluster : priv->wanted == SWITCH_ON;
    if (gluster && priv->max_filesize == 0)
        priv->max_filesize = GLUSTER_MAX_FILESIZE;
    if (gluster && priv->wanted == SWITCH_AUTO)
        gf_log (this, GF_LOG_ERROR, /* so that it comes to the terminal, too */
                "keeps nothing that is removed: with 'layout gluster' the trash is off unless "
                "'option trash on' is set; 'option trash off' says that this is meant");
    if (!other)
        return 0;
    gf_log (this, GF_LOG_ERROR,
            "'%s' can't be used with 'layout gluster', which has no such limit; leave it out, or "
            "use 'layout freedesktop'",
            other);
    return -EINVAL;
}

/* --- what is kept ----------------------------------------------------------------------------- */

static bool
is_below_top (const char *path, const char *directory)
{
    const size_t size = strlen (directory);

    return strncmp (path, directory, size) == 0 && path[size] == '/';
}

bool
trash_gluster_has (const trash_private_t *priv, const char *path)
{
    g_autofree char *top = g_strconcat ("/", priv->directory, NULL);

    return priv->layout == TRASH_GLUSTER && (strcmp (path, top) == 0 || is_below_top (path, top));
}

/* Directories from the root, with or without slashes around them. */
const char *
trash_gluster_pattern (const trash_private_t *priv, const char *path)
{
    for (char **one = priv->eliminated; one && *one; one++) {
        const char *directory = *one + strspn (*one, "/");
        size_t size = strlen (directory);

        while (size > 0 && directory[size - 1] == '/')
            size--;
        if (size > 0 && strncmp (path + 1, directory, size) == 0 && path[1 + size] == '/')
            return *one;
    }
    return NULL;
}

bool
trash_gluster_keeps (xlator_t *this, const call_stack_t *root, inode_t *directory,
                     const char *name)
{
    const trash_private_t *priv = this->private;
    g_autofree char *path = NULL;

    if (!trash_takes (this, root) || !directory)
        return false;
    path = inode_path (directory, name);
    return *path == '/' && !trash_gluster_has (priv, path) && !trash_gluster_pattern (priv, path);
}

bool
trash_gluster_guards (xlator_t *this, const call_stack_t *root, const loc_t *loc)
{
    const trash_private_t *priv = this->private;

    return priv->layout == TRASH_GLUSTER && trash_takes (this, root) && loc->parent && loc->name
        && gfid_equal (&loc->parent->gfid, &gfid_root) && strcmp (loc->name, priv->directory) == 0;
}

/* --- directories and names -------------------------------------------------------------------- */

static int
folder_like (xlator_t *this, struct client *client, inode_t *directory, inode_t *above,
             const char *name, inode_t **ret_folder)
{
    struct iatt buf;
    int r;

    trash_folder_stat (client, directory, &buf);
    if (buf.ia_type != IA_IFDIR)
        return -ESTALE;
    r = trash_folder_like (client, above, name, &buf, ret_folder);
    if (r == 0)
        trash_notice (this, above, name);
    return r;
}

/* A directory in the trash may be older than the one it stands for, and somebody else's, or that
 * one may have been made private since. Root's is one that is just being made. */
static int
folder_agrees (struct client *client, inode_t *directory, inode_t *folder, const struct iatt *buf)
{
    loc_t loc = { .inode = folder };
    struct iatt of, to = *buf;
    int r = 0;

    trash_folder_stat (client, directory, &of);
    if (of.ia_type != IA_IFDIR)
        return -ESTALE;
    if (client->uid == 0 && buf->ia_uid != of.ia_uid && buf->ia_uid != 0)
        return -EACCES;
    to.ia_prot &= of.ia_prot;
    if (to.ia_prot != buf->ia_prot)
        r = sync_setattr (client, &loc, &to, IATT_MODE, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* The other line, or another daemon over the same storage, may make it at the same time. */
static int
folder_there (xlator_t *this, struct client *client, inode_t *directory, inode_t *above,
             const char *name, inode_t **ret_folder)
{
    struct iatt buf;
    int r = sync_name_look (client, above, name, ret_folder, &buf);

    if (r == -ENOENT) {
        r = folder_like (this, client, directory, above, name, ret_folder);
        if (r != -EEXIST)
            return r;
        r = sync_name_look (client, above, name, ret_folder, &buf);
    }
    if (r == 0)
        r = buf.ia_type == IA_IFDIR ? folder_agrees (client, directory, *ret_folder, &buf)
                                    : -ENOTDIR;
    if (r < 0)
        g_clear_pointer (ret_folder, inode_unref);
    return r;
}

/* If the name belongs to somebody else, the owner of the directory gets another one. */
static int
folder_of_owner (xlator_t *this, struct client *client, inode_t *directory, inode_t *above,
                 const char *name, inode_t **ret_folder)
{
    int r = folder_there (this, client, directory, above, name, ret_folder);

    if (r == -EACCES) {
        struct iatt buf;
        g_autofree char *other = NULL;

        trash_folder_stat (client, directory, &buf);
        other = g_strdup_printf ("%s.%u", name, buf.ia_uid);
        r = folder_there (this, client, directory, above, other, ret_folder);
    }
    return r;
}

int
trash_gluster_folder (xlator_t *this, struct client *client, inode_t *directory,
                      inode_t **ret_folder)
{
    const trash_private_t *priv = this->private;
    g_autoptr (inode_t) parent = NULL, above = NULL;
    g_autofree char *name = NULL;
    int r;

    if (gfid_equal (&directory->gfid, &gfid_root))
        return folder_there (this, client, directory, directory, priv->directory, ret_folder);
    if (!inode_a_name (directory, &parent, &name))
        return -ESTALE;
    r = trash_gluster_folder (this, client, parent, &above);
    return r == 0 ? folder_of_owner (this, client, directory, above, name, ret_folder) : r;
}

char *
trash_gluster_name (const char *name, unsigned try)
{
    const time_t now = clock_today ().tv_sec;
    const unsigned part = (unsigned) (clock_now () % 1000000000) + try;
    g_autofree char *number = try > 1 ? g_strdup_printf ("_%09u", part) : g_strdup ("");
    char text[40];
    struct tm tm;
    int size;

    gmtime_r (&now, &tm);
    strftime (text, sizeof text, "_%Y-%m-%d_%H%M%S_+0000", &tm);
    size = trash_name_cut (name, NAME_MAX - (int) (strlen (text) + strlen (number)));
    return g_strdup_printf ("%.*s%s%s", size, name, text, number);
}

static void
gluster_begin (xlator_t *this, struct trash_task *task)
{
    const trash_private_t *priv = this->private;
    g_autoptr (inode_t) folder = NULL;
    const int r = trash_gluster_folder (this, priv->maker.client, priv->root, &folder);

    g_free (task);
    if (r < 0)
        gf_log (this, GF_LOG_WARNING,
                "'/%s' can't be made or used as the directory of the trash: %s; until it can, "
                "files are removed for good",
                priv->directory, g_strerror (-r));
}

void
trash_gluster_begin (xlator_t *this)
{
    trash_private_t *priv = this->private;
    struct trash_task *task;

    if (priv->layout != TRASH_GLUSTER || xlator_is_read_only (this)
        || !__atomic_load_n (&priv->on, __ATOMIC_RELAXED))
        return;
    task = g_new (struct trash_task, 1);
    *task = (struct trash_task){ gluster_begin, .background = true };
    trash_line_add (&priv->maker, task);
}
