/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Types of GlusterFS that Windlass does not have, in volfiles of a GlusterFS server. A volume whose
 * absence harms no data is left out: its parents get its child instead. Any other is refused with
 * what would go wrong.
 */
#include "graph/internal.h"

#include <string.h>

struct foreign {
    const char *type;
    const char *effect; /* of leaving it out, where it has a single subvolume; NULL: refused */
    const char *harm;   /* why it can't be left out, otherwise */
};

static const struct foreign foreigners[] = {
    { "cluster/disperse", NULL, "each brick has only a part of every file" },
    { "features/shard", NULL, "large files are stored in pieces" },
    { "features/cloudsync", NULL, "the data of some files is elsewhere" },
    { "features/read-only", NULL, "the volume may not be changed" },
    { "features/worm", NULL, "files may not be changed" },
    { "encryption/crypt", NULL, "files are stored encrypted" },
    { "features/snapview-client", "there is no directory .snaps", "it has two subvolumes" },
    { "features/gfid-access", "there is no directory .gfid", "it must have one subvolume" },
    { "features/quiesce", "operations do not wait while bricks change", "it must have one "
                                                                          "subvolume" },
};

static const struct foreign *
foreign_find (const char *type)
{
    for (size_t i = 0; type && i < G_N_ELEMENTS (foreigners); i++)
        if (strcmp (foreigners[i].type, type) == 0)
            return &foreigners[i];
    return NULL;
}

static char *
options_text (const struct volfile_volume *volume)
{
    GString *out = g_string_new (NULL);

    for (guint i = 0; i < volume->options->len; i++) {
        const struct volfile_option *option = volume->options->pdata[i];

        g_string_append_printf (out, "%s%s %s", i ? ", " : " (its options: ", option->key,
                                option->value);
    }
    if (out->len)
        g_string_append_c (out, ')');
    return g_string_free (out, FALSE);
}

/* Lets the parents of a volume use its only subvolume. */
static void
volume_bypass (struct volfile *volfile, const struct volfile_volume *volume)
{
    const struct volfile_word *child = volume->subvolumes->pdata[0];

    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *parent = volfile->volumes->pdata[i];

        for (guint j = 0; j < parent->subvolumes->len; j++) {
            struct volfile_word *word = parent->subvolumes->pdata[j];

            if (parent != volume && strcmp (word->text, volume->name) == 0) {
                g_free (word->text);
                word->text = g_strdup (child->text);
            }
        }
    }
}

/* Returns whether the volume is to go. Otherwise it loses its type: nothing more is said of it. */
static bool
volume_judge (struct volfile *volfile, struct volfile_volume *volume,
              const struct foreign *foreign)
{
    const struct place place = { volume->type_line, volume->type_column };
    g_autofree char *options = options_text (volume);

    if (!foreign->effect || volume->subvolumes->len != 1) {
        problem_error (volfile, place, volume->name,
                       "type '%s' is not in Windlass, and can't be left out: %s%s", volume->type,
                       foreign->harm, options);
        g_clear_pointer (&volume->type, g_free);
        return false;
    }
    problem_warning (volfile, place, volume->name, "type '%s' is not in Windlass; without it %s%s",
                     volume->type, foreign->effect, options);
    return true;
}

static bool
type_is_there (const char *type, const char *const *xlator_dirs)
{
    g_autofree char *error = NULL;

    return module_load (type, xlator_dirs, &error) != NULL;
}

void
foreign_leave_out (struct volfile *volfile, const char *const *xlator_dirs)
{
    for (guint i = 0; i < volfile->volumes->len;) {
        struct volfile_volume *volume = volfile->volumes->pdata[i];
        const struct foreign *foreign = foreign_find (volume->type);

        if (!foreign || type_is_there (volume->type, xlator_dirs)
            || !volume_judge (volfile, volume, foreign)) {
            i++;
            continue;
        }
        volume_bypass (volfile, volume);
        g_ptr_array_remove_index (volfile->volumes, i);
    }
}
