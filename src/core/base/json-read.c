/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads what json_append_string and its like have written: RFC 8259, for one object without others
 * in it. */
#include "core/base/json.h"

#include <string.h>

#define BLANKS " \t\r\n"
#define SURROGATE_HIGH 0xd800
#define SURROGATE_LOW 0xdc00

static const char *
skip_blanks (const char *at)
{
    return at + strspn (at, BLANKS);
}

/* Reads four hexadecimal digits. Returns -1 if they are not. */
static gint32
read_hex (const char *at)
{
    gint32 value = 0;

    for (int i = 0; i < 4; i++) {
        if (!g_ascii_isxdigit (at[i]))
            return -1;
        value = value << 4 | g_ascii_xdigit_value (at[i]);
    }
    return value;
}

/* at: after "\u". Returns what follows the character, which may be a pair of surrogates; NULL: it
 * is malformed, or NUL. */
static const char *
read_unicode (const char *at, GString *out)
{
    gint32 c = read_hex (at), low;

    if (c <= 0)
        return NULL;
    at += 4;
    if (c >= SURROGATE_HIGH && c < SURROGATE_LOW) {
        low = at[0] == '\\' && at[1] == 'u' ? read_hex (at + 2) : -1;
        if (low < SURROGATE_LOW || low > SURROGATE_LOW + 0x3ff)
            return NULL;
        c = 0x10000 + ((c - SURROGATE_HIGH) << 10) + low - SURROGATE_LOW;
        at += 6;
    }
    if (!g_unichar_validate ((gunichar) c))
        return NULL;
    g_string_append_unichar (out, (gunichar) c);
    return at;
}

/* at: after the backslash. */
static const char *
read_escape (const char *at, GString *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *name = *at ? strchr (names, *at) : NULL;

    if (*at == 'u')
        return read_unicode (at + 1, out);
    if (!name)
        return NULL;
    g_string_append_c (out, values[name - names]);
    return at + 1;
}

/* at: a quote. Returns what follows the string, *ret_text (g_free it); NULL: it is malformed. */
static const char *
read_string (const char *at, char **ret_text)
{
    GString *out = g_string_new (NULL);

    for (at++; at && *at != '"';) {
        if (*at == '\\')
            at = read_escape (at + 1, out);
        else if ((unsigned char) *at < 0x20)
            at = NULL;
        else
            g_string_append_c (out, *at++);
    }
    *ret_text = g_string_free (out, !at);
    return at ? at + 1 : NULL;
}

/* Reads a string, or the text of a number, true or false; null becomes NULL. */
static const char *
read_json_value (const char *at, char **ret_text)
{
    const size_t size = strspn (at, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "+-.");

    if (*at == '"')
        return read_string (at, ret_text);
    if (size == 0)
        return NULL;
    *ret_text = size == 4 && memcmp (at, "null", 4) == 0 ? NULL : g_strndup (at, size);
    return at + size;
}

static const char *
read_member (const char *at, GHashTable *members)
{
    g_autofree char *key = NULL;
    char *value = NULL;

    at = *at == '"' ? read_string (at, &key) : NULL;
    if (at)
        at = skip_blanks (at);
    if (!at || *at != ':')
        return NULL;
    at = read_json_value (skip_blanks (at + 1), &value);
    if (at)
        g_hash_table_replace (members, g_steal_pointer (&key), value);
    return at ? skip_blanks (at) : NULL;
}

GHashTable *
json_read_members (const char *text)
{
    GHashTable *members = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    const char *at = skip_blanks (text);

    at = *at == '{' ? skip_blanks (at + 1) : NULL;
    if (at && *at != '}')
        while ((at = read_member (at, members)) && *at == ',')
            at = skip_blanks (at + 1);
    if (at && *at == '}' && *skip_blanks (at + 1) == '\0')
        return members;
    g_hash_table_unref (members);
    return NULL;
}
