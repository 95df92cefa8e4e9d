/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The virtual attribute trusted.glusterfs.pathinfo: the bricks that have a file or a directory, and
 * its path on each. Each subvolume answers with its PART of the value. Programs parse the value, so
 * it has the form that GlusterFS's clients give it. In a volume "home" a file has a value of the
 * first form, and a directory has one of the second form:
 *
 *   (<DISTRIBUTE:home-dht> PART)
 *   ((<DISTRIBUTE:home-dht> PART PART) (home-dht-layout (home-client-0 0 2147483646) ...))
 */
#include "distribute.h"

#include <string.h>

/* A key in the xdata of a getxattr of pathinfo that distribute winds to itself. A getxattr with
 * this key is answered with the value of the file's cached subvolume, unchanged. No subvolume gets
 * the key. */
#define ONE_PART "distribute.one-part"

struct pathinfo {
    struct op op;
    char *name; /* name of the attribute that the caller reads */
};

static void
pathinfo_clear (struct op *op)
{
    g_free (((struct pathinfo *) op)->name);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void
layout_print (const dht_private_t *priv, const struct layout *layout, GString *out)
{
    for (unsigned i = 0; i < layout->n; i++) {
        const struct layout_range *range = &layout->ranges[i];
        const bool set = range->state == RANGE_SET;

        g_string_append_printf (out, " (%s %u %u)", priv->children[i]->name,
                                set ? range->start : 0, set ? range->stop : 0);
    }
}

/* Appends the end of the attribute's value: the bracket after the parts of the subvolumes, and the
 * layout if the inode is a directory. */
static void
pathinfo_close (const struct op *op, GString *out)
{
    struct layout *layout = inode_layout (op->this, op->loc.inode);

    g_string_append_c (out, ')');
    if (!layout)
        return;
    g_string_prepend_c (out, '(');
    g_string_append_printf (out, " (%s-layout", op->this->name);
    layout_print (op->priv, layout, out);
    g_string_append (out, "))");
    layout_unref (layout);
}

static void
pathinfo_answered (call_frame_t *frame)
{
    struct pathinfo *info = OP_OF (frame);
    const struct fan_answer *first = &info->op.fan.answers[0];
    g_autoptr (GString) text = g_string_new (NULL);
    g_autoptr (dict_t) dict = NULL;

    g_string_append_printf (text, "(<DISTRIBUTE:%s>", info->op.this->name);
    if (pathinfo_append (&info->op.fan, info->name, text) == 0) {
        op_fail (&info->op, first->op_ret < 0 ? first->op_errno : ENODATA);
        return;
    }
    pathinfo_close (&info->op, text);
    dict = dict_new ();
    dict_set (dict, info->name, text->str, text->len);
    STACK_UNWIND (getxattr, frame, 0, 0, dict, NULL);
}

/* --- the question ----------------------------------------------------------------------------- */

static void
pathinfo_ask (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name)
{
    struct pathinfo *info = op_new (frame, this, sizeof *info, loc, NULL, NULL);
    struct op *op = &info->op;
    g_autoptr (dict_t) one_part = dict_new ();

    op->clear = pathinfo_clear;
    info->name = g_strdup (name);
    dict_set_u64 (one_part, ONE_PART, 1);
    step_begin (op, pathinfo_answered);
    if (loc->inode->ia_type != IA_IFDIR)
        FAN_WIND (&op->fan, 0, this, getxattr, &op->loc, info->name, one_part);
    else
        for (unsigned i = 0; i < op->priv->n; i++)
            ASK (op, i, getxattr, &op->loc, info->name, NULL);
    step_end (op);
}

/* If there is a single subvolume, its answer to pathinfo is passed on unchanged, as GlusterFS's
 * clients do. */
void
dht_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    const dht_private_t *priv = this->private;
    g_autoptr (dict_t) own = virtual_xattr (this, loc->inode, name);

    if (own)
        STACK_UNWIND (getxattr, frame, 0, 0, own, NULL);
    else if (dict_has (xdata, ONE_PART))
        any_fop_getxattr (frame, this, loc, name, NULL);
    else if (pathinfo_is_name (name) && priv->n > 1)
        pathinfo_ask (frame, this, loc, name);
    else if (name_is_real_filename (name) && priv->n > 1 && loc->inode->ia_type == IA_IFDIR)
        real_filename_ask (frame, this, loc, name, xdata);
    else
        any_fop_getxattr (frame, this, loc, name, xdata);
}
