/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Realms: several tables of inodes and names in one graph. The names below a translator may differ
 * from those above, or begin at another directory. Such a translator is a boundary
 * (xlator_api.realms): below each of its children is a realm, which has a table of its own.
 *
 *   mount      table of the mount      "/"       "/file"
 *   boundary                            |            |        <- slot 0: child, root "/a/b"
 *   storage    table of the realm      "/a/b"    "/a/b/file"
 *
 * A slot of a boundary is a child and a root directory in the child's realm. Several slots may have
 * the same child. For each slot an inode above has at most one inode below, to which it holds a
 * reference until it is forgotten itself. An inode below does not know the one above: that is
 * found by its gfid.
 *
 *   static void
 *   boundary_any_fop (const struct call *call)
 *   {
 *       realm_wind (call, 0, NULL);
 *   }
 *
 *   static void
 *   boundary_any_fop_cbk (const struct answer *answer)
 *   {
 *       realm_answer (answer);
 *   }
 *
 *   const struct xlator_api xlator_api = { ..., .realms = true, .realm_keys = keys,
 *       .any_fop = boundary_any_fop, .any_fop_cbk = boundary_any_fop_cbk, .notify = realm_notify };
 *
 *   - The gfid of an object passes the boundary unchanged, except that of a slot's root: it is
 *     gfid_root above.
 *   - Only the boundary enters names in the table below: from the answers that pass it, after the
 *     operation. A translator in the realm may enter names that it has looked up by itself.
 *   - A translator belongs to one realm. A graph in which two ways lead to a translator through
 *     different boundaries, or through one and past it, is refused.
 *   - A key of xdata passes only if .realm_keys lists it.
 *   - At a move to another graph a realm goes on: the fresh graph joins its table (itable_join),
 *     if boundary and child have the names and the module that they had. If a slot's root is then
 *     another directory, inodes of the graph before are ESTALE in the fresh one until they are
 *     looked up from that root, and their open files stay with the graph before.
 */
#ifndef WINDLASS_CORE_REALM_REALM_H
#define WINDLASS_CORE_REALM_REALM_H

#include "core/data/dirent.h"
#include "core/data/loc.h"
#include "core/edge/any-fop.h"
#include "core/edge/frame.h"

/* The part of a graph between a boundary's child and the lowest translators, or the next
 * boundary. */
struct realm {
    struct graph *graph;
    xlator_t *boundary, *child;
    struct itable *itable; /* from graph_load until the graph ends */
    unsigned in_itable;    /* number of the graph in it */
    struct fd_maker fd_maker;
};

/* --- slots ---------------------------------------------------------------------------------- */

/* For init of a boundary: adds a slot for a directory in the realm of child. root is a path from
 * the realm's own root, "/" for that one. Returns the slot's number, from 0 on. The directory is
 * looked up by the first call that needs it, as root and not as the caller; no step may be a
 * symbolic link. From then on the slot keeps the directory, also when that is renamed. */
unsigned realm_slot_new (xlator_t *this, xlator_t *child, const char *root);

/* For a boundary that gets further slots while it runs: the first slots that were made come into
 * use later. From now on the functions' slot 0 is the slot that realm_slot_new has called `first`;
 * what inodes and open files have in it, and in those behind it, stays. In init, or in a pause
 * (core/work/pause.h) with a lower number than before. */
void realm_slots_begin (xlator_t *this, unsigned first);

/* For an option's check: an absolute path of at most REALM_DEPTH_MAX names, without "." and
 * "..". */
#define REALM_DEPTH_MAX 64
int realm_root_check (const char *text, char **ret_allowed);

/* Returns the inode below of an inode above, lent as long as that is; or NULL. */
inode_t *realm_below (xlator_t *this, inode_t *inode, unsigned slot);

/* Records that `below`, an inode of the slot's table, is the inode of `inode` there. If inode has
 * another one already, it keeps that. */
void realm_join (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below);

/* Makes `below` the inode of `inode` in the slot, in the place of any other; NULL: it has none. In
 * a pause (core/work/pause.h) alone. Not for a slot's root. */
void realm_replace (xlator_t *this, inode_t *inode, unsigned slot, inode_t *below);

/* Records `root`, a directory of the child's table, as the root of the slot: for a boundary that
 * looks up its roots by itself before it winds a call. If the slot has a root already, it keeps
 * that. */
void realm_slot_set_root (xlator_t *this, unsigned slot, inode_t *root);

/* In a pause (core/work/pause.h): another directory is the root of the slot from now on. Returns
 * the one before, with a reference for the caller. */
inode_t *realm_slot_replace_root (xlator_t *this, unsigned slot, inode_t *root);

/* Returns the root of the table above, lent as long as the graph is active. */
inode_t *realm_root_above (const xlator_t *this);

/* Returns the fd below of an open fd above, lent as long as that is; or NULL. */
fd_t *realm_fd (xlator_t *this, fd_t *fd, unsigned slot);

/* Records `below` as the fd in the slot of the open fd `fd`, and takes a reference. The fd is new,
 * or the caller's lock keeps other threads from doing the same; it has none in the slot yet. */
void realm_fd_join (xlator_t *this, fd_t *fd, unsigned slot, fd_t *below);

/* The same, if there may be another one, which no request uses any more: then `below` takes its
 * place. */
