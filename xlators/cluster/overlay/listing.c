/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Listings. The first page of an open directory reads all its layers. The names stand in the order
 * of a hash of the name, which is also the offset of an entry: so an offset means the same in
 * another listing, and after a reload.
 */
#include "formats/wh.h"
#include "lookup/lookup.h"

#include <dirent.h>

#define OVERLAY_PAGE 65536
#define OVERLAY_FIRST 3 /* the first offset of a name: "." has 1, ".." 2 */

struct overlay_entry {
    uint64_t hash, number;
    uint32_t type;
    char *name;
};

struct overlay_listing {
    GPtrArray *entries; /* of struct overlay_entry, in the order of their offsets */
};

static void
overlay_entry_free (gpointer data)
{
    struct overlay_entry *entry = data;

    g_free (entry->name);
    g_free (entry);
}

static GPtrArray *
overlay_entries_new (void)
{
    return g_ptr_array_new_with_free_func (overlay_entry_free);
}

/* 62 bits: an offset is positive, and so is the one after it. */
static uint64_t
overlay_hash (const char *name)
{
    uint64_t hash = fnv64 (FNV64_START, name, strlen (name));

    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 29) >> 2;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* A listing that is being read. */
struct overlay_reading {
    struct overlay_act *act;
    inode_t *directory;
    struct client *view; /* to the overlay itself; NULL: nobody wants to know numbers */
    GHashTable *seen;    /* names, of entries or of whiteouts; owned */
    GPtrArray *entries;
    GPtrArray *hidden;   /* names that files of the layer hide in those below: formats/wh.c */
};

/* Looks a name up in the view itself. */
static int
overlay_entry_look (struct overlay_act *act, struct client *view, inode_t *directory,
                    const char *name, struct iatt *ret_buf, inode_t **ret_inode)
{
    g_autoptr (inode_t) fresh = inode_new (act->above);
    loc_t loc = { .name = name, .parent = directory, .inode = fresh };
    struct lookup_reply reply;
    int r = sync_lookup (view, &loc, NULL, &reply);

    if (r >= 0) {
        *ret_buf = reply.buf;
        *ret_inode = g_steal_pointer (&reply.inode);
    }
    lookup_reply_drop (&reply);
    loc_wipe_path (&loc);
    return error_or_0 (r);
}

/* A directory with a copy in it has a mark: the origin of the copy tells the number. */
static int
overlay_entry_number (struct overlay_reading *reading, unsigned slot, const gf_dirent_t *from,
                      uint64_t *ret_number)
{
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r;

    *ret_number = overlay_number (reading->act->this, slot, from->d_ino);
    if (!reading->view
        || !overlay_files_have_marks (reading->act->this, reading->directory, slot)) {
        overlay_number_applied (reading->act->this, reading->directory, from->d_name, ret_number);
        return 0;
    }
    r = overlay_entry_look (reading->act, reading->view, reading->directory, from->d_name, &buf,
                            &inode);
    if (r == 0)
        *ret_number = buf.ia_ino;
    return r == -ENOENT ? 0 : r;
}

static bool
overlay_entry_hides (struct overlay_reading *reading, unsigned slot, const gf_dirent_t *from)
{
    g_autoptr (inode_t) inode = NULL;
    inode_t *directory = realm_below (reading->act->this, reading->directory, slot);
    struct iatt buf;

    return (from->d_type == DT_CHR
            || (from->d_type == DT_REG && slot != OVERLAY_UPPER
                && overlay_files_have_marks (reading->act->this, reading->directory, slot)))
           && sync_name_look (overlay_daemon (reading->act, slot), directory, from->d_name, &inode,
                              &buf) == 0
           && overlay_hides (reading->act, slot, reading->directory, inode, &buf);
}

static bool
overlay_entry_is_ours (const struct overlay_reading *reading, unsigned slot,
                       const gf_dirent_t *from)
{
    xlator_t *this = reading->act->this;

    return overlay_is_ours (this, slot, realm_below (this, reading->directory, slot), from->d_name,
                            overlay_priv (this)->layers[slot].dev, from->d_ino);
}

static int
overlay_entry_add (struct overlay_reading *reading, unsigned slot, const gf_dirent_t *from)
{
    struct overlay_entry *entry;
    uint64_t number;
    int r;

    if (name_is_dots (from->d_name) || g_hash_table_contains (reading->seen, from->d_name))
        return 0;
    if (overlay_entry_is_ours (reading, slot, from))
        return 0;
    if (overlay_wh_is_name (&overlay_priv (reading->act->this)->layers[slot], from->d_name)) {
        g_ptr_array_add (reading->hidden, g_strdup (from->d_name + strlen (OVERLAY_WH)));
        return 0;
    }
    g_hash_table_add (reading->seen, g_strdup (from->d_name));
    if (overlay_entry_hides (reading, slot, from))
        return 0;
    r = overlay_entry_number (reading, slot, from, &number);
    if (r < 0)
        return r;
    entry = g_new0 (struct overlay_entry, 1);
    *entry = (struct overlay_entry){ overlay_hash (from->d_name), number, from->d_type,
                                     g_strdup (from->d_name) };
    g_ptr_array_add (reading->entries, entry);
    return 0;
}

