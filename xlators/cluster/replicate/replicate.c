/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The translator cluster/replicate: its options, init and fini, and its table of operations. */
#include "changes/changes.h"

#include <errno.h>
#include <string.h>

static const struct option_choice quorum_types[] = {
    { "none", QUORUM_NONE }, { "auto", QUORUM_AUTO }, { "fixed", QUORUM_FIXED }, {},
};
static const struct option_choice favorites[] = {
    { "none", FAVORITE_NONE }, { "size", FAVORITE_SIZE }, { "ctime", FAVORITE_CTIME },
    { "mtime", FAVORITE_MTIME }, { "majority", FAVORITE_MAJORITY }, {},
};

static const struct option_choice data_heals[] = {
    OPTION_NAMES_OFF (HEALS_DATA_NEVER), OPTION_NAMES_ON (HEALS_DATA_AT_LOOKUP),
    { "open", HEALS_DATA_AT_OPEN }, {},
};

static const struct xlator_option replicate_options[] = {
    { OPTION ("afr-pending-xattr", STRING, replicate_t, pending_names, NULL),
      .from_server = SERVER_MAY,
      .help = "the names of the copies in the pending counters on the bricks, one for each "
              "subvolume, separated by commas; unset: the subvolumes' names" },
    { OPTION ("afr-dirty-xattr", STRING, replicate_t, dirty_name, "trusted.afr.dirty"),
      .from_server = SERVER_MAY,
      .help = "the attribute with the dirty counter, which a change under way raises" },
    { OPTION ("quorum-type", ENUM, replicate_t, quorum_type, "none"), .values = quorum_types,
      .online = true,
      .help = "how many copies a change must reach: one (none), more than half (auto; exactly half "
              "is enough if the first subvolume is among them), or quorum-count (fixed)" },
    { OPTION ("quorum-count", INT, replicate_t, quorum_count, "0"), .min = 0, .max = COPIES_MAX,
      .online = true, .help = "how many copies a change must reach, with quorum-type fixed" },
    { OPTION ("favorite-child-policy", ENUM, replicate_t, favorite, "none"), .values = favorites,
      .online = true,
      .help = "which copy of a file is read in a split brain: none (EIO), the largest (size), the "
              "one changed last (ctime, mtime), or one of more than half of the copies that have "
              "the same size and mtime (majority)" },
    { OPTION ("arbiter-count", INT, replicate_t, arbiters, "0"), .min = 0, .max = 1,
      .help = "1: the last of three subvolumes has names and attributes but no data" },
    { OPTION ("read-subvolume", XLATOR, replicate_t, read_name, NULL),
      .help = "the subvolume to read from, while its copy is good" },
    { OPTION ("read-subvolume-index", INT, replicate_t, read_index, "-1"), .min = -1,
      .max = COPIES_MAX - 1, .help = "the same by its number, 0 for the first; -1: unset" },
    { OPTION ("choose-local", BOOL, replicate_t, choose_local, "on"), .online = true,
      .help = "reads from a brick of this machine, while its copy is good" },
    { OPTION ("read-hash-mode", INT, replicate_t, read_mode, "1"), .min = 0, .max = 5,
      .online = true,
      .help = "which copy is read otherwise: the first (0), by the file's gfid (1), by the gfid "
              "and the client (2), the one with the fewest reads under way (3), the one that "
              "answers fastest (4), 3 and 4 together (5)" },
    { OPTION ("eager-lock", BOOL, replicate_t, eager, "on"), .online = true,
      .help = "keeps the lock of a file and its dirty counter between writes; off: each group of "
              "writes takes the lock and raises the counter anew" },
    { OPTION ("post-op-delay-secs", INT, replicate_t, post_op_delay, "1"), .min = 0, .max = 3600,
      .online = true,
      .help = "how long a file stays locked and dirty after its last write, in seconds" },
    { OPTION ("ensure-durability", BOOL, replicate_t, durable, "on"), .online = true,
      .help = "brings data to the bricks' disks before the dirty counter is lowered; off: a power "
              "failure of a brick may leave copies that differ while no counter shows it" },
    { OPTION ("granular-entry-heal", BOOL, replicate_t, granular, "off"), .online = true,
      .help = "sends bricks the name that changed in a directory, so that a heal compares no other "
              "names" },
    { OPTION ("optimistic-change-log", BOOL, replicate_t, optimistic, "on"),
      .help = "a change of attributes or names raises the dirty counter only if a copy can't be "
              "reached" },
    { OPTION ("metadata-self-heal", BOOL, replicate_t, heals_metadata, "off"), .online = true,
      .help = "heals the attributes of an object after a lookup" },
    { OPTION ("entry-self-heal", BOOL, replicate_t, heals_entries, "off"), .online = true,
      .help = "heals the names of a directory after a lookup" },
    { OPTION ("data-self-heal", ENUM, replicate_t, heals_data, "off"), .values = data_heals,
      .online = true,
      .help = "heals the data of a file after a lookup or an open (on), or after an open (open)" },
    { OPTION ("background-self-heal-count", INT, replicate_t, heals_max, "8"), .min = 0, .max = 256,
      .online = true,
      .help = "how many objects are healed at the same time after lookups and opens; others wait "
              "(heal-wait-queue-length)" },
    { OPTION ("heal-wait-queue-length", INT, replicate_t, heals_waiting_max, "128"), .min = 0,
      .max = 10000, .online = true,
      .help = "how many objects wait while background-self-heal-count are being healed; those "
              "beyond are healed after a later lookup or open" },
    { OPTION ("data-self-heal-window-size", INT, replicate_t, heal_window, "8"), .min = 1,
      .max = 1024, .online = true,
      .help = "healing reads and writes pieces of this many times 128KB, each under a lock" },
    { OPTION ("background-self-heal-pace", INT, replicate_t, heal_pace, "100"), .min = 1,
      .max = 100, .online = true,
      .help = "percent of the time for which a heal after a lookup or an open works; it rests for "
              "the remainder" },
#define INERT_BOOL(name_, why_) { OPTION_INERT (name_, BOOL, "no effect: " why_) }
#define INERT_TEXT(name_, why_) { OPTION_INERT (name_, STRING, "no effect: " why_) }
    INERT_TEXT ("data-self-heal-algorithm", "healing compares each piece and writes what differs"),
    INERT_BOOL ("self-heal-daemon", "GlusterFS's daemon heals; this is a client"),
    INERT_BOOL ("iam-self-heal-daemon", "this is a client"),
    INERT_BOOL ("iam-nfs-daemon", "this is a client"),
    INERT_BOOL ("data-change-log", "changes of data always have pending counters"),
    INERT_BOOL ("metadata-change-log", "changes of attributes always have pending counters"),
    INERT_BOOL ("entry-change-log", "changes of names always have pending counters"),
    INERT_BOOL ("pre-op-compat", "the pre-op is a request of its own"),
    INERT_BOOL ("inodelk-trace", "a debugger and the log show locks"),
    INERT_BOOL ("entrylk-trace", "a debugger and the log show locks"),
    INERT_BOOL ("quorum-reads", "reads need a quorum too, as in GlusterFS 10"),
    INERT_BOOL ("consistent-metadata", "attributes come from a good copy"),
    INERT_BOOL ("consistent-io", "the quorum decides"),
    INERT_BOOL ("full-lock", "a write locks all of a file"),
    INERT_TEXT ("locking-scheme", "names are locked one by one"),
    INERT_BOOL ("use-compound-fops", "GlusterFS 10 has none either"),
    INERT_BOOL ("use-anonymous-inode", "healing removes names that good copies lack"),
    INERT_BOOL ("metadata-splitbrain-forced-heal", "favorite-child-policy decides"),
    INERT_BOOL ("halo-enabled", "all bricks count"),
    INERT_TEXT ("halo-shd-max-latency", "all bricks count"),
    INERT_TEXT ("halo-nfsd-max-latency", "all bricks count"),
    INERT_TEXT ("halo-max-latency", "all bricks count"),
    INERT_TEXT ("halo-max-replicas", "all bricks count"),
    INERT_TEXT ("halo-min-replicas", "all bricks count"),
    INERT_TEXT ("heal-timeout", "it is of GlusterFS's daemon"),
    INERT_TEXT ("shd-max-threads", "it is of GlusterFS's daemon"),
    INERT_TEXT ("shd-wait-qlength", "it is of GlusterFS's daemon"),
    INERT_TEXT ("self-heal-readdir-size", "directories are read in pieces of 64KB"),
    INERT_TEXT ("node-uuid", "it is of GlusterFS's daemon"),
    INERT_TEXT ("volume-id", "the bricks check it"),
    { OPTION ("thin-arbiter", STRING, replicate_t, thin_arbiter, NULL), .from_server = SERVER_MAY,
      .help = "must be unset: Windlass has no thin arbiter" },
    {},
};

