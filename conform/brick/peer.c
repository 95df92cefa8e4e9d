/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Connections to the brick: receives the records of calls, and sends the records of replies. */
#include "conform/brick/brick.h"

#include "rpc/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define LAST_FRAGMENT 0x80000000u
#define BACKLOG 64

void
brick_parcel_free (struct brick_parcel *parcel)
{
    g_byte_array_unref (parcel->record);
    g_free (parcel);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void
brick_peer_flush (struct brick_peer *peer)
{
    const struct stream stream = { .fd = peer->watch.fd };
    struct iovec part;
    ssize_t n = 0;

    while (peer->out->len > 0 && n >= 0) {
        part = (struct iovec){ peer->out->data, peer->out->len };
        n = stream_write (&stream, &part, 1);
        if (n > 0)
            g_byte_array_remove_range (peer->out, 0, (guint) n);
    }
    loop_change (&peer->watch, peer->out->len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void
brick_peer_send (struct brick_peer *peer, const GByteArray *record)
{
    g_byte_array_append (peer->out, record->data, record->len);
    brick_peer_flush (peer);
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Removes the first record from the received bytes, and returns it without its record mark. Returns
 * NULL if the end of the record has not been received yet. */
static GByteArray *
brick_record_take (struct brick_peer *peer)
{
    GByteArray *record;
    uint32_t mark;

    if (peer->in->len < sizeof mark)
        return NULL;
    memcpy (&mark, peer->in->data, sizeof mark);
    mark = GUINT32_FROM_BE (mark) & ~LAST_FRAGMENT;
    if (peer->in->len - sizeof mark < mark)
        return NULL;
    record = g_byte_array_sized_new (mark);
    g_byte_array_append (record, peer->in->data + sizeof mark, mark);
    g_byte_array_remove_range (peer->in, 0, (guint) sizeof mark + mark);
    return record;
}

static void
brick_parcels_drop (GPtrArray *parcels, const struct brick_peer *peer)
{
    for (guint i = parcels->len; i-- > 0;)
        if (((struct brick_parcel *) parcels->pdata[i])->peer == peer)
            g_ptr_array_remove_index (parcels, i);
}

static void
brick_peer_close (struct brick_peer *peer)
{
    struct brick *brick = peer->brick;

    loop_remove (&peer->watch);
    close (peer->watch.fd);
    brick_parcels_drop (brick->waiting, peer);
    brick_parcels_drop (brick->parcels, peer);
    brick_locks_drop (brick, peer);
    g_hash_table_unref (peer->fds);
    g_byte_array_unref (peer->in);
    g_byte_array_unref (peer->out);
    g_ptr_array_remove (brick->peers, peer);
    g_free (peer);
    brick_park_waiting (brick);
    loop_stir ();
}

static void
brick_peer_ready (struct loop_watch *watch, uint32_t events)
{
    struct brick_peer *peer = (void *) ((char *) watch - offsetof (struct brick_peer, watch));
    const struct stream stream = { .fd = watch->fd };
    GByteArray *record;
    uint8_t bytes[65536];
    ssize_t n;

    if (events & EPOLLOUT)
        brick_peer_flush (peer);
    while ((n = stream_read (&stream, bytes, sizeof bytes)) > 0)
        g_byte_array_append (peer->in, bytes, (guint) n);
    while ((record = brick_record_take (peer)))
        brick_park (peer, record, false, peer->brick->came++);
    if (n != -EAGAIN)
        brick_peer_close (peer);
}

/* --- connecting ------------------------------------------------------------------------------- */

static void
brick_peer_new (struct brick *brick, int fd)
{
    struct brick_peer *peer = g_new0 (struct brick_peer, 1);

    peer->brick = brick;
    peer->watch = (struct loop_watch){ brick_peer_ready, fd };
    peer->in = g_byte_array_new ();
    peer->out = g_byte_array_new ();
    peer->fds = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free,
                                       (GDestroyNotify) fd_unref);
    g_ptr_array_add (brick->peers, peer);
    if (loop_add (&peer->watch, EPOLLIN) < 0)
        g_error ("no connection to a brick can be watched");
}

static void
brick_listener_ready (struct loop_watch *watch, uint32_t events)
{
    struct brick *brick = (void *) ((char *) watch - offsetof (struct brick, listener));
    const int fd = accept4 (watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd >= 0)
        brick_peer_new (brick, fd);
}

int
brick_listen (struct brick *brick)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const int fd = socket (AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int r = fd < 0 ? -errno : strlen (brick->socket) < sizeof at.sun_path ? 0 : -ENAMETOOLONG;

    brick->listener = (struct loop_watch){ brick_listener_ready, fd };
    if (r == 0) {
        strcpy (at.sun_path, brick->socket);
        unlink (brick->socket);
        if (bind (fd, (struct sockaddr *) &at, sizeof at) < 0 || listen (fd, BACKLOG) < 0)
            r = -errno;
    }
    if (r == 0)
        r = loop_add (&brick->listener, EPOLLIN);
    if (r < 0 && fd >= 0)
        close (fd);
    if (r < 0)
        brick->listener.fd = -1;
    return r;
}

void
brick_hang_up (struct brick *brick)
{
    loop_remove (&brick->listener);
    close (brick->listener.fd);
    unlink (brick->socket);
    brick->listener.fd = -1;
    while (brick->peers->len > 0)
        brick_peer_close (brick->peers->pdata[0]);
}
