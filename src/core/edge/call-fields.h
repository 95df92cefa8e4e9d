/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What core/edge alone needs of any-fop.h.
 *
 * For each argument and each result in fops.def, by kind and name: the field of struct call or
 * struct answer that it fills. Values without such a field are listed too, so that a new name in
 * fops.def doesn't compile until it is listed here.
 */
#ifndef WINDLASS_CORE_EDGE_CALL_FIELDS_H
#define WINDLASS_CORE_EDGE_CALL_FIELDS_H

#include "core/edge/any-fop.h"
#include "core/data/iobuf.h"
#include "core/edge/frame.h"

/* call_wind with another callback, of the type of the call's operation. */
void call_wind_to (const struct call *call, xlator_t *child, ret_fn_t cbk, void *cookie,
                   const struct call_site *site);

/* Arguments and fields of struct call: SEE_KIND_name (call). */

#define SEE_LOC_loc(to) (to)->loc = loc;
#define SEE_LOC_oldloc(to) (to)->loc = oldloc;
#define SEE_LOC_newloc(to) (to)->newloc = newloc;
#define SEE_FD_fd(to) (to)->fd = fd;
#define SEE_FD_fd_in(to) (to)->fd = fd_in;
#define SEE_FD_fd_out(to) (to)->fd_out = fd_out;
#define SEE_OFFSET_offset(to) (to)->offset = offset;
#define SEE_OFFSET_off_in(to) (to)->offset = off_in;
#define SEE_OFFSET_off_out(to)
#define SEE_SIZE_size(to) (to)->size = size;
#define SEE_SIZE_len(to) (to)->size = len;
#define SEE_SIZE_out_size(to)
#define SEE_VECTOR_vector(to) (to)->vector = vector;
#define SEE_COUNT_count(to) (to)->count = count, (to)->size = iov_length (vector, count);
#define SEE_IOBREF_iobref(to) (to)->iobref = iobref;
#define SEE_NAME_name(to) (to)->name = name;
#define SEE_NAME_linkpath(to) (to)->name = linkpath;
#define SEE_NAME_volume(to)
#define SEE_NAME_basename(to)
#define SEE_FLAGS_flags(to) (to)->flags = flags;
#define SEE_FLAGS_valid(to)
#define SEE_FLAGS_cmd(to) (to)->flags = cmd;
#define SEE_FLAGS_events(to)
#define SEE_DICT_dict(to)
#define SEE_DICT_xdata(to) (to)->xdata = xdata;
#define SEE_INT_datasync(to)
#define SEE_INT_xflag(to)
#define SEE_INT_what(to)
#define SEE_INT_operation(to)
#define SEE_INT_mode(to)
#define SEE_INT_mask(to)
#define SEE_INT_flags(to)
#define SEE_INT_cmd(to)
#define SEE_INT_type(to)
#define SEE_MODE_mode(to)
#define SEE_MODE_umask(to)
#define SEE_DEV_rdev(to)
#define SEE_IATT_stbuf(to)
#define SEE_LOCK_lock(to)
#define SEE_BYTES_in(to)

/* Results and fields of struct answer: GET_KIND_name (answer). */
#define GET_INODE_inode(to) (to)->inode = inode;
#define GET_FD_fd(to) (to)->fd = fd;
#define GET_IATT_buf(to) (to)->buf = buf;
#define GET_IATT_stbuf(to) (to)->buf = stbuf;
#define GET_IATT_prebuf(to) (to)->pre = prebuf;
#define GET_IATT_postbuf(to) (to)->post = postbuf;
#define GET_IATT_statpre(to) (to)->pre = statpre;
#define GET_IATT_statpost(to) (to)->post = statpost;
#define GET_IATT_prebuf_dst(to) (to)->pre = prebuf_dst;
#define GET_IATT_postbuf_dst(to) (to)->post = postbuf_dst;
#define GET_IATT_preparent(to) (to)->preparent = preparent;
#define GET_IATT_postparent(to) (to)->postparent = postparent;
#define GET_IATT_preoldparent(to) (to)->preparent = preoldparent;
#define GET_IATT_postoldparent(to) (to)->postparent = postoldparent;
#define GET_IATT_prenewparent(to)
#define GET_IATT_postnewparent(to)
#define GET_VECTOR_vector(to) (to)->vector = vector;
#define GET_COUNT_count(to) (to)->count = count;
#define GET_IOBREF_iobref(to) (to)->iobref = iobref;
#define GET_DIRENTS_entries(to) (to)->entries = entries;
#define GET_DICT_xdata(to) (to)->xdata = xdata;
#define GET_DICT_dict(to)
#define GET_STATVFS_buf(to)
#define GET_OFFSET_offset(to)
#define GET_NAME_path(to)
#define GET_LOCK_lock(to)
#define GET_FLAGS_revents(to)
#define GET_BYTES_out(to)

#endif
