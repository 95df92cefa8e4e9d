/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * protocol/client: one brick of a GlusterFS volume, over the network.
 *
 *   operation -> client_begin_...: makes a call with the caller's identity and the file
 *                client_ask:       puts the arguments; waits for conflicting calls (order.c); sends
 *   reply     -> client_answered -> the operation's own function: client_get, then the unwind
 *
 * rpc/wire/wire.def has the fields of each call and reply. ops/rows.c makes most operations from
 * their rows alone. manner.c lists the other facts about a procedure.
 *
 * session.c keeps one connection. It connects, shakes hands, and opens all files again that were
 * open on the previous connection (reopen.c). Operations may use the connection only then; at all
 * other times they fail with ENOTCONN. A call keeps the connection on which it began, because the
 * number of an open file is valid on one connection only.
 *
 * A server may do calls in another order than they arrived in. Calls on the same bytes of a file,
 * at least one of which writes, are therefore sent one at a time: order.c.
 *
 * All bytes of a server may be hostile. A reply that does not have its row's fields ends the
 * connection, and its operation fails with EIO.
 */
#ifndef WINDLASS_PROTOCOL_CLIENT_H
#define WINDLASS_PROTOCOL_CLIENT_H

#include "rpc/connection.h"
#include "rpc/loop.h"
#include "rpc/wire/wire.h"
#include "xlator.h"

struct client_call;

/* A file or directory that is open on the server: the context of an fd. */
struct client_file {
    int refs;        /* references of the fd, and of calls with the file's number; atomic */
    xlator_t *this;
    inode_t *inode;  /* inode of the opening, with a reference: the fd may get another inode of the
                      * same gfid later */
    gfid_t gfid;
    uint32_t flags;  /* flags of open(2), for the reopen */
    bool directory;
    int64_t end;     /* offset behind a directory's last entry; -1: unknown; atomic */
    int64_t number;  /* number that the server gave the file on `connection`; atomic */
    unsigned connection; /* number of a connection, as in client_session.connections; written on
                          * the loop's thread, read by others under session.lock */
    bool lost;       /* the reopen failed; atomic */
    GArray *locks;   /* record locks taken through the file, of struct gf_flock; guarded by
                      * session.files_lock */
    GList link, of_inode; /* links in session.files and client_inode.files; guarded by
                           * session.files_lock */
};

/* The context of an inode. */
struct client_inode {
    pthread_mutex_t lock; /* a leaf, except that held_lock is taken under it */
    struct byte_claims claims; /* claims of calls on the file's data; guarded by lock */
    GQueue files; /* the inode's open files, of struct client_file; guarded by session.files_lock */
    bool locked;  /* a record lock was requested, so the server needs each flush; atomic */
};

/* Reads a reply, and answers the operation. */
typedef void client_reply_fn (struct client_call *call, struct rpc_reply *reply);

/* A call to the server. */
struct client_call {
    struct rpc_call rpc;
    xlator_t *this;
    call_frame_t *frame; /* frame of the operation; NULL: the translator's own call */
    struct rpc_connection *connection;
    client_reply_fn *reply;
    enum wire_procedure procedure; /* 0: a call of another program */
    uint64_t request;     /* root->unique of the frame; 0: none */
    bool by_gfid;         /* the call names a file by its gfid alone, so ENOENT becomes ESTALE */
    size_t after_file;    /* offset in rpc.out of the arguments behind the file, in bytes, where
                           * client_manner.when_gone is set */
    struct byte_claim claim; /* range that the call reads or writes; guarded by
                              * client_inode.lock */
    struct client_inode *claimed; /* file of the claim; NULL: no claim */
    GList held;           /* link in client_private_t.held while the claim waits; guarded by
                           * held_lock */
    int64_t held_since;   /* clock_now when the claim began to wait; guarded by held_lock */
    inode_t *inode;       /* inode that the reply's function needs, with a reference; or NULL */
    fd_t *fd;             /* fd that the reply's function needs, with a reference; or NULL */
    uint32_t flags;       /* flags of an open; of a DUMP: the server is expected to be glusterd */
    gfid_t parent;        /* directory of a lookup by name */
    struct gf_flock lock; /* lock of a lk or an inodelk */
    int cmd;              /* command of a lk or an inodelk, type of an entrylk */
    char *name;           /* name of a lookup, an attribute or an entrylk; or NULL */
    char *volume;         /* lock domain of an inodelk or an entrylk; or NULL */
    struct client_file *file; /* open file whose number the call has, or that it reopens, with a
                               * reference; or NULL */
    struct iovec *payload;       /* data of a write */
    struct iobref *payload_ref;  /* buffers of the data, with a reference */
    void (*undo) (struct client_call *call); /* releases the lock of the call; NULL: no lock */
    bool waits;           /* the call may wait for a lock on the server: an interrupt ends it */
    uint64_t owner;       /* lock owner, as sent to the server */
    size_t owner_size;    /* bytes of owner */
    struct interrupt_watch on_interrupt;
    struct loop_task interrupted;
    bool interrupting;    /* `interrupted` has been posted; atomic */
    int answers;          /* replies, interrupts and timeouts so far: the first one answers the
                           * frame; atomic */
};

