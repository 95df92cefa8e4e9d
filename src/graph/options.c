/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The options of a translator: found in the volfile and on the command line (which takes
 * precedence), completed with the defaults, checked, and stored in this->private. Every row has a
 * struct option_setting, in the order of the translator's table and then of common_options.
 */
#include "graph/internal.h"

#include "rpc/tls/tls.h"

#include <fnmatch.h>
#include <string.h>

const struct xlator_option common_options[] = {
    { .key = { "log-level" }, .type = OPTION_ENUM, .values = option_log_levels, .online = true,
      .help = "the level of this translator's own log messages; TRACE logs each request to the "
              "translator, and the answer" },
    { .key = { "pass-through" }, .type = OPTION_BOOL, .value = "off",
      .help = "requests go directly to the first subvolume, as if this translator did not exist" },
    {},
};

/* Indices in common_options. */
enum { COMMON_LOG_LEVEL, COMMON_PASS_THROUGH };

void
setting_free (struct option_setting *setting)
{
    g_free (setting->text);
    g_free (setting);
}

/* An inert option may always change. An online option also needs a translator with reconfigure. */
bool
setting_is_online (const xlator_t *xl, const struct option_setting *setting)
{
    const struct xlator_option *row = setting->option;

    if (option_find (xl->api->options, row->key[0]) != row)
        return row->online;
    return row->inert || (row->online && xl->api->reconfigure);
}

/* --- finding the row ------------------------------------------------------------------------ */

static void
settings_add_rows (GPtrArray *settings, const struct xlator_option *rows, const char *file)
{
    for (; rows && rows->key[0]; rows++) {
        struct option_setting *setting = g_new0 (struct option_setting, 1);

        setting->option = rows;
        setting->by = SET_BY_DEFAULT;
        setting->file = g_intern_string (file);
        g_ptr_array_add (settings, setting);
    }
}

static struct option_setting *
option_setting_find (xlator_t *xl, const char *key)
{
    const struct xlator_option *row = option_find (xl->api->options, key);

    if (!row)
        row = option_find (common_options, key);
    for (guint i = 0; row && i < xl->settings->len; i++) {
        struct option_setting *setting = xl->settings->pdata[i];

        if (setting->option == row)
            return setting;
    }
    return NULL;
}

static void
keys_add (GPtrArray *keys, const struct xlator_option *rows)
{
    for (; rows && rows->key[0]; rows++)
        for (int i = 0; i < OPTION_KEYS && rows->key[i]; i++)
            g_ptr_array_add (keys, (char *) rows->key[i]);
}

/* Returns the key of the type's options, or of the common ones, that is nearest; or NULL. */
static const char *
key_near (const xlator_t *xl, const char *key)
{
    g_autoptr (GPtrArray) keys = g_ptr_array_new ();

    keys_add (keys, xl->api->options);
    keys_add (keys, common_options);
    return suggest_near (key, keys);
}

/* Returns a message about an unknown option, with a suggestion or where to find the list. */
static char *
unknown_text (const xlator_t *xl, const char *key)
{
    g_autofree char *suggestion = suggest_text (key_near (xl, key));

    return g_strdup_printf ("type '%s' has no option '%s'%s%s%s", xl->type, key,
                            *suggestion ? suggestion : "; 'windlass help ",
                            *suggestion ? "" : xl->type, *suggestion ? "" : "' lists them");
}

/* --- the volfile ---------------------------------------------------------------------------- */

static void
option_from_volfile (struct volfile *volfile, xlator_t *xl, const struct volfile_option *option)
{
    const struct volfile_place place = { option->line, option->column };
    struct option_setting *setting = option_setting_find (xl, option->key);

    if (!setting) {
        g_autofree char *text = unknown_text (xl, option->key);

        problem_error (volfile, place, xl->name, "%s", text);
    } else if (setting->by == SET_BY_VOLFILE) {
        problem_error (volfile, place, xl->name,
                       "option '%s' is another name of '%s', which is set at line %d", option->key,
                       setting->option->key[0], setting->line);
    } else {
        setting->by = SET_BY_VOLFILE;
        setting->line = option->value_line;
        setting->column = option->value_column;
        if (!option->bad)
            setting->text = g_strdup (option->value);
        if (setting->option->inert && !volfile->fetched)
            problem_warning (volfile, place, xl->name, "option '%s' does nothing here",
                             option->key);
    }
}

