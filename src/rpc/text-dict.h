/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The dictionaries of GlusterFS's handshake: keys and texts in a format of their own, which travels
 * as one opaque value. */
#ifndef WINDLASS_RPC_TEXT_DICT_H
#define WINDLASS_RPC_TEXT_DICT_H

#include "core/data/dict.h"
#include "rpc/xdr.h"

/* Puts a dict whose values are texts. */
void text_dict_put (struct xdr_out *out, const dict_t *dict);

/* Returns a dict, with a reference; NULL if the bytes are none. Values are without their last
 * NUL. */
dict_t *text_dict_get (struct xdr_in *in);

#endif
