/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Requests: allocation and reuse of their memory, the caller's identity, interrupts, and their
 * end. */
#include "core/edge/stack.h"
#include "core/base/audit.h"
#include "core/time/clock.h"
#include "core/time/thread.h"

#include <stdlib.h>
#include <unistd.h>

#define CACHE_MAX 32     /* requests that a thread keeps for its next ones */
#define RETIRED_MAX 512  /* requests whose memory isn't reused at once while an audit runs */
#define UNIQUE_BLOCK 256 /* numbers that a thread reserves at once */

/* Memory and numbers that a thread keeps for its next requests, so that a request takes no lock. */
struct stack_cache {
    call_stack_t *free;
    unsigned n;
    bool gives_back; /* cache_give_back runs when the thread ends */
    uint64_t unique, unique_end;
};

static __thread struct stack_cache stack_thread_cache;

static struct {
    pthread_mutex_t lock; /* a leaf */
    call_stack_t *free;   /* list of unused requests; lock */
    struct strand *strands; /* list of unused strands; lock */
    call_stack_t *retired[RETIRED_MAX]; /* a ring; lock */
    unsigned n_retired;   /* number ever added; lock */
    call_stack_t *all;    /* push only, atomic */
    uint64_t unique;      /* atomic */
    unsigned misuses;     /* atomic */
    pthread_key_t key;
} stack_pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* A thread ends: moves its unused requests to the pool. */
static void
cache_give_back (void *unused)
{
    pthread_mutex_lock (&stack_pool.lock);
    while (stack_thread_cache.free) {
        call_stack_t *root = stack_thread_cache.free;
        stack_thread_cache.free = root->next;
        root->next = stack_pool.free;
        stack_pool.free = root;
    }
    stack_thread_cache.n = 0;
    stack_thread_cache.gives_back = false;
    pthread_mutex_unlock (&stack_pool.lock);
}

static void __attribute__ ((constructor))
stack_pool_init (void)
{
    pthread_key_create (&stack_pool.key, cache_give_back);
}

void
frames_lay_out (call_frame_t *frames, unsigned n, call_stack_t *root, call_frame_t *parent)
{
    for (unsigned i = 0; i < n; i++) {
        frames[i].root = root;
        frames[i].parent = i ? &frames[i - 1] : parent;
        frames[i].slot = i + 1 < n ? &frames[i + 1] : NULL;
    }
}

