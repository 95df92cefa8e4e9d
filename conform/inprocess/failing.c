/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The call that fails in a variant with an injected failure. */
#include "conform/inprocess/inprocess.h"

#include <string.h>

static struct {
    int left;   /* calls until the failing one, inclusive. Atomic */
    char *text; /* its description; written by the thread that decreased left to 0 */
} failing_call;

void
inspect_fail (unsigned nth)
{
    g_clear_pointer (&failing_call.text, g_free);
    __atomic_store_n (&failing_call.left, (int) nth, __ATOMIC_RELEASE);
}

char *
inspect_failed (void)
{
    return __atomic_load_n (&failing_call.left, __ATOMIC_ACQUIRE) > 0
             ? NULL
             : g_steal_pointer (&failing_call.text);
}

bool
inspect_fails (const struct crossing *crossing)
{
    const xlator_t *asks = crossing->frame->root->frames[0].this;

    if (__atomic_load_n (&failing_call.left, __ATOMIC_ACQUIRE) <= 0
        || (crossing->top && strcmp (asks->type, "client") == 0))
        return false;
    if (__atomic_sub_fetch (&failing_call.left, 1, __ATOMIC_ACQ_REL) != 0)
        return false;
    failing_call.text = g_strdup_printf ("%s to '%s' (%s), from %s:%d, failed with EIO",
                                         fop_name (crossing->op), crossing->callee->name,
                                         crossing->callee->type, crossing->wound->file,
                                         crossing->wound->line);
    return true;
}
