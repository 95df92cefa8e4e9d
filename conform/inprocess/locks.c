/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Locks that translators hold. A module calls functions of pthread and glib through a table of
 * addresses. In the modules of the graph alone, these addresses are replaced by functions that keep
 * a list for each thread. So no preloading is needed, and a sanitizer below still sees the lock.
 */
#include "conform/inprocess/inprocess.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HELD_MAX 32

struct held_lock {
    const volatile void *lock;
    const void *caller;
    const char *what;
};

static __thread struct {
    struct held_lock held[HELD_MAX];
    unsigned n;
} thread_locks;

static int
lock_took (int r, const char *what, const volatile void *lock, const void *caller)
{
    if (r == 0 && thread_locks.n < HELD_MAX)
        thread_locks.held[thread_locks.n++] = (struct held_lock){ lock, caller, what };
    return r;
}

static void
gave (const volatile void *lock)
{
    for (unsigned i = thread_locks.n; i-- > 0;) {
        if (thread_locks.held[i].lock != lock)
            continue;
        memmove (&thread_locks.held[i], &thread_locks.held[i + 1],
                 (--thread_locks.n - i) * sizeof thread_locks.held[0]);
        return;
    }
}

/* --- replacement functions ------------------------------------------------------------------ */

#define CALLER __builtin_return_address (0)

#define TAKES(function, what, type)                                                                \
    static int my_##function (type *lock)                                                          \
    {                                                                                              \
        return lock_took (function (lock), what, lock, CALLER);                                    \
    }
#define GIVES(function, type)                                                                      \
    static int my_##function (type *lock)                                                          \
    {                                                                                              \
        gave (lock);                                                                               \
        return function (lock);                                                                    \
    }
#define G_TAKES(function, what, type)                                                              \
    static void my_##function (type *lock)                                                         \
    {                                                                                              \
        function (lock);                                                                           \
        lock_took (0, what, lock, CALLER);                                                         \
    }
#define G_TRIES(function, what, type)                                                              \
    static gboolean my_##function (type *lock)                                                     \
    {                                                                                              \
        return lock_took (function (lock) ? 0 : 1, what, lock, CALLER) == 0;                       \
    }
#define G_GIVES(function, type)                                                                    \
    static void my_##function (type *lock)                                                         \
    {                                                                                              \
        gave (lock);                                                                               \
        function (lock);                                                                           \
    }

#define PTHREAD_LOCKS(TAKES, GIVES)                                                                \
    TAKES (pthread_mutex_lock, "mutex", pthread_mutex_t)                                           \
    TAKES (pthread_mutex_trylock, "mutex", pthread_mutex_t)                                        \
    GIVES (pthread_mutex_unlock, pthread_mutex_t)                                                  \
    TAKES (pthread_rwlock_rdlock, "read lock", pthread_rwlock_t)                                   \
    TAKES (pthread_rwlock_wrlock, "write lock", pthread_rwlock_t)                                  \
    TAKES (pthread_rwlock_tryrdlock, "read lock", pthread_rwlock_t)                                \
    TAKES (pthread_rwlock_trywrlock, "write lock", pthread_rwlock_t)                               \
    GIVES (pthread_rwlock_unlock, pthread_rwlock_t)                                                \
    TAKES (pthread_spin_lock, "spinlock", pthread_spinlock_t)                                      \
    TAKES (pthread_spin_trylock, "spinlock", pthread_spinlock_t)                                   \
    GIVES (pthread_spin_unlock, pthread_spinlock_t)
#define GLIB_LOCKS(TAKES, TRIES, GIVES)                                                            \
    TAKES (g_mutex_lock, "mutex", GMutex)                                                          \
    TRIES (g_mutex_trylock, "mutex", GMutex)                                                       \
    GIVES (g_mutex_unlock, GMutex)                                                                 \
    TAKES (g_rec_mutex_lock, "mutex", GRecMutex)                                                   \
    TRIES (g_rec_mutex_trylock, "mutex", GRecMutex)                                                \
    GIVES (g_rec_mutex_unlock, GRecMutex)                                                          \
    TAKES (g_rw_lock_reader_lock, "read lock", GRWLock)                                            \
    TRIES (g_rw_lock_reader_trylock, "read lock", GRWLock)                                         \
    GIVES (g_rw_lock_reader_unlock, GRWLock)                                                       \
    TAKES (g_rw_lock_writer_lock, "write lock", GRWLock)                                           \
    TRIES (g_rw_lock_writer_trylock, "write lock", GRWLock)                                        \
    GIVES (g_rw_lock_writer_unlock, GRWLock)