static int
overlay_read_page (struct overlay_reading *reading, unsigned slot, fd_t *fd, off_t *offset)
{
    struct readdir_reply reply;
    int r = sync_readdir (overlay_daemon (reading->act, slot), fd, OVERLAY_PAGE, *offset, NULL,
                          &reply);
    const int n = r;

    for (const gf_dirent_t *entry = reply.entries; n > 0 && r >= 0 && entry; entry = entry->next) {
        *offset = entry->d_off;
        r = overlay_entry_add (reading, slot, entry);
    }
    readdir_reply_drop (&reply);
    return r < 0 ? r : n;
}

/* The layer has been read: its whiteouts count for the layers below it. */
static void
overlay_hide_below (struct overlay_reading *reading)
{
    for (guint i = 0; i < reading->hidden->len; i++)
        g_hash_table_add (reading->seen, g_strdup (reading->hidden->pdata[i]));
    g_ptr_array_set_size (reading->hidden, 0);
}

static int
overlay_read_layer (struct overlay_reading *reading, unsigned slot)
{
    inode_t *directory = realm_below (reading->act->this, reading->directory, slot);
    g_autoptr (fd_t) fd = NULL;
    off_t offset = 0;
    int r;

    if (!directory)
        return 0;
    r = sync_name_open (overlay_daemon (reading->act, slot), overlay_fds (reading->act, slot),
                        directory, O_RDONLY | O_DIRECTORY, &fd);
    if (r < 0)
        return r;
    do
        r = overlay_read_page (reading, slot, fd, &offset);
    while (r > 0);
    overlay_hide_below (reading);
    return r;
}

static gint
overlay_entry_compare (gconstpointer a, gconstpointer b)
{
    const struct overlay_entry *one = *(const struct overlay_entry *const *) a;
    const struct overlay_entry *two = *(const struct overlay_entry *const *) b;

    if (one->hash != two->hash)
        return one->hash < two->hash ? -1 : 1;
    return strcmp (one->name, two->name);
}

/* Names of one hash get the next offsets, in the order of the names. */
static void
overlay_entries_order (GPtrArray *entries)
{
    uint64_t last = OVERLAY_FIRST - 1;

    g_ptr_array_sort (entries, overlay_entry_compare);
    for (guint i = 0; i < entries->len; i++) {
        struct overlay_entry *entry = entries->pdata[i];

        entry->hash = last = MAX (entry->hash, last + 1);
    }
}

static int
overlay_list_layers (struct overlay_act *act, inode_t *inode, struct client *view,
                     GPtrArray *ret_entries)
{
    g_autoptr (GPtrArray) hidden = g_ptr_array_new_with_free_func (g_free);
    struct overlay_reading reading = { act, inode, view, NULL, ret_entries, hidden };
    int r = 0;

    reading.seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned slot = 0; r >= 0 && slot < overlay_priv (act->this)->n; slot++)
        r = overlay_read_layer (&reading, slot);
    g_hash_table_unref (reading.seen);
    if (overlay_is_dead (act->this, inode))
        g_ptr_array_set_size (ret_entries, 0);
    overlay_entries_order (ret_entries);
    return error_or_0 (r);
}

static int
overlay_list_read (struct overlay_act *act, inode_t *inode, GPtrArray *ret_entries)
{
    struct client *view = client_new_internal (act->this, act->this);
    const int r = overlay_list_layers (act, inode, view, ret_entries);

    client_free (view);
    return r;
}

int
overlay_is_empty (struct overlay_act *act, inode_t *directory)
{
    g_autoptr (GPtrArray) entries = overlay_entries_new ();
    const int r = overlay_list_layers (act, directory, NULL, entries);

    if (r < 0)
        return r;
    return entries->len > 0 ? -ENOTEMPTY : 0;
}

/* --- answering -------------------------------------------------------------------------------- */

static void
overlay_listing_free (struct overlay_listing *listing)
{
    if (listing)
        g_ptr_array_unref (listing->entries);
    g_free (listing);
}

void
overlay_list_forget (xlator_t *this, fd_t *fd)
{
    overlay_listing_free (fd_ctx_get (fd, this));
}

/* Two threads may read one fd: the entries of a page are kept by a reference. */
static GPtrArray *
overlay_listing_take (xlator_t *this, fd_t *fd)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_listing *listing;
    GPtrArray *entries;

    pthread_mutex_lock (&priv->lock);
    listing = fd_ctx_get (fd, this);
    entries = listing ? g_ptr_array_ref (listing->entries) : NULL;
    pthread_mutex_unlock (&priv->lock);
    return entries;
}

