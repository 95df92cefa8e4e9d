/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Types of GlusterFS that Windlass does not have, in volfiles of a GlusterFS server. A volume whose
 * absence harms no data is left out: its parents get its first child instead. Where another type
 * reads and writes the same files, that takes the place of the volume's. Any other is refused with
 * what would go wrong.
 */
#include "graph/internal.h"

#include <string.h>

struct foreign {
    const char *type;
    const char *instead; /* the type that takes its place; NULL: none does */
    const char *effect;  /* of that, or of leaving it out; NULL: refused */
    guint subvolumes;    /* how many it has where it is left out */
    const char *harm;    /* why it can't be left out, otherwise */
};

#define ONE_SUBVOLUME 1, "it must have one subvolume"

static const struct foreign foreigners[] = {
    { "cluster/nufa", "cluster/distribute",
      "a new file lies on the brick that its name decides, not on one of this machine", 0, NULL },
    { "cluster/switch", "cluster/distribute",
      "a new file lies on the brick that its name decides, not on one that a pattern names", 0,
      NULL },
    { "cluster/disperse", NULL, NULL, 0, "without it, each brick shows only a part of every file" },
    { "features/shard", NULL, NULL, 0, "large files are stored in pieces" },
    { "features/cloudsync", NULL, NULL, 0, "the data of some files is elsewhere" },
    { "features/cdc", NULL, NULL, 0,
      "the servers compress what is read, and expect what is written to be compressed; 'gluster "
      "volume set VOLUME network.compression off' ends that" },
    { "features/worm", NULL, NULL, 0,
      "without it, programs could change files that it keeps as they are" },
    { "encryption/crypt", NULL, NULL, 0,
      "without it, programs would see the encrypted bytes that are stored" },
    { "features/snapview-client", NULL, "there is no directory .snaps", 2,
      "it must have two subvolumes, the second for the snapshots" },
    { "features/gfid-access", NULL, "there is no directory .gfid", ONE_SUBVOLUME },
    { "features/quiesce", NULL, "operations do not wait while bricks change", ONE_SUBVOLUME },
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

/* Lets the parents of a volume use its first subvolume. */
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

static bool
volume_is_used (const struct volfile *volfile, const char *name)
{
    for (guint i = 0; i < volfile->volumes->len; i++) {
        const struct volfile_volume *parent = volfile->volumes->pdata[i];

        for (guint j = 0; j < parent->subvolumes->len; j++)
            if (strcmp (((struct volfile_word *) parent->subvolumes->pdata[j])->text, name) == 0)
                return true;
    }
    return false;
}

static void
volume_remove (struct volfile *volfile, const char *name)
{
    for (guint i = volfile->volumes->len; i-- > 0;)
        if (strcmp (((struct volfile_volume *) volfile->volumes->pdata[i])->name, name) == 0) {
            g_ptr_array_remove_index (volfile->volumes, i);
            return;
        }
}

/* Removes the volume at i, and those that nothing but it used. */
static void
volume_leave_out (struct volfile *volfile, guint i)
{
    const struct volfile_volume *volume = volfile->volumes->pdata[i];
    g_autoptr (GPtrArray) subvolumes = g_ptr_array_ref (volume->subvolumes);

    volume_bypass (volfile, volume);
    g_ptr_array_remove_index (volfile->volumes, i);
    for (guint j = 1; j < subvolumes->len; j++) {
        const struct volfile_word *word = subvolumes->pdata[j];

        if (!volume_is_used (volfile, word->text))
            volume_remove (volfile, word->text);
    }
}

/* Returns whether the volume is to go. One that is refused loses its type: nothing more is said of
 * it. */
static bool
volume_judge (struct volfile *volfile, struct volfile_volume *volume,
              const struct foreign *foreign)
{
    const struct volfile_place place = { volume->type_line, volume->type_column };
    const bool fits = foreign->instead || volume->subvolumes->len == foreign->subvolumes;
    g_autofree char *options = options_text (volume), *type = g_steal_pointer (&volume->type);

    if (!foreign->effect || !fits) {
        problem_error (volfile, place, volume->name,
                       "type '%s' is not in Windlass, and can't be left out: %s%s", type,
                       foreign->harm, options);
        return false;
    }
    volume->type = g_strdup (foreign->instead);
    problem_warning (volfile, place, volume->name, "type '%s' is not in Windlass; %s%s %s%s", type,
                     foreign->instead ? foreign->instead : "without it",
                     foreign->instead ? " takes its place:" : "", foreign->effect, options);
    return !foreign->instead;
}

static bool
type_is_there (const char *type, const char *const *xlator_dirs)
{
    g_autofree char *error = NULL;

    return module_load (type, xlator_dirs, &error) != NULL;
}

/* From the end, where the volumes are that use those before them. */
void
foreign_leave_out (struct volfile *volfile, const char *const *xlator_dirs)
{
    for (guint i = volfile->volumes->len; i-- > 0; i = MIN (i, volfile->volumes->len)) {
        struct volfile_volume *volume = volfile->volumes->pdata[i];
        const struct foreign *foreign = foreign_find (volume->type);

        if (foreign && !type_is_there (volume->type, xlator_dirs)
            && volume_judge (volfile, volume, foreign))
            volume_leave_out (volfile, i);
    }
}
