/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The names in directories that are known to exist or not to exist. */
#include "nl-cache.h"

#define TABLE_COST 48 /* approximate bytes per name for the hash table and the allocator */

/* The key of a name. */
struct key {
    const gfid_t *directory;
    const char *name;
    guint hash;
};

static guint
hash_of (const gfid_t *directory, const char *name)
{
    guint hash = FNV32_START ^ gfid_hash (directory);

    for (; *name; name++)
        hash = fnv32_byte (hash, (guchar) g_ascii_tolower (*name));
    return hash ^ hash >> 15;
}

static struct key
nlc_key_of (const gfid_t *directory, const char *name)
{
    return (struct key){ directory, name, hash_of (directory, name) };
}

static struct nlc_shard *
nlc_shard_of (xlator_t *this, const gfid_t *directory)
{
    return &nlc_priv (this)->shards[(gfid_hash (directory) >> 7) % NLC_SHARDS];
}

static struct change_view *
nlc_view_of (struct nlc_shard *shard, const struct key *key)
{
    return &shard->views[key->hash % NLC_VIEWS];
}

static struct change_view *
nlc_directory_of (struct nlc_shard *shard, const gfid_t *directory)
{
    return &shard->directories[gfid_hash (directory) % NLC_VIEWS];
}

/* --- the table -------------------------------------------------------------------------------- */

void
nlc_shard_init (struct nlc_shard *shard)
{
    pthread_mutex_init (&shard->lock, NULL);
}

/* The first of all names with that hash, in any directory of the shard. */
static struct nlc_name *
first_locked (const struct nlc_shard *shard, guint hash)
{
    return shard->names ? g_hash_table_lookup (shard->names, GUINT_TO_POINTER (hash)) : NULL;
}

static struct nlc_name *
nlc_find_locked (const struct nlc_shard *shard, const struct key *key)
{
    struct nlc_name *at = first_locked (shard, key->hash);

    while (at
           && (at->gone || strcmp (at->name, key->name) != 0
               || !gfid_equal (&at->directory, key->directory)))
        at = at->same;
    return at;
}

/* Finds a name that differs at most in upper and lower case. */
static struct nlc_name *
find_alike_locked (const struct nlc_shard *shard, const struct key *key)
{
    struct nlc_name *at = first_locked (shard, key->hash);

    while (at
           && (at->gone || at->state == NLC_ABSENT || g_ascii_strcasecmp (at->name, key->name) != 0
               || !gfid_equal (&at->directory, key->directory)))
        at = at->same;
    return at;
}

static void
nlc_insert_locked (struct nlc_shard *shard, struct nlc_name *name)
{
    if (!shard->names)
        shard->names = g_hash_table_new (NULL, NULL);
    name->same = first_locked (shard, name->hash);
    g_hash_table_insert (shard->names, GUINT_TO_POINTER (name->hash), name);
}

static void
nlc_unlink_locked (struct nlc_shard *shard, struct nlc_name *name)
{
    struct nlc_name *first = first_locked (shard, name->hash), *at = first;

    if (first == name && name->same)
        g_hash_table_insert (shard->names, GUINT_TO_POINTER (name->hash), name->same);
    else if (first == name)
        g_hash_table_remove (shard->names, GUINT_TO_POINTER (name->hash));
    while (at && at->same != name)
        at = at->same;
    if (at)
        at->same = name->same;
}

/* If lru has evicted the name, the evicting thread frees it. */
static void
drop_locked (xlator_t *this, struct nlc_shard *shard, struct nlc_name *name)
{
    if (!name)
        return;
    name->gone = true;
    if (!lru_remove (&nlc_priv (this)->lru, &name->lru))
        return;
    nlc_unlink_locked (shard, name);
    g_free (name);
}

static void
drop_whole_locked (xlator_t *this, struct nlc_shard *shard, const gfid_t *directory)
{
    const struct key key = nlc_key_of (directory, "");

    drop_locked (this, shard, nlc_find_locked (shard, &key));
}

/* Frees names that lru has evicted. If a name that may exist goes, the directory's names are not
 * all known any more. */
static void
throw_away (xlator_t *this, struct lru_entry *gone)
{
    while (gone) {
        struct nlc_name *name = (struct nlc_name *) lru_next (&gone);
        struct nlc_shard *shard = nlc_shard_of (this, &name->directory);

        pthread_mutex_lock (&shard->lock);
        if (!name->gone && name->state != NLC_ABSENT && name->state != NLC_WHOLE)
            drop_whole_locked (this, shard, &name->directory);
        nlc_unlink_locked (shard, name);
        pthread_mutex_unlock (&shard->lock);
        g_free (name);
    }
}

void
nlc_set_limit (xlator_t *this, uint64_t limit)
{
    throw_away (this, lru_set_limit (&nlc_priv (this)->lru, limit));
}

static void
free_list (struct nlc_name *name)
{
    while (name) {
        struct nlc_name *next = name->same;

        g_free (name);
        name = next;
    }
}

