/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/metrics/busy.h"

#include "core/base/process.h"
#include "core/edge/frame.h"
#include "core/data/inode.h"
#include "core/edge/watch.h"

#include <string.h>

#define SLOTS (2 * BUSY_ROWS) /* a power of two */
#define FREE UINT16_MAX

struct table {
    pthread_mutex_t lock; /* a leaf, held for a microsecond at most */
    size_t used;          /* lock */
    struct busy_row rows[BUSY_ROWS]; /* lock */
    uint16_t slots[SLOTS];           /* lock: indices of rows by the hash of their key, with linear
                                        probing; FREE ends a search */
};

static struct table tables[BUSY_TABLES] = { { .lock = PTHREAD_MUTEX_INITIALIZER },
                                            { .lock = PTHREAD_MUTEX_INITIALIZER } };
static const xlator_t *the_edge; /* atomic */
static struct itable *the_itable; /* atomic; written before the_edge */
static bool busy_is_on;               /* used only by the thread that calls busy_set */

/* --- tables ---------------------------------------------------------------------------------- */

static size_t
busy_slot_of (uint64_t key)
{
    return (size_t) (key * 0x9e3779b97f4a7c15u >> 32) % SLOTS;
}

static void
index_locked (struct table *table, size_t row)
{
    size_t slot = busy_slot_of (table->rows[row].key);

    while (table->slots[slot] != FREE)
        slot = (slot + 1) % SLOTS;
    table->slots[slot] = (uint16_t) row;
}

static void
index_all_locked (struct table *table)
{
    for (size_t i = 0; i < SLOTS; i++)
        table->slots[i] = FREE;
    for (size_t i = 0; i < table->used; i++)
        index_locked (table, i);
}

/* Replaces the row with the fewest calls. */
static struct busy_row *
replace_locked (struct table *table, uint64_t key)
{
    struct busy_row *least = &table->rows[0];

    for (size_t i = 1; i < BUSY_ROWS; i++)
        if (table->rows[i].count < least->count)
            least = &table->rows[i];
    *least = (struct busy_row){ .key = key, .count = least->count, .over = least->count };
    index_all_locked (table);
    return least;
}

static struct busy_row *
busy_find_locked (struct table *table, uint64_t key)
{
    for (size_t slot = busy_slot_of (key); table->slots[slot] != FREE; slot = (slot + 1) % SLOTS)
        if (table->rows[table->slots[slot]].key == key)
            return &table->rows[table->slots[slot]];
    return NULL;
}

static struct busy_row *
busy_add_locked (struct table *table, uint64_t key)
{
    if (table->used == BUSY_ROWS)
        return replace_locked (table, key);
    table->rows[table->used] = (struct busy_row){ .key = key };
    index_locked (table, table->used);
    return &table->rows[table->used++];
}

/* Finds a file's path or a process's name. The caller waits for the answer, so both exist now;
 * later they may be gone. */
static void
note_name (enum busy_by by, uint64_t key, char *ret_name)
{
    g_autofree char *comm = by == BUSY_PATH ? NULL : process_comm ((pid_t) key);

    *ret_name = '\0';
    if (by == BUSY_PATH) {
        if (!inode_path_of_nodeid (__atomic_load_n (&the_itable, __ATOMIC_ACQUIRE), key, NULL, true,
                                   ret_name, BUSY_NAME))
            *ret_name = '\0';
        return;
    }
    if (comm)
        g_strlcpy (ret_name, comm, BUSY_NAME);
}

/* The name is found without the lock, and only for a new row. */
static struct busy_row *
lock_row_of (enum busy_by by, uint64_t key)
{
    struct table *table = &tables[by];
    struct busy_row *row;
    char name[BUSY_NAME] = "";

    pthread_mutex_lock (&table->lock);
    if ((row = busy_find_locked (table, key)))
        return row;
    pthread_mutex_unlock (&table->lock);
    note_name (by, key, name);
    pthread_mutex_lock (&table->lock);
    if ((row = busy_find_locked (table, key)))
        return row;
    row = busy_add_locked (table, key);
    memcpy (row->name, name, sizeof name);
    return row;
}

static void
busy_count (enum busy_by by, uint64_t key, const struct watch_event *event, uint64_t ns)
{
    struct busy_row *row = lock_row_of (by, key);

    row->count++;
    row->sum += ns;
    row->max = MAX (row->max, ns);
    if (event->op_ret < 0)
        row->failed++;
    else if (event->op == FOP_readv || event->op == FOP_writev)
        row->bytes += (uint64_t) event->op_ret;
    pthread_mutex_unlock (&tables[by].lock);
}

/* --- watching -------------------------------------------------------------------------------- */

static void
busy_unwind (const struct watch_event *event)
{
    const call_stack_t *root = event->frame->root;
    uint64_t ns;

    if (event->caller != __atomic_load_n (&the_edge, __ATOMIC_ACQUIRE))
        return;
    ns = ticks_to_ns (event->ticks - event->begin);
    if (root->about)
        busy_count (BUSY_PATH, root->about, event, ns);
    busy_count (BUSY_PROCESS, (uint64_t) root->pid, event, ns);
}

static const struct watcher busy_watcher = { .name = "busy", .unwind = busy_unwind };

void
busy_set (GPtrArray *xlators, const xlator_t *edge, struct itable *itable, bool on)
{
    if (on == busy_is_on)
        return;
    busy_is_on = on;
    for (int i = 0; on && i < BUSY_TABLES; i++) {
        pthread_mutex_lock (&tables[i].lock);
        tables[i].used = 0;
        index_all_locked (&tables[i]);
        pthread_mutex_unlock (&tables[i].lock);
    }
    if (on)
        __atomic_store_n (&the_itable, itable, __ATOMIC_RELEASE);
    __atomic_store_n (&the_edge, on ? edge : NULL, __ATOMIC_RELEASE);
    watch_set (xlators, &busy_watcher, on);
}

size_t
busy_read (enum busy_by by, struct busy_row *ret_rows)
{
    struct table *table = &tables[by];
    size_t used;

    pthread_mutex_lock (&table->lock);
    used = table->used;
    for (size_t i = 0; i < used; i++)
        ret_rows[i] = table->rows[i];
    pthread_mutex_unlock (&table->lock);
    return used;
}
