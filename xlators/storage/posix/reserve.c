/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* option reserve: space that is kept free. Checked at most once a second, and only if the option is
 * set. */
#include "posix.h"

#include <sys/statvfs.h>

#define RESERVE_PERIOD 1000000000 /* nanoseconds */

static bool
reserve_is_full (int fd, struct option_share share)
{
    struct statvfs buf;
    double avail, keep;

    if (fstatvfs (fd, &buf) < 0)
        return false;
    avail = (double) buf.f_bavail * buf.f_frsize;
    keep = share.percent ? (double) buf.f_blocks * buf.f_frsize * share.amount / 100 : share.amount;
    return avail < keep;
}

void
posix_reserve_set (posix_private_t *priv, struct option_share share)
{
    pthread_mutex_lock (&priv->reserve.lock);
    priv->reserve.share = share;
    priv->reserve.checked = 0;
    pthread_mutex_unlock (&priv->reserve.lock);
    __atomic_store_n (&priv->has_reserve, share.amount > 0, __ATOMIC_RELAXED);
}

int
posix_reserve_check (xlator_t *this)
{
    posix_private_t *priv = posix_priv (this);
    int64_t now;
    bool full;

    if (!__atomic_load_n (&priv->has_reserve, __ATOMIC_RELAXED))
        return 0;
    now = clock_now ();
    pthread_mutex_lock (&priv->reserve.lock);
    if (priv->reserve.checked == 0 || now - priv->reserve.checked > RESERVE_PERIOD) {
        priv->reserve.full = reserve_is_full (priv->root->fd, priv->reserve.share);
        priv->reserve.checked = now;
    }
    full = priv->reserve.full;
    pthread_mutex_unlock (&priv->reserve.lock);
    return full ? -ENOSPC : 0;
}