/* --- init, fini ------------------------------------------------------------------------------- */

void
replicate_local_drop (xlator_t *this, void *local)
{
    struct replicate_local *head = local;

    if (head->drop)
        head->drop (local);
}

static void
refuse_read_subvolume (xlator_t *this)
{
    const replicate_t *priv = this->private;
    g_autoptr (GString) names = g_string_new (NULL);

    for (unsigned i = 0; i < priv->n; i++)
        g_string_append_printf (names, "%s%s", i ? ", " : "", priv->names[i]);
    option_refuse (this, "read-subvolume", "must name a subvolume of '%s' (%s), got '%s'",
                   this->name, names->str, priv->read_name);
}

static int
replicate_check (xlator_t *this)
{
    const replicate_t *priv = this->private;

    if (priv->thin_arbiter && *priv->thin_arbiter)
        option_refuse (this, "thin-arbiter",
                       "must be unset, got '%s': Windlass would not ask it before a change that "
                       "reaches one copy",
                       priv->thin_arbiter);
    else if (priv->read_name && child_of_name (priv, priv->read_name) < 0)
        refuse_read_subvolume (this);
    else if (priv->arbiter >= 0 && priv->n != 3)
        option_refuse (this, "arbiter-count",
                       "must be 0 unless there are 3 subvolumes, got 1 with %u", priv->n);
    else
        return 0;
    return -EINVAL;
}

