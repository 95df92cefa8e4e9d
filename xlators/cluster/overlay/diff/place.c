/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "place.h"
#include "../formats/wh.h"

#include <errno.h>

void
place_clear (const struct places *places, struct place *place)
{
    inode_unref (place->top.inode);
    for (unsigned i = 0; place->merged && i < places->n; i++)
        inode_unref (place->merged[i]);
    g_free (place->merged);
    *place = (struct place){ 0 };
}

static bool
error_is_absent (int r)
{
    return r == -ENOENT || r == -ENOTDIR;
}

void
place_root (const struct places *places, struct place *place)
{
    *place = (struct place){ .merged = g_new0 (inode_t *, places->n + 1) };
    for (unsigned i = 0; i < places->n; i++)
        place->merged[i] = inode_ref (places->below[i].root);
    if (places->n > 0) {
        place->top.layer = &places->below[0];
        place->top.inode = inode_ref (places->below[0].root);
        place->top.buf.ia_type = IA_IFDIR;
    }
}

static int place_look_below (const struct places *places, const struct place *at, const char *name,
                             unsigned from, struct place *place);
static int place_follow (const struct places *places, const struct place *beside,
                         const char *redirect, unsigned from, struct place *place);

static bool
place_is_moved (const struct places *places, inode_t *inode)
{
    return places->moved && g_hash_table_contains (places->moved, inode);
}

/* Enters what a layer has under the name. Returns 1 if the layers below it still count; 0 if not;
 * or a negative errno. */
static int
place_enter (const struct places *places, unsigned layer, const struct diff_object *object,
             struct place *place)
{
    const int whiteout = place_is_moved (places, object->inode) ? 1 : diff_is_whiteout (object);

    if (whiteout != 0)
        return MIN (whiteout, 0);
    if (place->top.inode && object->buf.ia_type != IA_IFDIR)
        return 0;
    if (!place->top.inode) {
        place->top = *object;
        inode_ref (object->inode);
    }
    if (object->buf.ia_type != IA_IFDIR)
        return 0;
    if (!place->merged)
        place->merged = g_new0 (inode_t *, places->n + 1);
    place->merged[layer] = inode_ref (object->inode);
    return 1;
}

/* The layers below `layer` count for the directory: at the same name, or where a redirect says. */
static int
place_go_on (const struct places *places, const struct place *at, const char *name, unsigned layer,
             const struct diff_object *object, struct place *place)
{
    g_autofree char *redirect = NULL;
    const int opaque = diff_is_opaque (object);
    int r = opaque < 0 ? opaque : diff_redirect (object, &redirect);

    if (r < 0 || opaque)
        return r;
    return redirect ? place_follow (places, at, redirect, layer + 1, place)
                    : place_look_below (places, at, name, layer + 1, place);
}

/* at: in places->below[i]. */
static bool
place_is_hidden (const struct places *places, unsigned i, inode_t *at, const char *name,
                 const struct iatt *buf)
{
    return places->plan->hides
           && places->plan->hides (i + 1, at, name, buf, places->plan->hides_data);
}

/* Looks a name up in places->below[i]. Returns 1 if it is there; 0 if the layers below it count; or
 * a negative errno, which is -ENOENT if the layer hides the name in those. */
static int
place_look_in (const struct places *places, unsigned i, inode_t *at, const char *name,
               struct diff_object *object)
{
    const struct diff_layer *layer = &places->below[i];
    int r;

    if (!at || (layer->wh && g_str_has_prefix (name, OVERLAY_WH)))
        return 0;
    r = sync_name_look (layer->client, at, name, &object->inode, &object->buf);
    if (r == 0)
        return !place_is_hidden (places, i, at, name, &object->buf);
    if (!error_is_absent (r))
        return r;
    r = overlay_wh_hides (layer->client, layer->wh, at, name);
    return r > 0 ? -ENOENT : r;
}

/* Adds to the place what layers from `from` on have under a name of the directories in `at`. */
static int
place_look_below (const struct places *places, const struct place *at, const char *name,
                  unsigned from, struct place *place)
{
    for (unsigned i = from; i < places->n; i++) {
        struct diff_object object = { .layer = &places->below[i] };
        int r = place_look_in (places, i, at->merged ? at->merged[i] : NULL, name, &object);
        G_GNUC_UNUSED g_autoptr (inode_t) kept = object.inode;

        if (r == 0)
            continue;
        r = r < 0 ? r : place_enter (places, i, &object, place);
        if (r > 0)
            r = place_go_on (places, at, name, i, &object, place);
        return r == -ENOENT ? 0 : r;
    }
    return 0;
}

/* Adds what layers from `from` on have where a redirect leads: a path from the root, or another
 * name in the directory. */
static int
place_follow (const struct places *places, const struct place *beside, const char *redirect,
              unsigned from, struct place *place)
{
    const struct places all = { places->plan, places->below, places->n, NULL };
    g_auto (GStrv) names = g_strsplit (redirect, "/", -1);
    struct place at;
    int r = 0;

    if (*redirect != '/')
        return place_look_below (&all, beside, redirect, from, place);
    place_root (places, &at);
    for (char **name = names; r == 0 && *name; name++) {
        struct place next = { 0 };
        const char *const *rest = (const char *const *) name + 1;
        bool last = true;

        for (; *rest; rest++)
            last &= !**rest;
        if (!**name)
            continue;
        r = place_look_below (&all, &at, *name, from, last ? place : &next);
        if (last)
            break;
        place_clear (places, &at);
        at = next;
    }
    place_clear (places, &at);
    return r;
}

int
place_of_name (const struct places *places, const struct place *at, const char *name,
               struct place *place)
{
    return place_look_below (places, at, name, 0, place);
}

int
place_resolve (const struct places *places, const struct place *beside, const char *redirect,
               struct place *place)
{
    return place_follow (places, beside, redirect, 0, place);
}