PTHREAD_LOCKS (TAKES, GIVES)
GLIB_LOCKS (G_TAKES, G_TRIES, G_GIVES)

static const struct {
    const char *name;
    void (*mine) (void);
} replaced[] = {
#define TAKES_ROW(function, what, type) { #function, (void (*) (void)) my_##function },
#define GIVES_ROW(function, type) { #function, (void (*) (void)) my_##function },
    PTHREAD_LOCKS (TAKES_ROW, GIVES_ROW) GLIB_LOCKS (TAKES_ROW, TAKES_ROW, GIVES_ROW)
};

/* --- a module's table ----------------------------------------------------------------------- */

/* Data from its dynamic section. */
struct dynamic {
    const char *strings;
    const ElfW (Sym) *symbols;
    ElfW (Addr) jumps, relocations;
    size_t jumps_size, relocations_size;
};

static void
dynamic_read (const struct link_map *map, struct dynamic *ret)
{
    *ret = (struct dynamic){ 0 };
    for (const ElfW (Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_STRTAB: ret->strings = (const char *) entry->d_un.d_ptr; break;
        case DT_SYMTAB: ret->symbols = (const ElfW (Sym) *) entry->d_un.d_ptr; break;
        case DT_JMPREL: ret->jumps = entry->d_un.d_ptr; break;
        case DT_PLTRELSZ: ret->jumps_size = entry->d_un.d_val; break;
        case DT_RELA: ret->relocations = entry->d_un.d_ptr; break;
        case DT_RELASZ: ret->relocations_size = entry->d_un.d_val; break;
        default: break;
        }
    }
}

static void
slot_replace (void **slot, const char *name)
{
    const uintptr_t page = (uintptr_t) slot & ~((uintptr_t) sysconf (_SC_PAGESIZE) - 1);

    for (size_t i = 0; i < G_N_ELEMENTS (replaced); i++) {
        if (strcmp (replaced[i].name, name) != 0)
            continue;
        /* The table may have been made read-only when the module was loaded; these pages contain
         * nothing else that matters. */
        mprotect ((void *) page, (uintptr_t) (slot + 1) - page, PROT_READ | PROT_WRITE);
        *slot = (void *) replaced[i].mine;
    }
}

#if __ELF_NATIVE_CLASS == 64
#define SYMBOL_OF ELF64_R_SYM
#else
#define SYMBOL_OF ELF32_R_SYM
#endif

static void
relocations_walk (const struct link_map *map, const struct dynamic *dynamic, ElfW (Addr) at,
                  size_t size)
{
    const ElfW (Rela) *rela = (const ElfW (Rela) *) at;

    for (size_t i = 0; i < size / sizeof *rela; i++) {
        const size_t symbol = SYMBOL_OF (rela[i].r_info);

        if (symbol)
            slot_replace ((void **) (map->l_addr + rela[i].r_offset),
                          dynamic->strings + dynamic->symbols[symbol].st_name);
    }
}

void
locks_watch (const struct graph *graph)
{
    for (guint i = 0; i < graph->xlators->len; i++) {
        const xlator_t *xl = graph->xlators->pdata[i];
        struct link_map *map = NULL;
        struct dynamic dynamic;
        Dl_info info;

        if (xl->api == &inspect_api || !dladdr1 (xl->api, &info, (void **) &map, RTLD_DL_LINKMAP)
            || !map)
            continue;
        dynamic_read (map, &dynamic);
        relocations_walk (map, &dynamic, dynamic.jumps, dynamic.jumps_size);
        relocations_walk (map, &dynamic, dynamic.relocations, dynamic.relocations_size);
    }
}

void
locks_check (const xlator_t *who, enum fop op, const char *over, const struct call_site *site)
{
    for (unsigned i = 0; i < thread_locks.n; i++) {
        const struct held_lock *held = &thread_locks.held[i];
        const char *type = place_type (held->caller);

        if (!type || !who || strcmp (type, who->type) != 0)
            continue;
        g_autofree char *place = place_name (held->caller);
        finding_add ("lock held", who, op, "the %s that %s took is held over the %s at %s:%d",
                     held->what, place, over, site ? site->file : "?", site ? site->line : 0);
    }
}
