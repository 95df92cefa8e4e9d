/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commands, as they are given; what they print of the changes. */
#include "commands.h"
#include "../diff/who.h"

#include <limits.h>
#include <unistd.h>

/* --- what is asked ---------------------------------------------------------------------------- */

static void
overlay_order_free (void *data)
{
    struct overlay_order *order = data;

    g_strfreev (order->paths);
    g_free (order->groups);
    g_free (order);
}

static struct overlay_order *
overlay_order_new (xlator_t *this, const struct xlator_asked *asked)
{
    struct overlay_order *order = g_new0 (struct overlay_order, 1);

    order->this = this;
    order->uid = geteuid () == 0 ? asked->uid : geteuid ();
    order->gid = geteuid () == 0 ? asked->gid : getegid ();
    order->pid = asked->pid;
    order->ngroups = (int) asked->ngroups;
    order->groups = g_memdup2 (asked->groups, asked->ngroups * sizeof *asked->groups);
    return order;
}

static int
overlay_order_option (struct overlay_order *order, const char *text)
{
    if (strcmp (text, "--json") == 0)
        order->style = DIFF_JSON;
    else if (strcmp (text, "--name-status") == 0)
        order->style = DIFF_NAME_STATUS;
    else if (strcmp (text, "--patch") == 0)
        order->style = DIFF_PATCH;
    else if (strcmp (text, "--with") == 0)
        order->with = true;
    else if (strcmp (text, "--force") == 0)
        order->force = true;
    else
        return -EINVAL;
    order->json = order->style == DIFF_JSON;
    return 0;
}

/* A path is one from the root of the mount, with or without a '/' before it. */
static int
overlay_order_path (const char *text, GPtrArray *paths, GString *answer)
{
    g_auto (GStrv) names = g_strsplit (text, "/", -1);
    g_autoptr (GString) path = g_string_new (NULL);

    for (char **name = names; *name; name++) {
        if (name_is_dots (*name)) {
            g_string_printf (answer, "a path must not have '.' and '..' in it, got '%s'", text);
            return -EINVAL;
        }
        if (**name)
            g_string_append_printf (path, "/%s", *name);
    }
    if (!*text) {
        g_string_assign (answer, "an argument is empty; without one, all changes are meant");
        return -EINVAL;
    }
    g_ptr_array_add (paths, g_strdup (path->len > 0 ? path->str : "/"));
    return 0;
}

/* Options of a command that has some come first, and end with "--". */
static int
overlay_order_read (struct overlay_order *order, const struct xlator_asked *asked, bool options,
                    GString *answer)
{
    g_auto (GStrv) words = xlator_arguments (asked);
    GPtrArray *paths = g_ptr_array_new ();
    char **word = words;
    int r = 0;

    for (; options && r == 0 && *word && strcmp (*word, "--") != 0; word++)
        r = overlay_order_option (order, *word);
    for (word += options && *word; r == 0 && *word; word++)
        r = overlay_order_path (*word, paths, answer);
    g_ptr_array_add (paths, NULL);
    order->paths = (char **) g_ptr_array_free (paths, FALSE);
    if (r < 0 && answer->len == 0)
        g_string_assign (answer, "unknown option");
    return r;
}

static bool
overlay_order_freezes (const struct overlay_order *order)
{
    return order->carry_out == overlay_freeze || order->carry_out == overlay_commit;
}

/* An apply counts on the layers that there are, and so does a commit. Returns the command in the
 * way; priv->lock is held. */
static const struct overlay_order *
overlay_order_hindrance_locked (const struct overlay_order *order)
{
    for (const GSList *at = overlay_priv (order->this)->claims_layers; at; at = at->next)
        if (overlay_order_freezes (order) || overlay_order_freezes (at->data))
            return at->data;
    return NULL;
}

/* Names a command, its first path, and the program that has given it. */
static char *
overlay_order_describe (const struct overlay_order *order)
{
    GString *text = g_string_new ("'windlass overlay ");
    g_autofree char *program = order->pid > 0 ? process_comm (order->pid) : NULL;

    g_string_append (text, order->name);
    if (*order->paths)
        line_append (g_string_append_c (text, ' '), *order->paths, PATH_MAX);
    if (*order->paths && order->paths[1])
        g_string_append (text, " ...");
    g_string_append (text, "', which ");
    if (program)
        line_append (text, program, 64);
    else
        g_string_append (text, "a program");
    if (program)
        g_string_append_printf (text, " (%d) has given", order->pid);
    else
        g_string_append (text, " has given that has ended, or that this daemon can't name");
    return g_string_free (text, FALSE);
}