static void
overlay_listing_keep (xlator_t *this, fd_t *fd, GPtrArray *entries)
{
    overlay_private_t *priv = overlay_priv (this);
    struct overlay_listing *listing = g_new0 (struct overlay_listing, 1), *old;

    listing->entries = g_ptr_array_ref (entries);
    pthread_mutex_lock (&priv->lock);
    old = fd_ctx_get (fd, this);
    fd_ctx_set (fd, this, listing);
    pthread_mutex_unlock (&priv->lock);
    overlay_listing_free (old);
}

/* Returns a dirent, and what it takes of the caller's size. */
static gf_dirent_t *
overlay_dirent (const char *name, uint64_t number, uint32_t type, uint64_t offset, size_t *size)
{
    gf_dirent_t *entry = dirent_new (name, strlen (name));
    const size_t takes = sizeof *entry + strlen (name) + 1;

    entry->d_ino = number;
    entry->d_type = type;
    entry->d_off = (off_t) offset;
    *size = *size > takes ? *size - takes : 0;
    return entry;
}

static uint64_t
overlay_number_of (struct overlay_act *act, inode_t *inode)
{
    const unsigned slot = overlay_slot (act->this, inode);
    struct iatt buf;

    if (overlay_is_own_mount (act->this, inode))
        return overlay_own_mount_number (act->this, inode);
    if (slot == overlay_priv (act->this)->n
        || sync_name_stat (overlay_daemon (act, slot), realm_below (act->this, inode, slot), &buf)
               < 0)
        return 0;
    overlay_iatt_above (act->this, inode, slot, &buf);
    return buf.ia_ino;
}

static gf_dirent_t *
overlay_dots (struct overlay_act *act, inode_t *directory, bool up, size_t *size)
{
    g_autoptr (inode_t) parent = NULL;
    g_autofree char *name = NULL;

    if (up && inode_a_name (directory, &parent, &name))
        directory = parent;
    return overlay_dirent (up ? ".." : ".", overlay_number_of (act, directory), DT_DIR, up ? 2 : 1,
                           size);
}

/* Fills in attributes and inodes, for readdirp. A name that is gone meanwhile gets none. */
static void
overlay_page_attributes (struct overlay_act *act, inode_t *directory, gf_dirent_t *entries)
{
    struct client *client = client_new_internal (act->this, act->this);

    for (gf_dirent_t *entry = entries; entry; entry = entry->next) {
        struct iatt buf;

        if (!name_is_dots (entry->d_name)
            && overlay_entry_look (act, client, directory, entry->d_name, &buf, &entry->inode) == 0)
            entry->d_stat = buf;
    }
    client_free (client);
}

/* The first entry behind an offset. */
static guint
overlay_entries_from (const GPtrArray *entries, uint64_t offset)
{
    guint from = 0, to = entries->len;

    while (from < to) {
        const guint middle = from + (to - from) / 2;
        const struct overlay_entry *entry = entries->pdata[middle];

        if (entry->hash <= offset)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static gf_dirent_t *
overlay_page (struct overlay_act *act, inode_t *directory, const GPtrArray *entries,
              uint64_t offset, size_t size, int *ret_n)
{
    gf_dirent_t *first = NULL, **last = &first;
    const guint from = overlay_entries_from (entries, offset);

    *ret_n = 0;
    for (uint64_t dot = offset; dot < 2; dot++, (*ret_n)++, last = &(*last)->next)
        *last = overlay_dots (act, directory, dot == 1, &size);
    for (guint i = from; size > 0 && i < entries->len; i++, (*ret_n)++, last = &(*last)->next) {
        const struct overlay_entry *entry = entries->pdata[i];

        *last = overlay_dirent (entry->name, entry->number, entry->type, entry->hash, &size);
    }
    return first;
}

static void
overlay_list_answer (const struct call *call, gf_dirent_t *entries, int n)
{
    if (call->op == FOP_readdir)
        STACK_UNWIND (readdir, call->frame, n, 0, entries, NULL);
    else
        STACK_UNWIND (readdirp, call->frame, n, 0, entries, NULL);
    dirents_free (entries);
}

void
overlay_list (const struct call *call)
{
    g_autoptr (GPtrArray) entries = NULL;
    struct overlay_act act;
    gf_dirent_t *page = NULL;
    int r = 0, n = 0;

    overlay_act_begin (&act, call->this, call->frame, call->fd->inode);
    if (call->offset > 0)
        entries = overlay_listing_take (call->this, call->fd);
    if (!entries) {
        entries = overlay_entries_new ();
        r = overlay_list_read (&act, call->fd->inode, entries);
        if (r == 0)
            overlay_listing_keep (call->this, call->fd, entries);
    }
    if (r == 0)
        page = overlay_page (&act, call->fd->inode, entries, (uint64_t) call->offset, call->size,
                             &n);
    if (call->op == FOP_readdirp)
        overlay_page_attributes (&act, call->fd->inode, page);
    overlay_act_end (&act);
    if (r < 0)
        call_fail (call, -r);
    else
        overlay_list_answer (call, page, n);
}
