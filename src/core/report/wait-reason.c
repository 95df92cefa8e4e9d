/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds what a request waits for. A translator that sets calls aside tells it (dumpops.waits_for).
 * Otherwise it is the system call of the thread that took the request last, and the file of that
 * call, from /proc/self/task. No file system is asked.
 */
#include "core/work/limit.h"
#include "core/base/printable.h"
#include "core/report/request-snapshot.h"
#include "core/time/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* System calls of storage that may take long. The first argument is a descriptor, or the descriptor
 * of a directory followed by a path, or another value. */
struct call_name {
    long number;
    const char *name;
    enum { CALL_OTHER, CALL_ON_FD, CALL_AT } kind;
};

#define ON_FD(name) { SYS_##name, #name, CALL_ON_FD }
#define AT(name) { SYS_##name, #name, CALL_AT }
#define OTHER(name) { SYS_##name, #name, CALL_OTHER }

static const struct call_name call_names[] = {
    ON_FD (close), ON_FD (copy_file_range), AT (faccessat), ON_FD (fallocate), ON_FD (fchmod),
    AT (fchmodat), ON_FD (fchown), AT (fchownat), ON_FD (fcntl), ON_FD (fdatasync),
    ON_FD (fgetxattr), ON_FD (flistxattr), ON_FD (flock), ON_FD (fremovexattr), ON_FD (fsetxattr),
    ON_FD (fstat), ON_FD (fstatfs), ON_FD (fsync), ON_FD (ftruncate), ON_FD (getdents64),
    ON_FD (ioctl), AT (linkat), ON_FD (lseek), AT (mkdirat), AT (mknodat), AT (name_to_handle_at),
    AT (newfstatat), ON_FD (open_by_handle_at), AT (openat), AT (openat2), ON_FD (pread64),
    ON_FD (preadv), ON_FD (preadv2), ON_FD (pwrite64), ON_FD (pwritev), ON_FD (pwritev2),
    ON_FD (read), AT (readlinkat), ON_FD (readv), AT (renameat2), AT (statx), ON_FD (syncfs),
    AT (unlinkat), AT (utimensat), ON_FD (write), ON_FD (writev), OTHER (clock_nanosleep),
    OTHER (futex), OTHER (getxattr), OTHER (lgetxattr), OTHER (listxattr), OTHER (lsetxattr),
    OTHER (nanosleep), OTHER (ppoll), OTHER (removexattr), OTHER (setxattr), OTHER (statfs),
    OTHER (symlinkat), OTHER (truncate),
};

/* Returns a line of /proc/self/task/THREAD/NAME. */
static char *
thread_line (pid_t thread, const char *name)
{
    char path[64], *text = NULL;

    snprintf (path, sizeof path, "/proc/self/task/%d/%s", thread, name);
    if (g_file_get_contents (path, &text, NULL, NULL))
        g_strchomp (text);
    return text;
}

/* Returns the target of a link in /proc/self/fd, as the kernel names it; no file system is asked.
 * "" if the link is gone. */
static char *
link_target (const char *path)
{
    char target[4096];
    ssize_t n = readlink (path, target, sizeof target - 1);

    target[MAX (n, 0)] = '\0';
    return g_strdup (target);
}

static char *
descriptor_name (long fd)
{
    g_autofree char *path = g_strdup_printf ("/proc/self/fd/%d", (int) fd);

    return link_target (path);
}

/* Returns a text in this process's memory, from the stack of another thread. That memory may be
 * gone; /proc/self/mem then returns an error, where a direct read would crash. */
