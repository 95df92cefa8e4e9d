/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Makes one call of an operation, with arguments from their classes, and prints its answer in a
 * form that two file systems can agree on. */
#include "conform/inprocess/inprocess.h"

#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/table/fops-rows.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

/* --- list of calls -------------------------------------------------------------------------- */

#define ARG_NAME(kind, name) #name,
#define ARG_NAMES(fop) [FOP_##fop] = { FOP_ARGS_##fop (ARG_NAME) NULL },
static const char *const arg_names[FOP_MAX][12] = { FOP_LIST (ARG_NAMES) };

static void
choices_of_pair (GArray *choices, enum fop op, const char *a, const char *b)
{
    const struct class_value *of_a = classes_of (op, a), *of_b = classes_of (op, b);

    for (; of_a && of_b && of_a->name && (++of_a)->name;)
        for (const struct class_value *v = of_b + 1; v[-1].name && v->name; v++) {
            const struct case_choice choice = { op, 2, { a, b }, { of_a, v } };
            g_array_append_val (choices, choice);
        }
}

static void
choices_of_values (GArray *choices, enum fop op, const char *arg, const struct class_value *v)
{
    for (; v && v->name; v++) {
        const struct case_choice choice = { op, 1, { arg }, { v } };
        g_array_append_val (choices, choice);
    }
}

static void
choices_of (GArray *choices, enum fop op, bool pairs)
{
    const struct case_choice usual = { .op = op };

    g_array_append_val (choices, usual);
    for (const char *const *a = arg_names[op]; *a; a++) {
        const struct class_value *v = classes_of (op, *a);
        choices_of_values (choices, op, *a, v && v->name ? v + 1 : NULL);
        if (!pairs && (strcmp (*a, "name") == 0 || strcmp (*a, "dict") == 0))
            choices_of_values (choices, op, *a, keys_all ());
        for (const char *const *b = a + 1; pairs && *b; b++)
            if (strcmp (*b, "xdata") != 0)
                choices_of_pair (choices, op, *a, *b);
    }
}

void
choices_list (GArray *choices, bool pairs)
{
    for (enum fop op = FOP_NONE + 1; op < FOP_MAX; op++)
        choices_of (choices, op, pairs);
}

char *
choice_name (const struct case_choice *choice)
{
    GString *name = g_string_new (fop_name (choice->op));

    for (unsigned i = 0; i < choice->n; i++)
        g_string_append_printf (name, "%c%s=%s", i ? ',' : '/', choice->arg[i],
                                choice->value[i]->name);
    return g_string_free (name, FALSE);
}

static bool
op_is_in (enum fop op, const enum fop *ops)
{
    while (*ops && *ops != op)
        ops++;
    return *ops != FOP_NONE;
}

bool
choice_may_change (enum fop op)
{
    return opset_has (OPS_CHANGE | OPS_CHANGE_LOCKS | OPSET_OF (FOP_flush), op);
}

/* --- arguments ------------------------------------------------------------------------------ */

/* The parts of a call's arguments. */
struct made_call {
    struct kit_world *world;
    const struct case_choice *choice;
    loc_t locs[2];
    unsigned n_locs;
    inode_t *fresh[2];
    fd_t *opened, *fd;
    uint32_t flags;
    struct iatt iatt;
    dict_t *dicts[2];
    unsigned n_dicts;
    struct iovec vector[3];
    int32_t count;
    struct iobref *iobref;
    struct gf_flock lock;
    char *texts[2]; /* long ones */
    /* Of the answer */
    inode_t *inode;
    const struct iatt *buf;
};

static const struct class_value *
made_value (const struct made_call *made, const char *arg)
{
    static const struct class_value nothing = { "-", 0, NULL };
    const struct class_value *values = classes_of (made->choice->op, arg);

    for (unsigned i = 0; i < made->choice->n; i++)
        if (strcmp (made->choice->arg[i], arg) == 0)
            return made->choice->value[i];
    return values ? values : &nothing;
}

static char *
made_long (struct made_call *made, size_t size)
{
    char **text = &made->texts[made->texts[0] != NULL];

    g_free (*text);
    return *text = g_strnfill (size, 'n');
}

static inode_t *
made_fresh (struct made_call *made)
{
    return made->fresh[made->n_locs] = inode_new (made->world->graph->itable);
}

