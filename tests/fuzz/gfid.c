/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* gfid_parse: an accepted text is printed unchanged. */
#include "fuzz.h"

#include "core/base/gfid.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    g_autofree char *text = fuzz_input_text (&input);
    char printed[GFID_TEXT_SIZE];
    gfid_t gfid;

    if (gfid_parse (text, &gfid) == 0)
        g_assert (g_ascii_strcasecmp (gfid_text (&gfid, printed), text) == 0);
    return 0;
}
