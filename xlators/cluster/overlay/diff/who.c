/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replays the records of a log: who has changed what goes with the path at a rename. */
#include "who.h"

#include <errno.h>
#include <string.h>

#define JOB_PIECES 1000 /* lines and moved paths between two looks whether the job must stop */
#define UNKNOWN "an unknown program"
#define NAMES_MAX 64 /* of a path: a program can give itself any number of names */

struct changers {
    GTree *of; /* path -> GPtrArray of names, with a NULL at the end */
    struct job *job;
    unsigned pieces;
};

static gint
path_order (gconstpointer a, gconstpointer b, gpointer data)
{
    return strcmp (a, b);
}

static void
names_free (void *names)
{
    g_ptr_array_unref (names);
}

/* --- names of programs ------------------------------------------------------------------------ */

static GPtrArray *
names_new (void)
{
    GPtrArray *names = g_ptr_array_new_with_free_func (g_free);

    g_ptr_array_add (names, NULL);
    return names;
}

static bool
names_have (const GPtrArray *names, const char *name)
{
    for (guint i = 0; names->pdata[i]; i++)
        if (strcmp (names->pdata[i], name) == 0)
            return true;
    return false;
}

static void
names_add (GPtrArray *names, const char *name)
{
    if (names->len <= NAMES_MAX && !names_have (names, name))
        g_ptr_array_insert (names, (gint) names->len - 1, g_strdup (name));
}