static void
loc_known (struct made_call *made, loc_t *loc, enum loc_class class)
{
    struct kit_world *w = made->world;
    static const char *const called[] = {
        [LOC_FILE] = "file", [LOC_DIR] = "dir",   [LOC_FULL] = "full",
        [LOC_LINK] = "link", [LOC_FIFO] = "fifo", [LOC_OTHER] = "other"
    };

    loc->name = called[class];
    loc->parent = w->top;
    loc->inode = class == LOC_FILE   ? w->file
                 : class == LOC_DIR  ? w->directory
                 : class == LOC_FULL ? w->full
                 : class == LOC_LINK ? w->link
                 : class == LOC_FIFO ? w->fifo
                                     : w->other;
}

static void
loc_missing (struct made_call *made, loc_t *loc, enum loc_class class)
{
    struct kit_world *w = made->world;

    loc->parent = class == LOC_IN_GONE    ? w->gone_directory
                : class == LOC_UNDER_FILE ? w->file
                                          : w->top;
    loc->name = class == LOC_LONG    ? made_long (made, 256)
                : class == LOC_EMPTY ? ""
                : class == LOC_DOT   ? "."
                : class == LOC_SLASH ? "dir/x"
                                     : "new";
    /* As the bridge does: the inode that is to be made or, if it is known, none. */
    if (made->choice->op == FOP_link)
        loc->inode = made->locs[0].inode;
    else if (made->choice->op != FOP_unlink && made->choice->op != FOP_rmdir
             && made->choice->op != FOP_rename)
        loc->inode = made_fresh (made);
}

static loc_t *
make_LOC (struct made_call *made, const char *arg)
{
    const enum loc_class class = made_value (made, arg)->number;
    const bool opens = made->choice->op == FOP_opendir || made->choice->op == FOP_tmpfile;
    loc_t *loc = &made->locs[made->n_locs];

    if (class == LOC_ROOT || class == LOC_NAMELESS || class == LOC_GONE)
        loc->inode = class == LOC_ROOT       ? itable_root (made->world->graph->itable)
                     : class == LOC_NAMELESS ? made->world->file
                                             : made->world->gone;
    else if (class == LOC_IN_GONE && opens)
        loc->inode = made->world->gone_directory;
    else if (class == LOC_FILE || class == LOC_DIR || class == LOC_FULL || class == LOC_LINK
             || class == LOC_FIFO || class == LOC_OTHER)
        loc_known (made, loc, class);
    else
        loc_missing (made, loc, class);
    made->n_locs++;
    return loc;
}

static fd_t *
make_FD (struct made_call *made, const char *arg)
{
    static const enum fop opens[] = { FOP_open, FOP_opendir, FOP_create, FOP_tmpfile, FOP_NONE };
    fd_t *fd;

    if (op_is_in (made->choice->op, opens)) {
        inode_t *inode = made->choice->op == FOP_tmpfile ? made_fresh (made) : made->locs[0].inode;
        return made->opened = fd_new (&made->world->graph->fd_maker, inode, made->flags, 1);
    }
    fd = made->world->fds[made_value (made, arg)->number];
    if (!made->fd)
        made->fd = fd;
    return fd;
}

static dict_t *
dict_large (dict_t *dict)
{
    g_autofree char *value = g_strnfill (60000, 'v');

    dict_set (dict, "windlass.conform.large", value, 60000);
    return dict;
}

static dict_t *
make_DICT (struct made_call *made, const char *arg)
{
    const struct class_value *value = made_value (made, arg);
    const bool xdata = strcmp (arg, "xdata") == 0;
    dict_t *dict;

    if (xdata && value->number == 0)
        return NULL;
    dict = made->dicts[made->n_dicts++] = dict_new ();
    if (xdata) {
        dict_set_str (dict, MARK_DOWN, "1");
        return value->number == 2 ? dict_large (dict) : dict;
    }
    if (value->number != 2)
        dict_set (dict, value->number == TEXT_LONG ? made_long (made, 300) : value->text,
                  "value\0more", 10);
    return dict;
}

static void
vector_add (struct made_call *made, size_t size)
{
    struct iobuf *iobuf = iobuf_new (MAX (size, 1));

    for (size_t i = 0; i < size; i++)
        ((char *) iobuf->ptr)[i] = (char) ("The quick brown fox. "[i % 21] + made->count);
    made->vector[made->count++] = (struct iovec){ iobuf->ptr, size };
    iobref_add (made->iobref, iobuf);
    iobuf_unref (iobuf);
}

