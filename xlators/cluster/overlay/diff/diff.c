/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The walk of the topmost layer. Beside each of its directories the walk has a place: the
 * directories of the layers below that the overlay would merge there, if the topmost layer were not
 * there. So each name of the topmost layer is compared with what the place shows under it.
 */
#include "place.h"

#include <errno.h>
#include <string.h>

#define WALK_TRIES 10 /* looks at a name that programs replace meanwhile */

struct walk {
    const struct diff_plan *plan;
    struct places places;
    GHashTable **renamed; /* set of directories of the layers below that are told as renamed, made
                           * when it is first needed; NULL: not wanted */
};

/* --- what is told ----------------------------------------------------------------------------- */

/* Returns whether the path is to be told; *ret_below: whether paths below it may be. */
static bool
walk_wants (const struct walk *walk, const char *path, bool *ret_below)
{
    bool wants = false;

    *ret_below = !walk->plan->paths || !*walk->plan->paths;
    if (*ret_below)
        return true;
    for (char **wanted = walk->plan->paths; *wanted; wanted++) {
        wants |= path_is_in (path, *wanted);
        *ret_below |= wants || path_is_in (*wanted, path);
    }
    return wants;
}

/* A directory of the topmost layer, the place beside it, and its path: "" is the root. */
struct walk_directory {
    struct diff_object upper;
    struct place place;
    char *path;
    bool opaque; /* it, or a directory above, is: names of the place that the topmost layer lacks
                  * are removed */
};

/* Returns 1 if the topmost layer has an object under a name of a directory that changes the
 * directory's time, or may have done so; 0 if it has a directory there that the layers below have,
 * too; or a negative errno. */
static int
walk_moves_time (const struct walk *walk, const struct diff_object *upper,
                 const struct place *at, const char *name)
{
    struct place place = { 0 };
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r = sync_name_look (upper->layer->client, upper->inode, name, &inode, &buf);

    if (r < 0 || buf.ia_type != IA_IFDIR)
        return r < 0 && r != -ENOENT ? r : 1;
    r = place_of_name (&walk->places, at, name, &place);
    if (r == 0)
        r = !place_is_directory (&place);
    place_clear (&walk->places, &place);
    return r;
}

/* Adds DIFF_TIMES if somebody has set the time of a directory. A name that comes or goes changes
 * the mtime, too; the ctime is the same then. A copy that gets a name leaves the mtime alone, so an
 * mtime before the ctime proves nothing. Therefore the mtime counts only if all names that the
 * topmost layer has there are directories that the layers below have, too. The mtime of an opaque
 * directory, which was made anew, never counts. Returns 0 or a negative errno. */
static int
walk_compare_times (const struct walk *walk, const struct diff_object *upper,
                    const struct place *place, unsigned *what)
{
    const struct iatt *buf = &upper->buf;
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    int r;

    if (*what != 0 || !diff_times_differ (&place->top.buf, buf)
        || (buf->ia_mtime == buf->ia_ctime && buf->ia_mtime_nsec == buf->ia_ctime_nsec))
        return 0;
    r = sync_names_list (upper->layer->client, upper->layer->fds, upper->inode, names);
    for (guint i = 0; r == 0 && i < names->len; i++)
        r = walk_moves_time (walk, upper, place, names->pdata[i]);
    *what |= r == 0 ? DIFF_TIMES : 0;
    return MIN (r, 0);
}

/* place: of a directory that both sides have; or NULL. */
static int
walk_tell_at (const struct walk *walk, const struct place *place, struct diff_change *change)
{
    const bool compares = change->kind == 'M' || change->kind == 'R';
    bool below;
    int r = 0;

    if (!walk_wants (walk, change->path, &below)
        && !(change->from && walk_wants (walk, change->from, &below)))
        return 0;
    if (walk->plan->renames && change->kind != 'R')
        return 0;
    if (compares && !walk->plan->renames)
        r = diff_compare (change->before, change->after, &change->what);
    if (r == 0 && compares && place && !walk->plan->renames)
        r = walk_compare_times (walk, change->after, place, &change->what);
    if (r < 0 || (change->kind == 'M' && change->what == 0 && !walk->plan->equal))
        return r;
    return walk->plan->fn (change, walk->plan->data);
}

