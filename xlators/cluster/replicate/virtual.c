/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Virtual attributes that tell of all copies, in the form that GlusterFS's clients give them, for
 * programs that read them:
 *
 *   trusted.glusterfs.pathinfo    which bricks have the object, and where
 */
#include "replicate.h"

#include <errno.h>
#include <string.h>

struct virtual {
    struct local head;
    xlator_t *this;
    call_frame_t *frame;
    char *name;     /* of the attribute */
    struct fan_out fan;
};

static void
virtual_drop (void *local)
{
    struct virtual *virtual = local;

    fan_clear (&virtual->fan);
    g_free (virtual->name);
}

static struct virtual *
virtual_new (call_frame_t *frame, xlator_t *this, const char *name)
{
    const replicate_t *priv = this->private;
    struct virtual *virtual = frame_local_new (frame, sizeof *virtual);

    virtual->head.drop = virtual_drop;
    virtual->this = this;
    virtual->frame = frame;
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

static bool
name_is_pathinfo (const char *name)
{
    return strcmp (name, "trusted.glusterfs.pathinfo") == 0
        || strcmp (name, "glusterfs.pathinfo") == 0;
}

static void
pathinfo_answered (call_frame_t *frame)
{
    struct virtual *virtual = frame->local;
    g_autoptr (GString) text = g_string_new (NULL);
    bool any = false;

    g_string_append_printf (text, "(<REPLICATE:%s>", virtual->this->name);
    for (unsigned i = 0; i < virtual->fan.n; i++) {
        const struct fan_answer *at = &virtual->fan.answers[i];
        const char *part = at->op != FOP_NONE && at->op_ret >= 0
                               ? dict_get_str (at->getxattr.dict, virtual->name)
                               : NULL;

        if (part)
            g_string_append_printf (text, " %s", part);
        any |= part != NULL;
    }
    g_string_append_c (text, ')');
    if (any)
        virtual_answer (virtual, text->str);
    else
        frame_fail (frame, fan_successes (&virtual->fan) ? ENODATA : fan_error (&virtual->fan));
}

static void
pathinfo_ask (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name)
{
    const replicate_t *priv = this->private;
    struct virtual *virtual = virtual_new (frame, this, name);
    const copies_t up = children_up (priv);

    fan_begin (&virtual->fan, pathinfo_answered);
    for (unsigned i = 0; i < priv->n; i++)
        if (up & COPY (i))
            FAN_WIND (&virtual->fan, i, priv->children[i], getxattr, loc, virtual->name, NULL);
    fan_end (&virtual->fan);
}

/* --- getxattr --------------------------------------------------------------------------------- */

void
replicate_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name,
                    dict_t *xdata)
{
    if (name && name_is_pathinfo (name))
        pathinfo_ask (frame, this, loc, name);
    else
        every_getxattr (frame, this, loc, name, xdata);
}
