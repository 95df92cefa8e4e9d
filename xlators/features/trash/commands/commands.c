/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The commands, as they are given: options, arguments, and whose trash may be asked for. */
#include "commands.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct xlator_option older_row = {
    .key = { "older" }, .type = OPTION_TIME, .size = sizeof (int64_t),
    .help = "age of an entry",
};

/* --- what is asked ---------------------------------------------------------------------------- */

static void
visit_order_free (void *data)
{
    struct trash_order *order = data;

    g_strfreev (order->arguments);
    g_free (order->groups);
    g_free (order);
}

/* A daemon without root's rights has one trash, that of its own user. */
static struct trash_order *
order_new (xlator_t *this, const struct xlator_asked *asked)
{
    struct trash_order *order = g_new0 (struct trash_order, 1);

    order->this = this;
    order->uid = geteuid () == 0 ? asked->uid : geteuid ();
    order->gid = asked->gid;
    order->pid = asked->pid;
    order->ngroups = (int) asked->ngroups;
    order->groups = g_memdup2 (asked->groups, asked->ngroups * sizeof *asked->groups);
    order->whose = order->uid;
    return order;
}

/* Reads "--user=1000". */
static int
order_user (struct trash_order *order, const char *text, GString *answer)
{
    guint64 uid;

    if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT32 - 1, &uid, NULL)) {
        g_string_assign (answer, "--user takes the number of a user");
        return -EINVAL;
    }
    order->whose = (int64_t) uid;
    return 0;
}

static int
order_older (struct trash_order *order, const char *text, GString *answer)
{
    g_autofree char *allowed = NULL;
    int r = option_parse (&older_row, text, &order->older, &allowed);

    if (r < 0 || order->older <= 0)
        g_string_assign (answer, "--older takes a time, such as 30d or 12h");
    return r < 0 || order->older <= 0 ? -EINVAL : 0;
}

static int
order_option (struct trash_order *order, const char *text, GString *answer)
{
    if (strcmp (text, "--json") == 0)
        order->json = true;
    else if (strcmp (text, "--names") == 0)
        order->names = true;
    else if (strcmp (text, "--all") == 0)
        order->whose = ALL_USERS;
    else if (g_str_has_prefix (text, "--user="))
        return order_user (order, text + strlen ("--user="), answer);
    else if (g_str_has_prefix (text, "--older="))
        return order_older (order, text + strlen ("--older="), answer);
    else
        return -EINVAL;
    return 0;
}

/* Returns a name without slashes around it. */
static char *
name_bare (const char *text)
{
    char *name = g_strdup (text + strspn (text, "/"));
    size_t size = strlen (name);

    while (size > 0 && name[size - 1] == '/')
        name[--size] = '\0';
    return name;
}

/* Returns a path from the root of the mount without a slash in front, without "." and "..". */
static char *
path_bare (const char *text)
{
    g_autofree char *path = g_canonicalize_filename (text, "/");

    return g_strdup (path + strspn (path, "/"));
}

/* Only slashes are the root. Other paths that lead there, or that begin at a current folder, which
 * the daemon does not know, are mistakes. */
static bool
path_is_astray (const char *text, const char *bare)
{
    return strcmp (text, ".") == 0 || strcmp (text, "..") == 0 || g_str_has_prefix (text, "./")
        || g_str_has_prefix (text, "../") || (!*bare && strspn (text, "/") != strlen (text));
}

/* An empty word is one of a script whose variable is not set, and stands for nothing. */
static int
order_place (const struct trash_order *order, const char *text, GPtrArray *rest, GString *answer)
{
    g_autofree char *place = order->names ? name_bare (text) : path_bare (text);

    if (!*text || (order->names && !*place)) {
        g_string_assign (answer, "an argument is empty; '/' stands for all entries");
        return -EINVAL;
    }
    if (!order->names && path_is_astray (text, place)) {
        g_autofree char *shown = g_strescape (text, NULL);

        g_string_printf (answer, "the path '%s' does not begin at the root of the mount; '/' "
                         "stands for all entries", shown);
        return -EINVAL;
    }
    g_ptr_array_add (rest, g_steal_pointer (&place));
    return 0;
}

