/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/timeline/recording.h"

#include "core/edge/translator.h"
#include "core/time/ticks.h"

#include <fnmatch.h>

struct recording *
recording_new (const struct timeline_settings *settings, uint64_t begin)
{
    struct recording *recording = g_new0 (struct recording, 1);

    recording->settings = *settings;
    recording->settings.volumes = g_strdupv (settings->volumes);
    pthread_mutex_init (&recording->volumes_lock, NULL);
    recording->volumes = settings->volumes ? g_hash_table_new (NULL, NULL) : NULL;
    recording->begin = begin;
    clock_gettime (CLOCK_REALTIME, &recording->when);
    recording->requests = g_ptr_array_new_with_free_func ((GDestroyNotify) timeline_request_free);
    recording->servers = g_ptr_array_new_with_free_func (g_free);
    g_queue_init (&recording->kept);
    return recording;
}

void
recording_free (struct recording *recording)
{
    if (!recording)
        return;
    g_queue_clear_full (&recording->kept, (GDestroyNotify) timeline_request_free);
    g_ptr_array_unref (recording->requests);
    g_ptr_array_unref (recording->servers);
    g_clear_pointer (&recording->because, g_hash_table_unref);
    g_clear_pointer (&recording->causes, g_hash_table_unref);
    g_clear_pointer (&recording->servers_by_name, g_hash_table_unref);
    g_clear_pointer (&recording->volumes, g_hash_table_unref);
    pthread_mutex_destroy (&recording->volumes_lock);
    g_strfreev (recording->settings.volumes);
    g_free (recording);
}

/* --- filters --------------------------------------------------------------------------------- */

bool
timeline_wants (char **patterns, const xlator_t *xl)
{
    for (; *patterns; patterns++)
        if (fnmatch (*patterns, xl->name, 0) == 0 || fnmatch (*patterns, xl->type, 0) == 0)
            return true;
    return false;
}

void
recording_see (struct recording *recording, const GPtrArray *xlators)
{
    pthread_mutex_lock (&recording->volumes_lock);
    for (guint i = 0; recording->volumes && i < xlators->len; i++) {
        const xlator_t *xl = xlators->pdata[i];

        if (timeline_wants (recording->settings.volumes, xl))
            g_hash_table_add (recording->volumes, (char *) xl->name);
    }
    pthread_mutex_unlock (&recording->volumes_lock);
}

static bool
has_fop (const struct timeline_request *request, opset_t fops)
{
    for (uint32_t i = 0; i < request->n_spans; i++)
        if (opset_has (fops, request->spans[i].op))
            return true;
    return false;
}

static bool
has_volume (struct recording *recording, const struct timeline_request *request)
{
    bool has = false;

    pthread_mutex_lock (&recording->volumes_lock);
    for (uint32_t i = 0; i < request->n_spans && !has; i++)
        has = !request->spans[i].call
           && g_hash_table_contains (recording->volumes, request->spans[i].callee);
    pthread_mutex_unlock (&recording->volumes_lock);
    return has;
}

static bool
is_wanted (struct recording *recording, const struct timeline_request *request)
{
    const struct timeline_settings *settings = &recording->settings;

    if (settings->min && ticks_to_ns (request->end - request->begin) < settings->min)
        return false;
    if (settings->fops != OPSET_ALL && !has_fop (request, settings->fops))
        return false;
    return !settings->volumes || has_volume (recording, request);
}

/* --- the slowest: a heap --------------------------------------------------------------------- */

static uint64_t
took (const GPtrArray *heap, guint i)
{
    const struct timeline_request *request = heap->pdata[i];

    return request->end - request->begin;
}

static void
swap (GPtrArray *heap, guint a, guint b)
{
    gpointer kept = heap->pdata[a];

    heap->pdata[a] = heap->pdata[b];
    heap->pdata[b] = kept;
}

static void
heap_up (GPtrArray *heap, guint i)
{
    for (; i > 0 && took (heap, i) < took (heap, (i - 1) / 2); i = (i - 1) / 2)
        swap (heap, i, (i - 1) / 2);
}

static void
heap_down (GPtrArray *heap)
{
    for (guint i = 0, least;; i = least) {
        least = i;
        for (guint child = 2 * i + 1; child <= 2 * i + 2 && child < heap->len; child++)
            if (took (heap, child) < took (heap, least))
                least = child;
        if (least == i)
            return;
        swap (heap, i, least);
    }
}

static void
keep_slow (struct recording *recording, struct timeline_request *request)
{
    GPtrArray *heap = recording->requests;

    if (heap->len < recording->settings.slowest) {
        g_ptr_array_add (heap, request);
        heap_up (heap, heap->len - 1);
        return;
    }
    recording->counts.filtered++;
    if (request->end - request->begin <= took (heap, 0)) {
        timeline_request_free (request);
        return;
    }
    timeline_request_free (heap->pdata[0]);
    heap->pdata[0] = request;
    heap_down (heap);
}

