/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass help --json: for programs. A name keeps its meaning for as long as "format" has the same
 * number; new names may come.
 */
#include "cli/describe.h"

#include "cli/run/run.h"
#include "core/base/json.h"

#include <stdio.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#define FORMAT 1

static struct json
help_json_begin (void)
{
    struct json json = { .out = g_string_new (NULL) };

    json_open (&json, NULL, '{');
    json_number (&json, "format", FORMAT);
    return json;
}

static void
help_json_end (struct json *json)
{
    json_close (json, '}');
    puts (json->out->str);
    g_string_free (json->out, TRUE);
}

/* --- commands --------------------------------------------------------------------------------- */

/* A value or an argument: "values" if only these are allowed, "kinds" for anything else. */
static void
help_json_words (struct json *json, const char *text)
{
    g_auto (GStrv) values = cli_literal_words (text), kinds = cli_kind_words (text);

    json_strings (json, "kinds", (const char *const *) kinds);
    json_strings (json, "values", (const char *const *) values);
}

static void
help_json_option (struct json *json, const struct cli_option *option)
{
    g_autofree char *name = g_strdup_printf ("--%s", option->name),
                    *letter = option->letter ? g_strdup_printf ("-%c", option->letter) : NULL;

    json_open (json, NULL, '{');
    json_string (json, "name", name);
    json_string (json, "letter", letter);
    json_string (json, "value", option->value);
    json_bool (json, "value_optional", option->value_optional);
    help_json_words (json, option->value);
    json_string (json, "about", option->about);
    json_close (json, '}');
}

static void
help_json_description (struct json *json, const struct cli_description *description)
{
    json_open (json, "arguments", '[');
    for (guint i = 0; i < description->arguments->len; i++) {
        const struct cli_argument *argument = description->arguments->pdata[i];

        json_open (json, NULL, '{');
        json_string (json, "name", argument->name);
        json_bool (json, "optional", argument->optional);
        json_bool (json, "repeats", argument->repeats);
        json_bool (json, "after_dashes", argument->after_dashes);
        help_json_words (json, argument->name);
        json_close (json, '}');
    }
    json_close (json, ']');
    json_open (json, "options", '[');
    for (guint i = 0; i < description->options->len; i++)
        help_json_option (json, description->options->pdata[i]);
    json_close (json, ']');
}

static void
help_json_members (struct json *json, const struct cli_command *command)
{
    struct cli_description *description = cli_describe (command);

    json_string (json, "name", command->name);
    json_string (json, "synopsis", command->arguments);
    json_string (json, "about", command->about);
    help_json_description (json, description);
    cli_description_free (description);
}

void
cli_json_command (const struct cli_command *command)
{
    struct json json = help_json_begin ();

    help_json_members (&json, command);
    help_json_end (&json);
}

static void
help_json_word (const char *word, const char *value, void *data)
{
    struct json *json = data;

    json_open (json, NULL, '{');
    json_string (json, "name", word);
    json_string (json, "value", value);
    json_bool (json, "value_optional", value && *value == '[');
    help_json_words (json, value);
    json_close (json, '}');
}

/* The command line of a mount. */
static void
help_json_mount (struct json *json)
{
    struct cli_description *description = cli_describe (NULL);

    json_open (json, "mount", '{');
    json_string (json, "synopsis", "-f VOLFILE MOUNTPOINT");
    help_json_description (json, description);
    json_open (json, "mount_options", '[');
    if (cli_mount)
        cli_mount->words (help_json_word, json);
    json_close (json, ']');
    json_close (json, '}');
    cli_description_free (description);
}

/* --- types ------------------------------------------------------------------------------------ */

/* Whether the volfile of a server may set it. */
static const char *
help_json_from_server (const struct xlator_option *row)
{
    if (row->from_server == SERVER_MAY_IN_TLS_FOLDER)
        return "tls-folder";
    return option_is_local (row, "/") ? "no" : "yes";
}

static void
help_json_range (struct json *json, const struct xlator_option *row)
{
    if (row->min == 0 && row->max == 0) {
        json_null (json, "min");
        json_null (json, "max");
    } else {
        json_number (json, "min", row->min);
        json_number (json, "max", row->max);
    }
}

static void
help_json_row (struct json *json, const struct xlator_option *row, bool online)
{
    g_autofree char *allowed = option_allowed (row);
    g_autofree const char **names = option_value_names (row);

    json_open (json, NULL, '{');
    json_string (json, "name", row->key[0]);
    json_open (json, "aliases", '[');
    for (int i = 1; i < OPTION_KEYS && row->key[i]; i++)
        json_string (json, NULL, row->key[i]);
    json_close (json, ']');
    json_string (json, "about", row->help);
    json_string (json, "type", option_type_name (row->type));
    json_string (json, "allowed", allowed);
    json_string (json, "default", row->value);
    help_json_range (json, row);
    json_strings (json, "values", names);
    json_bool (json, "required", row->required);
    json_bool (json, "online", row->online && online);
    json_bool (json, "secret", row->secret);
    json_bool (json, "inert", row->inert);
    json_string (json, "from_server", help_json_from_server (row));
    json_string (json, "not_from_server", row->local_value);
    json_string (json, "excludes", row->excludes);
    json_string (json, "at_most", row->at_most);
    json_close (json, '}');
}

static void
help_json_rows (struct json *json, const char *key, const struct xlator_option *options,
                bool online)
{
    json_open (json, key, '[');
    for (; options && options->key[0]; options++)
        help_json_row (json, options, online);
    json_close (json, ']');
}

