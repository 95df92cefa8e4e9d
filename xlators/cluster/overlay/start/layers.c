/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Layers in the first child. A freeze makes the upper a layer that is only read, and gives the view
 * a new upper beside it:
 *
 *   option upper layers/0      layers/0     frozen first: its root has the mark "windlass.layer"
 *                              layers/1     frozen next: its root has the mark, too
 *                              layers/2     the upper, which has the mark as well
 *
 * The names alone say which layers a view has, so that one rename freezes: the upper is the one
 * with the highest number of `option upper` itself, which may lack the mark, and of those names
 * beside it whose mark has the last name of that option. Views that share a folder have other
 * marks.
 *
 * A freeze moves nothing that is known of inodes and open files. The slots for layers that may come
 * are made at init, before those of the layers that there are, and come into use one by one
 * (realm_slots_begin). So slot 0 is always the upper, and what was slot 0 is slot 1 afterwards.
 *
 *   slots as made   0      1      2          3          4        5       6
 *                   free   free   layers/1   layers/0   lower    work    index
 *   slot number                   0          1          2        3       4
 */
#include "layers.h"
#include "../formats/wh.h"
#include "../names/names.h"

#define LAYER_NUMBER_MAX 999999 /* of a name */
#define LAYER_BASE 10

/* --- names ------------------------------------------------------------------------------------ */

/* Whether a name is a number as a freeze writes it. */
static bool
layer_number (const char *name, unsigned *ret_number)
{
    char *end;
    const unsigned long number = strtoul (name, &end, LAYER_BASE);
    g_autofree char *again = g_strdup_printf ("%lu", number);

    *ret_number = (unsigned) MIN (number, LAYER_NUMBER_MAX);
    return number <= LAYER_NUMBER_MAX && strcmp (name, again) == 0;
}

/* Returns the last name of a path. */
static const char *
layer_last_name (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash ? slash + 1 : path;
}

static char *
layer_path_of (const overlay_private_t *priv, unsigned number)
{
    const size_t length = (size_t) (layer_last_name (priv->upper) - priv->upper);

    return g_strdup_printf ("%.*s%u", (int) length, priv->upper, number);
}

/* --- which there are -------------------------------------------------------------------------- */

struct layer_list {
    xlator_t *this;
    struct client *client;
    GArray *numbers;  /* of unsigned: this view's layers above the first one */
    unsigned highest; /* number of all names beside the upper */
};

static bool
layer_has_mark (const struct layer_list *list, loc_t *loc, const char *key)
{
    const char *name = layer_last_name (overlay_priv (list->this)->upper);
    struct getxattr_reply reply;
    size_t size = 0;
    const int r = sync_getxattr (list->client, loc, key, NULL, &reply);
    const char *value = r >= 0 ? dict_get (reply.dict, key, &size) : NULL;
    const bool is = value && size == strlen (name) && memcmp (value, name, size) == 0;

    getxattr_reply_drop (&reply);
    return is;
}

static int
layer_list_add (struct layer_list *list, inode_t *directory, const char *name)
{
    g_autoptr (inode_t) inode = NULL;
    loc_t loc = { 0 };
    unsigned number;
    struct iatt buf;
    int r;

    if (!layer_number (name, &number))
        return 0;
    list->highest = MAX (list->highest, number);
    if (strcmp (name, layer_last_name (overlay_priv (list->this)->upper)) == 0)
        return 0;
    r = sync_name_look (list->client, directory, name, &inode, &buf);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    loc.inode = inode;
    if (buf.ia_type == IA_IFDIR
        && (layer_has_mark (list, &loc, "trusted.overlay.windlass.layer")
            || layer_has_mark (list, &loc, "user.overlay.windlass.layer")))
        g_array_append_val (list->numbers, number);
    loc_wipe_path (&loc);
    return 0;
}

static int
layer_list_look (struct layer_list *list, inode_t **ret_directory)
{
    g_auto (GStrv) names = g_strsplit (overlay_priv (list->this)->upper, "/", -1);
    inode_t *root = itable_root (FIRST_CHILD (list->this)->realm->itable), *next;
    g_autoptr (inode_t) at = inode_ref (root);
    loc_t loc = { .inode = root };
    struct iatt buf;
    int r = error_or_0 (sync_lookup (list->client, &loc, NULL, NULL));

    for (char **name = names; r == 0 && name[1]; name++) {
        r = sync_name_look (list->client, at, *name, &next, &buf);
        if (r < 0)
            break;
        inode_unref (at);
        at = next;
    }
    loc_wipe_path (&loc);
    if (r == 0)
        *ret_directory = g_steal_pointer (&at);
    return r;
}

