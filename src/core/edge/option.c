/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Values of options: converts text, all of it, to values. Each type has one function, which returns
 * 0, -EINVAL if the text has the wrong syntax, or -ERANGE if the value is not allowed.
 */
#include "core/edge/option.h"
#include "core/base/name.h"
#include "core/base/log.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define NANOSECONDS 1e9

/* A number and its unit, "1.5" and "GB". */
struct quantity {
    uint64_t whole;
    double fraction; /* below 1 */
    const char *unit;
};

struct unit {
    const char *name;
    double factor;
};

static const struct unit size_units[] = {
    { "", 1 },        { "B", 1 },       { "KB", 0x1p10 }, { "MB", 0x1p20 },
    { "GB", 0x1p30 }, { "TB", 0x1p40 }, { "PB", 0x1p50 }, { NULL, 0 },
};

static const struct unit time_units[] = {
    { "", 1 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "sec", 1 }, { "m", 60 }, { "min", 60 },
    { "h", 3600 }, { "hr", 3600 }, { "d", 86400 }, { "days", 86400 }, { "w", 604800 },
    { "wk", 604800 }, { NULL, 0 },
};

static const char *const type_names[] = {
    [OPTION_BOOL] = "boolean",
    [OPTION_INT] = "integer",
    [OPTION_DOUBLE] = "number",
    [OPTION_SIZE] = "size",
    [OPTION_PERCENT] = "percentage",
    [OPTION_PERCENT_OR_SIZE] = "percentage or size",
    [OPTION_TIME] = "time",
    [OPTION_PATH] = "path",
    [OPTION_STRING] = "string",
    [OPTION_ENUM] = "one of",
    [OPTION_XLATOR] = "volume",
};

/* --- ranges --------------------------------------------------------------------------------- */

/* Returns whether there is a maximum: a maximum that is infinite or below the minimum is none. */
static bool
option_has_max (const struct xlator_option *option)
{
    return option->max >= option->min && isfinite (option->max);
}

static bool
option_has_range (const struct xlator_option *option)
{
    return (option->min != 0 || option->max != 0)
        && (isfinite (option->min) || option_has_max (option));
}

static int
option_in_range (const struct xlator_option *option, double value)
{
    if (!option_has_range (option))
        return 0;
    if (value < option->min || (option_has_max (option) && value > option->max))
        return -ERANGE;
    return 0;
}

/* --- parsing -------------------------------------------------------------------------------- */

/* Parses digits with at most one point among them; no sign, no exponent, no "inf". */
static int
quantity_parse (const char *text, struct quantity *ret_quantity)
{
    struct quantity q = { 0 };
    const char *at = text;
    double place = 0.1;
    bool digits = false;

    for (; g_ascii_isdigit (*at); at++, digits = true)
        if (__builtin_mul_overflow (q.whole, 10, &q.whole)
            || __builtin_add_overflow (q.whole, (uint64_t) (*at - '0'), &q.whole))
            return -ERANGE;
    if (*at == '.') {
        for (at++; g_ascii_isdigit (*at); at++, digits = true) {
            q.fraction += (*at - '0') * place;
            place /= 10;
        }
    }
    if (!digits)
        return -EINVAL;
    q.unit = at;
    *ret_quantity = q;
    return 0;
}

static const struct unit *
unit_find (const struct unit *units, const char *name)
{
    for (; units->name; units++)
        if (g_ascii_strcasecmp (units->name, name) == 0)
            return units;
    return NULL;
}

static int
parse_bool (const char *text, bool *ret_value)
{
    static const char *const on[] = { "1", "on", "yes", "true", "enable" };
    static const char *const off[] = { "0", "off", "no", "false", "disable" };

    for (size_t i = 0; i < G_N_ELEMENTS (on); i++) {
        if (g_ascii_strcasecmp (text, on[i]) == 0 || g_ascii_strcasecmp (text, off[i]) == 0) {
            *ret_value = g_ascii_strcasecmp (text, on[i]) == 0;
            return 0;
        }
    }
    return -EINVAL;
}

/* Parses an integer literal of C: decimal, 0x or octal, with or without a sign. */
static int
parse_int (const struct xlator_option *option, const char *text, int64_t *ret_value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;
    int64_t value;

    if (!g_ascii_isdigit (*digits))
        return -EINVAL;
    errno = 0;
    value = g_ascii_strtoll (text, &end, 0);
    if (*end)
        return -EINVAL;
    if (errno == ERANGE || (option->size == sizeof (int) && (value < INT_MIN || value > INT_MAX)))
        return -ERANGE;
    *ret_value = value;
    return option_in_range (option, value);
}

