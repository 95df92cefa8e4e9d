/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commands of `windlass fault`. */
#include "fault.h"

#include <errno.h>
#include <string.h>

static int
fault_command_rules (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    gsize size;
    const char *text = g_bytes_get_data (asked->input, &size);

    return fault_load (this, text ? text : "", size, "<rules>", answer);
}

static int
command_clear (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return fault_load (this, "", 0, "", answer);
}

static int
command_show (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    fault_show (this, answer);
    return 0;
}

static bool
hangs_as (const void *data, const void *name)
{
    const struct fault_local *local = data;
    const struct fault_step *first = fault_action_of (local->rule)->steps;
    const struct fault_step *step = local->next > first ? local->next - 1 : NULL;

    return step && step->kind == STEP_HANG
        && (!*(const char *) name || g_strcmp0 (step->name, name) == 0);
}

static void
set_add_names (const struct rules *rules, GHashTable *names)
{
    for (unsigned i = 0; i < rules->n; i++)
        for (const struct fault_step *step = fault_action_of (&rules->rules[i])->steps; step->kind;
             step++)
            if (step->kind == STEP_HANG && step->name)
                g_hash_table_add (names, step->name);
}

/* No rule has a hang of that name. */
static int
release_unknown (const struct rules *rules, const char *name, GString *answer)
{
    g_autoptr (GHashTable) names = g_hash_table_new (g_str_hash, g_str_equal);
    g_autoptr (GPtrArray) list = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;
    GHashTableIter iter;
    gpointer one;

    set_add_names (rules, names);
    if (g_hash_table_contains (names, name))
        return 0;
    g_hash_table_iter_init (&iter, names);
    while (g_hash_table_iter_next (&iter, &one, NULL))
        g_ptr_array_add (list, one);
    suggestion = suggest_text (suggest_near (name, list));
    g_string_append_printf (answer, "no rule has 'hang name %s'%s", name, suggestion);
    return -ENOENT;
}

/* input: the name of a hang; empty: all hanging requests. */
static int
command_release (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    fault_private_t *priv = this->private;
    gsize size;
    const char *text = g_bytes_get_data (asked->input, &size);
    g_autofree char *name = g_strndup (text ? text : "", MIN (size, RULE_TEXT_MAX));
    struct fault_set *set = fault_set_get (priv);
    int r = 0;

    g_strstrip (name);
    for (char *p = name; *p; p++)
        if (g_ascii_iscntrl (*p))
            *p = '?';
    if (*name)
        r = release_unknown (set->rules.rules, name, answer);
    shared_unref (&set->rules.shared);
    if (r < 0)
        return r;
    g_string_append_printf (answer, "released %u", fault_release (priv, hangs_as, name));
    return 0;
}

const struct xlator_command fault_commands[] = {
    { "rules", "replace the rules in force by those of the input", .run = fault_command_rules },
    { "clear", "remove all rules, and release all requests that they hold", .run = command_clear },
    { "show", "print the rules in force, and how often each was used", .run = command_show },
    { "release", "release requests that 'hang' holds: those under the name in the input, or all",
      .run = command_release },
    {},
};
