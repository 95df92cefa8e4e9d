/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Mounts on which the kernel checks no rights: with no_default_permissions storage decides about a
 * caller's rights, with --acl=translator system/posix-acl does.
 *
 * The kernel passes through directories in its cache without a request. If several users use the
 * mount, it must therefore cache no names. Translators above the deciding one must not answer by
 * themselves: they would answer callers without a right to the answer.
 */
#include "fuse/settings.h"
#include "fuse/state.h"

#include <string.h>

/* Returns the deciding translator: the first of its type from the top. */
static const xlator_t *
find_decider (const struct graph *graph, const xlator_t **ret_above)
{
    *ret_above = NULL;
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];

        if (xl->pass_through)
            continue;
        if (strcmp (xl->type, "system/posix-acl") == 0)
            return xl;
        if (g_str_has_prefix (xl->type, "performance/"))
            *ret_above = xl;
    }
    return NULL;
}

char *
bridge_notice (const struct bridge *bridge)
{
    const struct graph *graph = bridge->graph;
    const xlator_t *above, *decider = find_decider (graph, &above);

    if (!decider || !bridge->terms.checked)
        return NULL;
    return g_strdup_printf ("%s:%d:%d: volume '%s' (%s) is only a second check, since the kernel "
                            "decides about rights first; mount with 'acl=translator' to leave the "
                            "decision to the volume", graph->volfile->path, decider->line,
                            decider->column, decider->name, decider->type);
}

/* Sets a timeout to 0, unless the user has set another value. */
static int
forget_at_once (struct bridge *bridge, const char *key, double *timeout, char **ret_error)
{
    const GPtrArray *settings = bridge->xlator.settings;

    for (guint i = 0; i < settings->len; i++) {
        const struct option_setting *setting = settings->pdata[i];

        if (strcmp (setting->option->key[0], key) != 0 || setting->by == SET_BY_DEFAULT
            || *timeout == 0)
            continue;
        *ret_error =
            g_strdup_printf ("mount/fuse: option '%s' must be 0 with %s, got '%s': the kernel "
                             "would use names that it "
                             "remembers without asking whether the caller may",
                             key,
                             bridge->settings.acl == DECIDES_TRANSLATOR
                                 ? "'acl=translator'"
                                 : "no_default_permissions, where several users use the mount",
                             setting->text);
        return -EINVAL;
    }
    *timeout = 0;
    return 0;
}

int
bridge_remember_no_names (struct bridge *bridge, char **ret_error)
{
    const int r = forget_at_once (bridge, "entry-timeout", &bridge->settings.entry_timeout,
                                  ret_error);

    return r == 0 ? forget_at_once (bridge, "negative-timeout", &bridge->settings.negative_timeout,
                                    ret_error)
                  : r;
}

int
bridge_leave_to_translator (struct bridge *bridge, bool default_permissions, char **ret_error)
{
    const struct graph *graph = bridge->graph;
    const xlator_t *above, *decider = find_decider (graph, &above);
    char *error = NULL;

    if (default_permissions)
        error = g_strdup ("mount/fuse: option 'acl=translator' and the mount option "
                          "default_permissions contradict each other: either the "
                          "translator decides or the kernel");
    else if (!decider)
        error = g_strdup_printf ("mount/fuse: option 'acl=translator' needs a volume of type "
                                 "system/posix-acl in '%s', which then decides; "
                                 "there is none",
                                 graph->volfile->path);
    else if (above)
        error = g_strdup_printf ("%s:%d:%d: volume '%s' (%s) is above '%s', which is to decide "
                                 "with 'acl=translator': it would answer "
                                 "before the rights are checked",
                                 graph->volfile->path, above->line, above->column, above->name,
                                 above->type, decider->name);
    if (error) {
        *ret_error = error;
        return -EINVAL;
    }
    bridge->terms.checked = false;
    return bridge_remember_no_names (bridge, ret_error);
}
