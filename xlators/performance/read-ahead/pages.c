/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The pages of a file: the contexts of inodes and fds, memory, age, and dropping. */
#include "read-ahead.h"

/* --- inodes ----------------------------------------------------------------------------------- */

struct ra_inode *
ra_inode_get (xlator_t *this, inode_t *inode)
{
    return inode ? inode_ctx_get (inode, this) : NULL;
}

struct ra_inode *
ra_inode_ref (struct ra_inode *inode)
{
    __atomic_add_fetch (&inode->refs, 1, __ATOMIC_RELAXED);
    return inode;
}

void
ra_inode_unref (struct ra_inode *inode)
{
    if (!inode || __atomic_sub_fetch (&inode->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    pthread_mutex_destroy (&inode->lock);
    g_free (inode);
}

static void *
ra_inode_new_pages (xlator_t *this, inode_t *inode)
{
    struct ra_inode *made = g_new0 (struct ra_inode, 1);

    made->refs = 1;
    made->eof = -1;
    pthread_mutex_init (&made->lock, NULL);
    return made;
}

static void
ra_inode_drop (void *made)
{
    ra_inode_unref (made);
}

struct ra_inode *
ra_inode_make (xlator_t *this, inode_t *inode)
{
    return inode_ctx_make (inode, this, ra_inode_new_pages, ra_inode_drop);
}

/* --- files ------------------------------------------------------------------------------------ */

struct ra_file *
ra_file_get (xlator_t *this, fd_t *fd)
{
    return fd_ctx_get (fd, this);
}

void
ra_file_unref (struct ra_file *file)
{
    if (__atomic_sub_fetch (&file->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    ra_inode_unref (file->inode);
    g_free (file);
}

static struct ra_file *
file_new (xlator_t *this, struct ra_inode *inode)
{
    struct ra_file *file = g_new0 (struct ra_file, 1);

    file->refs = 1;
    file->this = this;
    file->inode = ra_inode_ref (inode);
    file->place.data = file;
    return file;
}

/* Two first reads of an fd may arrive at once. */
struct ra_file *
ra_file_make (xlator_t *this, fd_t *fd)
{
    struct ra_file *file = ra_file_get (this, fd);
    struct ra_inode *inode;

    if (file)
        return file;
    inode = ra_inode_make (this, fd->inode);
    pthread_mutex_lock (&inode->lock);
    file = ra_file_get (this, fd);
    if (!file) {
        file = file_new (this, inode);
        fd_ctx_set (fd, this, file);
    }
    pthread_mutex_unlock (&inode->lock);
    return file;
}

bool
ra_is_still_locked (const struct ra_file *file)
{
    return file->inode->changes.under_way == 0 && RA_GET (file->this, blind) == 0;
}

/* --- pages ------------------------------------------------------------------------------------ */

static void
ra_page_gone (struct page *base)
{
    struct ra_page *page = (struct ra_page *) base;

    page_wipe (base);
    ra_file_unref (page->file);
    g_free (page);
}

static void timer_start_locked (xlator_t *this);

static bool
memory_take (xlator_t *this, struct ra_page *page)
{
    ra_private_t *priv = this->private;
    bool there;

    pthread_mutex_lock (&priv->reads.lock);
    there = priv->held + page->base.size <= RA_GET (this, memory) && !RA_GET (this, ending);
    if (there) {
        __atomic_store_n (&priv->held, priv->held + page->base.size, __ATOMIC_RELAXED);
        g_queue_push_tail_link (&priv->pages, &page->age);
        page->aged = true;
        priv->reads.unfinished++;
        timer_start_locked (this);
    }
    pthread_mutex_unlock (&priv->reads.lock);
    return there;
}

struct ra_page *
ra_page_new_locked (struct ra_file *file, off_t offset, size_t size)
{
    xlator_t *this = file->this;
    struct ra_page *page = g_new0 (struct ra_page, 1);

    page_init (&page->base, offset, size, RA_GET (this, epoch), ra_page_gone);
    page->place.data = page->age.data = page;
    page->attributes = RA_GET (this, attributes);
    if (!memory_take (this, page)) {
        RA_COUNT (this, refused, 1);
        g_free (page);
        return NULL;
    }
    page->file = file;
    __atomic_add_fetch (&file->refs, 1, __ATOMIC_RELAXED);
    if (!file->pages.head)
        g_queue_push_tail_link (&file->inode->files, &file->place);
    g_queue_push_tail_link (&file->pages, &page->place);
    page->listed = true;
    return page;
}

/* A page's memory counts while the page is listed. A page that is dropped on its way is freed when
 * it arrives. */
static void
memory_give_back (xlator_t *this, struct ra_page *page)
{
    ra_private_t *priv = this->private;

    pthread_mutex_lock (&priv->reads.lock);
    __atomic_store_n (&priv->held, priv->held - page->base.size, __ATOMIC_RELAXED);
    if (page->aged)
        g_queue_unlink (&priv->pages, &page->age);
    page->aged = false;
    pthread_mutex_unlock (&priv->reads.lock);
}

void
ra_page_drop_locked (struct ra_page *page)
{
    struct ra_file *file = page->file;

    if (!page->listed)
        return;
    page->listed = false;
    g_queue_unlink (&file->pages, &page->place);
    if (!file->pages.head)
        g_queue_unlink (&file->inode->files, &file->place);
    if (page->base.ready && page->base.got > page->used)
        RA_COUNT (file->this, unread, page->base.got - page->used);
    memory_give_back (file->this, page);
    page_unref (&page->base);
}

void
ra_file_drop_locked (struct ra_file *file)
{
    while (file->pages.head)
        ra_page_drop_locked (file->pages.head->data);
}

void
ra_inode_drop_locked (struct ra_inode *inode)
{
    while (inode->files.head)
        ra_file_drop_locked (inode->files.head->data);
    inode->eof = -1;
}

/* --- age -------------------------------------------------------------------------------------- */

/* Takes the oldest page out of the queue, if it is too old or there are too many; with a
 * reference. */
static struct ra_page *
pop_locked (xlator_t *this, bool all)
{
    ra_private_t *priv = this->private;
    struct ra_page *page = g_queue_peek_head (&priv->pages);

    if (!page)
        return NULL;
    if (!all && priv->held <= RA_GET (this, memory)
        && clock_roughly () - page->base.asked_at < RA_GET (this, timeout))
        return NULL;
    g_queue_unlink (&priv->pages, &page->age);
    page->aged = false;
    page_ref (&page->base);
    return page;
}

/* Dropping takes the inode's lock, so the lock of the queue is released first. */
static void
drop (xlator_t *this, bool all)
{
    ra_private_t *priv = this->private;
    struct ra_page *page;

    do {
        pthread_mutex_lock (&priv->reads.lock);
        page = pop_locked (this, all);
        pthread_mutex_unlock (&priv->reads.lock);
        if (page) {
            struct ra_inode *inode = page->file->inode;

            pthread_mutex_lock (&inode->lock);
            ra_page_drop_locked (page);
            pthread_mutex_unlock (&inode->lock);
            page_unref (&page->base);
        }
    } while (page);
}

void
ra_drop_all (xlator_t *this)
{
    drop (this, true);
}

void
ra_drop_old (xlator_t *this)
{
    drop (this, false);
}

static void
timer_due (void *data)
{
    xlator_t *this = data;
    ra_private_t *priv = this->private;

    pthread_mutex_lock (&priv->reads.lock);
    priv->timer = NULL;
    pthread_mutex_unlock (&priv->reads.lock);
    drop (this, false);
    pthread_mutex_lock (&priv->reads.lock);
    if (priv->pages.head)
        timer_start_locked (this);
    pthread_mutex_unlock (&priv->reads.lock);
    page_reads_unfinished (&priv->reads, -1);
}

/* The timer frees pages that no reader uses. */
static void
timer_start_locked (xlator_t *this)
{
    ra_private_t *priv = this->private;

    if (priv->timer || RA_GET (this, ending))
        return;
    priv->reads.unfinished++;
    priv->timer = timer_after (MAX (RA_GET (this, timeout), (int64_t) 50 * 1000000), timer_due,
                               this);
}