/* What it needs around it. */
static void
help_json_needs (struct json *json, const struct xlator_api *api)
{
    json_open (json, "subvolumes", '{');
    json_number (json, "min", api->children.min);
    if (api->children.max < 0)
        json_null (json, "max");
    else
        json_number (json, "max", api->children.max);
    json_close (json, '}');
    json_bool (json, "top_only", api->top_only);
    json_bool (json, "once", api->once);
    json_strings (json, "above", api->above);
    json_strings (json, "below", api->below);
    json_open (json, "not_below", '[');
    for (const struct xlator_misfit *misfit = api->not_below; misfit && misfit->type; misfit++) {
        json_open (json, NULL, '{');
        json_string (json, "type", misfit->type);
        json_string (json, "because_it", misfit->why);
        json_close (json, '}');
    }
    json_close (json, ']');
}

static void
help_json_command_options (struct json *json, const struct xlator_command_option *options)
{
    json_open (json, "options", '[');
    for (; options && options->name; options++) {
        json_open (json, NULL, '{');
        json_string (json, "name", options->name);
        json_string (json, "value", options->value);
        json_string (json, "about", options->about);
        json_close (json, '}');
    }
    json_close (json, ']');
}

/* The commands of a translator. arguments is null for a command of windlass tell alone. */
static void
help_json_commands (struct json *json, const struct xlator_command *commands)
{
    json_open (json, "commands", '[');
    for (; commands && commands->name; commands++) {
        json_open (json, NULL, '{');
        json_string (json, "name", commands->name);
        json_string (json, "about", commands->about);
        json_string (json, "arguments", commands->arguments);
        json_bool (json, "open", commands->open);
        help_json_command_options (json, commands->options);
        json_close (json, '}');
    }
    json_close (json, ']');
}

void
cli_json_type (const char *type, const char *about, const struct xlator_api *api,
               const struct xlator_option *options)
{
    struct json json = help_json_begin ();

    json_string (&json, "type", type);
    json_string (&json, "about", about);
    if (api)
        help_json_needs (&json, api);
    help_json_rows (&json, "options", options, api && api->reconfigure);
    help_json_rows (&json, "common_options", api ? common_options : NULL, true);
    help_json_commands (&json, api ? api->commands : NULL);
    help_json_end (&json);
}

static void
help_json_type (struct json *json, const char *type, const char *about)
{
    json_open (json, NULL, '{');
    json_string (json, "type", type);
    json_string (json, "about", about);
    json_close (json, '}');
}

static void
help_json_own_type (const struct cli_type *type, void *data)
{
    help_json_type (data, type->type, type->about);
}

static void
help_json_types (struct json *json, const char *const *dirs)
{
    g_autoptr (GPtrArray) types = module_types (dirs);

    json_open (json, "types", '[');
    cli_types_foreach (help_json_own_type, json);
    for (guint i = 0; i < types->len; i++) {
        g_autofree char *error = NULL;
        const struct xlator_api *api = module_load (types->pdata[i], dirs, &error);

        if (api)
            help_json_type (json, types->pdata[i], api->about);
        else
            fprintf (stderr, "windlass help: %s\n", error);
    }
    json_close (json, ']');
}

/* --- presets ---------------------------------------------------------------------------------- */

static void
help_json_preset (struct json *json, const struct preset *preset)
{
    json_string (json, "name", preset->name);
    json_string (json, "about", preset->summary);
    json_bool (json, "takes_host", preset_is_of_host (preset));
    json_open (json, "flags", '[');
    for (guint i = 0; i < preset->flags->len; i++) {
        const struct preset_flag *flag = preset->flags->pdata[i];

        json_open (json, NULL, '{');
        json_string (json, "name", flag->name);
        json_string (json, "about", flag->help);
        json_close (json, '}');
    }
    json_close (json, ']');
}

int
cli_json_preset (const char *name)
{
    g_autofree char *error = NULL;
    g_autoptr (preset_t) preset = preset_read (name, &error);
    struct json json;

    if (!preset)
        return CLI_USAGE;
    json = help_json_begin ();
    help_json_preset (&json, preset);
    help_json_end (&json);
    return CLI_OK;
}

static void
help_json_presets (struct json *json)
{
    g_autoptr (GPtrArray) names = preset_names ();

    json_open (json, "presets", '[');
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *error = NULL;
        g_autoptr (preset_t) preset = preset_read (names->pdata[i], &error);

        if (!preset) {
            fprintf (stderr, "windlass help: %s\n", error);
            continue;
        }
        json_open (json, NULL, '{');
        help_json_preset (json, preset);
        json_close (json, '}');
    }
    json_close (json, ']');
}

void
cli_json_presets (void)
{
    struct json json = help_json_begin ();

    help_json_presets (&json);
    help_json_end (&json);
}

/* --- everything ------------------------------------------------------------------------------- */

static void
help_json_entry (struct json *json, const struct cli_command *command)
{
    json_open (json, NULL, '{');
    help_json_members (json, command);
    json_close (json, '}');
}

void
cli_json_all (const char *const *dirs)
{
    struct json json = help_json_begin ();
    g_autoptr (GPtrArray) more = cli_translator_commands ("", dirs);

    json_string (&json, "version", PACKAGE_VERSION);
    json_open (&json, "commands", '[');
    for (const struct cli_command *command = cli_commands; command->name; command++)
        help_json_entry (&json, command);
    for (guint i = 0; i < more->len; i++)
        help_json_entry (&json, more->pdata[i]);
    json_close (&json, ']');
    help_json_mount (&json);
    help_json_types (&json, dirs);
    help_json_presets (&json);
    json_open (&json, "operations", '[');
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
        json_string (&json, NULL, fop_name (op));
    json_close (&json, ']');
    help_json_end (&json);
}
