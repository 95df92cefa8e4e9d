/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * debug/error-gen: makes some requests fail, without passing them to storage.
 *
 * Which requests fail depends only on the seed and on the number of candidates before: the same
 * requests in the same order fail in the same way again.
 */
#include "errorgen.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define SHORT_WRITE "GF_ERROR_SHORT_WRITE"
#define INTERVAL_MIN 3 /* of random-failure, as GlusterFS has it */
#define INTERVALS 42

/* Settings; constant, except for fields guarded by the lock. A change of online options makes a new
 * struct. */
struct settings {
    struct shared shared;
    double failure; /* percent */
    bool random_failure, short_write;
    int error;      /* 0: an error that the operation may have */
    opset_t ops;
    char *path;     /* pattern, or NULL */
    int64_t uid;    /* -1: any */
    uint64_t nth;   /* 0: no limit to one request */
    uint64_t seed;
    pthread_mutex_t lock;     /* a leaf */
    uint64_t seen, failed;    /* candidates, and failures; lock */
    uint64_t next, intervals; /* random-failure: number of the next candidate that fails; number of
                                 draws. lock */
};

typedef struct {
    double failure;
    bool random_failure;
    char *error_no, *enable, *path, *seed_text;
    int64_t uid, nth;
    struct shared_slot settings;
} errorgen_private_t;

static int errorgen_check_error (const char *text, char **ret_allowed);

static const struct xlator_option errorgen_options[] = {
    { OPTION ("failure", PERCENT, errorgen_private_t, failure, NULL), .online = true,
      .help = "the part of the requests that fail, such as 10%; by default none" },
    { OPTION ("error-no", STRING, errorgen_private_t, error_no, NULL),
      .check = errorgen_check_error, .online = true, .from_server = SERVER_MAY,
      .help = "the name of the error of failing requests, such as EIO; " SHORT_WRITE ": a write "
              "writes half of its data; by default an error that is usual for the operation" },
    { OPTION ("random-failure", BOOL, errorgen_private_t, random_failure, "off"), .online = true,
      .help = "requests fail at intervals: the first time after the number of requests that "
              "failure gives, then after 3 to 44" },
    { OPTION ("enable", STRING, errorgen_private_t, enable, NULL), .key[1] = "error-fops",
      .check = opset_check, .online = true, .from_server = SERVER_MAY,
      .help = "the operations that fail, separated by commas, such as lookup,readv or LOOKUP,READ; "
              "by default all" },
    { OPTION ("nth", INT, errorgen_private_t, nth, "0"), .min = 0, .max = 1e15, .online = true,
      .help = "only the request with this number fails; the first is 1; 0: failure and "
              "random-failure decide" },
    { OPTION ("path", STRING, errorgen_private_t, path, NULL), .online = true,
      .from_server = SERVER_MAY,
      .help = "only requests for paths in the mount that match this pattern fail, such as *.db or "
              "/tmp/*; * also matches slashes" },
    { OPTION ("uid", INT, errorgen_private_t, uid, "-1"), .min = -1, .max = UINT32_MAX,
      .online = true,
      .help = "only requests of the user with this id fail; -1: requests of any user" },
    { OPTION ("seed", STRING, errorgen_private_t, seed_text, NULL), .check = chance_seed_check,
      .online = true, .from_server = SERVER_MAY,
      .help = "the number that determines which requests fail, so that a run can be repeated; by "
              "default a new number each time, which the daemon logs" },
    {},
};

static int
errorgen_check_error (const char *text, char **ret_allowed)
{
    const char *near = error_near (text);

    if (error_of_name (text) || g_ascii_strcasecmp (text, SHORT_WRITE) == 0)
        return 0;
    *ret_allowed = g_strdup_printf ("must be the name of an error such as %s, or " SHORT_WRITE,
                                    near ? near : "EIO");
    return -EINVAL;
}

/* --- decision --------------------------------------------------------------------------------- */

static bool
errorgen_may_fail (const struct settings *s, const struct call *call)
{
    if (!opset_has (s->ops, call->op) || (s->short_write && call->op != FOP_writev))
        return false;
    if (s->uid >= 0 && call->frame->root->uid != (uid_t) s->uid)
        return false;
    return !s->path || call_is_at (call, s->path);
}

static bool
interval_is_over_locked (struct settings *s, uint64_t number)
{
    if (number != s->next)
        return false;
    s->next += INTERVAL_MIN + chance_number (~s->seed, s->intervals++) % INTERVALS;
    return true;
}

/* Returns the error for the request; 0: none. */
static int
errorgen_draw (struct settings *s, const struct call *call)
{
    uint64_t number;
    bool fails;

    pthread_mutex_lock (&s->lock);
    number = ++s->seen;
    if (s->nth)
        fails = number == s->nth;
    else if (s->random_failure)
        fails = interval_is_over_locked (s, number);
    else
        fails = chance_hits (s->seed, number, s->failure);
    s->failed += fails;
    pthread_mutex_unlock (&s->lock);
    if (!fails)
        return 0;
    return s->error ? s->error : errorgen_likely (call->op, chance_number (~s->seed, number));
}

/* --- requests --------------------------------------------------------------------------------- */

/* Writes half of the data; a single byte can't be halved. */
static void
errorgen_write_short (const struct call *call)
{
    struct writev_call args = *(const struct writev_call *) call->args;
    struct call shorter = *call;
    struct iovec vector[MAX (args.count, 1)];

    args.count = iov_first (args.vector, args.count, MAX (call->size / 2, 1), vector);
    args.vector = vector;
    shorter.args = &args;
    call_pass (&shorter);
}