/* No request is left: all names are taken out of the lru first. */
void
nlc_shard_destroy (xlator_t *this, struct nlc_shard *shard)
{
    GHashTableIter iter;
    gpointer first;

    if (shard->names) {
        g_hash_table_iter_init (&iter, shard->names);
        while (g_hash_table_iter_next (&iter, NULL, &first)) {
            for (struct nlc_name *name = first; name; name = name->same)
                lru_remove (&nlc_priv (this)->lru, &name->lru);
            free_list (first);
        }
        g_hash_table_destroy (shard->names);
    }
    pthread_mutex_destroy (&shard->lock);
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool
is_young (xlator_t *this, const struct nlc_name *name)
{
    return clock_roughly () - name->time < NLC_OPTION (this, timeout)
        && change_view_holds (&nlc_priv (this)->all, name->asked);
}

static bool
is_whole_locked (xlator_t *this, const struct nlc_shard *shard, const gfid_t *directory)
{
    const struct key key = nlc_key_of (directory, "");
    const struct nlc_name *whole = NLC_OPTION (this, positive) ? nlc_find_locked (shard, &key)
                                                               : NULL;

    return whole && is_young (this, whole);
}

static bool
nlc_is_absent_locked (xlator_t *this, struct nlc_shard *shard, const struct key *key)
{
    struct nlc_name *known = nlc_find_locked (shard, key);

    if (!known)
        return is_whole_locked (this, shard, key->directory) && !find_alike_locked (shard, key);
    if (known->state != NLC_ABSENT || !is_young (this, known)
        || !change_view_holds (nlc_view_of (shard, key), known->asked))
        return false;
    lru_touch (&nlc_priv (this)->lru, &known->lru);
    return true;
}

bool
nlc_is_absent (xlator_t *this, const inode_t *parent, const char *name)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);
    bool absent;

    pthread_mutex_lock (&shard->lock);
    absent = nlc_is_absent_locked (this, shard, &key);
    pthread_mutex_unlock (&shard->lock);
    return absent;
}

char *
nlc_real_name (xlator_t *this, const inode_t *parent, const char *name, bool *ret_absent)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);
    const struct nlc_name *alike;
    char *real = NULL;

    pthread_mutex_lock (&shard->lock);
    alike = find_alike_locked (shard, &key);
    if (alike && alike->state == NLC_PRESENT && is_young (this, alike)
        && change_view_holds (nlc_view_of (shard, &key), alike->asked))
        real = g_strdup (alike->name);
    *ret_absent = !alike && is_whole_locked (this, shard, key.directory);
    pthread_mutex_unlock (&shard->lock);
    return real;
}

bool
nlc_is_whole (xlator_t *this, const inode_t *directory)
{
    struct nlc_shard *shard = nlc_shard_of (this, &directory->gfid);
    bool whole;

    pthread_mutex_lock (&shard->lock);
    whole = is_whole_locked (this, shard, &directory->gfid);
    pthread_mutex_unlock (&shard->lock);
    return whole;
}

/* --- adding names ----------------------------------------------------------------------------- */

/* Returns the names that lru evicts for it. If there is no room for a name that may exist, the
 * directory's names are not all known any more. */
static struct lru_entry *
nlc_set_locked (xlator_t *this, struct nlc_shard *shard, const struct key *key,
                enum nlc_state state, struct nlc_asked at)
{
    struct nlc_name *name = nlc_find_locked (shard, key);
    const size_t length = strlen (key->name) + 1;
    struct lru_entry *gone = NULL;
    bool fits = true;

    if (!name) {
        name = g_malloc0 (sizeof *name + length);
        name->directory = *key->directory;
        name->hash = key->hash;
        memcpy (name->name, key->name, length);
        gone = lru_add (&nlc_priv (this)->lru, &name->lru, 0, sizeof *name + length + TABLE_COST,
                        &fits);
        if (fits)
            nlc_insert_locked (shard, name);
    }
    if (!fits && state != NLC_ABSENT)
        drop_whole_locked (this, shard, key->directory);
    if (!fits) {
        g_free (name);
        return gone;
    }
    name->state = state;
    name->asked = at.asked;
    name->time = at.time;
    return gone;
}

/* Returns false if another operation made or removed the name since it was requested. */
static bool
may_keep_locked (xlator_t *this, struct nlc_shard *shard, const struct key *key,
                 struct nlc_asked at)
{
    return change_view_holds (nlc_view_of (shard, key), at.asked)
        && change_view_holds (&nlc_priv (this)->all, at.asked);
}

