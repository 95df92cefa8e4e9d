/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass trash empty: removes entries for good, each as the user of its trash.
 */
#include "commands.h"
#include "../entries/removal.h"

#include <errno.h>
#include <string.h>

#define ORPHAN_AGE 3600 /* seconds: the age of an information file without a file beside it from
                         * which no program is just about to put the file there */

struct trash_emptying {
    struct visit *visit;
    unsigned done, failed;
    uint64_t removed; /* names, for the progress */
};

/* --- entries ---------------------------------------------------------------------------------- */

static bool
empty_next (void *data)
{
    struct trash_emptying *emptying = data;
    struct job *job = emptying->visit->job;

    if (!job_next (job))
        return false;
    job_progress (job, ++emptying->removed, 0);
    return true;
}

static struct trash_removal
empty_of (struct trash_emptying *emptying, const struct bin_seen *bin, const char *name)
{
    return (struct trash_removal){ emptying->visit->this, bin->client, bin->info, bin->files, name,
                                   empty_next, emptying };
}

static int
entry_remove (struct trash_emptying *emptying, const struct entry_seen *entry)
{
    const struct trash_removal removal = empty_of (emptying, entry->bin, entry->name);
    const int r = trash_entry_remove (&removal, &entry->info);

    return r == -ENOENT ? 0 : r;
}

static int
entry_remove_told (struct trash_emptying *emptying, const struct entry_seen *entry)
{
    g_autofree char *shown = visit_shown (entry->path ? entry->path : entry->name);
    const int r = entry_remove (emptying, entry);

    if (r == -EINTR)
        return r;
    if (r == 0) {
        emptying->done++;
        return 0;
    }
    emptying->failed++;
    job_print (emptying->visit->job, "'%s' stays in the trash: %s\n", shown,
               r == -ESTALE ? "a younger entry has its name by now" : g_strerror (-r));
    return 0;
}

/* Returns 0, or -EINTR. */
static int
rests_remove (struct trash_emptying *emptying, const struct bin_seen *bin)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    struct trash_removal removal = empty_of (emptying, bin, NULL);
    int r = 0;

    sync_names_list (bin->client, emptying->visit->this->fd_maker, bin->info, names);
    for (guint i = 0; r != -EINTR && i < names->len; i++)
        r = trash_entry_remove_rest (&removal, names->pdata[i]);
    return r == -EINTR ? r : 0;
}

/* A file without an information file can't be restored. The information file is made first, so no
 * program is about to make it. */
static int
orphans_remove (struct trash_emptying *emptying, const struct bin_seen *bin)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
    struct trash_removal removal = empty_of (emptying, bin, NULL);
    int r = sync_names_list (bin->client, emptying->visit->this->fd_maker, bin->files, names);

    for (guint i = 0; r == 0 && i < names->len; i++) {
        g_autofree char *info = g_strconcat (names->pdata[i], TRASH_INFO_SUFFIX, NULL);
        g_autoptr (inode_t) there = NULL;
        struct iatt buf;

        if (!job_next (emptying->visit->job))
            return -EINTR;
        if (strlen (info) <= NAME_MAX
            && sync_name_look (bin->client, bin->info, info, &there, &buf) != -ENOENT)
            continue;
        removal.name = names->pdata[i];
        r = trash_tree_remove (&removal);
        if (r != -EINTR)
            r = 0;
    }
    return r;
}

static bool
has_no_file (const struct entry_seen *entry)
{
    g_autoptr (inode_t) inode = NULL;
    struct iatt buf;

    return visit_look (entry, &inode, &buf) == -ENOENT;
}

/* Another program may be about to put the file there. */
static bool
is_just_made (const struct entry_seen *entry)
{
    return clock_today ().tv_sec - entry->when < ORPHAN_AGE && has_no_file (entry);
}

/* --- the command ------------------------------------------------------------------------------ */

static int
empty_chosen (struct trash_emptying *emptying)
{
    struct visit *visit = emptying->visit;
    int r = 0;

    for (guint i = 0; r == 0 && i < visit->chosen->len; i++) {
        const struct entry_seen *entry = visit->chosen->pdata[i];

        r = job_next (visit->job) ? 0 : -EINTR;
        if (r == 0 && !is_just_made (entry))
            r = entry_remove_told (emptying, entry);
    }
    return r;
}

static int
empty_all (struct trash_emptying *emptying)
{
    struct visit *visit = emptying->visit;
    const bool whole = !*visit->order->arguments && visit->order->older == 0;
    int r = empty_chosen (emptying);

    for (guint i = 0; whole && r == 0 && i < visit->bins->len; i++) {
        r = rests_remove (emptying, visit->bins->pdata[i]);
        if (r == 0)
            r = orphans_remove (emptying, visit->bins->pdata[i]);
    }
    return r;
}

static int
empty_result (struct trash_emptying *emptying, int r)
{
    struct visit *visit = emptying->visit;
    const unsigned failed = emptying->failed + visit->unknown;

    if (r < 0)
        return r;
    job_print (visit->job, "removed %u %s for good\n", emptying->done,
               emptying->done == 1 ? "entry" : "entries");
    if (failed == 0)
        return 0;
    job_refuse (visit->job, "%u of %u not removed", failed, failed + emptying->done);
    return -ENOENT;
}

int
trash_empty (struct job *job, struct trash_order *order)
{
    struct visit visit;
    struct trash_emptying emptying = { .visit = &visit };
    int r = visit_begin (&visit, order, job);

    if (r == 0)
        r = visit_choose (&visit, false);
    if (r == 0)
        r = empty_all (&emptying);
    return visit_end (&visit, empty_result (&emptying, r));
}
