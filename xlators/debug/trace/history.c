/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The last calls and answers, in a ring of records of fixed size that hold numbers, not text. Their
 * text is made when the history is printed.
 *
 *   next ──> ticket n ──> slot n % size: { seq, words[] }      seq 2n+1: being written, 2n+2: holds
 *       record n
 *
 * No lock: a writer takes a ticket, and then the slot by raising its seq to an odd number. If
 * another thread, a whole ring behind or ahead, is just writing there, the record is lost and
 * counted. A reader takes a record only if seq was the same before and after. Words are stored with
 * release and loaded with acquire, so that a thread that sees a new word sees the seq set before
 * it.
 */
#include "trace.h"

#define NAME_SIZE 32 /* a longer name is cut, and the cut is marked */

enum event { EVENT_CALL, EVENT_ANSWER, EVENT_RELEASE };

struct record {
    uint64_t unique;
    int64_t time;   /* clock_now */
    int64_t offset;
    uint64_t size;  /* requested size; of an answer the file's size */
    uint64_t fd;    /* the fd's address, only for comparison */
    int32_t op_ret, op_errno;
    uint32_t flags;
    int32_t pid;
    uint32_t uid;
    uint8_t op, event;
    bool has_gfid, has_fd;
    gfid_t gfid;      /* of the inode, or of the directory if there is a name */
    gfid_t newgfid;
    char name[NAME_SIZE], newname[NAME_SIZE];
};

#define WORDS (sizeof (struct record) / sizeof (uint64_t))
_Static_assert (sizeof (struct record) % sizeof (uint64_t) == 0, "a record is whole words");

struct history_slot {
    uint64_t seq;          /* atomic */
    uint64_t words[WORDS]; /* atomic; a struct record */
};

struct history {
    uint64_t next, lost;    /* atomic */
    struct itable *inodes;  /* atomic: of the graph, known once an inode was seen */
    size_t size;
    struct history_slot slots[];
};

struct history *
history_new (size_t size)
{
    struct history *history = g_malloc0 (sizeof *history + size * sizeof (struct history_slot));

    history->size = size;
    return history;
}

void
history_free (struct history *history)
{
    g_free (history);
}