void
options_from_volfile (struct volfile *volfile, const struct loading *loading)
{
    xlator_t *xl = loading->xlator;

    settings_add_rows (xl->settings, xl->api->options, volfile->path);
    settings_add_rows (xl->settings, common_options, volfile->path);
    for (guint i = 0; i < loading->volume->options->len; i++)
        option_from_volfile (volfile, xl, loading->volume->options->pdata[i]);
}

/* --- the command line ----------------------------------------------------------------------- */

/* The parts of --xlator-option PATTERN.KEY=VALUE. No message has the value, which may be a
 * password. */
struct command_option {
    char *pattern, *key;
    const char *value;
};

static bool
command_option_split (const char *text, struct command_option *ret_option)
{
    const char *equals = strchr (text, '=');
    const char *dot = equals ? memchr (text, '.', equals - text) : NULL;

    if (!dot || dot == text || dot + 1 == equals)
        return false;
    ret_option->pattern = g_strndup (text, dot - text);
    ret_option->key = g_strndup (dot + 1, equals - dot - 1);
    ret_option->value = equals + 1;
    return true;
}

static void
command_option_clear (struct command_option *option)
{
    g_free (option->pattern);
    g_free (option->key);
}

/* If an option is given twice on the command line, the first value counts, as in GlusterFS. */
static void
command_option_set (struct volfile *volfile, xlator_t *xl, struct option_setting *setting,
                    const char *value)
{
    if (setting->by == SET_BY_COMMAND_LINE)
        return;
    g_free (setting->text);
    setting->text = g_strdup (value);
    setting->by = SET_BY_COMMAND_LINE;
    setting->line = LINE_OF_COMMAND;
    setting->column = 0;
    if (setting->option->inert)
        problem_warning (volfile, COMMAND_LINE, xl->name, "option '%s' does nothing here",
                         setting->option->key[0]);
}

static void
command_option_no_volume (struct volfile *volfile, GPtrArray *loadings,
                          const struct command_option *option)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL, *all = NULL;

    for (guint i = 0; i < loadings->len; i++)
        g_ptr_array_add (names, (char *) ((struct loading *) loadings->pdata[i])->xlator->name);
    suggestion = suggest_text (suggest_near (option->pattern, names));
    g_ptr_array_add (names, NULL);
    all = g_strjoinv (", ", (char **) names->pdata);
    problem_error (volfile, COMMAND_LINE, NULL,
                   "--xlator-option '%s.%s=...': no volume of the graph is called '%s'%s; "
                   "its volumes are %s",
                   option->pattern, option->key, option->pattern, suggestion, all);
}

/* A pattern may match volumes without the option, as long as one of them has it. */
static void
command_option_apply (struct volfile *volfile, GPtrArray *loadings,
                      const struct command_option *option)
{
    const xlator_t *without = NULL;
    bool matched = false, used = false;

    for (guint i = 0; i < loadings->len; i++) {
        xlator_t *xl = ((struct loading *) loadings->pdata[i])->xlator;
        struct option_setting *setting;

        if (fnmatch (option->pattern, xl->name, 0) != 0)
            continue;
        matched = true;
        setting = xl->api ? option_setting_find (xl, option->key) : NULL;
        if (setting)
            command_option_set (volfile, xl, setting, option->value);
        else if (xl->api)
            without = xl;
        used |= setting || !xl->api; /* a type that isn't loaded was reported already */
    }
    if (!matched) {
        command_option_no_volume (volfile, loadings, option);
    } else if (!used) {
        g_autofree char *text = unknown_text (without, option->key);

        problem_error (volfile, COMMAND_LINE, without->name, "%s", text);
    }
}

void
options_from_command (struct volfile *volfile, GPtrArray *loadings, const char *const *options)
{
    for (size_t i = 0; options && options[i]; i++) {
        struct command_option option;

        if (!command_option_split (options[i], &option)) {
            problem_error (volfile, COMMAND_LINE, NULL,
                           "--xlator-option '%.*s' must be VOLUME.KEY=VALUE",
                           (int) strcspn (options[i], "="), options[i]);
            continue;
        }
        command_option_apply (volfile, loadings, &option);
        command_option_clear (&option);
    }
}

bool
graph_option_is_secret (struct graph *graph, const char *text)
{
    struct command_option option;
    bool known = false, secret = false;

    if (!command_option_split (text, &option))
        return true;
    for (guint i = 0; i < graph->xlators->len; i++) {
        xlator_t *xl = graph->xlators->pdata[i];
        const struct option_setting *setting =
            fnmatch (option.pattern, xl->name, 0) == 0 ? option_setting_find (xl, option.key)
                                                       : NULL;

        known |= setting != NULL;
        secret |= setting && setting->option->secret;
    }
    command_option_clear (&option);
    return secret || !known;
}