static call_stack_t *
stack_make (void)
{
    call_stack_t *root = g_new0 (call_stack_t, 1);

    pthread_mutex_init (&root->lock, NULL);
    frames_lay_out (root->frames, STACK_FRAMES, root, NULL);
    root->all_next = __atomic_load_n (&stack_pool.all, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n (&stack_pool.all, &root->all_next, root, false,
                                         __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
    return root;
}

/* Takes a request from the pool, or allocates one. */
static call_stack_t *
stack_refill (void)
{
    call_stack_t *root;

    pthread_mutex_lock (&stack_pool.lock);
    root = stack_pool.free;
    if (root)
        stack_pool.free = root->next;
    pthread_mutex_unlock (&stack_pool.lock);
    return root ? root : stack_make ();
}

static uint64_t
stack_unique (void)
{
    if (stack_thread_cache.unique == stack_thread_cache.unique_end) {
        stack_thread_cache.unique = __atomic_fetch_add (&stack_pool.unique, UNIQUE_BLOCK,
                                                        __ATOMIC_RELAXED);
        stack_thread_cache.unique_end = stack_thread_cache.unique + UNIQUE_BLOCK;
    }
    return ++stack_thread_cache.unique;
}

call_stack_t *
stack_new (xlator_t *this)
{
    call_stack_t *root;

    if (G_UNLIKELY (thread_before_other))
        thread_before_other ();
    root = stack_thread_cache.free;
    if (root) {
        stack_thread_cache.free = root->next;
        stack_thread_cache.n--;
    } else {
        root = stack_refill ();
    }
    root->ngroups = -1;
    root->checked = false;
    root->ctime = clock_today ();
    root->times = 0;
    root->begin = clock_roughly ();
    root->thread = thread_id;
    root->frames[0].this = this;
    root->frames[0].state = FOP_NONE;
    root->frames[0].local = NULL;
    root->frames[0].wind_from = root->frames[0].unwind_from = NULL;
    __atomic_store_n (&root->unique, stack_unique (), __ATOMIC_RELEASE);
    return root;
}

void
stack_copy_groups (call_stack_t *root, int n, const gid_t *groups)
{
    root->ngroups = n;
    root->groups = stack_alloc (root, n * sizeof (gid_t), NULL);
    if (n > 0) /* groups may be NULL */
        memcpy (root->groups, groups, n * sizeof (gid_t));
}

call_stack_t *
stack_new_like (xlator_t *this, const call_frame_t *frame)
{
    const call_stack_t *from = frame->root;
    call_stack_t *root = stack_new (this);

    root->op = from->op;
    root->uid = from->uid;
    root->gid = from->gid;
    root->pid = from->pid;
    root->umask = from->umask;
    root->checked = from->checked;
    root->lk_owner = from->lk_owner;
    root->ctime = from->ctime;
    root->times = __atomic_load_n (&from->times, __ATOMIC_RELAXED);
    root->about = from->about;
    root->caused_by = from->unique;
    root->internal = from->internal;
    if (from->ngroups >= 0)
        stack_copy_groups (root, from->ngroups, from->groups);
    else
        root->find_groups = from->find_groups;
    return root;
}

/* Returns the first frame below this one that is not answered yet, or NULL. */
static const call_frame_t *
strand_unanswered (const call_frame_t *frame)
{
    while (frame->wound && frame->slot) {
        frame = frame->slot;
        if (__atomic_load_n (&frame->awaited, __ATOMIC_ACQUIRE) < FRAME_COMPLETE)
            return frame;
    }
    return NULL;
}

static const call_frame_t *
stack_unanswered (call_stack_t *root)
{
    const call_frame_t *frame = strand_unanswered (&root->frames[0]);

    for (struct strand *s = root->strands; s && !frame; s = s->next) {
        const call_frame_t *first = &s->frames[0];
        bool pending = __atomic_load_n (&first->awaited, __ATOMIC_ACQUIRE) < FRAME_COMPLETE;
        frame = pending ? first : strand_unanswered (first);
    }
    return frame;
}

static void
stack_drop_locals (call_stack_t *root)
{
    struct stack_local *next;

    for (struct stack_local *local = root->locals; local; local = next) {
        next = local->next;
        if (local->owner && local->owner->api->local_drop)
            local->owner->api->local_drop (local->owner, local->bytes);
        if (local->audited)
            audit->local_gone (local);
        else if (local->on_heap)
            g_free (local);
    }
    root->locals = NULL;
    root->local_used = 0;
}

/* Memory of strands is used for strands alone, and never freed: a report may read a strand whose
 * request just ended. */
struct strand *
strand_new (void)
{
    struct strand *strand;

    pthread_mutex_lock (&stack_pool.lock);
    strand = stack_pool.strands;
    if (strand)
        stack_pool.strands = strand->next;
    pthread_mutex_unlock (&stack_pool.lock);
    if (!strand)
        return g_new0 (struct strand, 1);
    for (unsigned i = 0; i < STRAND_FRAMES; i++)
        __atomic_store_n (&strand->frames[i].state, FOP_NONE, __ATOMIC_RELAXED);
    return strand;
}

/* Frees the strands under root->lock: reports that read running requests hold it, so that no strand
 * changes owner while they read. */
static void
stack_free_strands (call_stack_t *root)
{
    struct strand *last = root->strands;

    pthread_mutex_lock (&root->lock);
    while (last->next)
        last = last->next;
    pthread_mutex_lock (&stack_pool.lock);
    last->next = stack_pool.strands;
    stack_pool.strands = root->strands;
    pthread_mutex_unlock (&stack_pool.lock);
    root->strands = NULL;
    pthread_mutex_unlock (&root->lock);
}

static void
stack_forget_caller (call_stack_t *root)
{
    root->op = FOP_NONE;
    root->groups = NULL;
    root->find_groups = NULL;
    root->maker.asked = NULL;
    root->maker.number = 0;
    root->lk_owner = 0;
    root->about = root->caused_by = 0;
    root->internal = NULL;
    root->interrupted = false;
    root->on_interrupt = NULL;
}

static void
stack_report_unanswered (const call_stack_t *root, const call_frame_t *frame)
{
    stack_count_misuse ();
    if (audit)
        audit->misuse (&(struct audit_misuse){ frame->parent->this, frame->parent->op,
                                               "answered before its child", frame->wind_from,
                                               NULL });
    gf_log (frame->parent->this, GF_LOG_CRITICAL,
            "translator '%s' (%s) answered request %" G_GUINT64_FORMAT
            " before its child '%s' (%s) answered %s, "
            "which it asked for at %s:%d; the request's memory is left alone",
            frame->parent->this->name, frame->parent->this->type, root->unique, frame->this->name,
            frame->this->type, fop_name (frame->op), frame->wind_from->file,
            frame->wind_from->line);
}

/* Keeps the memory unused for a while, so that a late answer finds its own frame and not one of
 * another request. Returns the request whose memory is to be used again instead, or NULL. */
static call_stack_t *
stack_retire (call_stack_t *root)
{
    call_stack_t *oldest;

    pthread_mutex_lock (&stack_pool.lock);
    oldest = stack_pool.retired[stack_pool.n_retired % RETIRED_MAX];
    stack_pool.retired[stack_pool.n_retired++ % RETIRED_MAX] = root;
    pthread_mutex_unlock (&stack_pool.lock);
    return oldest;
}

/* --- the end of a request --------------------------------------------------------------------- */

void (*stack_background_done) (const call_stack_t *root);

void
stack_done (call_stack_t *root)
{
    const call_frame_t *pending = stack_unanswered (root);

    if (G_UNLIKELY (pending)) {
        stack_report_unanswered (root, pending);
        __atomic_store_n (&root->unique, 0, __ATOMIC_RELEASE);
        stack_has_ended ();
        return;
    }
    if (G_UNLIKELY (root->caused_by && stack_background_done))
        stack_background_done (root);
    if (root->locals)
        stack_drop_locals (root);
    if (root->strands)
        stack_free_strands (root);
    stack_forget_caller (root);
    __atomic_store_n (&root->unique, 0, __ATOMIC_RELEASE);
    stack_has_ended ();
    if (G_UNLIKELY (audit) && !(root = stack_retire (root)))
        return;
    root->next = stack_thread_cache.free;
    stack_thread_cache.free = root;
    if (++stack_thread_cache.n > CACHE_MAX)
        cache_give_back (NULL);
    else if (G_UNLIKELY (!stack_thread_cache.gives_back))
        stack_thread_cache.gives_back
            = pthread_setspecific (stack_pool.key, &stack_thread_cache) == 0;
}

void *
stack_alloc (call_stack_t *root, size_t size, const call_frame_t *frame)
{
    xlator_t *owner = frame ? frame->this : NULL;
    size_t whole = (sizeof (struct stack_local) + size + 15) & ~(size_t) 15;
    struct stack_local *local;

    pthread_mutex_lock (&root->lock);
    if (G_UNLIKELY (audit) && owner) {
        local = audit->local_new (owner, (int) frame->op, whole);
        local->audited = true;
    } else if (whole <= sizeof root->local_bytes - root->local_used) {
        local = (struct stack_local *) (root->local_bytes + root->local_used);
        root->local_used += whole;
        memset (local, 0, whole);
    } else {
        local = g_malloc0 (whole);
        local->on_heap = true;
    }
    local->owner = owner;
    local->next = root->locals;
    root->locals = local;
    pthread_mutex_unlock (&root->lock);
    return local->bytes;
}

int
stack_groups (call_stack_t *root, const gid_t **ret_groups)
{
    if (root->ngroups < 0) {
        int n = root->find_groups ? root->find_groups (root) : 0;
        root->ngroups = n < 0 ? 0 : n;
    }
    *ret_groups = root->groups;
    return root->ngroups;
}

void
stack_interrupt (call_stack_t *root)
{
    pthread_mutex_lock (&root->lock);
    root->interrupted = true;
    for (struct interrupt_watch *watch = root->on_interrupt; watch; watch = watch->next)
        watch->fn (watch->data);
    pthread_mutex_unlock (&root->lock);
}

bool
stack_on_interrupt (call_stack_t *root, struct interrupt_watch *watch)
{
    bool interrupted;

    pthread_mutex_lock (&root->lock);
    watch->next = root->on_interrupt;
    root->on_interrupt = watch;
    interrupted = root->interrupted;
    if (interrupted)
        watch->fn (watch->data);
    pthread_mutex_unlock (&root->lock);
    return interrupted;
}

void
stack_off_interrupt (call_stack_t *root, struct interrupt_watch *watch)
{
    struct interrupt_watch **at = &root->on_interrupt;

    pthread_mutex_lock (&root->lock);
    while (*at && *at != watch)
        at = &(*at)->next;
    if (*at)
        *at = watch->next;
    pthread_mutex_unlock (&root->lock);
}

bool
stack_interrupted (call_stack_t *root)
{
    bool interrupted;

    pthread_mutex_lock (&root->lock);
    interrupted = root->interrupted;
    pthread_mutex_unlock (&root->lock);
    return interrupted;
}

void
stack_interrupt_over (call_stack_t *root)
{
    pthread_mutex_lock (&root->lock);
    root->interrupted = false;
    pthread_mutex_unlock (&root->lock);
}

void
stack_foreach (void (*fn) (const call_stack_t *root, void *data), void *data)
{
    call_stack_t *root = __atomic_load_n (&stack_pool.all, __ATOMIC_ACQUIRE);

    for (; root; root = root->all_next)
        if (__atomic_load_n (&root->unique, __ATOMIC_ACQUIRE))
            fn (root, data);
}

void
stack_taken (call_stack_t *root)
{
    if (G_UNLIKELY (thread_before_other))
        thread_before_other ();
    __atomic_store_n (&root->thread, thread_id, __ATOMIC_RELAXED);
}

static void
count_one (const call_stack_t *root, void *data)
{
    ++*(unsigned *) data;
}

unsigned
stack_count (void)
{
    unsigned n = 0;

    stack_foreach (count_one, &n);
    return n;
}

unsigned
stack_count_made (void)
{
    unsigned n = 0;

    for (const call_stack_t *root = __atomic_load_n (&stack_pool.all, __ATOMIC_ACQUIRE); root;
         root = root->all_next)
        n++;
    return n;
}

void
stack_count_misuse (void)
{
    __atomic_add_fetch (&stack_pool.misuses, 1, __ATOMIC_RELAXED);
}

unsigned
stack_misuses (void)
{
    return __atomic_load_n (&stack_pool.misuses, __ATOMIC_RELAXED);
}
