/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names of extended attributes that the graph's modules contain as strings: a translator may have
 * special answers for a name of its own. */
#include "conform/inprocess/inprocess.h"

#include <link.h>
#include <string.h>

#define KEY_MAX 255 /* XATTR_NAME_MAX */

static GArray *volfile_keys; /* of struct class_value; the last one has no name */

static bool
text_is_key (const char *text, size_t length)
{
    static const char *const spaces[] = { "user.", "trusted.", "security.", "system.",
                                          "glusterfs." };

    for (size_t i = 0; i < G_N_ELEMENTS (spaces) && length <= KEY_MAX; i++)
        if (length > strlen (spaces[i]) && memcmp (text, spaces[i], strlen (spaces[i])) == 0
            && !memchr (text, '%', length))
            return true;
    return false;
}

static void
key_add (const char *text)
{
    const char *key = g_intern_string (text);
    g_autofree char *name = g_strconcat ("own:", key, NULL);
    const struct class_value value = { g_intern_string (name), 0, key };

    for (guint i = 0; i < volfile_keys->len; i++)
        if (g_array_index (volfile_keys, struct class_value, i).text == key)
            return;
    g_array_append_val (volfile_keys, value);
}

/* strnlen (3), also over the gaps that the address sanitizer leaves between strings. */
static __attribute__ ((no_sanitize ("address"), noinline)) size_t
length_before (const char *at, const char *end)
{
    const char *p = at;

    while (p < end && *p)
        p++;
    return (size_t) (p - at);
}

/* Finds each string that follows a NUL and ends with one. */
static void
keys_between (const char *at, const char *end)
{
    while (at < end) {
        const size_t length = length_before (at, end);

        if (at + length < end && text_is_key (at, length))
            key_add (at);
        at += length + 1;
    }
}

static int
keys_of_object (struct dl_phdr_info *info, size_t size, void *data)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW (Phdr) *part = &info->dlpi_phdr[i];
        const char *base = (const char *) (info->dlpi_addr + part->p_vaddr);

        if (part->p_type == PT_LOAD && !(part->p_flags & PF_W) && place_type (base))
            keys_between (base, base + part->p_filesz);
    }
    return 0;
}

void
keys_learn (const struct conform_options *options)
{
    g_autofree char *error = NULL;
    struct volfile *volfile = options->volfile ? volfile_read (options->volfile, &error) : NULL;
    struct graph *graph;

    volfile_keys = g_array_new (TRUE, TRUE, sizeof (struct class_value));
    if (!volfile)
        return;
    graph = graph_load (volfile, &(struct graph_settings){ .volume_name = options->volume_name,
                                                           .xlator_dirs = options->xlator_dirs });
    places_learn (graph);
    dl_iterate_phdr (keys_of_object, NULL);
    graph_free (graph);
}

const struct class_value *
keys_all (void)
{
    return (const struct class_value *) volfile_keys->data;
}

bool
key_is_own (const struct class_value *value)
{
    return value >= keys_all () && value < keys_all () + volfile_keys->len;
}
