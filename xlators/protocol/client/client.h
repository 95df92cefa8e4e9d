/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * protocol/client: one brick of a GlusterFS volume, over the network.
 *
 *   operation -> client_begin_...: makes a call with the caller's identity and the file
 *                client_ask:       adds the arguments; waits for conflicting calls (order.c); sends
 *   reply     -> client_answered -> the operation's own function: client_get, then the unwind
 *
 * rpc/wire/wire.def has a row for each procedure, with the fields of its call and reply. ops/rows.c
 * generates most operations from these rows. manner.c has further facts about procedures, such as
 * the times that a call sets.
 *
 * session.c keeps one connection. It connects, shakes hands, and opens all files again that were
 * open on the previous connection (reopen.c). Operations may use the connection after all this is
 * done; at all other times they fail with ENOTCONN. A call is sent on the connection for which it
 * was made, or not at all, because the number of an open file is valid on one connection only.
 *
 * A server may execute calls in another order than that of their arrival. If several calls use the
 * same bytes of a file, and at least one of them writes, order.c therefore sends a later call only
 * after the reply to the earlier one.
 *
 * The server may be hostile. If a reply lacks fields of its row in wire.def, or has other bytes in
 * their place, the client ends the connection, and the operation fails with EIO.
 */
#ifndef WINDLASS_PROTOCOL_CLIENT_H
#define WINDLASS_PROTOCOL_CLIENT_H

#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/wire/wire.h"
#include "xlator.h"

struct client_call;

/* A file or directory that is open on the server. The translator keeps one for each open fd. */
struct client_file {
    int refs;        /* number of references: one of the fd, and one of each call whose member
                      * client_call.file is this file; atomic */
    xlator_t *this;
    inode_t *inode;  /* inode that the fd had when it was opened, with a reference. The fd may get
                      * another inode with the same gfid later. */
    gfid_t gfid;
    uint32_t flags;  /* flags of open(2), with which reopen.c opens the file again */
    bool directory;
    int64_t end;     /* offset behind a directory's last entry; -1: unknown; atomic */
    int64_t number;  /* number by which the server knows the open file; valid only on the connection
                      * whose number is in `connection`; atomic */
    unsigned connection; /* number of the connection on which the file was opened, as counted in
                          * client_session.connections; changed on the event loop's thread only,
                          * under client_session.lock; other threads read it under that lock */
    bool lost;       /* the file could not be opened again on a new connection, or has a record lock
                      * that was not set again there; atomic */
    GArray *locks;   /* record locks that were set through this fd, as struct gf_flock; NULL: no
                      * lock was set yet; guarded by client_session.files_lock */
    GList link, of_inode; /* links in client_session.files and in client_inode.files; guarded by
                           * client_session.files_lock */
};

/* The data that this translator keeps for an inode. */
struct client_inode {
    pthread_mutex_t lock; /* of the locks of this translator, only client_private_t.held_lock may be
                           * taken while this one is held */
    struct byte_claims claims; /* byte ranges that calls read or write; guarded by `lock` */
    GQueue files; /* open files of the inode, as struct client_file; guarded by
                   * client_session.files_lock */
    bool locked;  /* an operation has requested a record lock on the file, so client_flush has to
                   * send each flush to the server; atomic */
};

/* A function that reads the reply to a call, and answers the operation. */
typedef void client_reply_fn (struct client_call *call, struct rpc_reply *reply);

