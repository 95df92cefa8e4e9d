/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzzes the bridge with requests as read from /dev/fuse, through libfuse and the bridge to a
 * storage with generated answers (leaf.c).
 *
 * Properties that the kernel guarantees always hold: the length of a message, a NUL at the end of
 * names, file handles that came from the bridge. The input determines the rest. It is a list of
 *
 *   opcode, inode, handle, answer, size      a byte each
 *   payload                                  size bytes: the operation's struct, names, data
 *
 * where inode and handle select a number that the bridge has returned, and answer is that of
 * leaf.h.
 */
#include "fuse/init-flags.h"

#include "core/edge/stack.h"
#include "leaf.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#define NODES_MAX 64
#define HANDLES_MAX 32
#define REPLY_MAX (1 << 21)

enum { HANDLE_NONE = -1 };

/* The fields of each operation that the kernel fills in: the size of its struct, and the position
 * of numbers that came from the bridge. */
struct shape {
    size_t size;
    bool node;    /* an inode number at offset 0 */
    int fh;       /* position of a file handle, or HANDLE_NONE */
    bool silent;  /* there is no answer */
};

#define SHAPE(type_, ...) { .size = sizeof (struct type_), __VA_ARGS__ }

static const struct shape shapes[] = {
    [FUSE_LOOKUP] = { .fh = HANDLE_NONE },
    [FUSE_FORGET] = SHAPE (fuse_forget_in, .fh = HANDLE_NONE, .silent = true),
    [FUSE_GETATTR] = SHAPE (fuse_getattr_in, .fh = offsetof (struct fuse_getattr_in, fh)),
    [FUSE_SETATTR] = SHAPE (fuse_setattr_in, .fh = offsetof (struct fuse_setattr_in, fh)),
    [FUSE_READLINK] = { .fh = HANDLE_NONE },
    [FUSE_SYMLINK] = { .fh = HANDLE_NONE },
    [FUSE_MKNOD] = SHAPE (fuse_mknod_in, .fh = HANDLE_NONE),
    [FUSE_MKDIR] = SHAPE (fuse_mkdir_in, .fh = HANDLE_NONE),
    [FUSE_UNLINK] = { .fh = HANDLE_NONE },
    [FUSE_RMDIR] = { .fh = HANDLE_NONE },
    [FUSE_RENAME] = SHAPE (fuse_rename_in, .fh = HANDLE_NONE, .node = true),
    [FUSE_LINK] = SHAPE (fuse_link_in, .fh = HANDLE_NONE, .node = true),
    [FUSE_OPEN] = SHAPE (fuse_open_in, .fh = HANDLE_NONE),
    [FUSE_READ] = SHAPE (fuse_read_in),
    [FUSE_WRITE] = SHAPE (fuse_write_in),
    [FUSE_STATFS] = { .fh = HANDLE_NONE },
    [FUSE_RELEASE] = SHAPE (fuse_release_in),
    [FUSE_FSYNC] = SHAPE (fuse_fsync_in),
    [FUSE_SETXATTR] = { .size = FUSE_COMPAT_SETXATTR_IN_SIZE, .fh = HANDLE_NONE },
    [FUSE_GETXATTR] = SHAPE (fuse_getxattr_in, .fh = HANDLE_NONE),
    [FUSE_LISTXATTR] = SHAPE (fuse_getxattr_in, .fh = HANDLE_NONE),
    [FUSE_REMOVEXATTR] = { .fh = HANDLE_NONE },
    [FUSE_FLUSH] = SHAPE (fuse_flush_in),
    [FUSE_INIT] = SHAPE (fuse_init_in, .fh = HANDLE_NONE),
    [FUSE_OPENDIR] = SHAPE (fuse_open_in, .fh = HANDLE_NONE),
    [FUSE_READDIR] = SHAPE (fuse_read_in),
    [FUSE_RELEASEDIR] = SHAPE (fuse_release_in),
    [FUSE_FSYNCDIR] = SHAPE (fuse_fsync_in),
    [FUSE_GETLK] = SHAPE (fuse_lk_in),
    [FUSE_SETLK] = SHAPE (fuse_lk_in),
    [FUSE_SETLKW] = SHAPE (fuse_lk_in),
    [FUSE_ACCESS] = SHAPE (fuse_access_in, .fh = HANDLE_NONE),
    [FUSE_CREATE] = SHAPE (fuse_create_in, .fh = HANDLE_NONE),
    [FUSE_INTERRUPT] = SHAPE (fuse_interrupt_in, .fh = HANDLE_NONE, .silent = true),
    [FUSE_BMAP] = SHAPE (fuse_bmap_in, .fh = HANDLE_NONE),
    [FUSE_IOCTL] = SHAPE (fuse_ioctl_in),
    [FUSE_POLL] = SHAPE (fuse_poll_in),
    [FUSE_BATCH_FORGET] = SHAPE (fuse_batch_forget_in, .fh = HANDLE_NONE, .silent = true),
    [FUSE_FALLOCATE] = SHAPE (fuse_fallocate_in),
    [FUSE_READDIRPLUS] = SHAPE (fuse_read_in),
    [FUSE_RENAME2] = SHAPE (fuse_rename2_in, .fh = HANDLE_NONE, .node = true),
    [FUSE_LSEEK] = SHAPE (fuse_lseek_in),
    [FUSE_COPY_FILE_RANGE] = SHAPE (fuse_copy_file_range_in),
};

