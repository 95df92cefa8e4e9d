/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/timeline/recording.h"

#include "core/data/loc.h"
#include "core/edge/server.h"
#include "core/time/thread.h"
#include "core/edge/watch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* nanoseconds between two rounds; less when a ring fills */
#define ROUND 10000000
/* after records were lost: rounds between two searches for requests that wait in vain */
#define SWEEP_ROUNDS 50
#define PATHS_MAX 8192            /* paths that are remembered; when full, all are found again */
#define PATHS_ROUNDS 100          /* and after so many rounds, since files are renamed */
#define NAMES_MAX 7               /* records for a name: 280 bytes */

/* The recording and its maker. Used by the main thread, unless noted otherwise. */
static struct {
    bool on;
    bool writes;              /* atomic: the watcher may write */
    bool ending;              /* atomic; read by the thread */
    bool ended;               /* atomic; written by the thread */
    GPtrArray *xlators;
    struct recording *recording; /* the thread's while it runs */
    struct running_now running;  /* the requests in use at the end */
    pthread_t thread;
    /* Only the thread uses these. */
    struct itable *itable;
    struct assembler *assembler;
    GHashTable *paths;        /* GRefString by gfid_t */
} timeline;

/* --- on the path of requests ----------------------------------------------------------------- */

static const struct gfid *
gfid_of (const inode_t *inode)
{
    static const gfid_t none;

    return inode ? &inode->gfid : &none;
}

/* The object of a request: an open file, a name in a directory, or an inode. */
static const char *
about_what (const struct call *call, gfid_t *ret_gfid)
{
    const loc_t *loc = call->loc;

    if (loc && loc->name) {
        *ret_gfid = *gfid_of (loc->parent);
        return loc->name;
    }
    *ret_gfid = *gfid_of (loc ? loc->inode : call->fd ? call->fd->inode : NULL);
    return NULL;
}

/* The first wind of a request is preceded by its description. Returns the number of records. */
static unsigned
write_about (const struct watch_event *event, struct ring_record *records)
{
    const call_stack_t *root = event->frame->root;
    const struct call *call = event->call;
    struct ring_record *about = &records[0];
    unsigned n = 1;

    *about = (struct ring_record){ .ticks = event->ticks,
                                   .request = root->unique,
                                   .kind = RING_ABOUT,
                                   .op = event->op,
                                   .about = { .caused_by = root->caused_by,
                                              .offset = call->offset,
                                              .pid = root->pid,
                                              .size = MIN (call->size, UINT32_MAX) } };
    const char *name = about_what (call, &about->about.gfid);
    size_t left = name ? strnlen (name, NAMES_MAX * RING_NAME_BYTES) : 0;

    about->used = name != NULL;
    for (; left > 0; n++) {
        const size_t part = MIN (left, RING_NAME_BYTES);

        records[n] = (struct ring_record){
            .ticks = event->ticks, .request = root->unique, .kind = RING_NAME, .used = part
        };
        memcpy (records[n].name, name, part);
        name += part;
        left -= part;
    }
    return n;
}

static void
timeline_wind (const struct watch_event *event)
{
    const call_frame_t *frame = event->frame;
    const bool top = !event->tail && frame->parent == &frame->root->frames[0];
    struct ring_record records[2 + NAMES_MAX];
    unsigned n = 0;

    if (!__atomic_load_n (&timeline.writes, __ATOMIC_RELAXED))
        return;
    if (top)
        n = write_about (event, records);
    records[n] = (struct ring_record){ .ticks = event->ticks,
                                       .request = frame->root->unique,
                                       .kind = RING_WIND,
                                       .op = event->op,
                                       .tail = event->tail,
                                       .top = top,
                                       .wind = { frame, frame->parent, event->caller->name,
                                                 event->callee->name, frame->root->uid } };
    ring_put (records, n + 1);
}

static void
timeline_unwind (const struct watch_event *event)
{
    struct ring_record record = { .ticks = event->ticks,
                                  .request = event->frame->root->unique,
                                  .kind = RING_UNWIND,
                                  .op = event->op,
                                  .tail = event->tail,
                                  .unwind = { event->frame, event->callee->name, event->begin,
                                              event->op_ret, event->op_errno } };

    if (__atomic_load_n (&timeline.writes, __ATOMIC_RELAXED))
        ring_put (&record, 1);
}

static void
timeline_call (const struct server_call *call)
{
    const uint64_t now = ticks_now ();
    struct ring_record record = { .ticks = now, .kind = RING_CALL };

    if (!call->frame || !__atomic_load_n (&timeline.writes, __ATOMIC_RELAXED))
        return;
    record.request = call->request;
    record.call.frame = call->frame;
    record.call.caller = call->xl->name;
    record.call.server = call->server;
    record.call.name = call->name;
    record.call.begin = now - ticks_of_ns ((uint64_t) call->took);
    record.error = (uint16_t) call->error;
    ring_put (&record, 1);
}

