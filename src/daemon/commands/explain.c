/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass explain: how each translator treats a file. A translator's own text comes from
 * dumpops.explain. The core adds the rest: what it implements and may change, the path of requests,
 * and each option with the source of its value. The file itself is not accessed: it may be what
 * hangs.
 */
#include "daemon/daemon.h"

#include "core/base/printable.h"
#include "core/table/opset.h"

#include <errno.h>
#include <string.h>

#define NAMES_MAX 4096 /* names in a path */

/* The file that is explained. */
struct subject {
    struct graph *graph;
    const char *path;
    inode_t *inode; /* with a reference; NULL: the kernel does not know it */
};

/* The inode of a path, by names that the table knows, with a reference; or NULL. */
static inode_t *
find (struct graph *graph, const char *path)
{
    g_auto (GStrv) names = g_strsplit (path, "/", NAMES_MAX);
    inode_t *at = inode_ref (itable_root (graph->itable));

    for (char **name = names; *name && at; name++) {
        inode_t *next;

        if (!**name || strcmp (*name, ".") == 0)
            continue;
        next = inode_grep (at, *name);
        inode_unref (at);
        at = next;
    }
    return at;
}

/* --- options ---------------------------------------------------------------------------------- */

static void
append_source (GString *out, const struct graph *graph, const struct option_setting *setting)
{
    if (setting->by == SET_BY_DEFAULT)
        g_string_append (out, "default");
    else if (setting->by == SET_BY_COMMAND_LINE)
        g_string_append (out, "command line");
    else
        g_string_append_printf (out, "%s:%d:%d", graph->volfile->path, setting->line,
                                setting->column);
}

static void
append_options (GString *out, const struct subject *subject, const xlator_t *xl)
{
    for (guint i = 0; xl->settings && i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (!setting->text || setting->option->inert)
            continue;
        g_string_append_printf (out, "    option %s = ", setting->option->key[0]);
        line_append (out, setting_shown (setting), 200);
        g_string_append (out, " (");
        append_source (out, subject->graph, setting);
        g_string_append (out, ")\n");
    }
}

/* --- translators ------------------------------------------------------------------------------ */

static opset_t
implemented (const xlator_t *xl)
{
    opset_t ops = 0;

    if (xl->pass_through)
        return 0;
    if (xl->api->every)
        ops = xl->api->every_ops ? xl->api->every_ops : OPSET_ALL;
#define FOP(name) ops |= xl->api->fops.name ? OPSET_OF (FOP_##name) : 0;
#include "fops.def"
    return ops;
}

static void
append_part (GString *out, const xlator_t *xl)
{
    const opset_t ops = implemented (xl);

    if (xl->pass_through) {
        g_string_append (out,
                         "    is passed through: no request comes here (option pass-through)\n");
        return;
    }
    g_string_append (out, "    takes part in: ");
    if (ops == OPSET_ALL)
        g_string_append (out, "all operations");
    else if (ops)
        opset_print (ops, out);
    else
        g_string_append (out, "no operation");
    g_string_append (out,
                     ops && ops != OPSET_ALL && xl->children ? "; all others pass by\n" : "\n");
}

static void
append_touches (GString *out, unsigned touches)
{
    static const struct {
        unsigned bit;
        const char *what;
    } rows[] = { { TOUCHES_DATA, "data" },
                 { TOUCHES_METADATA, "attributes" },
                 { TOUCHES_NAMES, "names" },
                 { TOUCHES_ERRORS, "what fails, or how long it takes" },
                 { TOUCHES_ANSWERS, "when a write is answered" },
                 { TOUCHES_OPENS, "when an open is answered" } };
    const char *comma = "";

    if (!touches)
        return;
    g_string_append (out, "    may change: ");
    for (size_t i = 0; i < G_N_ELEMENTS (rows); i++)
        if (touches & rows[i].bit) {
            g_string_append_printf (out, "%s%s", comma, rows[i].what);
            comma = ", ";
        }
    g_string_append_c (out, '\n');
}

/* Appends lines, indented. */
static void
append_indented (GString *out, const GString *lines, const char *before)
{
    g_auto (GStrv) each = g_strsplit (lines->str, "\n", -1);

    for (char **line = each; *line; line++) {
        if (!**line)
            continue;
        g_string_append_printf (out, "    %s", before);
        line_append (out, *line, 4096);
        g_string_append_c (out, '\n');
    }
}

