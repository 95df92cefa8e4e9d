/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replies of the shapes that several operations have. Each operation has a function of its own,
 * since an unwind names the operation: the edge checks that, and a debugger shows it. */
#include "../client.h"

#include <errno.h>
#include <string.h>

/* --- no results ------------------------------------------------------------------------------- */

#define REPLY_PLAIN(name_)                                                                         \
    void client_##name_##_reply (struct client_call *call, struct rpc_reply *reply)                \
    {                                                                                              \
        g_auto (client_answer_t) answer;                                                           \
                                                                                                   \
        if (client_answer_begin (call, reply, &answer) && client_answer_is_whole (call, reply))    \
            STACK_UNWIND (name_, call->frame, 0, 0, answer.xdata);                                 \
    }

REPLY_PLAIN (access)
REPLY_PLAIN (flush)
REPLY_PLAIN (fsyncdir)
REPLY_PLAIN (setxattr)
REPLY_PLAIN (fsetxattr)
REPLY_PLAIN (removexattr)
REPLY_PLAIN (fremovexattr)
REPLY_PLAIN (inodelk)
REPLY_PLAIN (finodelk)
REPLY_PLAIN (entrylk)
REPLY_PLAIN (fentrylk)

/* --- attributes ------------------------------------------------------------------------------- */

#define REPLY_ATTRIBUTES(name_)                                                                    \
    void client_##name_##_reply (struct client_call *call, struct rpc_reply *reply)                \
    {                                                                                              \
        g_auto (client_answer_t) answer;                                                           \
        struct iatt buf;                                                                           \
                                                                                                   \
        if (!client_answer_begin (call, reply, &answer))                                           \
            return;                                                                                \
        get_iatt (&reply->results, &buf);                                                          \
        if (client_answer_is_whole (call, reply))                                                  \
            STACK_UNWIND (name_, call->frame, 0, 0, &buf, answer.xdata);                           \
    }

REPLY_ATTRIBUTES (stat)
REPLY_ATTRIBUTES (fstat)

/* --- attributes before and after, of the file or of its directory ----------------------------- */

#define REPLY_CHANGE(name_)                                                                        \
    void client_##name_##_reply (struct client_call *call, struct rpc_reply *reply)                \
    {                                                                                              \
        g_auto (client_answer_t) answer;                                                           \
        struct iatt pre, post;                                                                     \
                                                                                                   \
        if (!client_answer_begin (call, reply, &answer))                                           \
            return;                                                                                \
        get_iatt (&reply->results, &pre);                                                          \
        get_iatt (&reply->results, &post);                                                         \
        if (client_answer_is_whole (call, reply))                                                  \
            STACK_UNWIND (name_, call->frame, 0, 0, &pre, &post, answer.xdata);                    \
    }

REPLY_CHANGE (unlink)
REPLY_CHANGE (rmdir)
REPLY_CHANGE (truncate)
REPLY_CHANGE (ftruncate)
REPLY_CHANGE (setattr)
REPLY_CHANGE (fsetattr)
REPLY_CHANGE (fsync)
REPLY_CHANGE (fallocate)
REPLY_CHANGE (discard)
REPLY_CHANGE (zerofill)

/* --- a new object, and its directory's attributes --------------------------------------------- */

void
made_clear (made_t *made)
{
    client_answer_clear (&made->answer);
    inode_unref (made->inode);
}

static bool
made_read (struct client_call *call, struct rpc_reply *reply, made_t *made)
{
    struct xdr_in *in = &reply->results;

    if (!client_answer_begin (call, reply, &made->answer))
        return false;
    get_iatt (in, &made->buf);
    get_iatt (in, &made->preparent);
    get_iatt (in, &made->postparent);
    return client_answer_is_whole (call, reply) && made_identify (call, made);
}

bool
made_identify (struct client_call *call, made_t *made)
{
    made->inode = client_inode_of_iatt (call->inode, &made->buf);
    if (!made->inode)
        frame_fail (call->frame, EIO);
    return made->inode != NULL;
}

#define REPLY_MADE(name_)                                                                          \
    void client_##name_##_reply (struct client_call *call, struct rpc_reply *reply)                \
    {                                                                                              \
        g_auto (made_t) made = { 0 };                                                              \
                                                                                                   \
        if (made_read (call, reply, &made))                                                        \
            STACK_UNWIND (name_, call->frame, 0, 0, made.inode, &made.buf, &made.preparent,        \
                          &made.postparent, made.answer.xdata);                                    \
    }

REPLY_MADE (mknod)
REPLY_MADE (mkdir)
REPLY_MADE (symlink)
REPLY_MADE (link)

/* --- an attribute, or the names of all -------------------------------------------------------- */

/* The dict for a caller that asked for an attribute. NULL: there is no such attribute, and the
 * frame has been answered. */
static dict_t *
attribute_of (struct client_call *call, dict_t *dict)
{
    if (dict_has (dict, call->name))
        return dict_ref (dict);
    frame_fail (call->frame, ENODATA);
    return NULL;
}

/* GlusterFS's own attributes, of which a server doesn't hide all. */
static bool
name_is_internal (const char *name)
{
    static const char *const prefixes[] = { "trusted.gfid", "trusted.pgfid.", "trusted.afr.",
                                            "trusted.glusterfs." };

    for (size_t i = 0; i < G_N_ELEMENTS (prefixes); i++)
        if (g_str_has_prefix (name, prefixes[i]))
            return true;
    return false;
}

/* The server lists all attributes as root, with their values. As on a local file system, only root
 * sees those in "trusted.". A part of the file system itself gets all, with their values. */
static dict_t *
names_of (struct client_call *call, dict_t *dict)
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
        if (strchr (key, '.') && !name_is_internal (key)
            && (is_root || !g_str_has_prefix (key, "trusted.")))
            dict_set (names, key, NULL, 0);
    }
    return names;
}

/* Returns the dict of the answer, with a reference; NULL: the frame has been answered. */
static dict_t *
dict_read (struct client_call *call, struct rpc_reply *reply, client_answer_t *answer)
{
    g_autoptr (dict_t) dict = NULL;

    if (!client_answer_begin (call, reply, answer))
        return NULL;
    dict = get_dict (&reply->results);
    if (!client_answer_is_whole (call, reply))
        return NULL;
    if (!dict)
        dict = dict_new ();
    return g_steal_pointer (&dict);
}

/* The same for the attribute that the caller named, or for all names. */
static dict_t *
attributes_read (struct client_call *call, struct rpc_reply *reply, client_answer_t *answer)
{
    g_autoptr (dict_t) dict = dict_read (call, reply, answer);

    if (!dict)
        return NULL;
    return call->name ? attribute_of (call, dict) : names_of (call, dict);
}

#define REPLY_DICT(name_, read_)                                                                   \
    void client_##name_##_reply (struct client_call *call, struct rpc_reply *reply)                \
    {                                                                                              \
        g_auto (client_answer_t) answer;                                                           \
        g_autoptr (dict_t) dict = read_ (call, reply, &answer);                                    \
                                                                                                   \
        if (dict)                                                                                  \
            STACK_UNWIND (name_, call->frame, 0, 0, dict, answer.xdata);                           \
    }

REPLY_DICT (getxattr, attributes_read)
REPLY_DICT (fgetxattr, attributes_read)
REPLY_DICT (xattrop, dict_read)
REPLY_DICT (fxattrop, dict_read)