/* A call to the server. */
struct client_call {
    struct rpc_call rpc;
    xlator_t *this;
    call_frame_t *frame; /* frame of the operation; NULL: no operation, the translator itself
                          * makes the call */
    struct rpc_connection *connection;
    client_reply_fn *reply;
    enum wire_procedure procedure; /* procedure of the program RPC_FILES; 0: the call is of another
                                    * program */
    uint64_t request;     /* call_stack_t.unique of the operation; 0: no operation */
    bool by_gfid;         /* the call identifies its file by the gfid, so an ENOENT of the server is
                           * reported to the caller as ESTALE */
    size_t after_file;    /* number of bytes in rpc.out up to the end of the file's gfid, where the
                           * other arguments begin; set only for a procedure with
                           * client_manner.when_gone */
    struct byte_claim claim; /* byte range that the call reads or writes; guarded by
                              * client_inode.lock */
    struct client_inode *claimed; /* data of the inode whose byte range is in `claim`; NULL: the
                                   * call has no claim */
    GList held;           /* link in client_private_t.held while `claim` waits for an earlier claim;
                           * guarded by client_private_t.held_lock */
    int64_t held_since;   /* time (clock_now) when `claim` began to wait; guarded by
                           * client_private_t.held_lock */
    inode_t *inode;       /* inode that the function `reply` needs, with a reference; or NULL */
    fd_t *fd;             /* fd that the function `reply` needs, with a reference; or NULL */
    uint32_t flags;       /* of an open, opendir or create: flags of open(2); of a DUMP: 1 if the
                           * server is expected to be glusterd, else 0 */
    gfid_t parent;        /* of a lookup by name: the gfid of the directory */
    struct gf_flock lock; /* of an lk or inodelk: the lock */
    int cmd;              /* of an lk or inodelk: the command; of an entrylk: the type of the
                           * lock */
    char *name;           /* of a lookup by name or an entrylk: the name; of a getxattr: the name of
                           * the attribute; or NULL */
    char *volume;         /* of an inodelk or entrylk: the lock domain; or NULL */
    struct client_file *file; /* open file whose number the call contains, or which the call opens
                               * again; with a reference; or NULL */
    struct iovec *payload;       /* of a write: array of the parts of its data */
    struct iobref *payload_ref;  /* of a write: the buffers with the data, with a reference */
    void (*undo) (struct client_call *call); /* function that releases the lock of the call, if the
                                              * server grants it after the operation was answered;
                                              * NULL: a reply that late is ignored */
    bool waits;           /* the call may wait for a lock on the server, and an interrupt of the
                           * caller ends the wait */
    uint64_t owner;       /* bytes of the lock owner, as they are sent to the server */
    size_t owner_size;    /* number of bytes of `owner` that are sent */
    struct interrupt_watch on_interrupt;
    struct loop_task interrupted;
    bool interrupting;    /* `interrupted` has been posted to the event loop; atomic */
    int answers;          /* number of replies, interrupts and timeouts of the call so far; only the
                           * first of them answers `frame`; atomic */
};

enum session_state {
    SESSION_DOWN,       /* there is no connection; a timer starts the next attempt to connect */
    SESSION_CONNECTING, /* the session is connecting, or shakes hands with the server */
    SESSION_REOPENING,  /* the session opens the files of the previous connection again */
    SESSION_UP,         /* operations may use the connection */
};

/* The session with the server: session.c. Each member is guarded by `lock`, unless its comment
 * names another lock or thread. */
struct client_session {
    pthread_mutex_t lock;   /* of all locks, only those of a connection, of the event loop and of
                             * timers may be taken while this one is held */
    pthread_cond_t changed; /* signalled when `attempted`, `connection` or `again` changes */
    enum session_state state;
    struct rpc_connection *connection; /* the present connection, or NULL if there is none */
    core_timer_t *again;    /* timer that starts the next attempt to connect, or NULL */
    unsigned attempts;      /* number of connections in a row that failed or were lost; 0 while the
                             * state is SESSION_UP */
    bool attempted;         /* the first attempt to connect has succeeded or failed */
    bool ending;            /* the mount ends, so the session does not connect again */
    unsigned port;          /* port of the brick, as the portmapper reported it; 0: unknown */
    bool moving;            /* the session ends its connection to the portmapper, and connects to
                             * the brick next */
    int64_t since;          /* time (clock_now) when the state last became SESSION_UP, or last
                             * ceased to be SESSION_UP */
    struct rpc_numbers past; /* sums of the counters of all connections that have ended */
    char *problem;          /* reason why the last connection failed or was lost; or NULL */
    unsigned connections;   /* number of connections made so far; also the number of the last
                             * connection */
    unsigned reopening;     /* number of calls of reopen.c that have no reply yet; used on the event
                             * loop's thread only */