static GPtrArray *
names_copy (const GPtrArray *names)
{
    GPtrArray *copy = names_new ();

    for (guint i = 0; names && names->pdata[i]; i++)
        names_add (copy, names->pdata[i]);
    return copy;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* names: taken over. */
static GPtrArray *
changers_set (struct changers *changers, const char *path, GPtrArray *names)
{
    g_tree_replace (changers->of, g_strdup (path), names);
    return names;
}

static GPtrArray *
changers_at (struct changers *changers, const char *path)
{
    GPtrArray *names = g_tree_lookup (changers->of, path);

    return names ? names : changers_set (changers, path, names_new ());
}

/* After each piece of work. Returns false if the job must stop. */
static bool
changers_go_on (struct changers *changers)
{
    return !changers->job || ++changers->pieces % JOB_PIECES != 0 || job_next (changers->job);
}

/* Takes a path with all below it out, and puts it in under another one. */
static void
changers_move_below (struct changers *changers, const char *from, const char *to)
{
    g_autofree char *begin = g_strconcat (from, "/", NULL);
    GTreeNode *node;

    while (changers_go_on (changers) && (node = g_tree_lower_bound (changers->of, begin))
           && g_str_has_prefix (g_tree_node_key (node), begin)) {
        g_autofree char *old = g_strdup (g_tree_node_key (node));
        g_autofree char *new = g_strconcat (to, "/", old + strlen (begin), NULL);

        changers_set (changers, new, g_ptr_array_ref (g_tree_node_value (node)));
        g_tree_remove (changers->of, old);
    }
}

static void
changers_rename (struct changers *changers, const char *from, const char *to, const char *program)
{
    GPtrArray *moved;

    if (strcmp (from, to) == 0)
        return;
    moved = names_copy (g_tree_lookup (changers->of, from));
    if (!g_str_has_prefix (to, from) || to[strlen (from)] != '/')
        changers_move_below (changers, from, to);
    names_add (changers_set (changers, to, moved), program);
    names_add (changers_set (changers, from, names_new ()), program);
}

/* --- records ---------------------------------------------------------------------------------- */

/* Returns the exact path, of which a record has the bytes in hexadecimal if they are not UTF-8;
 * NULL: it has none. g_free it. */
static char *
recorded_path (GHashTable *members, const char *key)
{
    g_autofree char *of_hex = g_strconcat (key, "_hex", NULL);
    const char *hex = g_hash_table_lookup (members, of_hex);
    GString *out;

    if (!hex)
        return g_strdup (g_hash_table_lookup (members, key));
    out = g_string_new (NULL);
    for (; g_ascii_isxdigit (hex[0]) && g_ascii_isxdigit (hex[1]); hex += 2)
        g_string_append_c (out, (char) (g_ascii_xdigit_value (hex[0]) << 4
                                        | g_ascii_xdigit_value (hex[1])));
    return g_string_free (out, FALSE);
}

/* Returns whether the operation was done, and changed something of the path. */
static bool
record_is_change (GHashTable *members, enum fop op)
{
    const char *access = g_hash_table_lookup (members, "access");

    if (g_strcmp0 (g_hash_table_lookup (members, "result"), "ok") != 0)
        return false;
    return op == FOP_open ? access && strcmp (access, "read") != 0 : opset_has (OPS_CHANGE, op);
}

/* Operations that fail if the name is there. */
static const opset_t names_made =
    OPSET_OF (FOP_mkdir) | OPSET_OF (FOP_mknod) | OPSET_OF (FOP_symlink);

static void
record_replay (struct changers *changers, GHashTable *members, enum fop op)
{
    g_autofree char *path = recorded_path (members, "path");
    g_autofree char *new_path = recorded_path (members, "new_path");
    const char *known = g_hash_table_lookup (members, "program");
    const char *program = known ? known : UNKNOWN;

    if (op == FOP_rename && path && new_path) {
        changers_rename (changers, path, new_path, program);
    } else if (op == FOP_unlink || op == FOP_rmdir) {
        if (path)
            names_add (changers_set (changers, path, names_new ()), program);
    } else if (op == FOP_link && new_path) {
        names_add (changers_set (changers, new_path,
                                 names_copy (path ? g_tree_lookup (changers->of, path) : NULL)),
                   program);
    } else if (path && opset_has (names_made, op)) {
        names_add (changers_set (changers, path, names_new ()), program);
    } else if (new_path || path) {
        names_add (changers_at (changers, new_path ? new_path : path), program);
    }
}

/* A line that is no record of an operation is passed over. */
static bool
record_take (char *line, void *data)
{
    struct changers *changers = data;
    g_autoptr (GHashTable) members = json_read_members (line);
    const char *name = members ? g_hash_table_lookup (members, "operation") : NULL;
    const enum fop op = name ? fop_of_name (name) : FOP_NONE;

    if (op != FOP_NONE && record_is_change (members, op))
        record_replay (changers, members, op);
    return changers_go_on (changers);
}

/* --- the log ---------------------------------------------------------------------------------- */

static const xlator_t *
audit_above (const xlator_t *this)
{
    const xlator_t *found = NULL;

    for (const xlator_list_t *up = this->parents; up && !found; up = up->next)
        found = strcmp (up->xlator->type, "features/audit") == 0 ? up->xlator
                                                                 : audit_above (up->xlator);
    return found;
}

static const char *
audit_log_name (const xlator_t *audit)
{
    const char *name = NULL;

    for (guint i = 0; audit->settings && i < audit->settings->len; i++) {
        const struct option_setting *setting = audit->settings->pdata[i];

        if (strcmp (setting->option->key[0], "log-name") == 0)
            name = setting->text;
    }
    return name;
}

int
changers_read (const xlator_t *this, struct job *job, struct changers **ret_changers)
{
    const xlator_t *audit = audit_above (this);
    const struct root *directory = audit ? xlator_root (audit, "log-directory") : NULL;
    struct changers *changers;
    int r;

    *ret_changers = NULL;
    if (!directory || directory->fd < 0)
        return 0;
    changers = g_new (struct changers, 1);
    *changers = (struct changers){ .job = job };
    changers->of = g_tree_new_full (path_order, NULL, g_free, names_free);
    r = record_files_read (directory->fd, audit_log_name (audit), record_take, changers);
    if (r == 0 && job && job_must_stop (job))
        r = -EINTR;
    if (r == 0)
        *ret_changers = g_steal_pointer (&changers);
    changers_free (changers);
    return r;
}

void
changers_free (struct changers *changers)
{
    if (!changers)
        return;
    g_tree_unref (changers->of);
    g_free (changers);
}

const char *const *
changers_of (const struct changers *changers, const char *path)
{
    const GPtrArray *names = g_tree_lookup (changers->of, path);

    return names ? (const char *const *) names->pdata : NULL;
}
