/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes calls with the identity of the caller, sends them, and answers operations when the replies
 * arrive. */
#include "client.h"

#include <errno.h>
#include <string.h>

/* --- making ----------------------------------------------------------------------------------- */

static void client_answered (struct rpc_call *rpc, struct rpc_reply *reply);

struct client_call *
client_call_of (struct rpc_call *rpc)
{
    g_assert (rpc->answered == client_answered);
    return (struct client_call *) rpc;
}

static void
call_free (struct rpc_call *rpc)
{
    struct client_call *call = client_call_of (rpc);

    rpc_connection_unref (call->connection);
    client_file_unref (call->file);
    inode_unref (call->inode);
    fd_unref (call->fd);
    iobref_unref (call->payload_ref);
    g_free (call->payload);
    g_free (call->name);
    g_free (call->volume);
    g_free (call);
}

void
client_drop (struct client_call *call)
{
    rpc_call_unref (&call->rpc);
}

/* Called when a call has its reply, when its caller is interrupted, and when its frame-timeout
 * ends. Returns true for the first of these events only; the caller of this function then answers
 * the frame. */
static bool
call_is_first (struct client_call *call)
{
    return __atomic_fetch_add (&call->answers, 1, __ATOMIC_ACQ_REL) == 0;
}

/* Called for the reply to a lock call whose frame an interrupt or a timeout has answered already.
 * If the reply grants the lock, releases the lock. */
static void
client_answered_late (struct client_call *call, struct rpc_reply *reply)
{
    client_note_answer (call, NULL, reply->error);
    if (reply->error == 0 && xdr_get_i32 (&reply->results) >= 0)
        call->undo (call);
}

/* Returns whether the call takes a lock for the caller, not one that a translator needs. */
static bool
call_is_callers_lock (const struct client_call *call)
{
    return call->waits && call->procedure == WIRE_lk;
}

/* Ends the wait of a call for a lock. The calling function answers the frame next. */
static void
call_wait_over (struct client_call *call)
{
    if (!call->waits)
        return;
    stack_off_interrupt (call->frame->root, &call->on_interrupt);
    if (call_is_callers_lock (call))
        stack_lock_waits (call->frame->root, -1);
}

static void
client_answered (struct rpc_call *rpc, struct rpc_reply *reply)
{
    struct client_call *call = client_call_of (rpc);

    if (call->claimed)
        client_claim_leave (call);
    if (call->undo && !call_is_first (call)) {
        client_answered_late (call, reply);
        return;
    }
    client_note_answer (call, call->frame, reply->error);
    call_wait_over (call);
    if (call->frame)
        stack_taken (call->frame->root);
    if (!client_ask_again (call, reply))
        call->reply (call, reply);
}

static struct client_call *
call_new (xlator_t *this, struct rpc_connection *connection,
          client_reply_fn *reply)
{
    struct client_call *call = g_new0 (struct client_call, 1);

    call->this = this;
    call->connection = rpc_connection_ref (connection);
    call->reply = reply;
    call->rpc.answered = client_answered;
    call->rpc.free = call_free;
    return call;
}

struct client_call *
client_begin_program (xlator_t *this, struct rpc_connection *connection, uint32_t program,
                      uint32_t version, uint32_t procedure, client_reply_fn *reply)
{
    struct client_call *call = call_new (this, connection, reply);
    const struct rpc_credentials self = { .now = clock_today () };

    rpc_call_begin (&call->rpc, program, version, procedure, &self);
    return call;
}

struct client_call *
client_begin_own (xlator_t *this, struct rpc_connection *connection, enum wire_procedure procedure,
                  const void *owner, size_t owner_size, client_reply_fn *reply)
{
    struct client_call *call = call_new (this, connection, reply);
    const struct rpc_credentials self = { .now = clock_today (),
                                          .owner = owner,
                                          .owner_size = owner_size };

    call->procedure = procedure;
    rpc_call_begin (&call->rpc, RPC_FILES, WIRE_VERSION, procedure, &self);
    return call;
}

