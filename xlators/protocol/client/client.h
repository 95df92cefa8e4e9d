/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * protocol/client: one brick of a GlusterFS volume, over the network.
 *
 *   an operation -> client_begin_...: a call with the caller's identity, and its file
 *                   client_ask:       its arguments; it waits for conflicting operations (order.c),
 *                                     and goes out
 *   a reply      -> client_answered -> the operation's own function -> client_get: results; unwinds
 *
 * rpc/wire/wire.def has the fields of each call and reply. Most operations are their row there and
 * nothing else: ops/rows.c. manner.c has the rest that a procedure needs.
 *
 * session.c keeps a connection: it connects, shakes hands, opens the files again that were open on
 * the last connection (reopen.c), and only then lets operations through. While there is none,
 * operations fail with ENOTCONN. A call belongs to the connection that was there when it began, so
 * no number of an open file reaches a server that gave it to another.
 *
 * A server may do calls in another order than they came. Operations on the same bytes of a file, of
 * which one writes, are therefore sent one after the other's answer: order.c.
 *
 * Everything that a server sends may be hostile: what cannot be an answer ends the connection, and
 * the operation with EIO.
 */
#ifndef WINDLASS_PROTOCOL_CLIENT_H
#define WINDLASS_PROTOCOL_CLIENT_H

#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/wire/wire.h"
#include "xlator.h"

struct client_call;

/* An open file or directory of the server: the fd's context. */
struct client_file {
    int refs;          /* atomic: the fd, and calls with its number */
    xlator_t *this;
    inode_t *inode;    /* with a reference: the fd may get another inode of the same gfid */
    gfid_t gfid;
    uint32_t flags;    /* for opening it again */
    bool directory;
    int64_t end;       /* of a directory: the offset behind its last entry; -1: not known; atomic */
    int64_t number;    /* on connection number `connection`; atomic */
    unsigned connection; /* the loop's thread writes; session.lock for others */
    bool lost;         /* could not be opened again; atomic */
    GArray *locks;     /* of struct gf_flock: record locks taken through it; session.files_lock */
    GList link, of_inode; /* in session.files and client_inode.files; session.files_lock */
};

/* What is kept of an inode. */
struct client_inode {
    pthread_mutex_t lock; /* a leaf, but for held_lock */
    struct byte_claims claims; /* of struct client_call; lock */
    GQueue files; /* of struct client_file: open through this client; session.files_lock */
    bool locked; /* a record lock was asked for: a flush must tell the server; atomic */
};

/* Reads an answer, and answers the operation. */
typedef void client_reply_fn (struct client_call *call, struct rpc_reply *reply);

/* An operation under way. */
struct client_call {
    struct rpc_call rpc;
    xlator_t *this;
    call_frame_t *frame; /* NULL: no operation asked for it */
    struct rpc_connection *connection;
    client_reply_fn *reply;
    enum wire_procedure procedure; /* 0: of another program */
    uint64_t request;     /* root->unique of the frame; 0: none */
    bool by_gfid; /* the call names no name, only an inode: ENOENT means that it is gone */
    size_t after_file;    /* of a procedure with client_manner.when_gone: where its arguments begin
                           * in rpc.out, in bytes */
    struct byte_claim claim; /* client_inode.lock */
    struct client_inode *claimed; /* the inode of the claim; NULL: none */
    GList held;           /* in client_private_t.held while it waits for a claim; held_lock */
    int64_t held_since;   /* clock_now; held_lock */
    inode_t *inode;       /* with a reference, or NULL: what reply needs */
    fd_t *fd;             /* with a reference, or NULL */
    uint32_t flags;       /* of an open */
    gfid_t parent;        /* of a lookup of a name */
    struct gf_flock lock; /* of a lk or an inodelk */
    int cmd;              /* of a lk */
    char *name;           /* of an attribute, or of the entry of a lookup or an entrylk */
    char *volume;         /* of an inodelk or an entrylk */
    struct client_file *file; /* with a reference, or NULL: the call has its number, or opens it
                               * again */
    struct iovec *payload;
    struct iobref *payload_ref;
    void (*undo) (struct client_call *call); /* gives the lock back; NULL: the call takes none */
    bool waits;           /* for a lock: it can be interrupted */
    uint64_t owner;       /* of locks, as the server was told */
    size_t owner_size;    /* bytes of owner */
    struct interrupt_watch on_interrupt;
    struct loop_task interrupted;
    bool interrupting;    /* interrupted is posted, or was; atomic */
    int answers; /* atomic: the first of reply, interrupt and frame-timeout answers the frame */
};

enum session_state {
    SESSION_DOWN,       /* no connection; a timer tries again */
    SESSION_CONNECTING, /* up to the end of the handshake */
    SESSION_REOPENING,  /* files are opened again */
    SESSION_UP,
};