static const struct watcher timeline_watcher = {
    .name = "timeline", .wants_call = true, .wind = timeline_wind, .unwind = timeline_unwind
};

/* --- the thread ------------------------------------------------------------------------------ */

/* Called shortly after the end of a request for the file: later it may have no name any more. */
static GRefString *
find_path (const gfid_t *gfid, void *data)
{
    GRefString *known = g_hash_table_lookup (timeline.paths, gfid);
    g_autoptr (inode_t) inode = known ? NULL : inode_find (timeline.itable, gfid);
    g_autofree char *path = NULL;
    char text[GFID_TEXT_SIZE];

    if (known)
        return g_ref_string_acquire (known);
    path = inode ? inode_path (inode, NULL) : g_strdup_printf ("<gfid:%s>", gfid_text (gfid, text));
    known = g_ref_string_new (path);
    if (g_hash_table_size (timeline.paths) >= PATHS_MAX)
        g_hash_table_remove_all (timeline.paths);
    g_hash_table_insert (timeline.paths, g_memdup2 (gfid, sizeof *gfid),
                         g_ref_string_acquire (known));
    return known;
}

static void
take_whole (struct timeline_request *request, void *data)
{
    recording_add (timeline.recording, request);
}

static void
take_record (const struct ring_record *record, void *data)
{
    assembler_take (timeline.assembler, record);
}

static void
add_unique (const call_stack_t *root, void *uniques)
{
    uint64_t *unique = g_new (uint64_t, 1);

    *unique = __atomic_load_n (&root->unique, __ATOMIC_ACQUIRE);
    g_hash_table_add (uniques, unique);
}

/* Called while records are written, and before the rings are drained: so all records of a request
 * that is not in the set any more are in the rings. */
static struct running_now
look_what_runs (void)
{
    struct running_now now = { .ticks = ticks_now (),
                               .uniques = g_hash_table_new_full (g_int64_hash, g_int64_equal,
                                                                 g_free, NULL) };

    stack_foreach (add_unique, now.uniques);
    return now;
}

static void
wait_a_round (void)
{
    struct timespec until;

    clock_gettime (CLOCK_REALTIME, &until);
    until.tv_nsec += ROUND;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    sem_timedwait (&rings_filling, &until);
}

static void
one_round (unsigned round)
{
    const bool sweeps = round % SWEEP_ROUNDS == 0 && rings_lost () > 0;
    struct running_now now = sweeps ? look_what_runs () : (struct running_now){ 0 };

    rings_drain (ticks_now (), take_record, NULL);
    assembler_round (timeline.assembler);
    if (round % PATHS_ROUNDS == 0)
        g_hash_table_remove_all (timeline.paths);
    if (!sweeps)
        return;
    assembler_sweep (timeline.assembler, &now);
    g_hash_table_unref (now.uniques);
}

static void
last_round (void)
{
    rings_drain (UINT64_MAX, take_record, NULL);
    assembler_finish (timeline.assembler, timeline.running.ticks, &timeline.running);
    timeline.recording->counts.lost = rings_lost ();
    recording_finish (timeline.recording, ticks_now ());
}

static void *
timeline_run (void *unused)
{
    unsigned round = 0;

    while (!__atomic_load_n (&timeline.ending, __ATOMIC_ACQUIRE)) {
        wait_a_round ();
        one_round (++round);
    }
    last_round ();
    __atomic_store_n (&timeline.ended, true, __ATOMIC_RELEASE);
    return NULL;
}

/* --- the main thread ------------------------------------------------------------------------- */

bool
timeline_is_on (void)
{
    return timeline.on;
}

static void
forget_thread_state (void)
{
    g_clear_pointer (&timeline.assembler, assembler_free);
    g_clear_pointer (&timeline.paths, g_hash_table_unref);
    g_clear_pointer (&timeline.xlators, g_ptr_array_unref);
}