static int
walk_tell_change (const struct walk *walk, const struct walk_directory *in,
                  const struct place *place, struct diff_change *change)
{
    const unsigned n = walk->places.n;

    change->directory = in->upper.inode;
    change->last = n > 0 && in->place.merged ? in->place.merged[n - 1] : NULL;
    return walk_tell_at (walk, place, change);
}

/* A change of an object that both sides have, or the object comes or goes. */
static int
walk_tell (const struct walk *walk, const struct walk_directory *in, char kind, const char *path,
           const struct diff_object *before, const struct diff_object *after)
{
    struct diff_change change = { .kind = kind, .path = path, .before = before, .after = after };

    return walk_tell_change (walk, in, NULL, &change);
}

/* --- directories that are told as renamed ----------------------------------------------------- */

/* If the old name is wanted, and the walk does not come to the new one, that is told here. */
static int
renamed_add (const struct diff_change *change, void *data)
{
    const struct walk *walk = data;
    const struct place place = { *change->before, (inode_t **) change->merged };
    struct diff_change told = *change;
    g_autofree char *above = g_strndup (told.path, (gsize) (strrchr (told.path, '/') - told.path));
    bool comes;

    g_hash_table_add (*walk->renamed, inode_ref (told.before->inode));
    (void) walk_wants (walk, above, &comes);
    return comes ? 0 : walk_tell_at (walk, &place, &told);
}

/* Another walk finds all that there are, as late as here: most views have removed no directory. */
static int
renamed_find (const struct walk *walk)
{
    struct diff_plan renames = *walk->plan;
    int r;

    renames.paths = NULL;
    renames.renames = true;
    renames.pairs = false;
    renames.fn = renamed_add;
    renames.data = (void *) walk;
    *walk->renamed = g_hash_table_new_full (NULL, NULL, (GDestroyNotify) inode_unref, NULL);
    r = diff_walk (&renames);
    if (r < 0)
        g_clear_pointer (walk->renamed, g_hash_table_unref);
    return r;
}

/* A name of the topmost layer hides a place. If that is a directory which is told as renamed, the
 * place becomes empty. */
