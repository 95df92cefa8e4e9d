/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "records.h"
#include "temporaries.h"

#include <sys/stat.h>

#define RECORDS "records"
#define NOBODY 65534 /* what /proc/sys/kernel/overflowuid says if nobody has changed it */

/* An object of the base, or none: then all bytes are 0. Numbers are big-endian. A record is one
 * state, the one before; or two, of which the second is that after an apply. */
struct record_state {
    gfid_t gfid;
    uint64_t size, mtime, ctime;
    uint32_t mtime_nsec, ctime_nsec, mode, uid, gid, nlink;
};
G_STATIC_ASSERT (sizeof (struct record_state) == 64);

static struct record_state
record_state_of (const struct iatt *buf)
{
    if (!buf)
        return (struct record_state){ 0 };
    return (struct record_state){
        .gfid = buf->ia_gfid,
        .size = GUINT64_TO_BE (buf->ia_size),
        .mtime = GUINT64_TO_BE ((uint64_t) buf->ia_mtime),
        .ctime = GUINT64_TO_BE ((uint64_t) buf->ia_ctime),
        .mtime_nsec = GUINT32_TO_BE (buf->ia_mtime_nsec),
        .ctime_nsec = GUINT32_TO_BE (buf->ia_ctime_nsec),
        .mode = GUINT32_TO_BE (mode_of_iatt (buf)),
        .uid = GUINT32_TO_BE (buf->ia_uid),
        .gid = GUINT32_TO_BE (buf->ia_gid),
        .nlink = GUINT32_TO_BE (buf->ia_nlink),
    };
}

/* --- the store -------------------------------------------------------------------------------- */

int
overlay_records_open (struct overlay_act *act, inode_t *work)
{
    xlator_t *this = act->this;
    overlay_private_t *priv = overlay_priv (this);
    const struct store_plan plan = { this, priv->layers[OVERLAY_UPPER].xlator, work, RECORDS,
                                     xlator_is_read_only (this) };
    const int r = store_open (&plan, &priv->records);

    if (r < 0 && plan.read_only) {
        gf_log (this, GF_LOG_WARNING, "the file '" RECORDS "' in the work directory '%s' of volume "
                "'%s' can't be read: %s; so nothing tells whether a commit was interrupted when it "
                "moved directories, which this read-only mount would not show",
                priv->work_directory, priv->layers[OVERLAY_UPPER].xlator->name, g_strerror (-r));
        return 0;
    }
    if (r < 0)
        gf_log (this, GF_LOG_ERROR, "the file '" RECORDS "' in the work directory '%s' of volume "
                "'%s' can't be opened: %s", priv->work_directory,
                priv->layers[OVERLAY_UPPER].xlator->name, g_strerror (-r));
    return r;
}

void
overlay_records_close (xlator_t *this)
{
    overlay_private_t *priv = overlay_priv (this);

    store_close (g_steal_pointer (&priv->records), this);
}

/* --- making ----------------------------------------------------------------------------------- */

/* Returns the path in the base of a name in a directory above; NULL if the base has no such
 * directory. g_free it. */
static char *
record_path (struct overlay_act *act, inode_t *parent, const char *name)
{
    inode_t *directory = realm_below (act->this, parent, overlay_priv (act->this)->n - 1);

    return directory ? inode_path (directory, name) : NULL;
}

static int
record_put (xlator_t *this, const char *path, const struct iatt *buf)
{
    const struct record_state state = record_state_of (buf);
    struct store *records = overlay_priv (this)->records;

    store_set (records, path, &state, sizeof state);
    return store_write (records);
}

/* Another layer than the base shows the object: the base may have another one below it. A record
 * that is there tells of the time before that layer. */
static int
record_hidden (struct overlay_act *act, inode_t *parent, const char *name, const char *path)
{
    const unsigned base = overlay_priv (act->this)->n - 1;
    g_autoptr (GBytes) known = store_get (overlay_priv (act->this)->records, path);
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;
    int r;

    if (known)
        return 0;
    r = sync_name_look (overlay_daemon (act, base), realm_below (act->this, parent, base), name,
                        &inode, &buf);
    if (r < 0 && r != -ENOENT)
        return r;
    return record_put (act->this, path, r == 0 ? &buf : NULL);
}

int
overlay_record_copy (struct overlay_act *act, inode_t *parent, const char *name, unsigned slot,
                     const struct iatt *buf)
{
    g_autofree char *path = record_path (act, parent, name);

    if (!path)
        return 0;
    return slot == overlay_priv (act->this)->n - 1 ? record_put (act->this, path, buf)
                                                   : record_hidden (act, parent, name, path);
}

