/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Options of the translator, its init and fini, and its handling of events. */
#include "distribute.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static const struct option_choice unhashed_values[] = {
    { "off", UNHASHED_OFF }, { "on", UNHASHED_ON }, { "auto", UNHASHED_AUTO },
    { "no", UNHASHED_OFF }, { "yes", UNHASHED_ON }, { "disable", UNHASHED_OFF },
    { "enable", UNHASHED_ON }, { "0", UNHASHED_OFF }, { "1", UNHASHED_ON }, {},
};

#define NO_REBALANCE "no effect: Windlass does no rebalance"

static const struct xlator_option distribute_options[] = {
    { OPTION ("lookup-optimize", BOOL, dht_private_t, lookup_optimize, "on"), .online = true,
      .help = "on: a name that is missing on its hashed subvolume is answered with ENOENT at once, "
              "if its directory's layout has the commit hash of the volume, which the last "
              "rebalance wrote; off: lookup-unhashed decides" },
    { OPTION ("lookup-unhashed", ENUM, dht_private_t, lookup_unhashed, "on"),
      .values = unhashed_values, .online = true,
      .help = "whether a name that is missing on its hashed subvolume is looked up on all "
              "subvolumes; no effect while lookup-optimize is on" },
    { OPTION ("min-free-disk", PERCENT_OR_SIZE, dht_private_t, min_free_disk, "10%"),
      .online = true,
      .help = "a subvolume with less free space gets no new files: another subvolume gets the "
              "file, and the hashed subvolume a linkto" },
    { OPTION ("min-free-inodes", PERCENT, dht_private_t, min_free_inodes, "5%"), .online = true,
      .help = "the same for free inodes, in percent of all inodes of the subvolume" },
    { OPTION ("weighted-rebalance", BOOL, dht_private_t, weighted, "on"), .online = true,
      .help = "in a new directory a subvolume with a larger disk gets a larger range of hashes" },
    { OPTION ("directory-layout-spread", INT, dht_private_t, spread, "0"), .min = 0, .max = 65536,
      .help = "the number of subvolumes that get a range of hashes of a new directory; 0: all" },
    { OPTION ("randomize-hash-range-by-gfid", BOOL, dht_private_t, by_gfid, "off"),
      .help = "on: the subvolume of a new directory's first range is chosen by the directory's "
              "gfid; off: by its path" },
    { OPTION ("decommissioned-bricks", STRING, dht_private_t, decommissioned, NULL), .online = true,
      .from_server = SERVER_MAY,
      .help = "names of subvolumes that will be removed from the volume, with commas between them; "
              "they get no new files, and no ranges of new directories" },
    { OPTION ("assert-no-child-down", BOOL, dht_private_t, assert_no_child_down, "off"),
      .online = true, .help = "on: the mount ends when a subvolume goes down" },
    { OPTION ("rsync-hash-regex", STRING, dht_private_t, rsync_regex, HASH_RSYNC_DEFAULT),
      .from_server = SERVER_MAY,
      .help = "an extended regular expression that matches temporary names; such a name has the "
              "hash of the expression's first group; none: no name does" },
    { OPTION ("extra-hash-regex", STRING, dht_private_t, extra_regex, "none"),
      .from_server = SERVER_MAY,
      .help = "a second expression like rsync-hash-regex, which is tried first" },
    { OPTION ("xattr-name", STRING, dht_private_t, layout_key, "trusted.glusterfs.dht"),
      .from_server = SERVER_MAY,
      .help = "the extended attribute in which a subvolume stores its range of a directory; all "
              "clients of a volume must use the same" },
    { OPTION ("commit-hash", INT, dht_private_t, forced_commit, "0"), .min = 0, .max = 4294967295.0,
      .help = "the commit hash of the volume; 0: read it from the root directory" },
    { OPTION_INERT ("use-readdirp", BOOL,
                    "no effect: attributes are always read, since they distinguish linktos from "
                    "files") },
    { OPTION_INERT ("readdir-optimize", BOOL,
                    "no effect: the client removes duplicate directories from listings, not the "
                    "brick") },
    { OPTION_INERT ("unhashed-sticky-bit", BOOL, "no effect, as in GlusterFS 10") },
    { OPTION_INERT ("rebalance-cmd", INT, NO_REBALANCE) },
    { OPTION_INERT ("node-uuid", STRING, NO_REBALANCE) },
    { OPTION_INERT ("rebalance-stats", BOOL, NO_REBALANCE) },
    { OPTION_INERT ("rebalance-filter", STRING, NO_REBALANCE) },
    { OPTION_INERT ("rebal-throttle", STRING, NO_REBALANCE) },
    { OPTION_INERT ("lock-migration", BOOL, NO_REBALANCE) },
    { OPTION_INERT ("force-migration", BOOL, NO_REBALANCE) },
    { OPTION_INERT ("ensure-durability", BOOL, NO_REBALANCE) },
    { OPTION_INERT ("local-volume-name", STRING, "no effect: for cluster/nufa") },
    { OPTION_INERT ("pattern.switch.case", STRING, "no effect: for cluster/switch") },
    {},
};

