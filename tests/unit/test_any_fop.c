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
#include "core/table/fops-rows.h"

#include "mock.h"
#include "../program.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>

#define ANSWER 7 /* op_ret of every answer */

/* --- a value of each kind for each name, so that none can be mistaken for another ------------- */

struct sample {
    loc_t loc;
    fd_t *fd;
    inode_t *inode;
    struct iatt iatt;
    dict_t *dict;
    struct iovec vector[2];
    uint32_t number;
    struct statvfs statvfs;
    gf_dirent_t *dirents;
    struct gf_flock lock;
    GBytes *bytes;
};

static struct itable *table;
static GHashTable *samples;
static bool no_attributes; /* the leaf answers NULL for all of them */

static struct sample *
sample (const char *name)
{
    static const struct fd_maker maker = { 0 };
    struct sample *s = g_hash_table_lookup (samples, name);

    if (s)
        return s;
    s = g_new0 (struct sample, 1);
    s->number = strcmp (name, "cmd") == 0 ? (uint32_t) FS_IOC_SETFLAGS
                                          : g_str_hash (name) & 0x7fffffff;
    s->inode = inode_new (table);
    s->loc = (loc_t){ .name = name, .parent = itable_root (table), .inode = s->inode };
    s->fd = fd_new (&maker, s->inode, O_RDWR, 1);
    s->iatt.ia_ino = s->number;
    s->dict = dict_new ();
    s->vector[0] = (struct iovec){ (char *) name, 1 };
    s->vector[1] = (struct iovec){ (char *) name + 1, strlen (name) - 1 };
    s->statvfs.f_blocks = s->number;
    s->dirents = dirent_new (name, strlen (name));
    s->lock.l_start = s->number;
    s->bytes = g_bytes_new_static (name, strlen (name));
    g_hash_table_insert (samples, (char *) name, s);
    return s;
}

static void
sample_free (void *data)
{
    struct sample *s = data;

    loc_wipe_path (&s->loc);
    fd_unref (s->fd);
    inode_unref (s->inode);
    dict_unref (s->dict);
    dirents_free (s->dirents);
    g_bytes_unref (s->bytes);
    g_free (s);
}

#define SAMPLE_LOC(name) &sample (#name)->loc
#define SAMPLE_FD(name) sample (#name)->fd
#define SAMPLE_INODE(name) sample (#name)->inode
#define SAMPLE_IATT(name) &sample (#name)->iatt
#define SAMPLE_DICT(name) sample (#name)->dict
#define SAMPLE_VECTOR(name) sample (#name)->vector
#define SAMPLE_COUNT(name) 2
#define SAMPLE_IOBREF(name) NULL
#define SAMPLE_SIZE(name) sample (#name)->number
#define SAMPLE_OFFSET(name) sample (#name)->number
#define SAMPLE_FLAGS(name) sample (#name)->number
#define SAMPLE_INT(name) (int32_t) sample (#name)->number
#define SAMPLE_MODE(name) sample (#name)->number
#define SAMPLE_DEV(name) sample (#name)->number
#define SAMPLE_NAME(name) #name
#define SAMPLE_STATVFS(name) &sample (#name)->statvfs
#define SAMPLE_DIRENTS(name) sample (#name)->dirents
#define SAMPLE_LOCK(name) &sample (#name)->lock
#define SAMPLE_BYTES(name) sample (#name)->bytes

static bool
same_vector (const struct iovec *vector, int count, const char *name)
{
    g_autofree char *bytes = g_malloc0 (iov_length (vector, count) + 1);

    iov_unload (bytes, iov_length (vector, count), vector, count);
    return strcmp (bytes, name) == 0;
}

static bool
same_loc (const loc_t *loc, const char *name)
{
    return strcmp (loc->name, name) == 0 && loc->inode == sample (name)->inode
        && loc->parent == itable_root (table);
}