void realm_fd_replace (xlator_t *this, fd_t *fd, unsigned slot, fd_t *below);

/* --- calls ---------------------------------------------------------------------------------- */

/* Winds the call to the slot's child, with the inodes, directories and fds that the realm has for
 * those of the call, and with the same names. The answer goes to api->any_fop_cbk, which ends with
 * realm_answer. If the realm doesn't have the inode of a call without a name, the answer is ESTALE,
 * or EBADF for an fd. */
#define realm_wind(call_, slot_, cookie_) realm_wind_at (call_, slot_, cookie_, CALL_SITE)
void realm_wind_at (const struct call *call, unsigned slot, void *cookie,
                    const struct call_site *site);

/* For a boundary that changes names. realm_call makes the call as the realm gets it. The boundary
 * may then change the name of each place in locs, which ends with NULL: a changed name is lent
 * until realm_call_wind returns. realm_call returns false if it has answered the call, or
 * continues it later by api->any_fop. */
struct realm_call {
    struct changed_call changed;
    unsigned slot;
    loc_t places[2];     /* what locs point at */
    loc_t *locs[3];
    unsigned n_locs;
    inode_t *above;      /* the inode of the last place, as the call has it; or NULL */
    fd_t *opens, *opened; /* the fd that the call opens, as the call has it, and below with a
                           * reference; or NULL */
    fd_t *listed;        /* the last other fd, below; or NULL */
    inode_t *made[2];    /* below, with references: inodes that are new in the realm; or NULL */
    dict_t *xdata;       /* with a reference; or NULL */
    int error;           /* why the call can't be wound: a positive errno; or 0 */
};
bool realm_call (const struct call *call, unsigned slot, struct realm_call *ret_below);
#define realm_call_wind(below_, cookie_) realm_call_wind_at (below_, cookie_, CALL_SITE)
void realm_call_wind_at (struct realm_call *below, void *cookie, const struct call_site *site);

/* --- answers -------------------------------------------------------------------------------- */

/* Answers the parent with what answer, which came from a slot's child, means above. Before that
 * enters the names in the table below. */
#define realm_answer(answer_) realm_answer_at (answer_, CALL_SITE)
void realm_answer_at (const struct answer *answer, const struct call_site *site);

/* For a boundary that changes names. realm_answered makes the answer as it is above, with the
 * cookie of realm_wind. The boundary may change or replace entries. realm_answered_pass answers the
 * parent. */
struct realm_answered {
    struct answer answer;
    union {
#define FOP(name) struct name##_answer name;
#include "fops.def"
    } rets;
    struct iatt iatts[5];
    unsigned n_iatts;
    gf_dirent_t **entries; /* those of rets, which realm_answered_pass frees; NULL: none */
    inode_t *inode;        /* with a reference; or NULL */
    fd_t *fd;              /* with a reference; or NULL */
    dict_t *xdata;         /* with a reference; or NULL */
};
void realm_answered (const struct answer *answer, struct realm_answered *ret_above);
#define realm_answered_pass(above_) realm_answered_pass_at (above_, CALL_SITE)
void realm_answered_pass_at (struct realm_answered *above, const struct call_site *site);

/* --- events --------------------------------------------------------------------------------- */

/* For api->notify of a boundary, or called by it: passes an event on. An invalidation, or a
 * contended lock, from below goes up for the inode above that has its gfid. If there is none, no
 * translator above keeps anything of the object, and the event ends here. An inode above is
 * detached with the one below. */
void realm_notify (xlator_t *this, enum xlator_event event, void *data);

/* The same for one event: fills in the event above; false: it ends here. realm_up takes a reference
 * to ret_above->inode, which may be NULL. */
bool realm_up (xlator_t *this, const struct invalidation *below, struct invalidation *ret_above);

/* --- for the graph and reports -------------------------------------------------------------- */

/* Returns the inode of xl's realm that belongs to an inode of the mount, lent as that is; or NULL.
 * realm_fd_of does the same for an open fd. Both return their argument if xl is in no realm. */
inode_t *realm_inode_of (const xlator_t *xl, inode_t *inode);
/* The same for an inode of the realm that `from` is in, a translator above xl. */
inode_t *realm_inode_from (const xlator_t *from, const xlator_t *xl, inode_t *inode);
fd_t *realm_fd_of (const xlator_t *xl, fd_t *fd);

/* Returns whether a translator below the boundary has a reference to the fd there of an open fd of
 * the mount, and may use it at any time. No request may run. */
bool realm_fd_is_held (const xlator_t *boundary, fd_t *fd);

/* The graph calls these: for a boundary before init, and again if its inodes come into another
 * table; at the end of an inode and an fd above, before the table of one of its realms ends, and at
 * the end. */
void realm_slots_make (xlator_t *this, int inode_slot, int fd_slot);
void realm_slots_above (xlator_t *this, struct itable *above);
void realm_forget (xlator_t *this, inode_t *inode);
void realm_release (xlator_t *this, fd_t *fd);
void realm_roots_drop (xlator_t *this, const struct realm *realm);
void realm_slots_free (xlator_t *this);

/* Records that the next graph's boundary is `successor`, to which open files move now. */
void realm_succeed (xlator_t *this, xlator_t *successor);

#endif
