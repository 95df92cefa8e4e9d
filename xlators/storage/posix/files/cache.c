/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inodes with an open descriptor: a ring with a clock's hand. Using a descriptor is a
 * compare-and-swap and takes no lock; opening, closing and forgetting take cache.lock.
 *
 *   state  POSIX_CLOSED --insert--> 1 <--pin, unpin--> n ... 0 --evict--> POSIX_CLOSED
 */
#include "../posix.h"

void
posix_cache_init (struct posix_cache *cache, unsigned limit)
{
    pthread_mutex_init (&cache->lock, NULL);
    cache->ring = g_ptr_array_new ();
    cache->limit = limit;
    cache->most = G_MAXINT;
}

void
posix_cache_destroy (struct posix_cache *cache)
{
    g_clear_pointer (&cache->ring, g_ptr_array_unref);
    pthread_mutex_destroy (&cache->lock);
}

bool
posix_cache_pin (struct posix_inode *pi)
{
    int state = __atomic_load_n (&pi->state, __ATOMIC_RELAXED);

    while (state != POSIX_CLOSED)
        if (__atomic_compare_exchange_n (&pi->state, &state, state + 1, true, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED)) {
            if (__atomic_load_n (&pi->used, __ATOMIC_RELAXED) == 0)
                __atomic_store_n (&pi->used, 1, __ATOMIC_RELAXED);
            return true;
        }
    return false;
}

void
posix_cache_unpin (struct posix_inode *pi)
{
    __atomic_sub_fetch (&pi->state, 1, __ATOMIC_RELEASE);
}

static void
cache_add_locked (struct posix_cache *cache, struct posix_inode *pi)
{
    pi->place = (int) cache->ring->len;
    g_ptr_array_add (cache->ring, pi);
}

static void
cache_remove_locked (struct posix_cache *cache, struct posix_inode *pi)
{
    struct posix_inode *last;

    if (pi->place < 0)
        return;
    g_ptr_array_remove_index_fast (cache->ring, (guint) pi->place);
    if ((guint) pi->place < cache->ring->len) {
        last = cache->ring->pdata[pi->place];
        last->place = pi->place;
    }
    pi->place = -1;
}

/* Takes the descriptor of an inode that was not used since the hand last passed it, or returns
 * -1. */