/* The kernel's side. */
static struct {
    struct input input;
    int ends[2]; /* the test's end, the bridge's end */
    uint64_t unique;
    uint32_t opcode; /* of the last request */
    uint64_t nodes[NODES_MAX];
    unsigned n_nodes;
    uint64_t handles[HANDLES_MAX];
    unsigned n_handles;
    unsigned interrupts; /* which libfuse may still keep for a later request */
    bool over;
    char reply[REPLY_MAX] __attribute__ ((aligned (8)));
} kernel;

static uint64_t
node_of (uint8_t i)
{
    /* Some numbers that are stale or were never valid. */
    return i < 240 ? kernel.nodes[i % kernel.n_nodes] : (uint64_t) i << 32 | i % 7;
}

static uint64_t
fuzz_bridge_handle_of (uint8_t i)
{
    return i < 250 && kernel.n_handles ? kernel.handles[i % kernel.n_handles] : 0;
}

/* --- requests --------------------------------------------------------------------------------- */

struct request {
    struct fuse_in_header header;
    uint8_t payload[4096];
};

static void
put_u64 (struct request *request, size_t at, uint64_t number)
{
    memcpy (request->payload + at, &number, sizeof number);
}

/* Sizes within a message that libfuse does not check. */
static void
clamp_sizes (struct request *request, size_t size)
{
    uint32_t *count = (void *) request->payload;
    struct fuse_write_in *write = (void *) request->payload;
    struct fuse_ioctl_in *ioctl = (void *) request->payload;

    switch (request->header.opcode) {
    case FUSE_BATCH_FORGET:
        *count = MIN (*count, (size - sizeof (struct fuse_batch_forget_in))
                                  / sizeof (struct fuse_forget_one));
        for (uint32_t i = 0; i < *count; i++)
            put_u64 (request, 8 + 16 * i, node_of (request->payload[8 + 16 * i]));
        break;
    case FUSE_WRITE:
        write->size = MIN (write->size, size - sizeof *write);
        break;
    case FUSE_SETXATTR: /* its size precedes it, too */
        *count = MIN (*count, size - FUSE_COMPAT_SETXATTR_IN_SIZE
                                  - strlen ((char *) request->payload + 8) - 1);
        break;
    case FUSE_IOCTL:
        ioctl->in_size = MIN (ioctl->in_size, size - sizeof *ioctl);
        break;
    }
}

static void
fill_numbers (struct request *request, const struct shape *shape, uint8_t handle)
{
    if (shape->node)
        put_u64 (request, 0, node_of (request->payload[0]));
    if (shape->fh != HANDLE_NONE)
        put_u64 (request, shape->fh, fuzz_bridge_handle_of (handle));
    if (request->header.opcode == FUSE_COPY_FILE_RANGE)
        put_u64 (request, offsetof (struct fuse_copy_file_range_in, fh_out),
                 fuzz_bridge_handle_of (handle + 1));
    if (request->header.opcode == FUSE_INTERRUPT)
        put_u64 (request, 0, kernel.unique - 2 * (request->payload[0] % 4));
}

/* Takes the next part of the input. */
static void
request_fill (struct request *request)
{
    struct input *input = &kernel.input;
    const uint32_t chosen = input_byte (input) % (FUSE_COPY_FILE_RANGE + 2);
    /* The kernel sends this only on request, and the bridge never requests it. */
    const uint32_t opcode = chosen == FUSE_NOTIFY_REPLY ? FUSE_LOOKUP : chosen;
    const struct shape none = { .fh = HANDLE_NONE };
    const struct shape *shape = opcode < G_N_ELEMENTS (shapes) ? &shapes[opcode] : &none;
    const uint8_t node = input_byte (input), handle = input_byte (input), how = input_byte (input);
    size_t size = input_byte (input);
    const uint8_t *bytes = input_bytes (input, size, &size);

    memset (request, 0, sizeof *request);
    if (size)
        memcpy (request->payload, bytes, size);
    size = MAX (size, shape->size) + 3; /* the end of the last name, and of the name before it */
    request->header = (struct fuse_in_header){ .len = sizeof request->header + size,
                                               .opcode = opcode,
                                               .unique = kernel.unique += 2,
                                               .nodeid = node_of (node),
                                               .uid = request->payload[0],
                                               .gid = request->payload[1],
                                               .pid = node % 2 ? getpid () : request->payload[2] };
    fill_numbers (request, shape, handle);
    clamp_sizes (request, size);
    leaf_prepare (how, (struct input){ request->payload + shape->size, size - shape->size });
}

