/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzzes protocol/client with what a server sends. The input is a list of
 *
 *   operation, size (2 bytes)     the operation that is asked for
 *   answer                        size bytes: what follows an answer's header
 *
 * With size LATE the operation gets no answer now. With operation RAW the bytes are sent as they
 * are: marks, headers and calls of the server. At the end the server closes the connection. Each
 * operation must have been answered once, and what a success carries must fulfil fops(7).
 */
#include "fuzz.h"

#include "../../xlators/protocol/client/client.h"
#include "core/data/itable.h"
#include "rpc/internal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#define RAW 255
#define LATE 0xffff
#define CALL_MAX (1 << 16)

extern const struct xlator_api xlator_api;

static struct {
    xlator_t top, brick;
    struct itable *table;
    struct fd_maker maker;
    client_private_t private;
    struct rpc_connection *connection; /* NULL: closed */
    int server;                        /* the other end */
    unsigned asked, answered;
    inode_t *directory, *file;
    fd_t *open_directory, *open_file;
} world;

/* --- answers ---------------------------------------------------------------------------------- */

static void
finish (call_frame_t *frame)
{
    world.answered++;
    stack_done (frame->root);
}

static void
check_success (enum fop op, int32_t op_ret, const struct iovec *vector, int count,
               const gf_dirent_t *entries)
{
    if (op == FOP_readv)
        g_assert (op_ret >= 0 && (size_t) op_ret == iov_length (vector, count) && op_ret <= 4096);
    for (; entries; entries = entries->next)
        g_assert (entries->d_name[0] && !strchr (entries->d_name, '/')
                  && (!entries->inode || entries->d_stat.ia_type != IA_INVAL));
}

/* Callbacks of all operations; those whose results are checked besides have their own. */
#define FOP(name)                                                                                  \
    static void G_GNUC_UNUSED got_##name (call_frame_t *frame, void *cookie, xlator_t *this,      \
                                          int32_t op_ret, int32_t op_errno
#define REPLY(name)
#define RET(kind, name) , C_##kind name
#define END(name)                                                                                  \
    )                                                                                              \
    {                                                                                              \
        g_assert (op_ret >= 0 || op_errno > 0);                                                    \
        finish (frame);                                                                            \
    }
#include "fops.def"

static void
got_data (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
          struct iovec *vector, int32_t count, struct iatt *stbuf, struct iobref *iobref,
          dict_t *xdata)
{
    if (op_ret >= 0)
        check_success (FOP_readv, op_ret, vector, count, NULL);
    finish (frame);
}

static void
got_entries (call_frame_t *frame, void *cookie, xlator_t *this, int32_t op_ret, int32_t op_errno,
             gf_dirent_t *entries, dict_t *xdata)
{
    if (op_ret >= 0)
        check_success (FOP_readdir, op_ret, NULL, 0, entries);
    finish (frame);
}

/* --- operations ------------------------------------------------------------------------------- */

