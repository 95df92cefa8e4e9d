/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass trash empty: removes entries for good, each as the user of its trash.
 */
#include "commands.h"

#include <errno.h>
#include <string.h>

#define ORPHAN_AGE 3600 /* seconds: the age of an information file without a file beside it from
                         * which no program is just about to put the file there */

struct trash_emptying {
    struct visit *visit;
    unsigned done, failed;
    uint64_t removed; /* names, for the progress */
};

/* --- a tree ----------------------------------------------------------------------------------- */

static int
tree_remove_one (const struct sync_tree *tree, inode_t *directory, const char *name, inode_t *inode,
                 const struct iatt *buf)
{
    struct trash_emptying *emptying = tree->data;
    struct job *job = emptying->visit->job;
    int r;

    if (!job_next (job))
        return -EINTR;
    job_progress (job, ++emptying->removed, 0);
    r = sync_name_remove (tree->client, directory, name, inode);
    return r == -ENOENT ? 0 : r;
}

/* Removes a name with all that is below it, as the user of the trash. */
static int
tree_remove_all (struct trash_emptying *emptying, const struct bin_seen *bin, inode_t *directory,
                 const char *name)
{
    const struct sync_tree tree = { bin->client, emptying->visit->this->fd_maker, trash_tree_open,
                                    tree_remove_one, emptying };
    const int r = sync_tree_each (&tree, directory, name);

    return r == -ENOENT ? 0 : r;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* The tree may have taken long to remove. While the information file is there, no program makes
 * another entry of the name. */
static int
info_remove (struct trash_emptying *emptying, const struct entry_seen *entry, const char *name)
{
    const struct bin_seen *bin = entry->bin;
    g_autoptr (inode_t) info = NULL;
    int r = trash_info_look (bin->client, bin->info, name, &entry->info, &info);

    if (r == 0)
        r = sync_name_remove (bin->client, bin->info, name, info);
    return r == -ESTALE ? 0 : r;
}

static int
entry_remove (struct trash_emptying *emptying, const struct entry_seen *entry)
{
    const struct bin_seen *bin = entry->bin;
    g_autofree char *name = g_strconcat (entry->name, TRASH_INFO_SUFFIX, NULL);
    g_autoptr (inode_t) info = NULL;
    int r = trash_info_look (bin->client, bin->info, name, &entry->info, &info);

    if (r == 0)
        r = tree_remove_all (emptying, bin, bin->files, entry->name);
    if (r == 0)
        r = info_remove (emptying, entry, name);
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

/* A file without an information file can't be restored. The information file is made first, so no
 * program is about to make it. */
static int
orphans_remove (struct trash_emptying *emptying, const struct bin_seen *bin)
{
    g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
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
        r = tree_remove_all (emptying, bin, bin->files, names->pdata[i]);
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

    for (guint i = 0; whole && r == 0 && i < visit->bins->len; i++)
        r = orphans_remove (emptying, visit->bins->pdata[i]);
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
