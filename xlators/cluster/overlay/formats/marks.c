/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Marks in extended attributes, in the format of the kernel's overlayfs. */
#include "../overlay.h"

#define MARK_ESCAPE "overlay."

static const char *const mark_words[OVERLAY_MARKS] = {
    [OVERLAY_OPAQUE] = "opaque",     [OVERLAY_REDIRECT] = "redirect",
    [OVERLAY_ORIGIN] = "origin",     [OVERLAY_IDENTITY] = "windlass",
    [OVERLAY_IMPURE] = "impure",     [OVERLAY_METACOPY] = "metacopy",
    [OVERLAY_WHITEOUT] = "whiteout", [OVERLAY_LAYER] = "windlass.layer",
};

/* A user may make directories opaque that are that user's own: this hides names, and shows none. */
static const char *const opaque_keys[] = {
    "trusted.overlay.opaque", "user.overlay.opaque", "user.fuseoverlayfs.opaque",
};

static const char *const mark_forms[] = { "trusted.overlay.", "user.overlay." };

/* Returns what follows the prefix of a mark; NULL: the attribute has none. */
static const char *
mark_rest (const char *name)
{
    for (size_t i = 0; name && i < G_N_ELEMENTS (mark_forms); i++)
        if (g_str_has_prefix (name, mark_forms[i]))
            return name + strlen (mark_forms[i]);
    return NULL;
}

bool
overlay_attribute_has_prefix (const char *name)
{
    return mark_rest (name) != NULL;
}

bool
overlay_attribute_is_mark (const char *name)
{
    return mark_rest (name) && !overlay_attribute_is_escaped (name);
}

bool
overlay_attribute_is_escaped (const char *name)
{
    const char *rest = mark_rest (name);

    return rest && g_str_has_prefix (rest, MARK_ESCAPE);
}

char *
overlay_attribute_escape (const char *name)
{
    const char *rest = mark_rest (name);

    return g_strdup_printf ("%.*s" MARK_ESCAPE "%s", (int) (rest - name), name, rest);
}

char *
overlay_attribute_unescape (const char *name)
{
    const char *rest = mark_rest (name);

    return g_strdup_printf ("%.*s%s", (int) (rest - name), name, rest + strlen (MARK_ESCAPE));
}

char *
overlay_mark_name (const xlator_t *this, enum overlay_mark mark)
{
    return g_strconcat (overlay_priv (this)->prefix, mark_words[mark], NULL);
}

/* --- of a layer ------------------------------------------------------------------------------- */

/* Returns OVERLAY_MARKS if the attribute is no mark. */
static enum overlay_mark
mark_of (const xlator_t *this, const char *name)
{
    const char *prefix = overlay_priv (this)->prefix;
    enum overlay_mark mark = 0;

    if (!g_str_has_prefix (name, prefix))
        return OVERLAY_MARKS;
    while (mark < OVERLAY_MARKS && strcmp (name + strlen (prefix), mark_words[mark]) != 0)
        mark++;
    return mark;
}

void
overlay_marks_list (const xlator_t *this, unsigned slot, const dict_t *names,
                    struct overlay_marks *marks)
{
    enum overlay_mark mark;
    const void *value;
    const char *name;
    size_t size;

    for (size_t i = 0; i < dict_count (names); i++) {
        dict_nth (names, i, &name, &value, &size);
        mark = mark_of (this, name);
        if (mark < OVERLAY_MARKS)
            marks->has |= 1u << mark;
    }
    if (overlay_has (marks, OVERLAY_OPAQUE) || slot == OVERLAY_UPPER)
        return;
    for (size_t i = 0; i < G_N_ELEMENTS (opaque_keys); i++)
        if (dict_has (names, opaque_keys[i])) {
            marks->opaque_key = opaque_keys[i];
            marks->has |= 1u << OVERLAY_OPAQUE;
        }
}

char *
overlay_marks_key (const xlator_t *this, const struct overlay_marks *marks, enum overlay_mark mark)
{
    if (mark == OVERLAY_OPAQUE && marks->opaque_key)
        return g_strdup (marks->opaque_key);
    return overlay_mark_name (this, mark);
}

static void
marks_read_identity (struct overlay_marks *marks, const void *value, size_t size)
{
    uint64_t number;

    if (size != sizeof marks->gfid.b + sizeof number)
        return;
    memcpy (marks->gfid.b, value, sizeof marks->gfid.b);
    memcpy (&number, (const char *) value + sizeof marks->gfid.b, sizeof number);
    marks->number = GUINT64_FROM_BE (number);
}

void
overlay_marks_read (struct overlay_marks *marks, enum overlay_mark mark, const void *value,
                    size_t size)
{
    if (mark == OVERLAY_OPAQUE && size > 0) {
        marks->opaque = *(const char *) value == 'y';
        marks->files_are_whiteouts = *(const char *) value == 'x';
    } else if (mark == OVERLAY_REDIRECT) {
        marks->redirect = g_strndup (value, size);
    } else if (mark == OVERLAY_ORIGIN && size > 0) {
        marks->origin = g_memdup2 (value, size);
        marks->origin_size = size;
    } else if (mark == OVERLAY_IDENTITY) {
        marks_read_identity (marks, value, size);
    }
}

void
overlay_marks_clear (struct overlay_marks *marks)
{
    g_free (marks->redirect);
    g_free (marks->origin);
    *marks = (struct overlay_marks){ 0 };
}

/* --- of the upper ----------------------------------------------------------------------------- */

int
overlay_mark_set (struct overlay_act *act, inode_t *below, enum overlay_mark mark,
                  const void *value, size_t size)
{
    g_autofree char *key = overlay_mark_name (act->this, mark);
    g_autoptr (dict_t) dict = dict_new ();
    loc_t loc = { .inode = below };
    int r;

    dict_set (dict, key, value, size);
    r = sync_setxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, dict, 0, NULL, NULL);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

int
overlay_mark_remove (struct overlay_act *act, inode_t *below, enum overlay_mark mark)
{
    g_autofree char *key = overlay_mark_name (act->this, mark);
    loc_t loc = { .inode = below };
    const int r = sync_removexattr (overlay_daemon (act, OVERLAY_UPPER), &loc, key, NULL, NULL);

    loc_wipe_path (&loc);
    return r == -ENODATA ? 0 : error_or_0 (r);
}

int
overlay_mark_get (struct overlay_act *act, inode_t *below, enum overlay_mark mark,
                  char **ret_value, size_t *ret_size)
{
    g_autofree char *key = overlay_mark_name (act->this, mark);
    loc_t loc = { .inode = below };
    struct getxattr_reply reply;
    int r = sync_getxattr (overlay_daemon (act, OVERLAY_UPPER), &loc, key, NULL, &reply);
    const char *value = r >= 0 ? dict_get (reply.dict, key, ret_size) : NULL;

    *ret_value = NULL;
    if (value) {
        *ret_value = g_malloc0 (*ret_size + 1);
        memcpy (*ret_value, value, *ret_size);
    }
    getxattr_reply_drop (&reply);
    loc_wipe_path (&loc);
    return r == -ENODATA || r == -EOPNOTSUPP ? 0 : error_or_0 (r);
}
