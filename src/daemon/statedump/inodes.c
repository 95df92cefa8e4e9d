/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/statedump/internal.h"

#include "core/data/itable.h"
#include "core/realm/realm.h"

static const char *
type_name (ia_type_t type)
{
    static const char *const names[] = {
        [IA_IFREG] = "regular", [IA_IFDIR] = "directory", [IA_IFLNK] = "link",
        [IA_IFBLK] = "block",   [IA_IFCHR] = "character", [IA_IFIFO] = "fifo",
        [IA_IFSOCK] = "socket"
    };

    return (unsigned) type < G_N_ELEMENTS (names) && names[type] ? names[type] : "none";
}

static void
append_inode (GString *out, const struct itable_entry *entry, unsigned number)
{
    char gfid[GFID_TEXT_SIZE];

    g_string_append_printf (
        out,
        "\n[xlator.mount.fuse.itable.%s.%u]\ngfid=%s\nnlookup=%" G_GUINT64_FORMAT
        "\nref=%d\nia_type=%d (%s)\ndetached=%d\n",
        entry->forgotten ? "lru" : "active", number, gfid_text (&entry->inode->gfid, gfid),
        entry->nlookup, entry->refs, entry->inode->ia_type, type_name (entry->inode->ia_type),
        inode_is_detached (entry->inode));
}

static void
append_table (GString *out, const struct graph *graph, GArray *entries)
{
    size_t known, forgotten;

    itable_counts (graph->itable, &known, &forgotten);
    g_string_append_printf (
        out,
        "\n[xlator.mount.fuse.itable]\nname=%s/inode\nactive_size=%zu\nlru_size=%zu\npurge_size=0\n"
        "invalidate_size=0\nshown=%u\n",
        graph->top->name, known - forgotten, forgotten, entries->len);
    for (guint i = 0; i < entries->len; i++)
        append_inode (out, &g_array_index (entries, struct itable_entry, i), i + 1);
}

/* The inodes of a realm are listed by their translators' contexts, by those of the mount. */
static void
append_realm (GString *out, const struct realm *realm)
{
    g_autofree char *section = dump_section_of (realm->boundary);
    size_t known, forgotten;

    itable_counts (realm->itable, &known, &forgotten);
    g_string_append_printf (out,
                            "\n[xlator.%s.realm]\nname=%s/inode\nactive_size=%zu\nlru_size=%zu\n",
                            section, realm->child->name, known - forgotten, forgotten);
}

/* Appends the data that each translator keeps with them. */
static void
append_contexts (GString *out, const struct graph *graph, GArray *entries)
{
    for (guint x = 0; x < graph->xlators->len; x++) {
        xlator_t *xl = graph->xlators->pdata[x];
        g_autofree char *section = dump_section_of (xl);

        if (!xl->ready || !xl->api->dumpops.inodectx)
            continue;
        for (guint i = 0; i < entries->len; i++) {
            inode_t *inode =
                realm_inode_of (xl, g_array_index (entries, struct itable_entry, i).inode);
            g_autofree char *path = inode ? inode_path (inode, NULL) : NULL;
            char gfid[GFID_TEXT_SIZE];

            if (!inode)
                continue;
            g_string_append_printf (out, "\n[xlator.%s.inodectx.%u]\ngfid=%s\n", section, i + 1,
                                    gfid_text (&inode->gfid, gfid));
            dump_value (out, "path", path);
            xl->api->dumpops.inodectx (xl, inode, out);
        }
    }
}

struct files {
    GString *out;
    struct graph *graph;
    bool list, contexts;
    unsigned count;
};

static void
append_file (fd_t *fd, void *data)
{
    struct files *files = data;
    char gfid[GFID_TEXT_SIZE];

    if (++files->count > DUMP_FILES)
        return;
    if (files->list)
        g_string_append_printf (files->out,
                                "\n[xlator.mount.fuse.fd.%u]\ngfid=%s\nflags=0%o\npid=%d\nref=%d\n",
                                files->count, gfid_text (&fd->inode->gfid, gfid), fd->flags,
                                fd->pid, __atomic_load_n (&fd->refs, __ATOMIC_RELAXED));
    /* A file in .meta belongs to another graph, which these translators do not know. */
    for (guint x = 0; files->contexts && fd->data == files->graph && x < files->graph->xlators->len;
         x++) {
        xlator_t *xl = files->graph->xlators->pdata[x];
        g_autofree char *section = dump_section_of (xl);
        fd_t *there = realm_fd_of (xl, fd);

        if (!xl->ready || !xl->api->dumpops.fdctx || !there)
            continue;
        g_string_append_printf (files->out, "\n[xlator.%s.fdctx.%u]\ngfid=%s\n", section,
                                files->count, gfid_text (&there->inode->gfid, gfid));
        xl->api->dumpops.fdctx (xl, there, files->out);
    }
}

void
dump_inodes (GString *out, const struct running *running, const struct dump_wanted *wanted)
{
    struct graph *graph = running->graph;
    struct files files = { out, graph, wanted->fd, wanted->fdctx, 0 };
    g_autoptr (GArray) entries = NULL;

    if (wanted->inode || wanted->inodectx)
        entries = itable_some (graph->itable, DUMP_INODES);
    if (wanted->inode)
        append_table (out, graph, entries);
    for (guint i = 0; wanted->inode && i < graph->realms->len; i++)
        append_realm (out, graph->realms->pdata[i]);
    if (wanted->fd || wanted->fdctx)
        bridge_foreach_open (running->bridge, append_file, &files);
    if (wanted->inodectx)
        append_contexts (out, graph, entries);
    for (guint i = 0; entries && i < entries->len; i++)
        inode_unref (g_array_index (entries, struct itable_entry, i).inode);
}