static int
cache_evict_locked (struct posix_cache *cache)
{
    for (guint left = 2 * cache->ring->len; left > 0; left--) {
        struct posix_inode *pi;
        int idle = 0;

        if (cache->hand >= cache->ring->len)
            cache->hand = 0;
        pi = cache->ring->pdata[cache->hand];
        if (__atomic_exchange_n (&pi->used, 0, __ATOMIC_RELAXED) == 0
            && __atomic_compare_exchange_n (&pi->state, &idle, POSIX_CLOSED, false,
                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            int fd = pi->fd;

            if (cache->watch)
                posix_watch_unmark (cache->watch, pi, fd, true);
            pi->fd = -1;
            cache_remove_locked (cache, pi);
            return fd;
        }
        cache->hand++;
    }
    return -1;
}

unsigned
posix_cache_evict (struct posix_cache *cache, unsigned n)
{
    unsigned done = 0;

    while (done < n) {
        int fd;

        pthread_mutex_lock (&cache->lock);
        fd = cache_evict_locked (cache);
        pthread_mutex_unlock (&cache->lock);
        if (fd < 0)
            break;
        close (fd);
        done++;
    }
    return done;
}

void
posix_cache_shrink (struct posix_cache *cache, unsigned n)
{
    unsigned len;

    pthread_mutex_lock (&cache->lock);
    len = cache->ring->len;
    pthread_mutex_unlock (&cache->lock);
    if (len > cache->limit / 4)
        posix_cache_evict (cache, n);
}

/* fd has too high a number. Moves it to the number of the victim and returns that; *victim becomes
 * the old number, to be closed. Without this, high numbers would stay, and each low number that is
 * closed would permit one more. */
static int
cache_move_down (int fd, int *victim)
{
    const int low = *victim;

    if (low < 0 || low > fd || dup3 (fd, low, O_CLOEXEC) < 0)
        return fd;
    *victim = fd;
    return low;
}

/* pi is pinned, and has moved. Its open files keep their own descriptors. */
static void
cache_renew_locked (struct posix_cache *cache, struct posix_inode *pi, int fd)
{
    const uint16_t moves = file_system_moves (pi->fs);

    if (pi->kept)
        return;
    for (struct posix_fd *pfd = pi->open; pfd; pfd = pfd->next_open)
        pfd->pi = NULL;
    pi->open = NULL;
    if (cache->watch)
        posix_watch_unmark (cache->watch, pi, pi->fd, false);
    if (dup3 (fd, pi->fd, O_CLOEXEC) >= 0)
        __atomic_store_n (&pi->moves, moves, __ATOMIC_RELAXED);
    if (cache->watch)
        posix_watch_mark (cache->watch, pi, pi->fd);
}

void
posix_cache_insert (struct posix_cache *cache, struct posix_inode *pi, int fd)
{
    int victim = -1;

    pthread_mutex_lock (&cache->lock);
    if (posix_cache_pin (pi)) {
        if (G_UNLIKELY (posix_has_moved (pi)))
            cache_renew_locked (cache, pi, fd);
        victim = fd; /* another thread was faster */
    } else {
        /* If all are in use the ring grows for a while: refusing would be worse. */
        if (cache->ring->len >= cache->limit || fd >= cache->most)
            victim = cache_evict_locked (cache);
        if (fd >= cache->most)
            fd = cache_move_down (fd, &victim);
        if (cache->watch)
            posix_watch_mark (cache->watch, pi, fd);
        pi->fd = fd;
        pi->used = 1;
        __atomic_store_n (&pi->moves, file_system_moves (pi->fs), __ATOMIC_RELAXED);
        __atomic_store_n (&pi->state, 1, __ATOMIC_RELEASE);
        cache_add_locked (cache, pi);
    }
    pthread_mutex_unlock (&cache->lock);
    if (victim >= 0)
        close (victim);
}

void
posix_cache_opened (struct posix_cache *cache, struct posix_inode *pi, struct posix_fd *pfd)
{
    pthread_mutex_lock (&cache->lock);
    pfd->pi = pi;
    pfd->next_open = pi->open;
    pi->open = pfd;
    pthread_mutex_unlock (&cache->lock);
}

static int
posix_cached_fd (const struct posix_fd *pfd)
{
    return __atomic_load_n (&pfd->fd, __ATOMIC_ACQUIRE);
}

/* Returns an open file with a descriptor of its own, which stays until release; or NULL. */
static struct posix_fd *
cache_owner_locked (const struct posix_inode *pi)
{
    struct posix_fd *pfd = pi->open;

    while (pfd && posix_cached_fd (pfd) < 0)
        pfd = pfd->next_open;
    return pfd;
}

int
posix_cache_copy_open (struct posix_cache *cache, struct posix_inode *pi)
{
    const struct posix_fd *owner;
    int fd = -ENOENT;

    pthread_mutex_lock (&cache->lock);
    owner = cache_owner_locked (pi);
    if (owner) {
        fd = fcntl (posix_cached_fd (owner), F_DUPFD_CLOEXEC, 0);
        fd = fd < 0 ? -errno : fd;
    }
    pthread_mutex_unlock (&cache->lock);
    return fd;
}

enum posix_holders
posix_cache_holders (struct posix_cache *cache, const struct posix_inode *pi)
{
    enum posix_holders holders;

    pthread_mutex_lock (&cache->lock);
    holders = !pi->open ? HOLDERS_NONE : cache_owner_locked (pi) ? HOLDERS_OWN : HOLDERS_BRIEF;
    pthread_mutex_unlock (&cache->lock);
    return holders;
}

/* Kept descriptors leave the ring, with a pin that is never released. */
static void
cache_keep_locked (struct posix_cache *cache, struct posix_inode *pi)
{
    if (pi->kept)
        return;
    pi->kept = true;
    __atomic_add_fetch (&pi->state, 1, __ATOMIC_RELAXED);
    cache_remove_locked (cache, pi);
}

void
posix_cache_keep (struct posix_cache *cache, struct posix_inode *pi)
{
    pthread_mutex_lock (&cache->lock);
    cache_keep_locked (cache, pi);
    pthread_mutex_unlock (&cache->lock);
}

void
posix_cache_keep_nameless (struct posix_cache *cache, struct posix_inode *pi)
{
    pthread_mutex_lock (&cache->lock);
    if (cache_owner_locked (pi))
        __atomic_store_n (&pi->nameless, true, __ATOMIC_RELAXED);
    else if (__atomic_load_n (&pi->state, __ATOMIC_RELAXED) > 0)
        cache_keep_locked (cache, pi);
    pthread_mutex_unlock (&cache->lock);
}

/* Returns true if pfd's descriptor alone keeps pi, which has no name that leads back to it. */
static bool
cache_needs_locked (const struct posix_inode *pi, const struct posix_fd *pfd)
{
    const int fd = posix_cached_fd (pfd);
    struct stat st;

    if (!pi->nameless || pi->kept || fd < 0 || cache_owner_locked (pi))
        return false;
    return !pi->by_handle || fstat (fd, &st) < 0 || st.st_nlink == 0;
}

/* Gives pfd's descriptor to pi, which is closed, for good. */
static void
cache_hand_over_locked (struct posix_cache *cache, struct posix_inode *pi, struct posix_fd *pfd)
{
    pi->fd = posix_cached_fd (pfd);
    pi->kept = true;
    pfd->left = true;
    if (cache->watch)
        posix_watch_mark (cache->watch, pi, pi->fd);
    __atomic_store_n (&pi->state, 1, __ATOMIC_RELEASE);
}

bool
posix_cache_borrow (struct posix_cache *cache, struct posix_inode *pi)
{
    struct posix_fd *owner;
    bool pinned;

    pthread_mutex_lock (&cache->lock);
    owner = cache_owner_locked (pi);
    if (pi->nameless && owner && __atomic_load_n (&pi->state, __ATOMIC_RELAXED) == POSIX_CLOSED)
        cache_hand_over_locked (cache, pi, owner);
    pinned = pi->kept && posix_cache_pin (pi);
    pthread_mutex_unlock (&cache->lock);
    return pinned;
}

bool
posix_cache_released (struct posix_cache *cache, struct posix_fd *pfd)
{
    struct posix_inode *pi;
    struct posix_fd **link;

    pthread_mutex_lock (&cache->lock);
    pi = pfd->pi;
    if (pi) {
        link = &pi->open;
        while (*link != pfd)
            link = &(*link)->next_open;
        *link = pfd->next_open;
        if (cache_needs_locked (pi, pfd)) {
            if (posix_cache_pin (pi)) {
                cache_keep_locked (cache, pi);
                posix_cache_unpin (pi);
            } else {
                cache_hand_over_locked (cache, pi, pfd);
            }
        }
    }
    pthread_mutex_unlock (&cache->lock);
    return pfd->left;
}

void
posix_cache_forget (struct posix_cache *cache, struct posix_inode *pi)
{
    int fd;

    pthread_mutex_lock (&cache->lock);
    cache_remove_locked (cache, pi);
    for (struct posix_fd *pfd = pi->open; pfd; pfd = pfd->next_open)
        pfd->pi = NULL; /* another inode replaced this one when it was linked */
    fd = pi->state == POSIX_CLOSED ? -1 : pi->fd;
    if (fd >= 0 && cache->watch)
        posix_watch_unmark (cache->watch, pi, fd, false);
    pi->state = POSIX_CLOSED;
    pthread_mutex_unlock (&cache->lock);
    if (fd >= 0)
        close (fd);
}