static struct iovec *
make_VECTOR (struct made_call *made, const char *arg)
{
    const int64_t size = made_value (made, arg)->number;

    made->iobref = iobref_new ();
    for (int i = 0; i < (size == 3 ? 3 : 1); i++)
        vector_add (made, size == 3 ? 1365 : (size_t) size);
    return made->vector;
}

static struct iatt *
make_IATT (struct made_call *made, const char *arg)
{
    made->iatt = (struct iatt){ .ia_prot = 0640,
                                .ia_uid = 12345,
                                .ia_gid = 23456,
                                .ia_atime = 1000000001,
                                .ia_atime_nsec = 5,
                                .ia_mtime = 1000000002,
                                .ia_mtime_nsec = 999999999 };
    return &made->iatt;
}

static struct gf_flock *
make_LOCK (struct made_call *made, const char *arg)
{
    made->lock = (struct gf_flock){ .l_type = (short) made_value (made, arg)->number,
                                    .l_whence = SEEK_SET,
                                    .l_start = 10,
                                    .l_len = 20,
                                    .l_pid = 1,
                                    .l_owner = 1 };
    return &made->lock;
}

static const char *
make_NAME (struct made_call *made, const char *arg)
{
    const struct class_value *value = made_value (made, arg);

    return value->number == TEXT_LONG ? made_long (made, 5000) : value->text;
}

static uint32_t
make_FLAGS (struct made_call *made, const char *arg)
{
    const uint32_t number = (uint32_t) made_value (made, arg)->number;

    if (strcmp (arg, "flags") == 0)
        made->flags = number;
    return number;
}

#define make_COUNT(made, arg) (made)->count
#define make_IOBREF(made, arg) (made)->iobref
#define make_BYTES(made, arg) NULL
#define make_SIZE(made, arg) (size_t) made_value (made, arg)->number
#define make_OFFSET(made, arg) (off_t) made_value (made, arg)->number
#define make_INT(made, arg) (int32_t) made_value (made, arg)->number
#define make_MODE(made, arg) (mode_t) made_value (made, arg)->number
#define make_DEV(made, arg) (dev_t) made_value (made, arg)->number

static void
made_call_clear (struct made_call *made)
{
    fd_unref (made->opened);
    for (unsigned i = 0; i < 2; i++) {
        loc_wipe_path (&made->locs[i]);
        inode_unref (made->fresh[i]);
        dict_unref (made->dicts[i]);
    }
    iobref_unref (made->iobref);
    g_free (made->texts[0]);
    g_free (made->texts[1]);
}

/* --- answers -------------------------------------------------------------------------------- */

static void
show_bytes (GString *out, const char *name, const void *bytes, size_t size)
{
    g_autofree char *sum = g_compute_checksum_for_data (G_CHECKSUM_SHA256, bytes, size);

    g_string_append_printf (out, "  %s: %zu bytes, sum %.12s\n", name, size, sum);
}

static void
show_IATT (GString *out, struct made_call *made, const char *name, const struct iatt *iatt)
{
    if (strcmp (name, "buf") == 0)
        made->buf = iatt;
    dump_iatt (out, name, iatt);
}

static void
show_INODE (GString *out, struct made_call *made, const char *name, inode_t *inode)
{
    made->inode = inode;
    g_string_append_printf (out, "  %s: %s\n", name, inode ? "yes" : "none");
}

static void
show_FD (GString *out, struct made_call *made, const char *name, fd_t *fd)
{
    g_string_append_printf (out, "  %s: %s\n", name,
                            !fd                  ? "none"
                            : fd == made->opened ? "the one given"
                                                 : "another");
}

static void
show_lines (GString *out, const char *name, GPtrArray *lines)
{
    g_ptr_array_sort (lines, conform_by_text);
    for (guint i = 0; i < lines->len; i++)
        g_string_append_printf (out, "  %s: %s\n", name, (char *) lines->pdata[i]);
}