int
overlay_record_name (struct overlay_act *act, inode_t *parent, const char *name,
                     const struct overlay_name *at)
{
    return at->upper || !at->lower
               ? 0 : overlay_record_copy (act, parent, name, at->lower, &at->lower_buf);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* A user namespace shows users and groups that it does not have as nobody. The daemon that wrote
 * the record may have been in one, and this daemon not. */
static bool
id_is_same (uint32_t one, uint32_t other)
{
    const uint32_t nobody = GUINT32_TO_BE (NOBODY);

    return one == other || one == nobody || other == nobody;
}

static bool
state_is_of_same (const struct record_state *one, const struct record_state *other)
{
    return gfid_equal (&one->gfid, &other->gfid) && one->mode == other->mode
        && id_is_same (one->uid, other->uid) && id_is_same (one->gid, other->gid);
}

/* Names that come and go change a directory's times, and the link count of a file its ctime. */
static bool
state_is_unchanged (const struct record_state *then, const struct record_state *now)
{
    if (!state_is_of_same (then, now))
        return false;
    if (S_ISDIR (GUINT32_FROM_BE (now->mode)))
        return true;
    return then->size == now->size && then->mtime == now->mtime
        && then->mtime_nsec == now->mtime_nsec
        && (then->nlink != now->nlink
            || (then->ctime == now->ctime && then->ctime_nsec == now->ctime_nsec));
}

/* The rename that gives an applied file its name changes its ctime. */
static bool
state_is_applied (const struct record_state *after, const struct record_state *now)
{
    return state_is_of_same (after, now)
        && (S_ISDIR (GUINT32_FROM_BE (now->mode))
            || (after->size == now->size && after->mtime == now->mtime
                && after->mtime_nsec == now->mtime_nsec));
}

/* Where an apply can't exchange names, a directory that it replaces, or that replaces something, is
 * not there for a moment: base_place in apply/base.c. */
static bool
state_is_between (const struct record_state *before, const struct record_state *after,
                  const struct record_state *now)
{
    return gfid_is_null (&now->gfid) && !gfid_is_null (&after->gfid)
        && (S_ISDIR (GUINT32_FROM_BE (before->mode)) || S_ISDIR (GUINT32_FROM_BE (after->mode)));
}

enum overlay_verdict
overlay_record_judge (xlator_t *this, const char *path, const struct iatt *now)
{
    const struct record_state state = record_state_of (now);
    g_autoptr (GBytes) record = store_get (overlay_priv (this)->records, path);
    gsize size = 0;
    const struct record_state *states = record ? g_bytes_get_data (record, &size) : NULL;

    if (size < sizeof *states)
        return now ? RECORD_MISSING : RECORD_SAME;
    if (state_is_unchanged (&states[0], &state)
        || (size >= 2 * sizeof *states
            && (state_is_applied (&states[1], &state)
                || state_is_between (&states[0], &states[1], &state))))
        return RECORD_SAME;
    return RECORD_CHANGED;
}

bool
overlay_record_has_time (xlator_t *this, const char *path, const struct iatt *now)
{
    const struct record_state state = record_state_of (now);
    g_autoptr (GBytes) record = store_get (overlay_priv (this)->records, path);
    gsize size = 0;
    const struct record_state *then = record ? g_bytes_get_data (record, &size) : NULL;

    return size >= sizeof *then && then->mtime == state.mtime
           && then->mtime_nsec == state.mtime_nsec;
}

void
overlay_record_applies (xlator_t *this, const char *path, const struct iatt *after)
{
    struct store *records = overlay_priv (this)->records;
    g_autoptr (GBytes) record = store_get (records, path);
    struct record_state states[2] = { 0 };
    gsize size = 0;
    const void *data = record ? g_bytes_get_data (record, &size) : NULL;

    if (size >= sizeof *states)
        memcpy (&states[0], data, sizeof *states);
    states[1] = record_state_of (after);
    store_set (records, path, states, sizeof states);
}

void
overlay_record_settle (xlator_t *this, const char *path, const struct iatt *now)
{
    const struct record_state state = record_state_of (now);
    struct store *records = overlay_priv (this)->records;
    g_autoptr (GBytes) record = store_get (records, path);

    if (record)
        store_set (records, path, &state, sizeof state);
}

gfid_t
overlay_record_applied (xlator_t *this, const char *path)
{
    g_autoptr (GBytes) record = store_get (overlay_priv (this)->records, path);
    gsize size = 0;
    const struct record_state *states = record ? g_bytes_get_data (record, &size) : NULL;

    return size >= 2 * sizeof *states ? states[1].gfid : (gfid_t){ 0 };
}

void
overlay_record_drop (xlator_t *this, const char *path)
{
    store_remove (overlay_priv (this)->records, path);
}

struct record_dropping {
    struct store *records;
    uint64_t until;
};

static void
record_drop_one (const char *key, GBytes *value, void *data)
{
    const struct record_dropping *dropping = data;

    store_remove_until (dropping->records, key, dropping->until);
}

uint64_t
overlay_records_now (xlator_t *this)
{
    return store_now (overlay_priv (this)->records);
}

void
overlay_records_drop_until (xlator_t *this, const char *path, uint64_t until)
{
    struct record_dropping dropping = { overlay_priv (this)->records, until };
    g_autofree char *prefix = g_strconcat (path, "/", NULL);

    store_remove_until (dropping.records, path, until);
    store_each (dropping.records, path[1] ? prefix : "/", record_drop_one, &dropping);
}

void
overlay_records_drop_below (xlator_t *this, const char *path)
{
    overlay_records_drop_until (this, path, UINT64_MAX);
}

/* --- moves of directories --------------------------------------------------------------------- */

struct records_move {
    xlator_t *this;
    const char *begins; /* of the keys */
    const char *from, *to;
};

static void
records_move_one (const char *key, GBytes *value, void *data)
{
    const struct records_move *move = data;
    const char *rest = key + strlen (move->begins) + strlen (move->from);
    g_autofree char *moved = g_strconcat (move->begins, move->to, rest, NULL);
    struct store *records = overlay_priv (move->this)->records;
    gsize size;
    const void *bytes = g_bytes_get_data (value, &size);

    if (*rest != '\0' && *rest != '/')
        return;
    store_set (records, moved, bytes, size);
    store_remove (records, key);
}

void
overlay_records_move (xlator_t *this, const char *from, const char *to)
{
    static const char *const begins[] = { "", TEMPORARY_KEY };

    for (size_t i = 0; i < G_N_ELEMENTS (begins); i++) {
        struct records_move move = { this, begins[i], from, to };
        g_autofree char *prefix = g_strconcat (begins[i], from, NULL);

        store_each (overlay_priv (this)->records, prefix, records_move_one, &move);
    }
}
