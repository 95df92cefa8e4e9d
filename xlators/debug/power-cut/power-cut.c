/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* debug/power-cut: options, init and fini, and the dispatch of requests. */
#include "power-cut.h"

#include <errno.h>
#include <string.h>

enum { MODEL_POSIX, MODEL_EXT4_ORDERED, MODEL_NOTHING_LOST };

static const struct option_choice models[] = {
    { "posix", MODEL_POSIX }, { "ext4-ordered", MODEL_EXT4_ORDERED },
    { "nothing-lost", MODEL_NOTHING_LOST }, {},
};
static const struct option_choice data_values[] = {
    { "by-model", CUT_DATA_BY_MODEL }, { "lose", CUT_DATA_LOSE }, { "random", CUT_DATA_RANDOM },
    { "torn", CUT_DATA_TORN }, { "keep", CUT_DATA_KEEP }, {},
};
static const struct option_choice size_values[] = {
    { "by-model", CUT_SIZES_BY_MODEL }, { "data", CUT_SIZES_DATA }, { "early", CUT_SIZES_EARLY },
    {},
};
static const struct option_choice name_values[] = {
    { "by-model", CUT_NAMES_BY_MODEL }, { "lose", CUT_NAMES_LOSE },
    { "ordered", CUT_NAMES_ORDERED }, { "random", CUT_NAMES_RANDOM }, { "keep", CUT_NAMES_KEEP },
    {},
};
static const struct option_choice metadata_values[] = {
    { "by-model", CUT_METADATA_BY_MODEL }, { "lose", CUT_METADATA_LOSE },
    { "random", CUT_METADATA_RANDOM }, { "keep", CUT_METADATA_KEEP }, {},
};
static const struct option_choice fsync_values[] = {
    { "by-model", CUT_FSYNC_BY_MODEL }, { "file", CUT_FSYNC_FILE },
    { "file-and-names", CUT_FSYNC_FILE_AND_NAMES }, {},
};

static const struct xlator_option power_cut_options[] = {
    { OPTION ("model", ENUM, power_cut_private_t, model, "posix"), .values = models,
      .help = "at which time a change is durable, and which changes a cut can lose; posix: only "
              "the guarantees of POSIX; ext4-ordered: those of ext4 with data=ordered; "
              "nothing-lost: a cut loses nothing, for a control run of a test" },
    { OPTION ("data", ENUM, power_cut_private_t, data, "by-model"), .values = data_values,
      .help = "which bytes that are not durable a cut loses; lose: all; random: each block of 4 "
              "KiB at random; torn: each sector of 512 bytes at random; keep: none" },
    { OPTION ("sizes", ENUM, power_cut_private_t, sizes, "by-model"), .values = size_values,
      .help = "the size of a file that grew; data: at most up to the data that survived; early: at "
              "random also the new size, with zeros for lost data" },
    { OPTION ("names", ENUM, power_cut_private_t, names, "by-model"), .values = name_values,
      .help = "which changes of names that are not durable a cut loses; lose: all; ordered: all "
              "after a point in time, as with a journal; random: each at random; keep: none" },
    { OPTION ("metadata", ENUM, power_cut_private_t, metadata, "by-model"),
      .values = metadata_values,
      .help = "which changes of mode, owner, times and extended attributes that are not durable a "
              "cut loses; lose: all; random: all of a file, for each file at random; keep: none" },
    { OPTION ("fsync", ENUM, power_cut_private_t, fsync, "by-model"), .values = fsync_values,
      .help = "which changes fsync of a file makes durable; file: those of the file; "
              "file-and-names: also those of its names" },
    { OPTION ("journal-every", INT, power_cut_private_t, journal_every, "16"), .min = 1,
      .max = 1000000000,
      .help = "with names ordered: the average number of changes of names after which the journal "
              "is written without a sync" },
    { OPTION ("memory-limit", SIZE, power_cut_private_t, memory_limit, "64MB"),
      .help = "the maximum of old content in memory; the translator stores further content in a "
              "temporary file" },
    { OPTION ("seed", STRING, power_cut_private_t, seed_text, NULL), .check = chance_seed_check,
      .from_server = SERVER_MAY,
      .help = "the number that determines random decisions; by default a new number each time" },
    {},
};

/* --- dispatch --- */