    pthread_mutex_t files_lock; /* no other lock of this translator is taken under this one */
    GQueue files;               /* all open files, as struct client_file; guarded by `files_lock` */
};

/* Upcalls (calls in which the server reports changed inodes) that have arrived, and that a thread
 * has not passed on to the translators above yet: upcall.c. */
struct client_upcalls {
    xlator_t *this;
    struct itable *table; /* table of inodes, to find the inode of an upcall; NULL before the first
                           * lookup; atomic */
    struct work_item work;
    pthread_mutex_t lock; /* no other lock of this translator is taken under this one */
    pthread_cond_t idle;  /* signalled when `running` becomes false */
    GHashTable *pending;  /* inodes that other clients have changed: gfid_t -> flags of the upcalls;
                           * guarded by `lock` */
    bool any;             /* inodes that are not in `pending` may have changed too; guarded by
                           * `lock` */
    bool running;         /* a thread of core/work is passing upcalls on, or will start to; guarded
                           * by `lock` */
    bool quiet;           /* the mount ends, so no thread starts to pass upcalls on any more;
                           * guarded by `lock` */
    int64_t dumped;       /* time (clock_now) of the last state dump that the client wrote because
                           * the server asked for it; used on the event loop's thread only */
};

typedef struct {
    int transport;
    char *host, *path, *subvolume, *directory, *username, *password, *volume_id;
    int64_t port;
    int64_t frame_timeout, ping_timeout; /* options of these names, in nanoseconds; atomic */
    bool encrypted, tls_check_name;
    char *tls_certificate, *tls_key, *tls_ca_list, *tls_crl_path, *tls_ciphers, *tls_curves;
    int64_t tls_depth;
    struct tls_context *tls, *tls_of_glusterd; /* TLS contexts of connections to the brick and to
                                                * glusterd; NULL: those connections are not
                                                * encrypted */
    bool send_gids, strict_locks, filter_o_direct; /* options of these names; atomic */
    char process[128]; /* name by which the server knows this client; SETVOLUME sends it, followed
                        * by the number of the connection */
    const char *brick; /* name of the brick in messages to users: "server:/brick"; never freed */
    struct histogram round_trips; /* histogram of the times between calls and their replies, in
                                   * nanoseconds; written on the event loop's thread only */
    pthread_mutex_t held_lock;    /* no other lock of this translator is taken under this one */
    GQueue held; /* calls that wait until an earlier call on the same bytes has its reply, as struct
                  * client_call; guarded by `held_lock` */
    bool ready, looping; /* ready: client_init has initialized `session` and `upcalls`, and called
                          * work_use; looping: its call of loop_use has succeeded; client_fini
                          * undoes these steps */
    struct client_session session;
    struct client_upcalls upcalls;
    struct random_source random; /* for new gfids */
} client_private_t;

/* --- manner.c --------------------------------------------------------------------------------- */

/* Whether a call reads or writes its file's data. Of calls that conflict on the same bytes, order.c
 * sends each only after the reply to the one before. */
enum client_claims { CLIENT_CLAIMS_NOTHING, CLIENT_READS, CLIENT_WRITES };

/* Facts about a procedure that decide how the client sends its calls. */
struct client_manner {
    /* Flags RPC_CHANGES_*: the times of the file and of its directory that the server sets when it
     * executes the call. */
    uint32_t times;
    enum client_claims claims;
    /* The procedure that the client calls in place of this one if the file is open; 0: none. Its
     * calls name the file by the number of an open file, because that is the only way in which the
     * server finds a file that has no name left. */
    enum wire_procedure when_open;
    /* The procedure that the client calls if this one has failed because the file has no name left,
     * but the file is open; 0: none. Changes of owner, mode and ACL are first sent with the gfid:
     * the brick's features/access-control does not notice changes that come with the number of an
     * open file, and would continue to check rights by the old values. */
    enum wire_procedure when_gone;
    /* A call of the procedure may have the number WIRE_ANONYMOUS in place of the number of an open
     * file; the server then opens the file by its gfid for this call only. */
    bool anonymous;
};

const struct client_manner *client_manner_of (enum wire_procedure procedure);

/* --- call.c ----------------------------------------------------------------------------------- */