/* Returns NULL; or what is in the way, as overlay_order_describe does. */
static char *
overlay_order_claim (struct overlay_order *order)
{
    overlay_private_t *priv = overlay_priv (order->this);
    const struct overlay_order *other;
    char *text = NULL;

    if (!overlay_order_freezes (order) && order->carry_out != overlay_apply)
        return NULL;
    pthread_mutex_lock (&priv->lock);
    other = overlay_order_hindrance_locked (order);
    if (other)
        text = overlay_order_describe (other);
    else
        priv->claims_layers = g_slist_prepend (priv->claims_layers, order);
    pthread_mutex_unlock (&priv->lock);
    return text;
}

static void
overlay_order_release (struct overlay_order *order)
{
    overlay_private_t *priv = overlay_priv (order->this);

    pthread_mutex_lock (&priv->lock);
    priv->claims_layers = g_slist_remove (priv->claims_layers, order);
    pthread_mutex_unlock (&priv->lock);
}

static int
overlay_order_run (struct job *job, void *data)
{
    struct overlay_order *order = data;
    g_autofree char *hindrance = NULL;
    int r = overlay_start (order->this, realm_root_above (order->this));

    if (r < 0) {
        job_refuse (job, "the layers of volume '%s' can't be reached: %s", order->this->name,
                    g_strerror (-r));
        return r;
    }
    hindrance = overlay_order_claim (order);
    if (hindrance) {
        job_refuse (job, "%s, is under way, and needs the layers as they are ('windlass jobs list' "
                    "lists it): give the command again when it has ended", hindrance);
        return -EBUSY;
    }
    r = order->carry_out (job, order);
    overlay_order_release (order);
    return r;
}

static int
overlay_order_begin (xlator_t *this, const struct xlator_asked *asked, GString *answer,
                     const char *name,
                     int (*carry_out) (struct job *job, struct overlay_order *order))
{
    struct overlay_order *order = overlay_order_new (this, asked);
    const struct job_plan plan = { .name = name, .about = "overlay", .run = overlay_order_run,
                                   .free = overlay_order_free, .data = order, .asked = asked };
    const bool changes = carry_out == overlay_discard || carry_out == overlay_apply
                      || carry_out == overlay_freeze || carry_out == overlay_commit;
    int r = overlay_order_read (order, asked, carry_out != overlay_discard, answer);

    order->carry_out = carry_out;
    order->name = name;
    if (r == 0 && changes && asked->read_only) {
        g_string_assign (answer, "the mount is read-only (-o ro): its changes stay as they are");
        r = -EROFS;
    }
    if (r == 0)
        return job_answers (this, &plan, answer);
    overlay_order_free (order);
    return r;
}

/* --- the layers ------------------------------------------------------------------------------- */

static struct client *
overlay_order_client (const struct overlay_order *order, xlator_t *child)
{
    struct client *client = client_new_internal (order->this, child);

    client->pid = order->pid;
    if (geteuid () != 0)
        return client;
    client->uid = order->uid;
    client->gid = order->gid;
    client->ngroups = order->ngroups;
    client->groups = order->groups;
    return client;
}

static bool
overlay_order_hides (unsigned layer, inode_t *directory, const char *name,
                     const struct iatt *buf, const void *data)
{
    const struct overlay_order *order = data;

    return overlay_is_ours (order->this, order->from + layer, directory, name, buf->ia_dev,
                            buf->ia_ino);
}