static int
parse_double (const struct xlator_option *option, const char *text, double *ret_value)
{
    char *end;
    double value;

    if (!*text || strspn (text, "0123456789.eE+-") != strlen (text))
        return -EINVAL;
    value = g_ascii_strtod (text, &end);
    if (*end || end == text)
        return -EINVAL;
    if (!isfinite (value) || (value < 0 && !(option->min < 0)))
        return -ERANGE;
    *ret_value = value;
    return option_in_range (option, value);
}

static int
parse_size (const struct xlator_option *option, const char *text, uint64_t *ret_value)
{
    struct quantity q;
    const struct unit *unit;
    uint64_t value;
    int r = quantity_parse (text, &q);

    if (r < 0)
        return r;
    unit = unit_find (size_units, q.unit);
    if (!unit)
        return -EINVAL;
    if (__builtin_mul_overflow (q.whole, (uint64_t) unit->factor, &value)
        || __builtin_add_overflow (value, (uint64_t) (q.fraction * unit->factor), &value))
        return -ERANGE;
    *ret_value = value;
    return option_in_range (option, value);
}

static int
parse_percent (const struct xlator_option *option, const char *text, double *ret_value)
{
    struct quantity q;
    int r = quantity_parse (text, &q);

    if (r < 0)
        return r;
    if (*q.unit && strcmp (q.unit, "%") != 0)
        return -EINVAL;
    *ret_value = q.whole + q.fraction;
    if (*ret_value > 100)
        return -ERANGE;
    /* The range of OPTION_PERCENT_OR_SIZE applies to its size. */
    return option->type == OPTION_PERCENT ? option_in_range (option, *ret_value) : 0;
}

static int
parse_share (const struct xlator_option *option, const char *text, struct option_share *ret_value)
{
    uint64_t bytes = 0;
    int r;

    ret_value->percent = g_str_has_suffix (text, "%");
    if (ret_value->percent)
        return parse_percent (option, text, &ret_value->amount);
    r = parse_size (option, text, &bytes);
    ret_value->amount = bytes;
    return r;
}

static int
parse_time (const struct xlator_option *option, const char *text, int64_t *ret_value)
{
    struct quantity q;
    const struct unit *unit;
    double seconds;
    int r = quantity_parse (text, &q);

    if (r < 0)
        return r;
    unit = unit_find (time_units, q.unit);
    if (!unit)
        return -EINVAL;
    seconds = (q.whole + q.fraction) * unit->factor;
    if (seconds * NANOSECONDS >= 0x1p63)
        return -ERANGE;
    *ret_value = llrint (seconds * NANOSECONDS);
    return option_in_range (option, seconds);
}

/* Refuses ".." and doesn't resolve it: the result would depend on symbolic links. */
static int
parse_path (const char *text)
{
    g_auto (GStrv) parts = NULL;

    if (*text != '/' || strlen (text) >= PATH_MAX)
        return -EINVAL;
    parts = g_strsplit (text, "/", -1);
    return g_strv_contains ((const char *const *) parts, "..") ? -EINVAL : 0;
}

static int
parse_enum (const struct xlator_option *option, const char *text, int *ret_value)
{
    for (const struct option_choice *at = option->values; at && at->name; at++) {
        if (g_ascii_strcasecmp (at->name, text) == 0) {
            *ret_value = at->number;
            return 0;
        }
    }
    return -EINVAL;
}

/* A value for a field of any type. */
union option_field_value {
    bool boolean;
    int number;
    int64_t integer;
    uint64_t size;
    double real;
    struct option_share share;
};

