/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Looking ahead: a program that looks up one name of a directory after the other, as git status,
 * make and ls -l do, waits for a server with each. md-cache lists such a directory in the
 * background, as that caller, with all that a lookup brings, and answers the lookups that follow.
 *
 *   mdc_lookup_cbk, or a lookup that is answered -> mdc_ahead -> mdc_ahead_begin
 *       opendir -> readdirp -> entries_keep -> the fd is dropped
 *
 * An entry of a listing costs a server an eighth of a lookup or less. So FOR_MISS entries are read
 * for each lookup that the server had to answer, and FOR_HIT for each that it was spared. A large
 * directory of which few names are looked up costs little: once UNPROVED entries are read, one in
 * FOR_HIT of all must have been looked up before more are read. The counts begin anew after
 * md-cache-timeout, when the entries hold no longer.
 *
 * cluster/replicate gives no attributes of files that it has not looked up in each copy. So a piece
 * without any is the last one.
 */
#include "md-cache.h"

#define FOR_MISS 8
#define FOR_HIT 16
#define UNPROVED 1024
#define MISSES_FIRST 3 /* so many lookups begin it */
#define PIECE 64       /* entries in one answer */
#define ENTRY_SIZE 224 /* bytes, as bricks count for an entry with a short name */
#define AT_ONCE 4      /* pieces on their way: what programs wait for shares the connection */

static opendir_cbk ahead_opendir_cbk;
static readdirp_cbk ahead_readdirp_cbk;

/* Returns whether a piece is to be read now. */
static bool
piece_is_wanted_locked (xlator_t *this, struct mdc_ahead *ahead, bool answered)
{
    const int64_t now = clock_roughly ();

    if (!ahead->under_way && now - ahead->since >= MDC_OPTION (this, timeout))
        *ahead = (struct mdc_ahead){ .since = now };
    if (answered)
        ahead->answered++;
    else
        ahead->missed++;
    if (ahead->under_way || ahead->ended || ahead->missed < MISSES_FIRST
        || (ahead->read >= UNPROVED && FOR_HIT * ahead->answered < ahead->read))
        return false;
    return ahead->read == 0
        || FOR_MISS * ahead->missed + FOR_HIT * ahead->answered >= ahead->read + PIECE;
}

static bool
one_more_begins (mdc_private_t *priv)
{
    bool may;

    pthread_mutex_lock (&priv->lock);
    may = __atomic_load_n (&priv->look_ahead, __ATOMIC_RELAXED) && priv->ahead_under_way < AT_ONCE;
    priv->ahead_under_way += may;
    pthread_mutex_unlock (&priv->lock);
    return may;
}

static void
one_has_ended (mdc_private_t *priv)
{
    pthread_mutex_lock (&priv->lock);
    priv->ahead_under_way--;
    if (priv->ahead_under_way == 0)
        thread_cond_broadcast (&priv->ahead_idle);
    pthread_mutex_unlock (&priv->lock);
}

void
mdc_ahead_end (xlator_t *this)
{
    mdc_private_t *priv = mdc_priv (this);

    __atomic_store_n (&priv->look_ahead, false, __ATOMIC_SEQ_CST);
    pthread_mutex_lock (&priv->lock);
    while (priv->ahead_under_way > 0)
        thread_cond_wait (&priv->ahead_idle, &priv->lock);
    pthread_mutex_unlock (&priv->lock);
}

static bool
piece_begins (xlator_t *this, struct mdc_inode *kept)
{
    const bool begins = one_more_begins (mdc_priv (this));

    if (!begins) {
        pthread_mutex_lock (&kept->lock);
        kept->ahead->under_way = false;
        pthread_mutex_unlock (&kept->lock);
    }
    return begins;
}

call_stack_t *
mdc_ahead (call_frame_t *frame, xlator_t *this, inode_t *directory, bool answered)
{
    struct mdc_inode *kept;
    struct mdc_local *local;
    call_stack_t *root;
    bool wanted;
    off_t offset;

    if (!directory || !mdc_priv (this)->along || !frame->root->checked
        || !MDC_OPTION (this, look_ahead))
        return NULL;
    kept = mdc_inode_make (this, directory);
    pthread_mutex_lock (&kept->lock);
    if (!kept->ahead)
        kept->ahead = g_new0 (struct mdc_ahead, 1);
    wanted = piece_is_wanted_locked (this, kept->ahead, answered);
    kept->ahead->under_way |= wanted;
    offset = kept->ahead->offset;
    pthread_mutex_unlock (&kept->lock);
    if (!wanted || !piece_begins (this, kept))
        return NULL;
    root = stack_new_like (this, frame);
    root->op = FOP_readdirp;
    local = mdc_ask (&root->frames[0], this, directory);
    local->size = PIECE * ENTRY_SIZE;
    local->offset = offset;
    return root;
}

void
mdc_ahead_begin (xlator_t *this, call_stack_t *root)
{
    g_autoptr (dict_t) xdata = NULL;
    struct mdc_local *local;
    loc_t loc = { 0 };

    if (!root)
        return;
    xdata = dict_new ();
    dict_set_u64 (xdata, XDATA_LOOKS_AHEAD, 1);
    local = root->frames[0].local;
    local->fd = fd_new (this->fd_maker, local->inode, O_RDONLY | O_DIRECTORY, root->pid);
    loc.inode = local->inode;
    mdc_count (&mdc_priv (this)->count.pieces_ahead);
    stack_taken (root);
    STACK_WIND (&root->frames[0], ahead_opendir_cbk, FIRST_CHILD (this), opendir, &loc, local->fd,
                xdata);
    loc_wipe_path (&loc);
}

/* An error ends it: the lookups go on as if there were no listing. */
static void
ahead_done (call_frame_t *frame, unsigned read, off_t offset, bool ended)
{
    xlator_t *this = frame->this;
    struct mdc_inode *kept = mdc_inode_get (this, ((struct mdc_local *) frame->local)->inode);

    pthread_mutex_lock (&kept->lock);
    kept->ahead->read += read;
    kept->ahead->offset = offset;
    kept->ahead->ended = ended;
    kept->ahead->under_way = false;
    pthread_mutex_unlock (&kept->lock);
    stack_done (frame->root);
    one_has_ended (mdc_priv (this));
}

static void
ahead_opendir_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                   int32_t op_errno, fd_t *fd, dict_t *xdata)
{
    struct mdc_local *local = frame->local;
    g_autoptr (dict_t) asked = NULL;

    if (op_ret < 0) {
        ahead_done (frame, 0, 0, true);
        return;
    }
    local->at = mdc_now (this);
    asked = dict_copy (mdc_priv (this)->along);
    dict_set_u64 (asked, XDATA_LOOKS_AHEAD, 1); /* quick-read adds contents */
    STACK_WIND (frame, ahead_readdirp_cbk, FIRST_CHILD (this), readdirp, local->fd, local->size,
                local->offset, asked);
}

static void
ahead_readdirp_cbk (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret,
                    int32_t op_errno, gf_dirent_t *entries, dict_t *xdata)
{
    off_t offset = 0;
    unsigned read = 0;
    bool useful = false;

    if (op_ret >= 0)
        mdc_entries_keep (this, frame->local, entries, true);
    for (const gf_dirent_t *entry = entries; entry; entry = entry->next) {
        offset = entry->d_off;
        useful |= entry->inode && entry->d_stat.ia_type != IA_INVAL;
        read++;
    }
    ahead_done (frame, read, offset, !useful || op_errno == ENOENT);
}