#define SAME(condition) ck_assert_msg (condition, "%s: %s is not what it was", op, #condition)
#define SAME_LOC(name) SAME (same_loc (name, #name));
#define SAME_FD(name) SAME (name == sample (#name)->fd);
#define SAME_INODE(name) SAME (name == sample (#name)->inode);
#define SAME_IATT(name) \
    SAME (name && name->ia_ino ? name->ia_ino == sample (#name)->number : no_attributes);
#define SAME_DICT(name) SAME (name == sample (#name)->dict);
#define SAME_VECTOR(name) SAME (same_vector (name, count, #name));
#define SAME_COUNT(name) SAME (name > 0);
#define SAME_IOBREF(name) (void) name;
#define SAME_SIZE(name) SAME (name == sample (#name)->number);
#define SAME_OFFSET(name) SAME (name == sample (#name)->number);
#define SAME_FLAGS(name) SAME (name == sample (#name)->number);
#define SAME_INT(name) SAME (name == (int32_t) sample (#name)->number);
#define SAME_MODE(name) SAME (name == sample (#name)->number);
#define SAME_DEV(name) SAME (name == sample (#name)->number);
#define SAME_NAME(name) SAME (strcmp (name, #name) == 0);
#define SAME_STATVFS(name) \
    SAME (name && name->f_blocks ? name->f_blocks == sample (#name)->number : no_attributes);
#define SAME_DIRENTS(name) SAME (strcmp (name->d_name, #name) == 0 && !name->next);
#define SAME_LOCK(name) \
    SAME (name && name->l_start ? name->l_start == sample (#name)->number : no_attributes);
#define SAME_BYTES(name) SAME (g_bytes_equal (name, sample (#name)->bytes));

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
static const struct xlator_api leaf_api = { .type = "test/leaf", .fops = { FOP_LIST (ENTRY) } };

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

static GSList *threads; /* the main thread's */

/* Resumes later, on another thread. That thread releases its references after the answer, so end
 * waits for it. */
static void
elsewhere (gpointer (*fn) (gpointer), void *stub)
{
    ck_assert_ptr_nonnull (stub);
    threads = g_slist_prepend (threads, g_thread_new ("resume", fn, stub));
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

static const struct change_bracket bracket = {
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
    change_bracket_call (&bracket, call);
    SAME (open_changes == 0 && ended_changes == rows);
}

static void
middle_any_fop (const struct call *call)
{
    struct call_stub *stub;

    check_fields (call);
    if (mode == BRACKET) {
        middle_bracket (call);
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
        change_bracket_answer (&bracket, answer);
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

static xlator_t leaf, middle, watcher;

static void
begin (void)
{
    reached = 0;
    table = itable_new (0, 10, NULL, NULL);
    samples = g_hash_table_new_full (g_str_hash, g_str_equal, NULL, sample_free);
    mock_xlator (&leaf, "leaf", &leaf_api, NULL);
    mock_xlator (&middle, "middle", &middle_api, &leaf);
    mock_xlator (&watcher, "watcher", &watcher_api, &middle);
    client = client_new (&watcher);
    client->patience = 10 * G_GINT64_CONSTANT (1000000000);
}

static void
end (void)
{
    for (; threads; threads = g_slist_delete_link (threads, threads))
        g_thread_join (threads->data);
    client_free (client);
    mock_free (&watcher);
    mock_free (&middle);
    mock_free (&leaf);
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
    begin ();
#define ASK_IT(fop) ask_##fop (expected ());
    FOP_LIST (ASK_IT)
    ck_assert_uint_eq (reached, mode == FAIL || mode == DROP ? 0 : asked);
    end ();
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
    begin ();
    struct client *other = client_new (mock_xlator (&own, "own", &api, &leaf));
    ck_assert_int_eq (sync_stat (other, SAMPLE_LOC (loc), NULL, NULL), -EUCLEAN);
    ck_assert_int_eq (sync_lookup (other, SAMPLE_LOC (loc), SAMPLE_DICT (xdata), NULL), -EXDEV);
    client_free (other);
    g_clear_pointer (&own.children, g_free);
    end ();
}
END_TEST

/* --- paths ------------------------------------------------------------------------------------ */

START_TEST (paths_are_those_of_the_mount)
{
    struct call call = { .op = FOP_rename };

    begin ();
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
    end ();
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

    begin ();
    ours = client;
    client = client_new (mock_xlator (&printing, "printing", &api, &leaf));
#define ASK_ANSWER(fop) ask_##fop (ANSWER);
    FOP_LIST (ASK_ANSWER)
    client_free (client);
    g_clear_pointer (&printing.children, g_free);
    client = ours;
    end ();
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
