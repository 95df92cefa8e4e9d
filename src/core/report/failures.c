/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/report/failures.h"
#include "core/base/errors.h"
#include "core/base/log.h"
#include "core/report/request-snapshot.h"
#include "core/edge/stack.h"

#include <errno.h>
#include <string.h>

#define OPS(...) (OPSETS_ (__VA_ARGS__, 0, 0, 0, 0, 0, 0))
#define OPSETS_(a, b, c, d, e, f, ...)                                                             \
    (OP_ (a) | OP_ (b) | OP_ (c) | OP_ (d) | OP_ (e) | OP_ (f))
#define OP_(op) ((opset_t) 1 << (op))

/* Errors that programs cause all the time and treat as an answer. */
static const opset_t ordinary[FAILURE_ERRNOS] = {
    [ENOENT] = OPS (FOP_lookup),
    [EEXIST] = OPS (FOP_mkdir, FOP_create, FOP_symlink, FOP_link, FOP_mknod),
    [ENOTEMPTY] = OPS (FOP_rmdir, FOP_rename),
    [ENODATA] = OPS (FOP_getxattr, FOP_fgetxattr, FOP_removexattr, FOP_fremovexattr),
    [ERANGE] = OPS (FOP_getxattr, FOP_fgetxattr),
    [EAGAIN] = OPS (FOP_lk, FOP_flock),
    [EACCES] = OPS (FOP_access),
    [ENXIO] = OPS (FOP_seek),
    [ENOTTY] = OPS (FOP_ioctl),
    [EINTR] = OPSET_ALL,
    [ENOSYS] = OPSET_ALL,
    [EOPNOTSUPP] = OPSET_ALL,
};

static const opset_t nothing[FAILURE_ERRNOS];

const opset_t *failures_skipped = ordinary;

static struct {
    pthread_mutex_t lock; /* a leaf */
    struct failure *ring[FAILURES_MAX]; /* lock */
    uint64_t ever;        /* lock */
} failures = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
failures_set_level (enum failure_level level)
{
    __atomic_store_n (&failures_skipped, level == FAILURES_ALL ? nothing : ordinary,
                      __ATOMIC_RELAXED);
}

/* --- from frames ---------------------------------------------------------------------------- */

static bool
is_answered (const call_frame_t *frame)
{
    return __atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE) >= FRAME_COMPLETE;
}

/* Returns what the translator that failed first says about it, or NULL. */
static char *
why_failed (const call_frame_t *frame, int below)
{
    xlator_t *xl = frame->this;
    g_autoptr (GString) why = NULL;

    if (below || !frame->failed || !xl->api || !xl->ready || !xl->api->dumpops.why_failed)
        return NULL;
    why = g_string_new (NULL);
    xl->api->dumpops.why_failed (xl, frame, why);
    return why->len > 0 ? g_strdup (why->str) : NULL;
}

static void
add_step (struct failure *failure, const call_frame_t *frame, int op_errno,
          const struct call_site *site, int below)
{
    if (failure->n == FAILURE_STEPS) {
        failure->more++;
        return;
    }
    failure->steps[failure->n++] =
        (struct failure_step){ .translator = g_strdup (frame->this->name),
                               .type = g_strdup (frame->this->type),
                               .op = frame->op,
                               .site = site,
                               .op_errno = op_errno,
                               .below = below,
                               .why = why_failed (frame, below) };
}

static int add_below (struct failure *failure, const call_frame_t *frame);

/* Records the answers of a frame and of those below it. Returns the frame's errno; 0 if it didn't
 * fail. */
static int
add_frame (struct failure *failure, const call_frame_t *frame)
{
    int below, op_errno;

    if (!is_answered (frame))
        return 0;
    below = add_below (failure, frame);
    op_errno = frame->failed ? frame->op_errno : 0;
    if (op_errno || below)
        add_step (failure, frame, op_errno, frame->unwind_from, below);
    return op_errno;
}

/* Returns the errno of the last child that failed. A child whose frame was reused is not found any
 * more. */