void
history_counts (struct history *history, uint64_t *ret_added, uint64_t *ret_lost)
{
    *ret_added = __atomic_load_n (&history->next, __ATOMIC_RELAXED);
    *ret_lost = __atomic_load_n (&history->lost, __ATOMIC_RELAXED);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void
history_add (struct history *history, const struct record *record)
{
    const uint64_t ticket = __atomic_fetch_add (&history->next, 1, __ATOMIC_RELAXED);
    struct history_slot *slot = &history->slots[ticket % history->size];
    uint64_t seq = __atomic_load_n (&slot->seq, __ATOMIC_RELAXED), words[WORDS];

    if (seq % 2 == 1 || seq > 2 * ticket
        || !__atomic_compare_exchange_n (&slot->seq, &seq, 2 * ticket + 1, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED)) {
        __atomic_fetch_add (&history->lost, 1, __ATOMIC_RELAXED);
        return;
    }
    memcpy (words, record, sizeof words);
    for (size_t i = 0; i < WORDS; i++)
        __atomic_store_n (&slot->words[i], words[i], __ATOMIC_RELEASE);
    __atomic_store_n (&slot->seq, 2 * ticket + 2, __ATOMIC_RELEASE);
}

static void
see_inode (struct history *history, const inode_t *inode, gfid_t *ret_gfid)
{
    if (!inode)
        return;
    *ret_gfid = inode->gfid;
    if (!__atomic_load_n (&history->inodes, __ATOMIC_RELAXED))
        __atomic_store_n (&history->inodes, inode->table, __ATOMIC_RELAXED);
}

static void
see_name (const char *name, char to[NAME_SIZE])
{
    if (g_strlcpy (to, name, NAME_SIZE) >= NAME_SIZE)
        memcpy (to + NAME_SIZE - 4, "...", 4);
}

/* A name that is looked up has no gfid yet, so its directory's gfid is recorded. */
static void
see_loc (struct history *history, const loc_t *loc, gfid_t *ret_gfid, char *ret_name)
{
    see_inode (history, loc->parent && loc->name ? loc->parent : loc->inode, ret_gfid);
    if (loc->parent && loc->name)
        see_name (loc->name, ret_name);
}

static struct record
record_of_frame (const call_frame_t *frame, enum fop op, enum event event)
{
    const call_stack_t *root = frame->root;

    return (struct record){ .unique = root->unique,
                            .time = clock_now (),
                            .op = op,
                            .event = event,
                            .pid = root->pid,
                            .uid = root->uid };
}

void
history_add_call (struct history *history, const struct call *call)
{
    struct record record = record_of_frame (call->frame, call->op, EVENT_CALL);

    record.offset = call->offset;
    record.size = call->size;
    record.flags = call->flags;
    record.has_fd = call->fd != NULL;
    record.fd = (uintptr_t) call->fd;
    if (call->loc)
        see_loc (history, call->loc, &record.gfid, record.name);
    else if (call->fd)
        see_inode (history, call->fd->inode, &record.gfid);
    if (call->newloc)
        see_loc (history, call->newloc, &record.newgfid, record.newname);
    else if (call->name)
        see_name (call->name, record.newname);
    history_add (history, &record);
}

void
history_add_answer (struct history *history, const struct answer *answer)
{
    struct record record = record_of_frame (answer->frame, answer->op, EVENT_ANSWER);
    const struct iatt *iatt = answer->post ? answer->post : answer->buf;

    record.op_ret = answer->op_ret;
    record.op_errno = answer->op_errno;
    if (answer->op_ret >= 0 && iatt) {
        record.has_gfid = true;
        record.gfid = iatt->ia_gfid;
        record.size = iatt->ia_size;
    }
    history_add (history, &record);
}

void
history_add_release (struct history *history, fd_t *fd)
{
    struct record record = {
        .time = clock_now (), .event = EVENT_RELEASE, .pid = fd->pid, .flags = fd->flags
    };

    record.has_fd = true;
    record.fd = (uintptr_t) fd;
    see_inode (history, fd->inode, &record.gfid);
    history_add (history, &record);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool
history_get (struct history *history, uint64_t ticket, struct record *ret_record)
{
    struct history_slot *slot = &history->slots[ticket % history->size];
    uint64_t words[WORDS];

    if (__atomic_load_n (&slot->seq, __ATOMIC_ACQUIRE) != 2 * ticket + 2)
        return false;
    for (size_t i = 0; i < WORDS; i++)
        words[i] = __atomic_load_n (&slot->words[i], __ATOMIC_ACQUIRE);
    if (__atomic_load_n (&slot->seq, __ATOMIC_RELAXED) != 2 * ticket + 2)
        return false;
    memcpy (ret_record, words, sizeof *ret_record);
    return true;
}

/* The current path; an inode that is gone has none. */
static void
print_path (struct history *history, const gfid_t *gfid, const char *name, GString *out)
{
    struct itable *table = __atomic_load_n (&history->inodes, __ATOMIC_RELAXED);
    g_autoptr (inode_t) inode = table && !gfid_is_null (gfid) ? inode_find (table, gfid) : NULL;
    g_autofree char *path = inode ? inode_path (inode, *name ? name : NULL) : NULL;
    char text[GFID_TEXT_SIZE];

    if (!*name)
        g_string_append_printf (out, "gfid=%s ", gfid_text (gfid, text));
    g_string_append (out, "path=");
    if (path)
        log_append_safely (out, path);
    else if (*name)
        g_string_append_printf (out, "<gfid:%s>/", gfid_text (gfid, text));
    else
        g_string_append_c (out, '-');
    if (!path)
        log_append_safely (out, name);
}

static void
print_call (struct history *history, const struct record *r, GString *out)
{
    print_path (history, &r->gfid, r->name, out);
    if (!gfid_is_null (&r->newgfid)) {
        g_string_append (out, " -->  ");
        print_path (history, &r->newgfid, r->newname, out);
    } else if (*r->newname) {
        g_string_append (out, ", name=");
        log_append_safely (out, r->newname);
    }
    if (r->has_fd)
        g_string_append_printf (out, ", fd=0x%" G_GINT64_MODIFIER "x", r->fd);
    if (r->event == EVENT_RELEASE)
        return;
    g_string_append_printf (out,
                            ", offset=%" G_GINT64_FORMAT ", size=%" G_GUINT64_FORMAT
                            ", flags=0%o, uid=%u, pid=%d",
                            r->offset, r->size, r->flags, r->uid, r->pid);
}

static void
print_answer (const struct record *r, GString *out)
{
    char text[GFID_TEXT_SIZE];

    g_string_append_c (out, '(');
    line_of_result (r->op_ret, r->op_errno, out);
    if (r->has_gfid)
        g_string_append_printf (out, ", gfid=%s size=%" G_GUINT64_FORMAT,
                                gfid_text (&r->gfid, text), r->size);
    g_string_append_c (out, ')');
}

/* day: the difference between the time of day and clock_now. */
static void
print_record (struct history *history, const struct record *r, int64_t day, GString *out)
{
    const int64_t when = r->time + day;

    g_string_append_c (out, '[');
    line_of_time (when / 1000000000, when % 1000000000, out);
    if (r->event == EVENT_RELEASE)
        g_string_append (out, "] trace_release: ");
    else
        g_string_append_printf (out, "] trace_%s%s: %" G_GUINT64_FORMAT ": ", fop_name (r->op),
                                r->event == EVENT_ANSWER ? "_cbk" : "", r->unique);
    if (r->event == EVENT_ANSWER)
        print_answer (r, out);
    else
        print_call (history, r, out);
    g_string_append_c (out, '\n');
}

void
history_print (struct history *history, GString *out)
{
    const struct timespec today = clock_today ();
    const int64_t day = today.tv_sec * INT64_C (1000000000) + today.tv_nsec - clock_roughly ();
    const uint64_t end = __atomic_load_n (&history->next, __ATOMIC_ACQUIRE);
    struct record record;

    for (uint64_t ticket = end > history->size ? end - history->size : 0; ticket < end; ticket++)
        if (history_get (history, ticket, &record))
            print_record (history, &record, day, out);
}