struct session {
    pthread_mutex_t lock;   /* a leaf, but for the locks of a connection, the loop and timers */
    pthread_cond_t changed; /* attempted, connection or again changed */
    enum session_state state;          /* lock */
    struct rpc_connection *connection; /* lock; NULL: SESSION_DOWN */
    core_timer_t *again;    /* starts the next attempt; lock */
    unsigned attempts;      /* that failed in a row; lock */
    bool attempted;         /* the first attempt has ended; lock */
    bool ending;            /* lock */
    unsigned port;          /* of the brick, once the portmapper has told it; 0: ask it; lock */
    bool moving;            /* from the portmapper to the brick; lock */
    int64_t since;          /* clock_now when operations could last begin, or no longer; lock */
    struct rpc_numbers past; /* counters of connections that have ended; lock */
    char *problem;          /* why there is no connection; lock */
    unsigned connections;   /* made so far: the number of the present one; lock */
    unsigned reopening;     /* calls that open files again; the loop's thread */

    pthread_mutex_t files_lock; /* a leaf */
    GQueue files;               /* of struct client_file; files_lock */
};

/* Changes by other clients: upcall.c. */
struct upcalls {
    xlator_t *this;
    struct itable *table; /* of the graph: known from the first lookup on; atomic */
    struct work_item work;
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t idle;  /* running is false */
    GHashTable *pending;  /* gfid_t -> flags; lock */
    bool any;             /* any inode may have changed; lock */
    bool running;         /* a thread tells of them; lock */
    bool quiet;           /* the mount ends; lock */
    int64_t dumped;       /* when the server last asked for a state dump; the loop's thread */
};

typedef struct {
    int transport;
    char *host, *path, *subvolume, *directory, *username, *password, *volume_id;
    int64_t port;
    int64_t frame_timeout, ping_timeout; /* nanoseconds; atomic */
    bool encrypted, tls_check_name;
    char *tls_certificate, *tls_key, *tls_ca_list, *tls_crl_path, *tls_ciphers, *tls_curves;
    int64_t tls_depth;
    struct tls_context *tls, *tls_of_glusterd; /* of connections to the brick, and to glusterd;
                                                * NULL: not encrypted */
    bool send_gids, strict_locks, filter_o_direct; /* atomic */
    char process[128]; /* names this client to the server */
    const char *brick; /* names the brick to users, "server:/brick"; never freed */
    struct histogram round_trips; /* the loop's thread adds */
    pthread_mutex_t held_lock;    /* a leaf */
    GQueue held; /* of struct client_call: they wait for others on the same bytes; held_lock */
    bool ready, looping; /* init has used core/work, and the loop */
    struct session session;
    struct upcalls upcalls;
    pthread_mutex_t random_lock;
    struct random_source random; /* random_lock */
} client_private_t;

/* --- manner.c --------------------------------------------------------------------------------- */

/* What a call does to the data of its file, for order.c. */
enum client_claims { CLIENT_CLAIMS_NOTHING, CLIENT_READS, CLIENT_WRITES };

/* How calls of a procedure are sent. */
struct client_manner {
    /* RPC_CHANGES_*: the times that the call sets */
    uint32_t times;
    enum client_claims claims;
    /* procedure for an open file: used for every file that is open, since a file without a name is
     * reached only by its number; 0: none */
    enum wire_procedure when_open;
    /* procedure for an open file: used if the server finds no name of the file; 0: none. For
     * changes of what decides about rights (owner, mode, ACL): a brick's features/access-control
     * ignores operations on open files, and would go on with the rights that were before. */
    enum wire_procedure when_gone;
    /* whether the server can open the file by its gfid for the call: WIRE_ANONYMOUS */
    bool anonymous;
};

const struct client_manner *client_manner_of (enum wire_procedure procedure);

/* --- call.c ----------------------------------------------------------------------------------- */

/* Begins a call for frame's operation; the caller then calls client_ask. NULL: there is no
 * connection, and the frame was answered with ENOTCONN. */
struct client_call *client_begin (call_frame_t *frame, xlator_t *this,
                                  enum wire_procedure procedure, client_reply_fn *reply);

/* The same for a call that no operation asked for, on a given connection: one of the program of
 * files with an owner of locks, or of another program. */
struct client_call *client_begin_own (xlator_t *this, struct rpc_connection *connection,
                                      enum wire_procedure procedure, const void *owner,
                                      size_t owner_size, client_reply_fn *reply);
struct client_call *client_begin_program (xlator_t *this, struct rpc_connection *connection,
                                          uint32_t program, uint32_t version, uint32_t procedure,
                                          client_reply_fn *reply);

/* The bytes of a file that an operation reads or writes; size 0: up to the end of any file. */
struct client_range {
    inode_t *inode; /* lent; NULL: none */
    off_t offset;
    size_t size;
};

