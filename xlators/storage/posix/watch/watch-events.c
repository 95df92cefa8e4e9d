/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Events of the kernel: the inode of an event, and the kind of change. Events of one read are
 * merged. */
#include "internal.h"

/* writing through a mapping is noticed when the mapped file is closed */
#define CHANGES_DATA (FAN_MODIFY | FAN_CLOSE_WRITE)
#define CHANGES_SELF (FAN_MOVE_SELF | FAN_DELETE_SELF)
#define CHANGES_NAMES (FAN_CREATE | FAN_DELETE | FAN_MOVED_FROM | FAN_MOVED_TO)
#define SAME_HANDLE_MAX 8 /* if several file systems have the same id */

/* A change to be reported; name points into the read buffer. */
struct watched_change {
    gfid_t gfid;
    const char *name; /* or NULL */
    unsigned what;
};

static guint
change_hash (gconstpointer data)
{
    const struct watched_change *change = data;

    return gfid_hash (&change->gfid) ^ (change->name ? g_str_hash (change->name) : 0);
}

static gboolean
change_same (gconstpointer a, gconstpointer b)
{
    const struct watched_change *one = a, *other = b;

    return gfid_equal (&one->gfid, &other->gfid) && g_strcmp0 (one->name, other->name) == 0;
}

void
watch_tell (struct posix_watch *watch, const gfid_t *gfid, unsigned what, const char *name)
{
    struct itable *table = __atomic_load_n (&watch->table, __ATOMIC_ACQUIRE);
    g_autoptr (inode_t) inode = table && gfid ? inode_find (table, gfid) : NULL;

    if (!table || (gfid && !inode) || __atomic_load_n (&watch->ending, __ATOMIC_ACQUIRE))
        return;
    __atomic_add_fetch (&watch->count.told, 1, __ATOMIC_RELAXED);
    xlator_pass_on (watch->this, XLATOR_INVALIDATE,
                    &(struct invalidation){ .inode = inode, .what = what, .name = name });
}

static void
changes_add (GHashTable *changes, const gfid_t *gfid, unsigned what, const char *name)
{
    const struct watched_change key = { *gfid, name, what };
    struct watched_change *change = g_hash_table_lookup (changes, &key);

    if (!change) {
        change = g_new (struct watched_change, 1);
        *change = key;
        g_hash_table_add (changes, change);
    }
    change->what |= what;
}

/* The kind of change that an event tells of the object itself, and of a name in a directory. */
static unsigned
what_of_object (uint64_t mask)
{
    unsigned what = 0;

    if (mask & CHANGES_DATA)
        /* a write removes capabilities, which are xattrs */
        what |= INVALIDATE_FILE;
    if (mask & FAN_ATTRIB)
        what |= INVALIDATE_ATTRIBUTES | INVALIDATE_XATTRS;
    if (mask & CHANGES_SELF)
        what |= INVALIDATE_ATTRIBUTES;
    return what;
}

static unsigned
what_of_directory (uint64_t mask, const char *name)
{
    if (mask & CHANGES_NAMES)
        return INVALIDATE_NAMES | INVALIDATE_ATTRIBUTES;
    /* else the name is that of the object */
    return name && strcmp (name, ".") == 0 ? what_of_object (mask) : 0;
}

/* The name behind a handle, or NULL; it ends within the record. */
static const char *
watch_name_of (const struct fanotify_event_info_fid *info, const struct file_handle *handle)
{
    const char *name = (const char *) handle->f_handle + handle->handle_bytes;
    const size_t left = (size_t) ((const char *) info + info->hdr.len - name);

    if (info->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME || !memchr (name, '\0', left))
        return NULL;
    return name;
}

/* Reads a record of an event, whose bounds were checked. Returns the number of changes it stands
 * for. */
