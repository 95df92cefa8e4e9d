/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The dicts of GlusterFS's handshake: keys and texts in a format of GlusterFS (not in XDR), sent as
 * one opaque value of XDR. */
#ifndef WINDLASS_RPC_TEXT_DICT_H
#define WINDLASS_RPC_TEXT_DICT_H

#include "core/data/dict.h"
#include "rpc/xdr.h"

/* Writes a dict whose values are texts. */
void text_dict_put (struct xdr_out *out, const dict_t *dict);

/* Reads a dict, and returns it with a reference; NULL if the bytes are not in the format. A NUL at
 * the end of a value is removed. */
dict_t *text_dict_get (struct xdr_in *in);

#endif