int
overlay_order_walk (const struct overlay_order *order, struct job *job,
                    int (*fn) (const struct diff_change *change, void *data), void *data)
{
    const overlay_private_t *priv = overlay_priv (order->this);
    const unsigned n = priv->n - order->from; /* a freeze beside the walk makes one more */
    g_autofree struct diff_layer *layers = g_new0 (struct diff_layer, n);
    const struct diff_plan plan = { .layers = layers, .n_layers = n,
                                    .hides = overlay_order_hides, .hides_data = order,
                                    .paths = order->equal ? NULL : order->paths,
                                    .renames = order->renames, .pairs = order->pairs,
                                    .moved = order->moved, .equal = order->equal,
                                    .job = job, .fn = fn, .data = data };
    int r;

    for (unsigned i = 0; i < n; i++) {
        xlator_t *child = priv->layers[order->from + i].xlator;

        layers[i] = (struct diff_layer){ overlay_order_client (order, child), child->fd_maker,
                                         realm_below (order->this, realm_root_above (order->this),
                                                      order->from + i),
                                         priv->layers[order->from + i].wh };
    }
    r = layers[0].root ? diff_walk (&plan) : 0; /* a read-only mount makes no upper */
    for (unsigned i = 0; i < n; i++)
        client_free (layers[i].client);
    return r;
}

/* --- diff ------------------------------------------------------------------------------------- */

struct diff_telling {
    struct job *job;
    enum diff_style style;
    unsigned n;
    const struct changers *changers; /* NULL: who has changed what is not known */
};

static int
diff_tell (const struct diff_change *change, void *data)
{
    struct diff_telling *telling = data;
    g_autoptr (GString) text = g_string_new (NULL);
    struct diff_change told = *change;
    int r;

    if (telling->changers)
        told.programs = changers_of (telling->changers, change->path);
    r = diff_print (&told, telling->style, text);

    if (r < 0) {
        job_refuse (telling->job, "'%s' can't be read: %s", change->path, g_strerror (-r));
        return r;
    }
    if (telling->style == DIFF_JSON)
        job_print (telling->job, telling->n > 0 ? ",\n" : "\n");
    telling->n++;
    job_print (telling->job, "%s", text->str);
    return 0;
}

/* Reads the log of who has changed what, if there is one, and the user may know it. */
static int
diff_read_changers (const struct overlay_order *order, struct job *job,
                    struct changers **ret_changers)
{
    int r = 0;

    *ret_changers = NULL;
    if (order->style != DIFF_NAME_STATUS && (order->uid == 0 || order->uid == geteuid ()))
        r = changers_read (order->this, job, ret_changers);
    if (r < 0 && r != -EINTR)
        job_refuse (job, "the log of features/audit above can't be read: %s; --name-status needs "
                    "none", r == -EPERM ? "it is no plain file" : g_strerror (-r));
    return r;
}

static int
overlay_diff (struct job *job, struct overlay_order *order)
{
    struct diff_telling telling = { job, order->style, 0, NULL };
    struct changers *changers;
    int r = diff_read_changers (order, job, &changers);

    if (r < 0)
        return r;
    telling.changers = changers;
    order->pairs = true;
    if (order->json)
        job_print (job, "[");
    r = overlay_order_walk (order, job, diff_tell, &telling);
    if (order->json)
        job_print (job, "\n]\n");
    changers_free (changers);
    return r;
}

/* --- status ----------------------------------------------------------------------------------- */

struct status_counts {
    unsigned added, changed, removed, renamed;
};

static int
status_count (const struct diff_change *change, void *data)
{
    struct status_counts *counts = data;

    counts->added += change->kind == 'A';
    counts->removed += change->kind == 'D';
    counts->renamed += change->kind == 'R';
    counts->changed += change->kind == 'M' || change->kind == 'T';
    return 0;
}

static void
status_print_json (struct job *job, const overlay_private_t *priv,
                   const struct status_counts *counts)
{
    struct json json = { .out = g_string_new (NULL) };

    json_open (&json, NULL, '{');
    json_string (&json, "volume", priv->layers[OVERLAY_UPPER].xlator->name);
    json_string (&json, "upper", priv->layers[OVERLAY_UPPER].path);
    json_open (&json, "frozen", '[');
    for (unsigned i = 1; i <= priv->frozen; i++)
        json_string (&json, NULL, priv->layers[i].path);
    json_close (&json, ']');
    json_open (&json, "lowers", '[');
    for (unsigned i = priv->frozen + 1; i < priv->n; i++)
        json_string (&json, NULL, priv->layers[i].xlator->name);
    json_close (&json, ']');
    json_number (&json, "owned_by_daemon",
                 __atomic_load_n (&priv->parts->owned, __ATOMIC_RELAXED));
    json_number (&json, "added", counts->added);
    json_number (&json, "changed", counts->changed);
    json_number (&json, "removed", counts->removed);
    json_number (&json, "renamed", counts->renamed);
    json_close (&json, '}');
    job_print (job, "%s\n", json.out->str);
    g_string_free (json.out, TRUE);
}