/* Makes a call for the frame's operation; the caller then sends the call (client_ask). Returns NULL
 * if the session is not up; the function has then answered the frame with ENOTCONN. */
struct client_call *client_call_begin (call_frame_t *frame, xlator_t *this,
                                       enum wire_procedure procedure, client_reply_fn *reply);

/* Make a call on the given connection for the translator itself, without an operation.
 * client_begin_own makes a call of the program RPC_FILES, with the lock owner `owner`; if `owner`
 * is NULL, the call has no lock owner. client_begin_program makes a call of another program. */
struct client_call *client_begin_own (xlator_t *this, struct rpc_connection *connection,
                                      enum wire_procedure procedure, const void *owner,
                                      size_t owner_size, client_reply_fn *reply);
struct client_call *client_begin_program (xlator_t *this, struct rpc_connection *connection,
                                          uint32_t program, uint32_t version, uint32_t procedure,
                                          client_reply_fn *reply);

/* A range of a file's bytes. Size 0: all bytes from `offset` on, also beyond the file's end. */
struct client_range {
    inode_t *inode; /* inode of the file, without a reference; NULL: there is no range */
    off_t offset;
    size_t size;
};

/* Completes a call and sends it. The call must have its first argument, the file, already; this
 * function appends the other arguments from `put`, the procedure's struct of arguments. If `range`
 * is not NULL and client_manner.claims is set for the procedure, the call is sent only after every
 * earlier call that conflicts on that range has its reply. The caller must not use the call
 * afterwards. If the call is NULL, nothing happens. */
void client_ask (struct client_call *call, enum wire_procedure procedure, const void *put,
                 const struct client_range *range);

/* Send a call; the caller must not use the call afterwards. client_send first waits for earlier
 * calls whose claims conflict with the claim of this call. client_send_now sends at once, and is
 * for calls that have no claim, or whose claim need not wait any more. */
void client_send (struct client_call *call);
void client_send_now (struct client_call *call);

/* Sends a call that takes a lock. `waits`: the call may wait on the server until the lock is free;
 * if the caller is interrupted meanwhile, the operation is answered with EINTR. After frame-timeout
 * without a reply, the operation is answered with ETIMEDOUT, unless rpc_call.patient is set. If the
 * server grants the lock after such an answer, `undo` is called to release the lock. */
void client_send_lock (struct client_call *call, bool waits,
                       void (*undo) (struct client_call *call));

/* Makes a call for the translator itself, with the lock owner and on the connection of `call`. */
struct client_call *client_begin_undo (const struct client_call *call,
                                       enum wire_procedure procedure);

/* Answers with EINTR, as after an interrupt, each operation whose call waits for a lock. */
void client_end_waiting (xlator_t *this);

/* Returns the client_call whose member `rpc` is at this address. */
struct client_call *client_call_of (struct rpc_call *rpc);

/* Frees a call that was not sent. */
void client_drop (struct client_call *call);

/* Reads a reply's fields into `got`, the procedure's struct of results, which the caller has
 * zeroed. Returns true if the server reports success: the caller answers the frame, and clears the
 * struct. Returns false otherwise: this function has answered the frame, and has cleared the
 * struct. */
bool client_get (struct client_call *call, struct rpc_reply *reply, enum wire_procedure procedure,
                 void *got);

/* Called for a malformed reply: answers the frame with EIO, and ends the connection. */
void client_answer_is_none (struct client_call *call, struct rpc_reply *reply);

/* Returns the errno with which the server has answered, and leaves the reply unread. Returns 0 if
 * the server reports success, or if there is no valid reply. */
int client_reply_errno (const struct rpc_reply *reply);
/* Returns whether the server has answered that it finds no such inode (ENOENT or ESTALE). */
bool client_reply_is_gone (const struct rpc_reply *reply);

client_reply_fn client_ignore_reply;

/* --- session.c, handshake.c, reopen.c --------------------------------------------------------- */

void client_session_init (xlator_t *this);
void client_session_fini (xlator_t *this);
void client_session_begin (xlator_t *this); /* starts to connect */
void client_session_wait (xlator_t *this);  /* waits until the first attempt to connect has ended */
void client_session_end (xlator_t *this);   /* closes the connection, and waits until it is
                                             * closed */