/* Writes the header of a call with the caller's identity. If features/utime is in this graph, the
 * header lists the times that the server has to set, of the file and of its directory, with their
 * new value; otherwise the server uses its own clock. The lock owner is that of the kernel's
 * request, or else the process id. GlusterFS's clients fill these fields in the same way. */
static void
call_identify (struct client_call *call, enum wire_procedure procedure)
{
    const client_private_t *priv = call->this->private;
    const uint32_t times = client_manner_of (procedure)->times;
    call_stack_t *root = call->frame->root;
    const uint64_t owner = GUINT64_TO_LE (root->lk_owner);
    const uint32_t pid = GUINT32_TO_LE ((uint32_t) root->pid);
    struct rpc_credentials caller = {
        .pid = root->pid,
        .uid = root->uid,
        .gid = root->gid,
        .times = __atomic_load_n (&root->times, __ATOMIC_RELAXED) & TIMES_OF_REQUEST ? times : 0,
        .now = root->ctime,
        .owner = &call->owner,
        .owner_size = owner ? sizeof owner : sizeof pid,
    };

    memcpy (&call->owner, owner ? (const void *) &owner : &pid, caller.owner_size);
    call->owner_size = caller.owner_size;
    if (caller.uid != 0 && __atomic_load_n (&priv->send_gids, __ATOMIC_RELAXED))
        caller.ngroups = stack_groups (root, &caller.groups);
    rpc_call_begin (&call->rpc, RPC_FILES, WIRE_VERSION, procedure, &caller);
}

