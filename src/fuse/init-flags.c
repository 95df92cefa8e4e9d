/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Changes to messages between libfuse and the device.
 *
 * libfuse 3.14 doesn't know FUSE_HANDLE_KILLPRIV_V2, without which the kernel asks for
 * security.capability before each write, and doesn't tell programs of FUSE_PARALLEL_DIROPS. The
 * bridge therefore records the kernel's offer when it comes in, and adds the missing flags to
 * libfuse's answer.
 */
#include "fuse/init-flags.h"

#include "fuse/state.h"
#include "fuse/transport.h"

#include <linux/fuse.h>
#include <string.h>
#include <unistd.h>

static void
note_offer (struct bridge *bridge, const void *buf, size_t size)
{
    const struct fuse_in_header *header = buf;
    const struct fuse_init_in *init = (const void *) (header + 1);

    if (size < sizeof *header + offsetof (struct fuse_init_in, flags2)
        || header->opcode != FUSE_INIT)
        return;
    bridge->terms.init.unique = header->unique;
    bridge->terms.init.offered = init->flags;
    if (init->flags & FUSE_INIT_EXT
        && size >= sizeof *header + offsetof (struct fuse_init_in, unused))
        bridge->terms.init.offered |= (uint64_t) init->flags2 << 32;
}

/* While a mount ends, the kernel may take a request back from the thread that reads it, and reports
 * "aborted" instead of "no such device". libfuse knows only the latter; both mean the same here. */
static void
gone_is_gone (ssize_t n)
{
    if (G_UNLIKELY (n < 0 && errno == ECONNABORTED))
        errno = ENODEV;
}

static ssize_t
device_read (int fd, void *buf, size_t size, void *userdata)
{
    struct bridge *bridge = userdata;
    ssize_t n;

    /* libfuse assumes that every buffer has its own size; this buffer ends with the payload. */
    n = read (fd, buf, MIN (size, WRITE_HEADER + MAX_PAYLOAD));
    if (G_UNLIKELY (n > 0 && !__atomic_load_n (&bridge->terms.session_up, __ATOMIC_RELAXED)))
        note_offer (bridge, buf, n);
    gone_is_gone (n);
    return n;
}

/* The offset of max_stack_depth, in struct fuse_init_out since Linux 6.9. */
#define STACK_DEPTH_OFFSET (offsetof (struct fuse_init_out, flags2) + sizeof (uint32_t))

/* Writes libfuse's answer to INIT, with the flags that libfuse doesn't know. */
static ssize_t
write_init (struct bridge *bridge, int fd, const struct iovec *iov)
{
    struct fuse_out_header header;
    struct fuse_init_out out = { 0 };
    struct iovec mine[2] = { { &header, sizeof header },
                             { &out, MIN (iov[1].iov_len, sizeof out) } };
    const uint64_t added = bridge->terms.init.wanted & bridge->terms.init.offered;
    const uint32_t depth = PASSTHROUGH_DEPTH;

    memcpy (&header, iov[0].iov_base, sizeof header);
    memcpy (&out, iov[1].iov_base, mine[1].iov_len);
    out.flags |= (uint32_t) added;
    if (out.flags & FUSE_INIT_EXT)
        out.flags2 |= added >> 32;
    if (added & FLAG_PASSTHROUGH)
        memcpy ((char *) &out + STACK_DEPTH_OFFSET, &depth, sizeof depth);
    header.len = mine[0].iov_len + mine[1].iov_len;
    return writev (fd, mine, 2);
}

#ifdef HAVE_STRUCT_FUSE_FILE_INFO_BACKING_ID

void
init_flags_backing (struct fuse_file_info *fi, int id)
{
    fi->backing_id = id;
}

static void
add_backing (const struct iovec *iov, int count)
{
}

#else

#define OPEN_PASSTHROUGH (1 << 7)

static __thread int backing_id; /* for the next answer that this thread writes; 0: none */

void
init_flags_backing (struct fuse_file_info *fi, int id)
{
    backing_id = id;
}

