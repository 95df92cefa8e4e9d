/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Fuzzes protocol/client with what a server sends. The input is a list of
 *
 *   operation, size (2 bytes)     the operation that is asked for: the number of its procedure in
 *                                 6 bits, and a variant of the arguments in 2
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

#define DATA_MAX 4096

static const int32_t count; /* for answers without data */

static void
check_result (int32_t op_ret, enum kind kind, uintptr_t value, int n)
{
    const gf_dirent_t *entries = kind == KIND_DIRENTS && op_ret >= 0 ? (void *) value : NULL;

    if (kind == KIND_VECTOR && op_ret >= 0)
        g_assert ((size_t) op_ret == iov_length ((void *) value, n) && op_ret <= DATA_MAX);
    for (; entries; entries = entries->next)
        g_assert (entries->d_name[0] && !strchr (entries->d_name, '/')
                  && (!entries->inode || entries->d_stat.ia_type != IA_INVAL));
}

/* Callbacks of all operations. */
#define RESULT(kind_, name_) , C_##kind_ name_
#define CHECK_RESULT(kind_, name_) check_result (op_ret, KIND_##kind_, (uintptr_t) name_, count);
#define CALLBACK(name_)                                                                            \
    static void G_GNUC_UNUSED got_##name_ (call_frame_t *frame, void *cookie, xlator_t *this,      \
                                           int32_t op_ret,                                         \
                                           int32_t op_errno FOP_RETS_##name_ (RESULT))             \
    {                                                                                              \
        g_assert (op_ret >= 0 || op_errno > 0);                                                    \
        FOP_RETS_##name_ (CHECK_RESULT)                                                            \
        world.answered++;                                                                          \
        stack_done (frame->root);                                                                  \
    }
FOP_LIST (CALLBACK)

/* --- operations ------------------------------------------------------------------------------- */

#define WIRE_readdir 28 /* no row has it: protocol/client sends a READDIRP */

/* What arguments are taken from. */
static struct {
    enum wire_procedure procedure;
    unsigned variant;
    loc_t name, file;
    fd_t *fd;
    dict_t *dict;
} fuzz_brick_sample;

static uintptr_t
sample_number (enum kind kind, const char *name)
{
    if (strcmp (name, "cmd") == 0)
        return fuzz_brick_sample.variant == 1 ? F_GETLK : F_SETLKW;
    if (strcmp (name, "valid") == 0)
        return IATT_MODE | IATT_MTIME_NOW;
    if (strcmp (name, "operation") == 0)
        return LOCK_EX;
    if (kind == KIND_MODE)
        return strcmp (name, "umask") == 0 ? 022 : 0100644;
    return kind == KIND_SIZE ? DATA_MAX : kind == KIND_COUNT ? 1 : 0;
}

static uintptr_t
sample_name (const char *name)
{
    if (strcmp (name, "linkpath") == 0 || strcmp (name, "volume") == 0)
        return (uintptr_t) "text";
    return fuzz_brick_sample.variant == 1 ? 0 : (uintptr_t) "user.name";
}

/* Of a loc: a name in a directory where the call begins with the directory, else a file. */
static uintptr_t
sample_of (enum kind kind, const char *name)
{
    static char byte;
    static struct iatt iatt;
    static struct gf_flock lock;
    static struct iovec vector;
    const struct wire_field *field = wire_call_fields (fuzz_brick_sample.procedure);

    vector = (struct iovec){ &byte, 1 };
    lock = (struct gf_flock){ .l_type = F_WRLCK, .l_len = 5 };
    switch (kind) {
    case KIND_LOC:
        return (uintptr_t) (field && field->form == WIRE_FORM_GFID ? &fuzz_brick_sample.name
                                                                   : &fuzz_brick_sample.file);
    case KIND_FD:
        return (uintptr_t) fuzz_brick_sample.fd;
    case KIND_IATT:
        return (uintptr_t) &iatt;
    case KIND_DICT:
        return (uintptr_t) (strcmp (name, "dict") == 0 && fuzz_brick_sample.variant == 0
                                ? fuzz_brick_sample.dict
                                : NULL);
    case KIND_VECTOR:
        return (uintptr_t) &vector;
    case KIND_LOCK:
        return (uintptr_t) &lock;
    case KIND_NAME:
        return sample_name (name);
    case KIND_IOBREF:
        return 0;
    default:
        return sample_number (kind, name);
    }
}