/* --- init, fini ------------------------------------------------------------------------------- */

static int
children_by_name (const void *a, const void *b, void *data)
{
    const dht_private_t *priv = data;

    return strcmp (priv->children[*(const unsigned *) a]->name,
                   priv->children[*(const unsigned *) b]->name);
}

static void
children_find (xlator_t *this)
{
    dht_private_t *priv = this->private;
    unsigned i = 0;

    for (const xlator_list_t *child = this->children; child; child = child->next)
        priv->n++;
    priv->children = g_new (xlator_t *, priv->n);
    priv->by_name = g_new (unsigned, priv->n);
    priv->leaving = g_new0 (bool, priv->n);
    for (const xlator_list_t *child = this->children; child; child = child->next, i++) {
        priv->children[i] = child->xlator;
        priv->by_name[i] = i;
    }
    qsort_r (priv->by_name, priv->n, sizeof priv->by_name[0], children_by_name, priv);
}

static int
child_mark_leaving (xlator_t *this, const char *name, bool *leaving)
{
    const dht_private_t *priv = this->private;
    g_autoptr (GString) names = g_string_new (NULL);

    for (unsigned i = 0; i < priv->n; i++)
        if (strcmp (priv->children[i]->name, name) == 0) {
            leaving[i] = true;
            return 0;
        }
    for (unsigned i = 0; i < priv->n; i++)
        g_string_append_printf (names, "%s%s", i ? ", " : "", priv->children[i]->name);
    option_refuse (this, "decommissioned-bricks",
                   "must have names of subvolumes (%s), got '%s'", names->str, name);
    return -EINVAL;
}

static int
children_mark_leaving (xlator_t *this, const char *list, bool *leaving)
{
    g_auto (GStrv) names = g_strsplit_set (list ? list : "", ", ", -1);
    int r = 0;

    for (char **name = names; *name && r == 0; name++)
        if (**name)
            r = child_mark_leaving (this, *name, leaving);
    return r;
}

static int
dht_init (xlator_t *this)
{
    dht_private_t *priv = this->private;
    char reason[200] = "";

    priv->random.state = random_seed ();
    priv->linkto_key = g_strconcat (priv->layout_key, ".linkto", NULL);
    priv->mds_key = g_strconcat (priv->layout_key, ".mds", NULL);
    priv->commit_key = g_strconcat (priv->layout_key, ".commithash", NULL);
    priv->commit = (uint32_t) priv->forced_commit;
    children_find (this);
    space_init (this);
    if (hash_rules_set (&priv->rules, priv->rsync_regex, priv->extra_regex, reason, sizeof reason)
        < 0) {
        gf_log (this, GF_LOG_ERROR, "options 'rsync-hash-regex' and 'extra-hash-regex' must be "
                "extended regular expressions, or none: %s", reason);
        return -EINVAL;
    }
    return children_mark_leaving (this, priv->decommissioned, priv->leaving);
}