/* Before 3.17 libfuse leaves the last word of struct fuse_open_out empty, where the kernel expects
 * the number. The struct is the end of the answer to an open and to a create. */
static void
add_backing (const struct iovec *iov, int count)
{
    struct {
        uint64_t fh;
        uint32_t open_flags;
        int32_t backing_id;
    } out;
    char *at;

    if (G_LIKELY (backing_id == 0))
        return;
    if (count == 2 && iov[1].iov_len >= sizeof out) {
        at = (char *) iov[1].iov_base + iov[1].iov_len - sizeof out;
        memcpy (&out, at, sizeof out);
        out.open_flags |= OPEN_PASSTHROUGH;
        out.backing_id = backing_id;
        memcpy (at, &out, sizeof out);
    }
    backing_id = 0;
}

#endif

/* Starts the other transport before the answer to INIT, since the kernel sends all requests that
 * way from then on, so all steps that can fail come first. */
static void
transport_offer (struct bridge *bridge)
{
    const struct transport *other = bridge->transports[1];

    if (!other)
        return;
    if (!(bridge->terms.init.offered & other->init_flag))
        other->refused (bridge, "the kernel doesn't offer it");
    else if (other->start (bridge) == 0)
        bridge->terms.init.wanted |= other->init_flag;
}

static bool
transport_is_wanted (const struct bridge *bridge)
{
    const struct transport *other = bridge->transports[1];

    return other && bridge->terms.init.wanted & other->init_flag;
}

static bool
is_init (const struct bridge *bridge, const struct iovec *iov)
{
    const struct fuse_out_header *header = iov[0].iov_base;

    return bridge->terms.init.unique && header->unique == bridge->terms.init.unique;
}

/* Answers INIT; called once. */
static ssize_t
answer_init (struct bridge *bridge, int fd, const struct iovec *iov, int count)
{
    const struct fuse_out_header *header = iov[0].iov_base;
    /* The kernel may send INIT twice, for an older version first, and has no flags in that
     * answer. */
    const bool flags = count == 2 && header->error == 0
                    && iov[1].iov_len > FUSE_COMPAT_INIT_OUT_SIZE;
    ssize_t n;

    if (flags)
        transport_offer (bridge);
    n = flags ? write_init (bridge, fd, iov) : writev (fd, iov, count);
    if (transport_is_wanted (bridge) && n >= 0)
        bridge->transports[1]->agreed (bridge);
    if (flags && n >= 0) {
        __atomic_store_n (&bridge->terms.session_up, true, __ATOMIC_RELEASE);
        bridge_set_state (bridge, BRIDGE_READY);
    }
    return n;
}

/* libfuse prints errors of this function, except ENOENT, which means that the caller is gone. The
 * error that the mount is gone is not printed either. */
static ssize_t
device_writev (int fd, struct iovec *iov, int count, void *userdata)
{
    struct bridge *bridge = userdata;
    ssize_t n;

    add_backing (iov, count);
    if (G_UNLIKELY (!__atomic_load_n (&bridge->terms.session_up, __ATOMIC_ACQUIRE))
        && is_init (bridge, iov))
        n = answer_init (bridge, fd, iov, count);
    else
        n = bridge_transport (bridge)->answer (bridge, fd, iov, count);
    gone_is_gone (n);
    if (n < 0 && errno != ENOENT) {
        if (errno != ENODEV)
            gf_log (&bridge->xlator, GF_LOG_WARNING, "the kernel refused an answer: %s",
                    g_strerror (errno));
        errno = ENOENT;
    }
    return n;
}

void
answer_early (struct bridge *bridge, uint64_t number, int error)
{
    struct fuse_out_header header = { .len = sizeof header, .error = -error, .unique = number };
    struct iovec iov = { &header, sizeof header };

    /* fails if the request was answered meanwhile */
    (void) device_writev (fuse_session_fd (bridge->session), &iov, 1, bridge);
}

const struct fuse_custom_io init_flags_io = { .read = device_read, .writev = device_writev };