enum session_state {
    SESSION_DOWN,       /* no connection: a timer starts the next attempt */
    SESSION_CONNECTING, /* connecting, or shaking hands */
    SESSION_REOPENING,  /* opening files again */
    SESSION_UP,
};

/* The session with the server: session.c. Members without a note are guarded by `lock`. */
struct client_session {
    pthread_mutex_t lock;   /* taken before the locks of a connection, of the loop and of timers;
                             * no other lock is taken under it */
    pthread_cond_t changed; /* signalled when attempted, connection or again change */
    enum session_state state;
    struct rpc_connection *connection; /* NULL while the state is SESSION_DOWN */
    core_timer_t *again;    /* timer of the next attempt, or NULL */
    unsigned attempts;      /* number of attempts that failed since the session was last up */
    bool attempted;         /* the first attempt has ended */
    bool ending;            /* the mount ends */
    unsigned port;          /* port of the brick, from the portmapper; 0: unknown */
    bool moving;            /* the connection to the portmapper ends, one to the brick follows */
    int64_t since;          /* clock_now of the last change to SESSION_UP, or from it */
    struct rpc_numbers past; /* counters of connections that have ended */
    char *problem;          /* reason why the last attempt or connection ended; or NULL */
    unsigned connections;   /* number of connections so far, and of the present one */
    unsigned reopening;     /* outstanding calls of the reopen; used on the loop's thread only */

    pthread_mutex_t files_lock; /* a leaf */
    GQueue files;               /* open files, of struct client_file; guarded by files_lock */
};

/* Upcalls that wait to be passed on: upcall.c. */
struct client_upcalls {
    xlator_t *this;
    struct itable *table; /* table of inodes; NULL before the first lookup; atomic */
    struct work_item work;
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t idle;  /* signalled when running becomes false */
    GHashTable *pending;  /* changed inodes: gfid_t -> flags of the upcalls; guarded by lock */
    bool any;             /* any inode may have changed; guarded by lock */
    bool running;         /* a thread of core/work passes upcalls on; guarded by lock */
    bool quiet;           /* the mount ends, so no thread starts any more; guarded by lock */
    int64_t dumped;       /* clock_now of the server's last request for a state dump; used on the
                           * loop's thread only */
};

typedef struct {
    int transport;
    char *host, *path, *subvolume, *directory, *username, *password, *volume_id;
    int64_t port;
    int64_t frame_timeout, ping_timeout; /* nanoseconds; atomic */
    bool encrypted, tls_check_name;
    char *tls_certificate, *tls_key, *tls_ca_list, *tls_crl_path, *tls_ciphers, *tls_curves;
    int64_t tls_depth;
    struct tls_context *tls, *tls_of_glusterd; /* TLS of connections to the brick and to glusterd;
                                                * NULL: not encrypted */
    bool send_gids, strict_locks, filter_o_direct; /* atomic */
    char process[128]; /* name of this client, for the server */
    const char *brick; /* name of the brick, for users: "server:/brick"; never freed */
    struct histogram round_trips; /* written on the loop's thread only */
    pthread_mutex_t held_lock;    /* a leaf */
    GQueue held; /* calls whose claims wait, of struct client_call; guarded by held_lock */
    bool ready, looping; /* init has called work_use, and loop_use */
    struct client_session session;
    struct client_upcalls upcalls;
    struct random_source random; /* for new gfids */
} client_private_t;

/* --- manner.c --------------------------------------------------------------------------------- */

/* What a call does with the data of its file: order.c. */
enum client_claims { CLIENT_CLAIMS_NOTHING, CLIENT_READS, CLIENT_WRITES };

/* How calls of a procedure are sent. */
struct client_manner {
    /* times that the call sets: RPC_CHANGES_* */
    uint32_t times;
    enum client_claims claims;
    /* procedure for an open file, used for each file that is open, because a file without a name
     * can be reached by its number only; 0: none */
    enum wire_procedure when_open;
    /* procedure for an open file, used when the server finds no name of the file; 0: none. Changes
     * of owner, mode and ACL need it: a brick's features/access-control does not see an operation
     * on an open file, and would keep judging by the old rights. */
    enum wire_procedure when_gone;
    /* the server can open the file by its gfid for one call: WIRE_ANONYMOUS */
    bool anonymous;
};

const struct client_manner *client_manner_of (enum wire_procedure procedure);

/* --- call.c ----------------------------------------------------------------------------------- */