static gint
layer_order (gconstpointer a, gconstpointer b)
{
    const unsigned left = *(const unsigned *) a, right = *(const unsigned *) b;

    return (left > right) - (left < right);
}

/* numbers: in ascending order. g_array_unref it. */
static int
layer_list_read (xlator_t *this, struct client *client, struct layer_list *list)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) directory = NULL;
    int r;

    *list = (struct layer_list){ this, client, g_array_new (FALSE, FALSE, sizeof (unsigned)), 0 };
    if (!layer_number (layer_last_name (overlay_priv (this)->upper), &list->highest))
        return 0;
    r = layer_list_look (list, &directory);
    if (r == 0)
        r = sync_names_list (client, FIRST_CHILD (this)->fd_maker, directory, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = layer_list_add (list, directory, names->pdata[i]);
    g_array_sort (list->numbers, layer_order);
    return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* The first `free` slots for layers are not in use. */
static void
layers_begin (xlator_t *this, unsigned free)
{
    overlay_private_t *priv = overlay_priv (this);
    const struct overlay_layer *last = priv->slots;

    while (last[1].xlator)
        last++;
    realm_slots_begin (this, free);
    priv->layers = priv->slots + free;
    priv->n = (unsigned) (last - priv->layers);
    priv->frozen = priv->capacity - free - 1;
}

/* A first child that is not connected yet gets the usual room. */
static void
layers_reckon (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);
    struct client *client = client_new_internal (this, FIRST_CHILD (this));
    struct layer_list list;

    client->checked = true;
    (void) layer_list_read (this, client, &list);
    if (priv->capacity < list.numbers->len + 1)
        priv->capacity = list.numbers->len + 1 + OVERLAY_LAYERS_ROOM;
    g_array_unref (list.numbers);
    client_free (client);
}

void
overlay_slots_make (xlator_t *this)
{
    g_autoptr (GArray) slots = g_array_new (TRUE, TRUE, sizeof (struct overlay_layer));
    overlay_private_t *priv = overlay_priv (this);
    g_autofree char *work = g_strconcat ("/", priv->work_directory, NULL);
    g_autofree char *index = g_strconcat (work, "/" OVERLAY_INDEX, NULL);
    struct overlay_layer slot = { .xlator = FIRST_CHILD (this),
                                  .path = g_intern_string (priv->upper) };

    layers_reckon (this);
    for (unsigned i = 0; i < priv->capacity; i++) {
        g_array_append_val (slots, slot);
        realm_slot_new (this, slot.xlator, "/");
    }
    priv->local = !slot.xlator->children && !xlator_is_remote (slot.xlator);
    for (const xlator_list_t *child = this->children->next; child; child = child->next) {
        slot = (struct overlay_layer){ .xlator = child->xlator,
                                       .wh = overlay_wh_is_of (this, child->xlator) };
        priv->local &= !slot.xlator->children && !xlator_is_remote (slot.xlator);
        g_array_append_val (slots, slot);
        realm_slot_new (this, slot.xlator, "/");
    }
    slot = (struct overlay_layer){ .xlator = FIRST_CHILD (this) };
    g_array_append_val (slots, slot);
    realm_slot_new (this, slot.xlator, work);
    realm_slot_new (this, slot.xlator, index);
    priv->slots = (struct overlay_layer *) g_array_free (g_steal_pointer (&slots), FALSE);
    layers_begin (this, priv->capacity - 1);
}

int
overlay_layers_find (struct overlay_act *act)
{
    overlay_private_t *priv = overlay_priv (act->this);
    struct layer_list list;
    int r = layer_list_read (act->this, overlay_daemon (act, OVERLAY_UPPER), &list);
    const guint n = list.numbers->len;

    if (r == 0 && n >= priv->capacity) {
        gf_log (act->this, GF_LOG_ERROR, "the %u layers beside '%s' of volume '%s' are more than "
                "the %u that can be used where that volume is not connected at the start: mount "
                "again", n + 1, priv->upper, FIRST_CHILD (act->this)->name, priv->capacity);
        r = -ENFILE;
    }
    if (r == 0)
        layers_begin (act->this, priv->capacity - n - 1);
    for (guint i = 0; r == 0 && i < n; i++) {
        g_autofree char *path = layer_path_of (priv, g_array_index (list.numbers, unsigned, i));

        priv->layers[n - 1 - i].path = g_intern_string (path);
    }
    g_array_unref (list.numbers);
    return r;
}

