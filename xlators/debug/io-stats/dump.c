/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The thread that writes dumps. A thread that serves requests has the ids of its last caller, and
 * writing may take long.
 *
 *   setxattr ──> jobs ──> the thread: write ──> its answer
 *            ios-dump-interval ──^
 *
 * The main thread starts it, before there are requests: a new thread has the ids of the thread that
 * starts it.
 */
#include "io-stats.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#define NAME_LENGTH_MAX 240 /* bytes, with room for a prefix */

struct dump_request {
    char *name; /* of the file */
    enum format format;
    call_stub_t *stub;   /* the setxattr */
    call_frame_t *frame; /* its frame */
};

struct dumper {
    xlator_t *this;
    pthread_mutex_t lock; /* a leaf; guards the fields below */
    pthread_cond_t work;
    GQueue jobs; /* of struct dump_request */
    int seconds; /* 0: no periodic dumps */
    enum format format;
    int64_t next; /* clock_now of the next periodic dump */
    bool running, ending;
    pthread_t thread;
};

/* --- names ------------------------------------------------------------------------------------ */

/* Copies characters that a file name may have; all others, such as '/', become '-'. */
static void
io_stats_append_name (GString *out, const char *text)
{
    for (; *text; text++)
        g_string_append_c (out,
                           g_ascii_isalnum (*text) || strchr ("._+@%=:,-", *text) ? *text : '-');
}

static const char *
unique_of (xlator_t *this)
{
    const io_stats_private_t *priv = this->private;

    return priv->unique_id && *priv->unique_id ? priv->unique_id : this->name;
}

/* "windlass_NAME.dump" */
static char *
periodic_name (xlator_t *this, const char *ending)
{
    GString *out = g_string_new ("windlass_");

    io_stats_append_name (out, unique_of (this));
    g_string_append (out, ending);
    return g_string_free (out, FALSE);
}

/* NAME with '-' in place of '/', and the name of the volume. Refuses a name that would lead to
 * another folder. */
static char *
asked_name (xlator_t *this, const char *value, size_t size, int *ret_errno)
{
    g_autofree char *text = g_strndup (value, size);
    GString *out;

    *ret_errno = EINVAL;
    if (strlen (text) != size || !size || strcmp (text, "..") == 0 || strstr (text, "../")) {
        gf_log (this, GF_LOG_WARNING, "a dump needs a name without '../', got '%s'", text);
        return NULL;
    }
    out = g_string_new (NULL);
    io_stats_append_name (out, text);
    g_string_append_c (out, '.');
    io_stats_append_name (out, unique_of (this));
    if (out->len <= NAME_LENGTH_MAX)
        return g_string_free (out, FALSE);
    gf_log (this, GF_LOG_WARNING, "a dump's name may have %d bytes with the volume's, got %zu",
            NAME_LENGTH_MAX, out->len);
    *ret_errno = ENAMETOOLONG;
    g_string_free (out, TRUE);
    return NULL;
}

/* --- writing ---------------------------------------------------------------------------------- */

static GString *
dump_text (xlator_t *this, enum format format)
{
    const io_stats_private_t *priv = this->private;
    GString *out = g_string_new (NULL);
    struct io_stats_report *report;

    if (format == FORMAT_SAMPLES) {
        samples_drain (priv->sums->samples, out);
        return out;
    }
    report = report_new (this, true);
    if (format == FORMAT_JSON)
        report_json (report, out);
    else if (format == FORMAT_DICT)
        report_dict (report, out);
    else
        report_text (report, out);
    report_free (report);
    return out;
}

static int
io_stats_dump_write (xlator_t *this, const char *name, enum format format, gf_loglevel_t level)
{
    g_autoptr (GString) out = dump_text (this, format);
    g_autofree char *path = NULL;
    int r = run_dir_write (name, out->str, out->len, &path);

    if (r == 0) {
        gf_log (this, level, "dumped to '%s'", path);
        return 0;
    }
    path = run_dir ();
    gf_log (this, GF_LOG_ERROR, "can't dump to '%s/%s': %s", path, name, g_strerror (-r));
    return r;
}