static int
option_parse_value (const struct xlator_option *option, const char *text,
                    union option_field_value *ret_value)
{
    switch (option->type) {
    case OPTION_BOOL:
        return parse_bool (text, &ret_value->boolean);
    case OPTION_INT:
        return parse_int (option, text, &ret_value->integer);
    case OPTION_DOUBLE:
        return parse_double (option, text, &ret_value->real);
    case OPTION_SIZE:
        return parse_size (option, text, &ret_value->size);
    case OPTION_PERCENT:
        return parse_percent (option, text, &ret_value->real);
    case OPTION_PERCENT_OR_SIZE:
        return parse_share (option, text, &ret_value->share);
    case OPTION_TIME:
        return parse_time (option, text, &ret_value->integer);
    case OPTION_PATH:
        return parse_path (text);
    case OPTION_STRING:
        return 0;
    case OPTION_ENUM:
        return parse_enum (option, text, &ret_value->number);
    case OPTION_XLATOR:
        return *text ? 0 : -EINVAL;
    }
    return -EINVAL;
}

static bool
option_is_text (const struct xlator_option *option)
{
    return option->type == OPTION_PATH || option->type == OPTION_STRING
        || option->type == OPTION_XLATOR;
}

static void
option_field_store (const struct xlator_option *option, const char *text,
                    const union option_field_value *value, void *field)
{
    if (option_is_text (option)) {
        g_assert (option->size == sizeof (char *));
        *(char **) field = g_strdup (text);
    } else if (option->type == OPTION_INT && option->size == sizeof (int)) {
        *(int *) field = value->integer;
    } else {
        g_assert (option->size <= sizeof *value);
        memcpy (field, value, option->size);
    }
}

/* An unknown type may have any meaning. */
bool
option_is_local (const struct xlator_option *option, const char *text)
{
    if (option->inert || option->from_server == SERVER_MAY)
        return false;
    switch (option->type) {
    case OPTION_BOOL:
    case OPTION_INT:
    case OPTION_DOUBLE:
    case OPTION_SIZE:
    case OPTION_PERCENT:
    case OPTION_PERCENT_OR_SIZE:
    case OPTION_TIME:
    case OPTION_XLATOR:
        return false;
    case OPTION_ENUM:
        return option->local_value && g_ascii_strcasecmp (option->local_value, text) == 0;
    case OPTION_PATH:
    case OPTION_STRING:
        break;
    }
    return true;
}

int
option_check_name (const char *text, char **ret_allowed)
{
    if (!strchr (text, '/') && !name_is_dots (text)
        && strlen (text) <= NAME_MAX)
        return 0;
    *ret_allowed = g_strdup ("must be a name of at most 255 bytes without '/', or empty for none");
    return -EINVAL;
}

int
option_parse (const struct xlator_option *option, const char *text, void *field, char **ret_allowed)
{
    union option_field_value value = { 0 };
    int r = option_parse_value (option, text, &value);

    if (r < 0) {
        g_autofree char *allowed = option_allowed (option);
        const char *units = "";

        if (r == -EINVAL && option_has_range (option) && option->type == OPTION_SIZE)
            units = ", with B, KB, MB, GB, TB or PB";
        else if (r == -EINVAL && option_has_range (option) && option->type == OPTION_TIME)
            units = ", with ms, s, m, h, d or w";
        *ret_allowed = g_strdup_printf ("must be %s%s", allowed, units);
        return -EINVAL;
    }
    if (option->check && option->check (text, ret_allowed) < 0)
        return -EINVAL;
    if (field && option->size)
        option_field_store (option, text, &value, field);
    return 0;
}

char *
option_purpose (const struct xlator_option *option)
{
    return option->help ? g_strdup_printf (" (%s: %s)", option->key[0], option->help)
                        : g_strdup ("");
}

void
option_clear (const struct xlator_option *options, void *private)
{
    for (; options && options->key[0]; options++)
        if (option_is_text (options) && options->size)
            g_clear_pointer ((char **) ((char *) private + options->offset), g_free);
}

/* --- texts about a row ---------------------------------------------------------------------- */

const struct xlator_option *
option_find (const struct xlator_option *options, const char *key)
{
    for (; options && options->key[0]; options++)
        for (int i = 0; i < OPTION_KEYS && options->key[i]; i++)
            if (strcmp (options->key[i], key) == 0)
                return options;
    return NULL;
}

char *
option_size_text (uint64_t bytes)
{
    for (size_t i = G_N_ELEMENTS (size_units) - 2; i > 0; i--) {
        const uint64_t factor = size_units[i].factor;

        if (bytes && bytes % factor == 0)
            return g_strdup_printf ("%" G_GUINT64_FORMAT "%s", bytes / factor, size_units[i].name);
    }
    return g_strdup ("0");
}