static void
request_fill_init (struct request *request)
{
    struct fuse_init_in *init = (void *) request->payload;

    *request = (struct request){ .header = { .len = sizeof request->header + sizeof *init,
                                             .opcode = FUSE_INIT,
                                             .unique = kernel.unique += 2,
                                             .nodeid = 0 } };
    *init = (struct fuse_init_in){ .major = FUSE_KERNEL_VERSION,
                                   .minor = FUSE_KERNEL_MINOR_VERSION,
                                   .max_readahead = 1 << 17,
                                   .flags = ~(uint32_t) FUSE_SETXATTR_EXT,
                                   .flags2 = ~0u };
}

/* libfuse returns a late interrupt with the next request, and frees the rest at its end. */
static bool
request_fill_last (struct request *request)
{
    if (kernel.interrupts == 0)
        return false;
    kernel.interrupts--;
    *request = (struct request){ .header = { .len = sizeof request->header, .opcode = FUSE_STATFS,
                                             .unique = kernel.unique += 2, .nodeid = 1 } };
    leaf_prepare (0, (struct input){ NULL, 0 });
    return true;
}

/* Returns whether the kernel never sends this while a request for the inode or file is pending. */
static bool
takes_away (uint32_t opcode)
{
    return opcode == FUSE_FORGET || opcode == FUSE_BATCH_FORGET || opcode == FUSE_RELEASE
        || opcode == FUSE_RELEASEDIR || opcode == FUSE_DESTROY;
}

static void
forget_handle (const struct request *request)
{
    uint64_t handle;

    if (request->header.opcode != FUSE_RELEASE && request->header.opcode != FUSE_RELEASEDIR)
        return;
    memcpy (&handle, request->payload, sizeof handle);
    for (unsigned i = 0; i < kernel.n_handles; i++)
        if (kernel.handles[i] == handle)
            kernel.handles[i--] = kernel.handles[--kernel.n_handles];
}

/* --- answers ---------------------------------------------------------------------------------- */

static void
learn_node (uint64_t node)
{
    if (node && kernel.n_nodes < NODES_MAX)
        kernel.nodes[kernel.n_nodes++] = node;
}

static void
learn_handle (uint64_t handle)
{
    g_assert (kernel.n_handles < HANDLES_MAX);
    kernel.handles[kernel.n_handles++] = handle;
}

/* Finds the request of an answer by the answer's length, since answers may be late. */
static void
fuzz_bridge_learn (const char *reply, size_t size)
{
    const struct fuse_out_header *header = (const void *) reply;
    const struct fuse_entry_out *entry = (const void *) (header + 1);
    const struct fuse_open_out *open = (const void *) (header + 1);

    g_assert (size >= sizeof *header && header->len == size);
    if (header->unique == 0) /* a notice, not an answer; error has its number */
        return;
    g_assert (header->error <= 0 && header->error > -1000);
    if (header->error || header->unique != kernel.unique)
        return;
    size -= sizeof *header;
    if (kernel.opcode == FUSE_OPEN || kernel.opcode == FUSE_OPENDIR) {
        learn_handle (open->fh);
    } else if (kernel.opcode == FUSE_CREATE) {
        learn_node (entry->nodeid);
        learn_handle (((const struct fuse_open_out *) (entry + 1))->fh);
    } else if (size == sizeof *entry) {
        learn_node (entry->nodeid);
    }
}

/* --- the device ------------------------------------------------------------------------------- */

static bool
request_opens (uint32_t opcode)
{
    return opcode == FUSE_OPEN || opcode == FUSE_OPENDIR || opcode == FUSE_CREATE;
}

/* Makes the next request. While all handles are in use, no file is opened. */
static bool
next_request (struct request *request)
{
    if (kernel.unique == 0) {
        request_fill_init (request);
        return true;
    }
    while (kernel.input.left > 0) {
        request_fill (request);
        if (!request_opens (request->header.opcode) || kernel.n_handles < HANDLES_MAX)
            return true;
    }
    return request_fill_last (request);
}

