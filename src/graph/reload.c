/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads a volfile again while its graph runs. The text becomes a second graph, which is checked as
 * usual: the private structs of its translators hold the new values. If only online options differ,
 * these values are handed to the running translators, and the second graph is never started. Any
 * other change leaves the running graph as it is, and the caller may start the second one.
 */
#include "graph/internal.h"

#include "core/base/errors.h"
#include "core/realm/passthrough.h"

#include <errno.h>
#include <string.h>

/* The running graph, and the graph of the new volfile. */
struct reload {
    struct graph *graph, *fresh;
    GString *answer;
    unsigned n_changes;
    unsigned n_differ; /* changes that a running graph can't take over */
};

static xlator_t *
reload_old (const struct reload *reload, guint i)
{
    const xlator_t *fresh = reload->fresh->xlators->pdata[i];

    return graph_find (reload->graph, fresh->name);
}

static void G_GNUC_PRINTF (3, 4)
differ (struct reload *reload, int line, const char *format, ...)
{
    va_list args;

    if (line > 0)
        g_string_append_printf (reload->answer, "%s:%d: ", reload->fresh->volfile->path, line);
    va_start (args, format);
    g_string_append_vprintf (reload->answer, format, args);
    va_end (args);
    g_string_append_c (reload->answer, '\n');
    reload->n_differ++;
}

/* --- the shape ------------------------------------------------------------------------------ */

static char *
reload_children_text (const xlator_t *xl)
{
    GString *out = g_string_new (NULL);

    for (const xlator_list_t *child = xl->children; child; child = child->next)
        g_string_append_printf (out, "%s%s", out->len ? " " : "", child->xlator->name);
    return g_string_free (out, FALSE);
}

static void
compare_volume (struct reload *reload, const xlator_t *old, const xlator_t *fresh)
{
    g_autofree char *before = reload_children_text (old), *after = reload_children_text (fresh);

    if (strcmp (old->type, fresh->type) != 0)
        differ (reload, fresh->line, "volume '%s': type '%s' -> '%s'", old->name, old->type,
                fresh->type);
    else if (old->api != fresh->api)
        differ (reload, fresh->line,
                "volume '%s': the module of type '%s' is another one than when it was mounted",
                old->name, old->type);
    if (strcmp (before, after) != 0)
        differ (reload, fresh->line, "volume '%s': subvolumes '%s' -> '%s'", old->name, before,
                after);
}

static void
compare_shape (struct reload *reload)
{
    const struct graph *graph = reload->graph;
    struct graph *fresh = reload->fresh;

    for (guint i = 0; i < fresh->xlators->len; i++) {
        const xlator_t *xl = fresh->xlators->pdata[i], *old = reload_old (reload, i);

        if (old)
            compare_volume (reload, old, xl);
        else
            differ (reload, xl->line, "volume '%s' of type '%s' is new in the graph", xl->name,
                    xl->type);
    }
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *old = graph->xlators->pdata[i];

        if (!graph_find (fresh, old->name))
            differ (reload, 0, "volume '%s' of type '%s' is not in the graph any more", old->name,
                    old->type);
    }
    if (strcmp (graph->top->name, fresh->top->name) != 0)
        differ (reload, fresh->top->line, "the top is volume '%s', and was '%s'", fresh->top->name,
                graph->top->name);
}

/* --- options -------------------------------------------------------------------------------- */

/* Both translators have the same rows, since they have the same module. */
static const struct option_setting *
changed_setting (const xlator_t *old, const xlator_t *fresh, guint i)
{
    const struct option_setting *before = old->settings->pdata[i],
                                *after = fresh->settings->pdata[i];

    g_assert (before->option == after->option);
    return g_strcmp0 (before->text, after->text) != 0 ? after : NULL;
}

static char *
quoted (const char *text)
{
    return text ? g_strdup_printf ("'%s'", text) : g_strdup ("unset");
}

static void
compare_options (struct reload *reload, const xlator_t *old, const xlator_t *fresh)
{
    for (guint i = 0; i < fresh->settings->len; i++) {
        const struct option_setting *before = old->settings->pdata[i],
                                    *after = changed_setting (old, fresh, i);
        g_autofree char *from = quoted (setting_shown (before)),
                         *to = after ? quoted (setting_shown (after)) : NULL;

        if (!after)
            continue;
        if (!setting_is_online (old, after))
            differ (reload, after->line > 0 ? after->line : fresh->line,
                    "volume '%s': option '%s': %s -> %s", old->name, after->option->key[0], from,
                    to);
        else
            g_string_append_printf (reload->answer, "volume '%s': option '%s': %s -> %s\n",
                                    old->name, after->option->key[0], from, to);
        reload->n_changes++;
    }
}

/* --- taking over values --------------------------------------------------------------------- */

/* Returns whether the option names a file, whose content may have changed. */
static bool
setting_names_file (const struct option_setting *setting)
{
    return setting->text && setting->option->type == OPTION_PATH && setting->option->online;
}

/* Returns whether the translator itself has changed options, or one that names a file. */
static bool
needs_reconfigure (const xlator_t *old, const xlator_t *fresh)
{
    for (guint i = 0; i < fresh->settings->len; i++) {
        const struct option_setting *after = changed_setting (old, fresh, i),
                                    *now = fresh->settings->pdata[i];

        if (setting_names_file (now))
            return true;
        if (after && option_find (old->api->options, after->option->key[0]) == after->option
            && !after->option->inert)
            return true;
    }
    return false;
}