static void
show_DICT (GString *out, struct made_call *made, const char *name, dict_t *dict)
{
    g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

    for (size_t i = 0; strcmp (name, "xdata") != 0 && i < dict_count (dict); i++) {
        const char *key;
        const void *value;
        size_t size;

        dict_nth (dict, i, &key, &value, &size);
        g_ptr_array_add (lines, g_strdup_printf ("%s: %zu bytes, %u", key, size,
                                                 g_str_hash (size ? value : "")));
    }
    show_lines (out, name, lines);
}

/* Which entries a smaller answer has depends on storage's order of names, so they are not shown. */
#define ROOM_FOR_ALL (64 << 10)

static void
show_DIRENTS (GString *out, struct made_call *made, const char *name, gf_dirent_t *entries)
{
    g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

    for (; entries && made_value (made, "size")->number >= ROOM_FOR_ALL;
         entries = entries->next)
        g_ptr_array_add (lines, g_strdup_printf ("%s type %u%s", entries->d_name, entries->d_type,
                                                 entries->inode ? " inode" : ""));
    show_lines (out, name, lines);
}

static void
show_BYTES (GString *out, struct made_call *made, const char *name, GBytes *bytes)
{
    gsize size = 0;
    const void *data = bytes ? g_bytes_get_data (bytes, &size) : NULL;

    show_bytes (out, name, data ? data : "", size);
}

#define show_VECTOR(out, made, name, vector)                                                       \
    show_bytes (out, name, vector ? vector->iov_base : "", iov_length (vector, reply.count))
#define show_COUNT(out, made, name, value)
#define show_IOBREF(out, made, name, value)
#define show_STATVFS(out, made, name, value)                                                       \
    g_string_append_printf (out, "  block %lu, names %lu\n", value.f_bsize, value.f_namemax)
#define show_LOCK(out, made, name, value)                                                          \
    g_string_append_printf (out, "  lock: type %d, %ld+%ld\n", value.l_type, (long) value.l_start, \
                            (long) value.l_len)
#define show_OFFSET(out, made, name, value)                                                        \
    g_string_append_printf (out, "  %s: %ld\n", name, (long) value)
#define show_FLAGS(out, made, name, value) g_string_append_printf (out, "  %s: 0x%x\n", name, value)
#define show_NAME(out, made, name, value)                                                          \
    g_string_append_printf (out, "  %s: %s\n", name, value ? value : "none")
/* Kept attributes are values. */
#define OF_IATT(value) &value
#define OF_INODE(value) value
#define OF_FD(value) value
#define OF_DICT(value) value
#define OF_DIRENTS(value) value
#define OF_BYTES(value) value
#define OF_VECTOR(value) value
#define OF_COUNT(value) value
#define OF_IOBREF(value) value
#define OF_STATVFS(value) value
#define OF_LOCK(value) value
#define OF_OFFSET(value) value
#define OF_FLAGS(value) value
#define OF_NAME(value) value

/* --- before and after the call -------------------------------------------------------------- */

/* Updates the table of inodes after a success, as the bridge does. */
static void
made_settle (struct made_call *made)
{
    const loc_t *loc = &made->locs[0], *to = &made->locs[made->n_locs > 1];
    const enum fop op = made->choice->op;

    if (op == FOP_unlink || op == FOP_rmdir)
        inode_unlink (loc->parent, loc->name);
    if (op == FOP_rename)
        inode_rename (loc->parent, loc->name, to->parent, to->name, made->flags & RENAME_EXCHANGE);
    if (made->inode && made->buf && !gfid_is_null (&made->buf->ia_gfid)) {
        const bool named = to->parent && to->name && op != FOP_tmpfile;
        inode_t *linked = inode_link (made->inode, named ? to->parent : NULL,
                                      named ? to->name : NULL, made->buf);
        if (made->opened && made->opened->inode != linked) {
            inode_unref (made->opened->inode);
            made->opened->inode = inode_ref (linked);
        }
        inode_unref (linked);
    }
}

/* Reads the current attributes of the file. */
static bool
made_stat (struct made_call *made, struct iatt *ret_buf)
{
    struct fstat_reply of_fd;
    struct stat_reply of_loc;
    loc_t loc = { .inode = made->locs[0].inode };
    int r;

    if (made->fd) {
        r = sync_fstat (made->world->client, made->fd, NULL, &of_fd);
        *ret_buf = of_fd.buf;
        fstat_reply_drop (&of_fd);
    } else {
        r = sync_stat (made->world->client, &loc, NULL, &of_loc);
        *ret_buf = of_loc.buf;
        stat_reply_drop (&of_loc);
    }
    return r >= 0;
}

