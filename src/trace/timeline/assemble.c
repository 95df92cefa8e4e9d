/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Records come in rounds. Each round is complete under cause and effect, but within it the threads'
 * records come one thread after the other. So an answer may come before its wind, and a child
 * before its parent; each record finds its span by the frame and the time of the wind.
 *
 * A request is complete when all its winds are answered. But its maker, such as the bridge, may
 * wind again: so the assembler waits for one more round.
 */
#include "trace/timeline/assemble.h"

#include <string.h>

/* A request under assembly. */
struct building {
    GArray *spans; /* struct piece */
    GString *name;
    gfid_t gfid;
    unsigned open;    /* spans without an answer so far */
    unsigned orphans; /* answers without a span so far */
    bool idle;        /* it is in assembler->idle or waited */
    bool touched;     /* a record of it came in this round */
    bool has_about;
    struct timeline_request head; /* without spans: their array ends it, so it is the last member */
};

/* A span under assembly. */
struct piece {
    struct span span;
    const call_frame_t *frame, *parent;
    bool wound, answered; /* which records have come */
};

struct assembler {
    uint64_t begin;
    GHashTable *before;   /* of uint64_t */
    GHashTable *requests; /* struct building by &unique */
    GPtrArray *idle;      /* requests answered in this round, which may be complete */
    GPtrArray *waited;    /* those of the previous round */
    void (*whole) (struct timeline_request *request, void *data);
    GRefString *(*find_path) (const gfid_t *gfid, void *data);
    void *data;
};

/* --- requests -------------------------------------------------------------------------------- */

static void
building_free (struct building *b)
{
    g_array_unref (b->spans);
    if (b->name)
        g_string_free (b->name, TRUE);
    g_free (b);
}

void
timeline_request_free (struct timeline_request *request)
{
    if (request->path)
        g_ref_string_release (request->path);
    if (request->name)
        g_ref_string_release (request->name);
    g_free (request);
}

size_t
timeline_request_size (const struct timeline_request *request)
{
    return sizeof *request + request->n_spans * sizeof (struct span) + (request->name ? 48 : 0);
}

struct assembler *
assembler_new (uint64_t begin, GHashTable *before,
               void (*whole) (struct timeline_request *request, void *data),
               GRefString *(*find_path) (const gfid_t *gfid, void *data), void *data)
{
    struct assembler *assembler = g_new0 (struct assembler, 1);

    assembler->begin = begin;
    assembler->before = before;
    assembler->requests = g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL,
                                                 (GDestroyNotify) building_free);
    assembler->idle = g_ptr_array_new ();
    assembler->waited = g_ptr_array_new ();
    assembler->whole = whole;
    assembler->find_path = find_path;
    assembler->data = data;
    return assembler;
}

void
assembler_free (struct assembler *assembler)
{
    g_hash_table_unref (assembler->before);
    g_hash_table_unref (assembler->requests);
    g_ptr_array_unref (assembler->idle);
    g_ptr_array_unref (assembler->waited);
    g_free (assembler);
}

static struct building *
building_of (struct assembler *assembler, uint64_t unique)
{
    struct building *b = g_hash_table_lookup (assembler->requests, &unique);

    if (b)
        return b;
    b = g_new0 (struct building, 1);
    b->head.unique = unique;
    b->spans = g_array_sized_new (FALSE, TRUE, sizeof (struct piece), 4);
    g_hash_table_insert (assembler->requests, &b->head.unique, b);
    return b;
}

/* --- records --------------------------------------------------------------------------------- */

static struct piece *
piece_at (const struct building *b, guint i)
{
    return &g_array_index (b->spans, struct piece, i);
}

static struct piece *
piece_find (struct building *b, const call_frame_t *frame, uint64_t begin)
{
    for (guint i = b->spans->len; i-- > 0;)
        if (piece_at (b, i)->frame == frame && piece_at (b, i)->span.begin == begin)
            return piece_at (b, i);
    return NULL;
}

static struct piece *
piece_of (struct building *b, const call_frame_t *frame, uint64_t begin)
{
    struct piece *piece = piece_find (b, frame, begin);

    if (piece)
        return piece;
    g_array_set_size (b->spans, b->spans->len + 1);
    piece = piece_at (b, b->spans->len - 1);
    piece->frame = frame;
    piece->span.begin = begin;
    return piece;
}

static void
take_wind (struct building *b, const struct ring_record *record)
{
    struct piece *piece = piece_of (b, record->wind.frame, record->ticks);

    if (piece->wound)
        return;
    piece->wound = true;
    piece->parent = record->wind.parent;
    piece->span.caller = record->wind.caller;
    piece->span.callee = record->wind.callee;
    piece->span.op = record->op;
    piece->span.tail = record->tail;
    piece->span.top = record->top;
    piece->span.thread = record->thread;
    b->head.uid = record->wind.uid;
    if (piece->answered)
        b->orphans--;
    else
        b->open++;
}