static unsigned
record_read (struct posix_watch *watch, uint64_t mask, const struct fanotify_event_info_fid *info,
             GHashTable *changes)
{
    const struct file_handle *handle = (const struct file_handle *) info->handle;
    const char *name = watch_name_of (info, handle);
    const unsigned what = info->hdr.info_type == FAN_EVENT_INFO_TYPE_FID
                            ? what_of_object (mask)
                            : what_of_directory (mask, name);
    gfid_t gfids[SAME_HANDLE_MAX];
    unsigned n;

    if (!what)
        return 0;
    n = watch_marks_find (watch, info->fsid.val, handle, gfids, SAME_HANDLE_MAX);
    for (unsigned i = 0; i < n; i++)
        changes_add (changes, &gfids[i], what, what & INVALIDATE_NAMES ? name : NULL);
    return n;
}

static bool
record_is_whole (const struct fanotify_event_info_fid *info, size_t left)
{
    const size_t head = offsetof (struct fanotify_event_info_fid, handle)
                      + sizeof (struct file_handle);

    return left >= head && info->hdr.len >= head && info->hdr.len <= left
           && ((const struct file_handle *) info->handle)->handle_bytes <= info->hdr.len - head;
}

/* Copies the event at `at`: the kernel aligns events to 4 bytes (FANOTIFY_EVENT_ALIGN), and the
 * struct needs 8. */
static bool
event_at (const char *at, ssize_t left, struct fanotify_event_metadata *ret_event)
{
    if (left < (ssize_t) sizeof *ret_event)
        return false;
    memcpy (ret_event, at, sizeof *ret_event);
    return FAN_EVENT_OK (ret_event, left);
}

/* begin: the event's position in the buffer. */
static void
event_read (struct posix_watch *watch, const char *begin,
            const struct fanotify_event_metadata *event, GHashTable *changes)
{
    const char *at = begin + event->metadata_len, *end = begin + event->event_len;
    unsigned n = 0;

    while (at + sizeof (struct fanotify_event_info_header) <= end) {
        const struct fanotify_event_info_fid *info = (const struct fanotify_event_info_fid *) at;

        if (info->hdr.len < sizeof info->hdr || info->hdr.len > end - at)
            break;
        if (info->hdr.info_type <= FAN_EVENT_INFO_TYPE_DFID
            && record_is_whole (info, (size_t) (end - at)))
            n += record_read (watch, event->mask, info, changes);
        at += info->hdr.len;
    }
    if (n == 0)
        __atomic_add_fetch (&watch->count.unknown, 1, __ATOMIC_RELAXED);
}

static void
overflow (struct posix_watch *watch)
{
    if (__atomic_fetch_add (&watch->count.overflows, 1, __ATOMIC_RELAXED) == 0)
        gf_log (watch->this, GF_LOG_INFO,
                "others changed more than the kernel lists (fs.fanotify.max_queued_events): all "
                "that is "
                "remembered is looked at anew; this is said once");
    watch_tell (watch, NULL, INVALIDATE_ALL, NULL);
}

int
watch_events_read (struct posix_watch *watch, char *buffer, size_t size)
{
    ssize_t left = read (watch->fd, buffer, size);
    struct fanotify_event_metadata event;
    g_autoptr (GHashTable) changes = NULL;
    const pid_t self = getpid ();
    GHashTableIter iter;
    struct watched_change *change;
    int worth = 0;

    if (left < 0)
        return -errno;
    changes = g_hash_table_new_full (change_hash, change_same, g_free, NULL);
    for (; event_at (buffer, left, &event); buffer += event.event_len, left -= event.event_len) {
        __atomic_add_fetch (&watch->count.events, 1, __ATOMIC_RELAXED);
        if (event.mask & FAN_Q_OVERFLOW)
            overflow (watch);
        else if (event.pid == self)
            __atomic_add_fetch (&watch->count.own, 1, __ATOMIC_RELAXED);
        else
            event_read (watch, buffer, &event, changes);
    }
    g_hash_table_iter_init (&iter, changes);
    while (g_hash_table_iter_next (&iter, (gpointer *) &change, NULL)) {
        watch_tell (watch, &change->gfid, change->what, change->name);
        worth = 1;
    }
    return worth;
}