static int
add_below (struct failure *failure, const call_frame_t *frame)
{
    int below = 0, r;

    if (frame->slot && __atomic_load_n (&frame->wound, __ATOMIC_RELAXED))
        below = add_frame (failure, frame->slot);
    for (const struct strand *s = frame->root->strands; s; s = s->next) {
        if (s->frames[0].parent != frame)
            continue;
        r = add_frame (failure, &s->frames[0]);
        below = r ? r : below;
    }
    return below;
}

/* --- the ring ------------------------------------------------------------------------------- */

static void
failure_free (struct failure *failure)
{
    if (!failure)
        return;
    for (unsigned i = 0; i < failure->n; i++) {
        g_free (failure->steps[i].translator);
        g_free (failure->steps[i].type);
        g_free (failure->steps[i].why);
    }
    g_free (failure->process);
    g_free (failure->path);
    g_free (failure);
}

static struct failure *
newest_locked (void)
{
    return failures.ever ? failures.ring[(failures.ever - 1) % FAILURES_MAX] : NULL;
}

/* Returns the name of the calling process, which still exists, since it waits for the answer. */
static char *
process_of (pid_t pid)
{
    GString *text = g_string_new (NULL);
    const struct failure *newest;

    pthread_mutex_lock (&failures.lock);
    newest = newest_locked ();
    if (newest && newest->pid == pid)
        g_string_append (text, newest->process);
    pthread_mutex_unlock (&failures.lock);
    if (text->len == 0)
        process_append (text, pid);
    return g_string_free (text, FALSE);
}

static bool
failure_is_same (const struct failure *a, const struct failure *b)
{
    return a->op == b->op && a->op_errno == b->op_errno && a->pid == b->pid && a->n == b->n
        && a->n > 0 && a->steps[0].site == b->steps[0].site
        && strcmp (a->steps[0].translator, b->steps[0].translator) == 0
        && strcmp (a->path, b->path) == 0;
}

static void
failure_add (struct failure *failure)
{
    struct failure *newest, **place, *gone = NULL;

    pthread_mutex_lock (&failures.lock);
    newest = newest_locked ();
    if (newest && failure_is_same (newest, failure)) {
        newest->last = failure->last;
        newest->unique = failure->unique;
        newest->times++;
        gone = failure;
    } else {
        place = &failures.ring[failures.ever++ % FAILURES_MAX];
        gone = *place;
        *place = failure;
    }
    pthread_mutex_unlock (&failures.lock);
    failure_free (gone);
}

static struct failure *
failure_begin (const call_stack_t *root, int op_errno)
{
    struct failure *failure = g_new0 (struct failure, 1);

    clock_gettime (CLOCK_REALTIME, &failure->last);
    failure->first = failure->last;
    failure->times = 1;
    failure->unique = root->unique;
    failure->caused_by = root->caused_by;
    failure->op = root->op;
    failure->op_errno = op_errno;
    failure->uid = root->uid;
    failure->pid = root->pid;
    return failure;
}

static void
failure_end (struct failure *failure, const call_stack_t *root)
{
    char path[SEEN_PATH];

    failure->process = process_of (root->pid);
    stack_path (root, true, path);
    failure->path = g_strdup (path);
    failure_add (failure);
}

/* --- storage that is full --------------------------------------------------------------------- */

static bool
error_is_of_full (int op_errno)
{
    return op_errno == ENOSPC || op_errno == EDQUOT;
}

static const call_frame_t *full_below (const call_frame_t *frame);

/* Returns the frame, or one below it, that was the first to fail since storage is full. */
static const call_frame_t *
full_frame (const call_frame_t *frame)
{
    const call_frame_t *below;

    if (!is_answered (frame))
        return NULL;
    below = full_below (frame);
    if (below)
        return below;
    return frame->failed && error_is_of_full (frame->op_errno) ? frame : NULL;
}

static const call_frame_t *
full_below (const call_frame_t *frame)
{
    const call_frame_t *full = NULL;

    if (frame->slot && __atomic_load_n (&frame->wound, __ATOMIC_RELAXED))
        full = full_frame (frame->slot);
    for (const struct strand *s = frame->root->strands; !full && s; s = s->next)
        if (s->frames[0].parent == frame)
            full = full_frame (&s->frames[0]);
    return full;
}

