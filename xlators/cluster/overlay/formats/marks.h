/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marks in extended attributes, in the format of the kernel's overlayfs: marks.c. */
#ifndef WINDLASS_OVERLAY_FORMATS_MARKS_H
#define WINDLASS_OVERLAY_FORMATS_MARKS_H

#include "xlator.h"

struct overlay_act;

/* Marks of an object in a layer. Those before OVERLAY_VALUES are read, of the others it counts
 * whether they are there. */
enum overlay_mark {
    OVERLAY_OPAQUE,
    OVERLAY_REDIRECT,
    OVERLAY_ORIGIN,
    OVERLAY_IDENTITY, /* of this translator: gfid and inode number that a copy goes on to have */
    OVERLAY_VALUES,
    OVERLAY_IMPURE = OVERLAY_VALUES,
    OVERLAY_METACOPY,
    OVERLAY_WHITEOUT,
    OVERLAY_LAYER, /* of this translator: of the root of an upper that it has made. Its value is the
                    * last name of the option upper */
    OVERLAY_MARKS
};

struct overlay_marks {
    unsigned has;            /* a bit for each mark */
    const char *opaque_key;  /* the attribute that makes the directory opaque */
    char *redirect;          /* owned; NULL: none */
    unsigned char *origin;   /* owned; NULL: none */
    size_t origin_size;
    gfid_t gfid;             /* of the identity; null: none */
    uint64_t number;
    bool opaque;             /* nothing below counts */
    bool files_are_whiteouts; /* an empty file with the mark is one */
};

/* Whether a program's attribute would have a prefix of marks, or a layer's is a mark. */
bool overlay_attribute_has_prefix (const char *name);
bool overlay_attribute_is_mark (const char *name);
/* A layer that was written in a mount of overlayfs may have marks that are meant for the programs
 * in that mount: trusted.overlay.overlay.opaque is trusted.overlay.opaque there. Returns whether an
 * attribute is such a one. */
bool overlay_attribute_is_escaped (const char *name);
char *overlay_attribute_escape (const char *name);   /* of a mark. g_free it */
char *overlay_attribute_unescape (const char *name); /* g_free it */

/* Returns the attribute of a mark in the upper; g_free it. */
char *overlay_mark_name (const xlator_t *this, enum overlay_mark mark);
int overlay_mark_set (struct overlay_act *act, inode_t *below, enum overlay_mark mark,
                      const void *value, size_t size);
/* Succeeds also where there is none. */
int overlay_mark_remove (struct overlay_act *act, inode_t *below, enum overlay_mark mark);
/* Reads a mark of the upper: 0 and NULL if there is none. g_free *ret_value, which has a NUL behind
 * its *ret_size bytes. */
int overlay_mark_get (struct overlay_act *act, inode_t *below, enum overlay_mark mark,
                      char **ret_value, size_t *ret_size);

/* Fills in which marks are among the attributes of an object of a slot. */
void overlay_marks_list (const xlator_t *this, unsigned slot, const dict_t *names,
                         struct overlay_marks *marks);
/* The attribute of a mark that the object has. g_free it. */
char *overlay_marks_key (const xlator_t *this, const struct overlay_marks *marks,
                         enum overlay_mark mark);
/* Fills in the value of a mark. */
void overlay_marks_read (struct overlay_marks *marks, enum overlay_mark mark, const void *value,
                         size_t size);
void overlay_marks_clear (struct overlay_marks *marks);

static inline bool
overlay_has (const struct overlay_marks *marks, enum overlay_mark mark)
{
    return marks->has & 1u << mark;
}

#endif
