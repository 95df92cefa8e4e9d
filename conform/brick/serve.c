/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads the headers of calls, writes the headers of replies, and executes the calls of the
 * handshake and the ping. */
#include "conform/brick/request.h"

#include "rpc/call.h"
#include "rpc/text-dict.h"

#include <string.h>

#define LAST_FRAGMENT 0x80000000u
#define REPLY 1
#define NO_SUCH_PROCEDURE 3
#define AUTH_MAX 400

enum { DUMP_DUMP = 1, DUMP_PING = 2, HANDSHAKE_SETVOLUME = 1 };

/* --- the handshake ---------------------------------------------------------------------------- */

static void
brick_put_success (struct xdr_out *out)
{
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, 0);
}

static void
brick_put_program (struct xdr_out *out, const char *name, uint64_t program, uint64_t version)
{
    xdr_put_u32 (out, 1);
    xdr_put_string (out, name);
    xdr_put_u64 (out, program);
    xdr_put_u64 (out, version);
}

static bool
brick_serve_dump (struct brick_request *q, uint32_t procedure)
{
    if (procedure == DUMP_PING) {
        brick_put_success (&q->out);
        wire_put_dict (&q->out, NULL);
        return true;
    }
    xdr_put_u64 (&q->out, 0);
    brick_put_success (&q->out);
    brick_put_program (&q->out, "handshake", RPC_HANDSHAKE, 2);
    brick_put_program (&q->out, "files", RPC_FILES, WIRE_VERSION);
    xdr_put_u32 (&q->out, 0);
    return procedure == DUMP_DUMP;
}

static bool
brick_serve_handshake (struct brick_request *q, uint32_t procedure)
{
    g_autoptr (dict_t) dict = dict_new ();

    dict_set_str (dict, "child_up", "1");
    brick_put_success (&q->out);
    text_dict_put (&q->out, dict);
    return procedure == HANDSHAKE_SETVOLUME;
}

/* --- headers ---------------------------------------------------------------------------------- */

static void
brick_get_caller (struct brick_request *q, const void *bytes, size_t size)
{
    struct xdr_in in = xdr_in_of (bytes, size);
    struct client *client = q->client;
    const void *owner;
    size_t owner_size;
    uint32_t groups;

    client->pid = (pid_t) xdr_get_u32 (&in);
    client->internal = client->pid < 0 ? client->xlator.name : NULL;
    client->uid = xdr_get_u32 (&in);
    client->gid = xdr_get_u32 (&in);
    xdr_get_u32 (&in); /* skips two members that only features/utime uses: the flags that name the
                        * times to change (32 bits), and the caller's clock (96 bits) */
    xdr_get_u32 (&in);
    xdr_get_u64 (&in);
    groups = xdr_get_u32 (&in);
    client->ngroups = (int) MIN (groups, G_N_ELEMENTS (q->groups));
    client->groups = q->groups;
    for (int i = 0; i < client->ngroups; i++)
        q->groups[i] = xdr_get_u32 (&in);
    owner = xdr_get_opaque (&in, RPC_OWNER_MAX, &owner_size);
    client->lk_owner = 0;
    if (owner)
        memcpy (&client->lk_owner, owner, MIN (owner_size, sizeof client->lk_owner));
}

/* Executes the call. Returns the accept_stat (RFC 5531) for its reply: 0, or NO_SUCH_PROCEDURE. */
static uint32_t
brick_serve_program (struct brick_request *q, uint32_t program, uint32_t procedure)
{
    const bool known = program == RPC_DUMP        ? brick_serve_dump (q, procedure)
                     : program == RPC_HANDSHAKE ? brick_serve_handshake (q, procedure)
                     : program == RPC_FILES     ? brick_serve_files (q, procedure)
                                                : false;
    return known ? 0 : NO_SUCH_PROCEDURE;
}

static GByteArray *
brick_reply_record (uint32_t xid, uint32_t accepted, const struct brick_request *q)
{
    const size_t size = accepted == 0 ? q->out.used + q->tail.used : 0;
    const uint32_t head[] = { LAST_FRAGMENT | (uint32_t) (24 + size), xid, REPLY, 0, 0, 0,
                              accepted };
    GByteArray *record = g_byte_array_new ();

    for (size_t i = 0; i < G_N_ELEMENTS (head); i++) {
        const uint32_t wire = GUINT32_TO_BE (head[i]);
        g_byte_array_append (record, (const uint8_t *) &wire, sizeof wire);
    }
    if (accepted == 0) {
        g_byte_array_append (record, q->out.bytes, (guint) q->out.used);
        g_byte_array_append (record, q->tail.bytes, (guint) q->tail.used);
    }
    return record;
}

GByteArray *
brick_serve (struct brick_peer *peer, const GByteArray *record)
{
    struct brick_request q = { .brick = peer->brick, .peer = peer, .client = peer->brick->client };
    uint32_t xid, program, procedure, accepted;
    const void *caller;
    GByteArray *answer;
    size_t size;

    q.in = xdr_in_of (record->data, record->len);
    xid = xdr_get_u32 (&q.in);
    xdr_get_u32 (&q.in); /* skips the type of the message: a call */
    xdr_get_u32 (&q.in); /* version of RPC */
    program = xdr_get_u32 (&q.in);
    xdr_get_u32 (&q.in); /* version of the program */
    procedure = xdr_get_u32 (&q.in);
    xdr_get_u32 (&q.in); /* flavour of the credentials */
    caller = xdr_get_opaque (&q.in, AUTH_MAX, &size);
    brick_get_caller (&q, caller, caller ? size : 0);
    xdr_get_u32 (&q.in);
    xdr_get_opaque (&q.in, AUTH_MAX, &size);
    xdr_out_init (&q.out);
    xdr_out_init (&q.tail);
    accepted = brick_serve_program (&q, program, procedure);
    if (q.in.failed)
        g_error ("protocol/client sent what is no call of procedure %u of program %u", procedure,
                 program);
    answer = q.waits ? NULL : brick_reply_record (xid, accepted, &q);
    xdr_out_clear (&q.out);
    xdr_out_clear (&q.tail);
    return answer;
}