/* Makes a call for the frame's operation; client_ask sends it. NULL: the session is not up, and the
 * frame has been answered with ENOTCONN. */
struct client_call *client_call_begin (call_frame_t *frame, xlator_t *this,
                                       enum wire_procedure procedure, client_reply_fn *reply);

/* Make a call of the translator's own, on a given connection: one of the program of files, with a
 * lock owner; and one of another program. */
struct client_call *client_begin_own (xlator_t *this, struct rpc_connection *connection,
                                      enum wire_procedure procedure, const void *owner,
                                      size_t owner_size, client_reply_fn *reply);
struct client_call *client_begin_program (xlator_t *this, struct rpc_connection *connection,
                                          uint32_t program, uint32_t version, uint32_t procedure,
                                          client_reply_fn *reply);

/* A range of a file's bytes. Size 0: up to the end, whatever the file's size is. */
struct client_range {
    inode_t *inode; /* lent; NULL: no range */
    off_t offset;
    size_t size;
};

/* Puts the fields of `put` (a struct of the procedure) behind the file that the call begins with,
 * and sends the call once no earlier call conflicts on the range, which may be NULL. The caller
 * must not use the call afterwards. If the call is NULL, nothing happens. */
void client_ask (struct client_call *call, enum wire_procedure procedure, const void *put,
                 const struct client_range *range);

/* Send a call, which the caller must not use afterwards. client_send_now is for calls without a
 * claim, and for calls whose claim no longer waits. */
void client_send (struct client_call *call);
void client_send_now (struct client_call *call);

/* Sends a call that takes a lock; `waits`: it may wait for the lock on the server. An interrupt of
 * the caller answers a waiting call with EINTR. frame-timeout answers it with ETIMEDOUT, unless
 * rpc_call.patient is set. If the server grants the lock after such an answer, `undo` releases the
 * lock. */
void client_send_lock (struct client_call *call, bool waits,
                       void (*undo) (struct client_call *call));

/* Makes a call of the translator's own, with the same lock owner and on the same connection. */
struct client_call *client_begin_undo (const struct client_call *call,
                                       enum wire_procedure procedure);

/* Answers all calls that wait for a lock, as an interrupt does. */
void client_end_waiting (xlator_t *this);

/* Returns the client_call that contains rpc. */
struct client_call *client_call_of (struct rpc_call *rpc);

/* Frees a call that was not sent. */
void client_drop (struct client_call *call);

/* Reads a reply's fields into `got`, a zeroed struct of the procedure. Returns true if the
 * operation succeeded: the caller clears the struct later. On false the frame has been answered. */
bool client_get (struct client_call *call, struct rpc_reply *reply, enum wire_procedure procedure,
                 void *got);

/* The reply is malformed: answers the frame with EIO, and ends the connection. */
void client_answer_is_none (struct client_call *call, struct rpc_reply *reply);

/* Returns the errno of a reply without consuming it; 0: the reply is no failure of the server. */
int client_reply_errno (const struct rpc_reply *reply);
bool client_reply_is_gone (const struct rpc_reply *reply); /* the server finds no such inode */

client_reply_fn client_ignore_reply;

/* --- session.c, handshake.c, reopen.c --------------------------------------------------------- */

void client_session_init (xlator_t *this);
void client_session_fini (xlator_t *this);
void client_session_begin (xlator_t *this); /* starts to connect */
void client_session_wait (xlator_t *this);  /* waits for the end of the first attempt */
void client_session_end (xlator_t *this);   /* ends the connection, and waits for its end */

/* Returns the connection, with a reference; NULL: the session is not up. */
struct rpc_connection *client_session_connection (xlator_t *this);

/* client_session_connection_now returns the connection in any state of the session.
 * client_session_connection_of returns it only if the file's number is valid on it. Both return a
 * reference, or NULL if there is no such connection. */
struct rpc_connection *client_session_connection_now (xlator_t *this);
struct rpc_connection *client_session_connection_of (const struct client_file *file);

/* Sets the file's number on the present connection. On the loop's thread. */
void client_session_number_file (struct client_file *file, int64_t number);

/* Applies the timeouts of the options. ping_max limits ping-timeout, in nanoseconds; 0: no
 * limit. */
void client_session_set_timeouts (xlator_t *this, int64_t ping_max);

/* Next states of the session, all on the loop's thread: the portmapper has sent the brick's port;
 * the server has accepted SETVOLUME; the reopen is complete. */
void client_session_move (xlator_t *this, struct rpc_connection *connection, unsigned port);
void client_session_agreed (xlator_t *this, struct rpc_connection *connection);
void client_session_up (xlator_t *this);

void client_handshake_begin (xlator_t *this, struct rpc_connection *connection, bool is_portmapper);
void client_reopen_begin (xlator_t *this, struct rpc_connection *connection);