static void
errorgen_any_fop (const struct call *call)
{
    errorgen_private_t *priv = call->this->private;
    struct settings *s = shared_get (&priv->settings);
    const bool short_write = s->short_write;
    const int error = errorgen_may_fail (s, call) ? errorgen_draw (s, call) : 0;

    shared_unref (&s->shared);
    if (!error)
        call_pass (call);
    else if (short_write)
        errorgen_write_short (call);
    else
        call_fail (call, error);
}

/* --- init, reconfigure, fini ------------------------------------------------------------------ */

static void
settings_free (void *value)
{
    struct settings *s = value;

    pthread_mutex_destroy (&s->lock);
    g_free (s->path);
    g_free (s);
}

/* The options were checked when they were read. */
static struct settings *
errorgen_settings_new (const errorgen_private_t *options, uint64_t seed)
{
    struct settings *s = g_new0 (struct settings, 1);
    g_autofree char *problem = NULL;

    s->shared = (struct shared){ 1, settings_free };
    pthread_mutex_init (&s->lock, NULL);
    s->failure = options->failure;
    s->random_failure = options->random_failure;
    s->error = options->error_no ? error_of_name (options->error_no) : 0;
    s->short_write = options->error_no && !s->error;
    opset_parse (options->enable, &s->ops, &problem);
    s->path = g_strdup (options->path);
    s->uid = options->uid;
    s->nth = options->nth;
    s->seed = seed;
    s->next = options->failure >= 1
                ? (uint64_t) options->failure
                : INTERVAL_MIN + chance_number (~seed, s->intervals++) % INTERVALS;
    if (s->short_write)
        s->error = EIO; /* the operation is never answered, but the error must not be 0 */
    return s;
}

static void
errorgen_log_seed (xlator_t *this, const errorgen_private_t *options, uint64_t seed)
{
    if (!options->seed_text)
        gf_log (this, GF_LOG_INFO,
                "the seed is %" G_GUINT64_FORMAT ": with 'option seed %" G_GUINT64_FORMAT
                "' the same requests fail again",
                seed, seed);
}

static int
errorgen_init (xlator_t *this)
{
    errorgen_private_t *priv = this->private;
    const uint64_t seed = chance_seed (priv->seed_text);

    shared_set (&priv->settings, &errorgen_settings_new (priv, seed)->shared);
    errorgen_log_seed (this, priv, seed);
    return 0;
}

/* The counts start again. A drawn seed stays. */
static int
errorgen_reconfigure (xlator_t *this, const void *new_private)
{
    errorgen_private_t *priv = this->private;
    const errorgen_private_t *options = new_private;
    struct settings *old = shared_get (&priv->settings);
    const uint64_t seed = options->seed_text ? chance_seed (options->seed_text) : old->seed;

    shared_unref (&old->shared);
    shared_unref (shared_set (&priv->settings, &errorgen_settings_new (options, seed)->shared));
    return 0;
}

static void
errorgen_fini (xlator_t *this)
{
    errorgen_private_t *priv = this->private;

    shared_unref (shared_set (&priv->settings, NULL));
}

static void
errorgen_dump (xlator_t *this, GString *out)
{
    errorgen_private_t *priv = this->private;
    struct settings *s = shared_get (&priv->settings);
    uint64_t seen, failed;

    pthread_mutex_lock (&s->lock);
    seen = s->seen;
    failed = s->failed;
    pthread_mutex_unlock (&s->lock);
    g_string_append_printf (out,
                            "seed=%" G_GUINT64_FORMAT "\nseen=%" G_GUINT64_FORMAT
                            "\nfailed=%" G_GUINT64_FORMAT "\n",
                            s->seed, seen, failed);
    shared_unref (&s->shared);
}

static void
errorgen_explain (xlator_t *this, const char *path, inode_t *inode, GString *out)
{
    errorgen_private_t *priv = this->private;
    struct settings *s = shared_get (&priv->settings);

    if (s->path && fnmatch (s->path, path, 0) != 0) {
        g_string_append_printf (out, "does nothing with it: its path doesn't match '%s' (path)\n",
                                s->path);
    } else {
        if (s->nth)
            g_string_append_printf (out, "lets request number %" G_GUINT64_FORMAT " of ", s->nth);
        else if (s->random_failure)
            g_string_append (out, "lets at intervals one of ");
        else
            g_string_append_printf (out, "lets %g%% of ", s->failure);
        opset_print (s->ops, out);
        if (s->short_write)
            g_string_append (out, " write less than it should");
        else
            g_string_append_printf (out, " fail with %s",
                                    s->error ? error_name (s->error)
                                             : "an error that the operation may have");
        g_string_append (out, " (failure, random-failure, nth, enable, error-no)\n");
        if (s->uid >= 0)
            g_string_append_printf (out, "only those of user %" G_GINT64_FORMAT " (uid)\n", s->uid);
    }
    shared_unref (&s->shared);
}

const struct xlator_api xlator_api = {
    .abi = XLATOR_ABI,
    .type = "debug/error-gen",
    .about = "makes requests fail at a given rate; a seed makes the same requests fail again",
    .children = { .min = 1, .max = 1 },
    .passive = true,
    .touches = TOUCHES_DATA | TOUCHES_ERRORS,
    .priv_size = sizeof (errorgen_private_t),
    .options = errorgen_options,
    .init = errorgen_init,
    .fini = errorgen_fini,
    .reconfigure = errorgen_reconfigure,
    .any_fop = errorgen_any_fop,
    .dumpops = { .priv = errorgen_dump, .explain = errorgen_explain },
    .passthrough = { .why = "may make the file's reads and writes fail" },
};