int
timeline_start (GPtrArray *xlators, struct itable *itable, const struct timeline_settings *settings)
{
    int r;

    if (timeline.on)
        return -EALREADY;
    ticks_init ();
    timeline_clear ();
    rings_begin ();
    timeline.xlators = g_ptr_array_ref (xlators);
    timeline.itable = itable;
    timeline.paths = g_hash_table_new_full (gfid_hash, gfid_same, g_free,
                                            (GDestroyNotify) g_ref_string_release);
    timeline.recording = recording_new (settings, ticks_now ());
    recording_see (timeline.recording, xlators);
    timeline.assembler = assembler_new (timeline.recording->begin, look_what_runs ().uniques,
                                        take_whole, find_path, NULL);
    timeline.ending = timeline.ended = false;
    r = thread_new (&timeline.thread, "timeline", timeline_run, NULL);
    if (r < 0) {
        forget_thread_state ();
        timeline_clear ();
        return r;
    }
    timeline.on = true;
    __atomic_store_n (&timeline.writes, true, __ATOMIC_RELEASE);
    watch_set (xlators, &timeline_watcher, true);
    __atomic_store_n (&server_call_hook, timeline_call, __ATOMIC_RELEASE);
    return 0;
}

void
timeline_move (GPtrArray *xlators)
{
    if (!timeline.on || timeline.ending)
        return;
    recording_see (timeline.recording, xlators);
    watch_set (timeline.xlators, &timeline_watcher, false);
    watch_set (xlators, &timeline_watcher, true);
    g_ptr_array_unref (timeline.xlators);
    timeline.xlators = g_ptr_array_ref (xlators);
}

static void
tell_to_end (void)
{
    timeline.running = look_what_runs ();
    __atomic_store_n (&server_call_hook, NULL, __ATOMIC_RELEASE);
    watch_set (timeline.xlators, &timeline_watcher, false);
    __atomic_store_n (&timeline.writes, false, __ATOMIC_RELEASE);
    __atomic_store_n (&timeline.ending, true, __ATOMIC_RELEASE);
    sem_post (&rings_filling);
}

static bool
has_ended (int64_t patience)
{
    const int64_t until = clock_now () + patience;

    while (patience >= 0 && !__atomic_load_n (&timeline.ended, __ATOMIC_ACQUIRE)) {
        if (clock_now () > until)
            return false;
        g_usleep (500);
    }
    return true;
}

int
timeline_stop (int64_t patience, struct timeline_counts *ret_counts)
{
    if (!timeline.on)
        return -ENOENT;
    if (!timeline.ending)
        tell_to_end ();
    if (!has_ended (patience))
        return -EINPROGRESS;
    thread_join (timeline.thread);
    rings_end ();
    g_hash_table_unref (timeline.running.uniques);
    forget_thread_state ();
    timeline.on = false;
    *ret_counts = timeline.recording->counts;
    return 0;
}

bool
timeline_clear (void)
{
    const bool had = timeline.recording != NULL;

    g_clear_pointer (&timeline.recording, recording_free);
    return had;
}

void
timeline_end (void)
{
    struct timeline_counts counts;

    timeline_stop (-1, &counts);
    timeline_clear ();
}

/* --- printing -------------------------------------------------------------------------------- */

/* At least one request, so that printing ends. */
static guint
print_each (enum timeline_format format, const struct recording *recording, guint i, size_t size,
            GString *out)
{
    const guint first = i;

    for (; i < recording->requests->len && (i == first || out->len < size); i++)
        if (format == TIMELINE_JSON)
            recording_json_request (recording, i, out);
        else
            recording_text_request (recording, i, out);
    return i;
}

#define FOLDED_AT_ONCE 4096 /* requests */

static guint
print_folded (const struct recording *recording, guint i, GString *out)
{
    g_autoptr (GHashTable) stacks = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
    const guint end = MIN (i + FOLDED_AT_ONCE, recording->requests->len);
    GHashTableIter iter;
    gpointer stack, ns;

    for (; i < end; i++)
        recording_fold_request (recording, i, stacks);
    g_hash_table_iter_init (&iter, stacks);
    while (g_hash_table_iter_next (&iter, &stack, &ns))
        g_string_append_printf (out, "%s %" G_GUINT64_FORMAT "\n", (char *) stack,
                                *(uint64_t *) ns);
    return i;
}

int
timeline_print (enum timeline_format format, uint64_t *at, size_t size, GString *out,
                bool *ret_more)
{
    const struct recording *recording = timeline.recording;
    guint i;

    if (timeline.on || !recording)
        return timeline.on ? -EBUSY : -ENOENT;
    i = MIN (*at, recording->requests->len);
    if (*at == 0 && format == TIMELINE_JSON)
        recording_json_begin (recording, out);
    if (*at == 0 && format == TIMELINE_TEXT)
        recording_text_begin (recording, out);
    i = format == TIMELINE_FOLDED ? print_folded (recording, i, out)
                                  : print_each (format, recording, i, size, out);
    *ret_more = i < recording->requests->len;
    if (!*ret_more && format == TIMELINE_JSON)
        recording_json_end (recording, out);
    *at = i;
    return 0;
}