/* --- all, within the memory limit ------------------------------------------------------------ */

static void
keep_latest (struct recording *recording, struct timeline_request *request)
{
    g_queue_push_tail (&recording->kept, request);
    recording->bytes += timeline_request_size (request);
    while (recording->bytes > recording->settings.memory) {
        struct timeline_request *oldest = g_queue_pop_head (&recording->kept);

        recording->bytes -= timeline_request_size (oldest);
        recording->counts.dropped++;
        timeline_request_free (oldest);
    }
}

void
recording_add (struct recording *recording, struct timeline_request *request)
{
    request->sequence = recording->counts.seen++;
    recording->counts.at_start += request->under_way;
    recording->counts.broken += request->broken;
    for (uint32_t i = 0; i < request->n_spans; i++)
        if (request->spans[i].state == SPAN_OPEN) {
            recording->counts.at_end++;
            break;
        }
    if (!is_wanted (recording, request)) {
        recording->counts.filtered++;
        timeline_request_free (request);
    } else if (recording->settings.slowest) {
        keep_slow (recording, request);
    } else {
        keep_latest (recording, request);
    }
}

/* --- lanes ----------------------------------------------------------------------------------- */

/* A lane is a track of the drawing, on which no spans overlap. A span that runs beside a sibling
 * gets a lane of its own. */
struct lane_user {
    uint64_t begin, end;
    uint32_t *lane;
};

/* Returns true if an earlier sibling still runs when it begins. */
static bool
runs_beside (const struct timeline_request *request, uint32_t i)
{
    for (uint32_t k = i; k-- > 0;)
        if (!request->spans[k].call && request->spans[k].parent == request->spans[i].parent
            && request->spans[k].end > request->spans[i].begin)
            return true;
    return false;
}

/* siblings are compared pairwise; a request with more spans has them all on one lane */
#define SIBLINGS_MAX 1024

static void
add_users (struct timeline_request *request, GArray *users)
{
    struct lane_user user = { request->begin, request->end, &request->lane };

    g_array_append_val (users, user);
    for (uint32_t i = 0; i < request->n_spans; i++) {
        struct span *span = &request->spans[i];

        span->lane = UINT32_MAX; /* the parent's lane */
        if (i == 0 || span->call || request->n_spans > SIBLINGS_MAX || !runs_beside (request, i))
            continue;
        user = (struct lane_user){ span->begin, span->end, &span->lane };
        g_array_append_val (users, user);
    }
}

static gint
users_by_begin (gconstpointer a, gconstpointer b)
{
    const struct lane_user *ua = a, *ub = b;

    return ua->begin < ub->begin ? -1 : ua->begin > ub->begin;
}

struct lane {
    uint64_t end;
    uint32_t number;
};

static gint
lanes_by_end (gconstpointer a, gconstpointer b, gpointer unused)
{
    const struct lane *la = a, *lb = b;

    return la->end != lb->end ? (la->end < lb->end ? -1 : 1)
                              : (la->number < lb->number ? -1 : la->number > lb->number);
}

/* The lane that has been free for longest, or a new one. */
static void
lane_take (GSequence *lanes, struct lane_user *user)
{
    GSequenceIter *first = g_sequence_get_begin_iter (lanes);
    struct lane *lane;

    if (!g_sequence_iter_is_end (first)
        && ((struct lane *) g_sequence_get (first))->end < user->begin) {
        lane = g_sequence_get (first);
        lane->end = user->end;
        g_sequence_sort_changed (first, lanes_by_end, NULL);
    } else {
        lane = g_new (struct lane, 1);
        *lane = (struct lane){ user->end, g_sequence_get_length (lanes) };
        g_sequence_insert_sorted (lanes, lane, lanes_by_end, NULL);
    }
    *user->lane = lane->number;
}

/* Gives each user a lane; returns how many lanes there are. */
static unsigned
lanes_give (GArray *users)
{
    GSequence *lanes = g_sequence_new (g_free);
    unsigned n;

    g_array_sort (users, users_by_begin);
    for (guint i = 0; i < users->len; i++)
        lane_take (lanes, &g_array_index (users, struct lane_user, i));
    n = (unsigned) g_sequence_get_length (lanes);
    g_sequence_free (lanes);
    return n;
}

static void
share_lanes (struct recording *recording)
{
    g_autoptr (GArray) users = g_array_new (FALSE, FALSE, sizeof (struct lane_user));

    for (guint i = 0; i < recording->requests->len; i++)
        add_users (recording->requests->pdata[i], users);
    recording->n_lanes = lanes_give (users);
    for (guint i = 0; i < recording->requests->len; i++) {
        struct timeline_request *request = recording->requests->pdata[i];

        for (uint32_t k = 0; k < request->n_spans; k++)
            if (request->spans[k].lane == UINT32_MAX)
                request->spans[k].lane = request->spans[k].parent == SPAN_NONE
                                           ? request->lane
                                           : request->spans[request->spans[k].parent].lane;
    }
}