/* A translator that makes room would be told of its own requests, too, and never end. */
static void
full_tell (const call_stack_t *root, int op_errno)
{
    const call_frame_t *full = NULL;

    if (error_is_of_full (op_errno) && !root->internal)
        full = full_below (&root->frames[0]);
    if (full)
        xlator_pass_on (full->this, XLATOR_NO_SPACE, NULL);
}

void
failure_note (const call_stack_t *root, int op_errno, const struct call_site *site)
{
    struct failure *failure = failure_begin (root, op_errno);
    const call_frame_t *top = &root->frames[0];
    int below = add_below (failure, top);

    if (op_errno)
        add_step (failure, top, op_errno, site, below);
    failure_end (failure, root);
    full_tell (root, op_errno);
}

void
failure_note_background (const call_stack_t *root)
{
    const call_frame_t *top = &root->frames[0];
    struct failure *failure;

    if (!top->wound || !top->slot->failed
        || !failure_is_notable (top->slot->op, top->slot->op_errno))
        return;
    failure = failure_begin (root, top->slot->op_errno);
    failure->op = top->slot->op;
    add_below (failure, top);
    failure_end (failure, root);
    full_tell (root, top->slot->op_errno);
}

void
failure_note_frame (const call_frame_t *frame, int op_errno)
{
    struct failure *failure = failure_begin (frame->root, op_errno);

    add_frame (failure, frame);
    failure_end (failure, frame->root);
}

/* --- invalid errnos ------------------------------------------------------------------------- */

/* Returns whether this place answers with an invalid errno for the first time. */
static bool
odd_is_new (const struct call_site *site)
{
    static GHashTable *told; /* set of call_site; failures.lock */
    bool is_new;

    pthread_mutex_lock (&failures.lock);
    if (!told)
        told = g_hash_table_new (NULL, NULL);
    is_new = g_hash_table_add (told, (void *) site);
    pthread_mutex_unlock (&failures.lock);
    return is_new;
}

static void
odd_warn (const call_frame_t *frame)
{
    const struct call_site *site = frame->unwind_from;

    if (site && odd_is_new (site))
        log_line (GF_LOG_WARNING, frame->this, site->file, site->line, site->function,
                  "translator '%s' (%s) answered %s with op_errno %d, which is no errno; it must "
                  "be a positive one, such as EIO (%d). "
                  "This is logged once for each place",
                  frame->this->name, frame->this->type, fop_name (frame->op), frame->op_errno, EIO);
}

static bool odd_below (const call_frame_t *frame);

static bool
odd_frame (const call_frame_t *frame)
{
    if (!is_answered (frame))
        return false;
    const bool below = odd_below (frame), odd = frame->failed && !error_is_known (frame->op_errno);

    if (odd && !below)
        odd_warn (frame);
    return odd;
}

/* Only the translator that answered first is reported, not those that passed the answer on. */
static bool
odd_below (const call_frame_t *frame)
{
    bool odd = frame->slot && __atomic_load_n (&frame->wound, __ATOMIC_RELAXED)
            && odd_frame (frame->slot);

    for (const struct strand *s = frame->root->strands; s; s = s->next)
        if (s->frames[0].parent == frame && &s->frames[0] != frame->slot)
            odd |= odd_frame (&s->frames[0]);
    return odd;
}

void
failure_warn_odd (const call_stack_t *root)
{
    odd_below (&root->frames[0]);
}

void
failures_clear (void)
{
    pthread_mutex_lock (&failures.lock);
    for (unsigned i = 0; i < FAILURES_MAX; i++)
        g_clear_pointer (&failures.ring[i], failure_free);
    failures.ever = 0;
    pthread_mutex_unlock (&failures.lock);
}

uint64_t
failures_foreach (void (*fn) (const struct failure *failure, void *data), void *data)
{
    uint64_t first;

    pthread_mutex_lock (&failures.lock);
    first = failures.ever > FAILURES_MAX ? failures.ever - FAILURES_MAX : 0;
    for (uint64_t i = first; i < failures.ever; i++)
        fn (failures.ring[i % FAILURES_MAX], data);
    pthread_mutex_unlock (&failures.lock);
    return first;
}