static char *
text_at (unsigned long address)
{
    char text[256] = "";
    int fd = open ("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread (fd, text, sizeof text - 1, (off_t) address) : -1;

    if (fd >= 0)
        close (fd);
    text[MAX (n, 0)] = '\0';
    return g_strdup (text);
}

/* A call that a thread is in. */
struct thread_call {
    long number;
    unsigned long first, second; /* arguments */
};

static void
append_path (GString *out, const struct thread_call *call)
{
    g_autofree char *dir = descriptor_name (call->first), *path = text_at (call->second),
                    *target = NULL;

    if (g_str_has_prefix (path, "/proc/self/fd/"))
        target = link_target (path);
    if (!*dir && !*path)
        return;
    g_string_append (out, " on ");
    line_append (out, target ? target : *path == '/' ? path : dir, SEEN_PATH);
    if (*path && *path != '/') {
        g_string_append_c (out, '/');
        line_append (out, path, SEEN_PATH);
    }
}

static void
reason_append_call (GString *out, const struct thread_call *call)
{
    const struct call_name *name = NULL;
    g_autofree char *on = descriptor_name (call->first);

    for (size_t i = 0; i < G_N_ELEMENTS (call_names) && !name; i++)
        name = call_names[i].number == call->number ? &call_names[i] : NULL;
    if (!name) {
        g_string_append_printf (out, "the system call %ld", call->number);
        return;
    }
    g_string_append_printf (out, "the system call %s", name->name);
    if (name->kind == CALL_AT) {
        append_path (out, call);
    } else if (name->kind == CALL_ON_FD && *on) {
        g_string_append (out, " on ");
        line_append (out, on, SEEN_PATH);
    }
}

static void
append_thread (GString *out, pid_t thread)
{
    g_autofree char *name = thread_line (thread, "comm"), *wchan = thread_line (thread, "wchan");

    g_string_append (out, " (thread ");
    line_append (out, name ? name : "?", 64);
    g_string_append_printf (out, ", %d", thread);
    if (wchan && *wchan && strcmp (wchan, "0") != 0) {
        g_string_append (out, ", in ");
        line_append (out, wchan, 64);
    }
    g_string_append_c (out, ')');
}

/* Returns whether the thread waits for the kernel's next request, or is idle. Such a thread no
 * longer works on this request. */
static bool
reason_is_idle (const struct thread_call *call, pid_t thread)
{
    g_autofree char *on = call->number == SYS_read || call->number == SYS_io_uring_enter
                            ? descriptor_name (call->first)
                            : NULL;

    return (on && (strcmp (on, "/dev/fuse") == 0 || strcmp (on, "anon_inode:[io_uring]") == 0))
        || thread_is_idle (thread);
}

/* No thread works on the request, or its thread can't be examined. */
static void
append_nobody (GString *out, const struct seen_frame *frame)
{
    g_string_append (out, "an answer of '");
    line_append (out, frame->xl->name, 256);
    g_string_append (out, "', on which no thread of the mount works now");
}

static void
append_work (GString *out, const struct seen_request *seen, const struct seen_frame *frame)
{
    g_autofree char *line = seen->thread ? thread_line (seen->thread, "syscall") : NULL;
    struct thread_call call = { .number = -1 };

    if (line && g_str_has_prefix (line, "running")) {
        g_string_append (out, "nothing: it is being worked on");
        append_thread (out, seen->thread);
        return;
    }
    if (!line || sscanf (line, "%ld %lx %lx", &call.number, &call.first, &call.second) < 1
        || reason_is_idle (&call, seen->thread)) {
        append_nobody (out, frame);
        return;
    }
    if (call.number == SYS_futex)
        g_string_append (out, "a lock, or a condition, within the daemon: the system call futex");
    else
        reason_append_call (out, &call);
    append_thread (out, seen->thread);
}

/* A thread works on the last request that it took. */
struct newer {
    const struct seen_request *than;
    bool found;
};

LOOKS_AT_RUNNING_REQUESTS static void
look_for_newer (const call_stack_t *root, void *data)
{
    struct newer *newer = data;

    if (root->thread == newer->than->thread && root->unique > newer->than->unique)
        newer->found = true;
}

void
seen_waits_for (const struct seen_request *seen, const struct seen_frame *frame, GString *out)
{
    struct newer newer = { .than = seen };
    const gsize since = out->len;

    limit_waits_for (frame->frame, out);
    if (out->len == since && frame->xl->api && frame->xl->ready
        && frame->xl->api->dumpops.waits_for)
        frame->xl->api->dumpops.waits_for (frame->xl, frame->frame, out);
    if (out->len > since)
        return;
    stack_foreach (look_for_newer, &newer);
    if (newer.found)
        append_nobody (out, frame);
    else
        append_work (out, seen, frame);
}
