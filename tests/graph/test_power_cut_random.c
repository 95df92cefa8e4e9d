/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* longer */
/* builds: debug tsan */
/*
 * Random changes above debug/power-cut, and a simple model of their durability: after the cut the
 * directory has the state of the model. Each case is a seed. A failure prints the seed, and
 * POWER_CUT_SEED repeats the case.
 */
#include "posix_world.h"

#include "core/base/log.h"
#include "core/time/random.h"

#define POWER_CUT(options) \
    "end-volume\nvolume power-cut\ntype debug/power-cut\n" options "subvolumes posix\n"
#define STEPS 80
#define NAMES 4

static const char *const random_names[NAMES] = { "a", "b", "c", "d" };

struct object {
    bool directory;
    inode_t *inode;
    GByteArray *now, *durable; /* a file's bytes */
    struct object *entries[NAMES]; /* a directory's */
    struct object *parent;
    unsigned links;
};

/* A name whose meaning may not be durable. */
struct random_slot {
    struct object *dir;
    unsigned name;
    struct object *durable, *current;
    unsigned group;
};

struct random_model {
    struct world w;
    struct random_source chance;
    GPtrArray *objects, *slots;
    struct object *root;
    unsigned groups;
};

/* --- what is durable -------------------------------------------------------------------------- */

static struct random_slot *
slot_find (struct random_model *m, const struct object *dir, unsigned name)
{
    for (guint i = 0; i < m->slots->len; i++) {
        struct random_slot *slot = m->slots->pdata[i];
        if (slot->dir == dir && slot->name == name)
            return slot;
    }
    return NULL;
}

static struct random_slot *
slot_get (struct random_model *m, struct object *dir, unsigned name, struct object *occupant)
{
    struct random_slot *slot = slot_find (m, dir, name);

    if (slot)
        return slot;
    slot = g_new0 (struct random_slot, 1);
    *slot = (struct random_slot){ dir, name, occupant, occupant, ++m->groups };
    g_ptr_array_add (m->slots, slot);
    return slot;
}

static void
slot_tidy (struct random_model *m, struct random_slot *slot)
{
    if (slot->durable == slot->current)
        g_ptr_array_remove (m->slots, slot);
}

static void
couple (struct random_model *m, const struct random_slot *one, const struct random_slot *other)
{
    unsigned from = other->group;

    for (guint i = 0; i < m->slots->len; i++) {
        struct random_slot *slot = m->slots->pdata[i];
        if (slot->group == from)
            slot->group = one->group;
    }
}

static void
random_group_durable (struct random_model *m, unsigned group)
{
    for (guint i = m->slots->len; i-- > 0;)
        if (((struct random_slot *) m->slots->pdata[i])->group == group)
            g_ptr_array_remove_index (m->slots, i);
}

static void
names_durable (struct random_model *m, const struct object *dir)
{
    for (guint i = m->slots->len; i-- > 0;) {
        const struct random_slot *slot = i < m->slots->len ? m->slots->pdata[i] : NULL;
        if (slot && slot->dir == dir)
            random_group_durable (m, slot->group);
    }
}

/* A directory is removed: its names are removed with it, or forgotten if they were never
 * durable. */
static void
slots_gone (struct random_model *m, const struct object *dir, const struct random_slot *place)
{
    for (guint i = m->slots->len; i-- > 0;) {
        struct random_slot *slot = m->slots->pdata[i];
        if (slot->dir == dir && place->durable == place->current)
            g_ptr_array_remove_index (m->slots, i);
        else if (slot->dir == dir)
            couple (m, place, slot);
    }
}

/* --- the operations --------------------------------------------------------------------------- */

static unsigned
random_pick (struct random_model *m, unsigned n)
{
    return (unsigned) random_below (&m->chance, n);
}

static struct object *
object_new (struct random_model *m, bool directory, inode_t *inode, struct object *parent)
{
    struct object *object = g_new0 (struct object, 1);

    *object = (struct object){ .directory = directory, .inode = inode, .now = g_byte_array_new (),
                               .durable = g_byte_array_new (), .parent = parent };
    g_ptr_array_add (m->objects, object);
    return object;
}

static void
object_free (gpointer data)
{
    struct object *object = data;

    inode_unref (object->inode);
    g_byte_array_unref (object->now);
    g_byte_array_unref (object->durable);
    g_free (object);
}

