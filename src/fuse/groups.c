/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Supplementary groups of callers. The kernel's requests don't carry them. They are read from /proc
 * and cached for a short time, since reading costs more than most requests.
 *
 * /proc has no groups of a caller in another pid namespace, for which the kernel sends number 0,
 * nor of a server in the kernel, such as that of NFS, which acts as its client. Since Linux 6.3 a
 * request to make an object carries one group if the caller is in it: that of the directory.
 */
#include "fuse/groups.h"

#include "core/base/process.h"
#include "core/edge/stack.h"
#include "fuse/state.h"

#include <linux/fuse.h>
#include <stdlib.h>

#define CACHE_LIMIT 1024

/* An extension of a request: linux/fuse.h before 6.3 lacks it. */
#define EXT_GROUPS 32
#define EXT_UNIT 8
#define EXT_LENGTH_AT (offsetof (struct fuse_in_header, pid) + sizeof (uint32_t))

struct caller {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

struct groups_entry {
    struct caller caller;
    int64_t until; /* clock_now of its end */
    int count;
    gid_t groups[];
};

struct groups_cache {
    int64_t timeout;
    bool warned;          /* whether a caller in another pid namespace was logged; atomic */
    pthread_mutex_t lock; /* a leaf */
    GHashTable *entries;  /* lock; struct caller to struct groups_entry */
};

static guint
caller_hash (gconstpointer data)
{
    const struct caller *caller = data;

    return (guint) caller->pid * 2654435761u ^ caller->uid * 40503u ^ caller->gid;
}

static gboolean
caller_equal (gconstpointer a, gconstpointer b)
{
    const struct caller *x = a, *y = b;

    return x->pid == y->pid && x->uid == y->uid && x->gid == y->gid;
}

struct groups_cache *
groups_cache_new (int64_t timeout)
{
    struct groups_cache *cache = g_new0 (struct groups_cache, 1);

    cache->timeout = timeout;
    pthread_mutex_init (&cache->lock, NULL);
    cache->entries = g_hash_table_new_full (caller_hash, caller_equal, NULL, g_free);
    return cache;
}

void
groups_cache_free (struct groups_cache *cache)
{
    if (!cache)
        return;
    g_hash_table_destroy (cache->entries);
    pthread_mutex_destroy (&cache->lock);
    g_free (cache);
}

/* Parses the numbers of a line such as "Groups:\t4 24 1000". */
static GArray *
line_numbers (const char *status, const char *begin)
{
    GArray *list = g_array_new (FALSE, FALSE, sizeof (gid_t));
    const char *line = strstr (status, begin);

    for (line = line ? line + strlen (begin) : ""; *line && *line != '\n';) {
        char *end;
        unsigned long number = strtoul (line, &end, 10);
        if (end == line)
            break;
        gid_t gid = number;
        g_array_append_val (list, gid);
        for (line = end; *line == ' ' || *line == '\t'; line++)
            continue;
    }
    return list;
}

/* The line has the real, effective, saved and file-system id. */
static bool
line_has (const char *status, const char *begin, gid_t number)
{
    g_autoptr (GArray) list = line_numbers (status, begin);
    bool found = false;

    for (guint i = 0; i < list->len; i++)
        found |= g_array_index (list, gid_t, i) == number;
    return found;
}

/* Returns whether the process has the caller's ids. A caller that doesn't wait may have ended, and
 * its number may belong to another process with other groups. */
static bool
is_still (const struct caller *caller, const char *status)
{
    return line_has (status, "\nUid:", caller->uid) && line_has (status, "\nGid:", caller->gid);
}

static struct groups_entry *
groups_parse (const struct caller *caller, const char *status)
{
    GArray *list = line_numbers (is_still (caller, status) ? status : "", "\nGroups:");
    struct groups_entry *entry;

    entry = g_malloc0 (sizeof *entry + list->len * sizeof (gid_t));
    entry->caller = *caller;
    entry->count = list->len;
    if (list->len)
        memcpy (entry->groups, list->data, list->len * sizeof (gid_t));
    g_array_free (list, TRUE);
    return entry;
}

/* Warns once, since each request of that caller would tell the same. */
static void
warn_of_other_namespace (const struct bridge *bridge, const struct caller *caller)
{
    if (caller->pid || caller->uid == 0
        || __atomic_exchange_n (&bridge->groups->warned, true, __ATOMIC_RELAXED))
        return;
    gf_log (&bridge->xlator, GF_LOG_WARNING,
            "a caller with uid %u is in another pid namespace than the daemon, so its "
            "supplementary groups are not known: what only these allow is refused; see "
            "'Containers and pid namespaces' in windlass(1)",
            caller->uid);
}

/* Returns no groups for a caller outside the daemon's pid namespace, which has number 0, and for
 * one that has ended, which has no file. */
static struct groups_entry *
groups_ask (const struct bridge *bridge, const struct caller *caller)
{
    g_autofree char *status = process_status (caller->pid);

    warn_of_other_namespace (bridge, caller);
    return groups_parse (caller, status ? status : "");
}

static int
groups_give (call_stack_t *root, const struct groups_entry *entry)
{
    if (entry->count) {
        root->groups = stack_alloc (root, entry->count * sizeof (gid_t), NULL);
        memcpy (root->groups, entry->groups, entry->count * sizeof (gid_t));
    }
    return entry->count;
}

/* Returns how many groups there are, or -1 if the cache has no fresh entry. */
static int
groups_remembered (struct groups_cache *cache, call_stack_t *root, const struct caller *caller)
{
    const struct groups_entry *entry;
    int count = -1;

    pthread_mutex_lock (&cache->lock);
    entry = g_hash_table_lookup (cache->entries, caller);
    if (entry && entry->until > clock_now ())
        count = groups_give (root, entry);
    pthread_mutex_unlock (&cache->lock);
    return count;
}

int
groups_find (call_stack_t *root)
{
    /* The first frame of a request that a translator made as the caller (stack_new_like) belongs to
     * that translator. */
    const struct bridge *bridge = root->frames[0].this->graph->top->parents->xlator->private;
    struct groups_cache *cache = bridge->groups;
    const struct caller caller = { root->pid, root->uid, root->gid };
    struct groups_entry *entry;
    int count = groups_remembered (cache, root, &caller);

    if (count >= 0)
        return count;
    entry = groups_ask (bridge, &caller);
    count = groups_give (root, entry);
    entry->until = clock_now () + cache->timeout;
    pthread_mutex_lock (&cache->lock);
    if (g_hash_table_size (cache->entries) >= CACHE_LIMIT)
        g_hash_table_remove_all (cache->entries);
    g_hash_table_replace (cache->entries, &entry->caller, entry);
    pthread_mutex_unlock (&cache->lock);
    return count;
}

gid_t
groups_sent (const void *message, size_t size)
{
    const char *at = message, *end = at + size;
    struct {
        uint32_t size, type, count, group;
    } extension;
    uint16_t units;

    memcpy (&units, at + EXT_LENGTH_AT, sizeof units);
    if (G_LIKELY (units == 0) || size < sizeof (struct fuse_in_header) + units * EXT_UNIT)
        return NO_GROUP;
    for (at = end - units * EXT_UNIT; end - at >= (ptrdiff_t) sizeof extension;
         at += (extension.size + EXT_UNIT - 1) / EXT_UNIT * EXT_UNIT) {
        memcpy (&extension, at, sizeof extension);
        if (extension.size == 0 || extension.size > end - at)
            break;
        if (extension.type == EXT_GROUPS && extension.size >= sizeof extension
            && extension.count > 0)
            return extension.group;
    }
    return NO_GROUP;
}

void
groups_add (call_stack_t *root, gid_t group)
{
    const gid_t *groups;
    const int count = stack_groups (root, &groups);
    gid_t *more;

    for (int i = 0; i < count; i++)
        if (groups[i] == group)
            return;
    more = stack_alloc (root, (count + 1) * sizeof (gid_t), NULL);
    if (count > 0)
        memcpy (more, groups, count * sizeof (gid_t));
    more[count] = group;
    root->groups = more;
    root->ngroups = count + 1;
}