/* Options come first, and end with "--". */
static int
order_read (struct trash_order *order, const struct xlator_asked *asked, GString *answer)
{
    g_auto (GStrv) words = xlator_arguments (asked);
    GPtrArray *rest = g_ptr_array_new ();
    char **word = words;
    int r = 0;

    for (; r == 0 && *word && strcmp (*word, "--") != 0; word++)
        r = order_option (order, *word, answer);
    for (word += *word != NULL; r == 0 && *word; word++)
        r = order_place (order, *word, rest, answer);
    g_ptr_array_add (rest, NULL);
    order->arguments = (char **) g_ptr_array_free (rest, FALSE);
    if (r == 0 && order->whose != order->uid && order->uid != 0) {
        g_string_assign (answer, "not permitted: only root may ask for another user's trash");
        r = -EPERM;
    }
    return r;
}

/* --- the commands ----------------------------------------------------------------------------- */

static int
visit_order_run (struct job *job, void *data)
{
    struct trash_order *order = data;

    return order->carry_out (job, order);
}

static int
visit_order_begin (xlator_t *this, const struct xlator_asked *asked, GString *answer,
                   const char *name,
                   int (*carry_out) (struct job *job, struct trash_order *order))
{
    struct trash_order *order = order_new (this, asked);
    const struct job_plan plan = { .name = name, .about = "trash", .unit = "names",
                                   .run = visit_order_run, .free = visit_order_free, .data = order,
                                   .asked = asked };
    int r = order_read (order, asked, answer);

    if (r == 0 && trash_priv (this)->layout == TRASH_GLUSTER) {
        g_string_printf (answer, "'windlass trash' is for layout freedesktop; with layout gluster "
                                 "the files lie in /%s, and mv(1) restores them",
                         trash_priv (this)->directory);
        r = -EOPNOTSUPP;
    }
    if (r == 0 && asked->read_only && carry_out != trash_list) {
        g_string_printf (answer, "%s changes the trash, and the mount is read-only (-o ro)", name);
        r = -EROFS;
    }
    order->carry_out = carry_out;
    if (r == 0)
        return job_answers (this, &plan, answer);
    if (answer->len == 0)
        g_string_assign (answer, "unknown option");
    visit_order_free (order);
    return r;
}

static int
command_list (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return visit_order_begin (this, asked, answer, "list", trash_list);
}

static int
command_restore (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return visit_order_begin (this, asked, answer, "restore", trash_restore);
}

static int
command_empty (xlator_t *this, const struct xlator_asked *asked, GString *answer)
{
    return visit_order_begin (this, asked, answer, "empty", trash_empty);
}

#define ROW_NAMES { "names", NULL, "arguments are names in the trash, not former paths" }
#define ROW_OLDER { "older", "TIME", "only what was removed longer ago, such as 30d" }
#define ROW_USER { "user", "NUMBER", "for root: the trash of this user, with the user's rights" }
#define ROW_ALL { "all", NULL, "for root: the trashes of all users" }

static const struct xlator_command_option trash_list_options[] = {
    { "json", NULL, "print JSON" }, ROW_NAMES, ROW_OLDER, ROW_USER, ROW_ALL, {},
};
static const struct xlator_command_option restore_options[] = {
    ROW_NAMES, ROW_OLDER, ROW_USER, {},
};
static const struct xlator_command_option empty_options[] = {
    ROW_NAMES, ROW_OLDER, ROW_USER, ROW_ALL, {},
};

const struct xlator_command trash_commands[] = {
    { "list", "list what lies in the trash: all, or what has these former paths and what was below",
      .run = command_list, .arguments = "[PATH...]", .options = trash_list_options, .job = true,
      .open = true },
    { "restore", "move what had these former paths, and what was below, back to its place; of a "
                 "removed tree also a part",
      .run = command_restore, .arguments = "PATH...", .options = restore_options, .job = true,
      .open = true },
    { "empty", "remove for good what lies in the trash: all, or what has these former paths",
      .run = command_empty, .arguments = "[PATH...]", .options = empty_options, .job = true,
      .open = true },
    {},
};