/* Returns a node of this kind that has a name; for a directory at least the root. */
static struct object *
pick_object (struct random_model *m, bool directory)
{
    unsigned n = 0, chosen;

    for (guint i = 0; i < m->objects->len; i++) {
        const struct object *object = m->objects->pdata[i];
        n += object->directory == directory && object->links > 0;
    }
    chosen = n ? random_pick (m, n) : 0;
    for (guint i = 0; i < m->objects->len; i++) {
        struct object *object = m->objects->pdata[i];
        if (object->directory == directory && object->links > 0 && chosen-- == 0)
            return object;
    }
    return NULL;
}

static void
appears (struct random_model *m, struct object *dir, unsigned name, struct object *object)
{
    struct random_slot *slot = slot_get (m, dir, name, NULL);

    dir->entries[name] = slot->current = object;
    object->links++;
    slot_tidy (m, slot);
}

static void
random_make (struct random_model *m, bool directory)
{
    struct object *dir = pick_object (m, true);
    unsigned name = random_pick (m, NAMES);
    inode_t *inode = NULL;
    fd_t *fd;

    if (directory) {
        inode = world_mkdir (&m->w, dir->inode, random_names[name], 0755);
    } else {
        fd = world_create (&m->w, dir->inode, random_names[name], O_RDWR | O_EXCL, 0644);
        if (fd)
            inode = inode_ref (fd->inode);
        fd_unref (fd);
    }
    ck_assert_int_eq (m->w.r, dir->entries[name] ? -EEXIST : 0);
    if (m->w.r == 0)
        appears (m, dir, name, object_new (m, directory, inode, dir));
}

static void
change_bytes (struct random_model *m)
{
    struct object *file = pick_object (m, false);
    g_autofree char *text = NULL;
    unsigned offset, size = 1 + random_pick (m, 9000);
    fd_t *fd;

    if (!file)
        return;
    offset = random_pick (m, 3) ? random_pick (m, file->now->len + 1) : random_pick (m, 20000);
    text = g_malloc (size + 1);
    memset (text, 'a' + (int) random_pick (m, 26), size);
    text[size] = '\0';
    fd = world_open (&m->w, file->inode, random_pick (m, 2) ? O_RDWR : O_WRONLY);
    ck_assert_ptr_nonnull (fd);
    if (random_pick (m, 4)) {
        ck_assert_int_eq (world_write (&m->w, fd, text, offset), (int) size);
        if (file->now->len < offset + size) {
            guint old = file->now->len;
            g_byte_array_set_size (file->now, offset + size);
            memset (file->now->data + old, 0, offset + size - old);
        }
        memcpy (file->now->data + offset, text, size);
    } else {
        guint old = file->now->len;
        ck_assert_int_eq (sync_ftruncate (m->w.client, fd, offset, NULL, NULL), 0);
        g_byte_array_set_size (file->now, offset);
        if (offset > old)
            memset (file->now->data + old, 0, offset - old);
    }
    fd_unref (fd);
}

static void
synchronise (struct random_model *m)
{
    struct object *file = pick_object (m, false);
    fd_t *fd;

    if (!file)
        return;
    fd = world_open (&m->w, file->inode, O_RDWR);
    ck_assert_int_eq (sync_fsync (m->w.client, fd, (int) random_pick (m, 2), NULL, NULL), 0);
    fd_unref (fd);
    g_byte_array_set_size (file->durable, 0);
    g_byte_array_append (file->durable, file->now->data, file->now->len);
}

static void
synchronise_names (struct random_model *m)
{
    struct object *dir = pick_object (m, true);
    fd_t *fd = world_open (&m->w, dir->inode, O_RDONLY);

    ck_assert_int_eq (sync_fsyncdir (m->w.client, fd, 0, NULL, NULL), 0);
    fd_unref (fd);
    names_durable (m, dir);
}

static void
random_remove_one (struct random_model *m)
{
    struct object *dir = pick_object (m, true), *victim;
    unsigned name = random_pick (m, NAMES);
    loc_t loc = { .name = random_names[name], .parent = dir->inode };
    struct random_slot *slot;
    int r;

    victim = dir->entries[name];
    if (!victim)
        return;
    loc.inode = victim->inode;
    r = victim->directory ? sync_rmdir (m->w.client, &loc, 0, NULL, NULL)
                          : sync_unlink (m->w.client, &loc, 0, NULL, NULL);
    if (r < 0)
        return;
    inode_unlink (dir->inode, random_names[name]);
    slot = slot_get (m, dir, name, victim);
    dir->entries[name] = slot->current = NULL;
    victim->links--;
    if (victim->directory)
        slots_gone (m, victim, slot);
    slot_tidy (m, slot);
}

