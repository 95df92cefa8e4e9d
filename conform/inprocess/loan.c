/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The data that a call or an answer lends is copied into a mapping of its own:
 *
 *   page 0       struct loc, which fills in its path on demand; checked afterwards
 *   page 1...    names, attributes, entries, struct iovec: read-only
 *   the rest     bytes of readv and writev, on a page boundary: read-only
 *
 * When the call has returned, or the answer was processed, the mapping may not be accessed any
 * more; only bytes may be, while they have a reference. Mappings are kept for a while, so that a
 * late access is still recognised.
 */
#include "conform/inprocess/inprocess.h"

#include "core/data/dict.h"
#include "core/data/dirent.h"
#include "core/table/fops-rows.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define SMALL (8 * PAGE)     /* for everything except entries and bytes */
#define REFS (1 << 20)       /* refs of lent bytes: far from 0 and from 1 */
#define LOANS 1024           /* loans that are remembered */

static struct {
    GMutex lock;              /* a leaf */
    struct loan *all[LOANS];  /* replaced under lock, read without one */
    unsigned next;            /* lock */
    GPtrArray *maps;          /* of the usual size, for reuse; lock */
} loans;

#define USUAL (SMALL + 2 * PAGE)

/* --- the mapping ---------------------------------------------------------------------------- */

static void
loan_free (struct loan *loan)
{
    if (loan->size == USUAL) {
        g_mutex_lock (&loans.lock);
        g_ptr_array_add (loans.maps, loan->map);
        g_mutex_unlock (&loans.lock);
    } else {
        munmap (loan->map, loan->size);
    }
    g_free (loan->values);
    g_free (loan);
}

/* Replaces the oldest one that is over. */
static void
loan_remember (struct loan *loan)
{
    struct loan *old = NULL;

    g_mutex_lock (&loans.lock);
    for (unsigned i = 0; i < LOANS; i++, loans.next++) {
        old = loans.all[loans.next % LOANS];
        if (!old || old->over)
            break;
        old = NULL;
    }
    __atomic_store_n (&loans.all[loans.next++ % LOANS], loan, __ATOMIC_RELEASE);
    g_mutex_unlock (&loans.lock);
    if (old)
        loan_free (old);
}

struct loan *
loan_of (const void *address)
{
    for (unsigned i = 0; i < LOANS; i++) {
        struct loan *loan = __atomic_load_n (&loans.all[i], __ATOMIC_ACQUIRE);

        if (loan && (const char *) address >= loan->map
            && (const char *) address < loan->map + loan->size)
            return loan;
    }
    return NULL;
}

static char *
map_again (void)
{
    char *map = NULL;

    g_mutex_lock (&loans.lock);
    if (!loans.maps)
        loans.maps = g_ptr_array_new ();
    if (loans.maps->len > 0)
        map = g_ptr_array_remove_index_fast (loans.maps, loans.maps->len - 1);
    g_mutex_unlock (&loans.lock);
    if (map)
        mprotect (map, USUAL, PROT_READ | PROT_WRITE);
    return map;
}