static int
place_vacate (const struct walk *walk, struct place *place)
{
    int r = 0;

    if (!walk->renamed || !place_is_directory (place))
        return 0;
    if (!*walk->renamed)
        r = renamed_find (walk);
    if (r == 0 && g_hash_table_contains (*walk->renamed, place->top.inode))
        place_clear (&walk->places, place);
    return r;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void
walk_directory_free (const struct walk *walk, struct walk_directory *directory)
{
    inode_unref (directory->upper.inode);
    place_clear (&walk->places, &directory->place);
    g_free (directory->path);
    g_free (directory);
}

/* A directory of the topmost layer; its place is set, and moves to the todo list. */
static int
walk_enter (const struct walk *walk, const struct diff_object *upper, const char *path, bool opaque,
            struct place *place, GQueue *found)
{
    struct walk_directory *directory;
    bool below;

    (void) walk_wants (walk, path, &below);
    if (!below)
        return 0;
    directory = g_new (struct walk_directory, 1);
    *directory = (struct walk_directory){ *upper, *place, g_strdup (path), opaque };
    *place = (struct place){ 0 };
    inode_ref (upper->inode);
    g_queue_push_tail (found, directory);
    return 0;
}

/* What a renamed directory has replaced. */
static int
walk_tell_replaced (const struct walk *walk, const struct walk_directory *in, const char *path,
                    struct place *place)
{
    const int r = walk->plan->pairs ? place_vacate (walk, place) : 0;

    return r == 0 && walk->plan->pairs && place->top.inode
               ? walk_tell (walk, in, 'D', path, &place->top, NULL) : r;
}

/* A directory that comes from another place in the layers below, or has come back from there. Below
 * an opaque directory it has come to another one. shown: what those have under its name. */
static int
walk_renamed (const struct walk *walk, const struct walk_directory *in,
              const struct diff_object *upper, const char *path, const char *redirect,
              struct place *shown, GQueue *found)
{
    g_autofree char *from = *redirect == '/' ? g_strdup (redirect)
                                             : g_strconcat (in->path, "/", redirect, NULL);
    struct place place = { 0 };
    int r = place_resolve (&walk->places, &in->place, redirect, &place);
    const bool back = !in->opaque && place.top.inode == shown->top.inode
                   && strcmp (from, path) == 0;

    if (r == 0 && !back)
        r = walk_tell_replaced (walk, in, path, shown);
    if (r == 0 && place_is_directory (&place))
        r = walk_tell_change (walk, in, &place, &(struct diff_change){
            .kind = back ? 'M' : 'R', .path = path, .from = back ? NULL : from,
            .before = &place.top, .after = upper, .merged = back ? NULL : place.merged });
    else if (r == 0)
        r = walk_tell (walk, in, 'A', path, NULL, upper);
    if (r == 0)
        r = walk_enter (walk, upper, path, false, &place, found);
    place_clear (&walk->places, &place);
    return r;
}

static int
walk_folder (const struct walk *walk, const struct walk_directory *in,
             const struct diff_object *upper, const char *path, struct place *place,
             GQueue *found)
{
    g_autofree char *redirect = NULL;
    const int opaque = in->opaque ? 1 : diff_is_opaque (upper);
    int r = opaque < 0 ? opaque : diff_redirect (upper, &redirect);

    if (r < 0)
        return r;
    if (redirect)
        return walk_renamed (walk, in, upper, path, redirect, place, found);
    r = opaque ? place_vacate (walk, place) : 0;
    if (r < 0)
        return r;
    if (place_is_directory (place))
        r = walk_tell_change (walk, in, opaque ? NULL : place, &(struct diff_change){
            .kind = 'M', .path = path, .before = &place->top, .after = upper });
    else
        r = walk_tell (walk, in, place->top.inode ? 'T' : 'A', path,
                       place->top.inode ? &place->top : NULL, upper);
    if (r == 0 && !place_is_directory (place))
        place_clear (&walk->places, place);
    return r < 0 ? r : walk_enter (walk, upper, path, opaque, place, found);
}

/* Any object but a directory or a whiteout. */
static int
walk_object (const struct walk *walk, const struct walk_directory *in,
             const struct diff_object *upper, const char *path, const struct place *place)
{
    const struct diff_object *before = place->top.inode ? &place->top : NULL;

    return walk_tell (walk, in,
                      !before ? 'A' : before->buf.ia_type == upper->buf.ia_type ? 'M' : 'T', path,
                      before, upper);
}

/* A name that the topmost layer has, as it is now. */
static int
walk_name_now (const struct walk *walk, const struct walk_directory *in, const char *name,
           GQueue *found)
{
    g_autofree char *path = g_strconcat (in->path, "/", name, NULL);
    g_autoptr (inode_t) inode = NULL;
    struct diff_object upper = { .layer = walk->plan->layers };
    struct place place = { 0 };
    int whiteout = 0;
    int r = sync_name_look (upper.layer->client, in->upper.inode, name, &inode, &upper.buf);

    if (r < 0)
        return r == -ENOENT ? 0 : r;
    upper.inode = inode;
    r = place_of_name (&walk->places, &in->place, name, &place);
    whiteout = r < 0 ? r : diff_is_whiteout (&upper);
    if (whiteout > 0 || (whiteout == 0 && upper.buf.ia_type != IA_IFDIR))
        r = place_vacate (walk, &place);
    if (r < 0 || whiteout < 0)
        r = MIN (r, whiteout);
    else if (whiteout && place.top.inode)
        r = walk_tell (walk, in, 'D', path, &place.top, NULL);
    else if (whiteout)
        r = walk->plan->equal ? walk_tell (walk, in, 'D', path, NULL, NULL) : 0;
    else if (upper.buf.ia_type == IA_IFDIR)
        r = walk_folder (walk, in, &upper, path, &place, found);
    else
        r = walk_object (walk, in, &upper, path, &place);
    place_clear (&walk->places, &place);
    return r;
}

static bool
walk_missed (int r)
{
    return r == -ENOENT || r == -ESTALE;
}

/* A name that the topmost layer has. A program may remove or replace it during the look. */
static int
walk_name (const struct walk *walk, const struct walk_directory *in, const char *name,
           GQueue *found)
{
    int r = walk_name_now (walk, in, name, found);

    for (unsigned tries = 1; walk_missed (r) && tries < WALK_TRIES; tries++)
        r = walk_name_now (walk, in, name, found);
    return r;
}

/* A name that only the layers below have, in a directory that hides them. */
static int
walk_hidden_name (const struct walk *walk, const struct walk_directory *in, const char *name)
{
    g_autofree char *path = g_strconcat (in->path, "/", name, NULL);
    struct place place = { 0 };
    int r = place_of_name (&walk->places, &in->place, name, &place);

    if (r == 0)
        r = place_vacate (walk, &place);
    if (r == 0 && place.top.inode)
        r = walk_tell (walk, in, 'D', path, &place.top, NULL);
    place_clear (&walk->places, &place);
    return r;
}

static gint
name_order (gconstpointer a, gconstpointer b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The names in the directory, sorted; *ret_upper: the set of those of the topmost layer. */
static int
walk_names (const struct walk *walk, const struct walk_directory *in, GPtrArray *names,
            GHashTable *upper)
{
    const struct diff_layer *below = walk->places.below;
    int r = sync_names_list (in->upper.layer->client, in->upper.layer->fds, in->upper.inode, names);

    for (guint i = 0; r == 0 && i < names->len; i++)
        g_hash_table_add (upper, names->pdata[i]);
    for (unsigned i = 0; r == 0 && in->opaque && in->place.merged && i < walk->places.n; i++)
        if (in->place.merged[i])
            r = sync_names_list (below[i].client, below[i].fds, in->place.merged[i], names);
    g_ptr_array_sort (names, name_order);
    return r;
}

static int
walk_directory (const struct walk *walk, const struct walk_directory *in, GQueue *found)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    g_autoptr (GHashTable) upper = g_hash_table_new (g_str_hash, g_str_equal);
    int r = walk_names (walk, in, names, upper);

    if (walk_missed (r) && in->path[0]) /* it was removed since its name was seen */
        return 0;
    for (guint i = 0; r == 0 && i < names->len; i++) {
        const char *name = names->pdata[i];

        if (i > 0 && strcmp (name, names->pdata[i - 1]) == 0)
            continue;
        r = g_hash_table_contains (upper, name) ? walk_name (walk, in, name, found)
                                                : walk_hidden_name (walk, in, name);
    }
    return r;
}

/* The way is kept on the heap: a tree may be deeper than a thread's stack. */
int
diff_walk (const struct diff_plan *plan)
{
    g_autoptr (GHashTable) renamed = NULL;
    const struct walk walk = { plan, { plan, plan->layers + 1, plan->n_layers - 1, plan->moved },
                               plan->pairs ? &renamed : NULL };
    struct diff_object root = { .layer = plan->layers, .inode = plan->layers[0].root };
    GQueue todo = G_QUEUE_INIT, found = G_QUEUE_INIT;
    struct walk_directory *directory;
    struct place place;
    int r;

    place_root (&walk.places, &place);
    r = walk_enter (&walk, &root, "", false, &place, &todo);
    while ((directory = g_queue_pop_head (&todo))) {
        if (r == 0 && plan->job && !job_next (plan->job))
            r = -EINTR;
        if (r == 0)
            r = walk_directory (&walk, directory, &found);
        walk_directory_free (&walk, directory);
        while (!g_queue_is_empty (&found))
            g_queue_push_head (&todo, g_queue_pop_tail (&found));
    }
    place_clear (&walk.places, &place);
    return r;
}