static void
status_print_owner (struct job *job, const overlay_private_t *priv)
{
    const unsigned n = __atomic_load_n (&priv->parts->owned, __ATOMIC_RELAXED);

    if (priv->owner == OVERLAY_OWNER_DAEMON)
        job_print (job, "copies of files whose owner can't be kept belong to the daemon's user "
                   "(owner daemon): %u since the mount began\n", n);
}

static int
overlay_status (struct job *job, struct overlay_order *order)
{
    const overlay_private_t *priv = overlay_priv (order->this);
    struct status_counts counts = { 0 };
    int r;

    order->pairs = true;
    r = overlay_order_walk (order, job, status_count, &counts);
    if (r < 0)
        return r;
    if (order->json) {
        status_print_json (job, priv, &counts);
        return 0;
    }
    job_print (job, "changes are in '%s' of volume '%s'\n", priv->layers[OVERLAY_UPPER].path,
               priv->layers[OVERLAY_UPPER].xlator->name);
    for (unsigned i = 1; i <= priv->frozen; i++)
        job_print (job, "layer '%s' of it is frozen\n", priv->layers[i].path);
    for (unsigned i = priv->frozen + 1; i < priv->n; i++)
        job_print (job, "volume '%s' is only read\n", priv->layers[i].xlator->name);
    status_print_owner (job, priv);
    job_print (job, "%u added, %u changed, %u removed, %u renamed\n", counts.added, counts.changed,
               counts.removed, counts.renamed);
    return 0;
}

/* --- the commands ----------------------------------------------------------------------------- */

static int
overlay_command_status (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "status", overlay_status);
}

static int
overlay_command_diff (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "diff", overlay_diff);
}

static int
overlay_command_discard (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "discard", overlay_discard);
}

static int
overlay_command_apply (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "apply", overlay_apply);
}

static int
overlay_command_freeze (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "freeze", overlay_freeze);
}

static int
overlay_command_commit (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return overlay_order_begin (this, asked, answer, "commit", overlay_commit);
}

#define ROW_FORCE                                                                                  \
    { "force", NULL, "also where the directory below has changed, or no record tells whether" }
#define ROW_JSON { "json", NULL, "print JSON" }

static const struct xlator_command_option overlay_status_options[] = { ROW_JSON, {} };
static const struct xlator_command_option overlay_freeze_options[] = { ROW_JSON, {} };
static const struct xlator_command_option overlay_commit_options[] = { ROW_JSON, ROW_FORCE, {} };
static const struct xlator_command_option overlay_diff_options[] = {
    ROW_JSON,
    { "name-status", NULL, "print a letter and the path, as git diff does" },
    { "patch", NULL, "print the lines of text that differ, for patch -p1" },
    {},
};

static const struct xlator_command_option overlay_apply_options[] = {
    ROW_JSON,
    { "with", NULL, "apply what the paths need as well: new directories above, other halves of "
                    "renames" },
    ROW_FORCE,
    {},
};

const struct xlator_command overlay_commands[] = {
    { "status", "tell where the changes are, and how many there are", .run = overlay_command_status,
      .arguments = "[PATH...]", .options = overlay_status_options, .job = true },
    { "diff", "list what the view has changed: all, or at these paths and below",
      .run = overlay_command_diff, .arguments = "[PATH...]", .options = overlay_diff_options,
      .job = true },
    { "discard", "undo the changes of the view: all, or those at these paths and below",
      .run = overlay_command_discard, .arguments = "[PATH...]", .job = true },
    { "apply", "make the changes at these paths and below in the last subvolume",
      .run = overlay_command_apply, .arguments = "PATH...", .options = overlay_apply_options,
      .job = true },
    { "commit", "make all changes until now, and frozen layers, changes of the last subvolume",
      .run = overlay_command_commit, .arguments = "", .options = overlay_commit_options,
      .job = true },
    { "freeze", "keep what has changed until now as a layer, and go on with a new one",
      .run = overlay_command_freeze, .arguments = "", .options = overlay_freeze_options,
      .job = true },
    {},
};