static void
compare_attributes (enum fop op, const char *when, const struct iatt *said, const struct iatt *is)
{
    if (said->ia_size != is->ia_size)
        finding_add ("attributes", NULL, op,
                     "%s, the answer says size %" G_GUINT64_FORMAT ", stat says %" G_GUINT64_FORMAT,
                     when, said->ia_size, is->ia_size);
    else if (said->ia_prot != is->ia_prot || said->ia_uid != is->ia_uid
             || said->ia_gid != is->ia_gid || said->ia_nlink != is->ia_nlink)
        finding_add ("attributes", NULL, op,
                     "%s, the answer says mode %o owner %u:%u links %u, stat says %o %u:%u %u",
                     when, said->ia_prot, said->ia_uid, said->ia_gid, said->ia_nlink, is->ia_prot,
                     is->ia_uid, is->ia_gid, is->ia_nlink);
    else if (said->ia_mtime != is->ia_mtime || said->ia_mtime_nsec != is->ia_mtime_nsec
             || said->ia_ctime_nsec != is->ia_ctime_nsec)
        finding_add ("attributes", NULL, op, "%s, the answer has other times than stat", when);
}

static bool
made_compares (const struct made_call *made)
{
    static const enum fop changes[] = { FOP_writev,  FOP_truncate, FOP_ftruncate,
                                        FOP_setattr, FOP_fsetattr, FOP_fallocate,
                                        FOP_discard, FOP_zerofill, FOP_NONE };

    return made->world->inspected && op_is_in (made->choice->op, changes);
}

static void
made_before (struct made_call *made, struct iatt *ret_pre)
{
    *ret_pre = (struct iatt){ 0 };
    if (made_compares (made))
        made_stat (made, ret_pre);
}

static void
made_after (struct made_call *made, const struct iatt *pre)
{
    struct top_attributes seen = inspect_seen;
    struct iatt post;

    if (!made_compares (made))
        return;
    if (seen.has_pre && pre->ia_type)
        compare_attributes (made->choice->op, "before", &seen.pre, pre);
    if (seen.has_post && made_stat (made, &post))
        compare_attributes (made->choice->op, "afterwards", &seen.post, &post);
}

/* --- the call ------------------------------------------------------------------------------- */

#define MAKE(kind, name) args.name = make_##kind (&made, #name);
#define OF_ARGS(kind, name) , args.name
#define SHOW(kind, name) show_##kind (out, &made, #name, OF_##kind (reply.name));

#define CALL(fop)                                                                                  \
    static int call_##fop (struct kit_world *world, const struct case_choice *choice,              \
                           GString *out)                                                           \
    {                                                                                              \
        struct made_call made = { .world = world, .choice = choice };                              \
        struct fop##_reply reply;                                                                  \
        struct fop##_call args;                                                                    \
        struct iatt pre;                                                                           \
        FOP_ARGS_##fop (MAKE)                                                                      \
        made_before (&made, &pre);                                                                 \
        const int r = sync_##fop (world->client FOP_ARGS_##fop (OF_ARGS), &reply);                 \
        if (r >= 0) {                                                                              \
            FOP_RETS_##fop (SHOW)                                                                  \
            made_after (&made, &pre);                                                              \
            made_settle (&made);                                                                   \
        }                                                                                          \
        fop##_reply_drop (&reply);                                                                 \
        made_call_clear (&made);                                                                   \
        return r;                                                                                  \
    }
FOP_LIST (CALL)

int
call_make (struct kit_world *world, const struct case_choice *choice, GString *out)
{
#define ENTRY(fop) [FOP_##fop] = call_##fop,
    static int (*const calls[FOP_MAX]) (struct kit_world *, const struct case_choice *,
                                        GString *) = { FOP_LIST (ENTRY) };
    const int r = calls[choice->op](world, choice, out);
    g_autofree char *text = NULL;
    const bool counted = choice->op == FOP_readdir || choice->op == FOP_readdirp;

    text = r < 0 ? g_strdup_printf ("%s failed: %s\n", fop_name (choice->op), g_strerror (-r))
                 : g_strdup_printf ("%s: op_ret %d\n", fop_name (choice->op), counted ? r > 0 : r);
    g_string_prepend (out, text);
    return r;
}