/* A request that the worker resumes comes here a second time; then it has a local. */
static void
power_cut_any_fop (const struct call *call)
{
    if (call->frame->local)
        cut_change_wind (call);
    else if (cut_is_dead (call->this))
        call_fail (call, EIO);
    else if (!cut_change_take (call))
        call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
power_cut_any_fop_cbk (const struct answer *answer)
{
    cut_uncount (answer->this, answer->buf);
    cut_uncount (answer->this, answer->pre);
    cut_uncount (answer->this, answer->post);
    if (answer->frame->local)
        cut_change_answered (answer);
    else if (cut_is_dead (answer->this))
        answer_fail (answer, EIO);
    else
        answer_pass (answer);
}

/* --- take-over, notify, fini --- */

static const struct cut_rules presets[] = {
    [MODEL_POSIX] = { CUT_DATA_LOSE, CUT_SIZES_DATA, CUT_NAMES_LOSE, CUT_METADATA_LOSE,
                      CUT_FSYNC_FILE },
    [MODEL_EXT4_ORDERED] = { CUT_DATA_RANDOM, CUT_SIZES_DATA, CUT_NAMES_ORDERED, CUT_METADATA_LOSE,
                             CUT_FSYNC_FILE_AND_NAMES },
    [MODEL_NOTHING_LOST] = { CUT_DATA_KEEP, CUT_SIZES_DATA, CUT_NAMES_KEEP, CUT_METADATA_KEEP,
                             CUT_FSYNC_FILE },
};

static void
choose_rules (power_cut_private_t *priv)
{
    const struct cut_rules *model = &presets[priv->model];

    priv->rules = (struct cut_rules){
        .data = priv->data ? priv->data : model->data,
        .sizes = priv->sizes ? priv->sizes : model->sizes,
        .names = priv->names ? priv->names : model->names,
        .metadata = priv->metadata ? priv->metadata : model->metadata,
        .fsync = priv->fsync ? priv->fsync : model->fsync,
    };
}

/* An operation that fops.def says changes something has an undo. What an ioctl changes stays. */
static bool
undoes_all (xlator_t *this)
{
    for (unsigned op = FOP_NONE + 1; op < FOP_MAX; op++) {
        if (!opset_has (OPS_CHANGE & ~OPSET_OF (FOP_ioctl), op) || cut_data_ops[op].prepare
            || cut_name_ops[op].prepare)
            continue;
        gf_log (this, GF_LOG_ERROR, "it can't undo %s", fop_name (op));
        return false;
    }
    return true;
}

static int
power_cut_take_over_prepare (xlator_t *this, xlator_t *predecessor)
{
    power_cut_private_t *priv = this->private;

    if (!undoes_all (this))
        return -ENOSYS;
    priv->disk = cut_disk_get (this, predecessor);
    if (!priv->disk)
        return -EAGAIN;
    priv->client = client_new_internal (this, FIRST_CHILD (this));
    choose_rules (priv);
    priv->seed = predecessor && !priv->seed_text ? cut_priv (predecessor)->seed
                                                 : chance_seed (priv->seed_text);
    if (!predecessor)
        priv->disk->log.chance.state = priv->seed;
    gf_log (this, GF_LOG_INFO, "seed %" G_GUINT64_FORMAT, priv->seed);
    return 0;
}

static void
power_cut_take_over (xlator_t *this, xlator_t *predecessor)
{
    cut_worker_use (this);
    if (predecessor)
        cut_disk_join (this, predecessor);
}

static void
power_cut_fini (xlator_t *this)
{
    power_cut_private_t *priv = this->private;

    if (!priv->disk)
        return;
    cut_worker_leave (this);
    client_free (priv->client);
    shared_unref (&priv->disk->shared);
}

/* The jobs end while the child still answers. */
static void
power_cut_notify (xlator_t *this, enum xlator_event event, void *data)
{
    if (event == XLATOR_PARENT_DOWN)
        cut_worker_leave (this);
    xlator_pass_on (this, event, data);
}

static void
power_cut_dump (xlator_t *this, GString *out)
{
    const power_cut_private_t *priv = cut_priv (this);

    g_string_append_printf (out, "seed=%" G_GUINT64_FORMAT "\ncut=%s\n", priv->seed,
                            cut_is_dead (this) ? "yes" : "no");
}

static void
power_cut_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    const power_cut_private_t *priv = cut_priv (this);

    if (cut_is_dead (this))
        g_string_append (out, "answers EIO to all that is asked: the power was cut\n");
    else
        g_string_append_printf (
            out, "what isn't synced of it is lost by `windlass power-cut`, as %s has it (model)\n",
            option_choice_name (models, priv->model));
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/power-cut",
    .about = "simulates a power failure: on a command, drops the changes that were not "
             "synchronised",
    .children = { .min = 1, .max = 1 },
    .touches = TOUCHES_DATA | TOUCHES_METADATA | TOUCHES_NAMES | TOUCHES_ERRORS,
    .wants = WANTS_FD,
    .priv_size = sizeof (power_cut_private_t),
    .options = power_cut_options,
    .take_over_prepare = power_cut_take_over_prepare,
    .take_over = power_cut_take_over,
    .fini = power_cut_fini,
    .notify = power_cut_notify,
    .any_fop = power_cut_any_fop,
    .any_fop_cbk = power_cut_any_fop_cbk,
    .cbks = { .release = cut_release },
    .dumpops = { .priv = power_cut_dump, .explain = power_cut_explain },
    .passthrough = { .why = "records the changes that a cut would lose" },
    .commands = cut_commands,
    .hides = cut_hides,
    .uncount = cut_uncount,
};