/* --- what a server may set ------------------------------------------------------------------ */

static void
setting_to_default (struct option_setting *setting)
{
    g_clear_pointer (&setting->text, g_free);
    setting->by = SET_BY_DEFAULT;
}

/* A value that is not taken is not looked at either: to check a path may open it. */
static void
server_value_check (struct volfile *volfile, xlator_t *xl, struct option_setting *setting)
{
    const struct volfile_place place = { setting->line, setting->column };
    const struct xlator_option *row = setting->option;

    if (!setting->text || !option_is_local (row, setting->text))
        return;
    if (row->from_server != SERVER_MAY_IN_TLS_FOLDER)
        problem_error (volfile, place, xl->name,
                       "option '%s' can name a thing of this machine, so a server may not set it "
                       "to '%s'; --xlator-option %s.%s=VALUE sets it here",
                       row->key[0], setting_shown (setting), xl->name, row->key[0]);
    else if (!tls_is_usual_path (setting->text))
        problem_warning (volfile, place, xl->name,
                         "option '%s' is ignored: a server may set it to a path in /etc/ssl or in "
                         "OpenSSL's folder only, got '%s'; --xlator-option %s.%s=PATH sets any",
                         row->key[0], setting_shown (setting), xl->name, row->key[0]);
    else
        return;
    setting_to_default (setting);
}

/* --- checking and storing ------------------------------------------------------------------- */

static struct volfile_place
setting_place (const struct option_setting *setting)
{
    return (struct volfile_place){ setting->line, setting->column };
}

static void
log_level_apply (struct volfile *volfile, xlator_t *xl, const struct option_setting *setting)
{
    gf_loglevel_t level = GF_LOG_NONE;

    if (log_level_parse (setting->text, &level) < 0)
        problem_error (volfile, setting_place (setting), xl->name,
                       "option 'log-level' must be %s, got '%s'", LOG_LEVEL_NAMES, setting->text);
    else
        xl->loglevel = level;
}

/* Reports an error if the volume has no subvolume that could get the requests. */
static void
pass_through_apply (struct volfile *volfile, const struct loading *loading,
                    const struct option_setting *setting)
{
    xlator_t *xl = loading->xlator;
    g_autofree char *allowed = NULL;
    const struct xlator_option row = { .type = OPTION_BOOL, .size = sizeof (bool) };

    if (option_parse (&row, setting->text, &xl->pass_through, &allowed) < 0)
        problem_error (volfile, setting_place (setting), xl->name,
                       "option 'pass-through' %s, got '%s'", allowed, setting->text);
    else if (xl->pass_through && loading->volume->subvolumes->len == 0)
        problem_error (
            volfile, setting_place (setting), xl->name,
            "option 'pass-through' must be off: there is no subvolume to pass requests on to");
}

static void
xlator_value_check (struct volfile *volfile, xlator_t *xl, const struct option_setting *setting)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new ();
    g_autofree char *suggestion = NULL;

    for (guint i = 0; i < xl->graph->xlators->len; i++) {
        const char *name = ((xlator_t *) xl->graph->xlators->pdata[i])->name;

        if (strcmp (name, setting->text) == 0)
            return;
        g_ptr_array_add (names, (char *) name);
    }
    suggestion = suggest_text (suggest_near (setting->text, names));
    problem_error (volfile, setting_place (setting), xl->name,
                   "option '%s' must be the name of a volume in the graph, got '%s'%s",
                   setting->option->key[0], setting->text, suggestion);
}

static void
setting_apply (struct volfile *volfile, xlator_t *xl, const struct option_setting *setting)
{
    const struct xlator_option *row = setting->option;
    g_autoptr (GPtrArray) values = g_ptr_array_new ();
    g_autofree char *allowed = NULL, *suggestion = NULL, *purpose = option_purpose (row);

    if (option_parse (row, setting->text, (char *) xl->private + row->offset, &allowed) == 0) {
        if (row->type == OPTION_XLATOR)
            xlator_value_check (volfile, xl, setting);
        return;
    }
    for (const struct option_choice *at = row->values; at && at->name; at++)
        g_ptr_array_add (values, (char *) at->name);
    suggestion = suggest_text (suggest_near (setting->text, values));
    problem_error (volfile, setting_place (setting), xl->name, "option '%s' %s, got '%s'%s%s",
                   row->key[0], allowed, setting_shown (setting), suggestion, purpose);
}