static int
replicate_init (xlator_t *this)
{
    replicate_t *priv = this->private;
    int r = children_init (this);

    priv->random.state = random_seed ();
    heals_init (this);
    priv->choice_lasts = 5 * 60 * 1000000000ll; /* as in GlusterFS */
    return r < 0 ? r : replicate_check (this);
}

static void
replicate_fini (xlator_t *this)
{
    heals_fini (this);
    children_fini (this);
}

#define TAKE(field_) __atomic_store_n (&priv->field_, new->field_, __ATOMIC_RELAXED)

static int
replicate_reconfigure (xlator_t *this, const void *new_private)
{
    replicate_t *priv = this->private;
    const replicate_t *new = new_private;

    TAKE (quorum_type);
    TAKE (quorum_count);
    TAKE (favorite);
    TAKE (choose_local);
    TAKE (read_mode);
    TAKE (eager);
    TAKE (post_op_delay);
    TAKE (durable);
    TAKE (granular);
    TAKE (heals_metadata);
    TAKE (heals_entries);
    TAKE (heals_data);
    TAKE (heals_max);
    TAKE (heals_waiting_max);
    TAKE (heal_window);
    TAKE (heal_pace);
    return 0;
}

/* --- heals after lookups and opens ------------------------------------------------------------ */

static enum heals_data
data_heals_now (const replicate_t *priv)
{
    return (enum heals_data) __atomic_load_n (&priv->heals_data, __ATOMIC_RELAXED);
}

unsigned
heals_at_lookup (const replicate_t *priv)
{
    unsigned what = data_heals_now (priv) == HEALS_DATA_AT_LOOKUP ? HEAL_DATA : 0;

    if (__atomic_load_n (&priv->heals_metadata, __ATOMIC_RELAXED))
        what |= HEAL_METADATA;
    if (__atomic_load_n (&priv->heals_entries, __ATOMIC_RELAXED))
        what |= HEAL_ENTRIES;
    return what;
}

unsigned
heals_at_open (const replicate_t *priv)
{
    return data_heals_now (priv) == HEALS_DATA_NEVER ? 0 : HEAL_DATA;
}

/* --- operations on files ---------------------------------------------------------------------- */

static void
replicate_any_fop (const struct call *call)
{
    if (opset_has (READS, call->op))
        read_any_fop (call);
    else if (opset_has (CALLER_LOCKS, call->op))
        caller_lock_any_fop (call);
    else if (opset_has (OPENS, call->op))
        opening_any_fop (call);
    else if (opset_has (CLOSES, call->op))
        closing_any_fop (call);
    else
        change_any_fop (call);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "cluster/replicate",
    .about = "keeps a copy of everything in each of its subvolumes, as GlusterFS does",
    .children = { .min = 2, .max = COPIES_MAX },
    .remote = true,
    .touches = TOUCHES_NOTHING,
    .wants = WANTS_INODE | WANTS_FD,
    .priv_size = sizeof (replicate_t),
    .options = replicate_options,
    .init = replicate_init,
    .fini = replicate_fini,
    .reconfigure = replicate_reconfigure,
    .notify = children_notify,
    .local_drop = replicate_local_drop,
    .fops = {
        .lookup = replicate_lookup, .statfs = replicate_statfs, .getxattr = replicate_getxattr,
        .readdir = replicate_readdir, .readdirp = replicate_readdirp,
    },
    .any_fop = replicate_any_fop,
    .any_fop_ops = READS | CALLER_LOCKS | OPENS | CLOSES | CHANGES,
    .any_fop_cbk = read_any_fop_cbk,
    .cbks = { .forget = replicate_forget, .release = replicate_release,
              .releasedir = replicate_release },
    .dumpops = { .priv = replicate_dump, .inodectx = replicate_dump_inode,
                 .fdctx = replicate_dump_fd, .explain = replicate_explain },
    .passthrough = { .why = "sends each write to several bricks" },
    .commands = heal_commands,
    .hides = replicate_hides,
};