/* Puts the fields of `put`, a struct of procedure's, behind the file that the call begins with, and
 * sends the call, which is no longer the caller's. It waits for earlier calls on the range, which
 * may be NULL. call NULL: it could not begin. */
void client_ask (struct client_call *call, enum wire_procedure procedure, const void *put,
                 const struct client_range *range);

/* Sends a call, which is no longer the caller's. client_send_now is for calls that may not, or no
 * longer, wait for others. */
void client_send (struct client_call *call);
void client_send_now (struct client_call *call);

/* Sends a call that takes a lock, and may wait for it. Its frame is answered with EINTR if the
 * caller is interrupted while the call waits, and with ETIMEDOUT after frame-timeout unless the
 * call is patient; a lock that the server grants after that is undone. */
void client_send_lock (struct client_call *call, bool waits,
                       void (*undo) (struct client_call *call));

/* Begins a call with the same owner of locks, on the same connection, which no frame waits for. */
struct client_call *client_begin_undo (const struct client_call *call,
                                       enum wire_procedure procedure);

/* Answers calls that wait for a lock, as if they had been interrupted. */
void client_end_waiting (xlator_t *this);

/* Returns the call around rpc, which is a call of protocol/client. */
struct client_call *client_call_of (struct rpc_call *rpc);

/* Drops a call that was not sent. */
void client_drop (struct client_call *call);

/* Gets a reply's fields in `got`, a zeroed struct of procedure's. Returns whether the operation
 * succeeded: the caller then clears the struct. If not, the frame has been answered. */
bool client_get (struct client_call *call, struct rpc_reply *reply, enum wire_procedure procedure,
                 void *got);

/* The server's bytes can't be an answer: answers the frame with EIO, and ends the connection. */
void client_answer_is_none (struct client_call *call, struct rpc_reply *reply);

/* Returns the errno of a reply; 0: it is none of a failure. Nothing of the reply is used up. */
int client_reply_errno (const struct rpc_reply *reply);
bool client_reply_is_gone (const struct rpc_reply *reply); /* the server finds no such inode */

client_reply_fn client_ignore_reply; /* of a call that no frame waits for */

/* --- session.c, handshake.c, reopen.c --------------------------------------------------------- */

void session_init (xlator_t *this);
void session_fini (xlator_t *this);
void session_begin (xlator_t *this); /* starts to connect */
void session_wait (xlator_t *this);  /* waits until the first attempt has ended */
void session_end (xlator_t *this);   /* ends the connection, and waits for its end */

/* Returns the connection if operations may use it, with a reference; else NULL. */
struct rpc_connection *session_connection (xlator_t *this);

/* The same whether operations may use it or not; and only if it is the one on which the file was
 * opened last. */
struct rpc_connection *session_connection_now (xlator_t *this);
struct rpc_connection *session_connection_of (const struct client_file *file);

/* Notes the number that the server gave the file. On the loop's thread. */
void session_number_file (struct client_file *file, int64_t number);

/* Takes over the options; ping_max limits ping-timeout, 0: no limit. */
void session_set_timeouts (xlator_t *this, int64_t ping_max);

/* For the handshake, on the loop's thread. The server's portmapper has told the brick's port; all
 * is agreed; all files are open again. */
void session_move (xlator_t *this, struct rpc_connection *connection, unsigned port);
void session_agreed (xlator_t *this, struct rpc_connection *connection);
void session_up (xlator_t *this);

void handshake_begin (xlator_t *this, struct rpc_connection *connection, bool is_portmapper);
void reopen_begin (xlator_t *this, struct rpc_connection *connection);

/* --- files.c ---------------------------------------------------------------------------------- */

/* client_begin for an open file, with its gfid and number as the first arguments. */
struct client_call *client_begin_fd (call_frame_t *frame, xlator_t *this, fd_t *fd,
                                     enum wire_procedure procedure, client_reply_fn *reply);

/* The same with WIRE_ANONYMOUS: the server opens the file for this call. */
struct client_call *client_begin_anonymous (call_frame_t *frame, xlator_t *this, fd_t *fd,
                                            enum wire_procedure procedure,
                                            client_reply_fn *reply);

/* The same for a file by its gfid, or as the procedure's manner says; and by its gfid alone. */
struct client_call *client_begin_file (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                                       enum wire_procedure procedure, client_reply_fn *reply);
struct client_call *client_begin_gfid (call_frame_t *frame, xlator_t *this, const gfid_t *gfid,
                                       enum wire_procedure procedure, client_reply_fn *reply);

/* Sends a call again by the number of an open file, if the reply and the manner say so. Returns
 * whether it did: then the frame is not the caller's any more. */
bool client_ask_again (struct client_call *call, const struct rpc_reply *reply);

