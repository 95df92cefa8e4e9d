/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/uring.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HAVE_URING

#ifndef IORING_SETUP_NO_SQARRAY
#define IORING_SETUP_NO_SQARRAY (1U << 16) /* of Linux 6.6 */
#endif

#define SQE_SIZE 128

static unsigned *
word_at (const struct uring *uring, unsigned offset)
{
    return (unsigned *) (uring->rings + offset);
}

static int
uring_map (struct uring *uring)
{
    const struct io_uring_params *params = &uring->params;

    uring->rings_size = params->cq_off.cqes + params->cq_entries * sizeof (struct io_uring_cqe);
    uring->sqes_size = params->sq_entries * SQE_SIZE;
    uring->rings = mmap (NULL, uring->rings_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQ_RING);
    if (uring->rings == MAP_FAILED) {
        uring->rings = NULL;
        return -errno;
    }
    uring->sqes = mmap (NULL, uring->sqes_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring->fd, IORING_OFF_SQES);
    if (uring->sqes == MAP_FAILED) {
        uring->sqes = NULL;
        return -errno;
    }
    return 0;
}

int
uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd)
{
    const int files[] = { device, eventfd };
    int r;

    *ret_uring = (struct uring){ .fd = -1 };
    ret_uring->params.flags = IORING_SETUP_SQE128 | IORING_SETUP_NO_SQARRAY | IORING_SETUP_SUBMIT_ALL;
    ret_uring->fd = (int) syscall (SYS_io_uring_setup, entries, &ret_uring->params);
    if (ret_uring->fd < 0)
        return -errno;
    r = ret_uring->params.features & IORING_FEAT_SINGLE_MMAP ? uring_map (ret_uring) : -ENOSYS;
    if (r == 0 && syscall (SYS_io_uring_register, ret_uring->fd, IORING_REGISTER_FILES, files, 2) < 0)
        r = -errno;
    if (r < 0)
        uring_close (ret_uring);
    return r;
}

void
uring_close (struct uring *uring)
{
    if (uring->rings)
        munmap (uring->rings, uring->rings_size);
    if (uring->sqes)
        munmap (uring->sqes, uring->sqes_size);
    if (uring->fd >= 0)
        close (uring->fd);
    *uring = (struct uring){ .fd = -1 };
}

/* The next submission, empty; uring_put_done shows it to the kernel. */
static struct io_uring_sqe *
put_begin (struct uring *uring)
{
    struct io_uring_sqe *sqe = (void *) (uring->sqes + (size_t) (uring->sq_tail & (uring->params.sq_entries - 1)) * SQE_SIZE);

    memset (sqe, 0, SQE_SIZE);
    sqe->flags = IOSQE_FIXED_FILE;
    return sqe;
}

static void
put_end (struct uring *uring)
{
    uring->sq_tail++;
    __atomic_store_n (word_at (uring, uring->params.sq_off.tail), uring->sq_tail, __ATOMIC_RELEASE);
}

void
uring_watch (struct uring *uring)
{
    struct io_uring_sqe *sqe = put_begin (uring);

    sqe->opcode = IORING_OP_POLL_ADD;
    sqe->fd = 1;
    sqe->len = IORING_POLL_ADD_MULTI;
    sqe->poll32_events = POLLIN;
    put_end (uring);
}

void
uring_put (struct uring *uring, enum ring_command command, const struct ring_submission *submission, const void *iov, void *data)
{
    struct io_uring_sqe *sqe = put_begin (uring);

    sqe->opcode = IORING_OP_URING_CMD;
    sqe->fd = 0; /* the first of the registered files */
    sqe->cmd_op = command;
    sqe->addr = (uintptr_t) iov;
    sqe->len = iov ? 2 : 0;
    sqe->user_data = (uintptr_t) data;
    memcpy ((char *) sqe + offsetof (struct io_uring_sqe, addr3), submission, sizeof *submission);
    put_end (uring);
}

/* What was put in and not taken yet. */
static unsigned
waiting (struct uring *uring)
{
    return uring->sq_tail - __atomic_load_n (word_at (uring, uring->params.sq_off.head), __ATOMIC_ACQUIRE);
}

bool
uring_is_full (struct uring *uring)
{
    return waiting (uring) == uring->params.sq_entries;
}

int
uring_submit (struct uring *uring)
{
    return syscall (SYS_io_uring_enter, uring->fd, waiting (uring), 0, 0, NULL, 0) < 0 ? -errno : 0;
}

int
uring_wait (struct uring *uring)
{
    return syscall (SYS_io_uring_enter, uring->fd, waiting (uring), 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0 ? -errno : 0;
}

bool
uring_take (struct uring *uring, void **ret_data, int *ret_result)
{
    const struct io_uring_cqe *cqes = (const void *) (uring->rings + uring->params.cq_off.cqes);
    const struct io_uring_cqe *cqe = &cqes[uring->cq_head & (uring->params.cq_entries - 1)];

    if (__atomic_load_n (word_at (uring, uring->params.cq_off.tail), __ATOMIC_ACQUIRE) == uring->cq_head)
        return false;
    *ret_data = (void *) (uintptr_t) cqe->user_data;
    *ret_result = cqe->res;
    uring->cq_head++;
    __atomic_store_n (word_at (uring, uring->params.cq_off.head), uring->cq_head, __ATOMIC_RELEASE);
    return true;
}

#else

int
uring_open (struct uring *ret_uring, unsigned entries, int device, int eventfd)
{
    *ret_uring = (struct uring){ .fd = -1 };
    return -ENOSYS;
}

void uring_close (struct uring *uring) { }
void uring_put (struct uring *uring, enum ring_command command, const struct ring_submission *submission, const void *iov, void *data) { }
int uring_submit (struct uring *uring) { return -ENOSYS; }
int uring_wait (struct uring *uring) { return -ENOSYS; }
bool uring_is_full (struct uring *uring) { return false; }
void uring_watch (struct uring *uring) { }
bool uring_take (struct uring *uring, void **ret_data, int *ret_result) { return false; }

#endif