struct client_call *
client_call_begin (call_frame_t *frame, xlator_t *this, enum wire_procedure procedure,
                   client_reply_fn *reply)
{
    struct rpc_connection *connection = client_session_connection (this);
    struct client_call *call;

    if (!connection) {
        frame_fail (frame, ENOTCONN);
        return NULL;
    }
    call = call_new (this, connection, reply);
    rpc_connection_unref (connection);
    call->frame = frame;
    call->procedure = procedure;
    call->request = frame->root->unique;
    call_identify (call, procedure);
    return call;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Sends the call. Holds its own reference to the connection meanwhile, because the reply may
 * arrive, and the call be freed, before rpc_send returns. */
void
client_send_now (struct client_call *call)
{
    struct rpc_connection *connection = rpc_connection_ref (call->connection);

    client_note_sent (call);
    rpc_send (connection, &call->rpc);
    rpc_connection_unref (connection);
}

void
client_send (struct client_call *call)
{
    if (!call->claimed || client_claim_enter (call))
        client_send_now (call);
}

void
client_ask (struct client_call *call, enum wire_procedure procedure, const void *put,
            const struct client_range *range)
{
    const enum client_claims claims = client_manner_of (procedure)->claims;

    if (!call)
        return;
    wire_put_arguments (&call->rpc.out, procedure, put);
    if (range && range->inode && claims != CLIENT_CLAIMS_NOTHING)
        client_claim (call, range, claims == CLIENT_WRITES);
    client_send (call);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Answers the frame of an interrupted call, on the event loop's thread. */
static void
call_interrupted (struct loop_task *task)
{
    struct client_call *call =
        (void *) ((char *) task - offsetof (struct client_call, interrupted));

    if (call_is_first (call)) {
        call_wait_over (call);
        stack_taken (call->frame->root);
        frame_fail (call->frame, EINTR);
    }
    client_drop (call);
}

/* Called when the caller is interrupted, while call_stack_t.lock is held. A frame must not be
 * answered under that lock, so this function has the event loop's thread answer the frame. If the
 * function is called a second time for a call (client_end_waiting), it does nothing. */
static void
call_interrupt (void *data)
{
    struct client_call *call = data;

    if (__atomic_exchange_n (&call->interrupting, true, __ATOMIC_ACQ_REL))
        return;
    rpc_call_ref (&call->rpc);
    loop_post (&call->interrupted);
}

/* Called when a call for a lock has no reply after frame-timeout. Sends the unlock by call->undo,
 * and answers the operation with ETIMEDOUT. If the server has granted the lock already, this unlock
 * releases the lock. If the call still waits for the lock on the server, the unlock has no effect
 * there, and client_answered_late sends a second unlock after the grant. Neither unlock can release
 * the lock of another call, because no other call locks the same range or name for this owner. */
static void
call_overdue (struct rpc_call *rpc)
{
    struct client_call *call = (struct client_call *) rpc;
    struct rpc_reply none = { .error = ETIMEDOUT };

    if (!call_is_first (call))
        return;
    call_wait_over (call);
    stack_taken (call->frame->root);
    call->undo (call);
    call->reply (call, &none);
}

static void
call_send_waiting (struct client_call *call)
{
    call->waits = true;
    call->interrupted.run = call_interrupted;
    call->on_interrupt = (struct interrupt_watch){ .fn = call_interrupt, .data = call };
    rpc_call_ref (&call->rpc);
    stack_on_interrupt (call->frame->root, &call->on_interrupt);
    if (call_is_callers_lock (call))
        stack_lock_waits (call->frame->root, 1);
    client_send (call);
    client_drop (call);
}

void
client_send_lock (struct client_call *call, bool waits, void (*undo) (struct client_call *call))
{
    call->undo = undo;
    call->rpc.overdue = call_overdue;
    if (waits)
        call_send_waiting (call);
    else
        client_send (call);
}

void
client_ignore_reply (struct client_call *call, struct rpc_reply *reply)
{
}

struct client_call *
client_begin_undo (const struct client_call *call, enum wire_procedure procedure)
{
    return client_begin_own (call->this, call->connection, procedure, &call->owner,
                             call->owner_size, client_ignore_reply);
}

static bool
call_end (struct rpc_call *rpc, void *data)
{
    struct client_call *call = client_call_of (rpc);

    if (call->waits)
        call_interrupt (call);
    return false;
}

void
client_end_waiting (xlator_t *this)
{
    struct rpc_connection *connection = client_session_connection (this);

    if (connection)
        rpc_each_call (connection, call_end, NULL);
    rpc_connection_unref (connection);
}

/* --- answers ---------------------------------------------------------------------------------- */

void
client_answer_is_none (struct client_call *call, struct rpc_reply *reply)
{
    reply->results.failed = true;
    rpc_hang_up (call->connection, "the server's answer to an operation is no answer");
    client_note_failure (call, reply, 0);
    frame_fail (call->frame, EIO);
}

/* Answers the frame of a call that has failed. If the call identified its file by a gfid, ENOENT
 * becomes ESTALE, so that the kernel looks the path up again. */
static void
client_answer_failure (struct client_call *call, struct rpc_reply *reply, int32_t op_errno,
                       dict_t *xdata)
{
    client_note_failure (call, reply, op_errno);
    if (reply->error != 0)
        frame_fail (call->frame, reply->error);
    else if (op_errno == ENOENT && call->by_gfid)
        frame_fail_with (call->frame, ESTALE, xdata);
    else
        frame_fail_with (call->frame, wire_errno (op_errno), xdata);
}

bool
client_get (struct client_call *call, struct rpc_reply *reply, enum wire_procedure procedure,
            void *got)
{
    const struct wire_reply *head = got;

    if (reply->error == 0)
        wire_get_reply (&reply->results, procedure, got);
    if (reply->error == 0 && reply->results.failed)
        client_answer_is_none (call, reply);
    else if (reply->error != 0 || head->op_ret < 0)
        client_answer_failure (call, reply, head->op_errno, wire_xdata_of (procedure, got));
    else
        return true;
    wire_clear_reply (procedure, got);
    return false;
}

int
client_reply_errno (const struct rpc_reply *reply)
{
    struct xdr_in in = reply->results;
    const bool failed = reply->error == 0 && xdr_get_i32 (&in) < 0;
    const int error = wire_errno (xdr_get_i32 (&in));

    return failed && !in.failed ? error : 0;
}

bool
client_reply_is_gone (const struct rpc_reply *reply)
{
    const int error = client_reply_errno (reply);

    return error == ENOENT || error == ESTALE;
}