int
overlay_users_list (struct overlay_act *act, inode_t **ret_directory, GPtrArray *names)
{
    inode_t *root = itable_root (FIRST_CHILD (act->this)->realm->itable);
    struct client *client = overlay_daemon (act, OVERLAY_UPPER);
    struct iatt buf;
    const int r = sync_name_look (client, root, OVERLAY_USERS, ret_directory, &buf);

    if (r < 0 || buf.ia_type != IA_IFDIR)
        return r < 0 ? r : -ENOTDIR;
    return sync_names_list (client, overlay_fds (act, OVERLAY_UPPER), *ret_directory, names);
}

/* A view that reads the frozen layers reads the empty ones as well. */
static bool
layers_have_users (struct overlay_act *act)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (inode_t) users = NULL;
    const int r = overlay_users_list (act, &users, names);

    return r != -ENOENT && (r < 0 || names->len > 0);
}

/* The directory of option upper stays: the names beside it count because of it. */
int
overlay_layers_clean (struct overlay_act *act)
{
    g_autoptr (inode_t) directory = NULL;
    struct layer_list list;
    int r = layer_list_read (act->this, overlay_daemon (act, OVERLAY_UPPER), &list);

    if (r == 0 && list.numbers->len > 1 && !layers_have_users (act))
        r = layer_list_look (&list, &directory);
    for (guint i = 0; r == 0 && directory && i + 1 < list.numbers->len; i++) {
        g_autofree char *name = g_strdup_printf ("%u", g_array_index (list.numbers, unsigned, i));
        g_autoptr (inode_t) inode = NULL;
        struct iatt buf;

        r = sync_name_look (list.client, directory, name, &inode, &buf);
        if (r == 0)
            (void) sync_name_remove (list.client, directory, name, inode);
    }
    g_array_unref (list.numbers);
    return r < 0 ? r : overlay_layers_find (act);
}

bool
overlay_layers_have_room (xlator_t *this)
{
    const overlay_private_t *priv = overlay_priv (this);

    return priv->layers > priv->slots;
}

int
overlay_layer_next (struct overlay_act *act, char **ret_path)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    struct layer_list list;
    unsigned number;
    int r = 0;

    *ret_path = NULL;
    if (!layer_number (layer_last_name (priv->upper), &number))
        return 0;
    r = layer_list_read (act->this, overlay_daemon (act, OVERLAY_UPPER), &list);
    g_array_unref (list.numbers);
    if (r == 0)
        *ret_path = layer_path_of (priv, list.highest + 1);
    return r;
}

void
overlay_root_number (struct overlay_act *act, const struct iatt *buf)
{
    struct overlay_inode *ctx = overlay_inode_get (act->this, itable_root (act->above));

    if (__atomic_load_n (&ctx->number, __ATOMIC_RELAXED) == 0)
        __atomic_store_n (&ctx->number, buf->ia_ino, __ATOMIC_RELAXED);
}

void
overlay_layer_push (struct overlay_act *act, inode_t *root, const struct iatt *buf,
                    const char *path, bool origins)
{
    overlay_private_t *priv = overlay_priv (act->this);
    struct overlay_layer *frozen = &priv->layers[OVERLAY_UPPER];

    g_assert (overlay_layers_have_room (act->this));
    overlay_root_number (act, buf);
    frozen->origins = origins;
    frozen[-1].dev = frozen->dev;
    frozen[-1].path = g_intern_string (path);
    __atomic_add_fetch (&priv->parts->freezes, 1, __ATOMIC_RELEASE);
    layers_begin (act->this, (unsigned) (frozen - priv->slots) - 1);
    realm_slot_set_root (act->this, OVERLAY_UPPER, root);
}

/* A new upper has no mark, nor have its files. */
static void
upper_forget_marks (struct overlay_act *act)
{
    struct overlay_inode *ctx = overlay_inode_get (act->this, itable_root (act->above));

    __atomic_and_fetch (&ctx->marked, ~overlay_slot_bit (OVERLAY_UPPER), __ATOMIC_RELAXED);
    __atomic_store_n (&ctx->impure, false, __ATOMIC_RELAXED);
    __atomic_store_n (&ctx->copied, false, __ATOMIC_RELAXED);
}