static void
link_one (struct random_model *m)
{
    struct object *dir = pick_object (m, true), *file = pick_object (m, false);
    unsigned name = random_pick (m, NAMES);

    if (!file || dir->entries[name])
        return;
    loc_t from = { .inode = file->inode },
          to = { .name = random_names[name], .parent = dir->inode, .inode = file->inode };
    struct link_reply reply;
    ck_assert_int_eq (sync_link (m->w.client, &from, &to, NULL, &reply), 0);
    inode_unref (inode_link (file->inode, dir->inode, random_names[name], &reply.buf));
    ck_assert_uint_eq (reply.buf.ia_nlink, file->links + 1);
    link_reply_drop (&reply);
    appears (m, dir, name, file);
}

static void
random_couple_with_path (struct random_model *m, const struct random_slot *slot,
                         const struct object *dir)
{
    for (; dir->parent; dir = dir->parent)
        for (guint i = 0; i < m->slots->len; i++) {
            const struct random_slot *place = m->slots->pdata[i];
            if (place->current == dir)
                couple (m, slot, place);
        }
}

static void
renamed (struct random_model *m, struct object *dir, unsigned name, struct object *newdir,
         unsigned newname, bool exchange)
{
    struct object *moved = dir->entries[name], *victim = newdir->entries[newname];
    struct random_slot *from = slot_get (m, dir, name, moved),
                       *to = slot_get (m, newdir, newname, victim);

    dir->entries[name] = from->current = exchange ? victim : NULL;
    newdir->entries[newname] = to->current = moved;
    if (moved->directory)
        moved->parent = newdir;
    if (exchange && victim->directory)
        victim->parent = dir;
    couple (m, from, to);
    if (dir != newdir)
        random_couple_with_path (m, to, newdir);
    if (dir != newdir && exchange)
        random_couple_with_path (m, from, dir);
    if (victim && !exchange)
        victim->links--;
    if (victim && !exchange && victim->directory)
        slots_gone (m, victim, to);
    slot_tidy (m, from);
    slot_tidy (m, to);
}

static void
rename_one (struct random_model *m)
{
    struct object *dir = pick_object (m, true), *newdir = pick_object (m, true);
    unsigned name = random_pick (m, NAMES), newname = random_pick (m, NAMES);
    bool exchange = newdir->entries[newname] && random_pick (m, 5) == 0;

    if (!dir->entries[name])
        return;
    world_rename (&m->w, dir->inode, random_names[name], newdir->inode, random_names[newname],
                  exchange ? RENAME_EXCHANGE : 0);
    if (m->w.r == 0 && dir->entries[name] != newdir->entries[newname])
        renamed (m, dir, name, newdir, newname, exchange);
}

static void
random_step (struct random_model *m)
{
    switch (random_pick (m, 14)) {
    case 0: case 1: random_make (m, false); break;
    case 2: random_make (m, true); break;
    case 3: case 4: case 5: change_bytes (m); break;
    case 6: synchronise (m); break;
    case 7: case 8: synchronise_names (m); break;
    case 9: case 10: random_remove_one (m); break;
    case 11: link_one (m); break;
    default: rename_one (m);
    }
}

/* --- what is there ---------------------------------------------------------------------------- */

static void
compare_file (struct object *file, const char *path, GHashTable *inodes)
{
    g_autofree char *bytes = NULL;
    struct stat st;
    gsize size;

    ck_assert_int_eq (stat (path, &st), 0);
    ck_assert (g_file_get_contents (path, &bytes, &size, NULL));
    ck_assert_msg (size == file->durable->len
                       && (size == 0 || memcmp (bytes, file->durable->data, size) == 0),
                   "%s: %zu bytes, %u are durable, or others", path, size, file->durable->len);
    if (g_hash_table_contains (inodes, file))
        ck_assert_uint_eq (GPOINTER_TO_SIZE (g_hash_table_lookup (inodes, file)), st.st_ino);
    g_hash_table_insert (inodes, file, GSIZE_TO_POINTER (st.st_ino));
}

