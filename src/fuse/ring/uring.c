/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/ring/uring.h"

#include "core/base/errors.h"

#include <errno.h>

#ifdef HAVE_LIBURING

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Completions are delivered when the thread asks for them, and don't interrupt it. */
#define FLAGS \
    (IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER \
     | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED)

/* Submissions name files by their index among the registered files. */
enum { FILE_DEVICE, FILE_EVENTFD, N_FILES };

int
uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd)
{
    const int files[N_FILES] = { [FILE_DEVICE] = device, [FILE_EVENTFD] = eventfd };
    struct io_uring_params params = { .flags = FLAGS };
    int r = io_uring_queue_init_params (entries, &ret_uring->io, &params);

    ret_uring->open = r == 0;
    /* A child that outlives the daemon (daemon/crash-lines.c) would keep the connection alive. */
    if (r == 0)
        r = io_uring_ring_dontfork (&ret_uring->io);
    if (r == 0)
        r = io_uring_register_files (&ret_uring->io, files, N_FILES);
    if (r < 0)
        uring_close (ret_uring);
    return r;
}

int
uring_begin (struct uring *uring)
{
    /* io_uring_enable_rings, which liburing 2.3 doesn't export */
    return syscall (SYS_io_uring_register, uring->io.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0)
                 < 0
             ? -errno
             : 0;
}

void
uring_close (struct uring *uring)
{
    if (uring->open)
        io_uring_queue_exit (&uring->io);
    uring->open = false;
}

void
uring_watch (struct uring *uring)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe (&uring->io);

    io_uring_prep_poll_multishot (sqe, FILE_EVENTFD, POLLIN);
    io_uring_sqe_set_flags (sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data (sqe, NULL);
}

/* The command has 80 bytes, which liburing doesn't clear. */
void
uring_put (struct uring *uring, enum ring_command command, const struct ring_submission *submission,
           const void *iov, void *data)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe (&uring->io);

    io_uring_prep_rw (IORING_OP_URING_CMD, sqe, FILE_DEVICE, iov, iov ? 2 : 0, 0);
    io_uring_sqe_set_flags (sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data (sqe, data);
    sqe->cmd_op = command;
    memset (sqe->cmd, 0, URING_COMMAND_SIZE);
    memcpy (sqe->cmd, submission, sizeof *submission);
}

bool
uring_is_full (struct uring *uring)
{
    return io_uring_sq_space_left (&uring->io) == 0;
}

int
uring_submit (struct uring *uring)
{
    return error_or_0 (io_uring_submit (&uring->io));
}

int
uring_wait (struct uring *uring, int64_t nanoseconds)
{
    struct __kernel_timespec most = { .tv_sec = nanoseconds / 1000000000,
                                      .tv_nsec = nanoseconds % 1000000000 };
    struct io_uring_cqe *cqe;

    if (nanoseconds == 0)
        return error_or_0 (io_uring_submit_and_wait (&uring->io, 1));
    return error_or_0 (io_uring_submit_and_wait_timeout (&uring->io, &cqe, 1, &most, NULL));
}

bool
uring_has (struct uring *uring)
{
    return io_uring_cq_ready (&uring->io) > 0;
}

bool
uring_take (struct uring *uring, void **ret_data, int *ret_result)
{
    struct io_uring_cqe *cqe;

    if (io_uring_peek_cqe (&uring->io, &cqe) < 0)
        return false;
    *ret_data = io_uring_cqe_get_data (cqe);
    *ret_result = cqe->res;
    const bool watches = cqe->flags & IORING_CQE_F_MORE;
    io_uring_cqe_seen (&uring->io, cqe);
    if (!*ret_data && !watches) /* the kernel ends a poll whose completion found no room */
        uring_watch (uring);
    return true;
}

#else

int
uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd)
{
    return -ENOSYS;
}

int uring_begin (struct uring *uring) { return -ENOSYS; }
void uring_close (struct uring *uring) { }
void
uring_put (struct uring *uring, enum ring_command command, const struct ring_submission *submission,
           const void *iov, void *data)
{
}
int uring_submit (struct uring *uring) { return -ENOSYS; }
int uring_wait (struct uring *uring, int64_t nanoseconds) { return -ENOSYS; }
bool uring_is_full (struct uring *uring) { return false; }
void uring_watch (struct uring *uring) { }
bool uring_has (struct uring *uring) { return false; }
bool uring_take (struct uring *uring, void **ret_data, int *ret_result) { return false; }

#endif