/* The server has opened call->fd under a number. If it was open, the new number is given up: two
 * operations can find at once that a file has moved here, and open it. */
void client_file_opened (struct client_call *call, const gfid_t *gfid, int64_t number);
struct client_file *client_file_ref (struct client_file *file);
void client_file_unref (struct client_file *file);

/* Finds the number of an open file for an operation: WIRE_ANONYMOUS if the file could not be opened
 * again, and the server can do the operation by its gfid. 0, or a positive errno. */
int client_file_number (xlator_t *this, fd_t *fd, enum wire_procedure procedure,
                        int64_t *ret_number);

/* Returns flags for the server. */
uint32_t client_open_flags (xlator_t *this, uint32_t flags);

void client_file_note_lock (xlator_t *this, fd_t *fd, const struct gf_flock *lock);
void client_file_forget_locks (xlator_t *this, inode_t *inode, uint64_t owner);
void client_release (xlator_t *this, fd_t *fd);

/* --- ops -------------------------------------------------------------------------------------- */

/* In lock-ops.c: a lock's command on the wire; and a call that sets a lock, with its owner, which
 * the caller sends. */
uint32_t client_lock_command (int cmd);
struct client_call *client_lock_own (xlator_t *this, struct rpc_connection *connection,
                                     const struct wire_fd *fd, const struct gf_flock *lock,
                                     client_reply_fn *reply);

/* In entry-ops.c: xdata with a gfid for a new object, with a reference; client_begin for a call
 * that makes an object, of which loc->inode may be the inode; and the inode of the object that was
 * made, with a reference, or NULL: the server sent none, and the frame has been answered. */
dict_t *client_with_gfid (xlator_t *this, dict_t *xdata);
struct client_call *client_begin_new (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                                      enum wire_procedure procedure, client_reply_fn *reply);
inode_t *client_new_inode (struct client_call *call, const struct iatt *buf);

/* --- upcall.c --- */

void upcalls_init (xlator_t *this);
void upcalls_fini (xlator_t *this);
void upcalls_missed (xlator_t *this); /* there was no connection: any inode may have changed */
void upcalls_end (xlator_t *this);    /* begins to tell of no more changes */
void upcalls_wait (xlator_t *this);   /* until none is being told of */
void upcall_heard (xlator_t *this, uint32_t program, uint32_t procedure, struct xdr_in *in);

/* --- order.c ---------------------------------------------------------------------------------- */

struct client_inode *client_inode_of (xlator_t *this, inode_t *inode);
void client_forget (xlator_t *this, inode_t *inode);

/* Returns the inode of an answer, with a reference: given if it is new or has the gfid, else the
 * table's, or a new one. NULL: the server sent no identity, or one of an inode of another type. */
inode_t *client_inode_of_iatt (inode_t *given, const struct iatt *buf);

/* Has client_send wait for earlier operations on these bytes. */
void client_claim (struct client_call *call, const struct client_range *range, bool writes);
bool claim_enter (struct client_call *call); /* returns whether the call may be sent now */
void claim_leave (struct client_call *call); /* sends calls that waited for this one */

/* --- report.c --------------------------------------------------------------------------------- */

void client_dump (xlator_t *this, GString *out);
void client_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void client_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
void client_server (xlator_t *this, struct server_report *report);
void client_why_failed (xlator_t *this, const call_frame_t *frame, GString *out);
const char *client_brick (const client_private_t *priv); /* "server:/brick"; never freed */

/* For client_why_failed: notes what an answer without success was, before its frame fails. */
void client_note_failure (struct client_call *call, const struct rpc_reply *reply,
                          int32_t op_errno);

/* The call was answered: counts it, and tells of it. frame: for which it was made, and which waits
 * for it; or NULL. */
void client_note_answer (struct client_call *call, const call_frame_t *frame, int error);
void client_note_sent (struct client_call *call); /* before it is sent */

/* --- operations ------------------------------------------------------------------------------- */

readdir_fop client_readdir;
flock_fop client_flock;

#define CLIENT_DECLARE(name_, number_, text_, client_, brick_) CLIENT_DECLARE_##client_ (name_)
#define CLIENT_DECLARE_FILE(name_) name_##_fop client_##name_;
#define CLIENT_DECLARE_OPEN CLIENT_DECLARE_FILE
#define CLIENT_DECLARE_NAME CLIENT_DECLARE_FILE
#define CLIENT_DECLARE_NEW CLIENT_DECLARE_FILE
#define CLIENT_DECLARE_LINK CLIENT_DECLARE_FILE
#define CLIENT_DECLARE_HAND CLIENT_DECLARE_FILE
#define CLIENT_DECLARE_NONE(name_)
WIRE_LIST (CLIENT_DECLARE)

#endif
