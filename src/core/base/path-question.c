/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/base/path-question.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whoever reads the output of this program to its end, such as a shell in $(...), waits until the
 * last process that has the other end of that pipe has closed it. */
static void
close_all_but (unsigned fd)
{
    if (fd > 0)
        close_range (0, fd - 1, 0);
    close_range (fd + 1, ~0U, 0);
}

/* Room for one descriptor. */
union path_descriptor {
    struct cmsghdr head;
    char bytes[CMSG_SPACE (sizeof (int))];
};

/* Sends the whole answer at once, with its descriptor. */
static bool
path_question_send (int out, const struct path_answer *answer)
{
    const size_t size = offsetof (struct path_answer, text) + strlen (answer->text);
    union path_descriptor descriptor = { .head = { .cmsg_level = SOL_SOCKET,
                                                   .cmsg_type = SCM_RIGHTS,
                                                   .cmsg_len = CMSG_LEN (sizeof (int)) } };
    struct iovec bytes = { (void *) answer, size };
    struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

    memcpy (CMSG_DATA (&descriptor.head), &answer->fd, sizeof (int));
    if (answer->fd >= 0) {
        message.msg_control = &descriptor;
        message.msg_controllen = sizeof descriptor;
    }
    return sendmsg (out, &message, MSG_NOSIGNAL) == (ssize_t) size;
}

static void G_GNUC_NORETURN
path_question_ask (path_question_fn *ask, const char *path, const void *data, int out)
{
    struct path_answer answer = { .fd = -1 };

    close_all_but (out);
    ask (path, data, &answer);
    _exit (path_question_send (out, &answer) ? 0 : 1);
}

void
path_question_begin (struct path_question *ret_question, path_question_fn *ask, const char *path,
                     const void *data)
{
    int ends[2] = { -1, -1 };

    *ret_question = (struct path_question){ .fd = -1 };
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
        ret_question->pid = fork ();
    if (ends[0] < 0 || ret_question->pid < 0)
        ret_question->error = errno;
    else if (ret_question->pid == 0)
        path_question_ask (ask, path, data, ends[1]);
    if (ends[1] >= 0)
        close (ends[1]);
    ret_question->fd = ends[0];
}

/* Receives a part of the answer, and the descriptor if it comes with this part. */
static ssize_t
path_question_receive (int in, char *at, size_t left, int *fd)
{
    union path_descriptor descriptor = { 0 };
    struct iovec bytes = { at, left };
    struct msghdr message = { .msg_iov = &bytes,
                              .msg_iovlen = 1,
                              .msg_control = &descriptor,
                              .msg_controllen = sizeof descriptor };
    const ssize_t n = recvmsg (in, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR (&message) : NULL;

    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
        memcpy (fd, CMSG_DATA (head), sizeof *fd);
    return n;
}

/* The process ends as soon as it has written, or has crashed. */
static void
path_question_read (struct path_question *question, struct path_answer *ret_answer)
{
    char *at = (char *) ret_answer;
    size_t left = sizeof *ret_answer - 1;
    ssize_t n;
    int fd = -1;

    memset (ret_answer, 0, sizeof *ret_answer);
    while ((n = path_question_receive (question->fd, at, left, &fd)) > 0
           || (n < 0 && errno == EINTR)) {
        at += MAX (n, 0);
        left -= MAX (n, 0);
    }
    ret_answer->fd = fd;
    if (at < ret_answer->text)
        ret_answer->error = EIO;
    while (waitpid (question->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    question->pid = 0;
}

bool
path_question_wait (struct path_question *question, int milliseconds,
                    struct path_answer *ret_answer)
{
    struct pollfd fd = { .fd = question->fd, .events = POLLIN };
    int n;

    if (question->error) {
        *ret_answer = (struct path_answer){ .error = question->error, .fd = -1 };
        return true;
    }
    while ((n = poll (&fd, 1, milliseconds)) < 0 && errno == EINTR)
        continue;
    if (n > 0)
        path_question_read (question, ret_answer);
    return n > 0;
}

void
path_question_end (struct path_question *question)
{
    if (question->fd >= 0)
        close (question->fd);
    if (question->pid <= 0)
        return;
    kill (question->pid, SIGKILL);
    waitpid (question->pid, NULL, WNOHANG);
}

bool
path_ask (path_question_fn *ask, const char *path, const void *data, int milliseconds,
          struct path_answer *ret_answer)
{
    struct path_question question;
    bool answered;

    path_question_begin (&question, ask, path, data);
    answered = path_question_wait (&question, milliseconds, ret_answer);
    path_question_end (&question);
    return answered;
}
