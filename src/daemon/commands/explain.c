/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windlass explain: how each translator treats a file; and windlass rules: which of its rules the
 * file meets. A translator's own text comes from dumpops.explain. The core adds the rest: what it
 * implements and may change, the path of requests, and each option with the source of its value.
 * The file itself is not accessed: it may be what hangs.
 */
#include "daemon/daemon.h"

#include "core/base/printable.h"
#include "core/edge/steps.h"
#include "core/realm/realm.h"
#include "core/rules/rule-doubt.h"
#include "core/table/opset.h"

#include <errno.h>
#include <string.h>

#define NAMES_MAX 4096 /* names in a path */
#define EXPLAIN_ALL "all\n" /* before the path */

/* The file that is explained. */
struct subject {
    struct graph *graph;
    const char *path;
    bool all;       /* also defaults, operations and state */
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

/* Returns the number of options that are left out since they have their default. */
static unsigned
append_options (GString *out, const struct subject *subject, const xlator_t *xl)
{
    unsigned defaults = 0;

    for (guint i = 0; xl->settings && i < xl->settings->len; i++) {
        const struct option_setting *setting = xl->settings->pdata[i];

        if (!setting->text || setting->option->inert)
            continue;
        if (!subject->all && setting->by == SET_BY_DEFAULT) {
            defaults++;
            continue;
        }
        g_string_append_printf (out, "    option %s = ", setting->option->key[0]);
        line_append (out, setting_shown (setting), 200);
        g_string_append (out, " (");
        append_source (out, subject->graph, setting);
        g_string_append (out, ")\n");
    }
    return defaults;
}

/* --- translators ------------------------------------------------------------------------------ */

static opset_t
implemented (const xlator_t *xl)
{
    opset_t ops = 0;

    if (xl->pass_through)
        return 0;
    if (xl->api->any_fop)
        ops = xl->api->any_fop_ops ? xl->api->any_fop_ops : OPSET_ALL;
#define FOP(name) ops |= xl->api->fops.name ? OPSET_OF (FOP_##name) : 0;
#include "fops.def"
    return ops;
}

static void
append_part (GString *out, const xlator_t *xl)
{
    const opset_t ops = implemented (xl);

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

/* Returns the path of the file in the realm of a translator; as the mount has it if it is not known
 * there. g_free it. */
static char *
path_in_realm_of (const xlator_t *xl, const struct subject *subject)
{
    inode_t *inode = xl->realm ? realm_inode_of (xl, subject->inode) : NULL;

    return inode ? inode_path (inode, NULL) : g_strdup (subject->path);
}

static void
append_own_words (GString *out, const struct subject *subject, xlator_t *xl)
{
    g_autoptr (GString) says = g_string_new (NULL), keeps = g_string_new (NULL);
    g_autofree char *path = path_in_realm_of (xl, subject);
    inode_t *inode = realm_inode_of (xl, subject->inode);

    if (!xl->ready || xl->pass_through)
        return;
    if (xl->api->dumpops.explain)
        xl->api->dumpops.explain (xl, path, inode, says);
    steps_explain (xl, inode, says);
    if (subject->all && xl->api->dumpops.inodectx && inode)
        xl->api->dumpops.inodectx (xl, inode, keeps);
    append_indented (out, says, "");
    append_indented (out, keeps, "keeps with it: ");
}

/* Returns the number of options that are left out. */
static unsigned
append_xlator (GString *out, const struct subject *subject, xlator_t *xl)
{
    g_string_append_c (out, '\n');
    line_append (out, xl->name, 256);
    g_string_append_printf (out, " (%s)\n", xl->type);
    append_own_words (out, subject, xl);
    if (xl->pass_through)
        g_string_append (out,
                         "    is passed through: no request comes here (option pass-through)\n");
    else if (xl->number >= 0) {
        if (subject->all)
            append_part (out, xl);
        append_touches (out, xl->api->touches);
    }
    return append_options (out, subject, xl);
}

static char *
command_text (GBytes *input)
{
    gsize size;
    const char *bytes = g_bytes_get_data (input, &size);

    return g_strndup (bytes ? bytes : "", size);
}

/* --- all -------------------------------------------------------------------------------------- */

/* Operations of one way share a line. */
static void
append_ways (GString *out, const struct graph *graph)
{
    static const enum fop ops[] = { FOP_lookup, FOP_stat, FOP_readv, FOP_writev };
    g_autoptr (GString) names = g_string_new (NULL), way = g_string_new (NULL);

    for (size_t i = 0; i < G_N_ELEMENTS (ops); i++) {
        g_autoptr (GString) next = g_string_new (NULL);

        if (i + 1 < G_N_ELEMENTS (ops))
            way_of (graph, ops[i + 1], next);
        if (i == 0)
            way_of (graph, ops[i], way);
        g_string_append_printf (names, "%s%s", names->len ? ", " : "", fop_name (ops[i]));
        if (strcmp (way->str, next->str) == 0)
            continue;
        g_string_append_printf (out, "way of %s: %s\n", names->str, way->str);
        g_string_truncate (names, 0);
        g_string_assign (way, next->str);
    }
}

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

static void
explain (const struct running *running, const struct subject *subject, GString *answer)
{
    unsigned defaults;

    append_subject (answer, subject);
    bridge_explain_passthrough (running->bridge, subject->inode, answer);
    append_ways (answer, running->graph);
    defaults = append_xlator (answer, subject, bridge_xlator (running->bridge));
    for (guint i = 0; i < running->graph->xlators->len; i++)
        defaults += append_xlator (answer, subject, running->graph->xlators->pdata[i]);
    if (!subject->all)
        g_string_append_printf (answer,
                                "\n%u more options have their default: --all prints these, and the "
                                "operations and the state of each translator\n",
                                defaults);
}

/* Fills in the subject for a path. Returns 0 or a negative errno, with *ret_done set if answer says
 * it all. */
static int
subject_of (const struct running *running, const char *path, struct subject *ret_subject,
            bool *ret_done, GString *answer)
{
    *ret_subject = (struct subject){ .graph = running->graph, .path = path };
    *ret_done = true;
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
    ret_subject->inode = find (running->graph, path);
    *ret_done = false;
    return 0;
}

int
command_explain (void *data, GBytes *input, GString *answer)
{
    g_autofree char *text = command_text (input);
    const bool all = g_str_has_prefix (text, EXPLAIN_ALL);
    struct subject subject;
    bool done;
    const int r = subject_of (data, all ? text + strlen (EXPLAIN_ALL) : text, &subject, &done,
                              answer);

    if (done)
        return r;
    subject.all = all;
    explain (data, &subject, answer);
    inode_unref (subject.inode);
    return 0;
}

/* --- rules ------------------------------------------------------------------------------------ */

struct rules_asked {
    xlator_t *xl;
    inode_t *inode; /* or NULL */
    GString *out;
};

static void
append_rule (const struct rules *rules, const struct rule *rule, void *data)
{
    g_autoptr (GString) text = g_string_new (NULL);
    const struct rules_asked *asked = data;
    const char *doubt = rule_doubt (asked->xl, rule, asked->inode);
    GString *out = asked->out;

    rule_print (rule, text);
    g_string_append (out, "    ");
    line_append (out, rules->file, 256);
    g_string_append_printf (out, ":%d: ", rule->line);
    line_append (out, text->str, 4096);
    if (doubt)
        g_string_append_printf (out, "   (may be for it: its %s is not known)", doubt);
    g_string_append_c (out, '\n');
}

static void
append_rules_of (GString *out, const struct subject *subject, xlator_t *xl)
{
    g_autofree char *path = path_in_realm_of (xl, subject);
    struct rules_asked asked = { xl, realm_inode_of (xl, subject->inode), out };

    line_append (out, xl->name, 256);
    g_string_append_printf (out, " (%s)\n", xl->type);
    if (rules_for (xl, xl->api->rules (xl), path, asked.inode, append_rule, &asked) == 0)
        g_string_append (out, "    no rule is for its path\n");
}

int
command_rules (void *data, GBytes *input, GString *answer)
{
    const struct running *running = data;
    g_autofree char *text = command_text (input);
    struct subject subject;
    unsigned with_rules = 0;
    bool done;
    const int r = subject_of (running, text, &subject, &done, answer);

    if (done)
        return r;
    for (guint i = 0; i < running->graph->xlators->len; i++) {
        xlator_t *xl = running->graph->xlators->pdata[i];

        if (!xl->api->rules || !xl->ready || xl->pass_through)
            continue;
        append_rules_of (answer, &subject, xl);
        with_rules++;
    }
    inode_unref (subject.inode);
    if (with_rules == 0)
        g_string_append (answer, "no translator of this mount has rules\n");
    return 0;
}