#define ASK(name_, ...)                                                                            \
    STACK_WIND (frame, got_##name_, &world.brick, name_, __VA_ARGS__, NULL)

static void
ask_about_names (call_frame_t *frame, unsigned which, loc_t *loc, loc_t *other)
{
    g_autoptr (fd_t) fd = fd_new (&world.maker, NULL, O_RDWR, 1);

    switch (which) {
    case 0: ASK (lookup, loc); break;
    case 1: ASK (mknod, loc, 0100644, 0, 022); break;
    case 2: ASK (mkdir, loc, 0755, 022); break;
    case 3: ASK (symlink, "target", loc, 022); break;
    case 4: ASK (link, other, loc); break;
    case 5: ASK (create, loc, O_RDWR, 0644, 022, fd); break;
    case 6: ASK (unlink, loc, 0); break;
    case 7: ASK (rmdir, loc, 0); break;
    default: ASK (rename, loc, loc, 0); break;
    }
}

static void
ask_about_inode (call_frame_t *frame, unsigned which, loc_t *loc)
{
    g_autoptr (fd_t) fd = fd_new (&world.maker, loc->inode, O_RDWR, 1);
    g_autoptr (dict_t) dict = dict_new ();
    struct iatt iatt = { 0 };

    dict_set_str (dict, "user.name", "value");
    switch (which) {
    case 0: ASK (stat, loc); break;
    case 1: ASK (readlink, loc, 4096); break;
    case 2: ASK (access, loc, 4); break;
    case 3: ASK (statfs, loc); break;
    case 4: ASK (truncate, loc, 10); break;
    case 5: ASK (setattr, loc, &iatt, IATT_MODE | IATT_MTIME_NOW); break;
    case 6: ASK (getxattr, loc, "user.name"); break;
    case 7: ASK (getxattr, loc, NULL); break;
    case 8: ASK (setxattr, loc, dict, 0); break;
    case 9: ASK (removexattr, loc, "user.name"); break;
    case 10: ASK (opendir, loc, fd); break;
    default: ASK (open, loc, O_RDWR, fd); break;
    }
}

static void
ask_about_fd (call_frame_t *frame, unsigned which, fd_t *fd)
{
    static char byte;
    struct gf_flock lock = { .l_type = F_WRLCK, .l_len = 5 };
    struct iovec vector = { &byte, 1 };
    struct iatt iatt = { 0 };

    switch (which) {
    case 0: ASK (fstat, fd); break;
    case 1: STACK_WIND (frame, got_data, &world.brick, readv, fd, 4096, 0, 0, NULL); break;
    case 2: ASK (writev, fd, &vector, 1, 0, 0, NULL); break;
    case 3: ASK (flush, fd); break;
    case 4: ASK (fsync, fd, 1); break;
    case 5: ASK (ftruncate, fd, 10); break;
    case 6: ASK (fsetattr, fd, &iatt, IATT_MODE); break;
    case 7: ASK (lk, fd, F_SETLKW, &lock); break;
    case 8: ASK (lk, fd, F_GETLK, &lock); break;
    case 9: ASK (seek, fd, 0, SEEK_HOLE); break;
    case 10: ASK (copy_file_range, fd, 0, fd, 10, 5, 0); break;
    case 11: ASK (fgetxattr, fd, NULL); break;
    case 12: ASK (flock, fd, LOCK_EX); break;
    case 13: ASK (fsetxattr, fd, NULL, 0); break;
    case 14: ASK (fremovexattr, fd, "user.name"); break;
    case 15: ASK (discard, fd, 0, 10); break;
    case 16: ASK (zerofill, fd, 0, 10); break;
    default: ASK (fallocate, fd, 0, 0, 10); break;
    }
}

static void
ask_about_list (call_frame_t *frame, bool attributes)
{
    if (attributes && world.asked % 8 == 0)
        ASK (fsyncdir, world.open_directory, 0);
    else if (attributes)
        STACK_WIND (frame, got_entries, &world.brick, readdirp, world.open_directory, 4096, 0,
                    NULL);
    else
        STACK_WIND (frame, got_entries, &world.brick, readdir, world.open_directory, 4096, 0,
                    NULL);
}

static void
ask (uint8_t op)
{
    call_stack_t *root = stack_new (&world.top);
    g_autoptr (inode_t) made = inode_new (world.table);
    loc_t name = { .name = "name", .parent = world.directory, .inode = made },
          file = { .inode = world.file };

    world.asked++;
    root->lk_owner = 7;
    switch (op & 3) {
    case 0: ask_about_names (root->frames, op / 4 % 9, &name, &file); break;
    case 1: ask_about_inode (root->frames, op / 4 % 12, &file); break;
    case 2: ask_about_fd (root->frames, op / 4 % 18, world.open_file); break;
    default: ask_about_list (root->frames, op & 4); break;
    }
}

/* --- the connection --------------------------------------------------------------------------- */

static void
on_closed (void *data, const char *reason)
{
    g_assert (reason && *reason);
    world.private.session.state = SESSION_DOWN;
    g_clear_pointer (&world.private.session.connection, rpc_connection_unref);
    world.connection = NULL;
}

static void
on_connected (void *data)
{
}

static void
on_called (void *data, uint32_t program, uint32_t procedure, struct xdr_in *arguments)
{
    upcall_heard (&world.brick, program, procedure, arguments);
}

static const struct rpc_events events = { on_connected, on_closed, on_called };

static void
connect_anew (void)
{
    const struct rpc_address nowhere = { 0 };
    const struct rpc_timeouts none = { 0 };
    int ends[2];

    if (world.server >= 0)
        close (world.server);
    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
        g_error ("no sockets");
    world.server = ends[1];
    world.connection = connection_new (&nowhere, &none, &events, NULL);
    world.connection->watch.fd = world.connection->stream.fd = ends[0];
    world.connection->state = RPC_OPEN;
    world.connection->ticking = true; /* no timer */
    world.private.session.connection = world.connection;
    world.private.session.state = SESSION_UP;
}

/* Reads the calls that came; returns the last one's number, or -1. */
static int64_t
read_calls (void)
{
    static uint8_t bytes[CALL_MAX];
    const ssize_t n = recv (world.server, bytes, sizeof bytes, MSG_DONTWAIT);
    int64_t xid = -1;

    for (ssize_t at = 0; at + 8 <= n;) {
        uint32_t mark, number;

        memcpy (&mark, bytes + at, 4);
        memcpy (&number, bytes + at + 4, 4);
        xid = GUINT32_FROM_BE (number);
        at += 4 + (GUINT32_FROM_BE (mark) & 0x7fffffff);
    }
    return xid;
}

static void
send_bytes (const void *bytes, size_t size)
{
    if (size > 0 && send (world.server, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        return;
    if (world.connection)
        connection_receive (world.connection);
}

static void
send_answer (uint32_t xid, const uint8_t *bytes, size_t size)
{
    const uint32_t head[] = { 0x80000000u | (uint32_t) (24 + size), xid, 1, 0, 0, 0, 0 };
    g_autoptr (GByteArray) record = g_byte_array_new ();

    for (size_t i = 0; i < G_N_ELEMENTS (head); i++) {
        const uint32_t wire = GUINT32_TO_BE (head[i]);
        g_byte_array_append (record, (const uint8_t *) &wire, 4);
    }
    g_byte_array_append (record, bytes, (guint) size);
    send_bytes (record->data, record->len);
}

static void
step (struct input *input)
{
    const uint8_t op = input_byte (input);
    const size_t high = input_byte (input), size = high << 8 | input_byte (input);
    const uint8_t *bytes;
    size_t n;
    int64_t xid;

    if (!world.connection)
        connect_anew ();
    if (op == RAW) {
        bytes = input_bytes (input, size, &n);
        send_bytes (bytes, n);
        return;
    }
    ask (op);
    xid = read_calls ();
    if (size == LATE)
        return;
    bytes = input_bytes (input, size, &n);
    if (xid >= 0)
        send_answer ((uint32_t) xid, bytes, n);
}

/* --- the world -------------------------------------------------------------------------------- */

static void
forget (inode_t *inode, void *data)
{
    client_forget (&world.brick, inode);
}

static void
release (fd_t *fd, void *data)
{
    client_release (&world.brick, fd);
}

static inode_t *
inode_with (uint8_t number, ia_type_t type)
{
    struct iatt iatt = { .ia_type = type, .ia_gfid.b[15] = number, .ia_gfid.b[0] = 1 };
    g_autoptr (inode_t) inode = inode_new (world.table);

    return inode_link (inode, NULL, NULL, &iatt);
}

/* An open file with number 0 of the server. */
static fd_t *
open_with (inode_t *inode, uint32_t flags)
{
    struct client_call call = { .this = &world.brick, .flags = flags };

    call.fd = fd_new (&world.maker, inode, flags, 1);
    file_opened (&call, &inode->gfid, 0);
    return call.fd;
}

int
LLVMFuzzerInitialize (int *argc, char ***argv)
{
    log_set_level (GF_LOG_NONE);
    world.server = -1;
    world.top = xlator_init ("top", NULL, NULL, NULL);
    world.brick = xlator_init ("brick", &xlator_api, NULL, &world.private);
    world.brick.inode_slot = world.brick.fd_slot = 0;
    world.brick.ready = true;
    world.private.subvolume = (char *) "brick";
    world.private.host = (char *) "nowhere";
    world.private.brick = (char *) "nowhere:brick";
    pthread_mutex_init (&world.private.random_lock, NULL);
    session_init (&world.brick);
    upcalls_init (&world.brick);
    upcalls_end (&world.brick); /* no thread */
    xlator_route (&world.brick);
    world.maker = (struct fd_maker){ 1, release, NULL };
    world.table = itable_new (1, 100, forget, NULL);
    world.directory = inode_with (2, IA_IFDIR);
    world.file = inode_with (3, IA_IFREG);
    world.open_directory = open_with (world.directory, O_DIRECTORY);
    world.open_file = open_with (world.file, O_RDWR);
    return 0;
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct input input = { data, size };

    world.asked = world.answered = 0;
    while (input.left > 0)
        step (&input);
    if (world.connection) {
        shutdown (world.server, SHUT_RDWR);
        while (world.connection)
            connection_receive (world.connection);
    }
    g_assert_cmpuint (world.asked, ==, world.answered);
    return 0;
}