/* Returns one end of a range in the syntax of a value. */
static char *
option_bound_text (const struct xlator_option *option, double bound)
{
    const bool size = option->type == OPTION_SIZE || option->type == OPTION_PERCENT_OR_SIZE;
    char digits[G_ASCII_DTOSTR_BUF_SIZE];

    if (size)
        return option_size_text (bound >= 0x1p64 ? UINT64_MAX : bound > 0 ? (uint64_t) bound : 0);
    if (option->type == OPTION_INT && option->value && option->value[0] == '0' && option->value[1])
        return g_strdup_printf ("%#o", (unsigned) bound); /* a mode, whose default is octal as
                                                           * well */
    if (fabs (bound) < 1e15 && bound == trunc (bound))
        g_snprintf (digits, sizeof digits, "%.0f", bound);
    else
        g_ascii_formatd (digits, sizeof digits, "%g", bound);
    return g_strconcat (digits, option->type == OPTION_TIME ? "s" : "", NULL);
}

static char *
option_range_text (const struct xlator_option *option)
{
    g_autofree char *min = option_bound_text (option, option->min);
    g_autofree char *max = NULL;

    if (!option_has_max (option))
        return g_strdup_printf ("%s or more", min);
    max = option_bound_text (option, option->max);
    if (isinf (option->min))
        return g_strdup_printf ("at most %s", max);
    return g_strdup_printf ("%s to %s", min, max);
}

/* --- choices -------------------------------------------------------------------------------- */

const struct option_choice option_switches[] = {
    { "auto", SWITCH_AUTO }, OPTION_NAMES_ON (SWITCH_ON), OPTION_NAMES_OFF (SWITCH_OFF), {},
};

const struct option_choice option_log_levels[] = {
    { "NONE", GF_LOG_NONE },       { "EMERG", GF_LOG_EMERG },   { "ALERT", GF_LOG_ALERT },
    { "CRITICAL", GF_LOG_CRITICAL }, { "ERROR", GF_LOG_ERROR },   { "WARNING", GF_LOG_WARNING },
    { "NOTICE", GF_LOG_NOTICE },   { "INFO", GF_LOG_INFO },     { "DEBUG", GF_LOG_DEBUG },
    { "TRACE", GF_LOG_TRACE },     {},
};

const char **
option_value_names (const struct xlator_option *option)
{
    const char **names = NULL;
    size_t n = 0;

    if (option->type != OPTION_ENUM)
        return NULL;
    while (option->values && option->values[n].name)
        n++;
    names = g_new0 (const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = option->values[i].name;
    return names;
}

const char *
option_choice_name (const struct option_choice *choices, int number)
{
    while (choices->name && choices->number != number)
        choices++;
    return choices->name;
}

static char *
option_values_text (const struct xlator_option *option)
{
    g_autofree const char **names = option_value_names (option);
    g_autofree char *text = g_strjoinv (", ", (char **) names);

    return g_strdup_printf ("one of %s", text);
}

char *
option_allowed (const struct xlator_option *option)
{
    static const char *const texts[] = {
        [OPTION_BOOL] = "on or off",
        [OPTION_INT] = "a whole number",
        [OPTION_DOUBLE] = "a number, 0 or more",
        [OPTION_SIZE] = "a size such as 64KB, 1MB or 1.5GB",
        [OPTION_PERCENT] = "a percentage, 0 to 100",
        [OPTION_PERCENT_OR_SIZE] = "a percentage, 0% to 100%, or a size such as 64KB, 1MB or 1.5GB",
        [OPTION_TIME] = "a time such as 500ms, 10s, 5m or 1h",
        [OPTION_PATH] = "an absolute path without '..'",
        [OPTION_STRING] = "any text",
        [OPTION_XLATOR] = "the name of a volume",
    };
    g_autofree char *range = NULL;

    if (option->type == OPTION_ENUM)
        return option_values_text (option);
    if (!option_has_range (option) || option->type < OPTION_INT || option->type > OPTION_TIME)
        return g_strdup (texts[option->type]);
    range = option_range_text (option);
    if (option->type == OPTION_PERCENT_OR_SIZE)
        return g_strdup_printf ("0%% to 100%%, or %s", range);
    return g_steal_pointer (&range);
}

const char *
option_type_name (enum option_type type)
{
    return (size_t) type < G_N_ELEMENTS (type_names) ? type_names[type] : "unknown";
}