/* Returns the session's connection, with a reference, or NULL if the state is not SESSION_UP. */
struct rpc_connection *client_session_connection (xlator_t *this);

/* client_session_connection_now returns the present connection, in any state of the session.
 * client_session_connection_of returns the present connection if the file's number is valid on it.
 * Both return the connection with a reference, or NULL if there is no such connection. */
struct rpc_connection *client_session_connection_now (xlator_t *this);
struct rpc_connection *client_session_connection_of (const struct client_file *file);

/* Stores in `file` the number by which the server knows the open file on the present connection.
 * Called on the event loop's thread only. */
void client_session_number_file (struct client_file *file, int64_t number);

/* Sets the connection's timeouts to the options frame-timeout and ping-timeout, the latter limited
 * to ping_max nanoseconds; ping_max 0: no limit. */
void client_session_set_timeouts (xlator_t *this, int64_t ping_max);

/* Move the session to its next state. These functions are called on the event loop's thread:
 * client_session_move when the portmapper has sent the brick's port, client_session_agreed when the
 * server has accepted SETVOLUME, and client_session_up when all files are open again. */
void client_session_move (xlator_t *this, struct rpc_connection *connection, unsigned port);
void client_session_agreed (xlator_t *this, struct rpc_connection *connection);
void client_session_up (xlator_t *this);

void client_handshake_begin (xlator_t *this, struct rpc_connection *connection, bool is_portmapper);
void client_reopen_begin (xlator_t *this, struct rpc_connection *connection);

/* --- files.c ---------------------------------------------------------------------------------- */

/* Makes a call on an open file, with the file's gfid and number as its first arguments. */
struct client_call *client_begin_fd (call_frame_t *frame, xlator_t *this, fd_t *fd,
                                     enum wire_procedure procedure, client_reply_fn *reply);

/* Like client_begin_fd, but with the number WIRE_ANONYMOUS, so that the server opens the file by
 * its gfid for this call only. */
struct client_call *client_begin_anonymous (call_frame_t *frame, xlator_t *this, fd_t *fd,
                                            enum wire_procedure procedure,
                                            client_reply_fn *reply);

/* Make a call on a file. client_begin_file names the file by the number of an open file if the file
 * is open and client_manner.when_open is set, and by its gfid otherwise. client_begin_gfid always
 * names the file by its gfid. */
struct client_call *client_begin_file (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                                       enum wire_procedure procedure, client_reply_fn *reply);
struct client_call *client_begin_gfid (call_frame_t *frame, xlator_t *this, const gfid_t *gfid,
                                       enum wire_procedure procedure, client_reply_fn *reply);

/* Called for each reply. If the server has answered that the file has no name, but the file is
 * open, and client_manner.when_gone of the call's procedure is set, sends a second call, which
 * names the file by the number of the open file. Returns true if it has sent the second call; that
 * call's reply then answers the frame. */
bool client_ask_again (struct client_call *call, const struct rpc_reply *reply);

/* Called when the server has opened the file of call->fd: keeps the number by which the server
 * knows the open file. If the fd has a valid number already, has the server close the new one.
 * cluster/distribute may open the same fd twice, for two operations that find a moved file at the
 * same time. */
void client_file_opened (struct client_call *call, const gfid_t *gfid, int64_t number);
struct client_file *client_file_ref (struct client_file *file);
void client_file_unref (struct client_file *file);

/* Finds the number by which a call of the procedure has to name the open file. The number is
 * WIRE_ANONYMOUS if the file could not be opened again on a new connection, no record lock was ever
 * set through it, and client_manner.anonymous is set. Returns 0, or a positive errno if no number
 * is valid. */
int client_file_number (xlator_t *this, fd_t *fd, enum wire_procedure procedure,
                        int64_t *ret_number);

/* Converts flags of open(2) to the flags on the wire. */
uint32_t client_open_flags (xlator_t *this, uint32_t flags);

