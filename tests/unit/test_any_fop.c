/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* builds: debug tsan */
/*
 * One function for all operations: whatever the function does with a call, each argument and each
 * answer of every operation arrives unchanged.
 *
 *   client (sync_FOP) -> watcher -> middle, which acts as the mode says -> leaf, which compares and
 *       answers
 */
#include "core/cache/change-bracket.h"
#include "core/edge/any-fop.h"
#include "core/edge/fan-out.h"
#include "core/table/fops-rows.h"

#include "mock.h"
#include "samples.h"
#include "../program.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

#define ANSWER 7 /* op_ret of every answer */

/* --- the leaf --------------------------------------------------------------------------------- */

#define DECLARE(kind, name) , C_##kind name
#define ARG_SAME(kind, name) SAME_##kind (name)
#define ARG_SAMPLE(kind, name) , SAMPLE_##kind (name)
#define RET_SAMPLE(kind, name) \
    , (C_##kind) (no_attributes && strstr ("IATT STATVFS LOCK", #kind) \
                      ? 0 \
                      : (uintptr_t) SAMPLE_##kind (name))
#define UNWIND(...) STACK_UNWIND (__VA_ARGS__)

static unsigned reached; /* atomic */

#define LEAF(fop)                                                                                  \
    static void leaf_##fop (call_frame_t *frame, xlator_t *this FOP_ARGS_##fop (DECLARE))          \
    {                                                                                              \
        const char *const op = #fop;                                                               \
        ck_assert_ptr_null (frame->local);                                                         \
        FOP_ARGS_##fop (ARG_SAME)                                                                  \
        __atomic_add_fetch (&reached, 1, __ATOMIC_RELAXED);                                        \
        UNWIND (fop, frame, ANSWER, 0 FOP_RETS_##fop (RET_SAMPLE));                                \
    }
FOP_LIST (LEAF)

#define ENTRY(fop) .fop = leaf_##fop,
static const struct xlator_api any_fop_leaf_api = { .type = "test/leaf",
                                                    .fops = { FOP_LIST (ENTRY) } };

/* --- the middle ------------------------------------------------------------------------------- */

static enum mode {
    PASS,
    WIND,
    KEEP,
    KEEP_TO_PASS,
    KEEP_ANSWER,
    FAIL,
    FAIL_ANSWER,
    CHANGE_ANSWER,
    DROP,
    BRACKET,
    FAN,
    MODES
} mode;
static int cookie;

static gpointer
resume (gpointer stub)
{
    call_resume (stub);
    return NULL;
}

static gpointer
resume_answer (gpointer stub)
{
    answer_resume (stub);
    return NULL;
}

static GSList *any_fop_threads; /* the main thread's */

/* Resumes later, on another thread. That thread releases its references after the answer, so end
 * waits for it. */
static void
elsewhere (gpointer (*fn) (gpointer), void *stub)
{
    ck_assert_ptr_nonnull (stub);
    any_fop_threads = g_slist_prepend (any_fop_threads, g_thread_new ("resume", fn, stub));
}

static void
check_fields (const struct call *call)
{
    const char *const op = fop_name (call->op);

    SAME (!call->loc || call->loc == SAMPLE_LOC (loc)
          || call->loc->name == sample ("oldloc")->loc.name || mode == KEEP);
    SAME (!call->fd || call->fd == SAMPLE_FD (fd) || call->fd == SAMPLE_FD (fd_in));
    SAME (!call->fd_out == (call->op != FOP_copy_file_range));
    SAME (!call->newloc == (call->op != FOP_rename && call->op != FOP_link));
    SAME (!call->vector == (call->op != FOP_writev));
    SAME (call->xdata == SAMPLE_DICT (xdata));
    if (call->op == FOP_writev) {
        SAME (call->size == strlen ("vector") && call->offset == SAMPLE_OFFSET (offset)
              && call->count > 0);
        SAME (call->flags == SAMPLE_FLAGS (flags));
    }
    if (call->op == FOP_readv)
        SAME (call->size == SAMPLE_SIZE (size) && call->offset == SAMPLE_OFFSET (offset));
    if (call->op == FOP_getxattr)
        SAME (strcmp (call->name, "name") == 0);
    if (call->op == FOP_symlink)
        SAME (strcmp (call->name, "linkpath") == 0);
}

/* Each EFFECT row of the table begins and ends once, with the inode or the name of its argument. */
static unsigned open_changes, ended_changes; /* of one operation */

static void
change_begins (const struct call *call, struct change *change)
{
    const char *const op = fop_name (call->op);
    const bool names = change->what & CHANGES_NAMES;

    SAME (change->number == open_changes);
    SAME (names == (change->parent != NULL) && names == (change->name != NULL));
    SAME (!names || change->parent == itable_root (table));
    SAME (change->inode || call->op == FOP_create || change->what == CHANGES_NAMES);
    change->own[0] = ++open_changes;
}

static void
change_ends (const struct answer *answer, struct change *change)
{
    const char *const op = fop_name (answer->op);

    SAME (change->own[0] == open_changes--);
    ended_changes++;
}

static const struct change_bracket any_fop_bracket = {
    CHANGES_DATA | CHANGES_ATTRIBUTES | CHANGES_XATTRS | CHANGES_NAMES | CHANGES_LOCKS,
    change_begins, change_ends
};

#define EFFECT_ROW(what, argument) +1
#define COUNT_ROWS(fop) [FOP_##fop] = 0 FOP_EFFECTS_##fop (EFFECT_ROW),
static const unsigned effect_rows[FOP_MAX] = { FOP_LIST (COUNT_ROWS) };

static void
middle_bracket (const struct call *call)
{
    const bool changes = call_changes (call) || opset_has (OPS_CHANGE_LOCKS, call->op);
    const char *const op = fop_name (call->op);
    const unsigned rows = changes ? effect_rows[call->op] : 0;

    open_changes = ended_changes = 0;
    change_bracket_call (&any_fop_bracket, call);
    SAME (open_changes == 0 && ended_changes == rows);
}

/* A kept answer has the fields that a callback sees. */
static void
fan_answered (call_frame_t *frame)
{
    const struct answer seen = fan_seen (frame->local, 1);
    const char *const op = fop_name (seen.op);

    SAME (seen.frame == frame && seen.op_ret == ANSWER && seen.xdata == SAMPLE_DICT (xdata));
    SAME (!no_attributes || (!seen.buf && !seen.pre && !seen.post && !seen.preparent));
    SAME (seen.op != FOP_writev || no_attributes
          || seen.post->ia_ino == sample ("postbuf")->number);
    fan_pass (frame->local, 1);
}

/* The child gets the changed arguments. */
static void
middle_fan (const struct call *call)
{
    struct fan_out *fan = frame_local_new (call->frame, sizeof *fan);
    struct changed_call changed;
    struct call other = *call;

    call_change (call, &changed);
    other.args = &changed.args;
    changed.call.args = NULL;
    call_change_xdata (&changed, call->xdata);
    fan_init (fan, call->frame, 2);
    fan_begin (fan, fan_answered);
    fan_call (fan, 1, FIRST_CHILD (call->this), &other);
    fan_end (fan);
}

static void
middle_drop (xlator_t *this, void *local)
{
    if (mode == FAN)
        fan_clear (local);
}

static void
middle_any_fop (const struct call *call)
{
    struct call_stub *stub;

    check_fields (call);
    if (mode == BRACKET) {
        middle_bracket (call);
    } else if (mode == FAN) {
        middle_fan (call);
    } else if (mode == PASS) {
        call_pass (call);
    } else if (mode == FAIL) {
        call_fail (call, EXDEV);
    } else if (mode == KEEP && !call->frame->local) {
        frame_local_new (call->frame, 1);
        elsewhere (resume, call_keep (call));
    } else if (mode == KEEP) {
        call_pass (call); /* the second time */
    } else if (mode == KEEP_TO_PASS) {
        elsewhere (resume, call_keep_to_pass (call));
    } else if (mode == DROP) {
        stub = call_keep (call);
        ck_assert_uint_eq (call_stub_op (stub), call->op);
        ck_assert_ptr_eq (call_stub_frame (stub), call->frame);
        call_stub_destroy (stub);
        call_fail (call, EXDEV);
    } else {
        frame_local_new (call->frame, 1);
        call_wind (call, FIRST_CHILD (call->this), &cookie);
    }
}

static void
middle_any_fop_cbk (const struct answer *answer)
{
    struct answer changed = *answer;

    if (mode == BRACKET) {
        change_bracket_answer (&any_fop_bracket, answer);
        return;
    }
    ck_assert_ptr_eq (answer->cookie, &cookie);
    ck_assert_ptr_nonnull (answer->frame->local);
    ck_assert_int_eq (answer->op_ret, ANSWER);
    changed.op_ret = -1;
    changed.op_errno = ENOSPC;
    if (mode == KEEP_ANSWER)
        elsewhere (resume_answer, answer_keep (answer));
    else if (mode == FAIL_ANSWER)
        answer_fail (answer, EXDEV);
    else
        answer_pass (mode == CHANGE_ANSWER ? &changed : answer);
}

static const struct xlator_api middle_api = {
    .type = "test/middle", .any_fop = middle_any_fop, .any_fop_cbk = middle_any_fop_cbk,
    .local_drop = middle_drop,
};

/* --- the watcher, which sees NULL where a client sees zeros ----------------------------------- */

static void
watcher_any_fop (const struct call *call)
{
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
watcher_any_fop_cbk (const struct answer *answer)
{
    if (answer->op_ret >= 0 && no_attributes)
        ck_assert_msg (!answer->buf && !answer->pre && !answer->post && !answer->preparent
                           && !answer->postparent,
                       "%s: attributes that were NULL are there", fop_name (answer->op));
    if (answer->op_ret >= 0 && answer->op == FOP_readv)
        ck_assert (same_vector (answer->vector, answer->count, "vector"));
    if (answer->op_ret >= 0 && answer->op == FOP_readdirp)
        ck_assert_str_eq (answer->entries->d_name, "entries");
    answer_pass (answer);
}

static const struct xlator_api watcher_api = {
    .type = "test/watcher", .any_fop = watcher_any_fop, .any_fop_cbk = watcher_any_fop_cbk,
};

/* --- the client ------------------------------------------------------------------------------- */

static struct client *client;

#define OPEN_IATT(name) struct iatt *name = &reply.name;
#define OPEN_STATVFS(name) struct statvfs *name = &reply.name;
#define OPEN_LOCK(name) struct gf_flock *name = &reply.name;
#define OPEN_VECTOR(name) struct iovec *name = reply.name; int count = reply.count;
#define OPEN_COUNT(name)
#define OPEN_IOBREF(name)
#define OPEN_INODE(name) inode_t *name = reply.name;
#define OPEN_FD(name) fd_t *name = reply.name;
#define OPEN_DICT(name) dict_t *name = reply.name;
#define OPEN_NAME(name) const char *name = reply.name;
#define OPEN_DIRENTS(name) gf_dirent_t *name = reply.name;
#define OPEN_OFFSET(name) off_t name = reply.name;
#define OPEN_FLAGS(name) uint32_t name = reply.name;
#define OPEN_BYTES(name) GBytes *name = reply.name;

#define RET_OPEN(kind, name) OPEN_##kind (name)
#define RET_SAME(kind, name) SAME_##kind (name)
#undef SAME_COUNT
#undef SAME_IOBREF
#define SAME_COUNT(name) (void) count;
#define SAME_IOBREF(name)

/* So that arguments are expanded before the call counts them. */
#define SYNC(...) SYNC_ (__VA_ARGS__)
#define SYNC_(fop, ...) sync_##fop (__VA_ARGS__)

#define ASK(fop)                                                                                   \
    static void ask_##fop (int expected)                                                           \
    {                                                                                              \
        const char *const op = #fop;                                                               \
        struct fop##_reply reply;                                                                  \
        const int r = SYNC (fop, client FOP_ARGS_##fop (ARG_SAMPLE), &reply);                      \
        SAME (r == expected);                                                                      \
        if (r >= 0) {                                                                              \
            FOP_RETS_##fop (RET_OPEN)                                                              \
            FOP_RETS_##fop (RET_SAME)                                                              \
        }                                                                                          \
        fop##_reply_drop (&reply);                                                                 \
    }
FOP_LIST (ASK)

static xlator_t any_fop_leaf, middle, any_fop_watcher;

static void
any_fop_begin (void)
{
    reached = 0;
    table = itable_new (0, 10, NULL, NULL);
    samples = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, sample_free);
    mock_xlator (&any_fop_leaf, "leaf", &any_fop_leaf_api, NULL);
    mock_xlator (&middle, "middle", &middle_api, &any_fop_leaf);
    mock_xlator (&any_fop_watcher, "watcher", &watcher_api, &middle);
    client = client_new (&any_fop_watcher);
    client->patience = 10 * G_GINT64_CONSTANT (1000000000);
}

static void
any_fop_end (void)
{
    for (GSList *at = any_fop_threads; at; at = at->next)
        g_thread_join (at->data);
    g_clear_pointer (&any_fop_threads, g_slist_free);
    client_free (client);
    mock_free (&any_fop_watcher);
    mock_free (&middle);
    mock_free (&any_fop_leaf);
    g_hash_table_destroy (samples);
    itable_destroy (table);
}

static int
expected (void)
{
    switch (mode) {
    case FAIL:
    case FAIL_ANSWER:
    case DROP:
        return -EXDEV;
    case CHANGE_ANSWER:
        return -ENOSPC;
    default:
        return ANSWER;
    }
}

/* _i: the mode, and with or without attributes in answers. */
START_TEST (every_operation_arrives_as_it_was)
{
    const unsigned asked = FOP_MAX - 1;

    mode = _i / 2;
    no_attributes = _i % 2;
    any_fop_begin ();
#define ASK_IT(fop) ask_##fop (expected ());
    FOP_LIST (ASK_IT)
    ck_assert_uint_eq (reached, mode == FAIL || mode == DROP ? 0 : asked);
    any_fop_end ();
}
END_TEST

/* An operation's own function takes precedence over the function for all operations. */
static void
own_stat (call_frame_t *frame, xlator_t *this, loc_t *loc, dict_t *xdata)
{
    STACK_UNWIND (stat, frame, -1, EUCLEAN, NULL, NULL);
}

START_TEST (an_operation_of_its_own_goes_before)
{
    static const struct xlator_api api = { .type = "test/own",
                                           .any_fop = middle_any_fop,
                                           .any_fop_cbk = middle_any_fop_cbk,
                                           .fops = { .stat = own_stat } };
    xlator_t own;

    mode = FAIL;
    any_fop_begin ();
    struct client *other = client_new (mock_xlator (&own, "own", &api, &any_fop_leaf));
    ck_assert_int_eq (sync_stat (other, SAMPLE_LOC (loc), NULL, NULL), -EUCLEAN);
    ck_assert_int_eq (sync_lookup (other, SAMPLE_LOC (loc), SAMPLE_DICT (xdata), NULL), -EXDEV);
    client_free (other);
    g_clear_pointer (&own.children, g_free);
    any_fop_end ();
}
END_TEST

/* --- paths ------------------------------------------------------------------------------------ */

START_TEST (paths_are_those_of_the_mount)
{
    struct call call = { .op = FOP_rename };

    any_fop_begin ();
    loc_t *loc = SAMPLE_LOC (old), *newloc = SAMPLE_LOC (new);
    ck_assert_ptr_null (call_path (&call));
    call.loc = loc;
    call.newloc = newloc;
    g_autofree char *path = call_path (&call), *new_path = call_new_path (&call);
    ck_assert_str_eq (path, "/old");
    ck_assert_str_eq (new_path, "/new");
    ck_assert_ptr_null (loc->path);
    ck_assert (call_is_at (&call, "/o*"));
    ck_assert (call_is_at (&call, "*w"));
    ck_assert (!call_is_at (&call, "/o"));
    any_fop_end ();
}
END_TEST

/* A call and an answer as text: each operation has both. */
static void
printing_any_fop (const struct call *call)
{
    g_autoptr (GString) out = g_string_new (NULL);

    call_print (call, out);
    ck_assert_msg (strstr (out->str, "xdata="), "%s: printed as '%s'", fop_name (call->op),
                   out->str);
    call_wind (call, FIRST_CHILD (call->this), NULL);
}

static void
printing_any_fop_cbk (const struct answer *answer)
{
    g_autoptr (GString) out = g_string_new (NULL);

    answer_print (answer, out);
    ck_assert_msg (strstr (out->str, "xdata="), "%s: answer printed as '%s'", fop_name (answer->op),
                   out->str);
    answer_pass (answer);
}

START_TEST (every_call_and_answer_prints)
{
    static const struct xlator_api api = { .type = "test/printing",
                                           .any_fop = printing_any_fop,
                                           .any_fop_cbk = printing_any_fop_cbk };
    struct client *ours;
    xlator_t printing;

    any_fop_begin ();
    ours = client;
    client = client_new (mock_xlator (&printing, "printing", &api, &any_fop_leaf));
#define ASK_ANSWER(fop) ask_##fop (ANSWER);
    FOP_LIST (ASK_ANSWER)
    client_free (client);
    g_clear_pointer (&printing.children, g_free);
    client = ours;
    any_fop_end ();
}
END_TEST

TEST_PROGRAM (test_any_fop)
{
    Suite *suite = suite_create ("every");
    TCase *tcase = tcase_create ("every");

    tcase_add_loop_test (tcase, every_operation_arrives_as_it_was, 0, 2 * MODES);
    tcase_add_test (tcase, an_operation_of_its_own_goes_before);
    tcase_add_test (tcase, paths_are_those_of_the_mount);
    tcase_add_test (tcase, every_call_and_answer_prints);
    suite_add_tcase (suite, tcase);
    return suite_run (suite);
}
