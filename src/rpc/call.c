/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rpc/call.h"

#include <errno.h>
#include <glib.h>

#define RPC_VERSION 2
#define AUTH_NULL 0
#define AUTH_GLUSTERFS_V3 390040
#define AUTH_SIZE_MAX 400 /* RFC 5531 */
#define GROUPS_ALLOWED 91
#define CALL 0
#define DENIED 1
#define ACCEPTED 0

/* Returns how many groups to send. The lock owner is always sent whole; the groups fill the rest of
 * the 400 bytes that RFC 5531 allows. A server of GlusterFS also refuses credentials with more
 * groups than 91 minus the length of the lock owner in bytes. */
static int
groups_that_fit (const struct rpc_credentials *from)
{
    const int fixed = 9 * 4, owner = (int) ((from->owner_size + 3) & ~(size_t) 3),
              fit = (AUTH_SIZE_MAX - fixed - owner) / 4,
              allowed = GROUPS_ALLOWED - (int) from->owner_size;

    return CLAMP (MIN (fit, allowed), 0, from->ngroups);
}

static void
put_credentials (struct xdr_out *out, const struct rpc_credentials *from)
{
    const int groups = groups_that_fit (from);
    size_t size_at;

    xdr_put_u32 (out, AUTH_GLUSTERFS_V3);
    size_at = out->used;
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, (uint32_t) from->pid);
    xdr_put_u32 (out, from->uid);
    xdr_put_u32 (out, from->gid);
    xdr_put_u32 (out, from->times);
    xdr_put_u32 (out, (uint32_t) from->now.tv_nsec);
    xdr_put_u64 (out, (uint64_t) from->now.tv_sec);
    xdr_put_u32 (out, (uint32_t) groups);
    for (int i = 0; i < groups; i++)
        xdr_put_u32 (out, from->groups[i]);
    xdr_put_opaque (out, from->owner, from->owner_size);
    xdr_set_u32 (out, size_at, (uint32_t) (out->used - size_at - 4));
}

void
rpc_call_begin (struct rpc_call *call, uint32_t program, uint32_t version, uint32_t procedure,
                const struct rpc_credentials *credentials)
{
    struct xdr_out *out = &call->out;

    xdr_out_init (out);
    call->refs = 1;
    xdr_put_u32 (out, 0); /* this record mark and the XID are set when the call gets a slot */
    xdr_put_u32 (out, 0);
    xdr_put_u32 (out, CALL);
    xdr_put_u32 (out, RPC_VERSION);
    xdr_put_u32 (out, program);
    xdr_put_u32 (out, version);
    xdr_put_u32 (out, procedure);
    if (credentials) {
        put_credentials (out, credentials);
    } else {
        xdr_put_u32 (out, AUTH_NULL);
        xdr_put_u32 (out, 0);
    }
    xdr_put_u32 (out, AUTH_NULL); /* the verifier */
    xdr_put_u32 (out, 0);
}

struct rpc_call *
rpc_call_ref (struct rpc_call *call)
{
    __atomic_add_fetch (&call->refs, 1, __ATOMIC_RELAXED);
    return call;
}

void
rpc_call_unref (struct rpc_call *call)
{
    if (__atomic_sub_fetch (&call->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    xdr_out_clear (&call->out);
    call->free (call);
}

int
rpc_reply_header (struct xdr_in *in)
{
    const uint32_t state = xdr_get_u32 (in);
    uint32_t accepted;
    size_t size;

    if (state == DENIED) /* reject_stat 0: other version of RPC; 1: credentials rejected */
        return xdr_get_u32 (in) == 1 && !in->failed ? EACCES : EPROTO;
    xdr_get_u32 (in); /* the verifier */
    xdr_get_opaque (in, AUTH_SIZE_MAX, &size);
    accepted = xdr_get_u32 (in);
    if (in->failed)
        return EPROTO;
    if (state == ACCEPTED && accepted == 0)
        return 0;
    /* accept_stat 1 to 3: the server lacks the program, the version, the procedure. */
    return state == ACCEPTED && accepted >= 1 && accepted <= 3 ? EOPNOTSUPP : EREMOTEIO;
}
