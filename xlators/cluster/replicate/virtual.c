/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual extended attributes that describe all copies, in the format of GlusterFS's clients:
 *
 *   trusted.glusterfs.pathinfo    the path of the object on each brick
 *   trusted.glusterfs.list-node-uuids    the nodes of all bricks
 *   replica.split-brain-status    whether the object's data, or its metadata, have no good copy
 */
#include "copies/copies.h"

#include <errno.h>
#include <string.h>

#define NODES "trusted.glusterfs.list-node-uuids"
#define NODE "trusted.glusterfs.node-uuid" /* attribute that a brick answers with its node's UUID */
#define STATUS "replica.split-brain-status"

struct virtual {
    struct replicate_local head;
    xlator_t *this;
    call_frame_t *frame;
    inode_t *inode; /* object that the caller asks about, with a reference */
    char *name;     /* name of the virtual attribute */
    struct fan_out fan;
};

static void
virtual_drop (void *local)
{
    struct virtual *virtual = local;

    fan_clear (&virtual->fan);
    inode_unref (virtual->inode);
    g_free (virtual->name);
}

static struct virtual *
virtual_new (call_frame_t *frame, xlator_t *this, inode_t *inode, const char *name)
{
    const replicate_t *priv = this->private;
    struct virtual *virtual = frame_local_new (frame, sizeof *virtual);

    virtual->head.drop = virtual_drop;
    virtual->this = this;
    virtual->frame = frame;
    virtual->inode = inode_ref (inode);
    virtual->name = g_strdup (name);
    fan_init (&virtual->fan, frame, priv->n);
    return virtual;
}

static void
virtual_answer (struct virtual *virtual, const char *value)
{
    g_autoptr (dict_t) dict = dict_new ();

    dict_set (dict, virtual->name, value, strlen (value));
    STACK_UNWIND (getxattr, virtual->frame, 0, 0, dict, NULL);
}

/* --- trusted.glusterfs.pathinfo --------------------------------------------------------------- */

static void
virtual_pathinfo_answered (call_frame_t *frame)
{
    struct virtual *virtual = frame->local;
    g_autoptr (GString) text = g_string_new (NULL);
    unsigned parts;

    g_string_append_printf (text, "(<REPLICATE:%s>", virtual->this->name);
    parts = pathinfo_append (&virtual->fan, virtual->name, text);
    g_string_append_c (text, ')');
    if (parts > 0)
        virtual_answer (virtual, text->str);
    else
        frame_fail (frame, fan_successes (&virtual->fan) ? ENODATA : copies_error (&virtual->fan));
}

/* --- trusted.glusterfs.list-node-uuids -------------------------------------------------------- */

/* Answers with the UUIDs of the bricks' nodes. The UUID is all zeros for a brick that is down or
 * doesn't report its node. */
static void
nodes_answered (call_frame_t *frame)
{
    struct virtual *virtual = frame->local;
    g_autoptr (GString) text = g_string_new (NULL);

    if (fan_successes (&virtual->fan) == 0) {
        frame_fail (frame, copies_error (&virtual->fan));
        return;
    }
    for (unsigned i = 0; i < virtual->fan.n; i++) {
        const char *node = fan_text (&virtual->fan.answers[i], NODE);

        g_string_append_printf (text, "%s%s", i ? " " : "",
                                node ? node : "00000000-0000-0000-0000-000000000000");
    }
    virtual_answer (virtual, text->str);
}

static void
ask_all (struct virtual *virtual, loc_t *loc, const char *name,
         void (*answered) (call_frame_t *frame))
{
    const replicate_t *priv = virtual->this->private;
    const copies_t up = children_up (priv);

    fan_begin (&virtual->fan, answered);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&virtual->fan, i, priv->children[i], getxattr, loc, name, NULL);
    fan_end (&virtual->fan);
}

/* --- replica.split-brain-status --------------------------------------------------------------- */

static char *
status_text (const replicate_t *priv, bool data, bool metadata)
{
    GString *text = g_string_new (NULL);

    if (!data && !metadata)
        return g_string_free (g_string_assign (text, "The file is not under data or metadata "
                                                     "split-brain"), FALSE);
    g_string_printf (text, "data-split-brain:%s    metadata-split-brain:%s    Choices:",
                     data ? "yes" : "no", metadata ? "yes" : "no");
    for (unsigned i = 0; i < priv->n; i++)
        if ((int) i != priv->arbiter)
            g_string_append_printf (text, "%s%s", i ? "," : "", priv->children[i]->name);
    return g_string_free (text, FALSE);
}

static void
status_known (void *data, int error)
{
    struct virtual *virtual = data;
    const bool directory = virtual->inode->ia_type == IA_IFDIR;
    g_autofree char *text = NULL;
    struct readable readable;

    stack_taken (virtual->frame->root);
    if (error) {
        frame_fail (virtual->frame, error);
        return;
    }
    readable = inode_reported (virtual->this, virtual->inode);
    text = status_text (virtual->this->private, !readable.data && !directory, !readable.metadata);
    virtual_answer (virtual, text);
}

/* --- getxattr --------------------------------------------------------------------------------- */

void
replicate_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name,
                    dict_t *xdata)
{
    if (pathinfo_is_name (name))
        ask_all (virtual_new (frame, this, loc->inode, name), loc, name, virtual_pathinfo_answered);
    else if (name && strcmp (name, NODES) == 0)
        ask_all (virtual_new (frame, this, loc->inode, name), loc, NODE, nodes_answered);
    else if (name && strcmp (name, STATUS) == 0)
        inode_refresh (this, loc->inode, status_known,
                       virtual_new (frame, this, loc->inode, name));
    else
        any_fop_getxattr (frame, this, loc, name, xdata);
}
