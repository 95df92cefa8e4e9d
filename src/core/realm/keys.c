/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Keys of xdata that pass a boundary. */
#include "core/realm/internal.h"
#include "core/data/dict.h"

#include <string.h>

static bool
realm_key_passes (const xlator_t *this, const char *key)
{
    for (const char *const *listed = this->api->realm_keys; listed && *listed; listed++) {
        const size_t size = strlen (*listed);
        const bool any = size > 0 && (*listed)[size - 1] == '*';

        if (any ? strncmp (*listed, key, size - 1) == 0 : strcmp (*listed, key) == 0)
            return true;
    }
    return false;
}

dict_t *
realm_keys_filter (const xlator_t *this, dict_t *dict)
{
    dict_t *left = NULL;
    const char *key;
    const void *value;
    size_t size;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, &value, &size);
        if (realm_key_passes (this, key))
            continue;
        if (!left)
            left = dict_copy (dict);
        dict_del (left, key);
    }
    return left ? left : dict_ref (dict);
}