static void
take_unwind (struct building *b, const struct ring_record *record)
{
    struct piece *piece = piece_of (b, record->unwind.frame, record->unwind.begin);

    if (piece->answered)
        return;
    piece->answered = true;
    piece->span.callee = record->unwind.callee;
    piece->span.op = record->op;
    piece->span.end = record->ticks;
    piece->span.end_thread = record->thread;
    piece->span.op_ret = record->unwind.op_ret;
    piece->span.op_errno = record->unwind.op_errno;
    if (piece->wound)
        b->open--;
    else
        b->orphans++;
}

/* A call came and went within the span of its frame. */
static void
take_call (struct building *b, const struct ring_record *record)
{
    const struct piece piece = { .parent = record->call.frame,
                                 .wound = true,
                                 .answered = true,
                                 .span = { .begin = record->call.begin,
                                           .end = record->ticks,
                                           .caller = record->call.caller,
                                           .callee = record->call.server,
                                           .call = record->call.name,
                                           .op_ret = record->error ? -1 : 0,
                                           .op_errno = record->error,
                                           .thread = record->thread,
                                           .end_thread = record->thread } };

    g_array_append_val (b->spans, piece);
}

/* The first wind of a request has its description. */
static void
take_about (struct building *b, const struct ring_record *record)
{
    if (b->has_about)
        return;
    b->has_about = true;
    b->head.op = record->op;
    b->head.caused_by = record->about.caused_by;
    b->head.offset = record->about.offset;
    b->head.size = record->about.size;
    b->head.pid = record->about.pid;
    b->gfid = record->about.gfid;
    if (record->used)
        b->name = g_string_new (NULL);
    b->head.sequence = record->ticks; /* for assemble_name, until the request is complete */
}

static void
assemble_name (struct building *b, const struct ring_record *record)
{
    if (b->name && record->ticks == b->head.sequence)
        g_string_append_len (b->name, record->name, MIN (record->used, RING_NAME_BYTES));
}

void
assembler_take (struct assembler *assembler, const struct ring_record *record)
{
    const uint64_t begin = record->kind == RING_UNWIND ? record->unwind.begin
                         : record->kind == RING_CALL   ? record->call.begin
                                                       : record->ticks;
    struct building *b;

    if (begin < assembler->begin)
        return;
    b = building_of (assembler, record->request);
    b->touched = true;
    switch (record->kind) {
    case RING_ABOUT: take_about (b, record); break;
    case RING_NAME: assemble_name (b, record); break;
    case RING_WIND: take_wind (b, record); break;
    case RING_UNWIND: take_unwind (b, record); break;
    case RING_CALL: take_call (b, record); break;
    default: break;
    }
    if (b->open == 0 && !b->idle && b->spans->len > 0) {
        b->idle = true;
        g_ptr_array_add (assembler->idle, b);
    }
}

/* --- complete requests ----------------------------------------------------------------------- */

static gint
by_begin (gconstpointer a, gconstpointer b)
{
    const struct piece *pa = a, *pb = b;

    if (pa->span.begin != pb->span.begin)
        return pa->span.begin < pb->span.begin ? -1 : 1;
    return pa->span.end > pb->span.end ? -1 : pa->span.end < pb->span.end;
}

/* Finds the span that wound it: the latest one on the parent's frame at that time. After a tail
 * wind, a frame has its own earlier span as the parent. */
static uint32_t
parent_of (const struct building *b, guint child)
{
    const struct piece *piece = piece_at (b, child);
    const call_frame_t *frame = piece->span.tail ? piece->frame : piece->parent;

    for (guint i = child; i-- > 0;)
        if (piece_at (b, i)->frame == frame && piece_at (b, i)->span.end >= piece->span.begin)
            return i;
    return SPAN_NONE;
}

/* Ends spans without an answer. A child is never answered after its parent: if the parent has an
 * answer, those of its children were lost. */
static void
close_pieces (struct building *b, uint64_t end, bool running)
{
    for (guint i = 0; i < b->spans->len; i++) {
        struct piece *piece = piece_at (b, i);

        if (piece->answered)
            continue;
        piece->span.state = running ? SPAN_OPEN : SPAN_LOST;
        piece->span.end = MAX (end, piece->span.begin);
        piece->span.end_thread = piece->span.thread;
    }
}

static void
clip_to_parent (struct timeline_request *request, struct span *span)
{
    const struct span *parent = &request->spans[span->parent];

    if (span->state != SPAN_ANSWERED && parent->state == SPAN_ANSWERED)
        span->state = SPAN_LOST;
    if (span->end > parent->end)
        span->end = parent->end;
}