/* Returns a private struct with xl's current option values. xl's own struct may have changed since
 * it was filled. */
static void *
private_of_settings (const xlator_t *xl)
{
    char *private = g_malloc0 (MAX (xl->api->priv_size, 1));

    for (guint i = 0; i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];
        g_autofree char *allowed = NULL;

        if (setting->text
            && option_find (xl->api->options, setting->option->key[0]) == setting->option)
            option_parse (setting->option, setting->text, private + setting->option->offset,
                          &allowed);
    }
    return private;
}

/* Restores the values of the translators before `end`. They can't refuse values that they had
 * before. */
static void
roll_back (struct reload *reload, guint end)
{
    for (guint i = end; i-- > 0;) {
        xlator_t *old = reload_old (reload, i);
        void *private;

        if (!needs_reconfigure (old, reload->fresh->xlators->pdata[i]))
            continue;
        private = private_of_settings (old);
        if (old->api->reconfigure (old, private) < 0)
            gf_log (old, GF_LOG_ERROR,
                    "volume '%s' of type '%s' could not go back to the options that it had",
                    old->name, old->type);
        option_clear (old->api->options, private);
        g_free (private);
    }
}

static int
reconfigure_all (struct reload *reload)
{
    int r = 0;

    for (guint i = 0; r >= 0 && i < reload->fresh->xlators->len; i++) {
        const xlator_t *fresh = reload->fresh->xlators->pdata[i];
        xlator_t *old = reload_old (reload, i);

        if (needs_reconfigure (old, fresh))
            r = old->api->reconfigure (old, fresh->private);
        if (r >= 0)
            continue;
        g_string_append_printf (reload->answer,
                                "%s:%d: volume '%s' refuses its new options: %s; the log has the "
                                "reason\n",
                                reload->fresh->volfile->path, fresh->line, old->name,
                                g_strerror (-r));
        roll_back (reload, i);
    }
    __atomic_store_n (&reload->graph->sees_names,
                      passthrough_sees_names (reload->graph->top), __ATOMIC_RELAXED);
    return error_or_0 (r);
}

/* A level set at run time remains as long as the volfile's level doesn't change. */
static bool
level_changed (const xlator_t *old, const xlator_t *fresh)
{
    for (guint i = 0; i < fresh->settings->len; i++) {
        const struct option_setting *after = changed_setting (old, fresh, i);

        if (after && strcmp (after->option->key[0], "log-level") == 0)
            return true;
    }
    return false;
}

/* Takes over the new texts and their places. The other graph frees the old ones. */
static void
adopt (struct reload *reload)
{
    for (guint i = 0; i < reload->fresh->xlators->len; i++) {
        xlator_t *fresh = reload->fresh->xlators->pdata[i], *old = reload_old (reload, i);
        GPtrArray *settings = old->settings;
        const bool level = level_changed (old, fresh);

        pthread_mutex_lock (&reload->graph->settings_lock);
        old->settings = fresh->settings;
        pthread_mutex_unlock (&reload->graph->settings_lock);
        fresh->settings = settings;
        old->line = fresh->line;
        old->column = fresh->column;
        if (level)
            xlator_set_loglevel (old, fresh->loglevel);
    }
}

/* After adopt: tells which files were read again, so that nobody takes "no option changed" for
 * rules that were not read. */
static void
tell_files (struct reload *reload)
{
    for (guint i = 0; i < reload->fresh->xlators->len; i++) {
        const xlator_t *old = reload_old (reload, i);

        for (guint at = 0; at < old->settings->len; at++) {
            const struct option_setting *setting = old->settings->pdata[at];

            if (setting_names_file (setting))
                g_string_append_printf (reload->answer,
                                        "volume '%s': option '%s': '%s' was read again\n",
                                        old->name, setting->option->key[0],
                                        setting_shown (setting));
        }
    }
}

static int
reload_take (struct reload *reload)
{
    int r;

    compare_shape (reload);
    for (guint i = 0; i < reload->fresh->xlators->len; i++) {
        const xlator_t *fresh = reload->fresh->xlators->pdata[i], *old = reload_old (reload, i);

        if (old && old->api == fresh->api)
            compare_options (reload, old, fresh);
    }
    r = reload->n_differ ? 1 : reconfigure_all (reload);
    if (r != 0)
        return r;
    adopt (reload);
    if (reload->n_changes == 0)
        g_string_append (reload->answer, "no option changed\n");
    tell_files (reload);
    return 0;
}

int
graph_reload (struct graph *graph, struct volfile *volfile, const struct graph_settings *settings,
              struct graph **ret_fresh, GString *answer)
{
    struct reload reload = { .graph = graph, .answer = answer };
    int r = -EINVAL;

    reload.fresh = graph_load (volfile, settings);
    volfile_append_problems (volfile, answer);
    if (!volfile_has_errors (volfile))
        r = reload_take (&reload);
    if (r < 0)
        g_string_append (answer, "nothing was changed\n");
    if (r == 1)
        *ret_fresh = reload.fresh;
    else
        graph_free (reload.fresh);
    return r;
}