static void
random_compare (struct random_model *m, struct object *dir, const char *path, GHashTable *inodes)
{
    GDir *real = g_dir_open (path, 0, NULL);
    unsigned expected = 0, found = 0;

    ck_assert_msg (real != NULL, "%s isn't there", path);
    while (g_dir_read_name (real))
        found++;
    g_dir_close (real);
    for (unsigned i = 0; i < NAMES; i++) {
        const struct random_slot *slot = slot_find (m, dir, i);
        struct object *object = slot ? slot->durable : dir->entries[i];
        g_autofree char *below = g_build_filename (path, random_names[i], NULL);

        expected += object != NULL;
        if (object && object->directory)
            random_compare (m, object, below, inodes);
        else if (object)
            compare_file (object, below, inodes);
    }
    ck_assert_msg (found == expected, "%s: %u names, %u are durable", path, found, expected);
}

static void
random_cut (struct world *w)
{
    GString *answer = g_string_new (NULL);
    g_autoptr (GBytes) nothing = g_bytes_new (NULL, 0);

    ck_assert_int_eq (w->graph->top->api->commands[0].run (
                          w->graph->top, &(struct xlator_asked){ .input = nothing }, answer),
                      0);
    ck_assert_msg (!strstr (answer->str, "could not be"), "%s", answer->str);
    g_string_free (answer, TRUE);
}

/* The model does not include random survival. In this case check only that the cut succeeds and
 * leaves nothing behind. */
static void
random_run_seed (uint64_t seed, const char *options, bool by_chance)
{
    g_autoptr (GHashTable) inodes = g_hash_table_new (NULL, NULL);
    struct random_model m = { .w = posix_world_begin (options), .chance = { seed },
                       .objects = g_ptr_array_new_with_free_func (object_free),
                       .slots = g_ptr_array_new_with_free_func (g_free) };

    m.root = object_new (&m, true, inode_ref (m.w.root), NULL);
    m.root->links = 1;
    for (unsigned i = 0, n = random_pick (&m, STEPS); i < n; i++)
        random_step (&m);
    random_cut (&m.w);
    g_autofree char *hidden = world_path (&m.w, ".windlass-power-cut");
    ck_assert (!g_file_test (hidden, G_FILE_TEST_EXISTS));
    if (!by_chance)
        random_compare (&m, m.root, m.w.dir, inodes);
    g_ptr_array_unref (m.objects);
    g_ptr_array_unref (m.slots);
    posix_world_end (&m.w);
}

static void
random_run_seeds (const char *options, bool by_chance)
{
    const char *one = g_getenv ("POWER_CUT_SEED");
    const uint64_t first = one ? g_ascii_strtoull (one, NULL, 10) : random_seed ();

    for (uint64_t i = 0; i < (one ? 1 : test_amount (15, 60)); i++) {
        fprintf (stderr, "POWER_CUT_SEED=%" G_GUINT64_FORMAT "\n", first + i);
        random_run_seed (first + i, options, by_chance);
    }
}

/* _i: how storage finds files again. */
START_TEST (what_is_durable_and_nothing_else_is_left)
{
    g_autofree char *options = g_strconcat (world_modes[_i], POWER_CUT (""), NULL);

    random_run_seeds (options, false);
}
END_TEST

static const char *const chances[] = {
    POWER_CUT ("option data torn\noption sizes early\noption names random\noption metadata "
               "random\noption memory-limit 8KB\n"),
    POWER_CUT ("option model ext4-ordered\noption journal-every 3\n"),
    POWER_CUT ("option names random\noption fsync file-and-names\n"),
};

START_TEST (whatever_survives_the_cut_gets_through)
{
    random_run_seeds (chances[_i], true);
}
END_TEST

TEST_PROGRAM (test_power_cut_random)
{
    Suite *suite = suite_create ("power-cut-random");
    TCase *tcase = tcase_create ("power-cut-random");

    log_set_level (GF_LOG_ERROR); /* suppresses the losses of each cut */
    tcase_set_timeout (tcase, 240);
    tcase_add_loop_test (tcase, what_is_durable_and_nothing_else_is_left, 0, WORLD_MODES);
    tcase_add_loop_test (tcase, whatever_survives_the_cut_gets_through, 0, G_N_ELEMENTS (chances));
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