static void
fill_spans (struct timeline_request *request, struct building *b)
{
    request->begin = UINT64_MAX;
    for (guint i = 0; i < b->spans->len; i++) {
        struct span *span = &request->spans[i];

        *span = piece_at (b, i)->span;
        span->parent = parent_of (b, i);
        if (span->parent != SPAN_NONE)
            clip_to_parent (request, span);
        if (span->state == SPAN_LOST)
            request->broken = true;
        request->begin = MIN (request->begin, span->begin);
        request->end = MAX (request->end, span->end);
    }
}

/* An answer whose wind was lost is of no use. */
static void
drop_orphans (struct building *b)
{
    for (guint i = b->spans->len; i-- > 0;)
        if (!piece_at (b, i)->wound) {
            g_array_remove_index (b->spans, i);
            b->head.broken = true;
        }
}

/* Calls for frames that were wound before the recording began. */
static void
drop_strays (struct building *b)
{
    for (guint i = b->spans->len; i-- > 0;)
        if (piece_at (b, i)->span.call && parent_of (b, i) == SPAN_NONE)
            g_array_remove_index (b->spans, i);
}

static struct timeline_request *
building_whole (struct assembler *assembler, struct building *b, uint64_t end, bool running)
{
    struct timeline_request *request;

    drop_orphans (b);
    close_pieces (b, end, running);
    g_array_sort (b->spans, by_begin);
    drop_strays (b);
    if (b->spans->len == 0)
        return NULL;
    request = g_malloc0 (sizeof *request + b->spans->len * sizeof (struct span));
    *request = b->head;
    request->n_spans = b->spans->len;
    fill_spans (request, b);
    /* A request that was passed on with STACK_WIND_TAIL meanwhile looks as if it came from the
     * top. */
    request->under_way = !request->spans[0].top
                      || g_hash_table_contains (assembler->before, &request->unique);
    if (!b->has_about)
        request->op = request->spans[0].op;
    if (b->has_about && !gfid_is_null (&b->gfid))
        request->path = assembler->find_path (&b->gfid, assembler->data);
    if (b->name)
        request->name = g_ref_string_new (b->name->str);
    return request;
}

static void
hand_on (struct assembler *assembler, struct building *b, uint64_t end, bool running)
{
    struct timeline_request *request = building_whole (assembler, b, end, running);

    if (request)
        assembler->whole (request, assembler->data);
}

void
assembler_round (struct assembler *assembler)
{
    GPtrArray *waited = assembler->waited, *idle = assembler->idle;

    assembler->waited = idle;
    assembler->idle = waited;
    for (guint i = 0; i < idle->len; i++)
        ((struct building *) idle->pdata[i])->touched = false;
    for (guint i = 0; i < waited->len; i++) {
        struct building *b = waited->pdata[i];

        b->idle = b->touched && b->open == 0;
        if (b->idle) {
            b->touched = false;
            g_ptr_array_add (idle, b);
        } else if (b->open == 0 && b->orphans == 0) {
            hand_on (assembler, b, 0, false);
            g_hash_table_remove (assembler->requests, &b->head.unique);
        }
    }
    g_ptr_array_set_size (waited, 0);
}

static uint64_t
last_seen (const struct building *b)
{
    uint64_t last = 0;

    for (guint i = 0; i < b->spans->len; i++)
        last = MAX (last, MAX (piece_at (b, i)->span.begin, piece_at (b, i)->span.end));
    return last;
}

static uint64_t
first_seen (const struct building *b)
{
    uint64_t first = UINT64_MAX;

    for (guint i = 0; i < b->spans->len; i++)
        first = MIN (first, piece_at (b, i)->span.begin);
    return first;
}

static bool
is_over (const struct building *b, const struct running_now *now)
{
    return first_seen (b) < now->ticks && !g_hash_table_contains (now->uniques, &b->head.unique);
}

void
assembler_sweep (struct assembler *assembler, const struct running_now *now)
{
    GHashTableIter iter;
    gpointer value;

    g_hash_table_iter_init (&iter, assembler->requests);
    while (g_hash_table_iter_next (&iter, NULL, &value)) {
        struct building *b = value;

        if (b->idle || !is_over (b, now))
            continue;
        b->head.broken = true;
        hand_on (assembler, b, last_seen (b), false);
        g_hash_table_iter_remove (&iter);
    }
}

void
assembler_finish (struct assembler *assembler, uint64_t end, const struct running_now *now)
{
    GHashTableIter iter;
    gpointer value;

    g_ptr_array_set_size (assembler->idle, 0);
    g_ptr_array_set_size (assembler->waited, 0);
    g_hash_table_iter_init (&iter, assembler->requests);
    while (g_hash_table_iter_next (&iter, NULL, &value)) {
        struct building *b = value;
        const bool running = b->open > 0 && !is_over (b, now);

        hand_on (assembler, b, running ? end : last_seen (b), running);
        g_hash_table_iter_remove (&iter);
    }
}