#define ARGUMENT(kind_, name_) , (C_##kind_) sample_of (KIND_##kind_, #name_)
#define WIND(...) STACK_WIND (__VA_ARGS__) /* after its arguments are expanded */
#define ASK(name_)                                                                                 \
    case WIRE_##name_:                                                                             \
        WIND (frame, got_##name_, &world.brick, name_ FOP_ARGS_##name_ (ARGUMENT));                \
        break;
#define ASK_FILE ASK
#define ASK_OPEN ASK
#define ASK_NAME ASK
#define ASK_NEW ASK
#define ASK_LINK ASK
#define ASK_HAND ASK
#define ASK_NONE(name_)
#define ASK_ROW(name_, number_, text_, client_, brick_) ASK_##client_ (name_)

static void
ask_procedure (call_frame_t *frame)
{
    if (fuzz_brick_sample.procedure == WIRE_lk && fuzz_brick_sample.variant == 2) {
        WIND (frame, got_flock, &world.brick, flock FOP_ARGS_flock (ARGUMENT));
        return;
    }
    switch ((int) fuzz_brick_sample.procedure) {
        WIRE_LIST (ASK_ROW)
        ASK (readdir)
    default:
        world.asked--;
        stack_done (frame->root);
    }
}

static fd_t *
sample_fd (enum wire_procedure procedure)
{
    if (procedure == WIRE_open || procedure == WIRE_opendir)
        return fd_new (&world.maker, world.file, O_RDWR, 1);
    if (procedure == WIRE_create)
        return fd_new (&world.maker, NULL, O_RDWR, 1);
    return fd_ref (procedure == WIRE_readdirp || procedure == WIRE_readdir
                           || procedure == WIRE_fsyncdir
                       ? world.open_directory
                       : world.open_file);
}

static void
fuzz_brick_ask (uint8_t op)
{
    call_stack_t *root = stack_new (&world.top);
    g_autoptr (inode_t) made = inode_new (world.table);
    g_autoptr (fd_t) fd = sample_fd (op & 63);
    g_autoptr (dict_t) dict = dict_new ();

    dict_set_str (dict, "user.name", "value");
    fuzz_brick_sample.procedure = op & 63;
    fuzz_brick_sample.variant = op >> 6;
    fuzz_brick_sample.name = (loc_t){ .name = "name", .parent = world.directory, .inode = made };
    fuzz_brick_sample.file = (loc_t){ .inode = world.file };
    fuzz_brick_sample.fd = fd;
    fuzz_brick_sample.dict = dict;
    world.asked++;
    root->lk_owner = 7;
    ask_procedure (root->frames);
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
    client_upcall_heard (&world.brick, program, procedure, arguments);
}

static const struct rpc_events fuzz_brick_events = { on_connected, on_closed, on_called };

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
    world.connection = connection_new (&nowhere, &none, &fuzz_brick_events, NULL);
    world.connection->watch.fd = world.connection->stream.fd = ends[0];
    world.connection->state = RPC_OPEN;
    world.connection->ticking = true; /* no timer */
    world.private.session.connection = world.connection;
    world.private.session.state = SESSION_UP;
}

/* Reads the calls that came; returns the last one's number, or -1. */
static int64_t
fuzz_brick_read_calls (void)
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
    fuzz_brick_ask (op);
    xid = fuzz_brick_read_calls ();
    if (size == LATE)
        return;
    bytes = input_bytes (input, size, &n);
    if (xid >= 0)
        send_answer ((uint32_t) xid, bytes, n);
}

/* --- the world -------------------------------------------------------------------------------- */

static void
fuzz_brick_forget (inode_t *inode, void *data)
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
    client_file_opened (&call, &inode->gfid, 0);
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
    client_session_init (&world.brick);
    client_upcalls_init (&world.brick);
    client_upcalls_end (&world.brick); /* no thread */
    xlator_route (&world.brick);
    world.maker = (struct fd_maker){ 1, release, NULL };
    world.table = itable_new (1, 100, fuzz_brick_forget, NULL);
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