static struct loan *
loan_new (size_t more)
{
    struct loan *loan = g_new0 (struct loan, 1);

    loan->size = more < PAGE ? USUAL : (USUAL + more + PAGE - 1) & ~(size_t) (PAGE - 1);
    loan->map = loan->size == USUAL ? map_again () : NULL;
    if (!loan->map)
        loan->map = mmap (NULL, loan->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (loan->map == MAP_FAILED)
        g_error ("can't map %zu bytes", loan->size);
    loan->used = PAGE;
    return loan;
}

static void *
loan_alloc (struct loan *loan, size_t size, size_t align)
{
    loan->used = (loan->used + align - 1) & ~(align - 1);
    void *at = loan->map + loan->used;
    loan->used += size;
    g_assert (loan->used <= loan->size);
    return at;
}

static void *
loan_copy (struct loan *loan, const void *from, size_t size)
{
    return from ? memcpy (loan_alloc (loan, size, 16), from, size) : NULL;
}

void
loan_open (struct loan *loan)
{
    mprotect (loan->map, loan->size, PROT_READ | PROT_WRITE);
}

/* --- kinds ---------------------------------------------------------------------------------- */

static loc_t *
loan_loc (struct loan *loan, loc_t *from)
{
    loc_t *loc = (loc_t *) (loan->map + loan->used_locs);

    if (!from)
        return NULL;
    loan->used_locs += sizeof *loc;
    *loc = *from;
    loc->path = NULL;
    if (from->name)
        loc->name = loan_copy (loan, from->name, strlen (from->name) + 1);
    loan->locs[loan->n_locs].lent = loc;
    loan->locs[loan->n_locs++].was = *loc;
    return loc;
}

static dict_t *
loan_dict (struct loan *loan, dict_t *from)
{
    if (!from)
        return NULL;
    loan->dicts[loan->n_dicts].was = dict_ref (from);
    return loan->dicts[loan->n_dicts++].lent = dict_copy (from);
}

static struct iovec *
loan_vector (struct loan *loan, struct iovec *from, int32_t count)
{
    struct iovec *vector;

    if (!from || (!loan->up && variant->given))
        return from;
    vector = loan_copy (loan, from, MAX (count, 1) * sizeof *from);
    loan->buf.ptr = loan_alloc (loan, 0, PAGE);
    for (int32_t i = 0; i < count; i++) {
        vector[i].iov_base = loan_alloc (loan, from[i].iov_len, 1);
        if (from[i].iov_len)
            memcpy (vector[i].iov_base, from[i].iov_base, from[i].iov_len);
    }
    loan->buf.size = iov_length (from, count);
    loan->buf.refs = loan->ref.refs = REFS;
    loan->ref.used = 1;
    loan->ref.bufs[0] = &loan->buf;
    loan->lends_data = true;
    return vector;
}

static struct iobref *
loan_iobref (struct loan *loan, struct iobref *from)
{
    return from && loan->lends_data ? &loan->ref : from;
}

static gf_dirent_t *
loan_dirents (struct loan *loan, gf_dirent_t *from)
{
    gf_dirent_t *first = NULL, **last = &first;

    for (; from; from = from->next) {
        *last = loan_copy (loan, from, sizeof *from + from->d_len + 1);
        if (from->inode)
            g_ptr_array_add (loan->inodes, inode_ref (from->inode));
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    return first;
}

static inode_t *
loan_inode (struct loan *loan, inode_t *inode)
{
    if (inode)
        g_ptr_array_add (loan->inodes, inode_ref (inode));
    return inode;
}

static fd_t *
loan_fd (struct loan *loan, fd_t *fd)
{
    if (fd)
        g_ptr_array_add (loan->fds, fd_ref (fd));
    return fd;
}

static size_t
size_of_loc (const loc_t *loc)
{
    return loc && loc->name ? strlen (loc->name) + 32 : 0;
}

static size_t
size_of_vector (const struct iovec *vector, int32_t count)
{
    return vector ? iov_length (vector, count) + PAGE : 0;
}

static size_t
size_of_dirents (const gf_dirent_t *entry)
{
    size_t size = 0;

    for (; entry; entry = entry->next)
        size += sizeof *entry + entry->d_len + 32;
    return size;
}

#define SIZE_OF_LOC(from, name) size_of_loc (from->name)
#define SIZE_OF_NAME(from, name) (from->name ? strlen (from->name) + 32 : 0)
#define SIZE_OF_VECTOR(from, name) size_of_vector (from->name, from->count)
#define SIZE_OF_DIRENTS(from, name) size_of_dirents (from->name)
#define SIZE_OF_FD(from, name) 0
#define SIZE_OF_INODE(from, name) 0
#define SIZE_OF_IATT(from, name) 0
#define SIZE_OF_DICT(from, name) 0
#define SIZE_OF_COUNT(from, name) 0
#define SIZE_OF_IOBREF(from, name) 0
#define SIZE_OF_SIZE(from, name) 0
#define SIZE_OF_OFFSET(from, name) 0
#define SIZE_OF_FLAGS(from, name) 0
#define SIZE_OF_INT(from, name) 0
#define SIZE_OF_MODE(from, name) 0
#define SIZE_OF_DEV(from, name) 0
#define SIZE_OF_STATVFS(from, name) 0
#define SIZE_OF_LOCK(from, name) 0
#define SIZE_OF_BYTES(from, name) 0

#define COPY_LOC(name) to->name = loan_loc (loan, from->name);
#define COPY_NAME(name) \
    to->name = from->name ? loan_copy (loan, from->name, strlen (from->name) + 1) : NULL;
#define COPY_VECTOR(name) to->name = loan_vector (loan, from->name, from->count);
#define COPY_IOBREF(name) to->name = loan_iobref (loan, from->name);
#define COPY_DIRENTS(name) to->name = loan_dirents (loan, from->name);
#define COPY_FD(name) to->name = loan_fd (loan, from->name);
#define COPY_INODE(name) to->name = loan_inode (loan, from->name);
#define COPY_DICT(name) to->name = loan_dict (loan, from->name);
#define COPY_IATT(name) to->name = loan_copy (loan, from->name, sizeof *from->name);
#define COPY_STATVFS(name) to->name = loan_copy (loan, from->name, sizeof *from->name);
#define COPY_LOCK(name) to->name = loan_copy (loan, from->name, sizeof *from->name);
#define COPY_COUNT(name) to->name = from->name;
#define COPY_SIZE(name) to->name = from->name;
#define COPY_OFFSET(name) to->name = from->name;
#define COPY_FLAGS(name) to->name = from->name;
#define COPY_INT(name) to->name = from->name;
#define COPY_MODE(name) to->name = from->name;
#define COPY_DEV(name) to->name = from->name;
#define COPY_BYTES(name) to->name = from->name;

/* --- operations ----------------------------------------------------------------------------- */

#define ADD_SIZE(kind, name) + SIZE_OF_##kind (from, name)
#define COPY(kind, name) COPY_##kind (name)

#define LEND(fop)                                                                                  \
    static size_t fop##_call_size (const void *values)                                             \
    {                                                                                              \
        const struct fop##_call *from = values;                                                    \
        return sizeof *from FOP_ARGS_##fop (ADD_SIZE);                                             \
    }                                                                                              \
    static size_t fop##_answer_size (const void *values)                                           \
    {                                                                                              \
        const struct fop##_answer *from = values;                                                  \
        return sizeof *from FOP_RETS_##fop (ADD_SIZE);                                             \
    }                                                                                              \
    static void fop##_call_lend (struct loan *loan, const void *values)                            \
    {                                                                                              \
        const struct fop##_call *from = values;                                                    \
        struct fop##_call *to = loan->values = g_new0 (struct fop##_call, 1);                      \
        FOP_ARGS_##fop (COPY)                                                                      \
    }                                                                                              \
    static void fop##_answer_lend (struct loan *loan, const void *values)                          \
    {                                                                                              \
        const struct fop##_answer *from = values;                                                  \
        struct fop##_answer *to = loan->values = g_new0 (struct fop##_answer, 1);                  \
        FOP_RETS_##fop (COPY)                                                                      \
    }
FOP_LIST (LEND)

#define ROW(fop) \
    [FOP_##fop] = { fop##_call_size, fop##_answer_size, fop##_call_lend, fop##_answer_lend, \
                    offsetof (struct fop##_answer, xdata) },
static const struct lender {
    size_t (*call_size) (const void *values);
    size_t (*answer_size) (const void *values);
    void (*call_lend) (struct loan *loan, const void *values);
    void (*answer_lend) (struct loan *loan, const void *values);
    size_t answer_xdata;
} lenders[FOP_MAX] = { FOP_LIST (ROW) };

static struct loan *
loan_begin (enum fop op, size_t size, bool up, const xlator_t *from, const xlator_t *to)
{
    struct loan *loan = loan_new (size);

    loan->up = up;
    loan->from = from;
    loan->to = to;
    loan->op = op;
    loan->inodes = g_ptr_array_new_with_free_func ((GDestroyNotify) inode_unref);
    loan->fds = g_ptr_array_new_with_free_func ((GDestroyNotify) fd_unref);
    return loan;
}

void
loan_protect (struct loan *loan)
{
    mprotect (loan->map + PAGE, loan->size - PAGE, PROT_READ);
}

static struct loan *
loan_seal (struct loan *loan)
{
    loan_protect (loan);
    loan->sealed = true;
    loan_remember (loan);
    return loan;
}

struct loan *
loan_call (const struct call *call, const xlator_t *from, const xlator_t *to)
{
    counts_mute (true);
    struct loan *loan = loan_begin (call->op, lenders[call->op].call_size (call->args), false,
                                    from, to);
    lenders[call->op].call_lend (loan, call->args);
    counts_mute (false);
    loan->call = *call;
    loan->call.args = loan->values;
    return loan_seal (loan);
}

/* Adds a key to the copy of xdata, which is a field of this name in each answer. */
static void
loan_mark (struct loan *loan, const char *mark)
{
    dict_t **xdata = (dict_t **) ((char *) loan->values + lenders[loan->op].answer_xdata);

    if (!*xdata) {
        *xdata = loan->dicts[loan->n_dicts].lent = dict_new ();
        loan->dicts[loan->n_dicts++].was = dict_new ();
    }
    for (unsigned i = 0; i < loan->n_dicts; i++) {
        if (loan->dicts[i].lent != *xdata)
            continue;
        dict_set_str (*xdata, mark, "1");
        dict_unref (loan->dicts[i].was);
        loan->dicts[i].was = dict_copy (*xdata);
    }
}

struct loan *
loan_answer (const struct answer *answer, const xlator_t *from, const xlator_t *to,
             const char *mark)
{
    counts_mute (true);
    const struct lender *lender = &lenders[answer->op];
    struct loan *loan = loan_begin (answer->op, lender->answer_size (answer->rets), true, from, to);
    lender->answer_lend (loan, answer->rets);
    if (mark && answer->op_ret >= 0)
        loan_mark (loan, mark);
    loan->marked = dict_has (*(dict_t **) ((char *) loan->values + lender->answer_xdata), MARK_UP);
    counts_mute (false);
    loan->answer = *answer;
    loan->answer.rets = loan->values;
    return loan_seal (loan);
}

/* --- the end -------------------------------------------------------------------------------- */

static bool
dict_same (const dict_t *a, const dict_t *b)
{
    bool same = dict_count (a) == dict_count (b);

    for (size_t i = 0; same && i < dict_count (a); i++) {
        const char *key;
        const void *value, *other;
        size_t size, other_size;

        dict_nth (a, i, &key, &value, &size);
        other = dict_get (b, key, &other_size);
        same = other && size == other_size && memcmp (value, other, size) == 0;
    }
    return same;
}

static void
loan_check_locs (struct loan *loan)
{
    for (unsigned i = 0; i < loan->n_locs; i++) {
        const loc_t *loc = loan->locs[i].lent, *was = &loan->locs[i].was;

        if (loc->name != was->name || loc->inode != was->inode || loc->parent != was->parent)
            finding_add ("lent memory changed", loan->to, loan->op,
                         "the %s of a loc that it was lent is another now",
                         loc->name != was->name     ? "name"
                         : loc->inode != was->inode ? "inode"
                                                    : "parent");
        else
            loc_wipe_path (loan->locs[i].lent);
    }
}

static void
loan_check_dicts (struct loan *loan)
{
    for (unsigned i = 0; i < loan->n_dicts; i++) {
        if (!dict_same (loan->dicts[i].lent, loan->dicts[i].was))
            finding_add ("lent memory changed", loan->to, loan->op,
                         "a dict that it was lent has other values now");
        dict_unref (loan->dicts[i].lent);
        dict_unref (loan->dicts[i].was);
    }
}

/* Returns true if the bytes have a reference. They are then in the last pages, which stay. */
static bool
loan_kept (struct loan *loan)
{
    const int ref = __atomic_load_n (&loan->ref.refs, __ATOMIC_ACQUIRE);
    const int buf = __atomic_load_n (&loan->buf.refs, __ATOMIC_ACQUIRE);

    if (!loan->lends_data)
        return false;
    if (ref < REFS || buf < REFS)
        finding_add ("reference given back twice", loan->to, loan->op,
                     "the iobref of the bytes that it was lent");
    return ref > REFS || buf > REFS;
}

static void
loan_close (struct loan *loan, bool kept)
{
    const size_t small = kept ? (size_t) ((char *) loan->buf.ptr - loan->map) : loan->size;

    mprotect (loan->map, small, PROT_NONE);
    if (!kept)
        loan->over = true;
}

void
loan_end (struct loan *loan)
{
    counts_mute (true);
    loan_check_locs (loan);
    loan_check_dicts (loan);
    g_clear_pointer (&loan->inodes, g_ptr_array_unref);
    g_clear_pointer (&loan->fds, g_ptr_array_unref);
    counts_mute (false);
    loan->sealed = false;
    loan_close (loan, loan_kept (loan));
}

void
loans_check (void)
{
    for (unsigned i = 0; i < LOANS; i++) {
        struct loan *loan = loans.all[i];

        if (!loan || loan->over || loan->sealed)
            continue;
        if (loan_kept (loan))
            finding_add ("reference leaked", loan->to, loan->op,
                         "an iobref of the bytes that it was lent");
        loan_close (loan, false);
    }
}

const char *
loan_part (const struct loan *loan, const void *address)
{
    const char *at = address;

    if (at < loan->map + PAGE)
        return "a loc";
    if (loan->lends_data && at >= (char *) loan->buf.ptr)
        return "the bytes";
    return loan->lends_data ? "the iovecs or attributes" : "the names or attributes";
}

/* --- locals --------------------------------------------------------------------------------- */

/* A loan of its own: the local is at the end of page 0. */
void *
loan_local_new (xlator_t *owner, int op, size_t size)
{
    struct loan *loan = loan_new (size);

    loan->to = owner;
    loan->values = NULL;
    loan->sealed = true;
    loan->op = (enum fop) op;
    loan->local = true;
    loan_remember (loan);
    *(struct loan **) loan->map = loan; /* for local_gone */
    return memset (loan_alloc (loan, size, PAGE), 0, size);
}

void
local_gone (void *local)
{
    struct loan *const *loan = (struct loan **) ((char *) local - PAGE);

    loan_close (*loan, false);
}