void
nlc_keep (xlator_t *this, const inode_t *parent, const char *name, enum nlc_state state,
          struct nlc_asked at)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);
    const bool wanted = state == NLC_ABSENT || NLC_OPTION (this, positive);
    struct lru_entry *gone = NULL;

    pthread_mutex_lock (&shard->lock);
    if (may_keep_locked (this, shard, &key, at)) {
        if (wanted)
            gone = nlc_set_locked (this, shard, &key, state, at);
        else
            drop_locked (this, shard, nlc_find_locked (shard, &key));
        if (state != NLC_ABSENT && !wanted)
            drop_whole_locked (this, shard, &parent->gfid);
    }
    pthread_mutex_unlock (&shard->lock);
    throw_away (this, gone);
}

void
nlc_keep_whole (xlator_t *this, const gfid_t *directory, struct nlc_asked at)
{
    const struct key key = nlc_key_of (directory, "");
    struct nlc_shard *shard = nlc_shard_of (this, directory);
    struct lru_entry *gone = NULL;

    if (!NLC_OPTION (this, positive))
        return;
    pthread_mutex_lock (&shard->lock);
    if (change_view_holds (nlc_directory_of (shard, directory), at.asked)
        && change_view_holds (&nlc_priv (this)->all, at.asked))
        gone = nlc_set_locked (this, shard, &key, NLC_WHOLE, at);
    pthread_mutex_unlock (&shard->lock);
    throw_away (this, gone);
}

/* --- changes ---------------------------------------------------------------------------------- */

/* A new name is not kept. So the directory's names are not all known any more, even if options
 * change later. */
static void
forget_made_locked (xlator_t *this, struct nlc_shard *shard, const struct key *key)
{
    drop_whole_locked (this, shard, key->directory);
    drop_locked (this, shard, nlc_find_locked (shard, key));
}

uint64_t
nlc_change_begin (xlator_t *this, const inode_t *parent, const char *name, bool makes,
                  bool *ret_absent)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);
    struct change_clock *clock = &nlc_priv (this)->clock;
    struct lru_entry *gone = NULL;
    uint64_t begun;

    pthread_mutex_lock (&shard->lock);
    *ret_absent = nlc_is_absent_locked (this, shard, &key);
    begun = change_begin (clock, nlc_view_of (shard, &key));
    if (makes)
        change_begin (clock, nlc_directory_of (shard, &parent->gfid));
    if (makes && is_whole_locked (this, shard, &parent->gfid))
        gone = nlc_set_locked (this, shard, &key, NLC_MAYBE,
                               (struct nlc_asked){ begun, clock_roughly () });
    else if (makes)
        forget_made_locked (this, shard, &key);
    pthread_mutex_unlock (&shard->lock);
    throw_away (this, gone);
    return begun;
}

void
nlc_change_end (xlator_t *this, const inode_t *parent, const char *name, uint64_t begun, bool makes,
                bool known, enum nlc_state state)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);
    struct change_clock *clock = &nlc_priv (this)->clock;
    struct lru_entry *gone = NULL;
    struct nlc_name *old;
    uint64_t alone;

    pthread_mutex_lock (&shard->lock);
    alone = change_end (clock, nlc_view_of (shard, &key), begun);
    if (makes)
        change_end (clock, nlc_directory_of (shard, &parent->gfid), 0);
    old = nlc_find_locked (shard, &key);
    if (alone && known && (state == NLC_ABSENT || NLC_OPTION (this, positive)))
        gone = nlc_set_locked (this, shard, &key, state,
                               (struct nlc_asked){ alone, clock_roughly () });
    else if (old && old->state == NLC_PRESENT)
        old->state = NLC_MAYBE;
    pthread_mutex_unlock (&shard->lock);
    throw_away (this, gone);
}

void
nlc_name_changed (xlator_t *this, const inode_t *parent, const char *name)
{
    const struct key key = nlc_key_of (&parent->gfid, name);
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);

    pthread_mutex_lock (&shard->lock);
    change_happened (&nlc_priv (this)->clock, nlc_view_of (shard, &key));
    change_happened (&nlc_priv (this)->clock, nlc_directory_of (shard, &parent->gfid));
    drop_whole_locked (this, shard, &parent->gfid);
    drop_locked (this, shard, nlc_find_locked (shard, &key));
    pthread_mutex_unlock (&shard->lock);
}

/* The changed names are not known. */
void
nlc_directory_changed (xlator_t *this, const inode_t *parent)
{
    struct nlc_shard *shard = nlc_shard_of (this, &parent->gfid);

    pthread_mutex_lock (&shard->lock);
    for (unsigned i = 0; i < NLC_VIEWS; i++)
        change_happened (&nlc_priv (this)->clock, &shard->views[i]);
    change_happened (&nlc_priv (this)->clock, nlc_directory_of (shard, &parent->gfid));
    drop_whole_locked (this, shard, &parent->gfid);
    pthread_mutex_unlock (&shard->lock);
}

void
nlc_all_changed (xlator_t *this)
{
    nlc_private_t *priv = nlc_priv (this);

    pthread_mutex_lock (&priv->all_lock);
    change_happened (&priv->clock, &priv->all);
    pthread_mutex_unlock (&priv->all_lock);
}
