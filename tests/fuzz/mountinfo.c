/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* /proc/self/mountinfo: the first line is the mount point to find; the rest is the file. */
#include "fuzz.h"

#include "control/control.h"

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };
    g_autofree char *path = input_line (&input), *text = fuzz_input_text (&input);
    struct mount mount = { 0 };
    const bool found = mount_find (text, path, &mount);

    g_assert (found == (mount.type != NULL) && found == (mount.source != NULL));
    g_assert (!found || !strchr (mount.type, ' '));
    mount_clear (&mount);
    return 0;
}