static void
dump_periodic (xlator_t *this, enum format format)
{
    const io_stats_private_t *priv = this->private;
    g_autofree char *dump = periodic_name (this, ".dump"),
                    *samples = periodic_name (this, ".samples");

    if (format != FORMAT_SAMPLES)
        io_stats_dump_write (this, dump, format, GF_LOG_DEBUG);
    if (format == FORMAT_SAMPLES || samples_any (priv->sums->samples))
        io_stats_dump_write (this, samples, FORMAT_SAMPLES, GF_LOG_DEBUG);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* Returns true if an io-stats below gets the setxattr as well. */
static bool
others_below (const xlator_t *this, const struct xlator_api *api)
{
    for (const xlator_list_t *child = this->children; child; child = child->next)
        if (child->xlator->api == api || others_below (child->xlator, api))
            return true;
    return false;
}

static void
job_answer (struct dump_request *job, int r)
{
    call_frame_t *frame = job->frame;
    call_stub_t *stub = job->stub;

    g_free (job->name);
    g_free (job);
    if (r == 0 && others_below (frame->this, frame->this->api)) {
        call_resume (stub);
        return;
    }
    call_stub_destroy (stub);
    STACK_UNWIND (setxattr, frame, r < 0 ? -1 : 0, -r, NULL);
}

static void
dumper_do (struct dumper *dumper, struct dump_request *job)
{
    job_answer (job, io_stats_dump_write (dumper->this, job->name, job->format, GF_LOG_INFO));
}

static bool
dumper_due_locked (struct dumper *dumper)
{
    const int64_t period = dumper->seconds * INT64_C (1000000000);

    if (!period || clock_now () < dumper->next)
        return false;
    dumper->next += period;
    if (dumper->next < clock_now ()) /* after a long sleep: one dump, not one for each missed
                                        interval */
        dumper->next = clock_now () + period;
    return true;
}

static void
dumper_wait_locked (struct dumper *dumper)
{
    if (dumper->seconds)
        thread_cond_wait_until (&dumper->work, &dumper->lock, dumper->next);
    else
        thread_cond_wait (&dumper->work, &dumper->lock);
}

static void *
dumper_run (void *data)
{
    struct dumper *dumper = data;

    pthread_mutex_lock (&dumper->lock);
    while (true) {
        struct dump_request *job = g_queue_pop_head (&dumper->jobs);
        const bool due = !job && !dumper->ending && dumper_due_locked (dumper);
        const enum format format = dumper->format;

        if (!job && !due && dumper->ending)
            break;
        if (!job && !due) {
            dumper_wait_locked (dumper);
            continue;
        }
        pthread_mutex_unlock (&dumper->lock);
        if (job)
            dumper_do (dumper, job);
        else
            dump_periodic (dumper->this, format);
        pthread_mutex_lock (&dumper->lock);
    }
    pthread_mutex_unlock (&dumper->lock);
    return NULL;
}

struct dumper *
dumper_new (xlator_t *this)
{
    struct dumper *dumper = g_new0 (struct dumper, 1);

    dumper->this = this;
    pthread_mutex_init (&dumper->lock, NULL);
    thread_cond_init (&dumper->work);
    return dumper;
}

void
dumper_start (struct dumper *dumper)
{
    g_autofree char *reason = NULL;
    int r;

    pthread_mutex_lock (&dumper->lock);
    r = dumper->running ? 0 : thread_new (&dumper->thread, "ios-dump", dumper_run, dumper);
    dumper->running |= r == 0;
    pthread_mutex_unlock (&dumper->lock);
    if (r == 0)
        return;
    reason = attempt_reason (-r);
    gf_log (dumper->this, GF_LOG_ERROR,
            "there will be no dumps: can't start the thread that writes them: %s", reason);
}

void
dumper_every (struct dumper *dumper, int seconds, enum format format)
{
    pthread_mutex_lock (&dumper->lock);
    if (seconds != dumper->seconds)
        dumper->next = clock_now () + seconds * INT64_C (1000000000);
    dumper->seconds = seconds;
    dumper->format = format;
    thread_cond_signal (&dumper->work);
    pthread_mutex_unlock (&dumper->lock);
}

void
dumper_stop (struct dumper *dumper)
{
    bool running;

    pthread_mutex_lock (&dumper->lock);
    dumper->ending = true;
    running = dumper->running;
    dumper->running = false;
    thread_cond_signal (&dumper->work);
    pthread_mutex_unlock (&dumper->lock);
    if (running)
        thread_join (dumper->thread);
}

void
dumper_free (struct dumper *dumper)
{
    if (!dumper)
        return;
    dumper_stop (dumper);
    pthread_cond_destroy (&dumper->work);
    pthread_mutex_destroy (&dumper->lock);
    g_free (dumper);
}

/* --- setxattr --------------------------------------------------------------------------------- */

/* Finds "trusted.io-stats-dump", or any other key that GlusterFS takes for it. "user.io-stats-dump"
 * is for callers that are not root. */
static const char *
dump_key (dict_t *dict, const void **ret_value, size_t *ret_size)
{
    const char *key;

    for (size_t i = 0; i < dict_count (dict); i++) {
        dict_nth (dict, i, &key, ret_value, ret_size);
        if (fnmatch ("*io*stat*dump", key, 0) == 0)
            return key;
    }
    return NULL;
}

static int
dump_queue (const struct call *call, char *name, enum format format)
{
    struct dumper *dumper = ((io_stats_private_t *) call->this->private)->dumper;
    call_stub_t *stub = call_keep_to_pass (call);
    struct dump_request *job;
    bool running;

    if (!stub)
        return -ENOMEM;
    pthread_mutex_lock (&dumper->lock);
    running = dumper->running;
    if (running) {
        job = g_new (struct dump_request, 1);
        *job = (struct dump_request){ name, format, stub, call->frame };
        g_queue_push_tail (&dumper->jobs, job);
        thread_cond_signal (&dumper->work);
    }
    pthread_mutex_unlock (&dumper->lock);
    if (!running)
        call_stub_destroy (stub);
    return running ? 0 : -EIO;
}

/* Returns 0 if the thread will answer, or a positive errno. */
static int
dump_begin (const struct call *call, const char *key, const void *value, size_t size)
{
    const struct setxattr_call *args = call->args;
    const uid_t uid = call->frame->root->uid;
    const enum format format = fnmatch ("*io*stat*[0-9]_json_dump", key, 0) == 0 ? FORMAT_JSON
                                                                                 : FORMAT_TEXT;
    char *name;
    int r;

    if (uid != 0 && uid != geteuid ())
        return EPERM;
    if (dict_count (args->dict) > 1) {
        gf_log (call->this, GF_LOG_WARNING, "'%s' must be set alone, not with other attributes",
                key);
        return EINVAL;
    }
    name = asked_name (call->this, value, size, &r);
    if (!name)
        return r;
    r = dump_queue (call, name, format);
    if (r < 0)
        g_free (name);
    return -r;
}

bool
io_stats_dump_asked (const struct call *call)
{
    const struct setxattr_call *args = call->args;
    const void *value;
    size_t size;
    const char *key = dump_key (args->dict, &value, &size);
    int error = key ? dump_begin (call, key, value, size) : 0;

    if (error)
        call_fail (call, error);
    return key != NULL;
}