static void
dht_fini (xlator_t *this)
{
    dht_private_t *priv = this->private;

    space_fini (priv);
    hash_rules_clear (&priv->rules);
    g_free (priv->linkto_key);
    g_free (priv->mds_key);
    g_free (priv->commit_key);
    g_free (priv->children);
    g_free (priv->by_name);
    g_free (priv->leaving);
}

static int
dht_reconfigure (xlator_t *this, const void *new_private)
{
    dht_private_t *priv = this->private;
    const dht_private_t *now = new_private;
    g_autofree bool *leaving = g_new0 (bool, priv->n);

    if (children_mark_leaving (this, now->decommissioned, leaving) < 0)
        return -EINVAL;
    for (unsigned i = 0; i < priv->n; i++)
        __atomic_store_n (&priv->leaving[i], leaving[i], __ATOMIC_RELAXED);
    __atomic_store_n (&priv->lookup_optimize, now->lookup_optimize, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->lookup_unhashed, now->lookup_unhashed, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->weighted, now->weighted, __ATOMIC_RELAXED);
    __atomic_store_n (&priv->assert_no_child_down, now->assert_no_child_down, __ATOMIC_RELAXED);
    pthread_mutex_lock (&priv->space.lock);
    priv->space.min_free_disk = now->min_free_disk;
    priv->space.min_free_inodes = now->min_free_inodes;
    pthread_mutex_unlock (&priv->space.lock);
    return 0;
}

/* --- events ----------------------------------------------------------------------------------- */

/* As in GlusterFS, the mount stays up while at least one subvolume is up. Operations on files of a
 * subvolume that is down fail with ENOTCONN. */
static void
dht_notify (xlator_t *this, enum xlator_event event, void *data)
{
    dht_private_t *priv = this->private;

    if (event == XLATOR_CHILD_DOWN
        && __atomic_load_n (&priv->assert_no_child_down, __ATOMIC_RELAXED)) {
        gf_log (this, GF_LOG_ERROR, "a subvolume is down: the mount ends (assert-no-child-down)");
        kill (getpid (), SIGTERM);
    }
    if (event == XLATOR_CHILD_DOWN && child_first_up (priv) != NO_CHILD)
        return;
    xlator_pass_on (this, event, data);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "cluster/distribute",
    .about = "spreads files over subvolumes by the hash of their names, as GlusterFS does",
    .children = { .min = 1, .max = -1 },
    .touches = TOUCHES_NAMES | TOUCHES_METADATA,
    .wants = WANTS_INODE | WANTS_FD | WANTS_PARENT_ATTRIBUTES | WANTS_DATA_ATTRIBUTES,
    .priv_size = sizeof (dht_private_t),
    .options = distribute_options,
    .init = dht_init,
    .fini = dht_fini,
    .reconfigure = dht_reconfigure,
    .notify = dht_notify,
    .local_drop = op_drop,
    .fops = {
        .lookup = dht_lookup, .create = dht_create, .mknod = dht_mknod, .symlink = dht_symlink,
        .tmpfile = dht_tmpfile, .mkdir = dht_mkdir, .unlink = dht_unlink, .rmdir = dht_rmdir,
        .link = dht_link, .rename = dht_rename, .statfs = dht_statfs,
        .stat = dht_stat, .fstat = dht_fstat, .setattr = dht_setattr, .fsetattr = dht_fsetattr,
        .setxattr = dht_setxattr, .fsetxattr = dht_fsetxattr,
        .removexattr = dht_removexattr, .fremovexattr = dht_fremovexattr,
        .getxattr = dht_getxattr, .opendir = dht_opendir, .fsyncdir = dht_fsyncdir,
        .flush = dht_flush,
        .readdir = dht_readdir, .readdirp = dht_readdirp,
    },
    .any_fop = file_any_fop,
    .any_fop_cbk = file_any_fop_cbk,
    .cbks = { .forget = dht_forget, .release = dht_release, .releasedir = dht_release },
    .dumpops = { .priv = dht_dump, .inodectx = dht_dump_inode, .explain = dht_explain },
};