/* --- files.c ---------------------------------------------------------------------------------- */

/* Makes a call on an open file: its gfid and number are the first arguments. */
struct client_call *client_begin_fd (call_frame_t *frame, xlator_t *this, fd_t *fd,
                                     enum wire_procedure procedure, client_reply_fn *reply);

/* The same with the number WIRE_ANONYMOUS: the server opens the file for this call. */
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

/* If the server found no name of the file and client_manner.when_gone is set, sends the call again
 * by the number of an open file. Returns whether it did: the frame then belongs to that call. */
bool client_ask_again (struct client_call *call, const struct rpc_reply *reply);

/* The server has opened call->fd under a number. Releases the number if the fd is open already:
 * cluster/distribute may open a moved file for two operations at the same time. */
void client_file_opened (struct client_call *call, const gfid_t *gfid, int64_t number);
struct client_file *client_file_ref (struct client_file *file);
void client_file_unref (struct client_file *file);

/* Finds the number of an open file for a call; it is WIRE_ANONYMOUS if the reopen failed and the
 * procedure allows that. Returns 0 or a positive errno. */
int client_file_number (xlator_t *this, fd_t *fd, enum wire_procedure procedure,
                        int64_t *ret_number);

/* Returns flags of open(2) as the server gets them. */
uint32_t client_open_flags (xlator_t *this, uint32_t flags);

void client_file_note_lock (xlator_t *this, fd_t *fd, const struct gf_flock *lock);
void client_file_forget_locks (xlator_t *this, inode_t *inode, uint64_t owner);
void client_release (xlator_t *this, fd_t *fd);

/* --- ops -------------------------------------------------------------------------------------- */

/* In lock-ops.c: the number of a lock's command on the wire; and a call of the translator's own
 * that sets a record lock for the lock's owner. The caller sends it. */
uint32_t client_lock_command (int cmd);
struct client_call *client_lock_own (xlator_t *this, struct rpc_connection *connection,
                                     const struct wire_fd *fd, const struct gf_flock *lock,
                                     client_reply_fn *reply);

/* In entry-ops.c. client_with_gfid returns xdata with a gfid for a new object, with a reference.
 * client_begin_new makes a call that makes an object at loc. client_new_inode returns the inode of
 * the new object, with a reference; NULL: the server sent no valid attributes, and the frame has
 * been answered. */
dict_t *client_with_gfid (xlator_t *this, dict_t *xdata);
struct client_call *client_begin_new (call_frame_t *frame, xlator_t *this, const loc_t *loc,
                                      enum wire_procedure procedure, client_reply_fn *reply);
inode_t *client_new_inode (struct client_call *call, const struct iatt *buf);

/* --- upcall.c --------------------------------------------------------------------------------- */

void client_upcalls_init (xlator_t *this);
void client_upcalls_fini (xlator_t *this);
/* The session was down: any inode may have changed. */
void client_upcalls_missed (xlator_t *this);
void client_upcalls_end (xlator_t *this);  /* no thread starts to pass upcalls on any more */
void client_upcalls_wait (xlator_t *this); /* waits until no thread passes upcalls on */
void client_upcall_heard (xlator_t *this, uint32_t program, uint32_t procedure, struct xdr_in *in);

/* --- order.c ---------------------------------------------------------------------------------- */

struct client_inode *client_inode_of (xlator_t *this, inode_t *inode);
void client_forget (xlator_t *this, inode_t *inode);

/* Returns the inode that has the gfid of a reply's attributes, with a reference: `given` if it has
 * that gfid or none yet, else the table's, else a new one. NULL: the attributes have no gfid, or
 * the gfid belongs to an inode of another type. */
inode_t *client_inode_of_iatt (inode_t *given, const struct iatt *buf);

/* Makes client_send wait for earlier calls that conflict on the range. */
void client_claim (struct client_call *call, const struct client_range *range, bool writes);
bool client_claim_enter (struct client_call *call); /* returns whether the call may be sent */
void client_claim_leave (struct client_call *call); /* sends calls that waited for this one */

/* --- report.c --------------------------------------------------------------------------------- */

void client_dump (xlator_t *this, GString *out);
void client_waits_for (xlator_t *this, const call_frame_t *frame, GString *out);
void client_explain (xlator_t *this, const char *path, inode_t *inode, GString *out);
void client_server (xlator_t *this, struct server_report *report);
void client_why_failed (xlator_t *this, const call_frame_t *frame, GString *out);
const char *client_brick (const client_private_t *priv); /* "server:/brick"; never freed */

/* Notes the failure in the frame before it is answered, for client_why_failed. */
void client_note_failure (struct client_call *call, const struct rpc_reply *reply,
                          int32_t op_errno);

/* Counts a call whose reply has come, and reports it to server_call_answered. frame: the frame that
 * waits for the call, or NULL. */
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