void client_file_note_lock (xlator_t *this, fd_t *fd, const struct gf_flock *lock);
void client_file_forget_locks (xlator_t *this, inode_t *inode, uint64_t owner);
void client_release (xlator_t *this, fd_t *fd);

/* --- ops -------------------------------------------------------------------------------------- */

/* In lock-ops.c. client_lock_command converts a command of fcntl(2) to its number on the wire.
 * client_lock_own makes a call for the translator itself, which sets the record lock `lock` for the
 * owner lock->l_owner; the caller sends the call. */
uint32_t client_lock_command (int cmd);
struct client_call *client_lock_own (xlator_t *this, struct rpc_connection *connection,
                                     const struct wire_fd *fd, const struct gf_flock *lock,
                                     client_reply_fn *reply);

/* In entry-ops.c. client_with_gfid returns a dict with the pairs of xdata and the gfid for a new
 * object, with a reference. client_begin_new makes a call that makes an object at loc, or a link to
 * the object at loc. client_new_inode returns the inode of the new object or link, with a
 * reference; or NULL if the server sent no valid attributes, after it has answered the frame with
 * EIO. */
dict_t *client_with_gfid (xlator_t *this, dict_t *xdata);
struct client_call *client_begin_new (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                                      enum wire_procedure procedure, client_reply_fn *reply);
inode_t *client_new_inode (struct client_call *call, const struct iatt *buf);

/* --- upcall.c --------------------------------------------------------------------------------- */

void client_upcalls_init (xlator_t *this);
void client_upcalls_fini (xlator_t *this);
/* Called when the session is up again. Upcalls may have been missed while it was down, so this
 * function invalidates all inodes in the caches of the translators above and of the kernel. */
void client_upcalls_missed (xlator_t *this);
/* After client_upcalls_end, no thread starts to pass upcalls on. client_upcalls_wait waits until
 * the thread that passes upcalls on, if there is one, has finished. */
void client_upcalls_end (xlator_t *this);
void client_upcalls_wait (xlator_t *this);
void client_upcall_heard (xlator_t *this, uint32_t program, uint32_t procedure, struct xdr_in *in);

/* --- order.c ---------------------------------------------------------------------------------- */

struct client_inode *client_inode_of (xlator_t *this, inode_t *inode);
void client_forget (xlator_t *this, inode_t *inode);

/* Returns the inode for the attributes in a reply, with a reference: `given` if its gfid is that of
 * the attributes; else the inode with that gfid in the table of inodes; else `given` if it has no
 * gfid yet; else a new inode. Returns NULL if the attributes have no gfid or no type, or if the
 * inode with that gfid has another type; but a linkto of cluster/distribute may have another
 * type. */
inode_t *client_inode_of_iatt (inode_t *given, const struct iatt *buf);

/* client_claim records the range that a call reads or writes, so that client_send makes the call
 * wait for earlier calls that conflict on the range. client_claim_enter returns whether the call
 * may be sent at once; otherwise the call waits. client_claim_leave, called when a call has its
 * reply, sends the calls that waited for it. */
void client_claim (struct client_call *call, const struct client_range *range, bool writes);
bool client_claim_enter (struct client_call *call);
void client_claim_leave (struct client_call *call);

/* --- report.c --------------------------------------------------------------------------------- */

void client_dump (xlator_t *this, GString *out);
void client_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void client_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
void client_server (xlator_t *this, struct server_report *report);
void client_why_failed (xlator_t *this, const call_frame_t *frame, GString *out);
/* Returns the brick's name in messages to users, such as "server:/brick"; it is never freed. */
const char *client_brick (const client_private_t *priv);

/* Stores in a call's frame the reason why the call failed, for client_why_failed. Called before the
 * frame is answered. */
void client_note_failure (struct client_call *call, const struct rpc_reply *reply,
                          int32_t op_errno);

/* client_note_answer, called when a call has its reply, measures the time that the reply took, and
 * passes it to server_call_answered. frame: the frame that waits for the call, or NULL. error:
 * rpc_reply.error. client_note_sent, called just before a call is sent, calls server_call_sent. */
void client_note_answer (struct client_call *call, const call_frame_t *frame, int error);
void client_note_sent (struct client_call *call);

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