void
overlay_upper_emptied (struct overlay_act *act, const struct iatt *buf)
{
    overlay_root_number (act, buf);
    upper_forget_marks (act);
}

/* --- the root of an upper --------------------------------------------------------------------- */

/* Finds where a layer is. *ret_name: in path. */
static int
layer_place (struct overlay_act *act, const char *path, bool make, inode_t **ret_directory,
             const char **ret_name)
{
    inode_t *root = itable_root (FIRST_CHILD (act->this)->realm->itable);
    g_auto (GStrv) names = g_strsplit (path, "/", -1);
    struct iatt buf;

    *ret_name = layer_last_name (path);
    return overlay_walk (act, OVERLAY_UPPER, root, names, g_strv_length (names) - 1, make,
                         ret_directory, &buf);
}

int
overlay_upper_make (struct overlay_act *act, inode_t *work, const char *name,
                    const struct overlay_model *model, inode_t **ret_inode)
{
    const overlay_private_t *priv = overlay_priv (act->this);
    const char *mark = layer_last_name (priv->upper);
    int r = sync_name_mkdir (overlay_daemon (act, OVERLAY_UPPER), work, name, 0700, ret_inode);

    if (r == 0)
        r = overlay_mark_set (act, *ret_inode, OVERLAY_LAYER, mark, strlen (mark));
    if (r == 0)
        r = overlay_copy_attributes (act, model->slot, model->inode, model->buf, *ret_inode);
    if (r == -EPERM && priv->owner == OVERLAY_OWNER_KEEP)
        gf_log (act->this, GF_LOG_ERROR,
                "the root of a new upper of volume '%s' can't get the owner of the root of volume "
                "'%s', user %u: with 'option owner daemon' copies belong to the user who mounts",
                priv->layers[OVERLAY_UPPER].xlator->name, priv->layers[model->slot].xlator->name,
                model->buf->ia_uid);
    return r < 0 ? r : overlay_sync_inode (act, OVERLAY_UPPER, *ret_inode);
}

int
overlay_upper_publish (struct overlay_act *act, inode_t *work, const char *name, inode_t *inode,
                       const char *path, inode_t **ret_directory)
{
    const char *last;
    const int r = layer_place (act, path, true, ret_directory, &last);

    return r < 0 ? r : sync_name_rename (overlay_daemon (act, OVERLAY_UPPER), inode, work, name,
                                         *ret_directory, last, RENAME_NOREPLACE);
}

/* --- a layer that loses all its names --------------------------------------------------------- */

int
overlay_clearing_begin (struct overlay_act *act, unsigned slot, const struct overlay_model *model,
                        struct overlay_clearing *clearing)
{
    const int r = layer_place (act, overlay_priv (act->this)->layers[slot].path, false,
                               &clearing->directory, &clearing->last);

    clearing->slot = slot;
    clearing->name = overlay_work_name (act->this);
    return r < 0 ? r : overlay_upper_make (act, overlay_work (act), clearing->name, model,
                                           &clearing->fresh);
}

int
overlay_clearing_run (struct overlay_act *act, struct overlay_clearing *clearing)
{
    const struct overlay_move move = {
        .directory = overlay_work (act), .name = clearing->name, .inode = clearing->fresh,
        .newdirectory = clearing->directory, .newname = clearing->last,
        .victim = realm_below (act->this, itable_root (act->above), clearing->slot),
    };
    const int r = overlay_move (act, &move, RENAME_EXCHANGE, NULL);

    if (r < 0)
        return r;
    clearing->old = realm_slot_replace_root (act->this, clearing->slot, clearing->fresh);
    g_ptr_array_add (overlay_priv (act->this)->old_roots, clearing->old);
    return 0;
}

int
overlay_clearing_sync (struct overlay_act *act, const struct overlay_clearing *clearing)
{
    if (!clearing->old)
        return 0;
    overlay_unsynced (act->this, clearing->directory);
    overlay_unsynced (act->this, overlay_work (act));
    return overlay_sync_all (act);
}

void
overlay_clearing_end (struct overlay_act *act, struct overlay_clearing *clearing, bool removes)
{
    if (clearing->name && removes)
        overlay_work_remove (act, clearing->name);
    inode_unref (clearing->directory);
    inode_unref (clearing->fresh);
    g_free (clearing->name);
}