static ssize_t
kernel_read (int fd, void *buf, size_t size, void *userdata)
{
    static struct request request; /* leaf.c uses these bytes for its answers */

    if (kernel.over || !next_request (&request)) {
        leaf_answer_late ();
        errno = ENODEV;
        return -1;
    }
    kernel.opcode = request.header.opcode;
    if (takes_away (kernel.opcode))
        leaf_answer_late ();
    kernel.interrupts += kernel.opcode == FUSE_INTERRUPT;
    kernel.over = kernel.opcode == FUSE_DESTROY && kernel.interrupts == 0;
    forget_handle (&request);
    g_assert (send (kernel.ends[0], &request, request.header.len, 0) == request.header.len);
    return init_flags_io.read (kernel.ends[1], buf, size, userdata);
}

/* The kernel determines the result: sometimes the caller is gone. Threads of the daemon answer side
 * by side. */
static ssize_t
kernel_writev (int fd, struct iovec *iov, int count, void *userdata)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    ssize_t n, m;

    pthread_mutex_lock (&lock);
    n = init_flags_io.writev (kernel.ends[1], iov, count, userdata);
    g_assert (n > 0);
    m = recv (kernel.ends[0], kernel.reply, sizeof kernel.reply, 0);
    g_assert (m > 0);
    fuzz_bridge_learn (kernel.reply, m);
    pthread_mutex_unlock (&lock);
    return n;
}

static const struct fuse_custom_io device = { .read = kernel_read, .writev = kernel_writev };

/* --- one mount -------------------------------------------------------------------------------- */

/* Returns a descriptor whose other end is closed. */
static int
dead_end (void)
{
    int ends[2];

    g_assert (pipe2 (ends, O_CLOEXEC) == 0);
    close (ends[0]);
    return ends[1];
}

/* Does the same as a reader of the bridge. There is only one reader, so the input determines the
 * order. */
static void
fuzz_bridge_serve (struct bridge *bridge)
{
    struct request_thread reader = { .bridge = bridge };
    struct fuse_buf buf = { 0 };

    while (!fuse_session_exited (bridge->session) && request_thread_buffer (&reader)) {
        buf = (struct fuse_buf){ .mem = (char *) reader.iobref->bufs[0]->ptr + PAYLOAD_OFFSET
                                      - WRITE_HEADER };
        if (fuse_session_receive_buf (bridge->session, &buf) <= 0)
            break;
        message_lend (reader.iobref, buf.mem, buf.size);
        fuse_session_process_buf (bridge->session, &buf);
    }
    iobref_unref (reader.iobref);
}

/* The first byte selects the options. Device and storage belong to a single thread, so there is no
 * ring. */
static void
fuzz_bridge_run (struct graph *graph, uint8_t how)
{
    const char *options[] = { "stuck-after=0",
                              "io-uring=off",
                              how & 1 ? "kernel-writeback-cache=on" : "acl=on",
                              how & 2 ? "read-only=on" : "read-only=off",
                              how & 4 ? "negative-timeout=1" : "acl=off",
                              how & 8 ? "lock-forwarding=on" : "direct-io-mode=on",
                              NULL };
    g_autofree char *error = NULL;
    struct bridge *bridge = bridge_new (graph, "/nowhere", options, NULL, &error);

    g_assert (bridge && fuse_session_custom_io (bridge->session, &device, dead_end ()) == 0);
    bridge->mounted = true;
    fuzz_bridge_serve (bridge);
    bridge_stop (bridge);
    g_assert (!bridge_is_stuck (bridge));
    g_assert_cmpuint (stack_count (), ==, 0);
    g_assert_cmpuint (stack_misuses (), ==, 0);
    bridge_free (bridge);
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    log_set_level (GF_LOG_NONE);
    return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct volfile volfile = { .path = "fuzz.vol" };
    xlator_t top = xlator_init ("leaf", &leaf_api, NULL, NULL);
    struct graph graph = { .volfile = &volfile, .xlators = g_ptr_array_new (), .top = &top,
                           .itable = itable_new (0, 10, NULL, NULL) };
    uint8_t how;

    top.ready = true;
    g_ptr_array_add (graph.xlators, &top);
    top.graph = &graph;
    graph.fd_maker.data = &graph;
    xlator_route (&top);
    kernel.input = (struct input){ data, size };
    kernel.unique = kernel.n_handles = kernel.interrupts = 0;
    kernel.over = false;
    kernel.nodes[0] = 1;
    kernel.n_nodes = 1;
    how = input_byte (&kernel.input);
    g_assert (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, kernel.ends) == 0);
    fuzz_bridge_run (&graph, how);
    close (kernel.ends[0]);
    close (kernel.ends[1]);
    itable_destroy (graph.itable);
    g_ptr_array_unref (graph.xlators);
    return 0;
}
