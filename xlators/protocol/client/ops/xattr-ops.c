/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The operations getxattr and fgetxattr. They return the value of one extended attribute, or the
 * names of all attributes. */
#include "../client.h"

#include <errno.h>
#include <string.h>

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns whether GlusterFS uses the attribute internally. Programs must not see such names in a
 * list of attributes, and the server leaves only some of them out of its reply. */
static bool
xattr_is_internal (const char *name)
{
    static const char *const prefixes[] = { "trusted.gfid", "trusted.pgfid.", "trusted.afr.",
                                            "trusted.glusterfs." };

    for (size_t i = 0; i < G_N_ELEMENTS (prefixes); i++)
        if (g_str_has_prefix (name, prefixes[i]))
            return true;
    return false;
}

/* Returns the list of attributes for the caller. The server's reply has all attributes that root
 * may see, with their values. As on a local file system, callers other than root do not get names
 * that begin with "trusted.". A translator that lists attributes for itself (pid below 0) gets all
 * values. */
static dict_t *
xattr_names (struct client_call *call, dict_t *dict)
{
    const bool is_root = call->frame->root->uid == 0;
    dict_t *names;
    const char *key;
    const void *value;
    size_t size;

    if (call->frame->root->pid < 0)
        return dict_ref (dict);
    names = dict_new ();
    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (strchr (key, '.') && !xattr_is_internal (key)
            && (is_root || !g_str_has_prefix (key, "trusted.")))
            dict_set (names, key, NULL, 0);
    }
    return names;
}

/* Returns the dict with the answer for the caller, with a reference. Returns NULL after it has
 * answered the frame because the file has no such attribute. */
static dict_t *
client_xattr_answer (struct client_call *call, dict_t *dict)
{
    if (!call->name)
        return xattr_names (call, dict);
    if (dict_has (dict, call->name))
        return dict_ref (dict);
    frame_fail (call->frame, ENODATA);
    return NULL;
}

#define CLIENT_XATTR_REPLY(op_)                                                                    \
    static void op_##_reply (struct client_call *call, struct rpc_reply *reply)                    \
    {                                                                                              \
        struct wire_##op_##_reply got = { 0 };                                                     \
        g_autoptr (dict_t) dict = NULL;                                                            \
                                                                                                   \
        if (client_get (call, reply, WIRE_##op_, &got)                                             \
            && (dict = client_xattr_answer (call, got.dict)))                                      \
            STACK_UNWIND (op_, call->frame, 0, 0, dict, got.xdata);                                \
        wire_clear_reply (WIRE_##op_, &got);                                                       \
    }

CLIENT_XATTR_REPLY (getxattr)
CLIENT_XATTR_REPLY (fgetxattr)

/* --- calls ------------------------------------------------------------------------------------ */

/* Returns whether the server computes the attribute's value from the path of the file. For such an
 * attribute the server answers ENODATA if the call names the file by the number of an open file, so
 * getxattr names the file by its gfid. */
static bool
xattr_needs_path (const char *name)
{
    return name && (strcmp (name, "trusted.glusterfs.pathinfo") == 0
                    || strcmp (name, "trusted.glusterfs.node-uuid") == 0
                    || g_str_has_prefix (name, "glusterfs."));
}

void
client_getxattr (call_frame_t *frame, xlator_t *this, loc_t *loc, const char *name, dict_t *xdata)
{
    struct client_call *call =
        xattr_needs_path (name)
            ? client_begin_gfid (frame, this, loc_gfid (loc), WIRE_getxattr, getxattr_reply)
            : client_begin_file (frame, this, loc, WIRE_getxattr, getxattr_reply);
    const struct wire_getxattr put = { .name = name, .xdata = xdata };

    if (call)
        call->name = g_strdup (name);
    client_ask (call, WIRE_getxattr, &put, NULL);
}

void
client_fgetxattr (call_frame_t *frame, xlator_t *this, fd_t *fd, const char *name, dict_t *xdata)
{
    struct client_call *call = client_begin_fd (frame, this, fd, WIRE_fgetxattr, fgetxattr_reply);
    const struct wire_fgetxattr put = { .name = name, .xdata = xdata };

    if (call)
        call->name = g_strdup (name);
    client_ask (call, WIRE_fgetxattr, &put, NULL);
}