/* Returns whether the volume has a misspelt key for which this option was suggested. */
static bool
setting_is_misspelt (const struct loading *loading, const struct option_setting *setting)
{
    xlator_t *xl = loading->xlator;

    for (guint i = 0; i < loading->volume->options->len; i++) {
        const char *key = ((struct volfile_option *) loading->volume->options->pdata[i])->key;
        const char *near = option_setting_find (xl, key) ? NULL : key_near (xl, key);

        if (near && option_setting_find (xl, near) == setting)
            return true;
    }
    return false;
}

static void
setting_missing (struct volfile *volfile, const struct loading *loading,
                 const struct option_setting *setting)
{
    const xlator_t *xl = loading->xlator;
    const struct xlator_option *row = setting->option;
    g_autofree char *allowed = option_allowed (row), *purpose = option_purpose (row);

    if (setting_is_misspelt (loading, setting))
        return;
    problem_error (volfile, (struct volfile_place){ xl->line, xl->column }, xl->name,
                   "option '%s' is missing: must be given, %s%s", row->key[0], allowed, purpose);
}

/* Reports both places, since either option may be the one to remove. */
static void
exclusion_check (struct volfile *volfile, xlator_t *xl, const struct option_setting *setting)
{
    const char *key = setting->option->excludes;
    const struct option_setting *other = key ? option_setting_find (xl, key) : NULL;
    g_autofree char *where = NULL;

    if (!other || setting->by == SET_BY_DEFAULT || other->by == SET_BY_DEFAULT)
        return;
    where = other->line > 0 ? g_strdup_printf ("line %d", other->line)
                            : g_strdup ("the command line");
    problem_error (volfile, setting_place (setting), xl->name,
                   "option '%s' can't be used with option '%s', which is set at %s: remove one",
                   setting->option->key[0], key, where);
}

/* For OPTION_SIZE and OPTION_INT. Returns -1 if the value is bad, which was reported. */
static double
setting_number (const struct option_setting *setting)
{
    g_autofree char *allowed = NULL;
    struct xlator_option row = *setting->option;
    union {
        uint64_t size;
        int64_t number;
    } value = { 0 };

    row.offset = 0;
    row.size = sizeof value;
    if (!setting->text || option_parse (&row, setting->text, &value, &allowed) < 0)
        return -1;
    return row.type == OPTION_SIZE ? (double) value.size : (double) value.number;
}

/* Reports a value above the limit of another option, at a place in the volfile or on the command
 * line: if both values are set, at the one that is too large. */
static void
limit_check (struct volfile *volfile, xlator_t *xl, const struct option_setting *setting)
{
    const char *key = setting->option->at_most;
    const struct option_setting *limit = key ? option_setting_find (xl, key) : NULL;

    if (!limit || setting_number (setting) < 0 || setting_number (limit) < 0
        || setting_number (setting) <= setting_number (limit))
        return;
    if (setting->by == SET_BY_DEFAULT)
        problem_error (volfile, setting_place (limit), xl->name,
                       "option '%s' must be at least option '%s', which is %s, got '%s'", key,
                       setting->option->key[0], setting->text, limit->text);
    else
        problem_error (volfile, setting_place (setting), xl->name,
                       "option '%s' must be at most option '%s', which is %s, got '%s'",
                       setting->option->key[0], key, limit->text, setting->text);
}

void
options_apply (struct volfile *volfile, const struct loading *loading)
{
    xlator_t *xl = loading->xlator;

    for (guint i = 0; i < xl->settings->len; i++) {
        struct option_setting *setting = xl->settings->pdata[i];
        const struct xlator_option *row = setting->option;

        if (volfile->fetched && setting->by == SET_BY_VOLFILE)
            server_value_check (volfile, xl, setting);
        if (setting->by == SET_BY_DEFAULT)
            setting->text = g_strdup (row->value);
        exclusion_check (volfile, xl, setting);
        if (!setting->text && setting->by == SET_BY_DEFAULT && row->required)
            setting_missing (volfile, loading, setting);
        if (!setting->text)
            continue;
        if (row == &common_options[COMMON_LOG_LEVEL])
            log_level_apply (volfile, xl, setting);
        else if (row == &common_options[COMMON_PASS_THROUGH])
            pass_through_apply (volfile, loading, setting);
        else
            setting_apply (volfile, xl, setting);
    }
    for (guint i = 0; i < xl->settings->len; i++)
        limit_check (volfile, xl, xl->settings->pdata[i]);
}