static void
append_own_words (GString *out, const struct subject *subject, xlator_t *xl)
{
    g_autoptr (GString) says = g_string_new (NULL), keeps = g_string_new (NULL);

    if (!xl->ready || xl->pass_through)
        return;
    if (xl->api->dumpops.explain)
        xl->api->dumpops.explain (xl, subject->path, subject->inode, says);
    if (xl->api->dumpops.inodectx && subject->inode)
        xl->api->dumpops.inodectx (xl, subject->inode, keeps);
    append_indented (out, says, "");
    append_indented (out, keeps, "keeps with it: ");
}

static void
append_xlator (GString *out, const struct subject *subject, xlator_t *xl)
{
    g_string_append_c (out, '\n');
    line_append (out, xl->name, 256);
    g_string_append_printf (out, " (%s)\n", xl->type);
    append_own_words (out, subject, xl);
    if (xl->number >= 0) {
        append_part (out, xl);
        append_touches (out, xl->pass_through ? 0 : xl->api->touches);
    }
    append_options (out, subject, xl);
}

/* --- all -------------------------------------------------------------------------------------- */

static void
append_step (GString *out, const xlator_t *xl)
{
    g_string_append (out, " -> ");
    line_append (out, xl->name, 256);
}

/* Appends the translators that a request of a kind reaches. */
#define APPEND_WAY(out_, graph_, fop_)                                                             \
    do {                                                                                           \
        g_string_append (out_, "way of " #fop_ ": fuse");                                          \
        for (const xlator_t *at_ = (graph_)->top; at_;) {                                          \
            const xlator_t *to_ = at_->routes.fop_.to;                                             \
            append_step (out_, to_);                                                               \
            at_ = to_->children ? FIRST_CHILD (to_) : NULL;                                        \
        }                                                                                          \
        g_string_append_c (out_, '\n');                                                            \
    } while (0)

static const char *
kind_of (const inode_t *inode)
{
    static const char *const kinds[] = { [IA_IFREG] = "a file",
                                         [IA_IFDIR] = "a directory",
                                         [IA_IFLNK] = "a symbolic link",
                                         [IA_IFBLK] = "a block device",
                                         [IA_IFCHR] = "a character device",
                                         [IA_IFIFO] = "a fifo",
                                         [IA_IFSOCK] = "a socket" };

    return (unsigned) inode->ia_type < G_N_ELEMENTS (kinds) && kinds[inode->ia_type]
             ? kinds[inode->ia_type]
             : "something";
}

static void
append_subject (GString *out, const struct subject *subject)
{
    char gfid[GFID_TEXT_SIZE];

    line_append (out, subject->path, 4096);
    if (subject->inode)
        g_string_append_printf (out, ": %s, gfid %s, number %" G_GUINT64_FORMAT "\n",
                                kind_of (subject->inode), gfid_text (&subject->inode->gfid, gfid),
                                inode_nodeid (subject->inode));
    else
        g_string_append (out, ": not known to the kernel now; what follows goes by its path\n");
}

/* Returns true if the path is the folder of the daemon's own files, or in it. */
static bool
is_of_meta (const struct bridge *bridge, const char *path)
{
    const char *name = bridge_hidden_name (bridge);
    const size_t length = name ? strlen (name) : 0;

    return length > 0 && strncmp (path + 1, name, length) == 0
        && (path[1 + length] == '/' || path[1 + length] == '\0');
}

int
command_explain (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);
    g_autofree char *path = g_strndup (bytes ? bytes : "", size);
    struct subject subject = { running->graph, path, NULL };

    if (*path != '/') {
        g_string_append (answer,
                         "the input must be a path from the root of the mount, such as /dir/file");
        return -EINVAL;
    }
    if (is_of_meta (running->bridge, path)) {
        g_string_append_printf (answer,
                                "%s: the daemon's own: requests about it reach no translator\n",
                                path);
        return 0;
    }
    subject.inode = find (running->graph, path);
    append_subject (answer, &subject);
    APPEND_WAY (answer, running->graph, lookup);
    APPEND_WAY (answer, running->graph, stat);
    APPEND_WAY (answer, running->graph, readv);
    APPEND_WAY (answer, running->graph, writev);
    append_xlator (answer, &subject, bridge_xlator (running->bridge));
    for (guint i = 0; i < running->graph->xlators->len; i++)
        append_xlator (answer, &subject, running->graph->xlators->pdata[i]);
    g_string_append_c (answer, '\n');
    bridge_explain_passthrough (running->bridge, subject.inode, answer);
    inode_unref (subject.inode);
    return 0;
}