/* --- servers --------------------------------------------------------------------------------- */

struct recording_server *
recording_server_of (const struct recording *recording, const struct span *call)
{
    return g_hash_table_lookup (recording->servers_by_name, call->callee);
}

static struct recording_server *
server_make (struct recording *recording, const struct span *call)
{
    struct recording_server *server = g_new0 (struct recording_server, 1);

    server->name = call->callee;
    server->number = recording->servers->len;
    server->calls = g_array_new (FALSE, FALSE, sizeof (struct lane_user));
    g_ptr_array_add (recording->servers, server);
    g_hash_table_insert (recording->servers_by_name, (char *) server->name, server);
    return server;
}

static void
note_calls (struct recording *recording, struct timeline_request *request)
{
    for (uint32_t k = 0; k < request->n_spans; k++) {
        struct span *span = &request->spans[k];
        const struct lane_user user = { span->begin, span->end, &span->lane };
        struct recording_server *server;

        if (!span->call)
            continue;
        server = recording_server_of (recording, span);
        if (!server)
            server = server_make (recording, span);
        g_array_append_val (server->calls, user);
    }
}

/* The calls of a server have lanes of their own. */
static void
share_server_lanes (struct recording *recording)
{
    recording->servers_by_name = g_hash_table_new (NULL, NULL);
    for (guint i = 0; i < recording->requests->len; i++)
        note_calls (recording, recording->requests->pdata[i]);
    for (guint i = 0; i < recording->servers->len; i++) {
        struct recording_server *server = recording->servers->pdata[i];

        server->n_lanes = lanes_give (server->calls);
        g_clear_pointer (&server->calls, g_array_unref);
    }
}

void
span_name (const struct span *span, GString *out)
{
    if (span->call)
        g_string_append_printf (out, "%s %s", span->call, span->callee);
    else
        g_string_append_printf (out, "%s: %s", span->callee, fop_name (span->op));
}

/* --- order ----------------------------------------------------------------------------------- */

static gint
requests_by_begin (gconstpointer a, gconstpointer b)
{
    const struct timeline_request *ra = *(struct timeline_request *const *) a,
                                  *rb = *(struct timeline_request *const *) b;

    if (ra->begin != rb->begin)
        return ra->begin < rb->begin ? -1 : 1;
    return ra->unique < rb->unique ? -1 : ra->unique > rb->unique;
}

static void
note_effect (struct recording *recording, struct timeline_request *request)
{
    GPtrArray *others = g_hash_table_lookup (recording->because, &request->caused_by);

    if (!others) {
        others = g_ptr_array_new ();
        g_hash_table_insert (recording->because, &request->caused_by, others);
    }
    g_ptr_array_add (others, request);
}

static void
note_causes (struct recording *recording)
{
    GPtrArray *all = recording->requests;

    recording->because = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL,
                                                (GDestroyNotify) g_ptr_array_unref);
    recording->causes = g_hash_table_new (g_int64_hash, g_int64_equal);
    for (guint i = 0; i < all->len; i++)
        if (((struct timeline_request *) all->pdata[i])->caused_by)
            note_effect (recording, all->pdata[i]);
    for (guint i = 0; i < all->len; i++) {
        struct timeline_request *request = all->pdata[i];

        if (g_hash_table_contains (recording->because, &request->unique))
            g_hash_table_insert (recording->causes, &request->unique, request);
    }
}

void
recording_finish (struct recording *recording, uint64_t end)
{
    struct timeline_request *request;

    recording->end = end;
    while ((request = g_queue_pop_head (&recording->kept)))
        g_ptr_array_add (recording->requests, request);
    g_ptr_array_sort (recording->requests, requests_by_begin);
    recording->counts.kept = recording->requests->len;
    note_causes (recording);
    share_lanes (recording);
    share_server_lanes (recording);
}

const struct timeline_request *
recording_cause (const struct recording *recording, const struct timeline_request *request)
{
    return request->caused_by ? g_hash_table_lookup (recording->causes, &request->caused_by) : NULL;
}

const GPtrArray *
recording_caused (const struct recording *recording, const struct timeline_request *request)
{
    return g_hash_table_lookup (recording->because, &request->unique);
}

void
request_path (const struct timeline_request *request, GString *out)
{
    if (request->path)
        g_string_append (out, request->path);
    if (request->name)
        g_string_append_printf (out, "%s%s",
                                !request->path || g_str_has_suffix (request->path, "/") ? "" : "/",
                                request->name);
}

uint64_t
recording_ns (const struct recording *recording, uint64_t ticks)
{
    return ticks_to_ns (ticks - recording->begin);
}
